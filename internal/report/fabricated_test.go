package report

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/analyse"
	"github.com/loadstone-perf/loadstone/internal/record"
)

// fabric is an experiment whose truth is known, written with the record package
// as a run would leave it, so that what the report says of it can be checked
// from raw data to page.
type fabric struct {
	cells     [][]record.Factor
	repeats   int
	provider  func(f map[string]string) string // nil is native
	parts     func(f map[string]string) []part
	scale     *record.Scale
	published []record.Published
}

// part is one instance of a trial.
type part struct {
	name, group string
	users       int
	perS        float64 // orders a second
	cpus, busy  float64 // CPUs that it may use, and uses
	memory      string
	waiting     float64 // CPUs that wait on average; the source is domain's
}

// The phases of a fabricated trial, in seconds.
const (
	fabricWarmup  = 2
	fabricMeasure = 14
)

// crossed makes a cell of each combination: "users=1,2", "instance.cpus=1,2".
func crossed(axes ...string) [][]record.Factor {
	cells := [][]record.Factor{nil}
	for _, axis := range axes {
		knob, list, _ := strings.Cut(axis, "=")
		var next [][]record.Factor
		for _, c := range cells {
			for value := range strings.SplitSeq(list, ",") {
				next = append(next, append(append([]record.Factor{}, c...), record.Factor{Knob: knob, Value: value}))
			}
		}
		cells = next
	}
	return cells
}

// result writes f and analyses it.
func (f fabric) result(t *testing.T) *analyse.Study {
	t.Helper()
	created := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
	s := record.Study{Loadstone: "test", Name: "fabricated", Seed: 7, Created: created, Limits: record.Limits{ErrorsPct: 1}, Scale: f.scale, Published: f.published,
		Machine: record.Machine{Host: "h", Threads: 8, Cores: 8, Sockets: 1, MemBytes: 64 << 30}}
	for block := range f.repeats {
		for c, factors := range f.cells {
			n := len(s.Plan) + 1
			s.Plan = append(s.Plan, record.Planned{Trial: n, Block: block + 1, Cell: c + 1, Dir: fmt.Sprintf("%03d", n), Factors: factors})
		}
	}
	d, err := record.Create(filepath.Join(t.TempDir(), "result"), s, []byte("study: fabricated\n"))
	must(t, err)
	for _, p := range s.Plan {
		f.trial(t, d, p, created)
	}
	out, err := analyse.Load(d)
	must(t, err)
	return out
}

func (f fabric) trial(t *testing.T, d *record.Dir, p record.Planned, created time.Time) {
	t.Helper()
	values := map[string]string{}
	for _, fc := range p.Factors {
		values[fc.Knob] = fc.Value
	}
	parts, provider := f.parts(values), "native"
	if f.provider != nil {
		provider = f.provider(values)
	}
	m := record.Trial{
		Planned: p, Started: created, Epoch: created, Provider: provider,
		Phases:   record.Phases{WarmupEnd: fabricWarmup, MeasureEnd: fabricWarmup + fabricMeasure},
		Workload: record.Workload{Name: "shop", Version: 1, DataKey: "shop-10", Unit: "order", Metric: record.Metric{Name: "orders a minute", Short: "OPM", Series: "order", PerSeconds: 60}, Types: []record.TxType{{Name: "login"}}},
		Engine:   record.Engine{Name: "mysql", Version: "10.11.4", Origin: "this machine"},
		Load:     record.Load{Users: parts[0].users, WarmupS: fabricWarmup, MeasureS: fabricMeasure},
		Seat:     record.Seat{CPUs: "0-7", Shared: "all instances"},
	}
	for _, part := range parts {
		m.Instances = append(m.Instances, record.Instance{Name: part.name, Group: part.group, Drive: record.Drive{Users: part.users}, Confined: true,
			Shape:  []record.Knob{{Name: "instance.cpus", Effective: fmt.Sprint(part.cpus), Matches: true}, {Name: "instance.memory", Effective: part.memory, Matches: true}},
			Golden: record.Golden{Key: "k", Bytes: 1 << 30}, Checks: []record.Check{{Name: "stock", About: "no stock was lost", Passed: true}}})
	}
	w, err := d.Start(m)
	must(t, err)
	busy := 0.0
	for i, part := range parts {
		busy += part.busy
		iw, err := w.Instance(i + 1)
		must(t, err)
		// Blocks differ by half a percent, and trials by a little.
		level := 1 + 0.005*noise(p.Block, 0, 0) + 0.001*noise(p.Trial, i, 1)
		for sec := range fabricWarmup + fabricMeasure {
			must(t, iw.Interval(part.second(sec, p.Trial, i, level)))
		}
		part.counters(t, w, i, p.Trial)
	}
	hostCounters(t, w, busy)
	must(t, w.Finish(record.Finished, ""))
}

