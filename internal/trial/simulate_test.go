package trial_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/analyse"
	"github.com/loadstone-perf/loadstone/internal/catalog"
	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/provider/twin"
	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/study"
	"github.com/loadstone-perf/loadstone/internal/trial"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// simulated runs a study whose provider is the twin and returns its directory.
func simulated(t *testing.T, text string) *record.Dir {
	t.Helper()
	dir, err := simulate(t, t.Context(), text, record.Finished, nil)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// simulate runs a study whose trials are to end as want.
func simulate(t *testing.T, ctx context.Context, text string, want record.Status, progress func(trial.Progress)) (*record.Dir, error) {
	t.Helper()
	s, err := study.Parse("x.yaml", []byte("study: x\n"+text), catalog.Known())
	if err != nil {
		t.Fatal(err)
	}
	plan, err := study.NewPlan(s)
	if err != nil {
		t.Fatal(err)
	}
	model, err := twin.New(s.Base.Provider.Params)
	if err != nil {
		t.Fatal(err)
	}
	var planned []record.Planned
	for _, p := range plan.Trials {
		planned = append(planned, record.Planned{Trial: p.Number, Block: p.Block, Cell: p.Cell + 1, Factors: []record.Factor{}, Seed: p.Seed, Dir: p.Dir})
	}
	dir, err := record.Create(filepath.Join(t.TempDir(), "r"), record.Study{Name: "x", Simulated: true, Plan: planned, Limits: record.Limits{ErrorsPct: 1}}, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	seq := trial.Sequence{
		Bench: &trial.Bench{Clock: clock.Real{}, Provider: model, Simulated: true, CPUs: trial.ModelCPUs(model.Model().Host), Progress: progress},
		Plan:  plan, Dir: dir,
		Began: func(record.Planned) {},
		Done: func(p record.Planned, status record.Status, err error) {
			if status != want {
				t.Errorf("trial %d: %s: %v", p.Trial, status, err)
			}
		},
	}
	for _, k := range catalog.Workloads() {
		if k.Name == s.Base.Workload.Name {
			seq.Kind = k
		}
	}
	for _, e := range catalog.Engines() {
		if e.Name == s.Base.Engine.Name {
			seq.Bench.Engine = e.New()
		}
	}
	return dir, seq.Run(ctx, planned)
}

const twoOnTheModel = `workload: {name: dvdstore, size: 50MB}
engine: {name: postgres, settings: {shared_buffers: 25%}}
provider: {name: twin, host: r920, like: libvirt}
instances:
  small: {count: 2, users: 4, instance: {cpus: 1}}
  large: {count: 1, users: 6, instance: {cpus: 4, memory: 2GiB}}
instance: {memory: 1GiB}
run: {ramp: 1s, warmup: 1s, measure: 4s, repeats: 1}
`

// The record of a simulated trial is one that the analysis reads and believes,
// and says what it is.
func TestASimulatedTrialLeavesAWholeRecord(t *testing.T) {
	dir := simulated(t, twoOnTheModel)
	readers, err := dir.Trials()
	if err != nil {
		t.Fatal(err)
	}
	r := readers[0]
	if m := r.Trial; !m.Simulated || m.Provider != "twin" || m.Engine.Version != "" || len(m.Instances) != 3 || m.Phases.MeasureEnd != 6 ||
		!slices.ContainsFunc(m.Instances[2].Warnings, func(w string) bool { return strings.HasPrefix(w, "not calibrated") }) {
		t.Errorf("manifest %+v", m)
	}
	if text, err := os.ReadFile(filepath.Join(dir.Path(), "trials", r.Trial.Dir, "host.yaml")); err != nil || !strings.Contains(string(text), "host: r920") {
		t.Errorf("the host file is not in the record: %v", err)
	}
	for i, inst := range r.Trial.Instances {
		cpus := []float64{1, 1, 4}[i]
		users := []float64{4, 4, 6}[i]
		rows, err := r.Intervals(i + 1)
		if err != nil || len(rows) != 6 {
			t.Fatalf("%s: %d intervals: %v", inst.Name, len(rows), err)
		}
		for k, total := range inst.Totals {
			var got record.Series
			busy := 0.0
			for s, row := range rows {
				got.Committed += row.Types[k].Committed
				got.RolledBack += row.Types[k].RolledBack
				if s >= 2 {
					busy += float64(row.Types[k].ResponseSum) / 1e6
				}
			}
			if got.Committed != total.Committed || got.RolledBack != total.RolledBack || total.Committed == 0 {
				t.Errorf("%s: %s adds up to %+v, counted %+v", inst.Name, total.Type, got, total)
			}
			if total.Type == "order" && math.Abs(busy/4-users) > 0.02*users {
				t.Errorf("%s: orders take up %.3f of %g users", inst.Name, busy/4, users)
			}
		}
		c, err := r.Counters(fmt.Sprintf("instance-%d/domain", i+1))
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for _, name := range []string{"vcpu_run_s", "vcpu_ready_s", "vcpu_costop_s", "vcpu_idle_s"} {
			v := c.Column(name)
			sum += v[len(v)-1]
		}
		if math.Abs(sum-6*cpus) > 0.01 {
			t.Errorf("%s: its %g processors have accounts of %.3f s in 6 s", inst.Name, cpus, sum)
		}
		states, err := r.States(fmt.Sprintf("instance-%d/waits", i+1))
		if err != nil || !slices.Contains(states.Names, "CPU") || !slices.Contains(states.Names, "Log:commit") {
			t.Errorf("%s: states %q: %v", inst.Name, states.Names, err)
		}
	}
	result, err := analyse.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !result.Valid || !result.Simulated || !strings.HasPrefix(result.Answer, "SIMULATED: ") {
		t.Errorf("valid: %v %q, answer %q", result.Valid, result.Invalid, result.Answer)
	}
}

func TestASimulatedTrialRepeats(t *testing.T) {
	files := []string{"host.csv", "model.csv", "instance-1/series.csv", "instance-3/series.csv", "instance-2/domain.csv", "instance-2/waits.csv"}
	var first []string
	for range 2 {
		dir := simulated(t, twoOnTheModel)
		var texts []string
		for _, f := range files {
			text, err := os.ReadFile(filepath.Join(dir.Path(), "trials", dir.Study().Plan[0].Dir, f))
			if err != nil || len(text) < 500 {
				t.Fatalf("%s has %d bytes: %v", f, len(text), err)
			}
			texts = append(texts, string(text))
		}
		if first != nil && !slices.Equal(texts, first) {
			t.Error("the same seed gave another record")
		}
		first = texts
	}
}

// Measuring ends by itself on the model as on a machine.
func TestASimulatedTrialMeasuresUntilItIsPrecise(t *testing.T) {
	dir := simulated(t, `workload: {name: dvdstore, size: 10MB}
engine: {name: postgres}
provider: {name: twin, host: r920}
users: 4
run: {warmup: 1s, measure: {min: 8s, max: 60s, precision: 3%}, repeats: 1}
`)
	readers, err := dir.Trials()
	if err != nil {
		t.Fatal(err)
	}
	rows, err := readers[0].Intervals(1)
	if end := readers[0].Trial.Phases.MeasureEnd; err != nil || float64(len(rows)) != end || end < 9 || end > 30 {
		t.Errorf("%d intervals, measured until %g s: %v", len(rows), end, err)
	}
}

func TestWhatTheModelOfATrialLacksIsRefusedByName(t *testing.T) {
	const head = "study: x\nworkload: {name: dvdstore}\nengine: {name: postgres}\nprovider: {name: twin, host: r920}\n"
	for text, knob := range map[string]string{
		"users: 8\n":                                "",
		"rate: 10/s\nconnections: 4\n":              "",
		"users: 8\nconnections: 4\n":                "connections",
		"users: 8\ndriver: {cpus: 1}\n":             "driver",
		"users: 8\nrun: {measure: 1500ms}\n":        "run",
		"users: 8\nprofile: [{for: 2s, load: 50%}]": "profile",
		"instances: 3\ninstance: {memory: 500GiB}":  "instance.memory",
	} {
		s, err := study.Parse("x.yaml", []byte(head+text), catalog.Known())
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		file, _, err := twin.Read("r920")
		if err != nil {
			t.Fatal(err)
		}
		got := trial.Unmodelled(s.Base, file.Host)
		if knob == "" && len(got) > 0 || knob != "" && (len(got) != 1 || got[0].Knob != knob) {
			t.Errorf("%q: %+v, want %q", text, got, knob)
		}
	}
	settings := strings.Replace(head, "postgres}", "postgres, settings: {work_mem: 4MB, shared_buffers: 1GB}}", 1)
	s, err := study.Parse("x.yaml", []byte(settings), catalog.Known())
	if err != nil {
		t.Fatal(err)
	}
	file, _, _ := twin.Read("r920")
	if got := trial.Unmodelled(s.Base, file.Host); len(got) != 1 || got[0].Knob != "engine.settings.work_mem" {
		t.Errorf("settings: %+v", got)
	}
}

// A modelled host is seated as a real one: whole cores first, both threads of
// each, and so on.
func TestInstancesAreSeatedOnTheModel(t *testing.T) {
	file, _, err := twin.Read("r920")
	if err != nil {
		t.Fatal(err)
	}
	cpus := trial.ModelCPUs(file.Host)
	if len(cpus.Allowed) != 120 || len(cpus.Topology.Sockets) != 4 || len(cpus.Topology.Nodes[3].CPUs) != 30 {
		t.Fatalf("%d CPUs, %d sockets", len(cpus.Allowed), len(cpus.Topology.Sockets))
	}
	for placement, want := range map[string]string{study.PlaceCores: "0,2,4", study.PlaceThreads: "0-2"} {
		shape := study.Shape{CPUs: 3, Placement: placement, Memory: unit.GiB}
		seating, problems := cpus.Seat(study.Config{Groups: []study.Group{{Count: 1, Shape: shape}}})
		if len(problems) > 0 || seating.Shapes[0].CPUSet != want {
			t.Errorf("%s: CPUs %s, want %s: %v", placement, seating.Shapes[0].CPUSet, want, problems)
		}
	}
}

// In the kit's mode the look-up of prices is no part of an order's time.
func TestUntimedStepsAreNotPartOfAUnitsTime(t *testing.T) {
	dir := simulated(t, `workload: {name: dvdstore, size: 10MB, mode: compat}
engine: {name: postgres}
provider: {name: twin, host: r920}
users: 5
run: {warmup: 1s, measure: 3s, repeats: 1}
`)
	readers, err := dir.Trials()
	if err != nil {
		t.Fatal(err)
	}
	rows, err := readers[0].Intervals(1)
	if err != nil {
		t.Fatal(err)
	}
	busy := map[string]float64{}
	for _, row := range rows[1:] {
		for i, total := range readers[0].Trial.Instances[0].Totals {
			busy[total.Type] += float64(row.Types[i].ResponseSum) / 1e6 / 3
		}
	}
	if sum := busy["order"] + busy["pricelookup"]; math.Abs(sum-5) > 0.05 || busy["pricelookup"] < 0.1 {
		t.Errorf("orders take up %.3f of 5 users and price look-ups %.3f", busy["order"], busy["pricelookup"])
	}
}

func TestACancelledSimulationIsAborted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dir, err := simulate(t, ctx, twoOnTheModel, record.Aborted, func(p trial.Progress) {
		if p.Stage == "measure" {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if pending, err := dir.Pending(); err != nil || len(pending) != 1 {
		t.Errorf("%d trials are left to run: %v", len(pending), err)
	}
	readers, err := dir.Trials()
	if err != nil {
		t.Fatal(err)
	}
	if rows, err := readers[0].Intervals(1); err != nil || len(rows) < 2 || len(rows) > 3 {
		t.Errorf("%d intervals of two seconds and a little: %v", len(rows), err)
	}
}
