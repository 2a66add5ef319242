package bars

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/report/figure/figuretest"
)

var nan = math.NaN()

func draw(of ...Bar) string { return SVG(Data{Width: 760, Label: "mean sessions", Bars: of}) }

func TestPictures(t *testing.T) {
	figuretest.Run(t, figuretest.Inputs{
		Empty:    func() string { return draw() },
		OnePoint: func() string { return draw(Bar{Name: "CPU", Value: 1.7, Low: nan, High: nan}) },
		Ordinary: func() string {
			return draw(Bar{Name: "CPU", Value: 1.7, Low: 1.5, High: 1.9}, Bar{Name: "Log:WALWriteLock", Value: 0.6, Low: nan, High: nan, Colour: 2, Text: "0.6 (21 %)"})
		},
		Gaps: func() string {
			return draw(Bar{Name: "CPU", Value: nan, Low: nan, High: nan, Text: "nothing measured"}, Bar{Name: "IO", Value: 2, Low: nan, High: 3})
		},
		AllZero: func() string { return draw(Bar{Name: "CPU"}, Bar{Name: "IO"}) },
		Huge: func() string {
			return draw(Bar{Name: "CPU", Value: 1e308, Low: -1e308, High: math.Inf(1)}, Bar{Name: "IO", Value: -5}, Bar{Name: "inf", Value: math.Inf(1), Low: nan, High: nan})
		},
		Million: func() string {
			of := make([]Bar, 1_000_000)
			for i := range of {
				of[i] = Bar{Name: fmt.Sprint("state ", i), Value: float64(i), Low: nan, High: nan}
			}
			return draw(of...)
		},
		Hostile: func() string {
			return SVG(Data{Width: 340, Label: figuretest.Attack, Bars: []Bar{{Name: figuretest.Attack, Value: 1, Text: figuretest.Attack}}})
		},
	})
}

func TestWhatIsLeftOutIsSaid(t *testing.T) {
	for n, want := range map[int]string{maxBars: "", maxBars + 1: "and 1 more", maxBars + 500: "and 500 more"} {
		svg := draw(make([]Bar, n)...)
		if got := strings.Contains(svg, "more, in the data file"); got != (want != "") || !strings.Contains(svg, want) {
			t.Errorf("%d bars: said %v, want %q", n, got, want)
		}
	}
}

func TestIntervalsDoNotPressTheBarsTogether(t *testing.T) {
	for _, c := range []struct {
		high, want float64
	}{{math.NaN(), 10}, {12, 12}, {500, 20}, {math.Inf(1), 20}} {
		d := Data{Bars: []Bar{{Value: 10, Low: -5, High: c.high}, {Value: 4, Low: math.NaN(), High: math.NaN()}}}
		if got := d.full(); got != c.want {
			t.Errorf("with an interval up to %v the figure goes to %v, want %v", c.high, got, c.want)
		}
	}
}
