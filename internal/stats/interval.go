package stats

import (
	"math"
	"slices"
)

// StudentT is the mean of xs with Student's interval,
// x̄ ± t(1−α/2, n−1)·s/√n (Student, "The probable error of a mean",
// Biometrika 6, 1908). It is exact for independent normal values. Fewer than
// two values give no interval.
func StudentT(xs []float64, confidence float64) Interval {
	out := Interval{Value: Mean(xs), Low: math.NaN(), High: math.NaN(), Level: confidence, N: len(xs)}
	if len(xs) < 2 || !level(confidence) || !finite(xs) {
		return out
	}
	n := float64(len(xs))
	half := tQuantile((1+confidence)/2, n-1) * math.Sqrt(Variance(xs)/n)
	out.Low, out.High = out.Value-half, out.Value+half
	return out
}

// MedianInterval is the median of xs with the narrowest symmetric interval
// between two order statistics, x(k) to x(n+1−k), that covers the true median
// with at least the asked confidence: the coverage is 1 − 2·P(B < k) with B
// binomial (n, ½), whatever the distribution (David and Nagaraja, Order
// Statistics, 3rd ed., section 7.1). Level is the coverage achieved; with
// ties it is a lower bound. For 95 % six values are the fewest; with fewer
// there is no interval, and Level is NaN.
func MedianInterval(xs []float64, confidence float64) Interval {
	out := Interval{Value: Median(xs), Low: math.NaN(), High: math.NaN(), Level: math.NaN(), N: len(xs)}
	if !level(confidence) || !finite(xs) {
		return out
	}
	n := len(xs)
	k, below := 0, 0.0 // below is P(B < k)
	term := math.Exp2(-float64(n))
	if term == 0 {
		return medianNormal(xs, confidence, out)
	}
	for k < n/2 && 1-2*(below+term) >= confidence {
		below += term
		term *= float64(n-k) / float64(k+1)
		k++
	}
	if k == 0 {
		return out
	}
	s := slices.Sorted(slices.Values(xs))
	out.Low, out.High, out.Level = s[k-1], s[n-k], 1-2*below
	return out
}

// medianNormal is MedianInterval for more values than 2⁻ⁿ can be held for,
// with the normal approximation of the binomial law.
func medianNormal(xs []float64, confidence float64, out Interval) Interval {
	n := float64(len(xs))
	z := math.Sqrt2 * math.Erfinv(confidence)
	k := int(math.Floor((n - z*math.Sqrt(n)) / 2))
	s := slices.Sorted(slices.Values(xs))
	out.Low, out.High, out.Level = s[k-1], s[len(s)-k], confidence
	return out
}

// resample calls take for draws of n runs with replacement (Efron and
// Tibshirani, An Introduction to the Bootstrap, 1993), each with its
// probability or weight: up to exactRuns all draws, by which no chance is left
// (Fisher and Hall, "Bootstrap algorithms for small samples", 1991) and src is
// not used, beyond bootstrapDraws. times is only lent.
func resample(n int, src Source, take func(times []int, p float64)) {
	times := make([]int, n)
	if n <= exactRuns {
		enumerate(times, 0, n, multinomial(n), take)
		return
	}
	for range bootstrapDraws {
		clear(times)
		for range n {
			times[intN(src, n)]++
		}
		take(times, 1)
	}
}

const (
	exactRuns      = 8 // 6,435 distinct draws
	bootstrapDraws = 2000
)

type weighted struct{ value, weight float64 }

// multinomial is n!/nⁿ: the probability of drawing each of n runs once, which
// enumerate divides by the factorials of the counts.
func multinomial(n int) float64 {
	p := 1.0
	for i := 1; i <= n; i++ {
		p *= float64(i) / float64(n)
	}
	return p
}

// enumerate calls take for every way to spread left draws over times[at:],
// with p = n!/nⁿ ÷ Π times[i]!.
func enumerate(times []int, at, left int, p float64, take func([]int, float64)) {
	if at == len(times)-1 {
		for i := 2; i <= left; i++ {
			p /= float64(i)
		}
		times[at] = left
		take(times, p)
		return
	}
	for k := 0; k <= left; k++ {
		if k > 1 {
			p /= float64(k)
		}
		times[at] = k
		enumerate(times, at+1, left-k, p, take)
	}
	times[at] = 0
}

// weightedQuantile is the least value with at least the part q of all weight
// at or below it. It sorts draws.
func weightedQuantile(draws []weighted, q float64) float64 {
	total := 0.0
	for _, d := range draws {
		total += d.weight
	}
	slices.SortFunc(draws, func(a, b weighted) int {
		switch {
		case a.value < b.value:
			return -1
		case a.value > b.value:
			return 1
		}
		return 0
	})
	sum := 0.0
	for _, d := range draws {
		// The tolerance keeps rounding in sums of weights from moving the
		// quantile by one draw.
		if sum += d.weight; sum >= q*total*(1-1e-12) {
			return d.value
		}
	}
	return math.NaN()
}

// ExpectedHalfWidth is about how wide, to each side, Student's t interval of a
// mean of n values will be whose standard deviation is sd; NaN under two.
func ExpectedHalfWidth(sd float64, n int, confidence float64) float64 {
	if n < 2 || !level(confidence) {
		return math.NaN()
	}
	return tQuantile(1-(1-confidence)/2, float64(n-1)) * sd / math.Sqrt(float64(n))
}
