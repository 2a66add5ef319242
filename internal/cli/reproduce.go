package cli

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/loadstone-perf/loadstone/internal/analyse"
	"github.com/loadstone-perf/loadstone/internal/record"
	model "github.com/loadstone-perf/loadstone/internal/twin"
	"github.com/loadstone-perf/loadstone/internal/twin/demand"
	"github.com/loadstone-perf/loadstone/internal/twin/host"
	"github.com/loadstone-perf/loadstone/internal/twin/predict"
	"github.com/loadstone-perf/loadstone/internal/twin/scenario"
	"github.com/loadstone-perf/loadstone/internal/unit"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// drivenTrial is what a trial drove, and what came of it.
type drivenTrial struct {
	load       scenario.Load
	label      string
	cpus       float64
	memory     unit.Bytes
	shared     bool // the driver's CPUs were the instance's too
	profiled   bool // the load changed, as the model's does not
	throughput float64
}

// drivenBy is what of a trial the model can run.
func drivenBy(t *analyse.Trial, m *record.Trial) drivenTrial {
	l := m.Load
	out := drivenTrial{
		load:  scenario.Load{Users: l.Users, RatePerS: l.RatePerS, Constant: l.Arrivals == "constant", Connections: l.Connections},
		label: t.Label, cpus: float64(t.CPUs), memory: unit.Bytes(t.MemoryBytes), shared: m.Seat.Shared != "" || m.Seat.CPUs == "", // older records: all CPUs were shared
		profiled: len(l.Profile) > 0, throughput: t.Throughput,
	}
	if l.RatePerS > 0 {
		out.load.Users = 0
	}
	return out
}

// reproduced is what the model makes of a trial that it was fitted to.
type reproduced struct {
	drivenTrial
	model float64 // throughput
}

// reproduceSeconds is how long a trial is simulated, after the ramp.
const reproduceSeconds = 10

// reproduce runs the trials of each workload on the model that was fitted to
// them, and notes in f how far they lie apart: what the model leaves out shows
// there.
func (g *gathering) reproduce(ctx context.Context, f *demand.File) ([][]reproduced, error) {
	out := make([][]reproduced, len(g.order))
	for i, key := range g.order {
		w, square := &f.Workloads[i], 0.0
		d := g.defs[key]
		for _, t := range g.driven[key] {
			if t.profiled || t.throughput <= 0 {
				continue
			}
			q := predict.Question{Metric: metricOf(d), Per: d.Metric.Per.Seconds(), Build: func(f *demand.File, seed uint64) (model.Scenario, error) {
				return t.scenario(f.Host, w, d, seed)
			}}
			for _, c := range d.Transactions {
				q.Classes = append(q.Classes, c.Name)
			}
			a, err := predict.Ask(ctx, f, q, predict.Options{Workers: runtime.GOMAXPROCS(0), Seed: g.seed})
			if err != nil {
				return nil, fmt.Errorf("running trial %s on the model that was fitted to it: %w", t.label, err)
			}
			out[i] = append(out[i], reproduced{t, a.Throughput.Value})
			if r := math.Log(a.Throughput.Value / t.throughput); !math.IsInf(r, 0) {
				square += r * r
			}
		}
		if n := len(out[i]); n > 0 {
			w.Misfit = math.Round(1e4*math.Sqrt(square/float64(n))) / 1e4
		}
	}
	return out, nil
}

// scenario is the trial on h.
func (t drivenTrial) scenario(h *host.Host, w *demand.Workload, d *workload.Definition, seed uint64) (model.Scenario, error) {
	demands, err := scenario.Fitted(w, d)
	if err != nil {
		return model.Scenario{}, err
	}
	cache := t.memory
	if cache == 0 {
		cache = h.Memory
	}
	sc, err := scenario.Build(scenario.Trial{Host: h, Ramp: whatifRamp, Seconds: int(whatifRamp/time.Second) + reproduceSeconds, Seed: seed,
		Instances: []scenario.Instance{{Name: "instance-1", Workload: d, Demands: demands, Shape: scenario.Shape{CPUs: t.cpus}, Cache: cache, Load: t.load}}})
	if err != nil || !t.shared {
		return sc, err
	}
	return demand.WithDriver(sc, w), nil
}
