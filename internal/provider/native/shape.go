//go:build linux

package native

import (
	"bufio"
	"context"
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
	knobCPUs   = "instance.cpus"
	knobCPUSet = "instance.cpuset"
	knobMemory = "instance.memory"
	knobShares = "instance.cpu_shares"
)

// Bounds of cpu.shares in the kernel (MIN_SHARES, MAX_SHARES).
const minShares, maxShares = 2, 1 << 18

// room is what surrounds an instance: the most that it can have.
type room struct {
	cpus   []int // that Loadstone may run on
	quota  float64
	memory unit.Bytes
	// why names what bounds quota and memory, for messages.
	quotaWhy, memoryWhy string
}

// Check implements provider.Provider.
func (p Provider) Check(_ context.Context, s provider.Shape) []provider.Problem {
	var found []provider.Problem
	add := func(knob, reason, remedy string) {
		found = append(found, provider.Problem{Knob: knob, Reason: reason, Remedy: remedy})
	}
	places, err := p.look()
	if err != nil {
		add("provider", err.Error(), "mount /proc")
		return found
	}
	r, err := places.room()
	if err != nil {
		add("provider", err.Error(), "look whether /proc and /sys are mounted and readable")
		return found
	}
	r.checkCPU(s, add)
	r.checkMemory(s, add)
	for _, one := range []struct {
		knob  string
		shape provider.Shape
	}{
		{knobCPUs, provider.Shape{CPUs: s.CPUs}},
		{knobCPUSet, provider.Shape{CPUSet: s.CPUSet}},
		{knobMemory, provider.Shape{Memory: s.Memory}},
		{knobShares, provider.Shape{CPUShares: s.CPUShares}},
	} {
		if _, err := places.plan("check", one.shape); err != nil {
			add(one.knob, strings.ReplaceAll(err.Error(), "\n", "; "), remedy())
		}
	}
	if _, err := unprivileged(); err != nil {
		add("provider", err.Error(), "make an unprivileged user named postgres")
	}
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

func (r room) checkCPU(s provider.Shape, add func(knob, reason, remedy string)) {
	most := fmt.Sprintf("ask for at most %s", formatFloat(r.most()))
	switch {
	case s.CPUs < 0 || math.IsNaN(s.CPUs) || math.IsInf(s.CPUs, 0):
		add(knobCPUs, fmt.Sprintf("%v is not a number of CPUs", s.CPUs), most)
	case s.CPUs > 0 && quotaUs(s.CPUs) < leastQuotaUs:
		add(knobCPUs, fmt.Sprintf("%v CPUs are less than the kernel can count", s.CPUs), "ask for at least 0.01")
	case s.CPUs > r.most():
		add(knobCPUs, fmt.Sprintf("%v CPUs are asked for, %s has %s", s.CPUs, r.quotaWhy, formatFloat(r.most())), most)
	}
	switch {
	case s.CPUShares < 0 || s.CPUShares == 1 || s.CPUShares > maxShares:
		add(knobShares, fmt.Sprintf("%d is out of range", s.CPUShares), fmt.Sprintf("ask for %d to %d; 1024 is normal", minShares, maxShares))
	}
	if s.CPUSet == "" {
		return
	}
	asked, err := parseCPUs(s.CPUSet)
	if err != nil {
		add(knobCPUSet, err.Error(), "list CPUs as the kernel does: "+formatCPUs(r.cpus))
		return
	}
	for _, c := range asked {
		if !slices.Contains(r.cpus, c) {
			add(knobCPUSet, fmt.Sprintf("CPU %d is not online here or not allowed to Loadstone", c), "choose from "+formatCPUs(r.cpus))
			return
		}
	}
	if s.CPUs > float64(len(asked)) {
		add(knobCPUs, fmt.Sprintf("%v CPUs are asked for on the %d CPUs of instance.cpuset %s", s.CPUs, len(asked), s.CPUSet),
			"widen instance.cpuset or lower instance.cpus")
	}
}

func (r room) checkMemory(s provider.Shape, add func(knob, reason, remedy string)) {
	page := unit.Bytes(os.Getpagesize())
	switch {
	case s.Memory < 0 || s.Memory > 0 && s.Memory < page:
		add(knobMemory, fmt.Sprintf("%s is no amount that the kernel can limit", s.Memory), "ask for at least 64MiB")
	case s.Memory > r.memory:
		add(knobMemory, fmt.Sprintf("%s are asked for, %s has %s", s.Memory, r.memoryWhy, r.memory.Human()),
			"ask for less than "+r.memory.Human())
	}
}

// most is the number of CPUs that can be had.
func (r room) most() float64 {
	if r.quota > 0 {
		return min(r.quota, float64(len(r.cpus)))
	}
	return float64(len(r.cpus))
}

// room looks at the machine and at the cgroups around Loadstone.
func (l layout) room() (room, error) {
	cpus, err := allowedCPUs()
	if err != nil {
		return room{}, err
	}
	memory, err := machineMemory()
	if err != nil {
		return room{}, err
	}
	r := room{cpus: cpus, memory: memory, quotaWhy: "this machine", memoryWhy: "this machine"}
	for _, c := range []string{"cpu", "memory"} {
		version, at := 1, l.v1[c]
		if at.dir == "" {
			version, at = 2, l.v2
		}
		if err := r.narrow(version, at.dir, at.mount); err != nil {
			return room{}, err
		}
	}
	return r, nil
}

// narrow takes the limits of the cgroup dir and of all above it into account.
func (r *room) narrow(version int, dir, mount string) error {
	for ; dir != ""; dir = filepath.Dir(dir) {
		own, err := limitsOf(version, dir)
		if err != nil {
			return err
		}
		if own.cpus > 0 && (r.quota == 0 || own.cpus < r.quota) {
			r.quota, r.quotaWhy = own.cpus, "control group "+dir
		}
		if own.memory > 0 && own.memory < r.memory {
			r.memory, r.memoryWhy = own.memory, "control group "+dir
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

// machineMemory returns the memory of the machine (MemTotal).
func machineMemory() (unit.Bytes, error) {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0, fmt.Errorf("memory: %w", err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		w := strings.Fields(lines.Text())
		if len(w) == 3 && w[0] == "MemTotal:" {
			kib, err := strconv.ParseInt(w[1], 10, 64)
			if err != nil {
				return 0, fmt.Errorf("memory: %w", err)
			}
			return unit.Bytes(kib) * unit.KiB, nil
		}
	}
	return 0, errors.New("memory: /proc/meminfo has no MemTotal")
}

// asError joins problems to one error, nil where there are none.
func asError(problems []provider.Problem) error {
	var errs []error
	for _, p := range problems {
		errs = append(errs, fmt.Errorf("%s: %s: %s", p.Knob, p.Reason, p.Remedy))
	}
	return errors.Join(errs...)
}

// Capacity implements provider.Machine: the least of what was asked for, what
// the machine has, and what the cgroups around the instance allow.
func (i *Instance) Capacity() (cpus float64, memory unit.Bytes) {
	r, err := i.room()
	if err != nil {
		// Provision has read the same files; should they be gone since, what
		// was asked for is the best that is known.
		return i.shape.CPUs, i.shape.Memory
	}
	return r.most(), r.memory
}

// room is what the instance may use.
func (i *Instance) room() (room, error) {
	r, err := i.places.room()
	if i.group == nil || err != nil {
		return r, err
	}
	for _, c := range []string{"cpu", "memory", "cpuset"} {
		version, dir := i.group.dirOf(c)
		if dir == "" {
			continue
		}
		if err := r.narrow(version, dir, filepath.Dir(dir)); err != nil {
			return room{}, err
		}
		own, err := limitsOf(version, dir)
		if err != nil || own.cpuset == "" {
			continue
		}
		set, err := parseCPUs(own.cpuset)
		if err != nil {
			return room{}, err
		}
		r.cpus = slices.DeleteFunc(r.cpus, func(c int) bool { return !slices.Contains(set, c) })
	}
	return r, nil
}

// Effective implements provider.Shaped.
func (i *Instance) Effective(ctx context.Context) ([]provider.Knob, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var cpu, set, mem limits
	if i.group != nil {
		for _, c := range []struct {
			controller string
			into       *limits
		}{{"cpu", &cpu}, {"cpuset", &set}, {"memory", &mem}} {
			version, dir := i.group.dirOf(c.controller)
			if dir == "" {
				continue
			}
			var err error
			if *c.into, err = limitsOf(version, dir); err != nil {
				return nil, fmt.Errorf("read the shape back: %w", err)
			}
		}
	}
	return []provider.Knob{
		cpusKnob(i.shape, cpu), cpusetKnob(i.shape, set),
		memoryKnob(i.shape, mem), swapKnob(i.shape, mem), sharesKnob(i.shape, cpu),
		{Name: "instance.user", Intended: i.user.name, Effective: i.effectiveUser(), Matches: i.effectiveUser() == i.user.name},
	}, nil
}

// effectiveUser names the owner of the instance's directory, who is the user
// that the first command ran as.
func (i *Instance) effectiveUser() string {
	var st unix.Stat_t
	if unix.Stat(i.Dir(), &st) != nil || int(st.Uid) != i.user.uid {
		return "not " + i.user.name
	}
	return i.user.name
}

const unconfined = "not confined"

func cpusKnob(s provider.Shape, got limits) provider.Knob {
	k := provider.Knob{Name: knobCPUs, Effective: unconfined, Matches: quotaUs(s.CPUs) == quotaUs(got.cpus)}
	if s.CPUs > 0 {
		k.Intended = formatFloat(s.CPUs)
	}
	if got.cpus > 0 {
		k.Effective = formatFloat(got.cpus)
	}
	return k
}

func cpusetKnob(s provider.Shape, got limits) provider.Knob {
	k := provider.Knob{Name: knobCPUSet, Intended: s.CPUSet, Effective: unconfined}
	if got.cpuset != "" {
		k.Effective = got.cpuset
	}
	if s.CPUSet == "" {
		k.Matches = got.cpuset == ""
		return k
	}
	want, err1 := parseCPUs(s.CPUSet)
	have, err2 := parseCPUs(got.cpuset)
	k.Matches = err1 == nil && err2 == nil && slices.Equal(want, have)
	return k
}

// memoryKnob compares in whole pages: the kernel rounds a limit down to them.
func memoryKnob(s provider.Shape, got limits) provider.Knob {
	page := unit.Bytes(os.Getpagesize())
	k := provider.Knob{Name: knobMemory, Effective: unconfined, Matches: s.Memory/page == got.memory/page}
	if s.Memory > 0 {
		k.Intended = s.Memory.String()
	}
	if got.memory > 0 {
		k.Effective = got.memory.String()
	}
	return k
}

// swapKnob says whether the instance can exceed its memory by swapping.
func swapKnob(s provider.Shape, got limits) provider.Knob {
	k := provider.Knob{Name: "instance.swap", Effective: unconfined, Matches: true}
	if s.Memory == 0 {
		return k
	}
	k.Intended = "none"
	both, err := parseMemory(got.swap)
	switch {
	case got.swap == "0" || got.swap == "swappiness 0":
		k.Effective = "none"
	case err == nil && got.weight == 0 && both > 0 && both == got.memory: // v1: memory and swap together
		k.Effective = "none"
	case got.swap == "" && machineSwap() == 0:
		k.Effective = "none"
	case got.swap != "":
		k.Effective = got.swap
	}
	k.Matches = k.Effective == k.Intended
	return k
}

// machineSwap returns how much swap is in use by the kernel, in bytes.
func machineSwap() unit.Bytes {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return -1
	}
	return unit.Bytes(uint64(info.Totalswap) * uint64(info.Unit))
}

func sharesKnob(s provider.Shape, got limits) provider.Knob {
	k := provider.Knob{Name: knobShares, Effective: unconfined}
	want := s.CPUShares
	if want == 0 {
		want = defaultShares
	} else {
		k.Intended = strconv.Itoa(want)
	}
	switch {
	case got.weight > 0: // v2 has fewer steps: compare in its own scale
		k.Effective = fmt.Sprintf("%d (weight %d)", got.shares, got.weight)
		k.Matches = weightOf(want) == got.weight
	case got.shares > 0:
		k.Effective = strconv.Itoa(got.shares)
		k.Matches = want == got.shares
	default:
		k.Matches = s.CPUShares == 0
	}
	return k
}

// proveShape reads the shape back and fails where a knob did not take.
func (i *Instance) proveShape(ctx context.Context) error {
	knobs, err := i.Effective(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, k := range knobs {
		if !k.Matches {
			errs = append(errs, fmt.Errorf("%s: %q was asked for, %q is in force", k.Name, k.Intended, k.Effective))
		}
	}
	return errors.Join(errs...)
}

func formatFloat(f float64) string { return strconv.FormatFloat(f, 'g', 6, 64) }
