//go:build linux

package cgroup

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/observe"
)

// format is how the kernel writes a file of counters.
type format int

const (
	single   format = iota // one number
	flat                   // "key number" a line
	nested                 // "device key=number key=number …" a line: summed over devices
	throttle               // "major:minor Key number" a line (v1 blkio): summed over devices
	pressure               // "some avg10=… total=number" a line: key is "some" or "full"
)

// counter is one column, and where the kernel keeps it.
type counter struct {
	column observe.Column
	// controller and file say where in v1; in v2 all files are in one place.
	controller, file string
	format           format
	key              string
	scale            float64 // kernel's unit → column's unit
}

func total(name, about string) observe.Column {
	return observe.Column{Name: name, Total: true, About: about}
}

func state(name, about string) observe.Column {
	return observe.Column{Name: name, About: about}
}

// counters2 are the counters of a v2 cgroup (Documentation/admin-guide/
// cgroup-v2.rst). CPU time is there without any controller.
func counters2() []counter {
	cs := []counter{
		{total("cpu_user_s", "CPU time in user mode"), "", "cpu.stat", flat, "user_usec", 1e-6},
		{total("cpu_system_s", "CPU time in the kernel"), "", "cpu.stat", flat, "system_usec", 1e-6},
		{total("throttled_periods", "periods of 100 ms in which the CPU quota ran out"), "", "cpu.stat", flat, "nr_throttled", 1},
		{total("throttled_s", "time that CPUs stood still for the quota, added up"), "", "cpu.stat", flat, "throttled_usec", 1e-6},
		{state("mem_used_bytes", "memory charged to the instance, page cache included"), "", "memory.current", single, "", 1},
		{state("mem_anon_bytes", "memory of programs"), "", "memory.stat", flat, "anon", 1},
		{state("mem_file_bytes", "page cache and shared memory"), "", "memory.stat", flat, "file", 1},
		{total("major_faults", "page faults that read from a disk"), "", "memory.stat", flat, "pgmajfault", 1},
		{total("oom_kills", "processes killed for want of memory"), "", "memory.events", flat, "oom_kill", 1},
		{total("read_bytes", "bytes read from disks"), "", "io.stat", nested, "rbytes", 1},
		{total("write_bytes", "bytes written to disks"), "", "io.stat", nested, "wbytes", 1},
		{total("reads", "reads from disks"), "", "io.stat", nested, "rios", 1},
		{total("writes", "writes to disks"), "", "io.stat", nested, "wios", 1},
	}
	for _, p := range []string{"cpu", "memory", "io"} {
		cs = append(cs,
			counter{total("pressure_"+p+"_some_s", "time in which some task waited for "+p), "", p + ".pressure", pressure, "some", 1e-6},
			counter{total("pressure_"+p+"_full_s", "time in which all tasks waited for "+p), "", p + ".pressure", pressure, "full", 1e-6})
	}
	return cs
}

// counters1 are the counters of v1 cgroups. v1 charges buffered writes to the
// kernel thread that writes them back, hence what the columns say of writes.
func counters1() []counter {
	return []counter{
		{total("cpu_user_s", "CPU time in user mode"), "cpuacct", "cpuacct.usage_user", single, "", 1e-9},
		{total("cpu_system_s", "CPU time in the kernel"), "cpuacct", "cpuacct.usage_sys", single, "", 1e-9},
		{total("throttled_periods", "periods of 100 ms in which the CPU quota ran out"), "cpu", "cpu.stat", flat, "nr_throttled", 1},
		{total("throttled_s", "time that CPUs stood still for the quota, added up"), "cpu", "cpu.stat", flat, "throttled_time", 1e-9},
		{state("mem_used_bytes", "memory charged to the instance, page cache included"), "memory", "memory.usage_in_bytes", single, "", 1},
		{state("mem_anon_bytes", "memory of programs"), "memory", "memory.stat", flat, "total_rss", 1},
		{state("mem_file_bytes", "page cache and shared memory"), "memory", "memory.stat", flat, "total_cache", 1},
		{total("major_faults", "page faults that read from a disk"), "memory", "memory.stat", flat, "total_pgmajfault", 1},
		{total("oom_kills", "processes killed for want of memory"), "memory", "memory.oom_control", flat, "oom_kill", 1},
		{total("read_bytes", "bytes read from disks"), "blkio", "blkio.throttle.io_service_bytes_recursive", throttle, "Read", 1},
		{total("write_bytes", "bytes written to disks directly or by fsync; written back later is not counted"), "blkio", "blkio.throttle.io_service_bytes_recursive", throttle, "Write", 1},
		{total("reads", "reads from disks"), "blkio", "blkio.throttle.io_serviced_recursive", throttle, "Read", 1},
		{total("writes", "writes to disks directly or by fsync"), "blkio", "blkio.throttle.io_serviced_recursive", throttle, "Write", 1},
	}
}

