package host

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/loadstone-perf/loadstone/internal/twin/des"
)

// bench is a CPU with clients whose tasks run for ever: a task that ends
// begins again.
type bench struct {
	t     testing.TB
	sim   *des.Sim
	cpu   *CPU
	of    []int // client of each task
	burst []Demand
	gap   []int64 // pause between bursts, ns
	ends  []int64 // number of bursts ended, by task
	again des.Kind
}

func newBench(t testing.TB, hw Processor, cfg Scheduler) *bench {
	b := &bench{t: t, sim: des.New(1)}
	b.cpu = NewCPU(b.sim, hw, cfg, func(task int32) {
		b.ends[task]++
		if b.gap[task] < 0 {
			return
		}
		if b.gap[task] == 0 {
			b.submit(task, 0)
			return
		}
		b.sim.After(b.gap[task], b.again, task, 0)
	})
	b.again = b.sim.Handle(b.submit)
	return b
}

func (b *bench) submit(task int32, _ int64) { b.cpu.Submit(b.of[task], task, b.burst[task]) }

func (b *bench) client(c Client) int {
	b.t.Helper()
	id, err := b.cpu.AddClient(c)
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

// task adds a task that wants bursts of so many ns of compute and memory, with
// a gap between them; a gap below 0 is a single burst.
func (b *bench) task(client int, compute, memory float64, gap int64) int32 {
	n := int32(len(b.of))
	b.of, b.burst = append(b.of, client), append(b.burst, Demand{Nanos(compute), Nanos(memory)})
	b.gap, b.ends = append(b.gap, gap), append(b.ends, 0)
	b.submit(n, 0)
	return n
}

// spin adds n tasks without pauses.
func (b *bench) spin(client, n int) {
	for range n {
		b.task(client, 1e6, 0, 0)
	}
}

func (b *bench) run(ns int64) {
	b.t.Helper()
	if err := b.sim.Run(b.t.Context(), b.sim.Now()+ns); err != nil {
		b.t.Fatal(err)
	}
}

func near(t testing.TB, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance || math.IsNaN(got) {
		t.Errorf("%s is %g, want %g ± %g", what, got, want, tolerance)
	}
}

func plain(sockets, cores, threads int) Processor {
	return Processor{Sockets: sockets, Cores: cores, Threads: threads, GHz: 2, SMTGain: 1.3, Remote: 1.5}
}

func TestAThreadRunsAtHalfTheGainBesideABusySibling(t *testing.T) {
	for _, kind := range []Kind{Proportional, Fair} {
		b := newBench(t, plain(1, 1, 2), Scheduler{Kind: kind})
		c := b.client(Client{CPUs: 2})
		b.task(c, 1e6, 0, -1)
		b.run(999_999)
		if b.ends[0] != 0 {
			t.Errorf("kind %d: alone done in less than 1 ms", kind)
		}
		b.run(1)
		b.run(1)
		if b.ends[0] != 1 {
			t.Errorf("kind %d: alone not done in 1 ms", kind)
		}
		// Two at once: 1 ms of work each at 1.3/2 takes 1/0.65 ms.
		b.task(c, 1e6, 0, -1)
		b.task(c, 1e6, 0, -1)
		at := b.sim.Now()
		for b.ends[1] == 0 || b.ends[2] == 0 {
			b.run(1000)
		}
		near(t, "two at once, ms", float64(b.sim.Now()-at)/1e6, 1/0.65, 0.002)
		// One that is joined half-way: 0.5 alone, then 0.5/0.65.
		b.task(c, 1e6, 0, -1)
		at = b.sim.Now()
		b.run(500_000)
		b.task(c, 1e6, 0, -1)
		for b.ends[3] == 0 {
			b.run(1000)
		}
		near(t, "joined, ms", float64(b.sim.Now()-at)/1e6, 0.5+0.5/0.65, 0.002)
		for b.ends[4] == 0 {
			b.run(1000)
		}
		// The other: 0.5/0.65·0.65 = 0.5 beside, the rest alone.
		near(t, "joining, ms", float64(b.sim.Now()-at)/1e6, 0.5+0.5/0.65+0.5, 0.003)
	}
}

func TestTurboFollowsTheActiveCores(t *testing.T) {
	hw := plain(2, 4, 1)
	hw.Turbo = []float64{3, 2.8, 2.4}
	for busy, want := range map[int]float64{1: 3, 2: 2.8, 3: 2.4, 4: 2.4} {
		b := newBench(t, hw, Scheduler{})
		b.spin(b.client(Client{CPUs: busy}), busy) // fits one socket
		b.run(des.Second)
		got := float64(b.cpu.Usage().Executed) / nominal / 1e9 / float64(busy) * hw.GHz
		near(t, fmt.Sprintf("GHz with %d active", busy), got, want, 0.005)
	}
}

func TestWholeCoresComeFirst(t *testing.T) {
	for _, kind := range []Kind{Proportional, Fair} {
		b := newBench(t, plain(1, 8, 2), Scheduler{Kind: kind})
		c := b.client(Client{CPUs: 16})
		for n := 1; n <= 8; n++ {
			b.task(c, 1e12, 0, -1)
			b.run(des.Millisecond)
			if got := b.cpu.sockets[0].active; got != n {
				t.Fatalf("kind %d: %d busy threads on %d cores", kind, n, got)
			}
		}
	}
}

func TestWorkIsConserved(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		kind := Kind(rapid.IntRange(0, 1).Draw(rt, "kind"))
		hw := plain(rapid.IntRange(1, 3).Draw(rt, "sockets"), rapid.IntRange(1, 4).Draw(rt, "cores"), rapid.IntRange(1, 2).Draw(rt, "threads"))
		hw.Turbo = []float64{3, 2.5}
		b := newBench(t, hw, Scheduler{Kind: kind, Skew: des.Millisecond})
		for range rapid.IntRange(1, 4).Draw(rt, "clients") {
			c := b.client(Client{CPUs: rapid.IntRange(1, hw.CPUs()).Draw(rt, "cpus"),
				Shares: rapid.Float64Range(1, 1000).Draw(rt, "shares"), Limit: rapid.SampledFrom([]float64{0, 0.5}).Draw(rt, "limit")})
			for range rapid.IntRange(0, 9).Draw(rt, "tasks") {
				b.task(c, rapid.Float64Range(2e4, 3e7).Draw(rt, "work"), 0, rapid.Int64Range(-1, 2e6).Draw(rt, "gap"))
			}
		}
		for range 20 {
			b.run(rapid.Int64Range(1, 2e7).Draw(rt, "step"))
			var want, left, consumed Work
			var ran int64
			for i := range b.cpu.clients {
				u := b.cpu.ClientUsage(i)
				want += u.Submitted
				consumed += u.Consumed
				ran += u.Run
				n := int64(len(b.cpu.clients[i].entities))
				if kind == Proportional && u.Run+u.Ready+u.CoStop+u.Limited+u.Idle != n*b.sim.Now() {
					rt.Fatalf("times %+v of %d entities do not add up to %d", u, n, b.sim.Now())
				}
				for g := b.cpu.clients[i].guest; g.Len() > 0; {
					left += g.Pop().demand.Compute
				}
			}
			for i := range b.cpu.entities {
				switch x := &b.cpu.entities[i]; {
				case x.state == Running:
					left += x.togo - x.pending(b.sim.Now())
				case x.task != none:
					left += x.left.Compute
				}
			}
			u := b.cpu.Usage()
			if u.Executed != consumed || u.ThreadNanos != ran {
				rt.Fatalf("executed %d, consumed %d; threads %d, clients %d", u.Executed, consumed, u.ThreadNanos, ran)
			}
			// Putting a task away rounds by a femtosecond or two.
			if d := want - left - consumed; d < -50_000 || d > 50_000 {
				rt.Fatalf("asked %d, left %d, done %d: %d missing", want, left, consumed, d)
			}
			checkPlaces(rt, b.cpu)
		}
	})
}

// checkPlaces says that every thread and entity agree on who runs where, that
// nobody waits twice, and that nobody waits while a thread idles which he may
// use at home.
func checkPlaces(t *rapid.T, c *CPU) {
	waiting := map[int32]int{}
	for n := range c.sockets {
		for _, e := range c.sockets[n].ready {
			waiting[e]++
		}
	}
	if f, ok := c.sched.(*fair); ok {
		for q := range f.queues {
			for _, e := range f.queues[q].ready {
				waiting[e]++
			}
		}
	}
	for i := range c.entities {
		x := &c.entities[i]
		runs := x.thread != none && c.threads[x.thread].runs == int32(i)
		if runs != (x.state == Running) || waiting[int32(i)] != map[bool]int{true: 1}[x.state == Ready] {
			t.Fatalf("entity %d is in state %d, on thread %d, in %d queues", i, x.state, x.thread, waiting[int32(i)])
		}
		if cl := c.clients[x.client]; x.state == Ready && c.cfg.Kind == Proportional {
			if home := cl.nodes[x.numa].home; c.sockets[home].idle&cl.allowed[home] != 0 {
				t.Fatalf("entity %d waits while a thread of its home idles", i)
			}
		}
	}
}
