package drive

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// drawProfile draws a profile of whole milliseconds with some load in it.
func drawProfile(t *rapid.T, most float64) []Phase {
	load := rapid.OneOf(rapid.Just(0.0), rapid.Just(most), rapid.Float64Range(0, most))
	phases := []Phase{{time.Duration(rapid.IntRange(1, 9).Draw(t, "for")) * time.Millisecond, rapid.Float64Range(1, most).Draw(t, "load")}}
	for range rapid.IntRange(0, 4).Draw(t, "phases") {
		phases = append(phases, Phase{time.Duration(rapid.IntRange(1, 9).Draw(t, "for")) * time.Millisecond, load.Draw(t, "load")})
	}
	n := rapid.IntRange(0, len(phases)-1).Draw(t, "first")
	return append(phases[n:], phases[:n]...)
}

// at is the phase of a profile at a time since the end of the ramp, found by
// walking.
func at(phases []Phase, t time.Duration) Phase {
	for i := 0; ; i = (i + 1) % len(phases) {
		if t < phases[i].For {
			return phases[i]
		}
		t -= phases[i].For
	}
}

func TestAPhaseHasItsShareOfTheUsersAndAtLeastOne(t *testing.T) {
	phases := []Phase{{time.Second, 0}, {time.Second, .1}, {time.Second, 30}, {time.Second, 50}, {time.Second, 99}, {time.Second, 100}}
	for users, want := range map[int]string{1: "[0 1 1 1 1 1]", 3: "[0 1 1 2 3 3]", 10: "[0 1 3 5 10 10]", 1000: "[0 1 300 500 990 1000]"} {
		if got := fmt.Sprint(newShifts(phases, 0, users).atWork); got != want {
			t.Errorf("%d users: %s, want %s", users, got, want)
		}
	}
}

func TestUsersResumeAtTheFirstMomentOfTheirPhase(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const ms = time.Millisecond
		users := rapid.IntRange(1, 12).Draw(t, "users")
		user := rapid.IntRange(0, users-1).Draw(t, "user")
		ramp := time.Duration(rapid.IntRange(0, 5).Draw(t, "ramp")) * ms
		phases := drawProfile(t, 100)
		s := newShifts(phases, ramp, users)
		working := func(now time.Duration) bool {
			p := at(phases, max(0, now-ramp))
			return p.LoadPct > 0 && (user == 0 || float64(user) < math.Round(float64(users)*p.LoadPct/100))
		}
		from := s.start(user, users) + time.Duration(rapid.IntRange(0, 100).Draw(t, "from"))*ms
		want := from
		for bound := from + 2*s.cycle; !working(want); want += ms {
			// Ramps and phases are whole milliseconds: so are boundaries.
			if want = want.Truncate(ms); want > bound {
				want = never
				break
			}
		}
		if got := s.resume(user, from); got != want {
			t.Fatalf("user %d of %d, free at %v, resumes at %v, want %v", user, users, from, got, want)
		}
	})
}

// In each second as many users work as the phase asks for, and the others are
// idle: 10 users of 100 units a second.
func TestClosedLoopFollowsTheProfile(t *testing.T) {
	rep, s := drive(t, Config{
		Workload: single(0), Target: &target{do: takes(10 * time.Millisecond)}, Users: 10, Measure: 8 * time.Second,
		Profile: []Phase{{time.Second, 100}, {time.Second, 30}, {time.Second, 0}},
	})
	for i, want := range []struct{ units, idle int64 }{{1000, 0}, {300, 7}, {0, 10}, {1000, 0}, {300, 7}, {0, 10}, {1000, 0}, {300, 7}} {
		got := s.intervals[i]
		done := got.Types[0].Committed
		// A unit that ends at the boundary counts in the second that follows.
		if d := done - want.units; d > 10 || d < -10 || got.IdleSum != want.idle*1e6 {
			t.Errorf("second %d: %d units and %d µs idle, want %d and %d s", i+1, done, got.IdleSum, want.units, want.idle)
		}
	}
	if n := rep.Totals[0].Committed; n != 3*1000+3*300 {
		t.Errorf("%d units, want 3,900", n)
	}
	if s.late.TotalCount() == 0 || s.late.Max() != 0 || s.response[0].Max() > 10_010 {
		t.Errorf("%d resumed, up to %d µs late; the longest response is %d µs: a rest is not in it", s.late.TotalCount(), s.late.Max(), s.response[0].Max())
	}
}

