package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/analyse"
	"github.com/loadstone-perf/loadstone/internal/report/figure/chart"
	"github.com/loadstone-perf/loadstone/internal/report/figure/loadcurve"
	"github.com/loadstone-perf/loadstone/internal/report/figure/percentiles"
	"github.com/loadstone-perf/loadstone/internal/report/figure/timeline"
)

// Small figures: their size, and from how many trials on each is thinned to
// thinBins means, so that the page of a large study stays small.
const (
	panelWidth, panelHeight = 232, 96
	thinFrom, thinBins      = 60, 80
)

// overTime is the section on throughput second by second.
func (b *builder) overTime() {
	var blocks []block
	if t := b.chosen; t != nil {
		blocks = append(blocks, block{Text: b.whichTrial(t)}, b.figure(b.fullTimeline(t)))
		blocks = append(blocks, b.byType(t)...)
	}
	f := figure{
		Title: "Throughput over time, every trial",
		CSV:   "throughput-over-time.csv",
		Caption: "Throughput" + inUnit(b.s.Metric) + " second by second in each trial" +
			". Grey did not count: warm-up before the window, and what came after it. Trials of one configuration share their scale: lines that differ between repeats are a warning.",
		Panels: b.panels(),
	}
	if len(b.s.Trials) > thinFrom {
		f.Caption += fmt.Sprintf(" Each line is thinned to %d means.", thinBins)
	}
	recorded := slices.ContainsFunc(b.s.Trials, func(t analyse.Trial) bool { _, ok := headline(&t); return ok })
	if recorded {
		b.data["throughput-over-time.csv"] = overTimeCSV(b.all)
		blocks = append(blocks, b.figure(f))
	} else {
		blocks = append(blocks, block{Text: "No trial left a record over time."})
	}
	b.section("time", "Throughput over time", blocks...)
}

// whichTrial says which trial figures over time show.
func (b *builder) whichTrial(t *analyse.Trial) string {
	role := "the last that left a record"
	if b.peak() != nil && t.Counts {
		role = "the median repeat at the peak"
	}
	return fmt.Sprintf("Figures over a single trial show trial %d (%s), %s.", t.Number, t.Label, role)
}

// headline returns the track of t in the headline figure's unit, which is the
// first of the group; false where there is none.
func headline(t *analyse.Trial) (analyse.Track, bool) {
	of := tracks(t, "throughput")
	if len(of) == 0 {
		return analyse.Track{}, false
	}
	return of[0], true
}

// byType shows what else was counted over time: work by type, and errors.
func (b *builder) byType(t *analyse.Trial) []block {
	of := tracks(t, "throughput")
	if len(of) < 2 {
		return nil
	}
	of, idle := quiet(of[1:])
	csv := b.addData("over-time-work", b.trackCSV(t, "throughput"))
	words := groupText{group: "throughput", title: "Work by type", quantity: "done", layout: halves}
	blocks := b.unitFigures(t, words, of, csv)
	if len(idle) > 0 {
		blocks = append(blocks, block{Aside: "At 0 all the time: " + strings.Join(idle, ", ") + "."})
	}
	return blocks
}

// tracks returns the tracks of a group.
func tracks(t *analyse.Trial, group string) (out []analyse.Track) {
	for _, tr := range t.Timeline.Tracks {
		if tr.Group == group {
			out = append(out, tr)
		}
	}
	return out
}

func (b *builder) fullTimeline(t *analyse.Trial) figure {
	d := timeline.Data{YLabel: throughputLabel(b.s.Metric), Seconds: t.Timeline.Seconds, Start: t.Window.Start, End: t.Window.End, Events: happenings(t)}
	if tr, ok := headline(t); ok {
		d.Tracks = []timeline.Track{{Name: tr.Name, Values: tr.Values}}
	}
	d.About = fmt.Sprintf("Throughput over time in trial %d", t.Number)
	steady := map[string]string{
		"steady":            "The window was found steady",
		"not steady":        "No steady state was found",
		"too short to tell": "The window is too short to tell whether it is steady",
	}[steadiness(t.Window)]
	if t.Window.Why != "" {
		steady += " (" + strings.TrimRight(t.Window.Why, ". ") + ")"
	}
	f := figure{CSV: "throughput-over-time.csv",
		Caption: "Throughput second by second. Grey did not count; the dotted rules bound the measured window. " + steady + ".",
		Text:    func(width int) []string { return textSpark(t, width) }}
	return f.both(0.85, func(w, h float64) string {
		d.Width, d.Height = w, h
		return timeline.SVG(d)
	})
}

