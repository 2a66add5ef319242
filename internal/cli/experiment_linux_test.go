package cli_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/analyse"
	"github.com/loadstone-perf/loadstone/internal/catalog"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/record"
)

// experiments are small studies of the kinds that the published ones are, from
// the file to the report on real servers. Times are too short for figures, so that the
// validity gate may say no; that everything is there must hold.
var experiments = []struct {
	file      string // in testdata/experiment
	providers []string
	trials    int
	instances int
	part      string // of the report: its heading's id
	look      func(t *testing.T, s *analyse.Study, dir string, trials []record.Trial)
}{
	{"overcommit", []string{"native"}, 2, 4, "fairness", sharedAlike},
	{"confinement", []string{"native", "container"}, 4, 1, "comparison", ratioIsTold},
	{"cut", []string{"native"}, 1, 2, "events", cutIsTold},
	{"guests", []string{"libvirt"}, 1, 2, "contention", guestsWaited},
}

// TestExperiments runs them. One cache serves all, so that a golden state that
// several restore is loaded once.
func TestExperiments(t *testing.T) {
	if !server(t) {
		t.Skip("no PostgreSQL server on this machine")
	}
	cache := os.Getenv("LOADSTONE_TEST_CACHE")
	if cache == "" {
		cache = openDir(t)
	}
	for _, x := range experiments {
		t.Run(x.file, func(t *testing.T) {
			for _, name := range x.providers {
				available(t, name)
			}
			dir := filepath.Join(t.TempDir(), "out")
			cmd := exec.CommandContext(t.Context(), "loadstone", "run", filepath.Join("testdata", "experiment", x.file+".yaml"), "--out", dir)
			cmd.Env = append(os.Environ(), "LOADSTONE_CACHE="+cache, "NO_COLOR=1")
			text, err := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); err != nil && code != 3 {
				t.Fatalf("exit %d: %v\n%s", code, err, text)
			}
			trials := complete(t, dir, x.trials, x.instances)
			page, err := os.ReadFile(filepath.Join(dir, "report", "index.html"))
			if err != nil || !strings.Contains(string(page), `id="`+x.part+`"`) {
				t.Errorf("the report has no part %q (%v)", x.part, err)
			}
			var s analyse.Study
			data, err := os.ReadFile(filepath.Join(dir, "report", "report.json"))
			if err == nil {
				err = json.Unmarshal(data, &s)
			}
			if err != nil {
				t.Fatal(err)
			}
			x.look(t, &s, dir, trials)
		})
	}
}

// available skips a test whose provider this machine lacks; in CI it has all.
func available(t *testing.T, name string) {
	t.Helper()
	for _, p := range catalog.Providers() {
		if p.Name != name {
			continue
		}
		for _, problem := range p.New().Check(t.Context(), provider.Shape{}) {
			if os.Getenv("CI") == "true" {
				t.Fatalf("provider %s: %s", name, problem.Reason)
			}
			t.Skipf("provider %s: %s", name, problem.Reason)
		}
	}
}

// complete reads a result's trials: each finished, with all its instances,
// whose checks passed, whose knobs are as intended, and which all did work.
func complete(t *testing.T, dir string, trials, instances int) []record.Trial {
	t.Helper()
	d, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	readers, err := d.Trials()
	if err != nil || len(readers) != trials {
		t.Fatalf("%d trials, want %d: %v", len(readers), trials, err)
	}
	var all []record.Trial
	for n, r := range readers {
		m := r.Trial
		all = append(all, m)
		if m.Status != record.Finished || len(m.Instances) != instances || r.Damage != nil {
			t.Fatalf("trial %d is %s (%s) with %d instances, damage %v; want finished with %d", n+1, m.Status, m.Reason, len(m.Instances), r.Damage, instances)
		}
		for i, in := range m.Instances {
			if len(in.Checks) == 0 || slices.ContainsFunc(in.Checks, func(c record.Check) bool { return !c.Passed }) {
				t.Errorf("trial %d, %s: checks %+v", n+1, in.Name, in.Checks)
			}
			if slices.ContainsFunc(append(in.Shape, in.Setting...), func(k record.Knob) bool { return !k.Matches }) {
				t.Errorf("trial %d, %s: a knob is not as intended", n+1, in.Name)
			}
			if done := in.Totals[len(in.Totals)-1].Committed; done == 0 {
				t.Errorf("trial %d, %s committed nothing", n+1, in.Name)
			}
			if rows, err := r.Intervals(i + 1); err != nil || len(rows) < int(m.Load.MeasureS) {
				t.Errorf("trial %d, %s: %d intervals: %v", n+1, in.Name, len(rows), err)
			}
		}
		if _, err := r.Counters("host"); err != nil {
			t.Errorf("trial %d: %v", n+1, err)
		}
	}
	return all
}

