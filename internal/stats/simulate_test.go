package stats_test

import (
	"math"
	"slices"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/stats"
)

// noise draws standard normal numbers (Box and Muller) from a fixed seed.
type noise struct {
	src   stats.Random
	spare float64
	ready bool
}

func (n *noise) uniform() float64 { return float64(n.src.Uint64()>>11+1) * 0x1p-53 }

func (n *noise) normal() float64 {
	if n.ready {
		n.ready = false
		return n.spare
	}
	r, a := math.Sqrt(-2*math.Log(n.uniform())), 2*math.Pi*n.uniform()
	n.spare, n.ready = r*math.Sin(a), true
	return r * math.Cos(a)
}

// iid are n independent values with the given mean and deviation.
func (n *noise) iid(count int, mean, sd float64) []float64 {
	out := make([]float64, count)
	for i := range out {
		out[i] = mean + sd*n.normal()
	}
	return out
}

// ar1 is a stationary series x_t − µ = φ(x_{t−1} − µ) + e_t with deviation sd.
func (n *noise) ar1(count int, mean, sd, phi float64) []float64 {
	out := make([]float64, count)
	x := n.normal()
	for i := range out {
		out[i] = mean + sd*x
		x = phi*x + math.Sqrt(1-phi*phi)*n.normal()
	}
	return out
}

// part is the part of so many draws for which hit is true.
func part(draws int, hit func() bool) float64 {
	n := 0
	for range draws {
		if hit() {
			n++
		}
	}
	return float64(n) / float64(draws)
}

func inside(t *testing.T, what string, got, low, high float64) {
	t.Helper()
	t.Logf("%s: %.4f", what, got)
	if got < low || got > high {
		t.Errorf("%s is %.4f, want %.4f to %.4f", what, got, low, high)
	}
}

func holds(i stats.Interval, truth float64) bool { return i.Low <= truth && truth <= i.High }

func TestStudentTCoversItsLevel(t *testing.T) {
	for _, n := range []int{2, 3, 5, 10} {
		r := noise{src: 11}
		inside(t, "coverage", part(draws, func() bool { return holds(stats.StudentT(r.iid(n, 100, 3), 0.95), 100) }), 0.944, 0.956)
	}
}

func TestMedianIntervalCoversItsLevelWhateverTheDistribution(t *testing.T) {
	for _, n := range []int{6, 9, 15} {
		r := noise{src: 12}
		var level float64
		got := part(draws, func() bool {
			xs := make([]float64, n) // exponential: median ln 2
			for i := range xs {
				xs[i] = -math.Log(r.uniform())
			}
			i := stats.MedianInterval(xs, 0.95)
			level = i.Level
			return holds(i, math.Ln2)
		})
		inside(t, "coverage less its level", got-level, -0.006, 0.006)
	}
}

func TestMeanOfRunCoversCorrelatedSeries(t *testing.T) {
	for _, c := range []struct {
		n         int
		phi       float64
		low, high float64
	}{
		{60, 0, 0.94, 0.97},
		{300, 0, 0.94, 0.96},
		{300, 0.5, 0.94, 0.96},
		{300, 0.8, 0.925, 0.965},
		{1000, 0.8, 0.94, 0.96},
		{3600, 0.9, 0.94, 0.96},
	} {
		r := noise{src: 13}
		got := part(draws/8, func() bool { return holds(stats.MeanOfRun(r.ar1(c.n, 50, 2, c.phi), 0.95).Interval, 50) })
		t.Logf("n = %d, φ = %g", c.n, c.phi)
		inside(t, "coverage", got, c.low-0.008, c.high+0.008)
	}
}

// A naive interval on the same series shows that the correction matters.
func TestStudentTOnACorrelatedSeriesUndercovers(t *testing.T) {
	r := noise{src: 13}
	inside(t, "coverage", part(draws/4, func() bool { return holds(stats.StudentT(r.ar1(300, 50, 2, 0.8), 0.95), 50) }), 0.4, 0.6)
}

// slowest is a percentile of the merged response times of repeats, each
// exponential with a mean of its own, drawn so many times each: the x at which
// Σ times·exp(−x/mean) is the part `beyond` of all, by Newton's method on the
// logarithm of the sum.
func slowest(means []float64, times []int, beyond float64) float64 {
	mean, n := 0.0, 0.0
	for i, t := range times {
		mean += float64(t) * means[i]
		n += float64(t)
	}
	x := -math.Log(beyond) * mean / n
	for range 3 {
		sum, slope := 0.0, 0.0
		for i, t := range times {
			if t > 0 {
				e := float64(t) * math.Exp(-x/means[i])
				sum += e
				slope += e / means[i]
			}
		}
		x += math.Log(sum/(n*beyond)) * sum / slope
	}
	return x
}

