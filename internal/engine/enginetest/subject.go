package enginetest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// Subject is a workload in a database of its own, run in one way: on one engine,
// in one mode.
type Subject struct {
	Name       string // "postgres, procedures"
	Definition *workload.Definition
	Database   engine.Database
}

// Load loads d into database name of db.
func Load(t *testing.T, db engine.Database, name string, d *workload.Definition) Subject {
	t.Helper()
	own := *d
	own.Database = name
	r, err := db.Load(t.Context(), &own, engine.LoadOptions{Workers: 2})
	if err != nil {
		t.Fatalf("load %s: %v", name, err)
	}
	t.Logf("%s: loaded %d rows, %v, stages %.2v", name, r.Rows, r.Bytes.Human(), r.StageSeconds)
	return Subject{name, &own, db}
}

// Open opens a user's session, which is closed with the test.
func (s Subject) Open(t *testing.T) *engine.Session {
	t.Helper()
	session, err := s.Database.Open(t.Context(), s.Definition)
	if err != nil {
		t.Fatalf("%s: %v", s.Name, err)
	}
	t.Cleanup(func() { _ = session.Close() }) // the server may be gone by then
	return session
}

// Check runs the checks of the given names, or all of them where none is given,
// and returns those that do not hold, with what was found.
func (s Subject) Check(t *testing.T, c workload.Conn, tally workload.Tally, names ...string) map[string]string {
	t.Helper()
	if q, ok := c.(interface{ LongQueries(context.Context) error }); ok {
		if err := q.LongQueries(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	failed, asked := map[string]string{}, map[*workload.Statement][]workload.Value{}
	for _, check := range s.Definition.Checks {
		if len(names) > 0 && !slices.Contains(names, check.Name) {
			continue
		}
		row := asked[check.Query]
		if row == nil {
			row = Ask(t, c, check.Query.Text)
			asked[check.Query] = row
		}
		if len(row) <= check.Column || row[check.Column].Kind != workload.Integer {
			t.Fatalf("check %s gave %v, want a row with a whole number in column %d", check.Name, row, check.Column)
		}
		var least, most int64
		if check.Want != nil {
			least, most = check.Want(tally)
		}
		if n := row[check.Column].Int; n < least || n > most {
			failed[check.Name] = fmt.Sprintf("found %d, want %d to %d", n, least, most)
		}
	}
	return failed
}

// NewTally is a tally of nothing.
func NewTally() workload.Tally {
	return workload.Tally{Committed: map[string]int64{}, RolledBack: map[string]int64{}, Unknown: map[string]int64{}}
}

// Ask runs sql, in which intent tokens are rendered, and returns its values, row
// after row.
func Ask(t *testing.T, c workload.Conn, sql string) []workload.Value {
	t.Helper()
	r, err := c.Run(t.Context(), &workload.Statement{Index: -1, Name: sql, Text: sql}, nil)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	// The result lives until the next call only.
	out := slices.Clone(r.Values)
	for i := range out {
		out[i].Str = slices.Clone(out[i].Str)
	}
	return out
}

// Inside runs f in a transaction that is rolled back.
func Inside(t *testing.T, c workload.Conn, f func()) {
	t.Helper()
	if err := c.Tx(t.Context(), workload.Begin); err != nil {
		t.Fatal(err)
	}
	f()
	if err := c.Tx(t.Context(), workload.Rollback); err != nil {
		t.Fatal(err)
	}
}
