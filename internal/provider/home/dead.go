//go:build linux

package home

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/provider"
)

// Clean removes what an owner that died left outside of the directory dir,
// which m tells. It returns what it removed. sameBoot is false where the
// machine was started again since: process ids and cgroups mean nothing then.
type Clean func(ctx context.Context, dir string, m Mark, sameBoot bool) (removed []string, err error)

// Dead is a directory whose owner died.
type Dead struct {
	Dir  string
	Mark Mark
	// Half says that it was never finished, so that it has no mark.
	Half bool
}

// Why says why nobody is believed to own it.
func (d Dead) Why() string {
	if d.Half {
		return "it was never finished, and nobody holds the lock under which it was made"
	}
	return d.Mark.Ended()
}

// Leftover describes d as something of a kind with parts, which clean removes.
func (d Dead) Leftover(clk clock.Clock, kind string, parts []string, clean Clean) provider.Leftover {
	if d.Half {
		kind = "unfinished " + kind
	}
	l := provider.Leftover{Kind: kind, What: d.Dir, Why: d.Why(), Since: d.Mark.Made, Bytes: SizeOf(d.Dir)}
	l.Owner = d.Mark.For(d.Dir)
	for _, path := range d.Mark.Elsewhere {
		if _, err := os.Lstat(path); err == nil {
			parts = append(parts, path)
		}
	}
	l.Parts = parts
	if info, err := os.Stat(d.Dir); l.Since.IsZero() && err == nil {
		l.Since = info.ModTime()
	}
	l.Remove = func(ctx context.Context) error { return d.Remove(ctx, clk, clean) }
	return l
}

// Remove removes d, after clean has removed what belongs to it, if it still has
// no owner; the error is provider.ErrOwned where it has one.
func (d Dead) Remove(ctx context.Context, clk clock.Clock, clean Clean) error {
	guard, err := LockFile(ctx, clk, filepath.Join(filepath.Dir(d.Dir), ".lock"), unix.LOCK_EX)
	if err != nil {
		return err
	}
	defer guard.Close()
	if d.Half {
		return RemoveTree(d.Dir)
	}
	if _, err := os.Stat(d.Dir); errors.Is(err, os.ErrNotExist) {
		return nil // somebody else has removed it
	}
	removed, err := sweepOne(ctx, d.Dir, clean)
	if err == nil && len(removed) == 0 {
		err = fmt.Errorf("%s: %w", d.Dir, provider.ErrOwned)
	}
	return err
}

// Find lists the directories below all whose owners died; all need not be
// there. It removes nothing.
func Find(ctx context.Context, clk clock.Clock, all string) (found []Dead, err error) {
	err = each(ctx, clk, all, func(d Dead) error {
		if d.Half {
			found = append(found, d)
			return nil
		}
		m, lock, dead := deadOwner(d.Dir)
		if dead {
			d.Mark = m
			found = append(found, d)
			_ = lock.Close()
		}
		return nil
	})
	return found, err
}

// Living says whether anybody owns a directory below all.
func Living(ctx context.Context, clk clock.Clock, all string) (found bool, err error) {
	err = each(ctx, clk, all, func(d Dead) error {
		if _, marked := ReadMark(d.Dir); d.Half || !marked {
			return nil
		}
		_, lock, dead := deadOwner(d.Dir)
		if dead {
			return lock.Close()
		}
		found = true
		return nil
	})
	return found, err
}

// Sweep removes the directories below all whose owners died, after clean has
// removed what belongs to them, and returns what was removed. It touches
// nothing whose owner lives, and nothing without a mark.
func Sweep(ctx context.Context, clk clock.Clock, all string, clean Clean) (removed []string, err error) {
	err = each(ctx, clk, all, func(d Dead) error {
		if d.Half {
			removed = append(removed, d.Dir)
			return RemoveTree(d.Dir)
		}
		gone, err := sweepOne(ctx, d.Dir, clean)
		removed = append(removed, gone...)
		return err
	})
	return removed, err
}

// each calls do with every directory below all, under the lock of all. What
// was never finished is known by its name.
func each(ctx context.Context, clk clock.Clock, all string, do func(Dead) error) error {
	entries, err := os.ReadDir(all)
	if err == nil && len(entries) > 0 {
		guard, lockErr := LockFile(ctx, clk, filepath.Join(all, ".lock"), unix.LOCK_EX)
		if lockErr != nil {
			return lockErr
		}
		defer guard.Close()
		entries, err = os.ReadDir(all)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	var errs []error
	for _, e := range entries {
		d := Dead{Dir: filepath.Join(all, e.Name()), Half: strings.HasPrefix(e.Name(), making)}
		if !e.IsDir() || d.Half && !HoldsOnly(d.Dir, "data", "run", "lock", "owner.json", "owner.json.new") {
			continue
		}
		errs = append(errs, do(d))
	}
	return errors.Join(errs...)
}

// HoldsOnly says whether a directory that is known by its name alone has
// nothing in it but what names say: else somebody else made it.
func HoldsOnly(dir string, names ...string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return !slices.Contains(names, e.Name()) })
}

// deadOwner says whether the owner of a marked directory died: the lock is
// free, and the process is not known to run. The lock is then taken.
func deadOwner(dir string) (m Mark, lock *os.File, dead bool) {
	m, ok := ReadMark(dir)
	if !ok {
		return m, nil, false
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR, 0)
	if err != nil {
		return m, nil, false // gone meanwhile, or another user's
	}
	free := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
	if runs, known := m.Runs(); !free || known && runs {
		_ = lock.Close()
		return m, nil, false
	}
	return m, lock, true
}

// sweepOne removes one instance if it is marked and its owner is dead.
func sweepOne(ctx context.Context, dir string, clean Clean) (removed []string, err error) {
	m, lock, dead := deadOwner(dir)
	if !dead {
		return nil, nil
	}
	defer lock.Close()
	ctx, cancel := context.WithTimeout(ctx, SweepBound)
	defer cancel()
	removed, err = clean(ctx, dir, m, m.SameBoot())
	if err != nil {
		return removed, err
	}
	for _, path := range m.Elsewhere {
		gone, err := removeElsewhere(path, m)
		if err != nil {
			return removed, err
		}
		if gone {
			removed = append(removed, path)
		}
	}
	if err := removeMarked(dir); err != nil {
		return removed, err
	}
	return append(removed, dir), nil
}

// removeElsewhere removes what a mark says belongs to it, if that itself says
// so, too: marks are files that anybody with the rights may have edited.
func removeElsewhere(path string, m Mark) (bool, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if info.IsDir() {
		its, marked := ReadMark(path)
		if !marked || its.Owner != m.Owner {
			return false, nil
		}
		return true, removeMarked(path)
	}
	if !info.Mode().IsRegular() || !strings.Contains(filepath.Base(path), m.ID) {
		return false, nil
	}
	return true, os.Remove(path)
}
