// Package percentiles draws response times over percentiles, each further nine
// as wide as the last: the shape of a latency distribution out to its tail.
package percentiles

import (
	"fmt"
	"math"

	"github.com/loadstone-perf/loadstone/internal/report/figure/chart"
)

// Data is what the figure shows.
type Data struct {
	Width, Height float64
	Lines         []Line
}

// Line is one transaction type.
type Line struct {
	Name string
	// Points are (percentile from 0 to 100, milliseconds), by rising
	// percentile. What is not above 0 ms cannot be shown on the logarithmic
	// axis and interrupts the line.
	Points [][2]float64
}

// tail bounds the percentile axis: beyond five nines a run of minutes has no
// counts left.
const tail = 99.999

// SVG returns the figure.
func SVG(d Data) string {
	var x, y chart.Extent
	for _, l := range d.Lines {
		for _, pt := range l.Points {
			if pt[1] > 0 {
				x.Add(min(pt[0], tail))
				y.AddPositive(pt[1])
			}
		}
	}
	seen := y.Seen
	if !seen {
		x, y = chart.Extent{Min: 0, Max: 99}, chart.Extent{Min: 1, Max: 10}
	}
	p := chart.New(chart.Frame{
		Width: d.Width, Height: d.Height, About: d.about(seen), Keys: d.keys(),
		X: chart.Axis{Label: "percentile", Min: 0, Max: max(x.Max, 99), Kind: chart.Nines, Tight: true},
		Y: chart.Axis{Label: "response time, ms (logarithmic)", Min: y.Min, Max: y.Max, Kind: chart.Log},
	})
	if !seen {
		p.Note("no data")
	}
	for i, l := range d.Lines {
		p.Line(l.drawn(i))
	}
	return p.SVG()
}

func (l Line) drawn(i int) chart.Line {
	out := chart.Line{Name: l.Name, Colour: i + 1, Dash: i >= chart.Colours}
	for _, pt := range l.Points {
		// 100 % is the greatest value; it has no place on an axis of nines,
		// whose end is at infinity.
		if pt[0] > tail {
			continue
		}
		y := pt[1]
		if !(y > 0) {
			y = math.NaN()
		}
		out.X, out.Y = append(out.X, pt[0]), append(out.Y, y)
	}
	return out
}

func (d Data) keys() (keys []chart.Key) {
	for i, l := range d.Lines {
		keys = append(keys, chart.Key{Name: l.Name, Colour: i + 1, Dash: i >= chart.Colours})
	}
	return keys
}

func (d Data) about(seen bool) string {
	const name = "Response time by percentile"
	if !seen {
		return name + ": no data."
	}
	s := name
	for _, l := range d.Lines {
		for i, p := range []float64{50, 99} {
			if ms, ok := l.at(p); ok {
				s += fmt.Sprintf("%s p%g %s ms", []string{"; " + l.Name, ","}[i], p, chart.Number(ms))
			}
		}
	}
	return s + "."
}

// at returns the first value at or above percentile p.
func (l Line) at(p float64) (float64, bool) {
	for _, pt := range l.Points {
		if pt[0] >= p && pt[1] > 0 {
			return pt[1], true
		}
	}
	return 0, false
}
