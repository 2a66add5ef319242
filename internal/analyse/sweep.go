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
}

// SweepLine is one line of a Sweep.
type SweepLine struct {
	Label  string       `json:"label"`
	Points []SweepPoint `json:"points"` // by rising value, two at least
	// Fall is the greatest loss of throughput, in percent, from one value to
	// the next smaller one: the knee of what one can do without. nil where
	// throughput falls nowhere by more than its interval.
	Fall *Fall `json:"fall,omitempty"`
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
		w := Sweep{Knob: knob, Scales: lastPart(knob) == "cpus" || lastPart(knob) == "instances"}
		for _, group := range alongside(s.Cells, k) {
			if l := sweepLine(s, k, group.cells, w.Scales); len(l.Points) > 1 {
				l.Label = group.label
				w.Lines = append(w.Lines, l)
			}
		}
		if len(w.Lines) > 0 {
			out = append(out, w)
		}
	}
	return out
}

// isLoad says whether a knob is what the driver offers.
func isLoad(knob string) bool {
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
	for n, i := range order {
		c := s.Cells[i]
		p := SweepPoint{Value: c.Factors[k].Num, Text: c.Factors[k].Value, Label: c.Label, Throughput: c.Throughput,
			Speedup: Absent(), SpeedupLow: Absent(), SpeedupHigh: Absent(), Ideal: Absent(), Efficiency: Absent()}
		if first := s.Cells[order[0]]; scales && first.Factors[k].Num > 0 {
			r := ratioOfCells(s, order[0], i)
			p.Speedup, p.SpeedupLow, p.SpeedupHigh = Number(r.Value), Number(r.Low), Number(r.High)
			if p.Ideal = p.Value / first.Factors[k].Num; n == 0 {
				p.SpeedupLow, p.SpeedupHigh = 1, 1
			}
			p.Efficiency = p.Speedup / p.Ideal
		}
		out.Points = append(out.Points, p)
		if n == 0 {
			continue
		}
		r := ratioOfCells(s, i, order[n-1])
		if f := (Fall{p.Text, out.Points[n-1].Text, Number(100 * (1 - r.Value)), Number(100 * (1 - r.High)), Number(100 * (1 - r.Low))}); f.Low > 0 && (out.Fall == nil || f.Pct > out.Fall.Pct) {
			out.Fall = &f
		}
	}
	return out
}

// ratioOfCells is the throughput of cell b of s to that of a with its
// interval, by block where both have the same blocks.
func ratioOfCells(s *Study, a, b int) stats.Interval {
	m := matchOf(s, s, a, b, true)
	paired := len(m.trials[0]) == len(s.Cells[a].Trials) && len(m.trials[0]) == len(s.Cells[b].Trials)
	if !paired {
		m = matchOf(s, s, a, b, false)
	}
	c := Comparison{Paired: paired, MarginPct: usualMarginPct}
	e, ok := c.throughput(m)
	if !ok {
		return stats.Interval{Value: nan(), Low: nan(), High: nan()}
	}
	return stats.Interval{Value: float64(e.Ratio), Low: float64(e.Low), High: float64(e.High)}
}

// String says in words where a line falls most.
func (f Fall) String() string {
	return fmt.Sprintf("the greatest loss is from %s to %s: %s (%s to %s)", f.From, f.To, percent(float64(f.Pct)), percent(math.Max(0, float64(f.Low))), percent(float64(f.High)))
}
