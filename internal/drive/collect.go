package drive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// drainEvery is how often the collector takes the users' samples at least: it
// bounds their buffers.
const drainEvery = 100 * time.Millisecond

// collector turns the samples of all users into intervals and totals. It
// belongs to one goroutine.
type collector struct {
	r    *run
	sink Sink

	start  time.Duration // of the interval under way
	series []series
	late   *hdrhistogram.Histogram
	carry  []sample // that ended after the interval under way
	spare  []sample
	rests  []rest // that are not over, each from where it is not yet counted
	// Time in rests in nanoseconds, and what of it was handed out in
	// microseconds, as with the sums of a series.
	idleNs, idleHanded int64
	interval           record.Interval
	failed             bool // the sink did

	totals   []record.Series // counts only, by series
	unknown  []int64         // by series
	aborted  int64
	clamped  int64
	lastEnd  time.Duration
	inFlight int64
	backlog  int64
}

// series is one type in the interval under way. Histograms are made at the
// first value and kept.
type series struct {
	record.Series
	response, service, undone *hdrhistogram.Histogram
	// Sums in nanoseconds, and what of them was handed out in microseconds:
	// rounding does not add up.
	responseNs, thinkNs         int64
	responseHanded, thinkHanded int64
}

func newCollector(r *run, sink Sink) *collector {
	n := len(r.c.Workload.Transactions)
	if r.unitSeries >= 0 {
		n++
	}
	c := &collector{
		r: r, sink: sink,
		series: make([]series, n), totals: make([]record.Series, n), unknown: make([]int64, n),
		late: record.NewHistogram(),
	}
	c.interval.Types = make([]record.Series, n)
	for i := range n {
		c.series[i].Errors = make([]int64, workload.Classes)
		c.totals[i].Errors = make([]int64, workload.Classes)
	}
	return c
}

// collect drains the users until ctx ends and emits each interval when it is
// over. Interval boundaries are multiples of the interval since the epoch,
// however late the collector itself is.
func (c *collector) collect(ctx context.Context) {
	length := c.r.c.Interval
	steps := (length + drainEvery - 1) / drainEvery
	for {
		for i := time.Duration(1); i <= steps; i++ {
			if c.r.sleep(ctx, c.start+length*i/steps) != nil {
				return
			}
			c.drain(c.start + length)
		}
		if err := c.emit(c.start + length); err != nil {
			c.r.abort(err)
			return
		}
	}
}

// drain takes the samples of all users. Those that ended at `end` or later
// belong to an interval to come; one that ended before and comes only now is
// counted now.
func (c *collector) drain(end time.Duration) {
	c.inFlight = 0
	for _, u := range c.r.users {
		if u.busy.Load() {
			c.inFlight++
		}
		u.mu.Lock()
		got := u.samples
		u.samples = c.spare[:0]
		c.rests = append(c.rests, u.rests...)
		u.rests = u.rests[:0]
		u.mu.Unlock()
		for i := range got {
			if got[i].end >= end {
				c.carry = append(c.carry, got[i])
			} else {
				c.add(&got[i])
			}
		}
		c.spare = got
	}
	if c.r.queue != nil {
		c.backlog = c.r.queue.backlog()
	}
}

// add counts one sample in the interval under way and in the totals.
func (c *collector) add(a *sample) {
	s, t := &c.series[a.series], &c.totals[a.series]
	if a.late >= 0 {
		c.value(&c.late, a.late)
	}
	c.lastEnd = max(c.lastEnd, a.end)
	s.Retries += int64(a.retries)
	t.Retries += int64(a.retries)
	switch a.status {
	case workload.Committed:
		s.Committed++
		t.Committed++
		c.value(&s.response, a.response)
		c.value(&s.service, a.service)
	case workload.RolledBack:
		s.RolledBack++
		t.RolledBack++
		c.value(&s.undone, a.response)
	case aborted:
		c.unknown[a.series]++
		if a.series != c.r.unitSeries {
			c.aborted++
		}
		return
	default:
		s.Errors[a.class]++
		t.Errors[a.class]++
		if a.class == workload.Connection {
			c.unknown[a.series]++
		}
		return
	}
	s.responseNs += int64(a.response)
	s.thinkNs += int64(a.think)
}

