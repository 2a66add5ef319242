// Package clock is the only place that reads the time or sleeps. Code that
// needs either takes a Clock, so that tests and the twin bring their own: Real
// for most, Fine where a wait must end within a fraction of a millisecond.
package clock

import (
	"context"
	"time"
)

// Clock tells the time and waits for it.
type Clock interface {
	// Now is the current time, with a monotonic reading where there is one:
	// differences of two Nows are durations that no clock step disturbs.
	Now() time.Time
	// SleepUntil returns nil at t or later, at once where t has passed, or
	// ctx's error if that ends first.
	SleepUntil(ctx context.Context, t time.Time) error
}

// Real is the machine's clock.
type Real struct{}

// Now implements Clock.
func (Real) Now() time.Time { return time.Now() }

// SleepUntil implements Clock.
func (Real) SleepUntil(ctx context.Context, t time.Time) error {
	d := time.Until(t)
	if d <= 0 {
		return ctx.Err()
	}
	return wait(ctx, time.NewTimer(d))
}

// wait waits for timer, and leaves it stopped with nothing in its channel.
func wait(ctx context.Context, timer *time.Timer) error {
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
