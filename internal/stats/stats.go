// Package stats holds the statistics of benchmarks: intervals for a few
// repeats, the end of a warm-up, trends and change points in a run,
// comparisons of two configurations, and models of scaling.
//
// Every function is total: too few values, a NaN or an infinity among them, or
// parameters out of range give NaN in the figures that can't be had, never a
// panic and never a guess. None of them changes its arguments, and none draws
// random numbers other than from a Source that the caller seeds, so that equal
// input gives equal output.
//
// What the package does not do: it knows nothing of databases, files or
// units, and it does not decide what is good enough.
package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Interval is an estimate with a confidence interval.
type Interval struct {
	Value     float64
	Low, High float64 // NaN where the data give no interval
	// Level is the probability that the interval holds the truth, as far as
	// the method achieves it: 0.95, or 0.96875 for the median of six.
	Level float64
	N     int // values behind the estimate
}

// Width is High − Low.
func (i Interval) Width() float64 { return i.High - i.Low }

// Source gives random bits, as rng.Stream and Random do.
type Source interface{ Uint64() uint64 }

// Random is a small Source for resampling: SplitMix64 (Steele, Lea and Flood,
// "Fast splittable pseudorandom number generators", OOPSLA 2014). Its value is
// the seed.
type Random uint64

// Uint64 implements Source.
func (r *Random) Uint64() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

// intN returns an integer in [0, n), n ≥ 1. The bias of the modulus is below
// n/2⁶⁴, far under what resampling can see.
func intN(s Source, n int) int { return int(s.Uint64() % uint64(n)) }

// Mean is the arithmetic mean; NaN for no values.
func Mean(xs []float64) float64 {
	if len(xs) == 0 {
		return math.NaN()
	}
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	mean := sum / float64(len(xs))
	rest := 0.0 // a second pass takes back most of the first one's rounding
	for _, x := range xs {
		rest += x - mean
	}
	return mean + rest/float64(len(xs))
}

// Variance is the unbiased sample variance, with divisor n−1; NaN for fewer
// than two values.
func Variance(xs []float64) float64 {
	if len(xs) < 2 {
		return math.NaN()
	}
	mean, sum := Mean(xs), 0.0
	for _, x := range xs {
		sum += (x - mean) * (x - mean)
	}
	return sum / float64(len(xs)-1)
}

// Median is the middle value, or the mean of the middle two; NaN for no
// values or where one is NaN.
func Median(xs []float64) float64 {
	if len(xs) == 0 || !finite(xs) {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(xs))
	m := len(s) / 2
	if len(s)%2 == 1 {
		return s[m]
	}
	return s[m-1]/2 + s[m]/2
}

// finite says whether no value is NaN or infinite.
func finite(xs []float64) bool {
	for _, x := range xs {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
	}
	return true
}

// level says whether p is a probability that an interval or test can have.
func level(p float64) bool { return p > 0 && p < 1 }

// tQuantile is the quantile p of Student's t with df degrees of freedom.
func tQuantile(p, df float64) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.Quantile(p)
}

// tTail is the probability that |T| exceeds |t|.
func tTail(t, df float64) float64 {
	if math.IsInf(t, 0) {
		return 0
	}
	return 2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.CDF(-math.Abs(t))
}

// zTail is the probability that |Z| exceeds |z| under the normal law.
func zTail(z float64) float64 { return math.Erfc(math.Abs(z) / math.Sqrt2) }
