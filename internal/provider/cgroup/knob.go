//go:build linux

package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// Effective reads every knob of a shape back from the cgroups, which may be
// nil. A CPU set or NUMA nodes that nobody asked for and that are just those
// of the surroundings confine nothing: v1 has no other way to say so.
func (g *Group) Effective(s provider.Shape) ([]provider.Knob, error) {
	var cpu, set, mem, disk limits
	if g != nil {
		for _, c := range []struct {
			controller string
			into       *limits
		}{{"cpu", &cpu}, {"cpuset", &set}, {"memory", &mem}, {"io", &disk}} {
			version, dir := g.DirOf(c.controller)
			if dir == "" {
				continue
			}
			var err error
			if *c.into, err = limitsOf(version, dir); err != nil {
				return nil, fmt.Errorf("read the shape back: %w", err)
			}
			if c.controller == "cpuset" {
				set.inherit(s, filepath.Dir(dir))
			}
			disk.version = version
		}
	}
	knobs := []provider.Knob{
		cpusKnob(s, cpu), cpusetKnob(s, set), memsKnob(s, set),
		memoryKnob(s, mem), swapKnob(s, mem), sharesKnob(s, cpu),
	}
	return append(append(knobs, diskKnobs(s, disk, g)...), hugePagesKnob()), nil
}

// inherit forgets the lists that nobody asked for and that are those of the
// cgroup above.
func (l *limits) inherit(s provider.Shape, above string) {
	for _, c := range []struct {
		asked, file string
		got         *string
	}{{s.CPUSet, "cpuset.cpus", &l.cpuset}, {s.Mems, "cpuset.mems", &l.mems}} {
		if c.asked != "" {
			continue
		}
		for _, name := range []string{c.file, c.file + ".effective"} {
			if text, err := readLine(filepath.Join(above, name)); err == nil && text == *c.got {
				*c.got = ""
			}
		}
	}
}

// AllMatch is an error that names every knob that is not what was asked for.
func AllMatch(knobs []provider.Knob) error {
	var errs []error
	for _, k := range knobs {
		if !k.Matches {
			errs = append(errs, fmt.Errorf("%s: %q was asked for, %q is in force", k.Name, k.Intended, k.Effective))
		}
	}
	return errors.Join(errs...)
}

const unconfined = "not confined"

func cpusKnob(s provider.Shape, got limits) provider.Knob {
	k := provider.Knob{Name: KnobCPUs, Effective: unconfined, Matches: QuotaUs(s.CPUs) == QuotaUs(got.cpus)}
	if s.CPUs > 0 {
		k.Intended = formatFloat(s.CPUs)
	}
	if got.cpus > 0 {
		k.Effective = formatFloat(got.cpus)
	}
	return k
}

func cpusetKnob(s provider.Shape, got limits) provider.Knob {
	return listKnob(KnobCPUSet, s.CPUSet, got.cpuset)
}

// memoryKnob compares in whole pages: the kernel rounds a limit down to them.
func memoryKnob(s provider.Shape, got limits) provider.Knob {
	page := unit.Bytes(os.Getpagesize())
	k := provider.Knob{Name: KnobMemory, Effective: unconfined, Matches: s.Memory/page == got.memory/page}
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
	case err == nil && got.weight == 0 && both > 0 && both == got.memory: // V1: memory and swap together
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
	return unit.Bytes(info.Totalswap) * unit.Bytes(info.Unit)
}

func sharesKnob(s provider.Shape, got limits) provider.Knob {
	k := provider.Knob{Name: KnobShares, Effective: unconfined}
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

func memsKnob(s provider.Shape, got limits) provider.Knob {
	return listKnob(KnobMems, s.Mems, got.mems)
}

// listKnob compares lists of CPUs or nodes by what they hold.
func listKnob(name, asked, got string) provider.Knob {
	k := provider.Knob{Name: name, Intended: asked, Effective: unconfined}
	if got != "" {
		k.Effective = got
	}
	if asked == "" {
		k.Matches = got == ""
		return k
	}
	want, err1 := parseCPUs(asked)
	have, err2 := parseCPUs(got)
	k.Matches = err1 == nil && err2 == nil && slices.Equal(want, have)
	return k
}

// diskKnobs shows a knob for each limit of the disk that was asked for or is
// in force on the device of the instance's directory.
func diskKnobs(s provider.Shape, got limits, g *Group) (knobs []provider.Knob) {
	var have [4]int64
	if g != nil {
		have = got.disk[g.device]
	}
	want := diskLimits(s)
	for n, name := range []string{KnobReadBytes, KnobWriteBytes, KnobReadOps, KnobWriteOps} {
		k := provider.Knob{Name: name, Effective: unconfined, Matches: want[n] == have[n]}
		show := func(v int64) string {
			if n < 2 {
				return unit.Bytes(v).String() + "/s"
			}
			return strconv.FormatInt(v, 10) + "/s"
		}
		if want[n] > 0 {
			k.Intended = show(want[n])
		}
		if have[n] > 0 {
			k.Effective = show(have[n])
			if got.version == 1 && n%2 == 1 {
				k.Effective += " (cgroup v1: not what the kernel writes back later)"
			}
		}
		knobs = append(knobs, k)
	}
	return knobs
}

// hugePagesKnob tells whether a server could have huge pages: how many of the
// default size the machine has reserved. How many are free is left out, since
// a running server changes it.
func hugePagesKnob() provider.Knob {
	k := provider.Knob{Name: "instance.huge_pages", Effective: "none reserved", Matches: true}
	var total, kib int64
	if readMeminfo(map[string]*int64{"HugePages_Total:": &total, "Hugepagesize:": &kib}) == nil && total > 0 {
		k.Effective = fmt.Sprintf("%d of %s reserved", total, (unit.Bytes(kib) * unit.KiB).Human())
	}
	return k
}

func formatFloat(f float64) string { return strconv.FormatFloat(f, 'g', 6, 64) }
