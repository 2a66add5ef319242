//go:build linux

package cgroup

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

const (
	// PeriodUs is the period over which a CPU quota is counted, the kernel's
	// default: 100 ms.
	PeriodUs = 100_000
	// leastQuotaUs is the kernel's least quota: 1 ms a period.
	leastQuotaUs = 1_000
	// unlimited1 is above which v1 means "no limit" (it shows the largest
	// number that is a multiple of the page size).
	unlimited1 = math.MaxInt64 / 2
	// defaultShares and defaultWeight are the same weight in v1 and v2.
	defaultShares, defaultWeight = 1024, 100
)

// limits are what one cgroup allows. Zero fields are not limited.
type limits struct {
	cpus   float64
	cpuset string // as the kernel lists it
	memory unit.Bytes
	swap   string // what limits swap, as the file has it; "" where nothing does
	shares int    // in v1's scale
	weight int    // in v2's scale, 0 in v1
	mems   string // NUMA nodes, as the kernel lists them
	// disk holds by device ("major:minor") bytes read and written, and
	// operations, a second.
	disk    map[string][4]int64
	version int // of the controller io
}

func (l limits) any() bool {
	return l.cpus > 0 || l.memory > 0 || l.cpuset != "" || l.mems != "" || len(l.disk) > 0
}

// QuotaUs is the CPU time in each period that amounts to so many CPUs.
func QuotaUs(cpus float64) int64 { return int64(math.Round(cpus * PeriodUs)) }

// weightOf converts shares (v1, 2 to 262144) to a weight (v2, 1 to 10000) as
// the kernel's scheduler relates them: weight w counts as w·1024/100 shares
// (kernel/sched/core.c, sched_weight_from_cgroup), so that the defaults, 1024
// and 100, are the same.
func weightOf(shares int) int {
	w := math.Round(float64(shares) * defaultWeight / defaultShares)
	return int(min(max(w, 1), 10_000))
}

// sharesOf is the reverse of weightOf.
func sharesOf(weight int) int {
	return int(math.Round(float64(weight) * defaultShares / defaultWeight))
}

// DirOf returns where a controller's files are, and of which version; v1's
// name for "io" is "blkio".
func (g *Group) DirOf(controller string) (version int, dir string) {
	if d, ok := g.V1["blkio"]; ok && controller == "io" {
		return 1, d
	}
	if d, ok := g.V1[controller]; ok {
		return 1, d
	}
	return 2, g.V2
}

// setting is a file to write.
type setting struct{ path, value string }

// limit writes the limits of s.
func (g *Group) limit(s provider.Shape) error {
	var set []setting
	if s.CPUs > 0 || s.CPUShares > 0 {
		set = append(set, cpuSettings(s, g)...)
	}
	if s.CPUSet != "" || s.Mems != "" {
		more, err := cpusetSettings(s, g)
		if err != nil {
			return err
		}
		set = append(set, more...)
	}
	if s.Memory > 0 {
		set = append(set, memorySettings(s, g)...)
	}
	set = append(set, diskSettings(s, g)...)
	for _, f := range set {
		if err := writeFile(f.path, f.value); err != nil {
			return fmt.Errorf("set %s to %s: %w", f.path, f.value, err)
		}
	}
	return nil
}

func cpuSettings(s provider.Shape, g *Group) (set []setting) {
	version, dir := g.DirOf("cpu")
	file := func(name string) string { return filepath.Join(dir, name) }
	quota := strconv.FormatInt(QuotaUs(s.CPUs), 10)
	period := strconv.Itoa(PeriodUs)
	switch {
	case s.CPUs > 0 && version == 1:
		set = append(set, setting{file("cpu.cfs_period_us"), period}, setting{file("cpu.cfs_quota_us"), quota})
	case s.CPUs > 0:
		set = append(set, setting{file("cpu.max"), quota + " " + period})
	}
	switch {
	case s.CPUShares > 0 && version == 1:
		set = append(set, setting{file("cpu.shares"), strconv.Itoa(s.CPUShares)})
	case s.CPUShares > 0:
		set = append(set, setting{file("cpu.weight"), strconv.Itoa(weightOf(s.CPUShares))})
	}
	return set
}

// cpusetSettings names both lists in v1, which lets nobody in before both are
// set: what is not asked for is as in the surroundings, so that the kernel's
// rule (memory from the node of the CPU) stays in force.
func cpusetSettings(s provider.Shape, g *Group) (set []setting, err error) {
	version, dir := g.DirOf("cpuset")
	for _, list := range []struct{ file, value string }{{"cpuset.cpus", s.CPUSet}, {"cpuset.mems", s.Mems}} {
		if list.value == "" && version == 1 {
			if list.value, err = readLine(filepath.Join(filepath.Dir(dir), list.file)); err != nil {
				return nil, fmt.Errorf("CPU set: %w", err)
			}
		}
		if list.value != "" {
			set = append(set, setting{filepath.Join(dir, list.file), list.value})
		}
	}
	return set, nil
}

