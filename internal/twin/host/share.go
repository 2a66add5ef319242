package host

import (
	"math"
	"slices"

	"github.com/loadstone-perf/loadstone/internal/twin/des"
)

// Claim is what one client asks of a shared capacity, all in the same unit.
type Claim struct {
	Shares      float64
	Reservation float64
	Limit       float64 // 0 is none
	Demand      float64 // what it could use
}

// WaterFill divides capacity: each claim gets λ·Shares, but no less than its
// reservation, no more than its limit, and no more than its demand, with the
// greatest λ that the capacity allows. Where even the reservations exceed the
// capacity, they are scaled down alike.
func WaterFill(capacity float64, claims []Claim) []float64 {
	least, most := make([]float64, len(claims)), make([]float64, len(claims))
	// The sum grows with λ and is linear between the levels at which a claim
	// leaves its reservation or reaches its most.
	var bends []float64
	reserved := 0.0
	for i, c := range claims {
		most[i] = c.Demand
		if c.Limit > 0 {
			most[i] = min(most[i], c.Limit)
		}
		least[i] = min(c.Reservation, most[i])
		reserved += least[i]
		if c.Shares > 0 {
			bends = append(bends, least[i]/c.Shares, most[i]/c.Shares)
		}
	}
	out := make([]float64, len(claims))
	fill := func(lambda float64) (sum float64) {
		for i, c := range claims {
			out[i] = min(max(lambda*c.Shares, least[i]), most[i])
			sum += out[i]
		}
		return sum
	}
	if reserved > capacity {
		for i := range out {
			out[i] = least[i] * capacity / reserved
		}
		return out
	}
	slices.Sort(bends)
	low, atLow := 0.0, reserved
	for _, high := range bends {
		atHigh := fill(high)
		if atHigh > capacity {
			fill(low + (capacity-atLow)/(atHigh-atLow)*(high-low))
			return out
		}
		low, atLow = high, atHigh
	}
	fill(low)
	return out
}

// proportional is the scheduler of virtual machines.
type proportional struct {
	*CPU
	nextRebalance int64
	nextFollow    int64
}

// credit is how far below the floor a waking entity may begin, and by how much
// it must be behind a running one to take its thread: 2 ms at an entitlement
// of one thread.
const credit = float64(2 * des.Millisecond * nominal)

func (p *proportional) wake(e int32) {
	x := &p.entities[e]
	x.virtual = max(x.virtual, p.sockets[p.home(x)].floor-credit)
	if t := p.find(x); t != none {
		p.dispatch(e, t)
		return
	}
	if v := p.victim(x); v != none && !p.clients[x.client].spec.Loose {
		t := p.preempt(v, Ready)
		p.dispatch(e, t)
		p.enqueue(v)
		return
	}
	p.enqueue(e)
}

// enqueue lets e wait at its home.
func (p *proportional) enqueue(e int32) {
	s := &p.sockets[p.home(&p.entities[e])]
	s.ready = append(s.ready, e)
}

func (c *CPU) home(x *entity) int32 { return c.clients[x.client].nodes[x.numa].home }

func (p *proportional) raise(n int32, floor float64) {
	p.sockets[n].floor = max(p.sockets[n].floor, floor)
}

func (p *proportional) dispatch(e, t int32) {
	p.raise(p.threads[t].socket, p.entities[e].virtual)
	p.start(e, t)
}

// find returns an idle thread for x: its own where it has one, else on its
// home node; or none.
func (p *proportional) find(x *entity) int32 {
	cl := p.clients[x.client]
	if cl.spec.Exclusive {
		if p.threads[x.last].runs == none {
			return x.last
		}
		return none
	}
	home := p.home(x)
	return p.idleThread(home, cl.allowed[home], x.last)
}

// findAnywhere prefers whole cores on any socket, that of the last run first.
func (p *proportional) findAnywhere(x *entity) int32 {
	cl := p.clients[x.client]
	first := int32(0)
	if x.last != none {
		first = p.threads[x.last].socket
	}
	any := int32(none)
	for i := range p.sockets {
		n := (first + int32(i)) % int32(len(p.sockets))
		t := p.idleThread(n, cl.allowed[n], x.last)
		if t == none {
			continue
		}
		if sib := p.threads[t].sibling; sib == none || p.threads[sib].runs == none {
			return t
		}
		if any == none {
			any = t
		}
	}
	return any
}

// victim is the running entity on x's home node that is furthest ahead of x,
// if by more than the credit; or none.
func (p *proportional) victim(x *entity) int32 {
	cl, home := p.clients[x.client], p.home(x)
	worst, most := int32(none), x.virtual+credit
	base := home * int32(p.hw.perSocket())
	for t := base; t < base+int32(p.hw.perSocket()); t++ {
		th := &p.threads[t]
		// Who has just ended its task decides for itself whether it goes on.
		if th.runs == none || th.runs == p.finishing || th.owner != none || cl.allowed[home]&th.bit == 0 {
			continue
		}
		r := &p.entities[th.runs]
		v := r.virtual + float64((p.sim.Now()-r.from)*r.speed)/p.clients[r.client].entitled
		if v > most {
			worst, most = th.runs, v
		}
	}
	return worst
}

