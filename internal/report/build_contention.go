package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/analyse"
	"github.com/loadstone-perf/loadstone/internal/report/figure/chart"
	"github.com/loadstone-perf/loadstone/internal/report/figure/scatter"
)

// waitWords are how a kind of waiting is told: what it is, and what waits.
func waitWords(of analyse.Contention) (means, what string) {
	switch of.Kind {
	case "co-stop":
		return "held back so that the virtual CPUs of one machine stay together", "virtual CPUs"
	case "steal":
		return "what the guest itself saw of CPU time that it was not given", "virtual CPUs"
	case "throttled":
		return "held back by the instance's own CPU limit", "CPUs"
	}
	if of.Source == "cgroup run_delay_s" {
		return "tasks that could run, but had no CPU", "tasks"
	}
	return "virtual CPUs that could run, but had no CPU of the machine", "virtual CPUs"
}

// mostGroups bounds the configurations of one scatter: more colours can't be
// told apart.
const mostGroups = 8

// contention is the section on what waiting for CPUs does to response times,
// where several instances share them.
func (b *builder) contention() {
	var blocks []block
	var never []string
	var seen []analyse.Contention
	for _, of := range b.s.Contention {
		if slices.ContainsFunc(of.Cells, func(c analyse.Contended) bool { return c.Mean.Value > 0 }) {
			seen = append(seen, of)
		} else {
			never = append(never, of.Kind+" ("+of.Source+")")
		}
	}
	for _, of := range seen {
		seconds := b.addData("contention-"+slug(of.Kind)+"-seconds", waitedSecondsCSV(b.all, of))
		csv := b.addData("contention-"+slug(of.Kind), contentionCSV(b.s, of))
		if len(seen) > 1 {
			blocks = append(blocks, block{Heading: firstUpper(of.Kind)})
		}
		blocks = append(blocks, b.figure(b.contentionFigure(of, seconds)))
		if of.Between.OK() {
			blocks = append(blocks, block{Text: fmt.Sprintf("Over the windows of all instances of all trials (%d), the rank correlation of waiting and p99 is %s.", of.Points, signedNumber(float64(of.Between)))})
		}
		blocks = append(blocks, b.contentionTable(of, csv))
	}
	switch {
	case len(blocks) == 0 && len(never) == 0:
		return
	case len(blocks) == 0:
		b.section("contention", "Waiting for CPUs and response times", block{Text: "It was recorded how long instances waited for CPUs, and they never did: " + strings.Join(never, ", ") + "."})
		return
	case len(never) > 0:
		blocks = append(blocks, block{Aside: "Recorded, and 0 all the time: " + strings.Join(never, ", ") + "."})
	}
	blocks = append(blocks, block{Aside: "Spearman's rank correlation is 1 where response times always rise with waiting, −1 where they always fall, and near 0 where the one says nothing of the other. Seconds follow each other and instances run side by side: it describes, and proves no cause."})
	b.section("contention", "Waiting for CPUs and response times", blocks...)
}

// contentionFigure draws p99 against waiting: small points are seconds, large
// ones whole windows of an instance.
func (b *builder) contentionFigure(of analyse.Contention, csv string) figure {
	means, what := waitWords(of)
	d := scatter.Data{XLabel: fmt.Sprintf("%s: %s that wait, mean", of.Kind, what), YLabel: "p99, ms (logarithmic)", LogY: true}
	cells := b.contended(of)
	for _, i := range cells {
		d.Groups = append(d.Groups, b.cloud(i, of))
	}
	f := figure{Title: firstUpper(of.Kind) + " against the 99th percentile", CSV: csv,
		Caption: fmt.Sprintf("%s: %s (%s). A small point is one second of one instance, a large one the whole window of one instance in one trial. Points that rise to the right say that waiting for CPUs is what makes the slow transactions slow.",
			firstUpper(of.Kind), means, of.Source)}
	if len(cells) < len(of.Cells) {
		f.Caption += fmt.Sprintf(" Of %d configurations, %d are shown; the data has all.", len(of.Cells), len(cells))
	}
	return f.both(1, func(w, h float64) string {
		d.Width, d.Height = w, h
		return scatter.SVG(d)
	})
}

// contended are the cells that a figure shows, an even choice where there are
// many.
func (b *builder) contended(of analyse.Contention) (out []int) {
	var all []int
	for i := range b.s.Cells {
		if len(b.waits(i, of)) > 0 {
			all = append(all, i)
		}
	}
	for n := range min(len(all), mostGroups) {
		out = append(out, all[n*len(all)/min(len(all), mostGroups)])
	}
	return out
}

