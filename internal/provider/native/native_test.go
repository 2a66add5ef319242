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
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/cgroup"
	"github.com/loadstone-perf/loadstone/internal/provider/home"
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
		{cgroup.KnobCPUs, "cpu", "cpu.cfs_quota_us", "cpu.max", "40000", "40000 100000"},
		{cgroup.KnobMemory, "memory", "memory.limit_in_bytes", "memory.max", "33554432", "33554432"},
		{cgroup.KnobShares, "cpu", "cpu.shares", "cpu.weight", "1024", "100"},
	} {
		version, dir := i.group.DirOf(c.controller)
		file, value := c.file1, c.value1
		if version == 2 {
			file, value = c.file2, c.value2
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(value), 0); err != nil {
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
	for c, dir := range i.group.V1 {
		if c == "cpu" || c == "cpuset" {
			t.Errorf("an instance that is not confined is in %s", dir)
		}
	}
	if i.Confined() {
		t.Error("it says that it is confined")
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
	if err := home.WriteMark(copied, live.home.Mark); err != nil {
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
func abandon(t *testing.T, cache string, edit func(*home.Mark)) (dir string, left *exec.Cmd) {
	t.Helper()
	i := made(t, cache, provider.Shape{})
	i.watch.stop()
	edit(&i.home.Mark)
	if err := home.WriteMark(i.home.Dir, i.home.Mark); err != nil {
		t.Fatal(err)
	}
	left = i.Command(context.Background(), "sleep", "1000")
	if err := left.Start(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("/proc/" + strconv.Itoa(left.Process.Pid) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(i.home.Run(), strconv.Itoa(left.Process.Pid)), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := i.home.Abandon(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = left.Process.Kill()
		_ = left.Wait()
	})
	return i.home.Dir, left
}

func TestSweepRemovesWhatTheDeadLeft(t *testing.T) {
	cache := open(t)
	dir, left := abandon(t, cache, func(*home.Mark) {})
	m, ok := home.ReadMark(dir)
	if !ok {
		t.Fatal("no mark")
	}
	half := filepath.Join(instances(cache), ".making-half-1")
	state := filepath.Join(cache, "golden", ".unfinished-state")
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
	if _, err := cgroup.Discover(); err != nil {
		t.Fatal(err)
	}
	cache := open(t)
	var groups []string
	dir, left := abandon(t, cache, func(m *home.Mark) { m.Boot = "another boot"; groups = m.Cgroups })
	if _, err := Sweep(cache); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory stays: %v", err)
	}
	if now, err := cgroup.ReadStat(left.Process.Pid); err != nil || now.State == 'Z' {
		t.Errorf("a process was killed whose id is from another boot: %v", err)
	}
	_ = left.Process.Kill()
	_ = left.Wait()
	for _, g := range groups {
		if err := cgroup.RemoveDir(t.Context(), clock.Real{}, g); err != nil {
			t.Error(err)
		}
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
