//go:build linux

package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/loadstone-perf/loadstone/internal/provider"
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

func golden(cache string) string { return filepath.Join(cache, "golden") }

// lockKey takes the lock of one golden state: shared to read, exclusive to
// change.
func (i *Instance) lockKey(ctx context.Context, key string, how int) (*os.File, error) {
	if !keys.MatchString(key) {
		return nil, fmt.Errorf("golden state %q: a key is made of letters, digits, dots, dashes and underscores, and begins with no dot", key)
	}
	if err := os.MkdirAll(golden(i.cache), 0o711); err != nil {
		return nil, fmt.Errorf("golden state %q: %w", key, err)
	}
	f, err := lockFile(ctx, i.clk, filepath.Join(golden(i.cache), ".lock-"+key), how)
	if err != nil {
		return nil, fmt.Errorf("golden state %q: %w", key, err)
	}
	return f, nil
}

// Find implements provider.Snapshotter.
func (i *Instance) Find(ctx context.Context, key string) (about []byte, ok bool, err error) {
	lock, err := i.lockKey(ctx, key, unix.LOCK_SH)
	if err != nil {
		return nil, false, err
	}
	defer lock.Close()
	if _, ok, err := readState(i.cache, key); !ok || err != nil {
		return nil, false, err
	}
	about, err = os.ReadFile(filepath.Join(golden(i.cache), key, "about.json"))
	if err != nil {
		return nil, false, fmt.Errorf("golden state %q: %w: %w", key, provider.ErrDamaged, err)
	}
	return about, true, nil
}

// readState reads the description of a golden state; ok is false where there
// is no such state.
func readState(cache, key string) (s goldenState, ok bool, err error) {
	dir := filepath.Join(golden(cache), key)
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return s, false, nil
	}
	text, err := os.ReadFile(filepath.Join(dir, "state.json"))
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		return s, false, fmt.Errorf("golden state %q in %s: %w: %w", key, dir, provider.ErrDamaged, err)
	}
	if s.Format != stateFormat || s.Key != key {
		return s, false, fmt.Errorf("golden state %q in %s: format %d of key %q is not one that this version reads: remove it, it will be built again", key, dir, s.Format, s.Key)
	}
	return s, true, nil
}

// Save implements provider.Snapshotter. A state that is already under key is
// replaced. It fails where a process still runs in the instance.
func (i *Instance) Save(ctx context.Context, key string, about []byte) error {
	if err := i.idle(); err != nil {
		return fmt.Errorf("save golden state %q: %w", key, err)
	}
	lock, err := i.lockKey(ctx, key, unix.LOCK_EX)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := dropUnfinished(i.cache, key); err != nil {
		return fmt.Errorf("save golden state %q: %w", key, err)
	}
	tmp := filepath.Join(golden(i.cache), unfinished+key)
	if err := i.save(ctx, key, tmp, about); err != nil {
		return errors.Join(fmt.Errorf("save golden state %q: %w", key, err), removeTree(tmp))
	}
	return nil
}

func (i *Instance) save(ctx context.Context, key, tmp string, about []byte) error {
	if err := os.Mkdir(tmp, 0o700); err != nil {
		return err
	}
	files, err := scan(i.Dir())
	if err != nil {
		return err
	}
	to := filepath.Join(tmp, "data")
	if _, err := copyTree(ctx, i.Dir(), to, files, owners{}); err != nil {
		return err
	}
	before, err := digestTree(ctx, i.Dir(), files)
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
		Files: len(files), Bytes: files.bytes(), UID: i.user.uid, GID: i.user.gid,
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
	return i.publish(ctx, key, tmp)
}

// publish gives the finished state its name, in the place of an older one.
func (i *Instance) publish(ctx context.Context, key, tmp string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := i.retire(key); err != nil {
		return err
	}
	if err := os.Rename(tmp, filepath.Join(golden(i.cache), key)); err != nil {
		return err
	}
	dir, err := os.Open(golden(i.cache))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// retire removes the state under key, if there is one: its name first, so
// that no half of it can be found.
func (i *Instance) retire(key string) error {
	old := filepath.Join(golden(i.cache), retired+key)
	err := os.Rename(filepath.Join(golden(i.cache), key), old)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return removeTree(old)
}

// Remove removes the golden state under key. It is no error if there is none.
func (i *Instance) Remove(ctx context.Context, key string) error {
	lock, err := i.lockKey(ctx, key, unix.LOCK_EX)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := errors.Join(i.retire(key), dropUnfinished(i.cache, key)); err != nil {
		return fmt.Errorf("remove golden state %q: %w", key, err)
	}
	return nil
}

// dropUnfinished removes what a crash left of a state; the caller holds its
// lock.
func dropUnfinished(cache, key string) error {
	return errors.Join(
		removeTree(filepath.Join(golden(cache), unfinished+key)),
		removeTree(filepath.Join(golden(cache), retired+key)))
}

// sweepGolden removes unfinished states whose maker is dead, that is, whose
// lock is free.
func sweepGolden(cache string) (removed []string, err error) {
	entries, err := os.ReadDir(golden(cache))
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		return nil, err
	}
	var errs []error
	for _, e := range entries {
		key, ok := strings.CutPrefix(e.Name(), unfinished)
		if !ok {
			key, ok = strings.CutPrefix(e.Name(), retired)
		}
		if !ok {
			continue
		}
		path := filepath.Join(golden(cache), e.Name())
		gone, err := removeUnlocked(cache, key, path)
		errs = append(errs, err)
		if gone {
			removed = append(removed, path)
		}
	}
	return removed, errors.Join(errs...)
}

