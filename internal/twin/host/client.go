package host

import (
	"fmt"
	"math/bits"

	"github.com/loadstone-perf/loadstone/internal/twin/des"
)

// Kind is a family of schedulers.
type Kind uint8

// The schedulers.
const (
	// Proportional shares by entitlement, with home nodes and co-scheduling;
	// its clients are virtual machines with a fixed number of virtual
	// processors.
	Proportional Kind = iota
	// Fair is Linux-like: a queue a thread, virtual run time, idle balancing;
	// its clients are processes and containers with a task for each burst.
	Fair
)

// Scheduler says how a CPU schedules. Zero values stand for the defaults.
type Scheduler struct {
	Kind Kind
	// Skew s is how far a virtual processor may lead its slowest sibling
	// before it is stopped; 3 ms by default. Studies sweep it over 1 to 5 ms.
	Skew int64
	// Quantum is the longest stint of one entity while others wait; 10 ms by
	// default.
	Quantum int64
	// Refill q is the work of filling caches again after an involuntary
	// switch or a migration.
	Refill Work
	// OffHome is how long a virtual processor waits for its home node before
	// it may run on an idle thread of another; 10 ms by default.
	OffHome int64
	// Rebalance is how often home nodes are reconsidered; 2 s by default.
	Rebalance int64
}

func (s Scheduler) withDefaults() Scheduler {
	for _, d := range []struct {
		field *int64
		value int64
	}{{&s.Skew, 3 * des.Millisecond}, {&s.Quantum, 10 * des.Millisecond}, {&s.OffHome, 10 * des.Millisecond}, {&s.Rebalance, 2 * des.Second}} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	return s
}

// Client is a virtual machine, container or process that runs on a CPU.
type Client struct {
	Name string
	// CPUs is the number of virtual processors; a Fair scheduler ignores it.
	CPUs        int
	Shares      float64 // of the client; 0 is 1000 a virtual processor, or 1024
	Reservation float64 // threads at nominal speed that it surely gets
	Limit       float64 // threads at nominal speed that it never exceeds; 0 is none
	Affinity    []int   // threads that it may use; nil is all
	// Exclusive gives each virtual processor a core of its own (latency
	// sensitivity high), which needs a reservation of all of them.
	Exclusive bool
	HaltCost  Work // work of waking an idle virtual processor
	// NodeSize is the number of virtual processors of a virtual node. 0
	// chooses: the largest divisor of CPUs that fits the cores of a socket.
	NodeSize int
	// Interleaved spreads the memory over all sockets it may run on; else
	// each virtual node's memory lies on its home node.
	Interleaved bool
	// SharedMemory is the part of memory stalls that goes to memory of the
	// whole client (a buffer pool) rather than of the own virtual node.
	SharedMemory float64
	// Loose virtual processors are the hypervisor's own worlds: they are never
	// stopped for a sibling that lags, take no thread from who runs when they
	// wake, and have too little in the caches to fill them again.
	Loose bool
	// Memory in bytes, which a migrated client has to move; 0 moves at once.
	Memory float64
}

// waiting is a burst that waits inside a guest.
type waiting struct {
	task   int32
	demand Demand
}

// client is a Client with its state.
type client struct {
	spec      Client
	allowed   []uint64 // by socket
	entities  []int32
	free      []int32  // idle entities of a Fair client
	idle      []uint64 // idle virtual processors, by place in entities
	next      int      // where the search for one begins
	guest     des.Ring[waiting]
	nodes     []numaClient
	in        [nStates]int // entities by state
	busy      int
	entitled  float64 // threads at nominal speed, of an entity
	allowance float64 // work left in this period of the limit
	period    int64
	throttled bool
	submitted Work
	brought   int64 // bursts
	completed int64
	putAway   int64 // times that a task was put away
	consumed  Work
	since     int64 // when the client was added
}

// AddClient admits a client and returns its number.
func (c *CPU) AddClient(spec Client) (int, error) {
	if err := c.checkThreads(spec.Affinity); err != nil {
		return 0, fmt.Errorf("client %s: %w", spec.Name, err)
	}
	if c.cfg.Kind == Proportional && spec.CPUs < 1 {
		return 0, fmt.Errorf("client %s: %d virtual processors", spec.Name, spec.CPUs)
	}
	if n := spec.CPUs; n > len(c.threads) && c.cfg.Kind == Proportional {
		return 0, fmt.Errorf("client %s: %d virtual processors on %d threads", spec.Name, n, len(c.threads))
	}
	if err := c.admit(spec); err != nil {
		return 0, fmt.Errorf("client %s: %w", spec.Name, err)
	}
	if spec.Shares == 0 {
		spec.Shares = 1024
		if c.cfg.Kind == Proportional {
			spec.Shares = 1000 * float64(spec.CPUs)
		}
	}
	cl := &client{spec: spec, allowed: c.masks(spec.Affinity), entitled: 1, since: c.sim.Now()}
	id := int32(len(c.clients))
	c.clients = append(c.clients, cl)
	c.placeNodes(cl)
	cl.refill(c)
	if c.cfg.Kind == Proportional {
		cl.idle = make([]uint64, (spec.CPUs+63)/64)
		for i := range spec.CPUs {
			c.newEntity(id, int32(i*len(cl.nodes)/spec.CPUs))
			cl.idle[i/64] |= 1 << (i % 64)
		}
		if err := c.own(cl); err != nil {
			return 0, fmt.Errorf("client %s: %w", spec.Name, err)
		}
		c.entitle()
	}
	return int(id), nil
}

