package stats

import "math"

// Spearman is Spearman's rank correlation of xs and ys: the product-moment
// correlation of their ranks, equal values sharing the mean of theirs
// (Kendall, Rank Correlation Methods, 1970, chapter 3). It is 1 where y always
// rises with x and -1 where it always falls. NaN unless there are at least
// three pairs, as many of each, all finite, and neither is constant.
func Spearman(xs, ys []float64) float64 {
	if len(xs) != len(ys) || len(xs) < 3 || !finite(xs) || !finite(ys) {
		return math.NaN()
	}
	a, b := ranks(xs), ranks(ys)
	// The mean of ranks is the same whatever ties there are.
	mean := float64(len(xs)+1) / 2
	var both, one, two float64
	for i := range a {
		x, y := a[i]-mean, b[i]-mean
		both, one, two = both+x*y, one+x*x, two+y*y
	}
	if one == 0 || two == 0 {
		return math.NaN()
	}
	return both / math.Sqrt(one*two)
}
