package stats

import (
	"cmp"
	"math"
	"slices"
)

// Change is a shift of the mean of a series.
type Change struct {
	At            int     // the first value after it
	Before, After float64 // means up to the neighbouring changes or the ends
	P             float64 // probability of so clear a change by chance
}

// ShiftIn finds where one shift of the mean of an autocorrelated series fits
// best, and tests it: the largest |S_k − (k/n)·S_n| ÷ (σ√n) of the sums S_k
// has the Kolmogorov distribution (Page's CUSUM in its retrospective form:
// Csörgő and Horváth, Limit Theorems in Change-Point Analysis, 1997, section
// 2.1). σ² is the long-run variance, from an AR(1) fit to what is left after
// each side's own mean is taken away, so that neither correlation nor the
// shift itself hides a shift or makes one up.
//
// It is meant for the seconds of a run. Under 20 values, or where one is not
// finite, At is 0 and the figures are NaN.
func ShiftIn(xs []float64) Change {
	n := len(xs)
	if n < 20 || !finite(xs) {
		return Change{0, math.NaN(), math.NaN(), math.NaN()}
	}
	mean := Mean(xs)
	at, largest, sum := 1, -1.0, 0.0
	for k := 1; k < n; k++ {
		sum += xs[k-1] - mean
		if math.Abs(sum) > largest {
			at, largest = k, math.Abs(sum)
		}
	}
	out := Change{At: at, Before: Mean(xs[:at]), After: Mean(xs[at:]), P: 1}
	rest := make([]float64, n)
	for i, x := range xs {
		rest[i] = x - out.Before
		if i >= at {
			rest[i] = x - out.After
		}
	}
	sigma := longRunDeviation(rest)
	switch {
	case sigma > 0:
		out.P = kolmogorovTail(largest / (sigma * math.Sqrt(float64(n))))
	case out.Before != out.After:
		out.P = 0 // two constants
	}
	return out
}

// longRunDeviation is √(s²(1+ρ)/(1−ρ)) of an AR(1) process fitted to rest,
// whose two fitted means bias ρ by about −(2+4ρ)/n.
func longRunDeviation(rest []float64) float64 {
	n := float64(len(rest))
	rho := Autocorrelation(rest, 1)
	if math.IsNaN(rho) {
		return 0
	}
	rho = min(max(rho+(2+4*rho)/n, 0), 0.97)
	return math.Sqrt(Variance(rest) * (n - 1) / (n - 2) * (1 + rho) / (1 - rho))
}

// kolmogorovTail is P(sup|Brownian bridge| > x) = 2 Σ (−1)^(j−1) e^(−2j²x²).
func kolmogorovTail(x float64) float64 {
	if x < 0.2 { // the series converges too slowly, and the tail is 1 to 11 digits
		return 1
	}
	p, s := 0.0, 1.0
	for j := 1.0; j <= 20; j++ {
		p += s * math.Exp(-2*j*j*x*x)
		s = -s
	}
	return min(max(2*p, 0), 1)
}

// EDivisive finds any number of changes in the distribution of a series of
// independent results, such as nightly runs (Matteson and James, "A
// nonparametric approach for multiple change point analysis of multivariate
// data", JASA 109, 2014, with α = 1). Each step splits one of the segments
// where the energy distance between both sides, weighted by m·n/(m+n), is
// largest; the split stays if a permutation test within the segments says
// that chance does so with a probability of at most alpha. A segment has at
// least `least` values, and that at least 2.
//
// Fleming et al. ("Hunter: using change point detection to hunt for
// performance regressions", ICPE 2023) put a t-test in place of the
// permutations: at a split that was chosen for being the largest, that is
// wrong far more often than it states. src decides the permutations, 999 a
// step. Changes come in the order of the series; none for values that are not
// finite. Costs grow with n² a permutation.
func EDivisive(xs []float64, least int, alpha float64, src Source) []Change {
	if !finite(xs) {
		return nil
	}
	least = max(least, 2)
	ends := []int{0, len(xs)}
	var ps []weighted // accepted split and its P
	for {
		at, q := bestSplit(xs, ends, least)
		if at == 0 {
			break
		}
		p := permutationP(xs, ends, least, q, alpha, src)
		if p > alpha {
			break
		}
		ends = append(ends, at)
		slices.Sort(ends)
		ps = append(ps, weighted{float64(at), p})
	}
	slices.SortFunc(ps, func(a, b weighted) int { return cmp.Compare(a.value, b.value) })
	out := make([]Change, 0, len(ps))
	for i, s := range ps {
		at := int(s.value)
		out = append(out, Change{at, Mean(xs[ends[i]:at]), Mean(xs[at:ends[i+2]]), s.weight})
	}
	return out
}

// permutationP is the part of permutations within the segments whose best
// split is as good as q, the found order counted as one of them. It stops as
// soon as more than alpha is certain.
func permutationP(xs []float64, ends []int, least int, q, alpha float64, src Source) float64 {
	const permutations = 999
	shuffled := slices.Clone(xs)
	as := 1
	for range permutations {
		for i := range len(ends) - 1 {
			part := shuffled[ends[i]:ends[i+1]]
			for j := len(part) - 1; j > 0; j-- {
				k := intN(src, j+1)
				part[j], part[k] = part[k], part[j]
			}
		}
		// Sums of the same values in another order differ by rounding.
		if _, got := bestSplit(shuffled, ends, least); got >= q*(1-1e-12) {
			if as++; float64(as) > alpha*(permutations+1) {
				break
			}
		}
	}
	return float64(as) / (permutations + 1)
}

// bestSplit is the split of one of the segments with the largest weighted
// energy distance; at is 0 where no segment can be split.
func bestSplit(xs []float64, ends []int, least int) (at int, q float64) {
	for i := range len(ends) - 1 {
		part := xs[ends[i]:ends[i+1]]
		if k, v := splitOf(part, least); k > 0 && (at == 0 || v > q) {
			at, q = ends[i]+k, v
		}
	}
	return at, q
}

// splitOf scans the splits of one segment. Moving value k from right to left
// changes the sums of distances within and across by its own distances.
func splitOf(xs []float64, least int) (at int, q float64) {
	n := len(xs)
	left, right, across := 0.0, 0.0, 0.0
	for i := range xs {
		for j := i + 1; j < n; j++ {
			right += math.Abs(xs[i] - xs[j])
		}
	}
	for k := 1; k <= n-least; k++ {
		toLeft, toRight := 0.0, 0.0
		for j, x := range xs {
			if j < k-1 {
				toLeft += math.Abs(x - xs[k-1])
			} else {
				toRight += math.Abs(x - xs[k-1])
			}
		}
		left += toLeft
		right -= toRight
		across += toRight - toLeft
		if k < least {
			continue
		}
		a, b := float64(k), float64(n-k)
		v := a * b / (a + b) * (2*across/(a*b) - 2*left/(a*(a-1)) - 2*right/(b*(b-1)))
		if at == 0 || v > q {
			at, q = k, v
		}
	}
	return at, q
}
