package analyse

import (
	"math"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/record"
)

// timeline lays everything that was recorded of a trial on the driver's
// intervals, ramp and warm-up included.
func timeline(r raw, m record.Machine) Timeline {
	rows := joined(r.intervals)
	if len(rows) == 0 {
		return Timeline{}
	}
	g := &grid{rows: rows}
	for _, row := range rows {
		g.Seconds = append(g.Seconds, row.End.Seconds())
	}
	all := Window{Start: rows[0].Start.Seconds(), End: rows[len(rows)-1].End.Seconds()}
	g.work(r.trial.Workload)
	g.cpu(r, hostCPUs(r, m, all), all)
	host := columns{r.host}
	if d := disk(host, m.Disk.Device, all.Start, all.End); d != "" {
		g.disk(host, "disk_"+d+"_")
	}
	for i, d := range r.database {
		g.database(instanceName(r, i), columns{d})
	}
	for i, s := range r.waits {
		g.waits(instanceName(r, i), s)
	}
	g.network(host)
	g.memory(r)
	return g.Timeline
}

// instanceName tells the tracks of several instances apart.
func instanceName(r raw, i int) string {
	if len(r.trial.Instances) < 2 {
		return ""
	}
	return r.trial.Instances[i].Name + " "
}

// grid is a Timeline being filled.
type grid struct {
	Timeline
	rows []record.Interval
}

// add adds a track unless nothing of it is known.
func (g *grid) add(group, name, unit string, values []float64) {
	for _, v := range values {
		if !math.IsNaN(v) {
			g.Tracks = append(g.Tracks, Track{group, name, unit, values})
			return
		}
	}
}

// work adds throughput and response times.
func (g *grid) work(w record.Workload) {
	metric := metricSeries(w)
	each := func(of func(record.Interval) float64) []float64 { return values(g.rows, of) }
	length := func(r record.Interval) float64 { return (r.End - r.Start).Seconds() }
	if metric >= 0 {
		g.add("throughput", w.Metric.Short, w.Metric.Short, each(func(r record.Interval) float64 {
			return counted(r.Types[metric], w.Metric) / length(r) * w.Metric.PerSeconds
		}))
	}
	g.add("throughput", "errors", "/s", each(func(r record.Interval) float64 {
		var n int64
		for i := range w.Types {
			n += failed(r.Types[i])
		}
		return float64(n) / length(r)
	}))
	for i, name := range names(w) {
		g.add("throughput", name, "/s", each(func(r record.Interval) float64 {
			return float64(r.Types[i].Committed+r.Types[i].RolledBack) / length(r)
		}))
	}
	for i, name := range names(w) {
		ms := func(of func(s record.Series) int64) []float64 {
			return each(func(r record.Interval) float64 {
				if r.Types[i].Committed == 0 {
					return nan()
				}
				return float64(of(r.Types[i])) / 1e3
			})
		}
		if i == metric {
			g.add("response", "p50 "+name, "ms", ms(func(s record.Series) int64 { return s.P50 }))
			g.add("response", "p99 "+name, "ms", ms(func(s record.Series) int64 { return s.P99 }))
		}
		g.add("response", "p95 "+name, "ms", ms(func(s record.Series) int64 { return s.P95 }))
	}
}

// cpu adds the machine's CPUs by what they did, and the parts of instance and
// driver, all in percent of the machine but the instance's of what it may use.
func (g *grid) cpu(r raw, cpus float64, all Window) {
	host := columns{r.host}
	for _, t := range []struct {
		name     string
		counters []string
	}{
		{"host user", []string{"cpu_user_s", "cpu_nice_s"}},
		{"host system", []string{"cpu_system_s", "cpu_irq_s", "cpu_softirq_s"}},
		{"host I/O wait", []string{"cpu_iowait_s"}},
		{"host steal", []string{"cpu_steal_s"}},
	} {
		g.add("cpu", t.name, "%", scaled(g.sum(host, t.counters...), 100/cpus))
	}
	_, allowed := instancesCPU(r, cpus, all)
	inside := make([]float64, len(g.Seconds))
	for i, c := range r.cgroup {
		used := g.sum(columns{c}, "cpu_user_s", "cpu_system_s")
		for k := range inside {
			inside[k] += used[k]
		}
		g.add("cpu", instanceName(r, i)+"throttled", "% of the time", scaled(g.sum(columns{c}, "throttled_s"), 100))
	}
	for i := range r.trial.Instances {
		seen := map[string]bool{"throttled": true}
		for _, k := range waitKinds() {
			from := r.source(k, i)
			if column, _ := from.of(k.counter); column != nil && !seen[k.kind] {
				seen[k.kind] = true
				g.add("cpu", instanceName(r, i)+k.kind, "waiting", g.of(from, k.counter))
			}
		}
	}
	if len(r.cgroup) > 0 {
		g.add("cpu", "instance", "%", scaled(inside, 100/allowed))
	}
	g.add("cpu", "driver", "%", scaled(g.sum(columns{r.driver}, "cpu_user_s", "cpu_system_s"), 100/cpus))
	g.add("cpu", "run queue", "tasks", g.of(host, "run_queue"))
	g.add("cpu", "waiting for CPU", "% of the time", scaled(g.of(host, "pressure_cpu_some_s"), 100))
}

