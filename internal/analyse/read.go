package analyse

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/loadstone-perf/loadstone/internal/record"
)

// Load reads every trial of a result directory and computes its results. It
// works on a study that is under way or was cut short as well: trials that
// did not finish are listed with the reason. So are those whose record is
// damaged, as failed: they hide no others. The error is for a directory that
// can't be read at all.
func Load(dir *record.Dir) (*Study, error) {
	readers, err := dir.Trials()
	if err != nil {
		return nil, err
	}
	study := dir.Study()
	runs := make([]run, 0, len(readers))
	for _, r := range readers {
		one, err := loadRun(r, study)
		if err != nil {
			return nil, err
		}
		runs = append(runs, one)
	}
	out := assemble(study, runs)
	out.Source, out.Dir = string(dir.Source()), dir.Path()
	for _, d := range study.Search {
		out.Search = append(out.Search, Decision(d))
	}
	return out, nil
}

// LoadTrial computes the results of one trial alone, by its number: what a
// study under way asks after each trial, without reading all those before.
func LoadTrial(dir *record.Dir, number int) (Trial, error) {
	readers, err := dir.Trials()
	if err != nil {
		return Trial{}, err
	}
	for _, r := range readers {
		if r.Trial.Planned.Trial == number {
			one, err := loadRun(r, dir.Study())
			return one.Trial, err
		}
	}
	return Trial{}, fmt.Errorf("the plan has no trial %d", number)
}

func loadRun(r *record.Reader, study record.Study) (run, error) {
	in, err := read(r)
	var one run
	if err == nil {
		one, err = analysed(in, study)
	}
	if err != nil {
		one, err = analysed(unreadable(r, err), study)
	}
	if err != nil {
		return run{}, fmt.Errorf("trial %d: %w", r.Trial.Planned.Trial, err)
	}
	return one, nil
}

// unreadable is a trial of which only the manifest is believed.
func unreadable(r *record.Reader, why error) raw {
	t := r.Trial
	t.Status, t.Reason = record.Failed, "its record can't be read: "+why.Error()
	return raw{trial: t}
}

// read takes from r what the analysis needs. Counters that a trial has not
// are empty. Of a trial that did not finish, what can't be read is left out,
// since nothing is computed from it.
func read(r *record.Reader) (raw, error) {
	in := raw{
		trial: r.Trial, missing: r.Missing, cutShort: r.CutShort,
		histograms: func(i int, from, to time.Duration) ([]record.Merged, error) { return r.Histograms(i+1, from, to) },
		late: func(i int, from, to time.Duration) (*hdrhistogram.Histogram, error) {
			return r.Late(i+1, from, to)
		},
	}
	if r.Missing || r.Damage != nil {
		return in, nil //nolint:nilerr // a damaged trial is listed, not an error
	}
	err := in.fill(r)
	if err != nil && r.Trial.Status != record.Finished {
		in.trial.Warnings = append(in.trial.Warnings, "its record is not complete: "+err.Error())
		err = nil
	}
	return in, err
}

// fill reads intervals, counters and states.
func (in *raw) fill(r *record.Reader) (err error) {
	counters := func(names ...string) record.Counters {
		for _, name := range names {
			c, e := r.Counters(name)
			if e == nil {
				return c
			}
			if !errors.Is(e, fs.ErrNotExist) {
				err = errors.Join(err, e)
			}
		}
		return record.Counters{}
	}
	in.host, in.driver = counters("host"), counters("driver")
	for i := range r.Trial.Instances {
		scope := fmt.Sprintf("instance-%d/", i+1)
		rows, e := r.Intervals(i + 1)
		err = errors.Join(err, e)
		in.intervals = append(in.intervals, rows)
		in.cgroup = append(in.cgroup, counters(scope+"cgroup", scope+"processes"))
		in.database = append(in.database, counters(scope+"database"))
		in.domain, in.guest = append(in.domain, counters(scope+"domain")), append(in.guest, counters(scope+"guest"))
		states, e := r.States(scope + "waits")
		if e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
		in.waits = append(in.waits, spoken(states))
	}
	return err
}
