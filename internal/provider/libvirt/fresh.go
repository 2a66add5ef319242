//go:build linux

package libvirt

import (
	"context"
	"errors"
	"path/filepath"
	"sync"

	"github.com/loadstone-perf/loadstone/internal/provider"
)

// fresh is the golden state that a guest was booted from when it was made, for
// as long as nothing has run in it since: restoring that state is then nothing
// but saying so. A guest boots for long, and without this it would boot twice for
// each trial.
type fresh struct {
	wanted string // provider.Request.Golden

	mu   sync.Mutex
	done *provider.Restored // nil where the guest began empty, or was used
	ours bool               // the commands of provisioning itself are over
}

// proven says that from now on commands are somebody else's.
func (f *fresh) proven() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ours = true
}

// used says that something runs in the guest.
func (f *fresh) used() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ours {
		f.done = nil
	}
}

// begunWith tells how the guest came to begin with the state under key; ok is
// false where it did not, or is no longer what it began with. Who asks restores
// that state now, so that it is told once, and of one key.
func (f *fresh) begunWith(key string) (done provider.Restored, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	was := f.done
	f.done = nil
	if was == nil || f.wanted != key {
		return done, false
	}
	return *was, true
}

// firstDisk makes the data disk of a new guest: over the golden state that is
// wanted, where there is one and it is sound, else empty. What is wrong with a
// state Restore says.
func (i *Instance) firstDisk(ctx context.Context) error {
	if i.fresh.wanted != "" {
		began := i.clk.Now()
		done, err := i.store().Lend(ctx, i.fresh.wanted, func(dir string) error {
			return overlay(ctx, filepath.Join(dir, goldenDisk), "qcow2", i.plan.data)
		})
		if err == nil {
			done.Way = "qcow2 overlay, guest booted from it"
			done.Took = i.clk.Now().Sub(began) - done.Verify
			i.fresh.done = &done
			return nil
		}
		if err := errors.Join(ctx.Err(), removeIfThere(i.plan.data)); err != nil {
			return err
		}
	}
	template, err := dataTemplate(ctx, i.clk, i.cache)
	if err != nil {
		return err
	}
	return overlay(ctx, template, "raw", i.plan.data)
}
