package trial

import (
	"context"
	"errors"
	"time"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/observe"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/record"
)

// watcher samples everything that a trial has counters for, from the moment
// the driver sets the epoch until end.
type watcher struct {
	run     *run
	sampler observe.Sampler
	ctx     context.Context // of the sampling alone; ends it
	errs    []error
}

// begin starts one watch for each source.
func (w *watcher) begin(epoch time.Time, inst provider.Instance, db engine.Database) {
	if host, err := observe.NewHost(); err == nil {
		w.source(epoch, "", host)
	} else {
		w.run.warn(err.Error())
	}
	w.source(epoch, "", observe.NewDriver())
	if own, ok := inst.(provider.CounterSource); ok {
		for _, s := range own.Sources() {
			w.source(epoch, "instance-1/", s)
		}
	}
	for _, s := range db.Sources() {
		w.source(epoch, "instance-1/", s)
	}
	for _, s := range db.States() {
		log, err := w.run.w.States("instance-1/" + s.Name())
		if err != nil {
			w.errs = append(w.errs, err)
			continue
		}
		w.sampler.WatchStates(w.ctx, epoch, s, log)
	}
}

func (w *watcher) source(epoch time.Time, scope string, s observe.Source) {
	log, err := w.run.w.Counters(scope+s.Name(), s.Columns())
	if err != nil {
		w.errs = append(w.errs, err)
		return
	}
	w.sampler.Watch(w.ctx, epoch, s, log)
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

func (r *run) warn(text string) {
	_ = r.w.Update(func(t *record.Trial) { t.Warnings = append(t.Warnings, text) })
}
