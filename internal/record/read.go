package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Names of the files of a trial and of an instance.
const (
	manifestName   = "manifest.json"
	seriesName     = "series.csv"
	loadName       = "load.csv"
	histogramsName = "histograms.hlog"
	minutesName    = "minutes.hlog"
)

// Reader reads one trial.
type Reader struct {
	// Trial is the manifest. Of a trial that never began only Planned is set.
	Trial Trial
	// Missing says that the trial never began.
	Missing bool
	// CutShort says that the trial's process ended before the trial did:
	// Status is Running, and nobody works on it.
	CutShort bool
	// Damage says why the manifest cannot be read; Status is Failed then.
	Damage error

	path string
}

func openTrial(path string, p Planned, busy bool) (*Reader, error) {
	r := &Reader{path: path}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		r.Trial.Planned, r.Missing = p, true
		return r, nil
	} else if err != nil {
		return nil, err
	}
	if err := readFormat(filepath.Join(path, manifestName), &r.Trial); err != nil {
		r.Damage = err
		r.Trial = Trial{Planned: p, Status: Failed, Reason: err.Error()}
		return r, nil //nolint:nilerr // one damaged manifest does not hide the other trials
	}
	if r.Trial.Dir != p.Dir || r.Trial.Planned.Trial != p.Trial {
		r.Damage = fmt.Errorf("%s is the manifest of trial %d in %q", filepath.Join(path, manifestName), r.Trial.Planned.Trial, r.Trial.Dir)
		r.Trial = Trial{Planned: p, Status: Failed, Reason: r.Damage.Error()}
		return r, nil
	}
	if r.Trial.Status == Running && !busy {
		r.CutShort = true
		r.Trial.Reason = "cut short: its process ended before the trial did"
	}
	return r, nil
}

// Path is the trial's directory.
func (r *Reader) Path() string { return r.path }

// read returns a file of the trial. One that is not as long as the manifest
// says, or not there though the manifest lists it, was damaged after the trial.
func (r *Reader) read(name string) ([]byte, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(r.path, filepath.FromSlash(name)))
	for _, f := range r.Trial.Files {
		switch {
		case f.Name != name:
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("%s is gone: its manifest lists it with %d bytes", filepath.Join(r.path, name), f.Bytes)
		case err == nil && int64(len(data)) != f.Bytes:
			return nil, fmt.Errorf("%s is damaged: it has %d bytes, its manifest says %d", filepath.Join(r.path, name), len(data), f.Bytes)
		}
	}
	return data, err
}

