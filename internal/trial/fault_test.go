//go:build linux

package trial_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/loadstone-perf/loadstone/internal/analyse"
	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/trial"
	"github.com/loadstone-perf/loadstone/internal/unit"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// These tests put faults into trials on the real server: the gate that is
// there for each must say no, and no other. What other programs on the machine
// do is none of the tests' business but one's.

const oneTrial = `
study: fault
workload: {name: dvdstore}
engine: {name: postgres}
provider: {name: native}
users: 2
run: {warmup: 1s, measure: 3s}
`

// Names of gates.
const (
	quiet = "machine quiet"
	steal = "steal"
)

// judge runs the one trial of seq and returns its results.
func judge(t *testing.T, seq *trial.Sequence, pending []record.Planned) analyse.Trial {
	t.Helper()
	if err := seq.Run(t.Context(), pending[:1]); err != nil {
		t.Fatal(err)
	}
	s, err := analyse.Load(seq.Dir)
	if err != nil {
		t.Fatal(err)
	}
	nothingLeft(t, seq.Bench.Cache)
	return s.Trials[0]
}

// refused returns the gate that says no; want is its name, and each gate apart
// from those that concern the machine's other programs must say yes.
func refused(t *testing.T, got analyse.Trial, want string) analyse.Gate {
	t.Helper()
	var no analyse.Gate
	for _, g := range got.Gates {
		switch {
		case g.Name == want && !g.Passed:
			no = g
		case g.Name == want:
			t.Errorf("gate %q passed: found %s, wants %s", g.Name, g.Found, g.Want)
		case !g.Passed && g.Name != quiet && g.Name != steal:
			t.Errorf("gate %q says no as well: found %s, wants %s", g.Name, g.Found, g.Want)
		}
	}
	if no.Name == "" {
		t.Logf("status %s (%s), window %+v", got.Status, got.Reason, got.Window)
		t.FailNow()
	}
	t.Logf("%s: found %s, wants %s", no.Name, no.Found, no.Want)
	return no
}

// says fails unless text contains each part.
func says(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q does not say %q", text, p)
		}
	}
}

// at calls do once, in a goroutine of its own, at a delay after a stage of the
// trial begins. The returned function waits for it.
func at(t *testing.T, b *trial.Bench, stage string, delay time.Duration, do func()) (wait func()) {
	begun, done := false, make(chan struct{})
	b.Progress = func(p trial.Progress) {
		if p.Stage != stage || begun {
			return
		}
		begun = true
		go func() {
			defer close(done)
			var c clock.Real
			if c.SleepUntil(t.Context(), c.Now().Add(delay)) == nil {
				do()
			}
		}()
	}
	return func() {
		if !begun {
			t.Fatalf("stage %q never came", stage)
		}
		<-done
	}
}

// cpuTime is what this process has used.
func cpuTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// first asks for this thread to run before all others of the machine, where
// that is allowed.
func first(t *testing.T) {
	if err := syscall.Setpriority(syscall.PRIO_PROCESS, syscall.Gettid(), -20); err != nil {
		t.Logf("the thread has no precedence: %v", err)
	}
}

func TestADriverWithoutCPUToSpareIsRefused(t *testing.T) {
	before := runtime.GOMAXPROCS(1) // its allowance
	defer runtime.GOMAXPROCS(before)
	seq, pending := bench(t, oneTrial)
	var stop atomic.Bool
	var used, passed time.Duration
	wait := at(t, seq.Bench, "warm-up", 0, func() {
		runtime.LockOSThread() // never unlocked: the thread ends with its goroutine
		first(t)
		var c clock.Real
		begin, cpu := c.Now(), cpuTime(t)
		for passed < time.Minute && !stop.Load() {
			passed = c.Now().Sub(begin)
		}
		used = cpuTime(t) - cpu
	})
	result := judge(t, seq, pending)
	stop.Store(true)
	wait()
	if used < passed*85/100 && os.Getenv("CI") != "true" {
		t.Skipf("the machine is too busy to burn a CPU: in %v it gave this process %v", passed, used)
	}
	says(t, refused(t, result, "driver headroom").Found, "of the CPU it may use")
}

// oversleeper is a clock whose sleeps take 3 ms too long.
type oversleeper struct{ clock.Real }

func (o oversleeper) SleepUntil(ctx context.Context, t time.Time) error {
	return o.Real.SleepUntil(ctx, t.Add(3*time.Millisecond))
}

