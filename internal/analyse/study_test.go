package analyse

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/record"
	"pgregory.net/rapid"
)

func must(t *testing.T, study record.Study, trials []raw) *Study {
	t.Helper()
	s, err := result(study, trials)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func closeTo(t *testing.T, what string, got, want, relative float64) {
	t.Helper()
	if !(math.Abs(got-want) <= relative*math.Abs(want)) {
		t.Errorf("%s is %g, want %g within %g", what, got, want, relative)
	}
}

func TestStudyOfKnownTruthIsFoundAgain(t *testing.T) {
	study, trials := usual().study(3, 1, 2, 4, 8, 16, 32)
	s := must(t, study, trials)
	t.Log(s.Answer)
	if !s.Valid {
		t.Fatalf("invalid: %q", s.Invalid)
	}
	if len(s.Cells) != 6 || len(s.Trials) != 18 {
		t.Fatalf("%d cells and %d trials", len(s.Cells), len(s.Trials))
	}
	for i, n := range []float64{1, 2, 4, 8, 16, 32} {
		c := s.Cells[i]
		closeTo(t, c.Label, c.Throughput.Value, 60*usual().throughput(n), 0.02)
		if c.Throughput.N != 3 || !c.Throughput.Low.OK() || c.Throughput.Method != "Student's t, 95 %" {
			t.Errorf("%s: %+v", c.Label, c.Throughput)
		}
		if len(c.Types) != 4 || c.Types[3].Type != "order" {
			t.Fatalf("%s: types %+v", c.Label, c.Types)
		}
		closeTo(t, "browses to orders", float64(c.Types[1].Count)/float64(c.Types[3].Count), 2, 1e-9)
	}
	// The law peaks at √(0.9/0.01) = 9.49.
	if s.Peak != 3 || s.Cells[s.Peak].Label != "users = 8" {
		t.Errorf("peak is cell %d", s.Peak)
	}
	line := s.Curve.Lines[0]
	closeTo(t, "σ", line.Model.Sigma, 0.1, 0.15)
	closeTo(t, "κ", line.Model.Kappa, 0.01, 0.1)
	closeTo(t, "peak of the law", float64(line.Model.PeakN), 9.487, 0.03)
	if line.Knee == nil || *line.Knee != 8 {
		t.Errorf("knee %v: %s", line.Knee, line.Saturation)
	}
	if s.Limit.Resource != "CPU" {
		t.Errorf("limit %+v", s.Limit)
	}
	for _, want := range []string{"PostgreSQL 15.18", "orders a minute", "95 % interval", "3 repeats", "at 8 users", "saturates at about 8 users", "95 %"} {
		if !strings.Contains(s.Answer, want) {
			t.Errorf("answer %q lacks %q", s.Answer, want)
		}
	}
	if s.Trials[0].Cell != 0 || s.Trials[6].Cell != 1 {
		t.Errorf("trials belong to cells %d and %d, want 0 and 1", s.Trials[0].Cell, s.Trials[6].Cell)
	}
	if s.Metric.Short != "OPM" || s.Factors[0] != "users" {
		t.Errorf("metric %+v, factors %q", s.Metric, s.Factors)
	}
}

func TestFactsShowTheBeginningOfAFingerprintAndTrialsTheWhole(t *testing.T) {
	const whole = "0123456789abcdef0123456789abcdef"
	study, trials := usual().study(1, 4)
	trials[0].trial.Instances[0].Golden.Fingerprint = whole
	s := must(t, study, trials)
	if s.Trials[0].Golden != whole {
		t.Errorf("the trial has %q", s.Trials[0].Golden)
	}
	for _, f := range s.System {
		if strings.Contains(f.Value, "fingerprint") && !strings.HasSuffix(f.Value, "fingerprint 0123456789ab") {
			t.Errorf("%s: %s", f.Name, f.Value)
		}
	}
}

func TestStudyIsJSONWhateverIsMissing(t *testing.T) {
	study, trials := usual().study(2, 1, 2)
	bare := func(i int) {
		trials[i].host, trials[i].driver, trials[i].cgroup, trials[i].database, trials[i].waits = record.Counters{}, record.Counters{}, nil, nil, nil
	}
	bare(0)
	for k := range trials[1].intervals[0] { // nothing but rolled-back work
		for j := range trials[1].intervals[0][k].Types {
			x := &trials[1].intervals[0][k].Types[j]
			x.RolledBack, x.Committed = x.Committed, 0
		}
	}
	trials[2].intervals[0] = nil
	trials[3] = raw{trial: record.Trial{Planned: study.Plan[3]}, missing: true}
	s := must(t, study, trials)
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back Study
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if back.Answer != s.Answer || len(back.Trials) != 4 || back.Cells[0].Types[0].P[4].Percentile != 99.9 {
		t.Errorf("came back as %+v", back)
	}
	if s.Trials[2].Counts || s.Cells[0].Throughput.N+s.Cells[1].Throughput.N != 2 {
		t.Errorf("a trial without intervals counts: %+v, %+v", s.Cells[0].Throughput, s.Cells[1].Throughput)
	}
	if s.Valid {
		t.Error("valid although a trial measured nothing and its driver is not known")
	}
}

func TestAnswerBeginsWithInvalidAndTheReason(t *testing.T) {
	study, trials := usual().study(2, 4, 8)
	trials[1].trial.Instances[0].Checks[0].Passed = false
	s := must(t, study, trials)
	if s.Valid || !strings.HasPrefix(s.Answer, "INVALID: trial 2 (users = 8): checks:") {
		t.Errorf("answer %q", s.Answer)
	}
	if !strings.Contains(s.Answer, "What was measured: PostgreSQL") {
		t.Errorf("answer %q hides what was measured", s.Answer)
	}
	if !strings.Contains(s.Answer, s.Measured) || !strings.HasPrefix(s.Measured, "PostgreSQL") || strings.Contains(s.Measured, "limits it") {
		t.Errorf("measured %q", s.Measured)
	}
	if len(s.Invalid) != 1 || s.Cells[1].Throughput.N != 2 {
		t.Errorf("reasons %q, estimate %+v", s.Invalid, s.Cells[1].Throughput)
	}
}

func TestTrialsThatDidNotFinishAreListedAndDoNotCount(t *testing.T) {
	study, trials := usual().study(3, 4, 8)
	trials[0].trial.Status, trials[0].trial.Reason = record.Failed, "the disk is full"
	trials[5] = raw{trial: record.Trial{Planned: study.Plan[5]}, missing: true}
	s := must(t, study, trials)
	if s.Cells[0].Throughput.N != 2 || s.Trials[0].Counts || s.Trials[0].Status != "failed" || s.Trials[5].Status != "never begun" {
		t.Errorf("cell %+v, trials %+v, %+v", s.Cells[0].Throughput, s.Trials[0], s.Trials[5])
	}
	if !s.Valid {
		t.Errorf("invalid for trials that do not count: %q", s.Invalid)
	}
	all := strings.Join(s.Notes, "\n")
	for _, want := range []string{"users = 4: 1 of 3 repeats", "trial 1 (users = 4) is failed: the disk is full", "1 trial of the plan never begun"} {
		if !strings.Contains(all, want) {
			t.Errorf("notes %q lack %q", all, want)
		}
	}
}

func TestNothingFinishedIsSaid(t *testing.T) {
	study, trials := usual().study(1, 4, 8)
	for i := range trials {
		trials[i].trial.Status = record.Aborted
	}
	for _, s := range []*Study{must(t, study, trials), must(t, record.Study{}, nil)} {
		if s.Valid || s.Peak != -1 || s.Answer != "INVALID: no trial finished and measured something." {
			t.Errorf("peak %d, answer %q", s.Peak, s.Answer)
		}
		if _, err := json.Marshal(s); err != nil {
			t.Error(err)
		}
	}
}

func TestEstimateUsesTheMethodOfItsNumberOfRepeats(t *testing.T) {
	for _, c := range []struct {
		xs        []float64
		value     float64
		low, high float64 // 0: none
		method    string
	}{
		{nil, 0, 0, 0, "not measured"},
		{[]float64{5}, 5, 0, 0, "one repeat: no interval"},
		{[]float64{4, 6}, 5, 5 - 12.7062047362, 5 + 12.7062047362, "Student's t, 95 %"},
		{[]float64{6, 1, 2, 5, 4, 3}, 3.5, 1, 6, "median, 96.9 %"},
	} {
		e := estimate(c.xs)
		if e.Value != c.value || e.Method != c.method || e.N != len(c.xs) {
			t.Errorf("%v gives %+v", c.xs, e)
		}
		if e.Low.OK() != (c.low != 0) || e.Low.OK() && (math.Abs(float64(e.Low)-c.low) > 1e-6 || math.Abs(float64(e.High)-c.high) > 1e-6) {
			t.Errorf("%v gives %+v, want %g to %g", c.xs, e, c.low, c.high)
		}
	}
}

func TestOrderOfRepeatsChangesNothing(t *testing.T) {
	study, trials := usual().study(4, 2, 8)
	want := must(t, study, trials)
	var runs []run
	for _, r := range trials {
		one, err := analysed(r, study)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, one)
	}
	rapid.Check(t, func(t *rapid.T) {
		order := rapid.Permutation([]int{0, 1, 2, 3, 4, 5, 6, 7}).Draw(t, "order")
		other, mixed := study, make([]run, len(trials))
		other.Plan = nil
		for i, k := range order {
			mixed[i] = runs[k]
			other.Plan = append(other.Plan, study.Plan[k])
		}
		got := assemble(other, mixed)
		for i := range want.Cells {
			a, b := want.Cells[i], got.Cells[i]
			if math.Abs(a.Throughput.Value-b.Throughput.Value) > 1e-6 || math.Abs(float64(a.Throughput.Low-b.Throughput.Low)) > 1e-6 {
				t.Fatalf("throughput %+v became %+v", a.Throughput, b.Throughput)
			}
			for k := range a.Types {
				for p := range a.Types[k].P {
					x, y := a.Types[k].P[p], b.Types[k].P[p]
					if x != y && (x.Ms.OK() || y.Ms.OK()) {
						t.Fatalf("%s: %+v became %+v", a.Types[k].Type, x, y)
					}
				}
			}
		}
	})
}

