package study

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Search looks for the load at which throughput is highest. It grows the load
// by doubling until that no longer pays, then closes in on the best load from
// both sides. It holds no state: whatever Next knows, the points tell it.
type Search struct {
	Knob string // what is raised: "users", "rate" or "instances"
	// From and To bound the load; in arrivals a second where Knob is "rate".
	From, To float64
	// GainPct is by how much throughput must grow over the best of the smaller
	// loads for the load to be doubled again.
	GainPct float64
	Loads   int // the least number of different loads
}

// Point is what came of one load.
type Point struct {
	Load, Value float64 // Value is the throughput, in any unit
	// RelErrPct is the noise of Value in percent of it; 0 where unknown.
	RelErrPct float64
	// Broke says why the load does not count, and no larger one: a limit that
	// it broke, or that its trial failed. "" where it counts.
	Broke string
}

const (
	// mostLoads bounds a search: 18 doublings from 1 to 100,000, and what
	// closing in takes.
	mostLoads = 22
	// nearPct is how far from the best load its neighbours may be in the end.
	nearPct = 20
	// fillStep is the step upwards where only the number of loads is short:
	// smaller than a doubling, because such loads lie beyond the best.
	fillStep = 1.5
)

// Next says which load to try after points, which are in the order in which
// they were tried, each with the load that Next proposed; why is a sentence
// for the record. Where done, load is the best one found, or 0 where none
// counts. Next proposes no load twice and none outside From and To, and is done
// after at most 22 loads whatever the points are.
func (s Search) Next(points []Point) (load float64, done bool, why string) {
	if len(points) == 0 {
		return s.From, false, fmt.Sprintf("the search begins with %s", s.amount(s.From))
	}
	h := s.heard(points)
	if h.best < 0 {
		why := fmt.Sprintf("no result at the first load, %s", s.amount(h.tried[0].Load))
		if broke := h.tried[0].Broke; broke != "" {
			why = fmt.Sprintf("the first load, %s, does not count (%s)", s.amount(h.tried[0].Load), broke)
		}
		return 0, true, why + ": no smaller load may be tried"
	}
	best := h.tried[h.best]
	if len(h.tried) >= mostLoads {
		return best.Load, true, fmt.Sprintf("%s gave the most; %d loads were tried, and no search tries more", s.amount(best.Load), len(h.tried))
	}
	next, reason := s.grow(h)
	if next == 0 {
		next, reason = s.refine(h, reason)
	}
	if next == 0 {
		next, reason = s.fill(h, reason)
	}
	if next == 0 {
		return best.Load, true, reason
	}
	return next, false, reason
}

// heard is what the points say.
type heard struct {
	tried []Point // by load, each load once
	// best is the index of the load with the highest value among those below
	// the first that does not count, -1 where there is none.
	best  int
	broke int  // index of the smallest load that does not count, or len(tried)
	fresh bool // the largest load is the last that was tried
}

// heard sorts the points. Of two with one load the later counts.
func (s Search) heard(points []Point) heard {
	h := heard{best: -1}
	for _, p := range slices.Backward(points) {
		if !slices.ContainsFunc(h.tried, func(q Point) bool { return q.Load == p.Load }) {
			h.tried = append(h.tried, p)
		}
	}
	last := h.tried[0].Load
	slices.SortFunc(h.tried, func(p, q Point) int { return cmp.Compare(p.Load, q.Load) })
	h.fresh = last == h.tried[len(h.tried)-1].Load
	h.broke = len(h.tried)
	for i, p := range h.tried {
		if p.Broke != "" {
			h.broke = i
			break
		}
		number := !math.IsNaN(p.Value) && !math.IsInf(p.Value, 0)
		if number && (h.best < 0 || p.Value > h.tried[h.best].Value) {
			h.best = i
		}
	}
	return h
}

// grow proposes to double the largest load, or 0 and why it may not grow.
func (s Search) grow(h heard) (float64, string) {
	if h.broke < len(h.tried) {
		p := h.tried[h.broke]
		return 0, fmt.Sprintf("the growth ends at %s (%s)", s.amount(p.Load), p.Broke)
	}
	top := len(h.tried) - 1
	last := h.tried[top]
	reason := fmt.Sprintf("%s alone tells nothing", s.amount(last.Load))
	if top > 0 {
		before := slices.MaxFunc(h.tried[:top], func(p, q Point) int { return cmp.Compare(p.Value, q.Value) })
		gain := 100 * (last.Value/before.Value - 1)
		noise := math.Hypot(last.RelErrPct, before.RelErrPct)
		way := fmt.Sprintf("from %s to %s", s.bare(before.Load), s.amount(last.Load))
		switch {
		case last.Value > 0 && before.Value <= 0: // an endless gain
			reason = "throughput began " + way
		case gain <= 0 || math.IsNaN(gain):
			return 0, fmt.Sprintf("throughput did not grow %s", way)
		case gain < s.GainPct:
			return 0, fmt.Sprintf("throughput grew by only %s %s", percent(gain), way)
		case gain < noise:
			return 0, fmt.Sprintf("throughput grew by %s %s, within its noise of %s", percent(gain), way, percent(noise))
		default:
			reason = fmt.Sprintf("throughput grew by %s %s", percent(gain), way)
		}
	}
	if last.Load >= s.To {
		return 0, fmt.Sprintf("%s, the most that may be tried", reason)
	}
	next := min(s.To, s.step(2*last.Load))
	return next, fmt.Sprintf("%s: on to %s", reason, s.amount(next))
}

