//go:build linux

package container

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/moby/moby/api/types/blkiodev"
	"github.com/moby/moby/api/types/container"
	"golang.org/x/sys/unix"

	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/cgroup"
	"github.com/loadstone-perf/loadstone/internal/provider/home"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// Check implements provider.Provider. Whether the engine can start containers
// is only known when one is started.
func (Provider) Check(_ context.Context, s provider.Shape) []provider.Problem {
	var found []provider.Problem
	add := func(reason, remedy string) {
		found = append(found, provider.Problem{Knob: "provider", Reason: reason, Remedy: remedy})
	}
	switch _, err := findEngine(); {
	case errors.Is(err, errNoEngine):
		add(err.Error(), "install one: apt install podman runc, or dnf install podman, or Docker's packages")
	case errors.Is(err, errRootless):
		add(err.Error(), "run as root, or let a running engine do it: set DOCKER_HOST, or join the group that may use /var/run/docker.sock")
	case err != nil:
		add(err.Error(), "set DOCKER_HOST to unix:///path/of/the/socket, or to nothing")
	}
	if _, err := home.Unprivileged(); err != nil {
		add(err.Error(), "make an unprivileged user named postgres")
	}
	room, err := around()
	if err != nil {
		add(err.Error(), "look whether /proc and /sys are mounted and readable")
		return found
	}
	if s.LogVolume != "" {
		found = append(found, provider.Problem{Knob: "instance.log_volume", Reason: "a container has its files in one place", Remedy: "instance.data_volume holds data and log, or choose provider native"})
	}
	return append(found, room.Check(s)...)
}

// around is the room that containers have: the machine's. The engine puts
// them beside Loadstone's control groups, not into them.
func around() (cgroup.Room, error) { return cgroup.Layout{}.Room() }

// resources are the shape in the engine's terms.
func resources(s provider.Shape, dir string) (r container.Resources, err error) {
	unlimited := int64(-1)
	r.PidsLimit = &unlimited // Podman's default is too few for a process a connection
	r.Memory, r.MemorySwap = int64(s.Memory), int64(s.Memory)
	r.CPUShares, r.CpusetCpus, r.CpusetMems = int64(s.CPUShares), s.CPUSet, s.Mems
	if s.CPUs > 0 {
		r.CPUPeriod, r.CPUQuota = cgroup.PeriodUs, cgroup.QuotaUs(s.CPUs)
	}
	if r.Ulimits, err = ulimits(); err != nil {
		return r, err
	}
	if !cgroup.LimitsDisk(s) {
		return r, nil
	}
	_, disk, err := cgroup.DeviceOf(dir)
	if err != nil {
		return r, err
	}
	throttle := func(n int64) []*blkiodev.ThrottleDevice {
		if n == 0 {
			return nil
		}
		return []*blkiodev.ThrottleDevice{{Path: disk, Rate: uint64(n)}}
	}
	r.BlkioDeviceReadBps, r.BlkioDeviceWriteBps = throttle(int64(s.ReadBytesPS)), throttle(int64(s.WriteBytesPS))
	r.BlkioDeviceReadIOps, r.BlkioDeviceWriteIOps = throttle(int64(s.ReadOpsPS)), throttle(int64(s.WriteOpsPS))
	return r, nil
}

// mostProcesses is what a Podman service lowers its own limit of processes to;
// it may not hand on more.
const mostProcesses = 32 << 10

// ulimits hands on this process's limits of open files and processes, as a
// native instance has them.
func ulimits() (all []*container.Ulimit, err error) {
	for _, u := range []struct {
		name     string
		resource int
	}{{"nofile", unix.RLIMIT_NOFILE}, {"nproc", unix.RLIMIT_NPROC}} {
		var l unix.Rlimit
		if err := unix.Getrlimit(u.resource, &l); err != nil {
			return nil, fmt.Errorf("limits of this process: %w", err)
		}
		if u.resource == unix.RLIMIT_NPROC {
			l.Cur, l.Max = min(l.Cur, mostProcesses), min(l.Max, mostProcesses)
		}
		// No limit, the greatest number, becomes -1, as engines have it.
		all = append(all, &container.Ulimit{Name: u.name, Soft: int64(l.Cur), Hard: int64(l.Max)})
	}
	return all, nil
}

// shmBytes is the size of the host's /dev/shm, which servers share memory
// through; an engine's own default, 64 MiB, would be a limit of its own.
func shmBytes() int64 {
	var fs unix.Statfs_t
	if unix.Statfs("/dev/shm", &fs) != nil || fs.Blocks == 0 {
		return int64(unit.GiB)
	}
	return int64(fs.Blocks) * fs.Bsize
}

// Capacity implements provider.Machine: the least of what was asked for, what
// the machine has, and what the container's cgroups allow.
func (i *Instance) Capacity() (cpus float64, memory unit.Bytes) {
	room, err := around()
	if err == nil {
		room, err = i.group.Room(room)
	}
	if err != nil {
		return i.shape.CPUs, i.shape.Memory
	}
	return room.Most(), room.Memory
}

// Effective implements provider.Shaped. It reads the container's cgroups, not
// what the engine says of them.
func (i *Instance) Effective(ctx context.Context) ([]provider.Knob, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	knobs, err := i.group.Effective(i.shape)
	if err != nil {
		return nil, err
	}
	user := i.user.Name
	var st unix.Stat_t
	if unix.Stat(i.Dir(), &st) != nil || int(st.Uid) != i.user.UID {
		user = "not " + user
	}
	image := i.image
	if image == "" {
		image = "the host's programs"
	}
	if v := i.shape.DataVolume; v != "" {
		knobs = append(knobs, home.Volume("instance.data_volume", v, i.Dir()))
	}
	return append(knobs,
		provider.Knob{Name: "instance.user", Intended: i.user.Name, Effective: user, Matches: user == i.user.Name},
		provider.Knob{Name: "instance.image", Intended: i.image, Effective: image, Matches: true},
		provider.Knob{Name: "instance.engine", Effective: i.about, Matches: true},
	), nil
}

// exists says whether there is a file at path.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
