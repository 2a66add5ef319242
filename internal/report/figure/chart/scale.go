package chart

import "math"

// Kind is how an Axis maps values to lengths.
type Kind int

// The kinds of axes.
const (
	Linear Kind = iota
	Log         // equal ratios are equal lengths; values must be above 0
	Nines       // percentiles: each further nine (90, 99, 99.9) takes an equal length
)

// most bounds what an axis shows, so that differences stay finite.
const most = 1e300

// warp maps v to the line on which equal lengths are equal steps of k.
func (k Kind) warp(v float64) float64 {
	switch k {
	case Log:
		return math.Log10(max(v, 1e-300))
	case Nines:
		return -math.Log10(1 - min(max(v, 0), 99.99999)/100)
	}
	return v
}

// Scale maps values from Min to Max onto pixels from From to To; what lies
// outside is held at the edge, so that nothing is drawn beyond the plot.
type Scale struct {
	Kind     Kind
	Min, Max float64
	From, To float64
}

// At returns the pixel of v. It is NaN where v is.
func (s Scale) At(v float64) float64 {
	lo, hi := s.Kind.warp(s.Min), s.Kind.warp(s.Max)
	part := (s.Kind.warp(v) - lo) / (hi - lo)
	if part < 0 {
		part = 0
	}
	if part > 1 {
		part = 1
	}
	return s.From + part*(s.To-s.From)
}

// Extent is the range of values seen; its zero value has seen none.
type Extent struct {
	Min, Max float64
	Seen     bool
}

// Add widens e to hold each finite value of vs.
func (e *Extent) Add(vs ...float64) {
	for _, v := range vs {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		v = min(max(v, -most), most)
		if !e.Seen {
			*e = Extent{v, v, true}
		}
		e.Min, e.Max = min(e.Min, v), max(e.Max, v)
	}
}

// AddPositive widens e as Add does, but leaves out what a Log axis cannot
// show.
func (e *Extent) AddPositive(vs ...float64) {
	for _, v := range vs {
		if v > 0 {
			e.Add(v)
		}
	}
}

// ticks returns where marks go on an axis from lo to hi, about n of them, and
// the step between them (0 on axes that are not linear).
func (k Kind) ticks(lo, hi float64, n int) (at []float64, step float64) {
	switch k {
	case Log:
		return logTicks(lo, hi, n), 0
	case Nines:
		for _, p := range []float64{0, 50, 75, 90, 95, 99, 99.5, 99.9, 99.99, 99.999} {
			if p >= lo && p <= hi {
				at = append(at, p)
			}
		}
		return at, 0
	}
	step = niceStep((hi - lo) / float64(max(n, 1)))
	// Counting from a whole number of steps keeps the labels free of
	// rounding; the bound holds where lo + step == lo.
	first := math.Ceil(lo/step - 1e-9)
	for i := range 1 + 3*max(n, 1) {
		v := (first + float64(i)) * step
		if v > hi+step*1e-9 {
			break
		}
		at = append(at, v)
	}
	return at, step
}

// niceStep returns the least of 1, 2 or 5 times a power of ten that is not
// below raw.
func niceStep(raw float64) float64 {
	if !(raw > 0) || math.IsInf(raw, 0) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5} {
		if raw <= m*power*(1+1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// logTicks returns powers of ten, with their 2- and 5-folds where the axis is
// short enough for them, and powers of a power of ten where it is long.
func logTicks(lo, hi float64, n int) []float64 {
	from, to := int(math.Floor(math.Log10(lo)+1e-9)), int(math.Ceil(math.Log10(hi)-1e-9))
	folds := []float64{1}
	if 3*(to-from) <= 2*n {
		folds = []float64{1, 2, 5}
	}
	stride := max(1, (to-from)/max(n, 1))
	var at []float64
	for e := from; e <= to; e += stride {
		for _, f := range folds {
			if v := f * math.Pow(10, float64(e)); v >= lo*(1-1e-9) && v <= hi*(1+1e-9) {
				at = append(at, v)
			}
		}
	}
	return at
}

// widen returns the range that an axis of kind k shows for values from lo to
// hi: never empty, and out to the next tick where loose.
func (k Kind) widen(lo, hi float64, n int, loose bool) (float64, float64) {
	lo, hi = min(max(lo, -most), most), min(max(hi, -most), most)
	if k == Nines {
		lo = min(max(lo, 0), 99)
		return lo, max(hi, lo+0.9)
	}
	if k == Log {
		lo = max(lo, 1e-300)
		hi = max(hi, lo)
		if loose || lo == hi {
			lo, hi = logFloor(lo), logCeil(hi)
		}
		if lo == hi {
			hi *= 10
		}
		return lo, hi
	}
	if !(hi > lo) {
		hi = lo + max(1, math.Abs(lo))
	}
	if loose {
		_, step := k.ticks(lo, hi, n)
		lo, hi = math.Floor(lo/step+1e-9)*step, math.Ceil(hi/step-1e-9)*step
	}
	return lo, hi
}

// logFloor returns the greatest 1, 2 or 5 times a power of ten up to v.
func logFloor(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{5, 2} {
		if v >= m*power*(1-1e-9) {
			return m * power
		}
	}
	return power
}

// logCeil returns the least 1, 2 or 5 times a power of ten from v up.
func logCeil(v float64) float64 { return niceStep(v) }
