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
		if w.Scales {
			title, f = "Speed-up over "+name, b.speedups(w)
		}
		f.CSV = csv
		blocks := []block{b.figure(f)}
		if falls := falls(w); len(falls) > 0 && !w.Scales {
			blocks = append(blocks, split(falls, visibleLines, "more line")...)
		}
		b.section("sweep-"+slug(name), title, append(blocks, b.sweepTable(w, csv))...)
	}
}

// speedups is the figure of speed-up against ideal.
func (b *builder) speedups(w analyse.Sweep) figure {
	d := loadcurve.Data{XLabel: w.Knob, YLabel: "speed-up"}
	var most, least chart.Extent
	for _, l := range w.Lines {
		line := loadcurve.Line{Name: lineName(l.Label, "measured")}
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
		". Bars are 95 % intervals between repeats. Dashed: twice as much does twice as much."}
	return f.both(1, func(width, h float64) string {
		d.Width, d.Height = width, h
		return loadcurve.SVG(d)
	})
}

// sweepCurve is the figure of throughput over a knob.
func (b *builder) sweepCurve(w analyse.Sweep) figure {
	scale, unit := axis(w)
	d := loadcurve.Data{XLabel: w.Knob + unit, YLabel: throughputLabel(b.s.Metric)}
	for _, l := range w.Lines {
		line := loadcurve.Line{Name: lineName(l.Label, "measured")}
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
		", with its best load. Bars are 95 % intervals between repeats. The knee is the value below which throughput falls most; there is none where no fall is more than its interval."}
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

// falls says in words where each line of w falls most.
func falls(w analyse.Sweep) (out []string) {
	for _, l := range w.Lines {
		if l.Fall == nil {
			continue
		}
		text := sentence(l.Fall.String())
		if l.Label != "" {
			text = l.Label + ": " + text
		}
		out = append(out, text)
	}
	return out
}

// sweepTable is the figures behind a sweep.
func (b *builder) sweepTable(w analyse.Sweep, csv string) block {
	t := table{Caption: "Throughput" + inUnit(b.s.Metric) + " by " + w.Knob + ", each value with its best load.", CSV: csv,
		Columns: columns(w.Knob, "At", "#Throughput", "#Interval")}
	if w.Scales {
		t.Columns = append(t.Columns, columns("#Speed-up", "#Ideal", "#Efficiency")...)
	}
	several := slices.ContainsFunc(w.Lines, func(l analyse.SweepLine) bool { return l.Label != "" })
	if several {
		t.Columns = append(columns("With"), t.Columns...)
	}
	for _, l := range w.Lines {
		for _, p := range l.Points {
			row := []field{c(p.Text), c(p.Label), c(chart.Number(p.Throughput.Value)), intervalField(p.Throughput)}
			if w.Scales {
				s := c(num(p.Speedup))
				if p.SpeedupLow < p.SpeedupHigh {
					s.Detail = num(p.SpeedupLow) + "–" + num(p.SpeedupHigh)
				}
				row = append(row, s, c(num(p.Ideal)), c(percent(100*float64(p.Efficiency))))
			}
			if several {
				row = append([]field{c(l.Label)}, row...)
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return b.table(t)
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
		"speedup", "speedup_low", "speedup_high", "ideal", "efficiency")
	for _, l := range w.Lines {
		for _, p := range l.Points {
			e := p.Throughput
			f.text(l.Label, p.Text).num(float64(p.Value)).text(p.Label).num(e.Value, float64(e.Low), float64(e.High)).int(int64(e.N)).text(e.Method, s.Metric.Name)
			f.num(float64(p.Speedup), float64(p.SpeedupLow), float64(p.SpeedupHigh), float64(p.Ideal), float64(p.Efficiency)).end()
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