// value records d, in microseconds, in *h.
func (c *collector) value(h **hdrhistogram.Histogram, d time.Duration) {
	if *h == nil {
		*h = record.NewHistogram()
	}
	if d > time.Hour {
		c.clamped++
		d = time.Hour
	}
	// Within the range, recording cannot fail.
	_ = (*h).RecordValue(int64((d + time.Microsecond/2) / time.Microsecond))
}

// emit hands the interval that ends at end to the sink and begins the next.
func (c *collector) emit(end time.Duration) error {
	i := &c.interval
	i.Start, i.End, i.InFlight, i.Backlog, i.Late = c.start, end, c.inFlight, c.backlog, filled(c.late)
	i.IdleSum = c.idle(end)
	for k := range c.series {
		s := &c.series[k]
		s.ResponseSum = s.responseNs/1000 - s.responseHanded
		s.ThinkSum = s.thinkNs/1000 - s.thinkHanded
		s.responseHanded += s.ResponseSum
		s.thinkHanded += s.ThinkSum
		s.Response, s.Service, s.Undone = filled(s.response), filled(s.service), filled(s.undone)
		i.Types[k] = s.Series
	}
	if err := c.sink.Interval(*i); err != nil {
		c.failed = true
		return fmt.Errorf("drive: handing over the interval from %v: %w", i.Start, err)
	}
	c.progress(end)
	for k := range c.series {
		c.series[k].reset()
	}
	reset(c.late)
	c.start = end
	c.takeCarried(end + c.r.c.Interval)
	return nil
}

// idle is the time in µs that users paused up to end and that was not handed
// out yet. Nobody pauses beyond the end of the run.
func (c *collector) idle(end time.Duration) int64 {
	left := c.rests[:0]
	for _, p := range c.rests {
		if to := min(p.to, end, time.Duration(c.r.end.Load())); to > p.from {
			c.idleNs += int64(to - p.from)
			p.from = to
		}
		if p.to > end {
			left = append(left, p)
		}
	}
	c.rests = left
	idle := c.idleNs/1000 - c.idleHanded
	c.idleHanded += idle
	return idle
}

// takeCarried counts what ended before end.
func (c *collector) takeCarried(end time.Duration) {
	left := c.carry[:0]
	for i := range c.carry {
		if c.carry[i].end < end {
			c.add(&c.carry[i])
		} else {
			left = append(left, c.carry[i])
		}
	}
	c.carry = left
}

func filled(h *hdrhistogram.Histogram) *hdrhistogram.Histogram {
	if h == nil || h.TotalCount() == 0 {
		return nil
	}
	return h
}

func reset(h *hdrhistogram.Histogram) {
	if h != nil && h.TotalCount() > 0 {
		h.Reset()
	}
}

func (s *series) reset() {
	reset(s.response)
	reset(s.service)
	reset(s.undone)
	clear(s.Errors)
	s.Series = record.Series{Errors: s.Errors}
}

// metricSeries is the series that the headline metric counts, -1 where the
// workload names none: then all transactions are counted.
func (r *run) metricSeries() int {
	name := r.c.Workload.Metric.Series
	if name == r.c.Workload.Unit {
		return int(r.unitSeries)
	}
	return slices.IndexFunc(r.c.Workload.Transactions, func(t *workload.Transaction) bool { return t.Name == name })
}

