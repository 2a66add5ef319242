package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/study"
)

// eventBound is how long one event may take.
const eventBound = 10 * time.Minute

// events are what happens to the instances of one trial while load runs: each
// instance's one after the other, those of different instances side by side.
// One that is due while another of the same instance is under way begins when
// that has ended.
type events struct {
	run  *run
	ctx  context.Context
	end  context.CancelCauseFunc // of the drive: an event that fails ends it
	wait sync.WaitGroup

	mu     sync.Mutex
	done   []record.Event
	failed error // the first that did
}

// readyEvents makes ready what takes time and would disturb the load.
func (r *run) readyEvents(ctx context.Context) error {
	for _, p := range r.places {
		migrates := slices.ContainsFunc(p.events(), func(e study.Event) bool { return e.Do == study.EventMigrate })
		if !migrates {
			continue
		}
		m, ok := p.inst.(provider.Migrator)
		if !ok {
			return p.unable(study.EventMigrate)
		}
		if err := r.stage("ready to migrate", func() error { return m.ReadyToMigrate(ctx) }); err != nil {
			return fmt.Errorf("%s: %w", p.rec.Name, err)
		}
	}
	return nil
}

// events are those that happen to p.
func (p *place) events() (of []study.Event) {
	for _, e := range p.config.Events {
		if e.Hits(p.number, p.index, p.group) {
			of = append(of, e)
		}
	}
	return of
}

func (p *place) unable(do string) error {
	return fmt.Errorf("%s: an instance of provider %s can't %s while it runs", p.rec.Name, p.Provider.Name(), do)
}

// begin lets the events of p happen, at their times after epoch.
func (e *events) begin(epoch time.Time, p *place) {
	of := p.events()
	if len(of) == 0 {
		return
	}
	run := p.config.Run
	e.wait.Go(func() {
		for _, what := range of {
			due := run.Ramp + run.Warmup + what.At
			if p.Clock.SleepUntil(e.ctx, epoch.Add(due)) != nil {
				return // the trial is over; what ended it says why
			}
			got, err := e.happen(epoch, p, what)
			got.DueS = due.Seconds()
			e.note(got, err, p)
			if err != nil {
				return
			}
		}
	})
}

// note keeps what happened. An event that failed ends the trial: what is
// measured after it is not what was asked for.
func (e *events) note(got record.Event, err error, p *place) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err == nil {
		e.done = append(e.done, got)
		return
	}
	err = fmt.Errorf("%s: %s: %w", p.rec.Name, got.Asked, err)
	if e.failed == nil && e.ctx.Err() == nil {
		e.failed = err
	}
	e.end(err)
}

// happen lets one event happen and tells what it took.
func (e *events) happen(epoch time.Time, p *place, what study.Event) (got record.Event, err error) {
	ctx, cancel := context.WithTimeout(e.ctx, eventBound)
	defer cancel()
	since := func() float64 { return p.Clock.Now().Sub(epoch).Seconds() }
	got = record.Event{Instance: p.number, Do: what.Do, Asked: what.String(), BeginS: since()}
	var moved provider.Moved
	switch what.Do {
	case study.EventSet:
		got.Set, err = p.resize(ctx, what)
	case study.EventMigrate:
		m, ok := p.inst.(provider.Migrator)
		if !ok {
			return got, p.unable(what.Do)
		}
		moved, err = m.Migrate(ctx)
	case study.EventMoveStorage:
		m, ok := p.inst.(provider.StorageMover)
		if !ok {
			return got, p.unable(what.Do)
		}
		moved, err = m.MoveStorage(ctx, what.To)
	default:
		return got, fmt.Errorf("event %q is not known", what.Do)
	}
	got.EndS = since()
	got.DowntimeS, got.Bytes = moved.Downtime.Seconds(), int64(moved.Bytes)
	return got, err
}

