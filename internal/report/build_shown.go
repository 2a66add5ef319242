package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/analyse"
)

// shown is s as a reader looks at it: the configurations of a search by rising
// load, not in the order in which they were tried; knobs by their last name
// where that is enough; and timelines without intervals that are too short to
// give a rate. s itself stays as it is.
func shown(s *analyse.Study) *analyse.Study {
	out := *s
	out.Cells, out.Trials = slices.Clone(s.Cells), slices.Clone(s.Trials)
	for i := range out.Trials {
		out.Trials[i].Timeline = whole(out.Trials[i].Timeline)
	}
	if s.Curve != nil {
		curve := *s.Curve
		curve.Lines = slices.Clone(curve.Lines)
		out.Curve = &curve
		if len(s.Search) > 0 {
			byLoad(&out)
		}
	}
	shorten(&out)
	return &out
}

// shorten names knobs in labels by the last part of their path, where those of
// all factors differ: "synchronous_commit = off".
func shorten(s *analyse.Study) {
	var pairs, last []string
	for _, knob := range s.Factors {
		name := lastName(knob)
		if section, _, ok := strings.Cut(knob, ".name"); ok && name == "name" {
			name = section // "provider", not "name"
		}
		if name == "" || slices.Contains(last, name) {
			return
		}
		last = append(last, name)
		pairs = append(pairs, knob+" = ", name+" = ")
	}
	short := strings.NewReplacer(pairs...)
	for i := range s.Cells {
		s.Cells[i].Label = short.Replace(s.Cells[i].Label)
	}
	for i := range s.Trials {
		s.Trials[i].Label = short.Replace(s.Trials[i].Label)
	}
	if s.Curve != nil {
		for i := range s.Curve.Lines {
			l := &s.Curve.Lines[i]
			l.Label = short.Replace(l.Label)
			if l.Stop != nil {
				stop := *l.Stop
				stop.Label, l.Stop = short.Replace(stop.Label), &stop
			}
		}
	}
	s.Published, s.Contention = slices.Clone(s.Published), slices.Clone(s.Contention)
	for i := range s.Published {
		p := &s.Published[i]
		p.Where, p.Base = short.Replace(p.Where), short.Replace(p.Base)
	}
	for i := range s.Contention {
		cells := slices.Clone(s.Contention[i].Cells)
		for k := range cells {
			cells[k].Label = short.Replace(cells[k].Label)
		}
		s.Contention[i].Cells = cells
	}
	s.Sweeps = slices.Clone(s.Sweeps)
	for i := range s.Sweeps {
		lines := slices.Clone(s.Sweeps[i].Lines)
		for k := range lines {
			lines[k].Label, lines[k].Points = short.Replace(lines[k].Label), slices.Clone(lines[k].Points)
			for n := range lines[k].Points {
				lines[k].Points[n].Label = short.Replace(lines[k].Points[n].Label)
			}
		}
		s.Sweeps[i].Lines = lines
	}
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
	for i := range s.Curve.Lines {
		of := slices.Clone(s.Curve.Lines[i].Cells)
		for k := range of {
			of[k] = to(of[k])
		}
		s.Curve.Lines[i].Cells = of
	}
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
		blocks = append(blocks, block{Text: verdict})
		if len(x.Cells) > 0 {
			csv := b.addData("comparison-"+slug(x.Other.Name), comparisonCSV(x))
			blocks = append(blocks, b.forest(x, csv), b.effects(ofTheUnit(x), csv))
		}
		blocks = append(append(blocks, b.atPeak(x)...), b.atEqualCPU(x)...)
		if len(x.Unmatched) > 0 {
			blocks = append(blocks, block{Aside: "Not on both sides: " + strings.Join(x.Unmatched, "; ") + "."})
		}
	}
	if len(blocks) == 0 {
		return
	}
	x := b.s.Comparisons[0]
	blocks = append(blocks, block{Aside: fmt.Sprintf("Trials of the same block are compared with each other. Throughput counts as the same within ±%g %%, percentiles within ±%g %%. The tables have the unit of work; the data has every type.",
		x.MarginPct, x.PercentileMarginPct)})
	b.section("comparison", "Comparison", blocks...)
}

// ofTheUnit is x with throughput and the response times of the unit of work.
func ofTheUnit(x *analyse.Comparison) *analyse.Comparison {
	out := *x
	out.Cells = slices.Clone(x.Cells)
	for i := range out.Cells {
		first := firstType(out.Cells[i])
		out.Cells[i].Effects = slices.DeleteFunc(slices.Clone(out.Cells[i].Effects), func(e analyse.Effect) bool {
			return e.Percentile != 0 && e.Type != first
		})
	}
	return &out
}