// panels draws a row of small figures for each configuration.
func (b *builder) panels() (rows []panelRow) {
	for ci, cl := range b.s.Cells {
		var of []*analyse.Trial
		var y, x chart.Extent
		for i := range b.s.Trials {
			if t := &b.s.Trials[i]; t.Cell == ci {
				of = append(of, t)
				x.Add(t.Timeline.Seconds...)
				if tr, ok := headline(t); ok {
					y.Add(tr.Values...)
				}
			}
		}
		if len(of) == 0 {
			continue
		}
		row := panelRow{Label: cl.Label}
		for _, t := range of {
			row.Panels = append(row.Panels, b.panel(t, y.Max, x.Max))
		}
		rows = append(rows, row)
	}
	return rows
}

func (b *builder) panel(t *analyse.Trial, yMax, xMax float64) panel {
	label := fmt.Sprintf("Trial %d, block %d", t.Number, t.Block)
	if t.Status != "finished" {
		label += ": " + t.Status
	} else if !t.Counts {
		label += ": does not count"
	}
	tr, ok := headline(t)
	if len(t.Timeline.Seconds) == 0 || !ok {
		return panel{Label: label}
	}
	d := timeline.Data{
		Width: panelWidth, Height: panelHeight, Small: true, YMax: yMax, XMax: xMax,
		YLabel: b.s.Metric.Name, About: label, Start: t.Window.Start, End: t.Window.End, Seconds: t.Timeline.Seconds,
		Tracks: []timeline.Track{{Name: tr.Name, Values: tr.Values}}, Events: happenings(t),
	}
	if len(b.s.Trials) > thinFrom {
		d.Seconds, d.Tracks = thinned(d.Seconds, d.Tracks)
	}
	return panel{label, timeline.SVG(d)}
}

// thinned replaces each track's values by the means of thinBins equal spans.
func thinned(seconds []float64, of []timeline.Track) ([]float64, []timeline.Track) {
	var span chart.Extent
	span.Add(seconds...)
	layers := make([][]float64, len(of))
	for i, t := range of {
		layers[i] = t.Values
	}
	xs, means, _ := chart.Bin(seconds, layers, 0, span.Max, thinBins)
	out := make([]timeline.Track, len(of))
	for i, t := range of {
		out[i] = timeline.Track{Name: t.Name, Values: means[i]}
	}
	return xs, out
}

// response is the section on response times.
func (b *builder) response() {
	peak := b.peak()
	if peak == nil {
		b.section("response", "Response times", block{Text: "No trial counts, so there are no response times to show."})
		return
	}
	b.data["response-times.csv"] = responseCSV(b.s)
	blocks := b.responseTables(*peak)
	if slices.ContainsFunc(peak.Types, func(l analyse.Latency) bool { return len(l.Curve) > 0 }) {
		b.data["percentiles.csv"] = spectrumCSV(*peak)
		blocks = append(blocks, b.figure(b.spectrum(*peak)))
	}
	if b.s.Curve != nil {
		if f, ok := b.overLoad(b.s.Curve); ok {
			blocks = append(blocks, b.figure(f))
		}
	}
	if b.chosen != nil {
		blocks = append(blocks, b.groupFigures(b.chosen, "response")...)
	}
	b.section("response", "Response times", blocks...)
}

// servicePercentile is beside which the service time stands.
const servicePercentile = 99

// responseTables are the response times by transaction type, what was done of
// each, and what each does.
func (b *builder) responseTables(peak analyse.Cell) []block {
	at := " by transaction type at the peak (" + peak.Label + "), over the windows of all its repeats together."
	unit, _ := unitOf(peak.Types)
	if n := len(peak.Types); n > 0 && unit.Type != peak.Types[n-1].Type {
		at += " The metric counts " + unit.Type + "."
	} else {
		at += " The unit of work is the last row."
	}
	times := table{Caption: "Response time in ms" + at + " Service p99 is without what work waited before it began.", CSV: "response-times.csv", Columns: columns("Transaction", "#Mean?")}
	work := table{Caption: "Work done" + at, CSV: "response-times.csv",
		Columns: columns("Transaction", "#Count", "#Per second", "#Rolled back", "#Retries", "#Errors")}
	for _, q := range unit.P {
		times.Columns = append(times.Columns, column{Name: fmt.Sprintf("p%g", q.Percentile), Numeric: true})
		if q.Percentile == servicePercentile {
			times.Columns = append(times.Columns, columns("#Service p99?")...)
		}
	}
	times.Columns = append(times.Columns, columns("#Max?")...)
	limited := slices.ContainsFunc(peak.Types, func(l analyse.Latency) bool { return l.LimitMs > 0 })
	if limited {
		times.Columns = append(times.Columns, columns("#Limit")...)
	}
	var about []term
	for _, l := range peak.Types {
		row := []field{c(l.Type), c(num(l.MeanMs))}
		for _, q := range unit.P {
			row = append(row, quantileField(l, q.Percentile))
			if q.Percentile == servicePercentile {
				row = append(row, c(num(l.ServiceP99Ms)))
			}
		}
		row = append(row, c(num(l.MaxMs)))
		if limited {
			row = append(row, limitField(l))
		}
		times.Rows = append(times.Rows, row)
		errors := c(chart.Count(l.Errors))
		if l.Errors > 0 {
			errors.Tone = bad
		}
		work.Rows = append(work.Rows, []field{c(l.Type), c(chart.Count(l.Count)), c(num(l.PerSecond)), c(chart.Count(l.RolledBack)), c(chart.Count(l.Retries)), errors})
		if l.About != "" {
			about = append(about, term{l.Type, l.About})
		}
	}
	out := []block{b.table(times), b.table(work)}
	if len(about) > 0 {
		out = append(out, block{Heading: "What the transactions do"}, block{Terms: about})
	}
	return out
}