// resize changes limits of a running instance and reads them back; one that did
// not take is an error.
func (p *place) resize(ctx context.Context, what study.Event) (set []record.Knob, err error) {
	r, ok := p.inst.(provider.Resizer)
	shaped, reads := p.inst.(provider.Shaped)
	if !ok || !reads {
		return nil, p.unable(what.Do)
	}
	shape := resizedShape(p.shape, p.group.Shape, what)
	if err := r.Resize(ctx, shape); err != nil {
		return nil, err
	}
	p.shape, p.altered = shape, true
	knobs, err := shaped.Effective(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the limits back: %w", err)
	}
	for _, k := range knobs {
		if slices.ContainsFunc(what.Set, func(s study.Setting) bool { return s.Knob == k.Name }) {
			set = append(set, record.Knob{Name: k.Name, Intended: k.Intended, Effective: k.Effective, Matches: k.Matches})
		}
	}
	if len(set) < len(what.Set) {
		return set, errors.New("not all of the limits can be read back")
	}
	return set, mismatch(set)
}

// resizedShape is shape, which was made from asked, with what an event sets;
// where its CPUs were placed stays as it is.
func resizedShape(shape provider.Shape, asked study.Shape, what study.Event) provider.Shape {
	after := shapeOf(what.After(asked))
	for _, s := range what.Set {
		switch s.Knob {
		case "instance.cpus":
			shape.CPUs = after.CPUs
		case "instance.memory":
			shape.Memory = after.Memory
		case "instance.cpu_shares":
			shape.CPUShares = after.CPUShares
		case "instance.disk_read":
			shape.ReadBytesPS = after.ReadBytesPS
		case "instance.disk_write":
			shape.WriteBytesPS = after.WriteBytesPS
		case "instance.disk_read_ops":
			shape.ReadOpsPS = after.ReadOpsPS
		case "instance.disk_write_ops":
			shape.WriteOpsPS = after.WriteOpsPS
		}
	}
	return shape
}

// record waits for the events and writes down what happened, in the order of
// their beginnings. Its error is that of the first event that failed, or of the
// record.
func (e *events) record() error {
	e.wait.Wait()
	run := e.run.config.Run
	over := (run.Ramp + run.Warmup + run.Measure).Seconds()
	for _, d := range e.done {
		if d.EndS > over {
			e.run.warn(fmt.Sprintf("%s of instance %d ended %.1f s after measuring: the window holds only its beginning", d.Asked, d.Instance, d.EndS-over))
		}
	}
	if len(e.done) == 0 {
		return e.failed
	}
	slices.SortStableFunc(e.done, func(a, b record.Event) int {
		switch {
		case a.BeginS < b.BeginS:
			return -1
		case a.BeginS > b.BeginS:
			return 1
		}
		return a.Instance - b.Instance
	})
	return errors.Join(e.failed, e.run.w.Update(func(t *record.Trial) { t.Events = e.done }))
}

// EventProblems says why the events of c can't happen to instances of p of these
// shapes, which are in the order of c's groups.
func EventProblems(ctx context.Context, p provider.Provider, c study.Config, shapes []provider.Shape) (found []provider.Problem) {
	if len(c.Events) == 0 {
		return nil
	}
	live, ok := p.(provider.Live)
	if !ok {
		return []provider.Problem{{Knob: "events", Reason: "instances of provider " + p.Name() + " can't change while they run", Remedy: "leave the events out, or choose another provider"}}
	}
	number := 0
	for _, g := range c.Groups {
		for index := range g.Count {
			number++
			if number > len(shapes) {
				return found
			}
			shape := shapes[number-1]
			for _, e := range c.Events {
				switch {
				case !e.Hits(number, index+1, g):
				case e.Do == study.EventSet:
					to := resizedShape(shape, g.Shape, e)
					found = append(append(found, live.CheckResize(shapes[number-1], to)...), p.Check(ctx, to)...)
					shape = to
				default:
					found = append(found, live.CheckMove(ctx, e.To)...)
				}
			}
		}
	}
	return found
}
