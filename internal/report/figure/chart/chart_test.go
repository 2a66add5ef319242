package chart

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNumberHasThreeSignificantDigits(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.000123: "0.000123", 0.5: "0.500", 1: "1.00", 9.994: "9.99", 9.996: "10.0", 12.34: "12.3", 99.94: "99.9", 99.96: "100",
		123.4: "123", 1234.5: "1,234", 14900: "14,900", 1234567: "1,234,567", -1234.6: "-1,235", -0.25: "-0.250", 1e15: "1e+15", 1e-9: "1e-09",
		math.Inf(1): "–",
	} {
		if got := Number(v); got != want {
			t.Errorf("Number(%g) = %q, want %q", v, got, want)
		}
	}
	if got := Number(math.NaN()); got != "–" {
		t.Errorf("Number(NaN) = %q", got)
	}
}

func TestPlainHasTheDigitsItNeeds(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 4: "4", 2.5: "2.5", 12000: "12,000", 1e20: "1e+20"} {
		if got := Plain(v); got != want {
			t.Errorf("Plain(%g) = %q, want %q", v, got, want)
		}
	}
}

func TestThousands(t *testing.T) {
	for in, want := range map[string]string{"": "", "1": "1", "999": "999", "1000": "1,000", "-123456": "-123,456", "1234567.25": "1,234,567.25", "-12": "-12"} {
		if got := Thousands(in); got != want {
			t.Errorf("Thousands(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestTickLabelsHaveTheDecimalsOfTheirStep(t *testing.T) {
	for _, c := range []struct {
		v, step float64
		want    string
	}{{0, 0.2, "0"}, {0.2, 0.2, "0.2"}, {1, 0.5, "1.0"}, {20000, 5000, "20,000"}, {2.5e6, 5e5, "2.5 M"}, {1e13, 1e12, "10 T"}, {0.001, 0, "0.001"}, {1e-17, 0.1, "0"}} {
		if got := tick(c.v, c.step); got != c.want {
			t.Errorf("tick(%g, %g) = %q, want %q", c.v, c.step, got, c.want)
		}
	}
}

func TestTicksAreRoundRiseAndLieWithin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Float64Range(-1e9, 1e9).Draw(t, "lo")
		hi := lo + rapid.Float64Range(1e-3, 1e9).Draw(t, "span")
		n := rapid.IntRange(1, 20).Draw(t, "n")
		at, step := Linear.ticks(lo, hi, n)
		digit := step / math.Pow(10, math.Floor(math.Log10(step)+1e-9))
		if d := math.Round(digit); math.Abs(digit-d) > 1e-6 || !slices.Contains([]float64{1, 2, 5, 10}, d) {
			t.Fatalf("the step is %g", step)
		}
		if len(at) > n+2 {
			t.Fatalf("%d ticks where about %d were asked for", len(at), n)
		}
		for i, v := range at {
			if v < lo-step*1e-6 || v > hi+step*1e-6 || (i > 0 && v <= at[i-1]) {
				t.Fatalf("ticks %v from %g to %g", at, lo, hi)
			}
		}
	})
}

func TestLooseAxesEndAtTicksAndHoldTheirValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]Kind{Linear, Log}).Draw(t, "kind")
		lo := rapid.Float64Range(1e-6, 1e6).Draw(t, "lo")
		hi := lo * rapid.Float64Range(1, 1e6).Draw(t, "ratio")
		a, b := kind.widen(lo, hi, 6, true)
		if !(a <= lo*(1+1e-9)) || !(b >= hi*(1-1e-9)) || !(b > a) {
			t.Fatalf("%g to %g became %g to %g", lo, hi, a, b)
		}
	})
}

func TestEmptyAxesAreWidened(t *testing.T) {
	for _, k := range []Kind{Linear, Log, Nines} {
		for _, v := range []float64{0, 1, 50, -3, 1e300, 1e308} {
			if lo, hi := k.widen(v, v, 5, true); !(hi > lo) || math.IsInf(hi-lo, 0) {
				t.Errorf("kind %d, %g to itself became %g to %g", k, v, lo, hi)
			}
		}
	}
}

func TestScaleHoldsWhatLiesOutsideAtTheEdge(t *testing.T) {
	s := Scale{Min: 10, Max: 20, From: 100, To: 300}
	for v, want := range map[float64]float64{10: 100, 15: 200, 20: 300, 5: 100, 1e308: 300, math.Inf(-1): 100} {
		if got := s.At(v); got != want {
			t.Errorf("At(%g) = %g, want %g", v, got, want)
		}
	}
	if !math.IsNaN(s.At(math.NaN())) {
		t.Error("NaN has a place")
	}
	nines := Scale{Kind: Nines, Min: 0, Max: 99.9, From: 0, To: 300}
	for p, want := range map[float64]float64{0: 0, 90: 100, 99: 200, 99.9: 300} {
		if got := nines.At(p); math.Abs(got-want) > 1e-6 {
			t.Errorf("percentile %g is at %g, want %g: each nine is as wide as the last", p, got, want)
		}
	}
}

