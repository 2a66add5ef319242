package trial

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/loadstone-perf/loadstone/internal/drive"
	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/study"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// place is one instance of a trial, with its server once that runs.
type place struct {
	*run
	number int // from 1, among all instances
	index  int // from 1, in its group
	group  study.Group
	def    *workload.Definition
	shape  provider.Shape
	inst   provider.Instance
	db     engine.Database // nil until started
	named  string          // of the database, on a server that runs already
	base   []int64         // what checks count from, where nothing was restored
	rec    record.Instance
	driven drive.Report
	// altered says that an event changed the shape: rec has that of the
	// beginning.
	altered bool
}

// makePlace provisions instance `index` of a group, reads its shape back and
// restores its golden state.
func (r *run) makePlace(ctx context.Context, group, index int) error {
	p := &place{run: r, number: len(r.places) + 1, index: index, group: r.config.Groups[group], def: r.defs[group]}
	p.shape = r.seating.Shapes[p.number-1]
	p.describe(r.defs[0])
	err := r.stage("provision", func() (err error) {
		p.inst, err = r.Provider.Provision(ctx, provider.Request{Name: p.rec.Name, Cache: p.cache(), Shape: p.shape, Golden: p.next()})
		return err
	})
	if err != nil {
		return err
	}
	r.places = append(r.places, p)
	if _, apart := p.inst.(provider.Volumes); p.shape.LogVolume != "" && !apart {
		return fmt.Errorf("instance.log_volume: provider %s has no place for a log apart", r.Provider.Name())
	}
	if err := p.readShape(ctx); err != nil {
		return err
	}
	if r.Server != nil {
		return errors.Join(p.attach(ctx), p.readShape(ctx))
	}
	return p.restored(ctx)
}

// next is the golden state that the instance will begin with, "" where it has
// none.
func (p *place) next() string {
	if p.Server != nil {
		return ""
	}
	return p.goldenKey()
}

// describe writes down what the instance was asked for; first is the workload
// of the first group, which the trial's record describes.
func (p *place) describe(first *workload.Definition) {
	l := p.group.Load
	p.rec = record.Instance{
		Name: fmt.Sprintf("instance-%d", p.index), Group: p.group.Name,
		Drive: record.Drive{Users: l.Users, Extra: load(l, p.def).Extra(), RatePerS: l.RatePerS, Connections: l.Connections},
	}
	if p.group.Name != "" {
		p.rec.Name = fmt.Sprintf("%s-%d", p.group.Name, p.index)
	}
	for name, value := range p.def.Params.All() {
		if first.Params.Text(name) == value {
			continue
		}
		if p.rec.Params == nil {
			p.rec.Params = map[string]string{}
		}
		p.rec.Params[name] = value
	}
}

// cache is where the instance and its golden state live: the bench's, or the
// volume that the study names.
func (p *place) cache() string { return cacheOn(p.Cache, p.shape) }

func cacheOn(cache string, s provider.Shape) string {
	if s.DataVolume != "" {
		return filepath.Join(s.DataVolume, "loadstone")
	}
	return cache
}

// readShape reads the instance's shape back; a mismatch fails the trial. It
// is called before the server starts and again after the load: a limit that
// somebody else changed meanwhile would spoil the figures.
func (p *place) readShape(ctx context.Context) error {
	if w, ok := p.inst.(provider.Warner); ok {
		p.rec.Warnings = w.Warnings()
	}
	shaped, ok := p.inst.(provider.Shaped)
	if !ok {
		return nil
	}
	knobs, err := shaped.Effective(ctx)
	if err != nil {
		return fmt.Errorf("read the shape of %s back: %w", p.rec.Name, err)
	}
	began := p.rec.Shape
	p.rec.Shape = nil
	for _, k := range knobs {
		p.rec.Shape = append(p.rec.Shape, record.Knob{Name: k.Name, Intended: k.Intended, Effective: k.Effective, Matches: k.Matches})
	}
	if p.group.Shape.Placement != "" {
		p.rec.Shape = append(p.rec.Shape, p.placement())
	}
	if p.named != "" {
		p.rec.Shape = append(p.rec.Shape, record.Knob{Name: "endpoint.database", Effective: p.named, Matches: true})
	}
	if c, ok := p.inst.(interface{ Confined() bool }); ok {
		p.rec.Confined = c.Confined()
	}
	err = mismatch(p.rec.Shape)
	if p.altered {
		p.rec.Shape = began
	}
	return errors.Join(p.writeInstances(), err)
}

