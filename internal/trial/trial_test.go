package trial_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/catalog"
	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/study"
	"github.com/loadstone-perf/loadstone/internal/trial"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

const twoTrials = `
study: two
workload: {name: dvdstore}
engine: {name: postgres, settings: {work_mem: 5MB}}
provider: {name: native}
users: 3
run: {warmup: 1s, measure: 2s, repeats: 2}
`

// cache is shared by all tests, so that the golden state is loaded once. A
// server's own user must reach it, as it can't reach t.TempDir.
var cache string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if cache, err = os.MkdirTemp("", "loadstone-trial-*"); err == nil {
			err = os.Chmod(cache, 0o755)
		}
		if err != nil {
			panic(err)
		}
		defer func() { _ = os.RemoveAll(cache) }()
		return m.Run()
	}())
}

// bench prepares a sequence of the study's trials on this machine's server.
func bench(t testing.TB, source string) (*trial.Sequence, []record.Planned) {
	t.Helper()
	s, err := study.Parse("test.yaml", []byte(source), catalog.Known())
	if err != nil {
		t.Fatal(err)
	}
	plan, err := study.NewPlan(s)
	if err != nil {
		t.Fatal(err)
	}
	eng := catalog.Engines()[0].New()
	install, err := eng.Locate(t.Context(), engine.Want{})
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("no server on this machine:", err)
	}
	var pending []record.Planned
	for _, x := range plan.Trials {
		pending = append(pending, record.Planned{Trial: x.Number, Block: x.Block, Cell: x.Cell + 1, Seed: x.Seed, Dir: x.Dir})
	}
	dir, err := record.Create(filepath.Join(t.TempDir(), "out"), record.Study{Format: record.Format, Name: s.Name, Plan: pending}, s.Source)
	if err != nil {
		t.Fatal(err)
	}
	return &trial.Sequence{
		Bench: &trial.Bench{Clock: clock.Real{}, Provider: catalog.Providers()[0].New(), Engine: eng, Install: install, Cache: cache},
		Plan:  plan, Dir: dir, Kind: catalog.Workloads()[0],
		Began: func(record.Planned) {}, Done: func(record.Planned, record.Status, error) {},
	}, pending
}

