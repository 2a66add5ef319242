package des_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/loadstone-perf/loadstone/internal/twin/des"
)

func TestEventsRunInTheOrderOfTimeAndThenOfScheduling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type key struct{ at, n int64 }
		var want, got []key
		s := des.New(1)
		var n int64
		var k des.Kind
		delays := rapid.SliceOfN(rapid.Int64Range(0, 20), 1, 200).Draw(t, "delays")
		schedule := func() {
			want = append(want, key{s.Now() + delays[n], n})
			s.After(delays[n], k, 0, n)
			n++
		}
		k = s.Handle(func(_ int32, b int64) {
			got = append(got, key{s.Now(), b})
			// Handlers that schedule nothing, one or several events use the
			// hole at the root in different ways.
			for i := b % 3; i > 0 && int(n) < len(delays); i-- {
				schedule()
			}
		})
		for range (len(delays) + 2) / 3 {
			schedule()
		}
		if err := s.Run(context.Background(), 1<<40); err != nil {
			t.Fatal(err)
		}
		slices.SortStableFunc(want, func(a, b key) int { return int(a.at - b.at) })
		if !slices.Equal(got, want) {
			t.Fatalf("ran %v, want %v", got, want)
		}
		if s.Events() != uint64(len(got)) || s.Pending() != 0 {
			t.Fatalf("%d events counted and %d pending, want %d and 0", s.Events(), s.Pending(), len(got))
		}
	})
}

// TestTimersGoOffWhenTheyWereLastSetFor compares with a map of due times.
func TestTimersGoOffWhenTheyWereLastSetFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := des.New(1)
		due := map[int32]int64{}
		k := s.Handle(func(a int32, _ int64) {
			if at, set := due[a]; !set || at != s.Now() {
				t.Fatalf("timer %d went off at %d, due %d (set: %v)", a, s.Now(), at, set)
			}
			delete(due, a)
		})
		timers := make([]des.Timer, 5)
		for i := range timers {
			timers[i] = s.NewTimer(k, int32(i), 0)
		}
		for range rapid.IntRange(1, 500).Draw(t, "steps") {
			i := rapid.Int32Range(0, 4).Draw(t, "timer")
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				s.Stop(timers[i])
				delete(due, i)
			case 1:
				if err := s.Run(context.Background(), s.Now()+rapid.Int64Range(0, 5).Draw(t, "step")); err != nil {
					t.Fatal(err)
				}
			default:
				at := s.Now() + rapid.Int64Range(0, 30).Draw(t, "delay")
				s.Set(timers[i], at)
				due[i] = at
			}
			if s.Pending() != len(due) {
				t.Fatalf("%d pending, want %d", s.Pending(), len(due))
			}
			for a, at := range due {
				if at < s.Now() {
					t.Fatalf("timer %d was due at %d, now is %d", a, at, s.Now())
				}
			}
		}
	})
}

func TestATimerThatIsMovedAllTheTimeDoesNotFillTheQueue(t *testing.T) {
	s := des.New(1)
	k := s.Handle(func(int32, int64) {})
	timer := s.NewTimer(k, 0, 0)
	allocated := testing.AllocsPerRun(10, func() {
		for i := range int64(10_000) {
			s.Set(timer, s.Now()+1_000_000+i)
		}
	})
	if s.Pending() != 1 {
		t.Errorf("%d pending, want 1", s.Pending())
	}
	if allocated > 1 {
		t.Errorf("%v allocations for 10,000 moves: the queue grows", allocated)
	}
}

func TestAnEventAllocatesNothing(t *testing.T) {
	s := des.New(1)
	q := des.NewQueue(s, 1, func(int64) {})
	p := des.NewShared(s, 1, func(int64) {})
	var k des.Kind
	k = s.Handle(func(a int32, b int64) {
		q.Arrive(b, 500)
		p.Arrive(b, 500)
		s.After(1000, k, a, b)
	})
	for i := range int64(10) {
		s.At(i, k, 0, i)
	}
	end := int64(1_000_000)
	run := func() {
		if err := s.Run(context.Background(), end); err != nil {
			t.Fatal(err)
		}
		end += 10_000
	}
	run()
	// The queues grow for ever at this load: only doublings may allocate.
	if n := testing.AllocsPerRun(100, run); n > 1 {
		t.Errorf("%v allocations for 30 events", n)
	}
}

func TestThePastIsRefused(t *testing.T) {
	s := des.New(1)
	k := s.Handle(func(int32, int64) {})
	if err := s.Run(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
	timer := s.NewTimer(k, 0, 0)
	for name, do := range map[string]func(){
		"event": func() { s.At(9, k, 0, 0) },
		"timer": func() { s.Set(timer, 9) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s for the past: no panic", name)
				}
			}()
			do()
		}()
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	s := des.New(1)
	ctx, cancel := context.WithCancel(t.Context())
	var k des.Kind
	k = s.Handle(func(int32, int64) {
		if s.Events() == 100_000 {
			cancel()
		}
		s.After(1, k, 0, 0)
	})
	s.At(0, k, 0, 0)
	if err := s.Run(ctx, 1<<50); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want cancelled", err)
	}
	if s.Events() > 200_000 {
		t.Errorf("%d events after the end of the context", s.Events()-100_000)
	}
}

func TestReplicationsGiveTheSameOnAnyNumberOfWorkers(t *testing.T) {
	run := func(workers, procs int) []des.Usage {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		out, err := des.Replicate(t.Context(), 9, workers, func(ctx context.Context, i int) (des.Usage, error) {
			c := newClosed(uint64(i), 20, [3]float64{5e6, 4e6, 3e6})
			err := c.sim.Run(ctx, des.Second)
			return c.disk.Usage(), err
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	want := run(1, 1)
	if want[0] == want[1] {
		t.Fatal("two seeds gave the same run")
	}
	for _, n := range []int{1, 2, 16} {
		if got := run(n, 2); !slices.Equal(got, want) {
			t.Errorf("%d workers gave %+v, want %+v", n, got, want)
		}
	}
}

func TestTheFirstFailureEndsAllReplications(t *testing.T) {
	broken := errors.New("broken")
	_, err := des.Replicate(t.Context(), 1000, 4, func(ctx context.Context, i int) (int, error) {
		if i == 3 {
			return 0, broken
		}
		if i > 900 {
			t.Error("went on after the failure")
		}
		if i < 3 {
			return i, nil
		}
		<-ctx.Done()
		return 0, ctx.Err()
	})
	if !errors.Is(err, broken) {
		t.Errorf("error %v, want the cause", err)
	}
	for _, c := range [][2]int{{-1, 1}, {1, 0}} {
		if _, err := des.Replicate(t.Context(), c[0], c[1], func(context.Context, int) (int, error) { return 0, nil }); err == nil {
			t.Errorf("%d replications on %d workers: no error", c[0], c[1])
		}
	}
	if out, err := des.Replicate(t.Context(), 0, 1, func(context.Context, int) (int, error) { return 0, nil }); err != nil || len(out) != 0 {
		t.Errorf("no replications: %v, %v", out, err)
	}
}

func TestRingIsFirstInFirstOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r des.Ring[int]
		var want []int
		for i := range rapid.IntRange(0, 300).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "push") || len(want) == 0 {
				r.Push(i)
				want = append(want, i)
				continue
			}
			if got := r.Pop(); got != want[0] {
				t.Fatalf("popped %d, want %d", got, want[0])
			}
			want = want[1:]
		}
		if r.Len() != len(want) {
			t.Fatalf("length %d, want %d", r.Len(), len(want))
		}
	})
}
