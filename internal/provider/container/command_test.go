//go:build linux

package container

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/native"
)

// TestCommandsBehaveAsProcesses tries what an exec.Cmd promises on commands
// for which a shell stands in, all in one container.
func TestCommandsBehaveAsProcesses(t *testing.T) {
	i := made(t, open(t), provider.Shape{})
	for _, c := range []struct {
		name string
		run  func(*testing.T, *Instance)
	}{
		{"ExitStatus", exitStatus},
		{"InputAndOutputsAreThreePipes", threePipes},
		{"LargeDataGoesThroughUnchanged", largeData},
		{"InputThatNobodyReads", inputUnread},
		{"SignalsArePassedOn", signalsPass},
		{"ADaemonHoldsTheOutput", daemonHolds},
		{"OutputIsCompleteInAFile", outputInFile},
		{"ManyAtTheSameTime", manyAtOnce},
		{"CancelBeforeItBegins", cancelEarly},
		{"TheFilterAndTheRightsAreTheContainers", filterAndRights},
		{"TheHostsFilesAreReadOnly", readOnly},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, i) })
	}
}

func exitStatus(t *testing.T, i *Instance) {
	for _, c := range []struct {
		script string
		want   int
	}{{"exit 0", 0}, {"exit 7", 7}, {"exit 255", 255}, {"kill -9 $$", 137}, {"kill -TERM $$", 143}, {"/nowhere", 127}} {
		err := i.Command(t.Context(), "sh", "-c", c.script).Run()
		got := 0
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			got = exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if got != c.want {
			t.Errorf("%s ends with %d, want %d", c.script, got, c.want)
		}
	}
}

func threePipes(t *testing.T, i *Instance) {
	cmd := i.Command(t.Context(), "sh", "-c", "cat; echo err >&2; echo out")
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("in\n"), &out, &errs
	if err := cmd.Run(); err != nil || out.String() != "in\nout\n" || errs.String() != "err\n" {
		t.Errorf("out %q, err %q, %v", &out, &errs, err)
	}
}

func largeData(t *testing.T, i *Instance) {
	var data []byte
	for sum := sha256.Sum256(nil); len(data) < 8<<20; sum = sha256.Sum256(sum[:]) {
		data = append(data, sum[:]...)
	}
	cmd := i.Command(t.Context(), "cat")
	cmd.Stdin = bytes.NewReader(data)
	out, err := cmd.Output()
	if err != nil || sha256.Sum256(out) != sha256.Sum256(data) {
		t.Errorf("%d bytes come back of %d, %v", len(out), len(data), err)
	}
}

func inputUnread(t *testing.T, i *Instance) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	defer r.Close()
	cmd := i.Command(t.Context(), "echo", "done")
	cmd.Stdin = r // stays open, and empty
	if out, err := cmd.Output(); err != nil || string(out) != "done\n" {
		t.Errorf("%q, %v", out, err)
	}
}

func signalsPass(t *testing.T, i *Instance) {
	for _, s := range []struct {
		signal syscall.Signal
		name   string
	}{{syscall.SIGINT, "INT"}, {syscall.SIGQUIT, "QUIT"}, {syscall.SIGTERM, "TERM"}, {syscall.SIGHUP, "HUP"}, {syscall.SIGUSR1, "USR1"}} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		cmd := i.Command(ctx, "sh", "-c", "trap 'echo got; exit 3' "+s.name+"; echo ready; while :; do sleep 0.05; done")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var word string
		if _, err := fmt.Fscan(out, &word); err != nil || word != "ready" {
			t.Fatalf("%q, %v", word, err)
		}
		if err := cmd.Process.Signal(s.signal); err != nil {
			t.Fatal(err)
		}
		rest, _ := io.ReadAll(out)
		err = cmd.Wait()
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 3 || strings.TrimSpace(string(rest)) != "got" {
			t.Errorf("%v: said %q, ended with %v", s.signal, rest, err)
		}
	}
}

// daemonHolds starts a process that outlives its parent and holds the output:
// the parent's end is seen at once, the output's end only with the daemon's.
func daemonHolds(t *testing.T, i *Instance) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := i.Command(t.Context(), "sh", "-c", "(until [ -e stop ]; do sleep 0.05; done; echo late) & echo early")
	cmd.Stdout = w
	err = cmd.Start()
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(i.Dir(), "stop"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := io.ReadAll(r); err != nil || string(out) != "early\nlate\n" {
		t.Errorf("%q, %v", out, err)
	}
}

