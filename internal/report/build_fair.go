package report

import (
	"math"

	"github.com/loadstone-perf/loadstone/internal/analyse"
	"github.com/loadstone-perf/loadstone/internal/report/figure/bars"
	"github.com/loadstone-perf/loadstone/internal/report/figure/chart"
)

// fairness is the section on how evenly several instances were served.
func (b *builder) fairness() {
	var of []analyse.Cell
	for _, cell := range b.s.Cells {
		if cell.Fairness != nil {
			of = append(of, cell)
		}
	}
	if len(of) == 0 {
		return
	}
	b.data["fairness.csv"] = fairnessCSV(b.s)
	shown := of[0]
	if p := b.peak(); p != nil && p.Fairness != nil {
		shown = *p
	}
	t := table{Caption: "Fairness between instances by configuration, from throughput divided by what each is entitled to.", CSV: "fairness.csv",
		Columns: columns("Configuration", "#Instances", "#Jain's index", "#Least of mean", "#Variation")}
	for _, cell := range of {
		f := cell.Fairness
		t.Rows = append(t.Rows, []field{c(cell.Label), c(chart.Count(int64(len(f.Instances)))), estimatedUpTo(f.Jain, 1, "", 1), estimatedUpTo(f.MinOfMean, 100, " %", 100), estimated(f.CV, 100, " %")})
	}
	blocks := []block{{Text: "Each instance is entitled to " + entitlement(shown.Fairness) + "."}, b.figure(b.shares(shown)), b.table(t)}
	blocks = append(blocks, b.groupSums(of)...)
	b.section("fairness", "Fairness", append(blocks, block{Aside: "Jain's index is 1 where every instance gets what it is entitled to, and 1 ÷ n where one of n has all. Least of mean is what the worst served instance gets of the mean, and variation the standard deviation in percent of the mean."})...)
}

// entitlement says what each instance of f is entitled to.
func entitlement(f *analyse.Fairness) string {
	switch f.Entitlement {
	case "CPUs":
		return "throughput in proportion to the CPUs that it may use"
	case "CPU shares":
		return "throughput in proportion to its weight (cpu_shares)"
	}
	return "the same throughput"
}

// groupSums is what the groups of instances do together, where there are groups.
func (b *builder) groupSums(of []analyse.Cell) []block {
	t := table{Caption: "Throughput" + inUnit(b.s.Metric) + " of each group of instances: all of them together, one on average, and their part of the whole.", CSV: "groups.csv",
		Columns: columns("Configuration", "Group", "#Instances", "#Together", "#Each", "#Part", "#Entitled to?")}
	for _, cell := range of {
		entitled := 0.0
		for _, g := range cell.Fairness.Groups {
			entitled += g.Entitled
		}
		for _, g := range cell.Fairness.Groups {
			t.Rows = append(t.Rows, []field{c(cell.Label), c(g.Name), c(chart.Count(int64(g.Instances))), estimated(g.Throughput, 1, ""), estimated(g.Each, 1, ""),
				estimated(g.SharePct, 1, " %"), c(percent(100 * g.Entitled / entitled))})
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	b.data["groups.csv"] = groupsCSV(of, b.s.Metric)
	return []block{b.table(t)}
}

func groupsCSV(of []analyse.Cell, m analyse.Metric) []byte {
	f := newSheet("configuration", "group", "instances", "entitled", "throughput", "low", "high", "each", "each_low", "each_high", "share_pct", "share_low", "share_high", "unit")
	for _, cell := range of {
		for _, g := range cell.Fairness.Groups {
			f.text(cell.Label, g.Name).int(int64(g.Instances)).num(g.Entitled)
			for _, e := range []analyse.Estimate{g.Throughput, g.Each, g.SharePct} {
				f.num(e.Value, float64(e.Low), float64(e.High))
			}
			f.text(m.Name).end()
		}
	}
	return f.bytes()
}

// estimated is an estimate times factor, with its interval below it.
func estimated(e analyse.Estimate, factor float64, unit string) field {
	return estimatedUpTo(e, factor, unit, math.Inf(1))
}

// estimatedUpTo is estimated of what can't be more than most: Student's interval
// knows no bounds.
func estimatedUpTo(e analyse.Estimate, factor float64, unit string, most float64) field {
	if e.N == 0 {
		return toned("–", muted)
	}
	f := c(chart.Number(e.Value*factor) + unit)
	if e.Low.OK() && e.High.OK() {
		f.Detail = num(low(e)*factor) + "–" + num(min(float64(e.High)*factor, most))
	}
	return f
}

// shares is the figure of what each instance did.
func (b *builder) shares(cell analyse.Cell) figure {
	d := bars.Data{Label: throughputLabel(b.s.Metric)}
	for _, i := range cell.Fairness.Instances {
		e := i.Throughput
		d.Bars = append(d.Bars, bars.Bar{Name: i.Name, Value: e.Value, Low: float64(e.Low), High: float64(e.High)})
	}
	f := figure{Title: "Throughput of each instance (" + cell.Label + ")", CSV: "fairness.csv",
		Caption: "Throughput" + inUnit(b.s.Metric) + " of each of the instances that ran at once. Thin lines are 95 % intervals between repeats; a bar without one was measured once."}
	return f.both(1, func(w, _ float64) string {
		d.Width = w
		return bars.SVG(d)
	})
}

func fairnessCSV(s *analyse.Study) []byte {
	f := newSheet("configuration", "instance", "entitled", "throughput", "low", "high", "repeats", "unit",
		"jain", "jain_low", "jain_high", "min_of_mean", "min_of_mean_low", "min_of_mean_high", "cv", "cv_low", "cv_high")
	for _, cell := range s.Cells {
		if cell.Fairness == nil {
			continue
		}
		for _, i := range cell.Fairness.Instances {
			e := i.Throughput
			f.text(cell.Label, i.Name).num(i.Entitled, e.Value, float64(e.Low), float64(e.High)).int(int64(e.N)).text(s.Metric.Name)
			for _, e := range []analyse.Estimate{cell.Fairness.Jain, cell.Fairness.MinOfMean, cell.Fairness.CV} {
				f.num(e.Value, float64(e.Low), float64(e.High))
			}
			f.end()
		}
	}
	return f.bytes()
}
