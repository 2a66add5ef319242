package trial

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/loadstone-perf/loadstone/internal/drive"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/twin"
	"github.com/loadstone-perf/loadstone/internal/twin/dbms"
	"github.com/loadstone-perf/loadstone/internal/twin/scenario"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// simulate calculates the trial on a model in place of running it. The record
// has the same files and series as that of a real trial, and says that it is
// simulated.
func (r *run) simulate(ctx context.Context, m Model) (err error) {
	if err := r.describe(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.releaseAll(ctx)) }()
	if err := r.seat(); err != nil {
		return err
	}
	for g, group := range r.config.Groups {
		for i := range group.Count {
			if err := r.modelPlace(ctx, m, g, i+1); err != nil {
				return err
			}
		}
	}
	sc, err := Scenario(r.config, r.defs, m, r.seating, r.planned.Seed)
	if err != nil {
		return err
	}
	if err := errors.Join(r.writeInstances(), r.w.WriteFile("host.yaml", m.Source())); err != nil {
		return err
	}
	err = r.stage("simulate", func() error { return r.calculate(ctx, sc) })
	return errors.Join(err, r.recordDrive())
}

// modelPlace describes instance `index` of a group: its shape and settings are
// what the model was told.
func (r *run) modelPlace(ctx context.Context, m Model, group, index int) error {
	p := &place{run: r, number: len(r.places) + 1, index: index, group: r.config.Groups[group], def: r.defs[group]}
	p.shape = r.seating.Shapes[p.number-1]
	p.describe(r.defs[0])
	p.rec.Confined = true // nobody else is on the model
	var err error
	if p.inst, err = m.Provision(ctx, provider.Request{Name: p.rec.Name, Shape: p.shape}); err != nil {
		return err
	}
	r.places = append(r.places, p)
	if err := p.readShape(ctx); err != nil {
		return err
	}
	demands, differs, err := scenario.DemandsOf(m.Model(), p.def, r.Engine.Name())
	if err != nil {
		return err
	}
	p.demands(demands, differs)
	p.caution("percentiles of response times are too near to each other: in the model every transaction of a type costs the same, and only waiting tells one from another")
	known := modelledSettings(r.Engine.Name())
	for name, text := range p.group.Settings {
		p.rec.Setting = append(p.rec.Setting, record.Knob{Name: name, Intended: text, Effective: text, Default: known[name].usual, Why: known[name].about, Matches: true})
	}
	return nil
}

// demands notes what the transactions' costs are based on.
func (p *place) demands(d scenario.Demands, differs []string) {
	k := record.Knob{Name: "twin.demands", Effective: "not calibrated: assumed costs", Matches: true}
	if d.Calibrated() {
		k.Effective = "calibrated on " + d.Source
	}
	p.rec.Shape = append(p.rec.Shape, k)
	if !d.Calibrated() {
		p.caution("not calibrated: what transactions cost on this host is assumed ('loadstone calibrate' fits it to real trials); ratios between configurations are better founded than the figures themselves")
	}
	for _, name := range differs {
		p.caution(fmt.Sprintf("calibrated with another workload.%s: the demands are taken over as they are", name))
	}
}

// caution notes what is so of every figure of the instance.
func (p *place) caution(text string) { p.rec.Warnings = append(p.rec.Warnings, text) }

// simulation is a run of the model that is being recorded.
type simulation struct {
	*run
	extend  *extender
	stop    context.CancelFunc
	end     time.Duration // of measuring, as it stands
	over    bool
	tallies []*tally
	sheets  []sheet
	states  []*record.StateLog
	view    view
}