// cgroupSource reads the counters of an instance's cgroups.
type cgroupSource struct {
	columns []observe.Column
	// from says for each column but the last which file it is in.
	from  []located
	files []string
	delay *delays
}

// located is a counter in one of a source's files.
type located struct {
	counter
	file int
}

// newCgroupSource finds out which counters there are.
func newCgroupSource(g *Group) *cgroupSource {
	s := &cgroupSource{delay: newDelays(g.PIDs)}
	index := map[string]int{}
	known := map[string]bool{}
	add := func(dir string, c counter) {
		path := filepath.Join(dir, c.file)
		text, err := os.ReadFile(path)
		if dir == "" || err != nil || known[c.column.Name] {
			return
		}
		// A device shows up in a file of devices with its first request;
		// until then the count is zero, not absent.
		if _, ok := c.value(string(text)); !ok && c.format != nested && c.format != throttle {
			return
		}
		if _, ok := index[path]; !ok {
			index[path] = len(s.files)
			s.files = append(s.files, path)
		}
		known[c.column.Name] = true
		s.columns = append(s.columns, c.column)
		s.from = append(s.from, located{counter: c, file: index[path]})
	}
	// v2 first: where both have CPU time, v2's is split exactly.
	if g.V2 != "" {
		for _, c := range counters2() {
			add(g.V2, c)
		}
	}
	for _, c := range counters1() {
		add(g.V1[c.controller], c)
	}
	if s.delay.available() {
		s.columns = append(s.columns, total("run_delay_s", "time that tasks could run but had no CPU, added up; of tasks that live now"))
	} else {
		s.delay = nil
	}
	return s
}

// Name implements observe.Source.
func (s *cgroupSource) Name() string { return "cgroup" }

// Columns implements observe.Source.
func (s *cgroupSource) Columns() []observe.Column { return s.columns }

// Read implements observe.Source.
func (s *cgroupSource) Read(ctx context.Context, out []float64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	texts := make([]string, len(s.files))
	failed := 0
	for i, path := range s.files {
		text, err := os.ReadFile(path)
		if err != nil {
			failed++
			texts[i] = "\x00"
			continue
		}
		texts[i] = string(text)
	}
	for i, c := range s.from {
		out[i] = math.NaN()
		if texts[c.file] == "\x00" {
			continue
		}
		v, ok := c.value(texts[c.file])
		if ok || c.format == nested || c.format == throttle {
			out[i] = v
		}
	}
	if s.delay != nil {
		out[len(s.from)] = s.delay.read()
	}
	if failed == len(s.files) && failed > 0 {
		return fmt.Errorf("the control groups of the instance are gone (%s)", s.files[0])
	}
	return nil
}

// value finds the counter in the text of its file, in the column's unit; ok
// is false where it is not there.
func (c counter) value(text string) (v float64, ok bool) {
	for _, line := range strings.Split(text, "\n") {
		f := strings.Fields(line)
		var word string
		switch {
		case c.format == single && len(f) == 1:
			word = f[0]
		case c.format == flat && len(f) == 2 && f[0] == c.key:
			word = f[1]
		case c.format == throttle && len(f) == 3 && f[1] == c.key:
			word = f[2]
		case c.format == nested && len(f) > 1:
			word = pair(f[1:], c.key)
		case c.format == pressure && len(f) > 1 && f[0] == c.key:
			word = pair(f[1:], "total")
		}
		if n, err := strconv.ParseFloat(word, 64); err == nil && n >= 0 {
			v += n * c.scale
			ok = true
		}
	}
	return v, ok
}

// pair returns the value of key in words of the form key=value.
func pair(words []string, key string) string {
	for _, w := range words {
		if value, ok := strings.CutPrefix(w, key+"="); ok {
			return value
		}
	}
	return ""
}

// Sources are the counters of an instance: "cgroup", and "processes", summed
// over its processes, for what its cgroups do not count (CPU time is always
// among one of the two).
func (g *Group) Sources() []observe.Source {
	cg := newCgroupSource(g)
	have := map[string]bool{}
	for _, c := range cg.columns {
		have[c.Name] = true
	}
	own := newProcessSource(func() []Stat { return statsOf(g.PIDs()) }, have)
	if len(own.Columns()) == 0 {
		return []observe.Source{cg}
	}
	return []observe.Source{cg, own}
}

// ProcessSources are the counters of an instance without cgroups: sums over
// the processes noted in run and all that belong to them.
func ProcessSources(run string) []observe.Source {
	return []observe.Source{newProcessSource(func() []Stat { return Tree(Noted(run)) }, nil)}
}

// Running is how many processes run in the cgroups.
func (g *Group) Running() int { return len(statsOf(g.PIDs())) }

func statsOf(pids []int) []Stat {
	var out []Stat
	for _, pid := range pids {
		if s, err := ReadStat(pid); err == nil && s.State != 'Z' {
			out = append(out, s)
		}
	}
	return out
}
