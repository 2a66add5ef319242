package clock

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestSleepUntilReturnsAtItsTime runs in a bubble, whose time moves only when
// everything sleeps: durations are exact.
func TestSleepUntilReturnsAtItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Real
		start := c.Now()
		if err := c.SleepUntil(t.Context(), start.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if got := c.Now().Sub(start); got != time.Hour {
			t.Errorf("slept %v, want 1h", got)
		}
	})
}

func TestSleepUntilReturnsAtOnceWhereTheTimeHasPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Real
		start := c.Now()
		for _, at := range []time.Time{{}, start.Add(-time.Hour), start} {
			if err := c.SleepUntil(t.Context(), at); err != nil {
				t.Errorf("%v: %v", at, err)
			}
		}
		if got := c.Now().Sub(start); got != 0 {
			t.Errorf("slept %v, want 0", got)
		}
	})
}

func TestSleepUntilEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Real
		start := c.Now()
		ctx, cancel := context.WithDeadline(t.Context(), start.Add(time.Second))
		defer cancel()
		if err := c.SleepUntil(ctx, start.Add(time.Hour)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		if got := c.Now().Sub(start); got != time.Second {
			t.Errorf("slept %v, want 1s", got)
		}
		// A context that has ended wins over a time that has passed: a loop
		// that is late at every step would otherwise never end.
		if err := c.SleepUntil(ctx, start); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}

// TestNowIsMonotonic is about the machine's own clock, outside a bubble.
func TestNowIsMonotonic(t *testing.T) {
	var c Real
	last := c.Now()
	if !strings.Contains(last.String(), " m=") { // how package time prints one
		t.Error("there is no monotonic reading")
	}
	for range 1000 {
		now := c.Now()
		if now.Before(last) {
			t.Fatalf("%v after %v", now, last)
		}
		last = now
	}
}
