package analyse

import (
	"fmt"
	"math"
	"slices"

	"github.com/loadstone-perf/loadstone/internal/stats"
)

const (
	shown = 0.05 // the level at which a difference, or equivalence, is shown
	power = 0.8  // with which more repeats should resolve what is not
)

// contrasted are the percentiles that a comparison looks at.
func contrasted() []float64 { return []float64{50, 95, 99} }

// contrast computes the effects of every match; judge gives the verdicts.
func (c *Comparison) contrast(matches []match, seed uint64) {
	few := 0
	for n, m := range matches {
		src := stats.Random(seed + uint64(n)*0x9e3779b97f4a7c15)
		out := Contrast{Label: m.label, Base: m.cells[0], Other: m.cells[1]}
		if e, ok := c.throughput(m); ok {
			out.Effects = append(out.Effects, e)
			times, left := c.times(m, &src)
			out.Effects = append(out.Effects, times...)
			few += left
		} else {
			c.Notes = append(c.Notes, m.label+": not measured on both sides")
		}
		c.Cells = append(c.Cells, out)
	}
	if few > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("%s left out: fewer than %d samples lie beyond on one side", count(few, "percentile"), beyond))
	}
}

// throughput compares the logarithms of the trials' throughputs: their
// differences by block, or the two means after Welch.
func (c *Comparison) throughput(m match) (Effect, bool) {
	var xs [2][]float64
	for side, trials := range m.trials {
		for _, t := range trials {
			if !(t.Throughput > 0) {
				return Effect{}, false
			}
			xs[side] = append(xs[side], math.Log(t.Throughput))
		}
		if len(trials) == 0 {
			return Effect{}, false
		}
	}
	base, other := stats.Mean(xs[0]), stats.Mean(xs[1])
	e := Effect{Quantity: "throughput", Unit: c.Metric.Name, Base: math.Exp(base), Other: math.Exp(other), MarginPct: c.MarginPct}
	var parts []stats.Part
	if c.Paired {
		diffs := make([]float64, len(xs[0]))
		for i := range diffs {
			diffs[i] = xs[1][i] - xs[0][i]
		}
		parts = []stats.Part{meanPart(diffs)}
	} else {
		parts = []stats.Part{meanPart(xs[0]), meanPart(xs[1])}
	}
	e.compare(other-base, parts, xs)
	return e, true
}

// meanPart is the variance of the mean of xs.
func meanPart(xs []float64) stats.Part {
	n := float64(len(xs))
	return stats.Part{Variance: stats.Variance(xs) / n, DF: n - 1}
}

// compare fills in the ratio with its interval and the tests. seen is what
// each trial gave, for the rank test.
func (e *Effect) compare(log float64, parts []stats.Part, seen [2][]float64) {
	r := stats.RatioOf(log, parts, confidence, e.MarginPct/100)
	e.Ratio, e.Low, e.High = Number(r.Value), Number(r.Low), Number(r.High)
	e.P, e.EquivalenceP = Number(r.P), Number(r.EquivalenceP)
	e.RankP = Number(stats.MannWhitney(seen[0], seen[1]).P)
	e.BaseN, e.OtherN = len(seen[0]), len(seen[1])
	v := 0.0
	for _, p := range parts {
		if !math.IsInf(p.DF, 0) { // what more repeats would not lessen
			v += p.Variance * (p.DF + 1)
		}
	}
	e.sd = math.Sqrt(v)
}

// times compares the percentiles of each type that both sides have, the
// unit's first; left is how many could not be.
func (c *Comparison) times(m match, src stats.Source) (out []Effect, left int) {
	first := m.trials[0][0]
	unit := len(first.transactions()) // what follows them is the unit
	var order []int
	for i := range first.Types {
		order = append(order, (i+unit)%len(first.Types))
	}
	for _, k := range order {
		of, ok := pools(m, first.Types[k].Type)
		if !ok {
			continue
		}
		for _, p := range contrasted() {
			e, ok := c.percentile(of, p, src)
			if !ok {
				left++
				continue
			}
			e.Type, e.unit = first.Types[k].Type, k >= unit
			e.Quantity = fmt.Sprintf("p%g %s", p, e.Type)
			out = append(out, e)
		}
	}
	return out, left
}

// pool is the response times of one type over the trials of a side.
type pool struct {
	all dist
	cum cumulative
	n   int // trials
}

// pools gathers one type of both sides; false where a side has not got it.
func pools(m match, name string) (out [2]pool, ok bool) {
	for side, trials := range m.trials {
		var ds []dist
		for _, t := range trials {
			k := slices.IndexFunc(t.Types, func(l Latency) bool { return l.Type == name })
			if k < 0 || k >= len(t.samples) {
				return out, false
			}
			ds = append(ds, t.samples[k].response)
		}
		out[side] = poolOf(ds)
	}
	return out, true
}

func poolOf(trials []dist) pool { return pool{merge(trials...), newCumulative(trials), len(trials)} }

// log is the logarithm of percentile p of the histograms merged with each
// trial as often as times says.
func (l pool) log(p float64) func(times []int) float64 {
	return func(times []int) float64 { return math.Log(l.cum.at(p, times)) }
}

