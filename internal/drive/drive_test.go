package drive

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// drive runs c in a bubble and checks what holds for every good run.
func drive(t *testing.T, c Config) (Report, *sums) {
	t.Helper()
	n := len(c.Workload.Transactions)
	if c.Workload.Unit != "" {
		n++
	}
	var rep Report
	s := newSums(t, n)
	synctest.Test(t, func(t *testing.T) {
		c.Clock = bubbleClock
		var err error
		if rep, err = Run(t.Context(), c, s); err != nil {
			t.Fatal(err)
		}
		tg := c.Target.(*target)
		if tg.opened.Load() != tg.closed.Load() {
			t.Errorf("%d sessions opened, %d closed", tg.opened.Load(), tg.closed.Load())
		}
	})
	checkTotals(t, rep, s)
	return rep, s
}

func TestClosedLoopCountsExactly(t *testing.T) {
	rep, s := drive(t, Config{
		Workload: single(0), Target: &target{do: takes(10 * time.Millisecond)},
		Users: 4, Warmup: time.Second, Measure: 2 * time.Second,
	})
	// 4 users, 100 a second each, for 3 seconds.
	if got := rep.Totals[0].Committed; got != 1200 {
		t.Errorf("%d commits, want 1200", got)
	}
	if rep.Tally.Committed["buy"] != 1200 || rep.Tally.Unknown["buy"] != 0 {
		t.Errorf("tally %+v", rep.Tally)
	}
	// What ends at a boundary belongs to the next interval.
	if got := s.series(0, time.Second, 3*time.Second).Committed; got != 800 {
		t.Errorf("%d commits in the window, want 800", got)
	}
	for name, h := range map[string]int64{"response": s.response[0].Min(), "service": s.service[0].Max()} {
		if !s.response[0].ValuesAreEquivalent(h, 10_000) {
			t.Errorf("%s time is %d µs, want 10,000", name, h)
		}
	}
	if got := s.all(0).ResponseSum; got != 1200*10_000 {
		t.Errorf("response times come to %d µs, want 12,000,000", got)
	}
	if s.late.TotalCount() != 0 {
		t.Errorf("%d starts are late where nothing was intended", s.late.TotalCount())
	}
	want := record.Phases{RampEnd: 0, WarmupEnd: 1, MeasureEnd: 3}
	if rep.Phases != want {
		t.Errorf("phases %+v, want %+v", rep.Phases, want)
	}
	if rep.Driver.Connections != 4 || rep.Driver.LastEndS != 3 {
		t.Errorf("driver %+v", rep.Driver)
	}
}

func TestKeyingAndThinkTimesAreOutsideTheResponse(t *testing.T) {
	txs := types("buy")
	_, s := drive(t, Config{
		Workload: plays("", txs, workload.Step{Transaction: txs[0], Keying: 30 * time.Millisecond, Think: 60 * time.Millisecond, Last: true}),
		Target:   &target{do: takes(10 * time.Millisecond)},
		Users:    1, Measure: time.Second,
	})
	sum := s.all(0)
	if sum.Committed != 10 || sum.ResponseSum != 100_000 || sum.ThinkSum != 900_000 {
		t.Errorf("%+v, want 10 commits of 10 ms and 90 ms between them", sum)
	}
	if s.late.TotalCount() != 10 || s.late.Max() != 0 {
		t.Errorf("%d intended starts, up to %d µs late: want 10, on time", s.late.TotalCount(), s.late.Max())
	}
}

