package analyse

import (
	"fmt"
	"math"
)

// wholeCycles narrows a window to whole checkpoint cycles where the study
// asks for them: from the end of a checkpoint to the end of a later one, for
// every instance at once. Else a window may hold the quiet part of one cycle
// and a second window the busy part of the next. Too few cycles are no steady
// state. Where the load has a profile, its whole passes go before whole
// checkpoint cycles: the load is what was asked for.
func wholeCycles(w Window, r raw, p *profile) Window {
	asked := r.trial.Load.Checkpoints
	if asked == 0 {
		return w
	}
	ends := make([][]float64, len(r.database))
	start, end := w.Start, w.End
	for i, c := range r.database {
		if ends[i] = checkpointEnds(columns{c}, w.Start, w.End); len(ends[i]) > 0 {
			start, end = math.Max(start, ends[i][0]), math.Min(end, ends[i][len(ends[i])-1])
		}
	}
	cycles := math.MaxInt
	for _, at := range ends {
		n := -1
		for _, t := range at {
			if t >= start-1 && t <= end+1 {
				n++
			}
		}
		cycles = min(cycles, max(0, n))
	}
	if len(ends) == 0 || cycles < asked {
		w.Steady = false
		w.Why = fmt.Sprintf("the window holds %s instead of the %d asked for; %s", count(min(cycles, asked), "whole checkpoint cycle"), asked, w.Why)
		return w
	}
	w.Start, w.End = math.Ceil(start-slack), math.Floor(end+slack)
	p.trim(&w)
	w.Why = fmt.Sprintf("%s to %s s, %s; before that: %s", figure(w.Start), figure(w.End), count(cycles, "whole checkpoint cycle"), w.Why)
	return w
}

// checkpointEnds are the times of the samples at which a checkpoint had been
// completed since the sample before, between two times.
func checkpointEnds(c columns, from, to float64) (out []float64) {
	before := nan()
	for i, at := range c.At {
		n := nan()
		for _, name := range []string{"checkpoints_timed", "checkpoints_requested"} {
			if v, total := c.of(name); total && i < len(v) {
				n = plus(n, v[i])
			}
		}
		if n > before && at >= from && at <= to {
			out = append(out, at)
		}
		if !math.IsNaN(n) {
			before = n
		}
	}
	return out
}
