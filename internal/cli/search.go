package cli

import (
	"fmt"
	"slices"

	"github.com/loadstone-perf/loadstone/internal/analyse"
	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/study"
	"github.com/loadstone-perf/loadstone/internal/trial"
)

// search is a study that finds its loads as it goes: after each trial the
// results so far say which load comes next. Resuming follows the decisions in
// the record, runs only what is missing, and goes on where they end.
type search struct {
	env  *env
	job  *job
	dir  *record.Dir
	seq  *trial.Sequence
	show *progress
	done []record.Decision
	// old are the decisions in the record that this replay follows.
	old []record.Decision
	// rest are trials that the directory's plan has and this replay has not
	// come to yet.
	rest []record.Planned
}

// run searches every base, then repeats all that was found in randomised
// blocks. again are statuses of trials that run once more.
func (s *search) run(again ...record.Status) error {
	s.rest, s.old = s.dir.Study().Plan, s.dir.Study().Search
	for base := range s.job.plan.Bases {
		if err := s.base(base, again); err != nil {
			return err
		}
	}
	for block := 2; block <= s.job.plan.Study.Repeats; block++ {
		if err := s.trials(s.job.records(s.job.plan.Repeat(block)), again); err != nil {
			return err
		}
	}
	return nil
}

// base finds the loads of one configuration, one trial each.
func (s *search) base(base int, again []record.Status) error {
	first := len(s.job.plan.Trials)
	for {
		d, err := s.decide(base, first)
		if err != nil {
			return err
		}
		s.done = append(s.done, d)
		s.show.line("search: %s", d.Why)
		if d.Done {
			return s.dir.Grow(nil, s.decisions())
		}
		_, trials := s.job.plan.Extend(base, d.Load, 1)
		if err := s.trials(s.job.records(trials), again); err != nil {
			return err
		}
	}
}

// decide takes the next decision from the record, or else from the results of
// the trials from index first of the plan on.
func (s *search) decide(base, first int) (record.Decision, error) {
	if n := len(s.done); n < len(s.old) {
		return s.old[n], nil
	}
	points, err := s.points(first)
	if err != nil {
		return record.Decision{}, err
	}
	looking := s.job.plan.Study.Search
	d := record.Decision{Knob: looking.Knob}
	d.Load, d.Done, d.Why = looking.Next(points)
	if factors := s.job.plan.Bases[base].Factors; len(factors) > 0 {
		d.Base = label(recordFactors(factors))
	}
	return d, nil
}

// decisions are those to record: what the record has, and what came after.
func (s *search) decisions() []record.Decision {
	if len(s.old) > len(s.done) {
		return s.old
	}
	return s.done
}

// trials runs those of the planned trials that have not finished; new ones
// are written into the directory's plan first.
func (s *search) trials(planned []record.Planned, again []record.Status) error {
	known := min(len(planned), len(s.rest))
	if !slices.EqualFunc(planned[:known], s.rest[:known], samePlanned) {
		return fmt.Errorf("this build searches other loads than %s did: finish the study with that version", s.dir.Study().Loadstone)
	}
	s.rest = s.rest[known:]
	if err := s.dir.Grow(planned[known:], s.decisions()); err != nil {
		return err
	}
	pending, err := s.dir.Pending(again...)
	if err != nil {
		return err
	}
	pending = slices.DeleteFunc(pending, func(p record.Planned) bool {
		return !slices.ContainsFunc(planned, func(q record.Planned) bool { return q.Dir == p.Dir })
	})
	s.show.more(pending)
	return s.seq.Run(s.env.ctx, pending)
}

func samePlanned(a, b record.Planned) bool {
	return a.Dir == b.Dir && a.Seed == b.Seed && slices.Equal(a.Factors, b.Factors)
}

// points are the results of the trials from index first of the plan on, as
// the search sees them.
func (s *search) points(first int) ([]study.Point, error) {
	var out []study.Point
	for _, t := range s.job.plan.Trials[first:] {
		r, err := analyse.LoadTrial(s.dir, t.Number)
		if err != nil {
			return nil, err
		}
		p := study.Point{Load: s.job.plan.Load(t.Cell), Value: r.Throughput, RelErrPct: float64(r.NoisePct)}
		if !r.NoisePct.OK() {
			p.RelErrPct = 0
		}
		if r.Status != string(record.Finished) {
			p.Broke = "the trial " + r.Status + ": " + r.Reason
		} else {
			p.Broke = r.Broken(s.dir.Study().Limits)
		}
		out = append(out, p)
	}
	return out, nil
}
