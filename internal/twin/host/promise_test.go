package host

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/loadstone-perf/loadstone/internal/twin/des"
)

// randomBench is a random host with random clients and loads. A failure prints
// the draws and the seed that repeats them.
func randomBench(t *testing.T, rt *rapid.T, kind Kind) *bench {
	hw := plain(rapid.IntRange(1, 3).Draw(rt, "sockets"), rapid.IntRange(1, 4).Draw(rt, "cores"), rapid.IntRange(1, 2).Draw(rt, "threads"))
	hw.Turbo = rapid.SampledFrom([][]float64{nil, {3, 2.5, 2.1}}).Draw(rt, "turbo")
	b := newBench(t, hw, Scheduler{Kind: kind, Skew: rapid.Int64Range(1, 5).Draw(rt, "skew, ms") * des.Millisecond,
		Quantum: rapid.Int64Range(1, 20).Draw(rt, "quantum, ms") * des.Millisecond, OffHome: 2 * des.Millisecond,
		Rebalance: 20 * des.Millisecond, Refill: Nanos(rapid.SampledFrom([]float64{0, 5e4}).Draw(rt, "refill, ns"))})
	for range rapid.IntRange(1, 4).Draw(rt, "clients") {
		spec := Client{Name: "c", CPUs: rapid.IntRange(1, hw.CPUs()).Draw(rt, "cpus"), Shares: rapid.Float64Range(1, 4000).Draw(rt, "shares"),
			Limit: rapid.SampledFrom([]float64{0, 0, 0.5}).Draw(rt, "limit"), Loose: rapid.IntRange(0, 5).Draw(rt, "loose") == 0,
			HaltCost: Nanos(rapid.SampledFrom([]float64{0, 1e4}).Draw(rt, "halt, ns")), Interleaved: rapid.Bool().Draw(rt, "interleaved"),
			SharedMemory: rapid.Float64Range(0, 1).Draw(rt, "shared")}
		if rapid.IntRange(0, 3).Draw(rt, "pinned") == 0 {
			spec.Affinity = []int{rapid.IntRange(0, hw.CPUs()-1).Draw(rt, "thread"), hw.CPUs() - 1}
		}
		c := b.client(spec)
		for range rapid.IntRange(0, 9).Draw(rt, "tasks") {
			b.task(c, rapid.Float64Range(2e4, 1e7).Draw(rt, "compute"), rapid.SampledFrom([]float64{0, 1e6}).Draw(rt, "memory"),
				rapid.Int64Range(-1, 2e6).Draw(rt, "gap"))
		}
	}
	return b
}

// TestNothingIsLostOrDoneTwiceAtAnyEvent looks after every single event: no
// thread runs two, nobody runs or waits twice, and times, bursts and work add
// up.
func TestNothingIsLostOrDoneTwiceAtAnyEvent(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := randomBench(t, rt, Kind(rapid.IntRange(0, 1).Draw(rt, "kind")))
		b.sim.Inspect(func() {
			if err := b.cpu.Check(); err != nil {
				rt.Fatalf("at %d ns: %v", b.sim.Now(), err)
			}
		})
		b.run(rapid.Int64Range(1, 60).Draw(rt, "run, ms") * des.Millisecond)
	})
}

// TestCheckSeesFaults breaks the books one by one.
func TestCheckSeesFaults(t *testing.T) {
	for name, breaks := range map[string]func(*CPU){
		"a thread runs two":      func(c *CPU) { c.threads[1].runs = c.threads[0].runs },
		"an entity waits twice":  func(c *CPU) { s := &c.sockets[0]; s.ready = append(s.ready, s.ready[0]) },
		"an entity is forgotten": func(c *CPU) { c.sockets[0].ready = nil },
		"a burst is lost":        func(c *CPU) { c.clients[0].guest.Pop() },
		"work is lost":           func(c *CPU) { c.entities[c.threads[0].runs].togo -= 1000 },
		"time is lost":           func(c *CPU) { c.entities[0].time[Running] -= 5 },
		"work from nowhere":      func(c *CPU) { c.executed++ },
	} {
		b := newBench(t, plain(1, 2, 1), Scheduler{})
		b.spin(b.client(Client{CPUs: 2}), 4)
		b.spin(b.client(Client{CPUs: 2}), 2)
		b.run(50*des.Millisecond + 1)
		if err := b.cpu.Check(); err != nil {
			t.Fatalf("before: %v", err)
		}
		if breaks(b.cpu); b.cpu.Check() == nil {
			t.Errorf("%s: not seen", name)
		}
	}
}