// admit refuses reservations beyond the cores of the host.
func (c *CPU) admit(spec Client) error {
	sum := spec.Reservation
	for _, cl := range c.clients {
		sum += cl.spec.Reservation
	}
	if cores := float64(c.hw.Sockets * c.hw.Cores); sum > cores {
		return fmt.Errorf("a reservation of %g: all would be %g of %g cores", spec.Reservation, sum, cores)
	}
	if spec.Exclusive && spec.Reservation < float64(spec.CPUs) {
		return fmt.Errorf("exclusive use needs a full reservation: %g of %d", spec.Reservation, spec.CPUs)
	}
	if spec.Limit > 0 && spec.Limit < spec.Reservation {
		return fmt.Errorf("the limit %g lies below the reservation %g", spec.Limit, spec.Reservation)
	}
	return nil
}

// masks turns a list of threads into a mask a socket; nil is all.
func (c *CPU) masks(list []int) []uint64 {
	out := make([]uint64, len(c.sockets))
	for _, t := range list {
		out[c.threads[t].socket] |= c.threads[t].bit
	}
	for n := range out {
		if list == nil {
			out[n] = 1<<c.hw.perSocket() - 1
		}
	}
	return out
}

// own gives each virtual processor of an exclusive client a core whose other
// thread idles.
func (c *CPU) own(cl *client) error {
	if !cl.spec.Exclusive {
		return nil
	}
	for _, e := range cl.entities {
		home := cl.nodes[c.entities[e].numa].home
		s := &c.sockets[home]
		whole := s.wholeCores(c.hw.Threads) & cl.allowed[home]
		if whole == 0 {
			return fmt.Errorf("no whole core is left on socket %d for exclusive use", home)
		}
		t := home*int32(c.hw.perSocket()) + int32(bits.TrailingZeros64(whole))
		th := &c.threads[t]
		th.owner = e
		s.idle &^= th.bit
		c.entities[e].last = t
		if th.sibling != none { // never among the idle, so never used
			s.idle &^= c.threads[th.sibling].bit
		}
	}
	return nil
}

// idleEntity returns an idle entity of the client, or none where all virtual
// processors are busy; a Fair client always has one more.
func (cl *client) idleEntity(c *CPU) int32 {
	if c.cfg.Kind == Fair {
		if n := len(cl.free); n > 0 {
			e := cl.free[n-1]
			cl.free = cl.free[:n-1]
			return e
		}
		return c.newEntity(c.entityClient(cl), 0)
	}
	// Round robin from the last choice on.
	n := len(cl.entities)
	for looked := 0; looked < n; {
		i := (cl.next + looked) % n
		if w := cl.idle[i/64] >> (i % 64); w != 0 {
			if j := i + bits.TrailingZeros64(w); j < n {
				cl.idle[j/64] &^= 1 << (j % 64)
				cl.next = j + 1
				return cl.entities[j]
			}
		}
		looked += min(64-i%64, n-i)
	}
	return none
}

// entityClient is the number of cl.
func (c *CPU) entityClient(cl *client) int32 {
	for i, x := range c.clients {
		if x == cl {
			return int32(i)
		}
	}
	return none
}

// idled puts e back among the idle entities.
func (cl *client) idled(e int32) {
	if cl.idle == nil {
		cl.free = append(cl.free, e)
		return
	}
	i := int(e - cl.entities[0]) // those of a virtual machine are consecutive
	cl.idle[i/64] |= 1 << (i % 64)
}

// charge accounts for did work in ran nanoseconds of entity x. A virtual
// machine pays for work (a thread beside a busy one costs less), a process
// for time: its virtual time passes as the client's runnable tasks a share are
// to those of all clients.
func (cl *client) charge(c *CPU, x *entity, did Work, ran int64) {
	cl.consumed += did
	cost := float64(did)
	if c.cfg.Kind == Fair {
		cost = float64(ran * nominal)
		x.virtual += cost * float64(cl.runnable()) / cl.spec.Shares * c.wantedShares / float64(c.wanting)
	} else {
		x.virtual += cost / cl.entitled
	}
	cl.allowance -= cost
}

// runnable is how many of the client's entities run or wait.
func (cl *client) runnable() int { return cl.in[Running] + cl.in[Ready] }

// limitPeriod is how often a client's limit is granted anew.
const limitPeriod = 100 * des.Millisecond

// refill grants the limit for a period; what was used too much is taken off.
func (cl *client) refill(c *CPU) {
	cl.allowance = min(cl.allowance, 0) + cl.spec.Limit*float64(limitPeriod*nominal)
	cl.period = c.sim.Now() + limitPeriod
}

// enforceLimit stops a client that has used its limit up, until the period
// ends.
func (c *CPU) enforceLimit(cl *client) {
	if cl.spec.Limit == 0 {
		return
	}
	if cl.in[Running] > 0 {
		for _, e := range cl.entities {
			if c.entities[e].state == Running {
				c.settle(&c.entities[e])
			}
		}
	}
	if c.sim.Now() >= cl.period {
		cl.refill(c)
	}
	switch {
	case cl.allowance <= 0 && !cl.throttled:
		cl.throttled = true
		c.throttle(cl)
	case cl.allowance > 0 && cl.throttled:
		cl.throttled = false
		for _, e := range cl.entities {
			if c.entities[e].state == Limited {
				c.toReady(e)
			}
		}
	}
}

// throttle stops all of the client's entities that run or wait.
func (c *CPU) throttle(cl *client) {
	for _, e := range cl.entities {
		switch x := &c.entities[e]; x.state {
		case Running:
			c.sched.release(c.preempt(e, Limited))
		case Ready:
			c.unqueue(e)
			c.become(x, Limited)
		case CoStop:
			c.become(x, Limited)
		}
	}
}
