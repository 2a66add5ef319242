package loadcurve

import (
	"math"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/report/figure/figuretest"
)

var nan = math.NaN()

func draw(lines ...Line) string {
	return SVG(Data{Width: 760, Height: 340, XLabel: "users", YLabel: "throughput, orders a minute (OPM)", Lines: lines})
}

func ordinary() Line {
	l := Line{Name: "measured", Knee: 16}
	for _, p := range [][2]float64{{1, 3900}, {2, 7100}, {4, 11800}, {8, 16400}, {16, 18900}, {32, 18200}} {
		l.Points = append(l.Points, Point{p[0], p[1], p[1] * 0.96, p[1] * 1.04})
	}
	for n := 1.0; n <= 32; n++ {
		l.Model = append(l.Model, Point{X: n, Y: 4000 * n / (1 + 0.09*(n-1) + 0.0025*n*(n-1))})
	}
	return l
}

func TestPictures(t *testing.T) {
	figuretest.Run(t, figuretest.Inputs{
		Empty:    func() string { return draw() },
		OnePoint: func() string { return draw(Line{Points: []Point{{8, 1234, nan, nan}}}) },
		Ordinary: func() string { return draw(ordinary()) },
		Gaps: func() string {
			return draw(Line{Name: "a", Points: []Point{{1, 10, nan, nan}, {2, nan, nan, nan}, {4, 30, 28, 32}}},
				Line{Name: "b", Points: []Point{{1, nan, nan, nan}}, Knee: nan})
		},
		AllZero: func() string { return draw(Line{Points: []Point{{0, 0, 0, 0}, {1, 0, 0, 0}, {2, 0, 0, 0}}}) },
		Huge: func() string {
			return draw(Line{Points: []Point{{1, 1e308, -1e308, math.Inf(1)}, {1e300, -1e308, nan, nan}, {1e9, 5, 4, 6}}})
		},
		Million: func() string {
			xs, ys := figuretest.Million()
			l := Line{Name: "million"}
			for i := range xs {
				l.Points = append(l.Points, Point{xs[i], ys[i], nan, nan})
			}
			return draw(l)
		},
		Hostile: func() string {
			return SVG(Data{Width: 340, Height: 270, XLabel: figuretest.Attack, YLabel: figuretest.Attack, LimitY: 8, LimitLabel: figuretest.Attack,
				Lines: []Line{{Name: figuretest.Attack, Points: []Point{{1, 10, 9, 11}}}}})
		},
	})
}

func TestLimitIsDrawnOnlyWhereItDoesNotCrushTheFigure(t *testing.T) {
	for _, c := range []struct {
		limit float64
		want  bool
	}{{100, true}, {25, true}, {1e6, false}, {0, false}} {
		svg := SVG(Data{Width: 760, Height: 300, LogY: true, LimitY: c.limit, LimitLabel: "the limit",
			Lines: []Line{{Points: []Point{{1, 20, nan, nan}, {2, 40, nan, nan}}}}})
		if got := strings.Contains(svg, "the limit"); got != c.want {
			t.Errorf("limit %g drawn: %v, want %v", c.limit, got, c.want)
		}
	}
}

func TestEveryPointSaysItsValue(t *testing.T) {
	if svg := draw(ordinary()); !strings.Contains(svg, "<title>measured: 18,900 at 16 (18,144 to 19,656)</title>") {
		t.Error("the point at 16 users does not say its value and interval")
	}
}
