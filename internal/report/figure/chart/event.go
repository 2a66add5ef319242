package chart

import "fmt"

// Happening marks a time in which something was made to happen, from lo to hi,
// with a label at the top: a tinted span between two rules, at least as wide as
// can be seen. It is drawn before lines.
func (p *Plot) Happening(lo, hi float64, label string) {
	if !finite(lo) || !finite(hi) || hi < lo || hi < p.x.Min || lo > p.x.Max {
		return
	}
	const least = 2 // pixels
	a, b := p.x.At(max(lo, p.x.Min)), p.x.At(min(hi, p.x.Max))
	b = max(b, a+least)
	fmt.Fprintf(&p.b, `<g data-event="%s"><rect x="%s" y="%s" width="%s" height="%s" fill="%s" fill-opacity="0.18"/><path fill="none" stroke="%s" d="M%s,%sV%sM%s,%sV%s"/></g>`+"\n",
		Escape(label), px(a), px(p.top), px(b-a), px(p.bottom-p.top), Colour(happeningColour), Colour(happeningColour),
		px(a), px(p.top), px(p.bottom), px(b), px(p.top), px(p.bottom))
	if label != "" {
		p.label(b+3, p.top+13, "start", label)
	}
}

// happeningColour is one that few lines of a figure have.
const happeningColour = 6