// The interval that percentiles have between repeats: Student's t on the
// logarithm with the variance of a bootstrap. Repeats differ by 2 or by 10 %
// (standard deviation); the truth is the percentile over all repeats that
// could be, for which 4,001 quantiles of the normal law stand.
func TestPercentilesBetweenRepeatsCoverTheirLevel(t *testing.T) {
	const beyond = 0.01
	for _, sd := range []float64{0.02, 0.10} {
		var all []float64
		for k := range 4001 {
			all = append(all, math.Exp(sd*math.Sqrt2*math.Erfinv(2*(float64(k)+0.5)/4001-1)))
		}
		truth := slowest(all, slices.Repeat([]int{1}, len(all)), beyond)
		for _, c := range []struct{ n, series int }{{3, draws / 2}, {5, draws / 2}, {6, draws / 4}} {
			r := noise{src: 27}
			got := part(c.series, func() bool {
				means := make([]float64, c.n)
				for i := range means {
					means[i] = math.Exp(sd * r.normal())
				}
				src := stats.Random(r.src.Uint64())
				log := func(times []int) float64 { return math.Log(slowest(means, times, beyond)) }
				value, v := stats.BootstrapVariance(c.n, &src, log)
				return holds(stats.RatioOf(value, []stats.Part{{Variance: v, DF: float64(c.n - 1)}}, 0.95, 0).Interval, truth)
			})
			t.Logf("%d repeats that differ by %g", c.n, sd)
			inside(t, "coverage", got, 0.94, 0.96)
		}
	}
}

func TestTrendFindsNoneWhereThereIsNone(t *testing.T) {
	for _, c := range []struct {
		n     int
		phi   float64
		level float64
		most  float64
	}{
		{30, 0, 0.05, 0.055}, {120, 0, 0.05, 0.055},
		{120, 0.5, 0.01, 0.02}, {60, 0.8, 0.01, 0.04},
	} {
		r := noise{src: 15}
		got := part(draws/20, func() bool { return stats.TrendOf(r.ar1(c.n, 100, 5, c.phi), 0.95).P < c.level })
		t.Logf("n = %d, φ = %g, level %g", c.n, c.phi, c.level)
		inside(t, "false positives", got, 0, c.most)
	}
}

func TestTrendFindsADrift(t *testing.T) {
	r := noise{src: 16}
	got := part(200, func() bool {
		xs := r.iid(120, 100, 3)
		for i := range xs {
			xs[i] += 10 * float64(i) / 120
		}
		trend := stats.TrendOf(xs, 0.95)
		return trend.P < 0.01 && trend.Slope.Low > 0 && math.Abs(trend.Slope.Value*120-10) < 5
	})
	inside(t, "drifts of 10 % found", got, 0.99, 1)
}

func TestShiftInFindsNoneWhereThereIsNone(t *testing.T) {
	for _, c := range []struct {
		n    int
		phi  float64
		most float64
	}{{30, 0, 0.015}, {120, 0, 0.015}, {120, 0.5, 0.03}, {360, 0.5, 0.015}, {360, 0.8, 0.025}} {
		r := noise{src: 17}
		got := part(draws/5, func() bool { return stats.ShiftIn(r.ar1(c.n, 100, 5, c.phi)).P < 0.01 })
		t.Logf("n = %d, φ = %g", c.n, c.phi)
		inside(t, "false positives at 1 %", got, 0, c.most)
	}
}

func TestShiftInFindsAShiftAndItsPlace(t *testing.T) {
	r := noise{src: 18}
	got := part(200, func() bool {
		xs := r.ar1(120, 100, 3, 0.3)
		for i := 70; i < 120; i++ {
			xs[i] -= 10
		}
		c := stats.ShiftIn(xs)
		return c.P < 0.01 && c.At >= 66 && c.At <= 74 && math.Abs(c.After-c.Before+10) < 3
	})
	inside(t, "shifts of 10 % found in their place", got, 0.98, 1)
}

func TestEDivisiveRaisesFalseAlarmsAsStated(t *testing.T) {
	r := noise{src: 19}
	got := part(draws/50, func() bool {
		src := stats.Random(r.src.Uint64())
		return len(stats.EDivisive(r.iid(30, 100, 2), 3, 0.05, &src)) > 0
	})
	inside(t, "false alarms at 5 %", got, 0.01, 0.09)
}

func TestEDivisiveFindsEveryChangeInItsPlace(t *testing.T) {
	r := noise{src: 20}
	xs := append(append(r.iid(20, 100, 1), r.iid(25, 95, 1)...), r.iid(15, 104, 1)...)
	src := stats.Random(3)
	got := stats.EDivisive(xs, 3, 0.01, &src)
	if len(got) != 2 || got[0].At != 20 || got[1].At != 45 {
		t.Fatalf("changes %+v, want one at 20 and one at 45", got)
	}
	near(t, "mean between the changes", got[0].After, got[1].Before, 1e-12)
	near(t, "mean between the changes", got[0].After, 95, 0.01)
}

