// Package chart is the shared core of the figures: scales with round ticks,
// axes, keys, and lines, areas and marks on them, written as SVG.
//
// A figure is plain SVG: it needs no script, prints sharp, and the same data
// make the same bytes. Colours are CSS variables with the light theme's colour
// behind them (--ink, --muted, --rule, --shade, --paper, --c1 … --c8), so that
// a page sets the theme and a figure saved alone still looks right. The size
// of the output is bounded by the width of the figure, not by the length of
// the data. Text from outside is escaped; sizes are in CSS pixels.
package chart

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// Axis describes one direction of a Plot.
type Axis struct {
	Label    string // quantity and unit: "response time, ms"
	Min, Max float64
	Kind     Kind
	// Tight ends the axis at Min and Max, not at the next tick.
	Tight bool
	// Whole has ticks at whole numbers only: for things that are counted.
	Whole bool
}

// Key is one entry of the legend.
type Key struct {
	Name   string
	Colour int // from 1
	Dash   bool
	Area   bool
	// Hollow marks what others published: a hollow diamond on a dotted line.
	Hollow bool
}

// Frame says what a Plot looks like before anything is drawn on it.
type Frame struct {
	Width, Height float64
	// About is what a reader who cannot see the figure is told.
	About string
	X, Y  Axis
	Keys  []Key
	// Small leaves out labels and keys and keeps two ticks: for rows of many
	// figures beside each other.
	Small bool
}

// Plot is a figure being drawn.
type Plot struct {
	b                        strings.Builder
	labels                   strings.Builder // written last: on top of everything
	x, y                     Scale
	left, right, top, bottom float64
}

// tint lightens areas: full colours are for lines.
const tint = ".72"

// Font sizes and distances, in CSS pixels; glyph is the mean width of a
// character at the font size of ticks and keys.
const (
	fontPx   = 12
	tickPx   = 11
	glyph    = 6.4
	rowPx    = 17
	swatchPx = 18
)

// New draws the axes and keys of f.
func New(f Frame) *Plot {
	p := &Plot{}
	nx, ny := int(f.Width/60), int(f.Height/52)
	if f.Small {
		nx, ny = 4, 1
	}
	x, y := f.X, f.Y
	x.Min, x.Max = x.Kind.widen(x.Min, x.Max, nx, !x.Tight)
	y.Min, y.Max = y.Kind.widen(y.Min, y.Max, ny, !y.Tight)
	yTicks, yStep := y.Kind.ticks(y.Min, y.Max, ny)
	labels := make([]string, len(yTicks))
	widest := 0.0
	for i, v := range yTicks {
		labels[i] = tick(v, yStep)
		widest = max(widest, textWidth(labels[i]))
	}
	rows := keyRows(f.Keys, f.Width)
	p.left, p.right = widest+8, f.Width-10
	p.top, p.bottom = float64(len(rows))*rowPx+12, f.Height-22
	if y.Label != "" {
		p.top += rowPx
	}
	if x.Label != "" {
		p.bottom -= 16
	}
	if f.Small {
		p.top, p.bottom, p.right = 8, f.Height-16, f.Width-4
	}
	p.x = Scale{x.Kind, x.Min, x.Max, p.left, p.right}
	p.y = Scale{y.Kind, y.Min, y.Max, p.bottom, p.top}
	p.open(f)
	p.grid(yTicks, labels)
	if f.X.Whole {
		nx = max(1, int(min(float64(nx), math.Ceil(x.Max-x.Min))))
	}
	p.xTicks(nx)
	p.words(f, rows)
	return p
}

func (p *Plot) open(f Frame) {
	fmt.Fprintf(&p.b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" role="img" aria-label="%s" font-family="var(--sans,system-ui,sans-serif)" font-size="%d"`,
		px(f.Width), px(f.Height), Escape(f.About), fontPx)
	if !f.Small {
		fmt.Fprintf(&p.b, ` data-plot="%s %s %s %s" data-x="%d %g %g" data-y="%d %g %g" data-xl="%s" data-yl="%s"`,
			px(p.left), px(p.top), px(p.right), px(p.bottom), p.x.Kind, p.x.Min, p.x.Max, p.y.Kind, p.y.Min, p.y.Max,
			Escape(f.X.Label), Escape(f.Y.Label))
	}
	p.b.WriteString(">\n")
}

// grid draws a thin rule at each tick of the y axis, with its label.
func (p *Plot) grid(at []float64, labels []string) {
	if len(at) == 0 {
		return
	}
	fmt.Fprintf(&p.b, `<path fill="none" stroke="%s" d="`, Rule)
	for _, v := range at {
		fmt.Fprintf(&p.b, "M%s,%sH%s", px(p.left), px(p.y.At(v)), px(p.right))
	}
	fmt.Fprintf(&p.b, "\"/>\n<g fill=\"%s\" font-size=\"%d\" text-anchor=\"end\">", Muted, tickPx)
	for i, v := range at {
		fmt.Fprintf(&p.b, `<text x="%s" y="%s">%s</text>`, px(p.left-6), px(p.y.At(v)+4), labels[i])
	}
	p.b.WriteString("</g>\n")
}

