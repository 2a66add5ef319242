package stats_test

import (
	"math"
	"slices"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/stats"
	"pgregory.net/rapid"
)

// anything draws values of which some are NaN, infinite, huge or equal.
func anything(t *rapid.T, name string) []float64 {
	odd := rapid.SampledFrom([]float64{0, 1, 1, -1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, 5e-324})
	return rapid.SliceOfN(rapid.OneOf(odd, rapid.Float64Range(-100, 100)), 0, 60).Draw(t, name)
}

func ordinary(t *rapid.T, least, most int, name string) []float64 {
	return rapid.SliceOfN(rapid.Float64Range(1, 1000), least, most).Draw(t, name)
}

func TestNoFunctionPanicsOnAnyInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anything(t, "a"), anything(t, "b")
		before := slices.Clone(a)
		p := rapid.SampledFrom([]float64{0.95, 0, 1, -3, math.NaN(), 0.5}).Draw(t, "confidence")
		src := stats.Random(1)
		stats.StudentT(a, p)
		stats.MedianInterval(a, p)
		stats.MeanOfRun(a, p)
		stats.MSER5(a)
		stats.TrendOf(a, p)
		stats.ShiftIn(a)
		stats.EDivisive(a[:min(len(a), 20)], 2, 0.05, &src)
		stats.MannWhitney(a, b)
		stats.Welch(a, b, p)
		stats.Paired(a, b, p, 0.02)
		stats.Holm(a)
		stats.Jain(a)
		stats.Autocorrelation(a, len(b))
		var loads []stats.Load
		for i := range min(len(a), len(b), 6) {
			loads = append(loads, stats.Load{N: a[i], X: b[:i]})
		}
		stats.FitUSL(loads, p, &src)
		stats.BootstrapVariance(len(a)%7, &src, func([]int) float64 { return p })
		for i := range a {
			if a[i] != before[i] && !math.IsNaN(a[i]) {
				t.Fatal("an argument was changed")
			}
		}
	})
}

func TestTooFewValuesGiveNoInterval(t *testing.T) {
	for n := range 6 {
		xs := []float64{5, 4, 3, 2, 1}[:n]
		if i := stats.MedianInterval(xs, 0.95); !math.IsNaN(i.Low) || !math.IsNaN(i.Level) {
			t.Errorf("median of %d has the interval %+v", n, i)
		}
		if i := stats.StudentT(xs, 0.95); math.IsNaN(i.Low) != (n < 2) {
			t.Errorf("Student's t of %d: %+v", n, i)
		}
		if _, v := stats.BootstrapVariance(n, nil, func(times []int) float64 { return 1 }); math.IsNaN(v) != (n < 2) {
			t.Errorf("bootstrap of %d: %v", n, v)
		}
	}
}

func TestIntervalsIgnoreOrderAndFollowScale(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := ordinary(t, 2, 20, "xs")
		mixed := rapid.Permutation(xs).Draw(t, "mixed")
		scaled := make([]float64, len(xs))
		for i, x := range xs {
			scaled[i] = 3 * x
		}
		for name, f := range map[string]func([]float64) stats.Interval{
			"Student": func(xs []float64) stats.Interval { return stats.StudentT(xs, 0.95) },
			"median":  func(xs []float64) stats.Interval { return stats.MedianInterval(xs, 0.95) },
		} {
			a, b, c := f(xs), f(mixed), f(scaled)
			if !same(a.Low, b.Low) || !same(a.High, b.High) || !same(a.Value, b.Value) {
				t.Fatalf("%s: %+v, in another order %+v", name, a, b)
			}
			if !same(3*a.Low, c.Low) || !same(3*a.High, c.High) || !same(3*a.Value, c.Value) {
				t.Fatalf("%s: %+v, three times as large %+v", name, a, c)
			}
			if a.Low > a.Value*(1+1e-9) || a.High < a.Value*(1-1e-9) {
				t.Fatalf("%s: %+v does not hold its value", name, a)
			}
		}
	})
}

// same is equal up to rounding; NaN are equal.
func same(a, b float64) bool {
	return math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 1e-9*max(1, math.Abs(a))
}

// All nⁿ draws of three runs, written out by three loops; the statistic is
// not linear, so that each must have its own probability.
func TestBootstrapEnumeratesAllDraws(t *testing.T) {
	xs := []float64{1, 10, 100}
	var all []float64
	for _, a := range xs {
		for _, b := range xs {
			for _, c := range xs {
				all = append(all, math.Log(a+b+c))
			}
		}
	}
	value, v := stats.BootstrapVariance(3, nil, func(times []int) float64 {
		return math.Log(float64(times[0])*1 + float64(times[1])*10 + float64(times[2])*100)
	})
	near(t, "value", value, math.Log(111), 1e-12)
	near(t, "variance", v, stats.Variance(all)*26/27*3/2, 1e-12) // over all 27 draws, and Hesterberg's factor
}

func TestBootstrapOfManyRunsRepeatsWithItsSeed(t *testing.T) {
	xs := make([]float64, 12)
	for i := range xs {
		xs[i] = float64(i * i)
	}
	with := func(seed uint64) float64 {
		src := stats.Random(seed)
		_, v := stats.BootstrapVariance(len(xs), &src, func(times []int) float64 {
			sum := 0.0
			for i, n := range times {
				sum += float64(n) * xs[i]
			}
			return sum / 12
		})
		return v
	}
	if with(1) != with(1) {
		t.Error("one seed gives two variances")
	}
	if with(1) == with(2) {
		t.Error("two seeds give the same variance: the source is not used")
	}
}

