package chart

import "math"

// vertex is a point of a drawn line, in pixels; gap says that the line is
// interrupted before it.
type vertex struct {
	x, y float64
	gap  bool
}

// column gathers the values that fall on one column of pixels.
type column struct {
	at                       int
	first, least, most, last int // indices of values
	any                      bool
	gapBefore, gapAfter      bool
}

// thin maps a series to pixels and keeps, for each column of pixels, its
// first, least, greatest and last value: the line looks as it would with all
// points, while its size depends on the width alone. xs rises. A value that is
// not finite interrupts the line, except between values of the same column,
// where no eye could see it.
func thin(xs, ys []float64, x, y Scale) []vertex {
	var out []vertex
	var c column
	flush := func() {
		if !c.any {
			return
		}
		order := []int{c.first, min(c.least, c.most), max(c.least, c.most), c.last}
		for i, k := range order {
			if i > 0 && k == order[i-1] {
				continue
			}
			out = append(out, vertex{x.At(xs[k]), y.At(ys[k]), i == 0 && (c.gapBefore || len(out) == 0)})
		}
	}
	for i := range min(len(xs), len(ys)) {
		if !finite(xs[i]) {
			continue
		}
		at := int(x.At(xs[i]))
		if at != c.at {
			flush()
			c = column{at: at, gapBefore: c.gapAfter || (!c.any && c.gapBefore)}
		}
		if !finite(ys[i]) {
			c.gapBefore = c.gapBefore || !c.any
			c.gapAfter = true
			continue
		}
		if !c.any {
			c.first, c.least, c.most, c.any = i, i, i, true
		}
		if ys[i] < ys[c.least] {
			c.least = i
		}
		if ys[i] > ys[c.most] {
			c.most = i
		}
		c.last, c.gapAfter = i, false
	}
	flush()
	return out
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Bin averages the layers of a stack over n equal spans of x, from lo to hi:
// least-and-greatest values, which show a line well, do not add up. xs rises.
// Spans without a complete value (one in every layer) are left out of x; gap
// says that one or more were, between a span and the one before it, although
// the series has a point there.
func Bin(xs []float64, layers [][]float64, lo, hi float64, n int) (x []float64, means [][]float64, gap []bool) {
	means = make([][]float64, len(layers))
	sums := make([]float64, len(layers))
	missing := true
	for i := 0; i < len(xs); {
		span := spanOf(xs[i], lo, hi, n)
		clear(sums)
		var sumX float64
		var count int
		for ; i < len(xs) && spanOf(xs[i], lo, hi, n) == span; i++ {
			if !complete(layers, i) || !finite(xs[i]) {
				continue
			}
			count++
			sumX += xs[i]
			for k := range layers {
				sums[k] += layers[k][i]
			}
		}
		if count == 0 {
			missing = true
			continue
		}
		x, gap = append(x, sumX/float64(count)), append(gap, missing)
		missing = false
		for k := range layers {
			means[k] = append(means[k], sums[k]/float64(count))
		}
	}
	return x, means, gap
}

func spanOf(v, lo, hi float64, n int) int {
	if !finite(v) || !(hi > lo) {
		return 0
	}
	return min(max(int((v-lo)/(hi-lo)*float64(n)), 0), n-1)
}

func complete(layers [][]float64, i int) bool {
	for _, l := range layers {
		if i >= len(l) || !finite(l[i]) {
			return false
		}
	}
	return len(layers) > 0
}
