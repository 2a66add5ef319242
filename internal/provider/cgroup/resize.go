//go:build linux

package cgroup

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/provider"
)

// Resize gives a group that was created for a shape the limits of s, while
// processes run in it. It can change limits, but set none of a kind that the
// group has not had: its controllers were chosen for what it had.
func (g *Group) Resize(s provider.Shape) error {
	if g == nil {
		return fmt.Errorf("the instance has no control groups")
	}
	set := diskSettings(s, g)
	if s.CPUs > 0 || s.CPUShares > 0 {
		set = append(set, cpuSettings(s, g)...)
	}
	if s.Memory > 0 {
		memory, err := g.memoryInOrder(s)
		if err != nil {
			return err
		}
		set = append(set, memory...)
	}
	for _, f := range set {
		if err := writeFile(f.path, f.value); err != nil {
			return fmt.Errorf("set %s to %s: %w", f.path, f.value, err)
		}
	}
	return nil
}

// memoryInOrder is memorySettings for a group in use. In v1 the limit on memory
// and swap together may at no moment be below that on memory, so that it goes
// up first and down last.
func (g *Group) memoryInOrder(s provider.Shape) ([]setting, error) {
	set := memorySettings(s, g)
	version, dir := g.DirOf("memory")
	if version == 2 || len(set) < 2 || !strings.Contains(filepath.Base(set[1].path), "memsw") {
		return set, nil
	}
	now, err := limitsOf(version, dir)
	if err != nil {
		return nil, err
	}
	if now.memory > 0 && s.Memory > now.memory {
		slices.Reverse(set)
	}
	return set, nil
}

// SameKind says why a group that was made for from can't get the limits of to:
// it has never had such a limit, or would lose one. Each problem names the
// knob.
func SameKind(from, to provider.Shape) (found []provider.Problem) {
	for _, k := range []struct {
		knob     string
		had, has bool
	}{
		{KnobCPUs, from.CPUs > 0, to.CPUs > 0}, {KnobShares, from.CPUShares > 0, to.CPUShares > 0},
		{KnobMemory, from.Memory > 0, to.Memory > 0},
		{KnobReadBytes, from.ReadBytesPS > 0, to.ReadBytesPS > 0}, {KnobWriteBytes, from.WriteBytesPS > 0, to.WriteBytesPS > 0},
		{KnobReadOps, from.ReadOpsPS > 0, to.ReadOpsPS > 0}, {KnobWriteOps, from.WriteOpsPS > 0, to.WriteOpsPS > 0},
	} {
		if k.had != k.has {
			found = append(found, provider.Problem{Knob: k.knob, Reason: "a running instance can't get a limit that it began without, nor lose one", Remedy: "give the instance the limit from the beginning, however high"})
		}
	}
	return found
}
