package dbms

import (
	"math"

	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/twin/host"
)

// session is a user, or a connection of an open load, with the transaction
// that it is at. A transaction goes: request over the network; bursts of
// processor work with reads between them, hot rows being locked half-way; the
// log's latch and the log's write, where it wrote; answer over the network.
type session struct {
	at       place
	instance int32
	class    int32
	draw     rng.Stream
	intended int64
	start    int64
	burst    int // that comes next, from 0
	bursts   int // in all: one more than reads
	demand   host.Demand
	rows     [maxLocks]lockRow // to be taken, in order
	wanted   int32             // of them
	taken    int32
	since    int64 // when the wait under way began
	began    int64 // when the burst or the read under way began

	script Script // nil draws classes by weight
	step   Step   // of the script
	number int    // of the user in its instance
	extra  bool   // beside those whom the load asks for
	inUnit bool   // a unit of work is under way
}

// place is where a session is.
type place uint8

const (
	away    place = iota // thinks, or is a connection without work
	sending              // its request is on the way
	working              // on the processors, or waits for them
	reading              // waits for the disk
	locking              // waits for a hot row
	latching
	logging   // waits for the log's write
	answering // its answer is on the way
	nPlaces
)

type lockRow struct{ hot, row int32 }

// maxLocks bounds the hot rows of one transaction.
const maxLocks = 16

// startUsers makes the sessions of an instance and starts its load.
func (s *System) startUsers(x *instance) {
	l := x.cfg.Load
	n := max(l.Users, 0)
	if l.Rate > 0 {
		n = l.Connections
	}
	var scripts func(user int) Script
	if l.Cast != nil {
		seed := s.sim.Stream(rng.Name("cast"), uint64(x.id))
		scripts = l.Cast(seed.Uint64())
	}
	for i := range n + l.Extra {
		id := int32(len(s.sessions))
		u := session{instance: x.id, draw: s.sim.Stream(rng.Name("user"), uint64(x.id), uint64(i)), number: i, extra: i >= n}
		if scripts != nil {
			u.script = scripts(i)
		}
		s.sessions = append(s.sessions, u)
		switch {
		case u.extra:
			s.sim.After(0, s.kinds.think, id, thinkAsks)
		case l.Rate > 0:
			x.free = append(x.free, id)
		default:
			s.sim.After(int64(float64(l.Ramp)*float64(i)/float64(n)), s.kinds.think, id, thinkAsks)
		}
	}
	if l.Rate > 0 {
		x.arrival = s.sim.Stream(rng.Name("arrivals"), uint64(x.id))
		s.sim.After(x.gap(), s.kinds.arrival, x.id, 0)
	}
}

// gap draws the time to the next arrival at full rate.
func (x *instance) gap() int64 {
	if x.cfg.Load.Constant {
		return int64(math.Round(1e9 / x.cfg.Load.Rate))
	}
	return int64(math.Round(x.arrival.Exp(1e9 / x.cfg.Load.Rate)))
}

// arrive is an arrival of an open load. In the ramp, arrivals are thinned.
func (s *System) arrive(id int32, _ int64) {
	x := s.instances[id]
	s.sim.After(x.gap(), s.kinds.arrival, id, 0)
	now := s.sim.Now()
	if ramp := int64(x.cfg.Load.Ramp); now < ramp && x.arrival.Float64() >= float64(now)/float64(ramp) {
		return
	}
	n := len(x.free)
	if n == 0 {
		x.backlog.Push(now)
		return
	}
	i := x.free[n-1]
	x.free = x.free[:n-1]
	if s.sessions[i].script != nil {
		s.ask(i, now)
		return
	}
	s.sessions[i].intended = now
	s.send(i)
}

// wake is the end of a user's think time.
func (s *System) wake(i int32, what int64) {
	u := &s.sessions[i]
	switch {
	case u.script == nil:
		u.intended = s.sim.Now()
	case what == thinkAsks:
		s.ask(i, s.sim.Now())
		return
	}
	s.send(i)
}

// send draws session i's transaction and sends the request.
func (s *System) send(i int32) {
	u := &s.sessions[i]
	x := s.instances[u.instance]
	u.start, u.at = s.sim.Now(), sending
	if u.class = int32(u.step.Class); u.script == nil {
		u.class = int32(x.mix.draw(&u.draw))
		u.step.Last = true
	}
	c := &x.cfg.Database.Classes[u.class]
	if !u.inUnit {
		u.inUnit = true
		x.busy++
	}
	packets := s.count(x, c.RequestBytes, c.RoundTrips, &x.usage.PacketsIn, &x.usage.BytesIn)
	both := packets + x.packetsOf(c.ResponseBytes, c.RoundTrips)
	s.plan(x, u, c, both)
	s.hypervisor(x, 0, both)
	s.driver(x)
	x.line.in.Arrive(int64(i), x.nic.SendNanos(c.RequestBytes))
}

