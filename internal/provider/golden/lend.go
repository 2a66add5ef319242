//go:build linux

package golden

import (
	"context"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/loadstone-perf/loadstone/internal/provider"
)

// Lend verifies the state under key in place and returns where its files are:
// for those who build upon them without changing them, as disks over a backing
// file do. take is called with the directory while the state's lock is held, so
// that nobody replaces it meanwhile; what take opens stays good afterwards.
//
// The error is provider.ErrDamaged where the state is not what was saved. Way
// and Took are left to the caller.
func (s Store) Lend(ctx context.Context, key string, take func(dir string) error) (provider.Restored, error) {
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
	began := s.Clock.Now()
	dir := filepath.Join(root(s.Cache), key, "data")
	files, err := scan(dir)
	if err != nil {
		return none, fmt.Errorf("restore golden state %q: %w: %w", key, provider.ErrDamaged, err)
	}
	sum, err := digestTree(ctx, dir, files)
	if err != nil {
		return none, fmt.Errorf("restore golden state %q: %w", key, err)
	}
	if sum.hash != state.Digest {
		return none, fmt.Errorf("restore golden state %q: %w: the digest of %s is %s, %s was saved", key, provider.ErrDamaged, sum.covers, sum.hash, state.Digest)
	}
	evict(dir, files)
	verified := s.Clock.Now()
	if err := take(dir); err != nil {
		return none, fmt.Errorf("restore golden state %q: %w", key, err)
	}
	return provider.Restored{Verify: verified.Sub(began), Digest: sum.hash, Verified: sum.covers, Bytes: files.bytes()}, nil
}
