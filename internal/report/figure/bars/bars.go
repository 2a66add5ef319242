// Package bars draws named amounts as horizontal bars from zero, the name and
// the value written beside each, with an interval where there is one.
package bars

import (
	"fmt"
	"math"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/report/figure/chart"
)

// Data is what the figure shows.
type Data struct {
	Width float64 // the height follows from the number of bars
	Label string  // quantity and unit
	Bars  []Bar
	Max   float64 // what a full bar is, where above 0; otherwise the greatest value
}

// Bar is one amount; negative and absent ones have no bar. Low and High are
// NaN where there is no interval.
type Bar struct {
	Name             string
	Value, Low, High float64
	Colour           int    // from 1; 0 is 1
	Text             string // written beside the bar; the value where empty
}

// Sizes in CSS pixels, and the most bars that are drawn; what is left out is
// said.
const (
	rowPx   = 24
	barPx   = 12
	maxBars = 60
	maxText = 20 // characters beside a bar
)

// SVG returns the figure.
func SVG(d Data) string {
	shown := d.Bars[:min(len(d.Bars), maxBars)]
	nameW, valueW, top := d.nameWidth(), valueWidth(shown), 24.0
	height := top + float64(max(len(shown), 1))*rowPx + 4
	if len(shown) < len(d.Bars) {
		height += rowPx
	}
	scale := chart.Scale{Max: d.full(), From: nameW, To: d.Width - valueW}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" role="img" aria-label="%s" font-family="var(--sans,system-ui,sans-serif)" font-size="12">`+"\n",
		d.Width, height, chart.Escape(d.about(shown)))
	fmt.Fprintf(&b, `<text x="0" y="12" fill="%s">%s</text>`+"\n", chart.Ink, chart.Escape(chart.Cut(d.Label, int(d.Width/6.5))))
	if len(shown) == 0 {
		fmt.Fprintf(&b, `<text x="%.0f" y="%.0f" text-anchor="middle" fill="%s">no data</text>`+"\n", d.Width/2, top+16, chart.Muted)
	}
	for i, bar := range shown {
		bar.draw(&b, scale, top+float64(i)*rowPx, nameW)
	}
	if left := len(d.Bars) - len(shown); left > 0 {
		fmt.Fprintf(&b, `<text x="0" y="%.0f" fill="%s">and %d more, in the data file</text>`+"\n", height-8, chart.Muted, left)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func (bar Bar) draw(b *strings.Builder, scale chart.Scale, y, nameW float64) {
	text := bar.text()
	fmt.Fprintf(b, `<text x="0" y="%.0f" fill="%s">%s</text>`, y+15, chart.Ink, chart.Escape(chart.Cut(bar.Name, int(nameW/6.7))))
	end := scale.From
	if bar.Value > 0 && !math.IsInf(bar.Value, 0) {
		end = scale.At(bar.Value)
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%d" fill="%s"><title>%s</title></rect>`,
			scale.From, y+5, max(end-scale.From, 0.5), barPx, chart.Colour(max(bar.Colour, 1)), chart.Escape(bar.Name+": "+text))
	}
	if lo, hi := scale.At(bar.Low), scale.At(bar.High); hi >= lo {
		end = max(end, hi)
		fmt.Fprintf(b, `<path fill="none" stroke="%s" stroke-width="1.5" d="M%.1f,%.1fH%.1fM%.1f,%.1fv8M%.1f,%.1fv8"/>`, chart.Ink, lo, y+11, hi, lo, y+7, hi, y+7)
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.0f" fill="%s">%s</text>`+"\n", end+7, y+15, chart.Muted, chart.Escape(chart.Cut(text, maxText)))
}

// text is what is written beside the bar.
func (bar Bar) text() string {
	if bar.Text != "" {
		return bar.Text
	}
	return chart.Number(bar.Value)
}

// valueWidth is the room for the texts beside the bars.
func valueWidth(of []Bar) float64 {
	widest := 4
	for _, bar := range of {
		widest = max(widest, min(len([]rune(bar.text())), maxText))
	}
	return float64(widest)*6.7 + 12
}

// nameWidth is the room for the names: what the longest needs, at most 45 %
// of the figure.
func (d Data) nameWidth() float64 {
	widest := 4
	for _, bar := range d.Bars {
		widest = max(widest, len([]rune(bar.Name)))
	}
	return min(float64(widest)*7.2+12, 0.45*d.Width)
}

// Reach is up to how many times the longest bar the figure goes for the sake
// of intervals; what is beyond, or below 0, is cut.
const Reach = 2

// full is the value of a bar as long as there is room.
func (d Data) full() float64 {
	if d.Max > 0 {
		return d.Max
	}
	var e chart.Extent
	e.Add(0)
	for _, bar := range d.Bars {
		e.Add(bar.Value)
	}
	if most := Reach * e.Max; most > 0 {
		for _, bar := range d.Bars {
			e.Add(min(bar.High, most))
		}
	}
	if e.Max <= 0 {
		return 1
	}
	return e.Max
}

func (d Data) about(shown []Bar) string {
	if len(shown) == 0 {
		return d.Label + ": no data."
	}
	var parts []string
	for _, bar := range shown[:min(len(shown), 12)] {
		parts = append(parts, bar.Name+" "+chart.Number(bar.Value))
	}
	return d.Label + ": " + strings.Join(parts, "; ") + "."
}
