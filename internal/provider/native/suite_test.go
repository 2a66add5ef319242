//go:build linux

package native

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

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

func TestSuite(t *testing.T) { providertest.Run(t, New, open(t)) }

// TestSuiteWithoutRights runs the suite as a user who can have no cgroup:
// there processes are found, counted and killed by their ancestry.
func TestSuiteWithoutRights(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to become nobody; without root TestSuite is this test")
	}
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
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
