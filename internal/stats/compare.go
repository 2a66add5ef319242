package stats

import (
	"cmp"
	"math"
	"slices"
)

// Ranked is a Mann–Whitney comparison of two samples.
type Ranked struct {
	U float64 // pairs (a, b) with b > a; a tie counts half
	P float64 // two-sided
	// Shift is the Hodges–Lehmann estimate of how much larger b is: the
	// median of all b − a.
	Shift float64
	Exact bool // P is from the exact distribution
}

// MannWhitney tests whether values of b tend to be larger or smaller than
// those of a (Mann and Whitney, Annals of Mathematical Statistics 18, 1947).
// Up to 40 values in all, P is exact, given the ties that there are: all ways
// to deal the ranks are counted. Beyond, it is the normal approximation with
// the corrections for ties and continuity. An empty side or a NaN gives NaN.
func MannWhitney(a, b []float64) Ranked {
	out := Ranked{math.NaN(), math.NaN(), math.NaN(), false}
	if len(a) == 0 || len(b) == 0 || !finite(a) || !finite(b) {
		return out
	}
	r := ranks(slices.Concat(b, a))
	sum := 0.0
	for _, v := range r[:len(b)] {
		sum += v
	}
	m, n := float64(len(b)), float64(len(a))
	out.U = sum - m*(m+1)/2
	diffs := make([]float64, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			diffs = append(diffs, y-x)
		}
	}
	out.Shift = Median(diffs)
	if len(r) <= 40 {
		out.P, out.Exact = exactRankP(r, len(b)), true
		return out
	}
	tied := 0.0
	for _, t := range ties(r) {
		tied += t*t*t - t
	}
	v := m * n / 12 * (m + n + 1 - tied/((m+n)*(m+n-1)))
	if v == 0 {
		out.P = 1
		return out
	}
	d := math.Abs(out.U - m*n/2)
	out.P = zTail(max(0, d-0.5) / math.Sqrt(v))
	return out
}

// exactRankP is twice the smaller tail, at most 1, of the sum of the first m
// of ranks r among all choices of m. Ranks are multiples of ½, so doubled
// sums count ways: ways[k][s] is the number of choices of k with sum s.
func exactRankP(r []float64, m int) float64 {
	most, seen := 0, 0
	for i, v := range r {
		most += int(2 * v)
		if i < m {
			seen += int(2 * v)
		}
	}
	ways := make([][]float64, m+1)
	for k := range ways {
		ways[k] = make([]float64, most+1)
	}
	ways[0][0] = 1
	for _, v := range r {
		d := int(2 * v)
		for k := m; k >= 1; k-- {
			for s := most; s >= d; s-- {
				ways[k][s] += ways[k-1][s-d]
			}
		}
	}
	all, low, high := 0.0, 0.0, 0.0
	for s, w := range ways[m] {
		all += w
		if s <= seen {
			low += w
		}
		if s >= seen {
			high += w
		}
	}
	return min(1, 2*min(low, high)/all)
}

// Difference is Welch's comparison of two means.
type Difference struct {
	Interval // of mean(b) − mean(a)
	T, DF    float64
	P        float64 // two-sided
}

// Welch compares the means of two independent samples whose variances may
// differ (Welch, "The generalization of Student's problem when several
// different population variances are involved", Biometrika 34, 1947). Each
// side needs two values. Where neither varies, P is 1 or 0.
func Welch(a, b []float64, confidence float64) Difference {
	nan := math.NaN()
	out := Difference{Interval{Mean(b) - Mean(a), nan, nan, confidence, len(a) + len(b)}, nan, nan, nan}
	if len(a) < 2 || len(b) < 2 || !level(confidence) || !finite(a) || !finite(b) {
		return out
	}
	va, vb := Variance(a)/float64(len(a)), Variance(b)/float64(len(b))
	if va+vb == 0 {
		out.Low, out.High, out.P = out.Value, out.Value, 1
		if out.Value != 0 {
			out.P = 0
		}
		return out
	}
	se := math.Sqrt(va + vb)
	out.T = out.Value / se
	out.DF = (va + vb) * (va + vb) / (va*va/float64(len(a)-1) + vb*vb/float64(len(b)-1))
	out.P = tTail(out.T, out.DF)
	half := tQuantile((1+confidence)/2, out.DF) * se
	out.Low, out.High = out.Value-half, out.Value+half
	return out
}

// Verdict is what a comparison may say.
type Verdict string

// The verdicts.
const (
	Higher     Verdict = "higher"       // the interval of the ratio lies above 1
	Lower      Verdict = "lower"        // below 1
	Equivalent Verdict = "equivalent"   // shown to differ by less than the margin
	Unresolved Verdict = "not resolved" // neither a difference nor equivalence is shown
)

// Pairing is a comparison of two configurations measured in the same blocks.
type Pairing struct {
	Ratio Interval // of other ÷ base
	P     float64  // two-sided, that the ratio is not 1
	// EquivalenceP is the larger of the two one-sided P of TOST; NaN without
	// a margin.
	EquivalenceP float64
	Verdict      Verdict
	// Repeats is how many blocks would resolve a difference of the margin
	// (of the ratio found, where there is no margin) with a power of 80 %; 0
	// where that can't be told.
	Repeats int
}

