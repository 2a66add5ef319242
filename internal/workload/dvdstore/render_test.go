package dvdstore_test

import (
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/catalog"
	"github.com/loadstone-perf/loadstone/internal/engine/enginetest"
)

// TestRenderedSQLIsTheReviewedOne: testdata has every statement as each engine
// of the catalogue gets it, in each way that the workload has there.
func TestRenderedSQLIsTheReviewedOne(t *testing.T) {
	for _, e := range catalog.Engines() {
		t.Run(e.Name, func(t *testing.T) {
			var out strings.Builder
			for _, way := range []struct{ title, mode, calls string }{
				{"mode strict", "strict", "procedures"}, {"mode compat", "compat", "procedures"}, {"calls statements", "strict", "statements"},
			} {
				d := define(t, map[string]string{"mode": way.mode, "calls": way.calls})
				if _, ok := d.Scripts[e.Name]; ok || way.calls != "procedures" {
					out.WriteString(enginetest.Rendered(t, e.New().Dialect(), way.title, d))
				}
			}
			enginetest.Golden(t, "testdata/"+e.Name+".golden.sql", out.String(), *update)
		})
	}
}
