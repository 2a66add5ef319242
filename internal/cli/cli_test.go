package cli_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/loadstone-perf/loadstone/internal/catalog"
	"github.com/loadstone-perf/loadstone/internal/cli"
	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/container"
	"github.com/loadstone-perf/loadstone/internal/provider/libvirt"
)

func TestMain(m *testing.M) {
	// Guests are started with this very program.
	if code, ok := libvirt.Hidden(os.Args[1:]); ok {
		os.Exit(code)
	}
	testscript.Main(m, map[string]func(){
		"loadstone": func() { os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr)) },
	})
}

// TestCommandLine plays testdata/script: each file is a conversation with the
// program. Those that need a server share one cache, so that the golden state
// is loaded once.
func TestCommandLine(t *testing.T) {
	cache := openDir(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("LOADSTONE_CACHE", cache)
			e.Setenv("NO_COLOR", "1")
			return nil
		},
		Condition: func(name string) (bool, error) {
			return name == "server" && server(t) || name == "container" && containers(t) || name == "kvm" && libvirt.HasKVM(), nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"until":     until,
			"signal":    signal,
			"result":    fabricate,
			"trials":    trials,
			"lose":      lose,
			"noservers": func(ts *testscript.TestScript, _ bool, _ []string) { noServers(ts, cache) },
		},
		RequireExplicitExec: true,
	})
}

// openDir is a temporary directory that a server's own user can reach, as
// t.TempDir is not.
func openDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "loadstone-cli-*")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// server says whether this machine has a server program; in CI it must.
func server(t *testing.T) bool {
	_, err := catalog.Engines()[0].New().Locate(t.Context(), engine.Want{})
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatal("no PostgreSQL server on this machine: ", err)
	}
	return err == nil
}

// containers says whether this machine can make containers; in CI it must.
func containers(t *testing.T) bool {
	problems := container.New().Check(t.Context(), provider.Shape{})
	if len(problems) > 0 && os.Getenv("CI") == "true" {
		t.Fatal("no containers on this machine: ", problems)
	}
	return len(problems) == 0
}

// until waits (bounded) until a file that a glob names contains a text:
// until GLOB TEXT.
func until(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: until GLOB TEXT")
	}
	c, give := clock.Real{}, clock.Real{}.Now().Add(2*time.Minute)
	for c.Now().Before(give) {
		names, err := filepath.Glob(ts.MkAbs(args[0]))
		ts.Check(err)
		for _, name := range names {
			if text, err := os.ReadFile(name); err == nil && strings.Contains(string(text), args[1]) {
				return
			}
		}
		ts.Check(c.SleepUntil(context.Background(), c.Now().Add(20*time.Millisecond)))
	}
	ts.Fatalf("%q did not appear in %s", args[1], args[0])
}

// signal sends a signal to the one background command: signal INT|KILL.
func signal(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: signal INT|KILL")
	}
	which := map[string]os.Signal{"INT": os.Interrupt, "KILL": syscall.SIGKILL}[args[0]]
	for _, cmd := range ts.BackgroundCmds() {
		if cmd.ProcessState == nil {
			ts.Check(cmd.Process.Signal(which))
		}
	}
}

// lose removes the one directory that a pattern names, and leaves its path in
// $LOST: which loads a search tries follows from what it measured.
func lose(ts *testscript.TestScript, _ bool, args []string) {
	found, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(found) != 1 {
		ts.Fatalf("%s names %v, want one", args[0], found)
	}
	ts.Check(os.RemoveAll(found[0]))
	ts.Setenv("LOST", found[0])
}

// noServers waits (bounded) until no process has its files below the cache.
func noServers(ts *testscript.TestScript, cache string) {
	c, give := clock.Real{}, clock.Real{}.Now().Add(20*time.Second)
	var left []byte
	for c.Now().Before(give) {
		// No pgrep: it would find the shell that asks.
		left, _ = exec.Command("sh", "-c", `for p in /proc/[0-9]*; do readlink $p/cwd; done 2>/dev/null | grep -F "$0"`, cache+"/instances").Output()
		if len(left) == 0 {
			return
		}
		ts.Check(c.SleepUntil(context.Background(), c.Now().Add(50*time.Millisecond)))
	}
	ts.Fatalf("processes are left in:\n%s", left)
}
