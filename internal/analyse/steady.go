package analyse

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/stats"
)

// What the tests of a window ask for. A long run finds trends of no
// consequence significant, so that a trend or shift speaks against a steady
// state only where it is significant and large.
const (
	leastTested = 30    // intervals in a window below which nothing can be told
	mostPoints  = 360   // joined to so many before tests whose cost is n²
	trendLevel  = 0.001 // significance of the tests of trends
	shiftLevel  = 1e-4  // and of shifts, whose test errs more on short correlated series
	driftPct    = 5.0   // of throughput over the window that is too much
	driftP95Pct = 10.0  // of the 95th percentile
)

// window chooses the part of a trial that counts: whole intervals from the
// end of the warm-up that the study asked for, or from the cut of MSER-5 over
// all intervals after the ramp where that is later, up to the end of the
// measurement. Then it tests throughput and the 95th percentile of the
// metric's series inside. With several instances, instances holds each one's
// intervals: the latest cut counts. Under a profile of the load the window
// holds whole passes, which are held against each other: see profile.
// Window.End is not after Start where there is no interval.
func window(instances [][]record.Interval, t record.Trial) Window {
	ph, series := t.Phases, metricSeries(t.Workload)
	all := joined(instances)
	asked := between(all, ph.WarmupEnd, ph.MeasureEnd)
	if len(asked) == 0 {
		return Window{Start: ph.WarmupEnd, End: ph.WarmupEnd, Why: "no interval was recorded between the end of the warm-up and that of the measurement"}
	}
	rate, p := rateOf(t.Workload), profileOf(t, all)
	out := Window{Start: asked[0].Start.Seconds(), End: asked[len(asked)-1].End.Seconds(), Steady: true}
	var why []string
	for i, rows := range instances {
		rows = whole(between(rows, ph.RampEnd, ph.MeasureEnd))
		if text := out.cut(i, rows, p.level(rows, values(rows, rate)), p != nil); text != "" {
			why = append(why, text)
		}
	}
	p.trim(&out)
	rows := whole(between(all, out.Start, out.End))
	var faults []string
	if p == nil {
		faults, out.Tested = even(rows, series, rate), len(rows) >= leastTested
	} else {
		var said string
		faults, said, out.Tested = p.judge(rows, out.Passes, series, rate)
		why = append(why, said)
	}
	out.Steady = out.Steady && len(faults) == 0
	switch why = append(why, faults...); {
	case !out.Tested && len(rows) < leastTested:
		why = append(why, fmt.Sprintf("too short to tell whether it was steady: %s, %d needed", count(len(rows), "interval"), leastTested))
	case len(faults) == 0:
		why = append(why, "no trend and no shift in throughput and p95 that matters")
	}
	out.Why = strings.Join(append([]string{fmt.Sprintf("%s to %s s", figure(out.Start), figure(out.End))}, why...), "; ")
	return out
}

// cut begins w where MSER-5 ends the warm-up of instance i, from 0, whose
// values a second are xs in rows, and says so; "" where it began late enough.
// Where a cut costs a whole pass it must be worth it: throughput must be higher
// from there on, for what grows slower is not warming up.
func (w *Window) cut(i int, rows []record.Interval, xs []float64, costly bool) string {
	cut := stats.MSER5(xs)
	if !cut.Known {
		return ""
	}
	at := rows[min(cut.At, len(rows)-1)].Start.Seconds()
	switch {
	case at <= w.Start+slack:
	case cut.Late:
		// In a steady run, too, chance puts one cut in forty there.
		if d := differs(xs, cut.At); math.Abs(d) > driftPct {
			w.Steady = false
			return fmt.Sprintf("the warm-up of instance %d does not end in the first half of the run (MSER-5 would cut at %s s or later; throughput differs by %s from then on)", i+1, figure(at), signed(d))
		}
	case costly && !(differs(xs, cut.At) > driftPct):
	default:
		w.Start = at
		return fmt.Sprintf("MSER-5 cut the warm-up of instance %d at %s s, later than asked for", i+1, figure(at))
	}
	return ""
}

