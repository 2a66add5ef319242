package analyse

import (
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/loadstone-perf/loadstone/internal/record"
)

// failing lists the gates that a trial does not pass.
func failing(t *testing.T, study record.Study, r raw) []string {
	t.Helper()
	one, err := analysed(r, study)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, g := range one.Gates {
		if g.Found == "" || g.Want == "" {
			t.Errorf("gate %q says too little: %+v", g.Name, g)
		}
		if !g.Passed {
			out = append(out, g.Name)
		}
	}
	return out
}

// busier sets a counter to grow at another rate.
func busier(c record.Counters, name string, rate float64) {
	for i, n := range c.Names {
		if n == name {
			for k, at := range c.At {
				c.Values[i][k] = rate * at
			}
		}
	}
}

func TestEachGateTripsOnItsFaultAlone(t *testing.T) {
	limited := func(ms float64) func(*raw) {
		return func(r *raw) {
			purchase := &r.trial.Workload.Types[2]
			purchase.LimitSeconds, purchase.Binding = ms/1e3, true
		}
	}
	every := func(r raw, do func(i *record.Interval)) {
		for k := range r.intervals[0] {
			do(&r.intervals[0][k])
		}
	}
	for _, c := range []struct {
		name   string
		want   string // "" is: all pass
		inject func(r *raw)
	}{
		{"nothing is wrong", "", func(*raw) {}},
		{"the trial failed", "finished", func(r *raw) { r.trial.Status = record.Failed }},
		{"the trial was cut short", "finished", func(r *raw) { r.trial.Status, r.cutShort = record.Running, true }},
		{"a check failed", "checks", func(r *raw) { r.trial.Instances[0].Checks[0].Passed = false }},
		{"two percent errors", "errors", func(r *raw) {
			every(*r, func(i *record.Interval) {
				for k := range i.Types {
					i.Types[k].Errors[3] = i.Types[k].Committed * 2 / 100
				}
			})
		}},
		{"half a percent errors", "", func(r *raw) {
			every(*r, func(i *record.Interval) {
				for k := range i.Types {
					i.Types[k].Errors[3] = i.Types[k].Committed / 200
				}
			})
		}},
		{"a setting is other than asked", "configuration", func(r *raw) { r.trial.Instances[0].Setting[0].Matches = false }},
		{"the shape is other than asked", "configuration", func(r *raw) { r.trial.Instances[0].Shape[0].Matches = false }},
		{"too few purchases", "mix", func(r *raw) {
			every(*r, func(i *record.Interval) { i.Types[2].Committed = i.Types[2].Committed * 9 / 10 })
		}},
		{"purchases over a limit that binds", "response limits", limited(5)},
		{"purchases under a limit that binds", "", limited(20)},
		{"too few purchases to know", "", func(r *raw) {
			limited(5)(r)
			r.trial.Workload.Types[2].Percentile = 99.999
		}},
		{"purchases over a limit that does not bind", "", func(r *raw) { r.trial.Workload.Types[2].LimitSeconds = 1e-3 }},
		{"3 % of the users' time is lost", "Little's law", func(r *raw) {
			every(*r, func(i *record.Interval) {
				for k := range i.Types {
					i.Types[k].ResponseSum = i.Types[k].ResponseSum * 94 / 100
				}
			})
		}},
		{"1 % of the users' time is lost", "", func(r *raw) {
			every(*r, func(i *record.Interval) {
				for k := range i.Types {
					i.Types[k].ResponseSum = i.Types[k].ResponseSum * 98 / 100
				}
			})
		}},
		{"more time than the users have", "Little's law", func(r *raw) { r.trial.Load.Users-- }},
		{"users idle by the profile for half the time", "", func(r *raw) { // twice the users bring the same work
			r.trial.Load.Users *= 2
			every(*r, func(i *record.Interval) { i.IdleSum = int64(r.trial.Load.Users/2) * 1e6 })
		}},
		{"users of the workload's own did the purchases", "", func(r *raw) {
			// Each of the four is a quarter of the users' time.
			r.trial.Load.Users, r.trial.Load.Extra = r.trial.Load.Users*3/4, 99
			r.trial.Workload.Types[2].Extra = true
		}},
		{"users did what those of the workload's own should", "Little's law", func(r *raw) { r.trial.Workload.Types[2].Extra = true }},
		{"loads that are each instance's own", "", func(r *raw) {
			i := &r.trial.Instances[0]
			i.Drive = record.Drive{Users: r.trial.Load.Users, Extra: 99}
			r.trial.Load.Users = 1
		}},
		{"users idle that did the work of all", "Little's law", func(r *raw) {
			every(*r, func(i *record.Interval) { i.IdleSum = int64(r.trial.Load.Users/2) * 1e6 })
		}},
		{"the driver is at its limit", "driver headroom", func(r *raw) {
			// Of one CPU that it may use; the machine's are not touched.
			r.driver.Names, r.driver.Totals = append(r.driver.Names, "cpus_allowed"), append(r.driver.Totals, false)
			r.driver.Values = append(r.driver.Values, constant(len(r.driver.At)-1, 0.3))
		}},
		{"the driver was not observed", "driver headroom", func(r *raw) { r.driver = record.Counters{} }},
		{"3 % steal", "steal", func(r *raw) { busier(r.host, "cpu_steal_s", 0.12) }},
		{"1 % steal", "", func(r *raw) { busier(r.host, "cpu_steal_s", 0.04) }},
		{"somebody else's work", "machine quiet", func(r *raw) { busier(r.host, "cpu_nice_s", 0.3) }},
		{"no counters of the instance", "", func(r *raw) { r.cgroup = nil }},
		{"nothing but rollbacks", "work done", func(r *raw) {
			every(*r, func(i *record.Interval) {
				for k := range i.Types {
					i.Types[k].RolledBack, i.Types[k].Committed = i.Types[k].Committed, 0
				}
			})
		}},
	} {
		study, trials := usual().study(1, 8)
		c.inject(&trials[0])
		got := failing(t, study, trials[0])
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || got[0] != c.want) {
			t.Errorf("%s: gates that fail are %q, want %q", c.name, got, c.want)
		}
	}
}