func TestUsersRestBetweenUnitsNeverWithin(t *testing.T) {
	txs := types("a", "b")
	var order []string
	tg := &target{}
	var epoch time.Time
	tg.do = func(ctx context.Context, _ int, tx *workload.Transaction) (workload.Outcome, error) {
		order = append(order, fmt.Sprint(tx.Name, bubbleClock.Now().Sub(epoch)))
		pause(ctx, 400*time.Millisecond)
		return workload.Outcome{}, nil
	}
	_, s := drive(t, Config{
		Workload: plays("unit", txs,
			workload.Step{Transaction: txs[0], Think: 300 * time.Millisecond},
			workload.Step{Transaction: txs[1], Think: 200 * time.Millisecond, Last: true}),
		Target: tg, Users: 1, Measure: 5 * time.Second, Started: func(e time.Time) { epoch = e },
		Profile: []Phase{{time.Second, 100}, {time.Second, 0}},
	})
	// A unit takes 1.3 s: it goes on where it would rest, and what is left of
	// that phase is the rest.
	if got := fmt.Sprint(order); got != "[a0s b700ms a2s b2.7s a4s b4.7s]" {
		t.Error(got)
	}
	for i, want := range []int64{0, 700, 0, 700, 0} {
		if got := s.intervals[i].IdleSum; got != want*1000 {
			t.Errorf("second %d: %d µs idle, want %d ms", i+1, got, want)
		}
	}
}

func TestNobodyRestsBeyondTheEnd(t *testing.T) {
	_, s := drive(t, Config{
		Workload: single(0), Target: &target{do: takes(700 * time.Millisecond)}, Users: 2, Measure: time.Second,
		Profile: []Phase{{time.Minute, 50}},
	})
	// The last unit ends at 1.4 s.
	if n := len(s.intervals); n != 2 || s.intervals[0].IdleSum != 1e6 || s.intervals[1].IdleSum != 0 {
		t.Errorf("%d intervals: %+v; want 1 s idle in the first of two", n, s.intervals)
	}
}

func TestTheRampLeadsToTheFirstPhase(t *testing.T) {
	var mu sync.Mutex
	first := map[int]time.Duration{}
	var epoch time.Time
	tg := &target{}
	tg.do = func(ctx context.Context, user int, _ *workload.Transaction) (workload.Outcome, error) {
		mu.Lock()
		if _, ok := first[user]; !ok {
			first[user] = bubbleClock.Now().Sub(epoch)
		}
		mu.Unlock()
		pause(ctx, 100*time.Millisecond)
		return workload.Outcome{}, nil
	}
	drive(t, Config{Workload: single(0), Target: tg, Users: 4, Ramp: 4 * time.Second, Measure: 3 * time.Second,
		Profile: []Phase{{time.Second, 50}, {time.Second, 75}}, Started: func(e time.Time) { epoch = e }})
	// Two come in the ramp, the third with its phase, the fourth never.
	if got := fmt.Sprint(first); got != "map[0:0s 1:2s 2:5s]" {
		t.Error(got)
	}
}

// Little's law with rests: every user is at work, thinks or is idle at any
// time, whatever the profile, the extensions of the run and its interval.
func TestTheUsersTimeAddsUpWithRests(t *testing.T) {
	const seed = 77
	for i := range uint64(40) {
		random := rng.At(seed, i)
		between := func(least, most int64) time.Duration {
			return time.Duration(random.Between(least, most)) * time.Millisecond
		}
		service, end := between(1, 60), between(500, 3000)
		c := Config{
			Workload: single(0), Target: &target{do: takes(service)}, Users: int(random.Between(1, 9)),
			Ramp: between(0, 300), Interval: between(100, 1000), Seed: i,
		}
		for range random.Between(1, 4) {
			c.Profile = append(c.Profile, Phase{between(50, 400), float64(random.Between(0, 100))})
		}
		c.Profile[0].LoadPct = float64(random.Between(1, 100))
		c.Measure = end - c.Ramp
		if i%2 == 0 {
			left := between(0, 900)
			c.Extend = func(time.Duration) time.Duration {
				more := left
				left = 0
				return more
			}
		}
		rep, s := drive(t, c)
		end = time.Duration(math.Round(rep.Phases.MeasureEnd*1e9)) * time.Nanosecond
		var spent time.Duration
		for _, v := range s.intervals {
			if v.IdleSum < 0 || v.IdleSum > int64(c.Users)*int64(v.End-v.Start)/1000 {
				t.Errorf("seed %d, %d: %d µs idle in %v of %d users", seed, i, v.IdleSum, v.End-v.Start, c.Users)
			}
			spent += time.Duration(v.IdleSum+v.Types[0].ResponseSum) * time.Microsecond
		}
		shift := newShifts(c.Profile, c.Ramp, c.Users)
		var least, most time.Duration
		for u := range c.Users {
			least += end - shift.start(u, c.Users)
			most += end - shift.start(u, c.Users) + service
		}
		if spent < least-time.Microsecond || spent > most {
			t.Errorf("seed %d, %d: the users spent %v, want %v to %v (%+v)", seed, i, spent, least, most, c)
		}
	}
}

