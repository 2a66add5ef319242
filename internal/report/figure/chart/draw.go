package chart

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// Line is a series to draw. X rises; Y is NaN where there is nothing.
type Line struct {
	Name   string
	Colour int // from 1
	Dash   bool
	Dots   bool // dotted: what others published
	Fine   bool // thinner: for raw values a second
	X, Y   []float64
}

// Line draws l, interrupted where Y is not finite; a value alone is a dot.
func (p *Plot) Line(l Line) {
	vs := thin(l.X, l.Y, p.x, p.y)
	if len(vs) == 0 {
		return
	}
	width, pattern := "2", dash(l.Dash)
	if l.Fine {
		width = "1.3"
	}
	if l.Dots {
		pattern = fmt.Sprintf(` stroke-dasharray="%s"`, dots)
	}
	fmt.Fprintf(&p.b, `<path data-n="%s" fill="none" stroke="%s" stroke-width="%s" stroke-linecap="round" stroke-linejoin="round"%s d="`,
		Escape(l.Name), Colour(l.Colour), width, pattern)
	var alone []vertex
	for i, v := range vs {
		command := "L"
		if v.gap {
			command = "M"
			if i+1 == len(vs) || vs[i+1].gap {
				alone = append(alone, v)
			}
		}
		fmt.Fprintf(&p.b, "%s%s,%s", command, px(v.x), px(v.y))
	}
	p.b.WriteString("\"/>\n")
	if len(alone) == 0 {
		return
	}
	fmt.Fprintf(&p.b, `<path fill="none" stroke="%s" stroke-width="4" stroke-linecap="round" d="`, Colour(l.Colour))
	for _, v := range alone {
		fmt.Fprintf(&p.b, "M%s,%sh.1", px(v.x), px(v.y))
	}
	p.b.WriteString("\"/>\n")
}

// Layer fills from lower up to upper over xs: one part of a stack. A true in
// gap interrupts the fill before that point. name is the key's.
func (p *Plot) Layer(name string, colour int, xs, lower, upper []float64, gap []bool) {
	if len(xs) == 0 {
		return
	}
	fmt.Fprintf(&p.b, `<path data-n="%s" data-layer="1" fill="%s" fill-opacity="%s" d="`, Escape(name), Colour(colour), tint)
	for from := 0; from < len(xs); {
		to := from + 1
		for to < len(xs) && !gap[to] {
			to++
		}
		p.layerPart(xs[from:to], lower[from:to], upper[from:to])
		from = to
	}
	p.b.WriteString("\"/>\n")
}

// layerPart draws an uninterrupted part of a layer: along its upper edge and
// back along the lower.
func (p *Plot) layerPart(xs, lower, upper []float64) {
	if len(xs) == 1 {
		// A point alone is given a width, so that it can be seen.
		x, lo, hi := min(p.x.At(xs[0]), p.right-2), px(p.y.At(lower[0])), px(p.y.At(upper[0]))
		fmt.Fprintf(&p.b, "M%s,%sL%s,%sL%s,%sL%s,%sZ", px(x), hi, px(x+2), hi, px(x+2), lo, px(x), lo)
		return
	}
	command := "M"
	for i := range xs {
		fmt.Fprintf(&p.b, "%s%s,%s", command, px(p.x.At(xs[i])), px(p.y.At(upper[i])))
		command = "L"
	}
	for i := len(xs) - 1; i >= 0; i-- {
		fmt.Fprintf(&p.b, "L%s,%s", px(p.x.At(xs[i])), px(p.y.At(lower[i])))
	}
	p.b.WriteString("Z")
}

// Dot marks a value; tip is shown where a pointer rests on it.
func (p *Plot) Dot(colour int, x, y float64, tip string) {
	if !finite(x) || !finite(y) {
		return
	}
	fmt.Fprintf(&p.b, `<circle cx="%s" cy="%s" r="4" fill="%s" stroke="%s"><title>%s</title></circle>`+"\n",
		px(p.x.At(x)), px(p.y.At(y)), Colour(colour), Paper, Escape(tip))
}

// Whisker draws an interval from low to high at x; nothing where either is
// absent.
func (p *Plot) Whisker(colour int, x, low, high float64) {
	if !finite(x) || !finite(low) || !finite(high) {
		return
	}
	c, lo, hi := p.x.At(x), p.y.At(low), p.y.At(high)
	fmt.Fprintf(&p.b, `<path fill="none" stroke="%s" stroke-width="1.5" d="M%s,%sV%sM%s,%sh10M%s,%sh10"/>`+"\n",
		Colour(colour), px(c), px(lo), px(hi), px(c-5), px(lo), px(c-5), px(hi))
}

