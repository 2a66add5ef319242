package analyse

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/stats"
)

// Published is a value that others printed, and beside it what was measured
// here, where the two can be compared: ratios, percentages and indices can. A
// throughput in the unit of another product or machine can't; of several in one
// series, each is compared as a multiple of the first.
type Published struct {
	Series string `json:"series"`
	Metric string `json:"metric"` // as the study file has it: "host_cpu"
	Name   string `json:"name"`   // in words: "use of the machine's CPUs"
	// Where says in words what the value is of: "instance.cpus = 8", with what
	// stands in the study file where the study was scaled.
	Where string `json:"where"`
	// Printed is the value as it was printed, with its unit or in words.
	Printed string `json:"printed"`
	Source  string `json:"source"`
	// Value is what is compared: what was printed, or the multiple of the value
	// at Base. Bound is "above" or "below" where Value is one. Absent where
	// nothing can be compared.
	Value Number `json:"value"`
	Bound string `json:"bound,omitempty"`
	Base  string `json:"base,omitempty"`
	// Ours is the same of this study, with its 95 % interval where it has one.
	Ours Number `json:"ours"`
	Low  Number `json:"low"`
	High Number `json:"high"`
	Unit string `json:"unit,omitempty"` // of Value and Ours; "" is a ratio or an index
	// Verdict says how the two lie to each other, or why nothing is compared.
	Verdict string `json:"verdict"`
}

// PublishedLine is a series of published throughputs over a knob, to be drawn
// beside what was measured: of published values only the ratios count, so the
// line is drawn through what was measured at its first value.
type PublishedLine struct {
	Series string        `json:"series"`
	Points []PublishedAt `json:"points"` // by rising value, two at least
}

// PublishedAt is one point of a PublishedLine.
type PublishedAt struct {
	X Number `json:"x"`
	// Ratio is to the line's first point, and Y what was measured there times
	// Ratio: of a Sweep that scales the speed-up, else the throughput.
	Ratio  Number `json:"ratio"`
	Y      Number `json:"y"`
	Source string `json:"source"`
}

// Remark is what was said of one value of a knob, in words.
type Remark struct {
	X      Number `json:"x"`
	Text   string `json:"text"`
	Source string `json:"source"`
}

// publishedNames are the metrics in words.
func publishedNames() map[string]string {
	return map[string]string{
		"throughput": "throughput", "response": "mean response time", "instance_cpu": "use of the instances' CPUs", "host_cpu": "use of the machine's CPUs",
		"disk_requests": "disk requests", "disk_latency": "mean disk latency", "fairness": "Jain's index",
	}
}

// publishedHere sets the study's published values against what was measured.
func publishedHere(s *Study) []Published {
	var out []Published
	for _, p := range s.published {
		one := describePublished(p)
		other := slices.ContainsFunc(p.Against, func(a record.Place) bool { return !slices.Contains(s.Factors, a.Knob) })
		switch {
		case p.Says != "":
			one.Verdict = "in words: compare them with the figures"
		case other:
			one.Verdict = "`loadstone compare` sets the two results against each other"
		case len(p.Against) > 0:
			one.ratio(s, p)
		default:
			one.figure(s, p)
		}
		out = append(out, one)
	}
	return out
}

// describePublished is all of p that does not depend on what was measured.
func describePublished(p record.Published) Published {
	out := Published{
		Series: p.Series, Metric: p.Metric, Name: publishedNames()[p.Metric], Where: placesText(p.At), Printed: p.Says, Source: p.Source,
		Value: Absent(), Ours: Absent(), Low: Absent(), High: Absent(),
	}
	if out.Name == "" {
		out.Name = p.Metric + " of the response time"
	}
	if out.Where == "" {
		out.Where = "the study as a whole"
	}
	if len(p.Against) > 0 {
		out.Where += " ÷ " + placesText(p.Against)
	}
	if p.CPUPct > 0 {
		out.Where += fmt.Sprintf(", at %s of the CPUs", percent(p.CPUPct))
	}
	if p.Says == "" {
		out.Printed = strings.TrimSpace(strings.TrimSpace(p.Bound+" ") + " " + plain(p.Value) + " " + p.Unit)
		if len(p.Against) > 0 {
			out.Printed += " ×"
		}
	}
	return out
}

// plain prints a printed value with all its digits.
func plain(v float64) string { return thousands(fmt.Sprint(v)) }

