package orderentry_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/enginetest"
	"github.com/loadstone-perf/loadstone/internal/workload"
	"github.com/loadstone-perf/loadstone/internal/workload/orderentry"
)

// acid runs the tests of clauses 3.2 and 3.4 that a machine can: a transaction
// is stopped before it ends, another one is begun that meets it, and the first
// commits or rolls back. Each asks what the two leave behind, whatever the
// engine's way of keeping them apart: one may wait, see the state before, or
// be refused and tried again.
func (s subject) acid(t *testing.T) {
	l := s.loaded()
	before := l.tallied(t)
	t.Run("AtomicityOfCommittedPayment", l.paymentCommits)
	if s.commits(t) {
		// Procedures that commit can't be stopped before it. The engine's
		// isolation shows in the statements mode.
		return
	}
	for _, x := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"AtomicityOfPaymentRolledBack", l.paymentRollsBack},
		{"OrderStatusMeetsNewOrder", func(t *testing.T) { l.statusMeetsOrder(t, workload.Commit) }},
		{"OrderStatusMeetsNewOrderRolledBack", func(t *testing.T) { l.statusMeetsOrder(t, workload.Rollback) }},
		{"NewOrderMeetsNewOrder", func(t *testing.T) { l.orderMeetsOrder(t, workload.Commit) }},
		{"NewOrderMeetsNewOrderRolledBack", func(t *testing.T) { l.orderMeetsOrder(t, workload.Rollback) }},
		{"PaymentMeetsDelivery", func(t *testing.T) { l.paymentMeetsDelivery(t, workload.Commit) }},
		{"PaymentMeetsDeliveryRolledBack", func(t *testing.T) { l.paymentMeetsDelivery(t, workload.Rollback) }},
		{"PricesOfAnOrderAreOfOneMoment", l.pricesMeetOrder},
		{"NoPhantomOrderInOrderStatus", l.phantomOrder},
		{"NoPhantomNewOrderInDelivery", l.phantomDelivery},
	} {
		t.Run(x.name, x.run)
	}
	after := l.tallied(t)
	if after.Committed["neworder"] <= before.Committed["neworder"] {
		t.Error("the tests entered no order")
	}
	if failed := l.Check(t, l.Open(t).Conn(), after); len(failed) > 0 {
		t.Errorf("consistency after the tests: %v", failed)
	}
}

// unended is a connection whose transactions the test ends.
type unended struct{ workload.Conn }

// Tx implements workload.Conn.
func (unended) Tx(context.Context, workload.TxOp) error { return nil }

// hold does a transaction on s up to, but without, its end.
func (l loaded) hold(t *testing.T, s *engine.Session, begin workload.TxOp, name string, in any) {
	t.Helper()
	l.tx(t, s, begin)
	l.more(t, s, name, in)
}

// more does a transaction within the one that s has open.
func (l loaded) more(t *testing.T, s *engine.Session, name string, in any) {
	t.Helper()
	if status, err := l.transaction(t, name).Exec(t.Context(), unended{s.Conn()}, in); err != nil || status != workload.Committed {
		t.Fatalf("%s: status %v, %v", name, status, err)
	}
}

func (l loaded) tx(t *testing.T, s *engine.Session, op workload.TxOp) {
	t.Helper()
	if err := s.Conn().Tx(t.Context(), op); err != nil {
		t.Fatalf("transaction control %v: %v", op, err)
	}
}

// other is a transaction that runs beside one that is held.
type other struct {
	done chan struct{}
	err  error
}

// launch begins a transaction of another session. It goes on when it can.
func (l loaded) launch(t *testing.T, name string, in any) *other {
	t.Helper()
	tx, s := l.transaction(t, name), l.Open(t)
	return l.beside(func() error {
		o, err := perform(t, s, tx, in)
		if err == nil && o.Status != workload.Committed {
			err = fmt.Errorf("%s ended as %+v", name, o)
		}
		return err
	})
}

