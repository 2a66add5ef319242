//go:build linux

package golden

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/home"
)

// sign writes down who makes the state in tmp.
func (s Store) sign(tmp, key string) error {
	self, err := home.Self()
	if err != nil {
		return err
	}
	return home.WriteMark(tmp, home.Mark{
		Format: home.MarkFormat, ID: filepath.Base(tmp), Name: key, Owner: self, Made: s.Clock.Now().UTC().Round(time.Second), UID: s.User.UID,
	})
}

// undone lists the states of a cache that are being made or removed, with
// their keys.
func undone(cache string) (paths, keys []string, err error) {
	entries, err := os.ReadDir(root(cache))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, nil
	}
	for _, e := range entries {
		key, ok := strings.CutPrefix(e.Name(), unfinished)
		if !ok {
			key, ok = strings.CutPrefix(e.Name(), retired)
		}
		path := filepath.Join(root(cache), e.Name())
		if ok && home.HoldsOnly(path, "data", "state.json", "about.json", "owner.json", "owner.json.new") {
			paths, keys = append(paths, path), append(keys, key)
		}
	}
	return paths, keys, err
}

// Sweep removes unfinished states whose maker is dead, that is, whose
// lock is free.
func Sweep(cache string) (removed []string, err error) {
	paths, keys, err := undone(cache)
	errs := []error{err}
	for n, path := range paths {
		gone, err := unlocked(cache, keys[n], func() error { return home.RemoveTree(path) })
		errs = append(errs, err)
		if gone {
			removed = append(removed, path)
		}
	}
	return removed, errors.Join(errs...)
}

// Unfinished lists the states of a cache that a dead owner did not finish
// making or removing.
func Unfinished(cache string) (found []provider.Leftover, err error) {
	paths, keys, err := undone(cache)
	if err != nil {
		return nil, err
	}
	for n, path := range paths {
		free, err := unlocked(cache, keys[n], func() error { return nil })
		if err != nil {
			return nil, err
		}
		if !free {
			continue
		}
		l := provider.Leftover{Kind: "unfinished golden state", What: path, Why: "nobody holds the lock under which it was made", Bytes: home.SizeOf(path)}
		if m, ok := home.ReadMark(path); ok {
			l.Owner, l.Since, l.Why = m.For(path), m.Made, m.Ended()
		} else if info, err := os.Stat(path); err == nil {
			l.Since = info.ModTime()
		}
		key := keys[n]
		l.Remove = func(context.Context) error {
			return owned(unlocked(cache, key, func() error { return home.RemoveTree(path) }))
		}
		found = append(found, l)
	}
	return found, nil
}

// Stored lists the states of a cache. They are removed only while inUse says
// no, which it is asked each time.
func (s Store) Stored(ctx context.Context, inUse func(context.Context) (bool, error)) (found []provider.Leftover, err error) {
	entries, err := os.ReadDir(root(s.Cache))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if used, err := inUse(ctx); err != nil || used {
		return nil, errors.Join(err, fmt.Errorf("golden states in %s: an instance runs from them: %w", root(s.Cache), provider.ErrOwned))
	}
	for _, e := range entries {
		// What is no state, or one that this build can't read, may be anybody's.
		if _, ok, err := readState(s.Cache, e.Name()); ok && err == nil {
			found = append(found, s.stored(e.Name(), inUse))
		}
	}
	return found, nil
}

// stored describes one state.
func (s Store) stored(key string, inUse func(context.Context) (bool, error)) provider.Leftover {
	path := filepath.Join(root(s.Cache), key)
	l := provider.Leftover{Kind: "golden state", What: path, Why: "it is kept for the next run, which would build it again", Bytes: home.SizeOf(path)}
	if info, err := os.Stat(filepath.Join(path, "state.json")); err == nil {
		l.Since = info.ModTime()
	}
	var m home.Mark
	if text, err := os.ReadFile(filepath.Join(path, "owner.json")); err == nil && json.Unmarshal(text, &m) == nil {
		l.Owner, l.Since = m.For(path), m.Made
	}
	l.Remove = func(ctx context.Context) error {
		if used, err := inUse(ctx); err != nil || used {
			return errors.Join(err, fmt.Errorf("golden state %s: %w", key, provider.ErrOwned))
		}
		return owned(unlocked(s.Cache, key, func() error { return s.retire(key) }))
	}
	return l
}

// owned is an error where nothing could be done because somebody holds a lock.
func owned(free bool, err error) error {
	if err == nil && !free {
		return provider.ErrOwned
	}
	return err
}

// unlocked calls do while it holds the lock of key; free is false where
// somebody else does.
func unlocked(cache, key string, do func() error) (free bool, err error) {
	f, err := os.OpenFile(filepath.Join(root(cache), ".lock-"+key), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return false, nil //nolint:nilerr // another user's
	}
	defer f.Close()
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return false, nil
	}
	return true, do()
}
