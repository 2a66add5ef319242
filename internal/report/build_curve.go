package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/analyse"
	"github.com/loadstone-perf/loadstone/internal/report/figure/bars"
	"github.com/loadstone-perf/loadstone/internal/report/figure/chart"
	"github.com/loadstone-perf/loadstone/internal/report/figure/loadcurve"
)

// curve is the section on throughput by cell: over load where the study has
// one, else as bars.
func (b *builder) curve() {
	if len(b.s.Cells) == 0 {
		b.section("curve", "Throughput", block{Text: "There is no configuration to show."})
		return
	}
	b.data["throughput.csv"] = throughputCSV(b.s)
	title, f := "Throughput by configuration", b.cellBars()
	cv := b.s.Curve
	if cv != nil && slices.ContainsFunc(b.s.Sweeps, func(w analyse.Sweep) bool { return w.Knob == cv.Knob && !w.Scales }) {
		cv = nil // the section on that knob has the curve
	}
	if cv != nil {
		title, f = "Throughput over load", b.loadCurve(cv)
		if !offered(cv.Knob) {
			title = "Throughput over " + lastName(cv.Knob)
		}
	}
	f.CSV, f.Text = "throughput.csv", func(width int) []string { return textBars(b.s, width) }
	blocks := []block{b.figure(f)}
	if cv != nil {
		blocks = append(blocks, saturation(cv)...)
	}
	blocks = append(blocks, search(b.s.Search)...)
	b.section("curve", title, append(blocks, b.cellTable())...)
}

// offered says whether a knob is a load, and no size that takes its place.
func offered(knob string) bool {
	return slices.Contains([]string{"users", "rate", "rate_per_s", "connections"}, lastName(knob))
}

func (b *builder) loadCurve(cv *analyse.Curve) figure {
	d := loadcurve.Data{XLabel: cv.Knob, YLabel: throughputLabel(b.s.Metric), Published: publishedLines(cv.Published, 1)}
	for _, l := range cv.Lines {
		d.Lines = append(d.Lines, b.curveLine(cv, l))
	}
	over := " for each load that was offered ("
	if !offered(cv.Knob) {
		over = " for each value of what was varied ("
	}
	caption := "Throughput" + inUnit(b.s.Metric) + over + cv.Knob +
		"). Bars are 95 % intervals between repeats; a point without one was measured once."
	if slices.ContainsFunc(cv.Lines, func(l analyse.Line) bool { return l.Model != nil }) {
		caption += " Dashed: the fitted Universal Scalability Law, drawn only as far as loads were measured."
	}
	if slices.ContainsFunc(cv.Lines, func(l analyse.Line) bool { return knee(l) > 0 }) {
		caption += " The knee is the least load whose throughput is within 5 % of the highest: more load only waits longer."
	}
	f := figure{Caption: caption + b.cutNote() + publishedNote(cv.Published, nil)}
	return f.both(1.1, func(w, h float64) string {
		d.Width, d.Height = w, h
		return loadcurve.SVG(d)
	})
}

// cutNote says that intervals were cut in a figure, where any was.
func (b *builder) cutNote() string {
	var highest chart.Extent
	for _, cl := range b.s.Cells {
		if measured(cl) {
			highest.Add(cl.Throughput.Value)
		}
	}
	cut := func(cl analyse.Cell) bool {
		e := cl.Throughput
		return measured(cl) && (cutLow(e) || float64(e.High) > loadcurve.Reach*highest.Max)
	}
	if !slices.ContainsFunc(b.s.Cells, cut) {
		return ""
	}
	return " Intervals are cut at 0 and at twice the highest point; the data has them whole. They are as wide because repeats are few or differ much."
}

func knee(l analyse.Line) float64 {
	if l.Knee == nil || !l.Knee.OK() {
		return 0
	}
	return float64(*l.Knee)
}

// origin names lines of figures that stand for all there is: where their points
// come from.
func (b *builder) origin() string {
	if b.s.Simulated {
		return "simulated"
	}
	return "measured"
}

func (b *builder) curveLine(cv *analyse.Curve, l analyse.Line) loadcurve.Line {
	out := loadcurve.Line{Name: l.Label, Knee: knee(l)}
	if out.Name == "" && len(cv.Lines) == 1 {
		out.Name = b.origin()
	}
	var loads chart.Extent
	for _, i := range l.Cells {
		cell := b.s.Cells[i]
		x := load(cell, cv.Knob)
		pt := loadcurve.Point{X: x, Y: math.NaN(), Low: math.NaN(), High: math.NaN()}
		if measured(cell) {
			e := cell.Throughput
			pt.Y, pt.Low, pt.High = e.Value, float64(e.Low), float64(e.High)
			loads.Add(x)
		}
		out.Points = append(out.Points, pt)
	}
	if l.Model != nil && loads.Seen && loads.Max > loads.Min {
		const steps = 60
		for k := range steps + 1 {
			n := loads.Min + (loads.Max-loads.Min)*float64(k)/steps
			out.Model = append(out.Model, loadcurve.Point{X: n, Y: usl(*l.Model, n)})
		}
	}
	return out
}

// usl returns X(N) = λN / (1 + σ(N−1) + κN(N−1)), the Universal Scalability
// Law of N. Gunther, Guerrilla Capacity Planning (2007), chapter 5.
func usl(m analyse.USL, n float64) float64 {
	return m.Lambda * n / (1 + m.Sigma*(n-1) + m.Kappa*n*(n-1))
}

