package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func near(a, b float64) bool {
	return math.Abs(a-b) <= 1e-9*(1+math.Abs(b)) || math.IsNaN(a) && math.IsNaN(b) || a == b
}

// logsOf draws n logarithms.
func logsOf(t *rapid.T, label string, n int) []float64 {
	return rapid.SliceOfN(rapid.Float64Range(-2, 2), n, n).Draw(t, label)
}

func exps(xs []float64) []float64 {
	out := make([]float64, len(xs))
	for i, x := range xs {
		out[i] = math.Exp(x)
	}
	return out
}

func TestRatioOfOnePartIsPairedAndOfTwoIsWelch(t *testing.T) {
	part := func(xs []float64) Part {
		return Part{Variance(xs) / float64(len(xs)), float64(len(xs) - 1)}
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 9).Draw(t, "n")
		a, b := logsOf(t, "a", n), logsOf(t, "b", n)
		diffs := make([]float64, n)
		for i := range diffs {
			diffs[i] = b[i] - a[i]
		}
		want := Paired(exps(a), exps(b), 0.95, 0.05)
		got := RatioOf(Mean(diffs), []Part{part(diffs)}, 0.95, 0.05)
		if Variance(diffs) > 1e-12 && (!near(got.Low, want.Ratio.Low) || !near(got.High, want.Ratio.High) || !near(got.P, want.P) || !near(got.EquivalenceP, want.EquivalenceP)) {
			t.Fatalf("paired %+v, want %+v", got, want)
		}
		w := Welch(a, b, 0.95)
		got = RatioOf(Mean(b)-Mean(a), []Part{part(a), part(b)}, 0.95, 0)
		if w.DF > 0 && (!near(got.Low, math.Exp(w.Low)) || !near(got.High, math.Exp(w.High)) || !near(got.P, w.P)) || !math.IsNaN(got.EquivalenceP) {
			t.Fatalf("two samples %+v, want %+v", got, w)
		}
	})
}

func TestRatioOfIsTotal(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, parts := range [][]Part{nil, {{nan, 3}}, {{1, 0}}, {{-1, 3}}, {{inf, 3}}, {{1, nan}}} {
		if r := RatioOf(0.1, parts, 0.95, 0.1); !math.IsNaN(r.Low) || !math.IsNaN(r.P) || !near(r.Value, math.Exp(0.1)) {
			t.Errorf("%v: %+v", parts, r)
		}
	}
	// Nothing varies.
	if r := RatioOf(0, []Part{{0, 4}}, 0.95, 0.1); r.P != 1 || r.Low != 1 || r.EquivalenceP != 0 {
		t.Errorf("%+v", r)
	}
	if r := RatioOf(0.5, []Part{{0, 4}}, 0.95, 0.1); r.P != 0 || r.EquivalenceP != 1 {
		t.Errorf("%+v", r)
	}
	// A known variance is the normal law.
	if r := RatioOf(0.3, []Part{{0.01, inf}}, 0.95, 0); math.Abs(r.High-math.Exp(0.3+0.1959964)) > 1e-5 {
		t.Errorf("%+v", r)
	}
}

func TestBootstrapVarianceOfAMeanIsThatOfTheMean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 7).Draw(t, "n")
		xs := logsOf(t, "xs", n)
		mean := func(times []int) float64 {
			sum, all := 0.0, 0
			for i, k := range times {
				sum += float64(k) * xs[i]
				all += k
			}
			return sum / float64(all)
		}
		value, v := BootstrapVariance(n, nil, mean)
		if !near(value, Mean(xs)) || math.Abs(v-Variance(xs)/float64(n)) > 1e-9 {
			t.Fatalf("%g with variance %g, want %g with %g", value, v, Mean(xs), Variance(xs)/float64(n))
		}
	})
	src := Random(1)
	xs := make([]float64, 30) // 2,000 draws
	for i := range xs {
		xs[i] = float64(i)
	}
	_, v := BootstrapVariance(30, &src, func(times []int) float64 {
		sum := 0.0
		for i, k := range times {
			sum += float64(k) * xs[i] / 30
		}
		return sum
	})
	if want := Variance(xs) / 30; math.Abs(v/want-1) > 0.1 {
		t.Errorf("variance %g, want about %g", v, want)
	}
	if _, v := BootstrapVariance(1, nil, func([]int) float64 { return 3 }); !math.IsNaN(v) {
		t.Errorf("one run has a variance of %g", v)
	}
}

func TestHolmWithEqualWeightsIsHolm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ps := rapid.SliceOf(rapid.Float64Range(0, 1)).Draw(t, "ps")
		weights := make([]float64, len(ps))
		for i := range weights {
			weights[i] = 0.3
		}
		got, want := HolmWeighted(ps, weights), Holm(ps)
		for i := range want {
			if !near(got[i], want[i]) {
				t.Fatalf("%v, want %v", got, want)
			}
		}
	})
}

// By hand: in the order of p/weight, 0.016 of a level that is left whole, 0.04
// of the three quarters left by the first, and 0.12 of the last quarter.
func TestHolmGivesWeightToWhatMatters(t *testing.T) {
	got := HolmWeighted([]float64{0.02, 0.03, math.NaN(), 0.004}, []float64{0.5, 0.25, 9, 0.25})
	for i, want := range []float64{0.03, 0.03, math.NaN(), 0.016} {
		if !near(got[i], want) {
			t.Errorf("p %d is %g, want %g", i, got[i], want)
		}
	}
}
