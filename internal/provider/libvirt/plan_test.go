//go:build linux

package libvirt

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

var update = flag.Bool("update", false, "write golden files")

// every is a shape with every knob.
var every = provider.Shape{
	CPUs: 3.5, CPUSet: "0-3", Mems: "0", Memory: 4 * unit.GiB, CPUShares: 512,
	ReadBytesPS: 64 * unit.MiB, WriteBytesPS: 32 * unit.MiB, ReadOpsPS: 2000, WriteOpsPS: 1000,
	Topology: provider.Topology{Sockets: 2, Cores: 2}, VirtualNUMA: 2, LargePages: provider.LargePagesBoth,
	LatencySensitivity: "high", DiskAdapter: "pvscsi", NetworkAdapter: "vmxnet3",
}

func planOf(s provider.Shape, kvm bool) *plan {
	n := vcpusOf(s, 2)
	return &plan{
		shape: s, name: "loadstone-x-1", owner: "/c/guests/x-1 & <co>", kvm: kvm, emulator: "/usr/bin/qemu-system-x86_64",
		vcpus: n, memory: s.Memory, pins: pinsOf(s, n), kernel: "/k/vmlinuz", initramfs: "/c/init", root: "/c/root", data: "/nowhere/data",
		channel: "/c/agent", console: "/c/console", hostAddress: "198.18.0.1", tap: "ls0001",
	}
}

// TestDescriptionsAreAsReviewed holds what libvirt is told, for a small machine
// and for one with every knob.
func TestDescriptionsAreAsReviewed(t *testing.T) {
	for name, p := range map[string]*plan{
		"small": planOf(provider.Shape{CPUs: 1, Memory: 512 * unit.MiB}, false),
		"every": planOf(every, true),
	} {
		got, err := p.describe()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", name+".xml")
		if *update {
			if err := os.WriteFile(path, []byte(got+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil || string(want) != got+"\n" {
			t.Errorf("%s (%v): the description is\n%s", path, err, got)
		}
	}
}

func TestVirtualCPUs(t *testing.T) {
	for _, c := range []struct {
		shape provider.Shape
		want  int
		quota int64
	}{
		{provider.Shape{}, 2, 0},
		{provider.Shape{CPUs: 1}, 1, 0},
		{provider.Shape{CPUs: 0.25}, 1, 25_000},
		{provider.Shape{CPUs: 2.5}, 3, 250_000},
		{provider.Shape{CPUSet: "0,4-6"}, 4, 0},
		{provider.Shape{Topology: provider.Topology{Sockets: 2, Cores: 3, Threads: 2}}, 12, 0},
		{provider.Shape{CPUs: 2, Topology: provider.Topology{Cores: 4}}, 4, 200_000},
	} {
		p := &plan{shape: c.shape, vcpus: vcpusOf(c.shape, 2)}
		if p.vcpus != c.want || p.quota() != c.quota {
			t.Errorf("%+v: %d virtual CPUs, quota %d, want %d and %d", c.shape, p.vcpus, p.quota(), c.want, c.quota)
		}
	}
}

func TestPinsAreOneToOneWhereTheNumbersAgree(t *testing.T) {
	if got := pinsOf(provider.Shape{CPUSet: "2,5"}, 2); len(got) != 2 || !slices.Equal(got[0], []int{2}) || !slices.Equal(got[1], []int{5}) {
		t.Errorf("two on two: %v", got)
	}
	if got := pinsOf(provider.Shape{CPUSet: "2-4"}, 2); len(got) != 2 || !slices.Equal(got[1], []int{2, 3, 4}) {
		t.Errorf("two on three: %v", got)
	}
	if got := pinsOf(provider.Shape{}, 2); got != nil {
		t.Errorf("unpinned: %v", got)
	}
}

// TestCellsDivideAllOfTheMemory holds that no CPU and no byte is lost.
func TestCellsDivideAllOfTheMemory(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(2, 8).Draw(r, "nodes")
		each := rapid.IntRange(1, 4).Draw(r, "CPUs of a node")
		memory := unit.Bytes(rapid.IntRange(256, 9000).Draw(r, "MiB")) * unit.MiB
		p := &plan{shape: provider.Shape{VirtualNUMA: n}, vcpus: n * each, memory: memory}
		var sum unit.Bytes
		seen := map[int]bool{}
		for _, c := range p.cells().Cell {
			sum += unit.Bytes(c.Memory) * unit.KiB
			cpus, err := parseList(c.CPUs)
			if err != nil || len(cpus) != each {
				r.Errorf("cell %+v: %v", c, err)
			}
			for _, cpu := range cpus {
				seen[cpu] = true
			}
		}
		if sum != memory || len(seen) != p.vcpus {
			r.Errorf("%d of %d bytes, %d of %d CPUs", sum, memory, len(seen), p.vcpus)
		}
	})
}

func TestListsRoundTrip(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		cpus := rapid.SliceOfNDistinct(rapid.IntRange(0, 70), 1, 20, rapid.ID).Draw(r, "CPUs")
		slices.Sort(cpus)
		got, err := parseList(cpuList(cpus))
		if err != nil || !slices.Equal(got, cpus) {
			r.Errorf("%q is read as %v, %v", cpuList(cpus), got, err)
		}
	})
	for _, bad := range []string{"a", "1-", "-1", "3-2", "1,,2", "99999999"} {
		if got, err := parseList(bad); err == nil {
			t.Errorf("%q is read as %v", bad, got)
		}
	}
}

