package analyse

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/loadstone-perf/loadstone/internal/stats"
)

// AtCPU compares two sides at equal CPU use of their instances instead of at
// equal load. Between two loads that were measured, throughput is taken to go
// straight with CPU use; beyond them nothing is said.
type AtCPU struct {
	Label string `json:"label"` // the factors that are not the load
	// BaseCPUs and OtherCPUs are what the instances of each side may use: CPU
	// use is in percent of that. Absent where not known.
	BaseCPUs  Number `json:"base_cpus"`
	OtherCPUs Number `json:"other_cpus"`
	// From and To bound the CPU use, in percent, that both sides measured.
	From   Number     `json:"from_pct"`
	To     Number     `json:"to_pct"`
	Points []EqualCPU `json:"points,omitempty"` // at every tenth of the CPU inside
	Note   string     `json:"note,omitempty"`   // a warning, or why there are no points
}

// EqualCPU is the throughput of both sides at one CPU use. The interval is 95 %
// over blocks: Student's t on the logarithm, with a bootstrap's variance.
type EqualCPU struct {
	CPUPct float64 `json:"cpu_pct"`
	Base   float64 `json:"base"`
	Other  float64 `json:"other"`
	Ratio  Number  `json:"ratio"`
	Low    Number  `json:"low"`
	High   Number  `json:"high"`
}

// curveOf is one side's throughput over CPU use: for each load, what each
// block gave.
type curveOf struct {
	blocks []int
	loads  []map[int][2]float64 // CPU use in percent and throughput, by block
	cpus   float64
}

// equalCPU compares the matches of each combination of factors but the load
// and the one called without, which is what is compared.
func equalCPU(base *Study, matches []match, without string) []AtCPU {
	knob := ""
	if base.Curve != nil {
		knob = base.Curve.Knob
	}
	if knob == "" {
		return nil
	}
	var order []string
	sides := map[string]*[2]curveOf{}
	for _, m := range matches {
		label := withoutTwo(base.Cells[m.cells[0]], knob, without)
		if sides[label] == nil {
			sides[label], order = &[2]curveOf{}, append(order, label)
		}
		for side := range m.trials {
			sides[label][side].add(m.trials[side])
		}
	}
	var out []AtCPU
	for _, label := range order {
		s := sides[label]
		if len(s[0].loads) < 2 || len(s[1].loads) < 2 {
			continue // one load is no curve
		}
		out = append(out, atCPU(label, s[0], s[1]))
	}
	return out
}

// add adds a load with its trials, where their CPU use is known.
func (c *curveOf) add(trials []*Trial) {
	of := map[int][2]float64{}
	for _, t := range trials {
		r, known := resource(t.Usage, instanceCPU)
		if !known || !(t.Throughput > 0) {
			continue
		}
		of[t.Block] = [2]float64{r.Value, t.Throughput}
		if !slices.Contains(c.blocks, t.Block) {
			c.blocks = append(c.blocks, t.Block)
		}
		if c.cpus = nan(); t.CPUs.OK() {
			c.cpus = float64(t.CPUs)
		}
	}
	if len(of) > 0 {
		c.loads = append(c.loads, of)
	}
}

// rising are the points of the mean curve, block i taken times[i] times, by
// rising CPU use as far as throughput rises with it: beyond the peak a CPU use
// would have two throughputs. Every load must be in a block that was taken.
func (c curveOf) rising(times []int) (out [][2]float64) {
	for _, of := range c.loads {
		var sum [2]float64
		n := 0.0
		for i, b := range c.blocks {
			if v, there := of[b]; there {
				w := float64(times[i])
				sum[0], sum[1], n = sum[0]+w*v[0], sum[1]+w*v[1], n+w
			}
		}
		if n == 0 {
			return nil
		}
		out = append(out, [2]float64{sum[0] / n, sum[1] / n})
	}
	slices.SortFunc(out, func(a, b [2]float64) int { return cmp.Compare(a[0], b[0]) })
	for i := 1; i < len(out); i++ {
		if out[i][1] <= out[i-1][1] {
			return out[:i]
		}
	}
	return out
}

// logAt is the logarithm of throughput at a CPU use; NaN beyond the ends by more
// than a hundredth of the use.
func logAt(points [][2]float64, cpu float64) float64 {
	n := len(points)
	if n < 2 || cpu < points[0][0]*0.99 || cpu > points[n-1][0]*1.01 {
		return nan()
	}
	i := 1
	for i < n-1 && points[i][0] < cpu {
		i++
	}
	a, b := points[i-1], points[i]
	return math.Log(a[1] + (b[1]-a[1])*(cpu-a[0])/(b[0]-a[0]))
}

func atCPU(label string, base, other curveOf) AtCPU {
	out := AtCPU{Label: label, BaseCPUs: Number(base.cpus), OtherCPUs: Number(other.cpus), From: Absent(), To: Absent()}
	x, y := base.rising(slices.Repeat([]int{1}, len(base.blocks))), other.rising(slices.Repeat([]int{1}, len(other.blocks)))
	if len(x) < 2 || len(y) < 2 {
		out.Note = "no two loads at which throughput still rises with CPU use"
		return out
	}
	from, to := max(x[0][0], y[0][0]), min(x[len(x)-1][0], y[len(y)-1][0])
	if from > to {
		out.Note = fmt.Sprintf("the sides share no CPU use: %s to %s against %s to %s; nothing is extrapolated", percent(x[0][0]), percent(x[len(x)-1][0]), percent(y[0][0]), percent(y[len(y)-1][0]))
		return out
	}
	out.From, out.To = Number(from), Number(to)
	for cpu := 10 * math.Ceil(from/10); cpu <= to; cpu += 10 {
		out.Points = append(out.Points, equalAt(cpu, base, other, logAt(x, cpu), logAt(y, cpu)))
	}
	if len(out.Points) == 0 { // the middle of what both have
		cpu := math.Round((from + to) / 2)
		if cpu < from || cpu > to {
			cpu = (from + to) / 2
		}
		out.Points = append(out.Points, equalAt(cpu, base, other, logAt(x, cpu), logAt(y, cpu)))
	}
	if base.cpus != other.cpus && !math.IsNaN(base.cpus+other.cpus) {
		out.Note = fmt.Sprintf("equal parts of unequal budgets: %s CPUs against %s", figure(base.cpus), figure(other.cpus))
	}
	return out
}

func equalAt(cpu float64, base, other curveOf, x, y float64) EqualCPU {
	out := EqualCPU{CPUPct: cpu, Base: math.Exp(x), Other: math.Exp(y), Ratio: Number(math.Exp(y - x)), Low: Absent(), High: Absent()}
	var parts []stats.Part
	for _, c := range []curveOf{base, other} {
		src := stats.Random(uint64(len(c.blocks)))
		_, v := stats.BootstrapVariance(len(c.blocks), &src, func(times []int) float64 {
			// A draw may end a little before the mean curve does.
			p := c.rising(times)
			if n := len(p); n > 1 {
				return logAt(p, min(max(cpu, p[0][0]), p[n-1][0]))
			}
			return nan()
		})
		parts = append(parts, stats.Part{Variance: v, DF: float64(len(c.blocks) - 1)})
	}
	r := stats.RatioOf(y-x, parts, confidence, 0)
	out.Low, out.High = Number(r.Low), Number(r.High)
	return out
}
