package analyse

import (
	"fmt"
	"math"

	"github.com/loadstone-perf/loadstone/internal/stats"
)

// Spread is the standard deviation of throughput between repeats, in percent,
// pooled over the configurations of s with at least two; the error says where
// there is none.
func (s *Study) Spread() (float64, error) {
	squares, freedom := 0.0, 0.0
	for _, c := range s.Cells {
		var xs []float64
		for _, i := range c.Trials {
			xs = append(xs, s.Trials[i].Throughput)
		}
		if m := stats.Mean(xs); len(xs) > 1 && m > 0 {
			n := float64(len(xs) - 1)
			squares += n * stats.Variance(xs) / (m * m)
			freedom += n
		}
	}
	if freedom == 0 {
		return 0, fmt.Errorf("study %q has no configuration with two repeats: nothing tells how far repeats differ", s.Name)
	}
	return 100 * math.Sqrt(squares/freedom), nil
}

// Bought is the half width of the 95 % interval, in percent of throughput,
// that so many repeats will have where they differ by spread percent.
func Bought(spread float64, repeats int) Number {
	return Number(stats.ExpectedHalfWidth(spread, repeats, confidence))
}
