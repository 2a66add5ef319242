//go:build linux

package native

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/cgroup"
	"github.com/loadstone-perf/loadstone/internal/provider/providertest"
)

// open returns a directory that every user may enter.
func open(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "native-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// layoutVar says, in the environment of tests and of what they start, which
// part of this machine's control groups is hidden.
const layoutVar = "LOADSTONE_NATIVE_LAYOUT"

// subject is the provider under test.
func subject() provider.Provider {
	p := New().(Provider)
	if os.Getenv(layoutVar) == "v1" {
		p.look = func() (cgroup.Layout, error) {
			l, err := cgroup.Discover()
			l.V2 = cgroup.Place{}
			return l, err
		}
	}
	return p
}

func TestSuite(t *testing.T) {
	tellPlace(t)
	providertest.Run(t, subject, open(t))
}

// TestSuiteOnV1Alone runs the suite as on a machine without the v2 hierarchy:
// every process enters, is counted and is killed through v1.
func TestSuiteOnV1Alone(t *testing.T) {
	l, err := cgroup.Discover()
	if err != nil || len(l.V1) == 0 || l.V2.Dir == "" {
		t.Skipf("needs both hierarchies, to hide one: %v", err)
	}
	t.Setenv(layoutVar, "v1")
	providertest.Run(t, subject, open(t))
}

// nobody is the user as whom the suite runs without rights.
const nobody = 65534

// runAsNobody runs the suite as a user without rights, in the v2 cgroup that
// entry names unless it is nil.
func runAsNobody(t *testing.T, entry *os.File) (output string) {
	t.Helper()
	dir := open(t)
	// The test binary lies where only its owner may go.
	binary := filepath.Join(dir, "suite.test")
	text, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(binary, text, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "-test.run=^TestSuite$", "-test.v")
	cmd.Dir = dir
	// Shapes can't be had there, so what needs them is skipped, in CI too.
	cmd.Env = append(os.Environ(), "CI=", "TMPDIR="+dir, "HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if entry != nil {
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(entry.Fd())
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// TestSuiteWithoutRights runs the suite as a user who can have no cgroup:
// there processes are found, counted and killed by their ancestry.
func TestSuiteWithoutRights(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to become nobody; without root TestSuite is this test")
	}
	runAsNobody(t, nil)
}

// TestSuiteInADelegatedCgroup runs the suite as a user to whom a v2 cgroup was
// handed over, as systemd does with Delegate=yes. The kernel places the
// processes there at the fork.
func TestSuiteInADelegatedCgroup(t *testing.T) {
	l, err := cgroup.Discover()
	if err != nil || l.V2.Dir == "" || os.Geteuid() != 0 {
		t.Skipf("needs root and a v2 hierarchy: %v", err)
	}
	slice := filepath.Join(l.V2.Dir, cgroup.Name("test-"+filepath.Base(t.TempDir())+filepath.Base(open(t))))
	scope := filepath.Join(slice, "scope")
	for _, dir := range []string{slice, scope} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := cgroup.RemoveDir(context.Background(), clock.Real{}, dir); err != nil {
				t.Error(err)
			}
		})
		for _, name := range []string{"", "cgroup.procs", "cgroup.subtree_control"} {
			if err := os.Chown(filepath.Join(dir, name), nobody, nobody); err != nil {
				t.Fatal(err)
			}
		}
	}
	entry, err := os.Open(scope)
	if err != nil {
		t.Fatal(err)
	}
	defer entry.Close()
	out := runAsNobody(t, entry)
	if !strings.Contains(out, "an instance is in "+scope+"/loadstone-") {
		t.Errorf("no instance was in %s:\n%s", scope, out)
	}
}

// tellPlace says where instances are, so that a test which runs TestSuite in
// special surroundings can tell that it did.
func tellPlace(t *testing.T) {
	i := made(t, open(t), provider.Shape{})
	for _, dir := range i.group.Dirs() {
		t.Logf("an instance is in %s", dir)
	}
}

// TestTheWatchdogRemovesTheCgroups ends an owner's pipe as its death would.
func TestTheWatchdogRemovesTheCgroups(t *testing.T) {
	i := made(t, open(t), provider.Shape{})
	if i.group == nil {
		t.Skip("no cgroup can be had")
	}
	cmd := i.Command(context.Background(), "sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := i.watch.pipe.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the command was not killed")
	}
	if err := i.watch.cmd.Wait(); err != nil {
		t.Errorf("the watchdog ended with %v", err)
	}
	for _, dir := range i.group.Dirs() {
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s is still there", dir)
		}
	}
}
