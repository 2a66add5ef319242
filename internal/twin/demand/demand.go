// Package demand says what the transactions of a workload ask of a host: a
// host file with a section of workloads, fitted to trials of a real database.
//
// Parse and Format read and write such a file; Fit makes one from what trials
// showed; Draw moves everything in it within its interval, so that what is
// calculated from it can carry the interval on. The package runs nothing and
// knows no record.
package demand

import (
	"maps"
	"math"
	"slices"

	"github.com/loadstone-perf/loadstone/internal/twin/host"
)

// File is a calibrated host: the machine, and what workloads ask of it.
type File struct {
	Host *host.Host
	// Ranges are quantities of Host that are not known exactly, in the order
	// of the file.
	Ranges    []Range
	Workloads []Workload
}

// Quantity is a number with its 90 % interval. It may be assumed: then
// no trial told it, and it is anywhere from Low to High.
type Quantity struct {
	Value, Low, High float64
	Assumed          bool
}

// Range is a quantity of a host by its name: one of the constants below.
type Range struct {
	Name string
	Quantity
	About string // where it comes from
}

// The names of ranges.
const (
	SMTGain   = "smt-gain"   // host.Processor.SMTGain
	Remote    = "remote"     // host.Processor.Remote
	DiskTimes = "disk-times" // a factor on the times of all devices but LogDevice
	LogTimes  = "log-times"  // a factor on the times of LogDevice
	WayTimes  = "way-times"  // a factor on the latency of all network interfaces
)

// The names of what a fitted host has: the device and the store of its data,
// those of its log, and its network interface.
const (
	DataDevice = "disk"
	LogDevice  = "log-disk"
	DataStore  = "data"
	LogStore   = "log"
	NIC        = "loopback"
)

// Workload is what the transactions of one workload ask of one engine.
type Workload struct {
	Name    string // of the workload: "orderentry"
	Engine  string // "postgres"
	Version string // of the engine
	Mode    string // how statements are sent: "procedures", "statements" or what the workload calls it
	// Params are the workload's in the trials it was fitted to.
	Params map[string]string
	// Trials name the trials it was fitted to: result directory and trial.
	Trials []string
	// Invalid says that the gate refused some of them.
	Invalid bool
	GHz     float64 // the nominal frequency at which processor work is stated
	CPUs    float64 // of the instance in these trials
	// CPU is the processor work of a mean transaction in the instance, in
	// nanoseconds: commits, background work and Costs.IO for each of IOs
	// included.
	CPU Quantity
	// Driver is the processor work of the load generator for a mean
	// transaction, in nanoseconds. It counts where both run on the same
	// processors.
	Driver Quantity
	// Stall is the part of the processor work that waits for memory, 0 to 1.
	Stall Quantity
	// Pages, Reads and Writes are pages accessed, and reads and writes of the
	// disk, of a mean transaction as observed; IOs are the pages read into the
	// buffer cache and written from it, and the writes of the log.
	Pages, Reads, Writes, IOs Quantity
	Costs                     Costs
	// Misfit is how far the model, with these demands, misses the throughput of
	// the trials that they were fitted to: root of the mean square of the
	// logarithms of their ratios, so about relative. 0 is not known.
	Misfit float64
	// Split tells how CPU was divided among the classes.
	Split   Split
	Classes []Class
	// Notes tell what a careful reader should know of the fit.
	Notes []string
}

// Costs are nanoseconds of dbms.Costs of the same names.
type Costs struct{ IO, Latch, LatchByte Quantity }

// Class is one type of transaction.
type Class struct {
	Name  string
	Share float64 // of all transactions, 0 to 1
	// Compute and Memory are nanoseconds at the nominal frequency: together
	// the class's processor work, Memory the part that waits for memory. Their
	// intervals are those of the work; that of the parts is Workload.Stall's.
	Compute, Memory Quantity
	LogBytes        Quantity
}

// Split is a way to divide the work of the mix among its classes.
type Split string

// The ways, the best first.
const (
	ByRegression Split = "regression" // on how the mix varied from block to block
	ByResponse   Split = "response"   // by response times at the lowest load
	ByAccess     Split = "access"     // by the weights that the caller gave
)

// CPU is the class's processor work in nanoseconds, at the values.
func (c Class) CPU() float64 { return c.Work().Value }

// Work is the class's processor work in nanoseconds.
func (c Class) Work() Quantity {
	x, y := c.Compute, c.Memory
	return Quantity{x.Value + y.Value, x.Low + y.Low, x.High + y.High, x.Assumed && y.Assumed}
}

// Find returns the workload that was fitted for an engine and a mode, the one
// whose parameters are nearest to params, and the names of those that differ,
// sorted; nil where there is none.
func (f *File) Find(name, engine, mode string, params map[string]string) (best *Workload, differs []string) {
	for i := range f.Workloads {
		w := &f.Workloads[i]
		if w.Name != name || w.Engine != engine || w.Mode != mode {
			continue
		}
		if d := different(w.Params, params); best == nil || len(d) < len(differs) {
			best, differs = w, d
		}
	}
	return best, differs
}

// different lists the names of which a and b have different values.
func different(a, b map[string]string) []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(a)) {
		if v, ok := b[k]; ok && v != a[k] {
			out = append(out, k)
		}
	}
	return out
}

// Exactly is a quantity without an interval.
func Exactly(x float64) Quantity { return Quantity{Value: x, Low: x, High: x} }

// times is q multiplied by a factor that is not negative.
func (q Quantity) times(by float64) Quantity {
	return Quantity{q.Value * by, q.Low * by, q.High * by, q.Assumed}
}

// sound says whether q is an interval of finite numbers from least to most
// around its value.
func (q Quantity) sound(least, most float64) bool {
	return q.Low >= least && q.Low <= q.Value && q.Value <= q.High && q.High <= most && !math.IsInf(q.High, 0)
}
