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

// made is a result to fabricate.
type made struct {
	users   []string
	repeats int
	rate    float64 // orders a second of one user
	noise   float64 // relative deviation of a repeat
	created string  // date
	engine  string  // version
	data    string
	checks  bool // pass
	seed    uint64
}

// fabricate writes a small result directory with the record package, as a
// study of a closed loop would leave it: result DIR [users=1,2] [repeats=3]
// [rate=100] [noise=0.002] [created=2026-10-01] [engine=15.18] [data=shop-10]
// [checks=pass].
func fabricate(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: result DIR [NAME=VALUE]...")
	}
	m := made{users: []string{"4", "8"}, repeats: 4, rate: 100, noise: 0.002, created: "2026-10-01", engine: "15.18", data: "shop-10", checks: true}
	for _, c := range args[0] {
		m.seed = m.seed*31 + uint64(c)
	}
	for _, arg := range args[1:] {
		name, value, _ := strings.Cut(arg, "=")
		var err error
		switch name {
		case "users":
			m.users = strings.Split(value, ",")
		case "repeats":
			m.repeats, err = strconv.Atoi(value)
		case "rate":
			m.rate, err = strconv.ParseFloat(value, 64)
		case "noise":
			m.noise, err = strconv.ParseFloat(value, 64)
		case "created":
			m.created = value
		case "engine":
			m.engine = value
		case "data":
			m.data = value
		case "checks":
			m.checks = value == "pass"
		default:
			err = fmt.Errorf("no such property: %s", name)
		}
		ts.Check(err)
	}
	ts.Check(m.write(ts.MkAbs(args[0])))
}

func (m made) write(path string) error {
	created, err := time.Parse(time.DateOnly, m.created)
	if err != nil {
		return err
	}
	s := record.Study{Loadstone: "test", Name: "shop", File: "shop.yaml", Seed: m.seed, Created: created, Limits: record.Limits{ErrorsPct: 1},
		Machine: record.Machine{Host: "h", Threads: 4}}
	for block := range m.repeats {
		for c, users := range m.users {
			n := len(s.Plan) + 1
			s.Plan = append(s.Plan, record.Planned{Trial: n, Block: block + 1, Cell: c + 1, Dir: fmt.Sprintf("%03d", n), Factors: []record.Factor{{Knob: "users", Value: users}}})
		}
	}
	d, err := record.Create(path, s, []byte("study: shop\n"))
	if err != nil {
		return err
	}
	for _, p := range s.Plan {
		if err := m.trial(d, p, created); err != nil {
			return err
		}
	}
	return nil
}

// The phases of a fabricated trial, in seconds.
const (
	warmup  = 2
	measure = 12
)

func (m made) trial(d *record.Dir, p record.Planned, created time.Time) error {
	users, err := strconv.Atoi(p.Factors[0].Value)
	if err != nil {
		return err
	}
	w, err := d.Start(record.Trial{
		Planned: p, Started: created, Epoch: created, Provider: "native",
		Phases:   record.Phases{WarmupEnd: warmup, MeasureEnd: warmup + measure},
		Workload: record.Workload{Name: "shop", Version: 1, DataKey: m.data, Unit: "order", Metric: record.Metric{Name: "orders a minute", Short: "OPM", Series: "order", PerSeconds: 60}, Types: []record.TxType{{Name: "login"}}},
		Engine:   record.Engine{Name: "postgres", Version: m.engine, Origin: "this machine"},
		Load:     record.Load{Users: users, WarmupS: warmup, MeasureS: measure},
		Instances: []record.Instance{{Name: "instance-1", Checks: []record.Check{{Name: "stock", About: "no stock was lost", Passed: m.checks}},
			Setting: []record.Knob{{Name: "shared_buffers", Effective: "128MB", Matches: true}}}},
	})
	if err != nil {
		return err
	}
	iw, err := w.Instance(1)
	if err != nil {
		return err
	}
	draw := rng.At(m.seed, uint64(p.Trial))
	rate := m.rate * float64(users) * math.Exp(m.noise*normal(draw))
	for sec := range warmup + measure {
		if err := iw.Interval(second(sec, users, rate)); err != nil {
			return err
		}
	}
	if err := counters(w); err != nil {
		return err
	}
	return w.Finish(record.Finished, "")
}

// normal is a normal number (the sum of twelve uniform ones).
func normal(s rng.Stream) float64 {
	sum := -6.0
	for range 12 {
		sum += s.Float64()
	}
	return sum
}

// second is one second of users that spend all their time on orders.
func second(sec, users int, rate float64) record.Interval {
	n := int64(float64(sec+1)*rate) - int64(float64(sec)*rate)
	h := record.NewHistogram()
	mean := 1e6 * float64(users) / rate
	for k := range n { // from half to three halves of the mean
		_ = h.RecordValue(int64(mean * (0.5 + (float64(k)+0.5)/float64(n))))
	}
	s := record.Series{Committed: n, ResponseSum: int64(users) * 1e6, Errors: make([]int64, 6), Response: h, Service: h}
	return record.Interval{Start: time.Duration(sec) * time.Second, End: time.Duration(sec+1) * time.Second, InFlight: int64(users), Types: []record.Series{s, s}}
}

// counters are those that the gates ask for.
func counters(w *record.Writer) error {
	for name, columns := range map[string][]record.Column{
		"host":   {{Name: "cpu_user_s", Total: true}, {Name: "cpus"}},
		"driver": {{Name: "cpu_user_s", Total: true}, {Name: "cpu_system_s", Total: true}},
	} {
		log, err := w.Counters(name, columns)
		if err != nil {
			return err
		}
		for sec := range warmup + measure + 1 {
			row := []float64{0.2 * float64(sec), 0.1 * float64(sec)}
			if name == "host" {
				row[1] = 4
			}
			if err := log.Row(time.Duration(sec)*time.Second, row); err != nil {
				return err
			}
		}
	}
	return nil
}
