// Package replay calculates published studies again on the twin.
//
// A file a study (studies/*/replay.yaml) has the experiments as configurations
// of a host model, every published number, and for each whether it sets a
// parameter or is predicted. The steps: parse the file; fit the parameters to
// the calibrated numbers; calculate the predictions at the fit, and again at
// draws of everything that is uncertain, each fitted anew, for an interval;
// see what the assumptions do; write the page.
//
// A fit gets the model and the calibrated numbers only: predictions are of a
// type of their own, and no formula can read a published number.
package replay

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/twin/des"
)

// Options say how much is calculated.
type Options struct {
	Draws       int  // for intervals; at least 2
	Sensitivity bool // also move each assumption by half
	Workers     int
	Seed        uint64
}

// repeatability is how far a measured throughput lies from the mean of many
// runs, relative, as a standard deviation: the only published study that
// states its own says under 1 %.
const repeatability = 0.01

// sensitivityStep is how far Sensitivity moves an assumption.
const sensitivityStep = 0.5

// Result is a study that was calculated again.
type Result struct {
	Study      *Study
	Fit        *Fit
	Parameters []Interval // in the order of the study's
	Outcomes   []Outcome  // in the order of the study's predictions
	Effects    []Effect   // by assumption; nil without Sensitivity
}

// Interval is where 90 % of the draws lie.
type Interval struct{ Low, High float64 }

// Outcome is one prediction.
type Outcome struct {
	Prediction
	Ours float64
	Interval
}

// Effect is what an assumption does: the relative change of each prediction
// where it is half as great, and half as great again.
type Effect struct {
	Assumption
	Low, High []float64
}

// Run calculates a study.
func Run(ctx context.Context, s *Study, hosts Hosts, o Options) (*Result, error) {
	if o.Draws < 2 || o.Workers < 1 {
		return nil, fmt.Errorf("%d draws on %d workers: at least 2 and 1", o.Draws, o.Workers)
	}
	r := &runner{model: &s.Model, hosts: hosts, workers: o.Workers}
	f, err := r.fit(ctx, targets(s.Calibrated, o.Seed))
	if err != nil {
		return nil, fmt.Errorf("calibrating %s: %w", s.Name, err)
	}
	reads := make([]Expr, len(s.Predicted))
	for i, p := range s.Predicted {
		reads[i] = p.Reads
	}
	ours, _, err := r.evaluate(ctx, reads, f.Values, o.Seed, nil)
	if err != nil {
		return nil, fmt.Errorf("predicting %s: %w", s.Name, err)
	}
	draws, err := des.Replicate(ctx, o.Draws, o.Workers, func(ctx context.Context, i int) (drawn, error) {
		return r.draw(ctx, s, f, reads, rng.At(o.Seed, rng.Name("draw"), rng.Name(s.Name), uint64(i)))
	})
	if err != nil {
		return nil, fmt.Errorf("drawing for %s: %w", s.Name, err)
	}
	out := &Result{Study: s, Fit: f}
	for i, p := range s.Parameters {
		at := f.Values[p.Name]
		out.Parameters = append(out.Parameters, interval(draws, at, func(d drawn) float64 { return d.values[s.Parameters[i].Name] }))
	}
	for i, p := range s.Predicted {
		in := interval(draws, ours[i], func(d drawn) float64 { return d.read[i] })
		if p.Sense == Equal {
			in.Low, in.High = in.Low-p.Rounding, in.High+p.Rounding
		}
		out.Outcomes = append(out.Outcomes, Outcome{p, ours[i], in})
	}
	if o.Sensitivity {
		out.Effects, err = r.effects(ctx, s, f, reads, ours, o.Seed)
	}
	return out, err
}

// drawn is one draw: parameters and what the predictions then read.
type drawn struct {
	values map[string]float64
	read   []float64
}

