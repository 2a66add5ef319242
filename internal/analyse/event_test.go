package analyse

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loadstone-perf/loadstone/internal/record"
)

// eventful is a trial in which one event, from begin to end, makes throughput
// after it a part of what it was, and response times ten times as long.
func eventful(part, begin, end float64) raw {
	r := usual().trial(record.Planned{Trial: 1, Block: 1, Cell: 1, Seed: 11, Dir: "001"}, 4)
	r.trial.Events = []record.Event{{Instance: 1, Do: "set", Asked: "set instance.cpus = 0.5", DueS: begin, BeginS: begin, EndS: end,
		Set: []record.Knob{{Name: "instance.cpus", Intended: "0.5", Effective: "0.5", Matches: true}}}}
	for i, row := range r.intervals[0] {
		if row.Start.Seconds() < end {
			continue
		}
		row.Types = slices.Clone(row.Types)
		for k := range row.Types {
			row.Types[k].Committed = int64(part * float64(row.Types[k].Committed))
		}
		r.intervals[0][i] = row
	}
	plain := r.histograms
	r.histograms = func(i int, from, to time.Duration) ([]record.Merged, error) {
		merged, err := plain(i, from, to)
		if from.Seconds() < end {
			return merged, err
		}
		for k, m := range merged {
			merged[k].Response = newHistogram()
			for _, b := range m.Response.Distribution() {
				_ = merged[k].Response.RecordValues(10*b.To, b.Count)
			}
		}
		return merged, err
	}
	return r
}

// TestAnEventDividesTheWindow has a window of which the second half does half the
// work: with the event on record each half is steady, and without it none is.
func TestAnEventDividesTheWindow(t *testing.T) {
	r := eventful(0.5, 45.2, 45.3)
	one, err := analysed(r, record.Study{Limits: record.Limits{ErrorsPct: 1}})
	if err != nil {
		t.Fatal(err)
	}
	w := one.Window
	if w.Start != 15 || w.End != 75 || !w.Steady {
		t.Errorf("the window is %+v; want all that was measured, steady", w)
	}
	if !strings.Contains(w.Why, "1 event in the window") {
		t.Errorf("the window says %q", w.Why)
	}
	var names []string
	for _, p := range one.Stretches {
		names = append(names, p.Name)
	}
	if !slices.Equal(names, []string{"before", "during 1", "after"}) {
		t.Fatalf("parts are %q", names)
	}
	before, during, after := one.Stretches[0], one.Stretches[1], one.Stretches[2]
	if before.Start != 15 || before.End != 45 || during.Start != 45 || during.End != 46 || after.Start != 46 || after.End != 75 {
		t.Errorf("parts are from %v to %v, %v to %v, %v to %v", before.Start, before.End, during.Start, during.End, after.Start, after.End)
	}
	if ratio := after.Throughput / before.Throughput; math.Abs(ratio-0.5) > 0.02 {
		t.Errorf("after ÷ before is %.3f, want 0.5", ratio)
	}
	if ratio := float64(after.P95Ms / before.P95Ms); math.Abs(ratio-10) > 0.5 {
		t.Errorf("the p95 after ÷ before is %.3f, want 10", ratio)
	}
	// The headline is of all of it.
	whole := (before.Throughput*30 + during.Throughput + after.Throughput*29) / 60
	if math.Abs(one.Throughput/whole-1) > 1e-9 {
		t.Errorf("the whole window does %v, its parts %v", one.Throughput, whole)
	}
	r.trial.Events = nil
	if without, err := analysed(r, record.Study{}); err != nil || without.Window.Steady && without.Window.Start == 15 {
		t.Errorf("without the event on record the window is %+v, %v", without.Window, err)
	}
}

// TestADriftWithinAPartIsNoSteadyState makes throughput fall all the time before
// the event.
func TestADriftWithinAPartIsNoSteadyState(t *testing.T) {
	r := eventful(1, 55.2, 55.3)
	for i, row := range r.intervals[0] {
		if at := row.Start.Seconds(); at >= 15 && at < 55 {
			for k := range row.Types {
				row.Types[k].Committed = int64(float64(row.Types[k].Committed) * (1 - 0.01*(at-15)))
			}
			r.intervals[0][i] = row
		}
	}
	if w := divided(r.intervals, r.trial); w.Steady || !strings.Contains(w.Why, "before: throughput") {
		t.Errorf("the window is %+v", w)
	}
}

func TestAPartThatIsTooShortTellsNothing(t *testing.T) {
	w := divided(eventful(0.5, 65.2, 65.3).intervals, eventful(0.5, 65.2, 65.3).trial)
	if w.Tested || !w.Steady || !strings.Contains(w.Why, "intervals after") {
		t.Errorf("the window is %+v", w)
	}
}

// TestPartsCoverTheWindow holds that whatever the events, the parts follow each
// other without gaps or overlaps, and that every event is in just one.
func TestPartsCoverTheWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rows []record.Interval
		n := rapid.IntRange(1, 30).Draw(t, "seconds")
		for k := range n {
			rows = append(rows, record.Interval{Start: time.Duration(k) * time.Second, End: time.Duration(k+1) * time.Second})
		}
		var events []record.Event
		at := 0.0
		for range rapid.IntRange(0, 5).Draw(t, "events") {
			at += rapid.Float64Range(0, 8).Draw(t, "gap")
			events = append(events, record.Event{BeginS: at, EndS: at + rapid.Float64Range(0, 6).Draw(t, "took")})
		}
		of := divide(Window{Start: 0, End: float64(n)}, events, rows)
		inside := 0
		for _, e := range events {
			if e.BeginS < float64(n) {
				inside++
			}
		}
		if inside == 0 != (of == nil) {
			t.Fatalf("%d events in the window, parts %+v", inside, of)
		}
		end := 0.0
		for i, p := range of {
			if p.Start != end || p.End <= p.Start || i > 0 && p.During == of[i-1].During {
				t.Fatalf("part %d of %+v", i, of)
			}
			end = p.End
		}
		if of != nil && end != float64(n) {
			t.Fatalf("parts end at %v of %d: %+v", end, n, of)
		}
	})
}

// TestPartsOverRepeats joins three repeats, and refuses trials whose parts differ.
func TestPartsOverRepeats(t *testing.T) {
	trial := func(before, after float64, names ...string) Trial {
		return Trial{Stretches: []Stretch{{Name: names[0], Throughput: before}, {Name: names[1], Throughput: after}}}
	}
	same := []Trial{trial(100, 50, "before", "after"), trial(110, 55, "before", "after"), trial(90, 45, "before", "after")}
	got := overRepeats(same, []int{0, 1, 2})
	if len(got) != 2 || got[0].Throughput.Value != 100 || got[0].ToBefore.N != 0 || got[1].ToBefore.Value != 0.5 || got[1].ToBefore.N != 3 {
		t.Errorf("got %+v", got)
	}
	for _, other := range []Trial{trial(1, 2, "before", "during 1"), {}} {
		if got := overRepeats(append(same[:2:2], other), []int{0, 1, 2}); got != nil {
			t.Errorf("trials that differ give %+v", got)
		}
	}
	if got := overRepeats(nil, nil); got != nil {
		t.Errorf("no trials give %+v", got)
	}
}
