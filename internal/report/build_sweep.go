package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/analyse"
	"github.com/loadstone-perf/loadstone/internal/report/figure/chart"
	"github.com/loadstone-perf/loadstone/internal/report/figure/loadcurve"
)

// sweeps are the sections on numeric knobs that are not the load: speed-up
// against ideal for what scales, throughput for everything else.
func (b *builder) sweeps() {
	for _, w := range b.s.Sweeps {
		name := lastName(w.Knob)
		csv := b.addData("sweep-"+slug(name), sweepCSV(b.s, w))
		title, f := "Throughput over "+name, b.sweepCurve(w)
		switch {
		case consolidates(w):
			title, f = "Consolidation", b.speedups(w)
		case w.Scales:
			title, f = "Speed-up over "+name, b.speedups(w)
		}
		f.CSV = csv
		blocks := []block{b.figure(f)}
		if words := sweepWords(w); len(words) == 1 {
			blocks = append(blocks, block{Text: words[0]})
		} else {
			blocks = append(blocks, split(words, visibleLines, "more line")...)
		}
		b.section("sweep-"+slug(name), title, append(blocks, b.sweepTable(w, csv))...)
	}
}

// consolidates says whether a sweep is over the number of instances.
func consolidates(w analyse.Sweep) bool { return w.Scales && lastName(w.Knob) == "instances" }

// speedups is the figure of speed-up against ideal.
func (b *builder) speedups(w analyse.Sweep) figure {
	d := loadcurve.Data{XLabel: w.Knob, YLabel: "speed-up"}
	var most, least chart.Extent
	for _, l := range w.Lines {
		line := loadcurve.Line{Name: lineName(l.Label, b.origin()), KneeLabel: "saturates at"}
		if l.Knee != nil {
			line.Knee = float64(*l.Knee)
		}
		for _, p := range l.Points {
			line.Points = append(line.Points, loadcurve.Point{X: float64(p.Value), Y: float64(p.Speedup), Low: float64(p.SpeedupLow), High: float64(p.SpeedupHigh)})
			most.Add(float64(p.Value))
			least.Add(float64(p.Value))
		}
		d.Lines = append(d.Lines, line)
	}
	if least.Min > 0 {
		d.Lines = append(d.Lines, loadcurve.Line{Name: "ideal", Model: []loadcurve.Point{{X: least.Min, Y: 1}, {X: most.Max, Y: most.Max / least.Min}}})
	}
	f := figure{Caption: "Throughput, each value with its best load, as a multiple of that with the least " + lastName(w.Knob) +
		". Bars are 95 % intervals between repeats. Dashed: twice as much does twice as much. It saturates at the least value within 5 % of the highest throughput." + publishedNote(w.Published, w.Remarks)}
	d.Published, d.Remarks = publishedLines(w.Published, 1), remarksOf(w, 1)
	return f.both(1, func(width, h float64) string {
		d.Width, d.Height = width, h
		return loadcurve.SVG(d)
	})
}

// sweepCurve is the figure of throughput over a knob.
func (b *builder) sweepCurve(w analyse.Sweep) figure {
	scale, unit := axis(w)
	d := loadcurve.Data{XLabel: w.Knob + unit, YLabel: throughputLabel(b.s.Metric), LogX: spread16(w),
		Published: publishedLines(w.Published, scale), Remarks: remarksOf(w, scale)}
	if d.LogX {
		d.XLabel += " (logarithmic)"
	}
	for _, l := range w.Lines {
		line := loadcurve.Line{Name: lineName(l.Label, b.origin())}
		for _, p := range l.Points {
			e := p.Throughput
			line.Points = append(line.Points, loadcurve.Point{X: float64(p.Value) * scale, Y: e.Value, Low: float64(e.Low), High: float64(e.High)})
			if l.Fall != nil && p.Text == l.Fall.From {
				line.Knee = float64(p.Value) * scale
			}
		}
		d.Lines = append(d.Lines, line)
	}
	f := figure{Caption: "Throughput" + inUnit(b.s.Metric) + " for each value of " + w.Knob +
		", with its best load. Bars are 95 % intervals between repeats. The knee is the value below which throughput falls most steeply; there is none where no fall is more than its interval." + publishedNote(w.Published, w.Remarks)}
	return f.both(1, func(width, h float64) string {
		d.Width, d.Height = width, h
		return loadcurve.SVG(d)
	})
}