func TestComparisonsMirror(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := ordinary(t, 2, 9, "a"), ordinary(t, 2, 9, "b")
		m, w := stats.MannWhitney(a, b), stats.MannWhitney(b, a)
		if !same(m.P, w.P) || !same(m.U+w.U, float64(len(a)*len(b))) || !same(m.Shift, -w.Shift) {
			t.Fatalf("Mann–Whitney %+v, mirrored %+v", m, w)
		}
		x, y := stats.Welch(a, b, 0.95), stats.Welch(b, a, 0.95)
		if !same(x.P, y.P) || !same(x.Low, -y.High) {
			t.Fatalf("Welch %+v, mirrored %+v", x, y)
		}
		n := min(len(a), len(b))
		p, q := stats.Paired(a[:n], b[:n], 0.95, 0.1), stats.Paired(b[:n], a[:n], 0.95, 0.1)
		if !same(p.Ratio.Value*q.Ratio.Value, 1) || !same(p.P, q.P) || !same(p.EquivalenceP, q.EquivalenceP) || p.Repeats != q.Repeats {
			t.Fatalf("paired %+v, mirrored %+v", p, q)
		}
	})
}

func TestConstantsAreNeverADifferenceOfTheirOwn(t *testing.T) {
	same := []float64{7, 7, 7, 7}
	more := []float64{8, 8, 8, 8}
	if p := stats.Welch(same, same, 0.95).P; p != 1 {
		t.Errorf("Welch of equal constants has P = %g, want 1", p)
	}
	if p := stats.Welch(same, more, 0.95).P; p != 0 {
		t.Errorf("Welch of different constants has P = %g, want 0", p)
	}
	if v := stats.Paired(same, same, 0.95, 0.01).Verdict; v != stats.Equivalent {
		t.Errorf("equal constants are %q, want equivalent", v)
	}
	if v := stats.Paired(same, more, 0.95, 0.01).Verdict; v != stats.Higher {
		t.Errorf("a higher constant is %q, want higher", v)
	}
	if p := stats.MannWhitney(same, same).P; p != 1 {
		t.Errorf("Mann–Whitney of equal constants has P = %g, want 1", p)
	}
	flat := make([]float64, 100)
	if c := stats.ShiftIn(flat); c.P != 1 {
		t.Errorf("a flat series shifts with P = %g, want 1", c.P)
	}
	if c := stats.MSER5(flat); c.At != 0 || c.Late || !c.Known {
		t.Errorf("a flat series is cut: %+v", c)
	}
	if i := stats.MeanOfRun(flat, 0.95); i.Low != 0 || i.High != 0 || !i.Resolved {
		t.Errorf("a flat series has the mean %+v", i)
	}
	if d := stats.TrendOf(flat, 0.95); d.P != 1 || d.Slope.Value != 0 {
		t.Errorf("a flat series has the trend %+v", d)
	}
}

func TestUSLKeepsItsBoundsAndWarns(t *testing.T) {
	fit := func(f func(n float64) float64, ns ...float64) stats.USL {
		var loads []stats.Load
		for _, n := range ns {
			loads = append(loads, stats.Load{N: n, X: []float64{f(n)}})
		}
		src := stats.Random(1)
		return stats.FitUSL(loads, 0.95, &src)
	}
	linear := fit(func(n float64) float64 { return 100 * n }, 1, 2, 4, 8, 16, 32)
	near(t, "λ", linear.Lambda.Value, 100, 1e-9)
	near(t, "σ", linear.Sigma.Value, 0, 1e-9)
	if !math.IsInf(linear.PeakN.Value, 1) && linear.PeakN.Value < 1e4 {
		t.Errorf("linear scaling peaks at %g", linear.PeakN.Value)
	}
	super := fit(func(n float64) float64 { return 100 * n * math.Sqrt(n) }, 1, 2, 4, 8, 16, 32)
	if super.Sigma.Value != 0 || super.Kappa.Value != 0 {
		t.Errorf("superlinear scaling gives σ = %g, κ = %g, want both at their bound 0", super.Sigma.Value, super.Kappa.Value)
	}
	five := fit(func(n float64) float64 { return 100 * n / (1 + 0.1*(n-1)) }, 1, 2, 4, 8, 16)
	if len(five.Warnings) == 0 {
		t.Error("no warning for five loads")
	}
	near(t, "at 4", five.At(4), 400/1.3, 1e-6)
	far := fit(func(n float64) float64 { return 100 * n / (1 + 0.01*(n-1) + 0.0001*n*(n-1)) }, 1, 2, 3, 4, 5, 6)
	if len(far.Warnings) == 0 {
		t.Errorf("no warning for a peak at %g beyond 6", far.PeakN.Value)
	}
	if three := fit(func(n float64) float64 { return n }, 1, 2, 3); !math.IsNaN(three.Lambda.Value) || len(three.Warnings) == 0 {
		t.Errorf("three loads are fitted: %+v", three)
	}
	if twice := fit(func(n float64) float64 { return n }, 1, 2, 3, 3); !math.IsNaN(twice.Lambda.Value) {
		t.Errorf("a load given twice is fitted: %+v", twice)
	}
}
