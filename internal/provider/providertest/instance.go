package providertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/observe"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

func checkNamesTheKnob(t *testing.T, s suite) {
	for _, c := range []struct {
		knob  string
		shape provider.Shape
	}{
		{"instance.cpus", provider.Shape{CPUs: -1}},
		{"instance.cpus", provider.Shape{CPUs: 0.0001}},
		{"instance.cpus", provider.Shape{CPUs: 100_000}},
		{"instance.cpus", provider.Shape{CPUs: 1.5, CPUSet: "0"}},
		{"instance.cpuset", provider.Shape{CPUSet: "0-"}},
		{"instance.cpuset", provider.Shape{CPUSet: "8000"}},
		{"instance.memory", provider.Shape{Memory: -1}},
		{"instance.memory", provider.Shape{Memory: 1}},
		{"instance.memory", provider.Shape{Memory: 1 << 60}},
		{"instance.cpu_shares", provider.Shape{CPUShares: 1}},
		{"instance.cpu_shares", provider.Shape{CPUShares: 1 << 20}},
		{"instance.mems", provider.Shape{Mems: "0-"}},
		{"instance.mems", provider.Shape{Mems: "4000"}},
		{"instance.disk_read", provider.Shape{ReadBytesPS: -1}},
		{"instance.disk_write", provider.Shape{WriteBytesPS: 1}},
		{"instance.disk_read_ops", provider.Shape{ReadOpsPS: -1}},
		{"instance.disk_write_ops", provider.Shape{WriteOpsPS: 1 << 40}},
	} {
		found := false
		for _, p := range s.new().Check(t.Context(), c.shape) {
			found = found || p.Knob == c.knob
			if p.Reason == "" || p.Remedy == "" {
				t.Errorf("%+v: a problem without reason or remedy: %+v", c.shape, p)
			}
		}
		if !found {
			t.Errorf("%+v: no problem with %s was found", c.shape, c.knob)
		}
		cache := s.dir(t)
		inst, err := s.new().Provision(t.Context(), provider.Request{Name: "subject", Shape: c.shape, Cache: cache})
		if err == nil {
			t.Errorf("%+v: was provisioned", c.shape)
			_ = inst.Close(t.Context())
		} else if !strings.Contains(err.Error(), c.knob) {
			t.Errorf("%+v: the error does not name %s: %v", c.shape, c.knob, err)
		}
		if left := leftovers(t, cache); len(left) > 0 {
			t.Errorf("%+v: left behind: %v", c.shape, left)
		}
	}
	if problems := s.new().Check(t.Context(), provider.Shape{}); len(problems) > 0 {
		t.Errorf("an instance that is not confined: %+v", problems)
	}
}