// calculate runs sc and records every second of it.
func (r *run) calculate(ctx context.Context, sc twin.Scenario) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	run := r.config.Run
	s := &simulation{run: r, stop: stop, end: run.Ramp + run.Warmup + run.Measure, extend: newExtender(run, nil, len(r.places)), view: newView(sc)}
	epoch := r.Clock.Now().UTC().Truncate(time.Second)
	if err := r.w.Update(func(t *record.Trial) { t.Epoch = epoch }); err != nil {
		return err
	}
	for _, p := range r.places {
		sink, err := r.w.Instance(p.number)
		if err != nil {
			return err
		}
		s.tallies = append(s.tallies, newTally(p.def, sink, sc.Instances[p.number-1].Database))
		log, err := r.w.States(fmt.Sprintf("instance-%d/waits", p.number))
		if err != nil {
			return err
		}
		s.states = append(s.states, log)
	}
	var err error
	if s.sheets, err = s.counters(sc); err != nil {
		return err
	}
	var failed error
	runErr := twin.Run(ctx, sc, func(t twin.Transaction) {
		if !s.over {
			s.tallies[t.Instance].add(t)
		}
	}, func(second int, values []float64) {
		if failed == nil && !s.over {
			failed = s.second(second, values)
		}
		if failed != nil {
			stop()
		}
	})
	if s.over || failed != nil {
		runErr = failed
	}
	for i, p := range r.places {
		p.driven = s.tallies[i].report(s.view.of(p.rec.Name, "backlog"))
		p.driven.Epoch, p.driven.Phases = epoch, record.Phases{
			RampEnd: run.Ramp.Seconds(), WarmupEnd: (run.Ramp + run.Warmup).Seconds(), MeasureEnd: s.end.Seconds(),
		}
	}
	return runErr
}

// second records the second that has ended and decides whether it was the last.
func (s *simulation) second(second int, values []float64) error {
	at := time.Duration(second+1) * time.Second
	s.view.values = values
	rate := 0.0
	for i, p := range s.places {
		t := s.tallies[i]
		// Pages found in the cache are not counted by the model, only misses: they
		// are what the second's transactions touch on average.
		s.view.touched[p.rec.Name] = t.touched
		t.touched = 0
		row := t.interval(at, int64(s.view.of(p.rec.Name, "busy_users")), int64(s.view.of(p.rec.Name, "backlog")))
		rate += float64(row.Types[t.metric].Committed)
		s.extend.interval(p.number, row)
		if err := t.hand(row); err != nil {
			return err
		}
		if err := s.states[i].Row(at, statePolls, s.view.waits(p.rec.Name)); err != nil {
			return err
		}
		s.extend.checkpoints(at, s.view.checkpoints(p.rec.Name))
	}
	for i := range s.sheets {
		if err := s.sheets[i].row(at, &s.view); err != nil {
			return err
		}
	}
	s.progress(at, rate)
	run := s.config.Run
	if run.MeasureMax > 0 && at == s.end-time.Second {
		s.end += s.extend.more(at)
	}
	if at >= s.end {
		s.over = true
		s.stop()
	}
	return nil
}

// progress tells how far the simulation is.
func (s *simulation) progress(at time.Duration, rate float64) {
	run, m := s.config.Run, s.defs[0].Metric
	stage := "measure"
	switch {
	case at <= run.Ramp:
		stage = "ramp"
	case at <= run.Ramp+run.Warmup:
		stage = "warm-up"
	}
	s.tell(Progress{Stage: stage, Part: min(1, at.Seconds()/s.end.Seconds()), Rate: rate * m.Per.Seconds(), Short: m.Short})
}

// count is what the transactions of one type, or units, came to in the second
// under way.
type count struct {
	record.Series
	response, service, undone *hdrhistogram.Histogram
	// Sums in nanoseconds and what of them was handed out in microseconds.
	responseNs, plannedNs         int64
	responseHanded, plannedHanded int64
}

// unitOf is a user's unit of work under way.
type unitOf struct {
	response, service, planned time.Duration
	undone                     bool
}

// tally turns transactions of one instance into intervals and totals.
type tally struct {
	def     *workload.Definition
	sink    drive.Sink
	unit    int // index of the unit's series, -1 where there is none
	metric  int // index of the series that the headline counts
	counts  []count
	totals  []record.Series
	users   map[int]*unitOf
	pages   []float64 // that a transaction touches, by type
	touched float64   // in the second under way
	start   time.Duration
	lastEnd time.Duration
	clamped int64
	row     record.Interval
}

