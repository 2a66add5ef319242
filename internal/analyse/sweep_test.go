package analyse

import (
	"fmt"
	"math"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/stats"
)

// grid2 is a study over users and one more knob, in so many blocks, whose
// throughput and CPU use are as given, but for a block's own deviation of 5 %
// and a trial's of sd.
func grid2(knob string, values []string, users []float64, blocks int, sd float64, does func(value int, users float64) (throughput, cpu float64)) *Study {
	s := &Study{Name: "grid", Factors: []string{"users", knob}, Metric: Metric{Name: "orders a minute"}}
	src := stats.Random(6)
	var own []float64
	for range blocks {
		own = append(own, math.Exp(0.05*gauss(&src)))
	}
	for k, v := range values {
		n, ok := number(v)
		if !ok {
			n = nan()
		}
		for _, u := range users {
			c := Cell{Label: fmt.Sprintf("users = %g, %s = %s", u, knob, v), Factors: []Factor{{"users", fmt.Sprint(u), Number(u)}, {knob, v, Number(n)}}}
			var xs []float64
			for b := range blocks {
				x, cpu := does(k, u)
				x *= own[b] * math.Exp(sd*gauss(&src))
				xs = append(xs, x)
				c.Trials = append(c.Trials, len(s.Trials))
				s.Trials = append(s.Trials, Trial{Number: len(s.Trials) + 1, Block: b + 1, Cell: len(s.Cells), Counts: true, Throughput: x, CPUs: 2,
					Usage: []Resource{{instanceCPU, cpu, "%", Number(cpu / 100)}}})
			}
			c.Throughput = estimate(xs)
			s.Cells = append(s.Cells, c)
		}
	}
	s.Curve = curve(s.Cells)
	return s
}

func TestSpeedupIsThatOfTheBestLoads(t *testing.T) {
	cpus := []float64{1, 2, 4}
	s := grid2("instance.cpus", []string{"1", "2", "4"}, []float64{2, 8, 32}, 5, 0.005, func(v int, users float64) (float64, float64) {
		return 1000 * math.Pow(cpus[v], 0.9) * min(1, users/(4*cpus[v])), 90
	})
	w := sweeps(s)
	if len(w) != 1 || !w[0].Scales || w[0].Knob != "instance.cpus" || len(w[0].Lines) != 1 || len(w[0].Lines[0].Points) != 3 {
		t.Fatalf("%+v", w)
	}
	for i, p := range w[0].Lines[0].Points {
		want := math.Pow(cpus[i], 0.9)
		closeTo(t, "speed-up", float64(p.Speedup), want, 0.02)
		closeTo(t, "ideal", float64(p.Ideal), cpus[i], 1e-12)
		closeTo(t, "efficiency", float64(p.Efficiency), want/cpus[i], 0.02)
		// Blocks differ by 5 %; by block the ratio is known far better.
		if i > 0 && !(float64(p.SpeedupLow) < want && want < float64(p.SpeedupHigh) && p.SpeedupHigh/p.SpeedupLow < 1.04) {
			t.Errorf("%s CPUs: speed-up %g to %g, want %g inside", p.Text, p.SpeedupLow, p.SpeedupHigh, want)
		}
	}
	if l := w[0].Lines[0].Points[2].Label; l != "users = 32, instance.cpus = 4" {
		t.Errorf("the best load of four CPUs is %s", l)
	}
}

func TestAKnobsKneeIsItsGreatestFall(t *testing.T) {
	does := []float64{300, 900, 980, 1000}
	s := grid2("engine.settings.shared_buffers", []string{"64MiB", "128MiB", "256MiB", "512MiB"}, []float64{4, 8}, 5, 0.005, func(v int, users float64) (float64, float64) {
		return does[v] * users / 8, 50
	})
	w := sweeps(s)
	if len(w) != 1 || w[0].Scales || len(w[0].Lines) != 1 {
		t.Fatalf("%+v", w)
	}
	f := w[0].Lines[0].Fall
	if f == nil || f.From != "128MiB" || f.To != "64MiB" || !(f.Low < f.Pct && f.Pct < f.High) {
		t.Fatalf("%+v", f)
	}
	closeTo(t, "fall", float64(f.Pct), 66.7, 0.02)
	if p := w[0].Lines[0].Points[0]; p.Speedup.OK() || p.Text != "64MiB" || p.Value != 64<<20 {
		t.Errorf("%+v", p)
	}
	flat := grid2("engine.settings.work_mem", []string{"1MiB", "2MiB", "4MiB"}, []float64{4, 8}, 5, 0.01, func(int, float64) (float64, float64) { return 1000, 50 })
	if got := sweeps(flat); len(got) != 1 || got[0].Lines[0].Fall != nil {
		t.Errorf("nothing falls, but %+v", got)
	}
	for _, none := range []*Study{{}, grid2("engine.settings.commit", []string{"on", "off"}, []float64{1, 2}, 2, 0, func(int, float64) (float64, float64) { return 1, 1 })} {
		if got := sweeps(none); len(got) != 0 {
			t.Errorf("no number to sweep over, but %+v", got)
		}
	}
}

// A trial without blocks in common, and one repeat, give no interval and no
// panic.
func TestSweepsOfOneRepeatHaveNoInterval(t *testing.T) {
	s := grid2("instance.cpus", []string{"1", "2"}, []float64{1, 2}, 1, 0, func(v int, u float64) (float64, float64) { return float64(v+1) * u, 90 })
	p := sweeps(s)[0].Lines[0].Points[1]
	closeTo(t, "speed-up", float64(p.Speedup), 2, 1e-9)
	if p.SpeedupLow.OK() {
		t.Errorf("%+v", p)
	}
}
