package analyse

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/stats"
)

// Sweep is throughput over a numeric factor that is not the load: CPUs,
// memory, the size of a cache, the number of instances. Where the load varies
// too, each value stands with its best load.
type Sweep struct {
	Knob string `json:"knob"`
	// Scales says that twice as much should do twice as much: CPUs and
	// instances. Speed-up and efficiency are told only there.
	Scales bool        `json:"scales"`
	Lines  []SweepLine `json:"lines"` // one for each combination of the other factors
	// Published are the series of published throughputs over the knob.
	Published []PublishedLine `json:"published,omitempty"`
	Remarks   []Remark        `json:"remarks,omitempty"` // what was said of single values, in words
}

// SweepLine is one line of a Sweep.
type SweepLine struct {
	Label  string       `json:"label"`
	Points []SweepPoint `json:"points"` // by rising value, two at least
	// Fall is the steepest loss of throughput from one value to the next smaller
	// one, for what is saved: the knee of what one can do without. nil where
	// throughput falls nowhere by more than its interval.
	Fall *Fall `json:"fall,omitempty"`
	// Knee is the least value whose throughput is within 5 % of the line's
	// highest, nil where that is the greatest value; Saturation says it in words.
	Knee       *Number `json:"knee,omitempty"`
	Saturation string  `json:"saturation"`
}

// SweepPoint is one value of a Sweep.
type SweepPoint struct {
	Value      Number   `json:"value"`
	Text       string   `json:"text"`  // as the study has it: "512MiB"
	Label      string   `json:"label"` // of the configuration with the best load
	Throughput Estimate `json:"throughput"`
	// Speedup is the ratio to the throughput of the least value with its 95 %
	// interval, by block where both were measured in the same blocks; Ideal is
	// the ratio of the values, and Efficiency their quotient. Absent where the
	// knob does not scale, or a side has one repeat (the interval).
	Speedup     Number `json:"speedup"`
	SpeedupLow  Number `json:"speedup_low"`
	SpeedupHigh Number `json:"speedup_high"`
	Ideal       Number `json:"ideal"`
	Efficiency  Number `json:"efficiency"`
	// Step is the ratio to the throughput of the value before, with its interval
	// as that of Speedup; absent for the first.
	Step     Number `json:"step"`
	StepLow  Number `json:"step_low"`
	StepHigh Number `json:"step_high"`
	// P99Ms is that of what the metric counts, and HostCPUPct the use of the
	// machine.
	P99Ms      Number `json:"p99_ms"`
	HostCPUPct Number `json:"host_cpu_pct"`
	// OfData is the memory that the instances may use as a part of their
	// databases; absent where memory is not what is swept, or either not known.
	OfData Number `json:"of_data"`
}

// Fall is a loss of throughput between two neighbouring values.
type Fall struct {
	From string `json:"from"` // the larger value
	To   string `json:"to"`
	Pct  Number `json:"pct"`
	Low  Number `json:"low"` // 95 % interval of Pct
	High Number `json:"high"`
}

// sweeps finds the numeric factors of s that are not the load.
func sweeps(s *Study) []Sweep {
	var out []Sweep
	for k, knob := range s.Factors {
		if isLoad(knob) || len(numbersOf(s.Cells, k)) < 2 {
			continue
		}
		w := Sweep{Knob: knob, Scales: !ofEngine(knob) && (lastPart(knob) == "cpus" || lastPart(knob) == "instances")}
		for _, group := range alongside(s.Cells, k) {
			if l := sweepLine(s, k, group.cells, w.Scales); len(l.Points) > 1 {
				l.Label = group.label
				w.Lines = append(w.Lines, l)
			}
		}
		if len(w.Lines) > 0 {
			w.publishedOver(s)
			out = append(out, w)
		}
	}
	return out
}

// isLoad says whether a knob is what the driver offers. A setting of the engine
// is none, whatever it is called.
func isLoad(knob string) bool {
	if ofEngine(knob) {
		return false
	}
	switch lastPart(knob) {
	case "users", "rate", "rate_per_s", "connections":
		return true
	}
	return false
}

