package trial

import (
	"math"
	"sync"
	"time"

	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/stats"
	"github.com/loadstone-perf/loadstone/internal/study"
)

// extender decides how long a trial measures: until its interval is tight
// enough and it holds the checkpoint cycles asked for, or until its bound. All
// drivers of a trial ask it and get the same answer.
type extender struct {
	run       study.Run
	instances int

	mu      sync.Mutex
	end     time.Duration                   // of measuring, since the epoch, as it stands
	asked   map[time.Duration]time.Duration // answers by the second of the question
	done    []map[time.Duration]float64     // by instance: work ended, by the interval's end
	cycles  float64                         // checkpoints since warm-up
	cycleAt float64                         // their number when warm-up ended; NaN before
}

func newExtender(run study.Run, instances int) *extender {
	e := &extender{run: run, instances: instances, end: run.Ramp + run.Warmup + run.Measure, asked: map[time.Duration]time.Duration{}, cycleAt: math.NaN()}
	for range instances {
		e.done = append(e.done, map[time.Duration]float64{})
	}
	return e
}

// interval notes what a driver saw.
func (e *extender) interval(number int, i record.Interval) {
	if e.run.MeasureMax == 0 || i.Start < e.run.Ramp+e.run.Warmup {
		return
	}
	last := i.Types[len(i.Types)-1] // the unit, or the last type: they keep step
	e.mu.Lock()
	e.done[number-1][i.End] = float64(last.Committed + last.RolledBack)
	e.mu.Unlock()
}

// checkpoints notes how many checkpoints there have been at a time since the
// epoch.
func (e *extender) checkpoints(at time.Duration, n float64) {
	if at < e.run.Ramp+e.run.Warmup || math.IsNaN(n) {
		return
	}
	e.mu.Lock()
	if math.IsNaN(e.cycleAt) {
		e.cycleAt = n
	}
	e.cycles = n - e.cycleAt
	e.mu.Unlock()
}

// more says how much longer to measure; elapsed is shortly before the end.
func (e *extender) more(elapsed time.Duration) time.Duration {
	second := elapsed.Truncate(time.Second)
	e.mu.Lock()
	defer e.mu.Unlock()
	if d, ok := e.asked[second]; ok {
		return d
	}
	bound := e.run.Ramp + e.run.Warmup + e.run.MeasureMax
	step := min(max(2*time.Second, e.run.Measure/4), bound-e.end)
	if e.tight() && e.whole() {
		step = 0
	}
	e.end += step
	e.asked[second] = step
	return step
}

// tight says that the 95 % interval of the throughput's mean is within the
// precision asked for.
func (e *extender) tight() bool {
	if e.run.PrecisionPct == 0 {
		return true
	}
	m := stats.MeanOfRun(e.sums(), 0.95)
	half := (m.High - m.Low) / 2
	return half <= m.Value*e.run.PrecisionPct/100 // false where there is no interval
}

// sums adds the instances up, over the intervals that all have told.
func (e *extender) sums() (out []float64) {
	for at, n := range e.done[0] {
		all := true
		for _, other := range e.done[1:] {
			m, ok := other[at]
			n, all = n+m, all && ok
		}
		if all {
			out = append(out, n)
		}
	}
	return out
}

// whole says that as many whole checkpoint cycles as asked for have passed:
// one needs two checkpoints, its begin and its end.
func (e *extender) whole() bool {
	return e.run.Checkpoints == 0 || e.cycles >= float64(e.run.Checkpoints+1)
}
