package analyse

import (
	"math"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/stats"
)

// percentiles are those that tables show.
func percentiles() []float64 { return []float64{50, 90, 95, 99, 99.9} }

// beyond is how many samples must lie above a percentile for it to be shown:
// with fewer it is an accident of the slowest few.
const beyond = 10

// bar is n values from low to high, in µs.
type bar struct{ low, high, n int64 }

// dist is a distribution of times in µs: the occupied cells of a histogram by
// rising value. It holds a window in a few kilobytes where a histogram takes
// hundreds.
type dist []bar

// distOf takes the occupied cells of h, which may be nil.
func distOf(h *hdrhistogram.Histogram) dist {
	if h == nil {
		return nil
	}
	var out dist
	for _, b := range h.Distribution() {
		if b.Count > 0 {
			out = append(out, bar{b.From, b.To, b.Count})
		}
	}
	return out
}

// merge adds distributions up. All must be from histograms with the same
// digits, whose cells then coincide.
func merge(ds ...dist) dist {
	all := slices.Concat(ds...)
	slices.SortFunc(all, func(a, b bar) int { return int(a.high - b.high) })
	var out dist
	for _, b := range all {
		if n := len(out); n > 0 && out[n-1].high == b.high {
			out[n-1].n += b.n
			continue
		}
		out = append(out, b)
	}
	return out
}

func (d dist) count() (n int64) {
	for _, b := range d {
		n += b.n
	}
	return n
}

// rank is the number of the value that is percentile p of n, from 1: p·n/100
// rounded half up, as HdrHistogram has it.
func rank(p float64, n int64) int64 {
	return min(max(int64(p/100*float64(n)+0.5), 1), n)
}

// at is percentile p in ms: the upper end of its cell, as HdrHistogram
// reports it. It is absent where fewer than ten values lie beyond it.
func (d dist) at(p float64) Number {
	if float64(d.count())*(100-p)/100 < beyond*(1-1e-9) {
		return Absent()
	}
	return d.atLeast(p)
}

// atLeast is at without its demand: with few samples a high percentile is
// simply the largest. Absent only where there is no sample.
func (d dist) atLeast(p float64) Number {
	left := rank(p, d.count())
	for _, b := range d {
		if left -= b.n; left <= 0 {
			return Number(float64(b.high) / 1e3)
		}
	}
	return Absent()
}

// mean is in ms, from the middles of the cells.
func (d dist) mean() Number {
	sum, n := 0.0, d.count()
	for _, b := range d {
		sum += float64(b.n) * (float64(b.low) + float64(b.high)) / 2
	}
	if n == 0 {
		return Absent()
	}
	return Number(sum / float64(n) / 1e3)
}

// ageDeviation is the standard deviation, in seconds, of how long the work
// under way at a random time has been so. The age in a renewal process has the
// mean E[C²]/2E[C] and the second moment E[C³]/3E[C] (Cox, Renewal Theory,
// 1962, section 5.4): long work is under way more often.
func (d dist) ageDeviation() float64 {
	var one, two, three float64
	for _, b := range d {
		c, n := (float64(b.low)+float64(b.high))/2e6, float64(b.n)
		one += n * c
		two += n * c * c
		three += n * c * c * c
	}
	if one == 0 {
		return 0
	}
	mean := two / (2 * one)
	return math.Sqrt(max(0, three/(3*one)-mean*mean))
}

// most is the largest value in ms.
func (d dist) most() Number {
	if len(d) == 0 {
		return Absent()
	}
	return Number(float64(d[len(d)-1].high) / 1e3)
}

// spectrum is the curve of percentiles (percentile, ms): ten points to each
// halving of what lies beyond, as far as enough values do.
func (d dist) spectrum() [][2]Number {
	var out [][2]Number
	for k := 0; ; k++ {
		p := 100 * (1 - math.Exp2(-float64(k)/10))
		ms := d.at(p)
		if !ms.OK() {
			return out
		}
		out = append(out, [2]Number{Number(p), ms})
	}
}

// times are the distributions of one type in one window.
type times struct{ response, service dist }

// timesOf reads the histograms of one trial's window, merged over instances,
// in the order of its series.
func timesOf(r raw, w Window) ([]times, error) {
	order := names(r.trial.Workload)
	out := make([]times, len(order))
	for i := range r.intervals {
		merged, err := r.histograms(i, seconds(w.Start), seconds(w.End))
		if err != nil {
			return nil, err
		}
		for _, m := range merged {
			if k := slices.Index(order, m.Type); k >= 0 {
				out[k].response = merge(out[k].response, distOf(m.Response))
				out[k].service = merge(out[k].service, distOf(m.Service))
			}
		}
	}
	return out, nil
}

