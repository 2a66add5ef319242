package host

import (
	"fmt"
	"math/bits"

	"github.com/loadstone-perf/loadstone/internal/twin/des"
)

// State is what an entity does.
type State uint8

// The states of an entity, which is a virtual processor or, on a Linux-like
// host, a task.
const (
	Idle    State = iota // nothing to do
	Ready                // waits for a thread
	Running              // on a thread
	CoStop               // stopped because a sibling lags
	Limited              // stopped because the client's limit is used up
	nStates
)

// entity is what a scheduler puts on threads.
type entity struct {
	client, numa int32 // numa: index of its NUMA client
	state        State
	since        int64 // when state began
	task         int32
	left         Demand // of the task, at ρ = 1, as of the last stop
	cold         Work   // cost of refilling caches, to come first
	total, togo  Work   // of this stint: cold + compute + memory·ρ
	thread, last int32
	from         int64 // when togo was last brought up to date
	speed        int64 // femtoseconds a nanosecond
	sliceEnd     int64
	timer        des.Timer
	virtual      float64 // consumed ÷ entitlement: who has least runs first
	time         [nStates]int64
}

// policy decides who runs where.
type policy interface {
	// wake finds a thread for e, which is ready, or queues it.
	wake(e int32)
	// release finds someone for thread t, which became free.
	release(t int32)
	// expire decides at the end of e's slice; e runs on unless it is stopped.
	expire(e int32)
}

// CPU is the processors of one node with their scheduler. Make it with NewCPU.
type CPU struct {
	sim      *des.Sim
	hw       Processor
	cfg      Scheduler
	done     func(task int32)
	sched    policy
	threads  []thread
	sockets  []socket
	entities []entity
	clients  []*client
	end      des.Kind // of bursts and slices
	// finishing is the entity whose task has just ended, while done runs:
	// what is submitted then continues on its thread.
	finishing int32
	executed  Work
	// wanting entities run or wait, of clients with wantedShares together.
	wanting      int
	wantedShares float64
}

// NewCPU returns idle processors. done is called with the task of each burst
// that has been worked off.
func NewCPU(sim *des.Sim, hw Processor, cfg Scheduler, done func(task int32)) *CPU {
	c := &CPU{sim: sim, hw: hw, cfg: cfg.withDefaults(), done: done, finishing: none}
	c.end = sim.Handle(c.timeout)
	c.sockets = make([]socket, hw.Sockets)
	for n := range c.sockets {
		s := &c.sockets[n]
		s.frequency = hw.frequency(0)
		for i := range hw.perSocket() {
			sibling := int32(none)
			if hw.Threads == 2 {
				sibling = int32(len(c.threads)) ^ 1
			}
			c.threads = append(c.threads, thread{socket: int32(n), bit: 1 << i, sibling: sibling,
				runs: none, last: none, owner: none})
			s.idle |= 1 << i
			if i%hw.Threads == 0 {
				s.first |= 1 << i
			}
		}
	}
	switch c.cfg.Kind {
	case Proportional:
		c.sched = &proportional{CPU: c}
	case Fair:
		c.sched = newFair(c)
	}
	tick := sim.Handle(c.tick)
	sim.After(tickEvery, tick, int32(tick), 0)
	return c
}

// Submit brings a burst of a client. Where the client is a virtual machine, it
// runs on one of its virtual processors, or waits for one inside the guest.
func (c *CPU) Submit(client int, task int32, d Demand) {
	cl := c.clients[client]
	cl.submitted += d.Compute + d.Memory
	cl.brought++
	if f := c.finishing; f != none && int(c.entities[f].client) == client && c.entities[f].task == none {
		c.load(f, task, d)
		return
	}
	e := cl.idleEntity(c)
	if e == none {
		cl.guest.Push(waiting{task, d})
		return
	}
	c.load(e, task, d)
	c.entities[e].left.Compute += cl.spec.HaltCost
	c.toReady(e)
}

// load gives e a task.
func (c *CPU) load(e int32, task int32, d Demand) {
	x := &c.entities[e]
	x.task, x.left = task, d
	cl := c.clients[x.client]
	cl.busy++
}

// toReady makes an idle or stopped entity runnable.
func (c *CPU) toReady(e int32) {
	x := &c.entities[e]
	c.become(x, Ready)
	if c.clients[x.client].throttled {
		c.become(x, Limited)
		return
	}
	c.sched.wake(e)
}

