package report

import (
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
		t.Rows = append(t.Rows, []field{c(cell.Label), c(chart.Count(int64(len(f.Instances)))), estimated(f.Jain, 1, ""), estimated(f.MinOfMean, 100, " %"), estimated(f.CV, 100, " %")})
	}
	b.section("fairness", "Fairness", b.figure(b.shares(shown)), b.table(t),
		block{Aside: "Jain's index is 1 where every instance gets what it is entitled to, and 1 ÷ n where one of n has all. Least of mean is what the worst served instance gets of the mean, and variation the standard deviation in percent of the mean."})
}

// estimated is an estimate times factor, with its interval below it.
func estimated(e analyse.Estimate, factor float64, unit string) field {
	if e.N == 0 {
		return toned("–", muted)
	}
	f := c(chart.Number(e.Value*factor) + unit)
	if e.Low.OK() && e.High.OK() {
		f.Detail = num(low(e)*factor) + "–" + num(float64(e.High)*factor)
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