func TestThroughputScalesWithTheWork(t *testing.T) {
	study, trials := usual().study(2, 4, 8)
	once := must(t, study, trials)
	for _, r := range trials {
		for i := range r.intervals[0] {
			for k := range r.intervals[0][i].Types {
				r.intervals[0][i].Types[k].Committed *= 3
			}
		}
	}
	thrice := must(t, study, trials)
	for i := range once.Cells {
		closeTo(t, "three times the work", thrice.Cells[i].Throughput.Value, 3*once.Cells[i].Throughput.Value, 1e-12)
		closeTo(t, "its interval", float64(thrice.Cells[i].Throughput.High), 3*float64(once.Cells[i].Throughput.High), 1e-9)
	}
}

// What the data stand for belongs to the configuration at the peak.
func TestPeakIsSetAgainstWhatTheDataStandFor(t *testing.T) {
	study, trials := usual().study(1, 4)
	if s := must(t, study, trials); s.Nominal != nil {
		t.Errorf("a workload that states no figure has %+v", s.Nominal)
	}
	w := &trials[0].trial.Workload
	w.Metric.Nominal, w.Metric.Beside, w.Params = 120, []string{"size"}, map[string]string{"size": "7", "mode": "x"}
	s := must(t, study, trials)
	if s.Nominal == nil || s.Nominal.Value != 120 || len(s.Nominal.Params) != 1 || s.Nominal.Params[0] != (Fact{"size", "7"}) {
		t.Fatalf("nominal is %+v", s.Nominal)
	}
	closeTo(t, "the share", s.Nominal.SharePct, 100*s.Cells[s.Peak].Throughput.Value/120, 1e-12)
	trials[0].trial.Instances[0].Params = map[string]string{"size": "8"}
	if s := must(t, study, trials); s.Nominal != nil {
		t.Errorf("instances of different sizes have one nominal figure: %+v", s.Nominal)
	}
}

