package analyse

import (
	"fmt"
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/stats"
)

// synthetic makes records of trials whose truth is known: a closed loop whose
// throughput follows a law, on a machine of four CPUs.
type synthetic struct {
	ramp, warmup, measure int // s
	// throughput is units a second at a number of users.
	throughput func(users float64) float64
	noise      float64 // relative deviation of a second's throughput
	between    float64 // relative deviation of a repeat's throughput
	rate       float64 // arrivals a second; 0 is a closed loop
}

func usual() synthetic {
	return synthetic{ramp: 5, warmup: 10, measure: 60, noise: 0.01, between: 0.005,
		throughput: func(n float64) float64 { return 1000 * n / (1 + 0.1*(n-1) + 0.01*n*(n-1)) }}
}

// gauss is a normal number from src (the sum of twelve uniform ones).
func gauss(src *stats.Random) float64 {
	sum := -6.0
	for range 12 {
		sum += float64(src.Uint64()>>11) * 0x1p-53
	}
	return sum
}

func (s synthetic) workload() record.Workload {
	return record.Workload{
		Name: "shop", Version: 1, DataKey: "shop-10", Unit: "order",
		Metric: record.Metric{Name: "orders a minute", Short: "OPM", Series: "order", PerSeconds: 60},
		Types: []record.TxType{
			{Name: "login", About: "a customer signs in", Share: 25, ShareTolerance: 0.5},
			{Name: "browse", About: "a search", Share: 50, ShareTolerance: 0.5},
			{Name: "purchase", About: "an order is placed", Share: 25, ShareTolerance: 0.5, LimitSeconds: 1, Percentile: 95},
		},
	}
}

// trial makes one finished trial. An order is a login, two browses and a
// purchase; each takes a quarter of a user's time.
func (s synthetic) trial(p record.Planned, users int) raw {
	src := stats.Random(p.Seed)
	x := s.throughput(float64(users)) * (1 + s.between*gauss(&src))
	epoch := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	end := float64(s.ramp + s.warmup + s.measure)
	t := record.Trial{
		Format: 1, Planned: p, Status: record.Finished, Started: epoch, Epoch: epoch,
		Phases:   record.Phases{RampEnd: float64(s.ramp), WarmupEnd: float64(s.ramp + s.warmup), MeasureEnd: end},
		Workload: s.workload(), Engine: record.Engine{Name: "postgres", Version: "15.18", Origin: "this machine"}, Provider: "native",
		Load: record.Load{Users: users, RatePerS: s.rate},
		Instances: []record.Instance{{
			Name: "instance-1", Confined: true,
			Shape:   []record.Knob{{Name: "instance.cpus", Intended: "2", Effective: "2", Matches: true}, {Name: "instance.memory", Intended: "1GiB", Effective: "1GiB", Matches: true}},
			Setting: []record.Knob{{Name: "shared_buffers", Intended: "256MB", Effective: "256MB", Default: "128MB", Why: "sized from memory", Matches: true}},
			Restore: record.Restore{Way: "reflink", Seconds: 0.4, Verified: "all 61 MiB"}, Golden: record.Golden{Key: "k", Rows: 1000, Bytes: 1 << 26, Fingerprint: "ab12"},
			Checks: []record.Check{{Name: "stock", About: "no stock was lost", Passed: true}},
		}},
	}
	out := raw{trial: t, intervals: [][]record.Interval{s.intervals(&src, x, users)}}
	out.histograms = func(_ int, from, to time.Duration) ([]record.Merged, error) {
		return histograms(between(out.intervals[0], from.Seconds(), to.Seconds()), names(t.Workload)), nil
	}
	out.late = func(int, time.Duration, time.Duration) (*hdrhistogram.Histogram, error) {
		h := hdrhistogram.New(1, int64(time.Hour/time.Microsecond), 3)
		return h, h.RecordValues(120, 5000)
	}
	busy := math.Min(1.9, 1.9*x/s.throughput(8))
	out.host, out.driver = hostCounters(int(end), busy+0.4), counters(int(end), "cpu_user_s", 0.2, "cpu_system_s", 0.1)
	out.cgroup = []record.Counters{counters(int(end), "cpu_user_s", busy*0.8, "cpu_system_s", busy*0.2, "throttled_s", 0.01)}
	out.cgroup[0].Names = append(out.cgroup[0].Names, "mem_used_bytes")
	out.cgroup[0].Totals = append(out.cgroup[0].Totals, false)
	out.cgroup[0].Values = append(out.cgroup[0].Values, constant(int(end), 512*mebibyte))
	out.database = []record.Counters{counters(int(end), "commits", x, "blocks_hit", 900, "blocks_read", 100, "wal_bytes", 2*mebibyte)}
	out.waits = []record.States{states(int(end), map[string]float64{"CPU": 1.5, "Log:WALSync": 0.3, "Other:PgSleep": 4})}
	return out
}

