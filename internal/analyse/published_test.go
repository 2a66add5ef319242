package analyse

import (
	"math"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/record"
)

func placed(knob, value string) []record.Place {
	return []record.Place{{Knob: knob, Value: value, Stated: value}}
}

// grown8 is a study over CPUs that do 100 for each, in five blocks.
func grown8() *Study {
	cpus := []float64{1, 2, 4, 8}
	s := grid2("instance.cpus", []string{"1", "2", "4", "8"}, []float64{4, 32}, 5, 0.002, func(v int, users float64) (float64, float64) {
		return 100 * cpus[v] * min(1, users/(4*cpus[v])), 90
	})
	s.Metric = Metric{"orders a minute", "OPM"}
	return s
}

func TestPublishedValuesAreComparedWhereTheyCanBe(t *testing.T) {
	s := grown8()
	s.published = []record.Published{
		{Series: "a", Metric: "throughput", At: placed("instance.cpus", "8"), Against: placed("instance.cpus", "4"), Value: 1.7},
		{Series: "a", Metric: "throughput", At: placed("instance.cpus", "8"), Against: placed("instance.cpus", "1"), Value: 8},
		{Series: "a", Metric: "throughput", At: placed("instance.cpus", "8"), Against: placed("instance.cpus", "1"), Value: 7, Bound: "above"},
		{Series: "a", Metric: "throughput", At: placed("instance.cpus", "8"), Against: placed("instance.cpus", "1"), Value: 7, Bound: "below"},
		{Series: "b", Metric: "throughput", At: placed("instance.cpus", "2"), Value: 3000, Unit: "tps"},
		{Series: "b", Metric: "throughput", At: placed("instance.cpus", "8"), Value: 9000, Unit: "tps"},
		{Series: "b", Metric: "throughput", At: placed("instance.cpus", "4"), Value: 405, Unit: "OPM"},
		{Series: "c", Metric: "throughput", At: placed("instance.cpus", "16"), Value: 1, Unit: "OPM"},
		{Series: "c", Metric: "throughput", At: placed("instance.cpus", "8"), Says: "good"},
		{Series: "c", Metric: "throughput", Against: placed("provider.name", "native"), Value: 0.9},
		{Series: "c", Metric: "host_cpu", At: placed("instance.cpus", "8"), Value: 80, Unit: "%"},
		{Series: "c", Metric: "instance_cpu", At: placed("instance.cpus", "8"), Value: 80, Unit: "%"},
	}
	for i := range s.Cells {
		s.Cells[i].CPUPct = estimate([]float64{90, 90, 90})
	}
	for i, c := range []struct {
		value, ours float64 // NaN: none
		verdict     string
	}{
		{1.7, 2, "ours is 18 % higher"}, {8, 8, "within our interval"}, {7, 8, "holds here"}, {7, 8, "does not hold here"},
		{nan(), nan(), "the series' first value"}, {3, 4, "ours is 33 % higher"}, {405, 400, "within our interval"},
		{nan(), nan(), "not measured here"}, {nan(), nan(), "in words"}, {nan(), nan(), "loadstone compare"},
		{nan(), nan(), "not recorded here"}, {80, 90, "ours is 10 points higher"},
	} {
		p := publishedHere(s)[i]
		if !strings.Contains(p.Verdict, c.verdict) || p.Value.OK() == math.IsNaN(c.value) || p.Ours.OK() == math.IsNaN(c.ours) {
			t.Errorf("%d: %+v", i, p)
		}
		if p.Ours.OK() {
			closeTo(t, p.Verdict, float64(p.Value), c.value, 1e-9)
			closeTo(t, p.Verdict, float64(p.Ours), c.ours, 0.03)
		}
	}
	// On a scaled study a throughput in its own unit is another machine's, too.
	s.Scale = &Scale{}
	if p := publishedHere(s)[6]; p.Ours.OK() || !strings.Contains(p.Verdict, "not comparable by size") {
		t.Errorf("scaled: %+v", p)
	}
}

