// Package enginetest is the conformance suite of engines: what every engine
// must do on a real server before a study may name it.
//
// The suite brings a small workload of its own with every family of types,
// keys, and every kind of value; it looks for processes that are left behind;
// and it kills servers and sessions to see that the loss is noticed and that
// committed work survives. What can't be said in one SQL for all engines is in
// the Traits that each engine's test hands in.
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
func Run(t *testing.T, New func() engine.Engine, machine func(t *testing.T) engine.Machine, traits Traits) {
	if workInside(t, New()) {
		return
	}
	s := &suite{engine: New(), machine: machine, traits: traits}
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
		db := s.start(t, full, s.traits.QuickDeadlocks)
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
	traits  Traits
	install engine.Installation // set by locate
}

// Traits are what the suite must know of a product: what can't be said in one
// SQL, or by one name, for all of them.
type Traits struct {
	Version string // a constraint that a supported server satisfies
	// Good are settings, Effective what some of them read back as; Wrong ones
	// are refused, each with a part of the server's message.
	Good, Effective, Wrong map[string]string
	Memory                 string // a setting that takes a percentage of memory
	// Rounded is a setting with a value that the server takes but rounds.
	Rounded, RoundedValue string
	QuickDeadlocks        map[string]string // settings that find a deadlock soon
	SetTimeout            string            // SQL: the session's statements end after 100 ms
	Sleep                 string            // SQL: waits for 20 s and returns a row
	Busy                  string            // SQL: keeps a CPU busy for hours
	Session               string            // SQL: the number of the session
	Kill                  string            // SQL: ends session :id
	LockWait              string            // the state of a session that waits for another's row
	// OneWriter says that a lock is of the whole database: sessions that want
	// one wait for each other, can't deadlock, and see a snapshot where they
	// ask for less isolation.
	OneWriter bool
	// Lone says why no session can end another one's; "" where Kill does.
	Lone string
	// Inside says that there is no server process: see inside.go.
	Inside bool
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
