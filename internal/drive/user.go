package drive

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// sample is one step or unit that ended, times in nanoseconds.
type sample struct {
	end      time.Duration // since the epoch
	response time.Duration // from the intended start
	service  time.Duration // from the actual start
	think    time.Duration // keying before and think after, as planned
	late     time.Duration // actual after possible start; negative where nothing was intended
	series   int32
	retries  uint16
	status   workload.Status
	class    workload.Class
}

// aborted is the status of work that the run itself cut off: whether the
// target did it is not known.
const aborted workload.Status = 255

// rest is a time, since the epoch, in which the profile leaves a user idle.
type rest struct{ from, to time.Duration }

// user is one virtual user. All of it belongs to its own goroutine, but for
// samples and rests (under mu, for the collector) and busy.
type user struct {
	r      *run
	number int
	script workload.User
	timed  workload.Timed // script, where that wants to know the time; else nil
	random rng.Stream     // for back-off
	conn   *conn          // nil where connections are shared
	wake   chan time.Duration

	fatal      int // in a row
	firstFatal error
	unit       sample // the unit under way, as far as it is

	// The user appends and the collector takes all, ten times a second: the
	// lock is its own and next to never contended.
	mu      sync.Mutex
	samples []sample
	rests   []rest // also those to come and under way, whose ends are known

	busy atomic.Bool // a unit is under way
}

// closedLoop plays the script until the run ends.
func (u *user) closedLoop() {
	r := u.r
	next := r.shift.start(u.number, r.c.Users)
	planned := next > 0
	for first := true; ; first = false {
		if at := r.shift.resume(u.number, next); at > next {
			u.mu.Lock()
			u.rests = append(u.rests, rest{next, at})
			u.mu.Unlock()
			next, planned = at, true
		}
		s := u.next()
		intended := next + s.Keying
		planned = planned || s.Keying > 0
		// The epoch itself may be still to come.
		wait := planned || first
		if !r.within(r.work, intended) || wait && r.sleep(r.work, intended) != nil {
			return
		}
		var ok bool
		if next, planned, ok = u.play(s, intended, planned); !ok {
			return
		}
	}
}

// openLoop serves arrivals until none come. The keying time before a unit and
// the think time after it are left out: arrivals start units.
func (u *user) openLoop() {
	// What still waits when the end is there is not begun any more, also
	// where the pacer is late in closing the queue.
	for free := time.Duration(-1); free < time.Duration(u.r.end.Load()); {
		at, idle, ok := u.r.queue.take(u)
		if !ok {
			return
		}
		if free, _, ok = u.play(u.next(), at, idle); !ok {
			return
		}
	}
}

// serve plays an extra user until the run ends: at once, by its own clock, and
// apart from ramp, profile and arrivals. Time without work counts as thought
// before the next step.
//
// Work that becomes due while the user is at other work waits, and its response
// time counts from when it was due: that time is counted twice. As much is left
// out of the thought before later steps, so that the times of all work still
// add up to that of the user, unless it is late all the time.
func (u *user) serve() {
	r := u.r
	twice := time.Duration(0)
	for free, at := time.Duration(0), time.Duration(0); ; {
		if !r.within(r.work, at) || r.sleep(r.work, at) != nil {
			return
		}
		now := r.now()
		s := u.next()
		if s.Transaction == nil {
			at = now + max(s.Think, leastRest)
			continue
		}
		intended := free + s.Keying
		switch {
		case s.Due > 0:
			intended = s.Due
		case now > intended:
			intended = now
		}
		thought := intended - free - twice
		s.Keying, twice = max(0, thought), max(0, -thought)
		planned := intended > now
		if !r.within(r.work, intended) || planned && r.sleep(r.work, intended) != nil {
			return
		}
		var ok bool
		if free, _, ok = u.play(s, intended, planned); !ok {
			return
		}
		at = free
	}
}

// leastRest keeps a user who has nothing to do from asking without a pause.
const leastRest = 100 * time.Microsecond

// next asks the script what to do.
func (u *user) next() workload.Step {
	if u.timed != nil {
		return u.timed.NextAt(u.r.now())
	}
	return u.script.Next()
}

// done tells the script how a step ended.
func (u *user) done(o workload.Outcome, at time.Duration) {
	if u.timed != nil {
		u.timed.DoneAt(at, o)
		return
	}
	u.script.Done(o)
}

