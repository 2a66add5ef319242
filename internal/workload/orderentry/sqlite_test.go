package orderentry_test

import (
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

// walksOnSQLite asks SQLite how it finds the rows: by a key or an index, in every
// statement of the users.
func (l subject) walksOnSQLite(t *testing.T) {
	c := l.Open(t).Conn()
	for _, s := range l.Definition.Statements {
		args := make([]workload.Value, len(s.Params))
		r, err := c.Run(t.Context(), &workload.Statement{Index: -1, Name: "plan of " + s.Name, Text: "EXPLAIN QUERY PLAN " + s.Text, Params: s.Params}, args)
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
			continue
		}
		for i := range r.Rows() {
			step := string(r.Row(i)[3].Str)
			if strings.HasPrefix(step, "SCAN ") && step != "SCAN warehouse" || strings.Contains(step, "AUTOMATIC") {
				t.Errorf("%s: %s", s.Name, step)
			}
		}
	}
}
