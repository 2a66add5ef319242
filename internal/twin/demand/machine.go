package demand

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/loadstone-perf/loadstone/internal/twin/host"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// Machine is where the trials ran, as their record describes it. Sockets, Cores
// and Threads are of the whole machine.
type Machine struct {
	Name, About, Model      string
	Sockets, Cores, Threads int
	GHz                     float64 // nominal; 0 where the system does not tell
	Memory, Disk            unit.Bytes
	Rotational              bool
	// Fsync is the time of one small synced write in nanoseconds, which stands
	// in where trials tell nothing of the log; 0 where not known.
	Fsync float64
}

// Calibrated is the file of a machine with what was fitted on it. Where
// several fits tell the time of a device, the first that knows it counts.
func (m Machine) Calibrated(fits []*Fitted) (*File, error) {
	sockets, cores := max(1, m.Sockets), max(1, m.Cores)
	perSocket, perCore := cores/sockets, m.Threads/cores
	if perSocket*sockets != cores || perCore < 1 || perCore > 2 || perCore*cores != m.Threads {
		return nil, fmt.Errorf("a machine of %d sockets, %d cores and %d threads is not one of equal sockets with one or two threads a core", m.Sockets, m.Cores, m.Threads)
	}
	if len(fits) == 0 {
		return nil, fmt.Errorf("host %s: nothing was fitted", m.Name)
	}
	f := &File{Host: &host.Host{
		Name: m.Name, About: m.About, Source: "trials on this machine: see workloads", Nodes: 1, Memory: m.Memory,
		CPU: host.Processor{Model: m.Model, Sockets: sockets, Cores: perSocket, Threads: perCore, GHz: m.GHz, SMTGain: 1.3, Remote: 1.5},
	}}
	f.assumeProcessor()
	f.storage(m, fits)
	for _, x := range fits {
		f.Workloads = append(f.Workloads, x.Workload)
	}
	f.round()
	return f, nil
}

// round leaves of every quantity the digits that a reader can use.
func (f *File) round() {
	for i := range f.Ranges {
		f.Ranges[i].Quantity = f.Ranges[i].rounded()
	}
	for i := range f.Workloads {
		w := &f.Workloads[i]
		for _, q := range w.quantities() {
			*q = q.rounded()
		}
		w.Classes = slices.Clone(w.Classes)
		for k := range w.Classes {
			c := &w.Classes[k]
			c.Share = digits(c.Share)
			c.Compute, c.Memory, c.LogBytes = c.Compute.rounded(), c.Memory.rounded(), c.LogBytes.rounded()
		}
	}
}

func (q Quantity) rounded() Quantity {
	return Quantity{digits(q.Value), digits(q.Low), digits(q.High), q.Assumed}
}

// digits is x with five significant digits.
func digits(x float64) float64 {
	out, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 5, 64), 64)
	if err != nil {
		return x // not a number: nothing to round
	}
	return out
}

// assumeProcessor lists what trials on one machine can't tell of processors.
func (f *File) assumeProcessor() {
	p := f.Host.CPU
	gain := "published values for databases are 1.2 to 1.4"
	if p.Threads == 1 {
		gain = "this machine shows one thread a core; it counts where the cores get a second one"
	}
	far := "this machine has several sockets, whose effect the trials do not separate"
	if p.Sockets == 1 {
		far = "this machine has one socket; it counts where it gets more"
	}
	f.Ranges = append(f.Ranges,
		Range{SMTGain, Quantity{p.SMTGain, 1.15, 1.45, true}, gain},
		Range{Remote, Quantity{p.Remote, 1.3, 1.8, true}, far})
}

// first is the first of the fits' quantities that is not assumed, or the
// first.
func first(fits []*Fitted, get func(*Fitted) Quantity) Quantity {
	for _, f := range fits {
		if q := get(f); !q.Assumed {
			return q
		}
	}
	return get(fits[0])
}

// storage gives f the disk as two devices, for data and for the log, since a
// synced append takes another time than a page does.
func (f *File) storage(m Machine, fits []*Fitted) {
	read := first(fits, func(f *Fitted) Quantity { return f.DiskRead })
	write := first(fits, func(f *Fitted) Quantity { return f.DiskWrite })
	log := first(fits, func(f *Fitted) Quantity { return f.LogWrite })
	if log.Assumed && m.Fsync > 0 {
		log = Quantity{m.Fsync, m.Fsync / 2, 2 * m.Fsync, false}
	}
	way := first(fits, func(f *Fitted) Quantity { return f.Latency })
	size, channels := max(m.Disk, 64*unit.GiB), 8
	if m.Rotational {
		channels = 1
	}
	device := func(name string, read, write Quantity) host.Device {
		return host.Device{Name: name, Read: duration(read), Write: duration(write), Spread: 0.5, Channels: channels, Rate: 2e9, Capacity: size}
	}
	store := func(name string, d host.Device) host.Store {
		return host.Store{Name: name, Tiers: []host.Tier{{Device: d, Groups: 1, Disks: 1}}, QueueDepth: 64, Copies: 1,
			CacheTime: 200 * time.Microsecond, Extent: 64 * unit.MiB, Promote: time.Minute}
	}
	f.Host.Stores = []host.Store{store(DataStore, device(DataDevice, read, write)), store(LogStore, device(LogDevice, log, log))}
	f.Host.NICs = []host.NIC{{Name: NIC, BitsPerSecond: 10e9, Latency: duration(way), Queues: 1, MTU: 65535}}
	times := read
	if read.Assumed {
		times = write
	}
	f.Ranges = append(f.Ranges,
		factor(DiskTimes, times, "reads and writes of the disk in the quietest trial; how many it serves at once is assumed"),
		factor(LogTimes, log, "writes of the log in the quietest trial"),
		factor(WayTimes, way, "what is left of the response time with one user"))
}

func duration(q Quantity) time.Duration { return time.Duration(max(1, q.Value)) }

// factor is the range of q relative to its value.
func factor(name string, q Quantity, about string) Range {
	if !(q.Value > 0) {
		return Range{name, Exactly(1), about}
	}
	r := Range{name, Quantity{1, q.Low / q.Value, q.High / q.Value, q.Assumed}, about}
	if q.Assumed {
		r.About = "assumed: the trials do not tell"
	}
	least, most, _ := bounds(name)
	r.Low, r.High = max(least, r.Low), min(most, r.High)
	return r
}