// removeUnlocked removes path if nobody holds the lock of key.
func removeUnlocked(cache, key, path string) (bool, error) {
	f, err := os.OpenFile(filepath.Join(golden(cache), ".lock-"+key), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return false, nil // another user's
	}
	defer f.Close()
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return false, nil
	}
	if err := removeTree(path); err != nil {
		return false, err
	}
	return true, nil
}

// Restore implements provider.Snapshotter. The files that it leaves are on
// the disk and not in the page cache. When it fails, the directory is as it
// was before. It fails where a process still runs in the instance; the error
// is provider.ErrDamaged where the state is not what was saved.
func (i *Instance) Restore(ctx context.Context, key string) (provider.Restored, error) {
	none := provider.Restored{}
	if err := i.idle(); err != nil {
		return none, fmt.Errorf("restore golden state %q: %w", key, err)
	}
	lock, err := i.lockKey(ctx, key, unix.LOCK_SH)
	if err != nil {
		return none, err
	}
	defer lock.Close()
	state, ok, err := readState(i.cache, key)
	if err != nil {
		return none, err
	}
	if !ok {
		return none, fmt.Errorf("there is no golden state %q in %s", key, golden(i.cache))
	}
	incoming := filepath.Join(i.home.dir, "incoming")
	done, err := i.restore(ctx, state, incoming)
	if err != nil {
		return none, errors.Join(fmt.Errorf("restore golden state %q: %w", key, err), removeTree(incoming))
	}
	return done, nil
}

func (i *Instance) restore(ctx context.Context, state goldenState, incoming string) (provider.Restored, error) {
	none := provider.Restored{}
	from := filepath.Join(golden(i.cache), state.Key, "data")
	began := i.clk.Now()
	files, err := scan(from)
	if err != nil {
		return none, fmt.Errorf("%w: %w", provider.ErrDamaged, err)
	}
	if len(files) != state.Files || files.bytes() != state.Bytes {
		return none, fmt.Errorf("%w: %d files with %d bytes were saved, there are %d with %d",
			provider.ErrDamaged, state.Files, state.Bytes, len(files), files.bytes())
	}
	way, err := copyTree(ctx, from, incoming, files, owners{from: state.UID, to: i.user, change: i.user.change})
	if err != nil {
		return none, err
	}
	// Written back now, it can't be written back in the measured window.
	if err := syncFS(incoming); err != nil {
		return none, err
	}
	copied := i.clk.Now()
	sum, err := digestTree(ctx, incoming, files)
	if err != nil {
		return none, err
	}
	if sum.hash != state.Digest {
		return none, fmt.Errorf("%w: the digest of %s is %s, %s was saved", provider.ErrDamaged, sum.covers, sum.hash, state.Digest)
	}
	evict(incoming, files)
	evict(from, files)
	verified := i.clk.Now()
	if err := i.swapIn(incoming); err != nil {
		return none, err
	}
	return provider.Restored{
		Way: way, Took: copied.Sub(began), Verify: verified.Sub(copied),
		Digest: sum.hash, Verified: sum.covers, Bytes: files.bytes(),
	}, nil
}

// swapIn puts incoming in the place of the instance's directory.
func (i *Instance) swapIn(incoming string) error {
	if err := unix.Renameat2(unix.AT_FDCWD, incoming, unix.AT_FDCWD, i.Dir(), unix.RENAME_EXCHANGE); err != nil {
		return fmt.Errorf("exchange %s and %s: %w", incoming, i.Dir(), err)
	}
	return removeTree(incoming) // which now is the old one
}

// idle says whether nothing runs in the instance.
func (i *Instance) idle() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return fmt.Errorf("instance %s is closed", i.home.id)
	}
	n := 0
	if i.group != nil {
		n = len(statsOf(i.group.pids()))
	} else {
		n = len(tree(noted(i.home.run())))
	}
	if n > 0 {
		return fmt.Errorf("%d processes still run in the instance", n)
	}
	return nil
}
