package analyse

import (
	"slices"
	"strings"
)

// AtPeak compares two sides each at its own best load: the most that either
// does. The best of several loads is a little too good on both sides alike.
type AtPeak struct {
	Label   string  `json:"label"` // the factors that are not the load
	BaseAt  string  `json:"base_at"`
	OtherAt string  `json:"other_at"`
	Base    float64 `json:"base"` // throughput
	Other   float64 `json:"other"`
	// Ratio is Other ÷ Base with its 95 % interval, as an Effect has it.
	Ratio Number `json:"ratio"`
	Low   Number `json:"low"`
	High  Number `json:"high"`
	// BaseCPUPct and OtherCPUPct are what the instances used of their CPUs.
	BaseCPUPct  Number `json:"base_cpu_pct"`
	OtherCPUPct Number `json:"other_cpu_pct"`
}

// atPeaks compares the best loads of each combination of factors but the load
// and the one called without, which is what is compared. Where one load was
// measured there is nothing to choose, and nothing is said.
func atPeaks(base, other *Study, matches []match, without string, paired bool) []AtPeak {
	if base.Curve == nil || !isLoad(base.Curve.Knob) {
		return nil
	}
	var order []string
	of := map[string][]match{}
	for _, m := range matches {
		label := withoutTwo(base.Cells[m.cells[0]], base.Curve.Knob, without)
		if of[label] == nil {
			order = append(order, label)
		}
		of[label] = append(of[label], m)
	}
	var out []AtPeak
	for _, label := range order {
		if len(of[label]) < 2 {
			continue
		}
		b, o := -1, -1
		for _, m := range of[label] {
			b, o = better(base, b, m.cells[0]), better(other, o, m.cells[1])
		}
		if b < 0 || o < 0 {
			continue
		}
		m := matchOf(base, other, b, o, paired)
		together := paired && len(m.trials[0]) == len(base.Cells[b].Trials) && len(m.trials[1]) == len(other.Cells[o].Trials)
		if !together {
			m = matchOf(base, other, b, o, false)
		}
		r := ratioOfMatch(m, together)
		x, y := base.Cells[b], other.Cells[o]
		out = append(out, AtPeak{
			Label: label, BaseAt: loadsOf(x), OtherAt: loadsOf(y), Base: x.Throughput.Value, Other: y.Throughput.Value,
			Ratio: Number(r.Value), Low: Number(r.Low), High: Number(r.High), BaseCPUPct: usedCPU(x), OtherCPUPct: usedCPU(y),
		})
	}
	return out
}

// better is the one of two cells of s with the higher throughput; -1 is none.
func better(s *Study, a, b int) int {
	if t := s.Cells[b].Throughput; t.N == 0 || !(t.Value > 0) || a >= 0 && s.Cells[a].Throughput.Value >= t.Value {
		return a
	}
	return b
}

// withoutTwo labels a cell by its factors but two.
func withoutTwo(c Cell, one, two string) string {
	c.Label = ""
	c.Factors = slices.DeleteFunc(slices.Clone(c.Factors), func(f Factor) bool { return f.Knob == one || f.Knob == two })
	return named(c)
}

// loadsOf labels a cell by its load alone.
func loadsOf(c Cell) string {
	var parts []string
	for _, f := range c.Factors {
		if isLoad(f.Knob) {
			parts = append(parts, f.Knob+" = "+f.Value)
		}
	}
	return strings.Join(parts, ", ")
}

func usedCPU(c Cell) Number {
	if c.CPUPct.N == 0 {
		return Absent()
	}
	return Number(c.CPUPct.Value)
}
