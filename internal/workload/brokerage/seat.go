package brokerage

import (
	"time"

	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// seat is the script of one session of the market: it serves one shard.
type seat struct {
	*office
	market *exchange
	number int
	kind   int // of the step under way
	entry  *entry
}

func newSeat(o *office, market *exchange, number int) *seat {
	return &seat{office: o, market: market, number: number, entry: newEntry()}
}

// Next implements workload.User. The market's sessions live by the clock: a
// driver that does not know it has them do nothing.
func (u *seat) Next() workload.Step { return u.NextAt(0) }

// Done implements workload.User.
func (u *seat) Done(o workload.Outcome) { u.DoneAt(0, o) }

// NextAt implements workload.Timed: a Market-Feed where the ticker is long
// enough, else the next trade to complete.
func (u *seat) NextAt(now time.Duration) workload.Step {
	at := u.begins() + now.Microseconds()
	e := u.entry
	event, fed, ok, wake := u.market.next(u.number, at, &e.feed)
	switch {
	case fed:
		u.kind, e.at = marketFeed, at
		sortFeed(&e.feed)
	case ok:
		u.kind, e.at, e.event = tradeResult, max(at, event.due), event
		e.price = u.price(event.security, event.due)
		due := time.Duration(event.due-u.begins()) * time.Microsecond
		return workload.Step{Transaction: u.transactions[u.kind], Input: e, Due: due, Last: true}
	default:
		return workload.Step{Think: time.Duration(wake-at) * time.Microsecond, Last: true}
	}
	return workload.Step{Transaction: u.transactions[u.kind], Input: e, Last: true}
}

// sortFeed puts entries in the order of securities, so that no two feeds lock
// prices in different orders; entries of one security stay in that of time.
func sortFeed(feed *[tickerSize]tick) {
	for i := 1; i < len(feed); i++ {
		for j := i; j > 0 && feed[j].security < feed[j-1].security; j-- {
			feed[j], feed[j-1] = feed[j-1], feed[j]
		}
	}
}

// DoneAt implements workload.Timed.
func (u *seat) DoneAt(now time.Duration, o workload.Outcome) {
	at := u.begins() + now.Microseconds()
	e := u.entry
	if u.kind == tradeResult {
		switch o.Status {
		case workload.Committed:
			u.market.completed(e.event, e.price, at)
		case workload.Failed:
			u.market.again(e.event, at)
		}
		return
	}
	var carried int64
	for _, k := range e.feed {
		carried += k.quantity
	}
	switch {
	case o.Status == workload.Committed:
		u.market.fed.Add(carried)
		for _, h := range e.triggered {
			u.market.accept(h.trade, h.security, h.quantity, at)
		}
	case o.Class == workload.Connection:
		// It may be done: to feed it again could count it twice.
	default:
		u.market.refeed(u.number, &e.feed)
	}
}

// clerk is the script of the session that cleans up before the run and then
// maintains one table a minute.
type clerk struct {
	*office
	s     rng.Stream
	steps int64
	entry *entry
}

// maintainEvery is how long after each other Data-Maintenances start.
const maintainEvery = time.Minute

// Next implements workload.User.
func (u *clerk) Next() workload.Step { return u.NextAt(0) }

// Done implements workload.User.
func (u *clerk) Done(workload.Outcome) {}

// NextAt implements workload.Timed.
func (u *clerk) NextAt(now time.Duration) workload.Step {
	e := u.entry
	if u.steps++; u.steps == 1 {
		// Orders of this run are not older than its beginning.
		e.at = u.begins()
		return workload.Step{Transaction: u.transactions[tradeCleanup], Input: e, Last: true}
	}
	n := u.steps - 2
	e.at = u.begins() + now.Microseconds()
	e.table = int(n % maintained)
	u.fill()
	return workload.Step{
		Transaction: u.transactions[dataMaintenance], Input: e,
		Due: time.Duration(n+1) * maintainEvery, Last: true,
	}
}

// DoneAt implements workload.Timed.
func (u *clerk) DoneAt(time.Duration, workload.Outcome) {}

// fill draws the rows that are changed.
func (u *clerk) fill() {
	e := u.entry
	c := u.customer(u.s.Between(1, u.customers))
	e.customer, e.account = c.id, accountID(c.id, u.s.IntN(c.accounts))
	e.company = u.s.Between(1, u.companies())
	e.security = u.s.IntN(u.securities())
	e.tax = u.s.Between(countryTaxes, taxes-1)
	e.rows = u.s.IntN(quarters)
	e.from = u.marketDay(u.s.IntN(u.marketDays))
	e.to = e.from + 30
	if e.table == mWatch {
		// A security of the loaded list, and one that is not in it.
		w := rng.At(u.seed, rng.Name("watch_item"), uint64(c.id-1))
		from, step := u.walk(&w)
		e.last = (from + u.s.IntN(leastWatched)*step) % u.securities()
		e.first = (from + u.s.Between(mostWatched, u.securities()-1)*step) % u.securities()
	}
}

// soloist is a customer with a market of his own: all of the work as one
// user's script, one step after the other. It plays where a driver knows no
// Run, and makes histories that repeat.
type soloist struct {
	*trader
	seat *seat
	at   int64 // µs
	mine bool  // the step under way is the customer's
}

func newSoloist(o *office, s rng.Stream) *soloist {
	market := newExchange(o.world, 1, s.Uint64())
	return &soloist{trader: newTrader(o, market, s), seat: newSeat(o, market, 0), at: o.begins()}
}

func (u *soloist) since() time.Duration {
	return time.Duration(u.at-u.begins()) * time.Microsecond
}

// Next implements workload.User: what the market has to do comes first, and
// time goes on by a second with each step of the customer.
func (u *soloist) Next() workload.Step {
	u.at += 1_000
	step := u.seat.NextAt(u.since())
	step.Due = 0
	if u.mine = step.Transaction == nil; u.mine {
		u.at += second
		step = u.trader.NextAt(u.since())
	}
	return step
}

// Done implements workload.User.
func (u *soloist) Done(o workload.Outcome) {
	if u.mine {
		u.trader.DoneAt(u.since(), o)
	} else {
		u.seat.DoneAt(u.since(), o)
	}
}

// session is one run: customers, the market's sessions, and the clerk.
type session struct {
	*office
	users  int
	market *exchange
}

// customersPerSeat is for how many customers the market has a session. A
// tenth of the work is Trade-Results, each of which takes about twice as long
// as other work and may have to be repeated.
const customersPerSeat = 2

func newSession(o *office, users int, seed uint64) *session {
	seats := (users + customersPerSeat - 1) / customersPerSeat
	return &session{office: o, users: users, market: newExchange(o.world, seats, seed)}
}

// Extra implements workload.Run.
func (r *session) Extra() int { return len(r.market.shards) + 1 }

// User implements workload.Run: the clerk is the last.
func (r *session) User(user int, s rng.Stream) workload.User {
	switch n := user - r.users; {
	case n < 0:
		return newTrader(r.office, r.market, s)
	case n < len(r.market.shards):
		return newSeat(r.office, r.market, n)
	default:
		return &clerk{office: r.office, s: s, entry: newEntry()}
	}
}

// fedFact is what a run counts for checks: the quantities that committed
// Market-Feeds carried.
const fedFact = "fed"

// Facts implements workload.Run.
func (r *session) Facts() map[string]int64 { return map[string]int64{fedFact: r.market.fed.Load()} }
