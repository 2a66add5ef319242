package report

import (
	"fmt"
	"math"
	"time"

	"github.com/loadstone-perf/loadstone/internal/analyse"
)

// noise is a fixed sequence between -1 and 1: the same study on every run.
func noise(a, b, c int) float64 {
	h := uint64(a)*0x9e3779b97f4a7c15 + uint64(b)*0xbf58476d1ce4e5b9 + uint64(c)*0x94d049bb133111eb
	h ^= h >> 31
	h *= 0xbf58476d1ce4e5b9
	h ^= h >> 29
	return float64(h>>11)/float64(1<<52) - 1
}

var nan = math.NaN()

// sample makes a study of DVD Store over users with three repeats, one of
// them failed, and seconds of timeline each.
func sample(users []int, repeats, seconds int) *analyse.Study {
	s := &analyse.Study{
		Format: 1, Loadstone: "0.1.0", Name: "DVD Store on PostgreSQL: how many users?",
		Question: "How many orders a minute does this machine sustain, and what limits it?",
		Created:  time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC), Valid: true,
		Answer:   "The machine sustains 14,900 orders a minute (14,600 to 15,200) at 8 users; its CPUs limit it.",
		Notes:    []string{"Three repeats: intervals assume that repeats are normally distributed."},
		Measured: "PostgreSQL 16.9 on this machine does 14,900 orders a minute at 8 users",
		Metric:   analyse.Metric{Name: "orders a minute", Short: "OPM"},
		Machine:  []analyse.Fact{{Name: "CPU", Value: "2 × 2.4 GHz, virtual"}, {Name: "Synced append", Value: "105 µs (median, before the study)"}, {Name: "Memory", Value: "23.5 GiB"}, {Name: "Kernel", Value: "6.12.5"}},
		System:   []analyse.Fact{{Name: "Engine", Value: "PostgreSQL 16.9"}, {Name: "Workload", Value: "dvdstore 1, small (10 MB)"}, {Name: "Restore", Value: "copy of files, verified by digest"}},
		Factors:  []string{"users"},
		Peak:     len(users) - 1,
		Limit: analyse.Limit{Resource: "CPU", Summary: "the host's CPUs were 97 % busy at the peak",
			Evidence: []string{"host CPU 97 % busy (user 61 %, system 36 %)", "against the disk: 12 % busy, 0.4 ms a write", "against locks: 0.1 sessions waiting on average",
				"driver CPU 29 %", "steal 0 %", "disk read 0.2 MiB/s", "disk write 14 MiB/s", "network 2.9 MiB/s", "1 % more load changes throughput by +0.1 %", "0.6 sessions in Log:WALWriteLock (22 %)"}, Decisive: 1},
		Settings: []analyse.Knob{
			{Name: "shared_buffers", Intended: "256MiB", Effective: "256MB", Default: "128MB", Why: "a quarter of the instance's memory", Matches: true},
			{Name: "max_wal_size", Intended: "4GiB", Effective: "4GB", Default: "1GB", Why: "no checkpoint by volume within the window", Matches: true},
			{Name: "synchronous_commit", Intended: "off", Effective: "off", Default: "on", Why: "study", Matches: true},
			{Name: "fsync", Intended: "on", Effective: "on", Default: "on", Why: "durability", Matches: true},
		},
		Source: "name: DVD Store on PostgreSQL\nworkload: dvdstore\nengine: postgres\nvary:\n  users: [1, 2, 4, 8]\nrepeats: 3\n",
	}
	line := analyse.Line{Model: &analyse.USL{Lambda: 3900, Sigma: 0.12, Kappa: 0.0019, PeakN: 21.5, R2: 0.998, Warning: "fewer than six loads: the model is only a guide"},
		Saturation: "at about 8 users: more load raises throughput by no more than 4.1 %"}
	knee := analyse.Number(users[len(users)/2])
	line.Knee = &knee
	for i, u := range users {
		s.Cells = append(s.Cells, sampleCell(u))
		line.Cells = append(line.Cells, i)
	}
	for block := range repeats {
		for i := range users {
			ci := (i + block) % len(users)
			u := users[ci]
			t := sampleTrial(len(s.Trials)+1, block+1, ci, u, seconds)
			if block == 1 && i == 2 {
				t.Status, t.Reason, t.Counts = "failed", "restore: digest of base/16384/2619 differs from the golden state", false
				t.Timeline, t.Gates, t.Types, t.Checks = analyse.Timeline{}, nil, nil, nil
				t.Window = analyse.Window{}
			} else {
				s.Cells[ci].Trials = append(s.Cells[ci].Trials, len(s.Trials))
			}
			s.Trials = append(s.Trials, t)
		}
	}
	s.Curve = &analyse.Curve{Knob: "users", Lines: []analyse.Line{line}}
	return s
}

