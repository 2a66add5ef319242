//go:build linux

package native

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/loadstone-perf/loadstone/internal/observe"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/cgroup"
	"github.com/loadstone-perf/loadstone/internal/provider/golden"
)

func (i *Instance) store() golden.Store {
	return golden.Store{Clock: i.clk, Cache: i.cache, User: i.user}
}

// Find implements provider.Snapshotter.
func (i *Instance) Find(ctx context.Context, key string) (about []byte, ok bool, err error) {
	return i.store().Find(ctx, key)
}

// Save implements provider.Snapshotter. A state that is already under key is
// replaced. It fails where a process still runs in the instance.
func (i *Instance) Save(ctx context.Context, key string, about []byte) error {
	if err := i.idle(); err != nil {
		return fmt.Errorf("save golden state %q: %w", key, err)
	}
	return i.store().Save(ctx, key, about, i.Dir())
}

// Restore implements provider.Snapshotter. It fails where a process still runs
// in the instance.
func (i *Instance) Restore(ctx context.Context, key string) (provider.Restored, error) {
	if err := i.idle(); err != nil {
		return provider.Restored{}, fmt.Errorf("restore golden state %q: %w", key, err)
	}
	return i.store().Restore(ctx, key, i.Dir())
}

// Remove implements provider.Snapshotter.
func (i *Instance) Remove(ctx context.Context, key string) error { return i.store().Remove(ctx, key) }

// idle says whether nothing runs in the instance.
func (i *Instance) idle() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return fmt.Errorf("instance %s is closed", i.home.ID)
	}
	n := 0
	if i.group != nil {
		n = i.group.Running()
	} else {
		n = len(cgroup.Tree(cgroup.Noted(i.home.Run())))
	}
	if n > 0 {
		return fmt.Errorf("%d processes still run in the instance", n)
	}
	return nil
}

// Sources implements provider.CounterSource: see Group.Sources.
func (i *Instance) Sources() []observe.Source {
	if i.group == nil {
		return cgroup.ProcessSources(i.home.Run())
	}
	return i.group.Sources()
}

// instances is where the native instances of a cache are.
func instances(cache string) string { return filepath.Join(cache, "instances") }