func (loaded) beside(f func() error) *other {
	o := &other{done: make(chan struct{})}
	go func() {
		defer close(o.done)
		o.err = f()
	}()
	return o
}

// settled gives o 200 ms to end and tells whether it has: where it must wait
// for what is held it never does, however long that would be.
func (o *other) settled() bool {
	ctx, stop := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer stop()
	select {
	case <-o.done:
		return true
	case <-ctx.Done():
		return false
	}
}

// join waits for o, which nothing holds up any more.
func (o *other) join(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
	defer stop()
	select {
	case <-o.done:
		if o.err != nil {
			t.Fatal(o.err)
		}
	case <-ctx.Done():
		t.Fatal("it still waits, and nothing holds it up")
	}
}

// ledger is what a payment by customer 1 of district 1 changes: money of the
// customer, the district and the warehouse, in hundredths, and payments.
func (l loaded) ledger(t *testing.T) []int64 {
	t.Helper()
	var out []int64
	for _, v := range enginetest.Ask(t, l.Open(t).Conn(), `SELECT c_balance, c_ytd_payment, c_payment_cnt, d_ytd, w_ytd,
		(SELECT count(*) FROM history)
		FROM customer JOIN district ON d_w_id = c_w_id AND d_id = c_d_id JOIN warehouse ON w_id = c_w_id
		WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 1`) {
		out = append(out, v.Int)
	}
	return out
}

// paymentCommits is clause 3.2.2.1.
func (l loaded) paymentCommits(t *testing.T) {
	want := l.ledger(t)
	l.do(t, l.Open(t), "payment", orderentry.PaymentOf(1, 1, 1, 12_34))
	for i, change := range []int64{-12_34, 12_34, 1, 12_34, 12_34, 1} {
		want[i] += change
	}
	if got := l.ledger(t); !slices.Equal(got, want) {
		t.Errorf("after a payment %v, want %v", got, want)
	}
}

// paymentRollsBack is clause 3.2.2.2.
func (l loaded) paymentRollsBack(t *testing.T) {
	want := l.ledger(t)
	s := l.Open(t)
	l.hold(t, s, workload.Begin, "payment", orderentry.PaymentOf(1, 1, 1, 12_34))
	l.tx(t, s, workload.Rollback)
	if got := l.ledger(t); !slices.Equal(got, want) {
		t.Errorf("after a payment that was rolled back %v, want %v", got, want)
	}
}

// statusMeetsOrder is clauses 3.4.2.1 and 3.4.2.2: an order that is not
// committed is not shown, and one that is committed is.
func (l loaded) statusMeetsOrder(t *testing.T, end workload.TxOp) {
	const district, customer = 2, 17
	latest := func() int64 {
		in := orderentry.Status(1, district, customer)
		l.do(t, l.Open(t), "orderstatus", in)
		return orderentry.Entered(in)
	}
	previous := latest()
	s, order := l.Open(t), orderentry.Order(1, district, customer, 1, 2, 3, 4, 5)
	l.hold(t, s, workload.Begin, "neworder", order)
	in := orderentry.Status(1, district, customer)
	status := l.launch(t, "orderstatus", in)
	early := status.settled()
	l.tx(t, s, end)
	status.join(t)
	seen := orderentry.Entered(in)
	if seen != previous && (early || end == workload.Rollback || seen != orderentry.Entered(order)) {
		t.Errorf("order-status showed order %d; committed was %d", seen, previous)
	}
	want := previous
	if end == workload.Commit {
		want = orderentry.Entered(order)
	}
	if got := latest(); got != want {
		t.Errorf("afterwards order-status shows order %d, want %d", got, want)
	}
}

