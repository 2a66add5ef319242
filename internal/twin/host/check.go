package host

import (
	"errors"
	"fmt"
)

// Check says what of the following does not hold now, for tests and debug
// builds: threads and entities agree on who runs where, so no thread runs two
// and nobody runs twice; who waits, waits in one queue; all time is accounted
// for; every burst that was brought has ended, is under way or waits; and what
// was done is no less than what was asked for and is not left.
func (c *CPU) Check() error {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	c.checkPlaces(fault)
	now := c.sim.Now()
	under := make([]int64, len(c.clients))
	left := make([]Work, len(c.clients))
	for i := range c.entities {
		x := &c.entities[i]
		if x.task == none {
			continue
		}
		under[x.client]++
		if x.state == Running {
			left[x.client] += x.togo - x.pending(now)
		} else {
			left[x.client] += x.left.Compute + x.left.Memory
		}
	}
	var consumed Work
	for i, cl := range c.clients {
		u := c.ClientUsage(i)
		consumed += u.Consumed
		if n := int64(len(cl.entities)); c.cfg.Kind == Proportional && u.Run+u.Ready+u.CoStop+u.Limited+u.Idle != n*(now-cl.since) {
			fault("client %s: times %+v of %d entities since %d ns at %d ns", cl.spec.Name, u, n, cl.since, now)
		}
		if under[i] != int64(cl.busy) || cl.brought != cl.completed+under[i]+int64(cl.guest.Len()) {
			fault("client %s: %d bursts brought, %d ended, %d under way (%d counted), %d wait", cl.spec.Name, cl.brought, cl.completed, cl.busy, under[i], cl.guest.Len())
		}
		queued := Work(0)
		for n := range cl.guest.Len() {
			w := cl.guest.At(n)
			queued += w.demand.Compute + w.demand.Memory
		}
		// Each time a task is put away it loses up to three femtoseconds.
		if slack := Work(3 * cl.putAway); u.Consumed+left[i]+queued+slack < cl.submitted {
			fault("client %s: %d asked, %d done, %d under way, %d wait", cl.spec.Name, cl.submitted, u.Consumed, left[i], queued)
		}
	}
	if u := c.Usage(); u.Executed != consumed {
		fault("%d executed, %d consumed", u.Executed, consumed)
	}
	return errors.Join(errs...)
}

// checkPlaces compares threads, entities and queues.
func (c *CPU) checkPlaces(fault func(string, ...any)) {
	waits := make([]int8, len(c.entities))
	for n := range c.sockets {
		for _, e := range c.sockets[n].ready {
			waits[e]++
		}
	}
	if f, ok := c.sched.(*fair); ok {
		for q := range f.queues {
			for _, e := range f.queues[q].ready {
				waits[e]++
			}
		}
	}
	for t := range c.threads {
		if e := c.threads[t].runs; e != none && c.entities[e].thread != int32(t) {
			fault("thread %d runs entity %d, which is on thread %d", t, e, c.entities[e].thread)
		}
	}
	for i := range c.entities {
		x := &c.entities[i]
		runs := x.thread != none && c.threads[x.thread].runs == int32(i)
		if runs != (x.state == Running) {
			fault("entity %d of client %d is in state %d, on thread %d", i, x.client, x.state, x.thread)
		}
		if want := x.state == Ready; waits[i] > 1 || (waits[i] == 1) != want {
			fault("entity %d of client %d is in state %d and in %d queues", i, x.client, x.state, waits[i])
		}
	}
}

// Check says which volumes have more outstanding than their queue holds, and
// which write caches are fuller than they may be.
func (s *Storage) Check() error {
	var errs []error
	for i := range s.volumes {
		v := &s.volumes[i]
		if most := s.stores[v.store].spec.QueueDepth; v.outstanding < 0 || v.outstanding > most || v.wait.Len() > 0 && v.outstanding < most {
			errs = append(errs, fmt.Errorf("volume %d: %d outstanding of %d, %d wait", i, v.outstanding, most, v.wait.Len()))
		}
	}
	for i := range s.stores {
		st := &s.stores[i]
		if st.dirty < 0 || st.dirty > int64(st.spec.WriteCache) {
			errs = append(errs, fmt.Errorf("store %s: %d bytes in a write cache of %s", st.spec.Name, st.dirty, st.spec.WriteCache))
		}
	}
	return errors.Join(errs...)
}

// Outstanding is how many requests of a volume are not yet answered.
func (s *Storage) Outstanding(vol int32) int {
	v := &s.volumes[vol]
	return v.outstanding + v.wait.Len()
}
