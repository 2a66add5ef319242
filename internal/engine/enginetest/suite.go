// Package enginetest is the conformance suite of engines: what every engine
// must do on a real server before a study may name it.
//
// The suite brings a small workload of its own with every family of types,
// keys, and every kind of value; it looks for processes that are left behind;
// and it kills servers and sessions to see that the loss is noticed and that
// committed work survives. What can't be said in one SQL for all engines lies
// in one place, the function traitsOf.
package enginetest

import (
	"context"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// Run runs the suite. New makes the engine, machine an empty machine that
// lasts as long as its test; LocalMachine is one. Crash tests need a *Local
// and are left out for other machines.
func Run(t *testing.T, New func() engine.Engine, machine func(t *testing.T) engine.Machine) {
	if workInside(t, New()) {
		return
	}
	s := &suite{engine: New(), machine: machine, traits: traitsOf(t, New().Name())}
	t.Run("Locate", s.locate)
	t.Run("Dialect", s.dialect)
	if s.install == nil {
		t.Fatal("without a server program nothing more can be tested")
	}
	// Making a database takes a second or more, so tests share where they can.
	empty := s.create(t)
	t.Run("Life", func(t *testing.T) { s.life(t, empty) })
	t.Run("Settings", func(t *testing.T) { s.settings(t, empty) })
	t.Run("CancelledLoad", func(t *testing.T) { s.cancelledLoad(t, empty) })
	d := synthetic(1000)
	full := s.create(t)
	t.Run("Load", func(t *testing.T) { s.load(t, full, empty, d) })
	t.Run("Loaded", func(t *testing.T) {
		db := s.start(t, full, s.traits.quickDeadlocks)
		l := &loaded{suite: s, machine: full, db: db, def: d}
		t.Run("Contents", l.contents)
		t.Run("Values", l.values)
		t.Run("Affected", l.affected)
		t.Run("Identity", l.identity)
		t.Run("Words", l.words)
		t.Run("Transactions", l.transactions)
		t.Run("Classes", l.classes)
		t.Run("Counters", l.counters)
		t.Run("Waits", l.waits)
		t.Run("Crash", l.crash) // last: it ends the server
	})
}

// suite is the engine under test.
type suite struct {
	engine  engine.Engine
	machine func(*testing.T) engine.Machine
	traits  traits
	install engine.Installation // set by locate
}

// traits are what differs between products.
type traits struct {
	version string // a constraint that a supported server satisfies
	// good are settings with what they read back as; wrong ones are refused,
	// each with a part of the server's message.
	good, effective, wrong map[string]string
	memory                 string // a setting that takes a percentage of memory
	// rounded is a setting with a value that the server takes but rounds.
	rounded, roundedValue string
	quickDeadlocks        map[string]string
	setTimeout            string // SQL: the session's statements end after 100 ms
	sleep                 string // SQL: waits for 20 s and returns a row
	busy                  string // SQL: keeps a CPU busy for hours
	session               string // SQL: the number of the session
	kill                  string // SQL: ends session :id
	lockWait              string // the state of a session that waits for another's row
	// oneWriter says that a lock is of the whole database: sessions that want
	// one wait for each other, can't deadlock, and see a snapshot where they
	// ask for less isolation.
	oneWriter bool
	// lone says why no session can end another one's; "" where kill does.
	lone string
	// inside says that there is no server process: see inside.go.
	inside bool
}

// traitsOf returns the traits of a product.
func traitsOf(t *testing.T, name string) traits {
	t.Helper()
	switch name {
	case "postgres":
		return traits{
			version:        ">=15",
			good:           map[string]string{"work_mem": "8192kB", "Random_Page_Cost": "1.50", "enable_nestloop": "false", "checkpoint_timeout": "600"},
			effective:      map[string]string{"work_mem": "8MB", "random_page_cost": "1.5", "enable_nestloop": "off", "checkpoint_timeout": "10min"},
			wrong:          map[string]string{"shared_bufers": "configuration parameter", "work_mem": "invalid value for parameter"},
			memory:         "shared_buffers",
			rounded:        "effective_cache_size", // in pages of 8 kB
			roundedValue:   "805kB",
			quickDeadlocks: map[string]string{"deadlock_timeout": "50ms"},
			setTimeout:     "SET statement_timeout = 100",
			sleep:          "SELECT 1 FROM pg_sleep(20)",
			busy:           "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 10000000) b",
			session:        "SELECT pg_backend_pid()",
			kill:           "SELECT pg_terminate_backend(:id)",
			lockWait:       "Lock:transactionid",
		}
	case "mysql":
		return traits{
			version:      ">=8",
			good:         map[string]string{"sort_buffer_size": "4MiB", "Join-Buffer-Size": "512K", "innodb_print_all_deadlocks": "true", "long_query_time": "2.50"},
			effective:    map[string]string{"sort_buffer_size": "4MB", "join_buffer_size": "512kB", "innodb_print_all_deadlocks": "ON", "long_query_time": "2.5"},
			wrong:        map[string]string{"innodb_bufer_pool_size": "unknown variable", "sort_buffer_size": "nonsense"},
			memory:       "innodb_buffer_pool_size",
			rounded:      "max_allowed_packet", // in steps of 1 kB
			roundedValue: "1500000",
			setTimeout:   "SET max_statement_time = 0.1",
			sleep:        "SELECT SLEEP(20)",
			busy:         "SELECT BENCHMARK(1000000000000, SHA2('busy', 512))",
			session:      "SELECT CONNECTION_ID()",
			kill:         "KILL :id",
			lockWait:     "Lock:Row",
		}
	case "sqlite":
		return traits{
			version:        ">=3.50",
			good:           map[string]string{"cell_size_check": "true", "Temp_Store": "2", "wal_autocheckpoint": "500", "secure_delete": "FAST"},
			effective:      map[string]string{"cell_size_check": "on", "temp_store": "memory", "wal_autocheckpoint": "500", "secure_delete": "fast"},
			wrong:          map[string]string{"cach_size": "not a setting", "wal_autocheckpoint": "whole number", "page_size": "database's file"},
			memory:         "cache_size",
			rounded:        "mmap_size", // the library has an upper bound
			roundedValue:   "1048576MB",
			quickDeadlocks: map[string]string{"busy_timeout": "1500"}, // there are none: how long sessions wait
			lockWait:       "Lock:Writer",
			oneWriter:      true,
			lone:           "sessions are connections inside one process, which know nothing of each other",
			inside:         true,
		}
	default:
		t.Fatalf("enginetest knows no traits of engine %q: add them to traitsOf", name)
		return traits{}
	}
}

// create makes an empty database in a new machine.
func (s *suite) create(t *testing.T) engine.Machine {
	t.Helper()
	m := s.machine(t)
	if err := s.install.Create(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	return m
}

// start starts a durable server that ends with the test at the latest.
func (s *suite) start(t *testing.T, m engine.Machine, settings map[string]string) engine.Database {
	t.Helper()
	return s.startAs(t, m, engine.Config{Connections: 20, Durable: true, Settings: settings})
}

func (s *suite) startAs(t *testing.T, m engine.Machine, c engine.Config) engine.Database {
	t.Helper()
	db, err := s.install.Start(t.Context(), m, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// Stopping again repeats the first answer, which its test has judged.
		_ = db.Stop(context.Background())
	})
	return db
}

// loadInto loads d with a server that is not durable, and stops it.
func (s *suite) loadInto(t *testing.T, m engine.Machine, d *workload.Definition, workers int) engine.LoadReport {
	t.Helper()
	db := s.startAs(t, m, engine.Config{Connections: 10})
	r, err := db.Load(t.Context(), d, engine.LoadOptions{Workers: workers})
	if err != nil {
		t.Fatalf("%v\n%s", err, db.Log())
	}
	if err := db.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

// noneLeft fails the test where processes work below the machine's directory.
func noneLeft(t testing.TB, m engine.Machine) {
	t.Helper()
	if left := Processes(m.Dir()); len(left) > 0 {
		t.Errorf("processes %d are left", left)
	}
}

// within polls until done says so, for at most ten seconds, and returns
// whether it did.
func within(ctx context.Context, done func() bool) bool {
	wall := clock.Real{}
	for range 200 {
		if done() {
			return true
		}
		if wall.SleepUntil(ctx, wall.Now().Add(50e6)) != nil {
			break
		}
	}
	return done()
}
