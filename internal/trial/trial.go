// Package trial runs ONE trial on the running side: provision an instance,
// restore (or first load) its golden state, start the server, drive while
// observing, check, record, release. Sequence runs the trials of a plan one
// after the other.
//
// A trial's steps share one context: cancelling it reaches every wait, and
// what was begun is always taken down again, in reverse order.
package trial

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/drive"
	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/observe"
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
	Clock     clock.Clock
	Provider  provider.Provider
	Engine    engine.Engine
	Install   engine.Installation
	Cache     string // instances and golden states live below
	Loadstone string // version of the program, for records
	Simulated bool
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
// including Finish. An error means that the trial failed or, where ctx ended
// first, was aborted.
func (b *Bench) Run(ctx context.Context, c study.Config, d *workload.Definition, p record.Planned, w *record.Writer) error {
	r := &run{Bench: b, config: c, def: d, planned: p, w: w, stages: map[string]float64{}}
	err := r.all(ctx)
	return errors.Join(err, w.Update(func(t *record.Trial) { t.StageSeconds = r.stages }))
}

// Definition makes the workload that c asks for.
func Definition(kind workload.Kind, c study.Config) (*workload.Definition, error) {
	d, err := kind.New(c.Workload.Params, dataSeed)
	if err != nil {
		return nil, fmt.Errorf("workload %s: %w", kind.Name, err)
	}
	return d, nil
}

// run is one trial under way.
type run struct {
	*Bench
	config  study.Config
	def     *workload.Definition
	planned record.Planned
	w       *record.Writer
	stages  map[string]float64
	inst    record.Instance
}

func (r *run) all(ctx context.Context) (err error) {
	if err := r.describe(); err != nil {
		return err
	}
	inst, err := r.provision(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.release(ctx, inst)) }()
	golden, err := r.golden(ctx, inst)
	if err != nil {
		return err
	}
	if err := r.restore(ctx, inst, golden); err != nil {
		return err
	}
	db, err := r.start(ctx, inst)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.stop(ctx, db)) }()

	report, err := r.drive(ctx, inst, db)
	if err != nil {
		return err
	}
	return r.check(ctx, db, report)
}

// describe writes down what is known before anything starts.
func (r *run) describe() error {
	return r.w.Update(func(t *record.Trial) {
		t.Simulated = r.Simulated
		t.Workload = describeWorkload(r.def)
		t.Engine = record.Engine{Name: r.Engine.Name(), Version: r.Install.Version(), Origin: r.Install.Origin()}
		t.Provider = r.Provider.Name()
		l := r.config.Load
		t.Load = record.Load{
			Users: l.Users, RatePerS: l.RatePerS, Arrivals: l.Arrivals, Connections: l.Connections,
			RampSeconds: r.config.Run.Ramp.Seconds(), WarmupS: r.config.Run.Warmup.Seconds(), MeasureS: r.config.Run.Measure.Seconds(),
		}
	})
}

func describeWorkload(d *workload.Definition) record.Workload {
	out := record.Workload{
		Name: d.Name, Version: d.Version, DataKey: d.DataKey, Params: d.Params.All(), Unit: d.Unit,
		Metric: record.Metric{Name: d.Metric.Name, Short: d.Metric.Short, Series: d.Metric.Series, PerSeconds: d.Metric.Per.Seconds(), WithRollbacks: d.Metric.WithRollbacks},
	}
	for _, t := range d.Transactions {
		out.Types = append(out.Types, record.TxType{Name: t.Name, About: t.About, Share: t.Share, ShareTolerance: t.ShareTolerance, LimitSeconds: t.Limit.Seconds(), Percentile: t.Percentile})
	}
	return out
}

