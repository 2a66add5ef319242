//go:build !linux

package clock

import "time"

// nap says that this system's kernel sleeps no finer than Go's timers.
func nap(time.Duration) bool { return false }