// memorySettings keeps swap out too: with swap, a limit on memory would limit
// where memory is, not how much there is. A v1 kernel that does not account
// swap can only be told to leave the instance's memory alone.
func memorySettings(s provider.Shape, g *Group) []setting {
	version, dir := g.DirOf("memory")
	file := func(name string) string { return filepath.Join(dir, name) }
	bytes := strconv.FormatInt(int64(s.Memory), 10)
	if version == 2 {
		set := []setting{{file("memory.max"), bytes}}
		if exists(file("memory.swap.max")) {
			set = append(set, setting{file("memory.swap.max"), "0"})
		}
		return set
	}
	set := []setting{{file("memory.limit_in_bytes"), bytes}}
	if exists(file("memory.memsw.limit_in_bytes")) {
		return append(set, setting{file("memory.memsw.limit_in_bytes"), bytes})
	}
	return append(set, setting{file("memory.swappiness"), "0"})
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// limitsOf reads what the cgroup dir allows. Files that are not there limit
// nothing: their controller is not enabled, or another v1 directory has it.
func limitsOf(version int, dir string) (l limits, err error) {
	read := func(name string) string {
		text, e := readLine(filepath.Join(dir, name))
		if e != nil && !errors.Is(e, os.ErrNotExist) {
			err = errors.Join(err, e)
		}
		return text
	}
	var bad error
	if version == 1 {
		l.cpus, bad = parseQuota(read("cpu.cfs_quota_us") + " " + read("cpu.cfs_period_us"))
		err = errors.Join(err, bad)
		l.memory, bad = parseMemory(read("memory.limit_in_bytes"))
		err = errors.Join(err, bad)
		l.shares, _ = strconv.Atoi(read("cpu.shares"))
		if l.swap = read("memory.memsw.limit_in_bytes"); l.swap == "" && read("memory.swappiness") == "0" {
			l.swap = "swappiness 0"
		}
		// Limits of the whole machine are shown in v1's root as well.
		l.cpuset, l.mems = read("cpuset.cpus"), read("cpuset.mems")
		l.disk = parseThrottle(read)
		return l, err
	}
	l.cpus, bad = parseQuota(read("cpu.max"))
	err = errors.Join(err, bad)
	l.memory, bad = parseMemory(read("memory.max"))
	err = errors.Join(err, bad)
	l.weight, _ = strconv.Atoi(read("cpu.weight"))
	l.shares = sharesOf(l.weight)
	l.swap = read("memory.swap.max")
	l.cpuset, l.mems = read("cpuset.cpus"), read("cpuset.mems")
	l.disk = parseIOMax(read("io.max"))
	return l, err
}

// parseQuota reads "quota period" in µs; a missing quota, "max" and -1 are no
// limit.
func parseQuota(text string) (cpus float64, err error) {
	f := strings.Fields(text)
	if len(f) == 0 || f[0] == "max" || f[0] == "-1" {
		return 0, nil
	}
	if len(f) == 2 {
		quota, err1 := strconv.ParseFloat(f[0], 64)
		period, err2 := strconv.ParseFloat(f[1], 64)
		if err1 == nil && err2 == nil && quota > 0 && period > 0 {
			return quota / period, nil
		}
	}
	return 0, fmt.Errorf("%q is no CPU quota", text)
}

// parseMemory reads a memory limit in bytes; "" and what means no limit are 0.
func parseMemory(text string) (unit.Bytes, error) {
	if text == "" || text == "max" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("memory limit: %w", err)
	}
	if n >= unlimited1 {
		return 0, nil
	}
	return unit.Bytes(n), nil
}

// parseCPUs reads a list of CPUs as the kernel writes it ("0-1,4"), at most
// maxCPU in number and value. The result is sorted and free of repetitions.
func parseCPUs(list string) ([]int, error) {
	const maxCPU = 1 << 13 // the most a Linux kernel can be built for (NR_CPUS)
	var in [maxCPU]bool
	for _, part := range strings.Split(list, ",") {
		lo, hi, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			hi = lo
		}
		first, err1 := strconv.ParseUint(lo, 10, 31)
		last, err2 := strconv.ParseUint(hi, 10, 31)
		if err1 != nil || err2 != nil || first > last || last >= maxCPU {
			return nil, fmt.Errorf("%q is not a list of CPUs such as 0-1,4", list)
		}
		for c := first; c <= last; c++ {
			in[c] = true
		}
	}
	var cpus []int
	for c, yes := range in {
		if yes {
			cpus = append(cpus, c)
		}
	}
	return cpus, nil
}

// formatCPUs is the reverse of parseCPUs, in the kernel's own form.
func formatCPUs(cpus []int) string {
	var parts []string
	for i := 0; i < len(cpus); {
		j := i
		for j+1 < len(cpus) && cpus[j+1] == cpus[j]+1 {
			j++
		}
		if i == j {
			parts = append(parts, strconv.Itoa(cpus[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", cpus[i], cpus[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}