// TestEntitlementsHoldWithinAQuantum has clients that always want all of their
// virtual processors. Of any two that have to share, what each has had over
// its entitlement differs by no more than a quantum of each over its own, the
// bound of fair queueing on one server (Goyal, Vin and Cheng, 1996, theorem 1),
// and twice that on several, because nobody can make up for a wait on two cores
// at once. Who is entitled to a whole core waits for the others' first quanta
// only.
func TestEntitlementsHoldWithinAQuantum(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cores := rapid.IntRange(1, 8).Draw(rt, "cores")
		quantum := rapid.Int64Range(2, 20).Draw(rt, "quantum, ms") * des.Millisecond
		b := newBench(t, plain(1, cores, 1), Scheduler{Skew: 3600 * des.Second, Quantum: quantum})
		var claims []Claim
		for range rapid.IntRange(1, 5).Draw(rt, "clients") {
			n := rapid.IntRange(1, cores).Draw(rt, "cpus")
			shares := rapid.SampledFrom([]float64{500, 1000, 2000, 4000}).Draw(rt, "shares")
			b.spin(b.client(Client{CPUs: n, Shares: shares}), n)
			claims = append(claims, Claim{Shares: shares, Demand: float64(n)})
		}
		entitled := WaterFill(float64(cores), claims)
		for i := range entitled {
			entitled[i] /= claims[i].Demand
		}
		for range 10 {
			b.run(rapid.Int64Range(1, 500).Draw(rt, "step, ms") * des.Millisecond)
			had := make([][]float64, len(claims)) // by virtual processor, ns
			for i, cl := range b.cpu.clients {
				for _, e := range cl.entities {
					had[i] = append(had[i], float64(b.cpu.entities[e].in(Running, b.sim.Now())))
				}
			}
			for i := range claims {
				for j := range claims {
					withinAQuantum(rt, had, entitled, i, j, float64(cores), float64(quantum), float64(b.sim.Now()))
				}
			}
		}
	})
}

func withinAQuantum(rt *rapid.T, had [][]float64, entitled []float64, i, j int, cores, quantum, now float64) {
	const whole = 1 - 1e-9
	all := 0
	for _, h := range had {
		all += len(h)
	}
	first := math.Ceil(float64(all)/cores) * quantum
	servers := min(cores, 2)
	for _, a := range had[i] {
		if entitled[i] >= whole && a < now-first {
			rt.Fatalf("a virtual processor of client %d had %g of %g ns", i, a, now)
		}
		for _, b := range had[j] {
			apart := math.Abs(a/entitled[i] - b/entitled[j])
			if most := servers * (quantum/entitled[i] + quantum/entitled[j]); entitled[i] < whole && entitled[j] < whole && apart > most {
				rt.Fatalf("clients %d and %d at %g ns: %g and %g ns at entitlements of %g and %g", i, j, now, a, b, entitled[i], entitled[j])
			}
		}
	}
}

// TestNoVirtualProcessorRunsOnBeyondTheSkew: whoever has run for a tick beside
// a sibling that has waited for one leads by no more than the skew and the
// tick.
func TestNoVirtualProcessorRunsOnBeyondTheSkew(t *testing.T) {
	stopped := int64(0)
	rapid.Check(t, func(rt *rapid.T) {
		b := randomBench(t, rt, Proportional)
		p := b.cpu.sched.(*proportional)
		for range rapid.IntRange(1, 200).Draw(rt, "run, ms") {
			b.run(tickEvery)
			for i, cl := range b.cpu.clients {
				stopped += b.cpu.ClientUsage(i).CoStop
				if !cl.spec.Loose {
					leads(rt, p, cl)
				}
			}
		}
	})
	if stopped == 0 {
		t.Error("nobody was ever stopped")
	}
}

func leads(rt *rapid.T, p *proportional, cl *client) {
	slowest, waited, now := int64(0), false, p.sim.Now()
	for _, e := range cl.entities {
		x := &p.entities[e]
		slowest = max(slowest, p.lag(x))
		waited = waited || (x.state == Ready || x.state == CoStop) && now-x.since > tickEvery
	}
	for _, e := range cl.entities {
		x := &p.entities[e]
		if lead := slowest - p.lag(x); waited && x.state == Running && now-x.since > tickEvery && lead > p.cfg.Skew+tickEvery {
			rt.Fatalf("a lead of %d ns at a skew of %d ns", lead, p.cfg.Skew)
		}
	}
}