func newTally(d *workload.Definition, sink drive.Sink, db *dbms.Database) *tally {
	n := len(d.Transactions)
	t := &tally{def: d, sink: sink, unit: -1, users: map[int]*unitOf{}, pages: make([]float64, n)}
	for i, c := range db.Classes {
		for _, x := range c.Touches {
			t.pages[i] += x.Pages
		}
	}
	t.metric = slices.IndexFunc(d.Transactions, func(tx *workload.Transaction) bool { return tx.Name == d.Metric.Series })
	if d.Unit != "" {
		t.unit = n
		n++
	}
	if t.metric < 0 {
		t.metric = t.unit
	}
	t.counts, t.totals, t.row.Types = make([]count, n), make([]record.Series, n), make([]record.Series, n)
	return t
}

// add counts a transaction.
func (t *tally) add(x twin.Transaction) {
	t.lastEnd = max(t.lastEnd, x.End)
	t.touched += t.pages[x.Class]
	response, service := x.End-x.Intended, x.End-x.Start
	t.record(x.Class, response, service, x.Planned, x.RolledBack)
	if t.unit < 0 {
		return
	}
	u := t.users[x.User]
	if u == nil {
		u = &unitOf{}
		t.users[x.User] = u
	}
	u.planned += x.Planned
	if !x.Untimed {
		u.response += response
		u.service += service
	}
	u.undone = u.undone || x.RolledBack
	if x.Last {
		t.record(t.unit, u.response, u.service, u.planned, u.undone)
		*u = unitOf{}
	}
}

// record counts one piece of work of a series.
func (t *tally) record(series int, response, service, planned time.Duration, undone bool) {
	c, all := &t.counts[series], &t.totals[series]
	c.responseNs += int64(response)
	c.plannedNs += int64(planned)
	if undone {
		c.RolledBack++
		all.RolledBack++
		t.value(&c.undone, response)
		return
	}
	c.Committed++
	all.Committed++
	t.value(&c.response, response)
	t.value(&c.service, service)
}

// value records d in microseconds.
func (t *tally) value(h **hdrhistogram.Histogram, d time.Duration) {
	if *h == nil {
		*h = record.NewHistogram()
	}
	if d > time.Hour {
		t.clamped++
		d = time.Hour
	}
	// Within the range, recording cannot fail.
	_ = (*h).RecordValue(int64((max(0, d) + time.Microsecond/2) / time.Microsecond))
}

// interval is the second that ends at end; it is valid until hand.
func (t *tally) interval(end time.Duration, inFlight, backlog int64) record.Interval {
	t.row.Start, t.row.End, t.row.InFlight, t.row.Backlog = t.start, end, inFlight, backlog
	for i := range t.counts {
		c := &t.counts[i]
		c.ResponseSum, c.ThinkSum = c.responseNs/1000-c.responseHanded, c.plannedNs/1000-c.plannedHanded
		c.responseHanded += c.ResponseSum
		c.plannedHanded += c.ThinkSum
		c.Response, c.Service, c.Undone = filled(c.response), filled(c.service), filled(c.undone)
		t.row.Types[i] = c.Series
	}
	return t.row
}

// filled is h, or nil where it holds nothing.
func filled(h *hdrhistogram.Histogram) *hdrhistogram.Histogram {
	if h == nil || h.TotalCount() == 0 {
		return nil
	}
	return h
}

// hand records the interval and begins the next.
func (t *tally) hand(row record.Interval) error {
	if err := t.sink.Interval(row); err != nil {
		return fmt.Errorf("recording the interval from %v: %w", row.Start, err)
	}
	for i := range t.counts {
		c := &t.counts[i]
		for _, h := range []*hdrhistogram.Histogram{c.response, c.service, c.undone} {
			if h != nil {
				h.Reset()
			}
		}
		c.Series = record.Series{}
	}
	t.start = row.End
	return nil
}

// report sums the run up as a driver does.
func (t *tally) report(backlog float64) drive.Report {
	rep := drive.Report{Driver: record.Driver{Clamped: t.clamped, LastEndS: t.lastEnd.Seconds(), Unserved: int64(math.Round(backlog))}}
	for i, s := range t.totals {
		out := record.Totals{Type: t.def.Unit, Committed: s.Committed, RolledBack: s.RolledBack, Errors: map[string]int64{}}
		if i != t.unit {
			out.Type = t.def.Transactions[i].Name
		}
		rep.Totals = append(rep.Totals, out)
	}
	return rep
}
