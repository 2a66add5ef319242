//go:build linux

package native

import (
	"context"
	"fmt"

	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/cgroup"
)

// Prototype implements provider.Live.
func (Provider) Prototype() provider.Instance { return (*Instance)(nil) }

// CheckResize implements provider.Live.
func (Provider) CheckResize(from, to provider.Shape) []provider.Problem {
	return cgroup.SameKind(from, to)
}

// CheckMove implements provider.Live: processes stay where they are.
func (Provider) CheckMove(context.Context, string) []provider.Problem {
	return []provider.Problem{{Knob: "events", Reason: "instances on the machine itself can't move", Remedy: "choose provider libvirt"}}
}

// Resize implements provider.Resizer.
func (i *Instance) Resize(ctx context.Context, s provider.Shape) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return fmt.Errorf("instance %s is closed", i.home.ID)
	}
	if err := i.group.Resize(s); err != nil {
		return fmt.Errorf("resize %s: %w", i.home.ID, err)
	}
	i.shape = s
	return nil
}
