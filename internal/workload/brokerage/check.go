package brokerage

import (
	"fmt"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

// condition is a check whose query counts what breaks it.
type condition struct{ name, clause, about, query string }

// checks are the consistency conditions over all rows, and what the driver
// counted against what the tables hold.
func (w *world) checks() []workload.Check {
	var out []workload.Check
	for _, c := range append(w.conditions(), tradeConditions()...) {
		out = append(out, workload.Check{
			Name: c.name, Clause: c.clause, About: c.about, Query: &workload.Statement{Text: c.query},
		})
	}
	out = append(out, w.tallyChecks()...)
	for i := range out {
		out[i].Query.Name, out[i].Query.Index = "check "+out[i].Name, i
	}
	return out
}

// conditions are the three of the specification.
func (*world) conditions() []condition {
	const earned = `broker LEFT JOIN (SELECT ca_b_id, count(*) AS trades, sum(t_comm) AS earned
FROM trade JOIN customer_account ON ca_id = t_ca_id WHERE t_st_id = 'CMPT' GROUP BY ca_b_id) t ON ca_b_id = b_id`
	return []condition{
		{
			"condition 1", "7.3.1.1", "B_NUM_TRADES of each broker is the number of completed trades of the accounts that the broker keeps",
			`SELECT count(*) FROM ` + earned + ` WHERE b_num_trades <> coalesce(trades, 0)`,
		},
		{
			"condition 2", "7.3.1.2", "B_COMM_TOTAL of each broker is the sum of T_COMM of those trades",
			`SELECT count(*) FROM ` + earned + ` WHERE b_comm_total <> coalesce(earned, 0)`,
		},
		{
			"condition 3", "7.3.1.3", "HS_QTY of each account and symbol is the sum of H_QTY of its holdings",
			`SELECT (SELECT count(*) FROM holding_summary
LEFT JOIN (SELECT h_ca_id, h_s_symb, sum(h_qty) AS pieces FROM holding GROUP BY h_ca_id, h_s_symb) h
ON h_ca_id = hs_ca_id AND h_s_symb = hs_s_symb WHERE hs_qty <> coalesce(pieces, 0) OR hs_qty = 0)
+ (SELECT count(*) FROM holding LEFT JOIN holding_summary ON hs_ca_id = h_ca_id AND hs_s_symb = h_s_symb WHERE hs_ca_id IS NULL)`,
		},
	}
}

// tradeConditions follow from what the transactions do.
func tradeConditions() []condition {
	return []condition{
		{
			"settlements", "3.3.8", "each completed trade has exactly one settlement, and no other trade has one",
			`SELECT (SELECT count(*) FROM trade LEFT JOIN settlement ON se_t_id = t_id WHERE (t_st_id = 'CMPT') <> (se_t_id IS NOT NULL))
+ (SELECT count(*) FROM settlement LEFT JOIN trade ON t_id = se_t_id WHERE t_id IS NULL)`,
		},
		{
			"requests", "3.3.7", "the trade of each request is pending, and each pending trade has a request",
			`SELECT (SELECT count(*) FROM trade_request LEFT JOIN trade ON t_id = tr_t_id WHERE t_id IS NULL OR t_st_id <> 'PNDG')
+ (SELECT count(*) FROM trade LEFT JOIN trade_request ON tr_t_id = t_id WHERE t_st_id = 'PNDG' AND tr_t_id IS NULL)`,
		},
		{
			"histories", "3.3.7", "the latest row of each trade's history has the trade's status",
			`SELECT count(*) FROM trade
LEFT JOIN (SELECT th_t_id, max(th_dts) AS latest FROM trade_history GROUP BY th_t_id) h ON h.th_t_id = t_id
LEFT JOIN trade_history s ON s.th_t_id = t_id AND s.th_st_id = t_st_id
WHERE s.th_dts IS NULL OR s.th_dts <> latest`,
		},
		{
			"payments", "3.3.8", "each settlement of a cash trade has one cash transaction of its amount, and no other trade has one",
			`SELECT count(*) FROM trade JOIN settlement ON se_t_id = t_id LEFT JOIN cash_transaction ON ct_t_id = t_id
WHERE t_is_cash AND (ct_amt IS NULL OR ct_amt <> se_amt) OR NOT t_is_cash AND ct_t_id IS NOT NULL`,
		},
	}
}

// tallyChecks compare the driver's counts with how the tables grew.
func (w *world) tallyChecks() []workload.Check {
	loaded := w.trades()
	since := fmt.Sprintf(" t_id > %d", loaded)
	const changed = `((SELECT sum(ca_bal) FROM customer_account) - coalesce((SELECT sum(ct_amt) FROM cash_transaction WHERE ct_t_id > %d), 0))`
	return []workload.Check{
		{
			Name: "orders", Clause: "3.3.7",
			About: "TRADE grew by the committed Trade-Orders",
			Query: &workload.Statement{Text: "SELECT count(*) FROM trade WHERE" + since},
			Want: func(t workload.Tally) (least, most int64) {
				return t.Committed[tradeOrderName], t.Committed[tradeOrderName] + t.Unknown[tradeOrderName]
			},
		},
		{
			Name: "completed trades", Clause: "3.3.8",
			About: "as many trades were completed as Trade-Results committed",
			Query: &workload.Statement{Text: "SELECT count(*) FROM trade WHERE t_st_id = 'CMPT' AND" + since},
			Want: func(t workload.Tally) (least, most int64) {
				return t.Committed[tradeResultName], t.Committed[tradeResultName] + t.Unknown[tradeResultName]
			},
		},
		{
			Name: "balances", Clause: "3.3.8",
			About: "all balances together changed by the cash transactions, in cents",
			Query: &workload.Statement{
				Text: "SELECT round(" + fmt.Sprintf(changed, loaded) + " * 100)",
				// SQLite keeps decimals as whole numbers, of cents here.
				Own: map[string]string{"sqlite": "SELECT " + fmt.Sprintf(changed, loaded)},
			},
			Want: func(workload.Tally) (least, most int64) {
				n := w.balances()
				return n, n
			},
		},
		{
			Name: "volumes", Clause: "3.3.3",
			About: "LT_VOL of all securities together is what Market-Feeds carried",
			Query: &workload.Statement{Text: "SELECT sum(lt_vol) FROM last_trade"},
			Want:  volumes,
		},
	}
}

// volumes bounds LT_VOL: exactly what was fed, where the run counted it, else
// by how many Market-Feeds there were.
func volumes(t workload.Tally) (least, most int64) {
	const smallest, largest = tickerSize * paddingQuantity, tickerSize * largestQuantity
	fed, counted := t.Facts[fedFact]
	if counted {
		return fed, fed + t.Unknown[marketFeedName]*largest
	}
	n := t.Committed[marketFeedName]
	return n * smallest, (n + t.Unknown[marketFeedName]) * largest
}

// balances is the sum of all accounts' balances at the beginning, in cents.
func (w *world) balances() (sum int64) {
	for c := int64(1); c <= w.customers; c++ {
		for n := range w.customer(c).accounts {
			sum += w.account(accountID(c, n)).balance
		}
	}
	return sum
}