// load returns the value of knob in cell; NaN where it has no number.
func load(cell analyse.Cell, knob string) float64 {
	for _, f := range cell.Factors {
		if f.Knob == knob {
			return float64(f.Num)
		}
	}
	return math.NaN()
}

// saturation says in words where each line saturates, and what was fitted.
func saturation(cv *analyse.Curve) (blocks []block) {
	var list []string
	for _, l := range cv.Lines {
		text := strings.TrimRight("Saturation "+l.Saturation, " ")
		if l.Saturation == "" {
			text = ""
		}
		if m := l.Model; m != nil {
			text = strings.TrimRight(text, ". ")
			if text != "" {
				text += ". "
			}
			text += fmt.Sprintf("Model: λ = %s, σ = %s, κ = %s, R² = %s", chart.Number(m.Lambda), chart.Number(m.Sigma), chart.Number(m.Kappa), chart.Number(m.R2))
			if m.PeakN.OK() {
				text += ", greatest at " + num(m.PeakN)
			}
			text += "."
			if m.Warning != "" {
				text += " " + firstUpper(strings.TrimRight(m.Warning, ". ")) + "."
			}
		}
		if s := l.Stop; s != nil {
			text = strings.TrimSpace(text + " The least load over a limit is " + s.Label + ": " + strings.TrimRight(s.Text, ". ") + ".")
		}
		if text == "" {
			continue
		}
		if l.Label != "" {
			text = l.Label + ": " + text
		} else {
			text = sentence(text)
		}
		list = append(list, text)
	}
	if len(list) == 1 {
		return []block{{Text: list[0]}}
	}
	if len(list) > 1 {
		return []block{{List: list}}
	}
	return nil
}

// search tells how the loads were found: what each search ended with, and its
// steps, on demand where they are many.
func search(of []analyse.Decision) []block {
	if len(of) == 0 {
		return nil
	}
	var steps, ends []string
	for _, d := range of {
		step := firstUpper(d.Why)
		if d.Base != "" {
			step = d.Base + ": " + d.Why
		}
		steps = append(steps, step)
		if d.Done {
			ends = append(ends, step)
		}
	}
	head := block{Heading: "How the loads were found"}
	order := block{Aside: "The first block is the search itself, in the order of its steps; only the blocks after it are in random order. A machine that changed meanwhile shows as a difference between the first block and the others."}
	if len(steps) <= visibleLines {
		return []block{head, {Steps: steps}, order}
	}
	return []block{head, {List: ends}, order, {More: &more{"All " + counted(len(steps), "step"), steps}}}
}

func (b *builder) cellBars() figure {
	d := bars.Data{Label: throughputLabel(b.s.Metric)}
	for _, cell := range b.s.Cells {
		bar := bars.Bar{Name: cell.Label, Value: math.NaN(), Low: math.NaN(), High: math.NaN(), Text: "nothing measured"}
		if measured(cell) {
			e := cell.Throughput
			bar.Value, bar.Low, bar.High, bar.Text = e.Value, float64(e.Low), float64(e.High), ""
		}
		d.Bars = append(d.Bars, bar)
	}
	f := figure{Caption: "Throughput in " + metricUnit(b.s.Metric) +
		" for each configuration. Thin lines are 95 % intervals between repeats; a bar without one was measured once." + b.cutNote()}
	return f.both(1, func(w, _ float64) string {
		d.Width = w
		return bars.SVG(d)
	})
}

// cellTable is the figures behind the load curve.
func (b *builder) cellTable() block {
	t := table{
		Caption: "Throughput" + inUnit(b.s.Metric) + ", response time of the unit of work, CPU use and limiting resource by configuration.",
		CSV:     "throughput.csv",
		Columns: columns("Configuration", "#Throughput", "#Interval", "#Repeats?", "#p95, ms", "#p99, ms", "#Instance CPU?", "Limited by"),
	}
	for i, cell := range b.s.Cells {
		name := c(cell.Label)
		if i == b.s.Peak && b.s.Valid {
			name.Detail = "peak"
		}
		if !measured(cell) {
			t.Rows = append(t.Rows, []field{name, toned("nothing measured", bad), {}, c("0"), {}, {}, {}, {}})
			continue
		}
		e := cell.Throughput
		p95, p99 := "–", "–"
		if u, ok := unitOf(cell.Types); ok {
			p95, p99 = percentileText(u, 95), percentileText(u, 99)
		}
		cpu := "–"
		if cell.CPUPct.N > 0 {
			cpu = percent(cell.CPUPct.Value)
		}
		t.Rows = append(t.Rows, []field{name, c(chart.Number(e.Value)), intervalField(e), c(chart.Count(int64(e.N))), c(p95), c(p99), c(cpu), c(cell.Limit.Resource)})
	}
	if slices.ContainsFunc(b.s.Cells, func(cl analyse.Cell) bool { return measured(cl) && cutLow(cl.Throughput) }) {
		t.Caption += " An interval that reaches below 0 is cut there."
	}
	return b.table(t)
}

func percentileText(l analyse.Latency, p float64) string {
	if q, ok := quantile(l, p); ok {
		return num(q.Ms)
	}
	return "–"
}
