//go:build linux

package cgroup

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/loadstone-perf/loadstone/internal/provider"
)

// throttleFiles are v1's, in the order of diskLimits.
var throttleFiles = [4]string{
	"blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device",
	"blkio.throttle.read_iops_device", "blkio.throttle.write_iops_device",
}

// ioMaxKeys are v2's, in the same order.
var ioMaxKeys = [4]string{"rbps", "wbps", "riops", "wiops"}

// diskLimits are the disk's limits of s: bytes read and written, operations
// read and written, a second; 0 is no limit.
func diskLimits(s provider.Shape) [4]int64 {
	return [4]int64{int64(s.ReadBytesPS), int64(s.WriteBytesPS), int64(s.ReadOpsPS), int64(s.WriteOpsPS)}
}

// LimitsDisk says whether s limits the disk.
func LimitsDisk(s provider.Shape) bool { return diskLimits(s) != [4]int64{} }

// diskSettings limits the group's device.
func diskSettings(s provider.Shape, g *Group) (set []setting) {
	version, dir := g.DirOf("io")
	var words []string
	for n, v := range diskLimits(s) {
		switch {
		case v == 0:
		case version == 1:
			set = append(set, setting{filepath.Join(dir, throttleFiles[n]), fmt.Sprintf("%s %d", g.device, v)})
		default:
			words = append(words, fmt.Sprintf("%s=%d", ioMaxKeys[n], v))
		}
	}
	if len(words) > 0 {
		set = append(set, setting{filepath.Join(dir, "io.max"), g.device + " " + strings.Join(words, " ")})
	}
	return set
}

// parseThrottle reads v1's limits: "major:minor number" a line in each file.
func parseThrottle(read func(name string) string) map[string][4]int64 {
	all := map[string][4]int64{}
	for n, file := range throttleFiles {
		for line := range strings.Lines(read(file)) {
			f := strings.Fields(line)
			if len(f) != 2 {
				continue
			}
			if v, err := strconv.ParseInt(f[1], 10, 64); err == nil && v > 0 {
				one := all[f[0]]
				one[n] = v
				all[f[0]] = one
			}
		}
	}
	return all
}

// parseIOMax reads v2's limits: "major:minor rbps=number wbps=max …" a line.
func parseIOMax(text string) map[string][4]int64 {
	all := map[string][4]int64{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		var one [4]int64
		for n, key := range ioMaxKeys {
			if v, err := strconv.ParseInt(pair(f[1:], key), 10, 64); err == nil && v > 0 {
				one[n] = v
			}
		}
		if one != [4]int64{} {
			all[f[0]] = one
		}
	}
	return all
}

// DeviceOf returns the disk ("major:minor") whose requests the files below
// dir cause, and its path. The kernel limits whole disks, so that of a
// partition it is the disk that the partition is on.
func DeviceOf(dir string) (numbers, path string, err error) {
	return deviceOf("/sys", dir)
}

func deviceOf(sys, dir string) (numbers, path string, err error) {
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return "", "", fmt.Errorf("disk of %s: %w", dir, err)
	}
	dev := fmt.Sprintf("%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev))
	at, err := filepath.EvalSymlinks(filepath.Join(sys, "dev/block", dev))
	if err != nil {
		return "", "", fmt.Errorf("the file system of %s (device %s) is on no disk that the kernel can limit: %w", dir, dev, os.ErrNotExist)
	}
	if exists(filepath.Join(at, "partition")) {
		at = filepath.Dir(at)
	}
	numbers, err = readLine(filepath.Join(at, "dev"))
	if err != nil {
		return "", "", fmt.Errorf("disk of %s: %w", dir, err)
	}
	// In sysfs, "!" stands for the "/" of a device's name.
	return numbers, "/dev/" + strings.ReplaceAll(filepath.Base(at), "!", "/"), nil
}

// diskKnobNames names the knobs of s that limit the disk, for messages.
func diskKnobNames(s provider.Shape) string {
	asked := map[string]int64{}
	for n, v := range diskLimits(s) {
		if v != 0 {
			asked[[4]string{KnobReadBytes, KnobWriteBytes, KnobReadOps, KnobWriteOps}[n]] = v
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(asked)), ", ")
}
