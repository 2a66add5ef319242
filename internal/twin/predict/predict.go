// Package predict asks the twin about configurations and carries what is not
// known of the demands through to the answers.
//
// A configuration is run once with every demand at its value, and then again
// with demands drawn from their intervals, each time on a seed of its own: the
// spread of these runs is the answer's interval. What limits a configuration
// follows from the counters of the first run. Everything here is calculated;
// whoever shows it must say so.
package predict

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/twin"
	"github.com/loadstone-perf/loadstone/internal/twin/demand"
)

// Question is one configuration.
type Question struct {
	// Build makes the run on f's host with f's demands. It must not depend on
	// anything else that changes.
	Build func(f *demand.File, seed uint64) (twin.Scenario, error)
	// Classes names the transactions in the order of twin.Transaction.Class.
	Classes []string
	// Metric says what counts for throughput; nil counts every transaction.
	Metric func(twin.Transaction) bool
	// Per is how many seconds the throughput is counted per; 0 is 1.
	Per float64
	// Misfit is how far the model is known to miss throughputs, relative, as a
	// standard deviation: draws of throughput are moved by as much.
	Misfit float64
}

// Options say how much is calculated.
type Options struct {
	// Draws beyond the run at the values; 0 gives no intervals, else at least 2.
	Draws   int
	Workers int // runs at once
	Seed    uint64
}

// Validate checks o.
func (o Options) Validate() error {
	if o.Draws < 0 || o.Draws == 1 || o.Draws > maxDraws || o.Workers < 1 {
		return fmt.Errorf("%d draws on %d workers: 0 or 2 to %d draws, and at least one worker", o.Draws, o.Workers, maxDraws)
	}
	return nil
}

const maxDraws = 10_000

// Interval is a figure with its 90 % interval: where the figure of one more
// draw would lie. Low and High are NaN where nothing was drawn.
type Interval struct{ Value, Low, High float64 }

// Answer is what a configuration would do.
type Answer struct {
	Throughput Interval // per Question.Per seconds, of all instances
	PerSecond  Interval // transactions
	All        Times    // of all transactions
	Classes    []Times  // in the order of Question.Classes
	// InstanceCPU is the use of the processors that instances may use, in
	// percent, and HostCPU that of the busiest node's threads.
	InstanceCPU, HostCPU Interval
	Limit                Limit
}

// Times are response times in milliseconds; NaN where nothing ended.
type Times struct {
	PerSecond Interval
	Mean      Interval
	P         [4]Interval // at Percentiles
}

// Percentiles are those of Times.
func Percentiles() [4]float64 { return [4]float64{50, 90, 95, 99} }

// Ask answers one question. f is what is known of the host.
func Ask(ctx context.Context, f *demand.File, q Question, o Options) (Answer, error) {
	if err := o.Validate(); err != nil {
		return Answer{}, err
	}
	return newAsker(o).ask(ctx, f, q)
}

// asker bounds how many runs there are at once.
type asker struct {
	o    Options
	free chan struct{}
}

func newAsker(o Options) *asker { return &asker{o, make(chan struct{}, o.Workers)} }

// ask runs q at the values and at each draw. Runs of one question differ in
// their seeds; those of another question are on the same seeds and the same
// draws, so that differences between questions are surer than the answers.
func (a *asker) ask(ctx context.Context, f *demand.File, q Question) (Answer, error) {
	runs, errs, miss := make([]*run, 1+a.o.Draws), make([]error, 1+a.o.Draws), make([]float64, 1+a.o.Draws)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	for i := range runs {
		all.Go(func() {
			select {
			case a.free <- struct{}{}:
				defer func() { <-a.free }()
			case <-ctx.Done():
				errs[i] = ctx.Err()
				return
			}
			stream := rng.At(a.o.Seed, rng.Name("draw"), uint64(i))
			known := f
			miss[i] = 1
			if i > 0 {
				known = f.Draw(stream)
				miss[i] = math.Exp(q.Misfit * demand.Normal(rng.At(a.o.Seed, rng.Name("misfit"), uint64(i))))
			}
			if runs[i], errs[i] = once(ctx, known, q, stream.Uint64()); errs[i] != nil {
				cancel()
			}
		})
	}
	all.Wait()
	for _, err := range errs { // those that were only cancelled tell nothing while there is a cause
		if err != nil && !errors.Is(err, context.Canceled) {
			return Answer{}, err
		}
	}
	if err := errors.Join(errs...); err != nil {
		return Answer{}, err
	}
	for i, r := range runs {
		r.miss = miss[i]
	}
	return answer(q, runs), nil
}

// answer reads the runs.
func answer(q Question, runs []*run) Answer {
	read := func(of func(*run) float64) Interval {
		draws := make([]float64, len(runs)-1)
		for i, r := range runs[1:] {
			draws[i] = of(r)
		}
		return interval(of(runs[0]), draws)
	}
	per := q.Per
	if per == 0 {
		per = 1
	}
	times := func(class int) (t Times) {
		t.PerSecond = read(func(r *run) float64 { return r.miss * r.rate(class) })
		t.Mean = read(func(r *run) float64 { return r.mean(class) })
		for i, p := range Percentiles() {
			t.P[i] = read(func(r *run) float64 { return r.percentile(class, p) })
		}
		return t
	}
	out := Answer{
		Throughput:  read(func(r *run) float64 { return r.miss * float64(r.counted) / r.seconds * per }),
		All:         times(all),
		InstanceCPU: within(read(func(r *run) float64 { return r.instanceCPU() })),
		HostCPU:     within(read(func(r *run) float64 { return r.hostCPU() })),
		Limit:       runs[0].limit(),
	}
	out.PerSecond = out.All.PerSecond
	for c := range q.Classes {
		out.Classes = append(out.Classes, times(c))
	}
	return out
}

// within is a percentage with its interval, which ends at 100.
func within(x Interval) Interval {
	x.Value, x.High = min(x.Value, 100), min(x.High, 100)
	return x
}

// interval is the 90 % interval of one more draw, after Student, of logarithms
// where everything is positive, and covers the value.
func interval(value float64, draws []float64) Interval {
	if len(draws) < 2 || math.IsNaN(value) {
		return Interval{value, math.NaN(), math.NaN()}
	}
	x, positive := make([]float64, 0, len(draws)), value > 0
	for _, d := range draws {
		if math.IsNaN(d) {
			continue
		}
		x = append(x, d)
		positive = positive && d > 0
	}
	if len(x) < 2 {
		return Interval{value, math.NaN(), math.NaN()}
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
	} else {
		low = max(low, min(0, value))
	}
	return Interval{value, min(low, value), max(high, value)}
}