func TestRollbacksCountWhereTheMetricSaysSo(t *testing.T) {
	study, trials := usual().study(1, 4)
	for i := range trials[0].intervals[0] {
		trials[0].intervals[0][i].Types[3].RolledBack = trials[0].intervals[0][i].Types[3].Committed / 4
	}
	without := must(t, study, trials).Cells[0].Throughput.Value
	trials[0].trial.Workload.Metric.WithRollbacks = true
	with := must(t, study, trials).Cells[0].Throughput.Value
	closeTo(t, "with rollbacks", with, 1.25*without, 1e-3)
}

func TestInstancesAddUp(t *testing.T) {
	study, trials := usual().study(1, 4)
	one := must(t, study, trials)
	r := &trials[0]
	r.intervals = append(r.intervals, r.intervals[0])
	r.cgroup = append(r.cgroup, r.cgroup[0])
	r.trial.Instances = append(r.trial.Instances, r.trial.Instances[0])
	r.trial.Instances[1].Name = "instance-2"
	two := must(t, study, trials)
	closeTo(t, "throughput", two.Cells[0].Throughput.Value, 2*one.Cells[0].Throughput.Value, 1e-12)
	if a, b := one.Cells[0].Types[3].Count, two.Cells[0].Types[3].Count; b != 2*a {
		t.Errorf("%d orders of one instance, %d of two", a, b)
	}
	a, _ := resource(one.Cells[0].Usage, instanceCPU)
	b, _ := resource(two.Cells[0].Usage, instanceCPU)
	closeTo(t, "CPU as a part of what two may use", b.Value, a.Value, 1e-9)
}

func TestFigureRoundsForPeople(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 12338.7: "12,340", 123456789: "123,500,000", 0.05678: "0.0568", 93.27: "93.3", 999.4: "999", 999.96: "1,000", -1234.5: "-1,234", 8: "8", 1e6: "1,000,000",
	} {
		if got := figure(v); got != want && !(v == -1234.5 && got == "-1,235") {
			t.Errorf("%g prints as %q, want %q", v, got, want)
		}
	}
	if got := figure(math.NaN()); got != "unknown" {
		t.Errorf("NaN prints as %q", got)
	}
}

func TestNumberReadsWhatStudiesVary(t *testing.T) {
	for text, want := range map[string]float64{"8": 8, "0.5": 0.5, "256MiB": 256 << 20, "25%": 25, "10s": 10} {
		if got, ok := number(text); !ok || got != want {
			t.Errorf("%q is read as %g, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "on", "NaN", "Inf", "1-2"} {
		if got, ok := number(text); ok {
			t.Errorf("%q is read as the number %g", text, got)
		}
	}
}
