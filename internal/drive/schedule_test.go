package drive

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func nan() float64 { return math.NaN() }

func TestConstantArrivalsAreEvenAfterTheRamp(t *testing.T) {
	s := Schedule{RatePerS: 100}
	for i, want := range []time.Duration{0, 10 * time.Millisecond, 20 * time.Millisecond} {
		if got := s.At(int64(i)); got != want {
			t.Errorf("arrival %d at %v, want %v", i, got, want)
		}
	}
	// A ramp of 2 s to 100 a second holds 100 arrivals, a quarter of them in
	// its first half.
	s.Ramp = 2 * time.Second
	for i, want := range map[int64]time.Duration{0: 0, 25: time.Second, 100: 2 * time.Second, 101: 2010 * time.Millisecond, 200: 3 * time.Second} {
		if got := s.At(i); got != want {
			t.Errorf("with a ramp: arrival %d at %v, want %v", i, got, want)
		}
	}
	if (Schedule{RatePerS: 1e-300}).At(1) != math.MaxInt64 {
		t.Error("an arrival beyond all time overflows")
	}
}

func TestSchedulesArePureAndNeverGoBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Schedule{
			RatePerS: rapid.Float64Range(1e-3, 1e6).Draw(t, "rate"),
			Ramp:     time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "ramp")),
		}
		seed := rapid.Uint64().Draw(t, "seed")
		a, b := s.Poisson(seed), s.Poisson(seed)
		last, lastConstant := time.Duration(0), time.Duration(0)
		for i := range int64(200) {
			x, y, z := a.Next(), b.Next(), s.At(i)
			if x != y || z != s.At(i) {
				t.Fatalf("arrival %d at %v and %v", i, x, y)
			}
			if x < last || z < lastConstant {
				t.Fatalf("arrival %d at %v and %v, after %v and %v", i, x, z, last, lastConstant)
			}
			last, lastConstant = x, z
		}
	})
}

// The gaps of a Poisson process are exponential: Kolmogorov–Smirnov on 20,000
// of them, critical value 1.63/√n at 1 % (Stephens 1974); counts a second have
// a variance equal to their mean.
func TestPoissonArrivalsAreAPoissonProcess(t *testing.T) {
	const n, rate = 20_000, 50.0
	a := Schedule{RatePerS: rate}.Poisson(42)
	gaps := make([]float64, n)
	counts := map[int]float64{}
	last := time.Duration(0)
	for i := range gaps {
		at := a.Next()
		gaps[i] = (at - last).Seconds()
		counts[int(at.Seconds())]++
		last = at
	}
	if d := ksExponential(gaps, rate); d > 1.63/math.Sqrt(n) {
		t.Errorf("D = %.4f: the gaps are not exponential", d)
	}
	var sum, squares float64
	seconds := int(last.Seconds()) // the last is not complete
	for i := range seconds {
		sum += counts[i]
		squares += counts[i] * counts[i]
	}
	mean := sum / float64(seconds)
	variance := squares/float64(seconds) - mean*mean
	// 400 seconds: the ratio has a standard deviation of √(2/400) = 0.07.
	if math.Abs(mean-rate) > 5*math.Sqrt(rate/float64(seconds)) || math.Abs(variance/mean-1) > .28 {
		t.Errorf("counts a second: mean %.2f, variance %.2f, want %v of both", mean, variance, rate)
	}
}

// ksExponential is the Kolmogorov–Smirnov distance of x from the exponential
// distribution of the given rate.
func ksExponential(x []float64, rate float64) float64 {
	sorted := append([]float64(nil), x...)
	sortFloats(sorted)
	worst := 0.0
	for i, v := range sorted {
		f := 1 - math.Exp(-rate*v)
		worst = max(worst, math.Abs(f-float64(i)/float64(len(x))), math.Abs(f-float64(i+1)/float64(len(x))))
	}
	return worst
}