// sample is one type in the window of one trial.
type sample struct {
	times
	series  record.Series
	seconds float64 // length of the window
}

// latency describes one type from its windows, one a repeat. Counts add up;
// the rate is over the time of all windows; percentiles are of the merged
// distributions, with intervals where there are three repeats: see between.
func latency(name string, w record.Workload, repeats []sample, seed uint64) Latency {
	out := Latency{Type: name, Headline: name == w.Metric.Series}
	for _, t := range w.Types {
		if t.Name == name {
			out.About, out.LimitMs, out.LimitP = t.About, t.LimitSeconds*1e3, t.Percentile
		}
	}
	var response, service []dist
	length := 0.0
	for _, r := range repeats {
		response, service = append(response, r.response), append(service, r.service)
		length += r.seconds
		out.Count += r.series.Committed
		out.RolledBack += r.series.RolledBack
		out.Retries += r.series.Retries
		out.Errors += failed(r.series)
	}
	if length > 0 {
		out.PerSecond = float64(out.Count) / length
	}
	of := poolOf(response)
	all := of.all
	out.MeanMs, out.MaxMs, out.Curve = all.mean(), all.most(), all.spectrum()
	out.ServiceP99Ms = merge(service...).at(99)
	for _, p := range percentiles() {
		q := Quantile{Percentile: p, Ms: all.at(p), LowMs: Absent(), HighMs: Absent()}
		if q.Ms.OK() && len(repeats) >= leastRepeats {
			src := stats.Random(seed)
			i := of.between(p, float64(q.Ms), &src)
			q.LowMs, q.HighMs = Number(i.Low), Number(i.High)
		}
		out.P = append(out.P, q)
	}
	return out
}

// leastRepeats is how many repeats a percentile needs for an interval: with
// two, Student's t is 12.7, and the interval says nothing.
const leastRepeats = 3

// between is the interval of percentile p, which is ms, between repeats:
// Student's t for one degree of freedom less than there are repeats, on the
// logarithm, whose variance comes from a bootstrap over the merged histograms
// (stats.BootstrapVariance) and from the width of the cell that holds it. Unlike
// the percentiles of the bootstrap it can reach beyond what single repeats
// gave, so that it holds the truth as often as it states with few repeats too.
func (l pool) between(p, ms float64, src stats.Source) stats.Interval {
	_, v := stats.BootstrapVariance(l.n, src, l.log(p))
	return stats.RatioOf(math.Log(ms), []stats.Part{l.grain(p), {Variance: v, DF: float64(l.n - 1)}}, confidence, 0).Interval
}

// grain is the variance of the logarithm of percentile p that comes of cells:
// a histogram knows a value only to the width w of its cell, w²/12.
func (l pool) grain(p float64) stats.Part {
	w := l.all.widthAt(p)
	return stats.Part{Variance: w * w / 12, DF: math.Inf(1)}
}

// cumulative holds the distributions of several repeats over the same cells,
// so that a percentile of any mixture of them is a binary search.
type cumulative struct {
	highs []int64
	upTo  [][]int64 // by cell and repeat: values in this cell and below
}

func newCumulative(ds []dist) cumulative {
	var c cumulative
	for _, b := range merge(ds...) {
		c.highs = append(c.highs, b.high)
		c.upTo = append(c.upTo, make([]int64, len(ds)))
	}
	for r, d := range ds {
		var sum int64
		next := 0
		for k, high := range c.highs {
			if next < len(d) && d[next].high == high {
				sum += d[next].n
				next++
			}
			c.upTo[k][r] = sum
		}
	}
	return c
}

// at is percentile p in ms of the mixture that holds repeat r times[r] times;
// NaN where that is empty.
func (c cumulative) at(p float64, times []int) float64 {
	mixed := func(row []int64) (n int64) {
		for r, t := range times {
			n += int64(t) * row[r]
		}
		return n
	}
	if len(c.upTo) == 0 {
		return nan()
	}
	n := mixed(c.upTo[len(c.upTo)-1])
	if n == 0 {
		return nan()
	}
	want := rank(p, n)
	k, _ := slices.BinarySearchFunc(c.upTo, want, func(row []int64, want int64) int {
		if mixed(row) < want {
			return -1
		}
		return 1 // never equal, so that the first cell that reaches it is found
	})
	return float64(c.highs[k]) / 1e3
}
