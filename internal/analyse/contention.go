package analyse

import (
	"math"
	"slices"

	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/stats"
)

// Waited is how long one instance of a trial waited for CPUs that it could not
// have, beside its response times: in the window as a whole, and second by
// second.
type Waited struct {
	Kind     string `json:"kind"`   // one of those of Contention
	Source   string `json:"source"` // the counter: "domain vcpu_ready_s"
	Instance string `json:"instance"`
	// Mean is how many of its CPUs or tasks waited on average: seconds of
	// waiting in each second.
	Mean Number `json:"mean_waiting"`
	// P99Ms is the 99th percentile of the headline's response times, absent as
	// in Quantile.
	P99Ms Number `json:"p99_ms"`
	// Rank is Spearman's correlation of the two over the seconds of the window;
	// absent with fewer than ten, and where one of them never changes.
	Rank Number `json:"rank_correlation"`
	// Seconds are the ends of the window's intervals since the epoch, with what
	// waited and the 99th percentile in ms of each; NaN where absent.
	Seconds []float64 `json:"-"`
	Each    []float64 `json:"-"`
	EachP99 []float64 `json:"-"`
}

// Contention sets one kind of waiting for CPUs against response times. The
// kinds are "ready" (it could run, but others had the CPUs), "co-stop" (a
// virtual CPU that was held back for its siblings), "steal" (what the guest
// itself saw of both) and "throttled" (its own limit held it back).
type Contention struct {
	Kind   string `json:"kind"`
	Source string `json:"source"`
	// Cells are those with a trial that counts and that recorded it.
	Cells []Contended `json:"cells"`
	// Between is Spearman's correlation over the Points that all instances of
	// all trials make, of the whole windows; absent with fewer than six. The
	// instances of a trial are no independent trials: it describes.
	Between Number `json:"rank_correlation"`
	Points  int    `json:"points"`
}

// Contended is one configuration of a Contention. Each is estimated over
// repeats, from the mean over a trial's instances.
type Contended struct {
	Label string   `json:"label"`
	Mean  Estimate `json:"mean_waiting"`
	P99Ms Estimate `json:"p99_ms"`
	Rank  Estimate `json:"rank_correlation"` // over seconds
}

// waitKind is where a kind of waiting is recorded: a running total of seconds.
type waitKind struct{ kind, source, counter string }

// waitKinds lists them; of those of one kind the first that was recorded counts.
func waitKinds() []waitKind {
	return []waitKind{
		{"ready", "domain", "vcpu_ready_s"},
		{"ready", "cgroup", "run_delay_s"},
		{"co-stop", "domain", "vcpu_costop_s"},
		{"steal", "guest", "cpu_steal_s"},
		{"throttled", "cgroup", "throttled_s"},
	}
}

// leastSeconds is how many seconds a correlation within a trial needs, and
// leastPoints how many points one between trials.
const (
	leastSeconds = 10
	leastPoints  = 6
)

// source is the counters of instance i that a kind is recorded in.
func (r raw) source(k waitKind, i int) columns {
	of := map[string][]record.Counters{"domain": r.domain, "guest": r.guest, "cgroup": r.cgroup}[k.source]
	if i >= len(of) {
		return columns{}
	}
	return columns{of[i]}
}

// waited is what each instance waited in the window, by kind.
func waited(r raw, w Window) ([]Waited, error) {
	var out []Waited
	series := metricSeries(r.trial.Workload)
	if series < 0 || r.trial.Engine.InProcess {
		return nil, nil
	}
	name := names(r.trial.Workload)[series]
	for i := range r.intervals {
		if i >= len(r.trial.Instances) {
			break
		}
		var p99 Number
		asked := false
		seen := map[string]bool{}
		for _, k := range waitKinds() {
			from := r.source(k, i)
			if column, total := from.of(k.counter); column == nil || !total || seen[k.kind] {
				continue
			}
			if !asked {
				var err error
				if p99, err = p99Of(r, i, name, w); err != nil {
					return nil, err
				}
				asked = true
			}
			seen[k.kind] = true
			one := waitedBy(from, k, between(r.intervals[i], w.Start, w.End), series)
			one.Instance, one.P99Ms = r.trial.Instances[i].Name, p99
			one.Mean = Number(from.mean(k.counter, w.Start, w.End))
			out = append(out, one)
		}
	}
	return out, nil
}

