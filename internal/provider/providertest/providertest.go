// Package providertest is the suite that every provider passes: what is
// promised by the interfaces of package provider, tried on real instances.
//
// A provider's test calls Run. What a provider does not offer (found by
// assertion) and what this machine can't do is skipped with the reason, but
// never where CI=true is set: there it fails.
package providertest

import (
	"context"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/provider"
)

// patience is how long something that must happen may take before a test
// fails. No test waits that long when all is well.
const patience = 30 * time.Second

// suite is one run of the tests.
type suite struct {
	new   func() provider.Provider
	cache string // a directory that instances' users may enter
	// given is the one instance that the tests share; nil where each makes its
	// own. Its processes and files are its own kernel's.
	given provider.Instance
}

// Run runs the suite. Each test gets a cache directory of its own below
// cache, which must exist and be passable for every user. The package's
// TestMain must call Main.
func Run(t *testing.T, newProvider func() provider.Provider, cache string) {
	s := suite{new: newProvider, cache: cache}
	for _, test := range []struct {
		name string
		run  func(*testing.T, suite)
	}{
		{"CheckNamesTheKnob", checkNamesTheKnob},
		{"ProvisionAndClose", provisionAndClose},
		{"NamesAreChecked", namesAreChecked},
		{"CommandsAreUnprivileged", commandsAreUnprivileged},
		{"CommandsThatAreNotThereFail", commandsThatAreNotThereFail},
		{"CancelKillsTheWholeCommand", cancelKillsTheWholeCommand},
		{"CloseKillsWhatRuns", closeKillsWhatRuns},
		{"ShapeIsReadBack", shapeIsReadBack},
		{"CommandsAreInsideTheShape", commandsAreInsideTheShape},
		{"QuotaLimits", quotaLimits},
		{"DiskLimitsAreReadBack", diskLimitsAreReadBack},
		{"DiskLimitSlows", diskLimitSlows},
		{"MemoryLimitKills", memoryLimitKills},
		{"CountersCountTheCPU", countersCountTheCPU},
		{"CancelledProvisionLeavesNothing", cancelledProvisionLeavesNothing},
		{"TwoInstancesOfOneName", twoInstancesOfOneName},
		{"FullDisk", fullDisk},
		{"SnapshotRoundTrip", snapshotRoundTrip},
		{"SnapshotIsVerified", snapshotIsVerified},
		{"SnapshotNeedsAnIdleInstance", snapshotNeedsAnIdleInstance},
		{"SnapshotsAtTheSameTime", snapshotsAtTheSameTime},
		{"KillLeavesNothing", killLeavesNothing},
		{"KilledAtEveryStep", killedAtEveryStep},
		{"LeftoversAreFoundAndRemoved", leftoversAreFoundAndRemoved},
		{"LivingAreNotRemoved", livingAreNotRemoved},
		{"DeadInMidTrial", deadInMidTrial},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, s) })
	}
}

// RunOn runs what of the suite one instance is enough for: for virtual machines,
// each of which takes long to boot. The last test ends the instance from outside
// and closes it. cache is where it was made.
func RunOn(t *testing.T, newProvider func() provider.Provider, cache string, given provider.Instance) {
	s := suite{new: newProvider, cache: cache, given: given}
	for _, test := range []struct {
		name string
		run  func(*testing.T, suite)
	}{
		{"CheckNamesTheKnob", checkNamesTheKnob},
		{"NamesAreChecked", namesAreChecked},
		{"CommandsAreUnprivileged", commandsAreUnprivileged},
		{"CommandsThatAreNotThereFail", commandsThatAreNotThereFail},
		{"CancelKillsTheWholeCommand", cancelKillsTheWholeCommand},
		{"CountersCountTheCPU", countersCountTheCPU},
		{"DeadInMidTrial", deadInMidTrial},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, s) })
	}
}

// missing skips the test, or fails it where everything must be there.
func missing(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal("this can't be skipped where CI=true: " + why)
	}
	t.Skip(why)
}

// dir makes a cache directory for one test.
func (s suite) dir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(s.cache, "cache-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// Golden states may hold directories that forbid to write in them.
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				err = os.Chmod(path, 0o755)
			}
			return err
		})
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// provision makes an instance that is closed with the test.
func (s suite) provision(t *testing.T, cache string, shape provider.Shape) provider.Instance {
	t.Helper()
	if s.given != nil {
		return s.given
	}
	p := s.new()
	if problems := p.Check(t.Context(), shape); len(problems) > 0 {
		missing(t, problems[0].Knob+": "+problems[0].Reason)
	}
	inst, err := p.Provision(t.Context(), provider.Request{Name: "subject", Shape: shape, Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := inst.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return inst
}

// machine is provision for tests that run commands.
func (s suite) machine(t *testing.T, cache string, shape provider.Shape) provider.Machine {
	t.Helper()
	m, ok := s.provision(t, cache, shape).(provider.Machine)
	if !ok {
		t.Skip("instances of this provider run no programs")
	}
	return m
}

// sh runs a shell script in the instance and returns what it printed.
func sh(t *testing.T, m provider.Machine, script string, args ...string) string {
	t.Helper()
	out, err := m.Command(t.Context(), "sh", append([]string{"-c", script, "sh"}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

// eventually waits until done says so.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	clk := clock.Real{}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for !done() {
		if clk.SleepUntil(ctx, clk.Now().Add(10*time.Millisecond)) != nil {
			t.Fatalf("after %v: not yet: %s", patience, what)
		}
	}
}

// leftovers lists what is below cache but should not be after every instance
// is closed: directories and files whose path has the name of an instance.
func leftovers(t *testing.T, cache string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(cache, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if strings.Contains(strings.TrimPrefix(path, cache), "subject") {
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// ended says whether a process that startServer told of has ended, asking the
// kernel that it is of.
func (s suite) ended(t *testing.T, m provider.Machine, pid string) bool {
	t.Helper()
	if s.given == nil {
		return gone(pid)
	}
	return m.Command(t.Context(), "sh", "-c", "kill -0 "+pid).Run() != nil
}

// gone says whether no process with this id lives; one that has ended but was
// not waited for does not.
func gone(pid string) bool {
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return true
	}
	_, state, _ := strings.Cut(string(text), ") ")
	return strings.HasPrefix(state, "Z")
}

// counter reads the first column with the name that any source of the
// instance has.
func counter(t *testing.T, m provider.Machine, name string) (v float64, ok bool) {
	t.Helper()
	c, isSource := m.(provider.CounterSource)
	if !isSource {
		return 0, false
	}
	for _, s := range c.Sources() {
		out := make([]float64, len(s.Columns()))
		if err := s.Read(t.Context(), out); err != nil {
			t.Fatal(err)
		}
		for i, col := range s.Columns() {
			if col.Name == name {
				return out[i], !math.IsNaN(out[i])
			}
		}
	}
	return 0, false
}
