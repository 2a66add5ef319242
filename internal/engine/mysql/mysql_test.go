package mysql

import (
	"testing"

	"github.com/loadstone-perf/loadstone/internal/engine/enginetest"
)

func TestMariaDBPassesTheSuite(t *testing.T) {
	enginetest.Run(t, New, enginetest.LocalMachine, enginetest.Traits{
		Version:      ">=8",
		Good:         map[string]string{"sort_buffer_size": "4MiB", "Join-Buffer-Size": "512K", "innodb_print_all_deadlocks": "true", "long_query_time": "2.50"},
		Effective:    map[string]string{"sort_buffer_size": "4MB", "join_buffer_size": "512kB", "innodb_print_all_deadlocks": "ON", "long_query_time": "2.5"},
		Wrong:        map[string]string{"innodb_bufer_pool_size": "unknown variable", "sort_buffer_size": "nonsense"},
		Memory:       "innodb_buffer_pool_size",
		Rounded:      "max_allowed_packet", // in steps of 1 kB
		RoundedValue: "1500000",
		SetTimeout:   "SET max_statement_time = 0.1",
		Sleep:        "SELECT SLEEP(20)",
		Busy:         "SELECT BENCHMARK(1000000000000, SHA2('busy', 512))",
		Session:      "SELECT CONNECTION_ID()",
		Kill:         "KILL :id",
		LockWait:     "Lock:Row",
	})
}
