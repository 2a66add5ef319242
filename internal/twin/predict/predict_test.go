package predict

import (
	"context"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/twin"
	"github.com/loadstone-perf/loadstone/internal/twin/dbms"
	"github.com/loadstone-perf/loadstone/internal/twin/demand"
	"github.com/loadstone-perf/loadstone/internal/twin/host"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// box is a calibrated host of four cores; its one class costs a millisecond of
// processor, known to a tenth.
func box(t *testing.T) *demand.File {
	t.Helper()
	q := func(v, by float64) demand.Quantity { return demand.Quantity{Value: v, Low: v / by, High: v * by} }
	w := demand.Workload{Name: "shop", Engine: "postgres", GHz: 2, CPUs: 1, CPU: q(1e6, 1.1), Stall: demand.Exactly(0.4), Split: demand.ByRegression,
		Classes: []demand.Class{{Name: "buy", Share: 1, Compute: q(6e5, 1.1), Memory: q(4e5, 1.1), LogBytes: q(500, 1.2)}}}
	f, err := demand.Machine{Name: "box", Sockets: 1, Cores: 4, Threads: 4, GHz: 2, Memory: unit.GiB}.Calibrated([]*demand.Fitted{{Workload: w,
		DiskRead: q(1e5, 1.2), DiskWrite: q(1e5, 1.2), LogWrite: q(2e5, 1.2), Latency: q(2e4, 1.5)}})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// shops are instances with these users each, on cpus processors.
func shops(instances, users int, cpus float64, think time.Duration) Question {
	build := func(f *demand.File, seed uint64) (twin.Scenario, error) {
		sc := twin.Scenario{Host: f.Host, Scheduler: host.Scheduler{Kind: host.Fair}, Seconds: 6, Ramp: time.Second, Seed: seed}
		c := f.Workloads[0].Classes[0]
		for i := range instances {
			name := string(rune('a' + i))
			sc.Guests = append(sc.Guests, twin.Guest{Client: host.Client{Name: name + " guest", Limit: cpus, Interleaved: true}})
			sc.Instances = append(sc.Instances, dbms.Config{Name: name, Guest: i, Buffer: unit.MiB, DataStore: demand.DataStore, LogStore: demand.LogStore, NIC: demand.NIC,
				Database: &dbms.Database{Name: "shop", PageBytes: 8192, Classes: []dbms.Class{{Name: "buy", Weight: 1, Compute: c.Compute.Value, Memory: c.Memory.Value, LogBytes: c.LogBytes.Value}}},
				Load:     dbms.Load{Users: users, Think: think}})
		}
		return sc, nil
	}
	return Question{Build: build, Classes: []string{"buy"}}
}

func options() Options { return Options{Draws: 12, Workers: 2, Seed: 1} }

func ask(t *testing.T, q Question) Answer {
	t.Helper()
	a, err := Ask(t.Context(), box(t), q, options())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAnswersCarryWhatIsNotKnown(t *testing.T) {
	a := ask(t, shops(1, 16, 1, 0))
	// One processor and a millisecond each: 1,000 a second, known to a tenth.
	x := a.Throughput
	if math.Abs(x.Value/1000-1) > 0.03 {
		t.Errorf("%+v a second, not 1,000", x)
	}
	if low, high := x.Low/x.Value, x.High/x.Value; low < 0.8 || low > 0.97 || high > 1.25 || high < 1.03 {
		t.Errorf("the interval is %.3f to %.3f of the value: demands are known to a tenth", low, high)
	}
	if a.Limit.Resource != InstanceProcessors || !strings.Contains(a.Limit.Reason, "of the processors that they may use") {
		t.Errorf("limit %+v", a.Limit)
	}
	if a.HostCPU.Value > 30 || a.InstanceCPU.Value < 95 || math.Abs(a.All.Mean.Value-16) > 1 || a.Classes[0].PerSecond != a.PerSecond {
		t.Errorf("%+v", a)
	}
}

func TestLimitsAreNamedByWhatIsUsedUp(t *testing.T) {
	slowLog := func(q Question) Question {
		build := q.Build
		q.Build = func(f *demand.File, seed uint64) (twin.Scenario, error) {
			sc, err := build(f, seed)
			h := *sc.Host
			h.Stores = demand.ScaleTimes(h.Stores, 100, func(d string) bool { return d == demand.LogDevice })
			sc.Host = &h
			return sc, err
		}
		return q
	}
	for name, c := range map[string]struct {
		q    Question
		want string
	}{
		"one instance at its limit": {shops(1, 16, 1, 0), InstanceProcessors},
		"all processors":            {shops(5, 8, 1, 0), HostProcessors},
		"users that think":          {shops(1, 4, 4, 50*time.Millisecond), Load},
		"a slow log":                {slowLog(shops(1, 4, 4, 0)), Log},
		"one user":                  {shops(1, 1, 4, 0), Mixed},
	} {
		if a := ask(t, c.q); a.Limit.Resource != c.want {
			t.Errorf("%s is limited by %+v, not by %s", name, a.Limit, c.want)
		}
	}
}

// TestSweepIsTheSameOnAnyNumberOfWorkers and stops each lane where it is told
// to.
func TestSweepIsTheSameOnAnyNumberOfWorkers(t *testing.T) {
	var lanes [][]Question
	for users := 1; users <= 4; users *= 2 {
		var lane []Question
		for n := 1; n <= 4; n++ {
			lane = append(lane, shops(n, users, 1, 0))
		}
		lanes = append(lanes, lane)
	}
	enough := func(_, _ int, a Answer) bool { return a.HostCPU.Value > 60 }
	sweep := func(workers int) ([][]Found, int) {
		o, told := Options{Draws: 2, Workers: workers, Seed: 3}, 0
		found, err := Sweep(t.Context(), box(t), lanes, o, enough, func() { told++ })
		if err != nil {
			t.Fatal(err)
		}
		return found, told
	}
	one, n := sweep(1)
	many, m := sweep(5)
	if !reflect.DeepEqual(one, many) || n != m {
		t.Errorf("one worker: %+v\nfive: %+v", one, many)
	}
	asked := 0
	for _, lane := range one {
		for i, f := range lane {
			if !f.Asked {
				continue
			}
			asked++
			if last := i == len(lane)-1 || !lane[i+1].Asked; last != (f.Answer.HostCPU.Value > 60) && i < len(lane)-1 {
				t.Errorf("a lane ended at %+v", f.Answer.HostCPU)
			}
		}
	}
	if asked != n || asked == 12 || asked < 3 {
		t.Errorf("%d of 12 asked, %d told", asked, n)
	}
}

func TestASweepThatIsBrokenOffKeepsWhatIsDone(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	lane := []Question{shops(1, 1, 1, 0), shops(2, 1, 1, 0), shops(3, 1, 1, 0)}
	found, err := Sweep(ctx, box(t), [][]Question{lane}, Options{Workers: 2, Seed: 1}, nil, stop)
	if err != nil || !found[0][0].Asked || found[0][1].Asked || found[0][2].Asked {
		t.Errorf("%+v, %v", found, err)
	}
}

func TestFaultsOfAQuestionStayWithIt(t *testing.T) {
	broken := errors.New("no such host")
	bad := Question{Build: func(*demand.File, uint64) (twin.Scenario, error) { return twin.Scenario{}, broken }}
	if _, err := Ask(t.Context(), box(t), bad, options()); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	found, err := Sweep(t.Context(), box(t), [][]Question{{bad, shops(1, 1, 1, 0)}}, Options{Workers: 1, Seed: 1}, nil, nil)
	if err != nil || !errors.Is(found[0][0].Err, broken) || found[0][1].Err != nil || !found[0][1].Asked {
		t.Errorf("%+v, %v", found, err)
	}
	for _, o := range []Options{{Draws: 1, Workers: 1}, {Draws: -1, Workers: 1}, {Draws: 2}} {
		if _, err := Ask(t.Context(), box(t), shops(1, 1, 1, 0), o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}

func TestConditionsAreDecidedByTheWholeInterval(t *testing.T) {
	a := Answer{Throughput: Interval{1000, 900, 1100}, InstanceCPU: Interval{50, math.NaN(), math.NaN()}, HostCPU: Interval{80, 70, 95},
		All: Times{Mean: Interval{5, 4, 6}, P: [4]Interval{{4, 3, 5}, {8, 7, 9}, {10, 8, 12}, {20, 15, 30}}}, Classes: []Times{{P: [4]Interval{3: {40, 30, 50}}}, {Mean: Interval{math.NaN(), math.NaN(), math.NaN()}}}}
	classes := []string{"new order", "pay"}
	for text, want := range map[string]Verdict{
		"p95 < 13ms": Holds, "p95<12ms": Open, "p95 < 12.1ms": Holds, "p95 < 8ms": Fails, "p95 < 9ms": Open, "p95 > 7ms": Holds,
		"p50 < 5.5ms": Holds, "p90 > 1s": Fails, "mean < 5ms": Open, "p99:new order < 51ms": Holds, "mean:pay < 1s": Open,
		"throughput > 899": Holds, "throughput > 1000": Open, "throughput < 900": Fails, "cpu < 51%": Holds, "cpu > 51%": Fails, "host cpu < 90%": Open,
	} {
		c, err := ParseCondition(text, classes)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := c.Judge(a); got != want {
			t.Errorf("%s %s, not %s", text, got, want)
		}
	}
	for _, text := range []string{"", "p95", "p95 < 10", "p96 < 1ms", "throughput > 1ms", "cpu < 80", "p95:sell < 1ms", "cpu:pay < 5%", "throughput > NaN", "p95 = 1ms"} {
		if c, err := ParseCondition(text, classes); err == nil {
			t.Errorf("%q: %+v", text, c)
		}
	}
	good, _ := ParseCondition("p95 < 1s", nil)
	open, _ := ParseCondition("p95 < 9ms", nil)
	bad, _ := ParseCondition("p95 < 1ms", nil)
	if Judge([]Condition{good, open}, a) != Open || Judge([]Condition{open, bad, good}, a) != Fails || Judge(nil, a) != Holds {
		t.Error("several conditions are not as bad as their worst")
	}
}