func TestLatenessIsJudgedInOpenLoop(t *testing.T) {
	s := usual()
	s.rate = 3000
	for _, c := range []struct {
		us, n, backlog int64
		want           int
	}{{900, 2000, 0, 0}, {1100, 2000, 0, 1}, {900, 50, 0, 0}, {1100, 50, 0, 1}, {0, 0, 0, 1}, {0, 0, 9, 0}} {
		study, trials := s.study(1, 8)
		for i := range trials[0].intervals[0] {
			trials[0].intervals[0][i].Backlog = c.backlog
		}
		trials[0].late = func(int, time.Duration, time.Duration) (*hdrhistogram.Histogram, error) {
			h := newHistogram()
			if c.n == 0 {
				return h, nil
			}
			return h, h.RecordValues(c.us, c.n)
		}
		if got := failing(t, study, trials[0]); len(got) != c.want || c.want == 1 && got[0] != "driver on time" {
			t.Errorf("%d starts %d µs late, backlog %d: gates that fail are %q", c.n, c.us, c.backlog, got)
		}
	}
}

func TestSimulatedTrialsAreNotAskedForAMachine(t *testing.T) {
	study, trials := usual().study(1, 8)
	r := trials[0]
	r.trial.Simulated, r.host, r.driver = true, record.Counters{}, record.Counters{}
	if got := failing(t, study, r); len(got) != 0 {
		t.Errorf("gates that fail are %q", got)
	}
	one, err := analysed(r, study)
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for _, g := range one.Gates {
		said[g.Name] = g.Want
	}
	for _, name := range []string{"driver headroom", gateSteal, gateQuiet} {
		if !strings.Contains(said[name], "does not apply") {
			t.Errorf("gate %s wants %q of a simulated trial", name, said[name])
		}
	}
}

