package report

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/report/figure/chart"
)

// palette reads the colours of the page's style: light and dark by name.
func palette(t *testing.T) map[string][2]string {
	t.Helper()
	out := map[string][2]string{}
	for _, m := range regexp.MustCompile(`--([a-z0-9-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)`).FindAllStringSubmatch(pageStyle, -1) {
		out[m[1]] = [2]string{m[2], m[3]}
	}
	if len(out) < 15 {
		t.Fatalf("only %d colours found", len(out))
	}
	return out
}

// contrast returns the contrast ratio of two colours #rrggbb: WCAG 2.2,
// definitions of relative luminance and contrast ratio.
func contrast(a, b string) float64 {
	la, lb := luminance(a), luminance(b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

func luminance(colour string) (sum float64) {
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		v, err := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
		if err != nil {
			return math.NaN()
		}
		s := float64(v) / 255
		if s <= 0.04045 {
			sum += weight * s / 12.92
		} else {
			sum += weight * math.Pow((s+0.055)/1.055, 2.4)
		}
	}
	return sum
}

func TestContrastOfTheStandardsExample(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want float64
	}{{"#000000", "#ffffff", 21}, {"#767676", "#ffffff", 4.54}, {"#123456", "#123456", 1}} {
		if got := contrast(c.a, c.b); math.Abs(got-c.want) > 0.01 {
			t.Errorf("contrast of %s and %s is %.2f, want %.2f", c.a, c.b, got, c.want)
		}
	}
}

// TestColoursHaveContrast holds text to 4.5 and lines to 3 (WCAG 2.2, success
// criteria 1.4.3 and 1.4.11), in both themes and on each background.
func TestColoursHaveContrast(t *testing.T) {
	p := palette(t)
	need := map[string]float64{"ink": 4.5, "muted": 4.5, "link": 4.5, "good": 4.5, "bad": 4.5, "warn": 4.5}
	for i := range chart.Colours {
		need[fmt.Sprintf("c%d", i+1)] = 3
	}
	for name, least := range need {
		for theme := range 2 {
			for _, paper := range []string{"paper", "shade"} {
				if got := contrast(p[name][theme], p[paper][theme]); !(got >= least) {
					t.Errorf("--%s on --%s, theme %d: contrast %.2f, want %g", name, paper, theme, got, least)
				}
			}
		}
	}
	for theme := range 2 {
		for _, pair := range [][2]string{{"bad", "bad-paper"}, {"warn", "warn-paper"}, {"ink", "bad-paper"}, {"ink", "warn-paper"}} {
			if got := contrast(p[pair[0]][theme], p[pair[1]][theme]); got < 4.5 {
				t.Errorf("--%s on --%s, theme %d: contrast %.2f", pair[0], pair[1], theme, got)
			}
		}
	}
}

// TestFiguresAloneHaveThePagesLightColours compares what figures fall back to
// with the page's style.
func TestFiguresAloneHaveThePagesLightColours(t *testing.T) {
	p := palette(t)
	paints := []string{chart.Ink, chart.Muted, chart.Rule, chart.Shade, chart.Paper}
	for i := range chart.Colours {
		paints = append(paints, chart.Colour(i+1))
	}
	for _, paint := range paints {
		name, alone, ok := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(paint, "var(--"), ")"), ",")
		if !ok || p[name][0] != alone {
			t.Errorf("%s: the page has %s", paint, p[name][0])
		}
	}
}
