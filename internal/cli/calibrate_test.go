package cli_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/rng"
)

// shop is trials of a DVD Store whose demands are known: those of the types in
// shopTypes, at any load.
type shop struct {
	users   []int
	cpus    float64
	checks  bool
	threads int
	sim     bool
}

// shopTypes are the DVD Store's with their part of an order and their work in
// seconds.
func shopTypes() []struct {
	name   string
	orders float64
	work   float64
} {
	return []struct {
		name   string
		orders float64
		work   float64
	}{{"login", 0.8, 200e-6}, {"newcustomer", 0.2, 300e-6}, {"browse", 3, 400e-6}, {"pricelookup", 1, 100e-6}, {"purchase", 1, 1000e-6}}
}

// trials writes a result directory of such trials: trials DIR [users=1,2,4]
// [cpus=1] [checks=fail] [threads=4] [simulated=true].
func trials(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: trials DIR [NAME=VALUE]...")
	}
	s := shop{users: []int{1, 2, 4, 8}, cpus: 1, checks: true, threads: 4}
	for _, arg := range args[1:] {
		name, value, _ := strings.Cut(arg, "=")
		var err error
		switch name {
		case "users":
			s.users = nil
			for text := range strings.SplitSeq(value, ",") {
				n, bad := strconv.Atoi(text)
				s.users, err = append(s.users, n), bad
			}
		case "cpus":
			s.cpus, err = strconv.ParseFloat(value, 64)
		case "checks":
			s.checks = value == "pass"
		case "threads":
			s.threads, err = strconv.Atoi(value)
		case "simulated":
			s.sim = value == "true"
		default:
			err = fmt.Errorf("no such property: %s", name)
		}
		ts.Check(err)
	}
	ts.Check(s.write(ts.MkAbs(args[0])))
}

func (s shop) write(path string) error {
	created := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	study := record.Study{Loadstone: "test", Name: "shop", File: "shop.yaml", Seed: 1, Created: created, Simulated: s.sim, Limits: record.Limits{ErrorsPct: 1},
		Machine: record.Machine{Host: "box", CPUModel: "Example CPU @ 2.50GHz", Sockets: 1, Cores: s.threads, Threads: s.threads, MemBytes: 8 << 30,
			Disk: record.Disk{Device: "sda", SizeBytes: 1 << 40}}}
	for i, users := range s.users {
		study.Plan = append(study.Plan, record.Planned{Trial: i + 1, Block: 1, Cell: i + 1, Seed: uint64(users), Dir: fmt.Sprintf("%03d", i+1),
			Factors: []record.Factor{{Knob: "users", Value: fmt.Sprint(users)}}})
	}
	d, err := record.Create(path, study, []byte("study: shop\n"))
	if err != nil {
		return err
	}
	for i, p := range study.Plan {
		if err := s.trial(d, p, created, s.users[i]); err != nil {
			return err
		}
	}
	return nil
}

// commitWait is how long a write of the log takes.
const commitWait = 500e-6

func (s shop) trial(d *record.Dir, p record.Planned, created time.Time, users int) error {
	w := record.Workload{Name: "dvdstore", Version: 1, Unit: "order", Metric: record.Metric{Name: "orders a minute", Short: "OPM", Series: "order", PerSeconds: 60},
		Params: map[string]string{"size": "small", "mode": "strict", "calls": "procedures"}}
	for _, t := range shopTypes() {
		w.Types = append(w.Types, record.TxType{Name: t.name})
	}
	tw, err := d.Start(record.Trial{
		Planned: p, Started: created, Epoch: created, Provider: "native", Simulated: s.sim, Workload: w,
		Phases: record.Phases{WarmupEnd: warmup, MeasureEnd: warmup + measure},
		Engine: record.Engine{Name: "postgres", Version: "15.18"},
		Load:   record.Load{Users: users, WarmupS: warmup, MeasureS: measure},
		Instances: []record.Instance{{Name: "instance-1", Confined: true, Shape: []record.Knob{{Name: "instance.cpus", Effective: fmt.Sprint(s.cpus), Matches: true}},
			Checks: []record.Check{{Name: "stock", About: "no stock was lost", Passed: s.checks}}}},
	})
	if err != nil {
		return err
	}
	iw, err := tw.Instance(1)
	if err != nil {
		return err
	}
	counts := s.counts(users)
	for sec, n := range counts {
		if err := iw.Interval(orders(sec, users, n)); err != nil {
			return err
		}
	}
	if err := s.counters(tw, counts); err != nil {
		return err
	}
	return tw.Finish(record.Finished, "")
}

