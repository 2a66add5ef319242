package observe

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// Machine describes the machine, and the disk that holds dir. What the
// system does not tell stays empty.
func Machine(dir string) record.Machine {
	host, _ := os.Hostname()
	m := record.Machine{
		Host: host, OS: osName(), Kernel: word("/proc/sys/kernel/osrelease"), Arch: runtime.GOARCH,
		Threads: runtime.NumCPU(), Sockets: 1, Cores: runtime.NumCPU(), NUMANodes: 1,
		Governor:  word("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
		ClockRes:  word("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
		HugePages: chosen(word("/sys/kernel/mm/transparent_hugepage/enabled")),
		Caches:    caches(), Cgroup: cgroupVersion(), Disk: disk(dir),
	}
	if proc, err := procfs.NewDefaultFS(); err == nil {
		describeCPUs(&m, proc)
		if mem, err := proc.Meminfo(); err == nil {
			m.MemBytes, m.SwapBytes = whole(mem.MemTotalBytes), whole(mem.SwapTotalBytes)
		}
	}
	if nodes, err := filepath.Glob("/sys/devices/system/node/node[0-9]*"); err == nil && len(nodes) > 0 {
		m.NUMANodes = len(nodes)
	}
	return m
}

// caches lists the first CPU's caches: "L2 1280K".
func caches() []string {
	var out []string
	dirs, _ := filepath.Glob("/sys/devices/system/cpu/cpu0/cache/index[0-9]*")
	for _, d := range dirs {
		kind := map[string]string{"Data": "d", "Instruction": "i"}[word(d+"/type")]
		out = append(out, "L"+word(d+"/level")+kind+" "+word(d+"/size"))
	}
	return out
}

func cgroupVersion() string {
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		return "v2"
	}
	if dirs, _ := filepath.Glob("/sys/fs/cgroup/cpu*"); len(dirs) > 0 {
		return "v1"
	}
	return "none"
}

// disk finds the file system and the device that hold dir, or the nearest
// directory above it that exists.
func disk(dir string) record.Disk {
	d := record.Disk{Path: dir}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return d
	}
	for ; abs != "/"; abs = filepath.Dir(abs) {
		if _, err := os.Stat(abs); err == nil {
			break
		}
	}
	d.SizeBytes, d.FreeBytes = space(abs)
	if resolved, err := filepath.EvalSymlinks(abs); err == nil {
		abs = resolved
	}
	mounts, err := procfs.GetMounts()
	if err != nil {
		return d
	}
	best := -1
	for _, m := range mounts {
		inside := m.MountPoint == "/" || abs == m.MountPoint || strings.HasPrefix(abs, m.MountPoint+"/")
		if inside && len(m.MountPoint) >= best {
			best = len(m.MountPoint)
			d.FileSystem, d.Device = m.FSType, filepath.Base(m.Source)
			if link, err := os.Readlink("/sys/dev/block/" + m.MajorMinorVer); err == nil {
				d.Device = filepath.Base(link)
			}
		}
	}
	rotational := word("/sys/class/block/" + d.Device + "/queue/rotational")
	if rotational == "" { // a partition: its parent has the queue
		rotational = word("/sys/class/block/" + d.Device + "/../queue/rotational")
	}
	d.Rotational = rotational == "1"
	return d
}

// FsyncMicroseconds appends 8 KiB to a file in dir and syncs it, again and
// again for about a quarter of a second, and returns the median time of one:
// the floor under every durable commit on this disk.
func FsyncMicroseconds(c clock.Clock, dir string) (float64, error) {
	f, err := os.CreateTemp(dir, "fsync-*")
	if err != nil {
		return 0, fmt.Errorf("measure fsync: %w", err)
	}
	defer func() { _ = f.Close(); _ = os.Remove(f.Name()) }()
	page := make([]byte, 8*unit.KiB)
	var took []float64
	for begin := c.Now(); len(took) < 1000 && (len(took) < 5 || c.Now().Sub(begin) < 250*time.Millisecond); {
		start := c.Now()
		if _, err := f.Write(page); err != nil {
			return 0, fmt.Errorf("measure fsync: %w", err)
		}
		if err := f.Sync(); err != nil {
			return 0, fmt.Errorf("measure fsync: %w", err)
		}
		took = append(took, float64(c.Now().Sub(start))/float64(time.Microsecond))
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

func osName() string {
	text, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return runtime.GOOS
	}
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "PRETTY_NAME="); ok {
			if s, err := strconv.Unquote(strings.TrimSpace(name)); err == nil {
				return s
			}
		}
	}
	return runtime.GOOS
}

// word reads a one-line file; "" where it can't be read.
func word(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// chosen takes the bracketed word of a kernel's list: "always [madvise] never".
func chosen(list string) string {
	if _, rest, ok := strings.Cut(list, "["); ok {
		word, _, _ := strings.Cut(rest, "]")
		return word
	}
	return list
}

func whole(n *uint64) int64 {
	if n == nil {
		return 0
	}
	return int64(*n)
}
