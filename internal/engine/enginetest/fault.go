package enginetest

import (
	"context"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

func (l *loaded) transactions(t *testing.T) {
	a, b := l.open(t), l.open(t)
	amount := func(s *engine.Session, id int64) int64 {
		t.Helper()
		r := l.run(t, s, parentByName, workload.Str([]byte(parentName(id))))
		if r.Rows() != 1 {
			t.Fatalf("parent %d: %d rows", id, r.Rows())
		}
		return r.Values[1].Int
	}
	l.tx(t, a, workload.Begin)
	l.run(t, a, setAmount, workload.Money(4242), workload.Int(10))
	if got := amount(b, 10); got == 4242 {
		t.Error("another session sees what is not committed")
	}
	l.tx(t, a, workload.Rollback)
	if got := amount(a, 10); got != 909 {
		t.Errorf("amount %d after rollback, want 909", got)
	}
	for _, op := range []workload.TxOp{workload.Begin, workload.BeginReadCommitted, workload.BeginRepeatableRead, workload.BeginSerializable} {
		l.tx(t, a, op)
		l.run(t, a, setAmount, workload.Money(int64(op)+1), workload.Int(10))
		l.tx(t, a, workload.Commit)
		if got := amount(b, 10); got != int64(op)+1 {
			t.Errorf("amount %d after commit of kind %d, want %d", got, op, op+1)
		}
	}
	// Read committed sees the other's commit, repeatable read does not.
	for op, want := range map[workload.TxOp]int64{workload.BeginReadCommitted: 222, workload.BeginRepeatableRead: 111} {
		if l.traits.OneWriter {
			want = 111
		}
		l.run(t, b, setAmount, workload.Money(111), workload.Int(11))
		l.tx(t, a, op)
		amount(a, 11)
		l.run(t, b, setAmount, workload.Money(222), workload.Int(11))
		if got := amount(a, 11); got != want {
			t.Errorf("amount %d in isolation %d, want %d", got, op, want)
		}
		l.tx(t, a, workload.Rollback)
	}
	// A transaction without a statement.
	l.tx(t, a, workload.Begin)
	l.tx(t, a, workload.Commit)
}

// classes provokes an error of each class.
func (l *loaded) classes(t *testing.T) {
	expect := func(t *testing.T, what string, want workload.Class, got workload.Outcome, err error) {
		t.Helper()
		if got.Status != workload.Failed || got.Class != want {
			t.Errorf("%s: status %d, class %s (%v), want class %s", what, got.Status, got.Class, err, want)
		}
	}
	// one runs a single statement on s.
	one := func(s *engine.Session, st *workload.Statement, args ...workload.Value) (workload.Outcome, error) {
		return try(t.Context(), s, func(ctx context.Context, c workload.Conn) error {
			_, err := c.Run(ctx, st, args)
			return err
		})
	}
	t.Run("Retry", func(t *testing.T) {
		a, b := l.open(t), l.open(t)
		l.tx(t, a, workload.BeginRepeatableRead)
		l.run(t, a, countParents)
		l.run(t, b, setAmount, workload.Money(5), workload.Int(20))
		got, err := one(a, l.def.Statements[setAmount], workload.Money(6), workload.Int(20))
		expect(t, "conflicting update", workload.Retry, got, err)
		l.tx(t, a, workload.Rollback)
		l.run(t, a, setAmount, workload.Money(6), workload.Int(20))
	})
	t.Run("Deadlock", func(t *testing.T) { l.deadlock(t, expect) })
	t.Run("Timeout", func(t *testing.T) {
		s := l.open(t)
		if l.traits.OneWriter { // what takes long is waiting for the lock
			holder := l.open(t)
			l.tx(t, holder, workload.Begin)
			got, err := one(s, l.def.Statements[setAmount], workload.Money(1), workload.Int(21))
			expect(t, "wait for the writer's lock", workload.Timeout, got, err)
			l.tx(t, holder, workload.Rollback)
			l.run(t, s, setAmount, workload.Money(1), workload.Int(21))
			return
		}
		l.runStatement(t, s, l.traits.statement(setTimeout))
		got, err := one(s, l.traits.statement(sleep))
		expect(t, "statement timeout", workload.Timeout, got, err)
		l.run(t, s, countParents)
	})
	t.Run("Connection", func(t *testing.T) {
		if l.traits.Lone != "" {
			t.Skip(l.traits.Lone)
		}
		victim := l.open(t)
		id := l.runStatement(t, victim, l.traits.statement(session)).Values[0]
		if _, err := one(l.open(t), l.traits.statement(kill), id); err != nil {
			// Only who owns a session may end it; both are the same role here.
			t.Fatal(err)
		}
		var got workload.Outcome
		var err error
		if !within(t.Context(), func() bool {
			got, err = one(victim, l.def.Statements[countParents])
			return err != nil
		}) {
			t.Fatal("the session that was killed still answers")
		}
		expect(t, "killed session", workload.Connection, got, err)
	})
	t.Run("Fatal", func(t *testing.T) {
		s := l.open(t)
		got, err := one(s, l.traits.statement(missing))
		expect(t, "missing table", workload.Fatal, got, err)
		l.run(t, s, countParents)
	})
	t.Run("Closed", func(t *testing.T) {
		s := l.open(t)
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("close again: %v", err)
		}
		got, err := one(s, l.def.Statements[countParents])
		expect(t, "closed session", workload.Connection, got, err)
	})
}