// count accounts for the packets of one direction and returns them.
func (s *System) count(x *instance, bytes float64, trips int, packets, sum *float64) float64 {
	n := x.packetsOf(bytes, trips)
	*packets += n
	*sum += bytes
	return n
}

// packetsOf is how many packets so many messages take in one direction.
func (x *instance) packetsOf(bytes float64, trips int) float64 {
	return max(x.nic.Packets(bytes), float64(max(1, trips)))
}

// plan draws what a transaction will do and divides its work into bursts:
// D = [c + m·ρ + w·ρ]/f + n_io·k_io + n_pkt·k_pkt + n_irq·k_irq.
func (s *System) plan(x *instance, u *session, c *Class, packets float64) {
	k, p := x.cfg.Costs, &x.pool.classes[u.class]
	reads := 0
	if p.misses > 0 {
		reads = p.reads.draw(&x.draw)
	}
	rate := x.packets.add(packets, s.sim.Now())
	interrupts := packets
	if rate > 0 {
		interrupts *= x.nic.Interrupts(rate) / rate
	}
	x.usage.NetworkInterrupts += interrupts
	perDisk := 1 / max(1, k.DiskInterrupt)
	x.usage.DiskInterrupts += float64(reads) * perDisk
	walks := c.Misses * x.cfg.PageCosts.Walk(x.cfg.GuestPages, x.cfg.HostPages)
	compute := c.Compute + float64(reads)*(k.IO+perDisk*k.Interrupt) + packets*k.Packet + interrupts*k.Interrupt
	u.bursts, u.burst = reads+1, 0
	n := float64(u.bursts)
	u.demand = host.Demand{Compute: host.Nanos(compute / n), Memory: host.Nanos((c.Memory + walks) / n)}
	u.wanted, u.taken = 0, 0
	for _, l := range c.Locks {
		first := u.wanted
		for range l.Rows {
			row := lockRow{int32(l.Hot), int32(x.draw.IntN(int64(len(x.locks[l.Hot]))))}
			u.wanted = insert(&u.rows, first, u.wanted, row)
		}
	}
}

// insert puts a row among those of its kind, in ascending order and once, and
// returns the new count. Rows are taken in one order by everyone, so nobody
// waits in a circle.
func insert(rows *[maxLocks]lockRow, first, n int32, row lockRow) int32 {
	if n == maxLocks {
		return n
	}
	at := n
	for at > first && rows[at-1].row >= row.row {
		if rows[at-1] == row {
			return n
		}
		at--
	}
	copy(rows[at+1:n+1], rows[at:n])
	rows[at] = row
	return n + 1
}

// begin is the arrival of session i's request at the database.
func (s *System) begin(i int32, _ int64) { s.next(i) }

// next starts the next burst of session i's transaction, or its commit.
func (s *System) next(i int32) {
	u := &s.sessions[i]
	x := s.instances[u.instance]
	if u.burst == u.bursts/2 && u.taken < u.wanted && !s.lock(x, i) {
		return // goes on when it has them all
	}
	if u.burst < u.bursts {
		u.burst++
		u.at, u.began = working, s.sim.Now()
		s.CPUs[x.guest.node].Submit(x.guest.client, i, u.demand)
		return
	}
	c := &x.cfg.Database.Classes[u.class]
	if p := &x.pool.classes[u.class]; p.writes > 0 {
		x.pool.change(int(u.class), p.change.draw(&x.draw), &x.draw)
	}
	if c.LogBytes == 0 {
		s.committed(i)
		return
	}
	u.since, u.at = s.sim.Now(), latching
	x.latch.Arrive(int64(i), int64(x.cfg.Costs.Latch+c.LogBytes*x.cfg.Costs.LatchByte))
}

