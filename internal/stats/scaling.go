package stats

import (
	"fmt"
	"math"
)

// Jain is Jain's index of fairness, (Σx)² ÷ (n Σx²): 1 where all shares are
// equal, 1/n where one has all (Jain, Chiu and Hawe, DEC-TR-301, 1984). NaN for
// no values, a negative or non-finite one, or all zero.
func Jain(xs []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, x := range xs {
		if x < 0 {
			return math.NaN()
		}
		sum += x
		squares += x * x
	}
	if !finite(xs) || squares == 0 {
		return math.NaN()
	}
	return sum * sum / (float64(len(xs)) * squares)
}

// Little is the part of n that Little's law does not account for,
// (n − x·r) ÷ n, with n things in a system, x leaving a second and r seconds
// spent there (Little, Operations Research 9, 1961). NaN unless n > 0.
func Little(n, x, r float64) float64 {
	if !(n > 0) {
		return math.NaN()
	}
	return (n - x*r) / n
}

// Load is the throughput measured at one load, once a repeat.
type Load struct {
	N float64   // users, CPUs, …; above 0
	X []float64 // above 0
}

// USL is Gunther's Universal Scalability Law,
// X(N) = λN ÷ (1 + σ(N−1) + κN(N−1)) (Guerrilla Capacity Planning, 2007,
// chapter 4): λ is the throughput of one, σ ≥ 0 contention, κ ≥ 0 coherency.
type USL struct {
	Lambda, Sigma, Kappa Interval
	// PeakN is √((1−σ)/κ), the load of the highest throughput; +Inf where
	// κ is 0, 0 where σ ≥ 1.
	PeakN    Interval
	R2       float64 // weighted, of the mean at each load
	Warnings []string
}

// At is the fitted throughput at load n.
func (u USL) At(n float64) float64 {
	return u.Lambda.Value * n / (1 + u.Sigma.Value*(n-1) + u.Kappa.Value*n*(n-1))
}

// FitUSL fits the law by weighted nonlinear least squares on the mean at each
// load. The error of a throughput is taken to be proportional to it, so a
// mean of n repeats weighs n ÷ X². Intervals are a percentile bootstrap of
// 400 draws: of the repeats at each load where every load has at least two,
// else of the relative residuals of the means.
//
// Fewer than four distinct loads, or figures that are not above 0, give NaN.
func FitUSL(loads []Load, confidence float64, src Source) USL {
	nan := Interval{math.NaN(), math.NaN(), math.NaN(), confidence, len(loads)}
	out := USL{nan, nan, nan, nan, math.NaN(), nil}
	pts, repeated := points(loads)
	if len(pts) < leastLoads || !level(confidence) {
		out.Warnings = append(out.Warnings, fmt.Sprintf("not fitted: %d loads with a throughput, at least %d needed", len(pts), leastLoads))
		return out
	}
	best := fit(pts)
	out.Lambda.Value, out.Sigma.Value, out.Kappa.Value, out.PeakN.Value = best.law()
	out.R2 = best.r2(pts)
	var draws [4][]weighted
	for range uslDraws {
		var again []point
		if repeated {
			again = resampled(loads, src)
		} else {
			again = best.perturbed(pts, src)
		}
		l, s, k, p := fit(again).law()
		for i, v := range [4]float64{l, s, k, p} {
			draws[i] = append(draws[i], weighted{v, 1})
		}
	}
	for i, to := range []*Interval{&out.Lambda, &out.Sigma, &out.Kappa, &out.PeakN} {
		to.Low = weightedQuantile(draws[i], (1-confidence)/2)
		to.High = weightedQuantile(draws[i], (1+confidence)/2)
	}
	out.Warnings = out.warn(pts)
	return out
}

const (
	leastLoads = 4 // one more than the law has parameters
	uslDraws   = 400
)

// warn lists what a reader must know before using u.
func (u USL) warn(pts []point) []string {
	var out []string
	if len(pts) < 6 {
		out = append(out, fmt.Sprintf("fitted to %d loads: fewer than six", len(pts)))
	}
	most := 0.0
	for _, p := range pts {
		most = max(most, p.n)
	}
	if u.PeakN.Value > most && !math.IsInf(u.PeakN.Value, 0) {
		out = append(out, fmt.Sprintf("its peak at %.4g lies beyond the greatest load measured, %.4g: extrapolated", u.PeakN.Value, most))
	}
	if u.R2 < 0.9 {
		out = append(out, fmt.Sprintf("fits badly: R² is %.2f", u.R2))
	}
	return out
}

// point is the mean throughput x at load n with its weight.
type point struct{ n, x, w float64 }

// points are the means of loads; nil where a figure is not above 0.
// Repeated says that every load has at least two repeats.
func points(loads []Load) (out []point, repeated bool) {
	repeated = true
	seen := map[float64]bool{}
	for _, l := range loads {
		x := Mean(l.X)
		if !(l.N > 0) || !(x > 0) || !finite(l.X) || math.IsInf(l.N, 0) || seen[l.N] {
			return nil, false
		}
		seen[l.N] = true
		repeated = repeated && len(l.X) >= 2
		out = append(out, point{l.N, x, float64(len(l.X)) / (x * x)})
	}
	return out, repeated
}

