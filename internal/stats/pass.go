package stats

import (
	"math"
)

// Passes is what differs between the passes of a series that repeats itself.
type Passes struct {
	Mean float64 // of all values
	// Drift is the straight trend of the passes' means, from the beginning of
	// the first to the end of the last.
	Drift, DriftP float64
	// Shift is the mean of the passes from At on less that of those before,
	// where it is clearest. ShiftP is corrected for the choice of At.
	At            int
	Shift, ShiftP float64
}

// BetweenPasses tests whether passes differ: table[k][j] is the value at place
// j of pass k, all passes being as long. Places at which a pass has no value
// (NaN) are left out.
//
// Each value is taken for shape(j) + pass(k) + noise. The shape falls out of
// every difference of passes, whatever it is; the noise is what both leave
// over, with (K−1)(P−1) degrees of freedom for K passes of P places. A pass's
// mean has the variance σ²/P·(1+ρ)/(1−ρ), ρ being the correlation of neighbours
// as in an AR(1) process, freed of its bias of about −(2+4ρ)/P. From eight passes
// on it is a sixth of the mean square of the means' second differences where
// that is more than twice as much: passes then differ from each other by more
// than their own noise explains. A trend is in no second difference, and the
// two that a shift would be in are left out.
// Trend and shift are contrasts of the means, tested with Student's t; the
// shift after Bonferroni for its K−1 places.
//
// Fewer than two passes or places with all values give NaN.
func BetweenPasses(table [][]float64) Passes {
	nan := math.NaN()
	out := Passes{nan, nan, nan, 0, nan, nan}
	rows := complete(table)
	if len(rows) < 2 || len(rows[0]) < 2 {
		return out
	}
	means := make([]float64, len(rows))
	for k, r := range rows {
		means[k] = Mean(r)
	}
	out.Mean = Mean(means)
	k := float64(len(means))
	slope, weight, clearest := 0.0, 0.0, -1.0
	for i, m := range means {
		c := float64(i) - (k-1)/2
		slope += c * m
		weight += c * c
		if i == 0 {
			continue
		}
		a, b := float64(i), k-float64(i)
		d := Mean(means[i:]) - Mean(means[:i])
		if clear := math.Abs(d) * math.Sqrt(a*b/(a+b)); clear > clearest {
			clearest, out.At, out.Shift = clear, i, d
		}
	}
	v, df := passVariance(rows, means, out.Mean)
	if between, few := restless(means, out.At); between > 2*v {
		v, df = between, few
	}
	out.Drift, out.DriftP = slope/weight*k, meanP(slope/weight, math.Sqrt(v/weight), df)
	a, b := float64(out.At), k-float64(out.At)
	out.ShiftP = min(1, (k-1)*meanP(out.Shift, math.Sqrt(v*(1/a+1/b)), df))
	return out
}

// complete are the columns of table in which every row has a value.
func complete(table [][]float64) [][]float64 {
	if len(table) == 0 {
		return nil
	}
	out := make([][]float64, len(table))
	for j := range table[0] {
		there := true
		for _, r := range table {
			there = there && j < len(r) && !math.IsNaN(r[j]) && !math.IsInf(r[j], 0)
		}
		for k, r := range table {
			if there {
				out[k] = append(out[k], r[j])
			}
		}
	}
	return out
}

// passVariance is the variance of one pass's mean by chance, with its degrees
// of freedom.
func passVariance(rows [][]float64, means []float64, mean float64) (v, df float64) {
	k, p := float64(len(rows)), float64(len(rows[0]))
	squares, lagged := 0.0, 0.0
	rest := make([]float64, len(rows[0]))
	for i, r := range rows {
		for j, x := range r {
			shape := 0.0
			for _, other := range rows {
				shape += other[j] / k
			}
			rest[j] = x - shape - means[i] + mean
			squares += rest[j] * rest[j]
			if j > 0 {
				lagged += rest[j] * rest[j-1]
			}
		}
	}
	if squares > 0 {
		rho := lagged / squares
		rho = min(max(rho+(2+4*rho)/p, 0), 0.9)
		wide := (1 + rho) / (1 - rho)
		v, df = squares/((k-1)*(p-1))/p*wide, max(1, (k-1)*(p-1)/wide)
	} else {
		df = 1
	}
	return v, df
}

// restless is the variance of means by their second differences but those that
// reach over a shift before value at; 0 for fewer than eight means. Second
// differences overlap, with correlations of −4/6 and 1/6: n of their squares
// tell as much as n ÷ (1 + 2·(4/6)² + 2·(1/6)²) = n·18/35 that do not.
func restless(means []float64, at int) (v, df float64) {
	const enough = 8
	if len(means) < enough {
		return 0, 1
	}
	n := 0.0
	for i := 1; i+1 < len(means); i++ {
		if i == at || i+1 == at {
			continue
		}
		d := means[i+1] - 2*means[i] + means[i-1]
		v += d * d / 6
		n++
	}
	return v / n, max(1, n*18/35)
}
