package dbms

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/twin/des"
	"github.com/loadstone-perf/loadstone/internal/twin/host"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

func near(t testing.TB, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance || math.IsNaN(got) {
		t.Errorf("%s is %g, want %g ± %g", what, got, want, tolerance)
	}
}

// machine has cores, a disk a millisecond an operation with any number at
// once, and a network of no delay to speak of.
func machine(cores int) *host.Host {
	d := host.Device{Read: time.Millisecond, Write: time.Millisecond, Channels: 1000, Capacity: 64 * unit.GiB}
	store := func(name string) host.Store {
		return host.Store{Name: name, Tiers: []host.Tier{{Device: d, Groups: 1, Disks: 1}}, QueueDepth: 1000, Copies: 1,
			Extent: unit.MiB * 64, Promote: time.Minute}
	}
	return &host.Host{Name: "m", Nodes: 1, CPU: host.Processor{Sockets: 1, Cores: cores, Threads: 1, GHz: 2, SMTGain: 1, Remote: 1},
		Stores: []host.Store{store("data"), store("log")},
		NICs:   []host.NIC{{Name: "lan", BitsPerSecond: 1e12, MTU: 1500, Queues: 1}}}
}

// oneClass is a database of one class without pages, locks and log.
func oneClass(compute float64) *Database {
	return &Database{Name: "d", PageBytes: 8192, Classes: []Class{{Name: "c", Weight: 1, Compute: compute}}}
}

type rig struct {
	t    testing.TB
	sim  *des.Sim
	sys  *System
	done []Done
}

func newRig(t testing.TB, h *host.Host, cfg Config) *rig {
	t.Helper()
	r := &rig{t: t, sim: des.New(5)}
	r.sys = New(r.sim, h, host.Scheduler{}, func(d Done) { r.done = append(r.done, d) })
	if _, err := r.sys.AddGuest(0, host.Client{Name: "g", CPUs: h.CPU.CPUs()}); err != nil {
		t.Fatal(err)
	}
	cfg.NIC, cfg.DataStore, cfg.LogStore = "lan", "data", "log"
	if _, err := r.sys.AddInstance(cfg); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) run(ns int64) {
	r.t.Helper()
	if err := r.sim.Run(context.Background(), r.sim.Now()+ns); err != nil {
		r.t.Fatal(err)
	}
}

// rate is transactions a second after a second of warming up.
func (r *rig) rate(seconds int64) float64 {
	r.run(des.Second)
	n := len(r.done)
	r.run(seconds * des.Second)
	return float64(len(r.done)-n) / float64(seconds)
}

func (r *rig) mean() float64 { // ms
	sum := 0.0
	for _, d := range r.done {
		sum += float64(d.End - d.Intended)
	}
	return sum / float64(len(r.done)) / 1e6
}

func TestAnIdleUserWaitsForTheSumOfAllSteps(t *testing.T) {
	h := machine(1)
	h.NICs[0].Latency = 100 * time.Microsecond
	h.NICs[0].BitsPerSecond = 1e9
	d := oneClass(1e6)
	c := &d.Classes[0]
	c.Memory, c.Misses = 0.5e6, 1000
	c.LogBytes, c.RoundTrips, c.RequestBytes, c.ResponseBytes = 500, 3, 1460, 2920
	r := newRig(t, h, Config{Database: d, Load: Load{Users: 1, Think: 10 * time.Millisecond},
		GuestPages: host.LargePages, PageCosts: host.PageCosts{Guest: [2]float64{0, 50}, Host: [2]float64{30, 0}},
		Costs: Costs{IO: 7, Packet: 2000, Interrupt: 500, Latch: 10_000, LatchByte: 20}})
	r.run(10 * des.Second)
	// Processor: 1 ms + 0.5 ms + 1000·(50+30) ns + 6 packets of 2.5 µs; latch
	// 10 µs + 500·20 ns; log 1 ms; three requests and answers of 200 µs each;
	// the line 12 µs in and 24 µs out.
	want := 1 + 0.5 + 0.08 + 6*0.0025 + 0.02 + 1 + 3*0.2 + 0.036
	near(t, "response, ms", r.mean(), want, 0.0005)
	u := r.sys.Usage(0)
	n := float64(len(r.done))
	near(t, "packets in a transaction", u.PacketsIn/n, 3, 0.01)
	near(t, "packets out a transaction", u.PacketsOut/n, 3, 0.01)
	near(t, "log bytes a transaction", float64(u.LogBytes)/n, 4096, 5)
}