// sharedAlike looks at the overcommit study: four CPUs were given away where the
// instances had two between them, and the report tells how alike they were
// served.
func sharedAlike(t *testing.T, s *analyse.Study, _ string, trials []record.Trial) {
	f := s.Cells[0].Fairness
	if f == nil || len(f.Instances) != 4 {
		t.Fatalf("fairness is %+v", f)
	}
	if f.Jain.N != 2 || f.Jain.Value <= 0.25 || f.Jain.Value > 1 || f.MinOfMean.Value <= 0 || f.MinOfMean.Value > 1 {
		t.Errorf("Jain's index is %+v, the least ÷ mean %+v", f.Jain, f.MinOfMean)
	}
	for _, i := range trials[0].Instances {
		if !slices.ContainsFunc(i.Shape, func(k record.Knob) bool { return k.Name == "instance.cpus" && k.Effective == "1" }) {
			t.Errorf("%s has %+v", i.Name, i.Shape)
		}
	}
}

// ratioIsTold looks at the study that has the provider on its axis: both were
// run, and the report has their ratio with its interval.
func ratioIsTold(t *testing.T, s *analyse.Study, _ string, trials []record.Trial) {
	ran := map[string]int{}
	for _, m := range trials {
		ran[m.Provider]++
		if m.Factors[0].Value != m.Provider {
			t.Errorf("trial %d was for %s and ran on %s", m.Trial, m.Factors[0].Value, m.Provider)
		}
	}
	if ran["native"] != 2 || ran["container"] != 2 {
		t.Errorf("trials by provider: %v", ran)
	}
	if !slices.Contains(s.System, analyse.Fact{Name: "Provider", Value: "container, native"}) {
		t.Errorf("the system is %+v", s.System)
	}
	if len(s.Comparisons) != 1 || len(s.Comparisons[0].Cells) != 1 {
		t.Fatalf("comparisons are %+v", s.Comparisons)
	}
	e := s.Comparisons[0].Cells[0].Effects[0]
	if e.Quantity != "throughput" || !e.Low.OK() || !e.High.OK() || e.Low > e.Ratio || e.Ratio > e.High || e.Low <= 0 {
		t.Errorf("container ÷ native is %+v", e)
	}
}

// cutIsTold looks at the study with an event: it happened when it was due, was
// read back, and divides the window.
func cutIsTold(t *testing.T, s *analyse.Study, dir string, trials []record.Trial) {
	events := trials[0].Events
	if len(events) != 1 || events[0].Instance != 1 || len(events[0].Set) != 1 || events[0].Set[0].Effective != "0.1" {
		t.Fatalf("events are %+v", events)
	}
	if e := events[0]; e.DueS != 5 || e.BeginS < 5 || e.EndS > 9 {
		t.Errorf("the event was due at %v and was from %v to %v", e.DueS, e.BeginS, e.EndS)
	}
	var parts []string
	for _, p := range s.Trials[0].Stretches {
		parts = append(parts, p.Name)
		if len(p.Hit) != 1 || p.Hit[0].Instance != "cut-1" {
			t.Errorf("part %s has %+v", p.Name, p.Hit)
		}
	}
	if !slices.Equal(parts, []string{"before", "during 1", "after"}) {
		t.Errorf("parts are %q", parts)
	}
	if !slices.ContainsFunc(s.Notes, func(n string) bool { return strings.Contains(n, "events were made to happen") }) {
		t.Errorf("no note says that there were events: %q", s.Notes)
	}
	for _, name := range []string{"events.csv", "event-parts.csv"} {
		if found, err := filepath.Glob(filepath.Join(dir, "report", "*", name)); err != nil || len(found) != 1 {
			t.Errorf("%s is there %d times (%v)", name, len(found), err)
		}
	}
}

// guestsWaited looks at the virtual machines: the hypervisor's counters are
// there, ready time among them, and an emulated processor is told.
func guestsWaited(t *testing.T, s *analyse.Study, dir string, trials []record.Trial) {
	for i, in := range trials[0].Instances {
		name := filepath.Join(dir, "trials", trials[0].Dir, "instance-"+string(rune('1'+i)), "domain.csv")
		text, err := os.ReadFile(name)
		if err != nil || !strings.Contains(string(text), ",vcpu_ready_s,") {
			t.Errorf("%s: no ready time in %s (%v)", in.Name, name, err)
		}
		emulated := slices.ContainsFunc(in.Shape, func(k record.Knob) bool {
			return k.Name == "instance.virtualization" && strings.Contains(k.Effective, "emulated")
		})
		if emulated && len(s.Caveats) == 0 {
			t.Error("the report does not say that processors were emulated")
		}
	}
	if way := trials[0].Instances[1].Restore.Way; !strings.Contains(way, "booted from it") {
		t.Errorf("the second guest was restored by %q: it booted twice", way)
	}
	page, err := os.ReadFile(filepath.Join(dir, "report", "index.html"))
	if err != nil || !strings.Contains(strings.ToLower(string(page)), "ready") {
		for i := range trials[0].Instances {
			text, _ := os.ReadFile(filepath.Join(dir, "trials", trials[0].Dir, "instance-"+string(rune('1'+i)), "domain.csv"))
			t.Logf("window %+v, status %s (%s), the counters:\n%s", s.Trials[0].Window, s.Trials[0].Status, s.Trials[0].Reason, text)
		}
		t.Errorf("the report says nothing of ready time: %v", err)
	}
}
