package postgres

import (
	"testing"

	"github.com/loadstone-perf/loadstone/internal/engine/enginetest"
)

func TestPostgreSQLPassesTheSuite(t *testing.T) {
	enginetest.Run(t, New, enginetest.LocalMachine, enginetest.Traits{
		Version:        ">=15",
		Good:           map[string]string{"work_mem": "8192kB", "Random_Page_Cost": "1.50", "enable_nestloop": "false", "checkpoint_timeout": "600"},
		Effective:      map[string]string{"work_mem": "8MB", "random_page_cost": "1.5", "enable_nestloop": "off", "checkpoint_timeout": "10min"},
		Wrong:          map[string]string{"shared_bufers": "configuration parameter", "work_mem": "invalid value for parameter"},
		Memory:         "shared_buffers",
		Rounded:        "effective_cache_size", // in pages of 8 kB
		RoundedValue:   "805kB",
		QuickDeadlocks: map[string]string{"deadlock_timeout": "50ms"},
		SetTimeout:     "SET statement_timeout = 100",
		Sleep:          "SELECT 1 FROM pg_sleep(20)",
		Busy:           "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 10000000) b",
		Session:        "SELECT pg_backend_pid()",
		Kill:           "SELECT pg_terminate_backend(:id)",
		LockWait:       "Lock:transactionid",
	})
}
