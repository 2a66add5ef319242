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
		{"cpu_user_s", true, "CPU time of the driver in user mode"},
		{"cpu_system_s", true, "CPU time of the driver in the kernel"},
		{"mem_rss_bytes", false, "resident memory of the driver"},
		{"mem_heap_bytes", false, "live and dead objects on the driver's heap"},
		{"gc_cycles", true, "garbage collections"},
		{"gc_pause_s", true, "time in which garbage collection stopped the driver"},
		{"gc_cpu_s", true, "CPU time of garbage collection"},
		{"goroutines", false, "goroutines"},
		{"switches_voluntary", true, "times the driver gave up a CPU"},
		{"switches_involuntary", true, "times a CPU was taken from the driver"},
		{"cpus_allowed", false, "CPUs that the driver may run on at once"},
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
