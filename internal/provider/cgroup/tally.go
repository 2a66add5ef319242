//go:build linux

package cgroup

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/loadstone-perf/loadstone/internal/observe"
)

// processSource sums counters over an instance's processes, for what no
// cgroup counts. A process's figures include those of its children that have
// ended and were waited for, so that servers which fork for each connection
// are counted whole.
type processSource struct {
	list    func() []Stat
	columns []observe.Column
	pick    []int // which of a sample's figures the columns are

	mu   sync.Mutex
	sums monotonic
}

// figures of one process, in the order of processColumns.
const (
	figUser = iota
	figSystem
	figFaults
	figRead
	figWrite
	figUsed
	figures
)

func processColumns() [figures]observe.Column {
	return [figures]observe.Column{
		figUser:   total("cpu_user_s", "CPU time in user mode, to 10 ms"),
		figSystem: total("cpu_system_s", "CPU time in the kernel, to 10 ms"),
		figFaults: total("major_faults", "page faults that read from a disk"),
		figRead:   total("read_bytes", "bytes read from disks"),
		figWrite:  total("write_bytes", "bytes that will be written to disks"),
		figUsed:   state("mem_used_bytes", "resident memory, shared memory counted once for each process"),
	}
}

// newProcessSource makes a source of the columns that are not in have.
func newProcessSource(list func() []Stat, have map[string]bool) *processSource {
	s := &processSource{list: list}
	_, ioErr := os.ReadFile("/proc/self/io")
	for n, c := range processColumns() {
		if have[c.Name] || ioErr != nil && (n == figRead || n == figWrite) {
			continue
		}
		s.columns = append(s.columns, c)
		s.pick = append(s.pick, n)
	}
	return s
}

// Name implements observe.Source.
func (s *processSource) Name() string { return "processes" }

// Columns implements observe.Source.
func (s *processSource) Columns() []observe.Column { return s.columns }

// Read implements observe.Source.
func (s *processSource) Read(ctx context.Context, out []float64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	used := 0.0
	samples := map[int][]float64{}
	parent := map[int]int{}
	for _, p := range s.list() {
		read, written := diskBytes(p.PID)
		samples[p.PID] = []float64{
			figUser:   float64(p.userTicks) / ticksPerSecond,
			figSystem: float64(p.systemTicks) / ticksPerSecond,
			figFaults: float64(p.majorFaults),
			figRead:   read, figWrite: written, figUsed: 0,
		}
		parent[p.PID] = p.parent
		used += float64(p.rssPages) * float64(os.Getpagesize())
	}
	sums := s.sums.add(samples, parent)
	sums[figUsed] = used
	for i, n := range s.pick {
		out[i] = sums[n]
	}
	return nil
}

// diskBytes reads /proc/PID/io; both are 0 where that is forbidden or gone.
func diskBytes(pid int) (read, written float64) {
	text, err := os.ReadFile(pidText(pid) + "/io")
	if err != nil {
		return 0, 0
	}
	r := counter{format: flat, key: "read_bytes:", scale: 1}
	w := counter{format: flat, key: "write_bytes:", scale: 1}
	read, _ = r.value(string(text))
	written, _ = w.value(string(text))
	return read, written
}

// monotonic adds up the figures of processes that come and go, so that the
// sums never shrink. A process that has gone is taken to be in the figures of
// its parent if that still lives (the kernel adds a child's figures when it is
// waited for), and is kept at its last value otherwise.
type monotonic struct {
	last   map[int][]float64
	parent map[int]int
	gone   [figures]float64
	shown  [figures]float64
}

func (m *monotonic) add(now map[int][]float64, parent map[int]int) [figures]float64 {
	for pid, was := range m.last {
		if _, lives := now[pid]; lives {
			continue
		}
		if _, parentLives := now[m.parent[pid]]; parentLives {
			continue
		}
		for i, v := range was {
			m.gone[i] += v
		}
	}
	sums := m.gone
	for _, v := range now {
		for i := range v {
			sums[i] += v[i]
		}
	}
	for i := range sums {
		sums[i] = math.Max(sums[i], m.shown[i])
	}
	m.last, m.parent, m.shown = now, parent, sums
	return sums
}

// delays adds up how long the tasks of an instance waited for a CPU
// (/proc/PID/task/TID/schedstat, second number, ns).
type delays struct {
	pids func() []int

	mu   sync.Mutex
	last map[string]float64
	sum  float64
}

func newDelays(pids func() []int) *delays {
	return &delays{pids: pids, last: map[string]float64{}}
}

func (d *delays) available() bool {
	_, ok := runDelay("/proc/self")
	return ok
}

// read returns the sum in seconds since the source was made: what tasks had
// waited before their first reading is included, what they waited between
// their last reading and their end is not.
func (d *delays) read() float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := map[string]float64{}
	for _, pid := range d.pids() {
		tasks, err := os.ReadDir(pidText(pid) + "/task")
		if err != nil {
			continue
		}
		for _, t := range tasks {
			path := filepath.Join(pidText(pid), "task", t.Name())
			v, ok := runDelay(path)
			if !ok {
				continue
			}
			now[path] = v
			// A lower number is another task with the same id.
			if was := d.last[path]; was <= v {
				d.sum += v - was
			} else {
				d.sum += v
			}
		}
	}
	d.last = now
	return d.sum
}

func runDelay(dir string) (seconds float64, ok bool) {
	text, err := os.ReadFile(dir + "/schedstat")
	if err != nil {
		return 0, false
	}
	f := strings.Fields(string(text))
	if len(f) < 2 {
		return 0, false
	}
	ns, err := strconv.ParseUint(f[1], 10, 64)
	return float64(ns) / 1e9, err == nil
}
