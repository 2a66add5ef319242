//go:build linux

package native

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/loadstone-perf/loadstone/internal/clock"
)

const (
	// markFormat is the version of owner.json.
	markFormat = 1
	// making begins the name of an instance's directory until its mark is
	// written. It only exists while the lock of all instances is held, so
	// whoever holds the lock may remove one.
	making = ".making-"
	// lockBound is how long others may hold the lock of all instances.
	lockBound = 60 * time.Second
	// closeBound is how long an instance's processes may take to go away.
	closeBound = 30 * time.Second
	// poll is how often something is looked at that gives no notice.
	poll = 5 * time.Millisecond
)

// mark is owner.json: it says that a directory is Loadstone's, and what
// belongs to it elsewhere.
type mark struct {
	Format    int      `json:"format"`
	ID        string   `json:"id"` // the directory's name
	Name      string   `json:"name"`
	PID       int      `json:"pid"`
	StartTime uint64   `json:"start_time"` // of the process, in clock ticks since boot
	Boot      string   `json:"boot"`       // the kernel's boot id
	UID       int      `json:"uid"`        // whom commands run as
	Cgroups   []string `json:"cgroups,omitempty"`
}

// home is the directory of an instance, owned for as long as the lock is
// held.
type home struct {
	id   string
	dir  string
	lock *os.File
	mark mark
}

func (h *home) data() string { return filepath.Join(h.dir, "data") }
func (h *home) run() string  { return filepath.Join(h.dir, "run") }

func instances(cache string) string { return filepath.Join(cache, "instances") }

// newHome makes the directory of an instance. It appears under its name
// complete with lock and mark, or not at all.
func newHome(ctx context.Context, clk clock.Clock, cache, name string, who account) (*home, error) {
	all := instances(cache)
	if err := os.MkdirAll(all, 0o755); err != nil {
		return nil, fmt.Errorf("instance directory: %w", err)
	}
	guard, err := lockFile(ctx, clk, filepath.Join(all, ".lock"), unix.LOCK_EX)
	if err != nil {
		return nil, err
	}
	defer guard.Close()
	tmp, err := os.MkdirTemp(all, making+name+"-")
	if err != nil {
		return nil, fmt.Errorf("instance directory: %w", err)
	}
	h, err := fillHome(tmp, name, who)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("instance directory: %w", err), removeTree(tmp))
	}
	if err := os.Rename(tmp, h.dir); err != nil {
		h.lock.Close()
		return nil, errors.Join(fmt.Errorf("instance directory: %w", err), removeTree(tmp))
	}
	return h, nil
}