// become changes e's state and accounts for the last.
func (c *CPU) become(x *entity, s State) {
	now := c.sim.Now()
	x.time[x.state] += now - x.since
	cl := c.clients[x.client]
	before := cl.runnable()
	cl.in[x.state]--
	cl.in[s]++
	after := cl.runnable()
	c.wanting += after - before
	switch {
	case before == 0 && after > 0:
		c.wantedShares += cl.spec.Shares
	case before > 0 && after == 0:
		c.wantedShares -= cl.spec.Shares
	}
	x.state, x.since = s, now
}

// start puts e, which is ready, on thread t, which is free.
func (c *CPU) start(e, t int32) {
	x, th := &c.entities[e], &c.threads[t]
	if x.last != none && x.last != t && x.last != th.sibling && !c.clients[x.client].spec.Loose {
		x.cold += c.cfg.Refill // migrated
	}
	x.thread, x.last = t, t
	th.runs, th.last = e, e
	th.since = c.sim.Now()
	s := &c.sockets[th.socket]
	s.idle &^= th.bit
	if th.sibling == none || c.threads[th.sibling].runs == none {
		s.activate(1, c.sim.Now())
	}
	c.become(x, Running)
	x.sliceEnd = c.sim.Now() + c.cfg.Quantum
	c.begin(x)
	c.pace(th.sibling)
}

// begin sets e's work for the stint up from what is left of its task, and its
// pace.
func (c *CPU) begin(x *entity) {
	rho := 1 + c.remote(x)*(c.hw.Remote-1)
	x.total = x.cold + x.left.Compute + Work(float64(x.left.Memory)*rho)
	x.togo = x.total
	x.from = c.sim.Now()
	x.speed = 0
	c.pace(x.thread)
}

// pace brings what runs on thread t, if anything, up to date and to the speed
// that it has from now on.
func (c *CPU) pace(t int32) {
	if t == none || c.threads[t].runs == none {
		return
	}
	x := &c.entities[c.threads[t].runs]
	c.settle(x)
	th := &c.threads[t]
	x.speed = c.sockets[th.socket].frequency
	if th.sibling != none && c.threads[th.sibling].runs != none {
		x.speed = int64(float64(x.speed) * c.hw.SMTGain / 2)
	}
	ends := x.from + (int64(x.togo)+x.speed-1)/x.speed
	c.sim.Set(x.timer, min(ends, x.sliceEnd))
}

// in is how long x has been in state s, up to now.
func (x *entity) in(s State, now int64) int64 {
	if x.state == s {
		return x.time[s] + now - x.since
	}
	return x.time[s]
}

// pending is the work of a running entity that is not yet accounted for.
func (x *entity) pending(now int64) Work {
	if x.state != Running {
		return 0
	}
	return min(Work((now-x.from)*x.speed), x.togo)
}

// settle accounts for the work of a running entity up to now.
func (c *CPU) settle(x *entity) {
	now := c.sim.Now()
	d := now - x.from
	if d == 0 {
		return
	}
	did := x.pending(now)
	x.from = now
	x.togo -= did
	c.executed += did
	c.clients[x.client].charge(c, x, did, d)
}

// stop takes a running entity off its thread, which is then free, and puts
// away what is left of its task.
func (c *CPU) stop(e int32, to State) (t int32) {
	x := &c.entities[e]
	c.settle(x)
	c.sim.Stop(x.timer)
	c.putAway(x)
	x.cold = x.cold.scale(x.togo, x.total)
	t = x.thread
	th := &c.threads[t]
	th.runs = none
	th.busy += c.sim.Now() - th.since
	s := &c.sockets[th.socket]
	if th.owner == none {
		s.idle |= th.bit
	}
	if th.sibling == none || c.threads[th.sibling].runs == none {
		s.activate(-1, c.sim.Now())
	}
	x.thread = none
	c.become(x, to)
	c.pace(th.sibling)
	return t
}

// putAway works out what is left of x's task at the end of a stint.
func (c *CPU) putAway(x *entity) {
	x.left.Compute = x.left.Compute.scale(x.togo, x.total)
	x.left.Memory = x.left.Memory.scale(x.togo, x.total)
	c.clients[x.client].putAway++
}

