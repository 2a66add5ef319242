// Package replay calculates published studies again on the twin.
//
// A file a study (studies/*/replay.yaml) has the experiments as configurations
// of a host model, every published number, and for each whether it sets a
// parameter or is predicted. The steps: parse the file; fit the parameters to
// the calibrated numbers; calculate the predictions at the fit, and again at
// draws of everything that is uncertain, each fitted anew, for an interval;
// see what the assumptions do; write the page.
//
// An interval says where a new measurement would lie: it has the draws, the
// repeatability of measurements, and the error that models of this kind are
// known to have even where all their inputs are right.
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

// How far a queueing network model errs where its inputs are right, in nine
// cases of ten: Lazowska, Zahorjan, Graham and Sevcik (Quantitative System
// Performance, 1984, chapter 1) report 5 to 10 % for throughputs and
// utilisations and 10 to 30 % for response times; these are the middles. Both
// were fixed before any study was calculated with them.
const (
	rateError = 0.075
	timeError = 0.20
)

// normal95 is the 95 % quantile of the standard normal distribution.
const normal95 = 1.6449

// sensitivityStep is how far Sensitivity moves an assumption at least.
const sensitivityStep = 0.5

// Result is a study that was calculated again.
type Result struct {
	Study        *Study
	Fit          *Fit
	Parameters   []Interval    // in the order of the study's
	Calibrations []Calibration // in the order of the study's
	Outcomes     []Outcome     // in the order of the study's predictions
	Effects      []Effect      // by assumption; nil without Sensitivity
}

// Interval holds 90 % of what may be.
type Interval struct{ Low, High float64 }

// Calibration is a calibrated number as the fit, and the fits of the draws,
// meet it.
type Calibration struct {
	Calibrated
	Ours float64
	Interval
}

// Outcome is one prediction.
type Outcome struct {
	Prediction
	Ours     float64
	Interval          // of a new measurement
	Drawn    Interval // of the draws alone
}

// Effect is what an assumption does: the relative change of each prediction
// at Moved's ends.
type Effect struct {
	Assumption
	Low, High []float64
}

// Run calculates a study.
func Run(ctx context.Context, s *Study, hosts Hosts, o Options) (*Result, error) {
	if o.Draws < 2 || o.Workers < 1 {
		return nil, fmt.Errorf("%d draws on %d workers: at least 2 and 1", o.Draws, o.Workers)
	}
	r := newRunner(&s.Model, hosts, o.Workers)
	f, err := r.fit(ctx, targets(s.Calibrated, o.Seed))
	if err != nil {
		return nil, fmt.Errorf("calibrating %s: %w", s.Name, err)
	}
	reads := s.reads()
	ours, _, err := r.evaluate(ctx, reads, f.Values, o.Seed, nil, o.Workers)
	if err != nil {
		return nil, fmt.Errorf("predicting %s: %w", s.Name, err)
	}
	draws, err := des.Replicate(ctx, o.Draws, o.Workers, func(ctx context.Context, i int) (drawn, error) {
		return r.draw(ctx, s, f, reads, rng.At(o.Seed, rng.Name("draw"), rng.Name(s.Name), uint64(i)))
	})
	if err != nil {
		return nil, fmt.Errorf("drawing for %s: %w", s.Name, err)
	}
	out := s.result(f, ours, draws)
	if o.Sensitivity {
		out.Effects, err = r.effects(ctx, s, f, reads[:len(s.Predicted)], ours, o.Seed)
	}
	return out, err
}

// reads are the formulas of the predictions, and then of the calibrated
// numbers.
func (s *Study) reads() []Expr {
	var out []Expr
	for _, p := range s.Predicted {
		out = append(out, p.Reads)
	}
	for _, c := range s.Calibrated {
		out = append(out, c.Reads)
	}
	return out
}

