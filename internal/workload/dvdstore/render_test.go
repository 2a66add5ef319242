package dvdstore_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/postgres"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// TestRenderedSQLIsTheReviewedOne: testdata has every statement as each engine
// gets it.
func TestRenderedSQLIsTheReviewedOne(t *testing.T) {
	for name, dialect := range map[string]engine.Dialect{"postgres": postgres.New().Dialect()} {
		file := "testdata/" + name + ".golden.sql"
		got := rendered(t, dialect)
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

// rendered is the schema, and what users and checks send, of both modes.
func rendered(t *testing.T, dialect engine.Dialect) string {
	var out strings.Builder
	for _, mode := range []string{"strict", "compat"} {
		d := define(t, map[string]string{"mode": mode})
		before, after, err := dialect.Schema(d)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "-- mode %s: schema\n", mode)
		for _, s := range append(before, after...) {
			fmt.Fprintf(&out, "%s;\n", s)
		}
		statement := func(what string, s *workload.Statement) {
			text, err := dialect.Statement(s)
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
			fmt.Fprintf(&out, "-- mode %s: %s\n%s;\n", mode, what, strings.Join(strings.Fields(text), " "))
		}
		for _, s := range d.Statements {
			statement(s.Name, s)
		}
		for _, c := range d.Checks {
			statement("check "+c.Name, c.Query)
		}
	}
	return out.String()
}
