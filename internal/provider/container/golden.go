//go:build linux

package container

import (
	"context"
	"fmt"
	"time"

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
	if err := i.idle(ctx); err != nil {
		return fmt.Errorf("save golden state %q: %w", key, err)
	}
	return i.store().Save(ctx, key, about, i.Dir())
}

// Restore implements provider.Snapshotter. It fails where a process still runs
// in the instance.
func (i *Instance) Restore(ctx context.Context, key string) (provider.Restored, error) {
	if err := i.idle(ctx); err != nil {
		return provider.Restored{}, fmt.Errorf("restore golden state %q: %w", key, err)
	}
	return i.store().Restore(ctx, key, i.Dir())
}

// Remove implements provider.Snapshotter.
func (i *Instance) Remove(ctx context.Context, key string) error { return i.store().Remove(ctx, key) }

// ending is how often, and pause how long apart, idle looks for a command's
// last process. A command is over for its caller as soon as its exit status is
// known; the shell that told it ends a moment later.
const (
	ending = 100
	pause  = 20 * time.Millisecond
)

// idle says whether nothing but the first process runs in the container.
func (i *Instance) idle(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return fmt.Errorf("instance %s is closed", i.home.ID)
	}
	for range ending {
		if i.group.Running() <= 1 {
			return nil
		}
		if err := i.clk.SleepUntil(ctx, i.clk.Now().Add(pause)); err != nil {
			return err
		}
	}
	return fmt.Errorf("%d processes still run in the instance", i.group.Running()-1)
}

// Sources implements provider.CounterSource: the same columns as those of a
// native instance.
func (i *Instance) Sources() []observe.Source { return i.group.Sources() }
