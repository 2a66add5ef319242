//go:build linux

package native

import (
	"context"

	"golang.org/x/sys/unix"

	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/cgroup"
	"github.com/loadstone-perf/loadstone/internal/provider/home"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// Check implements provider.Provider.
func (p Provider) Check(_ context.Context, s provider.Shape) []provider.Problem {
	places, err := p.look()
	if err != nil {
		return []provider.Problem{{Knob: "provider", Reason: err.Error(), Remedy: "mount /proc"}}
	}
	found := places.Check(s)
	if _, err := home.Unprivileged(); err != nil {
		found = append(found, provider.Problem{Knob: "provider", Reason: err.Error(), Remedy: "make an unprivileged user named postgres"})
	}
	return found
}

// Capacity implements provider.Machine: the least of what was asked for, what
// the machine has, and what the cgroups around the instance allow.
func (i *Instance) Capacity() (cpus float64, memory unit.Bytes) {
	around, err := i.places.Room()
	if err == nil {
		around, err = i.group.Room(around)
	}
	if err != nil {
		// Provision has read the same files; should they be gone since, what
		// was asked for is the best that is known.
		return i.shape.CPUs, i.shape.Memory
	}
	return around.Most(), around.Memory
}

// Effective implements provider.Shaped.
func (i *Instance) Effective(ctx context.Context) ([]provider.Knob, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	knobs, err := i.group.Effective(i.shape)
	if err != nil {
		return nil, err
	}
	knobs = append(knobs, i.volumes()...)
	user := i.effectiveUser()
	return append(knobs, provider.Knob{Name: "instance.user", Intended: i.user.Name, Effective: user, Matches: user == i.user.Name}), nil
}

// effectiveUser names the owner of the instance's directory, who is the user
// that the first command ran as.
func (i *Instance) effectiveUser() string {
	var st unix.Stat_t
	if unix.Stat(i.Dir(), &st) != nil || int(st.Uid) != i.user.UID {
		return "not " + i.user.Name
	}
	return i.user.Name
}

// proveShape reads the shape back and fails where a knob did not take.
func (i *Instance) proveShape(ctx context.Context) error {
	knobs, err := i.Effective(ctx)
	if err != nil {
		return err
	}
	return cgroup.AllMatch(knobs)
}