// numbersOf are the distinct values of factor k; none where one is no number.
func numbersOf(cells []Cell, k int) []float64 {
	var out []float64
	for _, c := range cells {
		if k >= len(c.Factors) || !c.Factors[k].Num.OK() {
			return nil
		}
		if n := float64(c.Factors[k].Num); !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

type group struct {
	label string
	cells []int
}

// alongside groups the cells by their factors other than k and the load.
func alongside(cells []Cell, k int) []group {
	var out []group
	for i, c := range cells {
		var parts []string
		for _, f := range independent(cells, k) {
			if !isLoad(c.Factors[f].Knob) {
				parts = append(parts, c.Factors[f].Knob+" = "+c.Factors[f].Value)
			}
		}
		label := strings.Join(parts, ", ")
		at := slices.IndexFunc(out, func(g group) bool { return g.label == label })
		if at < 0 {
			at, out = len(out), append(out, group{label: label})
		}
		out[at].cells = append(out[at].cells, i)
	}
	return out
}

// sweepLine takes the best cell of each value of factor k among cells.
func sweepLine(s *Study, k int, cells []int, scales bool) SweepLine {
	best := map[float64]int{}
	for _, i := range cells {
		c := s.Cells[i]
		n := float64(c.Factors[k].Num)
		if at, seen := best[n]; c.Throughput.N > 0 && c.Throughput.Value > 0 && (!seen || c.Throughput.Value > s.Cells[at].Throughput.Value) {
			best[n] = i
		}
	}
	var order []int
	for _, i := range best {
		order = append(order, i)
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(s.Cells[a].Factors[k].Num, s.Cells[b].Factors[k].Num) })
	var out SweepLine
	var steps []growthStep
	steepest := 0.0
	for n, i := range order {
		p := sweepPoint(s, k, order, n, scales)
		out.Points = append(out.Points, p)
		steps = append(steps, growthStep{float64(p.Value), p.Text, p.Throughput})
		if n == 0 {
			continue
		}
		r := ratioOfCells(s, i, order[n-1])
		f := Fall{p.Text, out.Points[n-1].Text, Number(100 * (1 - r.Value)), Number(100 * (1 - r.High)), Number(100 * (1 - r.Low))}
		if steep := steepness(r.Value, float64(p.Value), float64(out.Points[n-1].Value)); f.Low > 0 && (out.Fall == nil || steep > steepest) {
			out.Fall, steepest = &f, steep
		}
	}
	name, raises := sweptWords(s.Factors[k])
	out.Knee, out.Saturation = kneeOf(steps, name, raises)
	return out
}

// steepness is what a ratio of throughputs loses for what is saved: by how many
// percent throughput falls for one percent less, from one value to a smaller
// one. Steps of unequal size can be told apart by it.
func steepness(ratio, from, to float64) float64 {
	if saved := math.Log(from / to); saved > 0 && !math.IsInf(saved, 0) {
		return -math.Log(ratio) / saved
	}
	return 1 - ratio // to nothing
}

// sweptWords are how the values of a knob are spoken of, "8 instances" or
// "512MiB of memory", and what more of them does.
func sweptWords(knob string) (name, raises string) {
	switch last := lastPart(knob); last {
	case "cpus":
		return "CPUs", "more CPUs raise"
	case "instances":
		return last, "more instances raise"
	default:
		return "of " + last, "more raises"
	}
}

// sweepPoint is the n-th of the cells order, which go by rising factor k.
func sweepPoint(s *Study, k int, order []int, n int, scales bool) SweepPoint {
	c, first := s.Cells[order[n]], s.Cells[order[0]]
	p := SweepPoint{Value: c.Factors[k].Num, Text: c.Factors[k].Value, Label: c.Label, Throughput: c.Throughput,
		Speedup: Absent(), SpeedupLow: Absent(), SpeedupHigh: Absent(), Ideal: Absent(), Efficiency: Absent(),
		Step: Absent(), StepLow: Absent(), StepHigh: Absent(), P99Ms: Absent(), HostCPUPct: Absent(), OfData: Absent()}
	if scales && first.Factors[k].Num > 0 {
		r := ratioOfCells(s, order[0], order[n])
		p.Speedup, p.SpeedupLow, p.SpeedupHigh = Number(r.Value), Number(r.Low), Number(r.High)
		if p.Ideal = p.Value / first.Factors[k].Num; n == 0 {
			p.SpeedupLow, p.SpeedupHigh = 1, 1
		}
		p.Efficiency = p.Speedup / p.Ideal
	}
	if n > 0 {
		r := ratioOfCells(s, order[n-1], order[n])
		p.Step, p.StepLow, p.StepHigh = Number(r.Value), Number(r.Low), Number(r.High)
	}
	p.P99Ms = quantileOf(s.headlined(c), 99).Ms
	if r, known := resource(c.Usage, hostCPU); known {
		p.HostCPUPct = Number(r.Value)
	}
	if lastPart(s.Factors[k]) == "memory" && len(c.Trials) > 0 {
		if t := s.Trials[c.Trials[0]]; t.MemoryBytes > 0 && t.DatabaseBytes > 0 {
			p.OfData = Number(float64(t.MemoryBytes) / float64(t.DatabaseBytes))
		}
	}
	return p
}

// headlined is the type that the metric counts, at c: the last, which is the unit
// of work, where that is not known.
func (s *Study) headlined(c Cell) Latency {
	name := ""
	if len(c.Trials) > 0 && s.Trials[c.Trials[0]].about != nil {
		name = s.Trials[c.Trials[0]].about.Workload.Metric.Series
	}
	for _, l := range c.Types {
		if l.Type == name {
			return l
		}
	}
	if n := len(c.Types); n > 0 {
		return c.Types[n-1]
	}
	return Latency{MeanMs: Absent()}
}

// quantileOf is percentile p of l; all of it is absent where l lacks it.
func quantileOf(l Latency, p float64) Quantile {
	for _, q := range l.P {
		if q.Percentile == p {
			return q
		}
	}
	return Quantile{p, Absent(), Absent(), Absent()}
}

// ratioOfCells is the throughput of cell b of s to that of a with its
// interval, by block where both have the same blocks.
func ratioOfCells(s *Study, a, b int) stats.Interval {
	m := matchOf(s, s, a, b, true)
	paired := len(m.trials[0]) == len(s.Cells[a].Trials) && len(m.trials[0]) == len(s.Cells[b].Trials)
	if !paired {
		m = matchOf(s, s, a, b, false)
	}
	return ratioOfMatch(m, paired)
}

// ratioOfMatch is the throughput of the second side of m to that of the first;
// all NaN where one did nothing.
func ratioOfMatch(m match, paired bool) stats.Interval {
	c := Comparison{Paired: paired, MarginPct: usualMarginPct}
	e, ok := c.throughput(m)
	if !ok {
		return stats.Interval{Value: nan(), Low: nan(), High: nan()}
	}
	return stats.Interval{Value: float64(e.Ratio), Low: float64(e.Low), High: float64(e.High)}
}

// String says in words where a line falls most.
func (f Fall) String() string {
	return fmt.Sprintf("the steepest loss is from %s to %s: %s (%s to %s)", f.From, f.To, percent(float64(f.Pct)), percent(math.Max(0, float64(f.Low))), percent(float64(f.High)))
}
