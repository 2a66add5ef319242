//go:build linux

// Package container runs instances as containers of this machine, through the
// Docker API: of Docker, of Podman's service where one listens, else of a
// Podman service that Loadstone starts for the moment.
//
// # What an instance is
//
// One container with the engine's own confinement (namespaces, dropped
// capabilities, system call filter, control groups), the host's network, and
// of the host's files these, at the same paths as outside:
//
//	CACHE/containers/ID   the directory of package home, writable; its data/ is
//	                      Machine.Dir, so that sockets in it are reachable from
//	                      both sides, and golden states are those of native
//	CACHE/servers         fetched servers, read-only
//	/usr, /opt, …         the host's programs, read-only, unless an image is
//	                      named: see image.go
//
// Loadstone's counters and limits are the container's control groups, read
// and compared as those of a native instance are.
//
// # How commands run
//
// The container's first process is a shell that reads orders from a named
// pipe (init.go). A command is therefore a child of the container: it has the
// container's filter and limits from its first instruction on, and starting
// one asks nothing of the engine. On the host an exec.Cmd stands for it: a
// shell that moves its input and output through named pipes, passes signals
// on, and ends with its exit status. A process that a signal ended gives the
// status 128 + signal, as shells have it.
//
// # How an instance dies with Loadstone
//
// Only Loadstone holds the pipe's other end open. When Loadstone ends in any
// way, the kill signal included, the first process reads the end of its orders
// and ends; it is process 1 of the container's process namespace, so the
// kernel kills all others with it, and the engine removes the container. What
// is left where the engine too was killed is found by its label and its owner
// when the next instance is made.
//
// A Podman service of Loadstone's own lives only while something is made or
// removed, never while a load is measured, and ends by itself after idleBound
// should Loadstone be killed meanwhile.
package container

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/moby/moby/client"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/cgroup"
	"github.com/loadstone-perf/loadstone/internal/provider/golden"
	"github.com/loadstone-perf/loadstone/internal/provider/home"
)

const (
	// closeBound is how long an instance may take to go away.
	closeBound = 60 * time.Second
	// readyBound is how long a started container may take to obey.
	readyBound = 30 * time.Second
)

// Provider makes instances in containers of this machine.
type Provider struct{ clk clock.Clock }

// New returns the container provider.
func New() provider.Provider { return Provider{clk: clock.Real{}} }

// Name implements provider.Provider.
func (Provider) Name() string { return "container" }

// Instance is one container. It implements provider.Instance, Machine, Shaped,
// Snapshotter and CounterSource.
type Instance struct {
	clk    clock.Clock
	shape  provider.Shape
	image  string
	cache  string
	engine engine
	home   *home.Home
	user   home.Account
	about  string        // the engine, for people
	orders *os.File      // the pipe that keeps the container alive
	group  *cgroup.Group // nil until started
	watch  *watch        // nil until started

	commands atomic.Int64 // how many were prepared

	// mu serialises Close with itself and with Command's look at closed, and
	// guards held.
	mu     sync.Mutex
	closed bool
	held   []*os.File // pipes of commands that were cancelled early
}

// names limits Request.Name to what is safe in paths and names of containers.
var names = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// containers is where the container instances of a cache are.
func containers(cache string) string { return filepath.Join(cache, "containers") }

// Provision implements provider.Provider. It first removes what dead owners
// left. The shape is read back before it returns; a knob that did not take is
// an error.
func (p Provider) Provision(ctx context.Context, r provider.Request) (provider.Instance, error) {
	inst, err := p.provision(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("container instance %q: %w", r.Name, err)
	}
	return inst, nil
}

