package stats

import (
	"math"
	"slices"
)

// Part is one source of the variance of an estimate.
type Part struct {
	Variance float64 // of the estimate, from this source
	DF       float64 // degrees of freedom that it was found with; +Inf where it is known
}

// Ratio is a ratio of two figures with an interval and two tests.
type Ratio struct {
	Interval         // of the ratio
	P        float64 // two-sided, that the ratio is not 1
	// EquivalenceP is the larger of the two one-sided P of TOST, that the ratio
	// is outside 1/(1+margin) to 1+margin; NaN without a margin.
	EquivalenceP float64
}

// RatioOf is the ratio exp(log) with the interval exp(log ± t·s): s² is the sum
// of the parts' variances, and t has the degrees of freedom
// s⁴ ÷ Σ(variance²/df) (Satterthwaite, "An approximate distribution of estimates
// of variance components", Biometrics Bulletin 2, 1946). One part of n−1 degrees
// is Student's interval, two are Welch's. Equivalence is tested as in Paired.
// Where nothing varies, P is 1 or 0.
func RatioOf(log float64, parts []Part, confidence, margin float64) Ratio {
	nan := math.NaN()
	out := Ratio{Interval{math.Exp(log), nan, nan, confidence, 0}, nan, nan}
	v, below := 0.0, 0.0
	for _, p := range parts {
		if !(p.DF >= 1) || !(p.Variance >= 0) || math.IsInf(p.Variance, 0) {
			return out
		}
		v += p.Variance
		below += p.Variance * p.Variance / p.DF
		if !math.IsInf(p.DF, 0) {
			out.N += int(p.DF) + 1
		}
	}
	if len(parts) == 0 || !level(confidence) || math.IsNaN(log) || math.IsInf(log, 0) {
		return out
	}
	const known = 1e6 // degrees of freedom that are as good as any more
	df := known
	if below > 0 {
		df = min(v*v/below, known)
	}
	se := math.Sqrt(v)
	half := tQuantile((1+confidence)/2, df) * se
	out.Low, out.High = math.Exp(log-half), math.Exp(log+half)
	out.P = meanP(log, se, df)
	if margin > 0 {
		out.EquivalenceP = upperP((math.Log1p(margin)-math.Abs(log))/se, df)
	}
	return out
}

// BootstrapVariance is a statistic of n runs and its variance over draws of n
// with replacement: all of them up to eight runs, beyond that 2,000 made from
// src. statistic gets how often each run was drawn. Draws vary less than
// samples do, by (n−1)/n, for which it makes up: of a mean it is s²/n exactly
// (Hesterberg, "What Teachers Should Know About the Bootstrap", The American
// Statistician 69, 2015, section 5). With Student's t for n−1 degrees of freedom
// it gives an interval that, unlike the percentiles of the draws, can reach
// beyond what single runs gave, and that covers 94 to 96 % for a stated 95 %
// from three runs on (see its simulation). NaN for fewer than two runs, and
// where a draw gives NaN.
func BootstrapVariance(n int, src Source, statistic func(times []int) float64) (value, variance float64) {
	if n < 1 {
		return math.NaN(), math.NaN()
	}
	value = statistic(slices.Repeat([]int{1}, n))
	if n < 2 {
		return value, math.NaN()
	}
	sum, squares, all := 0.0, 0.0, 0.0
	resample(n, src, func(times []int, p float64) {
		d := statistic(times) - value // about a near value, sums keep their digits
		sum += p * d
		squares += p * d * d
		all += p
	})
	mean := sum / all
	return value, max(0, squares/all-mean*mean) * float64(n) / float64(n-1)
}

// HolmWeighted is Holm's correction where tests have parts of alpha of unequal
// size: weights, above 0, in any unit (Holm 1979, section 4). Tests that matter
// most keep their power beside many that matter less. NaN stay NaN and are not
// counted.
func HolmWeighted(ps, weights []float64) []float64 {
	var order []int
	left := 0.0
	for i, p := range ps {
		if !math.IsNaN(p) {
			order = append(order, i)
			left += weights[i]
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(sign(ps[a]/weights[a] - ps[b]/weights[b])) })
	out := slices.Clone(ps)
	highest := 0.0
	for _, i := range order {
		highest = max(highest, min(1, ps[i]/weights[i]*left))
		out[i] = highest
		left -= weights[i]
	}
	return out
}
