//go:build linux

// Package native runs instances as plain processes of this machine, confined
// by control groups (cgroup v1, v2, or both at once).
//
// # What an instance is
//
// An instance is a directory below Request.Cache/instances with
//
//	owner.json  who made it: process, start time, boot, cgroups (the mark)
//	lock        held with flock as long as the owner lives
//	data/       Machine.Dir: belongs to the instance's user, is what golden
//	            states hold
//	run/        used where no cgroup can be had: a file for each process
//	            that was started
//
// and, on Shape.LogVolume, another such directory whose data/ is for the
// database's log; and cgroups named after it, made below Loadstone's own so that limits that
// enclose Loadstone enclose the instance too. Commands run as an unprivileged
// user where Loadstone is root: the user who called sudo, else "postgres",
// else "nobody".
//
// An instance whose shape confines nothing is put only into cgroups that
// count: the v2 hierarchy without controllers, and of v1 the controllers
// memory, blkio and a cpuacct that is mounted apart. It is kept out of the
// cpu controller, because being one group there changes how the scheduler
// weighs its processes against all others. Where no cgroup can be had, the
// counters are summed over the tree of the instance's processes.
//
// # How an instance dies with Loadstone
//
// The kernel's parent-death signal is no answer: it follows the thread that
// forked, which the Go runtime may end at any time, it is cleared when the
// child changes its user, and it does not reach grandchildren. Instead each
// instance has a watchdog, a small shell that reads from a pipe whose only
// write end Loadstone holds. When Loadstone ends in any way, the kill signal
// included, the kernel closes the pipe, and the watchdog kills whatever is in
// the instance's cgroups (without cgroups: in the trees of the processes that
// were started), and removes the shared memory that these had under names of
// the system's, which would stay for ever. A process that is between fork and its cgroup at that moment
// looks at its parent after it has entered, finds another one, and gives up.
// It also removes the cgroups. The directories of a dead owner, and whatever
// a watchdog that was killed too has left, are removed by Sweep, which
// Provision calls first, and by 'loadstone clean' (Leftovers). Without cgroups, a process that leaves its parent,
// group and session (a daemon) escapes; no database server does this when it
// is started in the foreground.
//
// The cgroup files are read and written directly: a dozen small files with
// fixed formats, of which a library would hide the read-back that proof of
// configuration needs.
package native

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/cgroup"
	"github.com/loadstone-perf/loadstone/internal/provider/home"
)

// Provider makes instances on this machine.
type Provider struct {
	clk clock.Clock
	// look finds out how this machine offers control groups; tests hide some.
	look func() (cgroup.Layout, error)
}

// New returns the native provider.
func New() provider.Provider { return Provider{clk: clock.Real{}, look: cgroup.Discover} }

// Name implements provider.Provider.
func (Provider) Name() string { return "native" }

// Instance is one place for a server on this machine. It implements
// provider.Instance, Machine, Shaped, Snapshotter, CounterSource and Volumes.
type Instance struct {
	clk    clock.Clock
	shape  provider.Shape
	cache  string
	places cgroup.Layout
	home   *home.Home
	logs   *home.Home // on Shape.LogVolume; nil where there is none
	user   home.Account
	group  *cgroup.Group // nil where no cgroup can be had
	watch  *watchdog

	// mu serialises Close with itself and with Command's look at closed.
	mu     sync.Mutex
	closed bool
}

// closeBound is how long an instance's processes may take to go away.
const closeBound = 30 * time.Second

// names limits Request.Name to what is safe in paths of every kind.
var names = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// Provision implements provider.Provider. It first sweeps what dead owners
// left in r.Cache. The shape is read back before it returns; a knob that did
// not take is an error.
func (p Provider) Provision(ctx context.Context, r provider.Request) (provider.Instance, error) {
	inst, err := p.provision(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("native instance %q: %w", r.Name, err)
	}
	return inst, nil
}

func (p Provider) provision(ctx context.Context, r provider.Request) (*Instance, error) {
	if !names.MatchString(r.Name) {
		return nil, errors.New("the name is not 1 to 64 letters, digits, dots, dashes and underscores")
	}
	if r.Image != "" {
		return nil, fmt.Errorf("image %q: instances on the machine itself have no images: remove it, or choose provider container", r.Image)
	}
	if err := cgroup.AsError(p.Check(ctx, r.Shape)); err != nil {
		return nil, err
	}
	cache, err := filepath.Abs(r.Cache)
	if err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	who, err := home.Unprivileged()
	if err != nil {
		return nil, err
	}
	for _, dir := range []string{cache, logsOn(r.Shape.LogVolume)} {
		if dir == "" {
			continue
		}
		if _, err := sweep(ctx, p.clk, dir); err != nil {
			return nil, fmt.Errorf("removing what an earlier run left: %w", err)
		}
	}
	places, err := p.look()
	if err != nil {
		return nil, err
	}
	i := &Instance{clk: p.clk, shape: r.Shape, cache: cache, user: who, places: places}
	if err := i.make(ctx, r.Name); err != nil {
		return nil, errors.Join(err, i.Close(ctx))
	}
	return i, nil
}

