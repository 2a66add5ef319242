package scatter

import (
	"math"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/report/figure/figuretest"
)

var nan = math.NaN()

func draw(groups ...Group) string {
	return SVG(Data{Width: 760, Height: 320, XLabel: "ready, CPUs that waited", YLabel: "p99 order, ms (logarithmic)", LogY: true, Groups: groups})
}

// cloud is n values of y that rises with x, with a fixed scatter.
func cloud(name string, n int, from float64) Group {
	g := Group{Name: name}
	for i := range n {
		x := from + float64(i)/float64(n)
		g.X, g.Y = append(g.X, x), append(g.Y, 3+8*x*(1+0.4*math.Sin(float64(i*i))))
	}
	g.Marks = []Mark{{from + 0.5, 3 + 8*(from+0.5), name + ", trial 1"}}
	return g
}

func TestPictures(t *testing.T) {
	figuretest.Run(t, figuretest.Inputs{
		Empty:    func() string { return draw() },
		OnePoint: func() string { return draw(Group{X: []float64{0.3}, Y: []float64{12}}) },
		Ordinary: func() string { return draw(cloud("2 instances", 90, 0), cloud("4 instances", 90, 0.8)) },
		Gaps: func() string {
			return draw(Group{Name: "a", X: []float64{1, nan, 3}, Y: []float64{nan, 2, 5}}, Group{Name: "b", X: []float64{1}, Y: nil})
		},
		AllZero: func() string {
			return draw(Group{X: []float64{0, 0, 0}, Y: []float64{0, 0, 0}, Marks: []Mark{{0, 0, "none"}}})
		},
		Huge: func() string {
			return draw(Group{X: []float64{1e300, -1e308, math.Inf(1)}, Y: []float64{1e308, 1, 2}})
		},
		Million: func() string {
			xs, ys := figuretest.Million()
			return draw(Group{Name: "million", X: ys, Y: xs})
		},
		Hostile: func() string {
			return SVG(Data{Width: 340, Height: 270, XLabel: figuretest.Attack, YLabel: figuretest.Attack,
				Groups: []Group{{Name: figuretest.Attack, X: []float64{1}, Y: []float64{2}, Marks: []Mark{{1, 2, figuretest.Attack}}}, {Name: figuretest.Attack}}})
		},
	})
}

func TestEveryMarkSaysWhatItIs(t *testing.T) {
	if svg := draw(cloud("2 instances", 20, 0)); !strings.Contains(svg, "<title>2 instances, trial 1</title>") {
		t.Error("a mark does not say what it is")
	}
}