// orderMeetsOrder is clauses 3.4.2.3 and 3.4.2.4: the second order waits for
// the first, and its number follows from how that ended.
func (l loaded) orderMeetsOrder(t *testing.T, end workload.TxOp) {
	const district = 3
	next := func() int64 {
		return enginetest.Ask(t, l.Open(t).Conn(), fmt.Sprint("SELECT d_next_o_id FROM district WHERE d_w_id = 1 AND d_id = ", district))[0].Int
	}
	number := next()
	s, first := l.Open(t), orderentry.Order(1, district, 1, 1, 2, 3, 4, 5)
	l.hold(t, s, workload.Begin, "neworder", first)
	if n := orderentry.Entered(first); n != number {
		t.Errorf("the first order has number %d, want %d", n, number)
	}
	second := orderentry.Order(1, district, 2, 11, 12, 13, 14, 15) // other items: only the district is shared
	waits := l.launch(t, "neworder", second)
	if waits.settled() {
		t.Errorf("the second order has number %d before the first has ended", orderentry.Entered(second))
	}
	l.tx(t, s, end)
	waits.join(t)
	if end == workload.Commit {
		number++
	}
	if n := orderentry.Entered(second); n != number {
		t.Errorf("the second order has number %d, want %d", n, number)
	}
	if n := next(); n != number+1 {
		t.Errorf("the next order would have number %d, want %d", n, number+1)
	}
}

// paymentMeetsDelivery is clauses 3.4.2.5 and 3.4.2.6: both change the balance
// of one customer, and neither is lost.
func (l loaded) paymentMeetsDelivery(t *testing.T, end workload.TxOp) {
	const district, paid = 4, 55_55
	c := l.Open(t).Conn()
	v := enginetest.Ask(t, c, fmt.Sprintf(`SELECT o_c_id, o_id, c_balance, (SELECT CAST(sum(ol_amount) AS decimal(12, 2)) FROM order_line
		WHERE ol_w_id = 1 AND ol_d_id = %d AND ol_o_id = o_id)
		FROM orders JOIN customer ON c_w_id = 1 AND c_d_id = %[1]d AND c_id = o_c_id
		WHERE o_w_id = 1 AND o_d_id = %[1]d
		AND o_id = (SELECT min(no_o_id) FROM new_order WHERE no_w_id = 1 AND no_d_id = %[1]d)`, district))
	customer, order, want, bought := v[0].Int, v[1].Int, v[2].Int-paid, v[3].Int
	s := l.Open(t)
	l.hold(t, s, workload.Begin, "delivery", orderentry.Delivery(1))
	payment := l.launch(t, "payment", orderentry.PaymentOf(1, district, customer, paid))
	if payment.settled() {
		t.Error("the payment changed a balance that an open delivery has changed")
	}
	l.tx(t, s, end)
	payment.join(t)
	waiting := int64(1)
	if end == workload.Commit {
		want, waiting = want+bought, 0
	}
	v = enginetest.Ask(t, c, fmt.Sprintf(`SELECT c_balance, (SELECT count(*) FROM new_order WHERE no_w_id = 1 AND no_d_id = %d AND no_o_id = %d)
		FROM customer WHERE c_w_id = 1 AND c_d_id = %[1]d AND c_id = %[3]d`, district, order, customer))
	if v[0].Int != want || v[1].Int != waiting {
		t.Errorf("the balance is %d and %d orders wait, want %d and %d", v[0].Int, v[1].Int, want, waiting)
	}
}