// draw moves each calibrated number within its rounding and repeatability and
// each assumption within its range, fits again and predicts, all on a seed of
// its own.
func (r *runner) draw(ctx context.Context, s *Study, f *Fit, reads []Expr, stream rng.Stream) (drawn, error) {
	t := targets(s.Calibrated, stream.Uint64())
	for i, c := range s.Calibrated {
		t.value[i] = (c.Value + c.Rounding*(2*stream.Float64()-1)) * math.Exp(repeatability*normal(&stream))
	}
	assumed := map[string]float64{}
	for _, a := range s.Assumptions {
		assumed[a.Name] = a.Low + (a.High-a.Low)*stream.Float64()
	}
	values, all, err := r.refit(ctx, t, f, assumed, drawRounds)
	if err != nil {
		return drawn{}, err
	}
	read, _, err := r.evaluate(ctx, reads, values, t.seed, all)
	for i := range read {
		read[i] *= math.Exp(repeatability * normal(&stream))
	}
	return drawn{values, read}, err
}

// normal draws from the standard normal distribution (Box and Muller, 1958).
func normal(s *rng.Stream) float64 {
	return math.Sqrt(2*s.Exp(1)) * math.Cos(2*math.Pi*s.Float64())
}

// interval is the 90 % interval of one more draw, after Student, and covers
// the value at the fit itself. Positive quantities are drawn by factors, so
// theirs is one of logarithms.
func interval(draws []drawn, at float64, read func(drawn) float64) Interval {
	x, positive := make([]float64, len(draws)), at > 0
	for i, d := range draws {
		x[i] = read(d)
		positive = positive && x[i] > 0
	}
	if positive {
		for i := range x {
			x[i] = math.Log(x[i])
		}
	}
	n := float64(len(x))
	mean, sd := stat.MeanStdDev(x, nil)
	half := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(0.95) * sd * math.Sqrt(1+1/n)
	low, high := mean-half, mean+half
	if positive {
		low, high = math.Exp(low), math.Exp(high)
	}
	return Interval{min(low, at), max(high, at)}
}

// effects moves each assumption alone, fits again and predicts.
func (r *runner) effects(ctx context.Context, s *Study, f *Fit, reads []Expr, ours []float64, seed uint64) ([]Effect, error) {
	changes, err := des.Replicate(ctx, 2*len(s.Assumptions), r.workers, func(ctx context.Context, i int) ([]float64, error) {
		a := s.Assumptions[i/2]
		assumed := s.assumed()
		assumed[a.Name] = max(a.Least, a.Value*(1+sensitivityStep*float64(2*(i%2)-1)))
		values, all, err := r.refit(ctx, targets(s.Calibrated, seed), f, assumed, effectRounds)
		if err != nil {
			return nil, err
		}
		read, _, err := r.evaluate(ctx, reads, values, seed, all)
		for j := range read {
			read[j] = read[j]/ours[j] - 1
		}
		return read, err
	})
	if err != nil {
		return nil, fmt.Errorf("sensitivity of %s: %w", s.Name, err)
	}
	var out []Effect
	for i, a := range s.Assumptions {
		out = append(out, Effect{a, changes[2*i], changes[2*i+1]})
	}
	return out, nil
}

// Verdict says how a prediction did.
type Verdict string

// The verdicts. A tie is an ordering that the interval leaves open.
const (
	Right Verdict = "right"
	Tie   Verdict = "tie"
	Wrong Verdict = "wrong"
)

// failedError is the relative error from which on a prediction counts as
// failed.
const failedError = 0.15

// Error is the relative error of a number; 0 for orderings and bounds.
func (o Outcome) Error() float64 {
	if o.Sense != Equal {
		return 0
	}
	return o.Ours/o.Value - 1
}

// Covered says whether the interval holds the published number.
func (o Outcome) Covered() bool { return o.Low <= o.Value && o.Value <= o.High }

// Verdict compares ours with the published number.
func (o Outcome) Verdict() Verdict {
	var right bool
	low, high := o.Value, o.Value
	switch o.Sense {
	case Greater:
		right = o.Ours > o.Value
	case Less:
		right = o.Ours < o.Value
	case Similar:
		low, high = o.Value*(1-o.Within), o.Value*(1+o.Within)
		right = low <= o.Ours && o.Ours <= high
		if right || o.High >= low && o.Low <= high {
			return map[bool]Verdict{true: Right, false: Tie}[right]
		}
		return Wrong
	default:
		if math.Abs(o.Error()) > failedError || math.IsNaN(o.Ours) {
			return Wrong
		}
		return Right
	}
	if o.Low < low && o.High > high {
		return Tie
	}
	if right {
		return Right
	}
	return Wrong
}
