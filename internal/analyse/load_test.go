package analyse

import (
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/record"
)

func TestTheLoadIsThatOfEachInstanceOrGroup(t *testing.T) {
	of := func(group string, users int, rate float64) record.Instance {
		return record.Instance{Group: group, Drive: record.Drive{Users: users, RatePerS: rate}}
	}
	all := func(is ...record.Instance) []record.Instance { return is }
	for _, c := range []struct {
		load      record.Load
		instances []record.Instance
		want      string
	}{
		{record.Load{Users: 8}, all(of("", 0, 0)), "8 users"}, // an old record
		{record.Load{Users: 8}, all(of("", 8, 0)), "8 users"},
		{record.Load{Users: 1}, all(of("", 1, 0), of("", 1, 0)), "1 user on each of 2 instances"},
		{record.Load{RatePerS: 50}, all(of("a", 0, 50), of("b", 0, 50)), "50 arrivals a second on each of 2 instances"},
		{record.Load{Users: 60}, all(of("small", 60, 0), of("small", 60, 0), of("large", 240, 0)), "60 users on each of 2 small instances and 240 users on 1 large instance"},
		{record.Load{Users: 60}, all(of("a", 60, 0), of("b", 60, 0), of("c", 9, 0)), "60 users on each of 2 instances and 9 users on 1 c instance"},
		{record.Load{}, nil, ""},
	} {
		if got := offered(record.Trial{Load: c.load, Instances: c.instances}); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	m := record.Trial{Load: record.Load{Users: 60}, Instances: all(of("small", 60, 0), of("large", 240, 0))}
	if got := label(nil, m); got != "60 users on 1 small instance and 240 users on 1 large instance" {
		t.Errorf("label %q", got)
	}
	c := Cell{Factors: []Factor{{"instances", "2", 2}, {"instance.cpus", "4", 4}}}
	m = record.Trial{Load: record.Load{Users: 8}, Instances: all(of("", 8, 0), of("", 8, 0))}
	if got := at(m, c); got != "8 users on each of 2 instances with instance.cpus = 4" {
		t.Errorf("at %q", got)
	}
}

// A group's settings of the engine are compared, and are no axis of load.
func TestSettingsOfAGroupAreNoLoad(t *testing.T) {
	cells := grown([]string{"instances.small.engine.settings.work_mem", "instances.small.users"}, []any{"1MB", "2", 10.0}, []any{"2MB", "2", 20.0}, []any{"1MB", "4", 30.0}, []any{"2MB", "4", 40.0})
	if c := curve(cells); c == nil || c.Knob != "instances.small.users" || len(c.Lines) != 2 {
		t.Errorf("%+v", c)
	}
	cells = grown([]string{"instances.small.engine.settings.users"}, []any{"1", 10.0}, []any{"2", 20.0})
	if c := curve(cells); c != nil {
		t.Errorf("a setting is a load: %+v", c)
	}
	if isLoad("engine.settings.connections") || isLoad("instances.a.engine.settings.users") || !isLoad("instances.a.users") {
		t.Error("isLoad takes a setting for a load, or a load for none")
	}
}

func TestTheDriversCPUsAndFactsOfAllInstancesAreToldOnce(t *testing.T) {
	cpus := func(n string) []record.Knob { return []record.Knob{{Name: "instance.cpus", Effective: n}} }
	m := record.Trial{Seat: record.Seat{Intended: "0-1", CPUs: "0-1"}, Instances: []record.Instance{{Name: "i1", Shape: cpus("2")}, {Name: "i2", Shape: cpus("2")}}}
	said := func() (all string) {
		for _, f := range system(m) {
			all += f.Name + ": " + f.Value + "\n"
		}
		return all
	}
	if got := said(); !strings.Contains(got, "Driver's CPUs: 0-1, its own\n") || strings.Count(got, "instance.cpus") != 1 || !strings.Contains(got, "each of 2 instances instance.cpus: 2\n") {
		t.Error(got)
	}
	m.Instances[1].Shape = cpus("4")
	m.Seat = record.Seat{CPUs: "0-3", Shared: "all instances"}
	if got := said(); !strings.Contains(got, "Driver's CPUs: 0-3, shared with all instances\n") || !strings.Contains(got, "i2 instance.cpus: 4\n") {
		t.Error(got)
	}
}

func TestGroupsAreAddedUp(t *testing.T) {
	of := func(small, large float64) *Trial {
		return &Trial{Parts: []Part{{"s1", "small", small, 1}, {"s2", "small", small, 1}, {"l1", "large", large, 4}}}
	}
	f := fairness([]*Trial{of(100, 200), of(110, 180)})
	if len(f.Groups) != 2 || f.Groups[0].Name != "small" || f.Groups[0].Instances != 2 || f.Groups[0].Entitled != 2 || f.Groups[1].Entitled != 4 {
		t.Fatalf("%+v", f.Groups)
	}
	closeTo(t, "together", f.Groups[0].Throughput.Value, 210, 1e-9)
	closeTo(t, "each", f.Groups[0].Each.Value, 105, 1e-9)
	closeTo(t, "part", f.Groups[0].SharePct.Value, (50+55)/2.0, 1e-9)
	for _, c := range []struct {
		shapes [][2]string // cpus and shares
		counts string
		each   []float64
	}{
		{[][2]string{{"2", ""}, {"1", ""}}, "CPUs", []float64{2, 1}},
		{[][2]string{{"2", "512"}, {"2", "1024"}}, "CPU shares", []float64{512, 1024}},
		{[][2]string{{"2", "1024"}, {"1", "1024"}}, "CPUs", []float64{2, 1}},
		{[][2]string{{"2", ""}, {"", ""}}, "equal parts", []float64{1, 1}},
	} {
		var is []record.Instance
		for _, s := range c.shapes {
			is = append(is, record.Instance{Shape: []record.Knob{{Name: "instance.cpus", Effective: s[0]}, {Name: "instance.cpu_shares", Effective: s[1]}}})
		}
		counts, each := entitlement(is)
		if counts != c.counts || each[0] != c.each[0] || each[1] != c.each[1] {
			t.Errorf("%v: %s %v, want %s %v", c.shapes, counts, each, c.counts, c.each)
		}
	}
}

// The steepest loss is for what is saved: a step to a quarter may lose more
// than one to a half, and be less steep.
func TestAKneeOfUnequalStepsIsTheSteepestLoss(t *testing.T) {
	does := []float64{44, 100, 200, 205}
	s := grid2("instance.memory", []string{"64MiB", "256MiB", "512MiB", "1GiB"}, []float64{4, 8}, 5, 0.003, func(v int, users float64) (float64, float64) { return does[v] * users / 8, 50 })
	for i := range s.Trials {
		s.Trials[i].MemoryBytes, s.Trials[i].DatabaseBytes = 1<<29, 1<<30
	}
	l := sweeps(s)[0].Lines[0]
	if l.Fall == nil || l.Fall.From != "512MiB" || l.Fall.To != "256MiB" {
		t.Errorf("%+v", l.Fall)
	}
	if l.Knee == nil || *l.Knee != 512<<20 || !strings.HasPrefix(l.Saturation, "at about 512MiB of memory: more raises throughput by no more than") {
		t.Errorf("knee %v: %s", l.Knee, l.Saturation)
	}
	if p := l.Points[1]; p.OfData != 0.5 || !p.Step.OK() || p.Step < 2.2 || p.Step > 2.4 || l.Points[0].Step.OK() {
		t.Errorf("%+v", p)
	}
}

// What the metric counts stands for the work: not whatever type is the last.
func TestResponseTimesOfAValueAreThoseOfTheHeadline(t *testing.T) {
	c := Cell{Trials: []int{0}, Types: []Latency{
		{Type: "neworder", MeanMs: 3, P: []Quantile{{99, 20, 18, 22}}}, {Type: "stocklevel", MeanMs: 9, P: []Quantile{{99, 70, 60, 80}}},
	}}
	about := &record.Trial{Workload: record.Workload{Metric: record.Metric{Series: "neworder"}}}
	s := &Study{Cells: []Cell{c}, Trials: []Trial{{about: about}}}
	if p99, mean := metricOf(s, 0, "p99"), metricOf(s, 0, "response"); p99.Value != 20 || p99.High != 22 || mean.Value != 3 {
		t.Errorf("%+v, %+v", p99, mean)
	}
	about.Workload.Metric.Series = ""
	if p99 := metricOf(s, 0, "p99"); p99.Value != 70 {
		t.Errorf("%+v", p99)
	}
	if none := metricOf(&Study{Cells: []Cell{{}}}, 0, "p95"); none.N != 0 {
		t.Errorf("%+v", none)
	}
}
