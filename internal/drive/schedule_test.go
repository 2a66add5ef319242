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

func TestConstantArrivalsFollowTheProfile(t *testing.T) {
	s := Schedule{RatePerS: 100, Ramp: 2 * time.Second, Profile: []Phase{{time.Second, 50}, {time.Second, 0}, {2 * time.Second, 200}}}
	const ms = time.Millisecond
	// 50 arrivals in the ramp to 50 a second, then 50, none and 400 a pass.
	for i, want := range map[int64]time.Duration{
		0: 0, 50: 2000 * ms, 51: 2020 * ms, 99: 2980 * ms, 100: 4000 * ms, 101: 4005 * ms, 499: 5995 * ms,
		500: 6000 * ms, 501: 6020 * ms, 550: 8000 * ms, 50 + 1000*450: 4002000 * ms,
	} {
		if got := s.At(i); got != want {
			t.Errorf("arrival %d at %v, want %v", i, got, want)
		}
	}
	for _, none := range [][]Phase{{{time.Second, 0}}, {{time.Second, 0}, {time.Minute, 0}}} {
		if got := (Schedule{RatePerS: 1, Profile: none}).At(1); got != math.MaxInt64 {
			t.Errorf("without any load an arrival comes at %v", got)
		}
	}
}

// Λ(Λ⁻¹(i)) = i, with Λ added up phase by phase, and at Λ⁻¹(i) the rate is
// not 0.
func TestTheScheduleInvertsTheRatesIntegral(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Schedule{
			RatePerS: rapid.Float64Range(1, 1e5).Draw(t, "rate"),
			Ramp:     time.Duration(rapid.IntRange(0, 20).Draw(t, "ramp")) * time.Millisecond,
			Profile:  drawProfile(t, 1000),
		}
		i := rapid.Int64Range(0, 1000).Draw(t, "i")
		got := s.At(i)
		ramp, now, sum := s.Ramp.Seconds(), got.Seconds(), 0.0
		if first := s.Profile[0].LoadPct / 100; now < ramp {
			sum = first * s.RatePerS * now * now / 2 / ramp
		} else {
			sum = first * s.RatePerS * ramp / 2
			for left, k := now-ramp, 0; left > 0; k++ {
				p := s.Profile[k%len(s.Profile)]
				sum += s.RatePerS * p.LoadPct / 100 * min(left, p.For.Seconds())
				left -= p.For.Seconds()
			}
		}
		// Times are rounded to half a nanosecond at up to 10⁶ a second.
		if math.Abs(sum-float64(i)) > 1e-3+1e-9*float64(i) {
			t.Fatalf("arrival %d at %v, when %v were expected", i, got, sum)
		}
		if inside := got + time.Microsecond; at(s.Profile, max(0, inside-s.Ramp)).LoadPct == 0 && at(s.Profile, max(0, got-s.Ramp)).LoadPct == 0 {
			t.Fatalf("arrival %d at %v, in a phase without load", i, got)
		}
	})
}

// Counts in each phase are those of a Poisson process: mean and variance are
// both rate times length, and a phase of 0 % has none.
func TestPoissonArrivalsFollowTheProfile(t *testing.T) {
	const passes = 4000
	s := Schedule{RatePerS: 20, Profile: []Phase{{time.Second, 50}, {time.Second, 0}, {time.Second, 300}}}
	a := s.Poisson(5)
	var counts [3][passes]float64
	for {
		when := a.Next()
		pass := int(when / (3 * time.Second))
		if pass >= passes {
			break
		}
		counts[when/time.Second%3][pass]++
	}
	for k, want := range []float64{10, 0, 60} {
		var sum, squares float64
		for _, n := range counts[k] {
			sum += n
			squares += n * n
		}
		mean := sum / passes
		variance := squares/passes - mean*mean
		// Standard deviations: √(mean/n) of the mean, mean·√(2/n) of the variance.
		if math.Abs(mean-want) > 5*math.Sqrt(want/passes) || math.Abs(variance-want) > 5*want*math.Sqrt(2.0/passes) {
			t.Errorf("phase %d: mean %.3f and variance %.3f a second, want %v", k+1, mean, variance, want)
		}
	}
}

func TestSchedulesArePureAndNeverGoBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Schedule{
			RatePerS: rapid.Float64Range(1e-3, 1e6).Draw(t, "rate"),
			Ramp:     time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "ramp")),
		}
		if rapid.Bool().Draw(t, "with a profile") {
			s.Profile = drawProfile(t, 1000)
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
