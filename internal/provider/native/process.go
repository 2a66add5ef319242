//go:build linux

package native

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/loadstone-perf/loadstone/internal/clock"
)

// ticksPerSecond is the unit of times in /proc/PID/stat. The kernel shows
// them in USER_HZ, which is 100 on every architecture that Go runs on.
const ticksPerSecond = 100

// stat is what we need of /proc/PID/stat (proc_pid_stat(5)).
type stat struct {
	pid, parent, group, session int
	state                       byte
	majorFaults                 uint64 // with those of children waited for
	userTicks, systemTicks      uint64 // with those of children waited for
	start                       uint64 // ticks since boot
	rssPages                    int64
}

func readStat(pid int) (stat, error) {
	text, err := os.ReadFile(pidText(pid) + "/stat")
	if err != nil {
		return stat{}, err
	}
	return parseStat(text)
}

// parseStat reads one line of /proc/PID/stat. The second field is the
// program's name in parentheses and may hold anything, more parentheses
// included; the last one ends it.
func parseStat(text []byte) (stat, error) {
	end := bytes.LastIndexByte(text, ')')
	first, _, ok := strings.Cut(string(text), " ")
	if end < 0 || !ok {
		return stat{}, fmt.Errorf("%q is no process status", text)
	}
	f := strings.Fields(string(text[end+1:]))
	if len(f) < 22 || len(f[0]) != 1 {
		return stat{}, fmt.Errorf("%q is no process status", text)
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
	s := stat{
		pid: int(num(first)), state: f[0][0],
		parent: int(at(4)), group: int(at(5)), session: int(at(6)),
		majorFaults: uint64(at(12) + at(13)),
		userTicks:   uint64(at(14) + at(16)),
		systemTicks: uint64(at(15) + at(17)),
		start:       uint64(at(22)), rssPages: at(24),
	}
	return s, bad
}

// noted returns the processes that the files in run name and that are still
// the same ones: a process id alone may have been used again.
func noted(run string) []int {
	entries, err := os.ReadDir(run)
	if err != nil {
		return nil
	}
	var pids []int
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(run, e.Name()))
		if err != nil {
			continue
		}
		then, err := parseStat(bytes.TrimSpace(text))
		if err != nil || strconv.Itoa(then.pid) != e.Name() {
			continue
		}
		if now, err := readStat(then.pid); err == nil && now.start == then.start {
			pids = append(pids, then.pid)
		}
	}
	return pids
}

// tree returns roots and every living process that descends from them or is
// of their group or session.
func tree(roots []int) []stat {
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
	var others, found []stat
	for _, d := range dirs {
		pid, err := strconv.Atoi(filepath.Base(d))
		if err != nil {
			continue
		}
		s, err := readStat(pid)
		if err != nil || s.state == 'Z' {
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
				in[s.pid], grown = true, true
				found = append(found, s)
			} else {
				rest = append(rest, s)
			}
		}
		others = rest
	}
	return found
}

// killTrees kills the processes noted in run with all that belong to them,
// and waits until they are gone.
func killTrees(ctx context.Context, clk clock.Clock, run string) error {
	// What was once seen stays known, so that a process that was forked
	// while its parent was being killed is found by its group or session.
	var known []int
	for {
		known = append(known, noted(run)...)
		alive := tree(known)
		for _, s := range alive {
			known = append(known, s.pid)
		}
		if len(alive) == 0 {
			return nil
		}
		for _, s := range alive {
			if err := syscall.Kill(s.pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("kill process %d: %w", s.pid, err)
			}
		}
		if err := pause(ctx, clk); err != nil {
			return fmt.Errorf("%d processes do not end: %w", len(alive), err)
		}
	}
}
