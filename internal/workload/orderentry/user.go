package orderentry

import (
	"slices"
	"time"

	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// user is one terminal. It allocates nothing after newUser.
type user struct {
	*company
	s     rng.Stream
	deck  [deckSize]uint8
	left  int // cards not dealt yet
	entry entry

	// Where the terminal stands when paced: its warehouse for everything, its
	// district for Stock-Level (clauses 2.4.1.1 and 2.8.1.1).
	warehouse, district int64
}

func newUser(w *company, number int, s rng.Stream) *user {
	u := &user{
		company:   w,
		s:         s,
		warehouse: int64(number)/districts%w.warehouses + 1,
		district:  int64(number)%districts + 1,
	}
	n := 0
	for kind, count := range cards() {
		for range count {
			u.deck[n] = uint8(kind)
			n++
		}
	}
	// The dates that transactions write follow from the stream, so that a
	// history can be repeated: any time of the day after the load, and a
	// millisecond later each time.
	const day = 86_400_000_000
	u.entry.at = w.loaded + day + u.s.IntN(day)
	return u
}

// Next implements workload.User.
func (u *user) Next() workload.Step {
	kind := u.draw()
	e := &u.entry
	e.at += 1_000
	e.warehouse = u.warehouse
	if !u.paced {
		e.warehouse = u.s.Between(1, u.warehouses)
	}
	e.district = u.s.Between(1, districts)
	switch kind {
	case newOrder:
		u.enterOrder()
	case payment:
		u.enterPayment()
	case orderStatus:
		u.enterCustomer()
	case delivery:
		e.carrier = u.s.Between(1, 10)
	default:
		if u.paced {
			e.district = u.district
		}
		e.threshold = u.s.Between(10, 20)
	}
	step := workload.Step{Transaction: u.transactions[kind], Input: e, Last: true}
	if u.paced {
		step.Keying = keying(kind)
		step.Think = think(&u.s, thinkMean(kind))
	}
	return step
}

// Done implements workload.User.
func (u *user) Done(workload.Outcome) {}

// draw chooses the type of the next transaction.
func (u *user) draw() int {
	if u.dealt {
		if u.left == 0 {
			u.left = deckSize
			u.s.Shuffle(deckSize, func(i, j int) { u.deck[i], u.deck[j] = u.deck[j], u.deck[i] })
		}
		u.left--
		return int(u.deck[u.left])
	}
	n := u.s.IntN(100)
	for kind, weight := range weights() {
		if n -= weight; n < 0 {
			return kind
		}
	}
	panic("orderentry: the weights do not add up to 100")
}

// keying is how long a terminal's user types (clause 5.2.5.7).
func keying(kind int) time.Duration {
	return [kinds]time.Duration{18 * time.Second, 3 * time.Second, 2 * time.Second, 2 * time.Second, 2 * time.Second}[kind]
}

// thinkMean is how long one thinks on average (clause 5.2.5.7): Order-Status
// 10 s, Delivery 5 s.
func thinkMean(kind int) time.Duration {
	return [kinds]time.Duration{12 * time.Second, 12 * time.Second, 10 * time.Second, 5 * time.Second, 5 * time.Second}[kind]
}

// enterOrder fills in a New-Order (clause 2.4.1).
//
// The items of an order differ from each other, and its lines are numbered in
// the order of supplying warehouse and item: the order in which stock rows are
// locked, so that no two orders wait for each other in a circle. Drawn
// independently, 0.9 % of orders would have an item twice; the share of the
// most popular item, 0.2 %, falls by about a hundredth of itself.
func (u *user) enterOrder() {
	e := &u.entry
	e.byName, e.customer = false, u.choice.customer.draw(&u.s)
	n := int(u.s.Between(5, maxLines))
	e.unknown = u.s.IntN(100) == 0
	e.lines = e.lineBuf[:0]
	for range n {
		item := u.choice.item.draw(&u.s)
		for slices.ContainsFunc(e.lines, func(l line) bool { return l.item == item }) {
			item = u.choice.item.draw(&u.s)
		}
		l := line{item: item, supply: e.warehouse, quantity: u.s.Between(1, 10)}
		if u.s.IntN(100) == 0 {
			l.supply = u.other(e.warehouse)
		}
		e.lines = append(e.lines, l)
	}
	known := e.lines
	if e.unknown { // the last line's, which no stock row belongs to
		known = e.lines[:n-1]
		e.lines[n-1].item = items + 1
	}
	for i := 1; i < len(known); i++ { // at most 15: insertion is the fastest sort
		for j := i; j > 0 && known[j].before(&known[j-1]); j-- {
			known[j], known[j-1] = known[j-1], known[j]
		}
	}
}

// before is the order in which stock rows are locked.
func (l *line) before(m *line) bool {
	return l.supply < m.supply || l.supply == m.supply && l.item < m.item
}

// other is any warehouse but w, where there is one.
func (u *user) other(w int64) int64 {
	if u.warehouses == 1 {
		return w
	}
	o := u.s.Between(1, u.warehouses-1)
	if o >= w {
		o++
	}
	return o
}

// enterPayment fills in a Payment (clause 2.5.1): 15 % by a customer of
// another warehouse.
func (u *user) enterPayment() {
	e := &u.entry
	u.enterCustomer()
	if u.s.IntN(100) < 15 {
		e.customerWarehouse, e.customerDistrict = u.other(e.warehouse), u.s.Between(1, districts)
	}
	e.amount = u.s.Between(1_00, 5_000_00)
}

// enterCustomer chooses a customer of the terminal's district: 60 % by last
// name, 40 % by number (clauses 2.5.1.2 and 2.6.1.2).
func (u *user) enterCustomer() {
	e := &u.entry
	e.customerWarehouse, e.customerDistrict = e.warehouse, e.district
	e.byName = u.s.IntN(100) < 60
	if e.byName {
		e.customer, e.last = 0, appendLastName(e.lastText[:0], u.choice.name.draw(&u.s))
	} else {
		e.customer, e.last = u.choice.customer.draw(&u.s), e.lastText[:0]
	}
}
