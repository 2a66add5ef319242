package brokerage

import (
	"context"
	_ "embed" // for the procedures
	"fmt"
	"strconv"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

//go:embed postgres.sql
var postgres string

//go:embed mysql.sql
var mysql string

// calls executes each transaction as one call. Data-Maintenance, which changes
// one table with one statement, is the same in both modes.
type calls struct {
	*texts // for Data-Maintenance; its list is not used
	list   []*workload.Statement

	status, watch, detail, place, order, result, lookup, volumes, update, ticker, cleanup *workload.Statement
}

func newCalls() *calls {
	c := &calls{texts: newTexts()}
	for _, st := range c.maintain {
		st.Index = len(c.list)
		c.list = append(c.list, st)
	}
	old := []string{"frame", "ids", "ca_id", "symbol", "from", "to"}
	c.status = c.call("tradestatus", "ca_id")
	c.watch = c.call("marketwatch", "way", "day", "c_id", "ca_id", "industry", "first", "last")
	c.detail = c.call("securitydetail", "symbol", "day", "rows", "long")
	c.place = c.call("customerposition", "c_id", "tax_id", "ca_id")
	c.order = c.call("tradeorder", "ca_id", "tax_id", "f_name", "l_name", "symbol", "company", "issue",
		"tt_id", "qty", "bid", "margin", "lifo", "at")
	c.result = c.call("traderesult", "t_id", "price", "at")
	c.lookup = c.call("tradelookup", old...)
	c.volumes = c.call("brokervolume", "sector", "names")
	c.update = c.call("tradeupdate", old...)
	c.ticker = c.call("marketfeed", "symbols", "prices", "quantities", "at")
	c.cleanup = c.call("tradecleanup", "at")
	return c
}

// call adds a procedure to the list.
func (c *calls) call(name string, params ...string) *workload.Statement {
	st := &workload.Statement{Index: len(c.list), Name: name, Call: name, Params: params}
	c.list = append(c.list, st)
	return st
}

// callWork is the calls and the world that they speak of.
type callWork struct {
	*calls
	*world
}

func (c *calls) executors(w *world) [types]executor {
	x := &callWork{c, w}
	maintain := &textWork{c.texts, w}
	out := [types]executor{
		tradeStatus: x.tradeStatus, marketWatch: x.marketWatch, securityDetail: x.securityDetail,
		customerPosition: x.customerPosition, tradeOrder: x.tradeOrder, tradeResult: x.tradeResult,
		tradeLookup: x.tradeLookup, brokerVolume: x.brokerVolume, tradeUpdate: x.tradeUpdate,
		marketFeed: x.marketFeed, dataMaintenance: maintain.dataMaintenance, tradeCleanup: x.tradeCleanup,
	}
	for kind := range out {
		out[kind] = within(kind, out[kind])
	}
	return out
}

// partChanged is the part whose amount is how many rows were changed.
const partChanged = 9

// show runs a call that returns parts, counts their rows and adds up their
// amounts.
func (e *entry) show(ctx context.Context, conn workload.Conn, st *workload.Statement) error {
	r, err := e.run(ctx, conn, st)
	if err != nil {
		return err
	}
	for i := range r.Rows() {
		row := r.Row(i)
		switch part := row[0].Int; {
		case part == partChanged:
			e.changed = row[2].Int / 100
		case part < 0 || part >= parts:
			return fmt.Errorf("%s: a row of part %d", st.Name, part)
		default:
			e.counts[part]++
			e.amount += row[2].Int
		}
	}
	return nil
}

// least sees that a part of the answer has enough rows.
func (e *entry) least(st *workload.Statement, part int, n int64) error {
	if e.counts[part] < n {
		return fmt.Errorf("%s: part %d has %d rows, want at least %d", st.Name, part, e.counts[part], n)
	}
	return nil
}

func (c *callWork) tradeStatus(ctx context.Context, conn workload.Conn, e *entry) (workload.Status, error) {
	e.begin().int(e.account)
	if err := e.show(ctx, conn, c.status); err != nil {
		return workload.Failed, err
	}
	return workload.Committed, e.least(c.status, partSecond, 1)
}

func (c *callWork) marketWatch(ctx context.Context, conn workload.Conn, e *entry) (workload.Status, error) {
	e.begin().int(int64(e.frame)).day(e.from).int(e.customer).int(e.account)
	c.industryName(e).int(e.first).int(e.last)
	v, err := e.one(ctx, conn, c.watch)
	if err != nil {
		return workload.Failed, err
	}
	e.counts[partMain] = v[0].Int
	e.amount = changed(v[1].Int, v[2].Int)
	return workload.Committed, nil
}

func (c *callWork) securityDetail(ctx context.Context, conn workload.Conn, e *entry) (workload.Status, error) {
	e.begin().symbol(e.security).day(e.from).int(e.rows).bit(e.longNews)
	if err := e.show(ctx, conn, c.detail); err != nil {
		return workload.Failed, err
	}
	for part, n := range [parts]int64{1, competitors, quarters, e.rows, 1, 2} {
		if err := e.least(c.detail, part, n); err != nil {
			return workload.Failed, err
		}
	}
	return workload.Committed, nil
}

func (c *callWork) customerPosition(ctx context.Context, conn workload.Conn, e *entry) (workload.Status, error) {
	if e.begin(); e.byTax {
		e.int(0).field(appendTaxID(e.buf, e.customer))
	} else {
		e.int(e.customer).word("")
	}
	if e.withHistory {
		e.int(e.account)
	} else {
		e.int(0)
	}
	if err := e.show(ctx, conn, c.place); err != nil {
		return workload.Failed, err
	}
	if err := e.least(c.place, partMain, 1); err != nil {
		return workload.Failed, err
	}
	return workload.Committed, e.least(c.place, partSecond, 1)
}

// array adds n things as an array in braces.
func (e *entry) array(n int, item func(b []byte, i int) []byte) *entry {
	b := e.buf
	open := byte('{')
	for i := range n {
		b = item(append(b, open), i)
		open = ','
	}
	return e.field(append(b, '}'))
}

func (c *callWork) brokerVolume(ctx context.Context, conn workload.Conn, e *entry) (workload.Status, error) {
	e.begin().word(sectorNames()[e.sector])
	e.array(len(e.brokers), func(b []byte, i int) []byte {
		return append(c.appendBroker(append(b, '"'), e.brokers[i]), '"')
	})
	return workload.Committed, e.show(ctx, conn, c.volumes)
}

// old adds the arguments of Trade-Lookup and Trade-Update.
func (e *entry) old() {
	e.begin().int(int64(e.frame))
	e.array(len(e.ids), func(b []byte, i int) []byte { return strconv.AppendInt(b, e.ids[i], 10) })
	e.int(e.account).symbol(e.security).instant(e.from).instant(e.to)
}

func (c *callWork) tradeLookup(ctx context.Context, conn workload.Conn, e *entry) (workload.Status, error) {
	e.old()
	if err := e.show(ctx, conn, c.lookup); err != nil {
		return workload.Failed, err
	}
	return workload.Committed, e.allFound(c.lookup)
}

func (c *callWork) tradeUpdate(ctx context.Context, conn workload.Conn, e *entry) (workload.Status, error) {
	e.old()
	if err := e.show(ctx, conn, c.update); err != nil {
		return workload.Failed, err
	}
	return workload.Committed, e.allFound(c.update)
}

// allFound sees that trades that were asked for by number are there.
func (e *entry) allFound(st *workload.Statement) error {
	if e.frame != byNumber {
		return nil
	}
	return e.least(st, partMain, manyTrades)
}

func (c *callWork) tradeOrder(ctx context.Context, conn workload.Conn, e *entry) (workload.Status, error) {
	e.begin().int(e.account)
	if e.guest == 0 {
		e.word("").word("").word("")
	} else {
		e.field(appendTaxID(e.buf, e.guest))
		e.field(c.appendFirst(e.buf, e.guest)).field(c.appendLast(e.buf, e.guest))
	}
	if e.byName {
		company, issue := companyOf(e.security)
		e.word("").field(c.appendCompany(e.buf, company)).word(issueName(issue))
	} else {
		e.symbol(e.security).word("").word("")
	}
	e.word(kindName(e.kind)).int(e.quantity).money(e.bid).bit(e.margin).bit(e.lifo).instant(e.at)
	v, err := e.one(ctx, conn, c.order)
	if err != nil {
		return workload.Failed, err
	}
	e.trade, e.commission, e.taxed, e.amount = v[0].Int, v[1].Int, v[2].Int, v[3].Int
	if e.cancel {
		return workload.RolledBack, nil
	}
	return workload.Committed, nil
}

func (c *callWork) tradeResult(ctx context.Context, conn workload.Conn, e *entry) (workload.Status, error) {
	e.trade = e.event.trade
	e.begin().int(e.trade).money(e.price).instant(e.at)
	v, err := e.one(ctx, conn, c.result)
	if err != nil {
		return workload.Failed, err
	}
	if done, err := e.isCompleted(c.result, v[0]); done || err != nil {
		return workload.RolledBack, err
	}
	e.commission, e.taxed, e.amount = v[1].Int, v[2].Int, v[3].Int
	return workload.Committed, nil
}

func (c *callWork) marketFeed(ctx context.Context, conn workload.Conn, e *entry) (workload.Status, error) {
	e.begin()
	e.array(len(e.feed), func(b []byte, i int) []byte { return appendSymbol(b, e.feed[i].security) })
	e.array(len(e.feed), func(b []byte, i int) []byte {
		b = append(strconv.AppendInt(b, e.feed[i].price/100, 10), '.')
		return appendDigits(b, e.feed[i].price%100, 2)
	})
	e.array(len(e.feed), func(b []byte, i int) []byte { return strconv.AppendInt(b, e.feed[i].quantity, 10) })
	r, err := e.instant(e.at).run(ctx, conn, c.ticker)
	if err != nil {
		return workload.Failed, err
	}
	for i := range r.Rows() {
		v := r.Row(i)
		if v[0].Int < 1 || v[0].Int > tickerSize {
			return workload.Failed, fmt.Errorf("%s: an order at place %d of %d", c.ticker.Name, v[0].Int, tickerSize)
		}
		e.triggered = append(e.triggered, hit{v[1].Int, e.feed[v[0].Int-1].security, v[2].Int})
	}
	return workload.Committed, nil
}

func (c *callWork) tradeCleanup(ctx context.Context, conn workload.Conn, e *entry) (workload.Status, error) {
	v, err := e.begin().instant(e.at).one(ctx, conn, c.cleanup)
	if err != nil {
		return workload.Failed, err
	}
	e.changed = v[0].Int
	return workload.Committed, nil
}
