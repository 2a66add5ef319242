//go:build linux

package cgroup

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// The knobs of a shape, as studies name them.
const (
	KnobCPUs       = "instance.cpus"
	KnobCPUSet     = "instance.cpuset"
	KnobMems       = "instance.mems"
	KnobMemory     = "instance.memory"
	KnobShares     = "instance.cpu_shares"
	KnobReadBytes  = "instance.disk_read"
	KnobWriteBytes = "instance.disk_write"
	KnobReadOps    = "instance.disk_read_ops"
	KnobWriteOps   = "instance.disk_write_ops"
)

// leastDiskBytes a second is what a disk limit may be: less than one page of
// a database is no rate; maxDiskOps is the kernel's greatest number.
const (
	leastDiskBytes = 64 * unit.KiB
	maxDiskOps     = 1<<31 - 1
)

// Bounds of cpu.shares in the kernel (MIN_SHARES, MAX_SHARES).
const minShares, maxShares = 2, 1 << 18

// Room is what surrounds an instance: the most that it can have.
type Room struct {
	CPUs   []int // that Loadstone may run on
	Mems   []int // NUMA nodes that it may have memory from
	Memory unit.Bytes
	quota  float64
	// why names what bounds quota and memory, for messages.
	quotaWhy, memoryWhy string
}

// Check says why instances of this shape can't be had in the control groups
// of this machine; it makes nothing.
func (l Layout) Check(s provider.Shape) []provider.Problem {
	r, err := l.Room()
	if err != nil {
		return []provider.Problem{{Knob: "provider", Reason: err.Error(), Remedy: "look whether /proc and /sys are mounted and readable"}}
	}
	found := r.Check(s)
	for _, one := range knobShapes(s) {
		if _, err := l.Plan("check", one.shape); err != nil {
			found = append(found, provider.Problem{Knob: one.knob, Reason: strings.ReplaceAll(err.Error(), "\n", "; "), Remedy: remedy()})
		}
	}
	return found
}

// knobShape is a shape with one knob of a larger one.
type knobShape struct {
	knob  string
	shape provider.Shape
}

// knobShapes takes s apart.
func knobShapes(s provider.Shape) []knobShape {
	return []knobShape{
		{KnobCPUs, provider.Shape{CPUs: s.CPUs}},
		{KnobCPUSet, provider.Shape{CPUSet: s.CPUSet}},
		{KnobMems, provider.Shape{Mems: s.Mems}},
		{KnobMemory, provider.Shape{Memory: s.Memory}},
		{KnobShares, provider.Shape{CPUShares: s.CPUShares}},
		{KnobReadBytes, provider.Shape{ReadBytesPS: s.ReadBytesPS}},
		{KnobWriteBytes, provider.Shape{WriteBytesPS: s.WriteBytesPS}},
		{KnobReadOps, provider.Shape{ReadOpsPS: s.ReadOpsPS}},
		{KnobWriteOps, provider.Shape{WriteOpsPS: s.WriteOpsPS}},
	}
}

// Check says which parts of s are more than the room, or no sizes at all.
func (r Room) Check(s provider.Shape) []provider.Problem {
	var found []provider.Problem
	add := func(knob, reason, remedy string) {
		found = append(found, provider.Problem{Knob: knob, Reason: reason, Remedy: remedy})
	}
	r.checkCPU(s, add)
	r.checkMemory(s, add)
	checkDisk(s, add)
	checkGuest(s, add)
	return found
}

// remedy says how to get the right to make cgroups with controllers.
func remedy() string {
	if os.Geteuid() != 0 {
		return "run as root, or in a scope that systemd delegates: systemd-run --user --scope -p Delegate=yes loadstone … " +
			"(for instance.cpuset the administrator must add cpuset to Delegate= of user@.service)"
	}
	return "run in a scope that systemd delegates: systemd-run --scope -p Delegate=yes loadstone …; " +
		"in a container, give it the host's control groups writable"
}

