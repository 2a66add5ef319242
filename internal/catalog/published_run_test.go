//go:build linux

package catalog_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/loadstone-perf/loadstone/internal/catalog"
	"github.com/loadstone-perf/loadstone/internal/cli"
	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/provider"
)

// TestMain makes the program a command of its own, so that it can be stopped
// and leaves nothing in this process.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"loadstone": func() { os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr)) },
	})
}

// shorter are published studies with what makes each a matter of seconds on
// two CPUs: pairs of what stands in the file and what stands in its place.
var shorter = []struct {
	name, provider string
	trials         int
	instances      int // of the first trial
	edits          []string
}{
	{"vroom-2015/sixteen-native", "native", 1, 2, []string{
		"size: 50MB", "size: 10MB",
		"instances: 16", "instances: 2",
		"warmup: 10s, measure: 30s, repeats: 6", "warmup: 1s, measure: 2s, repeats: 1",
	}},
	{"vroom-2015/sixteen-in-containers", "container", 1, 2, []string{
		"size: 50MB", "size: 10MB",
		"instances: 16", "instances: 2",
		"warmup: 10s, measure: 30s, repeats: 6", "warmup: 1s, measure: 2s, repeats: 1",
	}},
	// A load unit without its long texts and years of prices, for two of the
	// eight, in memory that is not scaled.
	{"sql-server-2008-vsphere4/overcommit-fairness", "native", 1, 2, []string{
		"customers: 20000, initial_trade_days: 10", "customers: 1000, initial_trade_days: 1, market_days: 20, news_bytes: 100",
		"shared_buffers: 5GB", "shared_buffers: 128MB",
		"instances: 8\n", "instances: 2\n",
		"memory: 7GB", "memory: 1GB",
		"users: 35", "users: 3",
		"instance.cpus: [2, 8]", "instance.cpus: [0.5]",
		"ramp: 5s, warmup: 75s, measure: 2m, repeats: 6", "warmup: 1s, measure: 2s, repeats: 1",
		"scale: {from: {cpus: 8, memory: 64GiB}, to: machine, data: 1/20}", "",
	}},
}

// TestPublishedStudiesRun runs some of them from the file to the report. Times
// are too short for figures, so that the validity gate may say no; all trials
// must have finished.
func TestPublishedStudiesRun(t *testing.T) {
	work, err := os.MkdirTemp("", "loadstone-published-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(work) })
	if err := os.Chmod(work, 0o755); err != nil { // the servers' own user looks in
		t.Fatal(err)
	}
	all := allPublished(t)
	for _, s := range shorter {
		t.Run(s.name, func(t *testing.T) {
			demand(t, s.provider)
			at := slices.IndexFunc(all, func(p published) bool { return p.name == s.name })
			if at < 0 {
				t.Fatal("there is no such file")
			}
			dir := filepath.Join(work, "out", filepath.Base(s.name))
			file := filepath.Join(work, "short.yaml")
			if err := os.WriteFile(file, shorten(t, all[at].source, s.edits), 0o644); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "loadstone", "run", file, "--out", dir)
			cmd.Env = append(os.Environ(), "LOADSTONE_CACHE="+filepath.Join(work, "cache"), "NO_COLOR=1")
			text, err := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); err != nil && code != 3 {
				t.Fatalf("exit %d: %v\n%s", code, err, text)
			}
			finished(t, dir, s.trials, s.instances)
		})
	}
}

// demand skips a test whose server or provider this machine lacks; in CI it
// has them.
func demand(t *testing.T, name string) {
	t.Helper()
	missing := t.Skip
	if os.Getenv("CI") == "true" {
		missing = t.Fatal
	}
	if _, err := catalog.Engines()[0].New().Locate(t.Context(), engine.Want{}); err != nil {
		missing("no PostgreSQL server on this machine: ", err)
	}
	for _, p := range catalog.Providers() {
		if p.Name != name {
			continue
		}
		for _, problem := range p.New().Check(t.Context(), provider.Shape{}) {
			missing("provider ", name, ": ", problem.Reason)
		}
	}
}

// shorten makes the edits, each of which must find its text once, and lets
// other work disturb the machine: nobody quotes these figures.
func shorten(t *testing.T, source []byte, edits []string) []byte {
	t.Helper()
	var body []byte
	for line := range bytes.Lines(source) {
		// What was published is of configurations that are not run here.
		published := bytes.HasPrefix(line, []byte("published:")) || bytes.HasPrefix(line, []byte("  - {series:"))
		if !bytes.HasPrefix(line, []byte("#")) && !published {
			body = append(body, line...)
		}
	}
	for pair := range slices.Chunk(edits, 2) {
		if n := bytes.Count(body, []byte(pair[0])); n != 1 {
			t.Fatalf("%q stands %d times in the file, want once", pair[0], n)
		}
		body = bytes.Replace(body, []byte(pair[0]), []byte(pair[1]), 1)
	}
	return append(body, "\nlimits: {other_cpu: 100%, steal: 100%}\n"...)
}

// finished fails unless dir holds that many finished trials, the first with
// that many instances that all did work, and a report.
func finished(t *testing.T, dir string, trials, instances int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "trials", "*", "manifest.json"))
	if err != nil || len(files) != trials {
		t.Errorf("%d trials in %s, want %d (%v)", len(files), dir, trials, err)
	}
	for _, file := range files {
		var m struct {
			Status, Reason string
			Instances      []struct {
				Totals []struct{ Committed int64 }
			}
		}
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &m)
		}
		if err != nil {
			t.Fatal(err)
		}
		if m.Status != "finished" || len(m.Instances) != instances {
			t.Errorf("%s: %s (%s) with %d instances, want finished with %d", file, m.Status, m.Reason, len(m.Instances), instances)
		}
		for i, in := range m.Instances {
			if len(in.Totals) == 0 || in.Totals[len(in.Totals)-1].Committed == 0 {
				t.Errorf("%s: instance %d committed nothing", file, i+1)
			}
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, "report", "index.html"))
	if err != nil || !strings.Contains(string(page), "</html>") {
		t.Errorf("no report in %s: %v", dir, err)
	}
}