// waits is how many CPUs wait in a second: now more, now fewer.
func (p part) waits(sec, trial, instance int) float64 {
	return p.waiting * (1 + 0.8*noise(sec, trial, 100+instance))
}

// second is one second of users that spend all their time on orders; those of a
// second in which CPUs wait longer have the longer tail.
func (p part) second(sec, trial, instance int, level float64) record.Interval {
	rate := p.perS * level
	n := int64(float64(sec+1)*rate) - int64(float64(sec)*rate)
	h := record.NewHistogram()
	mean := 1e6 * float64(p.users) / rate
	tail := 1 + p.waits(sec, trial, instance)
	for k := range n {
		_ = h.RecordValue(int64(mean * (0.5 + tail*(float64(k)+0.5)/float64(n))))
	}
	s := record.Series{Committed: n, ResponseSum: int64(p.users) * 1e6, Errors: make([]int64, 6), Response: h, Service: h}
	return record.Interval{Start: time.Duration(sec) * time.Second, End: time.Duration(sec+1) * time.Second, InFlight: int64(p.users), Types: []record.Series{s, s}}
}

func (p part) counters(t *testing.T, w *record.Writer, instance, trial int) {
	t.Helper()
	scope := fmt.Sprintf("instance-%d/", instance+1)
	cgroup, err := w.Counters(scope+"cgroup", []record.Column{{Name: "cpu_user_s", Total: true}, {Name: "cpu_system_s", Total: true}, {Name: "mem_used_bytes"}})
	must(t, err)
	domain, err := w.Counters(scope+"domain", []record.Column{{Name: "vcpu_ready_s", Total: true}, {Name: "vcpu_costop_s", Total: true}})
	must(t, err)
	ready := 0.0
	for sec := range fabricWarmup + fabricMeasure + 1 {
		at := time.Duration(sec) * time.Second
		must(t, cgroup.Row(at, []float64{0.8 * p.busy * float64(sec), 0.2 * p.busy * float64(sec), 1 << 28}))
		if sec > 0 {
			ready += p.waits(sec-1, trial, instance)
		}
		must(t, domain.Row(at, []float64{ready, 0}))
	}
}

// hostCounters are those of eight CPUs of which busy and a driver are at work.
func hostCounters(t *testing.T, w *record.Writer, busy float64) {
	t.Helper()
	for name, columns := range map[string][]record.Column{
		"host":   {{Name: "cpu_user_s", Total: true}, {Name: "cpus"}},
		"driver": {{Name: "cpu_user_s", Total: true}, {Name: "cpu_system_s", Total: true}},
	} {
		log, err := w.Counters(name, columns)
		must(t, err)
		for sec := range fabricWarmup + fabricMeasure + 1 {
			row := []float64{0.2 * float64(sec), 0.1 * float64(sec)}
			if name == "host" {
				row = []float64{(min(busy, 7.5) + 0.3) * float64(sec), 8}
			}
			must(t, log.Row(time.Duration(sec)*time.Second, row))
		}
	}
}

// num64 reads a number of a factor.
func num64(text string) float64 {
	v, err := strconv.ParseFloat(strings.TrimSuffix(text, "MiB"), 64)
	if err != nil {
		panic(text)
	}
	return v
}

// place is a knob's value as it runs and as it was stated.
func place(knob, value, stated string) []record.Place {
	return []record.Place{{Knob: knob, Value: value, Stated: stated}}
}

