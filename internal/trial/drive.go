package trial

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/drive"
	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/observe"
	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// target lets a driver open sessions of a database.
type target struct {
	db  engine.Database
	def *workload.Definition
}

func (t target) Open(ctx context.Context, _ int) (drive.Session, error) { return t.db.Open(ctx, t.def) }

// errServerGone is why a drive ends when a server does.
var errServerGone = errors.New("the server ended in the middle of the trial")

// drive drives all instances at once, each by a driver of its own, and
// samples every counter meanwhile. The drivers share the epoch: each waits
// until all have opened their connections.
func (r *run) drive(ctx context.Context) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	sampling, stopSampling := context.WithCancel(ctx)
	defer stopSampling()
	d := &drivers{run: r, end: end, barrier: newBarrier(len(r.places)), extend: newExtender(r.config.Run, r.config.Load.Profile, len(r.places))}
	d.watch = &watcher{run: r, sampler: observe.Sampler{Clock: r.Clock}, ctx: sampling, extend: d.extend}
	d.events = &events{run: r, ctx: ctx, end: end}
	err := r.stage("drive", func() error {
		return r.seated(func() error { return errors.Join(d.all(ctx), d.events.record()) })
	})
	stopSampling()
	err = errors.Join(err, d.watch.end())
	if cause := context.Cause(ctx); errors.Is(cause, errServerGone) {
		err = cause // what the drivers met then is only its consequence
	} else if d.events.failed != nil {
		err = d.events.failed
	}
	return errors.Join(err, r.recordDrive())
}

// drivers are the drivers of one trial.
type drivers struct {
	*run
	end     context.CancelCauseFunc
	barrier *barrier
	extend  *extender
	watch   *watcher
	events  *events

	mu    sync.Mutex
	rates map[int]float64 // of each instance, as last told
}

