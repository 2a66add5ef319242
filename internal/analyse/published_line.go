package analyse

import (
	"cmp"
	"maps"
	"slices"

	"github.com/loadstone-perf/loadstone/internal/record"
)

// link is a published ratio of throughputs between two values of a knob.
type link struct {
	from, to, ratio float64
	source          string
}

// publishedLines are the lines of each series of published throughputs over a
// knob, anchored where measured gives a height. Values that do not hang
// together by ratios make lines of their own.
func publishedLines(s *Study, knob string, measured func(x float64) (float64, bool)) []PublishedLine {
	var out []PublishedLine
	for _, series := range seriesOf(s.published) {
		links := linksOf(s.published, series, knob)
		seen := map[float64]bool{}
		for _, x := range valuesIn(links) {
			if seen[x] {
				continue
			}
			line := PublishedLine{Series: series, Points: reached(links, x)}
			for _, p := range line.Points {
				seen[float64(p.X)] = true
			}
			if line.anchored(measured) {
				out = append(out, line)
			}
		}
	}
	return out
}

// anchored draws l through what was measured at its first value that was.
func (l *PublishedLine) anchored(measured func(x float64) (float64, bool)) bool {
	for _, a := range l.Points {
		anchor, ok := measured(float64(a.X))
		if !ok {
			continue
		}
		for i, p := range l.Points {
			l.Points[i].Y = p.Ratio / a.Ratio * Number(anchor)
		}
		return true
	}
	return false
}

// seriesOf lists the series in the order of the study file.
func seriesOf(of []record.Published) (names []string) {
	for _, p := range of {
		if !slices.Contains(names, p.Series) {
			names = append(names, p.Series)
		}
	}
	return names
}

// along is the value of a knob at a place, and the place without it; ok is
// false where it is no number or not there.
func along(place []record.Place, knob string) (x float64, rest string, ok bool) {
	i := slices.IndexFunc(place, func(p record.Place) bool { return p.Knob == knob })
	if i < 0 {
		return 0, "", false
	}
	x, ok = number(place[i].Value)
	return x, placesText(slices.Delete(slices.Clone(place), i, i+1)), ok
}

// linksOf are the ratios of a series over a knob: those that were printed, and
// those between throughputs in one unit. Nothing else may differ between the
// two sides.
func linksOf(of []record.Published, series, knob string) []link {
	type absolute struct{ x, value float64 }
	first := map[string]absolute{} // by unit and the rest of the place
	var out []link
	for _, p := range of {
		x, rest, ok := along(p.At, knob)
		if p.Series != series || p.Metric != "throughput" || p.Bound != "" || p.Says != "" || p.CPUPct > 0 || !(p.Value > 0) || !ok {
			continue
		}
		if len(p.Against) > 0 {
			if from, other, ok := along(p.Against, knob); ok && other == rest {
				out = append(out, link{from, x, p.Value, p.Source})
			}
			continue
		}
		key := p.Unit + "\x00" + rest
		if begin, seen := first[key]; seen {
			out = append(out, link{begin.x, x, p.Value / begin.value, p.Source})
		} else {
			first[key] = absolute{x, p.Value}
		}
	}
	return out
}

// valuesIn are the values that links join, in rising order.
func valuesIn(links []link) []float64 {
	all := map[float64]bool{}
	for _, l := range links {
		all[l.from], all[l.to] = true, true
	}
	return slices.Sorted(maps.Keys(all))
}

// reached are the points that links lead to from x, whose ratio is 1. Where two
// ways lead to one the first that was printed counts.
func reached(links []link, x float64) []PublishedAt {
	at := map[float64]PublishedAt{x: {X: Number(x), Ratio: 1}}
	for grown := true; grown; {
		grown = false
		for _, l := range links {
			a, fromKnown := at[l.from]
			b, toKnown := at[l.to]
			switch {
			case fromKnown && !toKnown:
				at[l.to], grown = PublishedAt{X: Number(l.to), Ratio: a.Ratio * Number(l.ratio), Source: l.source}, true
			case toKnown && !fromKnown:
				at[l.from], grown = PublishedAt{X: Number(l.from), Ratio: b.Ratio / Number(l.ratio), Source: l.source}, true
			}
			if first := at[x]; first.Source == "" && (l.from == x || l.to == x) {
				first.Source = l.source
				at[x] = first
			}
		}
	}
	return slices.SortedFunc(maps.Values(at), func(a, b PublishedAt) int { return cmp.Compare(a.X, b.X) })
}

// publishedOver fills in what was published over the knob of w.
func (w *Sweep) publishedOver(s *Study) {
	w.Published = publishedLines(s, w.Knob, func(x float64) (float64, bool) {
		for _, l := range w.Lines {
			for _, p := range l.Points {
				if float64(p.Value) == x && w.Scales {
					return float64(p.Speedup), p.Speedup.OK()
				} else if float64(p.Value) == x {
					return p.Throughput.Value, true
				}
			}
		}
		return 0, false
	})
	for _, p := range s.published {
		if x, _, ok := along(p.At, w.Knob); ok && p.Says != "" {
			w.Remarks = append(w.Remarks, Remark{Number(x), p.Says, p.Source})
		}
	}
}

// publishedOver fills in what was published over the load of c.
func (c *Curve) publishedOver(s *Study) {
	k := loadFactor(s.Cells)
	c.Published = publishedLines(s, c.Knob, func(x float64) (float64, bool) {
		for _, l := range c.Lines {
			for _, i := range l.Cells {
				if cell := s.Cells[i]; float64(cell.Factors[k].Num) == x && cell.Throughput.N > 0 {
					return cell.Throughput.Value, true
				}
			}
		}
		return 0, false
	})
}