func quantileField(l analyse.Latency, p float64) field {
	q, ok := quantile(l, p)
	if !ok {
		return toned("–", muted)
	}
	f := c(num(q.Ms))
	// The data file has all intervals; here they would hide the figures.
	if p >= 95 && q.LowMs.OK() && q.HighMs.OK() {
		f.Detail = num(q.LowMs) + "–" + num(q.HighMs)
	}
	return f
}

// limitField tells a type's limit, and that it is broken where its percentile
// was measured above it.
func limitField(l analyse.Latency) field {
	if !(l.LimitMs > 0) {
		return toned("–", muted)
	}
	f := c(fmt.Sprintf("p%g ≤ %s", l.LimitP, num(l.LimitMs)))
	if q, ok := quantile(l, l.LimitP); ok && float64(q.Ms) > l.LimitMs {
		f.Text += ", broken"
		f.Tone = bad
	}
	return f
}

func (b *builder) spectrum(peak analyse.Cell) figure {
	var d percentiles.Data
	for _, l := range peak.Types {
		line := percentiles.Line{Name: l.Type}
		for _, pt := range l.Curve {
			line.Points = append(line.Points, [2]float64{float64(pt[0]), float64(pt[1])})
		}
		d.Lines = append(d.Lines, line)
	}
	f := figure{Title: "Response time by percentile at the peak", CSV: "percentiles.csv",
		Caption: "Response time in ms (logarithmic) that a given percentage of the work did not exceed; each further nine is as wide as the last. A line that turns up at the right is a long tail; a step is a second kind of event, such as a checkpoint or a lock wait."}
	return f.both(1, func(w, h float64) string {
		d.Width, d.Height = w, h
		return percentiles.SVG(d)
	})
}

// overLoad shows three percentiles of the unit over load, on the line of the
// curve that holds the peak.
func (b *builder) overLoad(cv *analyse.Curve) (figure, bool) {
	if len(cv.Lines) == 0 {
		return figure{}, false
	}
	line := cv.Lines[0]
	for _, l := range cv.Lines {
		if slices.Contains(l.Cells, b.s.Peak) {
			line = l
		}
	}
	d := loadcurve.Data{XLabel: cv.Knob, YLabel: "response time, ms (logarithmic)", LogY: true}
	name := "the unit of work"
	for _, p := range []float64{50, 95, 99} {
		l := loadcurve.Line{Name: fmt.Sprintf("p%g", p)}
		for _, i := range line.Cells {
			u, ok := unitOf(b.s.Cells[i].Types)
			q, seen := quantile(u, p)
			if !ok || !seen || !measured(b.s.Cells[i]) {
				continue
			}
			name = u.Type
			if u.LimitMs > 0 {
				d.LimitY, d.LimitLabel = u.LimitMs, fmt.Sprintf("limit of p%g", u.LimitP)
			}
			l.Points = append(l.Points, loadcurve.Point{X: load(b.s.Cells[i], cv.Knob), Y: float64(q.Ms), Low: float64(q.LowMs), High: float64(q.HighMs)})
		}
		d.Lines = append(d.Lines, l)
	}
	f := figure{Title: "Response time over load", CSV: "response-times.csv",
		Caption: "Response time of " + name + " in ms (logarithmic) at the 50th, 95th and 99th percentile for each load. Past saturation more load only waits longer: throughput stays, and these lines climb."}
	if line.Label != "" {
		f.Title += " (" + line.Label + ")"
	}
	return f.both(1, func(w, h float64) string {
		d.Width, d.Height = w, h
		return loadcurve.SVG(d)
	}), true
}