func throughputOf(users int) float64 {
	n := float64(users)
	return 3900 * n / (1 + 0.12*(n-1) + 0.0019*n*(n-1))
}

func sampleCell(users int) analyse.Cell {
	x := throughputOf(users)
	busy := min(97, 26*float64(users))
	return analyse.Cell{
		Factors:    []analyse.Factor{{Knob: "users", Value: fmt.Sprint(users), Num: analyse.Number(users)}},
		Label:      fmt.Sprintf("users = %d", users),
		Throughput: analyse.Estimate{Value: x, Low: analyse.Number(x * 0.97), High: analyse.Number(x * 1.03), N: 3, Method: "Student's t, 95 %"},
		Types:      sampleTypes(users),
		CPUPct:     analyse.Estimate{Value: busy, Low: analyse.Number(busy - 1), High: analyse.Number(busy + 1), N: 3, Method: "Student's t, 95 %"},
		Limit:      analyse.Limit{Resource: map[bool]string{true: "CPU", false: "load offered"}[users >= 4]},
		Usage: []analyse.Resource{
			{Name: "instance CPU", Value: busy, Unit: "%", Load: analyse.Number(busy / 100)},
			{Name: "disk busy", Value: 3 * float64(users), Unit: "%", Load: analyse.Number(0.03 * float64(users))},
			{Name: "disk write", Value: 1.7 * float64(users), Unit: "MiB/s", Load: analyse.Absent()},
			{Name: "instance memory", Value: 310, Unit: "MiB", Load: 0.31},
		},
	}
}

func sampleTypes(users int) []analyse.Latency {
	var out []analyse.Latency
	for i, name := range []string{"login", "newcustomer", "browse", "pricelookup", "purchase", "order"} {
		base := (0.4 + 0.7*float64(i)) * (1 + 0.15*float64(users*users)/8)
		l := analyse.Latency{Type: name, About: "what a customer does, part " + fmt.Sprint(i+1), Count: int64(90000 / (i + 1)), PerSecond: throughputOf(users) / 60,
			MeanMs: analyse.Number(base * 1.2), MaxMs: analyse.Number(base * 60), ServiceP99Ms: analyse.Number(base * 4), Retries: int64(i)}
		for _, p := range []float64{50, 90, 95, 99, 99.9} {
			ms := base * math.Pow(-math.Log10(1-p/100)+0.7, 1.6)
			l.P = append(l.P, analyse.Quantile{Percentile: p, Ms: analyse.Number(ms), LowMs: analyse.Number(ms * 0.95), HighMs: analyse.Number(ms * 1.07)})
		}
		for k := range 130 {
			p := 100 * (1 - math.Exp2(-float64(k)/10))
			l.Curve = append(l.Curve, [2]analyse.Number{analyse.Number(p), analyse.Number(base * math.Pow(-math.Log10(1-p/100)+0.7, 1.6))})
		}
		if name == "order" {
			l.LimitMs, l.LimitP = 100, 95
			l.RolledBack = 21
		}
		out = append(out, l)
	}
	return out
}

