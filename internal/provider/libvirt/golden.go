//go:build linux

package libvirt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/golden"
	"github.com/loadstone-perf/loadstone/internal/provider/home"
)

// Golden states of machines are disks, not files: they lie in a store of their
// own, which other providers do not look at.

// goldenDisk is the name of the disk in a golden state.
const goldenDisk = "disk.qcow2"

// newDisk ends the name of a data disk until it takes the old one's place.
const newDisk = ".new"

func (i *Instance) store() golden.Store {
	me := home.Account{UID: os.Geteuid(), GID: os.Getegid(), Name: "loadstone"}
	return golden.Store{Clock: i.clk, Cache: guests(i.cache), User: me}
}

// Find implements provider.Snapshotter.
func (i *Instance) Find(ctx context.Context, key string) (about []byte, ok bool, err error) {
	return i.store().Find(ctx, key)
}

// Remove implements provider.Snapshotter. Machines that run from the state keep
// it open.
func (i *Instance) Remove(ctx context.Context, key string) error { return i.store().Remove(ctx, key) }

// Save implements provider.Snapshotter. The guest is halted, its data disk is
// copied into one qcow2 file without a backing file, and the guest starts again.
// It fails where a process still runs in the instance.
func (i *Instance) Save(ctx context.Context, key string, about []byte) error {
	return i.save(ctx, key, about, true)
}

// SaveLast implements provider.LastSaver: the guest does not start again.
func (i *Instance) SaveLast(ctx context.Context, key string, about []byte) error {
	return i.save(ctx, key, about, false)
}

func (i *Instance) save(ctx context.Context, key string, about []byte, again bool) error {
	err := i.stopped(ctx, again, func() error {
		stage := filepath.Join(i.vm(), "stage")
		defer func() { _ = home.RemoveTree(stage) }()
		if err := os.Mkdir(stage, 0o755); err != nil {
			return err
		}
		disk := filepath.Join(stage, goldenDisk)
		if err := qemuImg(ctx, "convert", "-q", "-O", "qcow2", i.plan.data, disk); err != nil {
			return err
		}
		if err := os.Chmod(disk, 0o644); err != nil {
			return err
		}
		if err := i.store().Save(ctx, key, about, stage); err != nil {
			return err
		}
		// The emulator may run as another user.
		return os.Chmod(filepath.Join(guests(i.cache), "golden", key), 0o711)
	})
	if err != nil {
		return fmt.Errorf("save golden state %q: %w", key, err)
	}
	return nil
}

// Restore implements provider.Snapshotter. The golden disk is verified, the
// guest halted, and started again with a new, empty overlay of that disk: what
// takes time is the boot, which a guest that was made to begin with the state
// and has run nothing since is spared. The guest's memory is then as cold as
// after every restore. A state that is damaged leaves the guest as it was.
func (i *Instance) Restore(ctx context.Context, key string) (provider.Restored, error) {
	if done, ok := i.fresh.begunWith(key); ok {
		return done, nil
	}
	began := i.clk.Now()
	done, err := i.store().Lend(ctx, key, func(dir string) error {
		return i.stopped(ctx, true, func() error {
			fresh := i.plan.data + newDisk
			if err := overlay(ctx, filepath.Join(dir, goldenDisk), "qcow2", fresh); err != nil {
				return err
			}
			return os.Rename(fresh, i.plan.data)
		})
	})
	if err != nil {
		return provider.Restored{}, err
	}
	done.Way = "qcow2 overlay, guest restarted"
	done.Took = i.clk.Now().Sub(began) - done.Verify
	return done, nil
}

// stopped calls do while the guest is halted and its disk complete, and starts
// it again where it shall.
func (i *Instance) stopped(ctx context.Context, again bool, do func() error) error {
	i.mu.Lock()
	if i.closed || i.link == nil {
		i.mu.Unlock()
		return errors.New("the guest does not run")
	}
	l := i.link
	i.mu.Unlock()
	n, err := l.agent.Busy()
	if err != nil {
		return err
	}
	if n > 0 {
		return fmt.Errorf("%d processes still run in the instance", n)
	}
	if err := i.halt(ctx, l); err != nil {
		return err
	}
	if err = do(); again {
		// Whatever comes of it, an instance has a guest that runs.
		err = errors.Join(err, i.start(ctx))
	}
	return err
}

// halt makes the guest's disk safe and ends it.
func (i *Instance) halt(ctx context.Context, l *link) error {
	bound, cancel := context.WithTimeout(ctx, haltBound)
	defer cancel()
	if err := l.within(bound, l.agent.Halt); err != nil {
		return fmt.Errorf("halt the guest: %w", err)
	}
	i.mu.Lock()
	i.link = nil
	i.mu.Unlock()
	l.close()
	// The answer says that the disk is unmounted, so nothing is cut off.
	if err := destroy(bound, i.clk, i.conn, i.domain); err != nil {
		return err
	}
	i.running = false
	return nil
}
