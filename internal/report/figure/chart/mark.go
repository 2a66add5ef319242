package chart

import (
	"fmt"
	"math"
	"slices"
)

// dots is the pattern of lines that others published.
const dots = "1.5 4"

// Diamond marks a value that others published; tip is shown where a pointer
// rests on it.
func (p *Plot) Diamond(colour int, x, y float64, tip string) {
	if !finite(x) || !finite(y) {
		return
	}
	fmt.Fprintf(&p.b, `<path d="%s" fill="%s" stroke="%s" stroke-width="1.8"><title>%s</title></path>`+"\n",
		diamond(p.x.At(x), p.y.At(y)), Paper, Colour(colour), Escape(tip))
}

// diamond is the outline of a diamond around a pixel.
func diamond(x, y float64) string {
	const r = 5.5
	return fmt.Sprintf("M%s,%sL%s,%sL%s,%sL%s,%sZ", px(x), px(y-r), px(x+r), px(y), px(x), px(y+r), px(x-r), px(y))
}

// Remark is something said of a value of x.
type Remark struct {
	X    float64
	Text string
}

// remarkRows bounds the rows of remarks, and remarkPx is how far they lie
// apart.
const (
	remarkRows = 5
	remarkPx   = 15
)

// Remarks writes what was said of values of x along the top, each with a dotted
// rule down to its value, in as many rows as it takes for none to lie on
// another. One for which there is no room is left out.
func (p *Plot) Remarks(colour int, of []Remark) {
	of = slices.Clone(of)
	slices.SortStableFunc(of, func(a, b Remark) int { return int(sign(a.X - b.X)) })
	var free [remarkRows]float64
	for _, r := range of {
		if !finite(r.X) || r.Text == "" {
			continue
		}
		c, half := p.x.At(r.X), textWidth(r.Text)*fontPx/tickPx/2
		at := min(max(c, p.left+half), max(p.right-half, p.left+half))
		row := slices.IndexFunc(free[:], func(f float64) bool { return at-half >= f })
		if row < 0 {
			continue
		}
		free[row] = at + half + 8
		y := p.top + 12 + float64(row)*remarkPx
		fmt.Fprintf(&p.b, `<path fill="none" stroke="%s" stroke-width="1.2" stroke-dasharray="%s" d="M%s,%sV%s"/>`+"\n", Colour(colour), dots, px(c), px(y+4), px(p.bottom))
		p.label(at, y, "middle", r.Text)
	}
}

func sign(x float64) float64 {
	switch {
	case x < 0:
		return -1
	case x > 0:
		return 1
	}
	return 0
}

// mostPoints bounds the points of one call of Points.
const mostPoints = 4000

// Points draws many values, none of them named; those that fall on one pixel
// are drawn once, and of more than mostPoints an even choice.
func (p *Plot) Points(colour int, xs, ys []float64) {
	type pixel struct{ x, y int } // in halves
	seen := map[pixel]bool{}
	var order []pixel
	for i := range min(len(xs), len(ys)) {
		if !finite(xs[i]) || !finite(ys[i]) || p.y.Kind == Log && ys[i] <= 0 {
			continue
		}
		at := pixel{int(math.Round(2 * p.x.At(xs[i]))), int(math.Round(2 * p.y.At(ys[i])))}
		if !seen[at] {
			seen[at] = true
			order = append(order, at)
		}
	}
	if len(order) == 0 {
		return
	}
	fmt.Fprintf(&p.b, `<path fill="none" stroke="%s" stroke-width="3.4" stroke-linecap="round" stroke-opacity=".42" d="`, Colour(colour))
	stride := (len(order) + mostPoints - 1) / mostPoints
	for i := 0; i < len(order); i += stride {
		fmt.Fprintf(&p.b, "M%s,%sh.1", px(float64(order[i].x)/2), px(float64(order[i].y)/2))
	}
	p.b.WriteString("\"/>\n")
}
