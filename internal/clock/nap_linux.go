package clock

import (
	"syscall"
	"time"
)

// nap sleeps for d in the kernel, or less where a signal comes. It says
// whether the system can do so.
func nap(d time.Duration) bool {
	ts := syscall.NsecToTimespec(int64(d))
	err := syscall.Nanosleep(&ts, nil)
	return err == nil || err == syscall.EINTR
}
