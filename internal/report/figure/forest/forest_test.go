package forest

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/report/figure/figuretest"
)

var nan = math.NaN()

func draw(of ...Row) string { return SVG(Data{Width: 760, Label: "change, %", Rows: of}) }

func TestPictures(t *testing.T) {
	figuretest.Run(t, figuretest.Inputs{
		Empty:    func() string { return draw() },
		OnePoint: func() string { return draw(Row{Name: "throughput", Change: 4.1, Low: 2, High: 6.3, Margin: 3}) },
		Ordinary: func() string {
			return draw(
				Row{Name: "users = 4: throughput", Change: 4.1, Low: 2, High: 6.3, Margin: 3, Text: "differs by +4.1 %"},
				Row{Name: "users = 4: p95 order", Change: -14, Low: -19, High: -9, Margin: 10, Colour: 2},
				Row{Name: "users = 8: throughput", Change: 0.1, Low: -1, High: 1.2, Margin: 3, Colour: 3})
		},
		Gaps: func() string {
			return draw(Row{Name: "one repeat", Change: 3, Low: nan, High: nan}, Row{Name: "nothing", Change: nan, Low: nan, High: nan})
		},
		AllZero: func() string { return draw(Row{Name: "throughput"}, Row{Name: "p95"}) },
		Huge: func() string {
			return draw(Row{Name: "a", Change: 1e308, Low: -99, High: math.Inf(1)}, Row{Name: "b", Change: 40, Low: -60, High: 800, Margin: 1e9})
		},
		Million: func() string {
			of := make([]Row, 1_000_000)
			for i := range of {
				of[i] = Row{Name: fmt.Sprint("row ", i), Change: float64(i%50) - 25, Low: float64(i%50) - 30, High: float64(i % 50)}
			}
			return draw(of...)
		},
		Hostile: func() string {
			return SVG(Data{Width: 340, Label: figuretest.Attack, Rows: []Row{{Name: figuretest.Attack, Change: 1, Text: figuretest.Attack}}})
		},
	})
}

// caps counts the ends of intervals that are drawn with a stroke across.
func caps(svg string) int { return strings.Count(svg, "v8") }

func TestAnIntervalBeyondTheAxisHasNoCap(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      int
	}{{-10, 10, 2}, {-10, 500, 1}, {-400, 500, 0}, {nan, nan, 0}} {
		if got := caps(draw(Row{Name: "x", Change: 5, Low: c.low, High: c.high})); got != c.want {
			t.Errorf("%g to %g: %d caps, want %d", c.low, c.high, got, c.want)
		}
	}
}

func TestWhatIsLeftOutIsSaid(t *testing.T) {
	if svg := draw(make([]Row, maxRows)...); strings.Contains(svg, "more, in the data file") {
		t.Error("nothing is left out, but it is said")
	}
	if svg := draw(make([]Row, maxRows+3)...); !strings.Contains(svg, "and 3 more") {
		t.Error("three are left out, and it is not said")
	}
}
