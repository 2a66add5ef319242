package analyse

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/stats"
)

// run is a trial with what its cell needs of it.
type run struct {
	Trial
	planned  record.Planned
	load     record.Load
	series   []string
	served   float64 // open loop: the part of arrivals that was served
	manifest record.Trial
}

// analysed computes one trial's results. A trial that did not finish has
// neither window nor figures. It counts as soon as it finished and measured
// something: whether it may be believed is the gates' business.
func analysed(r raw, study record.Study) (run, error) {
	t := r.trial
	out := run{
		planned: t.Planned, load: t.Load, series: names(t.Workload), manifest: t, served: nan(),
		Trial: Trial{
			Number: t.Planned.Trial, Block: t.Block, Cell: t.Cell - 1, Label: label(t.Factors, t),
			Dir: t.Dir, Status: standing(r), Reason: t.Reason, Started: t.Started, Simulated: t.Simulated,
			Warnings: t.Warnings, DriverCPUUs: Absent(), LatenessP99Us: Absent(), NoisePct: Absent(), CPUs: Absent(), about: &r.trial,
		},
	}
	out.describe(t)
	if most := memoryLimit(r, study.Machine); most > 0 {
		out.MemoryBytes = int64(most)
	}
	if len(r.intervals) > 0 {
		out.Timeline = timeline(r, study.Machine)
	}
	if t.Status != record.Finished {
		out.Gates = gates(judged{raw: r})
		return out, nil
	}
	p := profileOf(t, joined(r.intervals))
	if out.Window = window(r.intervals, t); len(t.Events) > 0 {
		out.Window = divided(r.intervals, t)
	}
	out.Window = wholeCycles(out.Window, r, p)
	rows := between(joined(r.intervals), out.Window.Start, out.Window.End)
	if err := out.measure(r, rows, p); err != nil {
		return run{}, err
	}
	out.Usage, out.Waits = usage(r, study.Machine, out.Window), waits(r, out.Window)
	if _, allowed := instancesCPU(r, hostCPUs(r, study.Machine, out.Window), out.Window); allowed > 0 {
		out.CPUs = Number(allowed)
	}
	out.Parts = parts(r, out.Window)
	var err error
	if out.Waited, err = waited(r, out.Window); err != nil {
		return run{}, err
	}
	if out.Stretches, err = stretches(r, out.Window); err != nil {
		return run{}, err
	}
	out.DriverCPUUs = driverCost(r, rows, out.Window)
	out.Gates = gates(judged{raw: r, limits: study.Limits, window: out.Window, rows: rows, found: out.samples, usage: out.Usage, late: out.LatenessP99Us})
	out.Counts = len(rows) > 0
	return out, nil
}

// describe copies what the manifest says of the instances.
func (r *run) describe(t record.Trial) {
	var prints []string
	for n, i := range t.Instances {
		prefix := ""
		if len(t.Instances) > 1 {
			prefix = i.Name + ": "
		}
		for _, c := range i.Checks {
			r.Checks = append(r.Checks, Check{prefix + c.Name, c.About, fmt.Sprint(c.Found), wanted(c), c.Passed})
		}
		r.Settings = append(r.Settings, knobs(prefix, i.Setting)...)
		r.Shape = append(r.Shape, knobs(prefix, i.Shape)...)
		r.Confined = (n == 0 || r.Confined) && i.Confined
		r.RestoreWay, r.RestoreS, r.Verified = i.Restore.Way, max(r.RestoreS, i.Restore.Seconds), i.Restore.Verified
		r.DatabaseBytes += i.Golden.Bytes
		prints = append(prints, i.Golden.Fingerprint)
	}
	r.Events = eventsOf(t)
	r.Golden = strings.Trim(strings.Join(prints, ", "), ", ")
}

// wanted says in words what a check allows.
func wanted(c record.Check) string {
	if c.Least == c.Most {
		return fmt.Sprint(c.Least)
	}
	return fmt.Sprintf("%d to %d", c.Least, c.Most)
}

func knobs(prefix string, ks []record.Knob) []Knob {
	var out []Knob
	for _, k := range ks {
		out = append(out, Knob{prefix + k.Name, k.Intended, k.Effective, k.Default, k.Why, k.Matches})
	}
	return out
}

// measure fills in throughput and response times of the window.
func (r *run) measure(in raw, rows []record.Interval, p *profile) error {
	w := r.Window
	length := w.End - w.Start
	if len(rows) == 0 || length <= 0 {
		return nil
	}
	found, err := timesOf(in, w)
	if err != nil {
		return err
	}
	for i, name := range r.series {
		r.samples = append(r.samples, sample{times: found[i], series: total(rows, i), seconds: length})
		r.Types = append(r.Types, latency(name, in.trial.Workload, r.samples[i:], 0))
	}
	m := in.trial.Workload.Metric
	done := counted(total(rows, metricSeries(in.trial.Workload)), m)
	r.Throughput = done / length * m.PerSeconds
	equal := whole(rows)
	mean := stats.MeanOfRun(p.level(equal, values(equal, rateOf(in.trial.Workload))), confidence)
	r.NoisePct = Number(100 * mean.Width() / 2 / mean.Value)
	if n := float64(w.Passes); n > 1 { // the shape of a pass took a part 1/n of the noise with it
		r.NoisePct *= Number(math.Sqrt(n / (n - 1)))
	}
	if rate := arrivals(in.trial, len(in.intervals)); rate > 0 {
		r.served = unitsDone(rows, in.trial.Workload) / length / (rate * p.share(w.Start, w.End))
	}
	var late dist
	for i := range in.intervals {
		h, err := in.late(i, seconds(w.Start), seconds(w.End))
		if err != nil {
			return err
		}
		late = merge(late, distOf(h))
	}
	// A gate asks about these very starts, not about all that might be: it
	// takes what there is.
	if p99 := late.atLeast(99); p99.OK() {
		r.LatenessP99Us = p99 * 1e3
	}
	return nil
}

// arrivals is how many a second arrive at all instances together, 0 in closed
// loop. Records before groups were known have one rate for each instance.
func arrivals(t record.Trial, instances int) (perSecond float64) {
	for _, i := range t.Instances {
		perSecond += i.Drive.RatePerS
	}
	if perSecond > 0 {
		return perSecond
	}
	return t.Load.RatePerS * float64(max(1, instances))
}

// unitsDone is how many units ended in rows: those of the unit's own series,
// or, where each transaction is a unit, all that the load started.
func unitsDone(rows []record.Interval, w record.Workload) float64 {
	first, last := 0, len(w.Types)
	if w.Unit != "" {
		first, last = len(w.Types), len(w.Types)+1
	}
	var n int64
	for i := first; i < last; i++ {
		if i < len(w.Types) && w.Types[i].Extra {
			continue
		}
		s := total(rows, i)
		n += s.Committed + s.RolledBack + failed(s)
	}
	return float64(n)
}

// driverCost is the driver's CPU time for one of what the metric counts, µs.
func driverCost(r raw, rows []record.Interval, w Window) Number {
	cpu := columns{r.driver}.sum(w.Start, w.End, "cpu_user_s", "cpu_system_s")
	done := counted(total(rows, metricSeries(r.trial.Workload)), r.trial.Workload.Metric)
	return Number(cpu * (w.End - w.Start) * 1e6 / done)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
