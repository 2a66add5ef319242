//go:build linux

package container

import (
	"context"
	"fmt"

	"github.com/loadstone-perf/loadstone/internal/observe"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/golden"
)

func (i *Instance) store() golden.Store {
	return golden.Store{Clock: i.clk, Cache: i.cache, User: i.user}
}

// Find implements provider.Snapshotter.
func (i *Instance) Find(ctx context.Context, key string) (about []byte, ok bool, err error) {
	return i.store().Find(ctx, key)
}

// Save implements provider.Snapshotter. It fails where a process still runs in
// the instance.
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

// idle says whether nothing but the first process runs in the container.
func (i *Instance) idle() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return fmt.Errorf("instance %s is closed", i.home.ID)
	}
	if n := i.group.Running(); n > 1 {
		return fmt.Errorf("%d processes still run in the instance", n-1)
	}
	return nil
}

// Sources implements provider.CounterSource: the same columns as those of a
// native instance.
func (i *Instance) Sources() []observe.Source { return i.group.Sources() }
