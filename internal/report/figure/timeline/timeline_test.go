package timeline

import (
	"math"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/report/figure/figuretest"
)

func draw(seconds []float64, tracks ...Track) string {
	return SVG(Data{Width: 760, Height: 280, YLabel: "response time, ms", Seconds: seconds, Tracks: tracks, Start: 2, End: 7})
}

func TestPictures(t *testing.T) {
	seconds := []float64{1, 2, 3, 4, 5, 6, 7, 8}
	nan := math.NaN()
	figuretest.Run(t, figuretest.Inputs{
		Empty:    func() string { return draw(nil) },
		OnePoint: func() string { return draw([]float64{1}, Track{"p95", []float64{12}}) },
		Ordinary: func() string {
			return draw(seconds, Track{"p50", []float64{1, 2, 3, 3, 3, 2, 3, 3}}, Track{"p95", []float64{4, 9, 12, 11, 12, 13, 11, 12}})
		},
		Gaps: func() string {
			return draw(seconds, Track{"p95", []float64{nan, 9, nan, 11, 12, nan, nan, 8}}, Track{"none", []float64{nan, nan}})
		},
		AllZero: func() string { return draw(seconds, Track{"p95", make([]float64, 8)}) },
		Huge: func() string {
			return draw([]float64{1, 2, 1e300}, Track{"p95", []float64{1e308, -1e308, math.Inf(1)}})
		},
		Million: func() string {
			xs, ys := figuretest.Million()
			return SVG(Data{Width: 760, Height: 280, YLabel: "ms", Seconds: xs, Tracks: []Track{{"p95", ys}}, Start: 100, End: 900})
		},
		Hostile: func() string {
			return SVG(Data{Width: 232, Height: 96, Seconds: seconds, Tracks: []Track{{figuretest.Attack, []float64{1, 2}}}, About: figuretest.Attack, YLabel: figuretest.Attack, Small: true})
		},
	})
}

func TestASpikeOfOneInAMillionIsSeen(t *testing.T) {
	xs, ys := figuretest.Million()
	with := SVG(Data{Width: 340, Height: 200, Seconds: xs, Tracks: []Track{{"p95", ys}}})
	ys[500_000] = 50
	without := SVG(Data{Width: 340, Height: 200, Seconds: xs, Tracks: []Track{{"p95", ys}}})
	if !strings.Contains(with, "up to 400") || strings.Contains(without, "up to 400") {
		t.Error("the spike is not told")
	}
	if strings.Count(with, "L") == 0 || with == without {
		t.Error("the spike is not drawn")
	}
}

func TestWhatDoesNotCountIsShaded(t *testing.T) {
	seconds := []float64{1, 2, 3, 4, 5, 6, 7, 8}
	values := []float64{1, 2, 3, 3, 3, 2, 3, 3}
	for _, c := range []struct {
		start, end float64
		rects      int
	}{{2, 7, 2}, {0, 8, 0}, {2, 8, 1}, {0, 7, 1}, {0, 0, 0}, {5, 3, 0}} {
		svg := SVG(Data{Width: 760, Height: 280, Seconds: seconds, Tracks: []Track{{"a", values}}, Start: c.start, End: c.end})
		if got := strings.Count(svg, "<rect"); got != c.rects {
			t.Errorf("window %g to %g: %d shaded parts, want %d", c.start, c.end, got, c.rects)
		}
	}
}