// xTicks draws the base line and the x axis's ticks; labels that would meet
// the one before them are left out.
func (p *Plot) xTicks(n int) {
	fmt.Fprintf(&p.b, `<path fill="none" stroke="%s" d="M%s,%sH%s`, Muted, px(p.left), px(p.bottom), px(p.right))
	at, step := p.x.Kind.ticks(p.x.Min, p.x.Max, n)
	for _, v := range at {
		fmt.Fprintf(&p.b, "M%s,%sv4", px(p.x.At(v)), px(p.bottom))
	}
	fmt.Fprintf(&p.b, "\"/>\n<g fill=\"%s\" font-size=\"%d\" text-anchor=\"middle\">", Muted, tickPx)
	free := -1e9
	for _, v := range at {
		label := tick(v, step)
		half, c := textWidth(label)/2, p.x.At(v)
		if c-half < free {
			continue
		}
		free = c + half + 4
		anchor := ""
		if c+half > p.right+8 {
			anchor, c = ` text-anchor="end"`, p.right+6
		}
		fmt.Fprintf(&p.b, `<text x="%s" y="%s"%s>%s</text>`, px(c), px(p.bottom+15), anchor, label)
	}
	p.b.WriteString("</g>\n")
}

// words writes the axes' labels and the keys.
func (p *Plot) words(f Frame, rows [][]Key) {
	if f.Small {
		return
	}
	y := 12.0
	if f.Y.Label != "" {
		p.text(0, y, "start", Ink, f.Y.Label, f.Width)
		y += rowPx
	}
	if f.X.Label != "" {
		p.text(p.right, p.bottom+32, "end", Muted, f.X.Label, f.Width)
	}
	for _, row := range rows {
		x := 0.0
		for _, k := range row {
			p.swatch(k, x, y)
			p.text(x+swatchPx+5, y, "start", Ink, k.Name, f.Width-swatchPx)
			x += keyWidth(k)
		}
		y += rowPx
	}
}

func (p *Plot) swatch(k Key, x, y float64) {
	if k.Area {
		fmt.Fprintf(&p.b, `<rect x="%s" y="%s" width="%d" height="10" fill="%s" fill-opacity="%s"/>`, px(x), px(y-9), swatchPx-4, Colour(k.Colour), tint)
		return
	}
	if k.Hollow {
		fmt.Fprintf(&p.b, `<path d="M%s,%sh%d" stroke="%s" stroke-width="1.5" stroke-dasharray="%s"/>`, px(x), px(y-4), swatchPx, Colour(k.Colour), dots)
		fmt.Fprintf(&p.b, `<path d="%s" fill="%s" stroke="%s" stroke-width="1.5"/>`, diamond(x+swatchPx/2, y-4), Paper, Colour(k.Colour))
		return
	}
	fmt.Fprintf(&p.b, `<path d="M%s,%sh%d" stroke="%s" stroke-width="2"%s/>`, px(x), px(y-4), swatchPx, Colour(k.Colour), dash(k.Dash))
}

// keyRows breaks keys into rows that fit the width.
func keyRows(keys []Key, width float64) (rows [][]Key) {
	used := width
	for _, k := range keys {
		w := keyWidth(k)
		if used+w > width+14 {
			rows, used = append(rows, nil), 0
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], k)
		used += w
	}
	return rows
}

func keyWidth(k Key) float64 { return swatchPx + 5 + textWidth(k.Name)*fontPx/tickPx + 14 }

// textWidth estimates how wide s is at the ticks' font size.
func textWidth(s string) float64 { return glyph * float64(utf8.RuneCountInString(s)) }

func dash(on bool) string {
	if on {
		return ` stroke-dasharray="5 4"`
	}
	return ""
}

// Colours that are not a series'.
const (
	Ink   = "var(--ink,#1c2127)"
	Muted = "var(--muted,#5a6472)"
	Rule  = "var(--rule,#dde1e6)"
	Shade = "var(--shade,#eef0f3)"
	Paper = "var(--paper,#ffffff)"
)

// Colours is how many different series colours there are.
const Colours = 8

// Colour returns the paint of series i, from 1; from Colours+1 on they begin
// anew.
func Colour(i int) string {
	light := [Colours]string{"#1f5fa6", "#b8560b", "#2f7a55", "#83459c", "#b3282d", "#4f6b7a", "#8a6d00", "#0f7c8c"}
	k := max(i-1, 0) % Colours
	return fmt.Sprintf("var(--c%d,%s)", k+1, light[k])
}
