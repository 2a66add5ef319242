//go:build linux

package cgroup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/loadstone-perf/loadstone/internal/clock"
)

// ticksPerSecond is the unit of times in /proc/PID/stat. The kernel shows
// them in USER_HZ, which is 100 on every architecture that Go runs on.
const ticksPerSecond = 100

// Stat is what we need of /proc/PID/stat (proc_pid_stat(5)).
type Stat struct {
	PID, parent, group, session int
	State                       byte
	majorFaults                 uint64 // with those of children waited for
	userTicks, systemTicks      uint64 // with those of children waited for
	Start                       uint64 // ticks since boot
	rssPages                    int64
}

// ReadStat reads what we need of /proc/PID/stat.
func ReadStat(pid int) (Stat, error) {
	text, err := os.ReadFile(pidText(pid) + "/stat")
	if err != nil {
		return Stat{}, err
	}
	return parseStat(text)
}

// parseStat reads one line of /proc/PID/stat. The second field is the
// program's name in parentheses and may hold anything, more parentheses
// included; the last one ends it.
func parseStat(text []byte) (Stat, error) {
	end := bytes.LastIndexByte(text, ')')
	first, _, ok := strings.Cut(string(text), " ")
	if end < 0 || !ok {
		return Stat{}, fmt.Errorf("%q is no process status", text)
	}
	f := strings.Fields(string(text[end+1:]))
	if len(f) < 22 || len(f[0]) != 1 {
		return Stat{}, fmt.Errorf("%q is no process status", text)
	}
	var bad error
	num := func(s string) int64 {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			bad = fmt.Errorf("process status: %w", err)
		}
		return n
	}
	// f[0] is field 3 of the manual page.
	at := func(field int) int64 { return num(f[field-3]) }
	s := Stat{
		PID: int(num(first)), State: f[0][0],
		parent: int(at(4)), group: int(at(5)), session: int(at(6)),
		majorFaults: uint64(at(12) + at(13)),
		userTicks:   uint64(at(14) + at(16)),
		systemTicks: uint64(at(15) + at(17)),
		Start:       uint64(at(22)), rssPages: at(24),
	}
	return s, bad
}

// Noted returns the processes that the files in run name and that are still
// the same ones: a process id alone may have been used again.
func Noted(run string) []int {
	entries, err := os.ReadDir(run)
	if err != nil {
		return nil
	}
	var pids []int
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue // opening a pipe would wait for its other end
		}
		text, err := os.ReadFile(filepath.Join(run, e.Name()))
		if err != nil {
			continue
		}
		then, err := parseStat(bytes.TrimSpace(text))
		if err != nil || strconv.Itoa(then.PID) != e.Name() {
			continue
		}
		if now, err := ReadStat(then.PID); err == nil && now.Start == then.Start {
			pids = append(pids, then.PID)
		}
	}
	return pids
}

// Tree returns roots and every living process that descends from them or is
// of their group or session.
func Tree(roots []int) []Stat {
	if len(roots) == 0 {
		return nil
	}
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	in := map[int]bool{}
	for _, pid := range roots {
		in[pid] = true
	}
	var others, found []Stat
	for _, d := range dirs {
		pid, err := strconv.Atoi(filepath.Base(d))
		if err != nil {
			continue
		}
		s, err := ReadStat(pid)
		if err != nil || s.State == 'Z' {
			continue
		}
		if in[pid] {
			found = append(found, s)
		} else {
			others = append(others, s)
		}
	}
	for grown := true; grown; {
		grown = false
		rest := others[:0]
		for _, s := range others {
			if in[s.parent] || in[s.group] || in[s.session] {
				in[s.PID], grown = true, true
				found = append(found, s)
			} else {
				rest = append(rest, s)
			}
		}
		others = rest
	}
	return found
}

// KillTrees kills the processes Noted in run with all that belong to them,
// and waits until they are gone.
func KillTrees(ctx context.Context, clk clock.Clock, run string) error {
	// What was once seen stays known, so that a process that was forked
	// while its parent was being killed is found by its group or session.
	var known []int
	for {
		known = append(known, Noted(run)...)
		alive := Tree(known)
		for _, s := range alive {
			known = append(known, s.PID)
		}
		if len(alive) == 0 {
			return nil
		}
		for _, s := range alive {
			if err := syscall.Kill(s.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("kill process %d: %w", s.PID, err)
			}
		}
		if err := Pause(ctx, clk); err != nil {
			return fmt.Errorf("%d processes do not end: %w", len(alive), err)
		}
	}
}

// stopRounds is how often a command's tree is looked through for processes
// that were forked while it was being stopped.
const stopRounds = 20

// KillTree kills a process with all that descend from it or are of its
// group or session. It does not wait for their end. The tree is stopped
// first: a process that is killed while it forks would leave a child that
// nothing leads to any more.
func KillTree(pid int) error {
	stopped := map[int]bool{}
	for range stopRounds {
		grown := false
		for _, s := range Tree(append(slices.Collect(maps.Keys(stopped)), pid)) {
			if stopped[s.PID] {
				continue
			}
			if err := signal(s.PID, syscall.SIGSTOP); err != nil {
				return err
			}
			stopped[s.PID], grown = true, true
		}
		if !grown {
			break
		}
	}
	if len(stopped) == 0 {
		return os.ErrProcessDone
	}
	var errs []error
	for pid := range stopped {
		errs = append(errs, signal(pid, syscall.SIGKILL))
	}
	return errors.Join(errs...)
}

// signal sends a signal to a process, which may have ended.
func signal(pid int, s syscall.Signal) error {
	if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal %v to process %d: %w", s, pid, err)
	}
	return nil
}

// poll is how often something is looked at that gives no notice.
const poll = 5 * time.Millisecond

// Pause waits a moment, or returns ctx's error.
func Pause(ctx context.Context, clk clock.Clock) error {
	return clk.SleepUntil(ctx, clk.Now().Add(poll))
}

// BootID identifies this boot of the kernel.
func BootID() (string, error) {
	text, err := readLine("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("boot id: %w", err)
	}
	return text, nil
}

// Booted is when the machine was started, to a second (btime in proc_stat(5)).
func Booted() (time.Time, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return time.Time{}, fmt.Errorf("time of boot: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "btime "); ok {
			s, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			if err != nil {
				return time.Time{}, fmt.Errorf("time of boot: %w", err)
			}
			return time.Unix(s, 0), nil
		}
	}
	return time.Time{}, errors.New("time of boot: the kernel does not tell")
}

// Ticks is the time that n ticks of Stat.Start take.
func Ticks(n uint64) time.Duration { return time.Duration(n) * (time.Second / ticksPerSecond) }

// pidText is the base of /proc paths.
func pidText(pid int) string { return "/proc/" + strconv.Itoa(pid) }