func TestUnitSumsItsTimedSteps(t *testing.T) {
	txs := types("login", "browse", "audit", "buy")
	outcome := map[string]workload.Status{"buy": workload.RolledBack}
	n := 0
	tg := &target{}
	tg.do = func(ctx context.Context, _ int, tx *workload.Transaction) (workload.Outcome, error) {
		pause(ctx, 10*time.Millisecond)
		if tx.Name == "buy" {
			n++
			if n%2 == 1 {
				return workload.Outcome{Status: outcome["buy"]}, nil
			}
		}
		return workload.Outcome{}, nil
	}
	rep, s := drive(t, Config{
		Workload: plays("order", txs,
			workload.Step{Transaction: txs[0], Think: 20 * time.Millisecond},
			workload.Step{Transaction: txs[1], Keying: 5 * time.Millisecond},
			workload.Step{Transaction: txs[2], Untimed: true},
			workload.Step{Transaction: txs[3], Think: 35 * time.Millisecond, Last: true}),
		Target: tg, Users: 1, Measure: time.Second,
	})
	// A unit takes 4 × 10 ms of work and 60 ms of waiting.
	unit := s.all(4)
	if unit.Committed != 5 || unit.RolledBack != 5 {
		t.Errorf("%d units committed, %d rolled back: want 5 and 5", unit.Committed, unit.RolledBack)
	}
	if unit.ResponseSum != 10*30_000 || unit.ThinkSum != 10*60_000 {
		t.Errorf("units took %d µs and thought %d µs, want 300,000 and 600,000", unit.ResponseSum, unit.ThinkSum)
	}
	if rep.Totals[4].Type != "order" || rep.Tally.Committed["order"] != 0 {
		t.Errorf("the unit's totals are %+v; the tally, which is of transactions, has %d", rep.Totals[4], rep.Tally.Committed["order"])
	}
}

func TestUsersDrawFromStreamsOfTheirOwn(t *testing.T) {
	mix := func(seed uint64) (counts [3]int64) {
		txs := types("a", "b", "c")
		def := &workload.Definition{Transactions: txs, NewUser: func(user int, s rng.Stream) workload.User { return &random{txs: txs, s: s} }}
		rep, _ := drive(t, Config{Workload: def, Target: &target{do: takes(time.Millisecond)}, Users: 8, Seed: seed, Measure: time.Second})
		for k := range counts {
			counts[k] = rep.Totals[k].Committed
		}
		return counts
	}
	one := mix(1)
	if again := mix(1); again != one {
		t.Errorf("the same seed gives %v and %v", one, again)
	}
	if mix(2) == one {
		t.Errorf("another seed gives %v too", one)
	}
	// 8,000 draws with shares 1/2, 1/4, 1/4: within five standard deviations.
	for k, want := range []float64{4000, 2000, 2000} {
		if d := float64(one[k]) - want; d*d > 25*want {
			t.Errorf("mix %v: type %d should be about %v", one, k, want)
		}
	}
}

// random draws a type for each unit.
type random struct {
	txs []*workload.Transaction
	s   rng.Stream
}

func (r *random) Next() workload.Step {
	return workload.Step{Transaction: r.txs[[4]int{0, 0, 1, 2}[r.s.IntN(4)]], Last: true}
}
func (r *random) Done(workload.Outcome) {}

func TestOpenLoopKeepsToTheSchedule(t *testing.T) {
	for _, arrivals := range []string{Constant, Poisson} {
		c := Config{
			Workload: single(time.Hour), Target: &target{do: takes(5 * time.Millisecond)}, Seed: 7,
			RatePerS: 200, Arrivals: arrivals, Users: 50, Ramp: time.Second, Measure: 4 * time.Second,
		}
		want := int64(0)
		for next := c.times(); next() < 5*time.Second; {
			want++
		}
		rep, s := drive(t, c)
		if got := rep.Totals[0].Committed; got != want || want < 700 {
			t.Errorf("%s: %d commits for %d arrivals", arrivals, got, want)
		}
		if s.late.TotalCount() != want || s.late.Max() > 0 {
			t.Errorf("%s: %d starts, up to %d µs late", arrivals, s.late.TotalCount(), s.late.Max())
		}
		if m := s.response[0].Max(); !s.response[0].ValuesAreEquivalent(m, 5000) {
			t.Errorf("%s: a response time of %d µs, want 5000", arrivals, m)
		}
		if s.all(0).ThinkSum != 0 {
			t.Errorf("%s: users thought between arrivals", arrivals)
		}
	}
}