// all runs every driver and returns when all have ended; the first that fails
// ends the others.
func (d *drivers) all(ctx context.Context) error {
	d.rates = map[int]float64{}
	var wait sync.WaitGroup
	errs := make([]error, len(d.places))
	for i, p := range d.places {
		wait.Go(func() {
			if errs[i] = d.one(ctx, p); errs[i] != nil {
				d.end(errs[i])
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

// one drives one instance. A server that ends meanwhile ends the trial.
func (d *drivers) one(ctx context.Context, p *place) error {
	sink, err := d.w.Instance(p.number)
	if err != nil {
		return err
	}
	over := make(chan struct{})
	defer close(over)
	go func() {
		select {
		case <-p.db.Exited():
			d.end(gone(p.rec.Name, p.db.Log()))
		case <-over:
		}
	}()
	p.driven, err = drive.Run(ctx, d.driveConfig(p), tee{sink, d.extend, p.number})
	return err
}

// gone is the error of a server that ended, with the end of its log where it
// is ours to read.
func gone(name, log string) error {
	if log == "" {
		return fmt.Errorf("%s: %w", name, errServerGone)
	}
	return fmt.Errorf("%s: %w; its last words:\n%s", name, errServerGone, log)
}

func (d *drivers) driveConfig(p *place) drive.Config {
	l, run := p.group.Load, d.config.Run
	c := drive.Config{
		Workload: p.def, Target: target{p.db, p.def}, Clock: d.Clock, Seed: p.seed() ^ p.salt(),
		Users: l.Users, RatePerS: l.RatePerS, Arrivals: l.Arrivals, Connections: l.Connections,
		Ramp: run.Ramp, Warmup: run.Warmup, Measure: run.Measure,
		Begin:    func(ctx context.Context) (time.Time, error) { return d.barrier.wait(ctx, d.Clock) },
		Started:  func(epoch time.Time) { d.watch.begin(epoch, p); d.events.begin(epoch, p) },
		Progress: func(g drive.Progress) { d.progress(p.number, g) },
	}
	for _, ph := range l.Profile {
		c.Profile = append(c.Profile, drive.Phase(ph))
	}
	if run.MeasureMax > 0 {
		c.Extend = d.extend.more
	}
	return c
}

// seed gives each instance's users streams of their own. Where no groups have
// names, the first instance's are the trial's; in a group they depend on the
// group's name and the place in it, so that they stay when another group grows.
func (p *place) seed() uint64 {
	trial := p.planned.Seed
	if p.group.Name == "" && p.number == 1 {
		return trial
	}
	path := []uint64{rng.Name("instance"), uint64(p.index)}
	if p.group.Name != "" {
		path = append(path, rng.Name(p.group.Name))
	}
	s := rng.At(trial, path...)
	return s.Uint64()
}

// seated drives on the driver's own CPUs, where it has them: they are read
// back before and after, and given back in the end.
func (r *run) seated(drive func() error) (err error) {
	seat := record.Seat{Intended: formatList(r.seating.Driver), Shared: r.seating.Shared}
	own := r.seating.Driver
	if own == nil {
		own = r.CPUs.Allowed
	} else {
		undo, pinErr := pin(own)
		if pinErr != nil {
			return pinErr
		}
		defer func() { err = errors.Join(err, undo()) }()
	}
	read := func() (err error) {
		if seat.CPUs = formatList(own); r.seating.Driver == nil {
			return nil
		}
		if seat.CPUs, err = pinned(own); err != nil {
			return err
		}
		if seat.CPUs != seat.Intended {
			return fmt.Errorf("the driver has CPUs %s, but %s were asked for", seat.CPUs, seat.Intended)
		}
		return nil
	}
	if err := errors.Join(read(), r.w.Update(func(t *record.Trial) { t.Seat = seat })); err != nil {
		return err
	}
	return errors.Join(drive(), read())
}

// progress adds the instances' rates up.
func (d *drivers) progress(number int, g drive.Progress) {
	d.mu.Lock()
	d.rates[number] = g.PerS
	sum := 0.0
	for _, r := range d.rates {
		sum += r
	}
	d.mu.Unlock()
	m := d.defs[0].Metric
	d.tell(Progress{Stage: g.Phase, Part: min(1, g.Elapsed.Seconds()/g.End.Seconds()), Rate: sum * m.Per.Seconds(), Short: m.Short})
}

// recordDrive writes down what the drivers counted.
func (r *run) recordDrive() error {
	for _, p := range r.places {
		d := p.driven
		p.rec.Totals, p.rec.Errors, p.rec.Opened, p.rec.Driver = d.Totals, d.Errors, d.Opened.Seconds(), d.Driver
		for _, u := range d.Ended {
			r.warn(fmt.Sprintf("%s: user %d stopped after %.1f s: %s", p.rec.Name, u.User, u.At.Seconds(), u.Why))
		}
	}
	first := r.places[0].driven
	return errors.Join(r.writeInstances(), r.w.Update(func(t *record.Trial) {
		if !first.Epoch.IsZero() {
			t.Epoch, t.Phases = first.Epoch, first.Phases
		}
	}))
}

// barrier lets drivers begin together.
type barrier struct {
	mu      sync.Mutex
	missing int
	open    chan struct{}
	epoch   time.Time
}

func newBarrier(n int) *barrier { return &barrier{missing: n, open: make(chan struct{})} }

// startLead is how long before the epoch the last driver is ready: time to
// open the logs of counters.
const startLead = 500 * time.Millisecond

// wait returns the common epoch once everybody waits.
func (b *barrier) wait(ctx context.Context, c clock.Clock) (time.Time, error) {
	b.mu.Lock()
	if b.missing--; b.missing == 0 {
		b.epoch = c.Now().Add(startLead)
		close(b.open)
	}
	b.mu.Unlock()
	select {
	case <-b.open:
		return b.epoch, nil
	case <-ctx.Done():
		return time.Time{}, context.Cause(ctx)
	}
}

// tee hands intervals to the record and to what decides when to end.
type tee struct {
	to     drive.Sink
	extend *extender
	number int
}

func (t tee) Interval(i record.Interval) error {
	t.extend.interval(t.number, i)
	return t.to.Interval(i)
}
