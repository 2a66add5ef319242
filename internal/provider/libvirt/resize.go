//go:build linux

package libvirt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/digitalocean/go-libvirt"

	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/cgroup"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// Prototype implements provider.Live.
func (Provider) Prototype() provider.Instance { return (*Instance)(nil) }

// CheckResize implements provider.Live. A guest begins with all the virtual
// CPUs and memory that it can have; what it has less is taken by a quota and
// by the balloon.
func (Provider) CheckResize(from, to provider.Shape) []provider.Problem {
	c := &checks{found: cgroup.SameKind(from, to)}
	if from.CPUs > 0 && to.CPUs > float64(vcpusOf(from, 0)) {
		c.add(cgroup.KnobCPUs, fmt.Sprintf("the guest has %d virtual CPUs, %v can't be more", vcpusOf(from, 0), to.CPUs), "begin with as many as it shall have at most, and lower them first")
	}
	if from.Memory > 0 && to.Memory > from.Memory {
		c.add(cgroup.KnobMemory, fmt.Sprintf("the guest began with %s, %s can't be more", from.Memory.Human(), to.Memory.Human()), "begin with as much as it shall have at most, and lower it first")
	}
	if to.Memory > 0 && to.Memory < leastMemory {
		c.add(cgroup.KnobMemory, to.Memory.Human()+" are too little for a guest's kernel and a server", "ask for at least "+leastMemory.Human())
	}
	return c.found
}

// CheckMove implements provider.Live.
func (Provider) CheckMove(_ context.Context, dir string) []provider.Problem {
	c := &checks{}
	if dir == "" {
		if answers() {
			c.add("events", "migrating on one machine takes two libvirt daemons of Loadstone's own, and the system's libvirt answers here, which then manages its guests", "stop the system's libvirt, or leave the event out")
		}
		return c.found
	}
	if st, err := os.Stat(dir); !filepath.IsAbs(dir) || err != nil || !st.IsDir() {
		c.add("events", fmt.Sprintf("%q is no directory of this machine", dir), "make it")
	}
	return c.found
}

// Resize implements provider.Resizer: CPU time and weight through the
// emulator's control groups, limits of the data disk through QEMU, memory by the
// balloon. It returns when the guest has given the memory up, or taken it.
func (i *Instance) Resize(ctx context.Context, s provider.Shape) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed || !i.running {
		return errors.New("resize: the guest does not run")
	}
	for _, c := range []struct {
		changes bool
		set     func(context.Context, provider.Shape) error
	}{
		{s.CPUs != i.shape.CPUs || s.CPUShares != i.shape.CPUShares, i.setScheduler},
		{cgroup.LimitsDisk(s), i.setDiskLimits},
		{s.Memory != i.shape.Memory, i.setMemory},
	} {
		if !c.changes {
			continue
		}
		if err := c.set(ctx, s); err != nil {
			return fmt.Errorf("resize %s: %w", i.plan.name, err)
		}
	}
	i.shape, i.plan.shape = s, s
	return nil
}

func unsigned(name string, v uint64) libvirt.TypedParam {
	return libvirt.TypedParam{Field: name, Value: *libvirt.NewTypedParamValueUllong(v)}
}

// setScheduler sets CPU time and weight.
func (i *Instance) setScheduler(_ context.Context, s provider.Shape) error {
	var params []libvirt.TypedParam
	if s.CPUs > 0 {
		params = append(params, unsigned("global_period", periodUs),
			libvirt.TypedParam{Field: "global_quota", Value: *libvirt.NewTypedParamValueLlong(int64(s.CPUs*periodUs + 0.5))})
	}
	if s.CPUShares > 0 {
		params = append(params, unsigned("cpu_shares", uint64(s.CPUShares)))
	}
	return i.conn.DomainSetSchedulerParametersFlags(i.domain, params, uint32(libvirt.DomainAffectLive))
}

// setDiskLimits sets all limits of the data disk, those too that stay.
func (i *Instance) setDiskLimits(_ context.Context, s provider.Shape) error {
	return i.conn.DomainSetBlockIOTune(i.domain, i.plan.diskAdapter().target, []libvirt.TypedParam{
		unsigned("read_bytes_sec", uint64(s.ReadBytesPS)), unsigned("write_bytes_sec", uint64(s.WriteBytesPS)),
		unsigned("read_iops_sec", uint64(s.ReadOpsPS)), unsigned("write_iops_sec", uint64(s.WriteOpsPS)),
	}, uint32(libvirt.DomainAffectLive))
}

// setMemory sets the balloon and waits until it has its size. Where ctx ends
// first, the guest keeps what it had.
func (i *Instance) setMemory(ctx context.Context, s provider.Shape) error {
	want := memoryOf(s)
	if err := i.conn.DomainSetMemoryFlags(i.domain, uint64(want/unit.KiB), uint32(libvirt.DomainMemLive)); err != nil {
		return err
	}
	for {
		l, err := i.read()
		if err == nil && l.domain.CurrentMemory != nil && unit.Bytes(l.domain.CurrentMemory.Value)*unit.KiB == want {
			i.plan.memory = want
			return nil
		}
		if err == nil {
			err = cgroup.Pause(ctx, i.clk)
		}
		if err != nil {
			back := i.conn.DomainSetMemoryFlags(i.domain, uint64(i.plan.memory/unit.KiB), uint32(libvirt.DomainMemLive))
			return errors.Join(fmt.Errorf("the guest does not go to %s of memory: %w", want.Human(), err), back)
		}
	}
}
