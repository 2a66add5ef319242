//go:build linux

package libvirt

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/cgroup"
	"github.com/loadstone-perf/loadstone/internal/provider/home"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// The knobs of a shape that only machines have, as studies name them. The rest
// are cgroup.Knob….
const (
	knobTopology = "instance.topology"
	knobNUMA     = "instance.vnuma"
	knobLarge    = "instance.large_pages"
	knobLatency  = "instance.latency"
	knobDisk     = "instance.disk_adapter"
	knobNetwork  = "instance.network_adapter"
	knobReserve  = "instance.cpu_reservation"
	knobLog      = "instance.log_volume"
	knobData     = "instance.data_volume"
)

const (
	// leastMemory is what the guest's kernel, the agent and a small server need.
	leastMemory = 256 * unit.MiB
	// memoryUnasked is a guest's memory where nobody asked, unless that is more
	// than half of the host's.
	memoryUnasked = 2 * unit.GiB
	// quotaLeast is the least quota that the kernel takes, in microseconds.
	quotaLeast = 1000
)

// vcpusOf is how many virtual CPUs a shape has: those of its topology, else as
// many as its CPUs, rounded up, else one for each of the host's that it may use.
func vcpusOf(s provider.Shape, host int) int {
	t := s.Topology
	if t != (provider.Topology{}) {
		return max(t.Sockets, 1) * max(t.Cores, 1) * max(t.Threads, 1)
	}
	if s.CPUs > 0 {
		return int(math.Ceil(s.CPUs))
	}
	if set, err := parseList(s.CPUSet); err == nil && len(set) > 0 {
		return len(set)
	}
	return host
}

// pinsOf says which of the host's CPUs each virtual CPU may use: its own where
// there are as many as virtual CPUs, else all of the set.
func pinsOf(s provider.Shape, vcpus int) [][]int {
	set, err := parseList(s.CPUSet)
	if err != nil || len(set) == 0 {
		return nil
	}
	pins := make([][]int, vcpus)
	for n := range pins {
		if pins[n] = set; len(set) == vcpus {
			pins[n] = set[n : n+1]
		}
	}
	return pins
}

// parseList reads a list of CPUs or nodes as the kernel writes it: "0-1,4".
func parseList(list string) ([]int, error) {
	var all []int
	if strings.TrimSpace(list) == "" {
		return nil, nil
	}
	for _, part := range strings.Split(strings.TrimSpace(list), ",") {
		from, to, isRange := strings.Cut(part, "-")
		a, err := strconv.ParseUint(from, 10, 16)
		b := a
		if err == nil && isRange {
			b, err = strconv.ParseUint(to, 10, 16)
		}
		if err != nil || b < a {
			return nil, fmt.Errorf("%q is no list of numbers like 0-1,4", list)
		}
		for n := a; n <= b; n++ {
			if !slices.Contains(all, int(n)) {
				all = append(all, int(n))
			}
		}
	}
	slices.Sort(all)
	return all, nil
}

// HasKVM says whether this machine can run guests on its processors rather than
// emulate them. The device alone says little: kernels offer it, and even make a
// machine of it, where the processor has no virtualization of its own (vmx,
// svm), and the guest then stops at an instruction that they do not emulate.
func HasKVM() bool {
	if !virtualizes("/proc/cpuinfo") {
		return false
	}
	f, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	// KVM_CREATE_VM (Documentation/virt/kvm/api.rst).
	const createVM = 0xAE01
	vm, err := unix.IoctlRetInt(int(f.Fd()), createVM)
	if err != nil {
		return false
	}
	_ = unix.Close(vm)
	return true
}

// virtualizes says whether the first processor in a file like /proc/cpuinfo has
// hardware virtualization.
func virtualizes(cpuinfo string) bool {
	text, _ := os.ReadFile(cpuinfo)
	for line := range strings.Lines(string(text)) {
		if key, value, _ := strings.Cut(line, ":"); strings.TrimSpace(key) == "flags" {
			flags := strings.Fields(value)
			return slices.Contains(flags, "vmx") || slices.Contains(flags, "svm")
		}
	}
	return false
}

