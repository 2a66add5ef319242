package clock

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// The Go runtime waits for its timers with a resolution of one millisecond
// where the program is otherwise idle (its poller takes whole milliseconds), so
// that a wait ends half a millisecond late on average and 1.1 ms at the 99th
// percentile. Fine therefore sleeps the last stretch in the kernel, which is
// late by its timer slack of 50 µs.
const (
	napFrom = 1200 * time.Microsecond
	// maxNaps bounds the threads that sleep so. Where more goroutines wait for
	// the same moment, those that nap wake the runtime, which then sees to the
	// timers of the others.
	maxNaps = 4
)

// Fine is the machine's clock with waits that end on time, to some tens of
// microseconds where the kernel can do it, and that allocate nothing. The zero
// value is ready; it must not be copied. It is not for tests with a simulated
// time, whose clock stands still while a thread sleeps in the kernel.
type Fine struct {
	timers sync.Pool // of *time.Timer, stopped
	naps   atomic.Int32
}

// Now implements Clock.
func (*Fine) Now() time.Time { return time.Now() }

// SleepUntil implements Clock.
func (c *Fine) SleepUntil(ctx context.Context, t time.Time) error {
	if err := c.wait(ctx, t.Add(-napFrom)); err != nil {
		return err
	}
	defer c.naps.Add(-1)
	if c.naps.Add(1) > maxNaps {
		return c.wait(ctx, t)
	}
	// An interrupted nap ends early: look again.
	for d := time.Until(t); d > 0 && ctx.Err() == nil; d = time.Until(t) {
		if !nap(d) {
			return c.wait(ctx, t)
		}
	}
	return ctx.Err()
}

// wait is Real's SleepUntil with a timer that was used before.
func (c *Fine) wait(ctx context.Context, t time.Time) error {
	d := time.Until(t)
	if d <= 0 {
		return ctx.Err()
	}
	timer, ok := c.timers.Get().(*time.Timer)
	if !ok {
		timer = time.NewTimer(d)
	} else {
		timer.Reset(d)
	}
	err := wait(ctx, timer)
	c.timers.Put(timer)
	return err
}
