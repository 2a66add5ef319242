package dbms

import (
	"errors"
	"fmt"
	"math"
)

// Check says what of the following does not hold now, for tests and debug
// builds (go test -tags debug checks after every event): what host.CPU.Check
// and host.Storage.Check say; every user is in exactly one place, and as many
// are in each as that place knows of; and every page that became dirty was
// written or is dirty still.
func (s *System) Check() error {
	var errs []error
	fault := func(x *instance, format string, args ...any) {
		errs = append(errs, fmt.Errorf("instance %s: "+format, append([]any{x.cfg.Name}, args...)...))
	}
	for node, c := range s.CPUs {
		if err := c.Check(); err != nil {
			errs = append(errs, fmt.Errorf("node %d: %w", node, err))
		}
	}
	if err := s.Storage.Check(); err != nil {
		errs = append(errs, err)
	}
	at := make([][nPlaces]int, len(s.instances))
	work := make([]int, len(s.CPUs))
	units := make([]int, len(s.instances))
	for i := range s.sessions {
		u := &s.sessions[i]
		at[u.instance][u.at]++
		if u.inUnit {
			units[u.instance]++
		} else if u.at != away {
			fault(s.instances[u.instance], "user %d is at work and not in a unit of it", u.number)
		}
	}
	for i, x := range s.instances {
		x.checkUsers(&at[i], units[i], fault)
		x.checkPages(fault)
		work[x.guest.node] += at[i][working]
		if n := s.Storage.Outstanding(x.data); n < at[i][reading] {
			fault(x, "%d users read, %d requests of the disk", at[i][reading], n)
		}
	}
	for node, c := range s.CPUs {
		// The processors also have work that no user waits for.
		if n := c.Bursts(); n < work[node] {
			errs = append(errs, fmt.Errorf("node %d: %d users work, %d bursts", node, work[node], n))
		}
	}
	return errors.Join(errs...)
}

// checkUsers compares where sessions say they are with what waits there.
func (x *instance) checkUsers(at *[nPlaces]int, units int, fault func(*instance, string, ...any)) {
	locked := 0
	for _, rows := range x.locks {
		for r := range rows {
			locked += rows[r].wait.Len()
		}
	}
	logged := len(x.writer.waiting)
	if x.writer.busy {
		logged += len(x.writer.writing)
	}
	sum := 0
	for _, n := range at {
		sum += n
	}
	// A user may think within a unit of work, but not work outside one.
	if users := max(x.cfg.Load.Users, x.cfg.Load.Connections) + x.cfg.Load.Extra; sum != users || units != x.busy || sum-at[away] > units {
		fault(x, "%d users, %v by place, %d in units of work, %d under way", users, *at, units, x.busy)
	}
	if at[locking] != locked || at[latching] != x.latch.Len() || at[logging] != logged {
		fault(x, "%v users by place; %d wait for locks, %d for the latch, %d for the log", *at, locked, x.latch.Len(), logged)
	}
}

// checkPages compares the dirty pages' counts.
func (x *instance) checkPages(fault func(*instance, string, ...any)) {
	p, sum := x.pool, int64(0)
	for i, n := range p.dirty {
		sum += n
		if n < 0 || float64(n) > math.Ceil(max(1, p.resident[i])) {
			fault(x, "%d dirty of %g pages in stratum %d", n, p.resident[i], i)
		}
	}
	left := int64(0)
	for _, n := range x.check.left {
		left += n
	}
	u := p.usage
	if sum != p.total || u.Dirtied != u.Checkpointed+u.Evicted+sum || left != x.check.total {
		fault(x, "%d pages became dirty, %d and %d were written, %d (%d) are dirty; a checkpoint has %d (%d) to write",
			u.Dirtied, u.Checkpointed, u.Evicted, sum, p.total, left, x.check.total)
	}
}
