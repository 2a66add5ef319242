package enginetest

import (
	"context"
	"math"
	"regexp"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

// counters reads every source around some work.
func (l *loaded) counters(t *testing.T) {
	columnName := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	s := l.open(t)
	sources := l.db.Sources()
	if len(sources) == 0 {
		t.Fatal("the database has no counters")
	}
	for _, src := range sources {
		columns := src.Columns()
		seen := map[string]bool{}
		for _, c := range columns {
			if !columnName.MatchString(c.Name) || seen[c.Name] || c.About == "" {
				t.Errorf("%s: column %+v: a name in snake case that occurs once, and a description, are needed", src.Name(), c)
			}
			seen[c.Name] = true
		}
		before, after := make([]float64, len(columns)), make([]float64, len(columns))
		if err := src.Read(t.Context(), before); err != nil {
			t.Fatal(err)
		}
		moved := func() bool {
			for range 10 {
				l.run(t, s, setAmount, workload.Money(3), workload.Int(50))
			}
			if err := src.Read(t.Context(), after); err != nil {
				t.Fatal(err)
			}
			for i, c := range columns {
				if c.Total && after[i] > before[i] {
					return true
				}
			}
			return false
		}
		if !within(t.Context(), moved) {
			t.Errorf("%s: no total grew with work", src.Name())
		}
		for i, c := range columns {
			if math.IsNaN(before[i]) || math.IsNaN(after[i]) || before[i] < 0 {
				t.Errorf("%s.%s: %v, then %v", src.Name(), c.Name, before[i], after[i])
			}
			if c.Total && after[i] < before[i] {
				t.Errorf("%s.%s is a total and fell from %v to %v", src.Name(), c.Name, before[i], after[i])
			}
		}
	}
}

// waits polls while one session waits for another's lock: some state must have
// a session in it.
func (l *loaded) waits(t *testing.T) {
	states := l.db.States()
	if len(states) == 0 {
		t.Skip("the engine has no wait events")
	}
	holder, waiter := l.open(t), l.open(t)
	l.tx(t, holder, workload.Begin)
	l.run(t, holder, lockParent, workload.Int(60))
	answer := make(chan error, 1)
	go func() {
		_, err := waiter.Conn().Run(context.Background(), l.def.Statements[lockParent], []workload.Value{workload.Int(60)})
		answer <- err
	}()
	for _, src := range states {
		var seen map[string]int
		if !within(t.Context(), func() bool {
			seen = map[string]int{}
			if err := src.Poll(t.Context(), func(state string, n int) { seen[state] += n }); err != nil {
				t.Fatal(err)
			}
			return seen[l.traits.LockWait] > 0
		}) {
			t.Errorf("%s: states %v while a session waits for a lock, want %s", src.Name(), seen, l.traits.LockWait)
		}
	}
	l.tx(t, holder, workload.Rollback)
	if err := <-answer; err != nil {
		t.Errorf("the session that waited: %v", err)
	}
}
