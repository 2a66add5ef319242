package host

import (
	"slices"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/twin/des"
)

func TestAMigrationFillsTheCachesAgain(t *testing.T) {
	const q = 200_000
	b := newBench(t, plain(1, 2, 1), Scheduler{Refill: Nanos(q)})
	moved, pinned := b.client(Client{CPUs: 1}), b.client(Client{CPUs: 1, Affinity: []int{0}})
	b.task(moved, 1e6, 0, -1) // on thread 0
	b.run(5 * des.Millisecond)
	b.spin(pinned, 1) // takes thread 0
	for i, want := range []int64{1e6 + q, 1e6} {
		before := b.cpu.ClientUsage(moved).Run
		b.task(moved, 1e6, 0, -1)
		b.run(5 * des.Millisecond)
		if ran := b.cpu.ClientUsage(moved).Run - before; ran != want {
			t.Errorf("burst %d after the move ran %d ns, want %d", i, ran, want)
		}
	}
}

func TestAnInvoluntarySwitchFillsTheCachesAgain(t *testing.T) {
	b := newBench(t, plain(1, 1, 1), Scheduler{Refill: Nanos(1e6), Quantum: 10 * des.Millisecond})
	for range 2 {
		b.spin(b.client(Client{CPUs: 1}), 1)
	}
	b.run(10 * des.Second)
	// Who has run as much as the other goes on, so a stint is two quanta: of
	// 20 ms, 1 ms fills the caches.
	near(t, "bursts of 1 ms in 10 s", float64(b.ends[0]+b.ends[1]), 9500, 30)
}

// TestWhoIdledHasSavedNothingUp lets one client idle for ten seconds beside a
// busy one: from then on it gets its half, not all.
func TestWhoIdledHasSavedNothingUp(t *testing.T) {
	for _, kind := range []Kind{Proportional, Fair} {
		b := newBench(t, plain(1, 1, 1), Scheduler{Kind: kind})
		busy, idle := b.client(Client{CPUs: 1}), b.client(Client{CPUs: 1})
		b.spin(busy, 1)
		b.run(10 * des.Second)
		b.spin(idle, 1)
		b.run(400 * des.Millisecond)
		near(t, "ms of 400 for who idled", float64(b.cpu.ClientUsage(idle).Run)/1e6, 200, 15)
	}
}

// TestLookingChangesNothing compares a run whose usage is read all the time
// with one that is left alone.
func TestLookingChangesNothing(t *testing.T) {
	for _, kind := range []Kind{Proportional, Fair} {
		run := func(look bool) []int64 {
			b := newBench(t, plain(2, 2, 2), Scheduler{Kind: kind, Skew: des.Millisecond, OffHome: 3 * des.Millisecond, Refill: Nanos(1000)})
			for i := range 6 {
				c := b.client(Client{CPUs: 3, Limit: float64(i % 2)})
				for j := range 4 {
					b.task(c, float64(1e5*(1+i*j)), 3e4, int64(j)*70_000)
				}
			}
			for range 500 {
				b.run(des.Millisecond)
				for i := range b.cpu.clients {
					if look {
						b.cpu.ClientUsage(i)
						b.cpu.Usage()
					}
				}
			}
			return b.ends
		}
		if a, b := run(false), run(true); !slices.Equal(a, b) {
			t.Errorf("kind %d: bursts ended %v, looked at %v", kind, a, b)
		}
	}
}

func TestWhoWaitsTooLongLeavesHomeAndComesBack(t *testing.T) {
	hw := plain(2, 1, 1)
	b := newBench(t, hw, Scheduler{OffHome: 20 * des.Millisecond, Rebalance: 1000 * des.Second, Quantum: 1000 * des.Second})
	for range 2 {
		b.client(Client{CPUs: 1})
	}
	for _, c := range b.cpu.clients {
		c.nodes[0].home, c.nodes[0].local = 0, []float64{1, 0}
	}
	b.task(0, 100e6, 0, -1)
	b.task(1, 1e9, 0, -1)
	b.run(19 * des.Millisecond)
	if ran := b.cpu.ClientUsage(1).Run; ran != 0 {
		t.Errorf("it ran %d ns while it should have waited", ran)
	}
	b.run(81 * des.Millisecond)
	if ran := b.cpu.ClientUsage(1).Run; ran < 78*des.Millisecond || ran > 81*des.Millisecond {
		t.Errorf("it ran %d ns of the 80 ms after its wait", ran)
	}
	// Home is free; at the end of a slice it goes back.
	b.cpu.entities[1].sliceEnd = b.sim.Now() + 1
	b.cpu.pace(b.cpu.entities[1].thread)
	b.run(des.Millisecond)
	if t0 := b.cpu.entities[1].thread; b.cpu.threads[t0].socket != 0 {
		t.Error("it did not go home")
	}
}

func TestAnIdleThreadTakesWorkFromAnotherQueue(t *testing.T) {
	b := newBench(t, plain(2, 1, 1), Scheduler{Kind: Fair})
	c := b.client(Client{})
	for range 3 {
		b.task(c, 100e6, 0, -1)
	}
	b.run(160 * des.Millisecond) // two and one would take 200 ms
	for i, n := range b.ends {
		if n != 1 {
			t.Errorf("task %d of three did not end in 160 ms on two threads", i)
		}
	}
}

func TestWhoSleptMuchPreemptsAtItsWake(t *testing.T) {
	b := newBench(t, plain(1, 1, 1), Scheduler{Kind: Fair})
	c := b.client(Client{})
	b.task(c, 1e9, 0, 0)
	b.task(c, 1e6, 0, 20*des.Millisecond)
	b.run(2 * des.Second)
	// It runs a millisecond every 21 where it need not wait for a slice to end.
	near(t, "bursts of who sleeps", float64(b.ends[1]), 2000/21., 3)
}

func TestAMirrorsShorterQueueIsRead(t *testing.T) {
	a := newArray(t, oneStore(RAID10, 1, 2))
	v := a.volume(1 << 20)
	a.s.Submit(v, false, 0, 4096, 1)
	a.s.Submit(v, false, 0, 4096, 2)
	a.run(des.Second)
	if a.ends[1] != 1e6 || a.ends[2] != 1e6 {
		t.Errorf("two reads of one block ended at %d and %d, want both at 1 ms", a.ends[1], a.ends[2])
	}
}
