package stats_test

import (
	"math"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/stats"
)

// The fixtures were computed with SciPy 1.17.1, statsmodels 0.15.0, NumPy
// 2.4.6 and pymannkendall 1.4.3; each test names the function.

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*max(1, math.Abs(want))) {
		t.Errorf("%s is %.15g, want %.15g", what, got, want)
	}
}

// scipy.stats.t.interval
func TestStudentTMatchesSciPy(t *testing.T) {
	i := stats.StudentT([]float64{12.1, 11.8, 12.6, 12.3, 11.9}, 0.95)
	near(t, "mean", i.Value, 12.14, 1e-14)
	near(t, "low", i.Low, 11.741505160765108, 1e-10)
	near(t, "high", i.High, 12.53849483923489, 1e-10)
}

// The coverages are 1 − 2·Σ C(n,i)/2ⁿ, computed by hand: David and Nagaraja,
// Order Statistics, table 7.1.
func TestMedianIntervalTakesTheOrderStatisticsThatCover(t *testing.T) {
	for _, c := range []struct {
		n         int
		low, high float64 // values are 1…n
		level     float64
	}{
		{6, 1, 6, 1 - 2.0/64},
		{8, 1, 8, 1 - 2.0/256},
		{9, 2, 8, 1 - 2.0*10/512},
		{12, 3, 10, 1 - 2.0*(1+12+66)/4096},
		{20, 6, 15, 1 - 2.0*(1+20+190+1140+4845+15504)/1048576},
	} {
		var xs []float64
		for i := c.n; i >= 1; i-- {
			xs = append(xs, float64(i))
		}
		i := stats.MedianInterval(xs, 0.95)
		if i.Low != c.low || i.High != c.high {
			t.Errorf("n = %d: interval %g to %g, want %g to %g", c.n, i.Low, i.High, c.low, c.high)
		}
		near(t, "level", i.Level, c.level, 1e-12)
		near(t, "median", i.Value, float64(c.n+1)/2, 0)
	}
}

// scipy.stats.mannwhitneyu, method exact and asymptotic; with ties, all
// choices counted by itertools.combinations over scipy.stats.rankdata.
func TestMannWhitneyMatchesSciPy(t *testing.T) {
	a, b := []float64{1.2, 3.4, 2.2, 5.1, 2.9, 4.4}, []float64{3.3, 5.5, 6.1, 4.9, 7.2}
	r := stats.MannWhitney(a, b)
	near(t, "U", r.U, 26, 0)
	near(t, "P", r.P, 0.05194805194805195, 1e-12)
	if !r.Exact {
		t.Error("eleven values are not compared exactly")
	}
	r = stats.MannWhitney([]float64{1, 2, 2, 3}, []float64{2, 3, 3, 4, 5})
	near(t, "U with ties", r.U, 17, 0)
	near(t, "P with ties", r.P, 0.15873015873015872, 1e-12)
	a, b = nil, nil
	for i := range 30 {
		a = append(a, float64((7*i*i+3*i)%23))
	}
	for i := range 25 {
		b = append(b, float64((5*i*i+11*i)%29))
	}
	r = stats.MannWhitney(a, b)
	near(t, "U of 55", r.U, 384.5, 0)
	near(t, "P of 55", r.P, 0.8788430419846835, 1e-10)
	if r.Exact {
		t.Error("55 values are said to be compared exactly")
	}
}

// scipy.stats.ttest_ind(b, a, equal_var=False)
func TestWelchMatchesSciPy(t *testing.T) {
	w := stats.Welch([]float64{1.2, 3.4, 2.2, 5.1, 2.9, 4.4}, []float64{3.3, 5.5, 6.1, 4.9, 7.2}, 0.95)
	near(t, "t", w.T, 2.524680631581698, 1e-12)
	near(t, "degrees of freedom", w.DF, 8.589186261761691, 1e-12)
	near(t, "P", w.P, 0.03366956186776036, 1e-10)
	near(t, "low", w.Low, 0.2142961731001276, 1e-8)
	near(t, "high", w.High, 4.185703826899873, 1e-8)
}

// scipy.stats.ttest_rel on logarithms, and two scipy.stats.t.sf for TOST.
func TestPairedMatchesSciPy(t *testing.T) {
	p := stats.Paired([]float64{100, 99, 101, 100}, []float64{101, 98, 105, 103}, 0.95, 0.05)
	near(t, "ratio", p.Ratio.Value, 1.0171953149614408, 1e-12)
	near(t, "low", p.Ratio.Low, 0.9825639369670475, 1e-9)
	near(t, "high", p.Ratio.High, 1.0530473080188016, 1e-9)
	near(t, "P", p.P, 0.215239923004275, 1e-9)
	near(t, "equivalence P", p.EquivalenceP, 0.03084300803947951, 1e-9)
	if p.Verdict != stats.Equivalent {
		t.Errorf("verdict %q, want equivalent: TOST is below 5 %%", p.Verdict)
	}
	p = stats.Paired([]float64{100, 99, 101, 100}, []float64{101, 98, 105, 103}, 0.95, 0.04)
	if p.Verdict != stats.Unresolved || p.EquivalenceP < 0.05 || p.EquivalenceP > 0.1 {
		t.Errorf("verdict %q with TOST at %g, want not resolved", p.Verdict, p.EquivalenceP)
	}
}

