package dbms

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loadstone-perf/loadstone/internal/twin/des"
	"github.com/loadstone-perf/loadstone/internal/twin/host"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// busy is a small database in which everything happens: misses, evictions,
// locks, commits, checkpoints.
func busy() *Database {
	return &Database{Name: "busy", PageBytes: 8192,
		Tables: []Table{{Name: "hot", Pages: 300, Popularity: Popularity{Zipf: 0.9}}, {Name: "cold", Pages: 20_000, Scattered: true}},
		Hot:    []HotRows{{Name: "few", Rows: 3}, {Name: "more", Rows: 40}},
		Classes: []Class{
			{Name: "write", Weight: 2, Compute: 1.5e5, Memory: 5e4, LogBytes: 800, RequestBytes: 300, ResponseBytes: 900, RoundTrips: 2,
				Touches: []Touch{{Table: 0, Pages: 4, Writes: 2}, {Table: 1, Pages: 2, Writes: 1}}, Locks: []Lock{{Hot: 0, Rows: 2}, {Hot: 1, Rows: 3}}},
			{Name: "read", Weight: 1, Compute: 1e5, RequestBytes: 100, ResponseBytes: 3000, Touches: []Touch{{Table: 1, Pages: 3}}},
		}}
}

// TestUsersWorkAndPagesAreConservedAtEveryEvent runs random hosts, schedulers
// and loads and checks all books after every single event.
func TestUsersWorkAndPagesAreConservedAtEveryEvent(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := machine(rapid.IntRange(1, 4).Draw(rt, "cores"))
		h.CPU.Sockets = rapid.IntRange(1, 2).Draw(rt, "sockets")
		h.CPU.Remote = 1.5
		h.Stores[0].QueueDepth = rapid.SampledFrom([]int{2, 1000}).Draw(rt, "queue")
		h.Stores[0].WriteCache = rapid.SampledFrom([]unit.Bytes{0, 64 << 10}).Draw(rt, "cache")
		sim := des.New(rapid.Uint64().Draw(rt, "seed"))
		sys := New(sim, h, host.Scheduler{Kind: host.Kind(rapid.IntRange(0, 1).Draw(rt, "kind")), Refill: host.Nanos(1e4)}, func(Done) {})
		guests := rapid.IntRange(1, 2).Draw(rt, "guests")
		for range guests {
			if _, err := sys.AddGuest(0, host.Client{Name: "g", CPUs: rapid.IntRange(1, h.CPU.CPUs()).Draw(rt, "cpus"), Loose: rapid.Bool().Draw(rt, "loose")}); err != nil {
				t.Fatal(err)
			}
		}
		for i := range guests {
			load := Load{Users: rapid.IntRange(1, 12).Draw(rt, "users"), Think: time.Duration(rapid.IntRange(0, 2).Draw(rt, "think, ms")) * time.Millisecond}
			if rapid.Bool().Draw(rt, "open") {
				load = Load{Rate: rapid.Float64Range(100, 3000).Draw(rt, "rate"), Connections: rapid.IntRange(1, 10).Draw(rt, "connections")}
			}
			c := Config{Name: "i", Guest: i, Kernel: rapid.IntRange(0, guests).Draw(rt, "kernel"), Database: busy(), NIC: "lan", DataStore: "data", LogStore: "log",
				Buffer: unit.Bytes(rapid.IntRange(100, 5000).Draw(rt, "pages")) * 8192, Load: load, Checkpoint: Checkpoint{Every: 20 * time.Millisecond},
				Costs: Costs{IO: 1e4, Packet: 2000, Interrupt: 1000, DiskInterrupt: 2, HostIO: 5000, HostPacket: 500, Latch: 3000, LatchByte: 2}}
			if _, err := sys.AddInstance(c); err != nil {
				t.Fatal(err)
			}
		}
		sim.Inspect(func() {
			if err := sys.Check(); err != nil {
				rt.Fatalf("at %d ns: %v", sim.Now(), err)
			}
		})
		if err := sim.Run(t.Context(), rapid.Int64Range(1, 60).Draw(rt, "run, ms")*des.Millisecond); err != nil {
			rt.Fatal(err)
		}
	})
}

// TestCheckSeesWhatIsLost breaks the books one by one.
func TestCheckSeesWhatIsLost(t *testing.T) {
	for name, breaks := range map[string]func(*System, *instance){
		"a user":                 func(_ *System, x *instance) { x.busy-- },
		"a user who waits":       func(s *System, _ *instance) { s.sessions[0].at = logging },
		"a dirty page":           func(_ *System, x *instance) { x.pool.dirty[0]--; x.pool.dirty[1]++; x.pool.total++ },
		"a page written twice":   func(_ *System, x *instance) { x.pool.usage.Evicted++ },
		"a checkpoint's page":    func(_ *System, x *instance) { x.check.total++ },
		"a request of the disk":  func(s *System, _ *instance) { s.sessions[1].at = reading; s.sessions[2].at = reading },
		"a burst of a processor": func(s *System, _ *instance) { s.sessions[1].at = working; s.sessions[2].at = working },
	} {
		r := newRig(t, machine(2), Config{Database: busy(), Buffer: 500 * 8192, Load: Load{Users: 4, Think: 100 * time.Second}})
		r.run(10 * des.Second)
		if err := r.sys.Check(); err != nil {
			t.Fatalf("before: %v", err)
		}
		if breaks(r.sys, r.sys.instances[0]); r.sys.Check() == nil {
			t.Errorf("%s: not seen", name)
		}
	}
}
