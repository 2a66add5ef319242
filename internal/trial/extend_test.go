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
		calm := measured(newExtender(run, nil, instances), noisy(10))
		wild := measured(newExtender(run, nil, instances), noisy(300))
		if calm != run.Measure {
			t.Errorf("%d instances: a calm run measures for %v, want no longer than %v", instances, calm, run.Measure)
		}
		if wild <= run.Measure || wild > run.MeasureMax {
			t.Errorf("%d instances: a noisy run measures for %v, want more than %v and at most %v", instances, wild, run.Measure, run.MeasureMax)
		}
	}
	hopeless := measured(newExtender(study.Run{Measure: 20 * time.Second, MeasureMax: time.Minute, PrecisionPct: 0.001}, nil, 1), noisy(300))
	if hopeless != time.Minute {
		t.Errorf("a hopeless run measures for %v, want its bound of 1m", hopeless)
	}
}

func TestMeasuringGoesOnUntilItHoldsWholeCheckpointCycles(t *testing.T) {
	e := newExtender(study.Run{Warmup: 5 * time.Second, Measure: 10 * time.Second, MeasureMax: 5 * time.Minute, Checkpoints: 2}, nil, 1)
	got := measured(e, func(i int) int64 {
		e.checkpoints(time.Duration(i)*time.Second, float64(i/30)) // one each half minute
		return 1000
	})
	// Two cycles after 5 s: from the checkpoint at 30 s to that at 90 s.
	if got < 85*time.Second || got > 100*time.Second {
		t.Errorf("measures for %v, want about 85 s", got)
	}
}

func TestUnderAProfileWholePassesAreMeasuredAndCompared(t *testing.T) {
	profile := []study.Phase{{For: 6 * time.Second, LoadPct: 100}, {For: 4 * time.Second, LoadPct: 20}}
	random := rng.At(12)
	burst := func(spread int64) func(i int) int64 {
		level := int64(0)
		return func(i int) int64 {
			if i%10 == 5 { // passes begin when the warm-up of five seconds ends
				level = random.Between(-spread, spread)
			}
			if (i-5)%10 < 6 {
				return 1000 + level
			}
			return 200
		}
	}
	run := study.Run{Warmup: 5 * time.Second, Measure: 33 * time.Second, MeasureMax: 95 * time.Second, PrecisionPct: 2}
	if got := measured(newExtender(run, profile, 2), burst(1)); got != 40*time.Second {
		t.Errorf("equal passes are measured for %v, want the four passes that 33 s reach into", got)
	}
	if got := measured(newExtender(run, profile, 2), burst(900)); got != 90*time.Second {
		t.Errorf("unequal passes are measured for %v, want as many as fit into the bound, 90 s", got)
	}
	once := []study.Phase{{For: 10 * time.Second, LoadPct: 50}, {For: 1000 * time.Hour, LoadPct: 100}}
	if got := measured(newExtender(run, once, 1), func(int) int64 { return 1000 }); got != run.Measure {
		t.Errorf("a profile that does not repeat is measured for %v, want %v", got, run.Measure)
	}
}
