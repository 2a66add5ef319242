package providertest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/provider"
)

// owner is another process that owns an instance: see Main.
type owner struct {
	cmd   *exec.Cmd
	stdin io.Closer
	told  owned
}

// startOwner starts this test's program as the owner of an instance in cache
// and waits until that runs.
func startOwner(t *testing.T, cache string) *owner {
	t.Helper()
	o := &owner{cmd: exec.CommandContext(t.Context(), os.Args[0])}
	o.cmd.Env = append(os.Environ(), roleVar+"="+cache)
	o.cmd.Stderr = os.Stderr
	var err error
	if o.stdin, err = o.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := o.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := o.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = o.stdin.Close()
		_ = o.cmd.Process.Kill()
		_ = o.cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatalf("the owner said nothing: %v", err)
	}
	if err := json.Unmarshal(line, &o.told); err != nil {
		t.Fatal(err)
	}
	for _, pid := range o.told.PIDs {
		if gone(pid) {
			t.Fatalf("process %s does not even run", pid)
		}
	}
	return o
}

// kill kills the owner so that it can do nothing more.
func (o *owner) kill(t *testing.T) {
	t.Helper()
	if err := o.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = o.cmd.Wait()
}

// cleaner is the provider as one that tells what is left.
func (s suite) cleaner(t *testing.T) provider.Cleaner {
	t.Helper()
	c, ok := s.new().(provider.Cleaner)
	if !ok {
		t.Skip("this provider does not tell what is left")
	}
	return c
}

// leftoversAreFoundAndRemoved kills an owner beside two that live, in the same
// cache and in another, and removes what is found to be left: exactly what the
// dead one had.
func leftoversAreFoundAndRemoved(t *testing.T, s suite) {
	clean := s.cleaner(t)
	cache := s.dir(t)
	live := s.machine(t, cache, provider.Shape{})
	dead, second := startOwner(t, cache), startOwner(t, cache)
	if found := list(t, clean, cache); len(found) > 0 {
		t.Errorf("while all owners live: %+v", found)
	}
	dead.kill(t)
	found := list(t, clean, cache)
	if len(found) != 1 {
		t.Fatalf("one owner died, and left are %+v", found)
	}
	l := found[0]
	if l.What != filepath.Dir(dead.told.Dir) || l.Kind == "" || l.Owner.PID != dead.cmd.Process.Pid || l.Owner.User == "" || l.Since.IsZero() {
		t.Errorf("left is %+v, want %s of process %d", l, filepath.Dir(dead.told.Dir), dead.cmd.Process.Pid)
	}
	if !strings.Contains(l.Why, strconv.Itoa(dead.cmd.Process.Pid)) {
		t.Errorf("it is believed dead because %q", l.Why)
	}
	for range 2 { // somebody else may have removed it meanwhile
		if err := l.Remove(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, pid := range dead.told.PIDs {
		if !gone(pid) {
			t.Errorf("process %s lives after all was removed", pid)
		}
	}
	if _, err := os.Stat(l.What); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", l.What, err)
	}
	if found := list(t, clean, cache); len(found) > 0 {
		t.Errorf("after removing: %+v", found)
	}
	for _, pid := range second.told.PIDs {
		if gone(pid) {
			t.Errorf("process %s of a living owner was killed", pid)
		}
	}
	if got := sh(t, live, "echo alive"); got != "alive" {
		t.Errorf("removing hurt another instance: %q", got)
	}
}

// list lists what is left of instances in cache, which must be removable. What
// others left on the machine is theirs.
func list(t *testing.T, c provider.Cleaner, cache string) (found []provider.Leftover) {
	t.Helper()
	all, err := c.Leftovers(t.Context(), cache)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		if l.Remove == nil || l.What == "" || l.Why == "" {
			t.Fatalf("left is %+v", l)
		}
		if strings.Contains(l.What+l.Why, cache) {
			found = append(found, l)
		}
	}
	return found
}

