package sqlite

import (
	"testing"

	"github.com/loadstone-perf/loadstone/internal/engine/enginetest"
)

func TestSQLitePassesTheSuite(t *testing.T) {
	enginetest.Run(t, New, enginetest.LocalMachine, enginetest.Traits{
		Version:        ">=3.50",
		Good:           map[string]string{"cell_size_check": "true", "Temp_Store": "2", "wal_autocheckpoint": "500", "secure_delete": "FAST"},
		Effective:      map[string]string{"cell_size_check": "on", "temp_store": "memory", "wal_autocheckpoint": "500", "secure_delete": "fast"},
		Wrong:          map[string]string{"cach_size": "not a setting", "wal_autocheckpoint": "whole number", "page_size": "database's file"},
		Memory:         "cache_size",
		Rounded:        "mmap_size", // the library has an upper bound
		RoundedValue:   "1048576MB",
		QuickDeadlocks: map[string]string{"busy_timeout": "1500"}, // there are none: how long sessions wait
		LockWait:       "Lock:Writer",
		OneWriter:      true,
		Lone:           "sessions are connections inside one process, which know nothing of each other",
		Inside:         true,
	})
}
