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
		if ofEngine(f.Knob) {
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

// ofEngine says whether a knob is one of the engine's, for all instances or for
// those of a group: "instances.small.engine.settings.work_mem".
func ofEngine(knob string) bool {
	return strings.HasPrefix(knob, "engine.") || strings.HasPrefix(knob, "instances.") && strings.Contains(knob, ".engine.")
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

// saturate finds the knee of a line.
func (l *Line) saturate(cells []Cell, loadOf func(int) float64, knob string) {
	var steps []growthStep
	for _, i := range l.Cells {
		if e := cells[i].Throughput; e.N > 0 && e.Value > 0 {
			steps = append(steps, growthStep{loadOf(i), figure(loadOf(i)), e})
		}
	}
	name, raises := sweptWords(knob)
	if isLoad(knob) {
		name, raises = lastPart(knob), "more load raises"
	}
	l.Knee, l.Saturation = kneeOf(steps, name, raises)
}

// growthStep is one value of what is raised, and the throughput with it.
type growthStep struct {
	value float64
	text  string // of the value
	does  Estimate
}

// kneeOf finds the least step from which on throughput is within 5 % of the
// highest, and says so in words: "at about 8 users: more load raises…". If that is
// the last step, throughput may still grow, and there is none.
func kneeOf(steps []growthStep, name, raises string) (knee *Number, text string) {
	if len(steps) < 2 {
		return nil, "not known: fewer than two were measured"
	}
	x := func(i int) float64 { return steps[i].does.Value }
	top, at := 0, -1
	for i := range steps {
		if x(i) > x(top) {
			top = i
		}
	}
	for i := range steps {
		if at < 0 && x(i) >= x(top)*(1-kneePct/100) {
			at = i
		}
	}
	last := len(steps) - 1
	if at == last {
		text = fmt.Sprintf("not reached: from %s to %s %s throughput still grows by %s", steps[last-1].text, steps[last].text, name, percent(100*(x(last)/x(last-1)-1)))
		if does := steps[last].does; does.Low.OK() && !resolved(steps[last-1].does, does) {
			text += ", which is not resolved by the repeats"
		}
		return nil, text
	}
	n := Number(steps[at].value)
	text = fmt.Sprintf("at about %s %s: %s throughput by no more than %s", steps[at].text, name, raises, percent(100*(x(top)/x(at)-1)))
	if top == at {
		text = fmt.Sprintf("at about %s %s, where throughput is highest", steps[at].text, name)
	}
	if fall := 100 * (1 - x(last)/x(top)); last != top && fall > kneePct {
		text += fmt.Sprintf("; at %s %s it is %s lower", steps[last].text, name, percent(fall))
	}
	if at > 0 && !resolved(steps[at-1].does, steps[top].does) {
		text += fmt.Sprintf("; the difference from %s %s is not resolved by the repeats", steps[at-1].text, name)
	}
	return &n, text
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
