package orderentry

import (
	"bytes"
	"context"
	"fmt"
	"strconv"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

// errAffected says that st changed n rows.
func errAffected(st *workload.Statement, n, want int64) error {
	return fmt.Errorf("%s: %d rows changed, want %d", st.Name, n, want)
}

func (t *texts) newOrder(ctx context.Context, c workload.Conn, e *entry) (workload.Status, error) {
	return inside(ctx, c, e, t.enterOrder)
}

// enterOrder does what clause 2.4.2.2 says.
func (t *texts) enterOrder(ctx context.Context, c workload.Conn, e *entry) (workload.Status, error) {
	w, d := workload.Int(e.warehouse), workload.Int(e.district)
	v, err := row(ctx, c, t.buyer, append(e.args[:0], w, d, workload.Int(e.customer)))
	if err != nil {
		return workload.Failed, err
	}
	e.discount, e.tax = v[0].Int, v[3].Int
	if v, err = row(ctx, c, t.district, append(e.args[:0], w, d)); err != nil {
		return workload.Failed, err
	}
	e.order = v[0].Int
	e.tax += v[1].Int
	o := workload.Int(e.order)
	if err := change(ctx, c, t.nextOrder, append(e.args[:0], workload.Int(e.order+1), w, d)); err != nil {
		return workload.Failed, err
	}
	err = change(ctx, c, t.insertOrder, append(e.args[:0], o, d, w, workload.Int(e.customer), instant(e.at),
		workload.Int(int64(len(e.lines))), workload.Int(e.allLocal())))
	if err != nil {
		return workload.Failed, err
	}
	if err := change(ctx, c, t.insertNewOrder, append(e.args[:0], o, d, w)); err != nil {
		return workload.Failed, err
	}
	for n := range e.lines {
		status, err := t.enterLine(ctx, c, e, n)
		if err != nil || status == workload.RolledBack {
			return status, err
		}
	}
	e.addUp()
	return workload.Committed, nil
}

// enterLine enters line n, from 0; the order is rolled back where its item
// does not exist.
func (t *texts) enterLine(ctx context.Context, c workload.Conn, e *entry, n int) (workload.Status, error) {
	l := &e.lines[n]
	item, supply := workload.Int(l.item), workload.Int(l.supply)
	r, err := c.Run(ctx, t.item, append(e.args[:0], item))
	if err != nil {
		return workload.Failed, err
	}
	if r.Rows() == 0 && e.unknown && n == len(e.lines)-1 {
		return workload.RolledBack, nil
	}
	if err := wantRow(r, err, t.item); err != nil {
		return workload.Failed, err
	}
	l.price, l.amount, l.brand = r.Values[0].Int, r.Values[0].Int*l.quantity, 'G'
	original := isOriginal(r.Values[2])
	v, err := row(ctx, c, t.stock, append(e.args[:0], workload.Int(e.district), supply, item))
	if err != nil {
		return workload.Failed, err
	}
	if original && isOriginal(v[1]) {
		l.brand = 'B'
	}
	if l.stock = v[0].Int - l.quantity; l.stock < 10 {
		l.stock += 91
	}
	dist := append(e.text[:0], v[2].Str...) // v ends with the next statement
	remote := int64(0)
	if l.supply != e.warehouse {
		remote = 1
	}
	err = change(ctx, c, t.takeStock, append(e.args[:0], workload.Int(l.stock), workload.Int(l.quantity), workload.Int(remote), supply, item))
	if err != nil {
		return workload.Failed, err
	}
	return workload.Committed, change(ctx, c, t.insertLine, append(e.args[:0],
		workload.Int(e.order), workload.Int(e.district), workload.Int(e.warehouse), workload.Int(int64(n+1)), item, supply,
		workload.Int(l.quantity), workload.Money(l.amount), workload.Str(dist)))
}

func isOriginal(data workload.Value) bool { return bytes.Contains(data.Str, []byte("ORIGINAL")) }

// find sets e.customer where a last name was entered: the one in the middle,
// rounded up, by first name (clause 2.5.2.2).
func (t *texts) find(ctx context.Context, c workload.Conn, e *entry, w, d int64) error {
	if !e.byName {
		return nil
	}
	r, err := c.Run(ctx, t.named, append(e.args[:0], workload.Int(w), workload.Int(d), workload.Str(e.last)))
	if err != nil {
		return err
	}
	if r.Rows() == 0 {
		return fmt.Errorf("%s: no customer of district %d of warehouse %d is called %s", t.named.Name, d, w, e.last)
	}
	e.customer = r.Row((r.Rows()+1)/2 - 1)[0].Int
	return nil
}

func (t *texts) payment(ctx context.Context, c workload.Conn, e *entry) (workload.Status, error) {
	return inside(ctx, c, e, t.takePayment)
}

// takePayment does what clause 2.5.2.2 says, with the row that all of a
// warehouse's terminals want last.
func (t *texts) takePayment(ctx context.Context, c workload.Conn, e *entry) (workload.Status, error) {
	if err := t.find(ctx, c, e, e.customerWarehouse, e.customerDistrict); err != nil {
		return workload.Failed, err
	}
	w, d, amount := workload.Int(e.warehouse), workload.Int(e.district), workload.Money(e.amount)
	cw, cd, id := workload.Int(e.customerWarehouse), workload.Int(e.customerDistrict), workload.Int(e.customer)
	v, err := row(ctx, c, t.payer, append(e.args[:0], cw, cd, id))
	if err != nil {
		return workload.Failed, err
	}
	e.balance = v[0].Int - e.amount
	if string(v[1].Str) == "BC" {
		err = change(ctx, c, t.payBad, append(e.args[:0], amount, workload.Str(e.badCredit(v[2].Str)), cw, cd, id))
	} else {
		err = change(ctx, c, t.pay, append(e.args[:0], amount, cw, cd, id))
	}
	if err != nil {
		return workload.Failed, err
	}
	if v, err = row(ctx, c, t.shop, append(e.args[:0], w, d)); err != nil {
		return workload.Failed, err
	}
	data := append(append(append(e.text[:0], v[0].Str...), "    "...), v[6].Str...)
	err = change(ctx, c, t.insertHistory, append(e.args[:0], id, cd, cw, d, w, instant(e.at), amount, workload.Str(data)))
	if err != nil {
		return workload.Failed, err
	}
	if err := change(ctx, c, t.payDistrict, append(e.args[:0], amount, w, d)); err != nil {
		return workload.Failed, err
	}
	return workload.Committed, change(ctx, c, t.payWarehouse, append(e.args[:0], amount, w))
}

// badCredit puts the payment before what is known of the customer, and keeps
// 500 characters (clause 2.5.2.2).
func (e *entry) badCredit(data []byte) []byte {
	b := e.text[:0]
	for _, n := range [...]int64{e.customer, e.customerDistrict, e.customerWarehouse, e.district, e.warehouse} {
		b = append(strconv.AppendInt(b, n, 10), ' ')
	}
	b = strconv.AppendInt(b, e.amount/100, 10)
	b = append(b, '.', '0'+byte(e.amount/10%10), '0'+byte(e.amount%10), '|')
	b = append(b, data...)
	return b[:min(len(b), 500)]
}

func (t *texts) orderStatus(ctx context.Context, c workload.Conn, e *entry) (workload.Status, error) {
	return inside(ctx, c, e, t.showOrder)
}

// showOrder does what clause 2.6.2.2 says.
func (t *texts) showOrder(ctx context.Context, c workload.Conn, e *entry) (workload.Status, error) {
	if err := t.find(ctx, c, e, e.warehouse, e.district); err != nil {
		return workload.Failed, err
	}
	w, d, id := workload.Int(e.warehouse), workload.Int(e.district), workload.Int(e.customer)
	v, err := row(ctx, c, t.viewer, append(e.args[:0], w, d, id))
	if err != nil {
		return workload.Failed, err
	}
	e.balance = v[0].Int
	if v, err = row(ctx, c, t.lastOrder, append(e.args[:0], w, d, id)); err != nil {
		return workload.Failed, err
	}
	e.order = v[0].Int
	r, err := c.Run(ctx, t.lines, append(e.args[:0], w, d, workload.Int(e.order)))
	if err == nil && (r.Rows() < 1 || r.Rows() > maxLines) {
		err = fmt.Errorf("%s: the last order has %d", t.lines.Name, r.Rows())
	}
	return workload.Committed, err
}

func (t *texts) delivery(ctx context.Context, c workload.Conn, e *entry) (workload.Status, error) {
	return inside(ctx, c, e, t.deliverAll)
}

// deliverAll does what clause 2.7.4.2 says, for all districts in one
// transaction. A district without new orders is passed over.
func (t *texts) deliverAll(ctx context.Context, c workload.Conn, e *entry) (workload.Status, error) {
	e.delivered = 0
	for d := int64(1); d <= districts; d++ {
		order, err := t.findOldest(ctx, c, e, d)
		if err != nil {
			return workload.Failed, err
		}
		if order == 0 {
			continue
		}
		if err := t.deliverOne(ctx, c, e, d, order); err != nil {
			return workload.Failed, err
		}
		e.delivered++
	}
	return workload.Committed, nil
}

// raceAtMost bounds how often other deliveries can take an order away from
// one that waits for it.
const raceAtMost = 1_000

// findOldest locks a district's oldest new order; 0 where there is none.
// Where another delivery held the lock, the order is gone when it lets go, and
// an engine may then return no row although more orders are left.
func (t *texts) findOldest(ctx context.Context, c workload.Conn, e *entry, d int64) (int64, error) {
	args := append(e.args[:0], workload.Int(e.warehouse), workload.Int(d))
	for range raceAtMost {
		r, err := c.Run(ctx, t.oldest, args)
		if err != nil {
			return 0, err
		}
		if r.Rows() > 0 {
			return r.Values[0].Int, nil
		}
		if r, err = c.Run(ctx, t.remaining, args); err != nil {
			return 0, err
		}
		if r.Rows() == 0 {
			return 0, nil
		}
	}
	return 0, fmt.Errorf("%s: others took the oldest order %d times in a row", t.oldest.Name, raceAtMost)
}

// deliverOne delivers one order of district d.
func (t *texts) deliverOne(ctx context.Context, c workload.Conn, e *entry, d, order int64) error {
	w, dv, o := workload.Int(e.warehouse), workload.Int(d), workload.Int(order)
	if err := change(ctx, c, t.takeNewOrder, append(e.args[:0], w, dv, o)); err != nil {
		return err
	}
	v, err := row(ctx, c, t.orderOf, append(e.args[:0], w, dv, o))
	if err != nil {
		return err
	}
	customer := v[0]
	if err := change(ctx, c, t.carry, append(e.args[:0], workload.Int(e.carrier), w, dv, o)); err != nil {
		return err
	}
	r, err := c.Run(ctx, t.deliverLines, append(e.args[:0], instant(e.at), w, dv, o))
	if err == nil && (r.Affected < 1 || r.Affected > maxLines) {
		err = errAffected(t.deliverLines, r.Affected, maxLines)
	}
	if err != nil {
		return err
	}
	if v, err = row(ctx, c, t.sumLines, append(e.args[:0], w, dv, o)); err != nil {
		return err
	}
	total := v[0]
	return change(ctx, c, t.credit, append(e.args[:0], total, w, dv, customer))
}

func (t *texts) stockLevel(ctx context.Context, c workload.Conn, e *entry) (workload.Status, error) {
	return inside(ctx, c, e, t.countLow)
}

// countLow does what clause 2.8.2.2 says.
func (t *texts) countLow(ctx context.Context, c workload.Conn, e *entry) (workload.Status, error) {
	w, d := workload.Int(e.warehouse), workload.Int(e.district)
	v, err := row(ctx, c, t.next, append(e.args[:0], w, d))
	if err != nil {
		return workload.Failed, err
	}
	next := v[0].Int
	v, err = row(ctx, c, t.low, append(e.args[:0], w, d, workload.Int(next-20), workload.Int(next), workload.Int(e.threshold)))
	if err != nil {
		return workload.Failed, err
	}
	e.low = v[0].Int
	return workload.Committed, nil
}
