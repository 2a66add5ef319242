package orderentry

import (
	"context"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

// texts executes each transaction statement by statement, in SQL that every
// engine takes. Rows are locked in the same order as by the procedures.
type texts struct {
	district, nextOrder, buyer, insertOrder, insertNewOrder *workload.Statement
	item, stock, takeStock, insertLine                      *workload.Statement

	named, payer, pay, payBad, shop, insertHistory *workload.Statement
	payDistrict, payWarehouse                      *workload.Statement

	viewer, lastOrder, lines *workload.Statement

	oldest, remaining, takeNewOrder, orderOf, carry *workload.Statement
	deliverLines, sumLines, credit                  *workload.Statement

	next, low *workload.Statement
}

func newTexts() *texts {
	text := func(name, sql string, params ...string) *workload.Statement {
		return &workload.Statement{Name: name, Text: sql, Params: params}
	}
	t := &texts{}
	t.newOrderTexts(text)
	t.paymentTexts(text)
	t.deliveryTexts(text)

	t.viewer = text("viewer", `SELECT c_balance, c_first, c_middle, c_last FROM customer
WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_id = :c_id`, "w_id", "d_id", "c_id")
	t.lastOrder = text("last order", `SELECT o_id, o_entry_d, o_carrier_id FROM orders
WHERE o_w_id = :w_id AND o_d_id = :d_id AND o_c_id = :c_id ORDER BY o_id DESC {limit 1}`, "w_id", "d_id", "c_id")
	t.lines = text("lines", `SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
WHERE ol_w_id = :w_id AND ol_d_id = :d_id AND ol_o_id = :o_id`, "w_id", "d_id", "o_id")

	t.next = text("next order", `SELECT d_next_o_id FROM district WHERE d_w_id = :w_id AND d_id = :d_id`, "w_id", "d_id")
	t.low = text("low stock", `SELECT count(DISTINCT s_i_id)
FROM order_line JOIN stock ON s_w_id = :w_id AND s_i_id = ol_i_id
WHERE ol_w_id = :w_id AND ol_d_id = :d_id AND ol_o_id >= :first AND ol_o_id < :next AND s_quantity < :threshold`,
		"w_id", "d_id", "first", "next", "threshold")
	t.all()
	return t
}

func (t *texts) newOrderTexts(text func(name, sql string, params ...string) *workload.Statement) {
	t.district = text("district", `SELECT d_next_o_id, d_tax FROM district
WHERE d_w_id = :w_id AND d_id = :d_id {lock update}`, "w_id", "d_id")
	t.nextOrder = text("advance district", `UPDATE district SET d_next_o_id = :o_id
WHERE d_w_id = :w_id AND d_id = :d_id`, "o_id", "w_id", "d_id")
	t.buyer = text("buyer", `SELECT c_discount, c_last, c_credit, w_tax FROM customer JOIN warehouse ON w_id = c_w_id
WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_id = :c_id`, "w_id", "d_id", "c_id")
	t.insertOrder = text("insert order", `INSERT INTO orders
(o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
VALUES (:o_id, :d_id, :w_id, :c_id, :entry_d, NULL, :ol_cnt, :all_local)`,
		"o_id", "d_id", "w_id", "c_id", "entry_d", "ol_cnt", "all_local")
	t.insertNewOrder = text("insert new order", `INSERT INTO new_order (no_o_id, no_d_id, no_w_id)
VALUES (:o_id, :d_id, :w_id)`, "o_id", "d_id", "w_id")
	t.item = text("item", `SELECT i_price, i_name, i_data FROM item WHERE i_id = :i_id`, "i_id")
	t.stock = text("stock", `SELECT s_quantity, s_data, CASE :d_id + 0 WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02
WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07
WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
FROM stock WHERE s_w_id = :w_id AND s_i_id = :i_id {lock update}`, "d_id", "w_id", "i_id")
	t.takeStock = text("take stock", `UPDATE stock SET s_quantity = :left, s_ytd = s_ytd + :quantity,
s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + :remote
WHERE s_w_id = :w_id AND s_i_id = :i_id`, "left", "quantity", "remote", "w_id", "i_id")
	t.insertLine = text("insert line", `INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id,
ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info)
VALUES (:o_id, :d_id, :w_id, :number, :i_id, :supply_w_id, NULL, :quantity, :amount, :dist_info)`,
		"o_id", "d_id", "w_id", "number", "i_id", "supply_w_id", "quantity", "amount", "dist_info")
}

func (t *texts) paymentTexts(text func(name, sql string, params ...string) *workload.Statement) {
	t.named = text("customers named", `SELECT c_id FROM customer
WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_last = :c_last ORDER BY c_first, c_id`, "w_id", "d_id", "c_last")
	t.payer = text("payer", `SELECT c_balance, c_credit, c_data, c_first, c_middle, c_last, c_street_1, c_street_2, c_city,
c_state, c_zip, c_phone, c_since, c_credit_lim, c_discount
FROM customer WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_id = :c_id {lock update}`, "w_id", "d_id", "c_id")
	t.pay = text("pay", `UPDATE customer SET c_balance = c_balance - :amount, c_ytd_payment = c_ytd_payment + :amount,
c_payment_cnt = c_payment_cnt + 1
WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_id = :c_id`, "amount", "w_id", "d_id", "c_id")
	t.payBad = text("pay, bad credit", `UPDATE customer SET c_balance = c_balance - :amount, c_ytd_payment = c_ytd_payment + :amount,
c_payment_cnt = c_payment_cnt + 1, c_data = :data
WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_id = :c_id`, "amount", "data", "w_id", "d_id", "c_id")
	t.shop = text("addresses", `SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip,
d_name, d_street_1, d_street_2, d_city, d_state, d_zip
FROM warehouse JOIN district ON d_w_id = w_id WHERE w_id = :w_id AND d_id = :d_id`, "w_id", "d_id")
	t.insertHistory = text("insert history", `INSERT INTO history
(h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
VALUES (:c_id, :c_d_id, :c_w_id, :d_id, :w_id, :paid, :amount, :data)`,
		"c_id", "c_d_id", "c_w_id", "d_id", "w_id", "paid", "amount", "data")
	t.payDistrict = text("pay district", `UPDATE district SET d_ytd = d_ytd + :amount
WHERE d_w_id = :w_id AND d_id = :d_id`, "amount", "w_id", "d_id")
	t.payWarehouse = text("pay warehouse", `UPDATE warehouse SET w_ytd = w_ytd + :amount WHERE w_id = :w_id`, "amount", "w_id")
}

func (t *texts) deliveryTexts(text func(name, sql string, params ...string) *workload.Statement) {
	t.oldest = text("oldest new order", `SELECT no_o_id FROM new_order
WHERE no_w_id = :w_id AND no_d_id = :d_id ORDER BY no_o_id {limit 1} {lock update}`, "w_id", "d_id")
	t.remaining = text("new orders left", `SELECT no_o_id FROM new_order
WHERE no_w_id = :w_id AND no_d_id = :d_id ORDER BY no_o_id {limit 1}`, "w_id", "d_id")
	t.takeNewOrder = text("delete new order", `DELETE FROM new_order
WHERE no_w_id = :w_id AND no_d_id = :d_id AND no_o_id = :o_id`, "w_id", "d_id", "o_id")
	t.orderOf = text("customer of order", `SELECT o_c_id FROM orders
WHERE o_w_id = :w_id AND o_d_id = :d_id AND o_id = :o_id`, "w_id", "d_id", "o_id")
	t.carry = text("carry order", `UPDATE orders SET o_carrier_id = :carrier_id
WHERE o_w_id = :w_id AND o_d_id = :d_id AND o_id = :o_id`, "carrier_id", "w_id", "d_id", "o_id")
	t.deliverLines = text("deliver lines", `UPDATE order_line SET ol_delivery_d = :delivery_d
WHERE ol_w_id = :w_id AND ol_d_id = :d_id AND ol_o_id = :o_id`, "delivery_d", "w_id", "d_id", "o_id")
	t.sumLines = text("sum of lines", `SELECT CAST(sum(ol_amount) AS decimal(12, 2)) FROM order_line
WHERE ol_w_id = :w_id AND ol_d_id = :d_id AND ol_o_id = :o_id`, "w_id", "d_id", "o_id")
	t.credit = text("charge customer", `UPDATE customer SET c_balance = c_balance + :amount, c_delivery_cnt = c_delivery_cnt + 1
WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_id = :c_id`, "amount", "w_id", "d_id", "c_id")
}

func (t *texts) all() []*workload.Statement {
	return number([]*workload.Statement{
		t.district, t.nextOrder, t.buyer, t.insertOrder, t.insertNewOrder, t.item, t.stock, t.takeStock, t.insertLine,
		t.named, t.payer, t.pay, t.payBad, t.shop, t.insertHistory, t.payDistrict, t.payWarehouse,
		t.viewer, t.lastOrder, t.lines,
		t.oldest, t.remaining, t.takeNewOrder, t.orderOf, t.carry, t.deliverLines, t.sumLines, t.credit,
		t.next, t.low,
	})
}

// inside runs f in a transaction: committed where f says so, else rolled back.
func inside(ctx context.Context, c workload.Conn, e *entry, f func(context.Context, workload.Conn, *entry) (workload.Status, error)) (workload.Status, error) {
	if err := c.Tx(ctx, workload.Begin); err != nil {
		return workload.Failed, err
	}
	status, err := f(ctx, c, e)
	if err == nil && status == workload.Committed {
		return status, c.Tx(ctx, workload.Commit)
	}
	// What f failed with tells more than what rolling back does.
	if undone := c.Tx(ctx, workload.Rollback); err == nil {
		err = undone
	}
	return status, err
}

// row runs st with args, which must return one row.
func row(ctx context.Context, c workload.Conn, st *workload.Statement, args []workload.Value) ([]workload.Value, error) {
	r, err := c.Run(ctx, st, args)
	if err = wantRow(r, err, st); err != nil {
		return nil, err
	}
	return r.Values, nil
}

// change runs st with args, which must change one row.
func change(ctx context.Context, c workload.Conn, st *workload.Statement, args []workload.Value) error {
	r, err := c.Run(ctx, st, args)
	if err == nil && r.Affected != 1 {
		err = errAffected(st, r.Affected, 1)
	}
	return err
}