// result joins what was read at the fit and at the draws.
func (s *Study) result(f *Fit, ours []float64, draws []drawn) *Result {
	out := &Result{Study: s, Fit: f}
	for _, p := range s.Parameters {
		out.Parameters = append(out.Parameters, interval(draws, f.Values[p.Name], 0, func(d drawn) float64 { return d.values[p.Name] }))
	}
	for i, p := range s.Predicted {
		read := func(d drawn) float64 { return d.read[i] }
		in := interval(draws, ours[i], p.deviation(), read)
		if p.Sense == Equal {
			in.Low, in.High = in.Low-p.Rounding, in.High+p.Rounding
		}
		out.Outcomes = append(out.Outcomes, Outcome{p, ours[i], in, interval(draws, ours[i], 0, read)})
	}
	for i, c := range s.Calibrated {
		n := len(s.Predicted) + i
		out.Calibrations = append(out.Calibrations, Calibration{c, ours[n], interval(draws, ours[n], 0, func(d drawn) float64 { return d.read[n] })})
	}
	return out
}

// drawn is one draw: parameters and what the formulas of reads then give.
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
	read, _, err := r.evaluate(ctx, reads, values, t.seed, all, 1)
	return drawn{values, read}, err
}

// normal draws from the standard normal distribution (Box and Muller, 1958).
func normal(s *rng.Stream) float64 {
	return math.Sqrt(2*s.Exp(1)) * math.Cos(2*math.Pi*s.Float64())
}

// deviation is what lies between ours and a measurement where all inputs are
// right, as a standard deviation of the logarithm: the repeatability, of two
// measurements where it is a quotient, and for numbers the model's own error.
// An ordering compares two runs of one model, whose errors are alike.
func (p Prediction) deviation() float64 {
	e := repeatability
	if p.Sense != Equal || p.Unit == "ratio" {
		e *= math.Sqrt2
	}
	switch {
	case p.Sense != Equal:
		return e
	case p.Unit == "ms":
		return math.Hypot(e, timeError/normal95)
	}
	return math.Hypot(e, rateError/normal95)
}

// interval is the 90 % interval of one more draw, after Student, widened by an
// error of its own (a standard deviation of the logarithm), and covers the
// value at the fit itself. Positive quantities are drawn by factors, so theirs
// is one of logarithms; others are not widened.
func interval(draws []drawn, at, widen float64, read func(drawn) float64) Interval {
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
	if !positive {
		return Interval{min(mean-half, at), max(mean+half, at)}
	}
	half = math.Hypot(half, normal95*widen)
	return Interval{min(math.Exp(mean-half), at), max(math.Exp(mean+half), at)}
}

// Moved is where Sensitivity puts an assumption: to half of its value and half
// as much again, or to the ends of its range where these lie further out, but
// never below what means anything.
func (a Assumption) Moved() Interval {
	return Interval{max(a.Least, min(a.Low, a.Value*(1-sensitivityStep))), max(a.High, a.Value*(1+sensitivityStep))}
}

// effects moves each assumption alone, fits again and predicts.
func (r *runner) effects(ctx context.Context, s *Study, f *Fit, reads []Expr, ours []float64, seed uint64) ([]Effect, error) {
	changes, err := des.Replicate(ctx, 2*len(s.Assumptions), r.workers, func(ctx context.Context, i int) ([]float64, error) {
		a := s.Assumptions[i/2]
		assumed := s.assumed()
		assumed[a.Name] = a.Moved().Low
		if i%2 == 1 {
			assumed[a.Name] = a.Moved().High
		}
		values, all, err := r.refit(ctx, targets(s.Calibrated, seed), f, assumed, effectRounds)
		if err != nil {
			return nil, err
		}
		read, _, err := r.evaluate(ctx, reads, values, seed, all, 1)
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

// CoveredByDraws says whether the draws alone, without the model's own error
// and the repeatability of measurements, hold it within its rounding.
func (o Outcome) CoveredByDraws() bool {
	return o.Drawn.Low-o.Rounding <= o.Value && o.Value <= o.Drawn.High+o.Rounding
}

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
