package stats_test

import (
	"math"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/stats"
	"pgregory.net/rapid"
)

// The first is the example of SciPy's documentation of scipy.stats.spearmanr
// (0.8207826816681233); the second is 1 − 6Σd²/(n(n²−1)) by hand, with
// Σd² = 4+1+1+4+0 = 10.
func TestSpearmanMatchesSciPyAndTheFormulaByHand(t *testing.T) {
	near(t, "with ties", stats.Spearman([]float64{1, 2, 3, 4, 5}, []float64{5, 6, 7, 8, 7}), 0.8207826816681233, 1e-14)
	near(t, "without", stats.Spearman([]float64{10, 20, 30, 40, 50}, []float64{3, 1, 4, 2, 7}), 1-6.0*10/(5*24), 1e-14)
	for name, c := range map[string][2][]float64{
		"too few": {{1, 2}, {1, 2}}, "not as many": {{1, 2, 3}, {1, 2}}, "constant": {{1, 1, 1}, {1, 2, 3}}, "not finite": {{1, 2, math.NaN()}, {1, 2, 3}},
	} {
		if got := stats.Spearman(c[0], c[1]); !math.IsNaN(got) {
			t.Errorf("%s: %g", name, got)
		}
	}
}

// TestSpearmanKnowsOnlyOrder: a rising function of either changes nothing, a
// falling one turns the sign, and nothing is beyond 1.
func TestSpearmanKnowsOnlyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 40).Draw(t, "n")
		xs := rapid.SliceOfN(rapid.Float64Range(-50, 50), n, n).Draw(t, "xs")
		ys := rapid.SliceOfN(rapid.Float64Range(-50, 50), n, n).Draw(t, "ys")
		r := stats.Spearman(xs, ys)
		if math.IsNaN(r) {
			return
		}
		up, down := make([]float64, n), make([]float64, n)
		for i, x := range xs {
			up[i], down[i] = 2*x+100, -x
		}
		if s := stats.Spearman(up, ys); math.Abs(s-r) > 1e-9 && distinct(up) == distinct(xs) {
			t.Fatalf("%g became %g for a rising function", r, s)
		}
		if s := stats.Spearman(down, ys); math.Abs(s+r) > 1e-9 || math.Abs(r) > 1+1e-12 {
			t.Fatalf("%g became %g for a falling function", r, s)
		}
	})
}

func distinct(xs []float64) int {
	seen := map[float64]bool{}
	for _, x := range xs {
		seen[x] = true
	}
	return len(seen)
}