func TestMSER5CutsTheWarmUpAndLittleElse(t *testing.T) {
	r := noise{src: 21}
	found := part(300, func() bool {
		xs := r.ar1(200, 100, 3, 0.3)
		for i := range xs {
			xs[i] -= 60 * math.Exp(-float64(i)/10) // settled to a noise's width after 30
		}
		c := stats.MSER5(xs)
		return c.Known && !c.Late && c.At >= 20 && c.At <= 60
	})
	inside(t, "warm-ups cut where they end", found, 0.9, 1)
	for _, n := range []int{60, 120, 300} {
		late := part(1000, func() bool { return stats.MSER5(r.ar1(n, 100, 5, 0.3)).Late })
		t.Logf("n = %d", n)
		inside(t, "steady series called not steady", late, 0, 0.08)
	}
	rising := part(100, func() bool {
		xs := r.iid(120, 100, 3)
		for i := range xs {
			xs[i] += float64(i)
		}
		return stats.MSER5(xs).Late
	})
	inside(t, "rising series called not steady", rising, 0.99, 1)
}

func TestAAComparisonsErrAsOftenAsStated(t *testing.T) {
	r := noise{src: 22}
	paired, welch, ranks := 0.0, 0.0, 0.0
	for range draws / 2 {
		a, b := r.iid(6, 1000, 30), r.iid(6, 1000, 30)
		if stats.Paired(a, b, 0.95, 0).Verdict != stats.Unresolved {
			paired++
		}
		if stats.Welch(a, b, 0.95).P < 0.05 {
			welch++
		}
		if stats.MannWhitney(a, b).P < 0.05 {
			ranks++
		}
	}
	n := float64(draws / 2)
	inside(t, "paired", paired/n, 0.043, 0.057)
	inside(t, "Welch", welch/n, 0.038, 0.055)
	inside(t, "Mann–Whitney", ranks/n, 0.03, 0.05) // exact tests of so few values stay below
}

func TestHolmKeepsTheFamilyWiseRate(t *testing.T) {
	r := noise{src: 23}
	got := part(draws/2, func() bool {
		var ps []float64
		for range 8 {
			ps = append(ps, r.uniform())
		}
		for _, p := range stats.Holm(ps) {
			if p <= 0.05 {
				return true
			}
		}
		return false
	})
	inside(t, "any false rejection", got, 0.04, 0.06)
}

// Blocks share a disturbance of 5 % that pairing must take away; single runs
// vary by 1 %.
func TestInjectedSlowdownsAreRecovered(t *testing.T) {
	for _, slow := range []float64{0.02, 0.05, 0.10} {
		r := noise{src: 24}
		repeats := max(3, stats.RepeatsToResolve(0.01*math.Sqrt2, -math.Log1p(-slow), 0.05, 0.8))
		right, sum := 0.0, 0.0
		const studies = 2000
		for range studies {
			var base, other []float64
			for range repeats {
				block := 1000 * math.Exp(0.05*r.normal())
				base = append(base, block*math.Exp(0.01*r.normal()))
				other = append(other, block*(1-slow)*math.Exp(0.01*r.normal()))
			}
			p := stats.Paired(base, other, 0.95, 0)
			sum += p.Ratio.Value
			if p.Verdict == stats.Lower {
				right++
			}
		}
		t.Logf("a slowdown of %g with %d repeats", slow, repeats)
		inside(t, "found slower", right/studies, 0.79, 1)
		inside(t, "mean ratio", sum/studies, 1-slow-0.002, 1-slow+0.002)
	}
}

func TestEquivalenceIsSeldomClaimedAtTheMargin(t *testing.T) {
	r := noise{src: 25}
	claim := func(ratio float64) float64 {
		return part(4000, func() bool {
			a, b := r.iid(8, 0, 0.01), r.iid(8, math.Log(ratio), 0.01)
			for i := range a {
				a[i], b[i] = math.Exp(a[i]), math.Exp(b[i])
			}
			return stats.Paired(a, b, 0.95, 0.02).Verdict == stats.Equivalent
		})
	}
	inside(t, "equivalent claimed at the margin", claim(1.02), 0, 0.055)
	inside(t, "equivalent claimed for equals", claim(1), 0.75, 0.97)
}