func TestReadsFollowFromTheBufferCache(t *testing.T) {
	d := oneClass(1e5)
	d.Tables = []Table{{Name: "t", Pages: 100_000}}
	d.Classes[0].Touches = []Touch{{Table: 0, Pages: 8}}
	r := newRig(t, machine(4), Config{Database: d, Load: Load{Users: 2, Think: time.Millisecond}, Buffer: 75_000 * 8192})
	r.run(20 * des.Second)
	u := r.sys.Usage(0)
	near(t, "hits, %", u.Pool.HitPct, 75, 1e-6)
	near(t, "reads a transaction", float64(u.Pool.Reads)/float64(len(r.done)), 2, 0.05)
	if v := r.sys.Storage.VolumeUsage(u.Data); v.Reads < u.Pool.Reads-2 || v.Reads > u.Pool.Reads {
		t.Errorf("%d reads of the disk for %d of the cache", v.Reads, u.Pool.Reads)
	}
	near(t, "response, ms", r.mean(), 0.1+2, 0.1)
}

func TestAUniformTableIsHitByThePartThatFits(t *testing.T) {
	for _, c := range []struct{ capacity, want float64 }{{0, 0}, {25, 0.25}, {50, 0.5}, {100, 1}, {200, 1}} {
		got := Hits(c.capacity, []float64{100}, []float64{3})
		near(t, fmt.Sprintf("hits with room for %g of 100", c.capacity), got[0], c.want, 1e-9)
	}
}

// TestCheAgreesWithARealLRU compares with a simulated list over a popularity
// by Zipf's law.
func TestCheAgreesWithARealLRU(t *testing.T) {
	for _, p := range []Popularity{{Zipf: 0.8}, {Zipf: 1}, {Zipf: 1.2}, {HotPages: 0.1, HotAccesses: 0.8}, {}} {
		const pages, room = 4000, 600
		table := Table{Pages: pages, Popularity: p}
		strata := table.strata(0)
		var n, rate, parts []float64
		for _, s := range strata {
			n, rate, parts = append(n, s.pages), append(rate, s.part/s.pages), append(parts, s.part)
		}
		hit := Hits(room, n, rate)
		want := 0.0
		for i := range hit {
			want += parts[i] * hit[i]
		}
		choose := newPick(parts)
		draw := rng.At(3)
		last, clock := make([]int, pages), 0 // time of last use; an LRU cache is the most recent `room`
		order := []int{}
		at := map[int]int{}
		hits, tries := 0, 0
		for clock = 1; clock <= 120_000; clock++ {
			s := strata[choose.draw(&draw)]
			page := int(s.first) + int(draw.IntN(int64(s.pages)))
			_, in := at[page]
			if clock > 20_000 {
				tries++
				if in {
					hits++
				}
			}
			last[page] = clock
			at[page] = clock
			order = append(order, page)
			for len(at) > room { // drop entries that were used again later
				old := order[0]
				stamp := clock - len(order) + 1
				order = order[1:]
				if last[old] == stamp {
					delete(at, old)
				}
			}
		}
		near(t, fmt.Sprintf("hits for %+v", p), float64(hits)/float64(tries), want, 0.012)
	}
}

