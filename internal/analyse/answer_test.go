package analyse

import (
	"testing"

	"github.com/loadstone-perf/loadstone/internal/record"
)

func TestEnginesAreCalledByTheirProductsNames(t *testing.T) {
	for _, x := range []struct{ name, version, want string }{
		{"postgres", "15.18", "PostgreSQL 15.18"},
		{"postgres", "", "PostgreSQL"},
		{"mysql", "10.11.19", "MariaDB 10.11.19"},
		{"mysql", "11.4.2", "MariaDB 11.4.2"},
		{"mysql", "12", "MariaDB 12"},
		{"mysql", "8.0.36", "MySQL 8.0.36"},
		{"mysql", "9.7.0", "MySQL 9.7.0"},
		{"mysql", "", "MySQL"},
		{"sqlite", "3.50.4", "SQLite 3.50.4"},
		{"sqlserver", "16.0", "SQL Server 16.0"},
		{"other", "11", "other 11"},
		{"", "", ""},
	} {
		if got := titled(record.Engine{Name: x.name, Version: x.version}); got != x.want {
			t.Errorf("%s %s is called %q, want %q", x.name, x.version, got, x.want)
		}
	}
}