// A target that stalls for a second must make everything late that was due in
// that second, not only what was under way (coordinated omission).
func TestStallShowsInEveryResponseThatWasDue(t *testing.T) {
	stall := func(c Config) *sums {
		tg := &target{}
		epoch := time.Time{}
		c.Started = func(e time.Time) { epoch = e }
		tg.do = func(ctx context.Context, _ int, _ *workload.Transaction) (workload.Outcome, error) {
			begin := bubbleClock.Now().Sub(epoch)
			if begin >= 2*time.Second && begin < 3*time.Second {
				pause(ctx, 3*time.Second-begin)
			}
			pause(ctx, time.Millisecond)
			return workload.Outcome{}, nil
		}
		c.Target, c.Workload, c.Measure = tg, single(0), 5*time.Second
		_, s := drive(t, c)
		return s
	}
	open := stall(Config{RatePerS: 200, Arrivals: Constant, Users: 4})
	slow := func(s *sums) (response, service int64) {
		for _, b := range s.response[0].Distribution() {
			if b.From > 100_000 {
				response += b.Count
			}
		}
		for _, b := range s.service[0].Distribution() {
			if b.From > 100_000 {
				service += b.Count
			}
		}
		return response, service
	}
	// 200 arrivals were due in the stall; the last 20 of them wait less than
	// 100 ms. Only four were under way.
	if r, s := slow(open); r < 170 || r > 190 || s != 4 {
		t.Errorf("%d slow responses and %d slow services, want about 180 and 4", r, s)
	}
	worst := int64(0)
	for _, i := range open.intervals {
		worst = max(worst, i.Backlog)
	}
	if worst < 190 || worst > 200 {
		t.Errorf("the backlog rose to %d, want about 196", worst)
	}
	if open.late.Max() > 0 {
		t.Errorf("the driver was %d µs late; waiting for a user is not its lateness", open.late.Max())
	}
}

// What Started does (making logs, reading counters for the first time) must
// not delay the first work.
func TestStartedHasTimeBeforeTheEpoch(t *testing.T) {
	c := Config{Workload: single(0), Target: &target{do: takes(10 * time.Millisecond)}, Users: 1, Measure: time.Second}
	c.Started = func(epoch time.Time) {
		if left := epoch.Sub(bubbleClock.Now()); left != lead {
			t.Errorf("called %v before the epoch, want %v", left, lead)
		}
		pause(context.Background(), lead*9/10)
	}
	if _, s := drive(t, c); s.response[0].Max() > 10_010 || s.all(0).Committed != 100 {
		t.Errorf("%d commits, the longest in %d µs", s.all(0).Committed, s.response[0].Max())
	}
}

func TestUsersStartEvenlyOverTheRamp(t *testing.T) {
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
		pause(ctx, time.Second)
		return workload.Outcome{}, nil
	}
	drive(t, Config{Workload: single(0), Target: tg, Users: 5, Ramp: 10 * time.Second, Measure: time.Second, Started: func(e time.Time) { epoch = e }})
	for u := range 5 {
		if first[u] != time.Duration(u)*2*time.Second {
			t.Errorf("user %d started at %v", u, first[u])
		}
	}
}

func TestExtendMovesTheEnd(t *testing.T) {
	for _, open := range []bool{false, true} {
		var asked []time.Duration
		c := Config{
			Workload: single(0), Target: &target{do: takes(10 * time.Millisecond)}, Users: 1, Measure: 5 * time.Second,
			Extend: func(elapsed time.Duration) time.Duration {
				if asked = append(asked, elapsed); len(asked) < 3 {
					return 2 * time.Second
				}
				return 0
			},
		}
		if open {
			c.RatePerS, c.Arrivals, c.Users = 100, Constant, 3
		}
		rep, _ := drive(t, c)
		if fmt.Sprint(asked) != "[4s 6s 8s]" || rep.Phases.MeasureEnd != 9 || rep.Totals[0].Committed != 900 {
			t.Errorf("open %v: asked at %v, ended at %v s with %d commits", open, asked, rep.Phases.MeasureEnd, rep.Totals[0].Committed)
		}
	}
}

