//go:build linux

// Package home is the directory in which an instance lives on this machine,
// and the user as whom it runs.
//
// The directory carries the mark of its owner, so that whoever comes later
// can tell the instances of the living from what the dead left:
//
//	owner.json  who made it: process, start time, boot, what belongs to it elsewhere (Mark)
//	lock        held with flock as long as the owner lives
//	data/       belongs to the instance's user; what golden states hold
//	run/        belongs to the instance's user; for the provider's own use
//
// It appears with lock and mark, or not at all, and stays recognisable until
// it is empty.
package home

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/provider/cgroup"
)

const (
	// MarkFormat is the version of owner.json that this build writes.
	MarkFormat = 1
	// making begins the name of an instance's directory until its mark is
	// written. It only exists while the lock of all instances is held, so
	// whoever holds the lock may remove one.
	making = ".making-"
	// lockBound is how long others may hold the lock of all instances.
	lockBound = 60 * time.Second
	// SweepBound is how long what one dead owner left may take to go away.
	SweepBound = 30 * time.Second
)

// Mark is owner.json: it says that a directory is Loadstone's, and what
// belongs to it elsewhere.
type Mark struct {
	Format int    `json:"format"`
	ID     string `json:"id"` // the directory's name
	Name   string `json:"name"`
	Owner
	Made    time.Time `json:"made,omitzero"`
	UID     int       `json:"uid"` // whom commands run as
	Cgroups []string  `json:"cgroups,omitempty"`
	// Elsewhere are files and directories outside that belong to it: files
	// have the ID in their names, directories a mark of the same owner.
	Elsewhere []string `json:"elsewhere,omitempty"`
	// Container is the name of the instance's container, and Engine the
	// socket of the engine that has it; "" is Loadstone's own.
	Container string `json:"container,omitempty"`
	Engine    string `json:"engine,omitempty"`
}

// Home is the directory of an instance, owned for as long as the lock is
// held.
type Home struct {
	ID   string
	Dir  string
	lock *os.File
	Mark Mark
}

// Data is the directory that belongs to the instance's user.
func (h *Home) Data() string { return filepath.Join(h.Dir, "data") }

// Run is the directory for what concerns the instance's processes.
func (h *Home) Run() string { return filepath.Join(h.Dir, "run") }

// New makes the directory of an instance below all, where instances of one
// kind are. It appears under its name complete with lock and mark, or not at
// all.
func New(ctx context.Context, clk clock.Clock, all, name string, who Account) (*Home, error) {
	if err := os.MkdirAll(all, 0o755); err != nil {
		return nil, fmt.Errorf("instance directory: %w", err)
	}
	guard, err := LockFile(ctx, clk, filepath.Join(all, ".lock"), unix.LOCK_EX)
	if err != nil {
		return nil, err
	}
	defer guard.Close()
	tmp, err := os.MkdirTemp(all, making+name+"-")
	if err != nil {
		return nil, fmt.Errorf("instance directory: %w", err)
	}
	h, err := fill(clk, tmp, name, who)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("instance directory: %w", err), RemoveTree(tmp))
	}
	if err := os.Rename(tmp, h.Dir); err != nil {
		h.lock.Close()
		return nil, errors.Join(fmt.Errorf("instance directory: %w", err), RemoveTree(tmp))
	}
	return h, nil
}

func fill(clk clock.Clock, tmp, name string, who Account) (_ *Home, err error) {
	id := strings.TrimPrefix(filepath.Base(tmp), making)
	h := &Home{ID: id, Dir: filepath.Join(filepath.Dir(tmp), id)}
	self, err := Self()
	if err != nil {
		return nil, err
	}
	h.Mark = Mark{Format: MarkFormat, ID: id, Name: name, Owner: self, Made: clk.Now().UTC().Round(time.Second), UID: who.UID}
	// The user passes through to data and run but can't list or write here.
	if err := os.Chmod(tmp, 0o711); err != nil {
		return nil, err
	}
	for _, sub := range []string{"data", "run"} {
		if err := os.Mkdir(filepath.Join(tmp, sub), 0o700); err != nil {
			return nil, err
		}
		if err := who.Own(filepath.Join(tmp, sub)); err != nil {
			return nil, err
		}
	}
	if err := WriteMark(tmp, h.Mark); err != nil {
		return nil, err
	}
	h.lock, err = os.OpenFile(filepath.Join(tmp, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(h.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		h.lock.Close()
		return nil, fmt.Errorf("lock: %w", err)
	}
	return h, nil
}

// WriteMark writes m into dir, whole or not at all.
func WriteMark(dir string, m Mark) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("owner.json: %w", err)
	}
	tmp := filepath.Join(dir, "owner.json.new")
	if err := os.WriteFile(tmp, append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, filepath.Join(dir, "owner.json"))
}

// Announce writes down what is about to be made elsewhere.
func (h *Home) Announce(edit func(*Mark)) error {
	edit(&h.Mark)
	if err := WriteMark(h.Dir, h.Mark); err != nil {
		return fmt.Errorf("instance directory: %w", err)
	}
	return nil
}

// Abandon gives the lock up and leaves the directory as a death of the owner
// would: with a mark that names a process which does not run.
func (h *Home) Abandon() error {
	return errors.Join(h.Announce(func(m *Mark) { m.StartTime-- }), h.lock.Close())
}

// Remove removes the directory, its mark last, and gives the lock up.
func (h *Home) Remove() error {
	if err := removeMarked(h.Dir); err != nil {
		return err
	}
	if err := h.lock.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// removeMarked removes an instance's directory so that it stays recognisable
// until it is empty.
func removeMarked(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == "owner.json" || e.Name() == "lock" {
			continue
		}
		if err := RemoveTree(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	// What is left goes in one step as far as sweepers see: under the name
	// that only unfinished directories have.
	gone := filepath.Join(filepath.Dir(dir), making+filepath.Base(dir))
	if err := os.Rename(dir, gone); err != nil {
		return err
	}
	return RemoveTree(gone)
}

// ReadMark reads the mark of an instance's directory; ok is false where there
// is none that this version understands.
func ReadMark(dir string) (m Mark, ok bool) {
	text, err := os.ReadFile(filepath.Join(dir, "owner.json"))
	if err != nil || json.Unmarshal(text, &m) != nil {
		return Mark{}, false
	}
	return m, m.Format == MarkFormat && m.ID == filepath.Base(dir)
}

// LockFile takes the lock on path, made if need be, and waits for it for
// lockBound at most. Closing the file gives the lock up.
func LockFile(ctx context.Context, clk clock.Clock, path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	wait, cancel := context.WithTimeout(ctx, lockBound)
	defer cancel()
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
			if err = cgroup.Pause(wait, clk); err == nil {
				continue
			}
		}
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
}

// RemoveTree removes path and all below it, with directories that forbid to
// write in them: for root no directory does, for others they are in the way.
func RemoveTree(path string) error {
	err := os.RemoveAll(path)
	if !errors.Is(err, os.ErrPermission) {
		return err
	}
	walkErr := filepath.WalkDir(path, func(at string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			// WalkDir reads a directory after this call.
			return os.Chmod(at, 0o700)
		}
		return err
	})
	return errors.Join(walkErr, os.RemoveAll(path))
}
