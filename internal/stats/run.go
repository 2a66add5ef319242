package stats

import "math"

// Autocorrelation is the lag-k autocorrelation of xs,
// Σ (x_i−x̄)(x_{i+k}−x̄) ÷ Σ (x_i−x̄)²; NaN where xs is constant or k is not
// in 0…n−1.
func Autocorrelation(xs []float64, k int) float64 {
	if k < 0 || k >= len(xs) {
		return math.NaN()
	}
	mean, num, den := Mean(xs), 0.0, 0.0
	for i, x := range xs {
		den += (x - mean) * (x - mean)
		if i+k < len(xs) {
			num += (x - mean) * (xs[i+k] - mean)
		}
	}
	if den == 0 {
		return math.NaN()
	}
	return num / den
}

// RunMean is the mean of one run's autocorrelated series with an interval.
type RunMean struct {
	Interval
	Batch   int // values in a batch
	Batches int
	// Rho is the lag-1 autocorrelation left between the means of batches, for
	// which the interval is widened.
	Rho float64
	// Resolved is false where even the largest batches were still correlated:
	// the run is too short for its correlation, and the interval too narrow.
	Resolved bool
}

// MeanOfRun estimates the steady mean of a stationary, autocorrelated series.
// Values are joined in batches, without overlap, that double in size until
// von Neumann's test no longer sees correlation between the means of batches
// (Fishman, "Grouping observations in digital simulation", Management Science
// 24, 1978) or only 16 to 31 batches are left. What correlation ρ remains
// widens the variance by (1+ρ)/(1−ρ), as for an AR(1) process (Steiger et al.,
// "ASAP3", ACM TOMACS 15, 2005), and Student's t has as many degrees of
// freedom as batches less one. Under 16 values there is no interval.
//
// Simulated on AR(1) series it covers 93 to 96 % for a stated 95 % as long as
// the run is longer than about 100 correlation times; see its tests.
func MeanOfRun(xs []float64, confidence float64) RunMean {
	out := RunMean{Interval: Interval{Value: Mean(xs), Low: math.NaN(), High: math.NaN(), Level: confidence, N: len(xs)}, Rho: math.NaN()}
	if len(xs) < leastBatches || !level(confidence) || !finite(xs) {
		return out
	}
	size := 1
	means := xs
	for correlated(means) && len(xs)/(size*2) >= leastBatches {
		size *= 2
		means = batchMeans(xs, size)
	}
	out.Batch, out.Batches, out.Resolved = size, len(means), !correlated(means)
	n := float64(len(means))
	// The estimate of ρ is biased by about −(1+4ρ)/n (Kendall, 1954).
	rho := Autocorrelation(means, 1)
	if math.IsNaN(rho) { // constant
		rho = 0
	}
	rho = min(max(rho+(1+4*rho)/n, 0), 0.9)
	out.Rho = rho
	half := tQuantile((1+confidence)/2, n-1) * math.Sqrt(Variance(means)/n*(1+rho)/(1-rho))
	out.Low, out.High = out.Value-half, out.Value+half
	return out
}

// leastBatches bounds how far MeanOfRun joins values: with fewer batches
// their variance is not known well enough.
const leastBatches = 16

// correlated tests means for positive lag-1 correlation at 20 %: the weak
// level makes the test join batches in doubt. Von Neumann's ratio is close to
// normal with variance (n−2)/(n²−1) of ρ̂ + end terms.
func correlated(means []float64) bool {
	n := float64(len(means))
	den := Variance(means) * (n - 1)
	if den == 0 {
		return false
	}
	sum := 0.0
	for i := 1; i < len(means); i++ {
		d := means[i] - means[i-1]
		sum += d * d
	}
	c := 1 - sum/(2*den)
	return c > 0.8416*math.Sqrt((n-2)/(n*n-1))
}

// batchMeans are the means of whole batches; the values left over at the
// start, where a warm-up would lie, are left out.
func batchMeans(xs []float64, size int) []float64 {
	if size < 1 {
		return nil
	}
	xs = xs[len(xs)%size:]
	out := make([]float64, 0, len(xs)/size)
	for ; len(xs) > 0; xs = xs[size:] {
		out = append(out, Mean(xs[:size]))
	}
	return out
}

// Cut is where a warm-up ends.
type Cut struct {
	At int // values to leave out, a multiple of 5; 0 where Known is false
	// Late says that the best cut lies at the middle of the series or beyond:
	// nothing in it can be called steady.
	Late  bool
	Known bool // false where the series is too short (under 50 values) or not finite
}

// MSER5 finds how much of the start of xs to leave out: the cut d, in batches
// of five values, that minimises the marginal standard error
// Σ_{j≥d} (y_j − ȳ_d)² ÷ (m−d)² of the m batch means (White, Cobb and Spratt,
// "A comparison of five steady-state truncation heuristics for simulation",
// WSC 2000). Cuts in the second half are not searched: there the few means
// left make the statistic small by chance.
func MSER5(xs []float64) Cut {
	const batch, fewest = 5, 10
	m := len(xs) / batch
	if m < fewest || !finite(xs) {
		return Cut{}
	}
	var y []float64
	for i := range m { // batches count from the start: a cut must fall between them
		y = append(y, Mean(xs[i*batch:(i+1)*batch]))
	}
	centre := Mean(y) // sums of squares about a near value keep their digits
	best, bestAt := math.Inf(1), 0
	sum, squares := 0.0, 0.0
	for d := m - 1; d >= 0; d-- {
		v := y[d] - centre
		sum += v
		squares += v * v
		left := float64(m - d)
		if d > m/2 {
			continue
		}
		// ≤ prefers the earlier cut among equals.
		if z := max(0, squares-sum*sum/left) / (left * left); z <= best {
			best, bestAt = z, d
		}
	}
	return Cut{At: bestAt * batch, Late: bestAt == m/2, Known: true}
}