func outputInFile(t *testing.T, i *Instance) {
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd := i.Command(t.Context(), "seq", "100000")
	cmd.Stdout = f
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(f.Name()); err != nil || !bytes.HasSuffix(text, []byte("\n100000\n")) {
		t.Errorf("the file has %d bytes when the command has ended, %v", len(text), err)
	}
}

func manyAtOnce(t *testing.T, i *Instance) {
	const many = 20
	got := make(chan string, many)
	for n := range many {
		go func() {
			out, err := i.Command(t.Context(), "sh", "-c", fmt.Sprintf("cat; echo %d", n)).Output()
			if err != nil {
				out = []byte(err.Error())
			}
			got <- strings.TrimSpace(string(out))
		}()
	}
	seen := map[string]bool{}
	for range many {
		seen[<-got] = true
	}
	if len(seen) != many {
		t.Errorf("%d answers: %v", len(seen), seen)
	}
}

// cancelEarly ends contexts while their commands are on the way into the
// container: none of them may run afterwards.
func cancelEarly(t *testing.T, i *Instance) {
	for n := range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		cmd := i.Command(ctx, "sh", "-c", "sleep 1000; true")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		wait(t, time.Duration(n)*time.Millisecond)
		cancel()
		if err := cmd.Wait(); err == nil {
			t.Error("a cancelled command succeeded")
		}
	}
	defer func() {
		if !t.Failed() {
			return
		}
		for _, pid := range i.group.PIDs() {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			t.Logf("process %d still runs: %q", pid, bytes.ReplaceAll(line, []byte{0}, []byte(" ")))
		}
	}()
	eventually(t, "nothing runs", func() bool { return i.idle(t.Context()) == nil })
}

func wait(t *testing.T, d time.Duration) {
	t.Helper()
	clk := clock.Real{}
	if err := clk.SleepUntil(t.Context(), clk.Now().Add(d)); err != nil {
		t.Fatal(err)
	}
}

// eventually waits until done says so, for ten seconds at most.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for range 1000 {
		if done() {
			return
		}
		wait(t, 10*time.Millisecond)
	}
	t.Fatalf("not yet: %s", what)
}

func filterAndRights(t *testing.T, i *Instance) {
	out, err := i.Command(t.Context(), "sh", "-c", "grep -E '^(Seccomp|NoNewPrivs|CapBnd):' /proc/self/status; echo $(ls /proc | grep -c '^[0-9]')").Output()
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(string(out))
	if len(f) != 7 || f[1] != "0000000000000000" || f[3] != "1" || f[5] != "2" {
		t.Errorf("a command in the container has %q", f)
	}
	if f[6] == "" || len(f[6]) > 2 {
		t.Errorf("it sees %s processes", f[6])
	}
}

func readOnly(t *testing.T, i *Instance) {
	for _, dir := range []string{"/usr", "/usr/lib"} {
		out, err := i.Command(t.Context(), "touch", dir+"/x").CombinedOutput()
		if err == nil || !strings.Contains(string(out), "Read-only") {
			t.Errorf("touch in %s: %s, %v", dir, out, err)
		}
	}
}

// TestCountersAreThoseOfNative holds that figures of both providers lie on one
// axis.
func TestCountersAreThoseOfNative(t *testing.T) {
	shape := provider.Shape{CPUs: 0.5}
	mine := columns(t, made(t, open(t), shape))
	other, err := native.New().Provision(t.Context(), provider.Request{Name: "subject", Shape: shape, Cache: open(t)})
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = other.Close(context.Background()) }()
	theirs := columns(t, other.(provider.CounterSource))
	for _, c := range theirs {
		if !slices.Contains(mine, c) {
			t.Errorf("native counts %s, the container does not: it has %v", c, mine)
		}
	}
}

func columns(t *testing.T, s provider.CounterSource) (names []string) {
	t.Helper()
	for _, one := range s.Sources() {
		for _, c := range one.Columns() {
			names = append(names, one.Name()+"."+c.Name)
		}
	}
	return names
}

// TestACommandThatTheContainerNeverBeganEnds starts commands in a container
// that has just been killed: one that was prepared before, and one afterwards.
func TestACommandThatTheContainerNeverBeganEnds(t *testing.T) {
	i := made(t, open(t), provider.Shape{})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	prepared := i.Command(ctx, "true")
	first, ok := i.HostPID(1)
	if !ok {
		t.Fatal("the container has no first process")
	}
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end is noticed", i.watch.ended.Load)
	if err := prepared.Run(); err == nil || ctx.Err() != nil {
		t.Errorf("a command that was prepared before the end: %v", err)
	}
	if err := i.Command(ctx, "true").Run(); err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("a command after the end: %v", err)
	}
}