// A cancelled run of resting users ends at once.
func TestCancelEndsARest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		begin := bubbleClock.Now()
		_, err := Run(ctx, Config{
			Workload: single(0), Target: &target{do: takes(10 * time.Millisecond)}, Clock: bubbleClock, Users: 3, Measure: time.Hour,
			Profile: []Phase{{time.Second, 100}, {time.Minute, 0}},
		}, newSums(t, 1))
		if took := bubbleClock.Now().Sub(begin); err == nil || took != 1500*time.Millisecond {
			t.Errorf("it ended after %v with %v", took, err)
		}
	})
}

func TestOpenLoopFollowsTheProfile(t *testing.T) {
	rep, s := drive(t, Config{
		Workload: single(0), Target: &target{do: takes(5 * time.Millisecond)}, RatePerS: 100, Arrivals: Constant, Users: 50,
		Ramp: 2 * time.Second, Measure: 8 * time.Second, Profile: []Phase{{time.Second, 50}, {time.Second, 0}, {2 * time.Second, 1000}},
	})
	for i, want := range []int64{12, 37, 50, 0, 1000, 1000, 50, 0, 1000, 1000} {
		if d := s.intervals[i].Types[0].Committed - want; d > 6 || d < -6 {
			t.Errorf("second %d: %d units, want about %d", i+1, s.intervals[i].Types[0].Committed, want)
		}
	}
	if n := rep.Totals[0].Committed; n != 50+2*2050 || s.late.Max() != 0 {
		t.Errorf("%d units, want 4,150; up to %d µs late", n, s.late.Max())
	}
}

func TestValidateFindsFaultsOfTheProfile(t *testing.T) {
	good := Config{Workload: single(0), Target: &target{}, Clock: bubbleClock, Users: 1, Measure: time.Second}
	for _, c := range []struct {
		rate    float64
		profile []Phase
		want    string
	}{
		{0, nil, ""},
		{0, []Phase{{time.Second, 0}, {time.Second, 100}}, ""},
		{5, []Phase{{time.Second, 1000}}, ""},
		{0, []Phase{{time.Second, 101}}, "phase 1 of the profile has a load of 101 %: from 0 to 100"},
		{5, []Phase{{time.Second, 5}, {time.Second, 1001}}, "phase 2 of the profile has a load of 1001 %: from 0 to 1000"},
		{0, []Phase{{time.Second, -1}, {time.Second, 9}}, "phase 1 of the profile has a load of -1 %: from 0 to 100"},
		{0, []Phase{{time.Second, nan()}, {time.Second, 9}}, "phase 1 of the profile has a load of NaN %: from 0 to 100"},
		{0, []Phase{{0, 50}}, "phase 1 of the profile lasts 0s: it must be more than 0"},
		{0, []Phase{{time.Second, 0}}, "the profile has no phase with any load"},
	} {
		cfg := good
		cfg.Profile, cfg.RatePerS = c.profile, c.rate
		if c.rate > 0 {
			cfg.Arrivals = Constant
		}
		err := cfg.Validate()
		if got := fmt.Sprint(err); c.want == "" && err != nil || c.want != "" && got != "drive: "+c.want {
			t.Errorf("%+v: %v, want %q", c.profile, err, c.want)
		}
	}
}
