//go:build linux

package libvirt

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"

	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/cgroup"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// MoveStorage implements provider.StorageMover. It moves the data disk to a file
// in dir while the guest runs: the disk is copied whole, what is written
// meanwhile is written to both, and when they are the same the guest goes over
// to the copy. The old disk is removed. Where ctx ends first, the guest stays on
// the old disk. The bytes are what the emulator counts of the copying.
func (i *Instance) MoveStorage(ctx context.Context, dir string) (provider.Moved, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed || !i.running {
		return provider.Moved{}, errors.New("move the disk: the guest does not run")
	}
	to := filepath.Join(dir, namePrefix+i.home.ID+"-moved.qcow2")
	if i.plan.data == to { // there and back again
		to = filepath.Join(dir, namePrefix+i.home.ID+"-again.qcow2")
	}
	if exists(to) {
		return provider.Moved{}, fmt.Errorf("move the disk: %s is there already", to)
	}
	if err := i.announce(to); err != nil {
		return provider.Moved{}, fmt.Errorf("move the disk: %w", err)
	}
	began := i.clk.Now()
	bytes, err := i.copyDisk(ctx, to)
	if err != nil {
		return provider.Moved{}, errors.Join(fmt.Errorf("move the disk to %s: %w", dir, err), removeIfThere(to))
	}
	took := i.clk.Now().Sub(began)
	old := i.plan.data
	i.plan.data, i.moved = to, to
	return provider.Moved{Took: took, Bytes: bytes}, os.Remove(old)
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// copyDisk runs the block job and pivots to its copy.
func (i *Instance) copyDisk(ctx context.Context, to string) (unit.Bytes, error) {
	disk := i.plan.diskAdapter().target
	dest := libvirtxml.DomainDisk{
		Source: &libvirtxml.DomainDiskSource{File: &libvirtxml.DomainDiskSourceFile{File: to}},
		Driver: &libvirtxml.DomainDiskDriver{Name: "qemu", Type: "qcow2"},
	}
	text, err := xml.Marshal(&dest)
	if err != nil {
		return 0, err
	}
	if err := i.conn.DomainBlockCopy(i.domain, disk, string(text), nil, libvirt.DomainBlockCopyTransientJob); err != nil {
		return 0, err
	}
	for {
		found, _, _, done, all, err := i.conn.DomainGetBlockJobInfo(i.domain, disk, 0)
		if err == nil && found == 0 {
			err = errors.New("the copying ended before it was complete")
		}
		if err == nil && all > 0 && done == all {
			// Complete but for what is written meanwhile; the pivot says whether
			// the emulator agrees.
			if err = i.conn.DomainBlockJobAbort(i.domain, disk, libvirt.DomainBlockJobAbortPivot); err == nil {
				return unit.Bytes(all), nil
			}
			if !libvirt.IsNotFound(err) && ctx.Err() == nil {
				err = nil // not ready yet
			}
		}
		if err == nil {
			err = cgroup.Pause(ctx, i.clk)
		}
		if err != nil {
			return 0, errors.Join(err, i.conn.DomainBlockJobAbort(i.domain, disk, 0))
		}
	}
}