// scaleUp is a database on 1 to 8 CPUs that loses a tenth with each doubling,
// and what others published of four times as many.
func scaleUp() fabric {
	return fabric{cells: crossed("instance.cpus=1,2,4,8"), repeats: 4,
		scale: &record.Scale{From: record.Size{CPUs: 32, MemBytes: 256 << 30}, To: record.Size{CPUs: 8, MemBytes: 64 << 30}, Data: 0.25,
			Values: []record.Scaled{{Knob: "instance.cpus", Original: "4", Value: "1"}, {Knob: "instance.cpus", Original: "32", Value: "8"}}},
		parts: func(f map[string]string) []part {
			n := num64(f["instance.cpus"])
			return []part{{name: "instance-1", users: int(4 * n), perS: 200 * math.Pow(n, math.Log2(1.8)), cpus: n, busy: 0.97 * n, memory: "1GiB"}}
		},
		published: []record.Published{
			{Series: "ESX 4.0", Metric: "throughput", At: place("instance.cpus", "1", "4"), Value: 500, Unit: "tps", Source: "Table 1, page 3"},
			{Series: "ESX 4.0", Metric: "throughput", At: place("instance.cpus", "4", "16"), Value: 1750, Unit: "tps", Source: "Table 1, page 3"},
			{Series: "native", Metric: "throughput", At: place("instance.cpus", "8", "32"), Against: place("instance.cpus", "4", "16"), Value: 1.71, Source: "Table 8, page 9"},
			{Series: "native", Metric: "throughput", At: place("instance.cpus", "8", "32"), Against: place("instance.cpus", "1", "4"), Value: 2, Bound: "above", Source: "page 9"},
			{Series: "ESX 4.0", Metric: "instance_cpu", At: place("instance.cpus", "8", "32"), Value: 100, Unit: "%", Source: "page 8"},
		}}
}

// consolidation is 1 to 8 machines of two CPUs on a host of eight: they grow
// alike up to four, and little after it.
func consolidation() fabric {
	total := map[string]float64{"1": 100, "2": 200, "4": 400, "6": 540, "8": 550}
	return fabric{cells: crossed("instances=1,2,4,6,8"), repeats: 3, provider: func(map[string]string) string { return "libvirt" },
		parts: func(f map[string]string) (out []part) {
			n := num64(f["instances"])
			for i := range int(n) {
				out = append(out, part{name: fmt.Sprintf("instance-%d", i+1), users: 8, perS: total[f["instances"]] / n, cpus: 2, busy: min(2, 7.5/n), memory: "2GiB", waiting: max(0, 0.4*(n-4)) + 0.02})
			}
			return out
		},
		published: []record.Published{
			{Series: "ESX 4.0", Metric: "throughput", At: place("instances", "4", "4"), Against: place("instances", "1", "1"), Value: 4, Source: "page 9"},
			{Series: "ESX 4.0", Metric: "throughput", At: place("instances", "6", "6"), Against: place("instances", "4", "4"), Value: 1.4, Source: "page 9"},
			{Series: "ESX 4.0", Metric: "throughput", At: place("instances", "8", "8"), Against: place("instances", "6", "6"), Value: 1.05, Source: "page 9"},
			{Series: "ESX 4.0", Metric: "host_cpu", At: place("instances", "8", "8"), Value: 100, Unit: "%", Source: "Table 9, page 10"},
		}}
}

// groupsOfTwo is two small instances and a large one, each served by its CPUs.
func groupsOfTwo() fabric {
	return fabric{cells: crossed("workload.scale_factor=500"), repeats: 4, parts: func(map[string]string) []part {
		return []part{
			{name: "small-1", group: "small", users: 8, perS: 100, cpus: 1, busy: 1, memory: "1GiB", waiting: 0.1},
			{name: "small-2", group: "small", users: 8, perS: 100, cpus: 1, busy: 1, memory: "1GiB", waiting: 0.1},
			{name: "large-1", group: "large", users: 30, perS: 200, cpus: 4, busy: 3.5, memory: "4GiB", waiting: 0.4},
		}
	}}
}

// rampDown is a database of 1 GiB with ever less memory.
func rampDown() fabric {
	does := map[string]float64{"64MiB": 40, "256MiB": 90, "512MiB": 180, "1024MiB": 197, "2048MiB": 200}
	return fabric{cells: crossed("instance.memory=2048MiB,1024MiB,512MiB,256MiB,64MiB"), repeats: 4, parts: func(f map[string]string) []part {
		return []part{{name: "instance-1", users: 16, perS: does[f["instance.memory"]], cpus: 4, busy: 2, memory: f["instance.memory"]}}
	}, published: []record.Published{
		{Series: "DL580", Metric: "throughput", At: place("instance.memory", "1024MiB", "800GB"), Says: "optimal", Source: "page 17"},
		{Series: "DL580", Metric: "throughput", At: place("instance.memory", "512MiB", "400GB"), Says: "still acceptable", Source: "page 17"},
		{Series: "DL580", Metric: "throughput", At: place("instance.memory", "256MiB", "200GB"), Says: "significantly less", Source: "page 17"},
	}}
}