func fillHome(tmp, name string, who account) (_ *home, err error) {
	id := strings.TrimPrefix(filepath.Base(tmp), making)
	h := &home{id: id, dir: filepath.Join(filepath.Dir(tmp), id)}
	boot, err := bootID()
	if err != nil {
		return nil, err
	}
	self, err := readStat(os.Getpid())
	if err != nil {
		return nil, err
	}
	h.mark = mark{Format: markFormat, ID: id, Name: name, PID: os.Getpid(), StartTime: self.start, Boot: boot, UID: who.uid}
	// The user passes through to data and run but can't list or write here.
	if err := os.Chmod(tmp, 0o711); err != nil {
		return nil, err
	}
	for _, sub := range []string{"data", "run"} {
		if err := os.Mkdir(filepath.Join(tmp, sub), 0o700); err != nil {
			return nil, err
		}
		if err := who.own(filepath.Join(tmp, sub)); err != nil {
			return nil, err
		}
	}
	if err := writeMark(tmp, h.mark); err != nil {
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

func writeMark(dir string, m mark) error {
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

// announce writes down the cgroups that are about to be made.
func (h *home) announce(g *group) error {
	if g == nil {
		return nil
	}
	h.mark.Cgroups = g.dirs()
	if err := writeMark(h.dir, h.mark); err != nil {
		return fmt.Errorf("instance directory: %w", err)
	}
	return nil
}

// remove removes the directory, its mark last, and gives the lock up.
func (h *home) remove() error {
	if err := removeMarked(h.dir); err != nil {
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
		if err := removeTree(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	// What is left goes in one step as far as sweepers see: under the name
	// that only unfinished directories have.
	gone := filepath.Join(filepath.Dir(dir), making+filepath.Base(dir))
	if err := os.Rename(dir, gone); err != nil {
		return err
	}
	return removeTree(gone)
}

// Sweep removes what owners that died left below cache: their processes,
// cgroups, instance directories and unfinished golden states. It returns the
// paths that it removed. It touches nothing whose owner lives, and nothing
// without Loadstone's mark.
func Sweep(cache string) ([]string, error) {
	dir, err := filepath.Abs(cache)
	if err != nil {
		return nil, fmt.Errorf("sweep %s: %w", cache, err)
	}
	removed, err := sweep(context.Background(), clock.Real{}, dir)
	if err != nil {
		return removed, fmt.Errorf("sweep %s: %w", cache, err)
	}
	return removed, nil
}

func sweep(ctx context.Context, clk clock.Clock, cache string) (removed []string, err error) {
	if _, err := os.Stat(cache); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	all := instances(cache)
	entries, err := os.ReadDir(all)
	if err == nil && len(entries) > 0 {
		guard, lockErr := lockFile(ctx, clk, filepath.Join(all, ".lock"), unix.LOCK_EX)
		if lockErr != nil {
			return nil, lockErr
		}
		defer guard.Close()
		entries, err = os.ReadDir(all)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var errs []error
	for _, e := range entries {
		dir := filepath.Join(all, e.Name())
		if !e.IsDir() {
			continue
		}
		if strings.HasPrefix(e.Name(), making) {
			if err := removeTree(dir); err != nil {
				errs = append(errs, err)
				continue
			}
			removed = append(removed, dir)
			continue
		}
		gone, err := sweepInstance(ctx, clk, dir)
		removed = append(removed, gone...)
		errs = append(errs, err)
	}
	gone, err := sweepGolden(cache)
	return append(removed, gone...), errors.Join(append(errs, err)...)
}

// sweepInstance removes one instance if it is marked and its owner is dead.
func sweepInstance(ctx context.Context, clk clock.Clock, dir string) (removed []string, err error) {
	m, ok := readMark(dir)
	if !ok {
		return nil, nil
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR, 0)
	if err != nil {
		return nil, nil // gone meanwhile, or another user's
	}
	defer lock.Close()
	if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return nil, nil // the owner lives
	}
	ctx, cancel := context.WithTimeout(ctx, closeBound)
	defer cancel()
	// Process ids and cgroups mean nothing any more after a reboot.
	if boot, err := bootID(); err == nil && boot == m.Boot {
		if err := killTrees(ctx, clk, filepath.Join(dir, "run")); err != nil {
			return nil, err
		}
		for _, cg := range m.Cgroups {
			if filepath.Base(cg) != groupName(m.ID) || !isCgroup(cg) {
				continue
			}
			if err := killDir(ctx, clk, cg); err != nil {
				return removed, err
			}
			if err := removeCgroup(ctx, clk, cg); err != nil {
				return removed, err
			}
			removed = append(removed, cg)
		}
	}
	if err := removeMarked(dir); err != nil {
		return removed, err
	}
	return append(removed, dir), nil
}

// readMark reads the mark of an instance's directory; ok is false where there
// is none that this version understands.
func readMark(dir string) (m mark, ok bool) {
	text, err := os.ReadFile(filepath.Join(dir, "owner.json"))
	if err != nil || json.Unmarshal(text, &m) != nil {
		return mark{}, false
	}
	return m, m.Format == markFormat && m.ID == filepath.Base(dir)
}

func bootID() (string, error) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("boot id: %w", err)
	}
	return string(bytes.TrimSpace(text)), nil
}

// lockFile takes the lock on path, made if need be, and waits for it for
// lockBound at most. Closing the file gives the lock up.
func lockFile(ctx context.Context, clk clock.Clock, path string, how int) (*os.File, error) {
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
			if err = pause(wait, clk); err == nil {
				continue
			}
		}
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
}

// pause waits a moment, or returns ctx's error.
func pause(ctx context.Context, clk clock.Clock) error {
	return clk.SleepUntil(ctx, clk.Now().Add(poll))
}
