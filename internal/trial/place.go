package trial

import (
	"context"
	"errors"
	"fmt"

	"github.com/loadstone-perf/loadstone/internal/drive"
	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/study"
)

// place is one instance of a trial, with its server once that runs.
type place struct {
	*run
	number int // from 1
	inst   provider.Instance
	db     engine.Database // nil until started
	rec    record.Instance
	driven drive.Report
}

// makePlace provisions instance `number`, reads its shape back and restores
// its golden state.
func (r *run) makePlace(ctx context.Context, number int) error {
	p := &place{run: r, number: number, rec: record.Instance{Name: fmt.Sprintf("instance-%d", number)}}
	s := r.config.Shape
	err := r.stage("provision", func() (err error) {
		p.inst, err = r.Provider.Provision(ctx, provider.Request{
			Name: p.rec.Name, Cache: r.Cache,
			Shape: provider.Shape{CPUs: s.CPUs, CPUSet: s.CPUSet, Memory: s.Memory, CPUShares: s.CPUShares},
		})
		return err
	})
	if err != nil {
		return err
	}
	r.places = append(r.places, p)
	if err := p.readShape(ctx); err != nil {
		return err
	}
	return p.restored(ctx)
}

// readShape reads the instance's shape back; a mismatch fails the trial. It
// is called before the server starts and again after the load: a limit that
// somebody else changed meanwhile would spoil the figures.
func (p *place) readShape(ctx context.Context) error {
	shaped, ok := p.inst.(provider.Shaped)
	if !ok {
		return nil
	}
	knobs, err := shaped.Effective(ctx)
	if err != nil {
		return fmt.Errorf("read the shape of %s back: %w", p.rec.Name, err)
	}
	p.rec.Shape = nil
	for _, k := range knobs {
		p.rec.Shape = append(p.rec.Shape, record.Knob{Name: k.Name, Intended: k.Intended, Effective: k.Effective, Matches: k.Matches})
	}
	if c, ok := p.inst.(interface{ Confined() bool }); ok {
		p.rec.Confined = c.Confined()
	}
	return errors.Join(p.writeInstances(), mismatch(p.rec.Shape))
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

// machine is the instance as a place where programs run.
func (r *run) machine(inst provider.Instance) (engine.Machine, error) {
	m, ok := inst.(provider.Machine)
	if !ok {
		return nil, fmt.Errorf("provider %s can't run programs in its instances", r.Provider.Name())
	}
	return m, nil
}

// ownConnections are Loadstone's own: counters, states, checks, spare.
const ownConnections = 4

func connections(l study.Load) int {
	if l.Connections > 0 {
		return l.Connections
	}
	return l.Users
}

// start starts the server and reads its settings back; a mismatch fails the
// trial.
func (p *place) start(ctx context.Context) error {
	m, err := p.machine(p.inst)
	if err != nil {
		return err
	}
	err = p.stage("start", func() (err error) {
		p.db, err = p.Install.Start(ctx, m, engine.Config{
			Settings: p.config.Settings, Connections: connections(p.config.Load) + ownConnections, Durable: true,
		})
		return err
	})
	if err != nil {
		return err
	}
	settings, err := p.db.Settings(ctx)
	if err != nil {
		return fmt.Errorf("read the server's settings back: %w", err)
	}
	for _, s := range settings {
		p.rec.Setting = append(p.rec.Setting, record.Knob{Name: s.Name, Intended: s.Intended, Effective: s.Effective, Default: s.Default, Why: s.Why, Matches: s.Matches})
	}
	return errors.Join(p.writeInstances(), mismatch(p.rec.Setting))
}

// stop ends the server, if it runs, whatever became of ctx.
func (p *place) stop(ctx context.Context) error {
	if p.db == nil {
		return nil
	}
	return p.stopServer(ctx, p.db)
}

// stopServer ends a server; where ctx is done already, at once.
func (r *run) stopServer(ctx context.Context, db engine.Database) error {
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseBound)
	defer cancel()
	if ctx.Err() != nil {
		cancel()
	}
	return r.stage("stop", func() error {
		err := db.Stop(bound)
		if log := db.Log(); log != "" {
			_, _ = fmt.Fprintf(r.w.Log(), "server log, last lines:\n%s\n", log)
		}
		return err
	})
}
