package host

import (
	"math"
	"slices"

	"github.com/loadstone-perf/loadstone/internal/twin/des"
)

// fair is a Linux-like scheduler: every thread has a queue ordered by virtual
// run time; who wakes goes to an idle thread near its last one; a thread that
// runs out of work takes some from another's queue.
type fair struct {
	*CPU
	queues []runQueue // by thread
	waits  int        // entities in all queues
}

type runQueue struct {
	ready []int32
	floor float64 // least virtual time of those who ran last
}

// Sources: kernel documentation of the completely fair scheduler; its base
// values scale with 1 + log2 of the processors, at most 8 (factor 4).
const (
	latency     = 24 * des.Millisecond
	granularity = 3 * des.Millisecond
	wakeup      = float64(4 * des.Millisecond * nominal)
)

func newFair(c *CPU) *fair {
	return &fair{CPU: c, queues: make([]runQueue, len(c.threads))}
}

func (f *fair) wake(e int32) {
	x := &f.entities[e]
	t := f.choose(x)
	q := &f.queues[t]
	x.virtual = max(x.virtual, q.floor-wakeup)
	if f.threads[t].runs == none {
		f.dispatch(e, t)
		return
	}
	r := f.threads[t].runs
	f.settle(&f.entities[r])
	if r != f.finishing && f.entities[r].virtual-x.virtual > wakeup {
		f.preempt(r, Ready)
		f.dispatch(e, t)
		f.queue(r, t)
		return
	}
	f.queue(e, t)
}

func (f *fair) queue(e, t int32) {
	f.queues[t].ready = append(f.queues[t].ready, e)
	f.waits++
	// The running one gets a slice that suits the new length of the queue.
	if r := f.threads[t].runs; r != none {
		f.entities[r].sliceEnd = min(f.entities[r].sliceEnd, f.sim.Now()+f.slice(t))
		f.pace(t)
	}
}

// slice is the time of one entity on t.
func (f *fair) slice(t int32) int64 {
	return max(granularity, latency/int64(len(f.queues[t].ready)+1))
}

func (f *fair) dispatch(e, t int32) {
	q := &f.queues[t]
	x := &f.entities[e]
	q.floor = max(q.floor, x.virtual)
	f.start(e, t)
	x.sliceEnd = f.sim.Now() + f.slice(t)
	f.pace(t)
}

// choose is the thread for a waking entity: the last one if idle, an idle
// core, then an idle thread of its socket; where all are busy, an idle thread
// of another socket, or the shortest queue of its own.
func (f *fair) choose(x *entity) int32 {
	cl := f.clients[x.client]
	last := x.last
	if last == none || cl.allowed[f.threads[last].socket]&f.threads[last].bit == 0 {
		last = f.fork(cl)
	}
	th := &f.threads[last]
	if th.runs == none && cl.allowed[th.socket]&th.bit != 0 {
		return last
	}
	for i := range f.sockets {
		n := (th.socket + int32(i)) % int32(len(f.sockets))
		if t := f.idleThread(n, cl.allowed[n], last); t != none {
			return t
		}
	}
	return last
}

// fork is the thread for a new entity: an idle one on the socket with the most
// idle cores, else the one with the shortest queue.
func (f *fair) fork(cl *client) int32 {
	best, most := int32(none), -1
	for n := range f.sockets {
		idle := f.sockets[n].idle & cl.allowed[n]
		if idle == 0 {
			continue
		}
		if cores := f.hw.Cores - f.sockets[n].active; cores > most {
			best, most = f.idleThread(int32(n), cl.allowed[n], none), cores
		}
	}
	if best != none {
		return best
	}
	shortest := math.MaxInt
	for t := range f.threads {
		th := &f.threads[t]
		if n := len(f.queues[t].ready); cl.allowed[th.socket]&th.bit != 0 && n < shortest {
			best, shortest = int32(t), n
		}
	}
	return best
}

func (f *fair) release(t int32) {
	if f.threads[t].runs != none || f.waits == 0 {
		return
	}
	e := f.least(t, t)
	if e == none {
		e = f.steal(t)
	}
	if e == none {
		return
	}
	f.remove(e)
	f.dispatch(e, t)
}

// least is the entity in from's queue with the least virtual time that may run
// on t.
func (f *fair) least(from, t int32) int32 {
	best, bound := int32(none), math.Inf(1)
	th := &f.threads[t]
	for _, e := range f.queues[from].ready {
		x := &f.entities[e]
		if x.virtual < bound && f.clients[x.client].allowed[th.socket]&th.bit != 0 {
			best, bound = e, x.virtual
		}
	}
	return best
}

// steal takes from the longest queue of t's socket, else of the others.
func (f *fair) steal(t int32) int32 {
	per := int32(f.hw.perSocket())
	for i := range f.sockets {
		n := (f.threads[t].socket + int32(i)) % int32(len(f.sockets))
		longest, most := int32(none), 0
		for from := n * per; from < (n+1)*per; from++ {
			if l := len(f.queues[from].ready); l > most && f.least(from, t) != none {
				longest, most = from, l
			}
		}
		if longest == none {
			continue
		}
		e := f.least(longest, t)
		// Its virtual time is relative to the queue it leaves.
		x := &f.entities[e]
		x.virtual += f.queues[t].floor - f.queues[longest].floor
		return e
	}
	return none
}

// remove takes a waiting entity out of its queue.
func (f *fair) remove(e int32) {
	for t := range f.queues {
		q := &f.queues[t]
		if i := slices.Index(q.ready, e); i >= 0 {
			q.ready = slices.Delete(q.ready, i, i+1)
			f.waits--
			return
		}
	}
}

func (f *fair) expire(e int32) {
	x := &f.entities[e]
	t := x.thread
	x.sliceEnd = f.sim.Now() + f.slice(t)
	next := f.least(t, t)
	if next == none || f.entities[next].virtual >= x.virtual {
		f.queues[t].floor = max(f.queues[t].floor, x.virtual)
		return
	}
	f.preempt(e, Ready)
	f.remove(next)
	f.dispatch(next, t)
	f.queue(e, t)
}
