package analyse

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/stats"
)

// kneePct is how far below a line's highest throughput a load still counts as
// saturated.
const kneePct = 5.0

// curve draws throughput over the load: the users or the rate where one of
// them varies, else the first factor whose values are all numbers. It is nil
// where no factor is one, or has fewer than two values.
func curve(cells []Cell) *Curve {
	k := loadFactor(cells)
	if k < 0 {
		return nil
	}
	out := &Curve{Knob: cells[0].Factors[k].Knob}
	others := independent(cells, k)
	lines := map[string]int{}
	for i, c := range cells {
		var parts []string
		for _, f := range others {
			parts = append(parts, c.Factors[f].Knob+" = "+c.Factors[f].Value)
		}
		name := strings.Join(parts, ", ")
		at, known := lines[name]
		if !known {
			at = len(out.Lines)
			lines[name] = at
			out.Lines = append(out.Lines, Line{Label: name})
		}
		out.Lines[at].Cells = append(out.Lines[at].Cells, i)
	}
	loadOf := func(i int) float64 { return float64(cells[i].Factors[k].Num) }
	for i := range out.Lines {
		l := &out.Lines[i]
		slices.SortStableFunc(l.Cells, func(a, b int) int { return cmp.Compare(loadOf(a), loadOf(b)) })
		l.saturate(cells, loadOf, out.Knob)
	}
	return out
}

// loadFactor is the index of the factor that is the load, or the size that
// takes its place; -1 without one. Settings of the engine are compared, value
// by value, and are no axis, whatever their values look like.
func loadFactor(cells []Cell) int {
	best, bestRank := -1, 0
	if len(cells) == 0 {
		return best
	}
	for k, f := range cells[0].Factors {
		if strings.HasPrefix(f.Knob, "engine.") {
			continue
		}
		values := map[float64]bool{}
		for _, c := range cells {
			if k >= len(c.Factors) || !c.Factors[k].Num.OK() {
				values = nil
				break
			}
			values[float64(c.Factors[k].Num)] = true
		}
		rank := 1
		switch lastPart(f.Knob) {
		case "users":
			rank = 3
		case "rate", "rate_per_s":
			rank = 2
		}
		if len(values) >= 2 && rank > bestRank {
			best, bestRank = k, rank
		}
	}
	return best
}

// independent lists the factors other than k that tell lines apart: not those
// that never vary, and not those that go with the load, having one value for
// each of its values.
func independent(cells []Cell, k int) []int {
	var out []int
	for f := range cells[0].Factors {
		if f == k {
			continue
		}
		with := map[float64]string{}
		tied := true
		for _, c := range cells {
			n := float64(c.Factors[k].Num)
			if v, seen := with[n]; seen && v != c.Factors[f].Value {
				tied = false
				break
			}
			with[n] = c.Factors[f].Value
		}
		if !tied {
			out = append(out, f)
		}
	}
	return out
}

// saturate finds the knee of a line: the least load from which on throughput
// is within 5 % of the line's highest. If that is the greatest load measured,
// throughput may still grow, and there is none.
func (l *Line) saturate(cells []Cell, loadOf func(int) float64, knob string) {
	var there []int
	for _, i := range l.Cells {
		if cells[i].Throughput.N > 0 && cells[i].Throughput.Value > 0 {
			there = append(there, i)
		}
	}
	if len(there) < 2 {
		l.Saturation = "not known: fewer than two loads were measured"
		return
	}
	x := func(i int) float64 { return cells[i].Throughput.Value }
	top := slices.MaxFunc(there, func(a, b int) int { return cmp.Compare(x(a), x(b)) })
	at := slices.IndexFunc(there, func(i int) bool { return x(i) >= x(top)*(1-kneePct/100) })
	knee, last := there[at], there[len(there)-1]
	name := lastPart(knob)
	if knee == last {
		before := there[len(there)-2]
		l.Saturation = fmt.Sprintf("not reached: from %s to %s %s throughput still grows by %s", figure(loadOf(before)), figure(loadOf(last)), name, percent(100*(x(last)/x(before)-1)))
		return
	}
	n := Number(loadOf(knee))
	l.Knee = &n
	l.Saturation = fmt.Sprintf("at about %s %s: more load raises throughput by no more than %s", figure(float64(n)), name, percent(100*(x(top)/x(knee)-1)))
	if top == knee {
		l.Saturation = fmt.Sprintf("at about %s %s, where throughput is highest", figure(float64(n)), name)
	}
	if fall := 100 * (1 - x(last)/x(top)); last != top && fall > kneePct {
		l.Saturation += fmt.Sprintf("; at %s %s it is %s lower", figure(loadOf(last)), name, percent(fall))
	}
	if at > 0 && !resolved(cells[there[at-1]].Throughput, cells[top].Throughput) {
		l.Saturation += fmt.Sprintf("; the difference from %s %s is not resolved by the repeats", figure(loadOf(there[at-1])), name)
	}
}