func TestWorkThatCrossesTheEndIsFinished(t *testing.T) {
	rep, s := drive(t, Config{Workload: single(0), Target: &target{do: takes(700 * time.Millisecond)}, Users: 2, Measure: time.Second})
	if rep.Totals[0].Committed != 4 || rep.Driver.LastEndS != 1.4 || rep.Driver.Aborted != 0 {
		t.Errorf("%d commits, the last at %v s", rep.Totals[0].Committed, rep.Driver.LastEndS)
	}
	if in := s.series(0, 0, time.Second).Committed; in != 2 {
		t.Errorf("%d commits inside the window, want 2", in)
	}
	if i := s.intervals[0]; i.InFlight != 2 {
		t.Errorf("%d in flight at the end of the window, want 2", i.InFlight)
	}
}

func TestUnservedArrivalsAreCounted(t *testing.T) {
	rep, _ := drive(t, Config{Workload: single(0), Target: &target{do: takes(time.Second)}, RatePerS: 10, Arrivals: Constant, Users: 2, Connections: 2, Measure: 5 * time.Second})
	// 50 arrivals; two users begin one each second.
	if begun := rep.Totals[0].Committed; begun != 10 || rep.Driver.Unserved != 40 {
		t.Errorf("%d served, %d not, want 10 and 40", begun, rep.Driver.Unserved)
	}
}

func TestPoolIsFairAndItsWaitCounts(t *testing.T) {
	var mu sync.Mutex
	var order []string
	txs := types("buy")
	def := &workload.Definition{Transactions: txs, NewUser: func(user int, _ rng.Stream) workload.User {
		return &script{steps: []workload.Step{{Transaction: txs[0], Last: true}}, seen: func(workload.Outcome) {
			mu.Lock()
			order = append(order, fmt.Sprint(user))
			mu.Unlock()
		}}
	}}
	rep, s := drive(t, Config{Workload: def, Target: &target{do: takes(10 * time.Millisecond)}, Users: 5, Connections: 1, Ramp: 5 * time.Millisecond, Measure: 995 * time.Millisecond})
	for i, u := range order {
		if u != fmt.Sprint(i%5) {
			t.Fatalf("the users came in order %v", order[:i+1])
		}
	}
	// All but the very first waited.
	if rep.Driver.PoolWaits != rep.Totals[0].Committed-1 || rep.Driver.Connections != 1 {
		t.Errorf("%d waits for %d commits", rep.Driver.PoolWaits, rep.Totals[0].Committed)
	}
	if r, v := s.response[0].ValueAtPercentile(50), s.service[0].Max(); r < 49_900 || r > 50_100 || !s.service[0].ValuesAreEquivalent(v, 10_000) {
		t.Errorf("median response %d µs, longest service %d µs: want 50,000 and 10,000", r, v)
	}
	if w := s.all(0).ResponseSum - 10_000*rep.Totals[0].Committed; int64(rep.Driver.PoolWaitS*1e6+.5) != w {
		t.Errorf("waits of %v s, responses minus services %d µs", rep.Driver.PoolWaitS, w)
	}
}

// N = X (R + Z): the users are all that there is (Little 1961).
func TestLittlesLawHolds(t *testing.T) {
	random := rng.At(11)
	var mu sync.Mutex
	tg := &target{}
	tg.do = func(ctx context.Context, _ int, _ *workload.Transaction) (workload.Outcome, error) {
		mu.Lock()
		d := time.Duration(random.Exp(float64(20 * time.Millisecond)))
		mu.Unlock()
		pause(ctx, d)
		return workload.Outcome{}, nil
	}
	const users, length = 50, 60
	_, s := drive(t, Config{Workload: single(80 * time.Millisecond), Target: tg, Users: users, Warmup: 5 * time.Second, Measure: length * time.Second})
	w := s.series(0, 5*time.Second, 65*time.Second)
	n := float64(w.ResponseSum+w.ThinkSum) / 1e6 / length
	if n < users*.995 || n > users*1.005 {
		t.Errorf("X (R + Z) = %.3f, want %d", n, users)
	}
	if x := float64(w.Committed) / length; x < 490 || x > 510 {
		t.Errorf("throughput %.1f a second, want about 500", x)
	}
}

