package orderentry_test

import (
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/catalog"
	"github.com/loadstone-perf/loadstone/internal/engine/enginetest"
)

// TestRenderedSQLIsTheReviewedOne: testdata has every statement as each engine
// of the catalogue gets it, in each mode that the workload has there.
func TestRenderedSQLIsTheReviewedOne(t *testing.T) {
	for _, e := range catalog.Engines() {
		t.Run(e.Name, func(t *testing.T) {
			var out strings.Builder
			for _, mode := range modes(t, e.Name) {
				d := define(t, map[string]string{"mode": mode})
				out.WriteString(enginetest.Rendered(t, e.New().Dialect(), "mode "+mode, d))
			}
			enginetest.Golden(t, "testdata/"+e.Name+".golden.sql", out.String(), *update)
		})
	}
}