// emulator finds QEMU.
func emulator() (string, error) {
	for _, name := range []string{"qemu-system-x86_64", "/usr/libexec/qemu-kvm"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("there is no qemu-system-x86_64 program")
}

// checks gathers problems.
type checks struct{ found []provider.Problem }

func (c *checks) add(knob, reason, remedy string) {
	c.found = append(c.found, provider.Problem{Knob: knob, Reason: reason, Remedy: remedy})
}

// Check implements provider.Provider.
func (Provider) Check(_ context.Context, s provider.Shape) []provider.Problem {
	c := &checks{}
	c.programs()
	room, err := (cgroup.Layout{}).Room()
	if err != nil {
		c.add("provider", err.Error(), "look whether /proc and /sys are mounted and readable")
		return c.found
	}
	c.found = append(c.found, room.Check(onHost(s))...)
	c.cpus(s, room)
	c.memory(s)
	c.kernel(s)
	c.latency(s)
	c.volumes(s)
	if s.Reservation != 0 {
		c.add(knobReserve, "QEMU guests are weighed by shares; nothing reserves CPU time for them", "use instance.cpu_shares, or give the guest CPUs of its own by instance.cpuset")
	}
	return c.found
}

// onHost is the part of a shape that the host's kernel keeps, for guests as for
// any process.
func onHost(s provider.Shape) provider.Shape {
	return provider.Shape{
		CPUs: s.CPUs, CPUSet: s.CPUSet, Mems: s.Mems, Memory: s.Memory, CPUShares: s.CPUShares,
		ReadBytesPS: s.ReadBytesPS, WriteBytesPS: s.WriteBytesPS, ReadOpsPS: s.ReadOpsPS, WriteOpsPS: s.WriteOpsPS,
	}
}

func (c *checks) programs() {
	if runtime.GOARCH != "amd64" {
		c.add("provider", "guests are made for amd64 only, this machine is "+runtime.GOARCH, "use provider container")
	}
	if _, err := emulator(); err != nil {
		c.add("provider", err.Error(), "apt install qemu-system-x86")
	}
	for _, need := range []struct{ program, pkg string }{{"qemu-img", "qemu-utils"}, {"mke2fs", "e2fsprogs"}} {
		if _, err := findProgram(need.program); err != nil {
			c.add("provider", err.Error(), "apt install "+need.pkg)
		}
	}
	if _, err := exec.LookPath("dpkg-query"); err != nil {
		c.add("provider", "the guests' image is made of Debian's packages, and there is no dpkg-query", "use a Debian or Ubuntu machine, or provider container")
	}
	if !answers() {
		if _, err := daemonProgram(); err != nil {
			c.add("provider", err.Error(), "apt install libvirt-daemon libvirt-daemon-driver-qemu libvirt-daemon-system")
		} else if os.Geteuid() != 0 {
			c.add("provider", errRootless.Error(), "start the system's libvirt (systemctl start libvirtd), or run as root")
		}
	}
	if _, err := home.Unprivileged(); err != nil {
		c.add("provider", err.Error(), "make an unprivileged user named postgres")
	}
}

// findProgram finds a program that may be in a directory for administrators.
func findProgram(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	for _, dir := range []string{"/usr/sbin", "/sbin"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return filepath.Join(dir, name), nil
		}
	}
	return "", fmt.Errorf("there is no %s program", name)
}

func (c *checks) cpus(s provider.Shape, room cgroup.Room) {
	n := vcpusOf(s, len(room.CPUs))
	t := s.Topology
	if t.Sockets < 0 || t.Cores < 0 || t.Threads < 0 {
		c.add(knobTopology, fmt.Sprintf("%d sockets, %d cores, %d threads", t.Sockets, t.Cores, t.Threads), "ask for numbers above 0")
	} else if t != (provider.Topology{}) && s.CPUs > float64(n) {
		c.add(knobTopology, fmt.Sprintf("it has %d CPUs, but instance.cpus is %v", n, s.CPUs), "make them agree")
	}
	if s.CPUs > 0 && int64(s.CPUs*periodUs+0.5) < quotaLeast {
		c.add(cgroup.KnobCPUs, fmt.Sprintf("%v CPUs are less than the kernel can count", s.CPUs), "ask for at least 0.01")
	}
	if v := s.VirtualNUMA; v < 0 || v > 1 && n%v != 0 {
		c.add(knobNUMA, fmt.Sprintf("%d CPUs can't be divided evenly among %d nodes", n, v), "ask for a number of nodes that divides the CPUs")
	}
}