func (r Room) checkCPU(s provider.Shape, add func(knob, reason, remedy string)) {
	most := fmt.Sprintf("ask for at most %s", formatFloat(r.Most()))
	switch {
	case s.CPUs < 0 || math.IsNaN(s.CPUs) || math.IsInf(s.CPUs, 0):
		add(KnobCPUs, fmt.Sprintf("%v is not a number of CPUs", s.CPUs), most)
	case s.CPUs > 0 && QuotaUs(s.CPUs) < leastQuotaUs:
		add(KnobCPUs, fmt.Sprintf("%v CPUs are less than the kernel can count", s.CPUs), "ask for at least 0.01")
	case s.CPUs > r.Most():
		add(KnobCPUs, fmt.Sprintf("%v CPUs are asked for, %s has %s", s.CPUs, r.quotaWhy, formatFloat(r.Most())), most)
	}
	switch {
	case s.CPUShares < 0 || s.CPUShares == 1 || s.CPUShares > maxShares:
		add(KnobShares, fmt.Sprintf("%d is out of range", s.CPUShares), fmt.Sprintf("ask for %d to %d; 1024 is normal", minShares, maxShares))
	}
	if s.CPUSet == "" {
		return
	}
	asked, err := parseCPUs(s.CPUSet)
	if err != nil {
		add(KnobCPUSet, err.Error(), "list CPUs as the kernel does: "+formatCPUs(r.CPUs))
		return
	}
	for _, c := range asked {
		if !slices.Contains(r.CPUs, c) {
			add(KnobCPUSet, fmt.Sprintf("CPU %d is not online here or not allowed to Loadstone", c), "choose from "+formatCPUs(r.CPUs))
			return
		}
	}
	if s.CPUs > float64(len(asked)) {
		add(KnobCPUs, fmt.Sprintf("%v CPUs are asked for on the %d CPUs of instance.cpuset %s", s.CPUs, len(asked), s.CPUSet),
			"widen instance.cpuset or lower instance.cpus")
	}
}

func (r Room) checkMemory(s provider.Shape, add func(knob, reason, remedy string)) {
	if s.Mems != "" {
		asked, err := parseCPUs(s.Mems)
		missing := slices.IndexFunc(asked, func(n int) bool { return !slices.Contains(r.Mems, n) })
		switch {
		case err != nil:
			add(KnobMems, fmt.Sprintf("%q is not a list of NUMA nodes such as 0-1", s.Mems), "list nodes as the kernel does: "+formatCPUs(r.Mems))
		case missing >= 0:
			add(KnobMems, fmt.Sprintf("there is no NUMA node %d here, or it is not allowed to Loadstone", asked[missing]), "choose from "+formatCPUs(r.Mems))
		}
	}
	page := unit.Bytes(os.Getpagesize())
	switch {
	case s.Memory < 0 || s.Memory > 0 && s.Memory < page:
		add(KnobMemory, fmt.Sprintf("%s is no amount that the kernel can limit", s.Memory), "ask for at least 64MiB")
	case s.Memory > r.Memory:
		add(KnobMemory, fmt.Sprintf("%s are asked for, %s has %s", s.Memory, r.memoryWhy, r.Memory.Human()),
			"ask for less than "+r.Memory.Human())
	}
}

// checkDisk looks at the limits themselves; whether the disk that will hold
// the instance can be limited is known when there is a directory.
func checkDisk(s provider.Shape, add func(knob, reason, remedy string)) {
	for _, b := range []struct {
		knob string
		v    unit.Bytes
	}{{KnobReadBytes, s.ReadBytesPS}, {KnobWriteBytes, s.WriteBytesPS}} {
		if b.v < 0 || b.v > 0 && b.v < leastDiskBytes {
			add(b.knob, fmt.Sprintf("%s a second is no rate at which a database can be read or written", b.v), "ask for at least "+leastDiskBytes.String())
		}
	}
	for _, o := range []struct {
		knob string
		v    int
	}{{KnobReadOps, s.ReadOpsPS}, {KnobWriteOps, s.WriteOpsPS}} {
		if o.v < 0 || o.v > maxDiskOps {
			add(o.knob, fmt.Sprintf("%d operations a second are out of range", o.v), fmt.Sprintf("ask for 1 to %d", maxDiskOps))
		}
	}
}

// Most is the number of CPUs that can be had.
func (r Room) Most() float64 {
	if r.quota > 0 {
		return min(r.quota, float64(len(r.CPUs)))
	}
	return float64(len(r.CPUs))
}