// postmaster finds the process of the one server below cache.
func postmaster() (int, error) {
	files, err := filepath.Glob(cache + "/instances/instance-1-*/*/*/postmaster.pid")
	if err != nil || len(files) != 1 {
		return 0, fmt.Errorf("postmaster.pid: %v, %w", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strconv.Atoi(first)
}

func TestAServerKilledInMidTrialFailsThatTrialAndNoOther(t *testing.T) {
	seq, pending := bench(t, twoTrials)
	cautions(seq.Bench)
	killed := 0
	seq.Bench.Progress = func(p trial.Progress) {
		if p.Trial == 1 && p.Stage == "measure" && killed == 0 {
			pid, err := postmaster()
			if err == nil {
				err = syscall.Kill(pid, syscall.SIGKILL)
			}
			if err != nil {
				t.Error(err)
			}
			killed = pid
		}
	}
	if err := seq.Run(t.Context(), pending); err != nil {
		t.Fatal(err)
	}
	trials, err := seq.Dir.Trials()
	if err != nil {
		t.Fatal(err)
	}
	first, second := trials[0].Trial, trials[1].Trial
	if killed == 0 || first.Status != record.Failed || !strings.Contains(first.Reason, "server ended") {
		t.Errorf("killed server %d: trial 1 is %s because %q; want failed, because the server ended", killed, first.Status, first.Reason)
	}
	if second.Status != record.Finished || !passed(second) {
		t.Errorf("trial 2 is %s (%s) with checks %+v; want finished, all passed", second.Status, second.Reason, second.Instances)
	}
	for _, m := range []record.Trial{first, second} {
		if got := m.Instances[0].Warnings; !slices.Equal(got, []string{"it is slow"}) {
			t.Errorf("trial %d: the instance's warnings are %q", m.Planned.Trial, got)
		}
	}
	nothingLeft(t, seq.Bench.Cache)
}

func passed(t record.Trial) bool {
	n := 0
	for _, c := range t.Instances[0].Checks {
		if !c.Passed {
			return false
		}
		n++
	}
	return n > 3
}

func nothingLeft(t *testing.T, cache string) {
	t.Helper()
	if left, _ := filepath.Glob(cache + "/instances/[^.]*"); len(left) > 0 {
		t.Errorf("instances are left: %v", left)
	}
}

func TestATrialRecordsWhatItSetAndReadBack(t *testing.T) {
	seq, pending := bench(t, twoTrials)
	if err := seq.Run(t.Context(), pending[:1]); err != nil {
		t.Fatal(err)
	}
	trials, err := seq.Dir.Trials()
	if err != nil {
		t.Fatal(err)
	}
	got := trials[0].Trial
	if got.Status != record.Finished || !passed(got) {
		t.Fatalf("trial is %s: %s", got.Status, got.Reason)
	}
	inst := got.Instances[0]
	found := false
	for _, k := range inst.Setting {
		found = found || k.Name == "work_mem" && k.Intended == "5MB" && k.Matches && k.Effective != k.Default
	}
	if !found {
		t.Errorf("work_mem = 5MB is not among the settings read back: %+v", inst.Setting)
	}
	if inst.Restore.Way == "" || inst.Restore.Digest == "" || inst.Golden.Fingerprint == "" || inst.Golden.Rows == 0 {
		t.Errorf("restore and golden state are not described: %+v, %+v", inst.Restore, inst.Golden)
	}
	for _, name := range []string{"host", "driver", "instance-1/cgroup", "instance-1/database"} {
		c, err := trials[0].Counters(name)
		if err != nil || len(c.At) < 3 {
			t.Errorf("counters %s: %d rows, %v; want one a second", name, len(c.At), err)
		}
	}
	nothingLeft(t, seq.Bench.Cache)
}

func TestASettingThatTheServerRefusesFailsTheTrial(t *testing.T) {
	seq, pending := bench(t, strings.Replace(twoTrials, "work_mem: 5MB", "no_such_setting: 1", 1))
	var why error
	seq.Done = func(_ record.Planned, s record.Status, err error) {
		if s == record.Failed {
			why = err
		}
	}
	if err := seq.Run(t.Context(), pending[:1]); err != nil {
		t.Fatal(err)
	}
	if why == nil || !strings.Contains(why.Error(), "no_such_setting") {
		t.Errorf("trial failed with %v; want the name of the setting", why)
	}
	nothingLeft(t, seq.Bench.Cache)
}

func TestAnAbortedTrialLeavesNothing(t *testing.T) {
	seq, pending := bench(t, twoTrials)
	seq.Bench.Cache = t.TempDir() // empty, so that loading can be aborted too
	if err := errors.Join(os.Chmod(seq.Bench.Cache, 0o755), os.Chmod(filepath.Dir(seq.Bench.Cache), 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, stage := range []string{"create", "load: rows", "save golden state", "restore", "start", "measure", "check"} {
		ctx, cancel := context.WithCancel(t.Context())
		seen := false
		seq.Bench.Progress = func(p trial.Progress) {
			if p.Stage == stage {
				seen = true
				cancel()
			}
		}
		err := seq.Run(ctx, pending[:1])
		cancel()
		trials, readErr := seq.Dir.Trials()
		if readErr != nil {
			t.Fatal(readErr)
		}
		switch got := trials[0].Trial; {
		case !seen:
			t.Errorf("stage %q never came: trial is %s (%s), %v", stage, got.Status, got.Reason, err)
		case !errors.Is(err, context.Canceled) || got.Status != record.Aborted:
			t.Errorf("cancelled at %q: %v, trial is %s (%s); want aborted", stage, err, got.Status, got.Reason)
		}
		nothingLeft(t, seq.Bench.Cache)
	}
}

func TestADisturbedTrialRunsAgainAndItsFirstAttemptStays(t *testing.T) {
	seq, pending := bench(t, twoTrials)
	var told []record.Status
	seq.Done = func(_ record.Planned, s record.Status, _ error) { told = append(told, s) }
	asked := 0
	seq.Retries = 2
	seq.Disturbed = func(record.Planned) (string, error) {
		if asked++; asked == 1 {
			return "steal: 9 %", nil
		}
		return "", nil
	}
	if err := seq.Run(t.Context(), pending[:1]); err != nil {
		t.Fatal(err)
	}
	trials, err := seq.Dir.Trials()
	if err != nil {
		t.Fatal(err)
	}
	got := trials[0].Trial
	if fmt.Sprint(told) != "[disturbed finished]" || got.Status != record.Finished || !strings.Contains(strings.Join(got.Warnings, ""), "steal: 9 %") {
		t.Errorf("told %v; trial is %s with warnings %q; want it run again, with the reason", told, got.Status, got.Warnings)
	}
	text, err := os.ReadFile(trials[0].Path() + ".cut-1/manifest.json")
	if err != nil || !strings.Contains(string(text), `"status": "disturbed"`) {
		t.Errorf("the first attempt is not beside it: %v", err)
	}
	left, err := seq.Dir.Pending()
	if err != nil || len(left) != 1 || left[0].Trial != 2 {
		t.Errorf("pending %v, %v; want trial 2 alone", left, err)
	}
}

func TestADisturbedMachineDoesNotHoldAStudyUpForEver(t *testing.T) {
	seq, pending := bench(t, twoTrials)
	attempts := 0
	seq.Done = func(record.Planned, record.Status, error) { attempts++ }
	seq.Retries = 5
	seq.Disturbed = func(record.Planned) (string, error) { return "always", nil }
	if err := seq.Run(t.Context(), pending); err != nil {
		t.Fatal(err)
	}
	if attempts != 3 { // two trials, and half as many again
		t.Errorf("%d attempts at two trials, want 3", attempts)
	}
}

// definition is the workload of a study whose instances are all alike.
func definition(seq *trial.Sequence) (*workload.Definition, error) {
	defs, err := trial.Definitions(seq.Kind, seq.Plan.Cells[0].Config)
	if err != nil {
		return nil, err
	}
	return defs[0], nil
}

// reachable is a new directory that a server's own user can reach.
func reachable(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(cache, "volume-*")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