func TestStrataCoverATableAndFollowZipf(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		table := Table{Pages: math.Round(rapid.Float64Range(1, 1e7).Draw(rt, "pages")), Popularity: Popularity{Zipf: rapid.Float64Range(0.01, 2).Draw(rt, "s")}}
		pages, part, next := 0.0, 0.0, 0.0
		for _, s := range table.strata(0) {
			if s.first != next || s.pages < 1 || s.part < 0 {
				rt.Fatalf("stratum %+v after %g", s, next)
			}
			next += s.pages
			pages += s.pages
			part += s.part
		}
		if pages != table.Pages || math.Abs(part-1) > 1e-9 {
			rt.Fatalf("%g of %g pages, %g of the accesses", pages, table.Pages, part)
		}
	})
	for _, s := range []float64{0.5, 0.99, 1, 1.5} {
		exact := 0.0
		for k := 1.0; k <= 5000; k++ {
			exact += math.Pow(k, -s)
		}
		near(t, fmt.Sprintf("harmonic number of order %g", s), harmonic(5000, s), exact, 1e-9*exact)
	}
}

func TestPoissonHasItsMeanAndVariance(t *testing.T) {
	for _, mean := range []float64{0, 0.3, 4, 29, 31, 200} {
		draw := rng.At(9, uint64(mean*10))
		const n = 40_000
		sum, squares := 0.0, 0.0
		counts := newPoisson(mean)
		for range n {
			x := float64(counts.draw(&draw))
			sum += x
			squares += x * x
		}
		m := sum / n
		near(t, fmt.Sprintf("mean of %g", mean), m, mean, 4*math.Sqrt(mean/n))
		near(t, fmt.Sprintf("variance of %g", mean), squares/n-m*m, mean, 0.04*mean)
	}
}

// TestDirtyPagesAreConserved: what became dirty is written by a checkpoint or
// to make room, or is dirty still.
func TestDirtyPagesAreConserved(t *testing.T) {
	d := oneClass(2e4)
	d.Tables = []Table{{Name: "hot", Pages: 3000, Popularity: Popularity{Zipf: 0.9}}, {Name: "cold", Pages: 50_000}}
	d.Classes[0].Touches = []Touch{{Table: 0, Pages: 6, Writes: 3}, {Table: 1, Pages: 2, Writes: 1}}
	d.Classes[0].LogBytes = 300
	r := newRig(t, machine(4), Config{Database: d, Load: Load{Users: 20, Think: time.Millisecond}, Buffer: 10_000 * 8192,
		Checkpoint: Checkpoint{Every: 2 * time.Second}})
	for range 50 {
		r.run(des.Second / 5)
		u := r.sys.Usage(0).Pool
		if u.Dirtied != u.Checkpointed+u.Evicted+u.Dirty || u.Dirty < 0 || u.Dirty > 10_000 {
			t.Fatalf("pages %+v", u)
		}
		if r.sys.Usage(0).Busy > 20 {
			t.Fatalf("%d users under way", r.sys.Usage(0).Busy)
		}
	}
	u := r.sys.Usage(0)
	if u.Checkpoints < 4 || u.Pool.Checkpointed == 0 || u.Pool.Evicted == 0 {
		t.Errorf("usage %+v", u)
	}
	v := r.sys.Storage.VolumeUsage(u.Data)
	if w := u.Pool.Checkpointed + u.Pool.Evicted; v.Writes > w || v.Writes < w-100 {
		t.Errorf("%d writes of the disk for %d pages", v.Writes, w)
	}
}

