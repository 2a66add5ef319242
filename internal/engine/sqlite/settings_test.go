package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/unit"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

func TestValuesOfSettingsHaveOneForm(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{ // "" is an error
		{"cache_size", "-2000", "2000kB"}, {"cache_size", "512", "2MB"}, {"cache_size", "64MiB", "64MB"}, {"cache_size", "0.5GB", "512MB"},
		{"cache_size", "25%", "256MB"}, {"cache_size", "0%", ""}, {"cache_size", "101%", ""}, {"cache_size", "much", ""},
		{"mmap_size", "1048576", "1MB"}, {"mmap_size", "-1", ""}, {"mmap_size", "0", "0kB"},
		{"synchronous", "2", "full"}, {"synchronous", "NORMAL", "normal"}, {"synchronous", "4", ""}, {"synchronous", "yes", ""},
		{"foreign_keys", "true", "on"}, {"foreign_keys", "no", "off"}, {"foreign_keys", "2", ""},
		{"busy_timeout", "100", "100"}, {"busy_timeout", "-1", ""}, {"busy_timeout", "1s", ""}, {"wal_autocheckpoint", "0", "0"},
	} {
		s, err := find(c.name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.canonical(c.in, unit.GiB)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s = %s: %q, %v, want %q", c.name, c.in, got, err, c.want)
		}
		// What is canonical stays so.
		if again, err := s.canonical(got, unit.GiB); got != "" && (err != nil || again != got) {
			t.Errorf("%s = %s became %s, %v", c.name, got, again, err)
		}
	}
}

func TestTheStudysSettingsGoBeforeOursButNotBeforeLoading(t *testing.T) {
	chosen, err := choose(engine.Config{Durable: true, Connections: 4, Settings: map[string]string{"Synchronous": "off", "temp_store": "memory"}}, unit.GiB)
	if err != nil || valueOf(chosen, "synchronous") != "off" || valueOf(chosen, "temp_store") != "memory" || valueOf(chosen, "cache_size") != "64MB" {
		t.Errorf("%v, %v", chosen, err)
	}
	chosen, err = choose(engine.Config{Settings: map[string]string{"synchronous": "extra"}}, 0)
	if err != nil || valueOf(chosen, "synchronous") != "off" || valueOf(chosen, "cache_size") != "" {
		t.Errorf("while loading, and without a known memory: %v, %v", chosen, err)
	}
	for _, bad := range []map[string]string{{"page_size": "8192"}, {"journal_mode": "delete"}, {"x": "1"}, {"cache_size": "1MB", "CACHE_SIZE": "1MB"}} {
		if chosen, err := choose(engine.Config{Settings: bad}, unit.GiB); err == nil {
			t.Errorf("%v was taken: %v", bad, chosen)
		}
	}
}

func TestCacheIsAPartOfTheMemoryForAllConnections(t *testing.T) {
	for _, c := range []struct {
		memory      unit.Bytes
		connections int
		want        unit.Bytes
	}{
		{unit.GiB, 1, 256 * unit.MiB}, {unit.GiB, 8, 32 * unit.MiB}, {unit.GiB, 0, 256 * unit.MiB},
		{16 * unit.MiB, 64, 2000 * unit.KiB}, {unit.GiB * 1024, 2, unit.GiB},
	} {
		if got := cacheOf(c.memory, c.connections); got != c.want {
			t.Errorf("%v for %d connections: %v each, want %v", c.memory, c.connections, got, c.want)
		}
	}
}

func TestErrorsAreClassed(t *testing.T) {
	code := func(n int) error { return fmt.Errorf("statement: %w", &Error{Code: n}) }
	for _, c := range []struct {
		err  error
		want workload.Class
	}{
		{nil, workload.NoError},
		{code(sqlite3.SQLITE_BUSY_SNAPSHOT), workload.Retry},
		{code(sqlite3.SQLITE_BUSY), workload.Timeout},
		{code(sqlite3.SQLITE_LOCKED), workload.Retry},
		{code(sqlite3.SQLITE_SCHEMA), workload.Retry},
		{code(sqlite3.SQLITE_INTERRUPT), workload.Timeout},
		{code(sqlite3.SQLITE_CONSTRAINT_UNIQUE), workload.Fatal},
		{code(sqlite3.SQLITE_FULL), workload.Fatal},
		{code(sqlite3.SQLITE_CORRUPT), workload.Fatal},
		{code(sqlite3.SQLITE_IOERR_FSYNC), workload.Fatal},
		{fmt.Errorf("x: %w", errUpgrade), workload.Retry},
		{fmt.Errorf("x: %w", errWaited), workload.Timeout},
		{fmt.Errorf("x: %w", errClosed), workload.Connection},
		{context.Canceled, workload.Connection},
		{context.DeadlineExceeded, workload.Timeout},
		{errors.New("anything"), workload.Fatal},
	} {
		if got := Classify(c.err); got != c.want {
			t.Errorf("%v is %s, want %s", c.err, got, c.want)
		}
	}
	if text := code(5).Error(); !strings.Contains(text, "SQLite code 5") {
		t.Errorf("%q has not the code", text)
	}
}
