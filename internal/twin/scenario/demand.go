package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/twin/dbms"
	"github.com/loadstone-perf/loadstone/internal/twin/demand"
	"github.com/loadstone-perf/loadstone/internal/twin/host"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// What work costs where nobody has measured it, in nanoseconds of a thread at
// assumedGHz. They are round numbers of the order that row stores on processors
// of the last ten years show, and decide no more than orders of magnitude:
// ratios between configurations are better founded than the figures themselves.
const (
	assumedGHz = 3.0

	perMessage   = 15_000 // protocol, parsing, planning of a prepared statement
	perStatement = 8_000  // executor start and end
	perFind      = 3_000  // descent of an index
	perRow       = 700    // reading a row, with its visibility
	perChange    = 9_000  // changing a row and its log record
	perEntry     = 2_500  // a new entry of an index

	// stalled is the part of it that waits for memory, and walked how many misses
	// of the translation buffer come with each microsecond.
	stalled = 0.35
	walked  = 3

	assumedIO, assumedPacket, assumedInterrupt = 12_000, 3_000, 2_500
	assumedHostIO, assumedHostPacket           = 8_000, 2_500
	assumedLatch, assumedLatchByte             = 2_000, 1.0
	assumedWalkSmall, assumedWalkLarge         = 30, 8
	assumedShared, assumedHalt, assumedRefill  = 0.6, 1_000, 50_000
)

// Assume is demands that nobody measured: what a workload's transactions do,
// each part at a stated cost. It gives the same for all engines.
func Assume(d *workload.Definition) Demands {
	out := Demands{
		GHz: assumedGHz,
		Costs: dbms.Costs{
			IO: assumedIO, Packet: assumedPacket, Interrupt: assumedInterrupt, HostIO: assumedHostIO, HostPacket: assumedHostPacket,
			Latch: assumedLatch, LatchByte: assumedLatchByte, DiskInterrupt: 1,
		},
		Pages: host.PageCosts{
			Guest: [2]float64{assumedWalkSmall, assumedWalkLarge},
			Host:  [2]float64{assumedWalkSmall, assumedWalkLarge},
		},
		SharedMemory: assumedShared, Halt: assumedHalt, Refill: assumedRefill,
	}
	for _, a := range d.Access {
		work := a.RoundTrips*perMessage + a.Statements*perStatement
		for _, x := range a.Tables {
			entries := 0.0
			if t, ok := d.Table(x.Table); ok {
				entries = float64(len(t.Keys()))
			}
			work += x.Finds*perFind + x.Rows*perRow + (x.Inserts+x.Updates+x.Deletes)*perChange + x.Inserts*entries*perEntry
		}
		out.Classes = append(out.Classes, Demand{Compute: work * (1 - stalled), Memory: work * stalled, Misses: work / 1000 * walked})
	}
	return out
}

// Fitted is what was fitted to trials of a workload. What no trial can tell is
// as assumed; the processor work of packets, interrupts, translation misses and
// caches filled again is inside that of the classes. The error names the types of transactions that
// the fit has not.
func Fitted(w *demand.Workload, d *workload.Definition) (Demands, error) {
	out := Assume(d)
	out.Source = fmt.Sprintf("%d trials of %s %s: %s", len(w.Trials), w.Engine, w.Version, strings.Join(w.Trials, ", "))
	out.GHz = w.GHz
	c := &out.Costs
	c.IO, c.Latch, c.LatchByte = w.Costs.IO.Value, w.Costs.Latch.Value, w.Costs.LatchByte.Value
	c.Packet, c.Interrupt, out.Refill = 0, 0, 0
	var missing []string
	for i, tx := range d.Transactions {
		found := false
		for _, class := range w.Classes {
			if class.Name == tx.Name {
				found = true
				out.Classes[i] = Demand{Compute: class.Compute.Value, Memory: class.Memory.Value, LogBytes: class.LogBytes.Value}
			}
		}
		if !found && d.Access[i].Weight > 0 {
			missing = append(missing, tx.Name)
		}
	}
	if missing != nil {
		return out, fmt.Errorf("the demands of workload %s on %s lack %s", w.Name, w.Engine, strings.Join(missing, ", "))
	}
	return out, nil
}

// DemandsOf are the demands that a file has of a workload on an engine in a
// mode, or the assumed ones where it has none. differs names the workload's
// parameters that were others in the trials that they were fitted to.
func DemandsOf(f *demand.File, d *workload.Definition, engine string) (out Demands, differs []string, err error) {
	w, others := f.Find(d.Name, engine, Mode(d), d.Params.All())
	if w == nil {
		return Assume(d), nil, nil
	}
	out, err = Fitted(w, d)
	return out, others, err
}

// scaled is d at the nominal frequency of h.
func scaled(d Demands, h *host.Host) Demands {
	f := d.faster(h)
	d.Classes = slices.Clone(d.Classes)
	for i := range d.Classes {
		d.Classes[i].Compute *= f
		d.Classes[i].Memory *= f
	}
	c := &d.Costs
	for _, x := range []*float64{&c.IO, &c.Packet, &c.Interrupt, &c.HostIO, &c.HostPacket, &c.Latch, &c.LatchByte} {
		*x *= f
	}
	d.GHz = h.CPU.GHz
	return d
}

// Mode is how d's statements are sent, as calibration names it: the value of its
// parameter for that.
func Mode(d *workload.Definition) string {
	all := d.Params.All()
	if v, ok := all["calls"]; ok {
		return v
	}
	return all["mode"]
}
