package analyse

import (
	"encoding/csv"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/stats"
)

// bursts is a pass of 15 s at full load and 15 s at a fifth of it.
func bursts() []record.Phase {
	return []record.Phase{{Seconds: 15, LoadPct: 100}, {Seconds: 15, LoadPct: 20}}
}

// driven is the window of a run of AR(1) noise under a profile, on a server
// whose throughput is the load asked for times level, and whose 95th
// percentile grows with the load, divided by level. level gets the part of the
// run that is over and the load.
func driven(src *stats.Random, phases []record.Phase, seconds int, cv float64, level func(part, load float64) float64) Window {
	const warmup, rho = 10, 0.3
	t := record.Trial{Workload: usual().workload(), Phases: record.Phases{WarmupEnd: warmup, MeasureEnd: float64(warmup + seconds)}}
	t.Load.Profile = phases
	var rows []record.Interval
	x, y := gauss(src), gauss(src)
	for sec := range warmup + seconds {
		i := record.Interval{Start: time.Duration(sec) * time.Second, End: time.Duration(sec+1) * time.Second, Types: make([]record.Series, 4)}
		load := 1.0
		if p := profileOf(t, []record.Interval{i}); p != nil {
			load = p.share(float64(sec), float64(sec+1))
		}
		l := level(float64(sec-warmup)/float64(seconds), load)
		i.Types[3] = record.Series{Committed: int64(1000 * load * l * (1 + cv*x)), P95: int64((2000 + 6000*load) / l * (1 + 2*cv*y))}
		rows = append(rows, i)
		x, y = rho*x+math.Sqrt(1-rho*rho)*gauss(src), rho*y+math.Sqrt(1-rho*rho)*gauss(src)
	}
	return window([][]record.Interval{rows}, t)
}

func found(n int, phases []record.Phase, seconds int, level func(part, load float64) float64) (pct float64) {
	src := stats.Random(5)
	for range n {
		if !driven(&src, phases, seconds, 0.05, level).Steady {
			pct += 100 / float64(n)
		}
	}
	return pct
}

func healthy(float64, float64) float64 { return 1 }

func TestAHealthyServerUnderARepeatingProfileIsSteady(t *testing.T) {
	for name, phases := range map[string][]record.Phase{
		"bursts":             bursts(),
		"steps":              {{Seconds: 10, LoadPct: 25}, {Seconds: 10, LoadPct: 50}, {Seconds: 10, LoadPct: 100}},
		"pauses":             {{Seconds: 12, LoadPct: 100}, {Seconds: 8, LoadPct: 0}},
		"not whole seconds":  {{Seconds: 7.5, LoadPct: 100}, {Seconds: 5, LoadPct: 40}},
		"shorter than a run": {{Seconds: 40, LoadPct: 100}, {Seconds: 15, LoadPct: 30}},
	} {
		const n = 120
		got := found(n, phases, 120, healthy)
		t.Logf("%s: %.2f %%", name, got)
		if got > 1+3*100*math.Sqrt(0.01*0.99/n) {
			t.Errorf("%s: %.2f %% of healthy runs are found not steady", name, got)
		}
	}
}

func TestAServerThatDegradesOverThePassesIsNotSteady(t *testing.T) {
	for name, level := range map[string]func(part, load float64) float64{
		"in all phases":         func(part, _ float64) float64 { return 1 - 0.2*max(0, part) },
		"under full load alone": func(part, load float64) float64 { return 1 - 0.2*max(0, part)*math.Round(load) },
		"at once, in the middle": func(part, _ float64) float64 {
			if part > 0.5 {
				return 0.8
			}
			return 1
		},
	} {
		for _, seconds := range []int{120, 240} {
			if got := found(30, bursts(), seconds, level); got < 95 {
				t.Errorf("%s over %d s: found in %.0f %%", name, seconds, got)
			}
		}
	}
}

func TestWindowsHoldWholePasses(t *testing.T) {
	src := stats.Random(3)
	for _, c := range []struct {
		seconds int
		phases  []record.Phase
		end     float64
		passes  int
	}{
		{120, bursts(), 130, 4},
		{119, bursts(), 100, 3},
		{45, bursts(), 40, 1},
		{20, bursts(), 30, 0},
		{100, []record.Phase{{Seconds: 7.5, LoadPct: 100}, {Seconds: 5, LoadPct: 40}}, 110, 8},
		{120, []record.Phase{{Seconds: 30, LoadPct: 80}}, 130, 0}, // an even load
		{120, nil, 130, 0},
	} {
		w := driven(&src, c.phases, c.seconds, 0.01, healthy)
		if w.Start != 10 || w.End != c.end || w.Passes != c.passes {
			t.Errorf("%v over %d s: %+v, want 10 to %g and %d passes", c.phases, c.seconds, w, c.end, c.passes)
		}
	}
}

