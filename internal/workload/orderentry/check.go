package orderentry

import (
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// condition is a check of clause 3.3.2 whose query counts what breaks it.
type condition struct{ name, clause, about, query string }

// checks are the twelve consistency conditions over all rows of all
// warehouses, and what the driver counted against what the tables hold.
func (g *generator) checks() []workload.Check {
	var out []workload.Check
	for _, c := range append(append(moneyConditions(), orderConditions()...), customerConditions()...) {
		out = append(out, workload.Check{
			Name: c.name, Clause: c.clause, About: c.about, Query: &workload.Statement{Text: c.query},
		})
	}
	out = append(out, g.tallyChecks()...)
	for i := range out {
		out[i].Query.Name, out[i].Query.Index = "check "+out[i].Name, i
	}
	return out
}

// moneyConditions compare sums of money of warehouses and districts.
func moneyConditions() []condition {
	return []condition{
		{
			"condition 1", "3.3.2.1", "W_YTD of each warehouse is the sum of D_YTD of its districts",
			`SELECT count(*) FROM warehouse
LEFT JOIN (SELECT d_w_id, sum(d_ytd) AS ytd FROM district GROUP BY d_w_id) d ON d_w_id = w_id
WHERE ytd IS NULL OR w_ytd <> ytd`,
		},
		{
			"condition 8", "3.3.2.8", "W_YTD of each warehouse is the sum of H_AMOUNT of its history",
			`SELECT count(*) FROM warehouse
LEFT JOIN (SELECT h_w_id, sum(h_amount) AS paid FROM history GROUP BY h_w_id) h ON h_w_id = w_id
WHERE paid IS NULL OR w_ytd <> paid`,
		},
		{
			"condition 9", "3.3.2.9", "D_YTD of each district is the sum of H_AMOUNT of its history",
			`SELECT count(*) FROM district
LEFT JOIN (SELECT h_w_id, h_d_id, sum(h_amount) AS paid FROM history GROUP BY h_w_id, h_d_id) h
ON h_w_id = d_w_id AND h_d_id = d_id
WHERE paid IS NULL OR d_ytd <> paid`,
		},
	}
}

// orderConditions compare orders with their lines and with NEW_ORDER.
func orderConditions() []condition {
	return []condition{
		{
			"condition 2", "3.3.2.2", "D_NEXT_O_ID - 1 of each district is its largest O_ID, and its largest NO_O_ID where it has new orders",
			`SELECT count(*) FROM district
LEFT JOIN (SELECT o_w_id, o_d_id, max(o_id) AS last_o FROM orders GROUP BY o_w_id, o_d_id) o
ON o_w_id = d_w_id AND o_d_id = d_id
LEFT JOIN (SELECT no_w_id, no_d_id, max(no_o_id) AS last_no FROM new_order GROUP BY no_w_id, no_d_id) n
ON no_w_id = d_w_id AND no_d_id = d_id
WHERE last_o IS NULL OR d_next_o_id - 1 <> last_o OR last_no <> last_o`,
		},
		{
			"condition 3", "3.3.2.3", "NO_O_ID has no gap within a district",
			`SELECT count(*) FROM (SELECT no_w_id, no_d_id FROM new_order GROUP BY no_w_id, no_d_id
HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*)) n`,
		},
		{
			"condition 4", "3.3.2.4", "the sum of O_OL_CNT of each district is the number of its order lines",
			`SELECT count(*) FROM district
LEFT JOIN (SELECT o_w_id, o_d_id, sum(o_ol_cnt) AS stated FROM orders GROUP BY o_w_id, o_d_id) o
ON o_w_id = d_w_id AND o_d_id = d_id
LEFT JOIN (SELECT ol_w_id, ol_d_id, count(*) AS there FROM order_line GROUP BY ol_w_id, ol_d_id) l
ON ol_w_id = d_w_id AND ol_d_id = d_id
WHERE stated IS NULL OR there IS NULL OR stated <> there`,
		},
		{
			"condition 5", "3.3.2.5", "O_CARRIER_ID is null exactly where NEW_ORDER has the order, and NEW_ORDER has no others",
			`SELECT (SELECT count(*) FROM orders
LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
WHERE o_carrier_id IS NULL AND no_o_id IS NULL OR o_carrier_id IS NOT NULL AND no_o_id IS NOT NULL)
+ (SELECT count(*) FROM new_order
LEFT JOIN orders ON o_w_id = no_w_id AND o_d_id = no_d_id AND o_id = no_o_id WHERE o_id IS NULL)`,
		},
		{
			"condition 6", "3.3.2.6", "O_OL_CNT of each order is the number of its lines",
			`SELECT count(*) FROM orders
LEFT JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, count(*) AS there FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id) l
ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
WHERE there IS NULL OR there <> o_ol_cnt`,
		},
		{
			"condition 7", "3.3.2.7", "OL_DELIVERY_D of each line is null exactly where its order's O_CARRIER_ID is",
			`SELECT (SELECT count(*) FROM order_line JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
WHERE ol_delivery_d IS NULL AND o_carrier_id IS NOT NULL)
+ (SELECT count(*) FROM order_line JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
WHERE ol_delivery_d IS NOT NULL AND o_carrier_id IS NULL)`,
		},
		{
			"condition 11", "3.3.2.11", "of each district, ORDERS less NEW_ORDER is the 2,100 delivered at first and what C_DELIVERY_CNT counts since",
			`SELECT count(*) FROM district
LEFT JOIN (SELECT o_w_id, o_d_id, count(*) AS entered FROM orders GROUP BY o_w_id, o_d_id) o
ON o_w_id = d_w_id AND o_d_id = d_id
LEFT JOIN (SELECT no_w_id, no_d_id, count(*) AS waiting FROM new_order GROUP BY no_w_id, no_d_id) n
ON no_w_id = d_w_id AND no_d_id = d_id
LEFT JOIN (SELECT c_w_id, c_d_id, sum(c_delivery_cnt) AS arrived FROM customer GROUP BY c_w_id, c_d_id) c
ON c_w_id = d_w_id AND c_d_id = d_id
WHERE entered IS NULL OR arrived IS NULL OR entered - coalesce(waiting, 0) <> 2100 + arrived`,
		},
	}
}

// deliveredToCustomers sums up by customer what was delivered to them. Lines
// that cost nothing, as those delivered before loading do, change no sum: to
// leave them out saves most of the work.
const deliveredToCustomers = `(SELECT o_w_id, o_d_id, o_c_id, sum(ol_amount) AS bought FROM order_line
JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
WHERE ol_delivery_d IS NOT NULL AND ol_amount <> 0 GROUP BY o_w_id, o_d_id, o_c_id) b`

// customerConditions compare balances with orders and payments.
func customerConditions() []condition {
	return []condition{
		{
			"condition 10", "3.3.2.10", "C_BALANCE of each customer is what was delivered less what was paid",
			`SELECT count(*) FROM customer
LEFT JOIN ` + deliveredToCustomers + ` ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) AS paid FROM history GROUP BY h_c_w_id, h_c_d_id, h_c_id) h
ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id
WHERE c_balance <> coalesce(bought, 0) - coalesce(paid, 0)`,
		},
		{
			"condition 12", "3.3.2.12", "C_BALANCE + C_YTD_PAYMENT of each customer is what was delivered",
			`SELECT count(*) FROM customer
LEFT JOIN ` + deliveredToCustomers + ` ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
WHERE c_balance + c_ytd_payment <> coalesce(bought, 0)`,
		},
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
			Query: &workload.Statement{Text: "SELECT count(*) FROM orders"},
			Want:  grown(newOrderName),
		},
		{
			Name: "payments", Clause: "2.5.2.2",
			About: "HISTORY grew by the committed Payments",
			Query: &workload.Statement{Text: "SELECT count(*) FROM history"},
			Want:  grown(paymentName),
		},
		{
			Name: "deliveries", Clause: "2.7.4.2",
			About: "each committed Delivery delivered ten orders, but for one in a hundred that found a district empty",
			Query: &workload.Statement{Text: "SELECT sum(c_delivery_cnt) FROM customer"},
			Want: func(t workload.Tally) (least, most int64) {
				done := districts * t.Committed[deliveryName]
				return done - (done+99)/100, done + districts*t.Unknown[deliveryName]
			},
		},
	}
}
