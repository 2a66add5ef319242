package clock

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

func TestFineNeverWakesEarlyAndObeysItsContext(t *testing.T) {
	c := &Fine{}
	for _, d := range []time.Duration{-time.Second, 0, 50 * time.Microsecond, 900 * time.Microsecond, 3 * time.Millisecond} {
		until := c.Now().Add(d)
		if err := c.SleepUntil(t.Context(), until); err != nil || c.Now().Before(until) {
			t.Errorf("waiting for %v: error %v, early %v", d, err, c.Now().Before(until))
		}
	}
	c.naps.Store(maxNaps) // too many nap: the others wait as usual
	until := c.Now().Add(700 * time.Microsecond)
	if err := c.SleepUntil(t.Context(), until); err != nil || c.Now().Before(until) {
		t.Errorf("waiting beside those that nap: error %v, early %v", err, c.Now().Before(until))
	}
	c.naps.Store(0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, d := range []time.Duration{time.Microsecond, time.Hour} {
		if err := c.SleepUntil(ctx, c.Now().Add(d)); !errors.Is(err, context.Canceled) {
			t.Errorf("waiting for %v with a cancelled context: %v", d, err)
		}
	}
	if n := c.naps.Load(); n != 0 {
		t.Errorf("%d naps under way", n)
	}
}

func TestFineWaitsAllocateNothing(t *testing.T) {
	c := &Fine{}
	wait := func() {
		if err := c.SleepUntil(t.Context(), c.Now().Add(napFrom+50*time.Microsecond)); err != nil {
			t.Fatal(err)
		}
	}
	wait()
	if n := testing.AllocsPerRun(20, wait); n >= 1 { // the pool may lose a timer to the collector
		t.Errorf("a wait makes %v allocations", n)
	}
}

func TestFineTimersAreNotMixedUp(t *testing.T) {
	c := &Fine{}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			until := c.Now().Add(2*time.Millisecond + time.Duration(i)*50*time.Microsecond)
			if err := c.SleepUntil(t.Context(), until); err != nil || c.Now().Before(until) {
				t.Errorf("wait %d: error %v, early %v", i, err, c.Now().Before(until))
			}
		})
		wg.Go(func() {
			if err := c.SleepUntil(ctx, c.Now().Add(time.Hour)); !errors.Is(err, context.Canceled) {
				t.Errorf("wait %d, which is cancelled: %v", i, err)
			}
		})
	}
	cancel()
	wg.Wait()
}
