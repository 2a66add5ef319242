package predict

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/loadstone-perf/loadstone/internal/twin"
	"github.com/loadstone-perf/loadstone/internal/twin/demand"
	"github.com/loadstone-perf/loadstone/internal/twin/host"
)

// all stands for all classes together.
const all = -1

// run is what one run of a scenario gave after its ramp.
type run struct {
	sc      twin.Scenario
	seconds float64
	counted int64                     // by the metric
	times   []*hdrhistogram.Histogram // of response in µs, by class, then of all
	planned time.Duration             // thought between transactions, summed
	miss    float64                   // a factor on throughput
	mixed   map[string]map[string]float64
}

// once runs q on f.
func once(ctx context.Context, f *demand.File, q Question, seed uint64) (*run, error) {
	sc, err := q.Build(f, seed)
	if err != nil {
		return nil, err
	}
	first := (sc.Ramp + time.Second - 1).Truncate(time.Second)
	r := &run{sc: sc, seconds: float64(sc.Seconds) - first.Seconds(), mixed: map[string]map[string]float64{}}
	if r.seconds < 1 {
		return nil, fmt.Errorf("a run of %d s with a ramp of %s leaves nothing to measure", sc.Seconds, sc.Ramp)
	}
	for range len(q.Classes) + 1 {
		r.times = append(r.times, hdrhistogram.New(1, int64(time.Hour/time.Microsecond), 3))
	}
	columns := twin.Columns(sc)
	err = twin.Run(ctx, sc, func(t twin.Transaction) {
		if t.End < first || t.Class >= len(q.Classes) {
			return
		}
		if q.Metric == nil || q.Metric(t) {
			r.counted++
		}
		us := min(max(1, (t.End-t.Intended).Microseconds()), int64(time.Hour/time.Microsecond))
		_ = r.times[t.Class].RecordValue(us) // within the histogram's bounds
		_ = r.times[len(q.Classes)].RecordValue(us)
		r.planned += t.Planned
	}, func(second int, values []float64) {
		if time.Duration(second)*time.Second < first {
			return
		}
		for i, c := range columns {
			of := r.mixed[c.Source]
			if of == nil {
				of = map[string]float64{}
				r.mixed[c.Source] = of
			}
			of[c.Name] += values[i] / r.seconds
		}
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (r *run) histogram(class int) *hdrhistogram.Histogram {
	if class == all {
		return r.times[len(r.times)-1]
	}
	return r.times[class]
}

// rate is transactions a second.
func (r *run) rate(class int) float64 { return float64(r.histogram(class).TotalCount()) / r.seconds }

// mean is the mean response time in milliseconds.
func (r *run) mean(class int) float64 {
	h := r.histogram(class)
	if h.TotalCount() == 0 {
		return math.NaN()
	}
	return h.Mean() / 1e3
}

// percentile is a percentile of response times in milliseconds.
func (r *run) percentile(class int, p float64) float64 {
	h := r.histogram(class)
	if h.TotalCount() == 0 {
		return math.NaN()
	}
	return float64(h.ValueAtQuantile(p)) / 1e3
}

// instanceCPU is how much of what instances may use they use, in percent.
func (r *run) instanceCPU() float64 {
	used, may := 0.0, 0.0
	seen := map[int]bool{}
	for _, x := range r.sc.Instances {
		if seen[x.Guest] {
			continue
		}
		seen[x.Guest] = true
		g := r.sc.Guests[x.Guest]
		used += r.mixed[g.Name]["run_pct"] / 100
		may += r.allowed(g)
	}
	return 100 * used / may
}

// allowed is how many processors a guest may use.
func (r *run) allowed(g twin.Guest) float64 {
	n := float64(r.sc.Host.CPU.CPUs())
	if g.Affinity != nil {
		n = float64(len(g.Affinity))
	}
	if r.sc.Scheduler.Kind == host.Proportional && g.CPUs > 0 {
		n = min(n, float64(g.CPUs))
	}
	if g.Limit > 0 {
		n = min(n, g.Limit)
	}
	return n
}

// hostCPU is the use of the busiest node's threads, in percent.
func (r *run) hostCPU() (most float64) {
	for n := range r.sc.Host.Nodes {
		most = max(most, r.mixed[fmt.Sprint("node ", n)]["threads_busy_pct"])
	}
	return most
}