func TestATokenBucketBoundsTheCheckpoint(t *testing.T) {
	for _, rate := range []float64{1e6, 4e6} {
		d := oneClass(2e4)
		d.Tables = []Table{{Name: "t", Pages: 20_000}}
		d.Classes[0].Touches = []Touch{{Table: 0, Pages: 4, Writes: 4}}
		r := newRig(t, machine(4), Config{Database: d, Load: Load{Users: 8}, Buffer: 200 * unit.MiB,
			Checkpoint: Checkpoint{Every: time.Second, BytesPerSecond: rate}})
		r.run(3 * des.Second) // the first checkpoint takes longer than this
		before := r.sys.Usage(0).Pool.Checkpointed
		r.run(2 * des.Second)
		u := r.sys.Usage(0)
		near(t, "bytes a second", float64(u.Pool.Checkpointed-before)*8192/2, rate, 0.02*rate)
		if u.CheckpointsOverdue == 0 {
			t.Error("no checkpoint was overdue")
		}
	}
}

// TestHotRowsSerialize: with one row, transactions follow each other; with
// many they do not.
func TestHotRowsSerialize(t *testing.T) {
	rate := func(rows int) (float64, Usage) {
		d := oneClass(1e5)
		d.Hot = []HotRows{{Name: "h", Rows: rows}}
		d.Classes[0].Locks = []Lock{{Hot: 0, Rows: 1}}
		d.Classes[0].LogBytes = 100
		r := newRig(t, machine(16), Config{Database: d, Load: Load{Users: 16}})
		x := r.rate(10)
		return x, r.sys.Usage(0)
	}
	one, u := rate(1)
	// The lock is held for the burst and the log's write: 0.1 ms + 1 ms.
	near(t, "a second with one row", one, 1/1.1e-3, 2)
	if u.LockNanos < 10*des.Second*10 {
		t.Errorf("waited %d ns for the row in 11 s of 16 users", u.LockNanos)
	}
	if many, _ := rate(10_000); many < 8*one {
		t.Errorf("%g a second with many rows, %g with one", many, one)
	}
}

func TestRowsAreTakenInOneOrder(t *testing.T) {
	d := oneClass(5e4)
	d.Hot = []HotRows{{"a", 2}, {"b", 3}}
	d.Classes = append(d.Classes, d.Classes[0])
	d.Classes[0].Locks = []Lock{{0, 2}, {1, 3}}
	d.Classes[1].Locks = []Lock{{0, 1}, {1, 2}}
	d.Classes[0].LogBytes = 100
	r := newRig(t, machine(4), Config{Database: d, Load: Load{Users: 50}})
	last := 0
	for range 20 {
		r.run(des.Second)
		if len(r.done)-last < 100 {
			t.Fatalf("%d transactions in a second: users wait in a circle", len(r.done)-last)
		}
		last = len(r.done)
	}
}

func TestCommitsShareLogWrites(t *testing.T) {
	d := oneClass(1e4)
	d.Classes[0].LogBytes = 1000
	r := newRig(t, machine(8), Config{Database: d, Load: Load{Users: 40}})
	got := r.rate(5)
	u := r.sys.Usage(0)
	// One write a millisecond, each with half of the users: a user who commits
	// waits for the rest of the write under way and for his own.
	near(t, "log writes a second", float64(u.LogFlushes)/6, 1000, 10)
	if per := got * 6 / float64(u.LogFlushes); per < 15 {
		t.Errorf("%.1f commits a write", per)
	}
}

func TestTheLogLatchBoundsTheRate(t *testing.T) {
	d := oneClass(1e4)
	d.Classes[0].LogBytes = 100
	h := machine(32)
	h.Stores[1].Tiers[0].Device.Write = 10 * time.Microsecond
	r := newRig(t, h, Config{Database: d, Load: Load{Users: 64}, Costs: Costs{Latch: 50_000}})
	near(t, "a second", r.rate(2), 20_000, 100)
}

func TestUsersAndLittlesLaw(t *testing.T) {
	d := oneClass(1e6)
	r := newRig(t, machine(4), Config{Database: d, Load: Load{Users: 50, Think: 20 * time.Millisecond}})
	x := r.rate(60)
	r.done = r.done[len(r.done)/10:]
	near(t, "N = X (R + Z)", x*(r.mean()+20)/1000, 50, 0.5)
}