// resolved says whether the intervals of a and b lie apart: a sign that the
// difference is no accident. Without intervals nothing is resolved.
func resolved(a, b Estimate) bool {
	return a.Low.OK() && b.Low.OK() && (a.High < b.Low || b.High < a.Low)
}

// model fits the Universal Scalability Law to the lines of c with at least
// four loads. It is meaningful for users, CPUs and the like, not for a rate
// that is offered.
func (c *Curve) model(cells []Cell, runs []run, seed uint64) {
	k := loadFactor(cells)
	if strings.HasPrefix(lastPart(c.Knob), "rate") {
		return
	}
	for i := range c.Lines {
		l := &c.Lines[i]
		var loads []stats.Load
		for _, at := range l.Cells {
			load := stats.Load{N: float64(cells[at].Factors[k].Num)}
			for _, t := range cells[at].Trials {
				load.X = append(load.X, runs[t].Throughput)
			}
			if len(load.X) > 0 {
				loads = append(loads, load)
			}
		}
		if len(loads) < 4 {
			continue
		}
		src := stats.Random(seed + uint64(i))
		u := stats.FitUSL(loads, confidence, &src)
		if math.IsNaN(u.R2) {
			continue
		}
		l.Model = &USL{
			Lambda: u.Lambda.Value, Sigma: u.Sigma.Value, Kappa: u.Kappa.Value,
			PeakN: Number(u.PeakN.Value), R2: u.R2, Warning: strings.Join(u.Warnings, "; "),
			LambdaLow: Number(u.Lambda.Low), LambdaHigh: Number(u.Lambda.High),
			SigmaLow: Number(u.Sigma.Low), SigmaHigh: Number(u.Sigma.High),
			KappaLow: Number(u.Kappa.Low), KappaHigh: Number(u.Kappa.High),
			PeakNLow: Number(u.PeakN.Low), PeakNHigh: Number(u.PeakN.High),
		}
	}
}

// growth is by how many percent throughput grows for one percent more load
// near cell i: to the next load of its line, or from the one before where it
// is the last; NaN where neither was measured or the load is not positive.
func (c *Curve) growth(cells []Cell, i int) float64 {
	if c == nil {
		return nan()
	}
	k := loadFactor(cells)
	for _, l := range c.Lines {
		var there []int
		for _, at := range l.Cells {
			if cells[at].Throughput.Value > 0 {
				there = append(there, at)
			}
		}
		at := slices.Index(there, i)
		if at < 0 || len(there) < 2 {
			continue
		}
		a, b := at, at+1
		if b == len(there) {
			a, b = at-1, at
		}
		loads := math.Log(float64(cells[there[b]].Factors[k].Num) / float64(cells[there[a]].Factors[k].Num))
		if loads > 0 && !math.IsInf(loads, 0) {
			return math.Log(cells[there[b]].Throughput.Value/cells[there[a]].Throughput.Value) / loads
		}
	}
	return nan()
}
