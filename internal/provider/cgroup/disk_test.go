//go:build linux

package cgroup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// every limits the disk in every way.
var every = provider.Shape{ReadBytesPS: 10 * unit.MiB, WriteBytesPS: 5 * unit.MiB, ReadOpsPS: 300, WriteOpsPS: 200}

func TestDiskLimitsAreWrittenAndReadBackInV2(t *testing.T) {
	dir := fixture(t, map[string]string{"io.max": ""})
	g := &Group{V1: map[string]string{}, V2: dir, device: "254:16"}
	if err := g.limit(every); err != nil {
		t.Fatal(err)
	}
	if got, _ := readLine(filepath.Join(dir, "io.max")); got != "254:16 rbps=10485760 wbps=5242880 riops=300 wiops=200" {
		t.Errorf("io.max holds %q", got)
	}
	checkDiskKnobs(t, g)
}

func TestDiskLimitsAreWrittenAndReadBackInV1(t *testing.T) {
	files := map[string]string{}
	for _, f := range throttleFiles {
		files[f] = ""
	}
	dir := fixture(t, files)
	g := &Group{V1: map[string]string{"blkio": dir}, device: "254:16"}
	if err := g.limit(every); err != nil {
		t.Fatal(err)
	}
	if got, _ := readLine(filepath.Join(dir, throttleFiles[2])); got != "254:16 300" {
		t.Errorf("%s holds %q", throttleFiles[2], got)
	}
	checkDiskKnobs(t, g)
}

// checkDiskKnobs reads the limits back, for what was asked and for others.
func checkDiskKnobs(t *testing.T, g *Group) {
	t.Helper()
	less := every
	less.WriteOpsPS = 0
	for _, c := range []struct {
		shape provider.Shape
		wrong int
	}{{every, 0}, {less, 1}, {provider.Shape{}, 4}} {
		knobs, err := g.Effective(c.shape)
		if err != nil {
			t.Fatal(err)
		}
		wrong := 0
		for _, k := range knobs {
			if strings.HasPrefix(k.Name, "instance.disk") && !k.Matches {
				wrong++
			}
		}
		if wrong != c.wrong {
			t.Errorf("%+v: %d knobs do not match, want %d: %+v", c.shape, wrong, c.wrong, knobs)
		}
	}
	g.device = "8:0" // limits of another disk limit nothing here
	if knobs, err := g.Effective(every); err != nil || AllMatch(knobs) == nil {
		t.Errorf("limits of another disk are taken for this one's: %+v, %v", knobs, err)
	}
}

func TestTheDiskOfAPartitionIsTheWhole(t *testing.T) {
	dir := t.TempDir()
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		t.Fatal(err)
	}
	dev := strings.Join([]string{itoa(unix.Major(st.Dev)), itoa(unix.Minor(st.Dev))}, ":")
	sys := fixture(t, map[string]string{
		"devices/cciss!c0d0/dev": "104:0\n", "devices/cciss!c0d0/cciss!c0d0p1/dev": dev + "\n", "devices/cciss!c0d0/cciss!c0d0p1/partition": "1\n",
		"dev/block/.keep": "",
	})
	if _, _, err := deviceOf(sys, dir); err == nil || !strings.Contains(err.Error(), "is on no disk") {
		t.Errorf("a file system without a disk: %v", err)
	}
	if err := os.Symlink("../../devices/cciss!c0d0/cciss!c0d0p1", filepath.Join(sys, "dev/block", dev)); err != nil {
		t.Fatal(err)
	}
	numbers, path, err := deviceOf(sys, dir)
	if err != nil || numbers != "104:0" || path != "/dev/cciss/c0d0" {
		t.Errorf("got %q, %q, %v", numbers, path, err)
	}
}

func itoa(n uint32) string { return formatCPUs([]int{int(n)}) }

func FuzzIOMax(f *testing.F) {
	f.Add("8:0 rbps=1 wbps=max riops=max wiops=2\n8:16 rbps=max\n")
	f.Add("x\n\n= =")
	f.Fuzz(func(t *testing.T, text string) {
		for device, limits := range parseIOMax(text) {
			if device == "" || limits == [4]int64{} {
				t.Errorf("%q limits %v", device, limits)
			}
			for _, v := range limits {
				if v < 0 {
					t.Errorf("%q limits %v", device, limits)
				}
			}
		}
	})
}

// TestListsOfTheSurroundingsConfineNothing holds for v1, where a cgroup must
// name CPUs and nodes before a process can enter.
func TestListsOfTheSurroundingsConfineNothing(t *testing.T) {
	root := fixture(t, map[string]string{
		"above/cpuset.cpus": "0-7\n", "above/cpuset.mems": "0-1\n",
		"above/mine/cpuset.cpus": "0-7\n", "above/mine/cpuset.mems": "0-1\n",
		"above/less/cpuset.cpus": "0-3\n", "above/less/cpuset.mems": "0\n",
	})
	for _, c := range []struct {
		dir   string
		shape provider.Shape
		match bool
	}{
		{"mine", provider.Shape{}, true},
		{"mine", provider.Shape{CPUSet: "0-7"}, true},
		{"mine", provider.Shape{CPUSet: "0-3"}, false},
		{"less", provider.Shape{}, false},
		{"less", provider.Shape{CPUSet: "0-3", Mems: "0"}, true},
		{"less", provider.Shape{CPUSet: "0-3"}, false},
	} {
		g := &Group{V1: map[string]string{"cpuset": filepath.Join(root, "above", c.dir)}}
		knobs, err := g.Effective(c.shape)
		if err != nil {
			t.Fatal(err)
		}
		if err := AllMatch(knobs); (err == nil) != c.match {
			t.Errorf("%s with %+v: %v", c.dir, c.shape, err)
		}
	}
}

// TestOnlyTheContainersOwnCgroupsAreIts matters more than it looks: whatever
// else were taken for the container's would be counted and killed with it.
func TestOnlyTheContainersOwnCgroupsAreIts(t *testing.T) {
	for _, c := range []struct{ path, id, want string }{
		{"/sys/fs/cgroup/cpu/libpod_parent/libpod-abc", "abc", "/sys/fs/cgroup/cpu/libpod_parent/libpod-abc"},
		{"/sys/fs/cgroup/machine.slice/libpod-abc.scope/container", "abc", "/sys/fs/cgroup/machine.slice/libpod-abc.scope"},
		{"/sys/fs/cgroup", "abc", ""},
		{"/", "abc", ""},
		{"", "abc", ""},
		{"/sys/fs/cgroup/user.slice", "abc", ""},
		{"/sys/fs/cgroup/user.slice", "", ""},
	} {
		if got := own(c.path, c.id); got != c.want {
			t.Errorf("of %q, %q belongs to %q; want %q", c.path, got, c.id, c.want)
		}
	}
	if _, err := Of(os.Getpid(), "no-such-container-id", provider.Shape{}, t.TempDir()); err == nil {
		t.Error("the cgroups of this process were taken for a container's")
	}
}

func TestAPipeAmongTheNotesIsNotOpened(t *testing.T) {
	run := t.TempDir()
	if err := unix.Mkfifo(filepath.Join(run, "1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := Noted(run); len(got) > 0 { // reading the pipe would never end
		t.Errorf("got %v", got)
	}
}
