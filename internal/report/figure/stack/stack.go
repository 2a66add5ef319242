// Package stack draws quantities that add up (shares of CPU time, sessions by
// state) second by second over a trial, one upon the other. Each pixel shows
// the mean of the seconds that fall on it.
package stack

import (
	"fmt"

	"github.com/loadstone-perf/loadstone/internal/report/figure/chart"
	"github.com/loadstone-perf/loadstone/internal/report/figure/timeline"
)

// Data is what the figure shows.
type Data struct {
	Width, Height float64
	YLabel        string    // quantity and unit
	Seconds       []float64 // rises
	Layers        []Layer   // from the bottom up
	// Start and End bound the measured window in seconds; none where End is
	// not above Start.
	Start, End float64
	Events     []timeline.Event
	Max        float64 // upper end of the y axis where above 0: 100 for shares
	About      string  // name of the figure, for readers who cannot see it
}

// Layer is one part: values as many as Seconds and at least 0. Where one
// layer has no value at a second (NaN), nothing is drawn there.
type Layer struct {
	Name   string
	Values []float64
	Colour int // from 1; 0 takes the next
}

// SVG returns the figure.
func SVG(d Data) string {
	x, by := chart.Seconds(d.Seconds)
	values := make([][]float64, len(d.Layers))
	for i, l := range d.Layers {
		values[i] = l.Values
	}
	xs, means, gap := chart.Bin(d.Seconds, values, 0, x.Max/by, int(d.Width))
	lower, upper := chart.Cumulate(means)
	var y chart.Extent
	y.Add(0, d.Max)
	if d.Max <= 0 {
		for _, u := range upper {
			y.Add(u...)
		}
	}
	p := chart.New(chart.Frame{
		Width: d.Width, Height: d.Height, About: d.about(means), Keys: d.keys(),
		X: x,
		Y: chart.Axis{Label: d.YLabel, Min: 0, Max: y.Max, Tight: d.Max > 0},
	})
	timeline.Outside(p, "warm-up", d.Start, d.End, x.Max/by, by)
	if len(xs) == 0 {
		p.Note("no data")
	}
	xs = chart.Times(xs, by)
	for i, l := range d.Layers {
		if len(xs) > 0 {
			p.Layer(l.Name, l.colour(i), xs, lower[i], upper[i], gap)
		}
	}
	timeline.Happenings(p, d.Events, by, false)
	if d.End > d.Start {
		p.Mark(d.Start*by, "")
		p.Mark(d.End*by, "")
	}
	return p.SVG()
}

func (l Layer) colour(i int) int {
	if l.Colour > 0 {
		return l.Colour
	}
	return i + 1
}

func (d Data) keys() (keys []chart.Key) {
	for i, l := range d.Layers {
		keys = append(keys, chart.Key{Name: l.Name, Colour: l.colour(i), Area: true})
	}
	return keys
}

// about tells the mean of each layer.
func (d Data) about(means [][]float64) string {
	s := d.About
	if s == "" {
		s = d.YLabel
	}
	if len(means) == 0 || len(means[0]) == 0 {
		return s + ": no data."
	}
	s += ", mean over the trial"
	for i, m := range means {
		var sum float64
		for _, v := range m {
			sum += v / float64(len(m))
		}
		s += fmt.Sprintf("; %s %s", d.Layers[i].Name, chart.Number(sum))
	}
	return s + "."
}