func provisionAndClose(t *testing.T, s suite) {
	cache := s.dir(t)
	inst := s.provision(t, cache, provider.Shape{})
	m, isMachine := inst.(provider.Machine)
	if isMachine {
		entries, err := os.ReadDir(m.Dir())
		if err != nil || len(entries) > 0 {
			t.Errorf("the directory of a new instance is not empty: %v, %v", entries, err)
		}
		if cpus, mem := m.Capacity(); cpus <= 0 || mem < 64*unit.MiB {
			t.Errorf("the capacity is %v CPUs and %s", cpus, mem)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 3 {
		if err := inst.Close(ended); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	if left := leftovers(t, cache); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if isMachine {
		if err := m.Command(t.Context(), "true").Run(); err == nil {
			t.Error("a closed instance ran a command")
		}
	}
}

func namesAreChecked(t *testing.T, s suite) {
	for _, name := range []string{"", "..", "a/b", "-x", "a b", "a\nb", strings.Repeat("a", 65)} {
		inst, err := s.new().Provision(t.Context(), provider.Request{Name: name, Cache: s.dir(t)})
		if err == nil {
			t.Errorf("an instance named %q was made", name)
			_ = inst.Close(t.Context())
		}
	}
}

func commandsAreUnprivileged(t *testing.T, s suite) {
	t.Setenv("LOADSTONE_SECRET", "not for servers")
	m := s.machine(t, s.dir(t), provider.Shape{})
	if uid := sh(t, m, "id -u"); uid == "0" {
		t.Error("commands run as root")
	}
	env := sh(t, m, "env")
	if strings.Contains(env, "LOADSTONE_SECRET") {
		t.Errorf("Loadstone's environment leaks:\n%s", env)
	}
	for _, want := range []string{"LANG=C", "TZ=UTC", "HOME="} {
		if !strings.Contains(env, want) {
			t.Errorf("%s is missing in the environment:\n%s", want, env)
		}
	}
	sh(t, m, "echo hello >file && mkdir -p sub && ln -sf file link")
	if got := sh(t, m, `cat "$1/file"`, m.Dir()); got != "hello" {
		t.Errorf("the working directory is not the instance's: %q", got)
	}
	if text, err := os.ReadFile(filepath.Join(m.Dir(), "file")); s.given == nil && (err != nil || string(text) != "hello\n") {
		t.Errorf("what a command wrote is not on the host: %q, %v", text, err)
	}
	if got := sh(t, m, `printf '%s|' "$@"`, "a b", "", "'", "$HOME", "\n"); got != "a b||'|$HOME|\n|" {
		t.Errorf("arguments arrive as %q", got)
	}
}

func commandsThatAreNotThereFail(t *testing.T, s suite) {
	m := s.machine(t, s.dir(t), provider.Shape{})
	if err := m.Command(t.Context(), "no-such-program-anywhere").Run(); err == nil || !strings.Contains(err.Error(), "no-such-program-anywhere") {
		t.Errorf("a missing program: %v", err)
	}
	if err := m.Command(t.Context(), "false").Run(); err == nil {
		t.Error("a failing program succeeded")
	}
}

// server is a script that stays and has children, one of them in a session of
// its own; it prints its processes.
const server = `sleep 1000 & a=$!; setsid sleep 1000 & b=$!; echo $$ $a $b; wait`

// startServer starts server and returns its processes, as the kernel counts
// that ended asks.
func (s suite) startServer(ctx context.Context, m provider.Machine) (*exec.Cmd, []string, error) {
	cmd, pids, err := startServer(ctx, m)
	if err == nil && s.given == nil {
		pids = hostPIDs(m, pids)
	}
	return cmd, pids, err
}

// startServer starts server and returns the processes that it prints.
func startServer(ctx context.Context, m provider.Machine) (*exec.Cmd, []string, error) {
	cmd := m.Command(ctx, "sh", "-c", server)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	var pids [3]string
	if _, err := fmt.Fscan(out, &pids[0], &pids[1], &pids[2]); err != nil {
		return nil, nil, fmt.Errorf("the server printed no processes: %w", err)
	}
	return cmd, pids[:], nil
}

// hostPIDs translates process ids of instances that count their own.
func hostPIDs(m provider.Machine, pids []string) []string {
	own, ok := m.(interface{ HostPID(int) (int, bool) })
	if !ok {
		return pids
	}
	for i, p := range pids {
		// What can't be translated stays nonsense and fails the test.
		inside, _ := strconv.Atoi(p)
		pids[i] = "unknown"
		if host, ok := own.HostPID(inside); ok {
			pids[i] = strconv.Itoa(host)
		}
	}
	return pids
}

func cancelKillsTheWholeCommand(t *testing.T, s suite) {
	m := s.machine(t, s.dir(t), provider.Shape{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd, pids, err := s.startServer(ctx, m)
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		if s.ended(t, m, pid) {
			t.Errorf("process %s does not even run", pid)
		}
	}
	cancel()
	if err := cmd.Wait(); err == nil {
		t.Error("a command that was cancelled succeeded")
	}
	for _, pid := range pids {
		eventually(t, "process "+pid+" ends", func() bool { return s.ended(t, m, pid) })
	}
}

func closeKillsWhatRuns(t *testing.T, s suite) {
	cache := s.dir(t)
	m := s.machine(t, cache, provider.Shape{})
	cmd, pids, err := s.startServer(context.Background(), m)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.(provider.Instance).Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		if !gone(pid) {
			t.Errorf("process %s lives after Close", pid)
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Error("a command whose instance was closed succeeded")
	}
	if left := leftovers(t, cache); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// small is a shape with every knob.
var small = provider.Shape{CPUs: 0.5, CPUSet: "0", Mems: "0", Memory: 64 * unit.MiB, CPUShares: 512}

func shapeIsReadBack(t *testing.T, s suite) {
	for _, shape := range []provider.Shape{
		{}, {CPUs: 0.25}, {CPUSet: "0"}, {Memory: 128*unit.MiB + 1}, {CPUShares: 2}, {CPUShares: 3000}, {Mems: "0"}, small,
	} {
		t.Run(fmt.Sprintf("%+v", shape), func(t *testing.T) {
			m := s.machine(t, s.dir(t), shape)
			shaped, ok := m.(provider.Shaped)
			if !ok {
				t.Skip("instances of this provider do not read their shape back")
			}
			knobs, err := shaped.Effective(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			byName := map[string]provider.Knob{}
			for _, k := range knobs {
				byName[k.Name] = k
				if !k.Matches || k.Effective == "" {
					t.Errorf("knob %+v", k)
				}
			}
			if k := byName["instance.cpus"]; (shape.CPUs > 0) != (k.Intended != "") {
				t.Errorf("instance.cpus: %+v", k)
			}
			if k := byName["instance.mems"]; k.Intended != shape.Mems {
				t.Errorf("instance.mems: %+v", k)
			}
			cpus, mem := m.Capacity()
			if shape.CPUs > 0 && cpus != shape.CPUs {
				t.Errorf("the capacity is %v CPUs", cpus)
			}
			if shape.CPUSet == "0" && cpus > 1 {
				t.Errorf("the capacity is %v CPUs on one CPU", cpus)
			}
			if shape.Memory > 0 && (mem > shape.Memory || mem < shape.Memory-unit.Bytes(os.Getpagesize())) {
				t.Errorf("the capacity is %s of memory", mem)
			}
		})
	}
}

func commandsAreInsideTheShape(t *testing.T, s suite) {
	m := s.machine(t, s.dir(t), small)
	got := sh(t, m, "sh -c 'grep Cpus_allowed_list /proc/self/status'")
	if f := strings.Fields(got); len(f) != 2 || f[1] != "0" {
		t.Errorf("a grandchild of the instance may run on %s", got)
	}
}

// burn is a script that keeps two CPUs busy.
const burn = `while :; do :; done & while :; do :; done`

func quotaLimits(t *testing.T, s suite) {
	// So little that even a machine with much else to do can give it.
	const quota, enough = 0.1, 0.15
	m := s.machine(t, s.dir(t), provider.Shape{CPUs: quota})
	if _, ok := counter(t, m, "cpu_user_s"); !ok {
		t.Skip("instances of this provider do not count their CPU time")
	}
	began := clock.Real{}.Now()
	before := cpuTime(t, m)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := m.Command(ctx, "sh", "-c", burn)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	used := 0.0
	eventually(t, "the quota is used up", func() bool {
		used = cpuTime(t, m) - before
		throttled, ok := counter(t, m, "throttled_periods")
		return used > enough && (!ok || throttled > 0)
	})
	took := clock.Real{}.Now().Sub(began).Seconds()
	// One period's quota may be used before the first throttling, and
	// accounting lags by a tick on each CPU. Without a limit, so much is used
	// within a tenth of the time.
	if most := quota*took*1.15 + 0.05; used > most {
		t.Errorf("%v s of CPU time were used in %v s with a quota of %v CPUs: more than %v", used, took, quota, most)
	}
	cancel()
	_ = cmd.Wait()
}

// cpuTime is the instance's CPU time in seconds.
func cpuTime(t *testing.T, m provider.Machine) float64 {
	t.Helper()
	user, _ := counter(t, m, "cpu_user_s")
	system, _ := counter(t, m, "cpu_system_s")
	return user + system
}

// diskLimitsAreReadBack needs a directory on a disk; where it is on none, the
// provision must fail and name the knobs.
func diskLimitsAreReadBack(t *testing.T, s suite) {
	shape := provider.Shape{ReadBytesPS: 32 * unit.MiB, WriteBytesPS: 16 * unit.MiB, ReadOpsPS: 2000, WriteOpsPS: 1000}
	p := s.new()
	if problems := p.Check(t.Context(), shape); len(problems) > 0 {
		missing(t, problems[0].Knob+": "+problems[0].Reason)
	}
	inst, err := p.Provision(t.Context(), provider.Request{Name: "subject", Shape: shape, Cache: s.dir(t)})
	if err != nil {
		if !strings.Contains(err.Error(), "is on no disk") || !strings.Contains(err.Error(), "instance.disk_read") {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	defer func() {
		if err := inst.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	knobs, err := inst.(provider.Shaped).Effective(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"instance.disk_read": "32MiB/s", "instance.disk_write": "16MiB/s",
		"instance.disk_read_ops": "2000/s", "instance.disk_write_ops": "1000/s",
	}
	for _, k := range knobs {
		if text, ok := want[k.Name]; ok {
			delete(want, k.Name)
			if !k.Matches || k.Intended != text || !strings.HasPrefix(k.Effective, text) {
				t.Errorf("knob %+v", k)
			}
		}
	}
	if len(want) > 0 {
		t.Errorf("not read back: %v", want)
	}
}

// diskLimitSlows writes past the page cache, more than a second may carry. A
// disk would do it in a tenth of the time.
func diskLimitSlows(t *testing.T, s suite) {
	const rate, bytes = 4 << 20, 6 << 20
	shape := provider.Shape{WriteBytesPS: rate}
	p := s.new()
	if problems := p.Check(t.Context(), shape); len(problems) > 0 {
		missing(t, problems[0].Knob+": "+problems[0].Reason)
	}
	inst, err := p.Provision(t.Context(), provider.Request{Name: "subject", Shape: shape, Cache: s.dir(t)})
	if err != nil {
		t.Skip(err)
	}
	defer func() {
		if err := inst.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	m, ok := inst.(provider.Machine)
	if !ok {
		t.Skip("instances of this provider run no programs")
	}
	began := clock.Real{}.Now()
	out, err := m.Command(t.Context(), "dd", "if=/dev/zero", "of=file", "bs=1M", fmt.Sprintf("count=%d", bytes>>20), "oflag=direct").CombinedOutput()
	if err != nil {
		t.Skipf("no writing past the page cache here: %s", out)
	}
	// The kernel grants a first slice before it makes anybody wait.
	if took := (clock.Real{}).Now().Sub(began).Seconds(); took < 0.6*bytes/rate {
		t.Errorf("%d bytes took %v s at %d bytes a second", bytes, took, rate)
	}
}

func memoryLimitKills(t *testing.T, s suite) {
	m := s.machine(t, s.dir(t), provider.Shape{Memory: 32 * unit.MiB})
	// tail keeps the last line, which is all of it.
	err := m.Command(t.Context(), "sh", "-c", "head -c 134217728 /dev/zero | tail >/dev/null").Run()
	if err == nil {
		t.Fatal("128 MiB fitted into 32 MiB")
	}
	if n, ok := counter(t, m, "oom_kills"); ok && n < 1 {
		t.Errorf("%v processes were killed for want of memory, the command ended with %v", n, err)
	}
	if out := sh(t, m, "echo alive"); out != "alive" {
		t.Errorf("after a kill the instance says %q", out)
	}
}

func countersCountTheCPU(t *testing.T, s suite) {
	m := s.machine(t, s.dir(t), provider.Shape{})
	c, ok := m.(provider.CounterSource)
	if !ok {
		t.Skip("instances of this provider have no counters")
	}
	sources := c.Sources()
	checkColumns(t, sources)
	read := func(name string) float64 {
		for _, s := range sources {
			out := make([]float64, len(s.Columns()))
			if err := s.Read(t.Context(), out); err != nil {
				t.Fatal(err)
			}
			for i, col := range s.Columns() {
				if col.Name == name {
					return out[i]
				}
			}
		}
		t.Fatalf("no counter %s", name)
		return 0
	}
	cpu := func() float64 { return read("cpu_user_s") + read("cpu_system_s") }
	before := cpu()
	// Short processes without end: their time must not be lost when they do.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := m.Command(ctx, "sh", "-c", `while :; do sh -c 'i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done'; done`)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	last := before
	eventually(t, "0.3 s of CPU time are counted", func() bool {
		now := cpu()
		if now < last {
			t.Errorf("CPU time went back from %v to %v s", last, now)
		}
		last = now
		return now-before > 0.3
	})
	if used := read("mem_used_bytes"); used < 100e3 {
		t.Errorf("the instance uses %v bytes", used)
	}
	cancel()
	_ = cmd.Wait()
}

func checkColumns(t *testing.T, sources []observe.Source) {
	t.Helper()
	seen := map[string]bool{}
	for _, s := range sources {
		for _, c := range s.Columns() {
			if c.Name == "" || c.About == "" || seen[s.Name()+c.Name] {
				t.Errorf("column %+v of %s", c, s.Name())
			}
			seen[s.Name()+c.Name] = true
		}
	}
}

// stepper is a context that ends after it was asked a number of times.
type stepper struct {
	context.Context
	left   int
	cancel context.CancelFunc
}

func (s *stepper) Err() error {
	if s.left--; s.left < 0 {
		s.cancel()
	}
	return s.Context.Err()
}

func cancelledProvisionLeavesNothing(t *testing.T, s suite) {
	const most = 100
	cache := s.dir(t)
	for n := range most {
		ctx, cancel := context.WithCancel(t.Context())
		inst, err := s.new().Provision(&stepper{Context: ctx, left: n, cancel: cancel}, provider.Request{Name: "subject", Cache: cache})
		cancel()
		if err == nil {
			if n == 0 {
				t.Error("a provision that was cancelled beforehand succeeded")
			}
			if err := inst.Close(ctx); err != nil {
				t.Error(err)
			}
			t.Logf("%d steps were cancelled", n)
			return
		}
		if inst != nil {
			t.Errorf("step %d: an instance comes with the error %v", n, err)
		}
		if left := leftovers(t, cache); len(left) > 0 {
			t.Fatalf("cancelled at step %d (%v): left behind: %v", n, err, left)
		}
	}
	t.Errorf("a provision asks for cancelling more than %d times", most)
}

func twoInstancesOfOneName(t *testing.T, s suite) {
	cache := s.dir(t)
	a := s.machine(t, cache, provider.Shape{})
	b := s.machine(t, cache, provider.Shape{})
	sh(t, a, "echo a >mine")
	sh(t, b, "echo b >mine")
	if err := b.(provider.Instance).Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := sh(t, a, "cat mine"); got != "a" {
		t.Errorf("the first instance's file says %q", got)
	}
}