// virtualAndNative is two providers at loads that use other CPU on each.
func virtualAndNative() fabric {
	return fabric{cells: crossed("provider.name=native,libvirt", "users=1,2,4,8"), repeats: 3, provider: func(f map[string]string) string { return f["provider.name"] },
		parts: func(f map[string]string) []part {
			users := num64(f["users"])
			busy, perCPU := 0.5*users, 100.0
			if f["provider.name"] == "libvirt" {
				busy, perCPU = 0.55*users, 80
			}
			return []part{{name: "instance-1", users: int(users), perS: busy * perCPU, cpus: 4.5, busy: busy, memory: "2GiB"}}
		},
		published: []record.Published{
			{Series: "ESXi 6.0", Metric: "throughput", At: place("provider.name", "libvirt", "libvirt"), Against: place("provider.name", "native", "native"), CPUPct: 85, Value: 0.9, Source: "page 6"},
			{Series: "ESXi 6.0", Metric: "throughput", At: place("provider.name", "libvirt", "libvirt"), Against: place("provider.name", "native", "native"), Value: 0.86, Source: "page 8"},
		}}
}

// TestEachKindOfExperimentHasItsPart checks, from raw records to the text
// report, the figures of each kind of experiment.
func TestEachKindOfExperimentHasItsPart(t *testing.T) {
	for name, c := range map[string]struct {
		of   fabric
		says []string
	}{
		"scale-up": {scaleUp(), []string{
			"SPEED-UP OVER CPUS", "Saturation not reached: from 4 to 8 CPUs throughput still grows by 80 %",
			"5.83", "72.8 %", // 1.8³ and its eighth
			"WHAT OTHERS PUBLISHED", "3.24 ×", "3.50 ×", "ours is 7.5 % lower", "1.80 ×", "1.71 ×", "ours is 5.3 % higher", "holds here", "97.0 %",
			"APPENDIX: SCALING", "scaled to 8 CPUs and 64 GiB", "MariaDB 10.11.4", "on CPUs 0-7, shared with all instances",
		}},
		"consolidation": {consolidation(), []string{
			"CONSOLIDATION", "Saturation at about 6 instances: more instances raise throughput by no more than 1.8 %", "5.50", "68.7 %",
			"WAITING FOR CPUS AND RESPONSE TIMES", "virtual CPUs of an instance that wait on average", "rank correlation of waiting and p99 is +0.9",
			"Jain's index", "at 8 users on each of 8 instances;", "instances = 6 ÷ instances = 4", "1.35 ×", "1.4 ×", "Recorded, and 0 all the time: co-stop", "2.5 points lower",
		}},
		"groups": {groupsOfTwo(), []string{
			"8 users on each of 2 small instances and 30 users on 1 large instance", "throughput in proportion to the CPUs that it may use",
			"of each group of instances", "24,", "50.0", "66.7 %",
		}},
		"memory": {rampDown(), []string{
			"THROUGHPUT OVER MEMORY", "at about 1024MiB of memory", "The steepest loss is from 512MiB to 256MiB: 50 %", "200.0 %", "6.2 %", "still acceptable",
		}},
		"providers": {virtualAndNative(), []string{
			"libvirt ÷ provider.name = native", "0.880", "At equal CPU use", "-20.0 % (", "ours is 11 % lower", "they never did: ready",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := c.of.result(t)
			if !s.Valid {
				t.Fatalf("invalid: %q", s.Invalid)
			}
			text := strings.Join(strings.Fields(Text(s, 200, false)), " ")
			for _, want := range c.says {
				if !strings.Contains(text, want) {
					t.Errorf("the report does not say %q", want)
				}
			}
			page, data, err := HTML(s)
			must(t, err)
			parse(t, page)
			if len(data) < 8 {
				t.Errorf("only %d data files", len(data))
			}
			if t.Failed() {
				t.Log(Text(s, 160, false))
			}
		})
	}
}
