package stack

import (
	"math"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/report/figure/figuretest"
)

func draw(seconds []float64, layers ...Layer) string {
	return SVG(Data{Width: 760, Height: 280, YLabel: "host CPU, %", Seconds: seconds, Layers: layers, Start: 2, End: 7, Max: 100})
}

func TestPictures(t *testing.T) {
	seconds := []float64{1, 2, 3, 4, 5, 6, 7, 8}
	nan := math.NaN()
	figuretest.Run(t, figuretest.Inputs{
		Empty:    func() string { return draw(nil) },
		OnePoint: func() string { return draw([]float64{1}, Layer{Name: "user", Values: []float64{40}}) },
		Ordinary: func() string {
			return draw(seconds, Layer{"user", []float64{10, 30, 40, 41, 42, 41, 40, 40}, 1}, Layer{"system", []float64{5, 10, 20, 21, 20, 19, 20, 20}, 8},
				Layer{"steal", []float64{0, 0, 0, 5, 0, 0, 0, 0}, 5})
		},
		Gaps: func() string {
			return draw(seconds, Layer{Name: "user", Values: []float64{10, nan, 40, 41, nan, nan, 40, nan}}, Layer{Name: "system", Values: []float64{5, 10, 20, 21, 20, 19, 20, 20}})
		},
		AllZero: func() string { return draw(seconds, Layer{Name: "user", Values: make([]float64, 8)}) },
		Huge: func() string {
			return SVG(Data{Width: 340, Height: 200, Seconds: []float64{1, 2, 3}, Layers: []Layer{{Name: "a", Values: []float64{1e308, 1e308, -1}}, {Name: "b", Values: []float64{1e308, 2, 3}}}})
		},
		Million: func() string {
			xs, ys := figuretest.Million()
			return draw(xs, Layer{Name: "user", Values: ys}, Layer{Name: "system", Values: ys})
		},
		Hostile: func() string {
			return SVG(Data{Width: 340, Height: 200, YLabel: figuretest.Attack, About: figuretest.Attack, Seconds: seconds[:2], Layers: []Layer{{Name: figuretest.Attack, Values: []float64{1, 2}}}})
		},
	})
}

func TestMeansAreTold(t *testing.T) {
	svg := draw([]float64{1, 2, 3, 4}, Layer{Name: "user", Values: []float64{10, 20, 30, 40}}, Layer{Name: "steal", Values: []float64{0, 0, 0, 4}})
	if !strings.Contains(svg, "user 25.0; steal 1.00") {
		t.Errorf("the means are not told: %.200s", svg)
	}
}
