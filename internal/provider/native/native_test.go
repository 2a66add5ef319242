//go:build linux

package native

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// made provisions an instance for one test.
func made(t *testing.T, cache string, shape provider.Shape) *Instance {
	t.Helper()
	inst, err := New().Provision(t.Context(), provider.Request{Name: "subject", Shape: shape, Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := inst.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return inst.(*Instance)
}

// needCgroups skips where the machine gives no controllers.
func needCgroups(t *testing.T, s provider.Shape) {
	t.Helper()
	if problems := New().Check(t.Context(), s); len(problems) > 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal(problems)
		}
		t.Skip(problems[0].Reason)
	}
}

func TestTamperedLimitsDoNotMatch(t *testing.T) {
	shape := provider.Shape{CPUs: 0.5, CPUSet: "0", Memory: 64 * unit.MiB, CPUShares: 512}
	needCgroups(t, shape)
	i := made(t, open(t), shape)
	for _, c := range []struct {
		knob, controller, file1, file2, value1, value2 string
	}{
		{knobCPUs, "cpu", "cpu.cfs_quota_us", "cpu.max", "40000", "40000 100000"},
		{knobMemory, "memory", "memory.limit_in_bytes", "memory.max", "33554432", "33554432"},
		{knobShares, "cpu", "cpu.shares", "cpu.weight", "1024", "100"},
	} {
		version, dir := i.group.dirOf(c.controller)
		file, value := c.file1, c.value1
		if version == 2 {
			file, value = c.file2, c.value2
		}
		if err := writeFile(filepath.Join(dir, file), value); err != nil {
			t.Fatal(err)
		}
		knobs, err := i.Effective(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range knobs {
			if k.Name == c.knob && k.Matches {
				t.Errorf("%s was set to %s, yet it reads back as %+v", file, value, k)
			}
		}
	}
	if err := i.proveShape(t.Context()); err == nil {
		t.Error("the shape is proved although it is another")
	}
}

func TestUnconfinedInstancesStayOutOfTheScheduler(t *testing.T) {
	i := made(t, open(t), provider.Shape{})
	if i.group == nil {
		t.Skip("no cgroup can be had")
	}
	for c, dir := range i.group.v1 {
		if c == "cpu" || c == "cpuset" {
			t.Errorf("an instance that is not confined is in %s", dir)
		}
	}
	if i.Confined() {
		t.Error("it says that it is confined")
	}
}

func TestACPUAccountingThatSchedulesIsLeftAlone(t *testing.T) {
	root := fixture(t, map[string]string{"joint/cgroup.procs": "", "apart/cgroup.procs": ""})
	joint := place{mount: root, dir: filepath.Join(root, "joint"), with: []string{"cpu", "cpuacct"}}
	apart := place{mount: root, dir: filepath.Join(root, "apart"), with: []string{"cpuacct"}}
	for _, c := range []struct {
		name    string
		cpuacct place
		shape   provider.Shape
		want    bool
	}{
		{"mounted with cpu, not confined", joint, provider.Shape{}, false},
		{"mounted with cpu, confined", joint, provider.Shape{CPUs: 1}, true},
		{"mounted apart, not confined", apart, provider.Shape{}, true},
	} {
		l := layout{v1: map[string]place{"cpu": joint, "cpuacct": c.cpuacct}}
		g, err := l.plan("x", c.shape)
		if err != nil {
			t.Fatal(err)
		}
		if got := g != nil && g.v1["cpuacct"] != ""; got != c.want {
			t.Errorf("%s: in cpuacct: %v", c.name, got)
		}
	}
}

// fixture makes files below a new directory.
func fixture(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestLayoutIsReadFromProc(t *testing.T) {
	const v1 = `25 30 0:22 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755
26 25 0:23 / /sys/fs/cgroup/unified rw shared:10 - cgroup2 cgroup2 rw
27 25 0:24 / /sys/fs/cgroup/cpu,cpuacct rw shared:11 - cgroup cgroup rw,cpu,cpuacct
28 25 0:25 /docker/ab /sys/fs/cgroup/mem\040ory rw master:3 shared:12 - cgroup cgroup rw,memory
29 25 0:26 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd
bad line
`
	const own1 = "4:memory:/docker/ab/inner\n3:cpuacct,cpu:/user\n1:name=systemd:/x\n0::/user.slice/a:b.scope\n"
	l := parseLayout(v1, own1)
	for controller, want := range map[string]string{
		"cpu":     "/sys/fs/cgroup/cpu,cpuacct/user",
		"cpuacct": "/sys/fs/cgroup/cpu,cpuacct/user",
		"memory":  "/sys/fs/cgroup/mem ory/inner",
	} {
		if got := l.v1[controller].dir; got != want {
			t.Errorf("%s is in %q, want %q", controller, got, want)
		}
	}
	if got, want := l.v2.dir, "/sys/fs/cgroup/unified/user.slice/a:b.scope"; got != want {
		t.Errorf("v2 is in %q, want %q", got, want)
	}
	if with := l.v1["cpu"].with; fmt.Sprint(with) != "[cpu cpuacct]" {
		t.Errorf("cpu is mounted with %v", with)
	}
	// In a container the path may lie outside of what is mounted.
	outside := parseLayout("28 25 0:25 /a/b /cg rw - cgroup2 cgroup2 rw\n", "0::/../c\n")
	if outside.v2.dir != "/cg" || outside.v2.mount != "/cg" {
		t.Errorf("a path outside of the mount gives %+v", outside.v2)
	}
	if none := parseLayout("", ""); none.v2.dir != "" || len(none.v1) > 0 {
		t.Errorf("nothing gives %+v", none)
	}
}

// tree2 is a v2 hierarchy like systemd's: our scope is delegated and has us
// in it, the slice above holds no process.
func tree2(t *testing.T, more map[string]string) layout {
	files := map[string]string{
		"cgroup.procs": "1\n", "cgroup.controllers": "cpu memory io cpuset pids\n", "cgroup.subtree_control": "cpu memory pids\n",
		"app/cgroup.type": "domain\n", "app/cgroup.procs": "", "app/cgroup.controllers": "cpu memory io\n", "app/cgroup.subtree_control": "memory\n",
		"app/us/cgroup.type": "domain\n", "app/us/cgroup.procs": "77\n", "app/us/cgroup.controllers": "cpu memory io\n", "app/us/cgroup.subtree_control": "",
	}
	for name, text := range more {
		files[name] = text
	}
	root := fixture(t, files)
	return layout{v2: place{mount: root, dir: filepath.Join(root, "app/us")}}
}

func TestV2ParentIsTheNearestThatOffersTheControllers(t *testing.T) {
	for _, c := range []struct {
		name, want, reason string
		need               []string
		more               map[string]string
	}{
		{name: "none needed", want: "app/us"},
		{name: "enabled above", need: []string{"memory"}, want: "app"},
		{name: "can be enabled above", need: []string{"cpu"}, want: "app"},
		{name: "only at the root", need: []string{"cpuset"}, want: "."},
		{name: "nowhere", need: []string{"hugetlb"}, reason: "hugetlb is not available"},
		{name: "processes in the way", need: []string{"cpu"}, want: ".", more: map[string]string{"app/cgroup.procs": "9\n"}},
		{name: "our cgroup has a limit", need: []string{"memory"}, reason: "has limits of its own", more: map[string]string{"app/us/memory.max": "1000000\n"}},
		{name: "a quota above", need: []string{"cpuset"}, reason: "has limits of its own", more: map[string]string{"app/cpu.max": "5000 100000\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := tree2(t, c.more)
			dir, err := l.parent2(c.need)
			if c.reason != "" {
				if err == nil || !strings.Contains(err.Error(), c.reason) {
					t.Errorf("got %q, %v", dir, err)
				}
				return
			}
			if rel, _ := filepath.Rel(l.v2.mount, dir); err != nil || rel != c.want {
				t.Errorf("got %q, %v; want %q", rel, err, c.want)
			}
		})
	}
}

func TestV2LimitsAreWrittenAndReadBack(t *testing.T) {
	dir := fixture(t, map[string]string{
		"cpu.max": "max 100000", "cpu.weight": "100", "cpuset.cpus": "", "cpuset.mems.effective": "0",
		"memory.max": "max", "memory.swap.max": "max",
	})
	g := &group{v1: map[string]string{}, v2: dir}
	i := &Instance{group: g, shape: provider.Shape{}}
	shape := provider.Shape{CPUs: 1.5, CPUSet: "0-1", Memory: unit.GiB, CPUShares: 3072}
	// Plain files are not cut by a write as the kernel's are.
	for _, f := range []string{"cpu.max", "cpu.weight", "memory.max", "memory.swap.max"} {
		if err := os.Truncate(filepath.Join(dir, f), 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.limit(shape); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"cpu.max": "150000 100000", "cpu.weight": "300", "cpuset.cpus": "0-1", "memory.max": "1073741824", "memory.swap.max": "0",
	} {
		if got, err := readLine(filepath.Join(dir, file)); err != nil || got != want {
			t.Errorf("%s holds %q, %v; want %q", file, got, err, want)
		}
	}
	l, err := limitsOf(2, dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []provider.Knob{cpusKnob(shape, l), cpusetKnob(shape, l), memoryKnob(shape, l), swapKnob(shape, l), sharesKnob(shape, l)} {
		if !k.Matches || k.Intended == "" {
			t.Errorf("read back: %+v", k)
		}
	}
	for _, k := range []provider.Knob{cpusKnob(i.shape, l), cpusetKnob(i.shape, l), memoryKnob(i.shape, l), sharesKnob(i.shape, l)} {
		if k.Matches {
			t.Errorf("nothing was asked for, yet it matches: %+v", k)
		}
	}
}

func TestEnclosingLimitsNarrowTheRoom(t *testing.T) {
	root := fixture(t, map[string]string{
		"a/cpu.max": "max 100000\n", "a/memory.max": "500000000\n",
		"a/b/cpu.max": "70000 100000\n", "a/b/memory.max": "max\n",
	})
	r := room{cpus: []int{0, 1}, memory: 8 * unit.GiB}
	if err := r.narrow(2, filepath.Join(root, "a/b"), root); err != nil {
		t.Fatal(err)
	}
	if r.most() != 0.7 || r.memory != 500000000 {
		t.Errorf("%v CPUs and %d bytes are left", r.most(), r.memory)
	}
}

func TestSharesAndWeightsHaveTheSameDefault(t *testing.T) {
	// From kernel/sched/core.c: a weight w is scaled by 1024/100.
	for _, c := range []struct{ shares, weight int }{
		{2, 1}, {10, 1}, {512, 50}, {1024, 100}, {2048, 200}, {102400, 10_000}, {262144, 10_000},
	} {
		if got := weightOf(c.shares); got != c.weight {
			t.Errorf("%d shares are weight %d, want %d", c.shares, got, c.weight)
		}
	}
	for w := 1; w <= 10_000; w++ {
		if got := weightOf(sharesOf(w)); got != w {
			t.Fatalf("weight %d becomes %d on the way through shares", w, got)
		}
	}
}

func TestSweepLeavesWhatIsNotItsOwn(t *testing.T) {
	cache := open(t)
	live := made(t, cache, provider.Shape{})
	foreign := filepath.Join(instances(cache), "notes")
	if err := os.Mkdir(foreign, 0o755); err != nil {
		t.Fatal(err)
	}
	// A mark that was copied from elsewhere names another directory.
	copied := filepath.Join(instances(cache), "copied")
	if err := os.Mkdir(copied, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := writeMark(copied, live.home.mark); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(copied, "lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	removed, err := Sweep(cache)
	if err != nil || len(removed) > 0 {
		t.Errorf("removed %v, %v", removed, err)
	}
	for _, dir := range []string{foreign, copied, live.Dir()} {
		if _, err := os.Stat(dir); err != nil {
			t.Error(err)
		}
	}
}

// abandon makes what an owner leaves that was killed together with its
// watchdog: an instance whose lock is free, with a process in it.
func abandon(t *testing.T, cache string, edit func(*mark)) (dir string, left *exec.Cmd) {
	t.Helper()
	i := made(t, cache, provider.Shape{})
	i.watch.stop()
	edit(&i.home.mark)
	if err := writeMark(i.home.dir, i.home.mark); err != nil {
		t.Fatal(err)
	}
	left = i.Command(context.Background(), "sleep", "1000")
	if err := left.Start(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(pidText(left.Process.Pid) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(i.home.run(), strconv.Itoa(left.Process.Pid)), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := i.home.lock.Close(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = left.Process.Kill()
		_ = left.Wait()
	})
	return i.home.dir, left
}

func TestSweepRemovesWhatTheDeadLeft(t *testing.T) {
	cache := open(t)
	dir, left := abandon(t, cache, func(*mark) {})
	m, ok := readMark(dir)
	if !ok {
		t.Fatal("no mark")
	}
	half := filepath.Join(instances(cache), making+"half-1")
	state := filepath.Join(golden(cache), unfinished+"state")
	for _, d := range []string{half, state} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	removed, err := Sweep(cache)
	if err != nil {
		t.Fatal(err)
	}
	for _, gone := range append(m.Cgroups, dir, half, state) {
		if _, err := os.Stat(gone); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", gone, err)
		}
		if !strings.Contains(fmt.Sprint(removed), gone) {
			t.Errorf("%s is not reported among %v", gone, removed)
		}
	}
	if err := left.Wait(); err == nil {
		t.Error("the abandoned process was not killed")
	}
}

func TestSweepAfterARebootKillsNobody(t *testing.T) {
	if _, err := discover(); err != nil {
		t.Fatal(err)
	}
	cache := open(t)
	var groups []string
	dir, left := abandon(t, cache, func(m *mark) { m.Boot = "another boot"; groups = m.Cgroups })
	if _, err := Sweep(cache); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory stays: %v", err)
	}
	if now, err := readStat(left.Process.Pid); err != nil || now.state == 'Z' {
		t.Errorf("a process was killed whose id is from another boot: %v", err)
	}
	_ = left.Process.Kill()
	_ = left.Wait()
	for _, g := range groups {
		if err := removeCgroup(t.Context(), clock.Real{}, g); err != nil {
			t.Error(err)
		}
	}
}

func TestAProcessIDThatIsUsedAgainIsNotKilled(t *testing.T) {
	run := t.TempDir()
	other := exec.Command("sleep", "1000")
	other.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	s, err := os.ReadFile(pidText(other.Process.Pid) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	note := filepath.Join(run, strconv.Itoa(other.Process.Pid))
	if err := os.WriteFile(note, s, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := noted(run); len(got) != 1 {
		t.Fatalf("the process itself is not recognised: %v", got)
	}
	f := strings.Fields(string(s))
	f[21] = "1" // field 22, the start time
	if err := os.WriteFile(note, []byte(strings.Join(f, " ")), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := killTrees(t.Context(), clock.Real{}, run); err != nil {
		t.Fatal(err)
	}
	if now, err := readStat(other.Process.Pid); err != nil || now.state == 'Z' {
		t.Errorf("another process with the same id was killed: %v", err)
	}
}

func TestACacheThatTheUserMayNotEnterIsNamed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("without root, commands run as ourselves")
	}
	closed := filepath.Join(open(t), "closed")
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := New().Provision(t.Context(), provider.Request{Name: "subject", Cache: filepath.Join(closed, "cache")})
	if err == nil || !strings.Contains(err.Error(), "may not enter "+closed+" ") {
		t.Errorf("got %v", err)
	}
	if entries, err := os.ReadDir(instances(filepath.Join(closed, "cache"))); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestARestoredStateIsNotInThePageCache(t *testing.T) {
	dir := open(t)
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		t.Fatal(err)
	}
	if fs.Type == unix.TMPFS_MAGIC {
		t.Skip("the temporary directory is a tmpfs, which is nothing but page cache")
	}
	i := made(t, dir, provider.Shape{})
	const size = 8 << 20
	path := filepath.Join(i.Dir(), "file")
	if err := os.WriteFile(path, make([]byte, size), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := i.Save(t.Context(), "state", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := i.Restore(t.Context(), "state"); err != nil {
		t.Fatal(err)
	}
	if n := cached(t, path, size); n > size/10 {
		t.Errorf("%d of %d bytes are cached after a restore", n, size)
	}
	if _, err := os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	if n := cached(t, path, size); n < size/2 {
		t.Errorf("only %d of %d bytes are cached after reading: this test sees nothing", n, size)
	}
}

// cached returns how many bytes of a file are in the page cache.
func cached(t *testing.T, path string, size int) int {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(m) }()
	page := os.Getpagesize()
	in := make([]byte, size/page)
	if err := mincore(m, in); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, b := range in {
		n += int(b&1) * page
	}
	return n
}

// mincore is mincore(2), which package unix does not wrap.
func mincore(m, in []byte) error {
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&m[0])), uintptr(len(m)), uintptr(unsafe.Pointer(&in[0])))
	if errno != 0 {
		return errno
	}
	return nil
}