func TestNetworksOfFourAddresses(t *testing.T) {
	for n, want := range map[uint16][2]string{0: {"198.18.0.1", "198.18.0.2"}, 1: {"198.18.0.5", "198.18.0.6"}, 0x7fff: {"198.19.255.253", "198.19.255.254"}, 0xffff: {"198.19.255.253", "198.19.255.254"}} {
		if host := addressOf(n); host != want[0] || guestAddress(host) != want[1] {
			t.Errorf("network %d: host %s, guest %s", n, host, guestAddress(host))
		}
	}
}

func TestKernelsAreOrderedByTheirNumbers(t *testing.T) {
	sorted := []string{"5.10.0-9-amd64", "5.10.0-30-amd64", "6.1.0-9-cloud-amd64", "6.1.0-56-cloud-amd64", "6.12.1-amd64"}
	for n := range sorted[1:] {
		if compareVersions(sorted[n], sorted[n+1]) >= 0 || compareVersions(sorted[n+1], sorted[n]) <= 0 || compareVersions(sorted[n], sorted[n]) != 0 {
			t.Errorf("%s and %s are ordered wrongly", sorted[n], sorted[n+1])
		}
	}
}

func TestModulesAreLoadedAfterWhatTheyNeed(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"modules.builtin": "kernel/fs/ext4/ext4.ko\nkernel/drivers/a-b.ko\n",
		"modules.dep":     "kernel/virtio.ko:\nkernel/ring.ko: kernel/virtio.ko\nkernel/virtio_blk.ko.xz: kernel/ring.ko kernel/virtio.ko\nkernel/other.ko:\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	x, err := kernel{version: "v", modules: dir}.index()
	if err != nil {
		t.Fatal(err)
	}
	got := x.load([]string{"virtio_blk", "ext4", "nowhere", "ring"})
	if want := []string{"kernel/virtio.ko", "kernel/ring.ko", "kernel/virtio_blk.ko.xz"}; !slices.Equal(got, want) {
		t.Errorf("loaded are %q, want %q", got, want)
	}
	for name, want := range map[string]bool{"ext4": true, "a_b": true, "virtio_blk": true, "nowhere": false} {
		if x.has(name) != want {
			t.Errorf("has %s: %v", name, !want)
		}
	}
}

