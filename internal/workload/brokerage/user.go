package brokerage

import (
	"slices"
	"time"

	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// office is the workload with its parameters fixed: what users share. It is
// read-only.
type office struct {
	*world
	transactions
	// horizon is how long a limit order waits for its price at most, in µs.
	horizon int64
}

// trader is the script of one customer. It allocates nothing after newTrader.
type trader struct {
	*office
	market *exchange // nil where nobody completes the orders
	s      rng.Stream
	deck   [deckSize]uint8
	left   int // cards not dealt yet
	kind   int // of the step under way
	entry  *entry
}

func newTrader(o *office, market *exchange, s rng.Stream) *trader {
	u := &trader{office: o, market: market, s: s, entry: newEntry()}
	n := 0
	for kind, count := range cards() {
		for range count {
			u.deck[n] = uint8(kind)
			n++
		}
	}
	return u
}

// Next implements workload.User, at the time of the step before and a second.
func (u *trader) Next() workload.Step {
	return u.NextAt(time.Duration(u.entry.at-u.begins()+second) * time.Microsecond)
}

// Done implements workload.User.
func (u *trader) Done(o workload.Outcome) {
	u.DoneAt(time.Duration(u.entry.at-u.begins())*time.Microsecond, o)
}

// NextAt implements workload.Timed.
func (u *trader) NextAt(now time.Duration) workload.Step {
	if u.left == 0 {
		u.left = deckSize
		u.s.Shuffle(deckSize, func(i, j int) { u.deck[i], u.deck[j] = u.deck[j], u.deck[i] })
	}
	u.left--
	u.kind = int(u.deck[u.left])
	e := u.entry
	e.at = u.begins() + now.Microseconds()
	switch u.kind {
	case tradeStatus:
		u.pickAccount()
	case marketWatch:
		u.watch()
	case securityDetail:
		u.detail()
	case customerPosition:
		u.pickAccount()
		e.byTax, e.withHistory = u.s.IntN(2) == 0, u.s.IntN(2) == 0
	case tradeOrder:
		u.order()
	case tradeLookup:
		u.lookup(int(weighted4(&u.s, 30, 60, 90)) + byNumber)
	case brokerVolume:
		u.volume()
	case tradeUpdate:
		u.lookup(int(weighted4(&u.s, 33, 66, 100)) + byNumber)
	}
	wait := u.hesitate()
	return workload.Step{Transaction: u.transactions[u.kind], Input: e, Keying: time.Duration(wait) * time.Microsecond, Last: true}
}

// mostHesitation bounds how long a customer holds an order back, in µs: a
// market that stood still for long may be there again in an instant.
const mostHesitation = second

// hesitate is how long a customer waits before an order, in µs: as long as the
// market is late with trades in that security. Without that, customers who do
// not think would enter more and more orders that nobody completes, where a
// server is slower to complete trades than to take orders.
func (u *trader) hesitate() int64 {
	if u.kind != tradeOrder || u.market == nil {
		return 0
	}
	e := u.entry
	wait := min(u.market.behind(e.security, e.at), mostHesitation)
	e.at += wait
	return wait
}

// weighted4 draws 0 to 3: 0 in `a` of a hundred, 1 up to b, 2 up to c.
func weighted4(s *rng.Stream, a, b, c int64) int64 {
	switch x := s.IntN(100); {
	case x < a:
		return 0
	case x < b:
		return 1
	case x < c:
		return 2
	default:
		return 3
	}
}

// DoneAt implements workload.Timed: an order that is in the database goes to
// the market.
func (u *trader) DoneAt(now time.Duration, o workload.Outcome) {
	if u.kind != tradeOrder || u.market == nil || o.Status != workload.Committed {
		return
	}
	e := u.entry
	u.market.submit(e.kind, e.trade, e.security, e.quantity, e.bid, u.begins()+now.Microseconds())
}

// pickCustomer draws a customer who trades, by tier.
func (u *trader) pickCustomer() customer {
	return u.customer(u.s.IntN(u.units)*unitSize + u.byRank[drawRank(&u.s)] + 1)
}

// pickAccount draws a customer and one of its accounts.
func (u *trader) pickAccount() account {
	c := u.pickCustomer()
	a := u.account(accountID(c.id, u.s.IntN(c.accounts)))
	u.entry.customer, u.entry.account = c.id, a.id
	return a
}

// watch fills in a Market-Watch: 60 % a watch list, 35 % an account, 5 % the
// companies of an industry.
func (u *trader) watch() {
	e := u.entry
	u.pickAccount()
	switch x := u.s.IntN(100); {
	case x < 60:
		e.frame = byList
	case x < 95:
		e.frame = byAccount
	default:
		e.frame = byIndustry
	}
	e.industry = u.s.IntN(industries)
	// Of many companies, a range of 5,000.
	const most = 5_000
	e.first = u.s.Between(1, max(1, u.companies()-most+1))
	e.last = min(e.first+most-1, u.companies())
	e.from = u.marketDay(u.s.IntN(u.marketDays))
}

// detail fills in a Security-Detail: 5 to 20 days, 1 % with the news in full.
func (u *trader) detail() {
	e := u.entry
	e.security = u.s.IntN(u.securities())
	e.rows = u.s.Between(5, 20)
	e.from = u.marketDay(u.s.IntN(u.marketDays - e.rows + 1))
	e.longNews = u.s.IntN(100) == 0
}

// lookup fills in a Trade-Lookup or Trade-Update.
func (u *trader) lookup(frame int) {
	e := u.entry
	e.frame = frame
	a := u.pickAccount()
	e.security = u.security(&a, u.s.IntN(a.securities))
	for i := range e.ids {
		e.ids[i] = u.oldTrade()
		for slices.Contains(e.ids[:i], e.ids[i]) {
			e.ids[i] = u.oldTrade()
		}
	}
	// Trades of accounts and securities are looked for from some time in the
	// loaded history on.
	length := u.days * daySeconds
	e.from = businessTime(nonUniform(&u.s, 4_095, 0, length*9/10) * second)
	e.to = u.begins()
}

// oldTrade draws the number of a loaded trade, some far more often than
// others.
func (u *trader) oldTrade() int64 { return nonUniform(&u.s, 65_535, 1, u.trades()) }

// volume fills in a Broker-Volume: 20 to 40 different brokers, as far as there
// are so many, and a sector. The list is filled up with the first.
func (u *trader) volume() {
	e := u.entry
	n := int(min(u.s.Between(20, manyBrokers), u.brokers()))
	for i := range e.brokers {
		if i >= n {
			e.brokers[i] = e.brokers[0]
			continue
		}
		e.brokers[i] = u.s.Between(1, u.brokers())
		for slices.Contains(e.brokers[:i], e.brokers[i]) {
			e.brokers[i] = e.brokers[i]%u.brokers() + 1
		}
	}
	e.sector = u.s.IntN(sectors)
}

// guestsAtMost bounds how many accounts are drawn for one that has guests.
const guestsAtMost = 100

// order fills in a Trade-Order: 10 % by somebody else than the owner, 60 % by
// symbol, 60 % at the market's price, 8 % on margin, 35 % newest lot first,
// one in 101 rolled back.
func (u *trader) order() {
	e := u.entry
	a := u.pickAccount()
	e.guest = 0
	if u.s.IntN(10) == 0 {
		for n := 0; a.guests == 0 && n < guestsAtMost; n++ {
			a = u.pickAccount()
		}
		if a.guests > 0 {
			e.guest = a.guest[u.s.IntN(a.guests)]
		}
	}
	e.security = u.security(&a, u.s.IntN(a.securities))
	e.byName = u.s.IntN(100) >= 60
	e.quantity = 100 << u.s.IntN(4)
	sell := u.s.IntN(2) == 0
	switch market := u.s.IntN(100) < 60; {
	case market && sell:
		e.kind = marketSell
	case market:
		e.kind = marketBuy
	case !sell:
		e.kind = limitBuy
	case u.s.IntN(2) == 0:
		e.kind = limitSell
	default:
		e.kind = stopLoss
	}
	// Margin is for buyers.
	e.margin = !sell && u.s.IntN(100) < 16
	e.lifo = u.s.IntN(100) < 35
	e.cancel = u.s.IntN(101) == 0
	e.bid = 0
	if !isMarket(e.kind) {
		e.bid = u.price(e.security, e.at+u.s.IntN(u.horizon))
	}
}
