package brokerage

import (
	"context"
	"fmt"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

// order is what Trade-Order finds out before it enters the order.
type order struct {
	broker, owner, taxStatus, tier, balance int64
	symbol, exchange                        []byte
	price                                   int64 // cents
	market, sell                            bool
	rate, charge                            int64
}

// tradeOrder enters an order: who may trade (frames 1 and 2), what it will
// cost (3), the rows (4), and, for one in 101, the way back (5).
func (t *textWork) tradeOrder(ctx context.Context, c workload.Conn, e *entry) (workload.Status, error) {
	var o order
	e.kept = e.kept[:0]
	if err := t.authorise(ctx, c, e, &o); err != nil {
		return workload.Failed, err
	}
	if err := t.findSecurity(ctx, c, e, &o); err != nil {
		return workload.Failed, err
	}
	if err := t.estimate(ctx, c, e, &o); err != nil {
		return workload.Failed, err
	}
	if err := t.enter(ctx, c, e, &o); err != nil {
		return workload.Failed, err
	}
	if e.cancel {
		return workload.RolledBack, nil
	}
	return workload.Committed, nil
}

// authorise finds the account and sees that who trades for it may.
func (t *textWork) authorise(ctx context.Context, c workload.Conn, e *entry, o *order) error {
	e.begin().int(e.account)
	v, err := e.one(ctx, c, t.accountInfo)
	if err != nil {
		return err
	}
	o.broker, o.owner, o.taxStatus, o.balance, o.tier = v[0].Int, v[1].Int, v[2].Int, v[3].Int, v[4].Int
	if e.guest == 0 {
		return nil
	}
	e.begin().int(e.account).field(appendTaxID(e.buf, e.guest))
	e.field(t.appendFirst(e.buf, e.guest)).field(t.appendLast(e.buf, e.guest))
	_, err = e.one(ctx, c, t.permission)
	return err
}

// findSecurity finds what is traded, its price, and the type of the order.
func (t *textWork) findSecurity(ctx context.Context, c workload.Conn, e *entry, o *order) error {
	st := t.bySymbol
	if e.begin(); e.byName {
		st = t.byName
		company, issue := companyOf(e.security)
		e.field(t.appendCompany(e.buf, company)).word(issueName(issue))
	} else {
		e.symbol(e.security)
	}
	v, err := e.one(ctx, c, st)
	if err != nil {
		return err
	}
	o.symbol, o.exchange = e.keep(v[0]), e.keep(v[1])
	e.begin().text(o.symbol)
	if v, err = e.one(ctx, c, t.lastPrice); err != nil {
		return err
	}
	o.price = v[0].Int
	e.begin().word(kindName(e.kind))
	if v, err = e.one(ctx, c, t.kindOf); err != nil {
		return err
	}
	if o.market, o.sell = v[0].Int == 1, v[1].Int == 1; !o.market {
		o.price = e.bid
	}
	return nil
}

// estimate works out what the order will cost: the tax on its profit, its
// commission, its charge, and, on margin, what stands behind the account.
func (t *textWork) estimate(ctx context.Context, c workload.Conn, e *entry, o *order) error {
	e.begin().int(e.account).text(o.symbol)
	s, err := t.close(ctx, c, e, o.sell, o.price)
	if err != nil {
		return err
	}
	if profit := s.sold - s.bought; profit > 0 && o.taxStatus != 0 {
		if e.taxed, err = t.taxOn(ctx, c, e, o.owner, profit); err != nil {
			return err
		}
	}
	e.begin().int(o.tier).word(kindName(e.kind)).text(o.exchange).int(e.quantity)
	v, err := e.one(ctx, c, t.rate)
	if err != nil {
		return err
	}
	o.rate, o.charge = v[0].Int, v[1].Int
	e.commission = commission(e.quantity, o.price, o.rate)
	if e.margin {
		e.begin().int(e.account)
		if v, err = e.one(ctx, c, t.assets); err != nil {
			return err
		}
		e.amount = o.balance + v[0].Int
	}
	return nil
}

// taxOn asks for a customer's tax rates and applies them to a profit.
func (t *textWork) taxOn(ctx context.Context, c workload.Conn, e *entry, owner, profit int64) (int64, error) {
	e.begin().int(owner)
	v, err := e.one(ctx, c, t.taxRates)
	if err != nil {
		return 0, err
	}
	return profitTax(profit, v[0].Int), nil
}

// holding is one lot as the database has it.
type holding struct{ trade, quantity, price int64 }

// holdings reads the lots of the account and symbol in e's arguments that a
// trade of e.quantity would close, in the order in which it would, and leaves
// them in e.lots; position is HS_QTY.
func (t *textWork) holdings(ctx context.Context, c workload.Conn, e *entry, sell bool) (position int64, err error) {
	e.lots = e.lots[:0]
	r, err := e.run(ctx, c, t.position)
	if err != nil || r.Rows() == 0 {
		return 0, err
	}
	if position = r.Values[0].Int; position == 0 || sell != (position > 0) {
		return position, nil
	}
	st := t.oldest
	if e.lifo {
		st = t.newest
	}
	if r, err = e.run(ctx, c, st); err != nil {
		return 0, err
	}
	for i := range r.Rows() {
		v := r.Row(i)
		e.lots = append(e.lots, holding{v[0].Int, v[1].Int, v[2].Int})
	}
	return position, nil
}

// close works out what a trade at price would close, without doing it.
func (t *textWork) close(ctx context.Context, c workload.Conn, e *entry, sell bool, price int64) (settled, error) {
	if _, err := t.holdings(ctx, c, e, sell); err != nil {
		return settled{}, err
	}
	_, s := e.use(e.quantity, price)
	return s, nil
}

// use takes quantity pieces out of e.lots, in their order, and leaves in e.log
// what becomes of them: left is for how many pieces there is no lot.
func (e *entry) use(quantity, price int64) (left int64, s settled) {
	e.log = e.log[:0]
	left = quantity
	for i := 0; i < len(e.lots) && left > 0; i++ {
		l := e.lots[i]
		used := min(max(l.quantity, -l.quantity), left)
		after := l.quantity - used
		if l.quantity < 0 {
			after = l.quantity + used
			s.sold += used * l.price
			s.bought += used * price
		} else {
			s.bought += used * l.price
			s.sold += used * price
		}
		e.log = append(e.log, change{l.trade, l.quantity, after})
		left -= used
	}
	return left, s
}

// The states of a trade.
const (
	submitted = "SBMT"
	pending   = "PNDG"
	completed = "CMPT"
)

// enter writes the order.
func (t *textWork) enter(ctx context.Context, c workload.Conn, e *entry, o *order) error {
	status := pending
	if o.market {
		status = submitted
	}
	who := e.guest
	if who == 0 {
		who = o.owner
	}
	e.begin().instant(e.at).word(status).word(kindName(e.kind)).bit(!e.margin).text(o.symbol).int(e.quantity).money(o.price).int(e.account)
	e.field(t.appendLast(append(t.appendFirst(e.buf, who), ' '), who))
	e.money(o.charge).money(e.commission).bit(e.lifo)
	if err := e.change(ctx, c, t.insertTrade); err != nil {
		return err
	}
	v, err := e.begin().one(ctx, c, t.lastNumber)
	if err != nil {
		return err
	}
	e.trade = v[0].Int
	if !o.market {
		e.begin().int(e.trade).word(kindName(e.kind)).text(o.symbol).int(e.quantity).money(o.price).int(o.broker)
		if err := e.change(ctx, c, t.insertRequest); err != nil {
			return err
		}
	}
	e.begin().int(e.trade).instant(e.at).word(status)
	return e.change(ctx, c, t.insertStep)
}

// sale is the trade that Trade-Result completes.
type sale struct {
	account, broker, owner, taxStatus, tier int64
	kind, symbol, exchange, name            []byte
	quantity, charge                        int64
	cash, sell                              bool
}

// tradeResult completes a trade. One that is complete already, because an
// answer was lost, is left as it is.
func (t *textWork) tradeResult(ctx context.Context, c workload.Conn, e *entry) (workload.Status, error) {
	var s sale
	e.kept, e.trade = e.kept[:0], e.event.trade
	e.begin().int(e.trade)
	v, err := e.one(ctx, c, t.trade)
	if err != nil {
		return workload.Failed, err
	}
	if done, err := e.isCompleted(t.trade, v[0]); done || err != nil {
		return workload.RolledBack, err
	}
	s.account, s.quantity, s.charge = v[1].Int, v[4].Int, v[5].Int
	e.lifo, s.cash, s.sell = v[6].Int == 1, v[7].Int == 1, v[8].Int == 1
	s.broker, s.owner, s.taxStatus, s.tier = v[9].Int, v[10].Int, v[11].Int, v[14].Int
	s.kind, s.symbol, s.exchange, s.name = e.keep(v[2]), e.keep(v[3]), e.keep(v[12]), e.keep(v[13])
	e.quantity = s.quantity
	e.at = max(e.at, v[15].Int) // an order of an earlier run may be dated later
	gain, err := t.book(ctx, c, e, &s)
	if err != nil {
		return workload.Failed, err
	}
	if profit := gain.sold - gain.bought; profit > 0 && s.taxStatus != 0 {
		if e.taxed, err = t.taxOn(ctx, c, e, s.owner, profit); err != nil {
			return workload.Failed, err
		}
	}
	e.begin().int(s.tier).text(s.kind).text(s.exchange).int(s.quantity)
	if v, err = e.one(ctx, c, t.rate); err != nil {
		return workload.Failed, err
	}
	e.commission = commission(s.quantity, e.price, v[0].Int)
	return workload.Committed, t.finish(ctx, c, e, &s)
}

// isCompleted says whether the trade that st found is complete already; one
// that is neither that nor submitted is an error.
func (e *entry) isCompleted(st *workload.Statement, status workload.Value) (bool, error) {
	switch string(status.Str) {
	case completed:
		return true, nil
	case submitted:
		return false, nil
	default:
		return false, fmt.Errorf("%s: trade %d is %q", st.Name, e.trade, status.Str)
	}
}

// book changes what the account holds.
func (t *textWork) book(ctx context.Context, c workload.Conn, e *entry, s *sale) (settled, error) {
	e.begin().int(s.account).text(s.symbol)
	position, err := t.holdings(ctx, c, e, s.sell)
	if err != nil {
		return settled{}, err
	}
	signed := s.quantity
	if s.sell {
		signed = -signed
	}
	// A lot refers to its position: that is opened before, and closed after.
	after := position + signed
	switch {
	case position == 0:
		e.begin().int(s.account).text(s.symbol).int(after)
		err = e.change(ctx, c, t.openPosition)
	case after != 0:
		e.begin().int(after).int(s.account).text(s.symbol)
		err = e.change(ctx, c, t.movePosition)
	}
	if err != nil {
		return settled{}, err
	}
	left, gain := e.use(s.quantity, e.price)
	if err := t.changeLots(ctx, c, e, s, left*sign(signed)); err != nil {
		return gain, err
	}
	if position != 0 && after == 0 {
		e.begin().int(s.account).text(s.symbol)
		err = e.change(ctx, c, t.closePosition)
	}
	return gain, err
}

// sign is 1 or −1.
func sign(n int64) int64 {
	if n < 0 {
		return -1
	}
	return 1
}

// changeLots writes what e.log says, and a new lot of what is left.
func (t *textWork) changeLots(ctx context.Context, c workload.Conn, e *entry, s *sale, left int64) error {
	for _, l := range e.log {
		e.begin().int(l.lot).int(e.trade).int(l.before).int(l.after)
		if err := e.change(ctx, c, t.insertChange); err != nil {
			return err
		}
		st := t.closeLot
		if e.begin(); l.after != 0 {
			st = t.moveLot
			e.int(l.after)
		}
		e.int(l.lot)
		if err := e.change(ctx, c, st); err != nil {
			return err
		}
	}
	if left == 0 {
		return nil
	}
	e.begin().int(e.trade).int(e.trade).int(0).int(left)
	if err := e.change(ctx, c, t.insertChange); err != nil {
		return err
	}
	e.begin().int(e.trade).int(s.account).text(s.symbol).instant(e.at).money(e.price).int(left)
	return e.change(ctx, c, t.openLot)
}

// finish completes the trade's row and settles it. The broker's row, which
// many want, comes last: Trade-Orders lock it after the account's, too.
func (t *textWork) finish(ctx context.Context, c workload.Conn, e *entry, s *sale) error {
	amount := settlement(s.sell, s.quantity*e.price, s.charge, e.commission)
	if s.taxStatus == 1 {
		amount -= e.taxed
	}
	e.begin().money(e.commission).money(e.taxed).instant(e.at).money(e.price).int(e.trade)
	if err := e.change(ctx, c, t.complete); err != nil {
		return err
	}
	e.begin().int(e.trade).instant(e.at).word(completed)
	if err := e.change(ctx, c, t.insertStep); err != nil {
		return err
	}
	e.begin().int(e.trade).word(cashType(s.cash)).day(dayOf(e.at) + settleDays).money(amount)
	if err := e.change(ctx, c, t.settle); err != nil {
		return err
	}
	if s.cash {
		e.begin().money(amount).int(s.account)
		if err := e.change(ctx, c, t.pay); err != nil {
			return err
		}
		e.begin().int(e.trade).instant(e.at).money(amount).field(cashName(e.buf, s.kind, s.quantity, s.name))
		if err := e.change(ctx, c, t.insertPayment); err != nil {
			return err
		}
	}
	e.begin().int(s.account)
	v, err := e.one(ctx, c, t.balance)
	if err != nil {
		return err
	}
	e.amount = v[0].Int
	e.begin().money(e.commission).int(s.broker)
	return e.change(ctx, c, t.earn)
}

// marketFeed writes the ticker's prices, in the order of symbols, and submits
// the limit orders that they trigger.
func (t *textWork) marketFeed(ctx context.Context, c workload.Conn, e *entry) (workload.Status, error) {
	for _, k := range e.feed {
		e.begin().money(k.price).int(k.quantity).instant(e.at).symbol(k.security)
		if err := e.change(ctx, c, t.newPrice); err != nil {
			return workload.Failed, err
		}
		e.begin().symbol(k.security).money(k.price)
		r, err := e.run(ctx, c, t.requests)
		if err != nil {
			return workload.Failed, err
		}
		first := len(e.triggered)
		for i := range r.Rows() {
			v := r.Row(i)
			e.triggered = append(e.triggered, hit{v[0].Int, k.security, v[1].Int})
		}
		for _, h := range e.triggered[first:] {
			if err := t.trigger(ctx, c, e, h.trade); err != nil {
				return workload.Failed, err
			}
		}
	}
	return workload.Committed, nil
}

// trigger submits one limit order.
func (t *textWork) trigger(ctx context.Context, c workload.Conn, e *entry, trade int64) error {
	e.begin().instant(e.at).int(trade)
	if err := e.change(ctx, c, t.submit); err != nil {
		return err
	}
	e.begin().int(trade)
	if err := e.change(ctx, c, t.deleteRequest); err != nil {
		return err
	}
	return e.change(ctx, c, t.insertSubmit)
}

// dataMaintenance changes one table.
func (t *textWork) dataMaintenance(ctx context.Context, c workload.Conn, e *entry) (workload.Status, error) {
	t.maintenance(e)
	r, err := e.run(ctx, c, t.maintain[e.table])
	e.changed = r.Affected
	return workload.Committed, err
}

// maintenance fills in the arguments of the table's statement.
func (w *world) maintenance(e *entry) {
	e.begin()
	switch e.table {
	case mPermission:
		e.int(e.account)
	case mAddress, mCustomer:
		e.int(e.customer)
	case mCompany:
		e.int(e.company)
	case mCustomerTax:
		e.field(appendTax(e.buf, e.tax)).int(e.customer)
	case mDaily:
		e.int(e.rows).symbol(e.security).day(e.from).day(e.to)
	case mExchange:
		e.field(appendDigits(append(e.buf, "Open on weekdays, notice "...), e.at/second%1_000_000, 6))
	case mFinancial:
		e.day(quarterStart(e.rows) + 1 + e.at/second%2).int(e.company).int(2000 + e.rows/4).int(e.rows%4 + 1)
	case mNews:
		e.instant(e.at).int(e.company)
	case mSecurity:
		e.day(dayOf(e.at)).symbol(e.security)
	case mTax:
		e.field(appendTax(e.buf, e.tax))
	case mWatch:
		e.symbol(e.first).int(e.customer).symbol(e.last)
	}
}

// tradeCleanup cancels what is open since before e.at.
func (t *textWork) tradeCleanup(ctx context.Context, c workload.Conn, e *entry) (workload.Status, error) {
	for _, st := range t.clean {
		e.begin().instant(e.at)
		r, err := e.run(ctx, c, st)
		if err != nil {
			return workload.Failed, err
		}
		e.changed += r.Affected
	}
	return workload.Committed, nil
}