func TestArrivalsBeyondTheCapacityWaitForAConnection(t *testing.T) {
	d := oneClass(1e6)
	r := newRig(t, machine(2), Config{Database: d, Load: Load{Rate: 1000, Connections: 10}})
	near(t, "a second below the capacity", r.rate(30), 1000, 25)
	if b := r.sys.Usage(0).Backlog; b > 100 {
		t.Errorf("backlog of %d at half load", b)
	}
	r = newRig(t, machine(2), Config{Database: d, Load: Load{Rate: 3000, Connections: 10}})
	near(t, "a second beyond the capacity", r.rate(10), 2000, 5)
	near(t, "backlog", float64(r.sys.Usage(0).Backlog), 11*1000, 700)
	late := r.done[len(r.done)-1]
	if late.Start-late.Intended < 2*des.Second {
		t.Errorf("the last arrival waited %d ns for a connection", late.Start-late.Intended)
	}
}

func TestTheRampGrowsTheLoadEvenly(t *testing.T) {
	for name, l := range map[string]Load{
		"users":    {Users: 100, Think: 10 * time.Millisecond, Ramp: 10 * time.Second},
		"arrivals": {Rate: 9000, Connections: 100, Ramp: 10 * time.Second},
	} {
		r := newRig(t, machine(16), Config{Database: oneClass(1e5), Load: l})
		r.run(5 * des.Second)
		half := len(r.done)
		r.run(5 * des.Second)
		first, second := float64(half), float64(len(r.done)-half)
		near(t, name+", second to first half of the ramp", second/first, 3, 0.2)
	}
}

func TestTheMixIsTheWeights(t *testing.T) {
	d := oneClass(1e4)
	d.Classes = append(d.Classes, d.Classes[0])
	d.Classes[0].Weight, d.Classes[1].Weight, d.Classes[1].RolledBack = 3, 1, 0.2
	r := newRig(t, machine(4), Config{Database: d, Load: Load{Users: 10, Think: time.Millisecond}})
	r.run(10 * des.Second)
	u := r.sys.Usage(0)
	total := float64(u.Done[0] + u.Done[1])
	near(t, "part of the second class", float64(u.Done[1])/total, 0.25, 0.01)
	undone := 0.0
	for _, x := range r.done {
		if x.RolledBack {
			undone++
		}
	}
	near(t, "part rolled back", undone/total, 0.05, 0.005)
}

