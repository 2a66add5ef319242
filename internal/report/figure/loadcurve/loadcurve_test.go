package loadcurve

import (
	"math"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/report/figure/chart"
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

// What others published is drawn in a form that nothing measured has, and named
// as what it is.
func TestPublishedValuesAreHollowAndNamed(t *testing.T) {
	plain := SVG(Data{Width: 760, Height: 340, XLabel: "users", YLabel: "speed-up", Lines: []Line{ordinary()}})
	svg := SVG(Data{Width: 760, Height: 340, XLabel: "users", YLabel: "speed-up", Lines: []Line{ordinary()},
		Published: []Line{{Name: "published: ESX 4.0", Points: []Point{{1, 3900, nan, nan}, {16, 25000, nan, nan}}}},
		Remarks:   []chart.Remark{{X: 2, Text: "“good”"}, {X: 2.1, Text: "“as good”"}, {X: 32, Text: "“best”"}}})
	for _, want := range []string{">published: ESX 4.0</text>", `data-n="published: ESX 4.0"`, "<title>published: ESX 4.0: 25,000 at 16</title>", "“good”", "“as good”", "“best”"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the figure lacks %s", want)
		}
	}
	// A diamond for each value and one in the key, dotted lines for the series,
	// its key and each remark.
	if n := strings.Count(svg, "Z\" fill=\"var(--paper"); n != 3 {
		t.Errorf("%d hollow diamonds, want 3", n)
	}
	if n := strings.Count(svg, `stroke-dasharray="1.5 4"`); n != 5 {
		t.Errorf("%d dotted lines, want 5", n)
	}
	if strings.Contains(plain, "1.5 4") || strings.Contains(plain, "published") {
		t.Error("a figure without published values has some")
	}
	figuretest.Check(t, svg)
}

// Remarks that would lie on each other go to rows of their own.
func TestRemarksDoNotLieOnEachOther(t *testing.T) {
	var remarks []chart.Remark
	for i := range 12 {
		remarks = append(remarks, chart.Remark{X: float64(i + 1), Text: "“much less than before”"})
	}
	svg := SVG(Data{Width: 340, Height: 270, XLabel: "memory", YLabel: "throughput", LogX: true, Lines: []Line{ordinary()}, Remarks: remarks})
	rows := map[string]bool{}
	for _, part := range strings.Split(svg, "<text ")[1:] {
		if strings.Contains(part, "“much less") {
			_, y, _ := strings.Cut(part, `y="`)
			y, _, _ = strings.Cut(y, `"`)
			if rows[y] {
				t.Errorf("two remarks of this width in the row at %s", y)
			}
			rows[y] = true
		}
	}
	if len(rows) < 2 {
		t.Errorf("remarks in %d rows", len(rows))
	}
	figuretest.Check(t, svg)
}
