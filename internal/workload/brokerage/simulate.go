package brokerage

import (
	"slices"

	"github.com/loadstone-perf/loadstone/internal/rng"
)

// lot is one holding: what is left of a trade.
type lot struct {
	trade    int64
	at       int64 // when it was bought or sold short, µs
	price    int64 // cents
	quantity int64 // below 0 where it was sold short
}

// change is one row of HOLDING_HISTORY.
type change struct{ lot, before, after int64 }

// position is what an account holds of one security, the oldest lot first. All
// lots are of one sign.
type position []lot

// quantity is HS_QTY.
func (p position) quantity() (n int64) {
	for i := range p {
		n += p[i].quantity
	}
	return n
}

// settled is what a trade closed: what the lots that it took pieces of had
// cost, and what they went for.
type settled struct{ bought, sold int64 }

// trade adds a completed trade to p, the quantity below 0 for a sale. Lots of
// the other sign are used up first, the newest first where lifo; what is left
// becomes a lot of its own. The changes are appended to log.
func (p *position) trade(t lot, lifo bool, log []change) ([]change, settled) {
	var s settled
	for t.quantity != 0 && len(*p) > 0 && ((*p)[0].quantity < 0) != (t.quantity < 0) {
		i := 0
		if lifo {
			i = len(*p) - 1
		}
		l := &(*p)[i]
		used := min(max(l.quantity, -l.quantity), max(t.quantity, -t.quantity))
		moved := used // what is added to the lot
		if l.quantity > 0 {
			s.bought += used * l.price
			s.sold += used * t.price
			moved = -used
		} else {
			s.sold += used * l.price
			s.bought += used * t.price
		}
		log = append(log, change{l.trade, l.quantity, l.quantity + moved})
		t.quantity -= moved
		if l.quantity += moved; l.quantity == 0 {
			*p = slices.Delete(*p, i, i+1)
		}
	}
	if t.quantity != 0 {
		log = append(log, change{t.trade, 0, t.quantity})
		*p = append(*p, t)
	}
	return log, s
}

// deal is a trade of the beginning, which is complete.
type deal struct {
	id, account, customer     int64
	broker                    int64
	security                  int64
	kind                      int
	quantity, price           int64
	cash, lifo                bool
	submitted, pended, closed int64 // µs; pended is 0 for market orders
	charge, commission, tax   int64
	amount                    int64 // SE_AMT
	changes                   []change
}

// A load unit's customers trade in groups: number g is those whose rank ends in
// the digit g. The groups are alike in their tiers.
const (
	groups    = 10
	groupSize = unitSize / groups
)

// history replays the trades with which one group begins, in the order of
// their numbers, which is that of time. It holds what every account of the
// group owns, and nothing that grows with the number of trades.
type history struct {
	*world
	unit, group int64
	s           rng.Stream
	customers   []customer // by rank within the group
	accounts    []account  // by rank and number; those that do not exist are zero
	positions   []position
	deal        deal
	log         []change
}

// history makes the replay of group number `batch`, counted over all units.
func (w *world) history(batch int64) *history {
	h := &history{
		world: w, unit: batch / groups, group: batch % groups, s: rng.At(w.seed, rng.Name("trades"), uint64(batch)),
		customers: make([]customer, groupSize), accounts: make([]account, groupSize*accountSlots),
		positions: make([]position, groupSize*accountSlots*mostSecurities),
	}
	for rank := range h.customers {
		c := w.customer(h.unit*unitSize + w.byRank[int64(rank)*groups+h.group] + 1)
		h.customers[rank] = c
		for n := range c.accounts {
			h.accounts[int64(rank)*accountSlots+n] = w.account(accountID(c.id, n))
		}
	}
	return h
}

// each calls f with every trade. The deal is valid until f returns. The groups
// of a unit trade in turn.
func (h *history) each(f func(*deal) error) error {
	n := h.tradesPerUnit()
	length := h.days * daySeconds * second
	for i := h.group; i < n; i += groups {
		// Trades are spread evenly over the time in which the market is open.
		h.draw(h.unit*n+i+1, businessTime((2*i+1)*(length/(2*n))))
		if err := f(&h.deal); err != nil {
			return err
		}
	}
	return nil
}

