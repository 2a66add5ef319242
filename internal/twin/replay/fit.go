package replay

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

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
	depends map[string][]string // names that an experiment's results depend on
	mu      sync.Mutex          // for known, which every worker reads and fills
	known   map[string]map[string]float64
}

func newRunner(m *Model, hosts Hosts, workers int) *runner {
	r := &runner{model: m, hosts: hosts, workers: workers, depends: map[string][]string{}, known: map[string]map[string]float64{}}
	for i := range m.Experiments {
		x := &m.Experiments[i]
		r.depends[x.Name] = m.depends(x)
	}
	return r
}

// depends lists the names in the formulas of x and of its databases.
func (m *Model) depends(x *Experiment) []string {
	all := x.formulas()
	for _, mc := range x.Machines {
		for i := range m.Databases {
			if m.Databases[i].Name == mc.Database {
				all = append(all, m.Databases[i].formulas()...)
			}
		}
	}
	var out []string
	for _, e := range all {
		e.names(func(n string) { out = append(out, n) })
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// run gives the results of x. A run is a function of its formulas' values and
// the seed, so one that was made before is not made again: a derivative moves
// one name, and most experiments do not depend on it.
func (r *runner) run(ctx context.Context, x *Experiment, values map[string]float64, seed uint64) (map[string]float64, error) {
	key := fmt.Sprint(x.Name, seed)
	for _, n := range r.depends[x.Name] {
		key += fmt.Sprintf(" %x", values[n])
	}
	r.mu.Lock()
	out, ok := r.known[key]
	r.mu.Unlock()
	if ok {
		return out, nil
	}
	out, err := r.model.run(ctx, x, r.hosts, values, seed)
	if err == nil {
		r.mu.Lock()
		r.known[key] = out
		r.mu.Unlock()
	}
	return out, err
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

// evaluate runs what reads need at these values, on so many workers, and gives
// what they read, and all results. known has results of the same values and
// seed, or is nil.
func (r *runner) evaluate(ctx context.Context, reads []Expr, values map[string]float64, seed uint64, known map[string]float64, workers int) (got []float64, all map[string]float64, err error) {
	all = make(map[string]float64, len(values)+len(known))
	maps.Copy(all, known)
	maps.Copy(all, values)
	need := slices.DeleteFunc(r.model.need(reads), func(x *Experiment) bool {
		_, done := all[x.Name+"."+x.mark()]
		return done
	})
	results, err := des.Replicate(ctx, len(need), workers, func(ctx context.Context, i int) (map[string]float64, error) {
		return r.run(ctx, need[i], values, seed)
	})
	if err != nil {
		return nil, nil, err
	}
	for _, out := range results {
		maps.Copy(all, out)
	}
	got = make([]float64, len(reads))
	for i, e := range reads {
		got[i] = e.value(all)
	}
	return got, all, nil
}

// mark is an output that every run of x has.
func (x *Experiment) mark() string {
	if x.Stream != nil {
		return "gbps"
	}
	return "tps"
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

// state is where a fit stands.
type state struct {
	at   point
	res  []float64 // log(read/value) of each calibrated number
	read []float64
	all  map[string]float64 // parameters, assumptions and results
}

// worst is the greatest residual without sign.
func (s state) worst() float64 { return floats.Norm(s.res, math.Inf(1)) }

func (r *runner) state(ctx context.Context, t target, p point, assumed map[string]float64, workers int) (state, error) {
	read, all, err := r.evaluate(ctx, t.reads, r.model.values(p, assumed), t.seed, nil, workers)
	if err != nil {
		return state{}, err
	}
	res := make([]float64, len(read))
	for i, v := range read {
		if !(v > 0) {
			return state{}, fmt.Errorf("study %s: the calibrated number %d reads as %g", r.model.Name, i, v)
		}
		res[i] = math.Log(v / t.value[i])
	}
	return state{p, res, read, all}, nil
}

// The bounds of a fit: it ends when every number is met within tolerance.
const (
	fitTolerance   = 0.004 // in logarithms, as all here
	refitTolerance = 0.008
	maxRounds      = 12
	deriveEvery    = 3
	jacobianStep   = 0.25
	maxStep        = 0.4
	maxHalvings    = 3
	leastUpdate    = 0.02 // a step from which the derivatives learn
	drawRounds     = 5    // of a draw, from the fit's end on
	effectRounds   = 3    // of an assumption's effect
)

// fit finds the parameters whose readings are nearest to the targets, in least
// squares of logarithms, by Gauss's and Newton's method. Readings are noisy, so
// steps of the derivatives are long, and the best point of all counts.
func (r *runner) fit(ctx context.Context, t target) (*Fit, error) {
	m := r.model
	assumed := m.assumed()
	if len(m.Parameters) == 0 {
		return &Fit{Values: assumed}, nil
	}
	now, err := r.state(ctx, t, m.start(), assumed, r.workers)
	if err != nil {
		return nil, err
	}
	f, best := &Fit{}, now
	for f.Rounds = 0; f.Rounds < maxRounds && now.worst() > fitTolerance; f.Rounds++ {
		if f.Rounds%deriveEvery == 0 {
			if f.jacobian, err = r.derive(ctx, t, now, assumed); err != nil {
				return nil, err
			}
		}
		if now, err = r.step(ctx, t, f.jacobian, now, assumed, r.workers); err != nil {
			return nil, err
		}
		if now.worst() < best.worst() {
			best = now
		}
	}
	if f.jacobian == nil {
		if f.jacobian, err = r.derive(ctx, t, best, assumed); err != nil {
			return nil, err
		}
	}
	f.Values, f.Read = m.values(best.at, assumed), best.read
	return f, nil
}

// refit moves a fit to other targets and assumptions in at most so many rounds,
// and returns the values and what was calculated with them.
func (r *runner) refit(ctx context.Context, t target, f *Fit, assumed map[string]float64, rounds int) (values, all map[string]float64, err error) {
	p := make(point, len(r.model.Parameters))
	for i, x := range r.model.Parameters {
		p[i] = math.Log(f.Values[x.Name])
	}
	if len(p) == 0 {
		return assumed, nil, nil
	}
	now, err := r.state(ctx, t, p, assumed, 1)
	best, j := now, mat.DenseCopyOf(f.jacobian)
	for n := 0; err == nil && n < rounds && now.worst() > refitTolerance; n++ {
		before := now
		if now, err = r.step(ctx, t, j, now, assumed, 1); err == nil {
			learn(j, before, now)
			if now.worst() < best.worst() {
				best = now
			}
		}
	}
	return r.model.values(best.at, assumed), best.all, err
}

// learn corrects derivatives by what a step did (Broyden, 1965): other
// assumptions have other derivatives. Short steps teach noise.
func learn(j *mat.Dense, from, to state) {
	step := slices.Clone(to.at)
	floats.Sub(step, from.at)
	square := floats.Dot(step, step)
	if square < leastUpdate*leastUpdate {
		return
	}
	for i := range to.res {
		missed := to.res[i] - from.res[i]
		for c, s := range step {
			missed -= j.At(i, c) * s
		}
		for c, s := range step {
			j.Set(i, c, j.At(i, c)+missed*s/square)
		}
	}
}

// derive differs each parameter by a step and sees what the readings do.
func (r *runner) derive(ctx context.Context, t target, now state, assumed map[string]float64) (*mat.Dense, error) {
	columns, err := des.Replicate(ctx, len(now.at), r.workers, func(ctx context.Context, i int) ([]float64, error) {
		q := slices.Clone(now.at)
		q[i] += jacobianStep
		moved, err := r.state(ctx, t, q, assumed, 1)
		return moved.res, err
	})
	if err != nil {
		return nil, err
	}
	j := mat.NewDense(len(now.res), len(now.at), nil)
	for c, moved := range columns {
		for i := range moved {
			j.Set(i, c, (moved[i]-now.res[i])/jacobianStep)
		}
	}
	return j, nil
}

// step goes to the solution of the linear model j, and half as far where that
// made things worse. A slight pull keeps it where nothing has an effect.
func (r *runner) step(ctx context.Context, t target, j *mat.Dense, now state, assumed map[string]float64, workers int) (next state, err error) {
	var square, right, d mat.Dense
	square.Mul(j.T(), j)
	for i := range now.at {
		square.Set(i, i, square.At(i, i)+1e-6)
	}
	right.Mul(j.T(), mat.NewDense(len(now.res), 1, slices.Clone(now.res)))
	if err := d.Solve(&square, &right); err != nil {
		return state{}, fmt.Errorf("study %s: fitting: %w", r.model.Name, err)
	}
	scale := 1.0
	for range maxHalvings {
		q := slices.Clone(now.at)
		for i, x := range r.model.Parameters {
			q[i] -= scale * min(max(d.At(i, 0), -maxStep), maxStep)
			q[i] = min(max(q[i], math.Log(x.Low)), math.Log(x.High))
		}
		next, err = r.state(ctx, t, q, assumed, workers)
		if err != nil || floats.Dot(next.res, next.res) <= 1.2*floats.Dot(now.res, now.res) {
			return next, err
		}
		scale /= 2
	}
	return next, nil
}
