package twin_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/twin"
	"github.com/loadstone-perf/loadstone/internal/twin/dbms"
	"github.com/loadstone-perf/loadstone/internal/twin/host"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// load reads a host file of the project.
func load(t testing.TB, name string) *host.Host {
	t.Helper()
	file := filepath.Join("../../hosts", name+".yaml")
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.Parse(file, src)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// orders is a small made-up OLTP database.
func orders() *dbms.Database {
	return &dbms.Database{Name: "orders", PageBytes: 8192,
		Tables: []dbms.Table{
			{Name: "customers", Pages: 400_000, Popularity: dbms.Popularity{Zipf: 0.8}, Scattered: true},
			{Name: "orders", Pages: 100_000, Popularity: dbms.Popularity{HotPages: 0.02, HotAccesses: 0.9}},
		},
		Hot: []dbms.HotRows{{Name: "stock", Rows: 2000}},
		Classes: []dbms.Class{
			{Name: "buy", Weight: 2, Compute: 0.4e6, Memory: 0.3e6, Misses: 2000, LogBytes: 2500, RequestBytes: 600, ResponseBytes: 900,
				Touches: []dbms.Touch{{Table: 0, Pages: 4}, {Table: 1, Pages: 6, Writes: 4}}, Locks: []dbms.Lock{{Hot: 0, Rows: 3}}, RolledBack: 0.02},
			{Name: "browse", Weight: 5, Compute: 0.2e6, Memory: 0.2e6, Misses: 1500, RequestBytes: 300, ResponseBytes: 4000,
				Touches: []dbms.Touch{{Table: 0, Pages: 8}}},
		}}
}

// machines is n virtual machines on a host, each with one database.
func machines(h *host.Host, store string, n, cpus, users int) twin.Scenario {
	sc := twin.Scenario{Host: h, Scheduler: host.Scheduler{Refill: host.Nanos(20_000)}, Seconds: 6, Ramp: 2 * time.Second, Seed: 1}
	for i := range n {
		sc.Guests = append(sc.Guests, twin.Guest{Node: i % h.Nodes, Client: host.Client{Name: fmt.Sprint("vm ", i), CPUs: cpus, SharedMemory: 0.6}})
		sc.Instances = append(sc.Instances, dbms.Config{Name: fmt.Sprint("db ", i), Guest: i, Database: orders(), Buffer: 2 * unit.GiB,
			DataStore: store, LogStore: h.Stores[len(h.Stores)-1].Name, NIC: h.NICs[0].Name,
			PageCosts:  host.PageCosts{Guest: [2]float64{20, 5}, Host: [2]float64{40, 10}},
			Costs:      dbms.Costs{IO: 20_000, Packet: 4000, Interrupt: 3000, DiskInterrupt: 2, Latch: 2000, LatchByte: 1},
			Checkpoint: dbms.Checkpoint{Every: 3 * time.Second},
			Load:       dbms.Load{Users: users, Think: 2 * time.Millisecond}})
	}
	return sc
}

// pencil is a host on which everything but the processors takes no time to
// speak of.
func pencil(sockets, cores int) *host.Host {
	d := host.Device{Read: time.Microsecond, Write: time.Microsecond, Channels: 1000, Capacity: 64 * unit.GiB}
	return &host.Host{Name: "pencil", Nodes: 1, CPU: host.Processor{Sockets: sockets, Cores: cores, Threads: 1, GHz: 2, SMTGain: 1.3, Remote: 1.5},
		Stores: []host.Store{{Name: "disk", Tiers: []host.Tier{{Device: d, Groups: 1, Disks: 1}}, QueueDepth: 1000, Copies: 1, Extent: 64 * unit.MiB, Promote: time.Minute}},
		NICs:   []host.NIC{{Name: "lan", BitsPerSecond: 1e12, MTU: 1500, Queues: 1}}}
}

type run struct {
	done    []twin.Transaction
	samples [][]float64
}

func do(t testing.TB, sc twin.Scenario) run {
	t.Helper()
	var r run
	err := twin.Run(t.Context(), sc, func(x twin.Transaction) { r.done = append(r.done, x) }, func(second int, v []float64) {
		if second != len(r.samples) {
			t.Errorf("sample of second %d, want %d", second, len(r.samples))
		}
		r.samples = append(r.samples, append([]float64(nil), v...))
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// value finds a counter in a sample.
func value(t testing.TB, sc twin.Scenario, sample []float64, source, name string) float64 {
	t.Helper()
	for i, c := range twin.Columns(sc) {
		if c.Source == source && c.Name == name {
			return sample[i]
		}
	}
	t.Fatalf("no counter %s of %s", name, source)
	return 0
}

func TestTheSameSeedGivesTheSameRun(t *testing.T) {
	sc := machines(load(t, "pe2970"), "luns", 6, 2, 8)
	sc.Seconds = 3
	a, b := do(t, sc), do(t, sc)
	if len(a.done) < 1000 || !reflect.DeepEqual(a, b) {
		t.Errorf("%d and %d transactions: the runs differ, or are short", len(a.done), len(b.done))
	}
	sc.Seed = 2
	if c := do(t, sc); reflect.DeepEqual(a.done, c.done) {
		t.Error("another seed gave the same run")
	}
}

func TestReplicationsDoNotDependOnTheWorkers(t *testing.T) {
	sc := machines(load(t, "pe2970"), "luns", 2, 2, 4)
	sc.Seconds, sc.Ramp = 2, time.Second
	one, err := twin.Repeat(t.Context(), sc, 4, 1)
	if err != nil {
		t.Fatal(err)
	}
	three, err := twin.Repeat(t.Context(), sc, 4, 3)
	if err != nil || !reflect.DeepEqual(one, three) {
		t.Errorf("one worker gave %+v, three %+v, %v", one, three, err)
	}
	if one[0].PerSecond[0] == one[1].PerSecond[0] && one[0].Mean[0] == one[1].Mean[0] {
		t.Error("two replications are the same")
	}
}

// TestCountersAgreeWithEachOther checks what must hold in every second,
// whatever the load: of times, pages, users and transactions.
func TestCountersAgreeWithEachOther(t *testing.T) {
	for _, kind := range []host.Kind{host.Proportional, host.Fair} {
		h := load(t, "pe2970")
		const n, cpus, users = 6, 2, 12
		sc := machines(h, "luns", n, cpus, users)
		sc.Guests[0].Limit = 0.2
		sc.Scheduler.Kind = kind
		r := do(t, sc)
		columns := twin.Columns(sc)
		ended := make([]float64, sc.Seconds)
		for i, x := range r.done {
			if x.Start != x.Intended || x.End <= x.Start || i > 0 && x.End < r.done[i-1].End {
				t.Fatalf("transaction %+v after %+v", x, r.done[max(0, i-1)])
			}
			ended[min(int(x.End/time.Second), sc.Seconds-1)]++
		}
		for second, v := range r.samples {
			if len(v) != len(columns) {
				t.Fatalf("%d values of %d columns", len(v), len(columns))
			}
			get := func(source, name string) float64 { return value(t, sc, v, source, name) }
			var running, done float64
			for i := range n {
				vm, db := fmt.Sprint("vm ", i), fmt.Sprint("db ", i)
				running += get(vm, "run_pct")
				done += get(db, "transactions_per_s")
				if sum := get(vm, "run_pct") + get(vm, "ready_pct") + get(vm, "costop_pct") + get(vm, "idle_pct"); kind == host.Proportional && math.Abs(sum-100*cpus) > 1e-6 {
					t.Errorf("second %d: times of %s add up to %g %%", second, vm, sum)
				}
				if b := get(db, "busy_users"); b > users {
					t.Errorf("second %d: %g users under way of %d", second, b, users)
				}
			}
			near(t, "threads busy", get("node 0", "threads_busy_pct")*float64(h.CPU.CPUs()), running, 1e-6)
			near(t, fmt.Sprint("transactions in second ", second), done, ended[second], 0)
			for i, x := range v {
				if math.IsNaN(x) || x < 0 || strings.HasSuffix(columns[i].Name, "_pct") && columns[i].Source == "node 0" && columns[i].Name != "work_pct" && x > 100.000001 {
					t.Errorf("second %d: %+v is %g", second, columns[i], x)
				}
			}
		}
	}
}

func near(t testing.TB, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance || math.IsNaN(got) {
		t.Errorf("%s is %g, want %g ± %g", what, got, want, tolerance)
	}
}

// TestMachinesScaleUntilTheCoresAreUsedUp puts virtual machines of two
// processors on eight cores: four run as if alone, eight get half each and
// wait the other half.
func TestMachinesScaleUntilTheCoresAreUsedUp(t *testing.T) {
	total := func(n int) (float64, []float64, float64) {
		h := pencil(2, 4)
		sc := twin.Scenario{Host: h, Seconds: 5, Ramp: time.Second}
		for i := range n {
			name := fmt.Sprint("vm ", i)
			sc.Guests = append(sc.Guests, twin.Guest{Client: host.Client{Name: name, CPUs: 2}})
			sc.Instances = append(sc.Instances, dbms.Config{Name: fmt.Sprint("db ", i), Guest: i, DataStore: "disk", LogStore: "disk", NIC: "lan",
				Database: &dbms.Database{Name: "d", PageBytes: 8192, Classes: []dbms.Class{{Name: "c", Weight: 1, Compute: 1e6}}},
				Load:     dbms.Load{Users: 4}})
		}
		s, err := twin.Repeat(t.Context(), sc, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		sum, waited := 0.0, 0.0
		for _, x := range s[0].PerSecond {
			sum += x
		}
		for i := range n {
			waited += value(t, sc, s[0].Counters, fmt.Sprint("vm ", i), "ready_pct") + value(t, sc, s[0].Counters, fmt.Sprint("vm ", i), "costop_pct")
		}
		return sum, s[0].PerSecond, waited
	}
	one, _, _ := total(1)
	near(t, "one machine", one, 2000, 2)
	four, _, ready := total(4)
	near(t, "four machines", four, 8000, 8)
	near(t, "waiting of four machines, %", ready, 0, 0.1)
	eight, each, ready := total(8)
	near(t, "eight machines", eight, 8000, 200)
	near(t, "waiting of eight machines, %", ready, 800, 20)
	for i, x := range each {
		near(t, fmt.Sprint("machine ", i, " of eight"), x, 1000, 60)
	}
}

// TestAWideMachineOnItsHomeBeatsOneThatIsSplit has 8 cores a socket: 8 virtual
// processors fit one, 9 do not, and pay for remote memory.
func TestAWideMachineOnItsHomeBeatsOneThatIsSplit(t *testing.T) {
	perCPU := func(cpus int) float64 {
		sc := twin.Scenario{Host: pencil(2, 8), Seconds: 3, Ramp: time.Second,
			Guests: []twin.Guest{{Client: host.Client{Name: "vm", CPUs: cpus, SharedMemory: 1}}},
			Instances: []dbms.Config{{Name: "db", DataStore: "disk", LogStore: "disk", NIC: "lan", Load: dbms.Load{Users: 2 * cpus},
				Database: &dbms.Database{Name: "d", PageBytes: 8192, Classes: []dbms.Class{{Name: "c", Weight: 1, Compute: 0.5e6, Memory: 0.5e6}}}}}}
		s, err := twin.Repeat(t.Context(), sc, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		return s[0].PerSecond[0] / float64(cpus)
	}
	near(t, "8 on one socket", perCPU(8), 1000, 1)
	// Half of the accesses cost 1.5: 0.5 + 0.5·1.25 ms.
	near(t, "10 on two sockets", perCPU(10), 1000/1.125, 2)
}

func TestEveryHostRunsAScenario(t *testing.T) {
	files, err := filepath.Glob("../../hosts/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		for _, kind := range []host.Kind{host.Proportional, host.Fair} {
			h := load(t, name)
			for _, store := range h.Stores {
				sc := machines(h, store.Name, 2, 2, 4)
				sc.Scheduler.Kind, sc.Seconds, sc.Ramp = kind, 1, 0
				if r := do(t, sc); len(r.done) < 200 {
					t.Errorf("%s, store %s: %d transactions in a second", name, store.Name, len(r.done))
				}
			}
		}
	}
}

func TestAScenarioThatCannotBeIsRefused(t *testing.T) {
	for _, c := range []struct {
		change func(*twin.Scenario)
		want   string
	}{
		{func(s *twin.Scenario) { s.Host = nil }, "without a host"},
		{func(s *twin.Scenario) { s.Seconds = 0 }, "a run of 0 s"},
		{func(s *twin.Scenario) { s.Ramp = time.Hour }, "ramp of 1h"},
		{func(s *twin.Scenario) { s.Guests = nil }, "0 guests"},
		{func(s *twin.Scenario) { s.Guests[0].Node = 1 }, "node 1 of 1"},
		{func(s *twin.Scenario) { s.Guests[0].CPUs = 9 }, "9 virtual processors"},
		{func(s *twin.Scenario) { s.Instances[0].Guest = 5 }, "guest 5 of 1"},
	} {
		sc := machines(load(t, "pe2970"), "luns", 1, 2, 4)
		c.change(&sc)
		if err := twin.Run(t.Context(), sc, nil, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
		if _, err := twin.Repeat(t.Context(), sc, 2, 2); err == nil {
			t.Errorf("%s: repeated without an error", c.want)
		}
	}
}

func TestCancellingEndsARun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	sc := machines(load(t, "pe2970"), "luns", 1, 2, 4)
	sc.Seconds = maxTest
	err := twin.Run(ctx, sc, nil, func(second int, _ []float64) {
		if second == 1 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

const maxTest = 3600

// BenchmarkHost simulates eight machines of 15 virtual processors on the R920
// and reports how many simulated transactions a second of real time gives.
func BenchmarkHost(b *testing.B) {
	sc := machines(load(b, "r920"), "data", 8, 15, 40)
	sc.Seconds, sc.Ramp = 1, 0
	n := 0
	for b.Loop() {
		if err := twin.Run(b.Context(), sc, func(twin.Transaction) { n++ }, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "transactions/s")
}

// TestMachinesThatFitTheirSocketsDoBetter has the orderings of the study of
// SQL Server 2012 on the R920, whose sockets have 15 cores: multiples of 15
// virtual processors before multiples of 16, and smaller machines before
// larger ones. The database is made up, so no number is compared.
func TestMachinesThatFitTheirSocketsDoBetter(t *testing.T) {
	h := load(t, "r920")
	rate := func(n, cpus int) (sum float64) {
		sc := machines(h, "data", n, cpus, 4*cpus)
		for i := range sc.Instances {
			sc.Instances[i].Load.Think, sc.Instances[i].Buffer = 0, 6*unit.GiB
			sc.Instances[i].Costs.Latch, sc.Instances[i].Costs.LatchByte = 200, 0.1
		}
		sc.Seconds, sc.Ramp = 2, time.Second
		s, err := twin.Repeat(t.Context(), sc, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range s[0].PerSecond {
			sum += x
		}
		return sum
	}
	before := math.Inf(1)
	for _, c := range []struct{ n, fits, over int }{{8, 15, 16}, {4, 30, 32}, {2, 60, 64}} {
		fits, over := rate(c.n, c.fits), rate(c.n, c.over)
		if fits < 1.01*over {
			t.Errorf("%d × %d gave %.0f, %d × %d gave %.0f", c.n, c.fits, fits, c.n, c.over, over)
		}
		if fits > 1.005*before {
			t.Errorf("%d × %d gave %.0f, smaller machines %.0f", c.n, c.fits, fits, before)
		}
		before = fits
	}
}