// make goes through the steps of provisioning; Close undoes any number of
// them. Each step that leaves something behind was announced in owner.json
// before, so that a crash in between leaves nothing unknown.
func (i *Instance) make(ctx context.Context, name string) error {
	for _, step := range []func() error{
		func() (err error) { i.home, err = home.New(ctx, i.clk, instances(i.cache), name, i.user); return err },
		func() error { return i.makeLogs(ctx, name) },
		func() (err error) { i.group, err = i.places.Plan(i.home.ID, i.shape); return err },
		func() error { return i.home.Announce(func(m *home.Mark) { m.Cgroups = i.group.Dirs() }) },
		func() error { return i.group.Create(i.shape, i.Dir(), i.user.Own) },
		func() error { return i.markGroup() },
		func() (err error) { i.watch, err = startWatchdog(i.group, i.home); return err },
		func() error { return i.prove(ctx) },
		func() error { return i.proveLogs(ctx) },
		func() error { return i.proveShape(ctx) },
	} {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := step(); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Dir implements provider.Machine.
func (i *Instance) Dir() string { return i.home.Data() }

// Confined says whether the instance's cgroups limit what it uses.
func (i *Instance) Confined() bool { return i.group != nil && cgroup.Confines(i.shape) }

// Close implements provider.Instance. It takes at most closeBound, whether or
// not ctx has ended.
func (i *Instance) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeBound)
	defer cancel()
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed || i.home == nil {
		i.closed = true
		return nil
	}
	// The watchdog stays until nothing runs any more, so that Loadstone may
	// be killed at any point of its own Close.
	if err := i.killAll(ctx); err != nil {
		return fmt.Errorf("close %s: %w", i.home.ID, err)
	}
	i.watch.stop()
	if err := i.group.Remove(ctx, i.clk); err != nil {
		return fmt.Errorf("close %s: %w", i.home.ID, err)
	}
	if _, err := home.RemoveSockets(i.Dir(), i.user.UID); err != nil {
		return fmt.Errorf("close %s: %w", i.home.ID, err)
	}
	if i.logs != nil {
		if err := i.logs.Remove(); err != nil {
			return fmt.Errorf("close %s: %w", i.home.ID, err)
		}
	}
	if err := i.home.Remove(); err != nil {
		return fmt.Errorf("close %s: %w", i.home.ID, err)
	}
	i.closed = true
	return nil
}

// killAll kills what runs and removes what that shared.
func (i *Instance) killAll(ctx context.Context) error {
	shared := cgroup.SharedBy(running(i.home.Dir, i.home.Mark))
	var err error
	if i.group != nil {
		err = i.group.Kill(ctx, i.clk)
	} else {
		err = cgroup.KillTrees(ctx, i.clk, i.home.Run())
	}
	if err != nil {
		return err
	}
	return shared.Remove()
}

// prove runs one command in the instance and looks whether it was where it
// should be. It finds what no look at permissions tells: a kernel or a
// container that forbids entering cgroups, or a path that the user may not
// pass.
func (i *Instance) prove(ctx context.Context) error {
	out, err := i.Command(ctx, "/bin/sh", "-c", "cat /proc/self/cgroup").CombinedOutput()
	if errors.Is(err, os.ErrPermission) {
		return i.user.MayPass(i.Dir(), err)
	}
	if err != nil {
		return fmt.Errorf("a first command in the instance failed: %w: %s", err, firstLine(out))
	}
	return i.group.Holds(string(out))
}

func firstLine(b []byte) string {
	for n, c := range b {
		if c == '\n' {
			return string(b[:n])
		}
	}
	return string(b)
}

// Command implements provider.Machine. The command gets a process group of
// its own, the instance's directory as HOME and working directory, and
// nothing else of Loadstone's environment than PATH. When ctx ends, it is
// killed with all processes that descend from it.
func (i *Instance) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := command(ctx, i.home, i.group, i.user, name, args)
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed && cmd.Err == nil {
		cmd.Err = fmt.Errorf("instance %s is closed", i.home.ID)
	}
	return cmd
}
