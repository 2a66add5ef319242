package report

import (
	"slices"

	"github.com/loadstone-perf/loadstone/internal/analyse"
	"github.com/loadstone-perf/loadstone/internal/report/figure/chart"
)

// atPeak tells, of a comparison, what each side does at its own best load.
func (b *builder) atPeak(x *analyse.Comparison) []block {
	if len(x.AtPeak) == 0 {
		return nil
	}
	csv := b.addData("at-peak-"+slug(x.Other.Name), peakCSV(x))
	t := table{CSV: csv, Columns: columns("Base at", "Other at", "#Base", "#Other", "#Ratio", "#CPU, base?", "#CPU, other?"),
		Caption: "The most that each side does" + inUnit(x.Metric) + ", each at its own best load: " + x.Other.Name + " ÷ " + x.Base.Name + ", with its 95 % interval."}
	several := slices.ContainsFunc(x.AtPeak, func(a analyse.AtPeak) bool { return a.Label != "" })
	if several {
		t.Columns = append(columns("With"), t.Columns...)
	}
	for _, a := range x.AtPeak {
		ratio := c(num(a.Ratio))
		if a.Low.OK() && a.High.OK() {
			ratio.Detail = num(a.Low) + "–" + num(a.High)
		}
		row := []field{c(a.BaseAt), c(a.OtherAt), c(chart.Number(a.Base)), c(chart.Number(a.Other)), ratio, c(percent(float64(a.BaseCPUPct))), c(percent(float64(a.OtherCPUPct)))}
		if several {
			row = append([]field{c(lineName(a.Label, "everything"))}, row...)
		}
		t.Rows = append(t.Rows, row)
	}
	return []block{{Heading: "Each at its peak"}, b.table(t)}
}

func peakCSV(x *analyse.Comparison) []byte {
	f := newSheet("with", "base_at", "other_at", "base", "other", "ratio", "low", "high", "base_cpu_pct", "other_cpu_pct", "unit")
	for _, a := range x.AtPeak {
		f.text(a.Label, a.BaseAt, a.OtherAt).num(a.Base, a.Other, float64(a.Ratio), float64(a.Low), float64(a.High), float64(a.BaseCPUPct), float64(a.OtherCPUPct)).text(x.Metric.Name).end()
	}
	return f.bytes()
}

// scale is the appendix on how the study's figures were fitted to the machine.
func (b *builder) scale() {
	s := b.s.Scale
	if s == nil {
		return
	}
	t := table{Caption: "The figures of the study file that were scaled from " + s.From + " to " + s.To + ".", CSV: "scale.csv", Columns: columns("Knob", "#In the file", "#Here")}
	for _, v := range s.Values {
		t.Rows = append(t.Rows, []field{c(v.Knob), c(v.Original), c(v.Value)})
	}
	text := "The study is written for " + s.From + " and was scaled to " + s.To + "."
	if s.Data != 1 && s.Data.OK() {
		text += " The data have " + chart.Number(100*float64(s.Data)) + " % of their size."
	}
	if len(t.Rows) == 0 {
		b.section("scale", "Appendix: scaling", block{Text: text + " No figure changed by it."})
		return
	}
	b.data["scale.csv"] = scaleCSV(s)
	b.section("scale", "Appendix: scaling", block{Text: text}, b.table(t))
}

func scaleCSV(s *analyse.Scale) []byte {
	f := newSheet("knob", "in_the_file", "here")
	for _, v := range s.Values {
		f.text(v.Knob, v.Original, v.Value).end()
	}
	return f.bytes()
}