// series draws a series of up to 3,000 values with gaps.
func series(t *rapid.T) (xs, ys []float64) {
	n := rapid.IntRange(0, 3000).Draw(t, "n")
	seed := rapid.Uint64().Draw(t, "seed")
	gaps := rapid.IntRange(0, 3).Draw(t, "gaps in 4")
	for i := range n {
		seed = seed*6364136223846793005 + 1442695040888963407
		y := float64(seed>>40) / (1 << 24) * 100
		if int(seed>>20)%4 < gaps {
			y = math.NaN()
		}
		xs, ys = append(xs, float64(i)), append(ys, y)
	}
	return xs, ys
}

func TestThinningKeepsExtremesAndIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs, ys := series(t)
		const width = 50
		x := Scale{Min: 0, Max: 3000, From: 0, To: width}
		y := Scale{Min: 0, Max: 100, From: 0, To: 100}
		vs := thin(xs, ys, x, y)
		if len(vs) > 4*(width+1) {
			t.Fatalf("%d points on %d pixels", len(vs), width)
		}
		var all, kept Extent
		all.Add(ys...)
		for i, v := range vs {
			kept.Add(v.y)
			if i > 0 && v.x < vs[i-1].x {
				t.Fatalf("x falls at %d", i)
			}
		}
		if all.Seen != kept.Seen || math.Abs(all.Min-kept.Min) > 1e-9 || math.Abs(all.Max-kept.Max) > 1e-9 {
			t.Fatalf("values from %g to %g became %g to %g", all.Min, all.Max, kept.Min, kept.Max)
		}
	})
}

func TestThinningLeavesFewPointsAndTheirGapsAlone(t *testing.T) {
	nan := math.NaN()
	s := Scale{Min: 0, Max: 100, From: 0, To: 100}
	vs := thin([]float64{0, 10, 20, 30, 40, 50}, []float64{1, 2, nan, 4, math.Inf(1), 6}, s, s)
	want := []vertex{{0, 1, true}, {10, 2, false}, {30, 4, true}, {50, 6, true}}
	if !slices.Equal(vs, want) {
		t.Errorf("got %v, want %v", vs, want)
	}
}

func TestBinKeepsTheMean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "spans")
		per := rapid.IntRange(1, 20).Draw(t, "values in a span")
		var xs, ys []float64
		sum := 0.0
		for i := range n * per {
			xs, ys = append(xs, float64(i)+0.5), append(ys, float64(i%7))
			sum += float64(i % 7)
		}
		x, means, gap := Bin(xs, [][]float64{ys}, 0, float64(n*per), n)
		if len(x) != n || len(gap) != n {
			t.Fatalf("%d spans, want %d", len(x), n)
		}
		got := 0.0
		for _, m := range means[0] {
			got += m / float64(n)
		}
		if math.Abs(got-sum/float64(n*per)) > 1e-9 {
			t.Fatalf("mean %g, want %g", got, sum/float64(n*per))
		}
	})
}

func TestBinLeavesOutSpansWithoutAValueInEveryLayer(t *testing.T) {
	nan := math.NaN()
	x, means, gap := Bin([]float64{0, 1, 2, 3}, [][]float64{{1, nan, 3, 4}, {1, 2, 3}}, 0, 4, 4)
	if !slices.Equal(x, []float64{0, 2}) || !slices.Equal(means[0], []float64{1, 3}) || !slices.Equal(gap, []bool{true, true}) {
		t.Errorf("got %v %v %v", x, means, gap)
	}
}

func TestCumulateAddsUpAndIgnoresNegatives(t *testing.T) {
	lower, upper := Cumulate([][]float64{{1, 2}, {3, -4}, {5, 6}})
	for i, want := range [][]float64{{1, 2}, {4, 2}, {9, 8}} {
		if !slices.Equal(upper[i], want) {
			t.Errorf("layer %d reaches %v, want %v", i, upper[i], want)
		}
	}
	if !slices.Equal(lower[2], upper[1]) {
		t.Error("layers do not lie on each other")
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{{"", 5, ""}, {"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"ab cd", 4, "ab…"}, {"äöü", 2, "ä…"}, {"abc", 0, "…"}, {"abc", -7, "…"}} {
		if got := Cut(c.in, c.n); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func FuzzEscape(f *testing.F) {
	f.Add(`"'><script>&amp;` + "\x00\x1b\xff\u202e")
	f.Fuzz(func(t *testing.T, s string) {
		got := Escape(s)
		if strings.ContainsAny(got, "<>\"'\x00\x1b\n") {
			t.Errorf("Escape(%q) = %q", s, got)
		}
		for rest := got; strings.Contains(rest, "&"); {
			_, rest, _ = strings.Cut(rest, "&")
			if name, _, ok := strings.Cut(rest, ";"); !ok || !slices.Contains([]string{"amp", "lt", "gt", "#34", "#39"}, name) {
				t.Errorf("Escape(%q) = %q has a bare &", s, got)
			}
		}
	})
}

func TestColoursRepeatAfterTheLast(t *testing.T) {
	if Colour(1) == Colour(2) || Colour(1) != Colour(Colours+1) || Colour(0) != Colour(1) {
		t.Errorf("colours %s, %s, %s, %s", Colour(0), Colour(1), Colour(2), Colour(Colours+1))
	}
}
