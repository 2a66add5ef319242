// Package scatter draws one quantity against another, value by value: a cloud
// of small points for each group, and marks for what stands for many of them.
package scatter

import (
	"fmt"
	"math"

	"github.com/loadstone-perf/loadstone/internal/report/figure/chart"
)

// Data is what the figure shows.
type Data struct {
	Width, Height  float64
	XLabel, YLabel string // quantity and unit
	Groups         []Group
	// LogY makes equal ratios equal heights; otherwise the y axis begins at 0.
	// The x axis begins at 0.
	LogY bool
}

// Group is the values of one configuration, in one colour. X and Y are as many;
// pairs of which one is not finite are left out.
type Group struct {
	Name  string
	X, Y  []float64
	Marks []Mark // drawn large, on top
}

// Mark is a value that stands for many; Tip says what it is.
type Mark struct {
	X, Y float64
	Tip  string
}

// SVG returns the figure.
func SVG(d Data) string {
	var x, y chart.Extent
	x.Add(0)
	see := y.Add
	if d.LogY {
		see = y.AddPositive
	} else {
		y.Add(0)
	}
	points := 0
	add := func(a, b float64) {
		if math.IsNaN(a+b) || math.IsInf(a+b, 0) || d.LogY && b <= 0 {
			return
		}
		x.Add(a)
		see(b)
		points++
	}
	for _, g := range d.Groups {
		for i := range min(len(g.X), len(g.Y)) {
			add(g.X[i], g.Y[i])
		}
		for _, m := range g.Marks {
			add(m.X, m.Y)
		}
	}
	if d.LogY && !y.Seen {
		y = chart.Extent{Min: 1, Max: 10}
	}
	p := chart.New(chart.Frame{
		Width: d.Width, Height: d.Height, About: d.about(points), Keys: d.keys(),
		X: chart.Axis{Label: d.XLabel, Max: x.Max * 1.03, Min: x.Min, Tight: true},
		Y: chart.Axis{Label: d.YLabel, Min: y.Min, Max: y.Max, Kind: map[bool]chart.Kind{true: chart.Log}[d.LogY]},
	})
	if points == 0 {
		p.Note("nothing recorded")
	}
	for i, g := range d.Groups {
		p.Points(i+1, g.X, g.Y)
	}
	for i, g := range d.Groups {
		for _, m := range g.Marks[:min(len(g.Marks), maxMarks)] {
			if !d.LogY || m.Y > 0 {
				p.Dot(i+1, m.X, m.Y, m.Tip)
			}
		}
	}
	return p.SVG()
}

// maxMarks bounds the marks of a group.
const maxMarks = 300

// keys names the groups where there is more than one.
func (d Data) keys() (keys []chart.Key) {
	if len(d.Groups) < 2 {
		return nil
	}
	for i, g := range d.Groups {
		keys = append(keys, chart.Key{Name: g.Name, Colour: i + 1, Area: true})
	}
	return keys
}

func (d Data) about(points int) string {
	if points == 0 {
		return fmt.Sprintf("%s against %s: nothing recorded.", d.YLabel, d.XLabel)
	}
	return fmt.Sprintf("%s against %s: %s values in %d groups.", d.YLabel, d.XLabel, chart.Count(int64(points)), len(d.Groups))
}