// refine proposes a load between the best and the further of its neighbours,
// or 0 where both are near enough.
func (s Search) refine(h heard, ended string) (float64, string) {
	best := h.tried[h.best]
	var next, gap, other float64
	for _, i := range []int{h.best - 1, h.best + 1} {
		if i < 0 || i >= len(h.tried) {
			continue
		}
		n := h.tried[i].Load
		d := 100 * math.Abs(n-best.Load) / best.Load
		if d <= nearPct || d <= gap {
			continue
		}
		if middle, ok := s.between(min(n, best.Load), max(n, best.Load)); ok {
			next, gap, other = middle, d, n
		}
	}
	if next == 0 {
		return 0, ended
	}
	if !h.fresh {
		ended = fmt.Sprintf("%s gave the most so far", s.amount(best.Load))
	}
	return next, fmt.Sprintf("%s: on to %s, between the best, %s, and %s", ended, s.amount(next), s.bare(best.Load), s.bare(other))
}

// fill proposes a load for the curve where too few were tried: a larger one,
// or where there is none, the middle of the widest gap. Else 0 and why the
// search is done.
func (s Search) fill(h heard, ended string) (float64, string) {
	best := h.tried[h.best].Load
	if n := len(h.tried); n < s.Loads {
		next := min(s.To, s.step(fillStep*h.tried[n-1].Load))
		if last := h.tried[n-1].Load; next <= last {
			next = s.widest(h.tried)
		}
		if next > 0 {
			return next, fmt.Sprintf("%s gave the most and its neighbours are near, but only %d of at least %d loads were tried: on to %s",
				s.amount(best), n, s.Loads, s.amount(next))
		}
		return 0, fmt.Sprintf("%s gave the most; no other load is left between %s and %s", s.amount(best), s.bare(s.From), s.amount(s.To))
	}
	if h.best == len(h.tried)-1 && best >= s.To {
		return 0, fmt.Sprintf("%s gave the most: %s", s.amount(best), ended)
	}
	return 0, fmt.Sprintf("%s gave the most of %d loads, and the loads tried beside it are near", s.amount(best), len(h.tried))
}

// widest is the middle of the widest gap between loads, 0 where none is left.
func (s Search) widest(tried []Point) float64 {
	next, ratio := 0.0, 1.0
	for i := range tried[1:] {
		lo, hi := tried[i].Load, tried[i+1].Load
		if middle, ok := s.between(lo, hi); ok && hi/lo > ratio {
			next, ratio = middle, hi/lo
		}
	}
	return next
}

// between is the load in the middle of two in the scale of ratios, lo < x <
// hi; false where there is none.
func (s Search) between(lo, hi float64) (float64, bool) {
	x := s.step(math.Sqrt(lo * hi))
	if x <= lo || x >= hi { // rounded away
		x = s.after(lo)
	}
	return x, x < hi
}

// step rounds a load to one that may be proposed: whole users and instances,
// rates of two significant digits.
func (s Search) step(load float64) float64 {
	if s.Knob == "rate" {
		load, _ = strconv.ParseFloat(strconv.FormatFloat(load, 'e', 1, 64), 64)
		return load
	}
	return math.Round(load)
}

// after is the least load above another that may be proposed.
func (s Search) after(load float64) float64 {
	digit := 1.0
	if s.Knob == "rate" {
		digit = math.Pow10(int(math.Floor(math.Log10(load))) - 1) // the unit of the second one
	}
	return s.step((math.Floor(load/digit+1e-9) + 1) * digit)
}

// room is how many different loads the search may try, at most enough.
func (s Search) room(enough int) int {
	n := 1
	for load := s.From; n < enough && load < s.To; load = s.after(load) {
		n++
	}
	return n
}

// value writes a load as a study file has it.
func (s Search) value(load float64) string {
	text := strconv.FormatFloat(load, 'f', -1, 64)
	if s.Knob == "rate" {
		return text + "/s"
	}
	return text
}

// bare writes a load for people without its unit, where that has been said.
func (s Search) bare(load float64) string {
	if s.Knob == "rate" {
		load, _ = strconv.ParseFloat(strconv.FormatFloat(load, 'e', 3, 64), 64)
	}
	return s.value(load)
}

// amount writes a load with its unit.
func (s Search) amount(load float64) string {
	switch {
	case s.Knob == "rate":
		return s.bare(load)
	case load == 1:
		return "1 " + s.Knob[:len(s.Knob)-1]
	}
	return s.bare(load) + " " + s.Knob
}

// percent writes a percentage with two significant digits, or whole.
func percent(pct float64) string {
	if pct >= 99.5 {
		return fmt.Sprintf("%.0f %%", pct)
	}
	return strconv.FormatFloat(pct, 'g', 2, 64) + " %"
}