// placement says whether the CPUs that were read back lie as was asked for.
func (p *place) placement() record.Knob {
	s := p.group.Shape
	k := record.Knob{Name: "instance.placement", Intended: s.Placement, Effective: "not known"}
	for _, set := range p.rec.Shape {
		if set.Name == "instance.cpuset" {
			k.Effective, k.Matches = p.CPUs.placed(set.Effective, s.Placement, s.CPUs)
		}
	}
	if k.Matches { // the words differ from the intention, the meaning does not
		k.Effective = s.Placement + ": " + k.Effective
	}
	return k
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

// ownConnections are Loadstone's own: counters, states, spare, and checks.
const ownConnections = 3 + askers

// Sessions is how many sessions a trial of c opens at all its databases
// together, at most; defs are what Definitions made for c.
func Sessions(c study.Config, defs []*workload.Definition) (n int) {
	const holding = 2 // on a server that runs already: the copy's name, and the look-out for its end
	for i, g := range c.Groups {
		n += g.Count * (sessions(g.Load, defs[i]) + ownConnections + holding)
	}
	return n
}

// sessions is how many sessions a driver opens.
func sessions(l study.Load, d *workload.Definition) int {
	return load(l, d).Sessions()
}

// load is l of d as a driver takes it.
func load(l study.Load, d *workload.Definition) drive.Config {
	return drive.Config{Workload: d, Users: l.Users, RatePerS: l.RatePerS, Connections: l.Connections}
}

// serverConfig is how the instance's server is to run.
func (p *place) serverConfig() engine.Config {
	c := engine.Config{Settings: p.group.Settings, Connections: sessions(p.group.Load, p.def) + ownConnections, Durable: true}
	if v, ok := p.inst.(provider.Volumes); ok && p.shape.LogVolume != "" {
		c.LogDir = v.LogDir()
	}
	c.LargePages = largePages(p.Provider, p.shape)
	return c
}

// largePages is what a shape asks of the server's own buffers: guest is about
// them in a virtual machine, host where there is none.
func largePages(p provider.Provider, s provider.Shape) string {
	v, ok := p.(provider.Virtualizer)
	own := provider.LargePagesHost
	if ok && v.Virtual() {
		own = provider.LargePagesGuest
	}
	switch s.LargePages {
	case "":
		return ""
	case own, provider.LargePagesBoth:
		return "on"
	}
	return "off"
}

// start starts the server and reads its settings back; a mismatch fails the
// trial.
func (p *place) start(ctx context.Context) error {
	if p.Server == nil {
		if err := p.startServer(ctx); err != nil {
			return err
		}
	}
	settings, err := p.db.Settings(ctx)
	if err != nil {
		return fmt.Errorf("read the server's settings back: %w", err)
	}
	for _, s := range settings {
		p.rec.Setting = append(p.rec.Setting, record.Knob{Name: s.Name, Intended: s.Intended, Effective: s.Effective, Default: s.Default, Why: s.Why, Matches: s.Matches})
	}
	p.warnDurability()
	return errors.Join(p.writeInstances(), mismatch(p.rec.Setting))
}

// startServer starts the instance's own server.
func (p *place) startServer(ctx context.Context) error {
	m, err := p.machine(p.inst)
	if err != nil {
		return err
	}
	return p.stage("start", func() (err error) {
		p.db, err = p.Install.Start(ctx, m, p.serverConfig())
		return err
	})
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
