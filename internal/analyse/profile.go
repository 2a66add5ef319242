package analyse

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/stats"
)

// profile is the load over time that a trial was asked for: phases that follow
// each other from the end of the ramp on, again and again. nil stands for an
// even load, and its methods take it.
//
// Under a profile no second is like the next, and a server that does exactly
// what it is asked for looks as if it drifted and shifted. So a window holds
// whole passes, and what is judged is what differs between them: a value
// against the median of those at the same place of other passes (the same idea
// as in seasonal adjustment). A pass that never comes back has nothing to be
// held against; there each phase is judged apart, from where it has settled.
type profile struct {
	phases []record.Phase
	start  float64 // of the first pass, in seconds since the epoch
	pass   float64 // its length in seconds
	// cycle is the least number of passes that is a whole number of intervals,
	// in seconds, so that the same place lies in the same part of an interval.
	cycle float64
	step  float64 // length of an interval
}

// mostPasses bounds the search for a cycle.
const mostPasses = 20

// profileOf is the profile of t; nil where the load is even.
func profileOf(t record.Trial, rows []record.Interval) *profile {
	p := &profile{phases: t.Load.Profile, start: t.Phases.RampEnd}
	for _, ph := range p.phases {
		p.pass += ph.Seconds
	}
	for _, r := range rows {
		p.step = max(p.step, (r.End - r.Start).Seconds())
	}
	uneven := slices.ContainsFunc(p.phases, func(ph record.Phase) bool { return ph.LoadPct != p.phases[0].LoadPct })
	if !uneven || p.step == 0 || !(p.pass >= p.step) {
		return nil
	}
	p.cycle = p.pass
	for n := 1.0; n <= mostPasses; n++ {
		if steps := n * p.pass / p.step; math.Abs(steps-math.Round(steps)) < 1e-6*steps {
			p.cycle = n * p.pass
			break
		}
	}
	return p
}

// whole is how many passes lie in so many seconds, in whole cycles.
func (p *profile) whole(length float64) int {
	return int(math.Floor((length+slack)/p.cycle)) * int(math.Round(p.cycle/p.pass))
}

// trim ends w so that it holds whole cycles, and counts the passes in it. It
// may begin anywhere in a pass: what matters is that each part of a pass is in
// it as often as any other. Where not even one fits it stays as it is.
func (p *profile) trim(w *Window) {
	if p == nil {
		return
	}
	if w.Passes = p.whole(w.End - w.Start); w.Passes > 0 {
		w.End = w.Start + float64(w.Passes)*p.pass
	}
}

// repeats says whether so many passes can be held against each other.
func (p *profile) repeats(passes int) bool { return passes >= 2*int(math.Round(p.cycle/p.pass)) }

// phase is the number of the phase at a time, and where in its cycle that is.
func (p *profile) phase(at float64) (number int, place float64) {
	since := math.Max(0, at-p.start)
	left := math.Mod(since, p.pass)
	for i, ph := range p.phases {
		if left < ph.Seconds || i == len(p.phases)-1 {
			return i, math.Mod(since, p.cycle)
		}
		left -= ph.Seconds
	}
	return 0, 0
}

// middle is the time in the middle of an interval.
func middle(r record.Interval) float64 { return (r.Start + (r.End-r.Start)/2).Seconds() }

// share is the mean load from one time to another, as a part of all that the
// trial was asked for: 1 without a profile.
func (p *profile) share(from, to float64) float64 {
	if p == nil || to <= from {
		return 1
	}
	sum := 0.0
	for begin := p.start + math.Floor((from-p.start)/p.pass)*p.pass; begin < to; {
		for _, ph := range p.phases {
			sum += ph.LoadPct / 100 * math.Max(0, math.Min(to, begin+ph.Seconds)-math.Max(from, begin))
			begin += ph.Seconds
		}
	}
	return sum / (to - from)
}

// level is xs, of rows, without the shape of a pass: each value's difference
// from the median at its place, about the mean of all. Without a profile it is
// xs; where the passes are too few to tell a shape it is nil.
func (p *profile) level(rows []record.Interval, xs []float64) []float64 {
	if p == nil || len(rows) == 0 {
		return xs
	}
	if !p.repeats(p.whole(float64(len(rows)) * p.step)) {
		return nil
	}
	places := make([][]float64, p.places()+1)
	at := make([]int, len(rows))
	for i, r := range rows {
		_, place := p.phase(middle(r))
		at[i] = min(int(place/p.step), len(places)-1)
		places[at[i]] = append(places[at[i]], xs[i])
	}
	all, out := stats.Mean(xs), make([]float64, len(xs))
	for i, x := range xs {
		out[i] = x - stats.Median(places[at[i]]) + all
	}
	return out
}

// places is how many intervals a cycle has.
func (p *profile) places() int { return int(math.Round(p.cycle / p.step)) }

// table lays xs, of rows that hold whole cycles from their first on, out in
// cycles: NaN where an interval is missing or its phase is not k, from 0; a
// negative k is every phase.
func (p *profile) table(rows []record.Interval, xs []float64, k int) [][]float64 {
	out := make([][]float64, int(math.Round(float64(len(rows))*p.step/p.cycle)))
	for i := range out {
		out[i] = slices.Repeat([]float64{nan()}, p.places())
	}
	for i, r := range rows {
		if n, _ := p.phase(middle(r)); k >= 0 && n != k {
			continue
		}
		since := middle(r) - rows[0].Start.Seconds()
		pass, place := int(since/p.cycle), int(math.Mod(since, p.cycle)/p.step)
		if pass < len(out) && place < len(out[pass]) {
			out[pass][place] = xs[i]
		}
	}
	return out
}

