package dbms

import "github.com/loadstone-perf/loadstone/internal/twin/des"

// Script is what one user does, in place of classes that are drawn by their
// weights. Times are in nanoseconds of the simulation.
type Script interface {
	// Next is what the user does next, asked at now.
	Next(now int64) Step
	// Done tells that the step ended at now.
	Done(now int64, rolledBack bool)
}

// Step is one transaction of a Script.
type Step struct {
	Class int // below 0 it is none: the user is asked again after Think
	// Due, where it is not 0, is when the transaction is to start: only extra
	// users have it.
	Due           int64
	Keying, Think int64 // before the transaction and after it
	Last          bool  // it ends a unit of work
	Untimed       bool  // its time is not part of the unit's
}

// leastRest keeps a user who has nothing to do from asking without a pause.
const leastRest = 100 * des.Microsecond

// Arguments of the think event: a user asks its script, or begins the step that
// it asked for.
const (
	thinkAsks int64 = iota
	thinkBegins
)

// ask lets session i ask its script what comes next; from is when the user
// became free, think times over. Keying comes on top. Arrivals start work at
// once.
func (s *System) ask(i int32, from int64) {
	u := &s.sessions[i]
	x := s.instances[u.instance]
	now := s.sim.Now()
	u.step = u.script.Next(now)
	if u.step.Class < 0 {
		s.sim.After(max(u.step.Think, leastRest), s.kinds.think, i, thinkAsks)
		return
	}
	open := x.cfg.Load.Rate > 0 && !u.extra
	if open && !u.inUnit {
		u.step.Keying = 0
	}
	intended := from + u.step.Keying
	if u.extra {
		if intended = max(intended, now); u.step.Due > 0 {
			intended = u.step.Due
		}
	}
	u.intended = intended
	if intended > now {
		s.sim.After(intended-now, s.kinds.think, i, thinkBegins)
		return
	}
	s.send(i)
}

// scripted is what a user with a script does after a step that ended now.
func (s *System) scripted(i int32, rolledBack bool) {
	u := &s.sessions[i]
	x := s.instances[u.instance]
	now := s.sim.Now()
	u.script.Done(now, rolledBack)
	switch {
	case !u.step.Last || u.extra || x.cfg.Load.Rate == 0:
		s.ask(i, now+u.step.Think)
	case x.backlog.Len() > 0:
		s.ask(i, x.backlog.Pop())
	default:
		x.free = append(x.free, i)
	}
}
