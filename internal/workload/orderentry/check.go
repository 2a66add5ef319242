package orderentry

import (
	"slices"
	"strconv"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

// condition is a check of clause 3.3.2: a column of a query, which counts what
// breaks it.
type condition struct {
	number int
	about  string
	query  *workload.Statement
	column int
}

// checks are the twelve consistency conditions over all rows of all
// warehouses, and what the driver counted against what the tables hold.
func (g *generator) checks() []workload.Check {
	conditions := slices.Concat(moneyConditions(), orderConditions(), lineConditions(), customerConditions())
	slices.SortFunc(conditions, func(a, b condition) int { return a.number - b.number })
	var out []workload.Check
	for _, c := range conditions {
		n := strconv.Itoa(c.number)
		if c.query.Name == "" {
			c.query.Name = "check conditions"
		}
		c.query.Name += " " + n
		out = append(out, workload.Check{
			Name: "condition " + n, Clause: "3.3.2." + n, About: c.about, Query: c.query, Column: c.column,
		})
	}
	out = append(out, g.tallyChecks()...)
	for i := range out {
		out[i].Query.Index = i
	}
	return out
}

// counting is a query with whole numbers as its result.
func counting(sql string) *workload.Statement { return &workload.Statement{Text: sql} }

// moneyConditions compare sums of money of warehouses and districts.
func moneyConditions() []condition {
	return []condition{
		{1, "W_YTD of each warehouse is the sum of D_YTD of its districts", counting(`SELECT count(*) FROM warehouse
LEFT JOIN (SELECT d_w_id, sum(d_ytd) AS ytd FROM district GROUP BY d_w_id) d ON d_w_id = w_id
WHERE ytd IS NULL OR w_ytd <> ytd`), 0},
		{8, "W_YTD of each warehouse is the sum of H_AMOUNT of its history", counting(`SELECT count(*) FROM warehouse
LEFT JOIN (SELECT h_w_id, sum(h_amount) AS paid FROM history GROUP BY h_w_id) h ON h_w_id = w_id
WHERE paid IS NULL OR w_ytd <> paid`), 0},
		{9, "D_YTD of each district is the sum of H_AMOUNT of its history", counting(`SELECT count(*) FROM district
LEFT JOIN (SELECT h_w_id, h_d_id, sum(h_amount) AS paid FROM history GROUP BY h_w_id, h_d_id) h
ON h_w_id = d_w_id AND h_d_id = d_id
WHERE paid IS NULL OR d_ytd <> paid`), 0},
	}
}

// orderConditions compare orders with NEW_ORDER.
func orderConditions() []condition {
	return []condition{
		{
			2, "D_NEXT_O_ID - 1 of each district is its largest O_ID, and its largest NO_O_ID where it has new orders",
			counting(`SELECT count(*) FROM district
LEFT JOIN (SELECT o_w_id, o_d_id, max(o_id) AS last_o FROM orders GROUP BY o_w_id, o_d_id) o
ON o_w_id = d_w_id AND o_d_id = d_id
LEFT JOIN (SELECT no_w_id, no_d_id, max(no_o_id) AS last_no FROM new_order GROUP BY no_w_id, no_d_id) n
ON no_w_id = d_w_id AND no_d_id = d_id
WHERE last_o IS NULL OR d_next_o_id - 1 <> last_o OR last_no <> last_o`), 0,
		},
		{
			3, "NO_O_ID has no gap within a district",
			counting(`SELECT count(*) FROM (SELECT no_w_id, no_d_id FROM new_order GROUP BY no_w_id, no_d_id
HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*)) n`), 0,
		},
		{
			5, "O_CARRIER_ID is null exactly where NEW_ORDER has the order, and NEW_ORDER has no others",
			counting(`SELECT (SELECT count(*) FROM orders
LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
WHERE o_carrier_id IS NULL AND no_o_id IS NULL OR o_carrier_id IS NOT NULL AND no_o_id IS NOT NULL)
+ (SELECT count(*) FROM new_order
LEFT JOIN orders ON o_w_id = no_w_id AND o_d_id = no_d_id AND o_id = no_o_id WHERE o_id IS NULL)`), 0,
		},
		{
			11, "of each district, ORDERS less NEW_ORDER is the 2,100 delivered at first and what C_DELIVERY_CNT counts since",
			counting(`SELECT count(*) FROM district
LEFT JOIN (SELECT o_w_id, o_d_id, count(*) AS entered FROM orders GROUP BY o_w_id, o_d_id) o
ON o_w_id = d_w_id AND o_d_id = d_id
LEFT JOIN (SELECT no_w_id, no_d_id, count(*) AS waiting FROM new_order GROUP BY no_w_id, no_d_id) n
ON no_w_id = d_w_id AND no_d_id = d_id
LEFT JOIN (SELECT c_w_id, c_d_id, sum(c_delivery_cnt) AS arrived FROM customer GROUP BY c_w_id, c_d_id) c
ON c_w_id = d_w_id AND c_d_id = d_id
WHERE entered IS NULL OR arrived IS NULL OR entered - coalesce(waiting, 0) <> 2100 + arrived`), 0,
		},
	}
}

// lineConditions compare orders with their lines in one pass over ORDER_LINE,
// and count the districts in which something is wrong: lines are counted by
// order, met with the orders, and summed up by district. An order without any
// line is missing among those that were met.
func lineConditions() []condition {
	q := counting(`SELECT count(CASE WHEN stated IS NULL OR there IS NULL OR stated <> there THEN 1 END),
count(CASE WHEN wrong <> 0 OR entered <> met THEN 1 END),
count(CASE WHEN torn <> 0 THEN 1 END)
FROM district
LEFT JOIN (SELECT o_w_id, o_d_id, count(*) AS entered, sum(o_ol_cnt) AS stated FROM orders GROUP BY o_w_id, o_d_id) o
ON o_w_id = d_w_id AND o_d_id = d_id
LEFT JOIN (SELECT ol_w_id, ol_d_id, sum(n) AS there, count(o_id) AS met,
count(CASE WHEN n <> o_ol_cnt THEN 1 END) AS wrong,
count(CASE WHEN done <> CASE WHEN o_carrier_id IS NULL THEN 0 ELSE n END THEN 1 END) AS torn
FROM (SELECT ol_w_id, ol_d_id, ol_o_id, count(*) AS n, count(ol_delivery_d) AS done FROM order_line
GROUP BY ol_w_id, ol_d_id, ol_o_id) l
LEFT JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id GROUP BY ol_w_id, ol_d_id) s
ON ol_w_id = d_w_id AND ol_d_id = d_id`)
	return []condition{
		{4, "the sum of O_OL_CNT of each district is the number of its order lines", q, 0},
		{6, "O_OL_CNT of each order is the number of its lines (counted are districts where it is not)", q, 1},
		{7, "OL_DELIVERY_D of each line is null exactly where its order's O_CARRIER_ID is (counted are districts where it is not)", q, 2},
	}
}

// customerConditions compare balances with orders and payments. Lines that
// cost nothing, as those delivered before loading do, change no sum: to leave
// them out, before orders are met, saves most of the work.
func customerConditions() []condition {
	q := counting(`SELECT count(CASE WHEN c_balance <> coalesce(bought, 0) - coalesce(paid, 0) THEN 1 END),
count(CASE WHEN c_balance + c_ytd_payment <> coalesce(bought, 0) THEN 1 END)
FROM customer
LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, sum(cost) AS bought FROM orders
JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, sum(ol_amount) AS cost FROM order_line
WHERE ol_delivery_d IS NOT NULL AND ol_amount <> 0 GROUP BY ol_w_id, ol_d_id, ol_o_id) l
ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id GROUP BY o_w_id, o_d_id, o_c_id) b
ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) AS paid FROM history GROUP BY h_c_w_id, h_c_d_id, h_c_id) h
ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id`)
	return []condition{
		{10, "C_BALANCE of each customer is what was delivered less what was paid", q, 0},
		{12, "C_BALANCE + C_YTD_PAYMENT of each customer is what was delivered", q, 1},
	}
}

// tallyChecks compare the driver's counts with how the tables grew.
func (g *generator) tallyChecks() []workload.Check {
	loaded := customers * g.districts()
	grown := func(name string) func(workload.Tally) (least, most int64) {
		return func(t workload.Tally) (least, most int64) {
			return loaded + t.Committed[name], loaded + t.Committed[name] + t.Unknown[name]
		}
	}
	return []workload.Check{
		{
			Name: "orders", Clause: "2.4.2.2",
			About: "ORDERS grew by the committed New-Orders",
			Query: &workload.Statement{Name: "check orders", Text: "SELECT count(*) FROM orders"},
			Want:  grown(newOrderName),
		},
		{
			Name: "payments", Clause: "2.5.2.2",
			About: "HISTORY grew by the committed Payments",
			Query: &workload.Statement{Name: "check payments", Text: "SELECT count(*) FROM history"},
			Want:  grown(paymentName),
		},
		{
			Name: "deliveries", Clause: "2.7.4.2",
			About: "each committed Delivery delivered ten orders, but for one in a hundred that found a district empty",
			Query: &workload.Statement{Name: "check deliveries", Text: "SELECT sum(c_delivery_cnt) FROM customer"},
			Want: func(t workload.Tally) (least, most int64) {
				done := districts * t.Committed[deliveryName]
				return done - (done+99)/100, done + districts*t.Unknown[deliveryName]
			},
		},
	}
}