// play runs the steps of one unit from s on. planned says that the start was
// set beforehand and u was free to keep it, so that it can be late. It returns
// when the next unit may begin and whether that is after a think time. A step
// that fails ends the unit: the script learns it from Done and begins anew.
func (u *user) play(s workload.Step, intended time.Duration, planned bool) (next time.Duration, thought, ok bool) {
	r := u.r
	u.busy.Store(true)
	defer u.busy.Store(false)
	if r.queue != nil {
		s.Keying = 0
	}
	for {
		if s.Last && r.queue != nil {
			s.Think = 0
		}
		out, end, ok := u.step(&s, intended, planned)
		if !ok {
			return 0, false, false
		}
		u.done(out, end)
		next = end + s.Think
		thought = s.Think > 0
		if s.Last || out.Status == workload.Failed {
			return next, thought, true
		}
		s = u.next()
		intended = next + s.Keying
		planned = intended > end
		if planned && r.sleep(r.work, intended) != nil {
			return 0, false, false
		}
	}
}

// step runs one step with its attempts and records it. ok is false where the
// run is over for u. It reads the clock twice, unless something had to wait.
func (u *user) step(s *workload.Step, intended time.Duration, planned bool) (out workload.Outcome, end time.Duration, ok bool) {
	r := u.r
	start := r.now()
	late := time.Duration(-1)
	if planned {
		late = max(0, start-intended)
	}
	c, waited, err := u.take()
	if err != nil {
		return out, 0, false
	}
	if waited {
		start = r.now()
	}
	retries := 0
	for {
		out, err = c.session.Do(r.work, s.Transaction, s.Input)
		if out.Status != workload.Failed {
			u.fatal = 0
			break
		}
		if out.Class == workload.NoError || out.Class >= workload.Classes {
			out.Class = workload.Fatal
		}
		if r.work.Err() != nil {
			u.record(s, sample{end: r.now(), late: late, series: int32(s.Transaction.Index), status: aborted})
			u.give(c)
			return out, 0, false
		}
		if !u.again(c, s.Transaction, out.Class, err, retries+1) {
			break
		}
		retries++
	}
	u.give(c)
	end = r.now()
	u.record(s, sample{
		end: end, response: end - intended, service: end - start, think: s.Keying + s.Think, late: late,
		series: int32(s.Transaction.Index), retries: uint16(retries), status: out.Status, class: out.Class,
	})
	return out, end, !r.stopped.Load()
}

// again says whether a failed attempt is to be made again, after its
// back-off. It sees to what else an error needs.
func (u *user) again(c *conn, t *workload.Transaction, class workload.Class, err error, attempts int) bool {
	r := u.r
	r.errors.add(t, class, err, r.now())
	switch class {
	case workload.Retry, workload.Deadlock:
		if attempts >= r.c.MaxAttempts {
			return false
		}
		return r.sleep(r.work, r.now()+backoff(&u.random, attempts-1, retryFirst, retryLongest)) == nil
	case workload.Connection:
		// Opened again before the next step, inside its response time.
		c.lose()
	case workload.Timeout:
	default:
		if u.fatal++; u.fatal == 1 {
			u.firstFatal = fmt.Errorf("%s: %w", t.Name, orUnknown(err))
		}
		if u.fatal >= r.c.MaxFatal {
			u.stop(fmt.Errorf("%d fatal errors in a row, the first: %w", u.fatal, u.firstFatal))
		}
	}
	return false
}

// stop ends the run since u cannot go on.
func (u *user) stop(why error) {
	r := u.r
	r.endMu.Lock()
	r.ended = append(r.ended, UserEnd{u.number, r.now(), why.Error()})
	r.endMu.Unlock()
	r.abort(fmt.Errorf("drive: user %d: %w", u.number, why))
}

// record keeps the sample of step s, and that of its unit where s ends it.
func (u *user) record(s *workload.Step, a sample) {
	if u.r.unitSeries < 0 {
		u.mu.Lock()
		u.samples = append(u.samples, a)
		u.mu.Unlock()
		return
	}
	n := &u.unit
	n.think += a.think
	n.retries += min(a.retries, ^n.retries)
	if !s.Untimed {
		n.response += a.response
		n.service += a.service
	}
	if a.status != workload.Committed {
		n.status, n.class = a.status, a.class
	}
	u.mu.Lock()
	u.samples = append(u.samples, a)
	if s.Last || a.status == workload.Failed || a.status == aborted {
		n.end, n.series = a.end, u.r.unitSeries
		u.samples = append(u.samples, *n)
		*n = sample{late: -1}
	}
	u.mu.Unlock()
}

// within says whether work intended at `at` may start: false at the end of
// the run, which it waits for.
func (r *run) within(ctx context.Context, at time.Duration) bool {
	for !r.stopped.Load() {
		end := time.Duration(r.end.Load())
		if at < end {
			return true
		}
		// The end may still move, until it is there.
		if r.sleep(ctx, end) != nil || time.Duration(r.end.Load()) == end {
			return false
		}
	}
	return false
}