// stage notes the wall time of a step and tells of its beginning.
func (r *run) stage(name string, do func() error) error {
	r.tell(Progress{Stage: name, Part: -1})
	begin := r.Clock.Now()
	err := do()
	r.stages[name] += r.Clock.Now().Sub(begin).Seconds()
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

// update changes the record of the trial's instance.
func (r *run) update(change func(*record.Instance)) error {
	change(&r.inst)
	return r.w.Update(func(t *record.Trial) { t.Instances = []record.Instance{r.inst} })
}

func (r *run) provision(ctx context.Context) (provider.Instance, error) {
	var inst provider.Instance
	err := r.stage("provision", func() (err error) {
		inst, err = r.Provider.Provision(ctx, provider.Request{Name: "instance-1", Shape: shape(r.config.Shape), Cache: r.Cache})
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := r.readShape(ctx, inst); err != nil {
		return nil, errors.Join(err, r.release(ctx, inst))
	}
	return inst, nil
}

// readShape reads the instance's shape back; a mismatch fails the trial.
func (r *run) readShape(ctx context.Context, inst provider.Instance) error {
	shaped, ok := inst.(provider.Shaped)
	if !ok {
		return nil
	}
	knobs, err := shaped.Effective(ctx)
	if err != nil {
		return fmt.Errorf("read the instance's shape back: %w", err)
	}
	var out []record.Knob
	for _, k := range knobs {
		out = append(out, record.Knob{Name: k.Name, Intended: k.Intended, Effective: k.Effective, Matches: k.Matches})
	}
	confined := false
	if c, ok := inst.(interface{ Confined() bool }); ok {
		confined = c.Confined()
	}
	if err := r.update(func(i *record.Instance) { i.Name, i.Shape, i.Confined = "instance-1", out, confined }); err != nil {
		return err
	}
	return mismatch(out)
}

// mismatch is an error that names every knob that is not what was asked for.
func mismatch(knobs []record.Knob) error {
	var errs []error
	for _, k := range knobs {
		if !k.Matches {
			errs = append(errs, fmt.Errorf("%s is %s, but %s was asked for: the trial would measure something else", k.Name, k.Effective, k.Intended))
		}
	}
	return errors.Join(errs...)
}

// release removes the instance, whatever became of ctx.
func (r *run) release(ctx context.Context, inst provider.Instance) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseBound)
	defer cancel()
	return r.stage("release", func() error { return inst.Close(ctx) })
}

func (r *run) start(ctx context.Context, inst provider.Instance) (engine.Database, error) {
	machine, ok := inst.(provider.Machine)
	if !ok {
		return nil, fmt.Errorf("provider %s can't run programs in its instances", r.Provider.Name())
	}
	var db engine.Database
	err := r.stage("start", func() (err error) {
		db, err = r.Install.Start(ctx, machine, engine.Config{
			Settings: r.config.Settings, Connections: connections(r.config.Load) + ownConnections, Durable: true,
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := r.readSettings(ctx, db); err != nil {
		return nil, errors.Join(err, r.stop(ctx, db))
	}
	return db, nil
}

// ownConnections are Loadstone's own: counters, states, checks, spare.
const ownConnections = 4

func connections(l study.Load) int {
	if l.Connections > 0 {
		return l.Connections
	}
	return l.Users
}

// readSettings reads the server's settings back; a mismatch fails the trial.
func (r *run) readSettings(ctx context.Context, db engine.Database) error {
	settings, err := db.Settings(ctx)
	if err != nil {
		return fmt.Errorf("read the server's settings back: %w", err)
	}
	var out []record.Knob
	for _, s := range settings {
		out = append(out, record.Knob{Name: s.Name, Intended: s.Intended, Effective: s.Effective, Default: s.Default, Why: s.Why, Matches: s.Matches})
	}
	if err := r.update(func(i *record.Instance) { i.Setting = out }); err != nil {
		return err
	}
	return mismatch(out)
}

// stop ends the server, whatever became of ctx.
func (r *run) stop(ctx context.Context, db engine.Database) error {
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseBound)
	defer cancel()
	if ctx.Err() != nil {
		cancel() // aborted: end it at once
	}
	return r.stage("stop", func() error {
		err := db.Stop(bound)
		if log := db.Log(); log != "" {
			_, _ = fmt.Fprintf(r.w.Log(), "server log, last lines:\n%s\n", log)
		}
		return err
	})
}

// target lets a driver open sessions of a database.
type target struct {
	db  engine.Database
	def *workload.Definition
}

func (t target) Open(ctx context.Context, _ int) (drive.Session, error) { return t.db.Open(ctx, t.def) }

// errServerGone is why a drive ends when the server does.
var errServerGone = errors.New("the server ended in the middle of the trial")

func (r *run) drive(ctx context.Context, inst provider.Instance, db engine.Database) (drive.Report, error) {
	sink, err := r.w.Instance(1)
	if err != nil {
		return drive.Report{}, err
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	stopWatch := make(chan struct{})
	defer close(stopWatch)
	go func() {
		select {
		case <-db.Exited():
			end(errServerGone)
		case <-stopWatch:
		}
	}()

	sampling, stopSampling := context.WithCancel(ctx)
	defer stopSampling()
	watch := &watcher{run: r, sampler: observe.Sampler{Clock: r.Clock}, ctx: sampling}
	cfg := r.driveConfig(db, func(epoch time.Time) {
		watch.errs = append(watch.errs, r.w.Update(func(t *record.Trial) { t.Epoch = epoch }))
		watch.begin(epoch, inst, db)
	})
	var report drive.Report
	err = r.stage("drive", func() (err error) {
		report, err = drive.Run(ctx, cfg, sink)
		return err
	})
	stopSampling()
	err = errors.Join(err, watch.end())
	if cause := context.Cause(ctx); errors.Is(cause, errServerGone) {
		err = fmt.Errorf("%w; its last words:\n%s", cause, db.Log())
	}
	return report, errors.Join(err, r.recordDrive(report))
}

func (r *run) driveConfig(db engine.Database, started func(time.Time)) drive.Config {
	c := r.config
	metric := r.def.Metric
	return drive.Config{
		Workload: r.def, Target: target{db, r.def}, Clock: r.Clock, Seed: r.planned.Seed,
		Users: c.Load.Users, RatePerS: c.Load.RatePerS, Arrivals: c.Load.Arrivals, Connections: c.Load.Connections,
		Ramp: c.Run.Ramp, Warmup: c.Run.Warmup, Measure: c.Run.Measure,
		Started: started,
		Progress: func(p drive.Progress) {
			r.tell(Progress{Stage: p.Phase, Part: min(1, p.Elapsed.Seconds()/p.End.Seconds()), Rate: p.UnitsPerS * metric.Per.Seconds(), Short: metric.Short})
		},
	}
}

func (r *run) recordDrive(d drive.Report) error {
	return errors.Join(
		r.update(func(i *record.Instance) {
			i.Totals, i.Errors, i.Opened, i.Driver = d.Totals, d.Errors, d.Opened.Seconds(), d.Driver
		}),
		r.w.Update(func(t *record.Trial) { t.Epoch, t.Phases = d.Epoch, d.Phases }),
	)
}

func shape(s study.Shape) provider.Shape {
	return provider.Shape{CPUs: s.CPUs, CPUSet: s.CPUSet, Memory: s.Memory, CPUShares: s.CPUShares}
}
