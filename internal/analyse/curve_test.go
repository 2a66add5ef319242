package analyse

import (
	"math"
	"strings"
	"testing"
)

// grown makes cells with the factors and throughputs given.
func grown(knobs []string, rows ...[]any) (cells []Cell) {
	for _, row := range rows {
		c := Cell{}
		for i, k := range knobs {
			v := row[i].(string)
			n, ok := number(v)
			if !ok {
				n = math.NaN()
			}
			c.Factors = append(c.Factors, Factor{k, v, Number(n)})
		}
		if x := row[len(knobs)].(float64); x > 0 {
			c.Throughput = Estimate{Value: x, Low: Number(x - 1), High: Number(x + 1), N: 3}
		}
		cells = append(cells, c)
	}
	return cells
}

func TestKneeIsTheLeastLoadNearTheTop(t *testing.T) {
	for _, c := range []struct {
		name string
		x    [5]float64 // at 1, 2, 4, 8, 16 users
		knee float64    // 0: none
		says string
	}{
		{"levels off", [5]float64{100, 190, 300, 310, 312}, 4, "at about 4 users: more load raises throughput by no more than 4.0 %"},
		{"falls", [5]float64{100, 190, 300, 250, 200}, 4, "at 16 users it is 33 % lower"},
		{"grows", [5]float64{100, 200, 400, 800, 1500}, 0, "not reached: from 8 to 16 users throughput still grows by 88 %"},
		{"flat", [5]float64{100, 100, 100, 100, 100}, 1, "where throughput is highest"},
		{"one lost", [5]float64{100, 0, 300, 310, 312}, 4, "at about 4"},
		{"one left", [5]float64{0, 0, 300, 0, 0}, 0, "not known"},
		{"nothing", [5]float64{}, 0, "not known"},
	} {
		var rows [][]any
		for i, n := range []string{"1", "2", "4", "8", "16"} {
			rows = append(rows, []any{n, c.x[i]})
		}
		l := curve(grown([]string{"users"}, rows...)).Lines[0]
		if (l.Knee == nil) != (c.knee == 0) || l.Knee != nil && float64(*l.Knee) != c.knee || !strings.Contains(l.Saturation, c.says) {
			t.Errorf("%s: knee %v, %q; want %g, %q", c.name, l.Knee, l.Saturation, c.knee, c.says)
		}
	}
}

func TestKneeSaysWhereRepeatsDoNotResolveIt(t *testing.T) {
	cells := grown([]string{"users"}, []any{"1", 94.0}, []any{"2", 100.0}, []any{"4", 101.0})
	cells[0].Throughput.High = 110
	if s := curve(cells).Lines[0].Saturation; !strings.Contains(s, "the difference from 1 users is not resolved") {
		t.Errorf("%q", s)
	}
}

func TestLinesAreCombinationsOfTheOtherFactors(t *testing.T) {
	c := curve(grown([]string{"settings.sync", "users", "load.connections", "fixed"},
		[]any{"on", "8", "4", "x", 80.0}, []any{"on", "4", "2", "x", 50.0},
		[]any{"off", "8", "4", "x", 90.0}, []any{"off", "4", "2", "x", 60.0}))
	if c.Knob != "users" || len(c.Lines) != 2 {
		t.Fatalf("%+v", c)
	}
	// Connections go with users, and fixed never varies.
	if c.Lines[0].Label != "settings.sync = on" || c.Lines[0].Cells[0] != 1 || c.Lines[0].Cells[1] != 0 {
		t.Errorf("%+v", c.Lines[0])
	}
}

func TestLoadIsUsersThenRateThenTheFirstNumber(t *testing.T) {
	for _, c := range []struct {
		knobs []string
		want  string
	}{
		{[]string{"instance.cpus", "users"}, "users"},
		{[]string{"instance.cpus", "load.rate"}, "load.rate"},
		{[]string{"instance.cpus", "workload.scale"}, "instance.cpus"},
		{[]string{"engine.settings.work_mem", "instance.cpus"}, "instance.cpus"},
	} {
		got := curve(grown(c.knobs, []any{"1", "2", 5.0}, []any{"2", "4", 6.0}))
		if got == nil || got.Knob != c.want {
			t.Errorf("%q: %+v, want %s", c.knobs, got, c.want)
		}
	}
	if got := curve(grown([]string{"sync"}, []any{"on", 5.0}, []any{"off", 6.0})); got != nil {
		t.Errorf("a switch has the curve %+v", got)
	}
	if got := curve(grown([]string{"users"}, []any{"4", 5.0})); got != nil {
		t.Errorf("one load has the curve %+v", got)
	}
	if got := curve(nil); got != nil {
		t.Errorf("no cells have the curve %+v", got)
	}
	sizes := curve(grown([]string{"shared_buffers"}, []any{"1GiB", 9.0}, []any{"64MiB", 5.0}))
	if sizes == nil || sizes.Lines[0].Cells[0] != 1 {
		t.Errorf("sizes are not ordered as numbers: %+v", sizes)
	}
}

func TestGrowthIsTheElasticityTowardsTheNextLoad(t *testing.T) {
	cells := grown([]string{"users"}, []any{"1", 100.0}, []any{"2", 200.0}, []any{"4", 100.0})
	c := curve(cells)
	for i, want := range []float64{1, -1, -1} {
		if got := c.growth(cells, i); !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("growth at cell %d is %g, want %g", i, got, want)
		}
	}
	var none *Curve
	if got := none.growth(cells, 0); !math.IsNaN(got) {
		t.Errorf("growth without a curve is %g", got)
	}
}

func TestBeyondThePeakTheGreatestLoadTellsTheLimit(t *testing.T) {
	cell := func(label, resource string) Cell {
		return Cell{Label: label, Trials: []int{0}, Limit: Limit{Resource: resource, Summary: resource + " limits it"}}
	}
	s := &Study{
		Cells: []Cell{cell("users = 1", "load offered"), cell("users = 2", notFound), cell("users = 4", "log"), cell("users = 8", "CPU")},
		Curve: &Curve{Lines: []Line{{Cells: []int{0, 1, 2, 3}}}}, Peak: 1,
	}
	if got := peakLimit(s); got.Resource != "CPU" || got.Summary != "with more load (users = 8) CPU limits it" {
		t.Errorf("got %+v, want the CPU at 8 users", got)
	}
	if s.Peak = 2; peakLimit(s).Summary != "log limits it" {
		t.Errorf("a peak that has a limit gives %+v", peakLimit(s))
	}
	s.Peak, s.Cells[3].Limit.Resource = 1, notFound
	if got := peakLimit(s); got.Resource != notFound {
		t.Errorf("nothing found anywhere gives %+v", got)
	}
}