func TestBeginSetsTheEpochForEveryone(t *testing.T) {
	var epoch, started time.Time
	c := Config{Workload: single(0), Target: &target{do: takes(10 * time.Millisecond)}, Users: 1, Measure: time.Second}
	c.Begin = func(context.Context) (time.Time, error) {
		epoch = bubbleClock.Now().Add(10 * time.Second)
		return epoch, nil
	}
	c.Started = func(e time.Time) { started = e }
	rep, s := drive(t, c)
	if !started.Equal(epoch) || !rep.Epoch.Equal(epoch) || rep.Totals[0].Committed != 100 || s.response[0].Max() > 10_010 {
		t.Errorf("epoch %v, started %v, report %v, %d commits", epoch, started, rep.Epoch, rep.Totals[0].Committed)
	}
	c.Begin = func(context.Context) (time.Time, error) { return time.Time{}, errors.New("the other driver failed") }
	if _, _, err := end(t, c); !strings.Contains(err.Error(), "the other driver failed") {
		t.Error(err)
	}
}

func TestProgressTellsPhasesAndRates(t *testing.T) {
	var got []string
	drive(t, Config{
		Workload: single(0), Target: &target{do: takes(700 * time.Millisecond)}, Users: 1,
		Ramp: time.Second, Warmup: time.Second, Measure: time.Second,
		Progress: func(p Progress) {
			got = append(got, fmt.Sprintf("%s %v/%v %.0f", p.Phase, p.Elapsed, p.End, p.PerS))
		},
	})
	if s := strings.Join(got, ", "); !strings.HasPrefix(s, "ramp 1s/3s 1, warm-up 2s/3s 1, measure 3s/3s 2, drain 3.5") {
		t.Error(s)
	}
}

func TestProgressCountsWhatTheMetricCounts(t *testing.T) {
	txs := types("buy", "look")
	d := plays("", txs, workload.Step{Transaction: txs[0], Last: true}, workload.Step{Transaction: txs[1], Last: true})
	d.Metric = workload.Metric{Series: "look"}
	var last float64
	drive(t, Config{
		Workload: d, Target: &target{do: takes(100 * time.Millisecond)}, Users: 1, Measure: 2 * time.Second,
		Progress: func(p Progress) {
			if p.Phase == "measure" {
				last = p.PerS
			}
		},
	})
	if last != 5 {
		t.Errorf("%v a second, want the five that look", last)
	}
}

func TestTimesBeyondAnHourAreClamped(t *testing.T) {
	rep, s := drive(t, Config{Workload: single(0), Target: &target{do: takes(2 * time.Hour)}, Users: 1, Measure: time.Second, Drain: 3 * time.Hour, Interval: time.Minute})
	if rep.Driver.Clamped != 2 || s.all(0).ResponseSum != 2*3600*1e6 {
		t.Errorf("%d times clamped, sum %d µs", rep.Driver.Clamped, s.all(0).ResponseSum)
	}
}

func TestValidateFindsEveryFault(t *testing.T) {
	good := Config{Workload: single(0), Target: &target{}, Clock: bubbleClock, Users: 1, Measure: time.Second}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Config){
		"no workload":           func(c *Config) { c.Workload = nil },
		"no target":             func(c *Config) { c.Target = nil },
		"no clock":              func(c *Config) { c.Clock = nil },
		"0 users":               func(c *Config) { c.Users = 0 },
		"-1 users":              func(c *Config) { c.Users = -1 },
		"rate NaN":              func(c *Config) { c.RatePerS = nan() },
		`arrivals "" are`:       func(c *Config) { c.RatePerS = 1 },
		`arrivals "poisson" wi`: func(c *Config) { c.Arrivals = Poisson },
		"2 connections":         func(c *Config) { c.Connections = 2 },
		"ramp -1s":              func(c *Config) { c.Ramp = -time.Second },
		"warm-up -1s":           func(c *Config) { c.Warmup = -time.Second },
		"measure 0s":            func(c *Config) { c.Measure = 0 },
		"interval 1µs":          func(c *Config) { c.Interval = time.Microsecond },
		"drain -1s":             func(c *Config) { c.Drain = -time.Second },
		"70000 attempts":        func(c *Config) { c.MaxAttempts = 70000 },
		"-1 fatal":              func(c *Config) { c.MaxFatal = -1 },
		"-1 attempts to reopen": func(c *Config) { c.MaxReopen = -1 },
	} {
		c := good
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	if err := (Config{}).Validate(); strings.Count(err.Error(), "\n") < 4 {
		t.Errorf("not all faults at once: %v", err)
	}
}

