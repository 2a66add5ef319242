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
// results so far say which load comes next. Since the same results lead to
// the same loads, resuming replays the search and runs only what is missing.
type search struct {
	env  *env
	job  *job
	dir  *record.Dir
	seq  *trial.Sequence
	show *progress
	done []record.Decision
	// rest are trials that the directory's plan has and this replay has not
	// come to yet.
	rest []record.Planned
}

// run searches every base, then repeats all that was found in randomised
// blocks. again are statuses of trials that run once more.
func (s *search) run(again ...record.Status) error {
	s.rest = s.dir.Study().Plan
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
		points, err := s.points(first)
		if err != nil {
			return err
		}
		looking := s.job.plan.Study.Search
		load, done, why := looking.Next(points)
		d := record.Decision{Knob: looking.Knob, Load: load, Done: done, Why: why}
		if factors := s.job.plan.Bases[base].Factors; len(factors) > 0 {
			d.Base = label(recordFactors(factors))
		}
		s.done = append(s.done, d)
		s.show.line("search: %s", why)
		if done {
			return s.dir.Grow(nil, s.done)
		}
		_, trials := s.job.plan.Extend(base, load, 1)
		if err := s.trials(s.job.records(trials), again); err != nil {
			return err
		}
	}
}

// trials runs those of the planned trials that have not finished; new ones
// are written into the directory's plan first.
func (s *search) trials(planned []record.Planned, again []record.Status) error {
	known := min(len(planned), len(s.rest))
	if !slices.EqualFunc(planned[:known], s.rest[:known], samePlanned) {
		return fmt.Errorf("this build searches other loads than %s did: finish the study with that version", s.dir.Study().Loadstone)
	}
	s.rest = s.rest[known:]
	if err := s.dir.Grow(planned[known:], s.done); err != nil {
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
	if first == len(s.job.plan.Trials) {
		return nil, nil
	}
	result, err := analyse.Load(s.dir)
	if err != nil {
		return nil, err
	}
	var out []study.Point
	for _, t := range s.job.plan.Trials[first:] {
		i := slices.IndexFunc(result.Trials, func(r analyse.Trial) bool { return r.Number == t.Number })
		if i < 0 {
			return nil, fmt.Errorf("trial %d has no result", t.Number)
		}
		r := result.Trials[i]
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
