package trial

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/loadstone-perf/loadstone/internal/observe"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/record"
)

// watcher samples everything that a trial has counters for, from the epoch
// until end.
type watcher struct {
	run     *run
	sampler observe.Sampler
	ctx     context.Context // of the sampling alone; ends it
	extend  *extender

	mu    sync.Mutex
	begun bool
	errs  []error
}

// begin starts one watch for each source of an instance, and with the first
// instance those of the host and the driver.
func (w *watcher) begin(epoch time.Time, p *place) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.begun {
		w.begun = true
		w.fail(w.run.w.Update(func(t *record.Trial) { t.Epoch = epoch }))
		if host, err := observe.NewHost(); err == nil {
			w.source(epoch, "", w.hostOf(host))
		} else {
			w.run.warn(err.Error())
		}
		w.source(epoch, "", observe.NewDriver())
	}
	scope := fmt.Sprintf("instance-%d/", p.number)
	if own, ok := p.inst.(provider.CounterSource); ok {
		for _, s := range own.Sources() {
			w.source(epoch, scope, s)
		}
	}
	for _, s := range p.db.Sources() {
		w.source(epoch, scope, s)
	}
	for _, s := range p.db.States() {
		log, err := w.run.w.States(scope + s.Name())
		if w.fail(err) {
			continue
		}
		w.sampler.WatchStates(w.ctx, epoch, s, log)
	}
}

// hostOf is host under the name that says what it is about: where the server
// is elsewhere, these are the counters of the driver's machine alone, and no
// reader may take them for those of the server's.
func (w *watcher) hostOf(host observe.Source) observe.Source {
	if why := w.run.unobserved(); why != "" {
		w.run.warn("CPU, memory and disks under the database were not observed: " + why)
		return renamed{host, "driver_host"}
	}
	return host
}

// renamed is a source under another name.
type renamed struct {
	observe.Source
	name string
}

// Name implements observe.Source.
func (r renamed) Name() string { return r.name }

func (w *watcher) source(epoch time.Time, scope string, s observe.Source) {
	log, err := w.run.w.Counters(scope+s.Name(), s.Columns())
	if w.fail(err) {
		return
	}
	w.sampler.Watch(w.ctx, epoch, s, w.cycles(s, log))
}

// cycles lets the extender see the checkpoints that a source counts.
func (w *watcher) cycles(s observe.Source, log observe.RowLog) observe.RowLog {
	var at []int
	for i, c := range s.Columns() {
		if c.Name == "checkpoints_timed" || c.Name == "checkpoints_requested" {
			at = append(at, i)
		}
	}
	if len(at) == 0 || w.run.config.Run.Checkpoints == 0 {
		return log
	}
	return cycleLog{log, at, w.extend}
}

// cycleLog passes rows on and counts their checkpoints.
type cycleLog struct {
	observe.RowLog
	columns []int
	extend  *extender
}

func (l cycleLog) Row(at time.Duration, values []float64) error {
	n := 0.0
	for _, c := range l.columns {
		n += values[c]
	}
	l.extend.checkpoints(at, n)
	return l.RowLog.Row(at, values)
}

func (w *watcher) fail(err error) bool {
	if err != nil {
		w.errs = append(w.errs, err)
	}
	return err != nil
}

// end waits for the watches. A source that went away is a warning, since the
// trial's own figures do not depend on it; a log that can't be written fails
// the trial.
func (w *watcher) end() error {
	if err := w.sampler.Wait(); err != nil {
		w.run.warn(err.Error())
	}
	return errors.Join(w.errs...)
}