// pricesMeetOrder is the case of clause 3.4.2.7 in which prices change while an
// order is open: its lines carry the prices from before.
func (l loaded) pricesMeetOrder(t *testing.T) {
	list := []int64{101, 202, 303, 404, 505}
	c := l.Open(t).Conn()
	const where = " WHERE i_id IN (101, 202, 303, 404, 505)"
	var prices []int64
	for _, v := range enginetest.Ask(t, c, "SELECT i_price FROM item"+where+" ORDER BY i_id") {
		prices = append(prices, v.Int)
	}
	s, order := l.Open(t), orderentry.Order(1, 5, 9, list...)
	l.hold(t, s, workload.Begin, "neworder", order)
	update := func(cents int64) func() error {
		c := l.Open(t).Conn()
		// A parameter, because a constant in SQL is not money on every engine.
		st := &workload.Statement{Index: -1, Name: "prices", Params: []string{"change"}, Text: "UPDATE item SET i_price = i_price + :change" + where}
		return func() error {
			_, err := c.Run(t.Context(), st, []workload.Value{workload.Money(cents)})
			return err
		}
	}
	raise := l.beside(update(10_00))
	raise.settled()
	l.tx(t, s, workload.Commit)
	raise.join(t)
	if got := orderentry.Amounts(order); !slices.Equal(got, prices) {
		t.Errorf("the order's lines cost %v, want %v", got, prices)
	}
	later := orderentry.Order(1, 5, 9, list...)
	l.do(t, l.Open(t), "neworder", later)
	for i, amount := range orderentry.Amounts(later) {
		if amount != prices[i]+10_00 {
			t.Errorf("the next order's line %d costs %d, want %d", i, amount, prices[i]+10_00)
		}
	}
	if err := update(-10_00)(); err != nil {
		t.Fatal(err)
	}
}

// phantomOrder is clause 3.4.2.8, at repeatable read: an order that is entered
// meanwhile does not appear.
func (l loaded) phantomOrder(t *testing.T) {
	const district, customer = 6, 23
	s := l.Open(t)
	first, again := orderentry.Status(1, district, customer), orderentry.Status(1, district, customer)
	l.hold(t, s, workload.BeginRepeatableRead, "orderstatus", first)
	order := orderentry.Order(1, district, customer, 1, 2, 3, 4, 5)
	entered := l.launch(t, "neworder", order)
	entered.settled()
	l.more(t, s, "orderstatus", again)
	l.tx(t, s, workload.Commit)
	entered.join(t)
	if a, b := orderentry.Entered(first), orderentry.Entered(again); a != b {
		t.Errorf("order-status showed order %d, and then %d in the same transaction", a, b)
	}
	l.do(t, s, "orderstatus", again)
	if a, b := orderentry.Entered(order), orderentry.Entered(again); a != b {
		t.Errorf("afterwards order-status shows order %d, want %d", b, a)
	}
}

// phantomDelivery is clause 3.4.2.9, at repeatable read: a delivery that found
// a district empty finds it empty again.
func (l loaded) phantomDelivery(t *testing.T) {
	const district = 7
	c := l.Open(t).Conn()
	enginetest.Ask(t, c, fmt.Sprint("DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = ", district))
	defer enginetest.Ask(t, c, fmt.Sprintf(`INSERT INTO new_order (no_o_id, no_d_id, no_w_id) SELECT o_id, o_d_id, o_w_id FROM orders
		LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
		WHERE o_w_id = 1 AND o_d_id = %d AND o_carrier_id IS NULL AND no_o_id IS NULL`, district))
	s := l.Open(t)
	in, order := orderentry.Delivery(1), orderentry.Order(1, district, 31, 1, 2, 3, 4, 5)
	l.hold(t, s, workload.BeginRepeatableRead, "delivery", in)
	found := orderentry.Delivered(in)
	entered := l.launch(t, "neworder", order)
	entered.settled()
	l.more(t, s, "delivery", in)
	again := orderentry.Delivered(in)
	l.tx(t, s, workload.Commit)
	entered.join(t)
	if found != 9 || again != 9 {
		t.Errorf("%d orders were delivered, then %d in the same transaction, want 9 each time", found, again)
	}
	waiting := enginetest.Ask(t, c, fmt.Sprint("SELECT no_o_id FROM new_order WHERE no_w_id = 1 AND no_d_id = ", district))
	if len(waiting) != 1 || waiting[0].Int != orderentry.Entered(order) {
		t.Errorf("afterwards %v wait, want order %d", waiting, orderentry.Entered(order))
	}
}
