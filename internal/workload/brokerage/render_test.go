package brokerage_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/mysql"
	"github.com/loadstone-perf/loadstone/internal/engine/postgres"
	"github.com/loadstone-perf/loadstone/internal/engine/sqlite"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// TestRenderedSQLIsTheReviewedOne: testdata has the schema and every statement
// as each engine gets it, in each mode that it has.
func TestRenderedSQLIsTheReviewedOne(t *testing.T) {
	for name, dialect := range map[string]engine.Dialect{
		"postgres": postgres.New().Dialect(), "mysql": mysql.New().Dialect(), "sqlite": sqlite.New().Dialect(),
	} {
		file := "testdata/" + name + ".golden.sql"
		got := rendered(t, name, dialect)
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s is not what is rendered now (-update rewrites it):\n%s", file, got)
		}
	}
}

func rendered(t *testing.T, name string, dialect engine.Dialect) string {
	t.Helper()
	var out strings.Builder
	d := define(t, little(map[string]string{"mode": "statements"}))
	before, after, err := dialect.Schema(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range append(before, after...) {
		fmt.Fprintf(&out, "%s;\n", s)
	}
	statement := func(what string, s *workload.Statement) {
		text, err := dialect.Statement(s)
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		fmt.Fprintf(&out, "-- %s\n%s;\n", what, strings.Join(strings.Fields(text), " "))
	}
	for _, s := range d.Statements {
		statement(s.Name, s)
	}
	for _, c := range d.Checks {
		statement(c.Query.Name, c.Query)
	}
	calls := define(t, little(nil))
	if _, ok := calls.Scripts[name]; ok {
		for _, s := range calls.Statements {
			statement("mode procedures: "+s.Name, s)
		}
	}
	return out.String()
}
