package stats

import (
	"math"
	"testing"
)

// pymannkendall 1.4.3: hamed_rao_modification_test(xs, lag=15), on
// x ← 0.7x + u − ½ with u from Park and Miller's generator.
func TestHamedRaoMatchesPymannkendall(t *testing.T) {
	var xs []float64
	x, z := 0.0, int64(1)
	for range 60 {
		z = z * 48271 % 2147483647
		x = 0.7*x + float64(z)/2147483647 - 0.5
		xs = append(xs, x)
	}
	trend := TrendOf(xs, 0.95)
	if math.Abs(trend.Slope.Value+0.003742681813308911) > 1e-14 {
		t.Errorf("slope %v, want -0.003742681813308911", trend.Slope.Value)
	}
	detrended := make([]float64, len(xs))
	for i := range xs {
		detrended[i] = xs[i] - trend.Slope.Value*float64(i)
	}
	if got, want := hamedRao(detrended), 117627.68884556055/24583.333333333332; math.Abs(got-want) > 1e-9 {
		t.Errorf("correction %v, want %v", got, want)
	}
	if trend.Inflation < hamedRao(detrended) {
		t.Errorf("the test uses %v, less than the correction %v", trend.Inflation, hamedRao(detrended))
	}
}
