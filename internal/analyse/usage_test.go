package analyse

import (
	"math"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/record"
)

func TestUsageIsWhatTheCountersSay(t *testing.T) {
	study, trials := usual().study(1, 8)
	r := trials[0]
	w := Window{Start: 15, End: 75}
	got := map[string]Resource{}
	for _, u := range usage(r, study.Machine, w) {
		got[u.Name] = u
	}
	busy := r.cgroup[0].Values[0][20] - r.cgroup[0].Values[0][19] // user seconds a second
	instance := busy / 0.8
	for name, want := range map[string]float64{
		instanceCPU: 100 * instance / 2,
		throttled:   0.5,
		hostCPU:     100 * (instance + 0.4) / 4,
		driverCPU:   100 * 0.3 / 4,
		otherCPU:    100 * 0.1 / 4,
		stealCPU:    0,
		ioWait:      2.5,
		diskBusy:    15, // of vda, which holds /dev/vda1, and not of vdb
		diskLatency: 1,
		diskRead:    1, diskWrite: 3, walWritten: 2, networkMoved: 0, memoryUsed: 512,
	} {
		if u, ok := got[name]; !ok || math.Abs(u.Value-want) > 1e-6+1e-9*want {
			t.Errorf("%s is %+v, want %g", name, u, want)
		}
	}
	if m := got[memoryUsed].Load; math.Abs(float64(m)-0.5) > 1e-9 {
		t.Errorf("half a GiB of one is %v of it", m)
	}
	if n := len(usage(raw{}, record.Machine{}, w)); n != 0 {
		t.Errorf("%d resources of nothing recorded", n)
	}
}

func TestCapacityIsTheLeastOfQuotaSetAndHost(t *testing.T) {
	knob := func(name, effective string) record.Knob { return record.Knob{Name: name, Effective: effective} }
	for _, c := range []struct {
		shape []record.Knob
		host  float64
		want  float64
	}{
		{nil, 8, 8},
		{[]record.Knob{knob("instance.cpus", "2.5")}, 8, 2.5},
		{[]record.Knob{knob("instance.cpus", "not confined"), knob("instance.cpuset", "0-1,4")}, 8, 3},
		{[]record.Knob{knob("instance.cpus", "2"), knob("instance.cpuset", "0-3")}, 8, 2},
		{[]record.Knob{knob("instance.cpus", "16")}, 8, 8},
		{[]record.Knob{knob("instance.cpuset", "not confined")}, 8, 8},
		{[]record.Knob{knob("instance.cpus", "2")}, math.NaN(), 2},
	} {
		if got := capacity(c.shape, c.host); got != c.want {
			t.Errorf("%v on %g CPUs: %g, want %g", c.shape, c.host, got, c.want)
		}
	}
}

func TestRatesLeaveOutWhatIsMissingAndResets(t *testing.T) {
	at := []float64{0, 1, 2, 3, 4, 5}
	c := columns{record.Counters{
		Names: []string{"steady", "gap", "reset", "state", "absent"}, Totals: []bool{true, true, true, false, true}, At: at,
		Values: [][]float64{
			{0, 10, 20, 30, 40, 50},
			{0, 10, math.NaN(), 30, 40, math.NaN()},
			{0, 10, 20, 0, 10, 20},
			{4, 4, 6, 6, math.NaN(), 5},
			{math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN()},
		},
	}}
	for _, k := range []struct {
		name     string
		from, to float64
		want     float64
	}{
		{"steady", 0, 5, 10}, {"steady", 1, 2, 10}, {"gap", 0, 5, 10}, {"reset", 1, 4, 0},
		{"state", 0, 5, 5}, {"steady", 6, 9, math.NaN()}, {"steady", 1, 1, math.NaN()},
		{"absent", 0, 5, math.NaN()}, {"unknown", 0, 5, math.NaN()}, {"reset", 2, 3, math.NaN()},
	} {
		if got := c.mean(k.name, k.from, k.to); got != k.want && !(math.IsNaN(got) && math.IsNaN(k.want)) {
			t.Errorf("%s from %g to %g is %g, want %g", k.name, k.from, k.to, got, k.want)
		}
	}
	g := &grid{}
	for s := range 6 {
		g.rows = append(g.rows, record.Interval{Start: time.Duration(s) * time.Second, End: time.Duration(s+1) * time.Second})
		g.Seconds = append(g.Seconds, float64(s+1))
	}
	nan := math.NaN()
	for name, want := range map[string][]float64{
		"steady": {10, 10, 10, 10, 10, nan},
		"gap":    {10, nan, nan, 10, nan, nan},
		"reset":  {10, 10, nan, 10, 10, nan},
		"state":  {4, 6, 6, nan, 5, nan},
	} {
		got := g.of(c, name)
		for i := range want {
			if got[i] != want[i] && !(math.IsNaN(got[i]) && math.IsNaN(want[i])) {
				t.Errorf("%s over intervals is %v, want %v", name, got, want)
				break
			}
		}
	}
}