// cpuDone is the end of a burst.
func (s *System) cpuDone(task int32) {
	if task == backgroundTask {
		return
	}
	u := &s.sessions[task]
	x := s.instances[u.instance]
	x.usage.BurstNanos += s.sim.Now() - u.began
	if u.burst == u.bursts {
		s.next(task)
		return
	}
	u.began = s.sim.Now()
	if victim, write := x.pool.evict(&x.draw); write {
		s.writePage(x, victim)
		s.background(x, 1)
	}
	size := int64(x.cfg.Database.PageBytes)
	stratum := x.pool.classes[u.class].miss.draw(&x.draw)
	x.pool.usage.Reads++
	u.at = reading
	s.hypervisor(x, 1, 0)
	s.Storage.Submit(x.data, false, x.pool.page(x.cfg.Database, stratum, &x.draw)*size, size, int64(task))
}

// read is the end of a read.
func (s *System) read(i int32) {
	u := &s.sessions[i]
	s.instances[u.instance].usage.ReadNanos += s.sim.Now() - u.began
	s.next(i)
}

// lock takes the rows of session i that it has not yet, and says whether it
// has them all; if not, it waits for one.
func (s *System) lock(x *instance, i int32) bool {
	u := &s.sessions[i]
	for u.taken < u.wanted {
		r := u.rows[u.taken]
		l := &x.locks[r.hot][r.row]
		if l.held {
			u.since, u.at = s.sim.Now(), locking
			l.wait.Push(i)
			return false
		}
		l.held = true
		u.taken++
	}
	return true
}

// unlock gives session i's rows to those who wait for them.
func (s *System) unlock(x *instance, i int32) {
	u := &s.sessions[i]
	for n := range u.taken {
		r := u.rows[n]
		l := &x.locks[r.hot][r.row]
		if l.wait.Len() == 0 {
			l.held = false
			continue
		}
		heir := l.wait.Pop()
		h := &s.sessions[heir]
		x.usage.LockNanos += s.sim.Now() - h.since
		h.taken++
		s.next(heir)
	}
	u.taken, u.wanted = 0, 0
}

// latched is the end of session i's use of the log's latch.
func (s *System) latched(i int32) {
	u := &s.sessions[i]
	x := s.instances[u.instance]
	x.usage.LatchNanos += s.sim.Now() - u.since
	u.since, u.at = s.sim.Now(), logging
	s.harden(x, i, x.cfg.Database.Classes[u.class].LogBytes)
}

// committed releases what session i holds and sends the answer.
func (s *System) committed(i int32) {
	u := &s.sessions[i]
	x := s.instances[u.instance]
	c := &x.cfg.Database.Classes[u.class]
	u.at = answering
	if c.LogBytes > 0 {
		x.usage.CommitNanos += s.sim.Now() - u.since
	}
	s.unlock(x, i)
	s.count(x, c.ResponseBytes, c.RoundTrips, &x.usage.PacketsOut, &x.usage.BytesOut)
	x.line.out.Arrive(int64(i), x.nic.SendNanos(c.ResponseBytes))
}

// answer is the last bit of session i's answer on the line. A transaction of
// several requests and answers crosses the network as often; all but the first
// crossing are made up for here.
func (s *System) answer(i int32) {
	u := &s.sessions[i]
	x := s.instances[u.instance]
	trips := int64(max(1, x.cfg.Database.Classes[u.class].RoundTrips))
	s.sim.After((2*trips-1)*int64(x.nic.Latency), s.kinds.reply, i, 0)
}

// finish is the arrival of the answer at the user.
func (s *System) finish(i int32, _ int64) {
	u := &s.sessions[i]
	x := s.instances[u.instance]
	c := &x.cfg.Database.Classes[u.class]
	u.at = away
	if u.step.Last {
		u.inUnit = false
		x.busy--
	}
	x.usage.Done[u.class]++
	now := s.sim.Now()
	undone := c.RolledBack > 0 && u.draw.Float64() < c.RolledBack
	s.done(Done{Instance: int(x.id), User: u.number, Class: int(u.class), Intended: u.intended, Start: u.start, End: now,
		RolledBack: undone, Planned: u.step.Keying + u.step.Think, Last: u.step.Last, Untimed: u.step.Untimed})
	switch l := x.cfg.Load; {
	case u.script != nil:
		s.scripted(i, undone)
	case l.Rate > 0 && x.backlog.Len() > 0:
		u.intended = x.backlog.Pop()
		s.send(i)
	case l.Rate > 0:
		x.free = append(x.free, i)
	case l.Think > 0:
		s.sim.After(int64(math.Round(u.draw.Exp(float64(l.Think)))), s.kinds.think, i, 0)
	default:
		s.sim.After(0, s.kinds.think, i, 0)
	}
}
