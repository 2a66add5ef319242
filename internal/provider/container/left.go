//go:build linux

package container

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/moby/moby/client"
	"golang.org/x/sys/unix"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/cgroup"
	"github.com/loadstone-perf/loadstone/internal/provider/golden"
	"github.com/loadstone-perf/loadstone/internal/provider/home"
)

// leftover is a container of ours, or of another Loadstone.
type leftover struct {
	name   string
	labels map[string]string
	made   time.Time
}

// labelled lists the containers that any Loadstone made.
func labelled(ctx context.Context, c *client.Client) ([]leftover, error) {
	found, err := c.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: client.Filters{}.Add("label", labelHome)})
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", err)
	}
	var all []leftover
	for _, s := range found.Items {
		if s.Labels[labelHome] != "" && len(s.Names) > 0 {
			all = append(all, leftover{strings.TrimPrefix(s.Names[0], "/"), s.Labels, time.Unix(s.Created, 0)})
		}
	}
	return all, nil
}

// owner is the process that made the container; ok is false where the labels
// do not tell.
func (l leftover) owner() (o home.Owner, ok bool) {
	pid, err := strconv.Atoi(l.labels[labelPID])
	start, startErr := strconv.ParseUint(l.labels[labelStart], 10, 64)
	return home.Owner{PID: pid, StartTime: start, Boot: l.labels[labelBoot], Space: l.labels[labelSpace]}, err == nil && startErr == nil
}

// ownerDead says whether nobody will miss the container: its owner is not known
// to run, and the lock in its directory is free, or the directory is gone and
// the owner is known not to run.
func (l leftover) ownerDead() bool {
	o, ok := l.owner()
	if !ok {
		return false
	}
	runs, known := o.Runs()
	if known && runs {
		return false
	}
	lock, err := os.OpenFile(filepath.Join(l.labels[labelHome], "lock"), os.O_RDWR, 0)
	if err == nil {
		defer lock.Close()
		return unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
	}
	return errors.Is(err, os.ErrNotExist) && known // else another user's
}

// cleaner is what removes a dead owner's instance outside of its directory; c
// is a client of eng.
func cleaner(clk clock.Clock, eng engine, c *client.Client) home.Clean {
	return func(ctx context.Context, dir string, m home.Mark, sameBoot bool) ([]string, error) {
		if m.Engine != eng.socket {
			// Another engine's: it would be wrong to lose the mark.
			return nil, fmt.Errorf("%s belongs to the container engine at %q: start that, or remove the directory and container %s by hand", dir, m.Engine, m.Container)
		}
		if m.Container != "" {
			if err := remove(ctx, clk, c, m.Container); err != nil {
				return nil, err
			}
		}
		if !sameBoot {
			return nil, nil
		}
		return nil, cgroup.KillTrees(ctx, clk, filepath.Join(dir, "run"))
	}
}

// Leftovers implements provider.Cleaner. It asks the engine only where cache
// has seen a container: to ask, a Podman service must be started.
func (p Provider) Leftovers(ctx context.Context, cache string) ([]provider.Leftover, error) {
	cache, err := filepath.Abs(cache)
	if err != nil {
		return nil, fmt.Errorf("leftovers: %w", err)
	}
	all := containers(cache)
	if !exists(all) {
		return nil, nil
	}
	eng, err := findEngine()
	if err != nil {
		return nil, fmt.Errorf("leftovers in %s: %w", all, err)
	}
	found := leftSockets(all)
	err = eng.with(ctx, all, func(c *client.Client) error {
		there, err := labelled(ctx, c)
		if err != nil {
			return err
		}
		dead, err := home.Find(ctx, p.clk, all)
		for _, d := range dead {
			found = append(found, p.instance(d, eng, all, there))
		}
		for _, l := range there {
			if !exists(l.labels[labelHome]) && l.ownerDead() {
				found = append(found, p.orphan(l, eng, all))
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("leftovers in %s: %w", all, err)
	}
	states, err := golden.Unfinished(cache)
	if err != nil {
		return nil, fmt.Errorf("leftovers in %s: %w", cache, err)
	}
	return append(found, states...), nil
}

// instance describes what a dead owner left, which may lack its container.
func (p Provider) instance(d home.Dead, eng engine, all string, there []leftover) provider.Leftover {
	var parts []string
	for _, l := range there {
		if l.name == d.Mark.Container {
			parts = append(parts, "container "+l.name)
		}
	}
	if d.Mark.SameBoot() {
		for _, s := range cgroup.Tree(cgroup.Noted(filepath.Join(d.Dir, "run"))) {
			parts = append(parts, fmt.Sprintf("process %d", s.PID))
		}
	}
	out := d.Leftover(p.clk, "instance", parts, nil)
	out.Remove = func(ctx context.Context) error {
		return eng.with(ctx, all, func(c *client.Client) error {
			return d.Remove(ctx, p.clk, cleaner(p.clk, eng, c))
		})
	}
	return out
}

// orphan describes a container whose instance's directory is gone.
func (p Provider) orphan(l leftover, eng engine, all string) provider.Leftover {
	o, _ := l.owner()
	return provider.Leftover{
		Kind: "container", What: l.name, Since: l.made, Owner: provider.Owner{PID: o.PID, Started: o.Started()},
		Why: o.Ended() + ", and its directory " + l.labels[labelHome] + " is gone",
		Remove: func(ctx context.Context) error {
			if !l.ownerDead() {
				return fmt.Errorf("container %s: %w", l.name, provider.ErrOwned)
			}
			return eng.with(ctx, all, func(c *client.Client) error { return remove(ctx, p.clk, c, l.name) })
		},
	}
}

// leftSockets are the sockets of Podman services whose makers were killed.
func leftSockets(all string) (found []provider.Leftover) {
	for _, path := range deadSockets(all) {
		l := provider.Leftover{Kind: "file of a container engine", What: path, Owner: provider.Owner{PID: makerOf(path)}}
		l.Why = fmt.Sprintf("process %d, which made it, has ended", l.Owner.PID)
		if info, err := os.Lstat(path); err == nil {
			l.Since = info.ModTime()
		}
		l.Remove = func(context.Context) error {
			if syscall.Kill(makerOf(path), 0) == nil {
				return fmt.Errorf("%s: %w", path, provider.ErrOwned)
			}
			if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
			return nil
		}
		found = append(found, l)
	}
	return found
}
