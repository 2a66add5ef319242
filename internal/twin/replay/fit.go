package replay

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/loadstone-perf/loadstone/internal/twin/des"
)

// Fit is a model's parameters as the calibrated numbers set them.
type Fit struct {
	Values   map[string]float64 // parameters, and assumptions at their values
	Read     []float64          // what the model then gives for each calibrated number
	Rounds   int
	jacobian *mat.Dense // of log(read) by log(parameter)
}

// runner is what every calculation of a study shares.
type runner struct {
	model   *Model
	hosts   Hosts
	workers int
}

// need lists the experiments that formulas read, in the order of the file.
func (m *Model) need(reads []Expr) []*Experiment {
	names := map[string]bool{}
	for _, e := range reads {
		e.names(func(n string) {
			if x, _, of := strings.Cut(n, "."); of {
				names[x] = true
			}
		})
	}
	var out []*Experiment
	for i := range m.Experiments {
		if names[m.Experiments[i].Name] {
			out = append(out, &m.Experiments[i])
		}
	}
	return out
}

// evaluate runs what reads need at these values and gives what they read.
func (r *runner) evaluate(ctx context.Context, reads []Expr, values map[string]float64, seed uint64) ([]float64, error) {
	all := make(map[string]float64, len(values))
	for k, v := range values {
		all[k] = v
	}
	for _, x := range r.model.need(reads) {
		out, err := r.model.run(ctx, x, r.hosts, values, seed)
		if err != nil {
			return nil, err
		}
		for k, v := range out {
			all[k] = v
		}
	}
	got := make([]float64, len(reads))
	for i, e := range reads {
		got[i] = e.value(all)
	}
	return got, nil
}

// target is the calibrated numbers as a fit meets them: a draw may have moved
// them within their uncertainty.
type target struct {
	reads []Expr
	value []float64
	seed  uint64
}

func targets(rows []Calibrated, seed uint64) target {
	t := target{seed: seed}
	for _, c := range rows {
		t.reads = append(t.reads, c.Reads)
		t.value = append(t.value, c.Value)
	}
	return t
}

// point is parameters in logarithms, in the order of the model.
type point []float64

func (m *Model) start() point {
	p := make(point, len(m.Parameters))
	for i, x := range m.Parameters {
		p[i] = math.Log(x.Start)
	}
	return p
}

// values joins a point with values of the assumptions.
func (m *Model) values(p point, assumed map[string]float64) map[string]float64 {
	out := make(map[string]float64, len(p)+len(assumed))
	for k, v := range assumed {
		out[k] = v
	}
	for i, x := range m.Parameters {
		out[x.Name] = math.Exp(p[i])
	}
	return out
}

// assumed are the assumptions at their values.
func (m *Model) assumed() map[string]float64 {
	out := map[string]float64{}
	for _, a := range m.Assumptions {
		out[a.Name] = a.Value
	}
	return out
}

// residuals are log(read/value) at p, and what was read.
func (r *runner) residuals(ctx context.Context, t target, p point, assumed map[string]float64) (res, read []float64, err error) {
	read, err = r.evaluate(ctx, t.reads, r.model.values(p, assumed), t.seed)
	if err != nil {
		return nil, nil, err
	}
	res = make([]float64, len(read))
	for i, v := range read {
		if !(v > 0) {
			return nil, nil, fmt.Errorf("study %s: the calibrated number %d reads as %g", r.model.Name, i, v)
		}
		res[i] = math.Log(v / t.value[i])
	}
	return res, read, nil
}

// The bounds of a fit: it ends when every number is met within tolerance.
const (
	fitTolerance = 0.004
	maxRounds    = 12
	deriveEvery  = 3
	jacobianStep = 0.25 // in logarithms
	maxStep      = 0.4
	maxHalvings  = 3
	drawRounds   = 3 // of a draw, from the fit's end on
)

