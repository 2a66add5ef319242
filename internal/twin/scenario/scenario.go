// Package scenario turns what a trial asks for into a run of the twin: who
// lives where, the pages of the tables, what each transaction does to them, and
// the users with their real scripts.
//
// What a transaction does comes from the workload (workload.Access), what that
// costs from Demands, which are either calibrated or assumed, and the hardware
// from a host file. Nothing here knows of study files, providers or records:
// package trial and the commands fill in a Trial.
package scenario

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loadstone-perf/loadstone/internal/twin"
	"github.com/loadstone-perf/loadstone/internal/twin/dbms"
	"github.com/loadstone-perf/loadstone/internal/twin/host"
	"github.com/loadstone-perf/loadstone/internal/unit"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// Trial is one run, in plain terms.
type Trial struct {
	Host *host.Host
	// Virtual puts each instance into a virtual machine under proportional
	// shares; else it is a process or a container under a Linux-like scheduler.
	Virtual   bool
	Instances []Instance
	Ramp      time.Duration
	Seconds   int // the whole run, ramp included
	Seed      uint64
}

// Instance is one database with its users.
type Instance struct {
	Name     string // each its own, not that of a node or store
	Workload *workload.Definition
	Demands  Demands
	Shape    Shape
	// Cache is the memory in which pages are kept: what is in it is not read
	// from disk.
	Cache unit.Bytes
	// Own is the part of it that is the database's own: pages that are in Cache
	// and not there are copied, which takes a processor. 0, or as much as Cache,
	// is that none are.
	Own        unit.Bytes
	Checkpoint dbms.Checkpoint
	Load       Load
	// Data, Log and NIC name parts of the host; "" is the store "data" or
	// "log", or else the first, and the first network interface.
	Data, Log, NIC string
}

// Shape is the size and place of an instance. Zero fields are not confined.
type Shape struct {
	// CPUs are the virtual processors of a virtual machine, which are whole, or
	// the quota of a process.
	CPUs        float64
	Threads     []int   // hardware threads that it may use; nil is all
	Shares      float64 // weight; 0 and 1024 are normal
	Reservation float64 // CPUs; virtual machines only
	VirtualNUMA int     // nodes that a virtual machine sees; 0 is the scheduler's choice
	GuestPages  host.PageSize
	HostPages   host.PageSize
	// LowLatency is latency sensitivity high: with a reservation of all CPUs
	// each has a core for itself, and interrupts are not coalesced.
	LowLatency bool
	Memory     unit.Bytes // that a migrated virtual machine has to move
}

// Load is who drives an instance: users, or arrivals.
type Load struct {
	Users       int
	RatePerS    float64 // arrivals a second, in place of Users
	Constant    bool    // arrivals are evenly spaced; else they are Poisson
	Connections int     // that serve the arrivals
}

// Demands are what the work of a workload costs on one engine in one mode.
// Times are in nanoseconds of a thread that runs alone at GHz.
type Demands struct {
	// Source says what they were fitted to; "" where they are assumed: see
	// Assume.
	Source  string
	GHz     float64  // 0 is the nominal frequency of the host
	Classes []Demand // by Transaction.Index
	Costs   dbms.Costs
	Pages   host.PageCosts
	// SharedMemory is the part of memory stalls that goes to memory of the whole
	// instance, 0 to 1; Halt is the cost of waking an idle virtual processor,
	// and Refill that of filling caches after an involuntary switch.
	SharedMemory, Halt, Refill float64
}

// Demand is that of one transaction, on average, without the costs of I/O,
// packets and interrupts, which are in Demands.Costs.
type Demand struct {
	Compute, Memory float64 // ns
	Misses          float64 // of the translation buffer
	LogBytes        float64 // 0 takes what Access.LogBytes estimates
}

// Calibrated says whether d was fitted to trials.
func (d Demands) Calibrated() bool { return d.Source != "" }

// Build makes the scenario of t. The error joins every reason why the model
// can't be made.
func Build(t Trial) (twin.Scenario, error) {
	if t.Host == nil || len(t.Instances) == 0 {
		return twin.Scenario{}, fmt.Errorf("a trial of %d instances on host %v", len(t.Instances), t.Host)
	}
	b := &builder{t: t, sc: twin.Scenario{Host: t.Host, Ramp: t.Ramp, Seconds: t.Seconds, Seed: t.Seed}}
	b.scheduler()
	for i := range t.Instances {
		if err := b.instance(&t.Instances[i], i%t.Host.Nodes); err != nil {
			b.errs = append(b.errs, fmt.Errorf("%s: %w", t.Instances[i].Name, err))
		}
	}
	return b.sc, errors.Join(b.errs...)
}

// builder is a scenario in the making.
type builder struct {
	t    Trial
	sc   twin.Scenario
	errs []error
}

// scheduler chooses the scheduler, and in a host of virtual machines gives the
// hypervisor's own work threads of its own.
func (b *builder) scheduler() {
	b.sc.Scheduler = host.Scheduler{Refill: host.Nanos(b.t.Instances[0].Demands.Refill)}
	if !b.t.Virtual {
		b.sc.Scheduler.Kind = host.Fair
		return
	}
	for node := range b.t.Host.Nodes {
		b.sc.Guests = append(b.sc.Guests, twin.Guest{Node: node, Client: host.Client{
			Name: fmt.Sprint("hypervisor ", node), CPUs: b.t.Host.CPU.CPUs(), Loose: true, Interleaved: true,
		}})
	}
}