func TestADriverThatSendsLateIsRefused(t *testing.T) {
	seq, pending := bench(t, strings.Replace(oneTrial, "users: 2", "rate: 60/s\narrivals: constant\nconnections: 8", 1))
	seq.Bench.Clock = oversleeper{}
	got := judge(t, seq, pending)
	says(t, refused(t, got, "driver on time").Found, "p99 of lateness")
	if got.LatenessP99Us < 3000 {
		t.Errorf("p99 of lateness is %v µs, the clock oversleeps by 3 ms", got.LatenessP99Us)
	}
}

// drifter is a user who after some steps does nothing but browse, each search
// a unit of work.
type drifter struct {
	workload.User
	steps   int
	browses bool
}

func (d *drifter) Next() workload.Step {
	s := d.User.Next()
	d.steps++
	if d.browses = d.browses || d.steps > 50 && s.Transaction.Name == "browse"; d.browses {
		s.Last = true
	}
	return s
}

func (d *drifter) Done(o workload.Outcome) {
	if !d.browses {
		d.User.Done(o)
	}
}

func TestAMixThatDriftsIsRefused(t *testing.T) {
	seq, pending := bench(t, oneTrial)
	made := seq.Kind.New
	seq.Kind.New = func(v unit.Values, seed uint64) (*workload.Definition, error) {
		d, err := made(v, seed)
		if err != nil {
			return nil, err
		}
		users := d.NewUser
		d.NewUser = func(n int, s rng.Stream) workload.User { return &drifter{User: users(n, s)} }
		return d, nil
	}
	g := refused(t, judge(t, seq, pending), "mix")
	says(t, g.Found+g.Want, "%", "±")
}

// tampered is the server's program, whose databases a test may look at or
// replace.
type tampered struct {
	engine.Installation
	started func(engine.Database) engine.Database
}

func (i tampered) Start(ctx context.Context, m engine.Machine, c engine.Config) (engine.Database, error) {
	db, err := i.Installation.Start(ctx, m, c)
	if err != nil {
		return nil, err
	}
	return i.started(db), nil
}

func TestALostRowIsRefused(t *testing.T) {
	seq, pending := bench(t, oneTrial)
	var db engine.Database
	seq.Bench.Install = tampered{seq.Bench.Install, func(d engine.Database) engine.Database { db = d; return d }}
	def, err := definition(seq)
	if err != nil {
		t.Fatal(err)
	}
	lost := int64(0)
	seq.Bench.Progress = func(p trial.Progress) {
		if p.Stage != "check" {
			return
		}
		lose := *def
		lose.Role = def.Owner
		lose.Statements = []*workload.Statement{{Name: "lose", Text: "DELETE FROM orders WHERE orderid = (SELECT max(orderid) FROM orders)"}}
		s, err := db.Open(t.Context(), &lose)
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = s.Close() }()
		res, err := s.Conn().Run(t.Context(), lose.Statements[0], nil)
		if err != nil {
			t.Error(err)
		}
		lost = res.Affected
	}
	g := refused(t, judge(t, seq, pending), "checks")
	if lost != 1 {
		t.Errorf("%d orders deleted, want 1", lost)
	}
	says(t, g.Found, "orders found")
}