// Room looks at the machine and at the cgroups around Loadstone.
func (l Layout) Room() (Room, error) {
	cpus, err := allowedCPUs()
	if err != nil {
		return Room{}, err
	}
	mems, err := allowedMems()
	if err != nil {
		return Room{}, err
	}
	memory, err := machineMemory()
	if err != nil {
		return Room{}, err
	}
	r := Room{CPUs: cpus, Mems: mems, Memory: memory, quotaWhy: "this machine", memoryWhy: "this machine"}
	for _, c := range []string{"cpu", "memory"} {
		version, at := 1, l.V1[c]
		if at.Dir == "" {
			version, at = 2, l.V2
		}
		if err := r.narrow(version, at.Dir, at.Mount); err != nil {
			return Room{}, err
		}
	}
	return r, nil
}

// narrow takes the limits of the cgroup dir and of all above it into account.
func (r *Room) narrow(version int, dir, mount string) error {
	for ; dir != ""; dir = filepath.Dir(dir) {
		own, err := limitsOf(version, dir)
		if err != nil {
			return err
		}
		if own.cpus > 0 && (r.quota == 0 || own.cpus < r.quota) {
			r.quota, r.quotaWhy = own.cpus, "control group "+dir
		}
		if own.memory > 0 && own.memory < r.Memory {
			r.Memory, r.memoryWhy = own.memory, "control group "+dir
		}
		if dir == mount || dir == "/" {
			return nil
		}
	}
	return nil
}

// allowedCPUs returns the CPUs that this process may run on: online, within
// its cpuset and its affinity.
func allowedCPUs() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(os.Getpid(), &set); err != nil {
		return nil, fmt.Errorf("CPU affinity: %w", err)
	}
	var cpus []int
	for c := range len(set) * strconv.IntSize {
		if set.IsSet(c) {
			cpus = append(cpus, c)
		}
	}
	return cpus, nil
}

// allowedMems returns the NUMA nodes that this process may have memory from
// (Mems_allowed_list in proc_pid_status(5)); a kernel without NUMA has node 0.
func allowedMems() ([]int, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil, fmt.Errorf("NUMA nodes: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if list, ok := strings.CutPrefix(line, "Mems_allowed_list:"); ok {
			return parseCPUs(strings.TrimSpace(list))
		}
	}
	return []int{0}, nil
}

// machineMemory returns the memory of the machine (MemTotal).
func machineMemory() (unit.Bytes, error) {
	var kib int64
	if err := readMeminfo(map[string]*int64{"MemTotal:": &kib}); err != nil {
		return 0, err
	}
	if kib == 0 {
		return 0, errors.New("memory: /proc/meminfo has no MemTotal")
	}
	return unit.Bytes(kib) * unit.KiB, nil
}

// readMeminfo reads lines of /proc/meminfo by their first word.
func readMeminfo(into map[string]*int64) error {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		w := strings.Fields(lines.Text())
		if len(w) < 2 || into[w[0]] == nil {
			continue
		}
		if *into[w[0]], err = strconv.ParseInt(w[1], 10, 64); err != nil {
			return fmt.Errorf("memory: %w", err)
		}
	}
	return nil
}

// AsError joins problems to one error, nil where there are none.
func AsError(problems []provider.Problem) error {
	var errs []error
	for _, p := range problems {
		errs = append(errs, fmt.Errorf("%s: %s: %s", p.Knob, p.Reason, p.Remedy))
	}
	return errors.Join(errs...)
}

// Room is what the instance whose cgroups these are may use, in the room
// around it. g may be nil.
func (g *Group) Room(around Room) (Room, error) {
	if g == nil {
		return around, nil
	}
	r := around
	r.CPUs = slices.Clone(around.CPUs)
	for _, c := range []string{"cpu", "memory", "cpuset"} {
		version, dir := g.DirOf(c)
		if dir == "" {
			continue
		}
		if err := r.narrow(version, dir, filepath.Dir(dir)); err != nil {
			return Room{}, err
		}
		own, err := limitsOf(version, dir)
		if err != nil || own.cpuset == "" {
			continue
		}
		set, err := parseCPUs(own.cpuset)
		if err != nil {
			return Room{}, err
		}
		r.CPUs = slices.DeleteFunc(r.CPUs, func(c int) bool { return !slices.Contains(set, c) })
	}
	return r, nil
}