// Span shades x from lo to hi: what does not count. It is drawn before lines.
func (p *Plot) Span(lo, hi float64, label string) {
	if !finite(lo) || !finite(hi) || hi <= lo {
		return
	}
	a, b := p.x.At(lo), p.x.At(hi)
	if b-a < 0.5 {
		return
	}
	fmt.Fprintf(&p.b, `<rect x="%s" y="%s" width="%s" height="%s" fill="%s"/>`+"\n", px(a), px(p.top), px(b-a), px(p.bottom-p.top), Shade)
	if label != "" && textWidth(label)+6 < b-a {
		p.label(a+4, p.top+13, "start", label)
	}
}

// Mark draws a vertical rule at x with a label at the top: a knee, an edge.
func (p *Plot) Mark(x float64, label string) {
	if !finite(x) || x < p.x.Min || x > p.x.Max {
		return
	}
	c := p.x.At(x)
	fmt.Fprintf(&p.b, `<path stroke="%s" stroke-dasharray="2 3" d="M%s,%sV%s"/>`+"\n", Muted, px(c), px(p.top), px(p.bottom))
	anchor, at := "start", c+5
	if c+5+textWidth(label)*fontPx/tickPx > p.right {
		anchor, at = "end", c-5
	}
	p.label(at, p.bottom-8, anchor, label)
}

// Limit draws a horizontal rule at y with a label above its right end.
func (p *Plot) Limit(y float64, label string) {
	if !finite(y) || y < p.y.Min || y > p.y.Max {
		return
	}
	c := p.y.At(y)
	fmt.Fprintf(&p.b, `<path stroke="%s" stroke-dasharray="6 3" d="M%s,%sH%s"/>`+"\n", Colour(5), px(p.left), px(c), px(p.right))
	p.label(p.right, c-5, "end", label)
}

// Note writes text in the middle of the plot: "no data".
func (p *Plot) Note(text string) {
	p.text((p.left+p.right)/2, (p.top+p.bottom)/2, "middle", Muted, text, p.right-p.left)
}

// label writes a mark's label, on top of everything and with a halo, so that
// lines do not cross it out.
func (p *Plot) label(x, y float64, anchor, s string) {
	if s == "" {
		return
	}
	fmt.Fprintf(&p.labels, `<text x="%s" y="%s" text-anchor="%s" fill="%s" stroke="%s" stroke-width="3" stroke-linejoin="round" paint-order="stroke">%s</text>`+"\n",
		px(x), px(y), anchor, Muted, Paper, Escape(Cut(s, int((p.right-p.left)/glyph*tickPx/fontPx))))
}

// text writes s, cut to what fits in width.
func (p *Plot) text(x, y float64, anchor, fill, s string, width float64) {
	if s == "" {
		return
	}
	at := ""
	if anchor != "start" {
		at = fmt.Sprintf(` text-anchor="%s"`, anchor)
	}
	fmt.Fprintf(&p.b, `<text x="%s" y="%s"%s fill="%s">%s</text>`+"\n", px(x), px(y), at, fill, Escape(Cut(s, int(width/glyph*tickPx/fontPx))))
}

// SVG ends the figure and returns it.
func (p *Plot) SVG() string { return p.b.String() + p.labels.String() + "</svg>\n" }

// Cut shortens s to at most n characters, the last an ellipsis where
// something was left out. n below 1 counts as 1.
func Cut(s string, n int) string {
	n = max(n, 1)
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return strings.TrimRight(string([]rune(s)[:n-1]), " ") + "…"
}

// Escape makes s safe as text and as a quoted attribute of SVG and HTML.
// Characters that XML forbids become the replacement character.
func Escape(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '"':
			b.WriteString("&#34;")
		case r == '\'':
			b.WriteString("&#39;")
		case r == '\n' || r == '\t':
			b.WriteByte(' ')
		case r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) || r == 0xfffe || r == 0xffff:
			b.WriteRune(utf8.RuneError)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Seconds returns the range of xs as an axis of time from 0, with xs in the
// axis's unit: seconds, or minutes where there are more than 900 s.
func Seconds(xs []float64) (Axis, float64) {
	var e Extent
	e.Add(xs...)
	if e.Max > 900 {
		return Axis{Label: "time, min", Max: e.Max / 60, Tight: true}, 1.0 / 60
	}
	return Axis{Label: "time, s", Max: e.Max, Tight: true}, 1
}

// Times returns vs multiplied by by.
func Times(vs []float64, by float64) []float64 {
	out := make([]float64, len(vs))
	for i, v := range vs {
		out[i] = v * by
	}
	return out
}

// Cumulate returns the running sums of layers, each clamped from below at 0:
// what lies under and on each layer of a stack.
func Cumulate(layers [][]float64) (lower, upper [][]float64) {
	if len(layers) == 0 {
		return nil, nil
	}
	base := make([]float64, len(layers[0]))
	for _, l := range layers {
		next := make([]float64, len(base))
		for i := range base {
			next[i] = base[i] + math.Max(l[i], 0)
		}
		lower, upper = append(lower, base), append(upper, next)
		base = next
	}
	return lower, upper
}
