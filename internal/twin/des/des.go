// Package des is a discrete-event simulation kernel: a clock in integer
// nanoseconds, a queue of events in the total order of time and, within one
// time, of scheduling, timers that can be moved and called off, stations, and
// replications in parallel.
//
// An event is a few integers and the index of the handler that takes it, so
// that nothing is allocated for one. A Sim is used by one goroutine; the same
// handlers, seed and starting events give the same run everywhere.
package des

import (
	"context"
	"fmt"

	"github.com/loadstone-perf/loadstone/internal/rng"
)

// Units of simulated time, which is in nanoseconds.
const (
	Microsecond int64 = 1e3
	Millisecond int64 = 1e6
	Second      int64 = 1e9
)

// Kind is the index of a handler: see Sim.Handle.
type Kind int32

// Handler takes the events of one kind, with the integers they were scheduled
// with.
type Handler func(a int32, b int64)

// timerKind marks the events of timers, whose handler is the timer's.
const timerKind Kind = -1

// Timer is an event that can be moved and called off: see Sim.NewTimer.
type Timer int32

type timer struct {
	node int32 // its event in the queue; none where the timer is not set
	kind Kind
	a    int32
	b    int64
}

// Sim is one simulation. Make it with New.
type Sim struct {
	now      int64
	seed     uint64
	queue    wheel
	handlers []Handler
	timers   []timer
	count    uint64
	inspect  func()
}

// New returns a simulation at time 0 whose streams come from seed.
func New(seed uint64) *Sim { return &Sim{seed: seed, queue: newWheel()} }

// Now is the current time in nanoseconds.
func (s *Sim) Now() int64 { return s.now }

// Events is how many events have been handled.
func (s *Sim) Events() uint64 { return s.count }

// Inspect has f called after every event, to check what must always hold; nil
// ends that. f may look at the model, but change nothing.
func (s *Sim) Inspect(f func()) { s.inspect = f }

// Pending is how many events wait, timers that are set included.
func (s *Sim) Pending() int { return s.queue.n }

// Stream returns the random stream at path under the simulation's seed. Each
// source of randomness takes one of its own, so that changing one part of a
// model leaves the draws of the others as they were.
func (s *Sim) Stream(path ...uint64) rng.Stream { return rng.At(s.seed, path...) }

// Handle registers h and returns the kind of the events that it takes.
func (s *Sim) Handle(h Handler) Kind {
	s.handlers = append(s.handlers, h)
	return Kind(len(s.handlers) - 1)
}

// At schedules an event for time at, which may not lie in the past.
func (s *Sim) At(at int64, k Kind, a int32, b int64) {
	if at < s.now {
		panic(fmt.Sprintf("des: event for %d ns at %d ns", at, s.now))
	}
	s.queue.add(at, k, a, b)
}

// After schedules an event for delay nanoseconds from now.
func (s *Sim) After(delay int64, k Kind, a int32, b int64) { s.At(s.now+delay, k, a, b) }

// NewTimer makes a timer that is not set. When it goes off, it is not set
// again and k's handler gets a and b.
func (s *Sim) NewTimer(k Kind, a int32, b int64) Timer {
	s.timers = append(s.timers, timer{node: none, kind: k, a: a, b: b})
	return Timer(len(s.timers) - 1)
}

// Set lets t go off at time at, and not when it was set for before.
func (s *Sim) Set(t Timer, at int64) {
	s.Stop(t)
	if at < s.now {
		panic(fmt.Sprintf("des: timer for %d ns at %d ns", at, s.now))
	}
	s.timers[t].node = s.queue.add(at, timerKind, int32(t), 0)
}

// Stop calls t off. It does nothing where t is not set.
func (s *Sim) Stop(t Timer) {
	if i := s.timers[t].node; i != none {
		s.queue.remove(i)
		s.timers[t].node = none
	}
}

// Due tells when t goes off, and whether it is set.
func (s *Sim) Due(t Timer) (at int64, set bool) {
	i := s.timers[t].node
	if i == none {
		return 0, false
	}
	return s.queue.nodes[i].at, true
}

// Run handles events in order until none is left before end, and leaves the
// clock at end. Events at end itself wait for the next Run. It returns ctx's
// error if that ends first.
func (s *Sim) Run(ctx context.Context, end int64) error {
	const between = 1 << 14 // events between two looks at ctx
	for look := uint64(1); ; look++ {
		if look%between == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		i := s.queue.pop(end)
		if i == none {
			break
		}
		s.handle(&s.queue.nodes[i])
	}
	s.now = max(s.now, end)
	return ctx.Err()
}

// handle gives the event to its handler. The node is free already, and is
// reused by what the handler schedules: all of it is read before.
func (s *Sim) handle(e *node) {
	s.now = e.at
	s.count++
	k, a, b := e.kind, e.a, e.b
	if k == timerKind {
		t := &s.timers[a]
		t.node = none
		k, a, b = t.kind, t.a, t.b
	}
	s.handlers[k](a, b)
	if s.inspect != nil {
		s.inspect()
	}
}
