// Package trial runs ONE trial on the running side: provision the instances,
// restore (or first load) their golden states, start the servers, drive while
// observing, check, record, release. Sequence runs the trials of a plan one
// after the other.
//
// One file a step: seat (who gets which CPUs), place (an instance with its
// server), golden, drive, watch (counters), event (what happens to instances
// meanwhile), extend (when to end), check.
//
// A trial's steps share one context: cancelling it reaches every wait, and
// what was begun is always taken down again, in reverse order.
package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/study"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// releaseBound is how long stopping a server and removing an instance may
// take once a trial is over or cancelled.
const releaseBound = 60 * time.Second

// Bench is what trials run on and with.
type Bench struct {
	Clock    clock.Clock
	Provider provider.Provider
	Engine   engine.Engine
	// Install starts servers; nil where Server runs already.
	Install   engine.Installation
	Server    engine.Server
	Cache     string // instances and golden states live below
	Loadstone string // version of the program, for records
	Simulated bool
	// CPUs are those that driver and instances share; FindCPUs finds them.
	// Where there are none, a study may neither place instances nor give the
	// driver CPUs of its own.
	CPUs CPUs
	// Progress is told of every step; it must return at once. It may be nil.
	Progress func(Progress)
}

// Progress tells how far a trial is.
type Progress struct {
	Trial int
	Stage string  // "provision", "load: rows", "restore", "start", "ramp", "warm-up", "measure", "check", "release"
	Part  float64 // of the stage (while driving: of the whole drive), 0 to 1; negative where it can't be told
	// Rate is the headline metric's current value, and Short its name, while
	// driving.
	Rate  float64
	Short string
	Note  string
}

// dataSeed is fixed: golden states are the same for every study of a size.
const dataSeed = 1

// Run runs the trial p of configuration c and records it in w, up to but not
// including Finish; defs are what Definitions made for c. An error means that
// the trial failed or, where ctx ended first, was aborted.
func (b *Bench) Run(ctx context.Context, c study.Config, defs []*workload.Definition, p record.Planned, w *record.Writer) error {
	r := &run{Bench: b, config: c, defs: defs, planned: p, w: w, stages: map[string]float64{}}
	all := r.all
	if m, ok := b.Provider.(Model); ok {
		all = func(ctx context.Context) error { return r.simulate(ctx, m) }
	}
	err := all(ctx)
	return errors.Join(err, w.Update(func(t *record.Trial) { t.StageSeconds = r.stages }))
}

// Definitions makes the workload of each group of c. What the metric counts
// and the types of transactions must be the same in all.
func Definitions(kind workload.Kind, c study.Config) ([]*workload.Definition, error) {
	var out []*workload.Definition
	for _, g := range c.Groups {
		d, err := kind.New(g.Workload.Params, dataSeed)
		if err != nil {
			return nil, fmt.Errorf("workload %s: %w", kind.Name, err)
		}
		out = append(out, d)
		if first := describeWorkload(out[0]); !slices.Equal(series(first), series(describeWorkload(d))) || !sameFigure(first.Metric, describeWorkload(d).Metric) {
			return nil, fmt.Errorf("groups %s and %s of instances do not count the same: their parameters of workload %s give other transactions or another metric", c.Groups[0].Name, g.Name, kind.Name)
		}
	}
	return out, nil
}

// sameFigure says whether two metrics count the same, for whatever amount of
// data.
func sameFigure(a, b record.Metric) bool {
	return a.Name == b.Name && a.Series == b.Series && a.PerSeconds == b.PerSeconds && a.WithRollbacks == b.WithRollbacks
}

// run is one trial under way.
type run struct {
	*Bench
	config  study.Config
	defs    []*workload.Definition // of each group
	seating Seating
	planned record.Planned
	w       *record.Writer

	mu     sync.Mutex // guards what follows: instances are made side by side
	stages map[string]float64
	places []*place
}

func (r *run) all(ctx context.Context) (err error) {
	if err := r.describe(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.releaseAll(ctx)) }()
	if err := r.seat(); err != nil {
		return err
	}
	for g, group := range r.config.Groups {
		for i := range group.Count {
			if err := r.makePlace(ctx, g, i+1); err != nil {
				return err
			}
		}
	}
	for _, p := range r.places {
		if err := p.start(ctx); err != nil {
			return err
		}
	}
	if err := r.readyEvents(ctx); err != nil {
		return err
	}
	if err := r.drive(ctx); err != nil {
		return err
	}
	for _, p := range r.places {
		if err := errors.Join(p.readShape(ctx), p.check(ctx)); err != nil {
			return err
		}
	}
	return nil
}

