package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Dir is a result directory: one study with its trials.
type Dir struct {
	path   string
	study  Study
	source []byte
}

// Create makes a result directory at path, which must not exist or be empty.
// source is the study file's text. s.Format is set.
func Create(path string, s Study, source []byte) (*Dir, error) {
	s.Format = Format
	if err := checkPlan(s.Plan); err != nil {
		return nil, fmt.Errorf("creating a result directory: %w", err)
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, fmt.Errorf("creating a result directory: %w", err)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("creating a result directory: %w", err)
	}
	if len(entries) > 0 {
		return nil, fmt.Errorf("creating a result directory: %s is not empty: it holds %s", path, entries[0].Name())
	}
	if err := os.Mkdir(filepath.Join(path, "trials"), 0o755); err != nil {
		return nil, fmt.Errorf("creating a result directory: %w", err)
	}
	if err := writeWhole(filepath.Join(path, "study.yaml"), source); err != nil {
		return nil, fmt.Errorf("creating a result directory: %w", err)
	}
	// study.json comes last: with it, the directory is a result.
	if err := writeJSON(filepath.Join(path, "study.json"), s); err != nil {
		return nil, fmt.Errorf("creating a result directory: %w", err)
	}
	return &Dir{path, s, slices.Clone(source)}, nil
}

// Open opens the result directory at path. The error says where path is no
// result of Loadstone, or that of a newer one.
func Open(path string) (*Dir, error) {
	d := &Dir{path: path}
	err := readFormat(filepath.Join(path, "study.json"), &d.study)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("opening a result directory: %w", err)
		}
		return nil, fmt.Errorf("%s is not a result directory of Loadstone: it has no study.json", path)
	}
	if err == nil {
		err = checkPlan(d.study.Plan)
	}
	if err == nil {
		d.source, err = os.ReadFile(filepath.Join(path, "study.yaml"))
	}
	if err != nil {
		return nil, fmt.Errorf("opening a result directory: %w", err)
	}
	return d, nil
}

// checkPlan refuses directories that collide or lead out of trials/.
func checkPlan(plan []Planned) error {
	seen := make(map[string]int, len(plan))
	for _, p := range plan {
		if err := checkName(p.Dir); err != nil {
			return fmt.Errorf("trial %d: %w", p.Trial, err)
		}
		if filepath.Base(p.Dir) != p.Dir {
			return fmt.Errorf("trial %d: directory %q has a slash", p.Trial, p.Dir)
		}
		if other, ok := seen[p.Dir]; ok {
			return fmt.Errorf("trials %d and %d have the same directory %q", other, p.Trial, p.Dir)
		}
		seen[p.Dir] = p.Trial
	}
	return nil
}

// Path is where the directory is.
func (d *Dir) Path() string { return d.path }

// Study is the directory's study.json.
func (d *Dir) Study() Study { return d.study }

// Source is the text of the study file.
func (d *Dir) Source() []byte { return slices.Clone(d.source) }

// Grow rewrites study.json with more trials behind those of the plan so far,
// and with the decisions that led there: a search plans as it goes.
func (d *Dir) Grow(more []Planned, search []Decision) error {
	s := d.study
	s.Plan = slices.Concat(s.Plan, more)
	s.Search = search
	if err := checkPlan(s.Plan); err != nil {
		return fmt.Errorf("growing the plan: %w", err)
	}
	if err := writeJSON(filepath.Join(d.path, "study.json"), s); err != nil {
		return fmt.Errorf("growing the plan: %w", err)
	}
	d.study = s
	return nil
}

// Disturb marks a finished trial as disturbed, so that it is run again: the
// next Start moves it aside.
func (d *Dir) Disturb(p Planned, reason string) error {
	path := filepath.Join(d.trial(p), manifestName)
	var t Trial
	if err := readFormat(path, &t); err != nil {
		return fmt.Errorf("marking trial %d as disturbed: %w", p.Trial, err)
	}
	if t.Status != Finished {
		return fmt.Errorf("marking trial %d as disturbed: it is %s", p.Trial, t.Status)
	}
	t.Status, t.Reason = Disturbed, reason
	if err := writeJSON(path, t); err != nil {
		return fmt.Errorf("marking trial %d as disturbed: %w", p.Trial, err)
	}
	return nil
}

// trial is the directory of a planned trial.
func (d *Dir) trial(p Planned) string { return filepath.Join(d.path, "trials", p.Dir) }

// Trials opens every trial of the plan, in the order of the plan. One whose
// manifest is damaged does not hide the others: see Reader.Damage.
func (d *Dir) Trials() ([]*Reader, error) {
	busy := d.Busy()
	out := make([]*Reader, 0, len(d.study.Plan))
	for _, p := range d.study.Plan {
		r, err := openTrial(d.trial(p), p, busy)
		if err != nil {
			return nil, fmt.Errorf("trial %d: %w", p.Trial, err)
		}
		out = append(out, r)
	}
	return out, nil
}

// Pending lists what is still to run, for whoever holds the lock: trials that
// are missing, that were cut short, aborted or disturbed, and those whose
// status is among again (Failed, to try failed ones once more).
func (d *Dir) Pending(again ...Status) ([]Planned, error) {
	trials, err := d.Trials()
	if err != nil {
		return nil, err
	}
	var out []Planned
	for _, r := range trials {
		if r.Missing || slices.Contains([]Status{Running, Aborted, Disturbed}, r.Trial.Status) || slices.Contains(again, r.Trial.Status) {
			out = append(out, r.Trial.Planned)
		}
	}
	return out, nil
}