// A window of ten seconds in which users think for ten: work in progress at
// its edges explains a large residual.
func TestLittleToleratesTheEdgesOfAShortWindow(t *testing.T) {
	s := usual()
	s.measure = 10
	s.throughput = func(n float64) float64 { return n / 10 }
	study, trials := s.study(1, 40)
	for k := range trials[0].intervals[0] {
		i := &trials[0].intervals[0][k]
		for j := range i.Types {
			i.Types[j].ThinkSum = i.Types[j].ThinkSum * 85 / 100
		}
	}
	if got := failing(t, study, trials[0]); len(got) != 0 {
		t.Errorf("gates that fail are %q", got)
	}
}

// A stall of most of a second that ended in the window began before it.
func TestLittleToleratesAStallAcrossTheEdge(t *testing.T) {
	s := usual()
	s.measure = 4
	s.throughput = func(float64) float64 { return 50 }
	for _, stalled := range []bool{false, true} {
		study, trials := s.study(1, 1)
		r := trials[0]
		r.intervals[0][s.ramp+s.warmup].Types[1].ResponseSum += 150_000
		found := r.histograms
		r.histograms = func(i int, from, to time.Duration) ([]record.Merged, error) {
			ms, err := found(i, from, to)
			if err == nil && stalled {
				err = ms[1].Response.RecordValues(400_000, 1)
			}
			return ms, err
		}
		if got := failing(t, study, r); len(got) > 0 == stalled {
			t.Errorf("stalled %v: gates that fail are %q", stalled, got)
		}
	}
}

func TestALongWindowThatIsNotSteadyFailsTheGate(t *testing.T) {
	for _, c := range []struct {
		measure int
		want    int
	}{{60, 1}, {20, 0}} {
		s := usual()
		s.measure = c.measure
		study, trials := s.study(1, 8)
		rows := trials[0].intervals[0]
		for k := s.ramp + s.warmup + c.measure/2; k < len(rows); k++ {
			for i := range rows[k].Types { // as much time for less work
				rows[k].Types[i].Committed = rows[k].Types[i].Committed * 8 / 10
			}
		}
		got := failing(t, study, trials[0])
		if len(got) != c.want || c.want == 1 && got[0] != "steady" {
			t.Errorf("%d s: gates that fail are %q", c.measure, got)
		}
	}
}

func TestTheStudyMayNameTheLimitsOfDisturbance(t *testing.T) {
	for _, c := range []struct {
		limits record.Limits
		want   string
	}{
		{record.Limits{ErrorsPct: 1}, ""}, // 8 % is below the usual 10
		{record.Limits{ErrorsPct: 1, OtherCPUPct: 5}, "machine quiet"},
		{record.Limits{ErrorsPct: 1, StealPct: 0.5}, "steal"},
	} {
		study, trials := usual().study(1, 8)
		study.Limits = c.limits
		busier(trials[0].host, "cpu_nice_s", 0.2)
		busier(trials[0].host, "cpu_steal_s", 0.04)
		got := failing(t, study, trials[0])
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || got[0] != c.want) {
			t.Errorf("%+v: gates that fail are %q, want %q", c.limits, got, c.want)
		}
	}
}

func TestOfAServerElsewhereTheMachineIsNotJudged(t *testing.T) {
	r, study := elsewhere("not observed: its process is not among this machine's")
	one, err := analysed(r, study)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range one.Gates {
		if (g.Name == gateSteal || g.Name == gateQuiet) && g.Found != notObserved {
			t.Errorf("gate %q found %q of a machine that was not observed", g.Name, g.Found)
		}
	}
	if got := where(r.trial); got != "db.example.com:5432" {
		t.Errorf("the server is on %q, want its address", got)
	}
	if r, _ := elsewhere("observed: the server runs on this machine"); where(r.trial) != "this machine" {
		t.Errorf("a server on this machine is on %q", where(r.trial))
	}
}

// elsewhere is a sound trial of a server that ran already, on whose machine's
// counters host tells.
func elsewhere(host string) (raw, record.Study) {
	s := usual()
	study, trials := s.study(1, 4)
	r := trials[0]
	r.trial.Instances[0].Shape = []record.Knob{
		{Name: "endpoint.address", Effective: "db.example.com:5432", Matches: true},
		{Name: "endpoint.host", Effective: host, Matches: true},
	}
	return r, study
}
