package drive

import (
	"context"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// The demonstrations of docs/guide/believable-figures.md: three practices that
// give wrong figures, each beside the right one, on targets whose behaviour is
// known. They run in virtual time, so they are exact and repeat to the digit.
// Each holds its claim, and the page's table to what it computed.

const believable = "../../docs/guide/believable-figures.md"

// inGuide demands that the page shows exactly these lines between the comments
// `<!-- NAME -->` and `<!-- end of NAME -->`, where NAME is the test's.
func inGuide(t *testing.T, lines ...string) {
	t.Helper()
	page, err := os.ReadFile(believable)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+t.Name()+" -->\n", "<!-- end of "+t.Name()+" -->\n"
	_, rest, found := strings.Cut(string(page), begin)
	got, _, closed := strings.Cut(rest, end)
	if want := strings.Join(lines, "\n") + "\n"; !found || !closed || got != want {
		t.Errorf("%s must have:\n%s%s%s", believable, begin, want, end)
	}
}

// answers makes a target whose answer to work that begins at a time since the
// epoch takes d(begin), and the hook that tells it the epoch.
func answers(d func(begin time.Duration) time.Duration) (tg *target, started func(time.Time)) {
	var epoch time.Time
	do := func(ctx context.Context, _ int, _ *workload.Transaction) (workload.Outcome, error) {
		pause(ctx, d(bubbleClock.Now().Sub(epoch)))
		return workload.Outcome{}, nil
	}
	return &target{do: do}, func(e time.Time) { epoch = e }
}

// stalls answers in 4 ms, but for one second, from 4 s to 5 s, not at all.
func stalls(begin time.Duration) time.Duration {
	if begin >= 4*time.Second && begin < 5*time.Second {
		return 5*time.Second - begin + 4*time.Millisecond
	}
	return 4 * time.Millisecond
}

// msAt is percentile p of h in ms.
func msAt(h *hdrhistogram.Histogram, p float64) float64 { return float64(h.ValueAtPercentile(p)) / 1e3 }

// above is the part of h, in percent, that took longer than d.
func above(h *hdrhistogram.Histogram, d time.Duration) float64 {
	n := int64(0)
	for _, b := range h.Distribution() {
		if b.From > d.Microseconds() {
			n += b.Count
		}
	}
	return 100 * float64(n) / float64(h.TotalCount())
}

// Coordinated omission: a driver that waits for the answer before it sends the
// next request sends next to nothing during a stall, and then reports a
// percentile of what it sent instead of what was to be sent.
func TestAStallHidesFromADriverThatWaits(t *testing.T) {
	play := func(c Config) *sums {
		c.Target, c.Started = answers(stalls)
		c.Measure = 10 * time.Second
		_, s := drive(t, c)
		return s
	}
	// Both offer 200 a second over 8 connections.
	closed := play(Config{Workload: single(36 * time.Millisecond), Users: 8})
	open := play(Config{Workload: single(0), Users: 8, RatePerS: 200, Arrivals: Constant})
	row := func(name string, h *hdrhistogram.Histogram) string {
		return fmt.Sprintf("| %s | %d | %.1f ms | %.1f ms | %.0f ms | %.1f %% |", name,
			h.TotalCount(), msAt(h, 50), msAt(h, 99), float64(h.Max())/1e3, above(h, 100*time.Millisecond))
	}
	if r, s := msAt(closed.response[0], 99), msAt(closed.service[0], 99); r != s {
		t.Errorf("in closed loop p99 is %v ms from the intended start and %v ms from the actual one: the page says that they are the same", r, s)
	}
	sent, answered := open.response[0], open.service[0]
	if msAt(sent, 99) < 200*msAt(answered, 99) || above(sent, 100*time.Millisecond) < 20*above(closed.response[0], 100*time.Millisecond) {
		t.Errorf("the stall is not hidden: p99 %v ms against %v ms", msAt(answered, 99), msAt(sent, 99))
	}
	inGuide(t,
		"| what is measured | transactions | p50 | p99 | longest | over 100 ms |",
		"|---|---|---|---|---|---|",
		row("closed loop: 8 users who wait for the answer, then 36 ms", closed.response[0]),
		row("open loop, service time: from when it was sent", answered),
		row("**open loop, response time: from when it was meant to start**", sent))
}

// perSecond keeps the 99th percentile of each interval beside the sums.
type perSecond struct {
	*sums
	p99 []float64 // in ms
}

func (p *perSecond) Interval(i record.Interval) error {
	p.p99 = append(p.p99, msAt(i.Types[0].Response, 99))
	return p.sums.Interval(i)
}

// The mean of percentiles is not a percentile of anything: it weighs a second
// by its length instead of a transaction by its being one.
func TestAveragedPercentilesErrBothWays(t *testing.T) {
	const fast, slow = 2 * time.Millisecond, 200 * time.Millisecond
	// In the first half of each disturbed second a part of the work is slow.
	play := func(disturbed time.Duration, part float64) (averaged, merged, slowPct float64) {
		tg, started := answers(func(begin time.Duration) time.Duration {
			draw := rng.At(1, uint64(begin))
			if begin < disturbed && begin%time.Second < time.Second/2 && draw.Float64() < part {
				return slow
			}
			return fast
		})
		s := &perSecond{sums: newSums(t, 1)}
		synctest.Test(t, func(t *testing.T) {
			c := Config{Workload: single(0), Target: tg, Started: started, Clock: bubbleClock, Users: 150, RatePerS: 1000, Arrivals: Constant, Measure: 10 * time.Second}
			if _, err := Run(t.Context(), c, s); err != nil {
				t.Fatal(err)
			}
		})
		p99 := s.p99[:10] // what crossed the end has an interval of its own
		for _, v := range p99 {
			averaged += v / float64(len(p99))
		}
		return averaged, msAt(s.response[0], 99), above(s.response[0], 100*time.Millisecond)
	}
	row := func(name string, averaged, merged, slowPct float64) string {
		return fmt.Sprintf("| %s | %.1f %% | %.1f ms | **%.1f ms** |", name, slowPct, averaged, merged)
	}
	high, low := "one second in ten disturbed", "two seconds in ten disturbed, twice as badly"
	a1, m1, s1 := play(time.Second, .1)
	a2, m2, s2 := play(2*time.Second, .2)
	if a1 < 5*m1 || a2 > m2/4 {
		t.Errorf("averages of %.1f and %.1f ms for percentiles of %.1f and %.1f ms do not err both ways", a1, a2, m1, m2)
	}
	inGuide(t,
		"| run of ten seconds | slow work | mean of the ten p99s | p99 of the run |",
		"|---|---|---|---|",
		row(high, a1, m1, s1),
		row(low, a2, m2, s2))
}

// A window that begins with the load measures how fast users are let in and
// caches fill, beside what it was meant to measure.
func TestTheRampInsideTheWindowChangesTheResult(t *testing.T) {
	// Work takes 20 ms once the cache is warm, and four times as long before.
	play := func(warming time.Duration) (whole, window float64) {
		tg, started := answers(func(begin time.Duration) time.Duration {
			return time.Duration(float64(20*time.Millisecond) * (1 + 3*math.Exp(-begin.Seconds()/warming.Seconds())))
		})
		_, s := drive(t, Config{
			Workload: single(0), Target: tg, Started: started, Users: 8,
			Ramp: 20 * time.Second, Warmup: 20 * time.Second, Measure: 20 * time.Second,
		})
		perS := func(from, to time.Duration) float64 {
			return float64(s.series(0, from, to).Committed) / (to - from).Seconds()
		}
		return perS(0, time.Minute), perS(40*time.Second, time.Minute)
	}
	slowWhole, slowWindow := play(6 * time.Second)
	fastWhole, fastWindow := play(2 * time.Second)
	change := func(from, to float64) float64 { return 100 * (to/from - 1) }
	if math.Abs(slowWindow-400) > 2 || math.Abs(fastWindow-400) > 2 || slowWhole > 320 || change(slowWhole, fastWhole) < 3 {
		t.Errorf("400 a second are %.1f and %.1f in the window, %.1f and %.1f with the ramp", slowWindow, fastWindow, slowWhole, fastWhole)
	}
	inGuide(t,
		"| | whole run, 0 to 60 s | window, 40 to 60 s |",
		"|---|---|---|",
		fmt.Sprintf("| before the change | %.0f a second | **%.0f a second** |", slowWhole, slowWindow),
		fmt.Sprintf("| after it | %.0f a second | **%.0f a second** |", fastWhole, fastWindow),
		fmt.Sprintf("| the change brought | %+.1f %% | **%+.1f %%** |", change(slowWhole, fastWhole), change(slowWindow, fastWindow)))
}
