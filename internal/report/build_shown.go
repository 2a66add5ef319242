package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/analyse"
)

// shown is s as a reader looks at it: the configurations of a search by rising
// load, not in the order in which they were tried, and timelines without
// intervals that are too short to give a rate. s itself stays as it is.
func shown(s *analyse.Study) *analyse.Study {
	out := *s
	out.Trials = slices.Clone(s.Trials)
	for i := range out.Trials {
		out.Trials[i].Timeline = whole(out.Trials[i].Timeline)
	}
	if len(s.Search) > 0 && s.Curve != nil {
		byLoad(&out)
	}
	return &out
}

// whole leaves out intervals shorter than half of the usual, as the last often
// is: a rate over some milliseconds draws a dip or a peak that never was.
func whole(tl analyse.Timeline) analyse.Timeline {
	lengths := make([]float64, len(tl.Seconds))
	last := 0.0
	for i, end := range tl.Seconds {
		lengths[i], last = end-last, end
	}
	if len(lengths) == 0 {
		return tl
	}
	sorted := slices.Sorted(slices.Values(lengths))
	usual := sorted[len(sorted)/2]
	keep := func(values []float64) []float64 {
		out := make([]float64, 0, len(values))
		for i, v := range values {
			if i >= len(lengths) || !(lengths[i] < usual/2) {
				out = append(out, v)
			}
		}
		return out
	}
	out := analyse.Timeline{Seconds: keep(tl.Seconds), Tracks: slices.Clone(tl.Tracks)}
	for i := range out.Tracks {
		out.Tracks[i].Values = keep(out.Tracks[i].Values)
	}
	return out
}

// byLoad puts the cells of s into the order of its curve, whose lines go by
// rising load, and sets right what refers to them.
func byLoad(s *analyse.Study) {
	var order []int
	for _, l := range s.Curve.Lines {
		order = append(order, l.Cells...)
	}
	for i := range s.Cells {
		if !slices.Contains(order, i) {
			order = append(order, i)
		}
	}
	cells, at := make([]analyse.Cell, 0, len(order)), make(map[int]int, len(order))
	for _, i := range order {
		at[i] = len(cells)
		cells = append(cells, s.Cells[i])
	}
	to := func(i int) int {
		if k, ok := at[i]; ok {
			return k
		}
		return i
	}
	s.Cells, s.Peak = cells, to(s.Peak)
	for i := range s.Trials {
		s.Trials[i].Cell = to(s.Trials[i].Cell)
	}
	curve := *s.Curve
	curve.Lines = slices.Clone(curve.Lines)
	for i := range curve.Lines {
		of := slices.Clone(curve.Lines[i].Cells)
		for k := range of {
			of[k] = to(of[k])
		}
		curve.Lines[i].Cells = of
	}
	s.Curve = &curve
}

// within is the section on how the values of a factor compare, in a study that
// varies more than the load.
func (b *builder) within() {
	var blocks []block
	for i := range b.s.Comparisons {
		x := &b.s.Comparisons[i]
		if len(b.s.Comparisons) > 1 {
			blocks = append(blocks, block{Heading: x.Other.Name + " against " + x.Base.Name})
		}
		verdict := x.Verdict
		// The banner on top has the reasons.
		if _, found, ok := strings.Cut(verdict, "What was found: "); ok && !x.Valid {
			verdict = "For diagnosis only: " + found
		}
		blocks = append(append(blocks, block{Text: verdict}), b.comparison(x)...)
	}
	if len(blocks) == 0 {
		return
	}
	x := &b.s.Comparisons[0]
	blocks = append(blocks, block{Aside: fmt.Sprintf("Throughput counts as the same within ±%g %%, percentiles within ±%g %%. %s",
		math.Round(x.MarginPct*100)/100, math.Round(x.PercentileMarginPct*100)/100, "Trials of the same block are compared with each other.")})
	b.section("comparison", "Comparison", blocks...)
}
