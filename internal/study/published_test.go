package study

import (
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/loadstone-perf/loadstone/internal/unit"
)

const withPublished = minimal + `
instance: {memory: 64GiB}
vary:
  instance.cpus + users: [[30, 120], [60, 240]]
  engine.settings.work_mem: [1GB, 2GB]
published:
  - {series: ESX 4.0, at: {instance.cpus: 30}, metric: throughput, value: 1200.5, unit: tps, source: "Table 1, page 3"}
  - series: ESX 4.0
    at: {users: 240, engine.settings.work_mem: 2GB}
    against: {users: 120, engine.settings.work_mem: 2GB}
    metric: throughput
    above: 1.5
    source: page 8
  - {series: ESX 4.0, against: {provider.name: native}, metric: throughput, at_cpu: 85%, value: 0.9, source: page 6}
  - {series: ESX 4.0, at: {instance.cpus: 60.0}, metric: p99, below: 10, source: page 9}
  - {series: HPE, metric: response, says: about as short, source: Figure 5}
scale: {from: {cpus: 120, memory: 1TiB}, to: {cpus: 2, memory: 8GiB}}
`

func TestPublishedValuesAreWhatTheFileSaysWithThePlacesThatRun(t *testing.T) {
	s := parse(t, withPublished)
	want := []Published{
		{Series: "ESX 4.0", Metric: "throughput", At: []Place{{"instance.cpus", "0.5", "30"}}, Value: 1200.5, Unit: "tps", Source: "Table 1, page 3"},
		{Series: "ESX 4.0", Metric: "throughput", At: []Place{{"users", "4", "240"}, {"engine.settings.work_mem", "16MB", "2GB"}},
			Against: []Place{{"users", "2", "120"}, {"engine.settings.work_mem", "16MB", "2GB"}}, Value: 1.5, Bound: "above", Source: "page 8"},
		{Series: "ESX 4.0", Metric: "throughput", Against: []Place{{"provider.name", "native", "native"}}, CPUPct: 85, Value: 0.9, Source: "page 6"},
		{Series: "ESX 4.0", Metric: "p99", At: []Place{{"instance.cpus", "1", "60"}}, Value: 10, Bound: "below", Unit: "ms", Source: "page 9"},
		{Series: "HPE", Metric: "response", Says: "about as short", Source: "Figure 5"},
	}
	if !reflect.DeepEqual(s.Published, want) {
		t.Errorf("got  %+v\nwant %+v", s.Published, want)
	}
}

// TestPublishedValuesChangeNothingThatRuns: plan and configurations are those
// of the study without them.
func TestPublishedValuesChangeNothingThatRuns(t *testing.T) {
	const plain = minimal + "vary: {users: [1, 2, 4]}\n"
	rapid.Check(t, func(t *rapid.T) {
		src := plain + "published:\n"
		for i := range rapid.IntRange(1, 5).Draw(t, "values") {
			src += fmt.Sprintf("  - {series: s%d, at: {users: %d}, metric: %s, value: %g, source: page %d%s}\n", i,
				rapid.SampledFrom([]int{1, 2, 4}).Draw(t, "at"), rapid.SampledFrom([]string{"p95", "host_cpu", "fairness", "disk_latency"}).Draw(t, "metric"),
				rapid.Float64Range(0, 1e6).Draw(t, "value"), i, rapid.SampledFrom([]string{"", ", against: {users: 1}"}).Draw(t, "against"))
		}
		with, err := Parse("x.yaml", []byte(src), known())
		if err != nil { // 1 against 1
			insideFile(t, []byte(src), err)
			return
		}
		without, err := Parse("x.yaml", []byte(plain), known())
		if err != nil {
			t.Fatal(err)
		}
		a, _ := NewPlan(with)
		b, _ := NewPlan(without)
		if !reflect.DeepEqual(a.Trials, b.Trials) || fmt.Sprint(a.Cells) != fmt.Sprint(b.Cells) || len(with.Published) == 0 {
			t.Fatalf("the plan differs with\n%s", src)
		}
	})
}

func TestReservationsAndTheDriversCPUsAreScaled(t *testing.T) {
	k := known()
	const body = "instance: {cpus: 60, cpu_reservation: 40}\ndriver: {cpus: 32}\nscale: {from: {cpus: 120, memory: 1TiB}, to: {cpus: 6, memory: 1TiB}}\n"
	for _, c := range []struct {
		whole       bool
		reservation float64
		driver      int
	}{{false, 2, 2}, {true, 2, 2}} {
		for i := range k.Providers {
			k.Providers[i].WholeCPUs = c.whole
		}
		s, err := Parse("x.yaml", []byte(minimal+body), k)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Base; got.Shape.Reservation != c.reservation || got.Driver.CPUs != c.driver || got.Shape.CPUs != 3 {
			t.Errorf("whole CPUs %v: %+v, driver %+v", c.whole, got.Shape, got.Driver)
		}
	}
	for i := range k.Providers {
		k.Providers[i].WholeCPUs = true
	}
	s, err := Parse("x.yaml", []byte(minimal+"instance: {cpus: 60, cpu_reservation: 30}\nscale: {from: {cpus: 120, memory: 1TiB}, to: {cpus: 6, memory: 1TiB}}\n"), k)
	if err != nil || s.Base.Shape.Reservation != 2 { // 1.5, to the nearest whole
		t.Errorf("a reservation of 1.5 CPUs becomes %+v: %v", s, err)
	}
}

func TestDataFollowTheMemoryWhereTheStudyAsks(t *testing.T) {
	k := known()
	k.Workloads[0].Size, k.Workloads[0].SizeStep = "size", 0
	s, err := Parse("x.yaml", []byte(`study: x
workload: {name: dvdstore, size: 64GB}
engine: {name: postgres}
provider: {name: native}
scale: {from: {cpus: 120, memory: 1TiB}, to: {cpus: 2, memory: 16GiB}, data: memory}
`), k)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Base.Workload.Params.Text("size"); got != "1GB" || s.Scale.Data != 1.0/64 {
		t.Errorf("64GB became %s by %g", got, s.Scale.Data)
	}
	// 26,000 customers by 1/8 are 3,250; in load units of 1,000, 3,000.
	scale := Scale{From: Size{8, 64 * unit.GiB}, To: Size{2, 8 * unit.GiB}, Data: 1.0 / 8}
	if got, why := scale.data("26000", 1000); got != "3000" || why != "" {
		t.Errorf("%s, %s", got, why)
	}
	if got, why := scale.data("5000", 1000); got != "" || why != "5000 becomes 625 with scale.data, less than 1000: it would have to be 8000 or more, or a machine with 13108MiB of memory is large enough" {
		t.Errorf("%q, %q", got, why)
	}
}