// statsmodels.stats.power.TTestPower().solve_power, rounded up
func TestRepeatsToResolveMatchesStatsmodels(t *testing.T) {
	for _, c := range []struct {
		effect float64
		want   int
	}{{0.2, 199}, {0.5, 34}, {1, 10}, {2, 5}, {4, 3}} {
		if got := stats.RepeatsToResolve(1, c.effect, 0.05, 0.8); got != c.want {
			t.Errorf("an effect of %g standard deviations: %d repeats, want %d", c.effect, got, c.want)
		}
	}
	if got := stats.RepeatsToResolve(1, 1e-6, 0.05, 0.8); got != 10000 {
		t.Errorf("a tiny effect needs %d repeats, want the bound 10000", got)
	}
	for _, bad := range [][2]float64{{0, 1}, {1, 0}, {math.NaN(), 1}, {1, math.NaN()}, {-1, 1}} {
		if got := stats.RepeatsToResolve(bad[0], bad[1], 0.05, 0.8); got != 0 {
			t.Errorf("sd %g, delta %g: %d repeats, want 0 for unknown", bad[0], bad[1], got)
		}
	}
}

// statsmodels.stats.multitest.multipletests(method="holm")
func TestHolmMatchesStatsmodels(t *testing.T) {
	got := stats.Holm([]float64{.01, .04, math.NaN(), .03, .005, .5})
	for i, want := range []float64{.04, .09, math.NaN(), .09, .025, .5} {
		if math.IsNaN(want) != math.IsNaN(got[i]) || math.Abs(got[i]-want) > 1e-12 {
			t.Errorf("P %d is %g, want %g", i, got[i], want)
		}
	}
}

// pymannkendall.original_test, with and without ties, and
// scipy.stats.theilslopes, whose interval rounds to the nearer rank where
// ours rounds outwards.
func TestTrendMatchesPymannkendall(t *testing.T) {
	var xs []float64
	for i := range 30 {
		xs = append(xs, float64(i*37%17)+0.3*float64(i))
	}
	got := stats.TrendOf(xs, 0.95)
	near(t, "slope", got.Slope.Value, 0.4666666666666666, 1e-12)
	near(t, "tau", got.Tau, 0.36551724137931035, 1e-12)
	if got.Inflation == 1 {
		near(t, "P", got.P, 0.0048191095611576085, 1e-10)
		near(t, "low", got.Slope.Low, 0.20909090909090908, 0.02)
		near(t, "high", got.Slope.High, 0.6846153846153846, 0.02)
	}
	got = stats.TrendOf([]float64{5, 5, 6, 5, 7, 6, 6, 8, 7, 7, 6, 8, 8, 9, 8}, 0.95)
	near(t, "slope with ties", got.Slope.Value, 0.25, 1e-12)
	near(t, "tau with ties", got.Tau, 0.638095238095238, 1e-12)
	if got.Inflation == 1 {
		near(t, "P with ties", got.P, 0.0007530163763900255, 1e-10)
	}
}

// scipy.optimize.curve_fit with sigma=X and bounds at 0
func TestUSLMatchesSciPy(t *testing.T) {
	x := map[float64]float64{1: 995, 2: 1890, 4: 3420, 8: 5600, 16: 7500, 32: 7350}
	var loads []stats.Load
	for _, n := range []float64{1, 2, 4, 8, 16, 32} {
		loads = append(loads, stats.Load{N: n, X: []float64{x[n]}})
	}
	src := stats.Random(1)
	u := stats.FitUSL(loads, 0.95, &src)
	near(t, "λ", u.Lambda.Value, 990.695528, 1e-7)
	near(t, "σ", u.Sigma.Value, 0.0431919930, 1e-6)
	near(t, "κ", u.Kappa.Value, 0.00198211544, 1e-6)
	near(t, "peak", u.PeakN.Value, 21.9709041, 1e-6)
	if len(u.Warnings) > 0 {
		t.Errorf("warnings %q for six good loads", u.Warnings)
	}
}

func TestJainAndLittleAtTheirDefinitions(t *testing.T) {
	near(t, "equal shares", stats.Jain([]float64{3, 3, 3}), 1, 1e-15)
	near(t, "one has all", stats.Jain([]float64{0, 0, 0, 8}), 0.25, 1e-15)
	near(t, "uneven", stats.Jain([]float64{1, 2, 3}), 36.0/42, 1e-15)
	near(t, "no residual", stats.Little(8, 4, 2), 0, 0)
	near(t, "a tenth is missing", stats.Little(10, 4.5, 2), 0.1, 1e-15)
	for _, xs := range [][]float64{nil, {0, 0}, {-1, 2}, {math.NaN()}, {math.Inf(1), 1}} {
		if got := stats.Jain(xs); !math.IsNaN(got) {
			t.Errorf("Jain of %v is %g, want NaN", xs, got)
		}
	}
	if got := stats.Little(0, 1, 1); !math.IsNaN(got) {
		t.Errorf("Little with nobody there is %g, want NaN", got)
	}
}