// A pass that lasts as long as the run has nothing to be held against.
func TestPhasesThatDoNotComeBackAreJudgedApart(t *testing.T) {
	once := []record.Phase{{Seconds: 70, LoadPct: 30}, {Seconds: 70, LoadPct: 100}, {Seconds: 200, LoadPct: 50}}
	src := stats.Random(9)
	w := driven(&src, once, 200, 0.02, healthy)
	if !w.Steady || !w.Tested || w.Passes != 0 || !strings.Contains(w.Why, "each phase was judged by itself") {
		t.Errorf("healthy: %+v", w)
	}
	// The second phase settles after 15 s, as a server does after a step.
	settles := func(part, _ float64) float64 {
		if sec := part*200 + 10; sec > 70 && sec < 85 {
			return 0.7
		}
		return 1
	}
	if w = driven(&src, once, 200, 0.02, settles); !w.Steady {
		t.Errorf("settling: %+v", w)
	}
	falls := func(part, _ float64) float64 {
		if sec := part*200 + 10; sec > 140 {
			return 1 - 0.3*(sec-140)/70
		}
		return 1
	}
	if w = driven(&src, once, 200, 0.02, falls); w.Steady || !strings.Contains(w.Why, "phase 3 (50 % from 140 s) throughput drifts") {
		t.Errorf("falling in the third phase: %+v", w)
	}
	short := []record.Phase{{Seconds: 80, LoadPct: 100}, {Seconds: 20, LoadPct: 50}, {Seconds: 300, LoadPct: 100}}
	if w = driven(&src, short, 200, 0.02, healthy); w.Tested || !w.Steady || !strings.Contains(w.Why, "but phase 2") {
		t.Errorf("a short phase: %+v", w)
	}
}

func TestShareIsTheMeanLoadAskedFor(t *testing.T) {
	p := &profile{phases: []record.Phase{{Seconds: 10, LoadPct: 100}, {Seconds: 30, LoadPct: 20}}, start: 5, pass: 40}
	for _, c := range []struct{ from, to, want float64 }{
		{5, 45, 0.4}, {5, 85, 0.4}, {20, 60, 0.4}, {5, 15, 1}, {15, 45, 0.2}, {10, 20, 0.6}, {40, 50, 0.6}, {7, 7, 1},
	} {
		closeTo(t, "share", p.share(c.from, c.to), c.want, 1e-12)
	}
	var even *profile
	closeTo(t, "share of an even load", even.share(0, 10), 1, 0)
}

// Arrivals that a profile asks for and that are all served are all served.
func TestServedArrivalsAreThoseOfTheProfile(t *testing.T) {
	s := usual()
	s.rate, s.measure = s.throughput(8)/0.5, 60
	study, trials := s.study(1, 8)
	trials[0].trial.Load.Profile = []record.Phase{{Seconds: 5, LoadPct: 80}, {Seconds: 5, LoadPct: 20}}
	one, err := analysed(trials[0], study)
	if err != nil {
		t.Fatal(err)
	}
	closeTo(t, "served", one.served, 1, 0.02)
	if one.Window.Passes != 6 {
		t.Errorf("%+v", one.Window)
	}
}

// recorded is a run of DVD Store on PostgreSQL 15 under 60 arrivals a second
// for 8 s and 15 for 7 s, again and again: the orders of series.csv, while other
// programs used a quarter of the machine. slower changes throughput and time.
func recorded(t *testing.T, slower func(part float64) float64) Window {
	t.Helper()
	f, err := os.Open("testdata/bursts.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	trial := record.Trial{Workload: usual().workload(), Phases: record.Phases{WarmupEnd: 5, MeasureEnd: 80}}
	trial.Load.Profile = []record.Phase{{Seconds: 8, LoadPct: 100}, {Seconds: 7, LoadPct: 25}}
	var rows []record.Interval
	for _, l := range lines[1:] {
		number := func(name string) float64 {
			v, err := strconv.ParseFloat(l[slices.Index(lines[0], name)], 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		by := slower((number("start_s") - 5) / 75)
		i := record.Interval{Start: seconds(number("start_s")), End: seconds(number("end_s")), Types: make([]record.Series, 4)}
		i.Types[3] = record.Series{Committed: int64(number("committed") / by), P95: int64(number("p95_us") * by)}
		rows = append(rows, i)
	}
	return window([][]record.Interval{rows}, trial)
}

func TestARecordedRunUnderBurstsIsJudgedByItsPasses(t *testing.T) {
	w := recorded(t, func(float64) float64 { return 1 })
	if !w.Steady || !w.Tested || w.Passes != 5 || w.Start != 5 || w.End != 80 {
		t.Errorf("as it was: %+v", w)
	}
	w = recorded(t, func(part float64) float64 { return 1 + 0.6*max(0, part) })
	if w.Steady || !strings.Contains(w.Why, "over the passes") {
		t.Errorf("with a server that grows slower: %+v", w)
	}
}
