package analyse

import (
	"strings"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/record"
)

// shaped is the window of a trial whose orders a second are as given; the
// 95th percentile is 8 ms unless p95 is set.
func shaped(ramp, warmup, measure int, orders func(sec int) float64, p95 func(sec int) float64) Window {
	s := usual()
	s.ramp, s.warmup, s.measure = ramp, warmup, measure
	_, trials := s.study(1, 8)
	rows := trials[0].intervals[0]
	for k := range rows {
		u := &rows[k].Types[3]
		// The noise of the synthetic trial, without its level.
		wobble := float64(u.Committed) / s.throughput(8)
		if k < ramp {
			wobble = 1
		}
		u.Committed = int64(orders(k) * wobble)
		if p95 != nil {
			u.P95 = int64(p95(k))
		}
	}
	return window(trials[0].intervals, trials[0].trial)
}

func TestWindowIsAsAskedWhereTheRunIsSteady(t *testing.T) {
	w := shaped(5, 10, 120, func(int) float64 { return 3000 }, nil)
	if w.Start != 15 || w.End != 135 || !w.Steady || !w.Tested {
		t.Errorf("%+v", w)
	}
}

func TestWindowBeginsLaterWhereTheWarmUpIsLonger(t *testing.T) {
	w := shaped(0, 10, 150, func(sec int) float64 {
		if sec < 40 {
			return 1500 + 37*float64(sec)
		}
		return 3000
	}, nil)
	if w.Start < 35 || w.Start > 50 || !w.Steady || !strings.Contains(w.Why, "MSER-5") {
		t.Errorf("%+v", w)
	}
}

func TestWindowKeepsTheWarmUpAskedForWhereThatIsLonger(t *testing.T) {
	w := shaped(0, 60, 60, func(sec int) float64 {
		if sec < 20 {
			return 1500
		}
		return 3000
	}, nil)
	if w.Start != 60 || !w.Steady {
		t.Errorf("%+v", w)
	}
}

func TestNoSteadyStateIsSaid(t *testing.T) {
	for name, c := range map[string]struct {
		orders, p95 func(int) float64
		why         string
	}{
		"rises all the time": {func(sec int) float64 { return 1000 + 20*float64(sec) }, nil, "throughput drifts by +96 %"},
		"falls by a tenth":   {func(sec int) float64 { return 3000 - 3*float64(sec) }, nil, "drifts"},
		"drops in the middle": {func(sec int) float64 {
			if sec > 70 {
				return 2500
			}
			return 3000
		}, nil, "throughput shifts by -20 % after 47 % of the window (CUSUM, p < 0.0001)"},
		"slows": {func(int) float64 { return 3000 }, func(sec int) float64 { return 8000 + 30*float64(sec) + 50*float64(sec%3) }, "p95 drifts"},
	} {
		w := shaped(5, 10, 120, c.orders, c.p95)
		if w.Steady || !w.Tested || !strings.Contains(w.Why, c.why) {
			t.Errorf("%s: %+v, want %q", name, w, c.why)
		}
		if w.Start > 75 {
			t.Errorf("%s: the window begins at %g", name, w.Start)
		}
	}
}

// A drift of two percent is significant in a long run, and of no consequence.
func TestSmallDriftsDoNotMatter(t *testing.T) {
	w := shaped(0, 0, 600, func(sec int) float64 { return 3000 - 0.1*float64(sec) }, nil)
	if !w.Steady {
		t.Errorf("%+v", w)
	}
}

func TestShortWindowsAreTooShortToTell(t *testing.T) {
	for _, measure := range []int{1, 10, 29} {
		w := shaped(2, 3, measure, func(sec int) float64 { return 3000 + 100*float64(sec%3) }, nil)
		if !w.Steady || w.Tested || !strings.Contains(w.Why, "too short to tell") || w.Start != 5 || w.End != float64(5+measure) {
			t.Errorf("%d s: %+v", measure, w)
		}
	}
}

func TestWindowHoldsWholeIntervalsOnly(t *testing.T) {
	s := usual()
	s.noise = 0
	_, trials := s.study(1, 8)
	r := trials[0]
	r.trial.Phases.WarmupEnd, r.trial.Phases.MeasureEnd = 15.4, 74.6
	// The driver's last interval was cut short, and work drained after it.
	rows := r.intervals[0]
	rows = append(rows, record.Interval{Start: 75 * time.Second, End: 75300 * time.Millisecond, Types: rows[0].Types})
	w := window([][]record.Interval{rows}, r.trial)
	if w.Start != 16 || w.End != 74 {
		t.Errorf("%+v", w)
	}
	r.trial.Phases.WarmupEnd, r.trial.Phases.MeasureEnd = 80, 90
	if w = window([][]record.Interval{rows}, r.trial); w.End > w.Start || w.Why == "" {
		t.Errorf("no interval, but %+v", w)
	}
	if w = window(nil, r.trial); w.End > w.Start {
		t.Errorf("no instance, but %+v", w)
	}
}
