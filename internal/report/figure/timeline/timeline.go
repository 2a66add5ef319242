// Package timeline draws quantities second by second over a trial, with what
// lies outside the measured window shaded.
package timeline

import (
	"fmt"

	"github.com/loadstone-perf/loadstone/internal/report/figure/chart"
)

// Data is what the figure shows.
type Data struct {
	Width, Height float64
	YLabel        string    // quantity and unit
	Seconds       []float64 // rises
	Tracks        []Track
	// Start and End bound the measured window in seconds; none where End is
	// not above Start.
	Start, End float64
	Events     []Event
	// YMax is the least upper end of the y axis, above 0 where several figures
	// share a scale; XMax likewise, in seconds.
	YMax, XMax float64
	// Small is for rows of many figures: no keys, few ticks.
	Small bool
	About string // name of the figure, for readers who cannot see it
}

// Track is one line: values as many as Seconds, NaN where absent.
type Track struct {
	Name   string
	Values []float64
}

// Event is something that was made to happen, from one second to another; its
// label is left out in small figures.
type Event struct {
	From, To float64
	Label    string
}

// SVG returns the figure.
func SVG(d Data) string {
	var y chart.Extent
	y.Add(0, d.YMax)
	seen := false
	for _, t := range d.Tracks {
		var own chart.Extent
		own.Add(t.Values...)
		if own.Seen {
			seen = true
			y.Add(own.Min, own.Max)
		}
	}
	x, by := chart.Seconds(append([]float64{d.XMax}, d.Seconds...))
	if d.Small {
		x.Label = ""
	}
	p := chart.New(chart.Frame{
		Width: d.Width, Height: d.Height, About: d.about(seen, y), Keys: d.keys(), Small: d.Small,
		X: x,
		Y: chart.Axis{Label: d.YLabel, Min: y.Min, Max: y.Max},
	})
	label := "warm-up"
	if d.Small {
		label = ""
	}
	Outside(p, label, d.Start, d.End, x.Max/by, by)
	Happenings(p, d.Events, by, d.Small)
	if !seen {
		p.Note("no data")
	}
	xs := chart.Times(d.Seconds, by)
	for i, t := range d.Tracks {
		p.Line(chart.Line{Name: t.Name, Colour: i + 1, Dash: i >= chart.Colours, Fine: true, X: xs, Y: t.Values})
	}
	return p.SVG()
}

// Outside shades on p what does not count of a trial that lasted end seconds:
// before from, with a label, and after to. by turns seconds into the unit of p's x axis.
func Outside(p *chart.Plot, label string, from, to, end, by float64) {
	if !(to > from) {
		return
	}
	p.Span(0, from*by, label)
	p.Span(to*by, end*by, "")
	p.Mark(from*by, "")
	p.Mark(to*by, "")
}

// Happenings marks events on p. by turns seconds into the unit of p's x axis.
func Happenings(p *chart.Plot, events []Event, by float64, small bool) {
	for _, e := range events {
		if small {
			e.Label = ""
		}
		p.Happening(e.From*by, e.To*by, e.Label)
	}
}

func (d Data) keys() (keys []chart.Key) {
	if d.Small {
		return nil
	}
	for i, t := range d.Tracks {
		keys = append(keys, chart.Key{Name: t.Name, Colour: i + 1, Dash: i >= chart.Colours})
	}
	return keys
}

func (d Data) about(seen bool, y chart.Extent) string {
	name := d.About
	if name == "" {
		name = d.YLabel + " over time"
	}
	if !seen {
		return name + ": no data."
	}
	s := fmt.Sprintf("%s: %s, up to %s", name, d.YLabel, chart.Number(y.Max))
	if d.End > d.Start {
		s += fmt.Sprintf("; window from %s s to %s s", chart.Number(d.Start), chart.Number(d.End))
	}
	for _, e := range d.Events {
		s += fmt.Sprintf("; event %s from %s s to %s s", e.Label, chart.Number(e.From), chart.Number(e.To))
	}
	return s + "."
}