// p99Of is the 99th percentile of a type of one instance in a window.
func p99Of(r raw, instance int, name string, w Window) (Number, error) {
	merged, err := r.histograms(instance, seconds(w.Start), seconds(w.End))
	if err != nil {
		return Absent(), err
	}
	for _, m := range merged {
		if m.Type == name {
			return distOf(m.Response).at(99), nil
		}
	}
	return Absent(), nil
}

// waitedBy lays a counter beside the response times of rows.
func waitedBy(from columns, k waitKind, rows []record.Interval, series int) Waited {
	g := &grid{rows: rows}
	out := Waited{Kind: k.kind, Source: k.source + " " + k.counter, Rank: Absent(), Each: g.of(from, k.counter)}
	var xs, ys []float64
	for n, row := range rows {
		p99 := nan()
		if s := row.Types[series]; s.Committed > 0 {
			p99 = float64(s.P99) / 1e3
		}
		out.Seconds, out.EachP99 = append(out.Seconds, row.End.Seconds()), append(out.EachP99, p99)
		if x := out.Each[n]; !math.IsNaN(x + p99) {
			xs, ys = append(xs, x), append(ys, p99)
		}
	}
	if len(xs) >= leastSeconds {
		out.Rank = Number(stats.Spearman(xs, ys))
	}
	return out
}

// contention joins what the trials of s waited. It is told where instances
// stand in each other's way: several ran at once, or a hypervisor saw it.
func contention(s *Study) []Contention {
	var out []Contention
	for _, k := range waitKinds() {
		one := Contention{Kind: k.kind, Source: k.source + " " + k.counter, Between: Absent()}
		several := k.source != "cgroup"
		var xs, ys []float64
		for i := range s.Cells {
			c := Contended{Label: s.Cells[i].Label}
			var mean, p99, rank []float64
			for _, t := range s.Cells[i].Trials {
				of := slices.DeleteFunc(slices.Clone(s.Trials[t].Waited), func(w Waited) bool { return w.Source != one.Source })
				if len(of) == 0 {
					continue
				}
				several = several || len(s.Trials[t].Parts) > 1
				mean = appendMean(mean, of, func(w Waited) Number { return w.Mean })
				p99 = appendMean(p99, of, func(w Waited) Number { return w.P99Ms })
				rank = appendMean(rank, of, func(w Waited) Number { return w.Rank })
				for _, w := range of {
					if w.Mean.OK() && w.P99Ms.OK() {
						xs, ys = append(xs, float64(w.Mean)), append(ys, float64(w.P99Ms))
					}
				}
			}
			if c.Mean, c.P99Ms, c.Rank = estimate(mean), estimate(p99), estimate(rank); c.Mean.N > 0 {
				one.Cells = append(one.Cells, c)
			}
		}
		if one.Points = len(xs); one.Points >= leastPoints {
			one.Between = Number(stats.Spearman(xs, ys))
		}
		if several && len(one.Cells) > 0 {
			out = append(out, one)
		}
	}
	return out
}

// appendMean appends the mean of a figure over a trial's instances, leaving out
// those that lack it; nothing where all do.
func appendMean(to []float64, of []Waited, figure func(Waited) Number) []float64 {
	var xs []float64
	for _, w := range of {
		if v := figure(w); v.OK() {
			xs = append(xs, float64(v))
		}
	}
	if len(xs) == 0 {
		return to
	}
	return append(to, stats.Mean(xs))
}