// livingAreNotRemoved asks to remove what was dead when it was listed, but has
// an owner now: here one whose lock is free while its process runs.
func livingAreNotRemoved(t *testing.T, s suite) {
	clean := s.cleaner(t)
	cache := s.dir(t)
	o := startOwner(t, cache)
	dir := filepath.Dir(o.told.Dir)
	mark := filepath.Join(dir, "owner.json")
	text, err := os.ReadFile(mark)
	if err != nil {
		t.Skip("this provider marks its instances in another way")
	}
	// Nobody can take a lock away; one on a file that was put in the place of
	// the locked one is free.
	if err := errors.Join(os.Remove(filepath.Join(dir, "lock")), os.WriteFile(filepath.Join(dir, "lock"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if found := list(t, clean, cache); len(found) > 0 {
		t.Errorf("with a free lock, but a process that runs: %+v", found)
	}
	changed := strings.Replace(string(text), `"start_time": `, `"start_time": 1`, 1)
	if err := os.WriteFile(mark, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	found := list(t, clean, cache)
	if len(found) != 1 {
		t.Fatalf("with a free lock and another process: %+v", found)
	}
	if err := os.WriteFile(mark, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := found[0].Remove(t.Context()); !errors.Is(err, provider.ErrOwned) {
		t.Errorf("removing what has an owner again gives %v", err)
	}
	for _, pid := range o.told.PIDs {
		if gone(pid) {
			t.Errorf("process %s of a living owner was killed", pid)
		}
	}
}

// stepVar says, in the environment of an owner, at which look at its context it
// kills itself.
const stepVar = "LOADSTONE_PROVIDERTEST_STEP"

// suicide is a context that ends the process when it is asked for the n-th
// time.
type suicide struct {
	context.Context
	left int
}

func (s *suicide) Err() error {
	if s.left--; s.left < 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		<-s.Context.Done() // for ever
	}
	return s.Context.Err()
}

// dieAt provisions in cache and kills itself on the way, or else at the end,
// which exit status 3 tells.
func dieAt(p provider.Provider, cache, step string) int {
	n, err := strconv.Atoi(step)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if _, err := p.Provision(&suicide{context.Background(), n}, provider.Request{Name: "subject", Cache: cache}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 3
}

// killedAtEveryStep has owners that die at each step of provisioning, and looks
// whether all that they left is found and removed.
func killedAtEveryStep(t *testing.T, s suite) {
	const most = 100
	clean := s.cleaner(t)
	cache := s.dir(t)
	for n := range most {
		if s.killAt(t, clean, cache, n) {
			t.Logf("%d owners were killed", n)
			return
		}
	}
	t.Errorf("a provision has more than %d steps", most)
}

// killAt starts an owner that kills itself at the n-th look at its context, and
// removes what is left of it. last says that it came to the end.
func (s suite) killAt(t *testing.T, clean provider.Cleaner, cache string, n int) (last bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), roleVar+"="+cache, stepVar+"="+strconv.Itoa(n))
	cmd.Stderr = os.Stderr
	err := cmd.Run()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != -1 && exit.ExitCode() != 3 {
		t.Fatalf("an owner that was to die at step %d ended with %v", n, err)
	}
	for _, l := range list(t, clean, cache) {
		if err := l.Remove(t.Context()); err != nil {
			t.Errorf("step %d: %v", n, err)
		}
	}
	if left := leftovers(t, cache); len(left) > 0 {
		t.Fatalf("killed at step %d: left behind: %v", n, left)
	}
	return exit.ExitCode() == 3
}

// deadInMidTrial ends an instance from outside, as a crash or an administrator
// would: nothing waits for it for ever, and it can be closed.
func deadInMidTrial(t *testing.T, s suite) {
	cache := s.cache
	if s.given == nil {
		cache = s.dir(t)
	}
	m := s.machine(t, cache, provider.Shape{})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd, pids, err := s.startServer(ctx, m)
	if err != nil {
		t.Fatal(err)
	}
	if whole, ok := m.(interface{ HostPID(int) (int, bool) }); ok {
		first, there := whole.HostPID(1)
		if !there {
			t.Fatal("the instance has no first process")
		}
		pids = []string{strconv.Itoa(first)} // with which all others end
	}
	for _, text := range pids {
		pid, err := strconv.Atoi(text)
		if err == nil {
			err = syscall.Kill(pid, syscall.SIGKILL)
		}
		if err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Fatal(err)
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Error("a command whose instance died succeeded")
	}
	if ctx.Err() != nil {
		t.Fatal("a command waits for an instance that died")
	}
	// Where the processes were all there was, more commands run; else they fail.
	bound, end := context.WithTimeout(t.Context(), 10*time.Second)
	defer end()
	if err := m.Command(bound, "true").Run(); bound.Err() != nil {
		t.Errorf("another command waits for an instance that died: %v", err)
	}
	for range 2 {
		if err := m.(provider.Instance).Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if left := leftovers(t, cache); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// KillAtStep has an owner that kills itself at the n-th look at its context
// while it provisions in cache, and removes what is found to be left of it; for
// providers whose instances take too long for Run.
func KillAtStep(t *testing.T, newProvider func() provider.Provider, cache string, n int) {
	t.Helper()
	s := suite{new: newProvider, cache: cache}
	s.killAt(t, s.cleaner(t), cache, n)
}
