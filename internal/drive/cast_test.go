package drive

import (
	"sync"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// shop is a Run: each purchase of a customer is to be delivered 70 ms later,
// by the one extra user.
type shop struct {
	mu        sync.Mutex
	due       []time.Duration
	delivered int64
	buy, send *workload.Transaction
	users     int
}

func (*shop) Extra() int { return 1 }

func (s *shop) User(n int, _ rng.Stream) workload.User {
	if n < s.users {
		return &customer{s}
	}
	return &courier{s}
}

func (s *shop) Facts() map[string]int64 { return map[string]int64{"delivered": s.delivered} }

type customer struct{ *shop }

func (c *customer) Next() workload.Step     { panic("a timed user is asked with the time") }
func (c *customer) Done(_ workload.Outcome) { panic("a timed user is told with the time") }

func (c *customer) NextAt(time.Duration) workload.Step {
	return workload.Step{Transaction: c.buy, Think: 90 * time.Millisecond, Last: true}
}

func (c *customer) DoneAt(now time.Duration, _ workload.Outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.due = append(c.due, now+70*time.Millisecond)
}

type courier struct{ *shop }

func (c *courier) Next() workload.Step     { panic("a timed user is asked with the time") }
func (c *courier) Done(_ workload.Outcome) { panic("a timed user is told with the time") }

func (c *courier) NextAt(time.Duration) workload.Step {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.due) == 0 {
		return workload.Step{Think: 5 * time.Millisecond}
	}
	s := workload.Step{Transaction: c.send, Due: c.due[0], Last: true}
	c.due = c.due[1:]
	return s
}

func (c *courier) DoneAt(time.Duration, workload.Outcome) { c.delivered++ }

func newShop(users int) *workload.Definition {
	txs := types("buy", "send")
	return &workload.Definition{
		Name: "shop", Transactions: txs,
		NewUser: func(int, rng.Stream) workload.User { panic("a run has its own users") },
		NewRun: func(n int, _ uint64) workload.Run {
			if n != users {
				panic("the run is for another number of users")
			}
			return &shop{buy: txs[0], send: txs[1], users: users}
		},
	}
}

// Two customers buy every 100 ms; the courier needs 10 ms for each and gets
// two at a time: the second waits for the first, and its response time counts
// from when it was due.
func TestExtraUsersServeWhatIsDue(t *testing.T) {
	for _, c := range []Config{
		{Users: 2},
		{Users: 2, Connections: 1}, // the pool is the customers' alone
	} {
		c.Workload, c.Target, c.Measure = newShop(2), &target{do: takes(10 * time.Millisecond)}, 10*time.Second
		rep, s := drive(t, c)
		want := max(1, c.Connections)
		if c.Connections == 0 {
			want = 2
		}
		if rep.Driver.Connections != want+1 || c.Sessions() != want+1 || c.Extra() != 1 {
			t.Errorf("%d connections, %d announced with %d extra, want %d with one", rep.Driver.Connections, c.Sessions(), c.Extra(), want+1)
		}
		bought, sent := rep.Totals[0].Committed, rep.Totals[1].Committed
		if bought < 180 || bought > 200 || sent < bought-4 || sent > bought {
			t.Errorf("%d bought, %d delivered", bought, sent)
		}
		if rep.Tally.Facts["delivered"] != sent {
			t.Errorf("facts %v, %d delivered", rep.Tally.Facts, sent)
		}
		if c.Connections == 0 && (!s.response[1].ValuesAreEquivalent(s.response[1].Min(), 10_000) || !s.response[1].ValuesAreEquivalent(s.response[1].Max(), 20_000)) {
			t.Errorf("deliveries took %d to %d µs, want 10,000 and 20,000", s.response[1].Min(), s.response[1].Max())
		}
		if most := s.service[1].Max(); !s.service[1].ValuesAreEquivalent(most, 10_000) {
			t.Errorf("deliveries took %d µs of service, want 10,000", most)
		}
		// Little's law holds for all three: time without work is thought.
		n := 0.0
		for k := range 2 {
			w := s.series(k, time.Second, 9*time.Second)
			n += float64(w.ResponseSum+w.ThinkSum) / 1e6 / 8
		}
		if n < 2.97 || n > 3.03 {
			t.Errorf("X (R + Z) = %.3f, want 3", n)
		}
	}
}

// Ramp, profile and arrivals are for customers: the courier is there from the
// start, and takes part in an open loop too.
func TestExtraUsersAreNotPartOfTheLoad(t *testing.T) {
	rep, _ := drive(t, Config{
		Workload: newShop(4), Target: &target{do: takes(time.Millisecond)}, Users: 4, RatePerS: 50, Arrivals: Constant,
		Ramp: time.Second, Measure: 4 * time.Second,
	})
	bought, sent := rep.Totals[0].Committed, rep.Totals[1].Committed
	if bought < 220 || bought > 230 || sent < bought-6 || sent > bought {
		t.Errorf("%d bought, %d delivered", bought, sent)
	}
}
