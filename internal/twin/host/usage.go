package host

import "math/bits"

// ClientUsage is what a client has had since it was added, in nanoseconds
// summed over its entities; its differences over a second are the percentages
// that an administrator's tool shows (%RUN, %RDY, %CSTP, %MLMTD).
type ClientUsage struct {
	Run, Ready, CoStop, Limited, Idle int64
	Consumed                          Work    // done for it
	Submitted                         Work    // asked for, without costs of memory and caches
	Bursts                            int64   // completed
	LocalPct                          float64 // N%L now: part of its memory on its home nodes, percent
	Queued                            int     // bursts that wait inside the guest now
}

// ClientUsage accounts for a client up to now. Looking changes nothing.
func (c *CPU) ClientUsage(client int) ClientUsage {
	cl := c.clients[client]
	u := ClientUsage{Submitted: cl.submitted, Bursts: cl.completed, Queued: cl.guest.Len()}
	u.Consumed = cl.consumed
	now := c.sim.Now()
	for _, e := range cl.entities {
		x := &c.entities[e]
		u.Consumed += x.pending(now)
		u.Idle += x.in(Idle, now)
		u.Ready += x.in(Ready, now)
		u.Run += x.in(Running, now)
		u.CoStop += x.in(CoStop, now)
		u.Limited += x.in(Limited, now)
	}
	for i := range cl.nodes {
		if c.cfg.Kind == Fair { // no home: what is local is so by chance
			u.LocalPct = 100 / float64(len(c.sockets))
			continue
		}
		u.LocalPct += 100 * cl.nodes[i].local[cl.nodes[i].home] / float64(len(cl.nodes))
	}
	return u
}

// Usage is what the processors of a node have done since time 0.
type Usage struct {
	ThreadNanos int64 // threads that ran something
	CoreNanos   int64 // cores with at least one such thread
	Executed    Work
	GHz         float64 // mean frequency of the sockets now
}

// Usage accounts up to now. Looking changes nothing.
func (c *CPU) Usage() Usage {
	now := c.sim.Now()
	u := Usage{Executed: c.executed}
	for t := range c.threads {
		th := &c.threads[t]
		u.ThreadNanos += th.busy
		if th.runs != none {
			u.ThreadNanos += now - th.since
			u.Executed += c.entities[th.runs].pending(now)
		}
	}
	for n := range c.sockets {
		s := &c.sockets[n]
		u.CoreNanos += s.coreNanos + int64(s.active)*(now-s.since)
		u.GHz += float64(s.frequency) / nominal * c.hw.GHz / float64(len(c.sockets))
	}
	return u
}

// Idle is how many threads run nothing and are nobody's own.
func (c *CPU) Idle() (n int) {
	for i := range c.sockets {
		n += bits.OnesCount64(c.sockets[i].idle)
	}
	return n
}

// Bursts is how many bursts of all clients are under way or wait in a guest.
func (c *CPU) Bursts() (n int) {
	for _, cl := range c.clients {
		n += cl.busy + cl.guest.Len()
	}
	return n
}