// deadlock lets two sessions lock two rows in opposite orders: one of them
// must be chosen, the other must go on.
func (l *loaded) deadlock(t *testing.T, expect func(*testing.T, string, workload.Class, workload.Outcome, error)) {
	if l.traits.OneWriter {
		t.Skip("with one lock there is no circle of waits")
	}
	a, b := l.open(t), l.open(t)
	l.tx(t, a, workload.Begin)
	l.tx(t, b, workload.Begin)
	l.run(t, a, lockParent, workload.Int(30))
	l.run(t, b, lockParent, workload.Int(31))
	type answer struct {
		outcome workload.Outcome
		err     error
	}
	cross := func(s *engine.Session, id int64) answer {
		o, err := try(t.Context(), s, func(ctx context.Context, c workload.Conn) error {
			if _, err := c.Run(ctx, l.def.Statements[lockParent], []workload.Value{workload.Int(id)}); err != nil {
				// The loser must let go, or the other waits for ever.
				_ = c.Tx(ctx, workload.Rollback)
				return err
			}
			return c.Tx(ctx, workload.Commit)
		})
		return answer{o, err}
	}
	first := make(chan answer)
	go func() { first <- cross(a, 31) }()
	answers := []answer{cross(b, 30), <-first}
	if answers[0].err == nil {
		answers[0], answers[1] = answers[1], answers[0]
	}
	expect(t, "deadlock", workload.Deadlock, answers[0].outcome, answers[0].err)
	if answers[1].err != nil {
		t.Errorf("the other session failed too: %v", answers[1].err)
	}
}

// crash kills the server: sessions and Exited notice, and a new start recovers
// what was committed.
func (l *loaded) crash(t *testing.T) {
	local, ok := l.machine.(*Local)
	if !ok {
		t.Skip("killing a server behind its engine's back needs a *Local machine")
	}
	if l.traits.Inside {
		l.crashInside(t)
		return
	}
	s := l.open(t)
	l.run(t, s, setAmount, workload.Money(777), workload.Int(40))
	l.tx(t, s, workload.Begin)
	l.run(t, s, setAmount, workload.Money(888), workload.Int(41))
	// A session that is busy does not look whether its server is there.
	worker := l.open(t)
	answer := make(chan error, 1)
	go func() {
		_, err := worker.Conn().Run(context.Background(), l.traits.statement(busy), nil)
		answer <- err
	}()
	for _, states := range l.db.States() {
		if !within(t.Context(), func() bool {
			working := 0
			if err := states.Poll(t.Context(), func(_ string, n int) { working += n }); err != nil {
				t.Fatal(err)
			}
			return working > 0
		}) {
			t.Fatal("the busy session does not begin")
		}
	}
	if err := local.Server().Kill(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-l.db.Exited():
	case <-patience(t):
		t.Fatal("Exited is open after the server was killed")
	}
	if err := l.db.Stop(t.Context()); err == nil {
		t.Error("Stop of a server that was killed reported that all is in order")
	}
	noneLeft(t, l.machine)
	o, err := try(t.Context(), s, func(ctx context.Context, c workload.Conn) error { return c.Tx(ctx, workload.Commit) })
	if o.Class != workload.Connection {
		t.Errorf("class %s (%v) after the server was killed, want connection", o.Class, err)
	}
	select {
	case err := <-answer:
		if err == nil {
			t.Error("a statement succeeded on a server that was killed")
		}
	case <-patience(t):
		t.Fatal("a session still waits for a server that was killed")
	}

	l.db = l.start(t, l.machine, nil)
	s = l.open(t)
	for id, want := range map[int64]int64{40: 777, 41: 40 * 101} {
		r := l.run(t, s, parentByName, workload.Str([]byte(parentName(id))))
		if r.Rows() != 1 || r.Values[1].Int != want {
			t.Errorf("parent %d is %+v after recovery, want amount %d", id, r.Values, want)
		}
	}
	if err := l.db.Stop(t.Context()); err != nil {
		t.Errorf("stop: %v", err)
	}
}

// patience ends when a wait has taken too long.
func patience(t testing.TB) <-chan struct{} {
	ctx, cancel := context.WithTimeout(context.Background(), stopSoon)
	t.Cleanup(cancel)
	return ctx.Done()
}
