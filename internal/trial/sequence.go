package trial

import (
	"context"
	"errors"
	"fmt"

	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/study"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// failuresInARow end a sequence: what failed so often fails again.
const failuresInARow = 3

// Sequence runs trials of a plan one after the other.
type Sequence struct {
	Bench *Bench
	Plan  *study.Plan
	Dir   *record.Dir
	// Kind is the workload that the study names.
	Kind workload.Kind
	// Providers make the instances of cells that name them, where the study
	// varies the provider; of others Bench.Provider does.
	Providers map[string]provider.Provider
	// Disturbed says what outside the study spoilt a finished trial, "" where
	// nothing did; nil asks nobody. Such a trial is run again, at most Retries
	// times, and in all at most half as often as there are trials. What was
	// measured is no reason: throwing away unwelcome results would bias them.
	Disturbed func(p record.Planned) (string, error)
	Retries   int
	// Began and Done are told of each trial; err is nil where it finished.
	Began func(p record.Planned)
	Done  func(p record.Planned, status record.Status, err error)

	again int // how often a trial was run again
}

// Run runs the trials in pending, in order. A failed trial is recorded and
// the next one runs; the error is of what ends the sequence: ctx, a record
// that can't be written, or too many failures in a row.
func (s *Sequence) Run(ctx context.Context, pending []record.Planned) error {
	failed := 0
	for _, p := range pending {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		status, err := s.undisturbed(ctx, p)
		if status == "" {
			return err
		}
		switch status {
		case record.Finished:
			failed = 0
		case record.Aborted:
			return ctx.Err()
		default:
			if failed++; failed == failuresInARow && len(pending) > failuresInARow {
				return fmt.Errorf("%d trials in a row failed, the last because: %w", failed, err)
			}
		}
	}
	return nil
}

// undisturbed runs a trial, and again where it was disturbed and there are
// retries left.
func (s *Sequence) undisturbed(ctx context.Context, p record.Planned) (record.Status, error) {
	var warnings []string
	for left := s.Retries; ; left-- {
		status, err := s.one(ctx, p, warnings)
		if status != record.Finished || s.Disturbed == nil || left == 0 || s.again >= (len(s.Dir.Study().Plan)+1)/2 {
			if status != "" {
				s.Done(p, status, err)
			}
			return status, err
		}
		why, err := s.Disturbed(p)
		if err != nil {
			return "", err
		}
		if why == "" {
			s.Done(p, status, nil)
			return status, nil
		}
		if err := s.Dir.Disturb(p, why); err != nil {
			return "", err
		}
		s.again++
		s.Done(p, record.Disturbed, errors.New(why))
		warnings = append(warnings, "run again after a disturbed attempt: "+why)
	}
}

// one runs one trial and closes its record. An empty status means that the
// record itself could not be written.
func (s *Sequence) one(ctx context.Context, p record.Planned, warnings []string) (record.Status, error) {
	s.Began(p)
	w, err := s.Dir.Start(record.Trial{
		Format: record.Format, Loadstone: s.Bench.Loadstone, Planned: p, Status: record.Running,
		Simulated: s.Bench.Simulated, Started: s.Bench.Clock.Now().UTC(), Warnings: warnings,
	})
	if err != nil {
		return "", err
	}
	err = s.run(ctx, p, w)
	status, reason := record.Finished, ""
	switch {
	case err != nil && ctx.Err() != nil:
		status, reason = record.Aborted, "stopped by the user"
	case err != nil:
		status, reason = record.Failed, err.Error()
	}
	if err != nil {
		_, _ = fmt.Fprintf(w.Log(), "%s: %v\n", status, err)
	}
	if endErr := errors.Join(w.Update(func(t *record.Trial) { t.Ended = s.Bench.Clock.Now().UTC() }), w.Finish(status, reason)); endErr != nil {
		return "", errors.Join(err, endErr)
	}
	return status, err
}

func (s *Sequence) run(ctx context.Context, p record.Planned, w *record.Writer) error {
	c := s.Plan.Cells[p.Cell-1].Config
	defs, err := Definitions(s.Kind, c)
	if err != nil {
		return err
	}
	b := *s.Bench
	if of, ok := s.Providers[c.Provider.Name]; ok {
		b.Provider = of
	}
	return b.Run(ctx, c, defs, p, w)
}