// axis tells in what the values of a knob are drawn: sizes in MiB.
func axis(w analyse.Sweep) (scale float64, unit string) {
	for _, l := range w.Lines {
		for _, p := range l.Points {
			if !strings.HasSuffix(p.Text, "B") {
				return 1, ""
			}
		}
	}
	return 1.0 / (1 << 20), ", MiB"
}

func lineName(label, alone string) string {
	if label == "" {
		return alone
	}
	return label
}

// spread16 says that the values of w are sizes that differ by a factor of 16
// or more: on a linear axis the smaller ones would lie on each other.
func spread16(w analyse.Sweep) bool {
	_, unit := axis(w)
	var x chart.Extent
	for _, l := range w.Lines {
		for _, p := range l.Points {
			x.Add(float64(p.Value))
		}
	}
	return unit != "" && x.Min > 0 && x.Max >= 16*x.Min
}

// sweepWords says in words where each line of w saturates, and where one that
// does not scale falls most.
func sweepWords(w analyse.Sweep) (out []string) {
	for _, l := range w.Lines {
		text := ""
		if l.Saturation != "" {
			text = sentence("saturation "+l.Saturation) + " "
		}
		if l.Fall != nil && !w.Scales {
			text += sentence(l.Fall.String())
		}
		if text = strings.TrimSpace(text); l.Label != "" && text != "" {
			text = l.Label + ": " + text
		}
		if text != "" {
			out = append(out, text)
		}
	}
	return out
}