// describe writes down what is known before anything starts.
func (r *run) describe() error {
	return r.w.Update(func(t *record.Trial) {
		t.Simulated = r.Simulated
		t.Workload = r.workload()
		t.Engine = r.product()
		t.Provider = r.Provider.Name()
		l, run := r.first().Load, r.config.Run
		t.Load = record.Load{
			Users: l.Users, Extra: load(l, r.defs[0]).Extra(), RatePerS: l.RatePerS, Arrivals: l.Arrivals, Connections: l.Connections,
			RampSeconds: run.Ramp.Seconds(), WarmupS: run.Warmup.Seconds(), MeasureS: run.Measure.Seconds(),
			MeasureMaxS: run.MeasureMax.Seconds(), PrecisionPct: run.PrecisionPct, Checkpoints: run.Checkpoints,
		}
		for _, p := range l.Profile {
			t.Load.Profile = append(t.Load.Profile, record.Phase{Seconds: p.For.Seconds(), LoadPct: p.LoadPct})
		}
	})
}

// first is the first group that has an instance.
func (r *run) first() study.Group {
	i := slices.IndexFunc(r.config.Groups, func(g study.Group) bool { return g.Count > 0 })
	return r.config.Groups[max(i, 0)]
}

// seat shares the CPUs out.
func (r *run) seat() error {
	var problems []provider.Problem
	r.seating, problems = r.CPUs.Seat(r.config)
	var errs []error
	for _, p := range problems {
		errs = append(errs, fmt.Errorf("%s: %s: %s", p.Knob, p.Reason, p.Remedy))
	}
	return errors.Join(errs...)
}

// workload is what all groups have in common. A share or a limit that is not
// the same in all of them judges nobody.
func (r *run) workload() record.Workload {
	out := describeWorkload(r.defs[0])
	for _, d := range r.defs[1:] {
		for i, t := range describeWorkload(d).Types {
			o := &out.Types[i]
			if o.Share != t.Share || o.ShareTolerance != t.ShareTolerance {
				o.Share, o.ShareTolerance = 0, 0
			}
			if o.LimitSeconds != t.LimitSeconds || o.Percentile != t.Percentile {
				o.LimitSeconds, o.Percentile = 0, 0
			}
		}
	}
	return out
}

// series are the names of the series that a record of w has.
func series(w record.Workload) (names []string) {
	for _, t := range w.Types {
		names = append(names, t.Name)
	}
	return append(names, w.Unit)
}

func describeWorkload(d *workload.Definition) record.Workload {
	out := record.Workload{
		Name: d.Name, Version: d.Version, DataKey: d.DataKey, Params: d.Params.All(), Unit: d.Unit,
		Metric: record.Metric{Name: d.Metric.Name, Short: d.Metric.Short, Series: d.Metric.Series, PerSeconds: d.Metric.Per.Seconds(), WithRollbacks: d.Metric.WithRollbacks, Nominal: d.Metric.Nominal, Beside: d.Metric.Beside},
	}
	for _, t := range d.Transactions {
		out.Types = append(out.Types, record.TxType{Name: t.Name, About: t.About, Share: t.Share, ShareTolerance: t.ShareTolerance, LimitSeconds: t.Limit.Seconds(), Percentile: t.Percentile, Binding: t.Binding, Extra: t.Extra})
	}
	return out
}

// stage notes the wall time of a step and tells of its beginning.
func (r *run) stage(name string, do func() error) error {
	r.tell(Progress{Stage: name, Part: -1})
	begin := r.Clock.Now()
	err := do()
	r.mu.Lock()
	r.stages[name] += r.Clock.Now().Sub(begin).Seconds()
	r.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (r *run) tell(p Progress) {
	if r.Progress != nil {
		p.Trial = r.planned.Trial
		r.Progress(p)
	}
}

// warn notes something that a reader of the trial should know.
func (r *run) warn(text string) {
	_ = r.w.Update(func(t *record.Trial) { t.Warnings = append(t.Warnings, text) })
}

// releaseAll takes the instances down, the last made first, whatever became
// of ctx.
func (r *run) releaseAll(ctx context.Context) (err error) {
	for _, p := range slices.Backward(r.places) {
		err = errors.Join(err, p.stop(ctx), r.release(ctx, p.inst))
	}
	return err
}

// release removes an instance, whatever became of ctx.
func (r *run) release(ctx context.Context, inst provider.Instance) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseBound)
	defer cancel()
	return r.stage("release", func() error { return inst.Close(ctx) })
}

// writeInstances writes down what is known of the instances.
func (r *run) writeInstances() error {
	return r.w.Update(func(t *record.Trial) {
		t.Instances = nil
		for _, p := range r.places {
			t.Instances = append(t.Instances, p.rec)
		}
	})
}
