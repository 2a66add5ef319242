package trial_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/catalog"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/study"
	"github.com/loadstone-perf/loadstone/internal/trial"
)

const twoGroups = `
study: groups
workload: {name: dvdstore, n_searches: 2}
engine: {name: postgres, settings: {work_mem: 5MB}}
provider: {name: native}
instances:
  small: {count: 2, users: 1}
  large: {users: 3, connections: 2, workload: {n_searches: 1}, engine: {settings: {work_mem: 6MB}}}
run: {warmup: 1s, measure: 2s, repeats: 1}
`

// TestGroupsRunSideBySideEachAsItIs runs two groups on real servers, the driver
// on a CPU of its own where the machine has one to spare.
func TestGroupsRunSideBySideEachAsItIs(t *testing.T) {
	source, cpus := twoGroups, apart(t)
	if len(cpus.Allowed) > 1 {
		source += "driver: {cpus: 1}\n"
	}
	seq, pending := bench(t, source)
	seq.Bench.CPUs = cpus
	var rates []float64
	seq.Bench.Progress = func(p trial.Progress) {
		if p.Stage == "measure" {
			rates = append(rates, p.Rate)
		}
	}
	if err := seq.Run(t.Context(), pending); err != nil {
		t.Fatal(err)
	}
	trials, err := seq.Dir.Trials()
	if err != nil {
		t.Fatal(err)
	}
	got := trials[0].Trial
	if got.Status != record.Finished || len(got.Instances) != 3 || len(rates) == 0 {
		t.Fatalf("trial is %s (%s) with %d instances", got.Status, got.Reason, len(got.Instances))
	}
	for i, want := range []string{"small-1 small 1 0 5MB map[]", "small-2 small 1 0 5MB map[]", "large-1 large 3 2 6MB map[n_searches:1]"} {
		in := got.Instances[i]
		memory := ""
		for _, k := range in.Setting {
			if k.Name == "work_mem" && k.Matches {
				memory = k.Effective
			}
		}
		if found := fmt.Sprint(in.Name, " ", in.Group, " ", in.Drive.Users, " ", in.Drive.Connections, " ", memory, " ", in.Params); found != want {
			t.Errorf("instance %d is %s; want %s", i+1, found, want)
		}
		for _, c := range in.Checks {
			if !c.Passed {
				t.Errorf("%s: %s found %d", in.Name, c.Name, c.Found)
			}
		}
		if done := in.Totals[len(in.Totals)-1]; done.Committed == 0 {
			t.Errorf("%s did nothing: %+v", in.Name, in.Totals)
		}
		for _, name := range []string{"cgroup", "database"} {
			if c, err := trials[0].Counters(fmt.Sprintf("instance-%d/%s", i+1, name)); err != nil || len(c.At) < 2 {
				t.Errorf("counters %s of instance %d: %d rows, %v", name, i+1, len(c.At), err)
			}
		}
	}
	if opened := got.Instances[2].Driver.Connections; opened != 2 {
		t.Errorf("the large instance's driver opened %d connections, want 2", opened)
	}
	seated(t, got, cpus)
	nothingLeft(t, seq.Bench.Cache)
}

// apart are the machine's CPUs; empty where instances can't be kept off some of
// them.
func apart(t *testing.T) trial.CPUs {
	t.Helper()
	cpus, err := trial.FindCPUs()
	if err != nil {
		t.Fatal(err)
	}
	if problems := catalog.Providers()[0].New().Check(t.Context(), provider.Shape{CPUSet: "0"}); len(problems) > 0 {
		t.Logf("instances have no CPUs of their own here: %v", problems)
		return trial.CPUs{Allowed: cpus.Allowed[:1]}
	}
	return cpus
}

// seated looks at who had which CPUs.
func seated(t *testing.T, got record.Trial, cpus trial.CPUs) {
	t.Helper()
	if len(cpus.Allowed) < 2 {
		if got.Seat.Shared != "all instances" {
			t.Errorf("the driver's CPUs: %+v", got.Seat)
		}
		return
	}
	if got.Seat.Intended == "" || got.Seat.Intended != got.Seat.CPUs || got.Seat.Shared == "all instances" {
		t.Errorf("the driver's CPUs: %+v", got.Seat)
	}
	driver, err := study.ParseCPUs(got.Seat.CPUs)
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range got.Instances {
		kept := false
		for _, k := range in.Shape {
			if k.Name != "instance.cpuset" {
				continue
			}
			theirs, err := study.ParseCPUs(k.Effective)
			kept = err == nil && k.Matches && len(theirs) == len(cpus.Allowed)-1 && theirs[0] != driver[0]
		}
		if !kept {
			t.Errorf("%s is not kept off CPU %v: %+v", in.Name, driver, in.Shape)
		}
	}
}

func TestGroupsThatCountDifferentThingsAreRefused(t *testing.T) {
	seq, _ := bench(t, strings.Replace(twoGroups, "n_searches: 1", "mode: compat", 1))
	_, err := trial.Definitions(seq.Kind, seq.Plan.Cells[0].Config)
	if err == nil || !strings.Contains(err.Error(), "groups small and large of instances do not count the same") {
		t.Errorf("got %v", err)
	}
}

// TestVolumesHoldDataAndLog: with directories of their own, nothing of the
// instance is in the cache, and the log is where it was asked for.
func TestVolumesHoldDataAndLog(t *testing.T) {
	data, log := reachable(t), reachable(t)
	seq, pending := bench(t, strings.NewReplacer("dvdstore}", "dvdstore, size: 1MB}", "warmup: 1s, measure: 2s", "warmup: 0s, measure: 1s", "users: 3", fmt.Sprintf("users: 1\ninstance: {data_volume: %s, log_volume: %s}", data, log)).Replace(twoTrials))
	inside := map[string]bool{}
	seq.Bench.Progress = func(p trial.Progress) {
		if p.Stage != "measure" {
			return
		}
		for _, pattern := range []string{data + "/loadstone/instances/*/data/data/base", log + "/loadstone/instances/*/data/pg_wal/0*", data + "/loadstone/golden/*"} {
			if found, _ := filepath.Glob(pattern); len(found) > 0 {
				inside[pattern] = true
			}
		}
		nothingLeft(t, seq.Bench.Cache)
	}
	if err := seq.Run(t.Context(), pending[:1]); err != nil {
		t.Fatal(err)
	}
	trials, err := seq.Dir.Trials()
	if err != nil {
		t.Fatal(err)
	}
	got := trials[0].Trial
	if got.Status != record.Finished || !passed(got) || len(inside) != 3 {
		t.Errorf("trial is %s (%s); found %v", got.Status, got.Reason, inside)
	}
	proved := 0
	for _, k := range append(got.Instances[0].Shape, got.Instances[0].Setting...) {
		if k.Name == "instance.data_volume" && k.Intended == data || k.Name == "instance.log_volume" && k.Intended == log || k.Name == "pg_wal" && strings.HasPrefix(k.Effective, log) {
			proved++
		}
	}
	if proved != 3 {
		t.Errorf("the volumes were not read back: %+v", got.Instances[0].Shape)
	}
	for _, dir := range []string{data, log} {
		nothingLeft(t, dir+"/loadstone")
	}
}