func sampleTrial(number, block, cell, users, seconds int) analyse.Trial {
	window := analyse.Window{Start: float64(seconds) / 5, End: float64(seconds), Steady: true, Tested: true, Why: "MSER-5 found no transient after the warm-up"}
	return analyse.Trial{
		Number: number, Block: block, Cell: cell, Label: fmt.Sprintf("users = %d", users), Dir: fmt.Sprintf("%03d-b%d-users-%d", number, block, users),
		Status: "finished", Started: time.Date(2026, 3, 14, 9, 30+number, 0, 0, time.UTC), Counts: true,
		Gates: []analyse.Gate{
			{Name: "errors", Passed: true, Found: "0 %", Want: "at most 0.1 %"},
			{Name: "Little's law", Passed: true, Found: "0.3 %", Want: "at most 2 %"},
			{Name: "driver CPU", Passed: true, Found: "31 %", Want: "at most 80 %"},
		},
		Window: window, Throughput: throughputOf(users) * (1 + 0.01*noise(number, 0, 0)), Types: sampleTypes(users),
		Checks:   []analyse.Check{{Name: "orders add up", About: "each order's total is the sum of its lines", Found: "0", Want: "0", Passed: true}},
		Timeline: sampleTimeline(number, users, seconds),
		Waits: []analyse.Wait{{State: "CPU", Mean: 1.7, Pct: 61}, {State: "Log:WALWriteLock", Mean: 0.6, Pct: 21.5},
			{State: "Log:WALSync", Mean: 0.4, Pct: 14}, {State: "Lock:transactionid", Mean: 0.1, Pct: 3.5}},
		DatabaseBytes: 300 << 20, MemoryBytes: 1 << 30, Verified: "all 310 MiB",
		RestoreWay: "copy", RestoreS: 1.4 + 0.1*noise(number, 1, 1), DriverCPUUs: 210, LatenessP99Us: analyse.Number(120 + 20*noise(number, 2, 2)),
		Shape: []analyse.Knob{
			{Name: "instance.cpus", Intended: "2", Effective: "2", Matches: true},
			{Name: "instance.memory", Intended: "1GiB", Effective: "1GiB", Matches: true}},
		Confined: true,
	}
}

