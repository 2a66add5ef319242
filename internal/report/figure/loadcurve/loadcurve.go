// Package loadcurve draws a quantity over the load that was offered: measured
// points with their intervals, a fitted model dashed behind them, the load at
// which the system saturates, and what others published, as hollow diamonds on
// dotted lines so that nobody takes it for measured.
package loadcurve

import (
	"cmp"
	"fmt"
	"math"

	"github.com/loadstone-perf/loadstone/internal/report/figure/chart"
)

// Data is what the figure shows.
type Data struct {
	Width, Height  float64
	XLabel, YLabel string // quantity and unit
	Lines          []Line
	// LogY makes equal ratios equal heights; otherwise the y axis begins at 0
	// and ends at Reach times the highest point, where intervals are cut.
	LogY bool
	// LimitY is drawn across with LimitLabel where it is above 0.
	LimitY     float64
	LimitLabel string
	// LogX makes equal ratios equal widths; otherwise the x axis begins at 0.
	LogX bool
	// Published are what others printed; of their points Low and High are not
	// used. Remarks are what they said of single loads.
	Published []Line
	Remarks   []chart.Remark
}

// Line is one configuration over rising load.
type Line struct {
	Name   string
	Points []Point // none for a line that is a model alone
	Model  []Point // Low and High are not used
	Knee   float64 // load at saturation; NaN or 0 for none
	// KneeLabel stands before the load at the knee; "" is "knee at".
	KneeLabel string
}

// Point is a measurement; Y is NaN where there is none, Low and High are NaN
// where there is no interval.
type Point struct{ X, Y, Low, High float64 }

// SVG returns the figure.
func SVG(d Data) string {
	x, y, points := d.extents()
	xAxis := chart.Axis{Label: d.XLabel, Min: x.Min, Max: x.Max * 1.04, Tight: true, Whole: d.whole()}
	if d.LogX && x.Min > 0 {
		xAxis.Min, xAxis.Max, xAxis.Kind, xAxis.Whole = x.Min/1.1, x.Max*1.1, chart.Log, false
	}
	p := chart.New(chart.Frame{
		Width: d.Width, Height: d.Height, About: d.about(points), Keys: d.keys(),
		X: xAxis,
		Y: chart.Axis{Label: d.YLabel, Min: y.Min, Max: y.Max, Kind: kind(d.LogY)},
	})
	if points == 0 {
		p.Note("nothing measured")
	}
	if points > 0 && d.LimitY > 0 {
		p.Limit(d.LimitY, d.LimitLabel)
	}
	if points > 0 {
		p.Remarks(d.publishedColour(0), d.Remarks)
	}
	for i, l := range d.Lines {
		l.draw(p, i+1, d)
	}
	for i, l := range d.Published {
		l.drawPublished(p, d.publishedColour(i))
	}
	return p.SVG()
}

// extents are the ranges of both axes, and how many points were measured.
func (d Data) extents() (x, y chart.Extent, points int) {
	if !d.LogX {
		x.Add(0)
	}
	if !d.LogY {
		y.Add(0)
	}
	see := y.Add
	if d.LogY {
		see = y.AddPositive
	}
	for k, lines := range [][]Line{d.Lines, d.Published} {
		for _, l := range lines {
			for _, p := range l.Points {
				x.Add(p.X)
				see(p.Y)
				if k == 0 && !math.IsNaN(p.Y) {
					points++
				}
			}
			for _, p := range l.Model {
				x.Add(p.X)
				see(p.Y)
			}
		}
	}
	d.seeIntervals(&y)
	if points > 0 && d.LimitY > 0 && d.LimitY < 3*y.Max {
		see(d.LimitY)
	}
	if len(d.Remarks) > 0 && y.Max > 0 && !d.LogY {
		see(remarkRoom * y.Max) // above the points
	}
	if d.LogY && !y.Seen {
		y = chart.Extent{Min: 1, Max: 10}
	}
	return x, y, points
}

// remarkRoom is how much higher a figure with remarks is.
const remarkRoom = 1.3

// Reach is up to how many times the highest point a linear axis goes for the
// sake of intervals.
const Reach = 2

// seeIntervals widens y, which holds the points, for their intervals. A linear
// axis goes neither below 0 for them, where no point is, nor beyond Reach: one
// hopeless interval would press all points onto the base line. What is beyond
// is cut at the edge of the figure.
func (d Data) seeIntervals(y *chart.Extent) {
	low, high := y.Min, Reach*y.Max
	for _, l := range d.Lines {
		for _, p := range l.Points {
			switch {
			case d.LogY:
				y.AddPositive(p.Low, p.High)
			case high > 0:
				y.Add(max(p.Low, low), min(p.High, high))
			}
		}
	}
}