// placesText is a configuration in words; where the study was scaled it says
// what stands in the file.
func placesText(of []record.Place) string {
	var parts []string
	for _, p := range of {
		text := p.Knob + " = " + p.Value
		if p.Stated != "" && p.Stated != p.Value {
			text += " (there " + p.Stated + ")"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// bestAt is the cell with the highest throughput of those at a place, which is
// the whole study where it names nothing; -1 where none was measured.
func bestAt(s *Study, place []record.Place) int {
	best := -1
	for i, c := range s.Cells {
		if isAt(c, place) {
			best = better(s, best, i)
		}
	}
	return best
}

// isAt says whether c has all values of a place.
func isAt(c Cell, place []record.Place) bool {
	for _, p := range place {
		if !slices.ContainsFunc(c.Factors, func(f Factor) bool { return f.Knob == p.Knob && f.Value == p.Value }) {
			return false
		}
	}
	return true
}

const notMeasured = "not measured here"

// ratio compares a ratio of two configurations of s.
func (p *Published) ratio(s *Study, of record.Published) {
	p.Value, p.Bound = Number(of.Value), of.Bound
	a, b := bestAt(s, of.Against), bestAt(s, of.At)
	switch {
	case a < 0 || b < 0:
		p.Verdict = notMeasured
		return
	case of.CPUPct > 0:
		p.take(ratioAtCPU(s, s, of, func(c Cell) bool { return isAt(c, of.Against) }, func(c Cell) bool { return isAt(c, of.At) }))
	case of.Metric == "throughput":
		p.take(ratioOfCells(s, a, b))
	default:
		x, y := metricOf(s, a, of.Metric), metricOf(s, b, of.Metric)
		p.take(stats.Interval{Value: y.Value / x.Value, Low: nan(), High: nan()})
	}
	p.judge()
}

// figure compares a single figure of s.
func (p *Published) figure(s *Study, of record.Published) {
	at := bestAt(s, of.At)
	if at < 0 {
		p.Verdict = notMeasured
		return
	}
	if of.Metric == "throughput" && (s.Scale != nil || !slices.Contains([]string{s.Metric.Short, s.Metric.Name}, of.Unit)) {
		p.multiple(s, of, at)
		return
	}
	e := metricOf(s, at, of.Metric)
	if e.N == 0 {
		p.Verdict = "not recorded here"
		return
	}
	p.Unit = of.Unit
	p.Value, p.Bound = Number(of.Value), of.Bound
	p.take(stats.Interval{Value: e.Value, Low: float64(e.Low), High: float64(e.High)})
	p.judge()
	if of.Unit == "ms" || of.Unit == "/s" {
		p.Verdict = "another machine: not comparable by size"
	}
}

// multiple compares a throughput as a multiple of the first of its series that
// was measured here.
func (p *Published) multiple(s *Study, of record.Published, at int) {
	var series []record.Published // those in the same unit that were measured
	for _, x := range s.published {
		if x.Series == of.Series && x.Metric == of.Metric && x.Unit == of.Unit && x.Bound == "" && x.Says == "" && len(x.Against) == 0 && bestAt(s, x.At) >= 0 {
			series = append(series, x)
		}
	}
	if len(series) < 2 || of.Bound != "" {
		p.Verdict = "another machine and product: not comparable by size"
		return
	}
	first := series[0]
	base := bestAt(s, first.At)
	if base == at {
		p.Verdict = "the series' first value: others are multiples of it"
		return
	}
	p.Base = placesText(first.At)
	p.Value = Number(of.Value / first.Value)
	p.take(ratioOfCells(s, base, at))
	p.judge()
}

func (p *Published) take(i stats.Interval) {
	p.Ours, p.Low, p.High = Number(i.Value), Number(i.Low), Number(i.High)
}

// wideInterval is how wide an interval may be, as a part of its value, for a
// published value inside it to mean that the two agree.
const wideInterval = 0.4

// judge says how Ours lies to Value.
func (p *Published) judge() {
	known := p.Low.OK() && p.High.OK()
	inside := known && p.Low <= p.Value && p.Value <= p.High
	off := percent(math.Abs(100 * (float64(p.Ours/p.Value) - 1)))
	if p.Unit == "%" {
		off = figure(math.Abs(float64(p.Ours-p.Value))) + " points"
	}
	switch {
	case !p.Ours.OK():
		p.Verdict = notMeasured
	case p.Bound != "":
		above := p.Bound == "above"
		agrees := (p.Ours > p.Value) == above
		switch {
		case inside:
			p.Verdict = "not resolved: the bound lies within our interval"
		case !known && agrees:
			p.Verdict = "ours is " + p.Bound + ", without an interval"
		case agrees:
			p.Verdict = "holds here"
		default:
			p.Verdict = "does not hold here"
		}
	case inside && !(p.High-p.Low <= wideInterval*p.Ours):
		p.Verdict = "not resolved: our interval is too wide"
	case inside:
		p.Verdict = "within our interval"
	case p.Value == 0:
		p.Verdict = "no ratio to 0"
	case p.Ours > p.Value:
		p.Verdict = "ours is " + off + " higher"
	case p.Ours < p.Value:
		p.Verdict = "ours is " + off + " lower"
	default:
		p.Verdict = "the same"
	}
	if p.Verdict != notMeasured && p.Bound == "" && !known {
		p.Verdict += ", without an interval"
	}
}

// metricOf is a figure of a cell of s by its name in a study file; N is 0 where it
// was not recorded. Only what is estimated over repeats has an interval.
func metricOf(s *Study, cell int, metric string) Estimate {
	c := s.Cells[cell]
	of := func(v Number) Estimate {
		if !v.OK() {
			return Estimate{Low: Absent(), High: Absent()}
		}
		return Estimate{Value: float64(v), Low: Absent(), High: Absent(), N: len(c.Trials)}
	}
	used := func(name string) Estimate {
		r, known := resource(c.Usage, name)
		if !known {
			return of(Absent())
		}
		return of(Number(r.Value))
	}
	switch metric {
	case "throughput":
		return c.Throughput
	case "instance_cpu":
		return c.CPUPct
	case "host_cpu":
		return used(hostCPU)
	case "disk_requests":
		return used(diskRequests)
	case "disk_latency":
		return used(diskLatency)
	case "fairness":
		if c.Fairness == nil {
			return of(Absent())
		}
		return c.Fairness.Jain
	}
	unit := s.headlined(c)
	if metric == "response" {
		return of(unit.MeanMs)
	}
	var percentile float64
	if _, err := fmt.Sscanf(metric, "p%g", &percentile); err != nil {
		return of(Absent())
	}
	q := quantileOf(unit, percentile)
	e := of(q.Ms)
	e.Low, e.High = q.LowMs, q.HighMs
	return e
}

// ratioAtCPU is the ratio of throughputs at equal use of the CPUs, between the
// loads measured; all NaN where both sides did not measure around it.
func ratioAtCPU(base, other *Study, of record.Published, first, second func(Cell) bool) stats.Interval {
	sides := [2]curveOf{}
	for side, in := range []struct {
		study *Study
		is    func(Cell) bool
	}{{base, first}, {other, second}} {
		for _, c := range in.study.Cells {
			if !in.is(c) {
				continue
			}
			var trials []*Trial
			for _, i := range c.Trials {
				trials = append(trials, &in.study.Trials[i])
			}
			sides[side].add(trials)
		}
	}
	var logs [2]float64
	for i, c := range sides {
		logs[i] = logAt(c.rising(slices.Repeat([]int{1}, len(c.blocks))), of.CPUPct)
	}
	if math.IsNaN(logs[0] + logs[1]) {
		return stats.Interval{Value: nan(), Low: nan(), High: nan()}
	}
	e := equalAt(of.CPUPct, sides[0], sides[1], logs[0], logs[1])
	return stats.Interval{Value: float64(e.Ratio), Low: float64(e.Low), High: float64(e.High)}
}

// publishedBetween are the published ratios of other, or of base, whose sides
// are these two studies: told apart by their providers.
func publishedBetween(base, other *Study, matches []match) []Published {
	b, o := manifestOf(base), manifestOf(other)
	if b == nil || o == nil || len(matches) == 0 {
		return nil
	}
	var out []Published
	for _, p := range other.published {
		if p.Says != "" || !slices.ContainsFunc(p.Against, func(a record.Place) bool { return a.Knob == "provider.name" && a.Value == b.Provider }) {
			continue
		}
		one := describePublished(p)
		one.Value, one.Bound = Number(p.Value), p.Bound
		there := slices.DeleteFunc(slices.Clone(p.At), func(a record.Place) bool { return a.Knob == "provider.name" })
		is := func(c Cell) bool { return isAt(c, there) }
		x, y := bestAt(base, there), bestAt(other, there)
		switch {
		case x < 0 || y < 0:
			one.Verdict = notMeasured
			out = append(out, one)
			continue
		case p.CPUPct > 0:
			one.take(ratioAtCPU(base, other, p, is, is))
		case p.Metric == "throughput":
			one.take(ratioOfMatch(matchOf(base, other, x, y, false), false))
		default:
			one.take(stats.Interval{Value: metricOf(other, y, p.Metric).Value / metricOf(base, x, p.Metric).Value, Low: nan(), High: nan()})
		}
		one.judge()
		out = append(out, one)
	}
	return out
}