func (s synthetic) intervals(src *stats.Random, x float64, users int) []record.Interval {
	var out []record.Interval
	for sec := range s.ramp + s.warmup + s.measure {
		rate := x * (1 + s.noise*gauss(src))
		if sec < s.ramp {
			rate *= float64(sec+1) / float64(s.ramp+1)
		}
		orders := int64(rate)
		// All of the users' time is spent: half in responses, half thinking.
		each := int64(users) * 1_000_000 / 4
		i := record.Interval{Start: time.Duration(sec) * time.Second, End: time.Duration(sec+1) * time.Second, InFlight: int64(users)}
		for _, n := range []int64{1, 2, 1} {
			i.Types = append(i.Types, record.Series{
				Committed: n * orders, Errors: make([]int64, 6),
				ResponseSum: n * each / 2, ThinkSum: n * each / 2,
				P50: 900, P95: 2000, P99: 4000, Max: 9000,
			})
		}
		i.Types = append(i.Types, record.Series{Committed: orders, Errors: make([]int64, 6), ResponseSum: 2 * each, P50: 3600, P95: 8000 + int64(80*gauss(src)), P99: 16000, Max: 36000})
		out = append(out, i)
	}
	return out
}

// histograms are those of intervals: ten values to each occupied cell, from
// 1 ms upwards.
func histograms(rows []record.Interval, order []string) []record.Merged {
	var out []record.Merged
	for i, name := range order {
		m := record.Merged{Type: name, Undone: newHistogram(), Response: newHistogram(), Service: newHistogram()}
		left := total(rows, i).Committed
		for v := int64(1000 * (i + 1)); left > 0; v += v/50 + 1 {
			n := min(left, left/20+1)
			_ = m.Response.RecordValues(min(v, 1e9), n)
			_ = m.Service.RecordValues(min(v*9/10, 1e9), n)
			left -= n
		}
		out = append(out, m)
	}
	return out
}

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, int64(time.Hour/time.Microsecond), 3)
}

// counters are totals that grow at fixed rates: name, rate per second, …
func counters(end int, pairs ...any) record.Counters {
	var c record.Counters
	for s := range end + 1 {
		c.At = append(c.At, float64(s)+0.002)
	}
	for i := 0; i < len(pairs); i += 2 {
		rate, ok := pairs[i+1].(float64)
		if !ok {
			rate = float64(pairs[i+1].(int))
		}
		c.Names, c.Totals = append(c.Names, pairs[i].(string)), append(c.Totals, true)
		var v []float64
		for _, at := range c.At {
			v = append(v, 1000+rate*at)
		}
		c.Values = append(c.Values, v)
	}
	return c
}

func constant(end int, v float64) []float64 {
	out := make([]float64, end+1)
	for i := range out {
		out[i] = v
	}
	return out
}

// hostCounters are those of four CPUs of which `busy` are at work.
func hostCounters(end int, busy float64) record.Counters {
	c := counters(end, "cpu_user_s", busy*0.7, "cpu_nice_s", 0, "cpu_system_s", busy*0.25, "cpu_softirq_s", busy*0.05,
		"cpu_irq_s", 0, "cpu_idle_s", 3.9-busy, "cpu_iowait_s", 0.1, "cpu_steal_s", 0.0,
		"disk_vda_reads", 10, "disk_vda_writes", 90, "disk_vda_read_s", 0.02, "disk_vda_write_s", 0.08, "disk_vda_busy_s", 0.15,
		"disk_vda_read_bytes", mebibyte, "disk_vda_write_bytes", 3*mebibyte,
		"disk_vdb_busy_s", 0.9, "net_lo_rx_bytes", mebibyte, "net_lo_tx_bytes", mebibyte, "net_eth0_rx_bytes", 0, "net_eth0_tx_bytes", 0)
	c.Names, c.Totals = append(c.Names, "cpus"), append(c.Totals, false)
	c.Values = append(c.Values, constant(end, 4))
	return c
}

// states are mean numbers of sessions, polled ten times a second.
func states(end int, mean map[string]float64) record.States {
	var s record.States
	for sec := range end {
		s.At, s.Polls = append(s.At, float64(sec+1)), append(s.Polls, 10)
	}
	for _, w := range ranked(mean) {
		s.Names = append(s.Names, w.State)
		var v []float64
		for range s.At {
			v = append(v, 10*w.Mean)
		}
		s.Sessions = append(s.Sessions, v)
	}
	return s
}

// study makes the trials of a study over numbers of users, in blocks.
func (s synthetic) study(repeats int, users ...int) (record.Study, []raw) {
	out := record.Study{
		Format: 1, Loadstone: "0.1", Name: "users", Question: "How many orders?", Seed: 7, Limits: record.Limits{ErrorsPct: 1},
		Machine: record.Machine{Host: "h", Threads: 4, Cores: 2, Sockets: 1, MemBytes: 8 << 30, Disk: record.Disk{Device: "/dev/vda1", SizeBytes: 1 << 40}},
	}
	var trials []raw
	for b := range repeats {
		for i := range users {
			c := (i + b) % len(users) // another order in each block
			p := record.Planned{
				Trial: len(trials) + 1, Block: b + 1, Cell: c + 1, Seed: uint64(1000*b + c),
				Factors: []record.Factor{{Knob: "users", Value: fmt.Sprint(users[c])}}, Dir: fmt.Sprintf("%03d", len(trials)+1),
			}
			out.Plan = append(out.Plan, p)
			trials = append(trials, s.trial(p, users[c]))
		}
	}
	return out, trials
}

// result analyses trials as Load does.
func result(study record.Study, trials []raw) (*Study, error) {
	var runs []run
	for _, r := range trials {
		one, err := analysed(r, study)
		if err != nil {
			return nil, err
		}
		runs = append(runs, one)
	}
	return assemble(study, runs), nil
}