// disk adds the device whose counters begin with p.
func (g *grid) disk(host columns, p string) {
	g.add("disk", "read", "MiB/s", scaled(g.of(host, p+"read_bytes"), 1.0/mebibyte))
	g.add("disk", "write", "MiB/s", scaled(g.of(host, p+"write_bytes"), 1.0/mebibyte))
	reads, writes := g.of(host, p+"reads"), g.of(host, p+"writes")
	g.add("disk", "reads", "/s", reads)
	g.add("disk", "writes", "/s", writes)
	g.add("disk", "busy", "%", scaled(g.of(host, p+"busy_s"), 100))
	g.add("disk", "read latency", "ms", ratio(g.of(host, p+"read_s"), reads, 1e3))
	g.add("disk", "write latency", "ms", ratio(g.of(host, p+"write_s"), writes, 1e3))
	g.add("disk", "flush latency", "ms", ratio(g.of(host, p+"flush_s"), g.of(host, p+"flushes"), 1e3))
	g.add("disk", "queue", "requests", g.of(host, p+"queue_s"))
	g.add("disk", "waiting for I/O", "% of the time", scaled(g.of(host, "pressure_io_some_s"), 100))
}

// database adds the database's own counters: the usual ones with the names
// and units that people know, and every other as it is, per second where it
// is a total.
func (g *grid) database(prefix string, c columns) {
	hit, read := g.of(c, "blocks_hit"), g.of(c, "blocks_read")
	all := make([]float64, len(hit))
	for i := range all {
		all[i] = hit[i] + read[i]
	}
	g.add("database", prefix+"cache hits", "%", ratio(hit, all, 100))
	for i, name := range c.Names {
		unit, factor := "", 1.0
		if c.Totals[i] {
			unit = "/s"
		}
		if strings.HasSuffix(name, "_bytes") {
			unit, factor = "MiB"+unit, 1.0/mebibyte
		}
		plain := strings.ReplaceAll(strings.TrimSuffix(name, "_bytes"), "_", " ")
		g.add("database", prefix+plain, unit, scaled(g.of(c, name), factor))
	}
}

// mostWaits is how many states get a track of their own; the others are added
// up.
const mostWaits = 8

// waits adds the mean number of sessions in each state.
func (g *grid) waits(prefix string, s record.States) {
	whole := Window{Start: g.rows[0].Start.Seconds(), End: g.Seconds[len(g.Seconds)-1]}
	order := waits(raw{waits: []record.States{s}}, whole)
	others := make([]float64, len(g.Seconds))
	for n, w := range order {
		values := g.sessions(s, w.State)
		if n < mostWaits {
			g.add("waits", prefix+w.State, "sessions", values)
			continue
		}
		for i, v := range values {
			others[i] += v
		}
	}
	if len(order) > mostWaits {
		g.add("waits", prefix+"others", "sessions", others)
	}
}

// sessions is the mean number of sessions in a state over each interval.
func (g *grid) sessions(s record.States, state string) []float64 {
	out := make([]float64, len(g.Seconds))
	for i, name := range s.Names {
		if name != state {
			continue
		}
		row := 0
		for k, interval := range g.rows {
			sum, polls := 0.0, 0.0
			for ; row < len(s.At) && s.At[row] <= interval.End.Seconds()+slack; row++ {
				if s.At[row] > interval.Start.Seconds()+slack && !math.IsNaN(s.Sessions[i][row]) {
					sum += s.Sessions[i][row]
					polls += s.Polls[row]
				}
			}
			out[k] = sum / polls
		}
	}
	return out
}

