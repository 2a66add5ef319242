// Package forest draws changes with their intervals beside each other: a row
// for each, a line at no change, and a band for what counts as the same.
package forest

import (
	"fmt"
	"math"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/report/figure/chart"
)

// Data is what the figure shows.
type Data struct {
	Width float64 // the height follows from the number of rows
	Label string  // what changed, with its unit
	Rows  []Row
}

// Row is one change in percent; Low and High are NaN where there is no
// interval, and Margin, above 0, is what counts as the same on both sides.
type Row struct {
	Name              string
	Change, Low, High float64
	Margin            float64
	Colour            int    // from 1; 0 is 1
	Text              string // shown where a pointer rests on the row
}

// Sizes in CSS pixels, the most rows that are drawn (what is left out is
// said), and the widest axis in percent to each side: intervals end at its
// edge where they go on.
const (
	rowPx     = 22
	topPx     = 24
	axisPx    = 40
	maxRows   = 80
	widestPct = 100
)

// SVG returns the figure.
func SVG(d Data) string {
	shown := d.Rows[:min(len(d.Rows), maxRows)]
	nameW, half := d.nameWidth(), halfWidth(shown)
	bottom := topPx + float64(max(len(shown), 1))*rowPx
	scale := chart.Scale{Min: -half, Max: half, From: nameW, To: d.Width - 12}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" role="img" aria-label="%s" font-family="var(--sans,system-ui,sans-serif)" font-size="12">`+"\n",
		d.Width, bottom+axisPx, chart.Escape(d.about(shown)))
	fmt.Fprintf(&b, `<text x="0" y="12" fill="%s">%s</text>`+"\n", chart.Ink, chart.Escape(chart.Cut(d.Label, int(d.Width/6.5))))
	for i, r := range shown {
		r.band(&b, scale, topPx+float64(i)*rowPx)
	}
	axis(&b, scale, bottom)
	if len(shown) == 0 {
		fmt.Fprintf(&b, `<text x="%.0f" y="%d" text-anchor="middle" fill="%s">no data</text>`+"\n", d.Width/2, topPx+15, chart.Muted)
	}
	for i, r := range shown {
		r.draw(&b, scale, topPx+float64(i)*rowPx, nameW)
	}
	if left := len(d.Rows) - len(shown); left > 0 {
		fmt.Fprintf(&b, `<text x="0" y="%.0f" fill="%s">and %d more, in the data file</text>`+"\n", bottom+axisPx-4, chart.Muted, left)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// band shades what counts as the same.
func (r Row) band(b *strings.Builder, s chart.Scale, y float64) {
	if !(r.Margin > 0) {
		return
	}
	from, to := s.At(-r.Margin), s.At(r.Margin)
	fmt.Fprintf(b, `<rect x="%.1f" y="%.0f" width="%.1f" height="%d" fill="%s"/>`+"\n", from, y, to-from, rowPx, chart.Shade)
}

// axis draws the ticks below the rows and the line at no change.
func axis(b *strings.Builder, s chart.Scale, bottom float64) {
	fmt.Fprintf(b, `<path stroke="%s" d="M%.1f,%dV%.0f"/>`, chart.Muted, s.At(0), topPx, bottom)
	fmt.Fprintf(b, `<g fill="%s" font-size="11" text-anchor="middle">`, chart.Muted)
	step := s.Max / 2
	for k := -2; k <= 2; k++ {
		v := float64(k) * step
		sign := ""
		if k > 0 {
			sign = "+"
		}
		fmt.Fprintf(b, `<text x="%.1f" y="%.0f">%s%g %%</text>`, s.At(v), bottom+16, sign, v)
	}
	b.WriteString("</g>\n")
}

func (r Row) draw(b *strings.Builder, s chart.Scale, y, nameW float64) {
	fmt.Fprintf(b, `<text x="0" y="%.0f" fill="%s">%s</text>`, y+15, chart.Ink, chart.Escape(chart.Cut(r.Name, int(nameW/6.7))))
	colour := chart.Colour(max(r.Colour, 1))
	if lo, hi := s.At(r.Low), s.At(r.High); hi >= lo {
		fmt.Fprintf(b, `<path fill="none" stroke="%s" stroke-width="1.5" d="M%.1f,%.1fH%.1f`, colour, lo, y+11, hi)
		// An end that lies beyond the axis has no cap.
		if r.Low >= s.Min {
			fmt.Fprintf(b, "M%.1f,%.1fv8", lo, y+7)
		}
		if r.High <= s.Max {
			fmt.Fprintf(b, "M%.1f,%.1fv8", hi, y+7)
		}
		b.WriteString(`"/>`)
	}
	if !math.IsNaN(r.Change) {
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="4" fill="%s" stroke="%s"><title>%s</title></circle>`,
			s.At(r.Change), y+11, colour, chart.Paper, chart.Escape(r.Name+": "+r.Text))
	}
	b.WriteByte('\n')
}

// halfWidth is how far the axis reaches to each side: a round number that
// holds the intervals, up to widestPct.
func halfWidth(of []Row) float64 {
	var e chart.Extent
	for _, r := range of {
		e.Add(r.Change, r.Low, r.High, 1.2*r.Margin)
	}
	need := max(-e.Min, e.Max)
	for _, half := range []float64{1, 2, 4, 6, 10, 20, 40, 60} {
		if need <= half {
			return half
		}
	}
	return widestPct
}

// nameWidth is the room for the names: what the longest needs, at most 45 %
// of the figure.
func (d Data) nameWidth() float64 {
	widest := 4
	for _, r := range d.Rows {
		widest = max(widest, len([]rune(r.Name)))
	}
	return min(float64(widest)*6.7+12, 0.45*d.Width)
}

func (d Data) about(shown []Row) string {
	if len(shown) == 0 {
		return d.Label + ": no data."
	}
	var parts []string
	for _, r := range shown[:min(len(shown), 12)] {
		parts = append(parts, r.Name+" "+chart.Number(r.Change)+" %")
	}
	return d.Label + ": " + strings.Join(parts, "; ") + "."
}
