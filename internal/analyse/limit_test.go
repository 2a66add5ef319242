package analyse

import (
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/record"
)

func TestEachRuleFindsItsResource(t *testing.T) {
	used := func(pairs ...any) (out []Resource) {
		for i := 0; i < len(pairs); i += 2 {
			v := pairs[i+1].(float64)
			out = append(out, Resource{pairs[i].(string), v, "%", Number(v / 100)})
		}
		return out
	}
	seen := func(pairs ...any) []Wait {
		mean := map[string]float64{}
		for i := 0; i < len(pairs); i += 2 {
			mean[pairs[i].(string)] = pairs[i+1].(float64)
		}
		return ranked(mean)
	}
	idle := used(instanceCPU, 30.0, hostCPU, 40.0, driverCPU, 5.0, diskBusy, 20.0)
	slowDisk := append(used(instanceCPU, 30.0), Resource{diskLatency, 14, "ms", Absent()})
	for _, c := range []struct {
		name string
		b    bounds
		want string
	}{
		{"nothing recorded", bounds{growth: nan()}, "not found"},
		{"nothing at its limit", bounds{usage: idle, growth: 0.1}, "not found"},
		{"driver before all", bounds{usage: used(instanceCPU, 95.0, driverCPU, 85.0), growth: 0.9}, "driver"},
		{"instance CPU", bounds{usage: used(instanceCPU, 91.0, hostCPU, 99.0), growth: 0.9}, "CPU"},
		{"just below", bounds{usage: used(instanceCPU, 89.0), growth: nan()}, "not found"},
		{"host CPU", bounds{usage: used(instanceCPU, 70.0, hostCPU, 97.0, driverCPU, 25.0)}, "host CPU"},
		{"users too few", bounds{usage: idle, growth: 0.8, waits: seen("Log:WALSync", 3.0, "CPU", 1.0)}, "load offered"},
		{"rate served", bounds{usage: idle, open: true, served: 0.995, growth: nan()}, "load offered"},
		{"rate not served", bounds{usage: idle, open: true, served: 0.8, growth: 0.9, waits: seen("Lock:transactionid", 5.0, "CPU", 1.0)}, "locks"},
		{"locks", bounds{usage: idle, growth: 0, waits: seen("Lock:tuple", 2.0, "Lock:transactionid", 2.0, "CPU", 3.0)}, "locks"},
		{"log", bounds{usage: idle, growth: 0, waits: seen("Log:WALSync", 2.0, "Log:WALWriteLock", 2.0, "CPU", 3.0)}, "log"},
		{"log before disk", bounds{usage: slowDisk, growth: 0, waits: seen("Log:WALSync", 2.0, "IO:DataFileRead", 2.0, "CPU", 2.0)}, "log"},
		{"disk slow for the log", bounds{usage: slowDisk, growth: 0, waits: seen("Log:WALSync", 1.0, "CPU", 4.0)}, "disk"},
		{"disk reads", bounds{usage: idle, growth: 0, waits: seen("IO:DataFileRead", 4.0, "CPU", 3.0)}, "disk"},
		{"disk busy", bounds{usage: used(diskBusy, 96.0), growth: 0}, "disk"},
		{"disk slow", bounds{usage: slowDisk, growth: 0}, "disk"},
		{"disk slow but nobody waits", bounds{usage: slowDisk, growth: 0, waits: seen("CPU", 4.0)}, "not found"},
		{"latches", bounds{usage: idle, growth: 0, waits: seen("Latch:BufferMapping", 4.0, "CPU", 3.0)}, "latches"},
		{"other states are no rule's", bounds{usage: idle, growth: 0, waits: seen("Other:PgSleep", 4.0, "CPU", 1.0)}, "not found"},
	} {
		got := limit(c.b)
		if got.Resource != c.want || got.Summary == "" {
			t.Errorf("%s: %+v, want %q", c.name, got, c.want)
		}
		if len(c.b.usage) > 0 && len(got.Evidence) < len(c.b.usage) {
			t.Errorf("%s: evidence %q of %d figures", c.name, got.Evidence, len(c.b.usage))
		}
		if (got.Decisive == 0) != (got.Resource == "not found") || got.Decisive > len(got.Evidence) {
			t.Errorf("%s: %d of %d figures speak for %s", c.name, got.Decisive, len(got.Evidence), got.Resource)
		}
		if strings.Contains(got.Summary, "unknown") && c.want != "disk" {
			t.Errorf("%s: summary %q has a figure that is not known", c.name, got.Summary)
		}
	}
}

func TestBrokenNamesTheFirstLimitThatALoadBroke(t *testing.T) {
	study, trials := usual().study(1, 8)
	for k := range trials[0].intervals[0] { // half a percent
		x := &trials[0].intervals[0][k].Types[1]
		x.Errors[0] = x.Committed / 100
	}
	s := must(t, study, trials)
	for _, c := range []struct {
		limits record.Limits
		want   string
	}{
		{record.Limits{ErrorsPct: 1}, ""},
		{record.Limits{ErrorsPct: 1, CPUPct: 96, DiskLatencyS: 0.01, Response: []record.ResponseLimit{{Type: "order", Percentile: 95, MaxS: 10}}}, ""},
		{record.Limits{ErrorsPct: 1, CPUPct: 90, DiskLatencyS: 0.0001}, "instance CPU 95 % is over its limit of 90 %"},
		{record.Limits{ErrorsPct: 1, DiskLatencyS: 0.0005}, "disk latency 1 ms is over its limit of 0.5 ms"},
		{record.Limits{ErrorsPct: 1, Response: []record.ResponseLimit{{Type: "login", Percentile: 50, MaxS: 1}, {Type: "order", Percentile: 99, MaxS: 0.004}}}, "p99 of order "},
		{record.Limits{ErrorsPct: 1, Response: []record.ResponseLimit{{Type: "no such", Percentile: 99, MaxS: 0.001}}}, ""},
		{record.Limits{ErrorsPct: 0.1}, "errors 0.5 % are over their limit of 0.1 %"},
	} {
		got := s.Trials[0].Broken(c.limits)
		if c.want == "" && got != "" || !strings.HasPrefix(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.limits, got, c.want)
		}
	}
}

func TestALineTellsTheLeastLoadThatBrokeALimit(t *testing.T) {
	study, trials := usual().study(2, 8, 1, 4)
	study.Limits = record.Limits{ErrorsPct: 1, CPUPct: 70}
	s := must(t, study, trials)
	if got := s.Curve.Lines[0].Stop; got == nil || got.Load != 4 || got.Label != "users = 4" || got.Trial != 3 || got.Limit != "cpu" || !strings.Contains(got.Text, "over its limit of 70 %") {
		t.Errorf("%+v", got)
	}
	study.Limits.CPUPct = 0
	if got := must(t, study, trials).Curve.Lines[0].Stop; got != nil {
		t.Errorf("without a limit %+v", got)
	}
}

func TestNoiseIsThatOfTheWindow(t *testing.T) {
	s := usual()
	s.noise = 0.05
	study, trials := s.study(1, 8)
	// 60 seconds of 5 %: 1.96·5/√60 = 1.27 %.
	closeTo(t, "noise", float64(must(t, study, trials).Trials[0].NoisePct), 1.27, 0.35)
	s.measure = 8
	study, trials = s.study(1, 8)
	if n := must(t, study, trials).Trials[0].NoisePct; n.OK() {
		t.Errorf("eight seconds give a noise of %g", n)
	}
}
