package drive

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

func sortFloats(x []float64) { slices.Sort(x) }

// instant answers at once: what remains is the driver.
func instant() *target {
	return &target{do: func(context.Context, int, *workload.Transaction) (workload.Outcome, error) {
		return workload.Outcome{}, nil
	}}
}

// discard is a Sink that keeps counts only.
type discard struct{ units int64 }

func (d *discard) Interval(i record.Interval) error {
	for _, s := range i.Types {
		d.units += s.Committed
	}
	return nil
}

// Whenever a run is cancelled, it ends, closes what it opened, leaves no
// goroutine (a bubble fails where one remains), and its books balance.
func TestCancelAtAnyMomentEndsEverything(t *testing.T) {
	const seed = 20261
	for i := range uint64(60) {
		random := rng.At(seed, i)
		c := Config{
			Workload: single(time.Duration(random.IntN(2)) * 20 * time.Millisecond), Seed: i,
			Users: int(random.Between(1, 12)), Ramp: time.Duration(random.IntN(int64(time.Second))), Measure: 10 * time.Second,
		}
		c.Connections = int(random.IntN(int64(c.Users) + 1))
		if i%2 == 0 {
			c.RatePerS, c.Arrivals = float64(random.Between(1, 500)), Poisson
		}
		tg := &target{do: func(ctx context.Context, user int, _ *workload.Transaction) (workload.Outcome, error) {
			r := rng.At(seed, i, uint64(user), uint64(bubbleClock.Now().UnixNano()))
			pause(ctx, time.Duration(r.IntN(int64(50*time.Millisecond))))
			if r.IntN(50) == 0 {
				return failed(workload.Class(r.Between(1, int64(workload.Connection)))), errors.New("now and then")
			}
			return workload.Outcome{}, nil
		}}
		c.Target = tg
		at := time.Duration(random.IntN(int64(3 * time.Second)))
		why := fmt.Errorf("stopped by hand after %v", at)
		t.Run(fmt.Sprintf("seed %d, %d", seed, i), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.Clock = bubbleClock
				ctx, cancel := context.WithCancelCause(t.Context())
				begin := bubbleClock.Now()
				go func() {
					_ = bubbleClock.SleepUntil(ctx, begin.Add(at))
					cancel(why)
				}()
				s := newSums(t, 1)
				rep, err := Run(ctx, c, s)
				if !errors.Is(err, why) {
					t.Errorf("the error is %v", err)
				}
				if took := bubbleClock.Now().Sub(begin); took != at {
					t.Errorf("cancelled after %v, it ended after %v", at, took)
				}
				if tg.opened.Load() != tg.closed.Load() {
					t.Errorf("%d sessions opened, %d closed", tg.opened.Load(), tg.closed.Load())
				}
				if !rep.Epoch.IsZero() {
					checkTotals(t, rep, s)
				}
				if rep.Driver.Aborted > int64(c.complete().Connections) {
					t.Errorf("%d aborted over %d connections", rep.Driver.Aborted, c.complete().Connections)
				}
			})
		})
	}
}

// On the machine's clock too, nothing stays behind.
func TestRunLeavesNoGoroutines(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, rate := range []float64{0, 500} {
		c := Config{Workload: single(5 * time.Millisecond), Target: instant(), Clock: clock.Real{}, Users: 20, RatePerS: rate, Measure: 100 * time.Millisecond}
		if rate > 0 {
			c.Arrivals = Poisson
		}
		d := &discard{}
		rep, err := Run(t.Context(), c, d)
		if err != nil || d.units == 0 || d.units != rep.Totals[0].Committed {
			t.Fatalf("%d units in the intervals, %d in the report, error %v", d.units, rep.Totals[0].Committed, err)
		}
	}
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		_ = clock.Real{}.SleepUntil(t.Context(), clock.Real{}.Now().Add(10*time.Millisecond))
	}
	t.Errorf("%d goroutines before, %d after", before, runtime.NumGoroutine())
}

// oneUser makes a run with one user that is not started, to call its step.
func oneUser(tb testing.TB, def *workload.Definition) *user {
	r := newRun(tb.Context(), Config{Workload: def, Target: instant(), Clock: clock.Real{}, Users: 1, Measure: time.Hour}.complete())
	tb.Cleanup(func() { r.cancel(nil) })
	if err := r.openAll(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	r.epoch = r.clock.Now()
	return r.users[0]
}

func TestTransactionsDoNotAllocate(t *testing.T) {
	txs := types("a", "b")
	def := plays("unit", txs, workload.Step{Transaction: txs[0]}, workload.Step{Transaction: txs[1], Last: true})
	u := oneUser(t, def)
	col := newCollector(u.r, &discard{})
	next := time.Duration(0)
	round := func() {
		for range 100 {
			next, _, _ = u.play(u.script.Next(), next, false)
		}
		col.drain(time.Hour)
	}
	for range 3 {
		round() // buffers and histograms get their size
	}
	if n := testing.AllocsPerRun(20, round); n != 0 {
		t.Errorf("200 transactions and their collection make %v allocations", n)
	}
	if err := col.emit(time.Hour); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(5, func() { _ = col.emit(col.start + time.Second) }); n != 0 {
		t.Errorf("handing over an interval makes %v allocations", n)
	}
}

// The buffers of a run hold what its users do between two drains, however
// long it is.
func TestBuffersStayBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Config{Workload: single(0), Target: &target{do: takes(time.Millisecond)}, Clock: bubbleClock, Users: 20, Measure: 5 * time.Second}.complete()
		r := newRun(t.Context(), c)
		if err := r.openAll(r.work); err != nil {
			t.Fatal(err)
		}
		r.epoch = bubbleClock.Now()
		col := newCollector(r, &discard{})
		r.play(col)
		r.closeAll()
		r.cancel(nil)
		// A tenth of a second at a thousand a second, with room for doubling.
		for _, u := range r.users {
			if cap(u.samples) > 400 {
				t.Errorf("user %d has room for %d samples", u.number, cap(u.samples))
			}
		}
		if cap(col.carry) > 400 {
			t.Errorf("the collector has room for %d samples", cap(col.carry))
		}
	})
}

func BenchmarkTransaction(b *testing.B) {
	u := oneUser(b, single(0))
	col := newCollector(u.r, &discard{})
	b.ReportAllocs()
	next := time.Duration(0)
	for i := 0; b.Loop(); i++ {
		next, _, _ = u.play(u.script.Next(), next, false)
		if i%1000 == 999 {
			col.drain(time.Hour)
		}
	}
}
