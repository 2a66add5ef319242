package brokerage

import "github.com/loadstone-perf/loadstone/internal/workload"

// tradeTables are trades and what follows from them.
func (w *world) tradeTables() []workload.Table {
	return append(w.tradeLogTables(), w.holdingTables()...)
}

// tradeLogTables are trades, what is asked of the market, and what was paid.
func (w *world) tradeLogTables() []workload.Table {
	t := id("t_id")
	t.Identity = true
	return []workload.Table{
		{
			Name: "trade",
			Columns: columns(t, stamp("t_dts"), char("t_st_id", 4), char("t_tt_id", 3), flag("t_is_cash"),
				varchar("t_s_symb", 15), whole("t_qty"), money("t_bid_price"), id("t_ca_id"), varchar("t_exec_name", 49),
				null(money("t_trade_price")), money("t_chrg"), money("t_comm"), money("t_tax"), flag("t_lifo")),
			PrimaryKey: key("t_id"), FillFactor: 95,
			Indexes: []workload.Index{
				index("trade_status", "t_st_id", "t_id"), index("trade_account", "t_ca_id", "t_dts"),
				index("trade_symbol", "t_s_symb", "t_dts"),
			},
			Foreign: []workload.ForeignKey{
				refers("trade", "status_type", "t_st_id"), refers("trade", "trade_type", "t_tt_id"),
				refers("trade", "security", "t_s_symb"), refers("trade", "customer_account", "t_ca_id"),
			},
			Rows: w.source(w.units*groups, w.trades(), tradeRows),
		},
		{
			Name: "trade_request",
			Columns: columns(id("tr_t_id"), char("tr_tt_id", 3), varchar("tr_s_symb", 15), whole("tr_qty"),
				money("tr_bid_price"), id("tr_b_id")),
			PrimaryKey: key("tr_t_id"),
			Indexes:    []workload.Index{index("trade_request_symbol", "tr_s_symb"), index("trade_request_broker", "tr_b_id")},
			Foreign: []workload.ForeignKey{
				refers("trade_request", "trade", "tr_t_id"), refers("trade_request", "trade_type", "tr_tt_id"),
				refers("trade_request", "security", "tr_s_symb"), refers("trade_request", "broker", "tr_b_id"),
			},
		},
		{
			Name: "trade_history", Columns: columns(id("th_t_id"), stamp("th_dts"), char("th_st_id", 4)),
			PrimaryKey: key("th_t_id", "th_st_id"),
			Foreign: []workload.ForeignKey{
				refers("trade_history", "trade", "th_t_id"), refers("trade_history", "status_type", "th_st_id"),
			},
			Rows: w.source(w.units*groups, w.trades()*24/10, tradeHistoryRows),
		},
		{
			Name:       "settlement",
			Columns:    columns(id("se_t_id"), varchar("se_cash_type", 40), day("se_cash_due_date"), money("se_amt")),
			PrimaryKey: key("se_t_id"),
			Foreign:    []workload.ForeignKey{refers("settlement", "trade", "se_t_id")},
			Rows:       w.source(w.units*groups, w.trades(), settlementRows),
		},
		{
			Name:       "cash_transaction",
			Columns:    columns(id("ct_t_id"), stamp("ct_dts"), money("ct_amt"), null(varchar("ct_name", 100))),
			PrimaryKey: key("ct_t_id"),
			Foreign:    []workload.ForeignKey{refers("cash_transaction", "trade", "ct_t_id")},
			Rows:       w.source(w.units*groups, w.trades()*92/100, cashRows),
		},
	}
}

// holdingTables are what accounts hold, and how it came to be.
func (w *world) holdingTables() []workload.Table {
	return []workload.Table{
		{
			Name: "holding_summary", Columns: columns(id("hs_ca_id"), varchar("hs_s_symb", 15), whole("hs_qty")),
			PrimaryKey: key("hs_ca_id", "hs_s_symb"), FillFactor: 80,
			Foreign: []workload.ForeignKey{
				refers("holding_summary", "customer_account", "hs_ca_id"), refers("holding_summary", "security", "hs_s_symb"),
			},
			Rows: w.source(w.units*groups, w.estimate().summaries, holdingSummaryRows),
		},
		{
			Name:       "holding",
			Columns:    columns(id("h_t_id"), id("h_ca_id"), varchar("h_s_symb", 15), stamp("h_dts"), money("h_price"), whole("h_qty")),
			PrimaryKey: key("h_t_id"), FillFactor: 90,
			Indexes: []workload.Index{index("holding_account", "h_ca_id", "h_s_symb")},
			Foreign: []workload.ForeignKey{
				refers("holding", "trade", "h_t_id"), refers("holding", "holding_summary", "h_ca_id", "h_s_symb"),
			},
			Rows: w.source(w.units*groups, w.estimate().holdings, holdingRows),
		},
		{
			Name:       "holding_history",
			Columns:    columns(id("hh_h_t_id"), id("hh_t_id"), whole("hh_before_qty"), whole("hh_after_qty")),
			PrimaryKey: key("hh_h_t_id", "hh_t_id"),
			Indexes:    []workload.Index{index("holding_history_trade", "hh_t_id")},
			Foreign: []workload.ForeignKey{
				refers("holding_history", "trade", "hh_h_t_id"), refers("holding_history", "trade", "hh_t_id"),
			},
			Rows: w.source(w.units*groups, w.estimate().changes, holdingHistoryRows),
		},
	}
}
