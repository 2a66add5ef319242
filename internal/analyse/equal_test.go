package analyse

import (
	"math"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/stats"
)

// machines is a machine that does 100 orders for each percent of CPU, and one
// that does 80, at loads that use other CPU on each.
func machines(blocks int, sd float64) *Study {
	return grid2("provider", []string{"native", "vm"}, []float64{1, 2, 4, 8}, blocks, sd, func(v int, users float64) (float64, float64) {
		cpu := []float64{10, 11}[v] * users
		return []float64{100, 80}[v] * cpu, cpu
	})
}

func TestEqualCPUIsFoundBetweenTheLoads(t *testing.T) {
	s := machines(6, 0.003)
	got := Within(s, CompareOptions{})
	if len(got) != 1 || len(got[0].EqualCPU) != 1 {
		t.Fatalf("%+v", got)
	}
	a := got[0].EqualCPU[0]
	if a.From != 11 || a.To != 80 || len(a.Points) != 7 || a.Points[0].CPUPct != 20 || a.BaseCPUs != 2 || a.Note != "" {
		t.Errorf("%+v", a)
	}
	for _, p := range a.Points {
		closeTo(t, "base", p.Base, 100*p.CPUPct, 0.08)
		closeTo(t, "ratio", float64(p.Ratio), 0.8, 0.01)
		if !(p.Low < 0.8 && 0.8 < p.High) {
			t.Errorf("at %g %%: %g to %g", p.CPUPct, p.Low, p.High)
		}
	}
	// At equal load the second does 12 % less, at equal CPU use 20 %.
	closeTo(t, "at equal load", float64(got[0].Cells[0].Effects[0].Ratio), 0.88, 0.01)
}

func TestIntervalsAtEqualCPUCoverTheirLevel(t *testing.T) {
	const n = 300
	held := 0
	src := stats.Random(8)
	for range n {
		side := func(factor float64) curveOf {
			c := curveOf{cpus: 2}
			for b := range 5 {
				c.blocks = append(c.blocks, b)
			}
			for _, users := range []float64{1, 2, 4, 8} {
				of := map[int][2]float64{}
				for b := range 5 {
					of[b] = [2]float64{10 * users * (1 + 0.005*gauss(&src)), factor * 1000 * users * math.Exp(0.02*gauss(&src))}
				}
				c.loads = append(c.loads, of)
			}
			return c
		}
		p := equalAtCPU(side(1), side(0.8), 30)
		if p.Low < 0.8 && 0.8 < p.High {
			held++
		}
	}
	if got := float64(held) / n; got < 0.92 || got > 0.99 {
		t.Errorf("%.3f of the intervals hold the ratio", got)
	}
}

// equalAtCPU is the comparison at one CPU use.
func equalAtCPU(base, other curveOf, cpu float64) EqualCPU {
	ones := []int{1, 1, 1, 1, 1}
	return equalAt(cpu, base, other, logAt(base.rising(ones), cpu), logAt(other.rising(ones), cpu))
}

func TestNothingIsSaidBeyondWhatWasMeasured(t *testing.T) {
	apart := grid2("provider", []string{"native", "vm"}, []float64{1, 2}, 3, 0.01, func(v int, users float64) (float64, float64) {
		return 1000 * users, []float64{10, 50}[v] * users
	})
	a := Within(apart, CompareOptions{})[0].EqualCPU[0]
	if len(a.Points) != 0 || !strings.Contains(a.Note, "nothing is extrapolated") || a.From.OK() {
		t.Errorf("no CPU use in common: %+v", a)
	}
	// Beyond the peak more CPU does less: that part is left out.
	falls := grid2("provider", []string{"native", "vm"}, []float64{1, 2, 4}, 3, 0, func(v int, users float64) (float64, float64) {
		return []float64{0, 1000, 2000, 0, 1500}[int(users)], 20 * users
	})
	if a = Within(falls, CompareOptions{})[0].EqualCPU[0]; a.To != 40 || len(a.Points) != 3 {
		t.Errorf("a falling end: %+v", a)
	}
	one := grid2("provider", []string{"native", "vm"}, []float64{1, 2}, 3, 0, func(_ int, users float64) (float64, float64) { return 100 / users, 20 * users })
	if a = Within(one, CompareOptions{})[0].EqualCPU[0]; len(a.Points) != 0 || a.Note == "" {
		t.Errorf("throughput that only falls: %+v", a)
	}
	unequal := machines(3, 0.01)
	for i := range unequal.Trials {
		if unequal.Trials[i].Cell >= 4 {
			unequal.Trials[i].CPUs = 4
		}
	}
	if a = Within(unequal, CompareOptions{})[0].EqualCPU[0]; !strings.Contains(a.Note, "2 CPUs against 4") || a.OtherCPUs != 4 {
		t.Errorf("unequal budgets: %+v", a)
	}
	if got := Within(machines(1, 0), CompareOptions{})[0].EqualCPU[0]; len(got.Points) == 0 || got.Points[0].Low.OK() {
		t.Errorf("one repeat: %+v", got)
	}
}