// preempt stops a running entity against its will: its caches will be cold.
func (c *CPU) preempt(e int32, to State) (t int32) {
	t = c.stop(e, to)
	if x := &c.entities[e]; !c.clients[x.client].spec.Loose {
		x.cold += c.cfg.Refill
	}
	return t
}

// timeout is the end of e's burst or of its slice.
func (c *CPU) timeout(a int32, _ int64) {
	x := &c.entities[a]
	c.settle(x)
	if x.togo > 0 {
		c.endSlice(a)
		return
	}
	task := x.task
	x.task, x.left, x.cold = none, Demand{}, 0
	cl := c.clients[x.client]
	cl.busy--
	cl.completed++
	c.finishing = a
	c.done(task)
	c.finishing = none
	x = &c.entities[a] // done may have made entities
	if x.task == none && cl.guest.Len() > 0 {
		w := cl.guest.Pop()
		c.load(a, w.task, w.demand)
	}
	if x.task != none {
		c.begin(x)
		return
	}
	t := c.stop(a, Idle)
	cl.idled(a)
	c.sched.release(t)
}

// endSlice lets the guest turn to its next task and the scheduler decide who
// runs on.
func (c *CPU) endSlice(e int32) {
	x := &c.entities[e]
	x.sliceEnd = c.sim.Now() + c.cfg.Quantum
	if cl := c.clients[x.client]; cl.guest.Len() > 0 {
		c.putAway(x)
		cl.guest.Push(waiting{x.task, x.left})
		w := cl.guest.Pop()
		x.task, x.left, x.cold = w.task, w.demand, 0
		c.begin(x)
	}
	c.sched.expire(e)
	if x := &c.entities[e]; x.state == Running {
		c.pace(x.thread)
	}
}

// idleThread returns the best idle thread of socket n among allowed: that of
// last if its whole core is idle, any whole core, last itself, any thread; or
// none.
func (c *CPU) idleThread(n int32, allowed uint64, last int32) int32 {
	s := &c.sockets[n]
	idle := s.idle & allowed
	if idle == 0 {
		return none
	}
	base := n * int32(c.hw.perSocket())
	lastBit := uint64(0)
	if last != none && c.threads[last].socket == n {
		lastBit = c.threads[last].bit & idle
	}
	whole := s.wholeCores(c.hw.Threads)
	for t := 1; t < c.hw.Threads; t++ {
		whole |= whole << t
	}
	for _, choice := range [...]uint64{lastBit & whole, whole & idle, lastBit, idle} {
		if choice != 0 {
			return base + int32(bits.TrailingZeros64(choice))
		}
	}
	return none
}

// newEntity adds an idle entity to a client.
func (c *CPU) newEntity(client, numa int32) int32 {
	e := int32(len(c.entities))
	c.entities = append(c.entities, entity{client: client, numa: numa, task: none, thread: none, last: none,
		since: c.sim.Now(), timer: c.sim.NewTimer(c.end, e, 0)})
	cl := c.clients[client]
	cl.entities = append(cl.entities, e)
	cl.in[Idle]++
	return e
}

// tickEvery is how often turbo, limits and skew are looked at.
const tickEvery = des.Millisecond

func (c *CPU) tick(kind int32, _ int64) {
	c.sim.After(tickEvery, des.Kind(kind), kind, 0)
	if len(c.hw.Turbo) > 1 {
		for n := range c.sockets {
			c.clockSocket(int32(n))
		}
	}
	for i := range c.clients {
		c.enforceLimit(c.clients[i])
	}
	if p, ok := c.sched.(*proportional); ok {
		p.tick()
	}
}

// clockSocket sets socket n's frequency for the cores that are active now.
func (c *CPU) clockSocket(n int32) {
	s := &c.sockets[n]
	f := c.hw.frequency(s.active)
	if f == s.frequency {
		return
	}
	s.frequency = f
	base := n * int32(c.hw.perSocket())
	for t := base; t < base+int32(c.hw.perSocket()); t++ {
		c.pace(t)
	}
}

// checkThreads returns an error where a thread number does not exist.
func (c *CPU) checkThreads(list []int) error {
	for _, t := range list {
		if t < 0 || t >= len(c.threads) {
			return fmt.Errorf("affinity to thread %d: the host has threads 0 to %d", t, len(c.threads)-1)
		}
	}
	return nil
}