func sampleTimeline(number, users, seconds int) analyse.Timeline {
	var tl analyse.Timeline
	for i := range seconds {
		tl.Seconds = append(tl.Seconds, float64(i+1))
	}
	track := func(group, name, unit string, f func(i int) float64) {
		t := analyse.Track{Group: group, Name: name, Unit: unit}
		for i := range seconds {
			t.Values = append(t.Values, f(i))
		}
		tl.Tracks = append(tl.Tracks, t)
	}
	ramp := func(i int) float64 { return min(1, 0.25+float64(i)/float64(seconds)*5) }
	wobble := func(k, i int, by float64) float64 { return 1 + by*noise(number, k, i) }
	track("throughput", "OPM", "OPM", func(i int) float64 { return throughputOf(users) * ramp(i) * wobble(1, i, 0.06) })
	track("throughput", "errors", "/s", func(i int) float64 { return 0 })
	for k, name := range []string{"login", "browse", "purchase", "order"} {
		track("throughput", name, "/s", func(i int) float64 {
			return throughputOf(users) / 60 * []float64{0.8, 3, 1, 1}[k] * ramp(i) * wobble(30+k, i, 0.05)
		})
	}
	for k, p := range []string{"p50 order", "p95 order", "p99 order"} {
		track("response", p, "ms", func(i int) float64 { return float64(3+6*k) * float64(users) / 4 * wobble(2+k, i, 0.25) })
	}
	busy := min(97, 26*float64(users))
	for k, c := range []string{"host user", "host system", "host I/O wait", "host steal"} {
		share := []float64{0.6, 0.3, 0.06, 0.015}[k]
		track("cpu", c, "%", func(i int) float64 { return busy * share * ramp(i) * wobble(5+k, i, 0.05) })
	}
	track("cpu", "instance", "%", func(i int) float64 { return busy * 0.8 * ramp(i) * wobble(9, i, 0.05) })
	track("cpu", "driver", "%", func(i int) float64 { return busy * 0.3 * ramp(i) * wobble(10, i, 0.05) })
	track("disk", "read", "MiB/s", func(i int) float64 { return 0.2 * wobble(11, i, 0.9) })
	track("disk", "write", "MiB/s", func(i int) float64 {
		if i%30 > 24 {
			return 40 * wobble(12, i, 0.2)
		}
		return 9 * wobble(12, i, 0.2)
	})
	track("disk", "reads", "/s", func(i int) float64 { return 3 * wobble(21, i, 0.9) })
	track("disk", "writes", "/s", func(i int) float64 { return 700 * wobble(22, i, 0.2) })
	track("disk", "read latency", "ms", func(i int) float64 {
		if i%7 == 3 {
			return nan
		}
		return 0.3 * wobble(23, i, 0.5)
	})
	track("disk", "write latency", "ms", func(i int) float64 { return 0.5 * wobble(13, i, 0.5) })
	track("disk", "busy", "%", func(i int) float64 { return 14 * wobble(14, i, 0.3) })
	track("cpu", "throttled", "% of the time", func(i int) float64 { return 2 * ramp(i) * wobble(24, i, 0.9) })
	track("cpu", "run queue", "tasks", func(i int) float64 { return math.Round(4 * ramp(i) * wobble(25, i, 0.5)) })
	track("database", "cache hits", "%", func(i int) float64 { return 99.2 * wobble(26, i, 0.003) })
	track("database", "deadlocks", "/s", func(i int) float64 { return 0 })
	track("database", "wal", "MiB/s", func(i int) float64 { return 9 * wobble(27, i, 0.2) })
	track("database", "commits", "/s", func(i int) float64 { return throughputOf(users) / 20 * ramp(i) * wobble(15, i, 0.05) })
	track("waits", "CPU", "sessions", func(i int) float64 { return 1.7 * ramp(i) * wobble(16, i, 0.2) })
	track("waits", "Log:WALWriteLock", "sessions", func(i int) float64 { return 0.6 * wobble(17, i, 0.6) })
	track("waits", "Log:WALSync", "sessions", func(i int) float64 { return 0.4 * wobble(18, i, 0.6) })
	track("memory", "swapped in", "pages/s", func(i int) float64 { return 0 })
	track("memory", "available", "MiB", func(i int) float64 { return 3100 + float64(i) })
	track("memory", "page cache", "MiB", func(i int) float64 { return 5200 + 4*float64(i) })
	track("network", "received", "MiB/s", func(i int) float64 { return 1.2 * wobble(19, i, 0.2) })
	track("network", "sent", "MiB/s", func(i int) float64 { return 2.9 * wobble(20, i, 0.2) })
	return tl
}

// quickstart is the ordinary study; invalid the same with a failed gate.
func quickstart() *analyse.Study { return sample([]int{1, 2, 4, 8}, 3, 75) }

func invalid() *analyse.Study {
	s := quickstart()
	s.Trials[2].Gates[1] = analyse.Gate{Name: "Little's law", Found: "4.1 %", Want: "at most 2 %"}
	s.Invalid = []string{s.Trials[2].Fault(s.Trials[2].Gates[1])}
	for i := 7; i < len(s.Trials); i++ {
		t := &s.Trials[i]
		t.Gates = append(t.Gates, analyse.Gate{Name: "machine quiet", Found: fmt.Sprintf("other processes use %d %% of the machine's CPU", 3+4*i), Want: "at most 10 %"})
		s.Invalid = append(s.Invalid, t.Fault(t.Gates[3]))
	}
	s.Valid, s.Answer = false, "INVALID: "+s.Invalid[0]+" (and 5 more reasons). What was measured: "+s.Measured+"."
	s.Simulated = true
	return s
}

// searched is a study that found its loads by itself, in the order 1, 8, 4, 2.
func searched() *analyse.Study {
	s := sample([]int{1, 8, 4, 2}, 3, 75)
	s.Peak, s.Curve.Lines[0].Cells = 1, []int{0, 3, 2, 1}
	for i, why := range []string{"the search begins with 1 user", "throughput grew: on to 8 users", "on to 4 users", "on to 2 users", "8 users gave the most of 4 loads"} {
		s.Search = append(s.Search, analyse.Decision{Knob: "users", Load: []float64{1, 8, 4, 2, 8}[i], Done: i == 4, Why: why})
	}
	return s
}