func (c *checks) memory(s provider.Shape) {
	if s.Memory > 0 && s.Memory < leastMemory {
		c.add(cgroup.KnobMemory, fmt.Sprintf("%s are too little for a guest's kernel and a server", s.Memory.Human()), "ask for at least "+leastMemory.Human())
	}
	switch s.LargePages {
	case "", provider.LargePagesOff, provider.LargePagesGuest:
	case provider.LargePagesHost, provider.LargePagesBoth:
		if free := hostLargePages(); free < memoryOf(s) {
			c.add(knobLarge, fmt.Sprintf("the host has %s free in large pages, the guest needs %s", free.Human(), memoryOf(s).Human()),
				"reserve them: sysctl vm.nr_hugepages=N")
		}
	default:
		c.add(knobLarge, fmt.Sprintf("%q is not known", s.LargePages), "ask for off, guest, host or both")
	}
}

// memoryOf is a guest's memory, in whole MiB.
func memoryOf(s provider.Shape) unit.Bytes {
	if s.Memory > 0 {
		return s.Memory / unit.MiB * unit.MiB
	}
	room, err := (cgroup.Layout{}).Room()
	if err != nil {
		return memoryUnasked
	}
	return min(memoryUnasked, room.Memory/2/unit.MiB*unit.MiB)
}

// hostLargePages is how much memory the host has in large pages that nobody
// uses.
func hostLargePages() unit.Bytes {
	text, _ := os.ReadFile("/proc/meminfo")
	values := map[string]int64{}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, ":")
		if f := strings.Fields(value); len(f) > 0 {
			values[key], _ = strconv.ParseInt(f[0], 10, 64)
		}
	}
	return unit.Bytes(values["HugePages_Free"] * values["Hugepagesize"] << 10)
}

// kernel looks whether the guest's kernel has the drivers of the adapters.
func (c *checks) kernel(s provider.Shape) {
	k, err := findKernel()
	if err != nil {
		c.add("provider", err.Error(), "run scripts/guest-image, or apt install linux-image-cloud-amd64")
		return
	}
	x, err := k.index()
	if err != nil {
		c.add("provider", err.Error(), "run scripts/guest-image")
		return
	}
	another := "put a kernel that has it into " + KernelDir + ": scripts/guest-image linux-image-amd64"
	if name := s.DiskAdapter; name != "" {
		a, ok := diskAdapters()[name]
		if !ok {
			c.add(knobDisk, fmt.Sprintf("%q is not among libvirt's adapters", name), "ask for one of "+names(diskAdapters()))
		}
		for _, d := range a.drivers {
			if !x.has(d) {
				c.add(knobDisk, fmt.Sprintf("the guests' kernel %s has no driver %s for %s", k.version, d, name), another)
			}
		}
	}
	if name := s.NetworkAdapter; name != "" {
		a, ok := networkAdapters()[name]
		switch {
		case !ok:
			c.add(knobNetwork, fmt.Sprintf("%q is not among libvirt's adapters", name), "ask for one of "+names(networkAdapters()))
		case !x.has(a[1]):
			c.add(knobNetwork, fmt.Sprintf("the guests' kernel %s has no driver %s for %s", k.version, a[1], name), another)
		case !hasTap():
			c.add(knobNetwork, "without a network device on the host (/dev/net/tun) clients do not reach the guest through the adapter", "modprobe tun, or leave the adapter to the provider")
		}
	}
}

func names[T any](m map[string]T) string {
	var all []string
	for n := range m {
		all = append(all, n)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// hasTap says whether network devices for guests can be made.
func hasTap() bool {
	f, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0)
	if err != nil {
		return false
	}
	f.Close()
	return true
}

func (c *checks) latency(s provider.Shape) {
	switch s.LatencySensitivity {
	case "", "normal":
	case "high":
		set, _ := parseList(s.CPUSet)
		if !HasKVM() {
			c.add(knobLatency, "guests are emulated in software here, where no setting makes them prompt", "use a machine with KVM")
		} else if len(set) != vcpusOf(s, 0) {
			c.add(knobLatency, "every virtual CPU needs one of the host's for itself", "give instance.cpuset as many CPUs as the guest has")
		}
	default:
		c.add(knobLatency, fmt.Sprintf("%q is not known", s.LatencySensitivity), "ask for normal or high")
	}
}

func (c *checks) volumes(s provider.Shape) {
	if s.LogVolume != "" {
		c.add(knobLog, "a guest has one disk for the server's files", "leave it out")
	}
	if d := s.DataVolume; d != "" {
		if st, err := os.Stat(d); !filepath.IsAbs(d) || err != nil || !st.IsDir() {
			c.add(knobData, fmt.Sprintf("%q is no directory of this machine", d), "make it")
		}
	}
}