// network adds every interface, loopback too: the load of a study on one
// machine crosses it.
func (g *grid) network(host columns) {
	for _, n := range host.Names {
		device, ok := strings.CutPrefix(n, "net_")
		if d, ok2 := strings.CutSuffix(device, "_rx_bytes"); ok && ok2 {
			g.add("network", d+" in", "MiB/s", scaled(g.of(host, n), 1.0/mebibyte))
			g.add("network", d+" out", "MiB/s", scaled(g.of(host, "net_"+d+"_tx_bytes"), 1.0/mebibyte))
		}
	}
}

// memory adds the machine's and the instances' memory, and swapping.
func (g *grid) memory(r raw) {
	host := columns{r.host}
	for _, t := range [][2]string{
		{"available", "mem_available_bytes"}, {"page cache", "mem_cached_bytes"},
		{"dirty", "mem_dirty_bytes"}, {"being written", "mem_writeback_bytes"},
	} {
		g.add("memory", t[0], "MiB", scaled(g.of(host, t[1]), 1.0/mebibyte))
	}
	for i, c := range r.cgroup {
		g.add("memory", instanceName(r, i)+"instance", "MiB", scaled(g.of(columns{c}, "mem_used_bytes"), 1.0/mebibyte))
	}
	g.add("memory", "driver", "MiB", scaled(g.of(columns{r.driver}, "mem_rss_bytes"), 1.0/mebibyte))
	g.add("memory", "swapped in", "pages/s", g.of(host, "swap_in_pages"))
	g.add("memory", "swapped out", "pages/s", g.of(host, "swap_out_pages"))
}

// of is a counter over the intervals: the rate per second of a total, between
// readings interpolated to the ends of the interval, or the state at its end.
// It is NaN where the interval is not between readings, or a total was reset.
func (g *grid) of(c columns, name string) []float64 {
	column, isTotal := c.of(name)
	out := make([]float64, len(g.rows))
	l := line{at: c.At, values: column}
	for i, r := range g.rows {
		begin, end := r.Start.Seconds(), r.End.Seconds()
		if !isTotal {
			out[i], _ = l.value(end)
			continue
		}
		first, from := l.value(begin)
		last, to := l.value(end)
		out[i] = (last - first) / (to - from)
		if out[i] < 0 || to-from < (end-begin)/2 {
			out[i] = nan()
		}
	}
	return out
}

// sum adds counters up; those that were not recorded count as nothing.
func (g *grid) sum(c columns, names ...string) []float64 {
	out := make([]float64, len(g.rows))
	known := false
	for _, name := range names {
		if column, _ := c.of(name); column == nil {
			continue
		}
		known = true
		for i, v := range g.of(c, name) {
			out[i] += v
		}
	}
	if !known {
		for i := range out {
			out[i] = nan()
		}
	}
	return out
}

// line is a counter between its readings. Times must be asked for in rising
// order but for one step back, so that a scan is enough.
type line struct {
	at, values []float64
	next       int // first reading later than the time asked for last
}

// reach is how far beyond the first and last reading, in seconds, a value is
// still taken to hold: samplers tick a little beside the driver.
const reach = 0.25

// value is the reading at time t, interpolated, and the time for which it
// holds: t, or that of the first or last reading where t is a little beyond.
// The reading is NaN further out, and beside one that failed.
func (l *line) value(t float64) (reading, at float64) {
	n := min(len(l.at), len(l.values))
	for l.next > 0 && l.at[l.next-1] > t {
		l.next--
	}
	for l.next < n && l.at[l.next] <= t {
		l.next++
	}
	switch i := l.next; {
	case n == 0:
		return nan(), t
	case i == 0 && l.at[0]-t > reach, i == n && t-l.at[n-1] > reach:
		return nan(), t
	case i == 0:
		return l.values[0], l.at[0]
	case i == n:
		return l.values[i-1], l.at[i-1]
	default:
		part := (t - l.at[i-1]) / (l.at[i] - l.at[i-1])
		if part == 0 { // the next reading may have failed
			return l.values[i-1], t
		}
		return l.values[i-1] + part*(l.values[i]-l.values[i-1]), t
	}
}

func scaled(xs []float64, factor float64) []float64 {
	out := make([]float64, len(xs))
	for i, x := range xs {
		out[i] = x * factor
	}
	return out
}

// ratio is factor·a/b, NaN where b is 0.
func ratio(a, b []float64, factor float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = nan()
		if b[i] != 0 {
			out[i] = factor * a[i] / b[i]
		}
	}
	return out
}