// sweepTable is the figures behind a sweep.
func (b *builder) sweepTable(w analyse.Sweep, csv string) block {
	t := table{Caption: "Throughput" + inUnit(b.s.Metric) + " by " + w.Knob + ", each value with its best load. Step is the ratio to the value before.", CSV: csv}
	of := sweepColumns(w)
	for _, column := range of {
		t.Columns = append(t.Columns, columns(column.head)...)
	}
	for _, l := range w.Lines {
		for _, p := range l.Points {
			var row []field
			for _, column := range of {
				row = append(row, column.of(l, p))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return b.table(t)
}

// sweepColumn is a column of a sweep's table: its head as for columns, and what
// stands in it.
type sweepColumn struct {
	head string
	of   func(l analyse.SweepLine, p analyse.SweepPoint) field
}

// sweepColumns are the columns that say something of w.
func sweepColumns(w analyse.Sweep) (out []sweepColumn) {
	add := func(when bool, head string, of func(l analyse.SweepLine, p analyse.SweepPoint) field) {
		if when {
			out = append(out, sweepColumn{head, of})
		}
	}
	anywhere := func(is func(l analyse.SweepLine, p analyse.SweepPoint) bool) bool {
		return slices.ContainsFunc(w.Lines, func(l analyse.SweepLine) bool {
			return slices.ContainsFunc(l.Points, func(p analyse.SweepPoint) bool { return is(l, p) })
		})
	}
	type line = analyse.SweepLine
	type point = analyse.SweepPoint
	add(anywhere(func(l line, _ point) bool { return l.Label != "" }), "With", func(l line, _ point) field { return c(l.Label) })
	add(true, w.Knob, func(_ line, p point) field { return c(p.Text) })
	add(anywhere(func(_ line, p point) bool { return p.OfData.OK() }), "#Of the data", func(_ line, p point) field { return c(percent(100 * float64(p.OfData))) })
	own := func(p point) bool {
		return strings.HasSuffix(p.Label, lastName(w.Knob)+" = "+p.Text) && !strings.Contains(p.Label, ",")
	}
	add(anywhere(func(_ line, p point) bool { return !own(p) }), "At", func(_ line, p point) field { return c(p.Label) })
	add(true, "#Throughput", func(_ line, p point) field { return c(chart.Number(p.Throughput.Value)) })
	add(true, "#Interval", func(_ line, p point) field { return intervalField(p.Throughput) })
	add(consolidates(w), "#Each", func(_ line, p point) field { return c(chart.Number(p.Throughput.Value / float64(p.Value))) })
	add(w.Scales, "#Speed-up", func(_ line, p point) field { return ratioField(p.Speedup, p.SpeedupLow, p.SpeedupHigh) })
	add(w.Scales, "#Ideal", func(_ line, p point) field { return c(num(p.Ideal)) })
	add(w.Scales, "#Efficiency", func(_ line, p point) field { return c(percent(100 * float64(p.Efficiency))) })
	add(true, "#Step?", func(_ line, p point) field { return ratioField(p.Step, p.StepLow, p.StepHigh) })
	add(anywhere(func(_ line, p point) bool { return p.P99Ms.OK() }), "#p99, ms?", func(_ line, p point) field { return c(num(p.P99Ms)) })
	add(anywhere(func(_ line, p point) bool { return p.HostCPUPct.OK() }), "#Host CPU?", func(_ line, p point) field { return c(percent(float64(p.HostCPUPct))) })
	return out
}

// ratioField is a ratio with its interval below it.
func ratioField(v, low, high analyse.Number) field {
	f := c(num(v))
	if low < high {
		f.Detail = num(low) + "–" + num(high)
	}
	return f
}

// intervalField is the interval of e, or why there is none.
func intervalField(e analyse.Estimate) field {
	if !e.Low.OK() || !e.High.OK() {
		return c(e.Method)
	}
	f := c(num(low(e)) + " – " + num(e.High))
	if cutLow(e) {
		f.Detail = "cut at 0"
	}
	return f
}

func sweepCSV(s *analyse.Study, w analyse.Sweep) []byte {
	f := newSheet("with", w.Knob, "value", "configuration", "throughput", "low", "high", "repeats", "method", "unit",
		"speedup", "speedup_low", "speedup_high", "ideal", "efficiency", "step", "step_low", "step_high", "p99_ms", "host_cpu_pct", "memory_of_data")
	for _, l := range w.Lines {
		for _, p := range l.Points {
			e := p.Throughput
			f.text(l.Label, p.Text).num(float64(p.Value)).text(p.Label).num(e.Value, float64(e.Low), float64(e.High)).int(int64(e.N)).text(e.Method, s.Metric.Name)
			f.num(float64(p.Speedup), float64(p.SpeedupLow), float64(p.SpeedupHigh), float64(p.Ideal), float64(p.Efficiency))
			f.num(float64(p.Step), float64(p.StepLow), float64(p.StepHigh), float64(p.P99Ms), float64(p.HostCPUPct), float64(p.OfData)).end()
		}
	}
	return f.bytes()
}

// atEqualCPU tells, of a comparison, what both sides do at equal CPU use.
func (b *builder) atEqualCPU(x *analyse.Comparison) []block {
	if len(x.EqualCPU) == 0 {
		return nil
	}
	csv := b.addData("equal-cpu-"+slug(x.Other.Name), equalCSV(x))
	t := table{CSV: csv, Columns: columns("CPU use", "#Base", "#Other", "#Change"),
		Caption: "Throughput" + inUnit(x.Metric) + " at equal CPU use of the instances, in percent of what they may use, between the loads measured; the change against " + x.Base.Name + " with its 95 % interval."}
	several := len(x.EqualCPU) > 1
	if several {
		t.Columns = append(columns("With"), t.Columns...)
	}
	var notes []string
	for _, a := range x.EqualCPU {
		name := lineName(a.Label, "all loads")
		text := sentence(a.Note)
		if text == "" && a.BaseCPUs.OK() {
			text = fmt.Sprintf("The instances of both sides may use %s CPUs.", strconv.FormatFloat(float64(a.BaseCPUs), 'g', 4, 64))
		}
		if several && text != "" {
			text = name + ": " + text
		}
		if text != "" {
			notes = append(notes, text)
		}
		for _, p := range a.Points {
			row := []field{c(percent(p.CPUPct)), c(chart.Number(p.Base)), c(chart.Number(p.Other)), c(analyse.Effect{Ratio: p.Ratio, Low: p.Low, High: p.High}.Change())}
			if several {
				row = append([]field{c(name)}, row...)
			}
			t.Rows = append(t.Rows, row)
		}
	}
	out := []block{{Heading: "At equal CPU use"}}
	if len(t.Rows) > 0 {
		out = append(out, b.table(t))
	}
	return append(out, split(notes, visibleLines, "more note")...)
}

func equalCSV(x *analyse.Comparison) []byte {
	f := newSheet("with", "cpu_pct", "base", "other", "ratio", "low", "high", "base_cpus", "other_cpus", "unit", "note")
	for _, a := range x.EqualCPU {
		for _, p := range a.Points {
			f.text(a.Label).num(p.CPUPct, p.Base, p.Other, float64(p.Ratio), float64(p.Low), float64(p.High), float64(a.BaseCPUs), float64(a.OtherCPUs)).text(x.Metric.Name, a.Note).end()
		}
	}
	return f.bytes()
}