// judge lists what speaks against a steady state in rows, which are those of
// a window with so many passes, and says in words what was judged. tested is
// false where rows are too few to tell.
func (p *profile) judge(rows []record.Interval, passes int, series int, rate func(record.Interval) float64) (faults []string, said string, tested bool) {
	p95 := func(r record.Interval) float64 { return quiet(r, series) }
	if !p.repeats(passes) {
		return p.apart(rows, rate, p95)
	}
	said = fmt.Sprintf("%d whole passes of the load's profile, held against each other", passes)
	if len(rows) < leastTested {
		return nil, said, false
	}
	done, slow := values(rows, rate), values(rows, func(r record.Interval) float64 { return math.Log(p95(r)) })
	faults = p.restless("", done, slow, rows, -1)
	for k, ph := range p.phases {
		// What a server loses in one phase alone may be little in all of them.
		if n := p.repeatsOf(rows, k); ph.LoadPct > 0 && n >= leastTested {
			faults = append(faults, p.restless(fmt.Sprintf("phase %d (%s) ", k+1, percent(ph.LoadPct)), done, slow, rows, k)...)
		}
	}
	return faults, said, true
}

// repeatsOf is how many of rows are in phase k.
func (p *profile) repeatsOf(rows []record.Interval, k int) (n int) {
	for _, r := range rows {
		if in, _ := p.phase(middle(r)); in == k {
			n++
		}
	}
	return n
}

// restless lists what differs between passes by more than a steady server's
// may, in all phases or in phase k: throughput, and the logarithm of the 95th
// percentile, so that slow phases do not outweigh the others.
func (p *profile) restless(name string, done, slow []float64, rows []record.Interval, k int) (faults []string) {
	for _, q := range []struct {
		what  string
		is    stats.Passes
		limit float64
		pct   func(d, mean float64) float64
	}{
		{"throughput", stats.BetweenPasses(p.table(rows, done, k)), driftPct, func(d, mean float64) float64 { return 100 * d / mean }},
		{"p95", stats.BetweenPasses(p.table(rows, slow, k)), driftP95Pct, func(d, _ float64) float64 { return 100 * math.Expm1(d) }},
	} {
		drift, shift := q.pct(q.is.Drift, q.is.Mean), q.pct(q.is.Shift, q.is.Mean)
		if q.is.DriftP < trendLevel && math.Abs(drift) > q.limit {
			faults = append(faults, fmt.Sprintf("%s%s drifts by %s over the passes (%s)", name, q.what, signed(drift), chance(q.is.DriftP)))
		}
		if q.is.ShiftP < shiftLevel && math.Abs(shift) > q.limit {
			faults = append(faults, fmt.Sprintf("%s%s shifts by %s from pass %d on (%s)", name, q.what, signed(shift), q.is.At*int(math.Round(p.cycle/p.pass))+1, chance(q.is.ShiftP)))
		}
	}
	return faults
}

// apart judges each phase of the window by itself, from where MSER-5 cuts its
// beginning: a server takes its time after a change of the load, which is what
// such a study looks at.
func (p *profile) apart(rows []record.Interval, rate, p95 func(record.Interval) float64) (faults []string, said string, tested bool) {
	tested = true
	var short []string
	for begin := 0; begin < len(rows); {
		k, _ := p.phase(middle(rows[begin]))
		end := begin + 1
		for end < len(rows) {
			if n, _ := p.phase(middle(rows[end])); n != k {
				break
			}
			end++
		}
		part := inside(rows[begin:end], p, k)
		name := fmt.Sprintf("phase %d (%s from %s s) ", k+1, percent(p.phases[k].LoadPct), figure(rows[begin].Start.Seconds()))
		begin = end
		if p.phases[k].LoadPct == 0 {
			continue
		}
		part = part[max(settled(values(part, rate)), settled(values(part, p95))):]
		if len(part) < leastTested {
			tested, short = false, append(short, fmt.Sprint(k+1))
			continue
		}
		faults = append(faults, unsteady(name+"throughput", values(part, rate), driftPct)...)
		faults = append(faults, unsteady(name+"p95", values(part, p95), driftP95Pct)...)
	}
	said = "the load's profile does not come back within the window: each phase was judged by itself"
	if len(short) > 0 {
		said += fmt.Sprintf(", but phase %s, which has fewer than %d settled intervals", strings.Join(slices.Compact(short), ", "), leastTested)
	}
	return faults, said, tested
}

// inside leaves out the first and the last of rows where they reach into
// another phase than k.
func inside(rows []record.Interval, p *profile, k int) []record.Interval {
	out := func(at time.Duration, by float64) bool {
		n, _ := p.phase(at.Seconds() + by)
		return n != k
	}
	if len(rows) > 0 && out(rows[0].Start, slack) {
		rows = rows[1:]
	}
	if n := len(rows); n > 0 && out(rows[n-1].End, -slack) {
		rows = rows[:n-1]
	}
	return rows
}

// settled is where MSER-5 cuts xs; 0 where it can't tell.
func settled(xs []float64) int {
	if cut := stats.MSER5(xs); cut.Known {
		return cut.At
	}
	return 0
}

// String says the profile in words, as a study asks for it.
func (p *profile) String() string {
	var parts []string
	for _, ph := range p.phases {
		parts = append(parts, fmt.Sprintf("%s for %s s", percent(ph.LoadPct), figure(ph.Seconds)))
	}
	return strings.Join(parts, ", ") + ", again and again"
}
