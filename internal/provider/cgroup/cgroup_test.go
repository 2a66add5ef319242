//go:build linux

package cgroup

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

func TestACPUAccountingThatSchedulesIsLeftAlone(t *testing.T) {
	root := fixture(t, map[string]string{"joint/cgroup.procs": "", "apart/cgroup.procs": ""})
	joint := Place{Mount: root, Dir: filepath.Join(root, "joint"), with: []string{"cpu", "cpuacct"}}
	apart := Place{Mount: root, Dir: filepath.Join(root, "apart"), with: []string{"cpuacct"}}
	for _, c := range []struct {
		name    string
		cpuacct Place
		shape   provider.Shape
		want    bool
	}{
		{"mounted with cpu, not confined", joint, provider.Shape{}, false},
		{"mounted with cpu, confined", joint, provider.Shape{CPUs: 1}, true},
		{"mounted apart, not confined", apart, provider.Shape{}, true},
	} {
		l := Layout{V1: map[string]Place{"cpu": joint, "cpuacct": c.cpuacct}}
		g, err := l.Plan("x", c.shape)
		if err != nil {
			t.Fatal(err)
		}
		if got := g != nil && g.V1["cpuacct"] != ""; got != c.want {
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
		if got := l.V1[controller].Dir; got != want {
			t.Errorf("%s is in %q, want %q", controller, got, want)
		}
	}
	if got, want := l.V2.Dir, "/sys/fs/cgroup/unified/user.slice/a:b.scope"; got != want {
		t.Errorf("v2 is in %q, want %q", got, want)
	}
	if with := l.V1["cpu"].with; fmt.Sprint(with) != "[cpu cpuacct]" {
		t.Errorf("cpu is mounted with %v", with)
	}
	// In a container the path may lie outside of what is mounted.
	outside := parseLayout("28 25 0:25 /a/b /cg rw - cgroup2 cgroup2 rw\n", "0::/../c\n")
	if outside.V2.Dir != "/cg" || outside.V2.Mount != "/cg" {
		t.Errorf("a path outside of the mount gives %+v", outside.V2)
	}
	if none := parseLayout("", ""); none.V2.Dir != "" || len(none.V1) > 0 {
		t.Errorf("nothing gives %+v", none)
	}
}

// tree2 is a v2 hierarchy like systemd's: our scope is delegated and has us
// in it, the slice above holds no process.
func tree2(t *testing.T, more map[string]string) Layout {
	files := map[string]string{
		"cgroup.procs": "1\n", "cgroup.controllers": "cpu memory io cpuset pids\n", "cgroup.subtree_control": "cpu memory pids\n",
		"app/cgroup.type": "domain\n", "app/cgroup.procs": "", "app/cgroup.controllers": "cpu memory io\n", "app/cgroup.subtree_control": "memory\n",
		"app/us/cgroup.type": "domain\n", "app/us/cgroup.procs": "77\n", "app/us/cgroup.controllers": "cpu memory io\n", "app/us/cgroup.subtree_control": "",
	}
	for name, text := range more {
		files[name] = text
	}
	root := fixture(t, files)
	return Layout{V2: Place{Mount: root, Dir: filepath.Join(root, "app/us")}}
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
			if rel, _ := filepath.Rel(l.V2.Mount, dir); err != nil || rel != c.want {
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
	g := &Group{V1: map[string]string{}, V2: dir}
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
	for _, k := range []provider.Knob{cpusKnob(provider.Shape{}, l), cpusetKnob(provider.Shape{}, l), memoryKnob(provider.Shape{}, l), sharesKnob(provider.Shape{}, l)} {
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
	r := Room{CPUs: []int{0, 1}, Memory: 8 * unit.GiB}
	if err := r.narrow(2, filepath.Join(root, "a/b"), root); err != nil {
		t.Fatal(err)
	}
	if r.Most() != 0.7 || r.Memory != 500000000 {
		t.Errorf("%v CPUs and %d bytes are left", r.Most(), r.Memory)
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
	if got := Noted(run); len(got) != 1 {
		t.Fatalf("the process itself is not recognised: %v", got)
	}
	f := strings.Fields(string(s))
	f[21] = "1" // field 22, the start time
	if err := os.WriteFile(note, []byte(strings.Join(f, " ")), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := KillTrees(t.Context(), clock.Real{}, run); err != nil {
		t.Fatal(err)
	}
	if now, err := ReadStat(other.Process.Pid); err != nil || now.State == 'Z' {
		t.Errorf("another process with the same id was killed: %v", err)
	}
}
