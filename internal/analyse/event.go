package analyse

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/record"
)

// Event is something that happened to an instance while load ran on it.
type Event struct {
	Instance string  `json:"instance"` // its name
	Asked    string  `json:"asked"`    // in words: "set instance.cpus = 0.5"
	DueS     float64 `json:"due_s"`    // since the epoch, as the study asked
	BeginS   float64 `json:"begin_s"`
	EndS     float64 `json:"end_s"`
	// DowntimeS is how long the instance stood still, as the hypervisor tells;
	// absent where it tells nothing of the kind.
	DowntimeS Number `json:"downtime_s"`
	Bytes     int64  `json:"bytes,omitempty"` // that were moved
	Set       []Knob `json:"set,omitempty"`   // limits that were changed, read back
}

// Stretch is a part of a trial's window that events divide: before the first,
// while one is under way, between two, after the last.
type Stretch struct {
	Name   string  `json:"name"` // "before", "during 1", "between 1 and 2", "after"
	During bool    `json:"during"`
	Start  float64 `json:"start_s"`
	End    float64 `json:"end_s"`
	// Throughput and the 95th percentile are of the metric's series, of all
	// instances together.
	Throughput float64 `json:"throughput"`
	P95Ms      Number  `json:"p95_ms"`
	// Hit are the same of each instance that an event happens to, where there
	// are others beside it.
	Hit []Hit `json:"hit,omitempty"`
}

// Hit is what an instance that an event happens to did in a Stretch.
type Hit struct {
	Instance   string  `json:"instance"`
	Throughput float64 `json:"throughput"`
	P95Ms      Number  `json:"p95_ms"`
}

// StretchEstimate is a Stretch over the repeats of a cell.
type StretchEstimate struct {
	Name       string   `json:"name"`
	During     bool     `json:"during"`
	Throughput Estimate `json:"throughput"`
	// ToBefore is the throughput as a part of that before the first event, of
	// each repeat; N is 0 for the stretch before itself.
	ToBefore Estimate `json:"to_before"`
}

// eventsOf are the events of a trial for people.
func eventsOf(t record.Trial) (out []Event) {
	for _, e := range t.Events {
		name := fmt.Sprintf("instance-%d", e.Instance)
		if e.Instance >= 1 && e.Instance <= len(t.Instances) {
			name = t.Instances[e.Instance-1].Name
		}
		x := Event{Instance: name, Asked: e.Asked, DueS: e.DueS, BeginS: e.BeginS, EndS: e.EndS, DowntimeS: Absent(), Bytes: e.Bytes, Set: knobs("", e.Set)}
		if e.DowntimeS > 0 {
			x.DowntimeS = Number(e.DowntimeS)
		}
		out = append(out, x)
	}
	return out
}

// span is a time in which at least one event is under way, in whole intervals,
// and the numbers of these events, from 1.
type span struct {
	start, end float64
	events     []int
}

// spans are the times in which events were under way, those that meet or overlap
// as one. rows are all intervals of the window.
func spans(events []record.Event, rows []record.Interval) (out []span) {
	for n, e := range events {
		s := span{start: math.Inf(1), end: math.Inf(-1), events: []int{n + 1}}
		for _, r := range rows {
			if r.End.Seconds() > e.BeginS && r.Start.Seconds() <= e.EndS {
				s.start, s.end = min(s.start, r.Start.Seconds()), max(s.end, r.End.Seconds())
			}
		}
		if s.end < s.start {
			continue // outside the window
		}
		if last := len(out) - 1; last >= 0 && s.start < out[last].end+slack {
			out[last].end = max(out[last].end, s.end)
			out[last].events = append(out[last].events, s.events...)
			continue
		}
		out = append(out, s)
	}
	return out
}

// divide cuts a window at its events; nil where none is in it.
func divide(w Window, events []record.Event, rows []record.Interval) (out []Stretch) {
	of := spans(events, between(rows, w.Start, w.End))
	if len(of) == 0 {
		return nil
	}
	at := w.Start
	for i, s := range of {
		quiet := Stretch{Name: "before", Start: at, End: s.start}
		if i > 0 {
			quiet.Name = fmt.Sprintf("between %d and %d", slices.Max(of[i-1].events), slices.Min(s.events))
		}
		during := Stretch{Name: "during " + numbers(s.events), During: true, Start: s.start, End: s.end}
		if quiet.End > quiet.Start+slack {
			out = append(out, quiet)
		}
		out, at = append(out, during), s.end
	}
	if w.End > at+slack {
		out = append(out, Stretch{Name: "after", Start: at, End: w.End})
	}
	return out
}

// numbers prints the numbers of events: "1", "1 and 2", "1, 2 and 3".
func numbers(ns []int) string {
	var parts []string
	for _, n := range ns {
		parts = append(parts, fmt.Sprint(n))
	}
	if n := len(parts); n > 1 {
		return strings.Join(parts[:n-1], ", ") + " and " + parts[n-1]
	}
	return parts[0]
}

