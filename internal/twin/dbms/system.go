package dbms

import (
	"errors"
	"fmt"
	"time"

	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/twin/des"
	"github.com/loadstone-perf/loadstone/internal/twin/host"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// Config is one database instance and its users.
type Config struct {
	Name  string
	Guest int // where it runs: see System.AddGuest
	// Kernel is 1 + the number of the guest, on the same node, that does the
	// hypervisor's part of its I/O where a thread idles; where none does, and
	// with 0, that falls to Guest.
	Kernel int
	// Driver is 1 + the number of the guest, on the same node, that does the
	// load generator's part of each transaction; with 0, users take no processor.
	Driver   int
	Database *Database
	Buffer   unit.Bytes // of the buffer cache
	// GuestPages and HostPages back the memory; PageCosts says what a miss of
	// the translation buffer costs with them. A process has no host's share.
	GuestPages, HostPages host.PageSize
	PageCosts             host.PageCosts
	DataStore, LogStore   string
	NIC                   string
	Costs                 Costs
	Checkpoint            Checkpoint
	Load                  Load
}

// Costs are what calibration finds for a platform, in nanoseconds at nominal
// frequency.
type Costs struct {
	IO        float64 // k_io
	Packet    float64 // k_pkt
	Interrupt float64 // k_irq
	// HostIO and HostPacket are the hypervisor's part of a disk request and of
	// a packet: nobody waits for it, but it takes processors. 0 for a process.
	HostIO, HostPacket float64
	// Driver is what a transaction takes of the load generator, where it runs on
	// the same host. Users wait for it in the network's latency.
	Driver float64
	// DiskInterrupt is how many disk completions share one interrupt; 0 is 1.
	DiskInterrupt float64
	// Latch is how long one commit holds the log's latch, and LatchByte what
	// each byte of the log adds.
	Latch, LatchByte float64
}

// Checkpoint says when dirty pages are written.
type Checkpoint struct {
	Every time.Duration // 0 is never
	// BytesPerSecond bounds the writing with a token bucket (-k); 0 spreads it
	// over nine tenths of the time to the next.
	BytesPerSecond float64
}

// Load is the users: a fixed number who think between transactions, or
// arrivals at a rate.
type Load struct {
	Users int
	Think time.Duration // mean of an exponential time; 0 is none
	// Rate of Poisson arrivals a second, instead of Users, on at most
	// Connections at once; what finds none free waits.
	Rate        float64
	Connections int
	Ramp        time.Duration // over which the load grows evenly from nothing
	Constant    bool          // arrivals come evenly spaced
	// Cast makes the users of one run, or what its connections do, from a seed: a
	// function that gives the script of each by its number from 0. Where it is
	// nil, classes are drawn by their weights, with think times of mean Think.
	// Extra users have the numbers after the others and work by themselves from
	// the beginning on: they need a Cast.
	Cast  func(seed uint64) func(user int) Script
	Extra int
}

// Done is one transaction that has ended. Times are in nanoseconds.
type Done struct {
	Instance, Class int
	User            int   // that of its instance, from 0
	Intended        int64 // when its user wanted it
	Start, End      int64
	RolledBack      bool
	// Of users with a script: the keying and think times around it; whether it
	// ends a unit of work; and whether its time is not part of the unit's.
	Planned       int64
	Last, Untimed bool
}

// Usage is what an instance has done since time 0.
type Usage struct {
	Pool               PoolUsage
	Done               []int64 // by class, rolled back ones included
	LogFlushes         int64
	LogBytes           int64
	LockNanos          int64 // waited for hot rows
	LatchNanos         int64 // waited for and held the log's latch
	CommitNanos        int64 // waited for the log's writes
	ReadNanos          int64 // waited for reads
	BurstNanos         int64 // bursts of transactions ran or waited for a processor
	PacketsIn          float64
	PacketsOut         float64
	BytesIn, BytesOut  float64
	NetworkInterrupts  float64
	DiskInterrupts     float64
	Backlog            int   // arrivals that wait for a connection now
	Busy               int   // units of work under way now; without scripts, transactions
	Data, Log          int32 // its volumes
	Checkpoints        int64
	CheckpointsOverdue int64 // that had not ended when the next was due
}

// System is the databases of one host. Make it with New.
type System struct {
	sim       *des.Sim
	host      *host.Host
	CPUs      []*host.CPU // by node
	Storage   *host.Storage
	guests    []guest
	instances []*instance
	sessions  []session
	lines     map[string]*line
	done      func(Done)
	kinds     kinds
}

type guest struct{ node, client int }

// kinds are the events of the system.
type kinds struct{ think, arrival, request, reply, checkpoint des.Kind }

// New returns the host without guests. done is called at the end of each
// transaction.
func New(sim *des.Sim, h *host.Host, cfg host.Scheduler, done func(Done)) *System {
	s := &System{sim: sim, host: h, done: done, lines: map[string]*line{}}
	s.Storage = host.NewStorage(sim, h, s.diskDone)
	for range h.Nodes {
		s.CPUs = append(s.CPUs, host.NewCPU(sim, h.CPU, cfg, s.cpuDone))
	}
	s.kinds = kinds{
		think:      sim.Handle(s.wake),
		arrival:    sim.Handle(s.arrive),
		request:    sim.Handle(s.begin),
		reply:      sim.Handle(s.finish),
		checkpoint: sim.Handle(s.checkpointStep),
	}
	if checkEveryEvent {
		sim.Inspect(func() {
			if err := s.Check(); err != nil {
				panic(fmt.Sprintf("dbms: at %d ns: %v", sim.Now(), err))
			}
		})
	}
	return s
}

// AddGuest puts a client on a node and returns its number for Config.Guest.
func (s *System) AddGuest(node int, c host.Client) (int, error) {
	if node < 0 || node >= len(s.CPUs) {
		return 0, fmt.Errorf("guest %s: node %d of %d", c.Name, node, len(s.CPUs))
	}
	client, err := s.CPUs[node].AddClient(c)
	if err != nil {
		return 0, err
	}
	s.guests = append(s.guests, guest{node, client})
	return len(s.guests) - 1, nil
}

// AddInstance starts a database and its users and returns its number.
func (s *System) AddInstance(c Config) (int, error) {
	if err := c.validate(len(s.guests)); err != nil {
		return 0, err
	}
	nic, err := s.host.NIC(c.NIC)
	if err != nil {
		return 0, fmt.Errorf("instance %s: %w", c.Name, err)
	}
	pages := 0.0
	for _, t := range c.Database.Tables {
		pages += t.Pages + 1
	}
	id := int32(len(s.instances))
	x := &instance{id: id, cfg: c, guest: s.guests[c.Guest], nic: nic, line: s.line(nic, s.guests[c.Guest].node)}
	if x.data, err = s.Storage.AddVolume(c.DataStore, unit.Bytes(pages)*unit.Bytes(c.Database.PageBytes)); err == nil {
		x.log, err = s.Storage.AddVolume(c.LogStore, logBytes)
	}
	if err != nil {
		return 0, fmt.Errorf("instance %s: %w", c.Name, err)
	}
	x.pool = newPool(c.Database, float64(c.Buffer)/float64(c.Database.PageBytes))
	x.draw = s.sim.Stream(rng.Name("instance"), uint64(id))
	weights := make([]float64, len(c.Database.Classes))
	for i := range weights {
		weights[i] = c.Database.Classes[i].Weight
	}
	x.mix = newPick(weights)
	for _, h := range c.Database.Hot {
		x.locks = append(x.locks, make([]rowLock, h.Rows))
	}
	x.latch = des.NewQueue(s.sim, 1, func(i int64) { s.latched(int32(i)) })
	x.usage.Done = make([]int64, len(weights))
	s.instances = append(s.instances, x)
	s.startUsers(x)
	if c.Checkpoint.Every > 0 {
		s.sim.After(int64(c.Checkpoint.Every), s.kinds.checkpoint, id, checkpointBegins)
	}
	return int(id), nil
}

func (c *Config) validate(guests int) error {
	var errs []error
	fault := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("instance %s: "+format, append([]any{c.Name}, args...)...))
	}
	if c.Database == nil {
		return fmt.Errorf("instance %s has no database", c.Name)
	}
	if err := c.Database.Validate(); err != nil {
		errs = append(errs, err)
	}
	if c.Guest < 0 || c.Guest >= guests {
		fault("guest %d of %d", c.Guest, guests)
	}
	l := c.Load
	open := l.Rate > 0
	if (l.Users > 0) == open || l.Users < 0 || l.Users > maxUsers || l.Connections > maxUsers ||
		open && (l.Connections < 1 || l.Think != 0) || l.Extra < 0 || l.Extra > maxUsers || l.Extra > 0 && l.Cast == nil || l.Think < 0 || l.Ramp < 0 || !(l.Rate >= 0 && l.Rate < 1e9) {
		fault("load %+v: either users, or a rate and connections", l)
	}
	k := c.Costs
	if c.Kernel < 0 || c.Kernel > guests || c.Driver < 0 || c.Driver > guests {
		fault("kernel guest %d and driver %d of %d", c.Kernel-1, c.Driver-1, guests)
	}
	for _, x := range []float64{k.IO, k.Packet, k.Interrupt, k.HostIO, k.HostPacket, k.Driver, k.DiskInterrupt, k.Latch, k.LatchByte, c.Checkpoint.BytesPerSecond} {
		if !(x >= 0 && x < 1e12) {
			fault("cost %g", x)
		}
	}
	if c.Buffer < 0 || c.Checkpoint.Every < 0 {
		fault("a buffer cache of %s, checkpoints every %s", c.Buffer, c.Checkpoint.Every)
	}
	return errors.Join(errs...)
}