// whole says that every load is a whole number.
func (d Data) whole() bool {
	for _, lines := range [][]Line{d.Lines, d.Published} {
		for _, l := range lines {
			for _, p := range l.Points {
				if p.X != math.Trunc(p.X) {
					return false
				}
			}
		}
	}
	return true
}

func kind(log bool) chart.Kind {
	if log {
		return chart.Log
	}
	return chart.Linear
}

// keys names the lines where there is more than one, and the model.
func (d Data) keys() (keys []chart.Key) {
	for i, l := range d.Lines {
		if l.Name != "" {
			keys = append(keys, chart.Key{Name: l.Name, Colour: i + 1, Dash: dashed(i) || len(l.Points) == 0 && len(l.Model) > 0})
		}
		if len(l.Model) > 0 && len(d.Lines) == 1 && len(l.Points) > 0 {
			keys = append(keys, chart.Key{Name: "model", Colour: i + 2, Dash: true})
		}
	}
	for i, l := range d.Published {
		keys = append(keys, chart.Key{Name: l.Name, Colour: d.publishedColour(i), Hollow: true})
	}
	return keys
}

// publishedColour is the colour of what others printed: after those of the
// lines, and of the model that a line alone has beside it.
func (d Data) publishedColour(i int) int {
	return max(len(d.Lines), 2) + i + 1
}

// drawPublished draws what others printed.
func (l Line) drawPublished(p *chart.Plot, colour int) {
	xs, ys := split(l.Points)
	p.Line(chart.Line{Name: l.Name, Colour: colour, Dots: true, Fine: true, X: xs, Y: ys})
	for _, m := range l.Points[:min(len(l.Points), maxMarks)] {
		p.Diamond(colour, m.X, m.Y, tip(l.Name, Point{m.X, m.Y, math.NaN(), math.NaN()}))
	}
}

// dashed tells lines apart once the colours are used up.
func dashed(i int) bool { return i >= chart.Colours }

func (l Line) draw(p *chart.Plot, colour int, d Data) {
	xs, ys := split(l.Model)
	modelColour := colour
	if len(d.Lines) == 1 {
		modelColour++
	}
	p.Line(chart.Line{Name: "model", Colour: modelColour, Dash: true, Fine: true, X: xs, Y: ys})
	xs, ys = split(l.Points)
	p.Line(chart.Line{Name: l.Name, Colour: colour, Dash: dashed(colour - 1), Fine: true, X: xs, Y: ys})
	if len(l.Points) <= maxMarks {
		for _, m := range l.Points {
			p.Whisker(colour, m.X, m.Low, m.High)
		}
		for _, m := range l.Points {
			p.Dot(colour, m.X, m.Y, tip(l.Name, m))
		}
	}
	if l.Knee > 0 {
		p.Mark(l.Knee, cmp.Or(l.KneeLabel, "knee at")+" "+chart.Plain(l.Knee))
	}
}

// maxMarks bounds the dots and whiskers of a line; beyond it they would
// overlap, and the line shows enough.
const maxMarks = 200

func split(ps []Point) (xs, ys []float64) {
	for _, p := range ps {
		xs, ys = append(xs, p.X), append(ys, p.Y)
	}
	return xs, ys
}

func tip(name string, p Point) string {
	s := fmt.Sprintf("%s at %s", chart.Number(p.Y), chart.Plain(p.X))
	if name != "" {
		s = name + ": " + s
	}
	if !math.IsNaN(p.Low) && !math.IsNaN(p.High) {
		s += fmt.Sprintf(" (%s to %s)", chart.Number(p.Low), chart.Number(p.High))
	}
	return s
}

// about tells the figure in words: each line's first and last point.
func (d Data) about(points int) string {
	s := fmt.Sprintf("%s over %s", d.YLabel, d.XLabel)
	if points == 0 {
		return s + ": nothing measured."
	}
	for i, l := range d.Lines {
		if i == 6 {
			return s + fmt.Sprintf("; and %d more lines.", len(d.Lines)-i)
		}
		var seen []Point
		for _, p := range l.Points {
			if !math.IsNaN(p.Y) {
				seen = append(seen, p)
			}
		}
		if len(seen) == 0 {
			continue
		}
		name := l.Name
		if name == "" {
			name = "measured"
		}
		s += "; " + tip(name, seen[0])
		if len(seen) > 1 {
			s += ", " + tip("", seen[len(seen)-1])
		}
	}
	return s + "."
}