// fit finds the parameters whose readings are nearest to the targets, in least
// squares of logarithms, by Gauss's and Newton's method. Readings are noisy, so
// steps of the derivatives are long, and the best point of all counts.
func (r *runner) fit(ctx context.Context, t target) (*Fit, error) {
	m := r.model
	assumed, p := m.assumed(), m.start()
	if len(m.Parameters) == 0 {
		return &Fit{Values: assumed}, nil
	}
	res, read, err := r.residuals(ctx, t, p, assumed)
	if err != nil {
		return nil, err
	}
	f, best := &Fit{Values: m.values(p, assumed), Read: read}, res
	for f.Rounds = 0; f.Rounds < maxRounds && worst(res) > fitTolerance; f.Rounds++ {
		if f.Rounds%deriveEvery == 0 {
			if f.jacobian, err = r.derive(ctx, t, p, assumed, res); err != nil {
				return nil, err
			}
		}
		if p, res, read, err = r.step(ctx, t, f.jacobian, p, res, assumed); err != nil {
			return nil, err
		}
		if worst(res) < worst(best) {
			best, f.Values, f.Read = res, m.values(p, assumed), read
		}
	}
	if f.jacobian == nil {
		if f.jacobian, err = r.derive(ctx, t, p, assumed, res); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// refit moves a fit to other targets and assumptions, and returns the values.
func (r *runner) refit(ctx context.Context, t target, f *Fit, assumed map[string]float64) (map[string]float64, error) {
	p := make(point, len(r.model.Parameters))
	for i, x := range r.model.Parameters {
		p[i] = math.Log(f.Values[x.Name])
	}
	if len(p) == 0 {
		return assumed, nil
	}
	res, _, err := r.residuals(ctx, t, p, assumed)
	best, at := res, p
	for n := 0; err == nil && n < drawRounds && worst(res) > fitTolerance; n++ {
		if p, res, _, err = r.step(ctx, t, f.jacobian, p, res, assumed); err == nil && worst(res) < worst(best) {
			best, at = res, p
		}
	}
	return r.model.values(at, assumed), err
}

func worst(res []float64) (w float64) {
	for _, x := range res {
		w = max(w, math.Abs(x))
	}
	return w
}

// derive differs each parameter by a step and sees what the readings do.
func (r *runner) derive(ctx context.Context, t target, p point, assumed map[string]float64, res []float64) (*mat.Dense, error) {
	columns, err := des.Replicate(ctx, len(p), r.workers, func(ctx context.Context, i int) ([]float64, error) {
		q := slices.Clone(p)
		q[i] += jacobianStep
		moved, _, err := r.residuals(ctx, t, q, assumed)
		return moved, err
	})
	if err != nil {
		return nil, err
	}
	j := mat.NewDense(len(res), len(p), nil)
	for c, moved := range columns {
		for i := range moved {
			j.Set(i, c, (moved[i]-res[i])/jacobianStep)
		}
	}
	return j, nil
}

// step goes from p to the solution of the linear model j. A slight pull to p keeps it off where nothing has an effect.
func (r *runner) step(ctx context.Context, t target, j *mat.Dense, p point, res []float64, assumed map[string]float64) (point, []float64, []float64, error) {
	n := len(p)
	var square, right, d mat.Dense
	square.Mul(j.T(), j)
	for i := range n {
		square.Set(i, i, square.At(i, i)+1e-6)
	}
	right.Mul(j.T(), mat.NewDense(len(res), 1, slices.Clone(res)))
	if err := d.Solve(&square, &right); err != nil {
		return nil, nil, nil, fmt.Errorf("study %s: fitting: %w", r.model.Name, err)
	}
	return r.descend(ctx, t, d, p, res, assumed)
}

// descend goes from p against d, half as far where that made things worse.
func (r *runner) descend(ctx context.Context, t target, d mat.Dense, p point, res []float64, assumed map[string]float64) (q point, after, read []float64, err error) {
	scale := 1.0
	for range maxHalvings {
		q = slices.Clone(p)
		for i, x := range r.model.Parameters {
			q[i] -= scale * min(max(d.At(i, 0), -maxStep), maxStep)
			q[i] = min(max(q[i], math.Log(x.Low)), math.Log(x.High))
		}
		after, read, err = r.residuals(ctx, t, q, assumed)
		if err != nil || floats.Dot(after, after) <= 1.2*floats.Dot(res, res) {
			return q, after, read, err
		}
		scale /= 2
	}
	return q, after, read, nil
}
