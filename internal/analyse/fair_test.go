package analyse

import (
	"testing"

	"github.com/loadstone-perf/loadstone/internal/record"
)

func TestFairnessIsAgainstEntitlement(t *testing.T) {
	of := func(xs, entitled []float64) *Trial {
		out := &Trial{}
		for i := range xs {
			out.Parts = append(out.Parts, Part{Name: "instance", Throughput: xs[i], Entitled: entitled[i]})
		}
		return out
	}
	equal := []float64{1, 1, 1, 1}
	for name, c := range map[string]struct {
		xs, entitled    []float64
		jain, least, cv float64
	}{
		"all alike":          {[]float64{50, 50, 50, 50}, equal, 1, 1, 0},
		"one has all":        {[]float64{100, 0, 0, 0}, equal, 0.25, 0, 2},
		"one has half":       {[]float64{100, 100, 100, 50}, equal, 350.0 * 350 / (4 * 32500), 50 / 87.5, 25 / 87.5},
		"as much as allowed": {[]float64{100, 50}, []float64{2, 1}, 1, 1, 0},
	} {
		f := fairness([]*Trial{of(c.xs, c.entitled), of(c.xs, c.entitled)})
		closeTo(t, name+": Jain", f.Jain.Value, c.jain, 1e-9)
		closeTo(t, name+": least", f.MinOfMean.Value, c.least, 1e-9)
		closeTo(t, name+": variation", f.CV.Value, c.cv, 1e-9)
		if f.Jain.N != 2 || len(f.Instances) != len(c.xs) || f.Instances[0].Throughput.Value != c.xs[0] {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if fairness(nil) != nil || fairness([]*Trial{{}}) != nil || fairness([]*Trial{of([]float64{1, 2}, equal), of([]float64{1, 2, 3}, equal)}) != nil {
		t.Error("one instance, or not the same ones, have a fairness")
	}
	if f := fairness([]*Trial{of([]float64{0, 0}, equal)}); f == nil || f.Jain.N != 0 {
		t.Errorf("nothing done: %+v", f)
	}
}

func TestPartsOfATrialAreItsInstances(t *testing.T) {
	study, trials := usual().study(2, 8)
	for k := range trials {
		r := &trials[k]
		r.trial.Instances = append(r.trial.Instances, r.trial.Instances[0])
		r.trial.Instances[1].Name = "instance-2"
		r.trial.Instances[1].Shape = []record.Knob{{Name: "instance.cpus", Effective: "1", Matches: true}}
		half := make([]record.Interval, len(r.intervals[0]))
		for i, row := range r.intervals[0] {
			row.Types = append([]record.Series(nil), row.Types...)
			for j := range row.Types {
				row.Types[j].Committed /= 2
			}
			half[i] = row
		}
		r.intervals = append(r.intervals, half)
	}
	s := must(t, study, trials)
	f := s.Cells[0].Fairness
	if f == nil || len(f.Instances) != 2 || f.Instances[1].Name != "instance-2" || f.Instances[0].Entitled != 2 || f.Instances[1].Entitled != 1 {
		t.Fatalf("%+v", f)
	}
	closeTo(t, "half of the throughput", f.Instances[1].Throughput.Value/f.Instances[0].Throughput.Value, 0.5, 0.001)
	closeTo(t, "the sum", f.Instances[0].Throughput.Value+f.Instances[1].Throughput.Value, s.Cells[0].Throughput.Value, 0.001)
	closeTo(t, "Jain, of halves entitled to halves", f.Jain.Value, 1, 1e-4)
	if s.Trials[0].CPUs != 3 {
		t.Errorf("%v CPUs, want 3", s.Trials[0].CPUs)
	}
}
