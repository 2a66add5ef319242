package drive

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// queue holds the arrivals that no user has begun, first in, first out, and
// the users that wait for one, the longest first. It is unbounded: an open
// loop never slows its arrivals.
type queue struct {
	mu       sync.Mutex
	waiting  []time.Duration
	head     int // of waiting
	idle     []*user
	first    int // of idle
	closed   bool
	unserved int64
}

// push adds an arrival: to the user that has waited longest, or to the queue.
func (q *queue) push(at time.Duration) {
	q.mu.Lock()
	if q.first == len(q.idle) {
		q.waiting = append(q.waiting, at)
		q.mu.Unlock()
		return
	}
	u := q.idle[q.first]
	q.first++
	if q.first == len(q.idle) {
		q.idle, q.first = q.idle[:0], 0
	}
	q.mu.Unlock()
	u.wake <- at // has room for one, and u waits for one
}

// take returns the next arrival; idle says that u was there before it came.
// ok is false when no more come.
func (q *queue) take(u *user) (at time.Duration, idle, ok bool) {
	q.mu.Lock()
	if q.head < len(q.waiting) {
		at = q.waiting[q.head]
		q.head++
		q.compact()
		q.mu.Unlock()
		return at, false, true
	}
	if q.closed {
		q.mu.Unlock()
		return 0, false, false
	}
	if q.first > len(q.idle)/2 {
		q.idle = append(q.idle[:0], q.idle[q.first:]...)
		q.first = 0
	}
	q.idle = append(q.idle, u)
	q.mu.Unlock()
	at, ok = <-u.wake
	return at, true, ok
}

// compact gives back the room of what was taken, at an amortised cost of one
// move for each arrival.
func (q *queue) compact() {
	if q.head > len(q.waiting)/2 {
		q.waiting = append(q.waiting[:0], q.waiting[q.head:]...)
		q.head = 0
	}
}

// backlog is how many arrivals wait.
func (q *queue) backlog() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return int64(len(q.waiting) - q.head)
}

// close says that no arrival comes any more. Those that no user has begun
// are dropped and counted.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.unserved = int64(len(q.waiting) - q.head)
	q.waiting, q.head, q.closed = nil, 0, true
	for _, u := range q.idle[q.first:] {
		close(u.wake)
	}
	q.idle, q.first = nil, 0
}

// pace feeds the queue on schedule until the end of the run. Where several
// arrivals are due when it wakes, it hands out all of them at once.
func (r *run) pace(ctx context.Context) {
	defer r.queue.close()
	next := r.c.times()
	now := r.now() // before the epoch, it may be
	for {
		at := next()
		if !r.within(ctx, at) {
			return
		}
		if at > now {
			// Users that push has just woken are in line behind this goroutine
			// on its processor. They go first: a thread that sleeps in the
			// kernel keeps that processor, with all who wait for it, until
			// another thread takes it away.
			runtime.Gosched()
			if r.sleep(ctx, at) != nil {
				return
			}
			now = r.now()
		}
		r.queue.push(at)
	}
}
