package brokerage

import (
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// playing is an office whose transactions do nothing.
func playing() *office {
	o := &office{world: fixed(), horizon: 60 * second}
	for i := range o.transactions {
		o.transactions[i] = &workload.Transaction{Index: i}
	}
	return o
}

// TestMarketIsLateByItsNextTrade: limit orders whose price is reached meanwhile
// do not hide that, and each of them still goes on the ticker.
func TestMarketIsLateByItsNextTrade(t *testing.T) {
	w := fixed()
	x := newExchange(w, 2, 4)
	at := w.begins()
	if n := x.behind(4, at); n != 0 {
		t.Errorf("a market with nothing to do is %d µs late", n)
	}
	x.submit(limitBuy, 1, 4, 100, priceHigh, at) // in the money at once
	x.submit(marketBuy, 2, 4, 100, 0, at)
	due := x.shards[0].events[1].due
	for now, want := range map[int64]int64{at: 0, due: 0, due + 1: 1, due + 70*second: 70 * second} {
		if n := x.behind(4, now); n != want {
			t.Errorf("%d µs after the trade was due the market is %d µs late, want %d", now-due, n, want)
		}
	}
	if n := x.behind(5, due+second); n != 0 {
		t.Errorf("another session of the market is %d µs late", n)
	}
	var feed [tickerSize]tick
	e, _, ok, _ := x.next(0, due, &feed)
	if s := &x.shards[0]; !ok || e.trade != 2 || len(s.ready) != 1 || len(s.events) != 0 {
		t.Errorf("the next to complete is %+v, %d wait for the ticker, %d events", e, len(s.ready), len(s.events))
	}
	if n := x.behind(4, due+9*second); n != 0 {
		t.Errorf("a market that has all work in hand is %d µs late", n)
	}
}

// TestCustomersHoldOrdersBackForALateMarket: for as long as it is late, a
// second at most, and nothing else.
func TestCustomersHoldOrdersBackForALateMarket(t *testing.T) {
	o := playing()
	x := newExchange(o.world, 1, 4)
	u := newTrader(o, x, rng.At(3))
	x.submit(marketBuy, 1, 0, 100, 0, u.begins())
	due := time.Duration(x.shards[0].events[0].due-u.begins()) * time.Microsecond
	orders := map[time.Duration]int{}
	for n := range 2_000 {
		late := time.Duration(n%3) * 700 * time.Millisecond
		st := u.NextAt(due + late)
		want := time.Duration(0)
		if st.Transaction.Index == tradeOrder {
			want = min(late, time.Second)
			orders[want]++
		}
		if st.Keying != want || u.entry.at != u.begins()+(due+late+want).Microseconds() {
			t.Fatalf("the market is %v late, and type %d waits for %v, dated %v", late, st.Transaction.Index, st.Keying,
				time.Duration(u.entry.at-u.begins())*time.Microsecond-due)
		}
		u.DoneAt(due+late, workload.Outcome{Status: workload.Failed, Class: workload.Fatal})
	}
	if len(orders) != 3 {
		t.Errorf("orders waited for %v", orders)
	}
}

// TestOnlyCommittedTradesAreReported: a trade that failed is not on the ticker,
// and comes again; one that was complete already is neither.
func TestOnlyCommittedTradesAreReported(t *testing.T) {
	for _, c := range []struct {
		outcome     workload.Outcome
		tape, again int
	}{
		{workload.Outcome{Status: workload.Committed}, 2, 0},
		{workload.Outcome{Status: workload.RolledBack}, 0, 0},
		{workload.Outcome{Status: workload.Failed, Class: workload.Retry}, 0, 1},
		{workload.Outcome{Status: workload.Failed, Class: workload.Deadlock}, 0, 1},
		{workload.Outcome{Status: workload.Failed, Class: workload.Timeout}, 0, 1},
		{workload.Outcome{Status: workload.Failed, Class: workload.Connection}, 0, 1},
	} {
		o := playing()
		u := newSeat(o, newExchange(o.world, 1, 4), 0)
		s := &u.market.shards[0]
		u.market.submit(marketBuy, 1, 3, 200, 0, u.begins())
		due := time.Duration(s.events[0].due-u.begins()) * time.Microsecond
		st := u.NextAt(due)
		if st.Transaction == nil || st.Transaction.Index != tradeResult || st.Due != due || len(s.events) != 0 {
			t.Fatalf("at %v the market does %+v", due, st)
		}
		u.DoneAt(due, c.outcome)
		if len(s.tape) != c.tape || len(s.events) != c.again {
			t.Errorf("%+v: %d entries on the ticker, %d trades to complete", c.outcome, len(s.tape), len(s.events))
		}
		if c.tape > 0 && s.tape[0] != (tick{3, u.price(3, u.begins()+due.Microseconds()), 200}) {
			t.Errorf("the ticker says %+v", s.tape[0])
		}
		if c.again > 0 && s.events[0].due != u.begins()+due.Microseconds()+second {
			t.Errorf("the trade comes again after %d µs", s.events[0].due-u.begins()-due.Microseconds())
		}
	}
}

// TestTickersAreCarriedOnce: what a Market-Feed that failed carried is carried
// by the next, unless the failed one may have been done; and only what was
// committed counts, and triggers orders.
func TestTickersAreCarriedOnce(t *testing.T) {
	for _, c := range []struct {
		outcome     workload.Outcome
		tape        int
		fed, events int64
	}{
		{workload.Outcome{Status: workload.Committed}, 0, 10*300 + 10*paddingQuantity, 1},
		{workload.Outcome{Status: workload.Failed, Class: workload.Deadlock}, tickerSize, 0, 0},
		{workload.Outcome{Status: workload.Failed, Class: workload.Fatal}, tickerSize, 0, 0},
		{workload.Outcome{Status: workload.Failed, Class: workload.Connection}, 0, 0, 0},
	} {
		o := playing()
		u := newSeat(o, newExchange(o.world, 1, 4), 0)
		for n := range int64(tickerSize / 2) {
			u.market.completed(event{security: 90 - n, quantity: 300}, priceLow, u.begins())
		}
		st := u.NextAt(time.Second)
		if st.Transaction == nil || st.Transaction.Index != marketFeed {
			t.Fatalf("ten trades make %+v", st)
		}
		for i := 1; i < tickerSize; i++ {
			if u.entry.feed[i].security < u.entry.feed[i-1].security {
				t.Fatalf("a feed is not in the order of securities: %v", u.entry.feed)
			}
		}
		u.entry.triggered = append(u.entry.triggered, hit{5, 7, 100})
		u.DoneAt(time.Second, c.outcome)
		s := &u.market.shards[0]
		if len(s.tape) != c.tape || u.market.fed.Load() != c.fed || int64(len(s.events)) != c.events {
			t.Errorf("%+v: %d entries on the ticker, %d pieces fed, %d trades to complete", c.outcome, len(s.tape), u.market.fed.Load(), len(s.events))
		}
	}
}

// TestSessionsOfTheMarketShareAllSecurities: one for two customers, and the
// clerk; the order of a customer reaches the session that has its security.
func TestSessionsOfTheMarketShareAllSecurities(t *testing.T) {
	for users, seats := range map[int]int{1: 1, 2: 1, 3: 2, 32: 16, 440: 220} {
		o := playing()
		r := newSession(o, users, 9)
		if r.Extra() != seats+1 {
			t.Errorf("%d users have %d extra sessions, want %d and the clerk", users, r.Extra(), seats)
		}
		if _, ok := r.User(users+seats, rng.At(1)).(*clerk); !ok {
			t.Errorf("the last of %d users is not the clerk", users+seats+1)
		}
		u := r.User(0, rng.At(1)).(*trader)
		u.kind, u.entry.kind = tradeOrder, marketBuy
		for n := range int64(seats) {
			u.entry.security, u.entry.trade = n, n+1
			u.DoneAt(0, workload.Outcome{Status: workload.Committed})
			seat := r.User(users+int(n), rng.At(1)).(*seat)
			if st := seat.NextAt(5 * time.Second); st.Transaction == nil || seat.entry.event.trade != n+1 {
				t.Errorf("%d users: session %d does not complete the order in its security", users, n)
			}
		}
	}
}
