package cli

import (
	"fmt"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/twin/demand"
)

// calibrated prints what a calibration found.
func calibrated(e *env, f *demand.File, fits []*demand.Fitted, again [][]reproduced) {
	h := f.Host
	e.printf("host %s: %s with %s of %g GHz, %s a core; %s of memory\n", h.Name, counted(h.CPU.Sockets, "socket"), counted(h.CPU.Cores, "core"),
		h.CPU.GHz, counted(h.CPU.Threads, "thread"), h.Memory.Human())
	for i, x := range fits {
		e.printf("\n%s on %s %s, %s, from %s\n", x.Name, x.Engine, x.Version, x.Mode, counted(len(x.Trials), "trial"))
		if x.Invalid {
			e.printf("INVALID: the validity gate refused some of these trials\n")
		}
		e.printf("  a mean transaction: %s of the instance's processors, %s of the driver's\n", times(x.CPU), times(x.Driver))
		e.printf("  %s page accesses, %s disk reads, %s disk writes, %s I/Os of the database\n", plain(x.Pages), plain(x.Reads), plain(x.Writes), plain(x.IOs))
		e.printf("  an I/O costs %s of processor; a commit holds the log's latch for %s\n", times(x.Costs.IO), times(x.Costs.Latch))
		e.printf("  a write of the log takes %s, a read of the disk %s, the way to the users %s\n", times(x.LogWrite), times(x.DiskRead), times(x.Latency))
		e.printf("  by class, split by %s:\n", x.Split)
		for _, c := range x.Classes {
			e.printf("    %-20s %5.1f %%  %s, log %s B\n", c.Name, 100*c.Share, times(c.Work()), plain(c.LogBytes))
		}
		for k, r := range again[i] {
			if k == 0 {
				e.printf("  these trials, SIMULATED with these demands, are missed by %.1f %% (root mean square):\n", 100*f.Workloads[i].Misfit)
			}
			e.printf("    %-20s measured %.0f, model %.0f (%+.1f %%)\n", r.label, r.throughput, r.model, 100*(r.model/r.throughput-1))
		}
		for _, n := range x.Notes {
			e.printf("  note: %s\n", n)
		}
	}
	var assumed []string
	for _, r := range f.Ranges {
		if r.Assumed {
			assumed = append(assumed, fmt.Sprintf("%s %s (%s)", r.Name, plain(r.Quantity), r.About))
		}
	}
	if len(assumed) > 0 {
		e.printf("\nassumed of the host, not measured: %s\n", strings.Join(assumed, "; "))
	}
}

// plain prints a quantity with its interval.
func plain(q demand.Quantity) string {
	return marked(q, fmt.Sprintf("%.4g", q.Value), fmt.Sprintf("%.4g–%.4g", q.Low, q.High))
}

// times prints nanoseconds with their interval.
func times(q demand.Quantity) string {
	unit, by := "ns", 1.0
	switch {
	case q.Value >= 1e6:
		unit, by = "ms", 1e6
	case q.Value >= 1e3:
		unit, by = "µs", 1e3
	}
	return marked(q, fmt.Sprintf("%.4g %s", q.Value/by, unit), fmt.Sprintf("%.4g–%.4g", q.Low/by, q.High/by))
}

// marked joins a value with its interval and says where it is assumed.
func marked(q demand.Quantity, value, interval string) string {
	switch {
	case q.Assumed && q.Low == q.High:
		return "unknown"
	case q.Assumed:
		return value + " (assumed, " + interval + ")"
	case q.Low == q.High:
		return value
	}
	return value + " (" + interval + ")"
}
