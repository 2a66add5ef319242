package analyse

import (
	"math"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/stats"
	"pgregory.net/rapid"
)

// drawn is a histogram of random values with several percentiles' worth.
func drawn(t *rapid.T, name string) *hdrhistogram.Histogram {
	h := newHistogram()
	for _, v := range rapid.SliceOfN(rapid.Int64Range(1, 5_000_000), 0, 200).Draw(t, name) {
		if err := h.RecordValues(v, 1+v%7); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func TestDistributionAgreesWithHdrHistogram(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawn(t, "a"), drawn(t, "b")
		d := merge(distOf(a), distOf(b))
		a.Merge(b)
		if d.count() != a.TotalCount() {
			t.Fatalf("%d values, want %d", d.count(), a.TotalCount())
		}
		if a.TotalCount() == 0 {
			if d.mean().OK() || d.most().OK() || d.at(50).OK() {
				t.Fatal("figures of nothing")
			}
			return
		}
		for _, p := range percentiles() {
			got, want := d.at(p), float64(a.ValueAtPercentile(p))/1e3
			enough := float64(a.TotalCount())*(100-p)/100 >= 10-1e-6
			if got.OK() != enough || enough && float64(got) != want {
				t.Fatalf("percentile %g of %d values is %v, want %g", p, a.TotalCount(), got, want)
			}
		}
		if m := a.Mean() / 1e3; math.Abs(float64(d.mean())-m) > 1e-3*m+1e-3 {
			t.Fatalf("mean %v, want %g", d.mean(), m)
		}
		if m := float64(a.Max()) / 1e3; float64(d.most()) != m {
			t.Fatalf("largest %v, want %g", d.most(), m)
		}
	})
}

func TestMergeIgnoresOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := distOf(drawn(t, "a")), distOf(drawn(t, "b")), distOf(drawn(t, "c"))
		x, y := merge(a, merge(b, c)), merge(merge(c, a), b)
		if len(x) != len(y) {
			t.Fatalf("%d cells or %d", len(x), len(y))
		}
		for i := range x {
			if x[i] != y[i] {
				t.Fatalf("cell %d is %+v or %+v", i, x[i], y[i])
			}
		}
	})
}

func TestMixturesAreThoseOfMergedHistograms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hs := []*hdrhistogram.Histogram{drawn(t, "a"), drawn(t, "b"), drawn(t, "c")}
		var ds []dist
		for _, h := range hs {
			ds = append(ds, distOf(h))
		}
		times := rapid.SliceOfN(rapid.IntRange(0, 3), 3, 3).Draw(t, "times")
		all := newHistogram()
		for i, n := range times {
			for range n {
				all.Merge(hs[i])
			}
		}
		c := newCumulative(ds)
		for _, p := range []float64{1, 50, 95, 99.9, 100} {
			got := c.at(p, times)
			if all.TotalCount() == 0 {
				if !math.IsNaN(got) {
					t.Fatalf("percentile of nothing is %g", got)
				}
				continue
			}
			if want := float64(all.ValueAtPercentile(p)) / 1e3; got != want {
				t.Fatalf("percentile %g of the mixture %v is %g, want %g", p, times, got, want)
			}
		}
	})
}

func TestPercentilesNeedTenSamplesBeyondThem(t *testing.T) {
	for _, c := range []struct {
		n    int64
		want int // of 50, 90, 95, 99, 99.9
	}{{0, 0}, {19, 0}, {20, 1}, {99, 1}, {100, 2}, {200, 3}, {999, 3}, {1000, 4}, {9999, 4}, {10000, 5}} {
		h := newHistogram()
		if c.n > 0 {
			if err := h.RecordValues(2000, c.n); err != nil {
				t.Fatal(err)
			}
		}
		l := latency("x", record.Workload{}, []sample{{times: times{response: distOf(h)}, series: record.Series{Committed: c.n}, seconds: 10}}, 1)
		shown := 0
		for _, q := range l.P {
			if q.Ms.OK() {
				shown++
			}
			if q.LowMs.OK() {
				t.Errorf("one repeat has an interval: %+v", q)
			}
		}
		if shown != c.want || l.MaxMs.OK() != (c.n > 0) || len(l.Curve) > 0 != (c.n >= 10) {
			t.Errorf("%d samples: %d percentiles, largest %v, %d points of the spectrum", c.n, shown, l.MaxMs, len(l.Curve))
		}
	}
}

func TestPercentileIntervalsAreStudentsOnTheLogarithm(t *testing.T) {
	var repeats []sample
	for _, ms := range []int64{10, 20, 30} {
		h := newHistogram()
		if err := h.RecordValues(ms*1000, 1000); err != nil {
			t.Fatal(err)
		}
		repeats = append(repeats, sample{times: times{response: distOf(h)}, series: record.Series{Committed: 1000}, seconds: 10})
	}
	l := latency("x", record.Workload{}, repeats, 1)
	q := l.P[0]
	closeTo(t, "median", float64(q.Ms), 20, 0.001)
	// The median of three repeats drawn from three, of all 27 draws.
	var logs []float64
	for _, a := range []float64{10, 20, 30} {
		for _, b := range []float64{10, 20, 30} {
			for _, c := range []float64{10, 20, 30} {
				logs = append(logs, math.Log(stats.Median([]float64{a, b, c})))
			}
		}
	}
	const t2 = 4.3026527297 // Student's t, 97.5 %, two degrees of freedom
	far := math.Exp(t2 * math.Sqrt(stats.Variance(logs)*26/27*3/2))
	closeTo(t, "low", float64(q.LowMs), 20/far, 0.002)
	closeTo(t, "high", float64(q.HighMs), 20*far, 0.002) // cells are 0.1 % wide
	if l.Count != 3000 || l.PerSecond != 100 {
		t.Errorf("%d in all, %g a second", l.Count, l.PerSecond)
	}
	if two := latency("x", record.Workload{}, repeats[:2], 1); two.P[0].LowMs.OK() {
		t.Errorf("two repeats have an interval: %+v", two.P[0])
	}
}

// Ages are uniform where all work takes the same time, c/√12, and exponential
// where that is.
func TestAgeDeviationOfKnownDistributions(t *testing.T) {
	same := dist{{1_000_000, 1_000_000, 500}}
	closeTo(t, "equal times", same.ageDeviation(), 1/math.Sqrt(12), 1e-9)
	var exponential dist
	for v := int64(500); v < 20_000_000; v += 1000 {
		exponential = append(exponential, bar{v, v, int64(1e9 * (math.Exp(-float64(v-500)/1e6) - math.Exp(-float64(v+500)/1e6)))})
	}
	closeTo(t, "exponential times", exponential.ageDeviation(), 1, 1e-3)
	if got := (dist{}).ageDeviation(); got != 0 {
		t.Errorf("of nothing %g", got)
	}
}