// varied is a study that compares two values of a setting.
func varied() *analyse.Study {
	s := quickstart()
	effect := func(quantity, of string, p, base, other float64) analyse.Effect {
		return analyse.Effect{Quantity: quantity, Type: of, Percentile: p, Unit: "ms", Base: base, Other: other, BaseN: 3, OtherN: 3,
			Ratio: analyse.Number(other / base), Low: analyse.Number(other / base * 0.9), High: analyse.Number(other / base * 1.1),
			P: 0.001, HolmP: 0.01, RankP: 0.1, EquivalenceP: 0.9, MarginPct: 3, Verdict: analyse.Differs, Text: "differs", Better: other > base}
	}
	s.Comparisons = []analyse.Comparison{{
		Base: analyse.Side{Name: "fsync = on"}, Other: analyse.Side{Name: "fsync = off"}, Valid: true, Paired: true, MarginPct: 3, PercentileMarginPct: 10,
		Verdict: "fsync = off against fsync = on: throughput rises by 50 %.", Unmatched: []string{"users = 16: only with fsync = on"},
		Cells: []analyse.Contrast{{Label: "users = 8", Effects: []analyse.Effect{
			effect("throughput", "", 0, 100, 150), effect("p95 order", "order", 95, 12, 9), effect("p95 login", "login", 95, 3, 2.5)}}},
	}}
	return s
}