// each is percentile p of every trial alone, for the rank test.
func (l pool) each(p float64) []float64 {
	out := make([]float64, l.n)
	for i := range out {
		alone := make([]int, l.n)
		alone[i] = 1
		out[i] = l.cum.at(p, alone)
	}
	return out
}

// percentile compares percentile p of the merged histograms. The variance of
// the logarithm comes from a bootstrap over runs, or over blocks where trials
// are paired; parts of their own are the cells of the histograms.
func (c *Comparison) percentile(of [2]pool, p float64, src stats.Source) (Effect, bool) {
	base, other := of[0].all.at(p), of[1].all.at(p)
	if !base.OK() || !other.OK() {
		return Effect{}, false
	}
	e := Effect{Percentile: p, Unit: "ms", Base: float64(base), Other: float64(other), MarginPct: c.PercentileMarginPct}
	parts := []stats.Part{of[0].grain(p), of[1].grain(p)}
	x, y := of[0].log(p), of[1].log(p)
	if c.Paired {
		_, v := stats.BootstrapVariance(of[0].n, src, func(times []int) float64 { return y(times) - x(times) })
		parts = append(parts, stats.Part{Variance: v, DF: float64(of[0].n - 1)})
	} else {
		for side, log := range []func([]int) float64{x, y} {
			_, v := stats.BootstrapVariance(of[side].n, src, log)
			parts = append(parts, stats.Part{Variance: v, DF: float64(of[side].n - 1)})
		}
	}
	e.compare(math.Log(float64(other))-math.Log(float64(base)), parts, [2][]float64{of[0].each(p), of[1].each(p)})
	return e, true
}

// widthAt is the width of the cell that holds percentile p, as a part of its
// upper end.
func (d dist) widthAt(p float64) float64 {
	left := rank(p, d.count())
	for _, b := range d {
		if left -= b.n; left <= 0 {
			return float64(b.high-b.low+1) / float64(b.high)
		}
	}
	return 0
}

// judge gives every effect its verdict. Differences are corrected for their
// number after Holm with weights, named here for ever: half of the level goes
// to throughput, a quarter to the unit's percentiles and a quarter to those of
// the types, so that the headline keeps its power beside dozens of
// percentiles, and the chance of any false difference is 5 %.
func (c *Comparison) judge() {
	var all []*Effect
	for i := range c.Cells {
		for k := range c.Cells[i].Effects {
			all = append(all, &c.Cells[i].Effects[k])
		}
	}
	group := func(e *Effect) int {
		switch {
		case e.Percentile == 0:
			return 0
		case e.unit:
			return 1
		}
		return 2
	}
	var sizes [3]float64
	ps, weights, sum := make([]float64, len(all)), make([]float64, len(all)), 0.0
	for i, e := range all {
		ps[i] = float64(e.P)
		if e.P.OK() {
			sizes[group(e)]++
		}
	}
	for i, e := range all {
		weights[i] = []float64{0.5, 0.25, 0.25}[group(e)] / max(1, sizes[group(e)])
		if e.P.OK() {
			sum += weights[i]
		}
	}
	for i, p := range stats.HolmWeighted(ps, weights) {
		all[i].HolmP = Number(p)
		all[i].conclude(weights[i] / sum)
	}
}

// conclude chooses the verdict. part is the part of the level that the effect
// has by its weight.
func (e *Effect) conclude(part float64) {
	n := min(e.BaseN, e.OtherN)
	switch {
	case e.HolmP <= shown: // false where absent
		e.Verdict, e.Better = Differs, (e.Ratio > 1) == (e.Percentile == 0)
		e.Text = "differs by " + changeText(e.Ratio, e.Low, e.High)
	case e.EquivalenceP <= shown:
		e.Verdict = Same
		e.Text = fmt.Sprintf("same within ±%g %%", e.MarginPct)
	case n < 2:
		e.Verdict, e.MoreRepeats = Unresolved, 2-n
		e.Text = "not resolved: one repeat"
	default:
		e.Verdict, e.MoreRepeats = Unresolved, e.missing(n, part)
		e.Text = fmt.Sprintf("not resolved (+%s)", count(e.MoreRepeats, "repeat"))
		if e.MoreRepeats >= mostMissing {
			e.Text = "not resolved (over 10,000 repeats)"
		}
		if e.MoreRepeats == 0 {
			e.Text = "not resolved"
		}
	}
}

// mostMissing is what stats.RepeatsToResolve says for that many or more.
const mostMissing = 10000

// missing is about how many repeats more than n would show either the
// difference found or equivalence, if the truth is what was found: whichever
// is sooner.
func (e *Effect) missing(n int, part float64) int {
	log := math.Abs(math.Log(float64(e.Ratio)))
	needed := stats.RepeatsToResolve(e.sd, log, shown*part, power)
	if same := stats.RepeatsToResolve(e.sd, math.Log1p(e.MarginPct/100)-log, shown, power); same > 0 && (needed == 0 || same < needed) {
		needed = same
	}
	switch {
	case needed == 0:
		return 0
	case needed >= mostMissing:
		return mostMissing
	}
	return max(1, needed-n)
}
