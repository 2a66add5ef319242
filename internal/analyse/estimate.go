package analyse

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/stats"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// confidence of every interval between repeats.
const confidence = 0.95

// estimate joins repeats: Student's t of the mean for two to five, the
// distribution-free interval of the median from six on, and no interval for
// one.
func estimate(xs []float64) Estimate {
	out := Estimate{Low: Absent(), High: Absent(), N: len(xs)}
	switch n := len(xs); {
	case n == 0:
		out.Method = "not measured"
	case n == 1:
		out.Value, out.Method = xs[0], "one repeat: no interval"
	case n < 6:
		i := stats.StudentT(xs, confidence)
		out.Value, out.Low, out.High = i.Value, Number(i.Low), Number(i.High)
		out.Method = "Student's t, 95 %"
	default:
		i := stats.MedianInterval(xs, confidence)
		out.Value, out.Low, out.High = i.Value, Number(i.Low), Number(i.High)
		out.Method = fmt.Sprintf("median, %.1f %%", 100*i.Level)
	}
	return out
}

// cells joins the repeats of each configuration, in the order of the study
// file. seed decides the resampling.
func cells(plan []record.Planned, runs []run, seed uint64) []Cell {
	byNumber := map[int][]int{} // runs by number of their cell
	factors := map[int][]record.Factor{}
	for i, r := range runs {
		byNumber[r.planned.Cell] = append(byNumber[r.planned.Cell], i)
	}
	for _, p := range plan {
		factors[p.Cell] = p.Factors
	}
	order := slices.Sorted(maps.Keys(factors))
	out := make([]Cell, 0, len(order))
	for at, n := range order {
		c := cell(factors[n], byNumber[n], runs, seed+uint64(n)*0x9e3779b97f4a7c15)
		for _, i := range byNumber[n] {
			runs[i].Cell = at
		}
		out = append(out, c)
	}
	return out
}

// cell joins the runs of one configuration, which are at the indices.
func cell(factors []record.Factor, indices []int, runs []run, seed uint64) Cell {
	out := Cell{Limit: Limit{Resource: notFound, Summary: "nothing was measured"}}
	for _, f := range factors {
		n, ok := number(f.Value)
		if !ok {
			n = nan()
		}
		out.Factors = append(out.Factors, Factor{f.Knob, f.Value, Number(n)})
	}
	var throughput, cpu []float64
	var used [][]Resource
	var first *run
	var counting []*Trial
	for _, i := range indices {
		r := &runs[i]
		out.Label = r.Label
		if !r.Counts {
			continue
		}
		if first == nil {
			first = r
		}
		out.Trials, counting = append(out.Trials, i), append(counting, &r.Trial)
		throughput = append(throughput, r.Throughput)
		used = append(used, r.Usage)
		if c, ok := resource(r.Usage, instanceCPU); ok {
			cpu = append(cpu, c.Value)
		}
	}
	out.Throughput, out.CPUPct, out.Usage = estimate(throughput), estimate(cpu), meanUsage(used)
	out.Fairness = fairness(counting)
	if first == nil {
		return out
	}
	for k, name := range first.series {
		var repeats []sample
		for _, i := range out.Trials {
			if k < len(runs[i].samples) {
				repeats = append(repeats, runs[i].samples[k])
			}
		}
		out.Types = append(out.Types, latency(name, first.manifest.Workload, repeats, seed+uint64(k)))
	}
	return out
}

// label names a configuration: its factors, or its load where nothing varies.
func label(factors []record.Factor, t record.Trial) string {
	var parts []string
	for _, f := range factors {
		parts = append(parts, f.Knob+" = "+f.Value)
	}
	switch {
	case len(parts) > 0:
	case len(drivesOf(t)) > 1:
		parts = append(parts, offered(t))
	case t.Load.RatePerS > 0:
		parts = append(parts, "rate = "+figure(t.Load.RatePerS)+" a second")
	case t.Load.Users > 0:
		parts = append(parts, "users = "+strconv.Itoa(t.Load.Users))
	default:
		return "the only configuration"
	}
	return strings.Join(parts, ", ")
}

// number reads a knob's value as a number: plain, or a size in bytes, a
// duration in seconds, or a percentage.
func number(text string) (float64, bool) {
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		return n, !math.IsNaN(n) && !math.IsInf(n, 0)
	}
	if b, err := unit.ParseBytes(text); err == nil {
		return float64(b), true
	}
	if p, err := unit.ParsePercent(text); err == nil {
		return p, true
	}
	if d, err := unit.ParseDuration(text); err == nil {
		return d.Seconds(), true
	}
	return 0, false
}

// peak is the index of the cell with the highest throughput, -1 without one.
// Of equals the first counts.
func peak(cells []Cell) int {
	best := -1
	for i, c := range cells {
		if c.Throughput.N > 0 && (best < 0 || cmp.Compare(c.Throughput.Value, cells[best].Throughput.Value) > 0) {
			best = i
		}
	}
	return best
}
