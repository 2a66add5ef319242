package drive

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/loadstone-perf/loadstone/internal/clock"
)

// The Go runtime waits for its timers with a resolution of one millisecond
// where the program is otherwise idle (its poller takes whole milliseconds), so
// that users would start half a millisecond late on average and 1.1 ms at the
// 99th percentile. The last stretch of a wait is therefore slept in the
// kernel, which is late by its timer slack of 50 µs.
const (
	napFrom = 1200 * time.Microsecond
	// maxNaps bounds the threads that sleep so. Where more users wait to start
	// at the same moment, those that nap wake the runtime, which then sees to
	// the timers of the others.
	maxNaps = 4
)

// fineClock is the machine's clock, with waits that end on time.
type fineClock struct {
	clock.Real
	naps atomic.Int32
}

// SleepUntil implements clock.Clock.
func (c *fineClock) SleepUntil(ctx context.Context, t time.Time) error {
	if err := c.Real.SleepUntil(ctx, t.Add(-napFrom)); err != nil {
		return err
	}
	defer c.naps.Add(-1)
	if c.naps.Add(1) > maxNaps {
		return c.Real.SleepUntil(ctx, t)
	}
	// An interrupted nap ends early: look again.
	for ctx.Err() == nil {
		d := t.Sub(c.Now())
		if d <= 0 {
			return nil
		}
		if !nap(d) {
			return c.Real.SleepUntil(ctx, t)
		}
	}
	return ctx.Err()
}