func (p Provider) provision(ctx context.Context, r provider.Request) (*Instance, error) {
	if !names.MatchString(r.Name) {
		return nil, errors.New("the name is not 1 to 64 letters, digits, dots, dashes and underscores")
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
	eng, err := findEngine()
	if err != nil {
		return nil, err
	}
	i := &Instance{clk: p.clk, shape: r.Shape, image: r.Image, cache: cache, user: who, engine: eng}
	if err := i.make(ctx, r.Name); err != nil {
		return nil, errors.Join(err, i.Close(ctx))
	}
	return i, nil
}

// make goes through the steps of provisioning; Close undoes any number of
// them. Each step that leaves something behind was announced in owner.json
// before, so that a crash in between leaves nothing unknown.
func (i *Instance) make(ctx context.Context, name string) error {
	if err := os.MkdirAll(containers(i.cache), 0o755); err != nil {
		return fmt.Errorf("cache: %w", err)
	}
	return i.engine.with(ctx, containers(i.cache), func(c *client.Client) error {
		for _, step := range []func() error{
			func() error { return i.sweep(ctx, c) },
			func() (err error) { i.home, err = home.New(ctx, i.clk, containers(i.cache), name, i.user); return err },
			func() error {
				return i.home.Announce(func(m *home.Mark) { m.Container, m.Engine = i.container(), i.engine.socket })
			},
			func() (err error) { i.orders, err = newOrders(i.home.Run(), i.user); return err },
			func() error { return i.start(ctx, c) },
			func() error { return i.prove(ctx) },
		} {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := step(); err != nil {
				return err
			}
		}
		return ctx.Err()
	})
}

// container is the name of the instance's container.
func (i *Instance) container() string { return "loadstone-" + i.home.ID }

// prove reads the shape back and runs a first command, which finds what no
// look at permissions tells: a path that the user may not pass, a mapping of
// users, a filter.
func (i *Instance) prove(ctx context.Context) error {
	knobs, err := i.Effective(ctx)
	if err != nil {
		return err
	}
	if err := cgroup.AllMatch(knobs); err != nil {
		return err
	}
	out, err := i.Command(ctx, "/bin/sh", "-c", "id -u && : >probe && rm probe").CombinedOutput()
	if err != nil {
		return fmt.Errorf("a first command in the container failed: %w: %s", i.user.MayPass(i.Dir(), err), firstLine(string(out)))
	}
	if got := strings.TrimSpace(string(out)); got != strconv.Itoa(i.user.UID) {
		return fmt.Errorf("a first command in the container ran as user %s, not %d", got, i.user.UID)
	}
	return nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// Dir implements provider.Machine: the same path inside and outside.
func (i *Instance) Dir() string { return i.home.Data() }

// Confined says whether the container's limits are any that were asked for.
func (i *Instance) Confined() bool { return cgroup.Confines(i.shape) }

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
	if err := i.close(ctx); err != nil {
		return fmt.Errorf("close %s: %w", i.home.ID, err)
	}
	i.closed = true
	return nil
}

func (i *Instance) close(ctx context.Context) error {
	if i.orders != nil {
		// The first process reads the end of its orders and ends, and all
		// others with it.
		_ = i.orders.Close()
	}
	i.watch.stop()
	for _, f := range i.held {
		_ = f.Close()
	}
	i.held = nil
	err := i.engine.with(ctx, containers(i.cache), func(c *client.Client) error {
		return remove(ctx, i.clk, c, i.container())
	})
	if err != nil {
		return err
	}
	// The shells that stand for commands end with them; one whose command
	// never began would wait for ever.
	if err := cgroup.KillTrees(ctx, i.clk, i.home.Run()); err != nil {
		return err
	}
	return i.home.Remove()
}

// sweep removes what dead owners left: containers, directories, unfinished
// golden states. It touches nothing whose owner lives, and nothing without
// Loadstone's label or mark.
func (i *Instance) sweep(ctx context.Context, c *client.Client) error {
	left, err := labelled(ctx, c)
	if err != nil {
		return err
	}
	var errs []error
	for _, l := range left {
		if l.ownerDead() {
			errs = append(errs, remove(ctx, i.clk, c, l.name))
		}
	}
	_, err = home.Sweep(ctx, i.clk, containers(i.cache), cleaner(i.clk, i.engine, c))
	_, goldenErr := golden.Sweep(i.cache)
	if err := errors.Join(append(errs, err, goldenErr)...); err != nil {
		return fmt.Errorf("removing what an earlier run left: %w", err)
	}
	return nil
}
