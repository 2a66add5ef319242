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
// drivers of a trial ask it and get the same answer. Where the load repeats a
// profile, it measures whole passes, and precision is judged between them.
type extender struct {
	run       study.Run
	pass      time.Duration // of the load's profile; 0 where it has none
	instances int

	mu      sync.Mutex
	end     time.Duration                   // of measuring, since the epoch, as it stands
	asked   map[time.Duration]time.Duration // answers by the second of the question
	done    []map[time.Duration]float64     // by instance: work ended, by the interval's end
	cycles  float64                         // checkpoints since warm-up
	cycleAt float64                         // their number when warm-up ended; NaN before
}

// passOf is how long one pass of a profile takes, 0 where one lasts longer
// than measuring may, as the last phase of one that does not repeat does.
func passOf(profile []study.Phase, longest time.Duration) (pass time.Duration) {
	for _, p := range profile {
		if p.For > longest-pass {
			return 0
		}
		pass += p.For
	}
	return pass
}

func newExtender(run study.Run, profile []study.Phase, instances int) *extender {
	e := &extender{run: run, pass: passOf(profile, run.MeasureMax), instances: instances, end: run.Ramp + run.Warmup + run.Measure, asked: map[time.Duration]time.Duration{}, cycleAt: math.NaN()}
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
	step := e.step()
	if e.tight() && e.whole() {
		step = 0
	}
	e.end += step
	e.asked[second] = step
	return step
}

// step is how much longer is measured at a time: a quarter of what was asked
// for at least, or to the end of a pass.
func (e *extender) step() time.Duration {
	begin := e.run.Ramp + e.run.Warmup
	left := begin + e.run.MeasureMax - e.end
	if e.pass == 0 {
		return min(max(2*time.Second, e.run.Measure/4), left)
	}
	if step := e.pass - (e.end-begin)%e.pass; step <= left {
		return step
	}
	return 0
}

// tight says that the 95 % interval of the throughput's mean is within the
// precision asked for.
func (e *extender) tight() bool {
	if e.run.PrecisionPct == 0 {
		return true
	}
	m := stats.MeanOfRun(e.sums(), 0.95).Interval
	if e.pass > 0 {
		if (e.end-e.run.Ramp-e.run.Warmup)%e.pass != 0 {
			return false
		}
		m = stats.StudentT(e.passes(), 0.95)
	}
	half := (m.High - m.Low) / 2
	return half <= m.Value*e.run.PrecisionPct/100 // false where there is no interval
}

// passes adds up what each pass did that has ended. The last one measured is
// seldom among them: drivers ask shortly before its end.
func (e *extender) passes() []float64 {
	begin := e.run.Ramp + e.run.Warmup
	sums := map[int]float64{}
	last := begin
	for at := range e.done[0] {
		if n, all := e.at(at); all {
			sums[int((at-begin-1)/e.pass)] += n
			last = max(last, at)
		}
	}
	var ended []float64
	for k := range int((last - begin) / e.pass) {
		ended = append(ended, sums[k])
	}
	return ended
}

// sums adds the instances up, over the intervals that all have told.
func (e *extender) sums() (out []float64) {
	for at := range e.done[0] {
		if n, all := e.at(at); all {
			out = append(out, n)
		}
	}
	return out
}

// at adds up what the instances did in the interval that ended then, and says
// whether all have told.
func (e *extender) at(end time.Duration) (n float64, all bool) {
	for _, done := range e.done {
		m, ok := done[end]
		if !ok {
			return 0, false
		}
		n += m
	}
	return n, true
}

// whole says that as many whole checkpoint cycles as asked for have passed:
// one needs two checkpoints, its begin and its end.
func (e *extender) whole() bool {
	return e.run.Checkpoints == 0 || e.cycles >= float64(e.run.Checkpoints+1)
}
