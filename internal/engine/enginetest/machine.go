package enginetest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// nobody is the unprivileged user and group of machines that root makes.
const nobody = 65534

// Local is this very machine as an engine.Machine, for tests: a temporary
// directory, no confinement, and an unprivileged user where the test runs as
// root. It remembers its commands, so that a test can kill a server behind its
// engine's back.
type Local struct {
	dir string

	mu       sync.Mutex
	commands []*exec.Cmd
}

// LocalMachine returns a machine that lasts as long as t. Processes that are
// left in it at the end are killed, and fail the test.
func LocalMachine(t *testing.T) engine.Machine {
	t.Helper()
	return localMachine(t)
}

// localMachine is LocalMachine for benchmarks, too.
func localMachine(t testing.TB) *Local {
	t.Helper()
	// Not t.TempDir: its parents are closed to other users, and its path is
	// long for a Unix socket.
	dir, err := os.MkdirTemp("/tmp", "engine-")
	if err != nil {
		t.Fatal(err)
	}
	m := &Local{dir: dir}
	t.Cleanup(func() {
		if left := Processes(dir); len(left) > 0 {
			t.Errorf("processes %d are left in %s", left, dir)
			for _, pid := range left {
				if p, err := os.FindProcess(pid); err == nil {
					_ = p.Kill()
				}
			}
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if os.Getuid() == 0 {
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// Command implements engine.Machine.
func (m *Local) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = m.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LANG=C", "TZ=UTC", "HOME=" + m.dir}
	cmd.SysProcAttr = attributes(os.Getuid() == 0)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.commands = append(m.commands, cmd)
	return cmd
}

// Dir implements engine.Machine.
func (m *Local) Dir() string { return m.dir }

// Capacity implements engine.Machine: this machine's CPUs, and half a GiB, so
// that several servers fit.
func (m *Local) Capacity() (float64, unit.Bytes) {
	return float64(runtime.NumCPU()), 512 * unit.MiB
}

// Server returns the process of the last command that still runs: the server,
// once Start has returned. It is nil where none runs.
func (m *Local) Server() *os.Process {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := len(m.commands) - 1; i >= 0; i-- {
		if p := m.commands[i].Process; p != nil && alive(p) {
			return p
		}
	}
	return nil
}

// Processes returns the processes that work in dir or below it, as far as the
// system tells (Linux does).
func Processes(dir string) []int {
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		return nil
	}
	var pids []int
	for _, link := range links {
		at, err := os.Readlink(link)
		if err != nil || at != dir && !strings.HasPrefix(at, dir+"/") {
			continue
		}
		if pid, err := strconv.Atoi(strings.Split(link, "/")[2]); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