func TestWhatIsImpossibleIsRefused(t *testing.T) {
	for _, c := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Database = nil }, "no database"},
		{func(c *Config) { c.Database.Classes = nil }, "0 classes"},
		{func(c *Config) { c.Database.Classes[0].Compute = 0 }, "work of 0 ns"},
		{func(c *Config) { c.Database.Classes[0].Compute = math.NaN() }, "quantity NaN"},
		{func(c *Config) { c.Database.Classes[0].Touches = []Touch{{Table: 1}} }, "touches"},
		{func(c *Config) { c.Database.Classes[0].Touches = []Touch{{Pages: 1, Writes: 2}} }, "touches"},
		{func(c *Config) { c.Database.Classes[0].Locks = []Lock{{Hot: 0, Rows: 9}} }, "9 of 2 rows"},
		{func(c *Config) { c.Database.Classes[0].Locks = []Lock{{0, 1}, {0, 1}} }, "out of order"},
		{func(c *Config) { c.Database.Tables[0].Pages = 0 }, "0 pages"},
		{func(c *Config) { c.Database.Tables[0].Popularity.HotPages = 0.5 }, "popularity"},
		{func(c *Config) { c.Guest = 1 }, "guest 1 of 1"},
		{func(c *Config) { c.Load = Load{} }, "either users"},
		{func(c *Config) { c.Load = Load{Users: 1, Rate: 1} }, "either users"},
		{func(c *Config) { c.Load = Load{Rate: 1} }, "either users"},
		{func(c *Config) { c.Costs.IO = -1 }, "cost -1"},
		{func(c *Config) { c.Buffer = -1 }, "buffer cache"},
		{func(c *Config) { c.NIC = "wan" }, `no network interface "wan"`},
		{func(c *Config) { c.DataStore = "tape" }, `no store "tape"`},
		{func(c *Config) { c.Database.Tables[0].Pages = 1e10 }, "are free"},
	} {
		d := oneClass(1e6)
		d.Tables, d.Hot = []Table{{Name: "t", Pages: 10}}, []HotRows{{"h", 2}}
		cfg := Config{Name: "i", Database: d, Load: Load{Users: 1}, NIC: "lan", DataStore: "data", LogStore: "log"}
		c.change(&cfg)
		s := New(des.New(1), machine(1), host.Scheduler{}, func(Done) {})
		if _, err := s.AddGuest(0, host.Client{CPUs: 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.AddInstance(cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

func TestEachReadCostsProcessorTime(t *testing.T) {
	d := oneClass(1e5)
	d.Tables = []Table{{Name: "t", Pages: 1000}}
	d.Classes[0].Touches = []Touch{{Table: 0, Pages: 3}}
	r := newRig(t, machine(4), Config{Database: d, Load: Load{Users: 4, Think: time.Millisecond},
		Costs: Costs{IO: 15_000, Interrupt: 10_000, DiskInterrupt: 2}})
	r.run(10 * des.Second)
	u := r.sys.Usage(0)
	n := float64(len(r.done))
	reads := float64(u.Pool.Reads) / n
	near(t, "reads a transaction without a cache", reads, 3, 0.05)
	// Two packets a transaction raise two interrupts.
	near(t, "processor a transaction, ns", float64(r.sys.GuestUsage(0).Run)/n, 1e5+20_000*reads+20_000, 500)
	near(t, "disk interrupts a transaction", u.DiskInterrupts/n, reads/2, 0.01)
}

func TestRowsAreLockedForTheSecondHalf(t *testing.T) {
	d := oneClass(1e4)
	d.Tables, d.Hot = []Table{{Name: "t", Pages: 1000}}, []HotRows{{"h", 1}}
	d.Classes[0].Touches = []Touch{{Table: 0, Pages: 6}}
	d.Classes[0].Locks = []Lock{{0, 1}}
	r := newRig(t, machine(8), Config{Database: d, Load: Load{Users: 16}})
	// Of R reads of 1 ms, Poisson with mean 6, R - ⌊(R+1)/2⌋ come while the row
	// is locked: 2.75 on average.
	near(t, "a second", r.rate(20), 1000/2.75, 10)
}

func TestCoalescingBoundsTheInterrupts(t *testing.T) {
	h := machine(4)
	h.NICs[0].InterruptsPerSecond = 1000
	r := newRig(t, h, Config{Database: oneClass(1e5), Load: Load{Users: 4}})
	r.run(2 * des.Second)
	before, n := r.sys.Usage(0).NetworkInterrupts, len(r.done)
	r.run(4 * des.Second)
	near(t, "interrupts a second", (r.sys.Usage(0).NetworkInterrupts-before)/4, 1000, 5)
	if packets := 2 * (len(r.done) - n) / 4; packets < 20_000 {
		t.Errorf("only %d packets a second: nothing to coalesce", packets)
	}
}

func TestTheLogIsWrittenRoundAndRound(t *testing.T) {
	d := oneClass(1e4)
	d.Classes[0].LogBytes = 1e6
	r := newRig(t, machine(4), Config{Database: d, Load: Load{Users: 8}})
	r.run(2 * des.Second)
	u := r.sys.Usage(0)
	if got := r.sys.instances[0].writer.offset; u.LogBytes < int64(logBytes) || got != u.LogBytes%int64(logBytes) {
		t.Errorf("after %d bytes the log is at %d", u.LogBytes, got)
	}
}
