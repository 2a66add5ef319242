package scenario_test

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/hosts"
	"github.com/loadstone-perf/loadstone/internal/twin"
	"github.com/loadstone-perf/loadstone/internal/twin/demand"
	"github.com/loadstone-perf/loadstone/internal/twin/host"
	"github.com/loadstone-perf/loadstone/internal/twin/scenario"
	"github.com/loadstone-perf/loadstone/internal/unit"
	"github.com/loadstone-perf/loadstone/internal/workload"
	"github.com/loadstone-perf/loadstone/internal/workload/brokerage"
	"github.com/loadstone-perf/loadstone/internal/workload/dvdstore"
	"github.com/loadstone-perf/loadstone/internal/workload/orderentry"
)

func theHost(t *testing.T, name string) *host.Host {
	t.Helper()
	source, err := hosts.Files.ReadFile(name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.Parse(name, source)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func define(t *testing.T, k workload.Kind, texts map[string]string) *workload.Definition {
	t.Helper()
	v, err := unit.NewValues(k.Params, texts)
	if err != nil {
		t.Fatal(err)
	}
	d, err := k.New(v, 1)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// shop is an instance of DVD Store under a few users.
func shop(t *testing.T, users int) scenario.Instance {
	d := define(t, dvdstore.Kind(), map[string]string{"size": "100MB"})
	return scenario.Instance{Name: "instance-1", Workload: d, Demands: scenario.Assume(d), Cache: unit.GiB, Load: scenario.Load{Users: users}}
}

func run(t *testing.T, trial scenario.Trial) (out []twin.Transaction) {
	t.Helper()
	sc, err := scenario.Build(trial)
	if err != nil {
		t.Fatal(err)
	}
	if err := twin.Run(t.Context(), sc, func(x twin.Transaction) { out = append(out, x) }, nil); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestEveryWorkloadBecomesADatabaseOfItsSize(t *testing.T) {
	for name, d := range map[string]*workload.Definition{
		"dvdstore":   define(t, dvdstore.Kind(), map[string]string{"size": "1GB"}),
		"orderentry": define(t, orderentry.Kind(), map[string]string{"warehouses": "50"}),
		"statements": define(t, orderentry.Kind(), map[string]string{"warehouses": "50", "mode": "statements"}),
		"brokerage":  define(t, brokerage.Kind(), map[string]string{"customers": "2000", "initial_trade_days": "5"}),
	} {
		x := scenario.Instance{Name: "i", Workload: d, Demands: scenario.Assume(d), Cache: unit.GiB, Load: scenario.Load{Users: 4}}
		sc, err := scenario.Build(scenario.Trial{Host: theHost(t, "r920"), Instances: []scenario.Instance{x}, Seconds: 1})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		db := sc.Instances[0].Database
		if err := db.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		pages := 0.0
		for _, table := range db.Tables {
			pages += table.Pages
		}
		if got, want := pages*float64(db.PageBytes), float64(d.DataSize); math.Abs(got/want-1) > 0.1 {
			t.Errorf("%s has %.0f MB of pages, and the workload says %.0f MB", name, got/1e6, want/1e6)
		}
		if len(db.Classes) != len(d.Transactions) || len(sc.Guests) != 1 {
			t.Errorf("%s has %d classes and %d guests", name, len(db.Classes), len(sc.Guests))
		}
		for i, c := range db.Classes {
			if c.Weight > 0 && d.Transactions[i].ReadOnly != (c.LogBytes == 0) {
				t.Errorf("%s: %s writes %g bytes of the log", name, c.Name, c.LogBytes)
			}
		}
	}
}

// The model's users play the workload's own scripts: units, steps and shares are
// those of a real trial.
func TestUsersPlayTheWorkloadsScripts(t *testing.T) {
	x := shop(t, 3)
	out := run(t, scenario.Trial{Host: theHost(t, "r920"), Instances: []scenario.Instance{x}, Seconds: 2, Seed: 4})
	d := x.Workload
	open := map[int]bool{} // users in a unit
	ended := map[int]time.Duration{}
	units, counts := 0.0, make([]float64, len(d.Transactions))
	for _, tx := range out {
		name := d.Transactions[tx.Class].Name
		if first := name == "login" || name == "newcustomer"; first == open[tx.User] {
			t.Fatalf("user %d did %s with a unit open: %v", tx.User, name, open[tx.User])
		}
		if before, ok := ended[tx.User]; ok && (tx.Intended < before || tx.Start < tx.Intended) {
			t.Fatalf("user %d was free at %v, intended %v and started at %v", tx.User, before, tx.Intended, tx.Start)
		}
		if tx.Last != (name == "purchase") {
			t.Fatalf("%s ends a unit: %v", name, tx.Last)
		}
		open[tx.User], ended[tx.User] = !tx.Last, tx.End
		counts[tx.Class]++
		if tx.Last {
			units++
		}
	}
	if units < 100 || len(ended) != 3 {
		t.Fatalf("%v units of %d users", units, len(ended))
	}
	for i, tx := range d.Transactions {
		if got := 100 * counts[i] / float64(len(out)); math.Abs(got-tx.Share) > tx.ShareTolerance {
			t.Errorf("%s is %.1f %% of the work, stated %.1f %%", tx.Name, got, tx.Share)
		}
	}
}

func TestASeedGivesTheSameTransactionsAndAnotherOthers(t *testing.T) {
	trial := scenario.Trial{Host: theHost(t, "r920"), Instances: []scenario.Instance{shop(t, 3)}, Seconds: 1, Seed: 4}
	first, again := run(t, trial), run(t, trial)
	if !reflect.DeepEqual(first, again) {
		t.Error("the same seed gave other transactions")
	}
	trial.Seed++
	if reflect.DeepEqual(first, run(t, trial)) {
		t.Error("another seed gave the same transactions")
	}
	// Replications share the scenario and run side by side.
	sc, err := scenario.Build(trial)
	if err != nil {
		t.Fatal(err)
	}
	one, err := twin.Repeat(t.Context(), sc, 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	three, err := twin.Repeat(t.Context(), sc, 3, 3)
	if err != nil || !reflect.DeepEqual(one, three) {
		t.Errorf("three workers gave other summaries than one: %v", err)
	}
}

// Arrivals start units: there are as many as the rate says, whoever serves them,
// and each is answered from when it came.
func TestArrivalsStartUnits(t *testing.T) {
	for _, constant := range []bool{false, true} {
		x := shop(t, 0)
		x.Load = scenario.Load{RatePerS: 200, Connections: 20, Constant: constant}
		units := 0.0
		var starts []time.Duration
		first := map[int]bool{}
		for _, tx := range run(t, scenario.Trial{Host: theHost(t, "r920"), Instances: []scenario.Instance{x}, Seconds: 5, Seed: 2}) {
			if !first[tx.User] {
				first[tx.User] = true
				starts = append(starts, tx.Intended)
			}
			if tx.Last {
				units++
				first[tx.User] = false
			}
		}
		spread := 4 * math.Sqrt(1000)
		if constant {
			spread = 5
		}
		if math.Abs(units-1000) > spread {
			t.Errorf("constant %v: %v units in 5 s at 200 a second", constant, units)
		}
		slices.Sort(starts)
		gaps := map[time.Duration]int{}
		for i := range starts[1:] {
			gaps[starts[i+1]-starts[i]]++
		}
		if even := gaps[5*time.Millisecond] > len(starts)*9/10; even != constant {
			t.Errorf("constant %v: %d of %d gaps are 5 ms", constant, gaps[5*time.Millisecond], len(starts))
		}
	}
}

// The market of Brokerage works beside the customers, on sessions of its own.
func TestExtraUsersCompleteTheWorkOfOthers(t *testing.T) {
	d := define(t, brokerage.Kind(), map[string]string{"initial_trade_days": "1", "market_days": "20", "news_bytes": "100", "limit_horizon": "1s"})
	x := scenario.Instance{Name: "i", Workload: d, Demands: scenario.Assume(d), Cache: 4 * unit.GiB, Load: scenario.Load{Users: 8}}
	counts := map[string]int{}
	for _, tx := range run(t, scenario.Trial{Host: theHost(t, "r920"), Instances: []scenario.Instance{x}, Seconds: 6, Seed: 2}) {
		name := d.Transactions[tx.Class].Name
		counts[name]++
		if extra := tx.User >= 8; extra != d.Transactions[tx.Class].Extra {
			t.Fatalf("user %d of 8 did %s", tx.User, name)
		}
	}
	// What was ordered in the last second or so is not due yet.
	if o, r := counts["tradeorder"], counts["traderesult"]; o < 100 || float64(r) < 0.75*float64(o) || r > o {
		t.Errorf("%d orders and %d results", o, r)
	}
}

func TestDemandsFollowTheClock(t *testing.T) {
	x := shop(t, 1)
	mean := func(ghz float64) float64 {
		h := *theHost(t, "r920")
		h.CPU.GHz, h.CPU.Turbo = ghz, nil
		sum, n := 0.0, 0.0
		for _, tx := range run(t, scenario.Trial{Host: &h, Instances: []scenario.Instance{x}, Seconds: 1}) {
			if x.Workload.Transactions[tx.Class].Name == "browse" {
				sum, n = sum+(tx.End-tx.Start).Seconds(), n+1
			}
		}
		return sum / n
	}
	slow, fast := mean(1.5), mean(3)
	network := 60e-6 // there and back, at any clock
	if r := (slow - network) / (fast - network); r < 1.7 || r > 2.1 {
		t.Errorf("a browse takes %.0f µs at 1.5 GHz and %.0f µs at 3 GHz", 1e6*slow, 1e6*fast)
	}
}

// What is not in memory is read: half of the data cached is slower than all, and
// pages in the system's cache alone cost copying.
func TestMemoryMatters(t *testing.T) {
	d := define(t, dvdstore.Kind(), map[string]string{"size": "4GB"})
	rate := func(own, cache unit.Bytes) float64 {
		x := scenario.Instance{Name: "i", Workload: d, Demands: scenario.Assume(d), Own: own, Cache: cache, Load: scenario.Load{Users: 8}}
		return float64(len(run(t, scenario.Trial{Host: theHost(t, "pe2970"), Instances: []scenario.Instance{x}, Seconds: 2, Ramp: 0})))
	}
	all, copied, half := rate(0, 8*unit.GiB), rate(unit.GiB/4, 8*unit.GiB), rate(0, unit.GiB)
	if !(all > 1.005*copied && copied > 1.2*half) {
		t.Errorf("%.0f transactions with all in the database's cache, %.0f in the system's, %.0f with a quarter in memory", all, copied, half)
	}
}

func TestVirtualMachinesHaveWhatTheyAreGiven(t *testing.T) {
	h := theHost(t, "r920")
	x := shop(t, 4)
	x.Shape = scenario.Shape{CPUs: 16, Threads: []int{0, 1, 2, 3}, Shares: 2048, Reservation: 8, VirtualNUMA: 2, LowLatency: true, HostPages: host.LargePages}
	sc, err := scenario.Build(scenario.Trial{Host: h, Virtual: true, Instances: []scenario.Instance{x}, Seconds: 1})
	if err != nil {
		t.Fatal(err)
	}
	c := sc.Guests[1].Client
	if !sc.Guests[0].Loose || c.CPUs != 16 || c.NodeSize != 8 || c.Reservation != 8 || c.Shares != 32000 || !reflect.DeepEqual(c.Affinity, x.Shape.Threads) || c.Exclusive {
		t.Errorf("guests %+v", sc.Guests)
	}
	i := sc.Instances[0]
	if nic, err := sc.Host.NIC(i.NIC); err != nil || nic.InterruptsPerSecond != 0 || i.HostPages != host.LargePages || i.Kernel != 1 || i.Costs.HostIO == 0 {
		t.Errorf("instance %+v on %+v: %v", i, nic, err)
	}
	if _, err := h.NIC(i.NIC); err == nil {
		t.Error("the host itself was changed")
	}
	x.Shape.Reservation = 16
	if sc, err = scenario.Build(scenario.Trial{Host: h, Virtual: true, Instances: []scenario.Instance{x}, Seconds: 1}); err != nil || !sc.Guests[1].Exclusive {
		t.Errorf("a full reservation gives no core of its own: %v", err)
	}
	for what, shape := range map[string]scenario.Shape{
		"whole":                  {CPUs: 1.5},
		"do not divide":          {CPUs: 3, VirtualNUMA: 2},
		"virtual machines only":  {Reservation: 1},
		"of virtual machines on": {LowLatency: true},
	} {
		x.Shape = shape
		_, err := scenario.Build(scenario.Trial{Host: h, Virtual: !strings.Contains(what, "virtual"), Instances: []scenario.Instance{x}, Seconds: 1})
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%+v: error %v, want %q", shape, err, what)
		}
	}
}

func TestFittedDemandsTakeThePlaceOfAssumedOnes(t *testing.T) {
	d := define(t, dvdstore.Kind(), nil)
	f := &demand.File{Host: theHost(t, "r920")}
	if got, _, err := scenario.DemandsOf(f, d, "postgres"); err != nil || got.Calibrated() {
		t.Fatalf("a host without demands gives %v, %v", got.Source, err)
	}
	w := demand.Workload{Name: "dvdstore", Engine: "postgres", Mode: "procedures", GHz: 2, Trials: []string{"a/001"}, Params: map[string]string{"size": "large"}}
	w.Costs.IO = demand.Exactly(7000)
	for i, tx := range d.Transactions {
		w.Classes = append(w.Classes, demand.Class{Name: tx.Name, Compute: demand.Exactly(float64(1000 * (i + 1))), Memory: demand.Exactly(10), LogBytes: demand.Exactly(99)})
	}
	f.Workloads = []demand.Workload{w}
	got, differs, err := scenario.DemandsOf(f, d, "postgres")
	if err != nil || !got.Calibrated() || got.GHz != 2 || got.Classes[2].Compute != 3000 || got.Costs.IO != 7000 || got.Costs.Packet != 0 || !slices.Equal(differs, []string{"size"}) {
		t.Errorf("%+v, %q, %v", got, differs, err)
	}
	if got, _, _ := scenario.DemandsOf(f, d, "mysql"); got.Calibrated() {
		t.Error("demands on another engine were taken")
	}
	f.Workloads[0].Classes = f.Workloads[0].Classes[1:]
	if _, _, err := scenario.DemandsOf(f, d, "postgres"); err == nil || !strings.Contains(err.Error(), "login") {
		t.Errorf("a type that was not fitted: %v", err)
	}
}
