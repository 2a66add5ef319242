package percentiles

import (
	"math"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/report/figure/figuretest"
)

func draw(lines ...Line) string { return SVG(Data{Width: 760, Height: 320, Lines: lines}) }

func spectrum(name string, scale float64, n int) Line {
	l := Line{Name: name}
	for k := range n {
		p := 100 * (1 - math.Exp2(-float64(k)/10))
		l.Points = append(l.Points, [2]float64{p, scale * (1 + float64(k*k)/300)})
	}
	return l
}

func TestPictures(t *testing.T) {
	nan := math.NaN()
	figuretest.Run(t, figuretest.Inputs{
		Empty:    func() string { return draw() },
		OnePoint: func() string { return draw(Line{"order", [][2]float64{{50, 3}}}) },
		Ordinary: func() string { return draw(spectrum("browse", 0.8, 140), spectrum("order", 4, 120)) },
		Gaps: func() string {
			return draw(Line{"order", [][2]float64{{0, 1}, {50, nan}, {90, 3}, {99, 4}, {99.9, nan}, {100, 7}}})
		},
		AllZero: func() string { return draw(Line{"order", [][2]float64{{0, 0}, {50, 0}, {99, 0}}}) },
		Huge: func() string {
			return draw(Line{"order", [][2]float64{{0, 1e-300}, {50, 1e308}, {99.99999999, math.Inf(1)}, {100, 1e308}}})
		},
		Million: func() string {
			l := Line{Name: "order"}
			for i := range 1_000_000 {
				l.Points = append(l.Points, [2]float64{float64(i) / 1e4, 1 + float64(i)/1e5})
			}
			return draw(l)
		},
		Hostile: func() string { return draw(Line{figuretest.Attack, [][2]float64{{0, 1}, {99, 4}}}) },
	})
}

func TestMedianAndTailAreTold(t *testing.T) {
	svg := draw(Line{"order", [][2]float64{{0, 1}, {50, 3}, {90, 7}, {99, 25}}})
	if !strings.Contains(svg, "order p50 3.00 ms, p99 25.0 ms") {
		t.Errorf("not told: %.200s", svg)
	}
}