// counts are transactions a second and type, the last being orders.
func (s shop) counts(users int) [][]int64 {
	each, took := 0.0, 0.0 // work and time of an order with one user
	for k, t := range shopTypes() {
		each += t.orders * t.work
		took += t.orders * response(k)
	}
	rate := min(float64(users)/took, 0.98*s.cpus/each)
	draw := rng.At(uint64(users), rng.Name("shop"))
	var out [][]int64
	for range warmup + measure {
		var n []int64
		for _, t := range shopTypes() {
			mean := rate * t.orders
			n = append(n, int64(math.Round(mean+math.Sqrt(mean)*normal(draw))))
			draw.Uint64()
		}
		out = append(out, append(n, int64(math.Round(rate))))
	}
	return out
}

// response is how long a transaction of a type takes where nothing queues.
func response(k int) float64 {
	t := shopTypes()[k]
	out := t.work + 100e-6
	if t.name == "newcustomer" || t.name == "purchase" {
		out += commitWait
	}
	return out
}

// orders is one second of users that spend all their time on orders: what they
// do takes as much longer as there are more users than get done.
func orders(sec, users int, n []int64) record.Interval {
	out := record.Interval{Start: time.Duration(sec) * time.Second, End: time.Duration(sec+1) * time.Second, InFlight: int64(users)}
	types, all := shopTypes(), 0.0
	for k := range types {
		all += float64(n[k]) * response(k)
	}
	for k, count := range n {
		us := 1e6 * float64(users) / float64(n[len(types)])
		if k < len(types) {
			us = 1e6 * float64(users) / all * response(k)
		}
		h := record.NewHistogram()
		_ = h.RecordValues(int64(us), count)
		out.Types = append(out.Types, record.Series{Committed: count, ResponseSum: int64(us * float64(count)), Errors: make([]int64, 6), Response: h, Service: h})
	}
	return out
}

// counters are those of a machine that did these transactions.
func (s shop) counters(w *record.Writer, counts [][]int64) error {
	total := func(names ...string) (out []record.Column) {
		for _, n := range names {
			out = append(out, record.Column{Name: n, Total: n != "cpus"})
		}
		return out
	}
	var sum, commits float64 // seconds of work, commits
	rows := map[string][][]float64{}
	row := func(done float64) {
		rows["host"] = append(rows["host"], []float64{sum + 60e-6*done, float64(s.threads)})
		rows["driver"] = append(rows["driver"], []float64{50e-6 * done, 10e-6 * done})
		rows["instance-1/cgroup"] = append(rows["instance-1/cgroup"], []float64{0.75 * sum, 0.25 * sum})
		rows["instance-1/database"] = append(rows["instance-1/database"], []float64{40 * done, 0, 2000 * commits, commits, commitWait * commits})
	}
	all := 0.0
	row(0)
	for _, n := range counts {
		for k, t := range shopTypes() {
			sum += float64(n[k]) * t.work
			all += float64(n[k])
		}
		commits += float64(n[1] + n[4])
		row(all)
	}
	for name, columns := range map[string][]record.Column{
		"host":                total("cpu_user_s", "cpus"),
		"driver":              total("cpu_user_s", "cpu_system_s"),
		"instance-1/cgroup":   total("cpu_user_s", "cpu_system_s"),
		"instance-1/database": total("blocks_hit", "blocks_read", "wal_bytes", "wal_fsyncs", "wal_fsync_s"),
	} {
		log, err := w.Counters(name, columns)
		if err != nil {
			return err
		}
		for sec, values := range rows[name] {
			if err := log.Row(time.Duration(sec)*time.Second, values); err != nil {
				return err
			}
		}
	}
	return nil
}