// Verify reads every file that the manifest lists and compares it with the
// length and the SHA-256 that it had when the trial ended. The error joins one
// for each file that is not the same.
func (r *Reader) Verify() error {
	var errs []error
	for _, f := range r.Trial.Files {
		data, err := r.read(f.Name)
		if sum := sha256.Sum256(data); err == nil && hex.EncodeToString(sum[:]) != f.SHA256 {
			err = fmt.Errorf("%s was changed after the trial: its SHA-256 is not the manifest's", filepath.Join(r.path, f.Name))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// instance returns a file of an instance, nothing where a trial that did not
// finish has not begun it.
func (r *Reader) instance(i int, name string) (path string, data []byte, err error) {
	path = fmt.Sprintf("instance-%d/%s", i, name)
	data, err = r.read(path)
	if errors.Is(err, fs.ErrNotExist) && r.Trial.Status != Finished {
		return path, nil, nil
	}
	if err != nil {
		err = fmt.Errorf("reading trial %d: %w", r.Trial.Planned.Trial, err)
	}
	return filepath.Join(r.path, path), data, err
}

// Intervals returns what the driver of an instance, from 1, saw, in order;
// of a trial that was cut short, up to the last complete interval. There are
// no histograms in them, but P50, P95, P99 and Max are filled in.
func (r *Reader) Intervals(instance int) ([]Interval, error) {
	names := r.Trial.Workload.series()
	path, data, err := r.instance(instance, seriesName)
	if err != nil {
		return nil, err
	}
	out, err := parseSeries(path, data, names)
	if err != nil {
		return nil, err
	}
	path, data, err = r.instance(instance, loadName)
	if err != nil {
		return nil, err
	}
	return parseLoad(path, data, out)
}

// parseSeries reads series.csv. Intervals are complete or not there.
func parseSeries(name string, data []byte, types []string) ([]Interval, error) {
	t, ok := newTable(name, data)
	if !ok {
		return nil, nil
	}
	if err := t.expect(seriesHeader); err != nil {
		return nil, err
	}
	n := 0
	if len(types) > 0 {
		n = bytes.Count(t.rest, []byte("\n")) / len(types)
	}
	out := make([]Interval, 0, n)
	series := make([]Series, n*len(types))
	classes := make([]int64, n*len(types)*errorClasses)
	for range n {
		i := Interval{Types: series[:len(types):len(types)]}
		series = series[len(types):]
		for k, typ := range types {
			t.next()
			start, ok1 := parseSeconds(t.field())
			end, ok2 := parseSeconds(t.field())
			if !ok1 || !ok2 || end <= start {
				return nil, t.errorf("start and end are not those of an interval")
			}
			if k == 0 {
				i.Start, i.End = start, end
			}
			if got := t.field(); string(got) != typ || start != i.Start || end != i.End {
				return nil, t.errorf("%q from %v to %v stands where %q from %v to %v is expected", got, start, end, typ, i.Start, i.End)
			}
			s := &i.Types[k]
			s.Errors = classes[:errorClasses:errorClasses]
			classes = classes[errorClasses:]
			if !t.series(s) {
				return nil, t.errorf("a count is missing or not a whole number")
			}
		}
		if len(out) > 0 && i.Start < out[len(out)-1].End {
			return nil, t.errorf("the interval begins at %v, before the one above it ends", i.Start)
		}
		out = append(out, i)
	}
	return out, nil
}

// series takes the counts of one line.
func (t *table) series(s *Series) bool {
	ok := true
	take := func(to *int64, empty bool) {
		n, good := t.count(empty)
		*to, ok = n, ok && good
	}
	take(&s.Committed, false)
	take(&s.RolledBack, false)
	take(&s.Retries, false)
	for c := 1; c < errorClasses; c++ {
		take(&s.Errors[c], false)
	}
	take(&s.ResponseSum, false)
	take(&s.ThinkSum, false)
	for _, p := range []*int64{&s.P50, &s.P95, &s.P99, &s.Max} {
		take(p, true)
	}
	return ok
}

// parseLoad adds load.csv to intervals and returns those that are in both.
func parseLoad(name string, data []byte, intervals []Interval) ([]Interval, error) {
	t, ok := newTable(name, data)
	if !ok {
		return nil, nil
	}
	if err := t.expect(loadHeader); err != nil {
		return nil, err
	}
	idle := t.expect(loadHeader+idleColumn) == nil
	for n := range intervals {
		i := &intervals[n]
		if !t.next() {
			return intervals[:n], nil
		}
		end, ok1 := parseSeconds(t.field())
		var ok2, ok3 bool
		i.InFlight, ok2 = t.count(false)
		i.Backlog, ok3 = t.count(false)
		if idle {
			_, _ = t.field(), t.field() // lateness is read from its histogram
			var ok4 bool
			i.IdleSum, ok4 = t.count(false)
			ok3 = ok3 && ok4
		}
		if !ok1 || !ok2 || !ok3 {
			return nil, t.errorf("not a line of the load")
		}
		if end != i.End {
			return nil, t.errorf("the interval ends at %v, in %s at %v", end, seriesName, i.End)
		}
	}
	return intervals, nil
}

// Histograms merges the histograms of an instance, from 1, over the intervals
// that lie wholly between from and to since the epoch: one Merged for each
// type in order, the unit's last. Beyond the tenth minute intervals are of ten
// seconds.
func (r *Reader) Histograms(instance int, from, to time.Duration) ([]Merged, error) {
	names := r.Trial.Workload.series()
	tags := make(map[string]int, len(names)*kinds)
	for i, n := range names {
		for k := range kinds {
			tags[tag(n, k)] = i*kinds + k
		}
	}
	sums, err := r.histograms(instance, tags, from, to)
	if err != nil {
		return nil, err
	}
	out := make([]Merged, len(names))
	for i, n := range names {
		out[i] = Merged{n, sums[i*kinds+kindResponse], sums[i*kinds+kindService], sums[i*kinds+kindUndone]}
	}
	return out, nil
}

// Late merges the driver's lateness over the intervals that lie wholly
// between from and to since the epoch. It is empty where nothing was intended.
func (r *Reader) Late(instance int, from, to time.Duration) (*hdrhistogram.Histogram, error) {
	sums, err := r.histograms(instance, map[string]int{lateTag: 0}, from, to)
	if err != nil {
		return nil, err
	}
	return sums[0], nil
}

func (r *Reader) histograms(instance int, tags map[string]int, from, to time.Duration) ([]*hdrhistogram.Histogram, error) {
	path, data, err := r.instance(instance, histogramsName)
	if err != nil {
		return nil, err
	}
	found, err := findHistograms(path, data, tags, from, to)
	if err != nil {
		return nil, err
	}
	minutes, err := r.minutes(instance, tags, from, to)
	if err != nil {
		return nil, err
	}
	sums, err := sumHistograms(append(minutes, besides(found, minutes)...), len(tags))
	if err != nil {
		return nil, err
	}
	return sums, nil
}

// minutes lists the lines by minutes, of a trial that has them. They count
// only where the manifest lists the log: after a crash a minute may lack some
// of its lines, which nothing in the others would tell.
func (r *Reader) minutes(instance int, tags map[string]int, from, to time.Duration) ([]histogramLine, error) {
	name := fmt.Sprintf("instance-%d/%s", instance, minutesName)
	if !slices.ContainsFunc(r.Trial.Files, func(f File) bool { return f.Name == name }) {
		return nil, nil
	}
	path, data, err := r.instance(instance, minutesName)
	if err != nil {
		return nil, err
	}
	return findHistograms(path, data, tags, from, to)
}

// Counters returns the readings of one source, in order; name is as it was
// given to Writer.Counters. Where there is no such log the error is
// fs.ErrNotExist.
func (r *Reader) Counters(name string) (Counters, error) {
	data, err := r.read(name + ".csv")
	if err != nil {
		return Counters{}, fmt.Errorf("reading counters of trial %d: %w", r.Trial.Planned.Trial, err)
	}
	return parseCounters(filepath.Join(r.path, name+".csv"), data)
}

// States returns a log of states; name is as it was given to Writer.States.
// Where there is no such log the error is fs.ErrNotExist.
func (r *Reader) States(name string) (States, error) {
	data, err := r.read(name + ".csv")
	if err != nil {
		return States{}, fmt.Errorf("reading states of trial %d: %w", r.Trial.Planned.Trial, err)
	}
	return parseStates(filepath.Join(r.path, name+".csv"), data)
}

// Log returns the trial's log.txt.
func (r *Reader) Log() ([]byte, error) { return r.read("log.txt") }