// initialKind draws the type of a loaded trade: 30 % market buys, 30 % market
// sells, 20 % limit buys, 10 % limit sells and 10 % stop-losses.
func initialKind(s *rng.Stream) int {
	switch x := s.IntN(10); {
	case x < 3:
		return marketBuy
	case x < 6:
		return marketSell
	case x < 8:
		return limitBuy
	case x < 9:
		return limitSell
	default:
		return stopLoss
	}
}

// draw makes the trade of a number that was complete at an instant, and books
// it.
func (h *history) draw(number, closed int64) {
	rank := drawRank(&h.s) / groups
	c := &h.customers[rank]
	slot := rank*accountSlots + h.s.IntN(c.accounts)
	a := &h.accounts[slot]
	n := h.s.IntN(a.securities)
	d := &h.deal
	*d = deal{
		id: number, account: a.id, customer: c.id, broker: a.broker, security: h.security(a, n), kind: initialKind(&h.s),
		quantity: 100 << h.s.IntN(4), closed: closed, lifo: h.s.IntN(100) < 35, cash: true,
	}
	d.submitted = closed - h.s.Between(second, 5*second)
	if !isMarket(d.kind) {
		d.pended = d.submitted - h.s.Between(second, 600*second)
	}
	sell := isSell(d.kind)
	if !sell {
		d.cash = h.s.IntN(100) >= 16
	}
	d.price = h.price(d.security, closed)
	d.charge = chargeFor(d.kind, c.tier)
	d.commission = commission(d.quantity, d.price, rateFor(d.kind, c.tier, exchangeOf(d.security), d.quantity))
	t := lot{number, closed, d.price, d.quantity}
	if sell {
		t.quantity = -t.quantity
	}
	var s settled
	h.log, s = h.positions[slot*mostSecurities+n].trade(t, d.lifo, h.log[:0])
	d.changes = h.log
	if profit := s.sold - s.bought; profit > 0 && a.taxStatus != 0 {
		d.tax = profitTax(profit, h.taxRate(c))
	}
	d.amount = settlement(sell, d.quantity*d.price, d.charge, d.commission)
	if a.taxStatus == 1 {
		d.amount -= d.tax
	}
}

// settlement is SE_AMT before taxes, in cents: what the account gets for a
// sale, or, below 0, pays for what it buys.
func settlement(sell bool, value, charge, commission int64) int64 {
	if sell {
		return value - charge - commission
	}
	return -(value + charge + commission)
}

// sizes are about how many rows tables have whose size follows from trading.
type sizes struct{ summaries, holdings, changes int64 }

// sample estimates the sizes from the trades of every tenth customer of a load
// unit, played without dates and prices.
func (w *world) sample() sizes {
	const every = 10
	s := rng.At(w.seed, rng.Name("sizes"))
	var out sizes
	var log []change
	due := int64(0) // trades of the customer, times 2,000
	for rank := int64(every / 2); rank < unitSize; rank += every {
		c := w.customer(w.byRank[rank] + 1)
		positions := make([]position, c.accounts*mostSecurities)
		counts := make([]int64, c.accounts)
		for n := range counts {
			a := w.account(accountID(c.id, int64(n)))
			counts[n] = a.securities
		}
		// What is left of a whole number of trades goes to the next customer.
		for due += w.tradesPerUnit() * c.tier; due >= 2*unitSize; due -= 2 * unitSize {
			n := s.IntN(c.accounts)
			t := lot{quantity: 100 << s.IntN(4)}
			if s.IntN(2) == 0 {
				t.quantity = -t.quantity
			}
			log, _ = positions[n*mostSecurities+s.IntN(counts[n])].trade(t, s.IntN(100) < 35, log[:0])
			out.changes += int64(len(log))
		}
		for _, p := range positions {
			if len(p) > 0 {
				out.summaries++
				out.holdings += int64(len(p))
			}
		}
	}
	scale := every * w.units
	return sizes{out.summaries * scale, out.holdings * scale, out.changes * scale}
}
