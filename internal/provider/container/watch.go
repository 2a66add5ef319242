//go:build linux

package container

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/provider/cgroup"
)

// grace is how long the stand-ins of commands have to see the end of a container
// that has ended; those whose commands it never began would wait for ever.
const grace = time.Second

// watch notices the end of the container's first process, with which all others
// end: an administrator's kill, or the system's for want of memory.
type watch struct {
	ended  atomic.Bool
	first  *os.File // the process, as pidfd_open(2) has it
	cancel context.CancelFunc
	done   chan struct{}
}

// newWatch watches the process pid; run is the instance's run directory. Where
// the kernel has no way to wait for a process that is no child (before 5.10),
// nothing is noticed.
func newWatch(clk clock.Clock, pid int, run string) (*watch, error) {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watch{cancel: cancel, done: make(chan struct{})}
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	switch {
	case errors.Is(err, unix.ESRCH):
		w.ended.Store(true)
		close(w.done)
		return w, nil
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EINVAL):
		close(w.done)
		return w, nil
	case err != nil:
		cancel()
		return nil, fmt.Errorf("watch the container: %w", err)
	}
	w.first = os.NewFile(uintptr(fd), "the container's first process")
	conn, err := w.first.SyscallConn()
	if err != nil {
		cancel()
		return nil, errors.Join(fmt.Errorf("watch the container: %w", err), w.first.Close())
	}
	go func() {
		defer close(w.done)
		looked := false
		// A pidfd becomes readable when its process has ended (poll(2)).
		if conn.Read(func(uintptr) bool { was := looked; looked = true; return was }) != nil {
			return // stop has closed it
		}
		w.ended.Store(true)
		for clk.SleepUntil(ctx, clk.Now().Add(grace)) == nil {
			_ = cgroup.KillTrees(ctx, clk, run) // what does not end now is tried again
		}
	}()
	return w, nil
}

// stop ends the watching; w may be nil.
func (w *watch) stop() {
	if w == nil {
		return
	}
	w.cancel()
	if w.first != nil {
		_ = w.first.Close()
	}
	<-w.done
}