// divided chooses the window of a trial with events: as asked for, from the cut
// of MSER-5 before the first event where that is later. What an event does to
// throughput is what the study looks for and no lack of a steady state: each
// stretch without an event under way is judged by itself, from where it has
// settled.
func divided(instances [][]record.Interval, t record.Trial) Window {
	all := joined(instances)
	asked := between(all, t.Phases.WarmupEnd, t.Phases.MeasureEnd)
	if len(asked) == 0 {
		return window(instances, t)
	}
	out := Window{Start: asked[0].Start.Seconds(), End: asked[len(asked)-1].End.Seconds(), Steady: true, Tested: true}
	first := divide(out, t.Events, all)
	if first == nil {
		return window(instances, t)
	}
	rate := rateOf(t.Workload)
	why := []string{fmt.Sprintf("%s in the window, which divide it: each part was judged by itself, from where it has settled", count(len(t.Events), "event"))}
	if until := first[0].End; !first[0].During {
		for i, rows := range instances {
			rows = whole(between(rows, t.Phases.RampEnd, until))
			if text := out.cut(i, rows, values(rows, rate), false); text != "" {
				why = append(why, text)
			}
		}
	}
	faults, short := restlessParts(divide(out, t.Events, all), all, t)
	if len(short) > 0 {
		out.Tested = false
		why = append(why, fmt.Sprintf("too short to tell whether it was steady: fewer than %d settled intervals %s", leastTested, strings.Join(short, ", ")))
	} else if len(faults) == 0 {
		why = append(why, "no trend and no shift in throughput and p95 that matters within a part")
	}
	out.Steady = out.Steady && len(faults) == 0
	out.Why = strings.Join(append([]string{fmt.Sprintf("%s to %s s", figure(out.Start), figure(out.End))}, append(why, faults...)...), "; ")
	return out
}

// restlessParts lists what speaks against a steady state within the stretches in which
// no event is under way, and names those that are too short to tell.
func restlessParts(of []Stretch, all []record.Interval, t record.Trial) (faults, short []string) {
	series, rate := metricSeries(t.Workload), rateOf(t.Workload)
	p95 := func(r record.Interval) float64 { return quiet(r, series) }
	for _, s := range of {
		if s.During {
			continue
		}
		rows := whole(between(all, s.Start, s.End))
		if s.Name != "before" { // after an event a server takes its time
			rows = rows[max(settled(values(rows, rate)), settled(values(rows, p95))):]
		}
		if len(rows) < leastTested {
			short = append(short, s.Name)
			continue
		}
		faults = append(faults, unsteady(s.Name+": throughput", values(rows, rate), driftPct)...)
		faults = append(faults, unsteady(s.Name+": p95", values(rows, p95), driftP95Pct)...)
	}
	return faults, short
}

// stretches is what was done in each part of the window that events divide.
func stretches(in raw, w Window) ([]Stretch, error) {
	if len(in.trial.Events) == 0 {
		return nil, nil
	}
	out := divide(w, in.trial.Events, joined(in.intervals))
	for k := range out {
		s := &out[k]
		var all dist
		for i := range in.intervals {
			done, slow, err := didIn(in, i, *s)
			if err != nil {
				return nil, err
			}
			s.Throughput += done
			all = merge(all, slow)
			if happens(in.trial.Events, i+1) && len(in.intervals) > 1 {
				s.Hit = append(s.Hit, Hit{in.trial.Instances[i].Name, done, slow.at(95)})
			}
		}
		s.P95Ms = all.at(95)
	}
	return out, nil
}

// happens says whether any of events happens to the instance with this number.
func happens(events []record.Event, number int) bool {
	return slices.ContainsFunc(events, func(e record.Event) bool { return e.Instance == number })
}

// didIn is the throughput of instance i, from 0, in s, in the metric's unit, and
// the response times of the metric's series.
func didIn(in raw, i int, s Stretch) (throughput float64, slow dist, err error) {
	work := in.trial.Workload
	rows := between(in.intervals[i], s.Start, s.End)
	throughput = counted(total(rows, metricSeries(work)), work.Metric) / (s.End - s.Start) * work.Metric.PerSeconds
	merged, err := in.histograms(i, seconds(s.Start), seconds(s.End))
	for _, m := range merged {
		if m.Type == work.Metric.Series {
			slow = merge(slow, distOf(m.Response))
		}
	}
	return throughput, slow, err
}

// overRepeats joins the stretches of a cell's trials that count, where all have
// the same; nil where they have not, or have none.
func overRepeats(trials []Trial, of []int) (out []StretchEstimate) {
	for k := 0; ; k++ {
		var each, ratios []float64
		var first *Stretch
		for _, i := range of {
			ss := trials[i].Stretches
			if len(ss) <= k {
				if k == 0 || len(trials[of[0]].Stretches) > k {
					return nil
				}
				continue
			}
			if first == nil {
				first = &ss[k]
			} else if first.Name != ss[k].Name {
				return nil
			}
			each = append(each, ss[k].Throughput)
			if k > 0 && ss[0].Name == "before" && ss[0].Throughput > 0 {
				ratios = append(ratios, ss[k].Throughput/ss[0].Throughput)
			}
		}
		if first == nil {
			return out
		}
		out = append(out, StretchEstimate{first.Name, first.During, estimate(each), estimate(ratios)})
	}
}

// eventNotes says that the figures of trials are of windows in which something
// was made to happen.
func eventNotes(runs []run) []string {
	n := 0
	for _, r := range runs {
		if r.Counts && len(r.Stretches) > 0 {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("events were made to happen within the windows of %s: throughput and percentiles are of the whole windows; what it was before, during and after stands under Events", count(n, "trial"))}
}
