package enginetest

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// Rendered is what an engine gets of a workload: the schema, and what users and
// checks send, for people to review. title stands before each part.
func Rendered(t *testing.T, dialect engine.Dialect, title string, d *workload.Definition) string {
	t.Helper()
	var out strings.Builder
	before, after, err := dialect.Schema(d)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&out, "-- %s: schema\n", title)
	for _, s := range append(before, after...) {
		fmt.Fprintf(&out, "%s;\n", s)
	}
	statement := func(what string, s *workload.Statement) {
		text, err := dialect.Statement(s)
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		fmt.Fprintf(&out, "-- %s: %s\n%s;\n", title, what, strings.Join(strings.Fields(text), " "))
	}
	for _, s := range d.Statements {
		statement(s.Name, s)
	}
	told := map[*workload.Statement]bool{}
	for _, c := range d.Checks {
		if !told[c.Query] {
			statement("check "+c.Name, c.Query)
		}
		told[c.Query] = true
	}
	return out.String()
}

// Golden compares got with a file that has been reviewed; update rewrites it.
func Golden(t *testing.T, file, got string, update bool) {
	t.Helper()
	if update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	now, was := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	at := 0
	for at < min(len(now), len(was)) && now[at] == was[at] {
		at++
	}
	line := func(lines []string) string {
		if at < len(lines) {
			return lines[at]
		}
		return "(the end)"
	}
	t.Errorf("%s:%d is not what is rendered now (-update rewrites it):\n%s\nnow it is\n%s", file, at+1, line(was), line(now))
}