// progress tells the caller how the run stands after the interval to end.
func (c *collector) progress(end time.Duration) {
	if c.r.c.Progress == nil {
		return
	}
	p := Progress{Elapsed: end, End: time.Duration(c.r.end.Load()), InFlight: c.inFlight, Backlog: c.backlog}
	done := int64(0)
	metric := c.r.c.Workload.Metric
	counted := c.r.metricSeries()
	for k := range c.series {
		s := &c.series[k]
		if counted < 0 || k == counted {
			done += s.Committed
			if counted < 0 || metric.WithRollbacks {
				done += s.RolledBack
			}
		}
		if k != int(c.r.unitSeries) {
			for _, n := range c.totals[k].Errors {
				p.Errors += n
			}
		}
	}
	p.PerS = float64(done) / (end - c.start).Seconds()
	switch ramp := c.r.c.Ramp; {
	case end <= ramp:
		p.Phase = "ramp"
	case end <= ramp+c.r.c.Warmup:
		p.Phase = "warm-up"
	case end <= p.End:
		p.Phase = "measure"
	default:
		p.Phase = "drain"
	}
	c.r.c.Progress(p)
}

// finish emits what is left when all users have ended: whole intervals that
// the collector had no time for, and the last, which is shorter, where there
// is anything in it.
func (c *collector) finish() error {
	if c.failed {
		return nil // the run's own error tells of it
	}
	now := c.r.now()
	c.drain(c.start + c.r.c.Interval)
	for c.start+c.r.c.Interval <= now {
		if err := c.emit(c.start + c.r.c.Interval); err != nil {
			return err
		}
	}
	if !c.busy() {
		return nil
	}
	// Up to the next millisecond, so that what ended just now is inside.
	return c.emit(max(now, c.start).Truncate(time.Millisecond) + time.Millisecond)
}

// busy says whether the interval under way has anything in it.
func (c *collector) busy() bool {
	if c.late.TotalCount() > 0 {
		return true
	}
	for k := range c.series {
		s := &c.series[k]
		if s.Committed+s.RolledBack+s.Retries > 0 || slices.Max(s.Errors) > 0 {
			return true
		}
	}
	return false
}

// report sums up the run.
func (c *collector) report() Report {
	r := c.r
	end := time.Duration(r.end.Load())
	if cause := context.Cause(r.work); cause != nil && !errors.Is(cause, errDrained) {
		end = min(end, r.now())
	}
	rep := Report{
		Epoch: r.epoch,
		Phases: record.Phases{
			RampEnd:    min(r.c.Ramp, end).Seconds(),
			WarmupEnd:  min(r.c.Ramp+r.c.Warmup, end).Seconds(),
			MeasureEnd: end.Seconds(),
		},
		Tally: workload.Tally{Committed: map[string]int64{}, RolledBack: map[string]int64{}, Unknown: map[string]int64{}},
		Driver: record.Driver{
			Connections: len(r.conns), PoolWaits: r.poolWaits.Load(), PoolWaitS: time.Duration(r.poolWait.Load()).Seconds(),
			Reopened: r.reopened.Load(), Aborted: c.aborted, Clamped: c.clamped, LastEndS: c.lastEnd.Seconds(), EndedEarly: len(r.ended),
		},
		Ended: r.ended,
	}
	if r.cast != nil {
		rep.Tally.Facts = r.cast.Facts()
	}
	if r.queue != nil {
		rep.Driver.Unserved = r.queue.unserved
	}
	for k, t := range c.totals {
		out := record.Totals{Committed: t.Committed, RolledBack: t.RolledBack, Retries: t.Retries, Errors: map[string]int64{}}
		for class, n := range t.Errors {
			if n > 0 {
				out.Errors[workload.Class(class).String()] = n
			}
		}
		if k == int(r.unitSeries) {
			out.Type = r.c.Workload.Unit
		} else {
			out.Type = r.c.Workload.Transactions[k].Name
			rep.Tally.Committed[out.Type] = t.Committed
			rep.Tally.RolledBack[out.Type] = t.RolledBack
			rep.Tally.Unknown[out.Type] = c.unknown[k]
		}
		rep.Totals = append(rep.Totals, out)
	}
	for _, k := range slices.SortedFunc(maps.Keys(r.errors.seen), func(a, b errorKey) int {
		return cmp.Or(cmp.Compare(a.series, b.series), cmp.Compare(a.class, b.class))
	}) {
		rep.Errors = append(rep.Errors, *r.errors.seen[k])
	}
	return rep
}