func TestUSLIntervalsHoldTheLaw(t *testing.T) {
	for _, repeats := range []int{1, 5} {
		r := noise{src: 26}
		hits := part(60, func() bool {
			var loads []stats.Load
			for _, n := range []float64{1, 2, 4, 8, 12, 16, 24, 32} {
				x := 500 * n / (1 + 0.05*(n-1) + 0.002*n*(n-1))
				l := stats.Load{N: n}
				for range repeats {
					l.X = append(l.X, x*(1+0.01*r.normal()))
				}
				loads = append(loads, l)
			}
			src := stats.Random(r.src.Uint64())
			u := stats.FitUSL(loads, 0.95, &src)
			return holds(u.PeakN, math.Sqrt(0.95/0.002)) && math.Abs(u.PeakN.Value/math.Sqrt(0.95/0.002)-1) < 0.06
		})
		t.Logf("%d repeats at each load", repeats)
		inside(t, "peaks held", hits, 0.85, 1)
	}
}

// passes is a table of so many passes of AR(1) noise on a shape.
func (n *noise) passes(count, places int, sd, phi float64) [][]float64 {
	xs := n.ar1(count*places, 0, sd, phi)
	out := make([][]float64, count)
	for k := range out {
		for j := range places {
			out[k] = append(out[k], 100+50*math.Sin(float64(j))+xs[k*places+j])
		}
	}
	return out
}

func TestBetweenPassesFindsNothingWhereThereIsNothing(t *testing.T) {
	for _, c := range []struct {
		passes, places int
		phi, most      float64
	}{{2, 15, 0, 0.015}, {2, 30, 0.3, 0.02}, {4, 10, 0.3, 0.025}, {4, 30, 0.5, 0.025}, {8, 15, 0.3, 0.02}, {20, 5, 0, 0.02}} {
		r := noise{src: 28}
		drift, shift := 0.0, 0.0
		const n = draws / 5
		for range n {
			p := stats.BetweenPasses(r.passes(c.passes, c.places, 5, c.phi))
			if p.DriftP < 0.01 {
				drift++
			}
			if p.ShiftP < 0.01 {
				shift++
			}
		}
		t.Logf("%d passes of %d, φ = %g", c.passes, c.places, c.phi)
		inside(t, "trends at 1 %", drift/n, 0, c.most)
		inside(t, "shifts at 1 %", shift/n, 0, c.most)
	}
}

func TestBetweenPassesFindsWhatDiffers(t *testing.T) {
	r := noise{src: 29}
	drift := part(200, func() bool {
		table := r.passes(4, 30, 5, 0.3)
		for k := range table {
			for j := range table[k] {
				table[k][j] -= 5 * float64(k)
			}
		}
		p := stats.BetweenPasses(table)
		return p.DriftP < 0.001 && math.Abs(p.Drift+20) < 6
	})
	inside(t, "drifts of a fifth", drift, 0.97, 1)
	shift := part(200, func() bool {
		table := r.passes(6, 20, 5, 0.3)
		for k := 4; k < 6; k++ {
			for j := range table[k] {
				table[k][j] += 20
			}
		}
		p := stats.BetweenPasses(table)
		return p.ShiftP < 1e-4 && p.At == 4 && math.Abs(p.Shift-20) < 6
	})
	inside(t, "shifts of a fifth", shift, 0.97, 1)
}

// Passes that differ from each other by more than the noise inside, without a
// trend: the seconds of a pass must not speak for the passes.
func TestPassesThatDifferByChanceHaveNoTrend(t *testing.T) {
	r := noise{src: 30}
	got := part(1000, func() bool {
		table := r.passes(10, 20, 1, 0)
		for k := range table {
			own := 5 * r.normal()
			for j := range table[k] {
				table[k][j] += own
			}
		}
		return stats.BetweenPasses(table).DriftP < 0.01
	})
	inside(t, "trends at 1 %", got, 0, 0.03)
}

func TestBetweenPassesTellsWhatItCannotTell(t *testing.T) {
	nan := math.NaN()
	for _, table := range [][][]float64{nil, {{1, 2, 3}}, {{1}, {2}}, {{1, nan, 3}, {nan, 2, 3}}, {{}, {}}} {
		if p := stats.BetweenPasses(table); !math.IsNaN(p.DriftP) || !math.IsNaN(p.ShiftP) {
			t.Errorf("%v: %+v", table, p)
		}
	}
	same := stats.BetweenPasses([][]float64{{1, 5, 2}, {1, 5, 2}})
	if same.DriftP != 1 || same.Drift != 0 {
		t.Errorf("two equal passes: %+v", same)
	}
	apart := stats.BetweenPasses([][]float64{{1, 5, nan, 2}, {2, 6, 7, 3}})
	if apart.DriftP != 0 || apart.ShiftP != 0 || apart.Shift != 1 || apart.At != 1 {
		t.Errorf("two constants: %+v", apart)
	}
}
