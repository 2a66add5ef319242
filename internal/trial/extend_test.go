package trial

import (
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/study"
)

// measured plays a run on an extender, second by second, with n(i) pieces of
// work in second i on each instance, and returns how long it measures.
func measured(e *extender, n func(i int) int64) time.Duration {
	begin := e.run.Ramp + e.run.Warmup
	end := begin + e.run.Measure
	for i := 0; ; i++ {
		at := time.Duration(i+1) * time.Second
		for k := range e.instances {
			e.interval(k+1, record.Interval{Start: at - time.Second, End: at, Types: []record.Series{{Committed: n(i)}}})
		}
		if at < end-time.Second {
			continue
		}
		answers := map[time.Duration]bool{}
		for range e.instances { // each driver asks, a little later than the last
			answers[e.more(at+time.Duration(len(answers))*time.Millisecond)] = true
		}
		if len(answers) != 1 {
			return -1
		}
		for more := range answers {
			if more == 0 {
				return end - begin
			}
			end += more
		}
	}
}

func TestMeasuringGoesOnUntilTheIntervalIsTightOrTheBoundIsReached(t *testing.T) {
	random := rng.At(11)
	noisy := func(spread int64) func(int) int64 {
		return func(int) int64 { return 1000 + random.Between(-spread, spread) }
	}
	run := study.Run{Warmup: 5 * time.Second, Measure: 20 * time.Second, MeasureMax: 5 * time.Minute, PrecisionPct: 2}
	for _, instances := range []int{1, 3} {
		calm := measured(newExtender(run, instances), noisy(10))
		wild := measured(newExtender(run, instances), noisy(300))
		if calm != run.Measure {
			t.Errorf("%d instances: a calm run measures for %v, want no longer than %v", instances, calm, run.Measure)
		}
		if wild <= run.Measure || wild > run.MeasureMax {
			t.Errorf("%d instances: a noisy run measures for %v, want more than %v and at most %v", instances, wild, run.Measure, run.MeasureMax)
		}
	}
	hopeless := measured(newExtender(study.Run{Measure: 20 * time.Second, MeasureMax: time.Minute, PrecisionPct: 0.001}, 1), noisy(300))
	if hopeless != time.Minute {
		t.Errorf("a hopeless run measures for %v, want its bound of 1m", hopeless)
	}
}

func TestMeasuringGoesOnUntilItHoldsWholeCheckpointCycles(t *testing.T) {
	e := newExtender(study.Run{Warmup: 5 * time.Second, Measure: 10 * time.Second, MeasureMax: 5 * time.Minute, Checkpoints: 2}, 1)
	got := measured(e, func(i int) int64 {
		e.checkpoints(time.Duration(i)*time.Second, float64(i/30)) // one each half minute
		return 1000
	})
	// Two cycles after 5 s: from the checkpoint at 30 s to that at 90 s.
	if got < 85*time.Second || got > 100*time.Second {
		t.Errorf("measures for %v, want about 85 s", got)
	}
}