// maxUsers bounds the users of one instance.
const maxUsers = 1 << 20

// Usage accounts for an instance up to now.
func (s *System) Usage(i int) Usage {
	x := s.instances[i]
	u := x.usage
	u.Done = append([]int64(nil), u.Done...)
	u.Pool = x.pool.usage
	u.Pool.Dirty = x.pool.total
	u.Backlog, u.Busy = x.backlog.Len(), x.busy
	u.Data, u.Log = x.data, x.log
	return u
}

// GuestUsage accounts for a guest's processors up to now.
func (s *System) GuestUsage(i int) host.ClientUsage {
	g := s.guests[i]
	return s.CPUs[g.node].ClientUsage(g.client)
}

// line is one direction of a network interface: messages queue for it.
type line struct {
	nic     host.NIC
	in, out *des.Queue
}

func (s *System) line(n host.NIC, node int) *line {
	key := fmt.Sprint(n.Name, " of node ", node)
	if l := s.lines[key]; l != nil {
		return l
	}
	latency := int64(n.Latency)
	l := &line{nic: n}
	l.in = des.NewQueue(s.sim, 1, func(i int64) { s.sim.After(latency, s.kinds.request, int32(i), 0) })
	l.out = des.NewQueue(s.sim, 1, func(i int64) { s.answer(int32(i)) })
	s.lines[key] = l
	return l
}
