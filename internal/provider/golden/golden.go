//go:build linux

// Package golden keeps golden states of instances' directories in a cache:
// below CACHE/golden a directory for each key with
//
//	state.json  what the state is: digest, number of files and bytes, owner
//	about.json  what the caller says of it
//	owner.json  who made it, for as long as it is unfinished
//	data/       the files
//
// Providers share the states: what one saved another restores.
//
// States are restored by reflink where the file system has it, else by a
// parallel copy. Never by an overlay mount: an overlay copies a whole file at
// its first write, for PostgreSQL up to 1 GiB, and would do so in the measured
// window. After a restore the files are on disk (nothing waits to be written
// back) and out of the page cache, so that every trial starts equally cold;
// cache that Loadstone had warmed would also be charged to Loadstone and give
// the instance memory beyond its limit.
package golden

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"golang.org/x/sys/unix"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/home"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

const (
	// stateFormat is the version of state.json.
	stateFormat = 1
	// unfinished and retired begin the names of golden states that are being
	// made or removed; keys do not begin with a dot.
	unfinished = ".unfinished-"
	retired    = ".retired-"
)

// keys is what keys of golden states look like. None begins with a dot: such
// names are for what is unfinished.
var keys = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}$`)

// goldenState is state.json, beside the files and the caller's about.json.
type goldenState struct {
	Format int        `json:"format"`
	Key    string     `json:"key"`
	Digest string     `json:"digest"`
	Covers string     `json:"covers"` // what the digest covers, in words
	Files  int        `json:"files"`
	Bytes  unit.Bytes `json:"bytes"`
	UID    int        `json:"uid"` // of the user whose files these are
	GID    int        `json:"gid"`
}

// Store keeps the golden states of one cache for instances of one user.
type Store struct {
	Clock clock.Clock
	Cache string
	User  home.Account // whose the restored files become
}

func root(cache string) string { return filepath.Join(cache, "golden") }

// lockKey takes the lock of one golden state: shared to read, exclusive to
// change.
func (s Store) lockKey(ctx context.Context, key string, how int) (*os.File, error) {
	if !keys.MatchString(key) {
		return nil, fmt.Errorf("golden state %q: a key is made of letters, digits, dots, dashes and underscores, and begins with no dot", key)
	}
	if err := os.MkdirAll(root(s.Cache), 0o711); err != nil {
		return nil, fmt.Errorf("golden state %q: %w", key, err)
	}
	f, err := home.LockFile(ctx, s.Clock, filepath.Join(root(s.Cache), ".lock-"+key), how)
	if err != nil {
		return nil, fmt.Errorf("golden state %q: %w", key, err)
	}
	return f, nil
}

// Find returns the description that was saved with key, or ok false.
func (s Store) Find(ctx context.Context, key string) (about []byte, ok bool, err error) {
	lock, err := s.lockKey(ctx, key, unix.LOCK_SH)
	if err != nil {
		return nil, false, err
	}
	defer lock.Close()
	if _, ok, err := readState(s.Cache, key); !ok || err != nil {
		return nil, false, err
	}
	about, err = os.ReadFile(filepath.Join(root(s.Cache), key, "about.json"))
	if err != nil {
		return nil, false, fmt.Errorf("golden state %q: %w: %w", key, provider.ErrDamaged, err)
	}
	return about, true, nil
}

// readState reads the description of a golden state; ok is false where there
// is no such state.
func readState(cache, key string) (state goldenState, ok bool, err error) {
	dir := filepath.Join(root(cache), key)
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return state, false, nil
	}
	text, err := os.ReadFile(filepath.Join(dir, "state.json"))
	if err == nil {
		err = json.Unmarshal(text, &state)
	}
	if err != nil {
		return state, false, fmt.Errorf("golden state %q in %s: %w: %w", key, dir, provider.ErrDamaged, err)
	}
	if state.Format != stateFormat || state.Key != key {
		return state, false, fmt.Errorf("golden state %q in %s: format %d of key %q is not one that this version reads: remove it, it will be built again", key, dir, state.Format, state.Key)
	}
	return state, true, nil
}

// Save keeps dir, which no process may have open, under key, with the
// caller's about. A state that is already under key is replaced. It is whole
// or not there at all, even after a crash.
func (s Store) Save(ctx context.Context, key string, about []byte, dir string) error {
	lock, err := s.lockKey(ctx, key, unix.LOCK_EX)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := dropUnfinished(s.Cache, key); err != nil {
		return fmt.Errorf("save golden state %q: %w", key, err)
	}
	tmp := filepath.Join(root(s.Cache), unfinished+key)
	if err := s.save(ctx, key, tmp, about, dir); err != nil {
		return errors.Join(fmt.Errorf("save golden state %q: %w", key, err), home.RemoveTree(tmp))
	}
	return nil
}

func (s Store) save(ctx context.Context, key, tmp string, about []byte, dir string) error {
	if err := os.Mkdir(tmp, 0o700); err != nil {
		return err
	}
	if err := s.sign(tmp, key); err != nil {
		return err
	}
	files, err := scan(dir)
	if err != nil {
		return err
	}
	to := filepath.Join(tmp, "data")
	if _, err := copyTree(ctx, dir, to, files, owners{}); err != nil {
		return err
	}
	before, err := digestTree(ctx, dir, files)
	if err != nil {
		return err
	}
	after, err := digestTree(ctx, to, files)
	if err != nil {
		return err
	}
	if before != after {
		return errors.New("the files changed while they were copied: does a process still write to them?")
	}
	state, err := json.MarshalIndent(goldenState{
		Format: stateFormat, Key: key, Digest: after.hash, Covers: after.covers,
		Files: len(files), Bytes: files.bytes(), UID: s.User.UID, GID: s.User.GID,
	}, "", "  ")
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{"state.json": append(state, '\n'), "about.json": about} {
		if err := os.WriteFile(filepath.Join(tmp, name), text, 0o600); err != nil {
			return err
		}
	}
	// Everything must be on the disk before the name is: else a crash could
	// leave a complete-looking state with empty files.
	if err := syncFS(tmp); err != nil {
		return err
	}
	evict(to, files)
	return s.publish(ctx, key, tmp)
}

// publish gives the finished state its name, in the place of an older one.
func (s Store) publish(ctx context.Context, key, tmp string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.retire(key); err != nil {
		return err
	}
	if err := os.Rename(tmp, filepath.Join(root(s.Cache), key)); err != nil {
		return err
	}
	dir, err := os.Open(root(s.Cache))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// retire removes the state under key, if there is one: its name first, so
// that no half of it can be found.
func (s Store) retire(key string) error {
	old := filepath.Join(root(s.Cache), retired+key)
	err := os.Rename(filepath.Join(root(s.Cache), key), old)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return home.RemoveTree(old)
}

// Remove removes the golden state under key. It is no error if there is none.
func (s Store) Remove(ctx context.Context, key string) error {
	lock, err := s.lockKey(ctx, key, unix.LOCK_EX)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := errors.Join(s.retire(key), dropUnfinished(s.Cache, key)); err != nil {
		return fmt.Errorf("remove golden state %q: %w", key, err)
	}
	return nil
}

// dropUnfinished removes what a crash left of a state; the caller holds its
// lock.
func dropUnfinished(cache, key string) error {
	return errors.Join(
		home.RemoveTree(filepath.Join(root(cache), unfinished+key)),
		home.RemoveTree(filepath.Join(root(cache), retired+key)))
}

// Restore replaces dir, which no process may have open, by the state under
// key and verifies it. The files that it leaves are on the disk and not in the
// page cache. When it fails, dir is as it was before; the error is
// provider.ErrDamaged where the state is not what was saved.
func (s Store) Restore(ctx context.Context, key, dir string) (provider.Restored, error) {
	none := provider.Restored{}
	lock, err := s.lockKey(ctx, key, unix.LOCK_SH)
	if err != nil {
		return none, err
	}
	defer lock.Close()
	state, ok, err := readState(s.Cache, key)
	if err != nil {
		return none, err
	}
	if !ok {
		return none, fmt.Errorf("there is no golden state %q in %s", key, root(s.Cache))
	}
	incoming := filepath.Join(filepath.Dir(dir), "incoming")
	done, err := s.restore(ctx, state, incoming, dir)
	if err != nil {
		return none, errors.Join(fmt.Errorf("restore golden state %q: %w", key, err), home.RemoveTree(incoming))
	}
	return done, nil
}

func (s Store) restore(ctx context.Context, state goldenState, incoming, dir string) (provider.Restored, error) {
	none := provider.Restored{}
	from := filepath.Join(root(s.Cache), state.Key, "data")
	began := s.Clock.Now()
	files, err := scan(from)
	if err != nil {
		return none, fmt.Errorf("%w: %w", provider.ErrDamaged, err)
	}
	if len(files) != state.Files || files.bytes() != state.Bytes {
		return none, fmt.Errorf("%w: %d files with %d bytes were saved, there are %d with %d",
			provider.ErrDamaged, state.Files, state.Bytes, len(files), files.bytes())
	}
	way, err := copyTree(ctx, from, incoming, files, owners{from: state.UID, to: s.User, change: s.User.Change})
	if err != nil {
		return none, err
	}
	// Written back now, it can't be written back in the measured window.
	if err := syncFS(incoming); err != nil {
		return none, err
	}
	copied := s.Clock.Now()
	sum, err := digestTree(ctx, incoming, files)
	if err != nil {
		return none, err
	}
	if sum.hash != state.Digest {
		return none, fmt.Errorf("%w: the digest of %s is %s, %s was saved", provider.ErrDamaged, sum.covers, sum.hash, state.Digest)
	}
	evict(incoming, files)
	evict(from, files)
	verified := s.Clock.Now()
	if err := swapIn(incoming, dir); err != nil {
		return none, err
	}
	return provider.Restored{
		Way: way, Took: copied.Sub(began), Verify: verified.Sub(copied),
		Digest: sum.hash, Verified: sum.covers, Bytes: files.bytes(),
	}, nil
}

// swapIn puts incoming in the place of dir.
func swapIn(incoming, dir string) error {
	if err := unix.Renameat2(unix.AT_FDCWD, incoming, unix.AT_FDCWD, dir, unix.RENAME_EXCHANGE); err != nil {
		return fmt.Errorf("exchange %s and %s: %w", incoming, dir, err)
	}
	return home.RemoveTree(incoming) // which now is the old one
}