// resampled draws the repeats at each load with replacement.
func resampled(loads []Load, src Source) []point {
	var out []point
	for _, l := range loads {
		xs := make([]float64, len(l.X))
		for i := range xs {
			xs[i] = l.X[intN(src, len(l.X))]
		}
		x := Mean(xs)
		out = append(out, point{l.N, x, float64(len(xs)) / (x * x)})
	}
	return out
}

// curve is the law as N ÷ (a + b(N−1) + cN(N−1)): a = 1/λ, b = σ/λ, c = κ/λ.
type curve [3]float64

// terms are what a, b and c are multiplied with at load n.
func terms(n float64) curve { return curve{1, n - 1, n * (n - 1)} }

func (c curve) at(n float64) float64 {
	t := terms(n)
	return n / (c[0]*t[0] + c[1]*t[1] + c[2]*t[2])
}

func (c curve) law() (lambda, sigma, kappa, peak float64) {
	lambda, sigma, kappa = 1/c[0], c[1]/c[0], c[2]/c[0]
	peak = math.Inf(1)
	if kappa > 0 {
		peak = math.Sqrt(max(0, 1-sigma) / kappa)
	}
	return lambda, sigma, kappa, peak
}

// loss is the weighted sum of squared errors; +Inf where c is not a law that
// can be: a ≤ 0, b < 0 or c < 0.
func (c curve) loss(pts []point) float64 {
	if !(c[0] > 0) || !(c[1] >= 0) || !(c[2] >= 0) {
		return math.Inf(1)
	}
	sum := 0.0
	for _, p := range pts {
		e := p.x - c.at(p.n)
		sum += p.w * e * e
	}
	return sum
}

func (c curve) r2(pts []point) float64 {
	sw, sx := 0.0, 0.0
	for _, p := range pts {
		sw += p.w
		sx += p.w * p.x
	}
	total := 0.0
	for _, p := range pts {
		total += p.w * (p.x - sx/sw) * (p.x - sx/sw)
	}
	return 1 - c.loss(pts)/total
}

// perturbed puts resampled relative residuals on the fitted curve. They are
// widened by √(n/(n−3)) for the three parameters that the fit took from them.
func (c curve) perturbed(pts []point, src Source) []point {
	n := float64(len(pts))
	wide := math.Sqrt(n / (n - 3))
	out := make([]point, len(pts))
	for i, p := range pts {
		q := pts[intN(src, len(pts))]
		x := c.at(p.n) * max(0.01, 1+wide*(q.x/c.at(q.n)-1))
		out[i] = point{p.n, x, p.w}
	}
	return out
}

// fit finds the best curve with b, c ≥ 0: the best of the minima on the four
// faces where neither, either or both of b and c are held at 0.
func fit(pts []point) curve {
	var best curve
	least := math.Inf(1)
	for _, free := range [][]int{{0}, {0, 1}, {0, 2}, {0, 1, 2}} {
		if c := minimise(pts, free); c.loss(pts) < least {
			best, least = c, c.loss(pts)
		}
	}
	return best
}

// minimise fits the free parameters, the others at 0, by Levenberg's and
// Marquardt's method from the fit to N/X, in which the law is linear. Steps
// that leave b ≥ 0 or c ≥ 0 count as no better: then the minimum is on
// another face.
func minimise(pts []point, free []int) curve {
	linear := make([]point, len(pts))
	for i, p := range pts { // the error of N/X is N/X² times that of X
		linear[i] = point{p.n, p.n / p.x, p.w * p.x * p.x * p.x * p.x / (p.n * p.n)}
	}
	c := step(linear, free, 0, func(n float64) (float64, curve) { return 0, terms(n) })
	for _, j := range free {
		c[j] = max(c[j], 0)
	}
	if !(c[0] > 0) {
		c = curve{pts[0].n / pts[0].x}
	}
	damping, loss := 1e-3, c.loss(pts)
	for range 200 {
		d := step(pts, free, damping, func(n float64) (float64, curve) {
			x, g := c.at(n), terms(n)
			for j := range g { // ∂X/∂a = −X²/N · term
				g[j] *= -x * x / n
			}
			return x, g
		})
		next := curve{c[0] + d[0], c[1] + d[1], c[2] + d[2]}
		if l := next.loss(pts); l < loss {
			small := loss-l <= 1e-14*loss
			c, loss, damping = next, l, damping/10
			if small {
				break
			}
		} else if damping *= 10; damping > 1e12 {
			break
		}
	}
	return c
}

// step solves the damped normal equations (JᵀWJ + damping·diag) d = JᵀW(x −
// f) over the free parameters; at gives f and its gradient at a load.
func step(pts []point, free []int, damping float64, at func(n float64) (float64, curve)) curve {
	var m [3][4]float64
	for _, p := range pts {
		f, g := at(p.n)
		for i, fi := range free {
			for j, fj := range free {
				m[i][j] += p.w * g[fi] * g[fj]
			}
			m[i][3] += p.w * g[fi] * (p.x - f)
		}
	}
	k := len(free)
	for i := range k {
		m[i][i] *= 1 + damping
	}
	for i := range k { // elimination; the matrix is positive definite
		for r := range k {
			if r == i || m[i][i] == 0 {
				continue
			}
			q := m[r][i] / m[i][i]
			for j := i; j < 4; j++ {
				m[r][j] -= q * m[i][j]
			}
		}
	}
	var d curve
	for i, fi := range free {
		if m[i][i] != 0 {
			d[fi] = m[i][3] / m[i][i]
		}
	}
	return d
}