func TestTimelineCarriesWhatReportsDraw(t *testing.T) {
	study, trials := usual().study(1, 8)
	line := timeline(trials[0], study.Machine)
	find := func(group, name string) Track {
		for _, tr := range line.Tracks {
			if tr.Group == group && tr.Name == name {
				return tr
			}
		}
		t.Errorf("no track %q in %q", name, group)
		return Track{Values: make([]float64, len(line.Seconds))}
	}
	const at = 40
	row := trials[0].intervals[0][at]
	for _, c := range []struct {
		group, name, unit string
		want              float64
	}{
		{"throughput", "OPM", "OPM", 60 * float64(row.Types[3].Committed)},
		{"throughput", "browse", "/s", float64(row.Types[1].Committed)},
		{"response", "p95 order", "ms", float64(row.Types[3].P95) / 1e3},
		{"response", "p99 order", "ms", 16},
		{"cpu", "driver", "%", 7.5},
		{"cpu", "host I/O wait", "%", 2.5},
		{"disk", "write", "MiB/s", 3},
		{"disk", "write latency", "ms", 0.08 / 90 * 1e3},
		{"database", "cache hits", "%", 90},
		{"database", "wal", "MiB/s", 2},
		{"waits", "Log:WALSync", "sessions", 0.3},
		{"network", "lo in", "MiB/s", 1},
		{"memory", "instance", "MiB", 512},
	} {
		tr := find(c.group, c.name)
		if tr.Unit != c.unit || math.Abs(tr.Values[at]-c.want) > 1e-6*math.Abs(c.want) {
			t.Errorf("%s %s is %g %s, want %g %s", c.group, c.name, tr.Values[at], tr.Unit, c.want, c.unit)
		}
		if len(tr.Values) != len(line.Seconds) {
			t.Errorf("%s has %d values for %d seconds", c.name, len(tr.Values), len(line.Seconds))
		}
	}
	if line.Tracks[0].Unit != "OPM" {
		t.Errorf("the first track is %q, want the headline", line.Tracks[0].Name)
	}
	if empty := timeline(raw{}, record.Machine{}); len(empty.Seconds)+len(empty.Tracks) != 0 {
		t.Errorf("nothing recorded has the timeline %+v", empty)
	}
}

func TestWaitsAreMeansOverPolls(t *testing.T) {
	s := record.States{
		At: []float64{1, 2, 3}, Polls: []float64{10, 5, 10}, Names: []string{"CPU", "Lock:tuple"},
		Sessions: [][]float64{{20, 10, 1000}, {0, 15, 1000}},
	}
	got := waits(raw{waits: []record.States{s}}, Window{Start: 0, End: 2})
	if len(got) != 2 || got[0] != (Wait{"CPU", 2, 100 * 2 / 3.0}) || got[1].State != "Lock:tuple" || got[1].Mean != 1 {
		t.Errorf("%+v", got)
	}
}