func TestSessionsTellsHowManyConnectionsWillBeOpened(t *testing.T) {
	for _, c := range []struct{ users, connections, rate, want int }{
		{8, 0, 0, 8}, {8, 3, 0, 3}, {0, 0, 5, DefaultOpenUsers}, {0, 7, 5, 7}, {20, 0, 5, 20}, {20, 4, 5, 4},
	} {
		got := Config{Users: c.users, Connections: c.connections, RatePerS: float64(c.rate)}.Sessions()
		if got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// From the driver through the files to a reader nothing is lost.
func TestRecordHoldsWhatTheReportTells(t *testing.T) {
	planned := record.Planned{Trial: 1, Dir: "001"}
	dir, err := record.Create(t.TempDir(), record.Study{Plan: []record.Planned{planned}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := dir.Start(record.Trial{Planned: planned, Workload: record.Workload{Types: []record.TxType{{Name: "a"}, {Name: "b"}}, Unit: "unit"}})
	if err != nil {
		t.Fatal(err)
	}
	sink, err := w.Instance(1)
	if err != nil {
		t.Fatal(err)
	}
	var rep Report
	synctest.Test(t, func(t *testing.T) {
		txs := types("a", "b")
		tg := &target{}
		tg.do = func(ctx context.Context, user int, tx *workload.Transaction) (workload.Outcome, error) {
			r := rng.At(5, uint64(user), uint64(bubbleClock.Now().UnixNano()))
			pause(ctx, time.Duration(r.Exp(float64(10*time.Millisecond))))
			switch r.IntN(40) {
			case 0:
				return failed(workload.Class(r.Between(int64(workload.Retry), int64(workload.Timeout)))), errors.New("now and then")
			case 1:
				return workload.Outcome{Status: workload.RolledBack}, nil
			}
			return workload.Outcome{}, nil
		}
		rep, err = Run(t.Context(), Config{
			Workload: plays("unit", txs, workload.Step{Transaction: txs[0], Think: 5 * time.Millisecond}, workload.Step{Transaction: txs[1], Last: true}),
			Target:   tg, Clock: bubbleClock, Users: 8, Ramp: time.Second, Measure: 6 * time.Second,
			Started: func(epoch time.Time) {
				if err := w.Update(func(t *record.Trial) { t.Epoch = epoch }); err != nil {
					t.Error(err)
				}
			},
		}, sink)
	})
	if err := errors.Join(err, w.Finish(record.Finished, "")); err != nil {
		t.Fatal(err)
	}
	trials, err := dir.Trials()
	if err != nil {
		t.Fatal(err)
	}
	s := newSums(t, 0)
	if s.intervals, err = trials[0].Intervals(1); err != nil {
		t.Fatal(err)
	}
	checkTotals(t, rep, s)
	merged, err := trials[0].Histograms(1, 0, forever)
	if err != nil {
		t.Fatal(err)
	}
	for k, m := range merged {
		total := rep.Totals[k]
		if m.Response.TotalCount() != total.Committed || m.Service.TotalCount() != total.Committed || m.Undone.TotalCount() != total.RolledBack || total.Committed < 1000 || total.RolledBack == 0 {
			t.Errorf("%s: %d responses, %d services, %d undone; the report has %+v", m.Type, m.Response.TotalCount(), m.Service.TotalCount(), m.Undone.TotalCount(), total)
		}
	}
	if late, err := trials[0].Late(1, 0, forever); err != nil || late.TotalCount() == 0 {
		t.Errorf("%d starts in the lateness, %v", late.TotalCount(), err)
	}
}
