package drive

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// run is one call of Run.
type run struct {
	c          Config
	clock      clock.Clock
	epoch      time.Time
	unitSeries int32 // index of the unit's series, -1 where there is none

	// work ends when the run is to stop at once; stopped says the same,
	// cheaper to ask.
	work    context.Context
	cancel  context.CancelCauseFunc
	stopped atomic.Bool

	end   atomic.Int64 // since the epoch: no unit starts from here on
	cast  workload.Run // nil where users share nothing
	users []*user      // the extra ones last
	conns []*conn      // those of extra users last
	pool  chan *conn   // nil where each user has its own
	queue *queue       // nil in closed loop
	shift shifts       // of the users in closed loop

	errors    errorLog
	poolWaits atomic.Int64
	poolWait  atomic.Int64 // ns
	reopened  atomic.Int64
	endMu     sync.Mutex
	ended     []UserEnd
}

// errDrained says that work was cut off after the drain: the run is good.
var errDrained = errors.New("the drain is over")

// Run drives c.Target as c says and hands what it sees to sink. It returns
// when every goroutine and connection of it has ended. The Report is what was
// seen so far also with an error: ctx's, sink's, that of a connection that
// could not be opened (again), or of a user with too many fatal errors.
func Run(ctx context.Context, c Config, sink Sink) (Report, error) {
	if err := c.Validate(); err != nil {
		return Report{}, err
	}
	r := newRun(ctx, c.complete())
	defer r.cancel(nil)
	defer r.closeAll()
	begin := r.clock.Now()
	if err := r.openAll(r.work); err != nil {
		return Report{}, fmt.Errorf("drive: %w", err)
	}
	opened := r.clock.Now().Sub(begin)
	if err := r.begin(); err != nil {
		return Report{}, fmt.Errorf("drive: %w", err)
	}
	col := newCollector(r, sink)
	r.play(col)
	// All goroutines have ended: what is left is ours.
	err := col.finish()
	rep := col.report()
	rep.Opened = opened
	switch cause := context.Cause(r.work); {
	case ctx.Err() != nil:
		return rep, fmt.Errorf("drive: %w", context.Cause(ctx))
	case cause != nil && !errors.Is(cause, errDrained):
		return rep, cause
	}
	return rep, err
}

func newRun(ctx context.Context, c Config) *run {
	r := &run{c: c, clock: c.Clock, unitSeries: -1}
	if _, ok := c.Clock.(clock.Real); ok {
		r.clock = &clock.Fine{}
	}
	if c.Workload.Unit != "" {
		r.unitSeries = int32(len(c.Workload.Transactions))
	}
	r.work, r.cancel = context.WithCancelCause(ctx)
	r.errors.seen = map[errorKey]*record.ErrorSeen{}
	extra := c.Extra()
	if c.Workload.NewRun != nil {
		r.cast = c.Workload.NewRun(c.Users, c.Seed)
	}
	for i := range c.Connections + extra {
		r.conns = append(r.conns, &conn{number: i})
	}
	if c.Connections < c.Users {
		r.pool = make(chan *conn, c.Connections)
		for _, conn := range r.conns[:c.Connections] {
			r.pool <- conn
		}
	}
	if c.open() {
		r.queue = &queue{}
	} else {
		r.shift = newShifts(c.Profile, c.Ramp, c.Users)
	}
	for i := range c.Users + extra {
		r.users = append(r.users, r.newUser(i))
	}
	r.end.Store(int64(c.Ramp + c.Warmup + c.Measure))
	return r
}

// newUser makes user number i; those from Config.Users on are the extra ones.
func (r *run) newUser(i int) *user {
	c, extra := r.c, i-r.c.Users
	u := &user{r: r, number: i, random: rng.At(c.Seed, rng.Name("back-off"), uint64(i)), unit: sample{late: -1}}
	stream := rng.At(c.Seed, rng.Name("user"), uint64(i))
	if r.cast != nil {
		u.script = r.cast.User(i, stream)
	} else {
		u.script = c.Workload.NewUser(i, stream)
	}
	u.timed, _ = u.script.(workload.Timed)
	switch {
	case extra >= 0:
		u.conn = r.conns[c.Connections+extra]
	case r.pool == nil:
		u.conn = r.conns[i]
	}
	if r.queue != nil && extra < 0 {
		u.wake = make(chan time.Duration, 1)
	}
	return u
}

// lead is how long before the epoch Started is called: time to open logs and
// counters, which would delay the first work else.
const lead = 500 * time.Millisecond

// begin sets the epoch.
func (r *run) begin() error {
	r.epoch = r.clock.Now()
	if r.c.Started != nil {
		r.epoch = r.epoch.Add(lead)
	}
	if r.c.Begin != nil {
		var err error
		if r.epoch, err = r.c.Begin(r.work); err != nil {
			return err
		}
	}
	if r.c.Started != nil {
		r.c.Started(r.epoch)
	}
	return r.work.Err()
}

// play runs users, pacer, conductor and collector, and returns when all of
// them have ended.
func (r *run) play(col *collector) {
	// A cancelled run closes its connections, so that every Do returns.
	unhook := context.AfterFunc(r.work, func() {
		r.stopped.Store(true)
		r.closeAll()
	})
	defer unhook()
	life, over := context.WithCancel(r.work)
	defer over()
	var users, others sync.WaitGroup
	for _, u := range r.users {
		switch {
		case u.number >= r.c.Users:
			users.Go(u.serve)
		case r.queue != nil:
			users.Go(u.openLoop)
		default:
			users.Go(u.closedLoop)
		}
	}
	if r.queue != nil {
		others.Go(func() { r.pace(life) })
	}
	others.Go(func() { r.conduct(life) })
	others.Go(func() { col.collect(life) })
	users.Wait()
	over()
	others.Wait()
}

// conduct keeps the end: asks whether to go on, and cuts off what has not
// ended when the drain is over.
func (r *run) conduct(ctx context.Context) {
	for {
		end := time.Duration(r.end.Load())
		if r.c.Extend != nil {
			if r.sleep(ctx, end-r.c.Interval) != nil {
				return
			}
			more := r.c.Extend(r.now())
			// Too late an answer would find users that have stopped.
			if more > 0 && r.now() < end {
				r.end.Store(int64(end + more))
				continue
			}
		}
		if r.sleep(ctx, end+r.c.Drain) == nil {
			r.abort(errDrained)
		}
		return
	}
}

// abort ends the run at once.
func (r *run) abort(why error) {
	r.stopped.Store(true)
	r.cancel(why)
}

// now is the time since the epoch.
func (r *run) now() time.Duration { return r.clock.Now().Sub(r.epoch) }

// sleep waits until at since the epoch.
func (r *run) sleep(ctx context.Context, at time.Duration) error {
	return r.clock.SleepUntil(ctx, r.epoch.Add(at))
}

// errorLog keeps the first text of each kind of error.
type errorLog struct {
	mu   sync.Mutex
	seen map[errorKey]*record.ErrorSeen
}

type errorKey struct {
	series int
	class  workload.Class
}

func (l *errorLog) add(t *workload.Transaction, class workload.Class, err error, at time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.seen[errorKey{t.Index, class}]
	if e == nil {
		e = &record.ErrorSeen{Type: t.Name, Class: class.String(), Text: orUnknown(err).Error(), At: at.Seconds()}
		l.seen[errorKey{t.Index, class}] = e
	}
	e.Count++
}

// orUnknown stands in for the error that a failed attempt came without.
func orUnknown(err error) error {
	if err == nil {
		return errors.New("no error text")
	}
	return err
}
