package orderentry_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/enginetest"
	"github.com/loadstone-perf/loadstone/internal/engine/postgres"
	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// loaded is a workload in a database of its own on a real server.
type loaded struct {
	d  *workload.Definition
	db engine.Database
}

func (l loaded) open(t testing.TB) *engine.Session {
	t.Helper()
	s, err := l.db.Open(t.Context(), l.d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// ask runs sql and returns its values, row after row.
func ask(t testing.TB, c workload.Conn, sql string) []workload.Value {
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

// check runs all checks and returns those that do not hold.
func (l loaded) check(t testing.TB, c workload.Conn, tally workload.Tally) map[string]string {
	t.Helper()
	failed := map[string]string{}
	for _, check := range l.d.Checks {
		q := *check.Query
		q.Index = -1
		r, err := c.Run(t.Context(), &q, nil)
		if err != nil {
			t.Fatalf("check %s: %v", check.Name, err)
		}
		if len(r.Values) != 1 || r.Values[0].Kind != workload.Integer {
			t.Fatalf("check %s gave %v, want a whole number", check.Name, r.Values)
		}
		var least, most int64
		if check.Want != nil {
			least, most = check.Want(tally)
		}
		if n := r.Values[0].Int; n < least || n > most {
			failed[check.Name] = fmt.Sprintf("found %d, want %d to %d", n, least, most)
		}
	}
	return failed
}

// server starts PostgreSQL for the test.
func server(t testing.TB, settings map[string]string) engine.Database {
	t.Helper()
	in, err := postgres.New().Locate(t.Context(), engine.Want{Version: ">=15"})
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skipf("needs a PostgreSQL server: %v", err)
	}
	m := enginetest.LocalMachine(t.(*testing.T))
	if err := in.Create(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	db, err := in.Start(t.Context(), m, engine.Config{Connections: 40, Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return db
}

// load loads the workload into database name.
func load(t testing.TB, db engine.Database, name string, params map[string]string) loaded {
	t.Helper()
	d := *define(t, params)
	d.Database = name
	r, err := db.Load(t.Context(), &d, engine.LoadOptions{Workers: 2})
	if err != nil {
		t.Fatalf("load %v: %v", params, err)
	}
	t.Logf("loaded %d rows, %v, stages %.2v", r.Rows, r.Bytes.Human(), r.StageSeconds)
	return loaded{&d, db}
}

func newTally() workload.Tally {
	return workload.Tally{Committed: map[string]int64{}, RolledBack: map[string]int64{}, Unknown: map[string]int64{}}
}

var _ = maps.Keys[map[string]int]
var _ sync.Mutex
var _ rng.Stream
