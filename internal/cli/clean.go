package cli

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/loadstone-perf/loadstone/internal/catalog"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

type cleanCommand struct {
	Dir    string `arg:"" optional:"" help:"Where to look: a cache directory, or a volume that a study named (instance.data_volume, instance.log_volume). Default: the cache." placeholder:"DIR"`
	DryRun bool   `short:"n" help:"List only."`
	Golden bool   `help:"Remove golden states and images of guests, too, which are kept for the next run on purpose."`
	Yes    bool   `short:"y" help:"Do not ask."`
	JSON   bool   `help:"Print as JSON. Nothing is asked: without --yes nothing is removed."`
}

// Help is shown by 'loadstone clean --help'.
func (cleanCommand) Help() string {
	return `A run that is killed leaves things behind: the directories of its instances, and, where its watchdogs were killed too, processes, control groups, containers, virtual machines, shared memory, sockets. The next run with the same cache and provider removes them by itself; this command does so now, for all providers, and tells what there is.

Each instance carries the mark of the process that made it. It is removed only where that process (its id, start time and boot) does not run any more and its lock is free; both are looked at again at the moment of removal. What belongs to a run that is under way, and what has no mark of Loadstone, is never touched. Results are never removed. Databases on servers that ran already (engine.endpoint) are removed by the next run there.

Exit codes: 0 good (or there is nothing, or you said no), 1 something could not be looked at or removed, 2 wrong usage.

Examples:
  loadstone clean
  loadstone clean --dry-run
  loadstone clean /mnt/fast --yes
  loadstone clean --golden
  loadstone clean --json | jq '.[].what'`
}

// leftover is a provider.Leftover for people and programs.
type leftover struct {
	Provider string     `json:"provider"`
	Kind     string     `json:"kind"`
	What     string     `json:"what"`
	Owner    ownerShown `json:"owner,omitzero"`
	Since    time.Time  `json:"since,omitzero"`
	Why      string     `json:"why"`
	Parts    []string   `json:"parts,omitempty"`
	Bytes    unit.Bytes `json:"bytes"`
	Removed  bool       `json:"removed"`
	Error    string     `json:"error,omitempty"`

	of provider.Leftover
}

// ownerShown is a provider.Owner in JSON.
type ownerShown struct {
	PID     int       `json:"pid,omitempty"`
	User    string    `json:"user,omitempty"`
	Started time.Time `json:"started,omitzero"`
}

// Run lists, asks and removes.
func (c cleanCommand) Run(e *env) error {
	dirs, err := c.places(e)
	if err != nil {
		return err
	}
	all, failed := c.find(e, dirs)
	if !c.JSON {
		c.list(e, all, dirs)
	}
	if len(all) > 0 && !c.DryRun && (c.Yes || !c.JSON && c.agreed(e, len(all))) {
		failed = errors.Join(failed, c.remove(e, all))
	}
	if c.JSON {
		failed = errors.Join(failed, e.json(all))
	}
	return failed
}

// places are where instances may be: the directory itself, and, where it is a
// volume, Loadstone's part of it.
func (c cleanCommand) places(e *env) ([]string, error) {
	dir := c.Dir
	if dir == "" {
		dir = e.cache
	} else if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return nil, usageError{fmt.Errorf("loadstone: %s is no directory", dir)}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("directory %s: %w", c.Dir, err)
	}
	return []string{dir, filepath.Join(dir, "loadstone")}, nil
}

// find asks every provider; what several of them know of is listed once.
func (c cleanCommand) find(e *env, dirs []string) (all []leftover, failed error) {
	all = []leftover{}
	add := func(name string, found []provider.Leftover, err error) {
		if errors.Is(err, provider.ErrOwned) {
			_, _ = fmt.Fprintln(e.stderr, "loadstone:", err)
			err = nil
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("provider %s: %w", name, err))
		}
		for _, l := range found {
			if !slices.ContainsFunc(all, func(o leftover) bool { return o.What == l.What }) {
				all = append(all, shown(name, l))
			}
		}
	}
	for _, p := range catalog.Providers() {
		place := p.New()
		for _, dir := range dirs {
			if cleaner, ok := place.(provider.Cleaner); ok {
				found, err := cleaner.Leftovers(e.ctx, dir)
				add(p.Name, found, err)
			}
			if storer, ok := place.(provider.Storer); ok && c.Golden {
				found, err := storer.Stored(e.ctx, dir)
				add(p.Name, found, err)
			}
		}
	}
	return all, failed
}

func shown(name string, l provider.Leftover) leftover {
	return leftover{
		Provider: name, Kind: l.Kind, What: l.What, Since: l.Since, Why: l.Why, Parts: l.Parts, Bytes: l.Bytes,
		Owner: ownerShown{l.Owner.PID, l.Owner.User, l.Owner.Started}, of: l,
	}
}

// list tells people what there is.
func (c cleanCommand) list(e *env, all []leftover, dirs []string) {
	if len(all) == 0 {
		e.printf("nothing is left below %s\n", dirs[0])
		return
	}
	for _, l := range all {
		e.printf("%s  %s\n", l.Kind, l.What)
		e.printf("  made by  %s%s\n", l.of.Owner, since(l.Since))
		e.printf("  because  %s\n", l.Why)
		if len(l.Parts) > 0 {
			e.printf("  with     %s\n", strings.Join(l.Parts, "\n           "))
		}
		if l.Bytes > 0 {
			e.printf("  size     %s\n", l.Bytes.Human())
		}
	}
}

func since(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return ", " + t.Local().Format("2006-01-02 15:04:05")
}

// agreed asks whether n things shall go. No answer is a no.
func (c cleanCommand) agreed(e *env, n int) bool {
	e.printf("\nRemove %s? [y/N] ", counted(n, "thing"))
	answer, _ := bufio.NewReader(e.stdin).ReadString('\n')
	answer = strings.ToLower(strings.TrimSpace(answer))
	if answer == "y" || answer == "yes" {
		return true
	}
	e.printf("nothing was removed\n")
	return false
}

// remove removes what can be, and tells of the rest.
func (c cleanCommand) remove(e *env, all []leftover) (failed error) {
	for i := range all {
		l := &all[i]
		err := e.ctx.Err()
		if err == nil {
			err = l.of.Remove(e.ctx)
		}
		if err != nil {
			l.Error = err.Error()
			failed = errors.Join(failed, fmt.Errorf("%s %s: %w", l.Kind, l.What, err))
			continue
		}
		l.Removed = true
		if !c.JSON {
			e.printf("removed %s  %s\n", l.Kind, l.What)
		}
	}
	return failed
}