// scaled is a study over CPUs and memory with two instances at once, and two
// machines compared at equal CPU use.
func scaled() *analyse.Study {
	s := varied()
	nan := analyse.Absent()
	of := func(v float64) analyse.Estimate {
		return analyse.Estimate{Value: v, Low: analyse.Number(v * 0.97), High: analyse.Number(v * 1.03), N: 3, Method: "Student's t, 95 %"}
	}
	point := func(value float64, text string, x, speedup, ideal analyse.Number) analyse.SweepPoint {
		return analyse.SweepPoint{Value: analyse.Number(value), Text: text, Label: "users = 8", Throughput: of(float64(x)),
			Speedup: speedup, SpeedupLow: speedup * 0.98, SpeedupHigh: speedup * 1.02, Ideal: ideal, Efficiency: speedup / ideal,
			Step: nan, StepLow: nan, StepHigh: nan, P99Ms: nan, HostCPUPct: nan, OfData: nan}
	}
	enough := analyse.Number(1 << 29)
	s.Sweeps = []analyse.Sweep{
		{Knob: "instance.cpus", Scales: true, Lines: []analyse.SweepLine{{Points: []analyse.SweepPoint{
			point(1, "1", 20000, 1, 1), point(2, "2", 37000, 1.85, 2), point(4, "4", 63000, 3.15, 4)},
			Saturation: "not reached: from 2 to 4 CPUs throughput still grows by 70 %"}},
			Published: []analyse.PublishedLine{{Series: "ESX 4.0", Points: []analyse.PublishedAt{{X: 1, Ratio: 1, Y: 1, Source: "page 3"}, {X: 4, Ratio: 3, Y: 3, Source: "page 9"}}}}},
		{Knob: "instance.memory", Lines: []analyse.SweepLine{
			{Label: "fsync = on", Points: []analyse.SweepPoint{point(1<<28, "256MiB", 9000, nan, nan), point(1<<29, "512MiB", 30000, nan, nan), point(1<<30, "1GiB", 31000, nan, nan)},
				Fall: &analyse.Fall{From: "512MiB", To: "256MiB", Pct: 70, Low: 66, High: 74}, Knee: &enough, Saturation: "at about 512MiB of memory: more raises throughput by no more than 3.3 %"},
			{Label: "fsync = off", Points: []analyse.SweepPoint{point(1<<28, "256MiB", 32000, nan, nan), point(1<<30, "1GiB", 32500, nan, nan)}},
		}, Remarks: []analyse.Remark{{X: 1 << 29, Text: "still acceptable", Source: "page 17"}}},
	}
	s.Cells[s.Peak].Fairness = &analyse.Fairness{Jain: of(0.93), MinOfMean: of(0.74), CV: of(0.27),
		Instances: []analyse.Share{{Name: "instance-1", Throughput: of(24000), Entitled: 1}, {Name: "instance-2", Throughput: of(14000), Entitled: 1}}}
	s.Cells[s.Peak].Fairness.Groups = []analyse.GroupSum{{Name: "small", Instances: 1, Throughput: of(24000), Each: of(24000), Entitled: 1, SharePct: of(63.2)},
		{Name: "large", Instances: 1, Throughput: of(14000), Each: of(14000), Entitled: 1, SharePct: of(36.8)}}
	s.Published = []analyse.Published{
		{Series: "ESX 4.0", Metric: "throughput", Name: "throughput", Where: "instance.cpus = 4 (there 8) ÷ instance.cpus = 2 (there 4)", Printed: "1.67 ×", Source: "Table 8, page 9", Value: 1.67, Ours: 1.70, Low: 1.6, High: 1.8, Verdict: "within our interval"},
		{Series: "DL580", Metric: "throughput", Name: "throughput", Where: "instance.memory = 512MiB", Printed: "still acceptable", Source: "page 17", Value: nan, Ours: nan, Low: nan, High: nan, Verdict: "in words: compare them with the figures"}}
	s.Contention = []analyse.Contention{
		{Kind: "ready", Source: "domain vcpu_ready_s", Between: 0.81, Points: 24, Cells: []analyse.Contended{{Label: "users = 8", Mean: of(0.4), P99Ms: of(21), Rank: of(0.6)}}},
		{Kind: "co-stop", Source: "domain vcpu_costop_s", Between: nan, Cells: []analyse.Contended{{Label: "users = 8", Mean: of(0), P99Ms: of(21), Rank: analyse.Estimate{Low: nan, High: nan}}}}}
	waited := analyse.Waited{Kind: "ready", Source: "domain vcpu_ready_s", Instance: "instance-1", Mean: 0.4, P99Ms: 21, Rank: 0.6, Seconds: []float64{1, 2, 3}, Each: []float64{0.2, 0.4, 0.6}, EachP99: []float64{18, 22, 24}}
	for _, i := range s.Cells[s.Peak].Trials {
		s.Trials[i].Waited = []analyse.Waited{waited}
	}
	s.Scale = &analyse.Scale{From: "12 CPUs and 64 GiB", To: "2 CPUs and 8 GiB", Data: 0.2, Values: []analyse.Scaled{{Knob: "instance.cpus", Original: "12", Value: "2"}}}
	s.Comparisons[0].AtPeak = []analyse.AtPeak{{BaseAt: "users = 8", OtherAt: "users = 4", Base: 100, Other: 90, Ratio: 0.9, Low: 0.87, High: 0.93, BaseCPUPct: 97, OtherCPUPct: nan}}
	s.Comparisons[0].EqualCPU = []analyse.AtCPU{
		{BaseCPUs: 2, OtherCPUs: 4, From: 18, To: 52, Note: "equal parts of unequal budgets: 2 CPUs against 4",
			Points: []analyse.EqualCPU{{CPUPct: 20, Base: 8000, Other: 9000, Ratio: 1.125, Low: 1.09, High: 1.16}, {CPUPct: 50, Base: 19000, Other: 20000, Ratio: 1.05, Low: nan, High: nan}}},
		{Label: "size = large", BaseCPUs: nan, OtherCPUs: nan, From: nan, To: nan, Note: "the sides share no CPU use: 10 % to 20 % against 50 % to 80 %; nothing is extrapolated"},
	}
	return s
}

// empty is a study of which nothing came about.
func empty() *analyse.Study {
	return &analyse.Study{Format: 1, Name: "Nothing", Answer: "INVALID: no trial was run.", Invalid: []string{"no trial was run"}, Peak: -1}
}
