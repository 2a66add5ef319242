package observe

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/loadstone-perf/loadstone/internal/clock"
)

// RowLog keeps the rows of one Source.
type RowLog interface {
	Row(at time.Duration, values []float64) error
}

// StateLog keeps what a StateSource saw in one interval: how often each state
// was seen, summed over the polls.
type StateLog interface {
	Row(at time.Duration, polls int64, seen map[string]int64) error
}

// Sampler reads sources at fixed times after an epoch, each source on a
// goroutine of its own so that a slow one delays nobody else. A tick that a
// slow source misses is left out, not made up for.
type Sampler struct {
	Clock clock.Clock
	Every time.Duration // between rows; 1 s where 0
	Poll  time.Duration // between polls of states; 100 ms where 0

	wait sync.WaitGroup
	mu   sync.Mutex
	errs []error
}

// Watch samples src into log from epoch on until ctx ends.
func (s *Sampler) Watch(ctx context.Context, epoch time.Time, src Source, log RowLog) {
	values := make([]float64, len(src.Columns()))
	s.goEach(ctx, epoch, orElse(s.Every, time.Second), src.Name(), func(time.Duration) error {
		if err := src.Read(ctx, values); err != nil {
			return err
		}
		// The reading counts for when it was made, not for when it was due.
		return log.Row(s.Clock.Now().Sub(epoch), values)
	})
}

// WatchStates polls src and hands the sums of each interval to log.
func (s *Sampler) WatchStates(ctx context.Context, epoch time.Time, src StateSource, log StateLog) {
	every := orElse(s.Every, time.Second)
	seen, polls, row := map[string]int64{}, int64(0), time.Duration(0)
	add := func(state string, n int) { seen[state] += int64(n) }
	s.goEach(ctx, epoch, orElse(s.Poll, 100*time.Millisecond), src.Name(), func(due time.Duration) error {
		if due >= row+every {
			if polls > 0 {
				if err := log.Row(row+every, polls, seen); err != nil {
					return err
				}
			}
			clear(seen)
			polls, row = 0, due.Truncate(every)
		}
		polls++
		return src.Poll(ctx, add)
	})
}

// goEach calls do at epoch, epoch+every, … on a goroutine of its own until
// ctx ends or do fails.
func (s *Sampler) goEach(ctx context.Context, epoch time.Time, every time.Duration, name string, do func(due time.Duration) error) {
	s.wait.Go(func() {
		for due := time.Duration(0); s.Clock.SleepUntil(ctx, epoch.Add(due)) == nil; {
			if err := do(due); err != nil {
				if ctx.Err() == nil {
					s.mu.Lock()
					s.errs = append(s.errs, fmt.Errorf("counters of %s ended: %w", name, err))
					s.mu.Unlock()
				}
				return
			}
			late := s.Clock.Now().Sub(epoch)
			due += every * time.Duration(math.Max(1, math.Ceil(float64(late-due)/float64(every))))
		}
	})
}

// Wait returns when every watch has ended, with what went wrong before ctx
// did.
func (s *Sampler) Wait() error {
	s.wait.Wait()
	return errors.Join(s.errs...)
}

func orElse(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}
