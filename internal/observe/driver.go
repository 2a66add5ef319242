package observe

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"syscall"
)

// Driver gives the counters of this very process: what measuring costs.
type Driver struct {
	samples []metrics.Sample
	gc      debug.GCStats
}

// NewDriver returns the source "driver".
func NewDriver() *Driver {
	return &Driver{samples: []metrics.Sample{
		{Name: "/cpu/classes/gc/total:cpu-seconds"},
		{Name: "/sched/goroutines:goroutines"},
		{Name: "/memory/classes/heap/objects:bytes"},
	}}
}

// Name implements Source.
func (d *Driver) Name() string { return "driver" }

// Columns implements Source.
func (d *Driver) Columns() []Column {
	return []Column{
		{Name: "cpu_user_s", Total: true, About: "CPU time of the driver in user mode"},
		{Name: "cpu_system_s", Total: true, About: "CPU time of the driver in the kernel"},
		{Name: "mem_rss_bytes", Total: false, About: "resident memory of the driver"},
		{Name: "mem_heap_bytes", Total: false, About: "live and dead objects on the driver's heap"},
		{Name: "gc_cycles", Total: true, About: "garbage collections"},
		{Name: "gc_pause_s", Total: true, About: "time in which garbage collection stopped the driver"},
		{Name: "gc_cpu_s", Total: true, About: "CPU time of garbage collection"},
		{Name: "goroutines", Total: false, About: "goroutines"},
		{Name: "switches_voluntary", Total: true, About: "times the driver gave up a CPU"},
		{Name: "switches_involuntary", Total: true, About: "times a CPU was taken from the driver"},
		{Name: "cpus_allowed", Total: false, About: "CPUs that the driver may run on at once"},
	}
}

// Read implements Source.
func (d *Driver) Read(_ context.Context, out []float64) error {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return fmt.Errorf("driver counters: %w", err)
	}
	metrics.Read(d.samples)
	debug.ReadGCStats(&d.gc)
	copy(out, []float64{
		seconds(u.Utime), seconds(u.Stime), residentBytes(),
		float64(d.samples[2].Value.Uint64()),
		float64(d.gc.NumGC), d.gc.PauseTotal.Seconds(),
		d.samples[0].Value.Float64(), float64(d.samples[1].Value.Uint64()),
		float64(u.Nvcsw), float64(u.Nivcsw), float64(runtime.GOMAXPROCS(0)),
	})
	return nil
}

func seconds(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }

// residentBytes is NaN where there is no /proc.
func residentBytes() float64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return math.NaN()
	}
	f := strings.Fields(string(text))
	if len(f) < 2 {
		return math.NaN()
	}
	pages, err := strconv.ParseFloat(f[1], 64)
	if err != nil {
		return math.NaN()
	}
	return pages * float64(os.Getpagesize())
}