func TestPublishedSeriesAreLinesThroughWhatWasMeasured(t *testing.T) {
	s := grown8()
	at := func(x string) []record.Place { return placed("instance.cpus", x) }
	s.published = []record.Published{
		{Series: "steps", Metric: "throughput", At: at("4"), Against: at("1"), Value: 4, Source: "p. 1"},
		{Series: "steps", Metric: "throughput", At: at("8"), Against: at("4"), Value: 1.5, Source: "p. 2"},
		{Series: "sizes", Metric: "throughput", At: at("2"), Value: 50, Unit: "tps"},
		{Series: "sizes", Metric: "throughput", At: at("8"), Value: 150, Unit: "tps"},
		{Series: "sizes", Metric: "throughput", At: at("4"), Value: 7, Unit: "OPM"}, // alone in its unit
		{Series: "sizes", Metric: "p95", At: at("4"), Value: 7, Unit: "ms"},
		{Series: "apart", Metric: "throughput", At: at("2"), Against: at("1"), Value: 1.9},
		{Series: "apart", Metric: "throughput", At: at("8"), Against: at("4"), Value: 1.8},
		{Series: "back", Metric: "throughput", At: at("1"), Against: at("8"), Value: 0.2},
		{Series: "bound", Metric: "throughput", At: at("8"), Against: at("4"), Value: 1.8, Bound: "above"},
		{Series: "said", Metric: "throughput", At: at("8"), Says: "best", Source: "p. 3"},
	}
	w := sweeps(s)[0]
	type point struct{ x, y float64 }
	want := []struct {
		series string
		points []point
	}{
		{"steps", []point{{1, 1}, {4, 4}, {8, 6}}},
		{"sizes", []point{{2, 2}, {8, 6}}},
		{"apart", []point{{1, 1}, {2, 1.9}}},
		{"apart", []point{{4, 4}, {8, 7.2}}},
		{"back", []point{{1, 1}, {8, 5}}},
	}
	if len(w.Published) != len(want) {
		t.Fatalf("%d lines, want %d: %+v", len(w.Published), len(want), w.Published)
	}
	for i, line := range w.Published {
		if line.Series != want[i].series || len(line.Points) != len(want[i].points) {
			t.Errorf("line %d is %+v", i, line)
			continue
		}
		for k, p := range line.Points {
			closeTo(t, line.Series+" x", float64(p.X), want[i].points[k].x, 1e-9)
			closeTo(t, line.Series+" y", float64(p.Y), want[i].points[k].y, 0.01)
		}
	}
	if len(w.Remarks) != 1 || w.Remarks[0].X != 8 || w.Remarks[0].Text != "best" {
		t.Errorf("remarks %+v", w.Remarks)
	}
}

// Two results of other providers are the sides of a published ratio: at the
// best load, and at equal use of the CPUs.
func TestPublishedRatiosOfProvidersAreComparedBetweenResults(t *testing.T) {
	side := func(provider string, factor float64) *Study {
		s := grid2("x", []string{"1"}, []float64{1, 2, 4, 8}, 5, 0.002, func(_ int, users float64) (float64, float64) {
			return 100 * factor * users, 10 * users
		})
		for i := range s.Trials {
			s.Trials[i].about = &record.Trial{Provider: provider, Workload: record.Workload{Name: "shop", Metric: record.Metric{Name: "orders a minute"}}}
		}
		s.Valid = true
		return s
	}
	native, vm := side("native", 1), side("libvirt", 0.8)
	against := placed("provider.name", "native")
	vm.published = []record.Published{
		{Series: "a", Metric: "throughput", Against: against, Value: 0.9},
		{Series: "a", Metric: "throughput", Against: against, CPUPct: 45, Value: 0.8},
		{Series: "a", Metric: "throughput", Against: against, CPUPct: 99, Value: 0.8},
		{Series: "a", Metric: "throughput", Against: placed("provider.name", "container"), Value: 1},
	}
	x, err := Compare(native, vm, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(x.Published) != 3 {
		t.Fatalf("%+v", x.Published)
	}
	closeTo(t, "at the peak", float64(x.Published[0].Ours), 0.8, 0.01)
	closeTo(t, "at 45 %", float64(x.Published[1].Ours), 0.8, 0.01)
	if v := x.Published[0].Verdict; !strings.Contains(v, "lower") {
		t.Errorf("0.8 against 0.9: %s", v)
	}
	if x.Published[2].Ours.OK() {
		t.Errorf("beyond the loads measured: %+v", x.Published[2])
	}
	if len(x.AtPeak) != 1 || x.AtPeak[0].BaseAt != "users = 8" {
		t.Errorf("%+v", x.AtPeak)
	}
	closeTo(t, "each at its peak", float64(x.AtPeak[0].Ratio), 0.8, 0.01)
}

// Each side has its own best load: what is compared is the most of each.
func TestAtPeakEachSideHasItsOwnLoad(t *testing.T) {
	s := grid2("provider", []string{"native", "vm"}, []float64{1, 2, 4, 8}, 5, 0.002, func(v int, users float64) (float64, float64) {
		does := [][]float64{{100, 200, 400, 380}, {90, 180, 250, 300}}[v]
		return does[int(math.Log2(users))], 10 * users
	})
	a := Within(s, CompareOptions{})[0].AtPeak
	if len(a) != 1 || a[0].BaseAt != "users = 4" || a[0].OtherAt != "users = 8" || a[0].BaseCPUPct.OK() {
		t.Fatalf("%+v", a)
	}
	closeTo(t, "ratio", float64(a[0].Ratio), 0.75, 0.01)
	if !(a[0].Low < 0.75 && 0.75 < a[0].High) {
		t.Errorf("%+v", a[0])
	}
}
