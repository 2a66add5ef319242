package trial

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/loadstone-perf/loadstone/internal/observe"
)

// pinRounds bounds the looks for threads that began while others were pinned.
const pinRounds = 20

// FindCPUs looks at the CPUs of this machine and at those that this process
// may use.
func FindCPUs() (CPUs, error) {
	cpus, err := affinity(0)
	return CPUs{Allowed: cpus, Topology: observe.FindTopology("/sys")}, err
}

// affinity are the CPUs that a thread may run on; 0 is the calling one.
func affinity(tid int) ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(tid, &set); err != nil {
		return nil, fmt.Errorf("CPU affinity of thread %d: %w", tid, err)
	}
	var cpus []int
	for n := range len(set) * strconv.IntSize {
		if set.IsSet(n) {
			cpus = append(cpus, n)
		}
	}
	return cpus, nil
}

// pin keeps every thread of this process on cpus, and the Go scheduler to as
// many at once. undo puts both back. Threads inherit the CPUs of those that
// make them, so that once all have been seen there, all to come are, too.
func pin(cpus []int) (undo func() error, err error) {
	before, err := affinity(0)
	if err != nil {
		return nil, err
	}
	procs := runtime.GOMAXPROCS(0)
	undo = func() error {
		runtime.GOMAXPROCS(procs)
		return move(before)
	}
	if err := move(cpus); err != nil {
		return nil, errors.Join(err, undo())
	}
	runtime.GOMAXPROCS(len(cpus))
	return undo, nil
}

// move sets the CPUs of all threads and looks again until none is elsewhere.
func move(cpus []int) error {
	var set unix.CPUSet
	for _, n := range cpus {
		set.Set(n)
	}
	for range pinRounds {
		elsewhere, err := threadsOff(cpus)
		if err != nil || len(elsewhere) == 0 {
			return err
		}
		for _, tid := range elsewhere {
			if err := unix.SchedSetaffinity(tid, &set); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("keep thread %d to CPUs %s: %w", tid, formatList(cpus), err)
			}
		}
	}
	return fmt.Errorf("threads of the driver went on to begin outside of CPUs %s", formatList(cpus))
}

// threadsOff are the threads of this process that may not run on just cpus.
func threadsOff(cpus []int) (tids []int, err error) {
	entries, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil, fmt.Errorf("threads of the driver: %w", err)
	}
	for _, e := range entries {
		tid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		have, err := affinity(tid)
		switch {
		case errors.Is(err, unix.ESRCH): // it has ended
		case err != nil:
			return nil, err
		case !slices.Equal(have, cpus):
			tids = append(tids, tid)
		}
	}
	return tids, nil
}

// pinned reads back where the threads of this process may run: one list where
// all agree with cpus.
func pinned(cpus []int) (effective string, err error) {
	off, err := threadsOff(cpus)
	if err != nil {
		return "", err
	}
	if len(off) > 0 {
		have, err := affinity(off[0])
		return fmt.Sprintf("%s (%d threads)", formatList(have), len(off)), err
	}
	return formatList(cpus), nil
}