func TestPackagesWithAllTheyDependOn(t *testing.T) {
	db := parsePackages("ii \tpostgresql-15\t15.1\tamd64\tpostgresql-contrib-15\tlocales | locales-all, libpq5 (>= 15), missing:any\n" +
		"ii \tlibpq5\t15.1\tamd64\t\tlibc6\nii \tlibc6\t2.36\tamd64\t\tlibcrypt1\nii \tlibcrypt1\t4\tamd64\t\tlibc6\n" +
		"ii \tlocales-extra\t1\tall\tlocales-all (= 1)\tdebconf\nii \tdebconf\t1\tall\t\t\nii \tother\t1\tall\t\t\nrc \tmariadb-server\t1\tall\t\tother\nbroken line\n")
	want := []string{"libc6", "libcrypt1", "libpq5", "locales-extra", "postgresql-15"}
	if got := db.closure(servers()); !slices.Equal(got, want) {
		t.Errorf("chosen are %q, want %q", got, want)
	}
}

// TestCpioReadsTheArchive compares with a reader that is not ours.
func TestCpioReadsTheArchive(t *testing.T) {
	if _, err := exec.LookPath("cpio"); err != nil {
		t.Skip("no cpio program")
	}
	var b bytes.Buffer
	a := newArchive(&b)
	a.file("/init", []byte("first"))
	a.file("/lib/modules/a.ko", []byte("x"))
	a.file("/lib/modules/empty", nil)
	if err := a.close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "cpio", "-idm", "--quiet")
	cmd.Dir, cmd.Stdin = t.TempDir(), &b
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, want := range map[string]string{"init": "first", "lib/modules/a.ko": "x", "lib/modules/empty": ""} {
		if got, err := os.ReadFile(filepath.Join(cmd.Dir, name)); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v", name, got, err)
		}
	}
}

func TestOnlyRealVirtualizationCounts(t *testing.T) {
	for text, want := range map[string]bool{
		"processor\t: 0\nflags\t\t: fpu vmx sse\n": true, "flags\t: svm\n": true,
		"flags\t: fpu hypervisor\nvmx flags\t: x\n": false, "": false, "flags : vmxnet\n": false,
	} {
		path := filepath.Join(t.TempDir(), "cpuinfo")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if virtualizes(path) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

func TestCheckNamesTheKnob(t *testing.T) {
	for knob, shape := range map[string]provider.Shape{
		"instance.cpus":            {CPUs: -1},
		"instance.cpuset":          {CPUSet: "8000"},
		"instance.memory":          {Memory: 64 * unit.MiB},
		"instance.cpu_shares":      {CPUShares: 1},
		"instance.mems":            {Mems: "4000"},
		"instance.disk_read":       {ReadBytesPS: -1},
		"instance.topology":        {CPUs: 2, Topology: provider.Topology{Sockets: 1}},
		"instance.vnuma":           {CPUs: 1, VirtualNUMA: 2},
		"instance.large_pages":     {LargePages: "some"},
		"instance.latency":         {LatencySensitivity: "high"},
		"instance.disk_adapter":    {DiskAdapter: "ide"},
		"instance.network_adapter": {NetworkAdapter: "ne2000"},
		"instance.cpu_reservation": {Reservation: 1},
		"instance.log_volume":      {LogVolume: "/tmp"},
		"instance.data_volume":     {DataVolume: "relative"},
	} {
		problems := New().Check(t.Context(), shape)
		if !slices.ContainsFunc(problems, func(p provider.Problem) bool { return p.Knob == knob }) {
			t.Errorf("%+v: no problem with %s in %+v", shape, knob, problems)
		}
		for _, p := range problems {
			if p.Reason == "" || p.Remedy == "" {
				t.Errorf("a problem without reason or remedy: %+v", p)
			}
		}
		cache := t.TempDir()
		_, err := New().Provision(t.Context(), provider.Request{Name: "subject", Shape: shape, Cache: cache})
		if err == nil || !strings.Contains(err.Error(), knob) {
			t.Errorf("%+v: provisioned, or the error does not name %s: %v", shape, knob, err)
		}
	}
	for _, name := range []string{"", "..", "a/b", "-x", "a b", strings.Repeat("a", 65)} {
		if _, err := New().Provision(t.Context(), provider.Request{Name: name, Cache: t.TempDir()}); err == nil {
			t.Errorf("an instance named %q was made", name)
		}
	}
}