// Paired compares other with base, block by block: log-ratios ln(other_i ÷
// base_i), Student's interval of their mean, and back to a ratio. Blocking
// takes away what all runs of a block share. Equivalence is Schuirmann's two
// one-sided tests ("A comparison of the two one-sided tests procedure and the
// power approach", J. Pharmacokin. Biopharm. 15, 1987) at level 1−confidence
// within 1/(1+margin) to 1+margin; margin 0.02 is 2 % and must be named before
// the data are seen, 0 tests nothing. A shown difference goes before
// equivalence, so a ratio of 1.001±0.0005 is Higher.
//
// Values must be above 0 and both slices as long; else, and with fewer than
// two blocks, nothing is resolved.
func Paired(base, other []float64, confidence, margin float64) Pairing {
	nan := math.NaN()
	out := Pairing{Interval{nan, nan, nan, confidence, len(base)}, nan, nan, Unresolved, 0}
	if len(base) != len(other) || len(base) == 0 || !level(confidence) {
		return out
	}
	logs := make([]float64, len(base))
	for i := range base {
		if !(base[i] > 0) || !(other[i] > 0) {
			return out
		}
		logs[i] = math.Log(other[i]) - math.Log(base[i])
	}
	if !finite(logs) {
		return out
	}
	d := StudentT(logs, confidence)
	out.Ratio.Value = math.Exp(d.Value)
	if len(logs) < 2 {
		return out
	}
	out.Ratio.Low, out.Ratio.High = math.Exp(d.Low), math.Exp(d.High)
	n := float64(len(logs))
	se := math.Sqrt(Variance(logs) / n)
	out.P = meanP(d.Value, se, n-1)
	delta := math.Abs(d.Value)
	if margin > 0 {
		delta = math.Log1p(margin)
		out.EquivalenceP = upperP((delta-math.Abs(d.Value))/se, n-1)
	}
	switch {
	case d.Low > 0:
		out.Verdict = Higher
	case d.High < 0:
		out.Verdict = Lower
	case out.EquivalenceP <= 1-confidence:
		out.Verdict = Equivalent
	}
	out.Repeats = RepeatsToResolve(math.Sqrt(Variance(logs)), delta, 1-confidence, 0.8)
	return out
}

// meanP is the two-sided P of a mean with standard error se, which may be 0.
func meanP(mean, se, df float64) float64 {
	if mean == 0 {
		return 1
	}
	return tTail(mean/se, df)
}

// upperP is P(T ≥ t); t is NaN where a margin of 0 width met no variance.
func upperP(t, df float64) float64 {
	switch {
	case math.IsNaN(t):
		return 1
	case t > 0:
		return tTail(t, df) / 2
	}
	return 1 - tTail(t, df)/2
}

// Holm adjusts the P of many tests so that rejecting those at most alpha
// keeps the chance of any false rejection at alpha (Holm, "A simple
// sequentially rejective multiple test procedure", Scand. J. Statist. 6,
// 1979). NaN stay NaN and are not counted as tests.
func Holm(ps []float64) []float64 {
	var order []int
	for i, p := range ps {
		if !math.IsNaN(p) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ps[a], ps[b]) })
	out := slices.Clone(ps)
	highest := 0.0
	for rank, i := range order {
		highest = max(highest, min(1, ps[i]*float64(len(order)-rank)))
		out[i] = highest
	}
	return out
}

// mostRepeats bounds RepeatsToResolve.
const mostRepeats = 10000

// RepeatsToResolve is the least number of paired repeats with which a
// two-sided t-test at level alpha finds a difference delta with the given
// power, where single differences have the standard deviation sd (noncentral
// t). 10,000 stands for that many or more; 0 says that it can't be told
// (delta or sd not above 0, alpha or power out of range).
func RepeatsToResolve(sd, delta, alpha, power float64) int {
	if !(delta > 0) || !(sd > 0) || math.IsInf(sd/delta, 0) || !level(alpha) || !level(power) {
		return 0
	}
	// The normal approximation n₀ = ((z₁₋α⁄₂ + z_power)·σ/δ)² is a little too
	// few: t needs about z²/2 more.
	z := math.Sqrt2 * (math.Erfinv(1-alpha) + math.Erfinv(2*power-1))
	guess := z * z * (sd / delta) * (sd / delta)
	if guess >= mostRepeats {
		return mostRepeats
	}
	n := max(2, int(math.Ceil(guess))-1)
	for n < mostRepeats && tPower(float64(n), delta/sd, alpha) < power {
		n++
	}
	return n
}

// tPower is the probability that |t| of n values with mean effect·σ exceeds
// the two-sided critical value c: E[Φ(ε√n − c·S) + Φ(−ε√n − c·S)] over S = s/σ,
// which has the density 2(ν/2)^(ν/2)/Γ(ν/2)·s^(ν−1)·e^(−νs²/2), ν = n−1.
func tPower(n, effect, alpha float64) float64 {
	nu := n - 1
	c := tQuantile(1-alpha/2, nu)
	shift := effect * math.Sqrt(n)
	lg, _ := math.Lgamma(nu / 2)
	scale := math.Ln2 + nu/2*math.Log(nu/2) - lg
	f := func(s float64) float64 {
		density := math.Exp(scale + (nu-1)*math.Log(s) - nu*s*s/2)
		return density * (phi(shift-c*s) + phi(-shift-c*s))
	}
	width := 8 / math.Sqrt(2*nu)
	low, high := max(1e-12, 1-width), 1+width
	const steps = 200 // Simpson
	h := (high - low) / steps
	sum := f(low) + f(high)
	for i := 1; i < steps; i++ {
		sum += f(low+h*float64(i)) * float64(2+2*(i%2))
	}
	return sum * h / 3
}

// phi is the normal distribution function.
func phi(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }
