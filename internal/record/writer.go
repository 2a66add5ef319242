package record

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// maxCuts bounds how many unfinished attempts of one trial are kept.
const maxCuts = 1000

// Writer records one trial. Its methods may be called from several
// goroutines; the logs that it hands out belong to one goroutine each, the
// one of Log excepted.
type Writer struct {
	path string
	log  *lines

	mu        sync.Mutex
	trial     Trial
	logs      []*lines
	instances map[int]*InstanceWriter
	finished  bool
}

// Start begins the record of t, which must be in the plan and have its
// workload's types. An earlier attempt that did not finish is moved aside, to
// the name with ".cut-1" and so on; a finished one is an error. Format and
// Status are set; Started is the caller's.
func (d *Dir) Start(t Trial) (*Writer, error) {
	w, err := d.start(t)
	if err != nil {
		return nil, fmt.Errorf("starting the record of trial %d: %w", t.Trial, err)
	}
	return w, nil
}

func (d *Dir) start(t Trial) (*Writer, error) {
	planned := func(p Planned) bool { return p.Dir == t.Dir && p.Trial == t.Trial }
	if !slices.ContainsFunc(d.study.Plan, planned) {
		return nil, fmt.Errorf("directory %q is not in the plan", t.Dir)
	}
	if err := checkTypes(t.Workload.series()); err != nil {
		return nil, err
	}
	path := d.trial(t.Planned)
	if err := setAside(path); err != nil {
		return nil, err
	}
	// The directory gets its name when its manifest is in it, so that a crash
	// leaves no trial without one.
	temp := filepath.Join(filepath.Dir(path), "."+t.Dir+".new")
	if err := errors.Join(os.RemoveAll(temp), os.Mkdir(temp, 0o755)); err != nil {
		return nil, err
	}
	t.Format, t.Status, t.Reason, t.Files = Format, Running, "", nil
	if err := writeJSON(filepath.Join(temp, manifestName), t); err != nil {
		return nil, err
	}
	if err := os.Rename(temp, path); err != nil {
		return nil, err
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	log, err := newLines(path, "log.txt", "")
	if err != nil {
		return nil, err
	}
	return &Writer{path: path, log: log, trial: t, logs: []*lines{log}, instances: map[int]*InstanceWriter{}}, nil
}

// setAside renames an earlier, unfinished attempt at path.
func setAside(path string) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var t Trial
	if err := readFormat(filepath.Join(path, manifestName), &t); err == nil && t.Status == Finished {
		return fmt.Errorf("%s is finished already", path)
	}
	for i := range maxCuts {
		aside := fmt.Sprintf("%s.cut-%d", path, i+1)
		if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
			return os.Rename(path, aside)
		}
	}
	return fmt.Errorf("%s has %d earlier attempts beside it: remove some", path, maxCuts)
}

// checkTypes refuses names of types that would not fit a CSV field, or that
// are not unique.
func checkTypes(names []string) error {
	for i, n := range names {
		if n == "" || strings.ContainsFunc(n, func(r rune) bool { return r < ' ' || r == ',' || r == '"' }) {
			return fmt.Errorf("%q is not a name for a transaction type: it may not be empty or have commas, quotes or control characters", n)
		}
		if slices.Contains(names[:i], n) {
			return fmt.Errorf("two series are named %q", n)
		}
	}
	return nil
}

// series names the series of a record: the types in order, the unit's last.
func (w Workload) series() []string {
	names := make([]string, 0, len(w.Types)+1)
	for _, t := range w.Types {
		names = append(names, t.Name)
	}
	if w.Unit != "" {
		names = append(names, w.Unit)
	}
	return names
}

// Path is the trial's directory.
func (w *Writer) Path() string { return w.path }

// Log is log.txt: free text for people, written through at once. It is safe
// for concurrent use.
func (w *Writer) Log() io.Writer { return w.log }

// Update changes the manifest by change and writes it whole. Format, Status,
// Reason and the trial's place in the plan are not the caller's: Finish sets
// what needs setting.
func (w *Writer) Update(change func(*Trial)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.finished {
		return fmt.Errorf("trial %d: its record is finished", w.trial.Trial)
	}
	t := w.trial
	change(&t)
	t.Format, t.Status, t.Reason, t.Planned, t.Files = Format, Running, "", w.trial.Planned, nil
	w.trial = t
	return w.writeManifest()
}

func (w *Writer) writeManifest() error {
	if err := writeJSON(filepath.Join(w.path, manifestName), w.trial); err != nil {
		return fmt.Errorf("recording trial %d: %w", w.trial.Trial, err)
	}
	return nil
}

// Instance begins the record of instance i, from 1, in the directory
// instance-<i>. The manifest must name the workload's types by now.
func (w *Writer) Instance(i int) (*InstanceWriter, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i < 1 || w.instances[i] != nil || w.finished {
		return nil, fmt.Errorf("recording instance %d: numbers are from 1, each used once, before the trial ends", i)
	}
	iw, err := w.newInstance(i)
	if err != nil {
		return nil, fmt.Errorf("recording instance %d: %w", i, err)
	}
	w.instances[i] = iw
	return iw, nil
}

// open makes the log `name` and remembers it; w.mu is held.
func (w *Writer) open(name, head string) (*lines, error) {
	if w.finished {
		return nil, fmt.Errorf("trial %d: its record is finished", w.trial.Trial)
	}
	if err := checkName(name); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(filepath.Join(w.path, name)), 0o755); err != nil {
		return nil, err
	}
	l, err := newLines(w.path, name, head)
	if err != nil {
		return nil, err
	}
	w.logs = append(w.logs, l)
	return l, nil
}

// WriteFile keeps data whole under name, as it is: a server's log, say.
func (w *Writer) WriteFile(name string, data []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.open(name, string(data)); err != nil {
		return fmt.Errorf("recording %s: %w", name, err)
	}
	return nil
}

// Finish closes the record: first every log is made safe, then the manifest
// gets its last word, status (Finished, Failed or Aborted) with the reason.
// Ended is the caller's, by an Update before. Where a log could not be
// written, the status becomes Failed and the error says why.
func (w *Writer) Finish(status Status, reason string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if status != Finished && status != Failed && status != Aborted {
		return fmt.Errorf("trial %d cannot finish as %q", w.trial.Trial, status)
	}
	if w.finished {
		return fmt.Errorf("trial %d: its record is finished", w.trial.Trial)
	}
	w.finished = true
	var errs []error
	for _, iw := range w.instances {
		errs = append(errs, iw.flush())
	}
	dirs := map[string]bool{w.path: true}
	for _, l := range w.logs {
		f, err := l.close()
		errs = append(errs, err)
		w.trial.Files = append(w.trial.Files, f)
		dirs[filepath.Dir(filepath.Join(w.path, f.Name))] = true
	}
	for dir := range dirs {
		errs = append(errs, syncDir(dir))
	}
	err := errors.Join(errs...)
	if err != nil {
		status, reason = Failed, strings.TrimPrefix(reason+"; ", "; ")+"the record could not be written: "+err.Error()
	}
	w.trial.Status, w.trial.Reason = status, reason
	return errors.Join(err, w.writeManifest())
}
