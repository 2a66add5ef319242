//go:build linux

package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/cgroup"
	"github.com/loadstone-perf/loadstone/internal/provider/golden"
	"github.com/loadstone-perf/loadstone/internal/provider/home"
)

// Sweep removes what owners that died left below cache: their processes with
// what these shared, cgroups, instance directories and unfinished golden
// states. It returns the paths that it removed. It touches nothing whose owner
// lives, and nothing without Loadstone's mark.
func Sweep(cache string) ([]string, error) {
	dir, err := filepath.Abs(cache)
	if err != nil {
		return nil, fmt.Errorf("sweep %s: %w", cache, err)
	}
	removed, err := sweep(context.Background(), clock.Real{}, dir)
	if err != nil {
		return removed, fmt.Errorf("sweep %s: %w", cache, err)
	}
	return removed, nil
}

func sweep(ctx context.Context, clk clock.Clock, cache string) ([]string, error) {
	removed, err := home.Sweep(ctx, clk, instances(cache), cleaner(clk))
	gone, goldenErr := golden.Sweep(cache)
	return append(removed, gone...), errors.Join(err, goldenErr)
}

// cleaner is what removes a dead owner's instance outside of its directory.
func cleaner(clk clock.Clock) home.Clean {
	return func(ctx context.Context, dir string, m home.Mark, sameBoot bool) ([]string, error) {
		removed, err := home.RemoveSockets(filepath.Join(dir, "data"), m.UID)
		if err != nil || !sameBoot {
			return removed, err
		}
		gone, err := clean(ctx, clk, dir, m)
		return append(removed, gone...), err
	}
}

// clean kills what a dead owner's instance still runs and removes its cgroups
// and what its processes shared.
func clean(ctx context.Context, clk clock.Clock, dir string, m home.Mark) (removed []string, err error) {
	shared := cgroup.SharedBy(running(dir, m))
	if err := cgroup.KillTrees(ctx, clk, filepath.Join(dir, "run")); err != nil {
		return nil, err
	}
	for _, cg := range groupsOf(m) {
		if err := cgroup.KillDir(ctx, clk, cg); err != nil {
			return removed, err
		}
		if err := cgroup.RemoveDir(ctx, clk, cg); err != nil {
			return removed, err
		}
		removed = append(removed, cg)
	}
	return append(removed, shared.Names()...), shared.Remove()
}

// groupsOf are the control groups of a mark that are there.
func groupsOf(m home.Mark) (dirs []string) {
	for _, cg := range m.Cgroups {
		if filepath.Base(cg) == cgroup.Name(m.ID) && cgroup.IsCgroup(cg) {
			dirs = append(dirs, cg)
		}
	}
	return dirs
}

// running are the processes of an instance whose directory and mark these are.
func running(dir string, m home.Mark) (pids []int) {
	for _, s := range cgroup.Tree(cgroup.Noted(filepath.Join(dir, "run"))) {
		pids = append(pids, s.PID)
	}
	return append(pids, (&cgroup.Group{V1: byPath(groupsOf(m))}).PIDs()...)
}

// byPath gives directories names of their own.
func byPath(dirs []string) map[string]string {
	m := map[string]string{}
	for _, d := range dirs {
		m[d] = d
	}
	return m
}

// Leftovers implements provider.Cleaner.
func (p Provider) Leftovers(ctx context.Context, cache string) ([]provider.Leftover, error) {
	cache, err := filepath.Abs(cache)
	if err != nil {
		return nil, fmt.Errorf("leftovers: %w", err)
	}
	dead, err := home.Find(ctx, p.clk, instances(cache))
	if err != nil {
		return nil, fmt.Errorf("leftovers in %s: %w", instances(cache), err)
	}
	var found []provider.Leftover
	for _, d := range dead {
		found = append(found, d.Leftover(p.clk, "instance", parts(d), cleaner(p.clk)))
	}
	states, err := golden.Unfinished(cache)
	if err != nil {
		return nil, fmt.Errorf("leftovers in %s: %w", cache, err)
	}
	return append(append(found, states...), p.orphans()...), nil
}

// parts are what a dead owner's instance has outside of its directory.
func parts(d home.Dead) (names []string) {
	names = home.Sockets(filepath.Join(d.Dir, "data"), d.Mark.UID)
	if !d.Mark.SameBoot() {
		return names
	}
	pids := running(d.Dir, d.Mark)
	for _, pid := range pids {
		names = append(names, fmt.Sprintf("process %d", pid))
	}
	return append(append(names, groupsOf(d.Mark)...), cgroup.SharedBy(pids).Names()...)
}

// groupMark is what the control groups of an instance say.
type groupMark struct {
	Home  string     `json:"home"` // the instance's directory
	Owner home.Owner `json:"owner"`
}

// markGroup makes the instance's control groups tell whose they are, for the
// case that somebody removes its directory.
func (i *Instance) markGroup() error {
	text, err := json.Marshal(groupMark{i.home.Dir, i.home.Mark.Owner})
	if err != nil {
		return err
	}
	i.group.Mark(string(text))
	return nil
}

// orphans are control groups whose instances' directories are gone and whose
// owners do not run. One that does not say whose it is stays.
func (p Provider) orphans() (found []provider.Leftover) {
	places, err := p.look()
	if err != nil {
		return nil
	}
	for dir, text := range places.Marked() {
		m, orphan := orphaned(text)
		if !orphan {
			continue
		}
		l := provider.Leftover{Kind: "control group", What: dir, Owner: provider.Owner{PID: m.Owner.PID, Started: m.Owner.Started()}}
		l.Why = m.Owner.Ended() + ", and its directory " + m.Home + " is gone"
		if info, err := os.Stat(dir); err == nil {
			l.Since = info.ModTime()
		}
		l.Remove = func(ctx context.Context) error {
			if _, still := orphaned(text); !still {
				return fmt.Errorf("control group %s: %w", dir, provider.ErrOwned)
			}
			ctx, cancel := context.WithTimeout(ctx, home.SweepBound)
			defer cancel()
			pids := (&cgroup.Group{V1: map[string]string{"": dir}}).PIDs()
			shared := cgroup.SharedBy(pids)
			if err := cgroup.KillDir(ctx, p.clk, dir); err != nil {
				return err
			}
			return errors.Join(cgroup.RemoveDir(ctx, p.clk, dir), shared.Remove())
		}
		found = append(found, l)
	}
	return found
}

// orphaned says whether what a control group carries names a directory that is
// gone and an owner that is known not to run.
func orphaned(text string) (m groupMark, yes bool) {
	if json.Unmarshal([]byte(text), &m) != nil || m.Home == "" {
		return m, false
	}
	if _, err := os.Stat(m.Home); !errors.Is(err, os.ErrNotExist) {
		return m, false
	}
	runs, known := m.Owner.Runs()
	return m, known && !runs
}

// Stored implements provider.Storer: golden states, which container instances
// share.
func (p Provider) Stored(ctx context.Context, cache string) ([]provider.Leftover, error) {
	cache, err := filepath.Abs(cache)
	if err != nil {
		return nil, fmt.Errorf("golden states: %w", err)
	}
	return golden.Store{Clock: p.clk, Cache: cache}.Stored(ctx, func(ctx context.Context) (bool, error) {
		here, err := home.Living(ctx, p.clk, instances(cache))
		if err != nil || here {
			return here, err
		}
		return home.Living(ctx, p.clk, filepath.Join(cache, "containers"))
	})
}