func TestANoisyNeighbourIsRefused(t *testing.T) {
	seq, pending := bench(t, oneTrial)
	noise := exec.Command("timeout", "20", "sh", "-c", "while :; do :; done")
	wait := at(t, seq.Bench, "warm-up", 0, func() {
		if err := noise.Start(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		if noise.Process != nil {
			_ = noise.Process.Signal(syscall.SIGTERM) // timeout passes it on
			_ = noise.Wait()                          // it was ended by a signal
		}
	})
	got := judge(t, seq, pending)
	wait()
	says(t, refused(t, got, quiet).Found, "other processes use")
}

// stubborn is a database on which a setting did not take.
type stubborn struct{ engine.Database }

func (s stubborn) Settings(ctx context.Context) ([]engine.Setting, error) {
	all, err := s.Database.Settings(ctx)
	for i := range all {
		if all[i].Name == "work_mem" {
			all[i].Effective, all[i].Matches = "4MB", false
		}
	}
	return all, err
}

func TestASettingThatDidNotTakeFailsTheTrial(t *testing.T) {
	seq, pending := bench(t, strings.Replace(oneTrial, "{name: postgres}", "{name: postgres, settings: {work_mem: 5MB}}", 1))
	seq.Bench.Install = tampered{seq.Bench.Install, func(d engine.Database) engine.Database { return stubborn{d} }}
	got := judge(t, seq, pending)
	refused(t, got, "finished")
	if got.Status != string(record.Failed) || got.Counts {
		t.Errorf("status %s, counts %v", got.Status, got.Counts)
	}
	says(t, got.Reason, "work_mem is 4MB, but 5MB was asked for")
}

func TestADiskThatSlowsDownIsRefused(t *testing.T) {
	// Thirty intervals are the least that can be tested.
	seq, pending := bench(t, strings.Replace(oneTrial, "measure: 3s", "measure: 32s", 1))
	var way string
	undo := func() {}
	wait := at(t, seq.Bench, "measure", 18*time.Second, func() {
		pid, err := postmaster()
		if err == nil {
			way, undo, err = slowWrites(t.Context(), pid)
		}
		if err != nil {
			t.Error(err)
		}
	})
	seen := seq.Bench.Progress
	seq.Bench.Progress = func(p trial.Progress) {
		if seen(p); p.Stage == "check" {
			wait()
			undo() // stopping the server must not take for ever
		}
	}
	got := judge(t, seq, pending)
	t.Logf("writes were slow by %s", way)
	says(t, refused(t, got, "steady").Found, "the window")
}

// slowWrites slows the writes of the server whose first process is pid until
// undo is called or ctx ends: by the kernel's limit on the instance's control
// group, or where that can't be had by stopping its processes for most of the
// time. It says which.
func slowWrites(ctx context.Context, pid int) (way string, undo func(), err error) {
	l, err := writeLimit(pid)
	if err == nil {
		if err = l.set("20"); err == nil {
			return l.file, func() { _ = l.set(l.none) }, nil // the group is removed soon
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		dutyCycle(ctx, pid)
	}()
	return fmt.Sprintf("stopping the server, since %v", err), func() { cancel(); <-done }, nil
}

// limit is where the kernel limits writes a second of a control group to a
// device.
type limit struct {
	file, line string
	none       string // the value that is no limit
}

func (l limit) set(value string) error {
	return os.WriteFile(l.file, []byte(fmt.Sprintf(l.line, value)), 0)
}

// writeLimit finds the limit of pid's control group on the disk that holds
// the instances.
func writeLimit(pid int) (limit, error) {
	disk, err := diskOf(cache)
	if err != nil {
		return limit{}, err
	}
	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return limit{}, err
	}
	for _, line := range strings.Split(strings.TrimSpace(string(groups)), "\n") {
		f := strings.SplitN(line, ":", 3)
		l := limit{filepath.Join("/sys/fs/cgroup/blkio", f[2], "blkio.throttle.write_iops_device"), disk + " %s\n", "0"}
		if f[1] == "" {
			l = limit{filepath.Join("/sys/fs/cgroup", f[2], "io.max"), disk + " wiops=%s\n", "max"}
		}
		if _, err := os.Stat(l.file); err == nil && (f[1] == "blkio" || f[1] == "") && strings.Contains(f[2], "loadstone-") {
			return l, nil
		}
	}
	return limit{}, fmt.Errorf("process %d has no control group with a limit on writes", pid)
}

// diskOf is the number, as the kernel writes it, of the disk that holds path;
// limits are on whole disks.
func diskOf(path string) (string, error) {
	var st syscall.Stat_t
	if err := syscall.Stat(path, &st); err != nil {
		return "", err
	}
	device, err := filepath.EvalSymlinks(fmt.Sprintf("/sys/dev/block/%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev)))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(device, "partition")); err == nil {
		device = filepath.Dir(device)
	}
	number, err := os.ReadFile(filepath.Join(device, "dev"))
	return strings.TrimSpace(string(number)), err
}

// dutyCycle lets the server's processes run for 30 of 100 ms.
func dutyCycle(ctx context.Context, pid int) {
	var c clock.Real
	for ctx.Err() == nil {
		signalAll(pid, syscall.SIGSTOP)
		_ = c.SleepUntil(ctx, c.Now().Add(70*time.Millisecond))
		signalAll(pid, syscall.SIGCONT)
		_ = c.SleepUntil(ctx, c.Now().Add(30*time.Millisecond))
	}
}

// signalAll sends s to the children of pid.
func signalAll(pid int, s syscall.Signal) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for _, f := range strings.Fields(string(text)) {
		if child, err := strconv.Atoi(f); err == nil {
			_ = syscall.Kill(child, s) // it may have ended
		}
	}
}
