package brokerage

import (
	"context"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

// executors run the types of work statement by statement.
func (t *texts) executors(w *world) [types]executor {
	x := &textWork{t, w}
	out := [types]executor{
		tradeStatus: x.tradeStatus, marketWatch: x.marketWatch, securityDetail: x.securityDetail,
		customerPosition: x.customerPosition, tradeOrder: x.tradeOrder, tradeResult: x.tradeResult,
		tradeLookup: x.tradeLookup, brokerVolume: x.brokerVolume, tradeUpdate: x.tradeUpdate,
		marketFeed: x.marketFeed, dataMaintenance: x.dataMaintenance, tradeCleanup: x.tradeCleanup,
	}
	for kind := range out {
		out[kind] = within(kind, out[kind])
	}
	return out
}

// textWork is the statements and the world that they speak of.
type textWork struct {
	*texts
	*world
}

func (t *textWork) tradeStatus(ctx context.Context, c workload.Conn, e *entry) (workload.Status, error) {
	e.begin().int(e.account)
	if _, err := e.count(ctx, c, t.statusTrades, partMain, 0); err != nil {
		return workload.Failed, err
	}
	_, err := e.count(ctx, c, t.statusNames, partSecond, 1)
	return workload.Committed, err
}

// The ways to choose what Market-Watch watches.
const (
	byList = iota
	byAccount
	byIndustry
)

// marketWatch leaves how much the value of the securities changed since a day,
// in ten-thousandths: 10,000 · (now ÷ then − 1).
func (t *textWork) marketWatch(ctx context.Context, c workload.Conn, e *entry) (workload.Status, error) {
	st := t.watched
	switch e.begin().day(e.from); e.frame {
	case byList:
		e.int(e.customer)
	case byAccount:
		st = t.held
		e.int(e.account)
	default:
		st = t.ofIndustry
		t.industryName(e).int(e.first).int(e.last)
	}
	v, err := e.one(ctx, c, st)
	if err != nil {
		return workload.Failed, err
	}
	e.counts[partMain] = v[0].Int
	e.amount = changed(v[1].Int, v[2].Int)
	return workload.Committed, nil
}

// changed is 10,000 · (now ÷ then − 1), 0 where there was nothing.
func changed(now, then int64) int64 {
	if then == 0 {
		return 0
	}
	return int64(10_000 * (float64(now)/float64(then) - 1))
}

// industryName adds the name of the industry.
func (w *world) industryName(e *entry) *entry {
	b := append(append(e.buf, sectorNames()[sectorOf(e.industry)]...), ' ')
	return e.field(append(b, activities()[e.industry/sectors]...))
}

func (t *textWork) securityDetail(ctx context.Context, c workload.Conn, e *entry) (workload.Status, error) {
	e.begin().symbol(e.security)
	r, err := e.count(ctx, c, t.company, partMain, 1)
	if err != nil {
		return workload.Failed, err
	}
	e.begin().int(r.Values[0].Int)
	if _, err := e.count(ctx, c, t.competitors, partSecond, competitors); err != nil {
		return workload.Failed, err
	}
	if _, err := e.count(ctx, c, t.reports, partThird, quarters); err != nil {
		return workload.Failed, err
	}
	news := t.shortNews
	if e.longNews {
		news = t.news
	}
	if _, err := e.count(ctx, c, news, partSixth, 2); err != nil {
		return workload.Failed, err
	}
	e.begin().symbol(e.security).day(e.from).int(e.rows)
	if _, err := e.count(ctx, c, t.daily, partFourth, e.rows); err != nil {
		return workload.Failed, err
	}
	e.begin().symbol(e.security)
	v, err := e.one(ctx, c, t.last)
	if err != nil {
		return workload.Failed, err
	}
	e.counts[partFifth], e.amount = 1, v[0].Int
	return workload.Committed, nil
}

func (t *textWork) customerPosition(ctx context.Context, c workload.Conn, e *entry) (workload.Status, error) {
	id := workload.Int(e.customer)
	if e.byTax {
		e.begin().field(appendTaxID(e.buf, e.customer))
		v, err := e.one(ctx, c, t.byTaxID)
		if err != nil {
			return workload.Failed, err
		}
		id = v[0]
	}
	e.begin().add(id)
	if _, err := e.count(ctx, c, t.person, partMain, 1); err != nil {
		return workload.Failed, err
	}
	r, err := e.count(ctx, c, t.worth, partSecond, 1)
	if err != nil {
		return workload.Failed, err
	}
	for i := range r.Rows() {
		e.amount += r.Row(i)[2].Int
	}
	if !e.withHistory {
		return workload.Committed, nil
	}
	e.begin().int(e.account)
	_, err = e.count(ctx, c, t.recent, partThird, 0)
	return workload.Committed, err
}

func (t *textWork) brokerVolume(ctx context.Context, c workload.Conn, e *entry) (workload.Status, error) {
	e.begin().word(sectorNames()[e.sector])
	for _, b := range e.brokers {
		e.field(t.appendBroker(e.buf, b))
	}
	r, err := e.count(ctx, c, t.volume, partMain, 0)
	if err != nil {
		return workload.Failed, err
	}
	for i := range r.Rows() {
		e.amount += r.Row(i)[1].Int
	}
	return workload.Committed, nil
}

// The frames of Trade-Lookup and Trade-Update.
const (
	byNumber = iota + 1
	ofAccount
	ofSymbol
	ofHolding
)

// pickTrades finds the trades of frames 1 to 3 and leaves their numbers, the
// last one repeated, in e.found. none says that there are none.
func (t *textWork) pickTrades(ctx context.Context, c workload.Conn, e *entry) (none bool, err error) {
	if e.frame == byNumber {
		e.found = e.ids
		e.begin().trades(&e.found)
		_, err := e.count(ctx, c, t.tradeList, partMain, manyTrades)
		return false, err
	}
	st := t.ofAccount
	if e.begin(); e.frame == ofAccount {
		e.int(e.account)
	} else {
		st = t.ofSymbol
		e.symbol(e.security)
	}
	e.instant(e.from).instant(e.to)
	r, err := e.count(ctx, c, st, partMain, 0)
	if err != nil || r.Rows() == 0 {
		return true, err
	}
	for i := range e.found {
		e.found[i] = r.Row(min(i, r.Rows()-1))[0].Int
	}
	return false, nil
}

// showTrades reads what belongs to the trades in e.found.
func (t *textWork) showTrades(ctx context.Context, c workload.Conn, e *entry) error {
	e.begin().trades(&e.found)
	for part, st := range [...]*workload.Statement{t.settlements, t.payments, t.steps} {
		if _, err := e.count(ctx, c, st, partSecond+part, 0); err != nil {
			return err
		}
	}
	return nil
}

func (t *textWork) tradeLookup(ctx context.Context, c workload.Conn, e *entry) (workload.Status, error) {
	if e.frame == ofHolding {
		e.begin().int(e.account).instant(e.from)
		r, err := e.count(ctx, c, t.firstOf, partMain, 0)
		if err != nil || r.Rows() == 0 {
			return workload.Committed, err
		}
		e.begin().int(r.Values[0].Int)
		_, err = e.count(ctx, c, t.holdingSteps, partSecond, 0)
		return workload.Committed, err
	}
	none, err := t.pickTrades(ctx, c, e)
	if err != nil || none {
		return workload.Committed, err
	}
	return workload.Committed, t.showTrades(ctx, c, e)
}

func (t *textWork) tradeUpdate(ctx context.Context, c workload.Conn, e *entry) (workload.Status, error) {
	none, err := t.pickTrades(ctx, c, e)
	if err != nil || none {
		return workload.Committed, err
	}
	e.begin().trades(&e.found)
	st := [...]*workload.Statement{byNumber: t.rename, ofAccount: t.retype, ofSymbol: t.recall}[e.frame]
	r, err := e.run(ctx, c, st)
	if err != nil {
		return workload.Failed, err
	}
	e.changed = r.Affected
	return workload.Committed, t.showTrades(ctx, c, e)
}