func (p *proportional) release(t int32) {
	th := &p.threads[t]
	if th.runs != none || th.owner != none {
		return
	}
	if e := p.best(th.socket, th, math.Inf(1)); e != none {
		p.unqueue(e)
		p.dispatch(e, t)
	}
}

// best is the waiting entity of socket n with the least virtual time, below
// bound, that may use th; or none.
func (p *proportional) best(n int32, th *thread, bound float64) int32 {
	best := int32(none)
	for _, e := range p.sockets[n].ready {
		x := &p.entities[e]
		if x.virtual < bound && p.clients[x.client].allowed[th.socket]&th.bit != 0 {
			best, bound = e, x.virtual
		}
	}
	return best
}

// unqueue takes a waiting entity out of its queue.
func (c *CPU) unqueue(e int32) {
	if f, ok := c.sched.(*fair); ok {
		f.remove(e)
		return
	}
	for n := range c.sockets {
		s := &c.sockets[n]
		if i := slices.Index(s.ready, e); i >= 0 {
			s.ready = slices.Delete(s.ready, i, i+1)
			return
		}
	}
}

func (p *proportional) expire(e int32) {
	x := &p.entities[e]
	th := &p.threads[x.thread]
	if th.owner != none {
		return
	}
	if next := p.best(th.socket, th, x.virtual); next != none {
		t := p.preempt(e, Ready)
		p.unqueue(next)
		p.dispatch(next, t)
		p.enqueue(e)
		return
	}
	p.raise(th.socket, x.virtual)                    // nobody who waits here is behind it
	if th.socket != p.home(x) && p.find(x) != none { // it had waited too long
		t := p.preempt(e, Ready)
		p.wake(e)
		p.release(t)
	}
}

// tick looks at skew, at those who wait too long for their home, and at what
// is due less often.
func (p *proportional) tick() {
	now := p.sim.Now()
	for _, cl := range p.clients {
		if !cl.spec.Loose && len(cl.entities) > 1 && cl.in[Ready]+cl.in[CoStop] > 0 {
			p.coschedule(cl)
		}
	}
	p.offHome(now)
	if now >= p.nextFollow {
		p.nextFollow = now + followEvery
		p.followHome(float64(followEvery) / float64(des.Second))
	}
	if now >= p.nextRebalance {
		if p.nextRebalance > 0 {
			p.rebalance(p.cfg.Rebalance)
		}
		p.nextRebalance = now + p.cfg.Rebalance
	}
}

const followEvery = 100 * des.Millisecond

// lag is how long x could not make progress although it wanted to.
func (p *proportional) lag(x *entity) int64 {
	now := p.sim.Now()
	return x.in(Ready, now) + x.in(CoStop, now) + x.in(Limited, now)
}

// coschedule stops the virtual processors that lead their slowest sibling by
// more than the skew, and lets go those that lead by no more than half of it.
func (p *proportional) coschedule(cl *client) {
	slowest := int64(0)
	for _, e := range cl.entities {
		slowest = max(slowest, p.lag(&p.entities[e]))
	}
	for _, e := range cl.entities {
		x := &p.entities[e]
		lead := slowest - p.lag(x)
		switch {
		case x.state == Running && lead > p.cfg.Skew:
			p.release(p.preempt(e, CoStop))
		case x.state == Ready && lead > p.cfg.Skew:
			p.unqueue(e)
			p.become(x, CoStop)
		case x.state == CoStop && lead <= p.cfg.Skew/2:
			p.toReady(e)
		}
	}
}

// offHome runs those who have waited too long on idle threads of other nodes.
func (p *proportional) offHome(now int64) {
	for n := range p.sockets {
		for i := 0; i < len(p.sockets[n].ready); {
			e := p.sockets[n].ready[i]
			x := &p.entities[e]
			if now-x.since < p.cfg.OffHome {
				i++
				continue
			}
			t := p.findAnywhere(x)
			if t == none {
				i++
				continue
			}
			p.sockets[n].ready = slices.Delete(p.sockets[n].ready, i, i+1)
			p.dispatch(e, t)
		}
	}
}

// entitle divides the cores by water-filling, as if every client wanted all its
// virtual processors. What one leaves unused goes to the others in the
// proportion of their entitlements, because who has consumed least of it runs.
func (c *CPU) entitle() {
	claims := make([]Claim, len(c.clients))
	for i, cl := range c.clients {
		claims[i] = Claim{cl.spec.Shares, cl.spec.Reservation, cl.spec.Limit, float64(cl.spec.CPUs)}
	}
	capacity := float64(c.hw.Sockets*c.hw.Cores) * max(1, c.hw.SMTGain*float64(c.hw.Threads-1))
	for i, e := range WaterFill(capacity, claims) {
		c.clients[i].entitled = max(e, 0.01) / float64(c.clients[i].spec.CPUs)
	}
}