// instance adds an instance with the client that it runs in.
func (b *builder) instance(i *Instance, node int) error {
	demands := scaled(i.Demands, b.t.Host)
	db, err := database(i.Workload, demands)
	if err != nil {
		return err
	}
	if !demands.Calibrated() { // those that were fitted have it inside
		copied(db, i.Own, i.Cache)
	}
	client, err := b.client(i)
	if err != nil {
		return err
	}
	b.sc.Guests = append(b.sc.Guests, twin.Guest{Node: node, Client: client})
	c := dbms.Config{
		Name: i.Name, Guest: len(b.sc.Guests) - 1, Database: db, Buffer: i.Cache,
		GuestPages: i.Shape.GuestPages, HostPages: i.Shape.HostPages, PageCosts: demands.Pages,
		DataStore: b.store(i.Data, "data"), LogStore: b.store(i.Log, "log"), NIC: b.nic(i),
		Costs: demands.costs(b.t.Virtual), Checkpoint: i.Checkpoint, Load: load(i),
	}
	if b.t.Virtual {
		c.Kernel = node + 1
	} else { // no second tables to walk
		c.PageCosts.Host = [2]float64{}
	}
	b.sc.Instances = append(b.sc.Instances, c)
	return nil
}

// client is the virtual machine, or the process.
func (b *builder) client(i *Instance) (host.Client, error) {
	s, cpus := i.Shape, b.t.Host.CPU.CPUs()
	if len(s.Threads) > 0 {
		cpus = len(s.Threads)
	}
	c := host.Client{Name: i.Name + " guest", Affinity: s.Threads, Interleaved: true, SharedMemory: i.Demands.SharedMemory}
	if s.Shares > 0 {
		c.Shares = s.Shares
	}
	if !b.t.Virtual {
		c.Limit = s.CPUs
		if s.Reservation > 0 || s.VirtualNUMA > 0 || s.LowLatency {
			return c, errors.New("reservation, virtual NUMA nodes and latency sensitivity are of virtual machines only")
		}
		return c, nil
	}
	c.Interleaved, c.HaltCost, c.Reservation, c.Memory = false, host.Nanos(i.Demands.Halt), s.Reservation, float64(s.Memory)
	if c.CPUs = cpus; s.CPUs > 0 {
		c.CPUs = int(s.CPUs)
	}
	if s.CPUs != math.Trunc(s.CPUs) {
		return c, fmt.Errorf("a virtual machine of %g CPUs: they are whole", s.CPUs)
	}
	if s.Shares > 0 { // those of a virtual machine are for each processor
		c.Shares = s.Shares / normalShares * 1000 * float64(c.CPUs)
	}
	if n := s.VirtualNUMA; n > 0 {
		if c.CPUs%n != 0 {
			return c, fmt.Errorf("%d CPUs do not divide into %d virtual NUMA nodes", c.CPUs, n)
		}
		c.NodeSize = c.CPUs / n
	}
	if s.LowLatency {
		if c.Exclusive = s.Reservation >= float64(c.CPUs); !c.Exclusive {
			c.HaltCost *= lowLatencyHalt // the monitor waits instead of letting go
		}
	}
	return c, nil
}

const (
	normalShares = 1024
	// lowLatencyHalt is how much dearer halting is where the monitor is told to
	// answer fast and has no core of its own (assumed: the published studies
	// name the effect and no number).
	lowLatencyHalt = 10
)

// store is the store of a name, or the usual one.
func (b *builder) store(name, usual string) string {
	if name != "" || len(b.t.Host.Stores) == 0 {
		return name
	}
	if slices.ContainsFunc(b.t.Host.Stores, func(s host.Store) bool { return s.Name == usual }) {
		return usual
	}
	return b.t.Host.Stores[0].Name
}

// nic is the network interface of i. Interrupts of a virtual machine set for
// low latency are not coalesced: it gets the interface in that form.
func (b *builder) nic(i *Instance) string {
	name := i.NIC
	if name == "" && len(b.t.Host.NICs) > 0 {
		name = b.t.Host.NICs[0].Name
	}
	n, err := b.t.Host.NIC(name)
	if err != nil || !i.Shape.LowLatency {
		return name
	}
	n.Name, n.InterruptsPerSecond = name+" uncoalesced", 0
	if _, err := b.sc.Host.NIC(n.Name); err != nil {
		h := *b.sc.Host
		h.NICs = append(slices.Clone(h.NICs), n)
		b.sc.Host = &h
	}
	return n.Name
}

// costs are d's for an instance. Processes have no hypervisor.
func (d Demands) costs(virtual bool) dbms.Costs {
	c := d.Costs
	if !virtual {
		c.HostIO, c.HostPacket = 0, 0
	}
	return c
}

// faster is what a time at d's frequency is to be multiplied by on h.
func (d Demands) faster(h *host.Host) float64 {
	if d.GHz == 0 {
		return 1
	}
	return d.GHz / h.CPU.GHz
}
