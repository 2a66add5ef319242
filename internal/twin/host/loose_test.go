package host

import (
	"testing"

	"github.com/loadstone-perf/loadstone/internal/twin/des"
)

// TestWhoEndsATaskIsNotPreemptedByWhatItWakes submits a burst of another client
// from within the end of one: the thread is given up once, in order.
func TestWhoEndsATaskIsNotPreemptedByWhatItWakes(t *testing.T) {
	for _, kind := range []Kind{Proportional, Fair} {
		sim := des.New(1)
		var cpu *CPU
		ends := [2]int{}
		cpu = NewCPU(sim, plain(1, 1, 1), Scheduler{Kind: kind}, func(task int32) {
			ends[task]++
			if task == 0 {
				cpu.Submit(1, 1, Demand{Compute: Nanos(1000)})
				cpu.Submit(0, 0, Demand{Compute: Nanos(20e6)})
			}
		})
		for range 2 {
			if _, err := cpu.AddClient(Client{CPUs: 1}); err != nil {
				t.Fatal(err)
			}
		}
		cpu.Submit(0, 0, Demand{Compute: Nanos(20e6)})
		if err := sim.Run(t.Context(), des.Second); err != nil {
			t.Fatal(err)
		}
		if ends[0] < 45 || ends[0] > 50 || ends[1] < ends[0]-2 {
			t.Errorf("kind %d: %v bursts ended", kind, ends)
		}
	}
}

// TestLooseWorldsTakeNoThreadAndFillNoCaches lets one wake beside a client that
// runs all the time: that one goes on without a refill.
func TestLooseWorldsTakeNoThreadAndFillNoCaches(t *testing.T) {
	stints := func(loose bool) (busy int64) {
		b := newBench(t, plain(1, 1, 1), Scheduler{Refill: Nanos(1e6), Quantum: 100 * des.Millisecond})
		b.spin(b.client(Client{CPUs: 1}), 1)
		b.run(50 * des.Millisecond)
		b.task(b.client(Client{CPUs: 1, Loose: loose}), 1000, 0, -1)
		b.run(40 * des.Millisecond)
		if ran := b.ends[1] == 1; ran == loose {
			t.Errorf("loose %v: the one that woke ran: %v", loose, ran)
		}
		return b.ends[0]
	}
	if loose, firm := stints(true), stints(false); loose < 89 || firm >= loose {
		t.Errorf("%d bursts of 1 ms in 90 beside a loose one, %d beside a firm one; want all and fewer", loose, firm)
	}
}

func TestIdleCountsFreeThreads(t *testing.T) {
	b := newBench(t, plain(2, 2, 2), Scheduler{})
	b.spin(b.client(Client{CPUs: 3}), 3)
	if n := b.cpu.Idle(); n != 5 {
		t.Errorf("%d of 8 threads idle beside three tasks", n)
	}
}