// even lists what speaks against a steady state of rows under an even load.
func even(rows []record.Interval, series int, rate func(record.Interval) float64) []string {
	p95 := func(r record.Interval) float64 { return quiet(r, series) }
	return append(unsteady("throughput", values(rows, rate), driftPct), unsteady("p95", values(rows, p95), driftP95Pct)...)
}

// rateOf is what the metric counts a second in an interval.
func rateOf(w record.Workload) func(record.Interval) float64 {
	series := metricSeries(w)
	return func(r record.Interval) float64 {
		if series < 0 || series >= len(r.Types) {
			return 0
		}
		return counted(r.Types[series], w.Metric) / max(r.End-r.Start, time.Nanosecond).Seconds()
	}
}

// differs is by how many percent the mean of xs is larger from at on; 0 where
// the intervals of both means, widened for autocorrelation, meet.
func differs(xs []float64, at int) float64 {
	before, after := stats.MeanOfRun(xs[:at], confidence), stats.MeanOfRun(xs[at:], confidence)
	if before.Value > 0 && (before.High < after.Low || after.High < before.Low) {
		return 100 * (after.Value/before.Value - 1)
	}
	return 0
}

// quiet is the 95th percentile in µs; NaN where nothing was committed.
func quiet(r record.Interval, series int) float64 {
	if series < 0 || series >= len(r.Types) || r.Types[series].Committed == 0 {
		return nan()
	}
	return float64(r.Types[series].P95)
}

// whole leaves out the intervals that were cut short, which the last may be:
// the tests want equidistant values.
func whole(rows []record.Interval) []record.Interval {
	var longest time.Duration
	for _, r := range rows {
		longest = max(longest, r.End-r.Start)
	}
	var out []record.Interval
	for _, r := range rows {
		if r.End-r.Start >= longest*9/10 {
			out = append(out, r)
		}
	}
	return out
}

func values(rows []record.Interval, of func(record.Interval) float64) []float64 {
	out := make([]float64, len(rows))
	for i, r := range rows {
		out[i] = of(r)
	}
	return out
}

// unsteady lists what speaks against a steady xs: a trend that adds up to
// more than limit percent of the median over the window, or a shift of more
// than that. NaN are left out.
func unsteady(what string, xs []float64, limit float64) []string {
	xs = thinned(xs, mostPoints)
	middle := stats.Median(xs)
	if len(xs) < leastTested || !(middle > 0) {
		return nil
	}
	var out []string
	trend := stats.TrendOf(xs, 0.95)
	drift := 100 * trend.Slope.Value * float64(len(xs)) / middle
	if trend.P < trendLevel && math.Abs(drift) > limit {
		out = append(out, fmt.Sprintf("%s drifts by %s over the window (Mann–Kendall, %s)", what, signed(drift), chance(trend.P)))
	}
	shift := stats.ShiftIn(xs)
	jump := 100 * (shift.After - shift.Before) / middle
	if shift.P < shiftLevel && math.Abs(jump) > limit {
		out = append(out, fmt.Sprintf("%s shifts by %s after %.0f %% of the window (CUSUM, %s)", what, signed(jump), 100*float64(shift.At)/float64(len(xs)), chance(shift.P)))
	}
	return out
}

// chance prints a P for people.
func chance(p float64) string {
	if p < 1e-4 {
		return "p < 0.0001"
	}
	return fmt.Sprintf("p = %.2g", p)
}

func signed(pct float64) string {
	if pct > 0 {
		return "+" + percent(pct)
	}
	return percent(pct)
}

// thinned joins values to at most `most` means of equally many; NaN are left
// out before.
func thinned(xs []float64, most int) []float64 {
	var there []float64
	for _, x := range xs {
		if !math.IsNaN(x) {
			there = append(there, x)
		}
	}
	size := (len(there) + most - 1) / most
	if size <= 1 {
		return there
	}
	var out []float64
	for ; len(there) >= size; there = there[size:] {
		out = append(out, stats.Mean(there[:size]))
	}
	return out
}
