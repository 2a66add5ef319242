package analyse

import (
	"math"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/stats"
)

// noisy is the window of a run of AR(1) noise: rho is the correlation of one
// second with the next, cv the relative deviation of throughput, twice that of
// the 95th percentile. level multiplies throughput and divides the percentile.
func noisy(src *stats.Random, seconds int, rho, cv float64, level func(part float64) float64) Window {
	const warmup = 10
	var rows []record.Interval
	x, y := gauss(src), gauss(src)
	for sec := range warmup + seconds {
		l := level(float64(sec-warmup) / float64(seconds))
		rows = append(rows, record.Interval{Start: time.Duration(sec) * time.Second, End: time.Duration(sec+1) * time.Second,
			Types: []record.Series{{}, {}, {}, {Committed: int64(1000 * l * (1 + cv*x)), P95: int64(8000 / l * (1 + 2*cv*y))}}})
		x, y = rho*x+math.Sqrt(1-rho*rho)*gauss(src), rho*y+math.Sqrt(1-rho*rho)*gauss(src)
	}
	t := record.Trial{Workload: usual().workload(), Phases: record.Phases{WarmupEnd: warmup, MeasureEnd: float64(warmup + seconds)}}
	return window([][]record.Interval{rows}, t)
}

// unsteadyPct is the part of n runs that are found not steady, in percent.
func unsteadyPct(n, seconds int, rho, cv float64, level func(float64) float64) float64 {
	src := stats.Random(7)
	bad := 0
	for range n {
		if !noisy(&src, seconds, rho, cv, level).Steady {
			bad++
		}
	}
	return 100 * float64(bad) / float64(n)
}

// With 5 % noise a second, and 0.3 from one to the next, one steady run in
// 170 of 60 s and one in 1,000 of 120 s was found not steady (1,000 runs
// each; with a correlation of 0.6 one in 40 and one in 1,000). The bound is 1 %
// with three standard deviations of the count.
func TestSteadyRunsAreSeldomFoundNotSteady(t *testing.T) {
	const n = 250
	for _, seconds := range []int{60, 120} {
		got := unsteadyPct(n, seconds, 0.3, 0.05, func(float64) float64 { return 1 })
		t.Logf("%d s: %.2f %%", seconds, got)
		if got > 1+3*100*math.Sqrt(0.01*0.99/n) {
			t.Errorf("%d s: %.2f %% of steady runs are found not steady", seconds, got)
		}
	}
}

func TestDriftsAndStepsOfAFifthAreFound(t *testing.T) {
	for name, level := range map[string]func(float64) float64{
		"drift": func(part float64) float64 { return 1 - 0.2*max(0, part) },
		"step in the middle": func(part float64) float64 {
			if part > 0.5 {
				return 0.8
			}
			return 1
		},
		"step in the last quarter": func(part float64) float64 {
			if part > 0.75 {
				return 0.8
			}
			return 1
		},
	} {
		for _, seconds := range []int{60, 120} {
			if got := unsteadyPct(40, seconds, 0.2, 0.04, level); got < 95 {
				t.Errorf("%s over %d s: found in %.0f %%", name, seconds, got)
			}
		}
	}
}

// MSER-5 cuts in the last half by chance alone: without a difference of the
// means that is no sign.
func TestALateCutCountsOnlyWithADifference(t *testing.T) {
	late, told := 0, 0
	src := stats.Random(11)
	for range 300 {
		xs := make([]float64, 60)
		for i := range xs {
			xs[i] = 1000 + 20*gauss(&src)
		}
		if cut := stats.MSER5(xs); cut.Late {
			late++
			if math.Abs(differs(xs, cut.At)) > driftPct {
				told++
			}
		}
	}
	if late == 0 || told > 0 {
		t.Errorf("%d late cuts by chance, of which %d count", late, told)
	}
	xs := make([]float64, 60)
	for i := range xs {
		xs[i] = 1000 + 20*gauss(&src)
		if i >= 30 {
			xs[i] *= 1.2
		}
	}
	if d := differs(xs, 30); math.Abs(d-20) > 2 {
		t.Errorf("a step of 20 %% is seen as %g %%", d)
	}
}
