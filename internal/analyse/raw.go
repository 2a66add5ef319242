package analyse

import (
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/loadstone-perf/loadstone/internal/record"
)

// raw is all that the analysis knows of one trial, in memory. Slices over
// instances have one element for each; what was not recorded is empty.
type raw struct {
	trial    record.Trial
	missing  bool // never begun
	cutShort bool // its process ended before it did
	// intervals are in order of time; the series of each are in the order of
	// Workload.Types, the unit's last.
	intervals        [][]record.Interval
	host, driver     record.Counters
	cgroup, database []record.Counters
	// domain and guest are what a hypervisor counts of a virtual machine, and
	// what its kernel counts of itself.
	domain, guest []record.Counters
	waits         []record.States
	// histograms and late merge what was recorded between two times.
	histograms func(instance int, from, to time.Duration) ([]record.Merged, error)
	late       func(instance int, from, to time.Duration) (*hdrhistogram.Histogram, error)
}

// columns are recorded counters by name.
type columns struct{ record.Counters }

// of is the column called name, and whether it is a running total; nil where
// it was not recorded.
func (c columns) of(name string) (values []float64, total bool) {
	for i, n := range c.Names {
		if n == name && i < len(c.Values) && i < len(c.Totals) {
			return c.Values[i], c.Totals[i]
		}
	}
	return nil, false
}

// mean is the rate per second of a running total, or the mean of a state,
// from the samples between two times; NaN with too few, or where a total was
// reset.
func (c columns) mean(name string, from, to float64) float64 {
	values, total := c.of(name)
	var first, last, sum, n float64
	var begin, end float64
	for i, v := range values {
		// Samples are taken a little after the full second.
		if i >= len(c.At) || math.IsNaN(v) || c.At[i] < from-slack || c.At[i] > to+slack {
			continue
		}
		if n == 0 {
			first, begin = v, c.At[i]
		}
		last, end = v, c.At[i]
		sum += v
		n++
	}
	switch {
	case n == 0 || total && (n < 2 || last < first || end <= begin):
		return nan()
	case total:
		return (last - first) / (end - begin)
	}
	return sum / n
}

// slack is how far, in seconds, a sample or interval may lie outside a window
// and still belong to it.
const slack = 0.05

// sum adds the means of several columns; those that were not recorded count
// as nothing, and all of them missing is NaN.
func (c columns) sum(from, to float64, names ...string) float64 {
	out := nan()
	for _, name := range names {
		out = plus(out, c.mean(name, from, to))
	}
	return out
}

// joined adds up the intervals of all instances: the k-th interval of each
// covers the same time. Of percentiles, the largest is kept, since they can't
// be merged; the histograms of a whole window are.
func joined(instances [][]record.Interval) []record.Interval {
	switch len(instances) {
	case 0:
		return nil
	case 1:
		return instances[0]
	}
	shortest := len(instances[0])
	for _, rows := range instances {
		shortest = min(shortest, len(rows))
	}
	out := make([]record.Interval, shortest)
	for k := range out {
		row := instances[0][k]
		row.Types = append([]record.Series(nil), row.Types...)
		for _, rows := range instances[1:] {
			o := rows[k]
			row.Start, row.End = max(row.Start, o.Start), min(row.End, o.End)
			row.InFlight += o.InFlight
			row.Backlog += o.Backlog
			row.IdleSum += o.IdleSum
			for i := range min(len(row.Types), len(o.Types)) {
				row.Types[i] = added(row.Types[i], o.Types[i])
			}
		}
		out[k] = row
	}
	return out
}

func added(a, b record.Series) record.Series {
	a.Committed += b.Committed
	a.RolledBack += b.RolledBack
	a.Retries += b.Retries
	a.ResponseSum += b.ResponseSum
	a.ThinkSum += b.ThinkSum
	a.P50, a.P95 = max(a.P50, b.P50), max(a.P95, b.P95)
	a.P99, a.Max = max(a.P99, b.P99), max(a.Max, b.Max)
	errors := make([]int64, max(len(a.Errors), len(b.Errors)))
	for i := range errors {
		if i < len(a.Errors) {
			errors[i] += a.Errors[i]
		}
		if i < len(b.Errors) {
			errors[i] += b.Errors[i]
		}
	}
	a.Errors = errors
	return a
}

// between are the intervals wholly inside from…to, seconds since the epoch.
func between(rows []record.Interval, from, to float64) []record.Interval {
	var out []record.Interval
	for _, r := range rows {
		if r.Start.Seconds() >= from-slack && r.End.Seconds() <= to+slack {
			out = append(out, r)
		}
	}
	return out
}

// total adds up the series of rows; its percentiles mean nothing.
func total(rows []record.Interval, series int) record.Series {
	var out record.Series
	for _, r := range rows {
		if series >= 0 && series < len(r.Types) {
			out = added(out, r.Types[series])
		}
	}
	return out
}

// failed is the number of errors of every class.
func failed(s record.Series) (n int64) {
	for _, e := range s.Errors {
		n += e
	}
	return n
}

// names are the names of the series of w in their order.
func names(w record.Workload) []string {
	var out []string
	for _, t := range w.Types {
		out = append(out, t.Name)
	}
	if w.Unit != "" {
		out = append(out, w.Unit)
	}
	return out
}

// metricSeries is the index of the series that the headline counts, -1 where
// there is none.
func metricSeries(w record.Workload) int {
	for i, n := range names(w) {
		if n == w.Metric.Series {
			return i
		}
	}
	return -1
}

// counted is what of s the metric counts.
func counted(s record.Series, m record.Metric) float64 {
	if m.WithRollbacks {
		return float64(s.Committed + s.RolledBack)
	}
	return float64(s.Committed)
}

// nan is a figure that is not there.
func nan() float64 { return math.NaN() }