// seenWait is a Waited with its trial.
type seenWait struct {
	analyse.Waited
	trial *analyse.Trial
}

// waits are what the trials of cell i that count waited of a kind.
func (b *builder) waits(i int, of analyse.Contention) (out []seenWait) { return waitsIn(b.s, i, of) }

func waitsIn(s *analyse.Study, cell int, of analyse.Contention) (out []seenWait) {
	for _, t := range s.Cells[cell].Trials {
		if t < 0 || t >= len(s.Trials) {
			continue
		}
		for _, w := range s.Trials[t].Waited {
			if w.Source == of.Source {
				out = append(out, seenWait{w, &s.Trials[t]})
			}
		}
	}
	return out
}

// cloud is the points of cell i.
func (b *builder) cloud(i int, of analyse.Contention) scatter.Group {
	g := scatter.Group{Name: b.s.Cells[i].Label}
	for _, w := range b.waits(i, of) {
		n := min(len(w.Each), len(w.EachP99))
		g.X, g.Y = append(g.X, w.Each[:n]...), append(g.Y, w.EachP99[:n]...)
		if w.Mean.OK() && w.P99Ms.OK() {
			g.Marks = append(g.Marks, scatter.Mark{X: float64(w.Mean), Y: float64(w.P99Ms),
				Tip: fmt.Sprintf("%s, trial %d, %s: %s ms with %s waiting", g.Name, w.trial.Number, w.Instance, num(w.P99Ms), num(w.Mean))})
		}
	}
	return g
}

// contentionTable is the figures by configuration.
func (b *builder) contentionTable(of analyse.Contention, csv string) block {
	_, what := waitWords(of)
	t := table{Caption: fmt.Sprintf("%s by configuration: %s of an instance that wait on average, the 99th percentile of an instance, and their rank correlation over the seconds of a trial; means over a trial's instances, with intervals between repeats.", firstUpper(of.Kind), what), CSV: csv,
		Columns: columns("Configuration", "#Waiting", "#p99, ms", "#Rank correlation", "#Repeats?")}
	for _, cell := range of.Cells {
		rank := toned("–", muted)
		if cell.Rank.N > 0 {
			rank = c(signedNumber(cell.Rank.Value))
			if cell.Rank.Low.OK() && cell.Rank.High.OK() {
				rank.Detail = signedNumber(max(-1, float64(cell.Rank.Low))) + " to " + signedNumber(min(1, float64(cell.Rank.High)))
			}
		}
		t.Rows = append(t.Rows, []field{c(cell.Label), estimated(cell.Mean, 1, ""), estimated(cell.P99Ms, 1, ""), rank, c(chart.Count(int64(cell.Mean.N)))})
	}
	return b.table(t)
}

// signedNumber prints a correlation with its sign and two decimals.
func signedNumber(v float64) string {
	switch text := fmt.Sprintf("%.2f", math.Abs(v)); {
	case math.IsNaN(v):
		return "–"
	case text == "0.00":
		return text
	case v < 0:
		return "−" + text
	default:
		return "+" + text
	}
}

func contentionCSV(s *analyse.Study, of analyse.Contention) []byte {
	f := newSheet("configuration", "trial", "instance", "kind", "source", "mean_waiting", "p99_ms", "rank_correlation")
	for i := range s.Cells {
		for _, w := range waitsIn(s, i, of) {
			f.text(s.Cells[i].Label).int(int64(w.trial.Number)).text(w.Instance, w.Kind, w.Source).num(float64(w.Mean), float64(w.P99Ms), float64(w.Rank)).end()
		}
	}
	return f.bytes()
}

func waitedSecondsCSV(s *analyse.Study, of analyse.Contention) []byte {
	f := newSheet("configuration", "trial", "instance", "kind", "second", "waiting", "p99_ms")
	for i := range s.Cells {
		for _, w := range waitsIn(s, i, of) {
			for k := range slices.Min([]int{len(w.Seconds), len(w.Each), len(w.EachP99)}) {
				f.text(s.Cells[i].Label).int(int64(w.trial.Number)).text(w.Instance, w.Kind).num(w.Seconds[k], w.Each[k], w.EachP99[k]).end()
			}
		}
	}
	return f.bytes()
}
