package brokerage

import "github.com/loadstone-perf/loadstone/internal/workload"

// writeTexts are the statements of Trade-Order, Trade-Result and Market-Feed.
type writeTexts struct {
	accountInfo, permission, byName, bySymbol, lastPrice, kindOf, position *workload.Statement
	oldest, newest, taxRates, rate, assets                                 *workload.Statement
	insertTrade, lastNumber, insertRequest, insertStep                     *workload.Statement

	trade, openPosition, movePosition, closePosition        *workload.Statement
	openLot, moveLot, closeLot, insertChange                *workload.Statement
	complete, earn, settle, pay, insertPayment, balance     *workload.Statement
	newPrice, requests, submit, insertSubmit, deleteRequest *workload.Statement
}

func (t *texts) orderTexts() {
	t.accountInfo = t.text("account", `SELECT ca_b_id, ca_c_id, ca_tax_st, ca_bal, c_tier, c_f_name, c_l_name, c_tax_id, ca_name, b_name
FROM customer_account JOIN customer ON c_id = ca_c_id JOIN broker ON b_id = ca_b_id WHERE ca_id = :ca_id`, "ca_id")
	t.permission = t.text("permission", `SELECT ap_acl FROM account_permission
WHERE ap_ca_id = :ca_id AND ap_tax_id = :tax_id AND ap_f_name = :f_name AND ap_l_name = :l_name`, "ca_id", "tax_id", "f_name", "l_name")
	t.byName = t.text("security by name", `SELECT s_symb, s_ex_id, s_name, co_name FROM company JOIN security ON s_co_id = co_id
WHERE co_name = :co_name AND s_issue = :issue`, "co_name", "issue")
	t.bySymbol = t.text("security by symbol", `SELECT s_symb, s_ex_id, s_name, co_name FROM security JOIN company ON co_id = s_co_id
WHERE s_symb = :symbol`, "symbol")
	t.lastPrice = t.text("price", `SELECT lt_price FROM last_trade WHERE lt_s_symb = :symbol`, "symbol")
	t.kindOf = t.text("type of trade", `SELECT tt_is_mrkt, tt_is_sell FROM trade_type WHERE tt_id = :tt_id`, "tt_id")
	t.position = t.text("position", `SELECT hs_qty FROM holding_summary WHERE hs_ca_id = :ca_id AND hs_s_symb = :symbol`, "ca_id", "symbol")
	const lots = `SELECT h_t_id, h_qty, h_price FROM holding WHERE h_ca_id = :ca_id AND h_s_symb = :symbol `
	t.oldest = t.text("lots, oldest first", lots+`ORDER BY h_dts, h_t_id`, "ca_id", "symbol")
	t.newest = t.text("lots, newest first", lots+`ORDER BY h_dts DESC, h_t_id DESC`, "ca_id", "symbol")
	t.taxRates = t.text("tax rates", `SELECT CAST(sum(tx_rate) AS decimal(8, 5)) FROM customer_taxrate JOIN taxrate ON tx_id = cx_tx_id
WHERE cx_c_id = :c_id`, "c_id")
	t.rate = t.text("commission rate", `SELECT cr_rate, ch_chrg FROM commission_rate JOIN charge ON ch_tt_id = cr_tt_id AND ch_c_tier = cr_c_tier
WHERE cr_c_tier = :tier AND cr_tt_id = :tt_id AND cr_ex_id = :ex_id AND cr_from_qty <= :qty AND cr_to_qty >= :qty`,
		"tier", "tt_id", "ex_id", "qty")
	t.assets = t.text("assets", `SELECT coalesce(sum(hs_qty * lt_price), 0) FROM holding_summary JOIN last_trade ON lt_s_symb = hs_s_symb
WHERE hs_ca_id = :ca_id`, "ca_id")
	t.insertTrade = t.text("insert trade", `INSERT INTO trade (t_dts, t_st_id, t_tt_id, t_is_cash, t_s_symb, t_qty, t_bid_price, t_ca_id,
t_exec_name, t_trade_price, t_chrg, t_comm, t_tax, t_lifo)
VALUES (:at, :st_id, :tt_id, :is_cash, :symbol, :qty, :bid, :ca_id, :exec_name, NULL, :charge, :commission, 0, :lifo)`,
		"at", "st_id", "tt_id", "is_cash", "symbol", "qty", "bid", "ca_id", "exec_name", "charge", "commission", "lifo")
	// Not every engine returns numbers from an insert.
	t.lastNumber = t.text("number of trade", `SELECT {last id}`)
	t.insertRequest = t.text("insert request", `INSERT INTO trade_request (tr_t_id, tr_tt_id, tr_s_symb, tr_qty, tr_bid_price, tr_b_id)
VALUES (:t_id, :tt_id, :symbol, :qty, :bid, :b_id)`, "t_id", "tt_id", "symbol", "qty", "bid", "b_id")
	t.insertStep = t.text("insert history", `INSERT INTO trade_history (th_t_id, th_dts, th_st_id) VALUES (:t_id, :at, :st_id)`,
		"t_id", "at", "st_id")
}

func (t *texts) resultTexts() {
	t.trade = t.text("trade to complete", `SELECT t_st_id, t_ca_id, t_tt_id, t_s_symb, t_qty, t_chrg, t_lifo, t_is_cash, tt_is_sell,
ca_b_id, ca_c_id, ca_tax_st, s_ex_id, s_name, c_tier, t_dts
FROM trade JOIN trade_type ON tt_id = t_tt_id JOIN customer_account ON ca_id = t_ca_id JOIN customer ON c_id = ca_c_id
JOIN security ON s_symb = t_s_symb WHERE t_id = :t_id`, "t_id")
	t.openPosition = t.text("open position", `INSERT INTO holding_summary (hs_ca_id, hs_s_symb, hs_qty) VALUES (:ca_id, :symbol, :qty)`,
		"ca_id", "symbol", "qty")
	t.movePosition = t.text("change position", `UPDATE holding_summary SET hs_qty = :qty WHERE hs_ca_id = :ca_id AND hs_s_symb = :symbol`,
		"qty", "ca_id", "symbol")
	t.closePosition = t.text("close position", `DELETE FROM holding_summary WHERE hs_ca_id = :ca_id AND hs_s_symb = :symbol`, "ca_id", "symbol")
	t.openLot = t.text("insert lot", `INSERT INTO holding (h_t_id, h_ca_id, h_s_symb, h_dts, h_price, h_qty)
VALUES (:t_id, :ca_id, :symbol, :at, :price, :qty)`, "t_id", "ca_id", "symbol", "at", "price", "qty")
	t.moveLot = t.text("change lot", `UPDATE holding SET h_qty = :qty WHERE h_t_id = :t_id`, "qty", "t_id")
	t.closeLot = t.text("delete lot", `DELETE FROM holding WHERE h_t_id = :t_id`, "t_id")
	t.insertChange = t.text("insert holding history", `INSERT INTO holding_history (hh_h_t_id, hh_t_id, hh_before_qty, hh_after_qty)
VALUES (:h_t_id, :t_id, :before, :after)`, "h_t_id", "t_id", "before", "after")
	t.complete = t.text("complete trade", `UPDATE trade SET t_comm = :commission, t_tax = :tax, t_dts = :at, t_st_id = 'CMPT', t_trade_price = :price
WHERE t_id = :t_id`, "commission", "tax", "at", "price", "t_id")
	t.earn = t.text("credit broker", `UPDATE broker SET b_comm_total = b_comm_total + :commission, b_num_trades = b_num_trades + 1
WHERE b_id = :b_id`, "commission", "b_id")
	t.settle = t.text("insert settlement", `INSERT INTO settlement (se_t_id, se_cash_type, se_cash_due_date, se_amt)
VALUES (:t_id, :cash_type, :due, :amount)`, "t_id", "cash_type", "due", "amount")
	t.pay = t.text("change balance", `UPDATE customer_account SET ca_bal = ca_bal + :amount WHERE ca_id = :ca_id`, "amount", "ca_id")
	t.insertPayment = t.text("insert cash transaction", `INSERT INTO cash_transaction (ct_t_id, ct_dts, ct_amt, ct_name)
VALUES (:t_id, :at, :amount, :name)`, "t_id", "at", "amount", "name")
	t.balance = t.text("balance", `SELECT ca_bal FROM customer_account WHERE ca_id = :ca_id`, "ca_id")
}

func (t *texts) feedTexts() {
	t.newPrice = t.text("new price", `UPDATE last_trade SET lt_price = :price, lt_vol = lt_vol + :qty, lt_dts = :at WHERE lt_s_symb = :symbol`,
		"price", "qty", "at", "symbol")
	t.requests = t.text("requests in the money", `SELECT tr_t_id, tr_qty FROM trade_request
WHERE tr_s_symb = :symbol AND (tr_tt_id = 'TSL' AND tr_bid_price >= :price OR tr_tt_id = 'TLS' AND tr_bid_price <= :price
OR tr_tt_id = 'TLB' AND tr_bid_price >= :price) ORDER BY tr_t_id {lock update}`, "symbol", "price")
	// An order may reach the database while the feed is under way, and be dated
	// later than the feed.
	t.submit = t.text("submit trade", `UPDATE trade SET t_st_id = 'SBMT', t_dts = CASE WHEN t_dts > :at THEN t_dts ELSE :at END
WHERE t_id = :t_id`, "at", "t_id")
	t.insertSubmit = t.text("history of submitted trade", `INSERT INTO trade_history (th_t_id, th_dts, th_st_id)
SELECT t_id, t_dts, t_st_id FROM trade WHERE t_id = :t_id`, "t_id")
	t.deleteRequest = t.text("delete request", `DELETE FROM trade_request WHERE tr_t_id = :t_id`, "t_id")
}

// maintained is how many tables Data-Maintenance goes round.
const maintained = 12

// The tables, in the order in which it does.
const (
	mPermission = iota
	mAddress
	mCompany
	mCustomer
	mCustomerTax
	mDaily
	mExchange
	mFinancial
	mNews
	mSecurity
	mTax
	mWatch
)

func (t *texts) maintenanceTexts() {
	m := &t.maintain
	m[mPermission] = t.text("maintain account_permission", `UPDATE account_permission SET ap_acl = CASE ap_acl WHEN '1111' THEN '0011' ELSE '1111' END
WHERE ap_ca_id = :ca_id`, "ca_id")
	m[mAddress] = t.text("maintain address", `UPDATE address SET ad_line2 = CASE ad_line2 WHEN 'Unit 10C' THEN 'Unit 22' ELSE 'Unit 10C' END
WHERE ad_id = (SELECT c_ad_id FROM customer WHERE c_id = :c_id)`, "c_id")
	m[mCompany] = t.text("maintain company", `UPDATE company SET co_sp_rate = CASE co_sp_rate WHEN 'ABA ' THEN 'AAA ' ELSE 'ABA ' END
WHERE co_id = :co_id`, "co_id")
	m[mCustomer] = t.text("maintain customer", `UPDATE customer SET c_email_2 = CASE WHEN c_email_2 LIKE '%@mail.example'
THEN replace(c_email_2, '@mail.example', '@post.example') ELSE replace(c_email_2, '@post.example', '@mail.example') END
WHERE c_id = :c_id`, "c_id")
	m[mCustomerTax] = t.text("maintain customer_taxrate", `UPDATE customer_taxrate SET cx_tx_id = :tx_id WHERE cx_c_id = :c_id AND cx_tx_id LIKE 'D%'`,
		"tx_id", "c_id")
	m[mDaily] = t.text("maintain daily_market", `UPDATE daily_market SET dm_vol = dm_vol + :more WHERE dm_s_symb = :symbol AND dm_date BETWEEN :first AND :last`,
		"more", "symbol", "first", "last")
	m[mExchange] = t.text("maintain exchange", `UPDATE exchange SET ex_desc = :text`, "text")
	m[mFinancial] = t.text("maintain financial", `UPDATE financial SET fi_qtr_start_date = :day WHERE fi_co_id = :co_id AND fi_year = :year AND fi_qtr = :quarter`,
		"day", "co_id", "year", "quarter")
	m[mNews] = t.text("maintain news_item", `UPDATE news_item SET ni_dts = :at WHERE ni_id IN (SELECT nx_ni_id FROM news_xref WHERE nx_co_id = :co_id)`,
		"at", "co_id")
	m[mSecurity] = t.text("maintain security", `UPDATE security SET s_exch_date = :day WHERE s_symb = :symbol`, "day", "symbol")
	// Not LIKE, to which case means nothing in some engines.
	m[mTax] = t.text("maintain taxrate", `UPDATE taxrate SET tx_name = CASE WHEN replace(tx_name, ' Tax ', ' tax ') <> tx_name
THEN replace(tx_name, ' Tax ', ' tax ') ELSE replace(tx_name, ' tax ', ' Tax ') END WHERE tx_id = :tx_id`, "tx_id")
	m[mWatch] = t.text("maintain watch_item", `UPDATE watch_item SET wi_s_symb = :new WHERE wi_wl_id = :wl_id AND wi_s_symb = :old`, "new", "wl_id", "old")

	c := &t.clean
	c[0] = t.text("history of open requests", `INSERT INTO trade_history (th_t_id, th_dts, th_st_id)
SELECT t_id, :at, 'SBMT' FROM trade WHERE t_st_id = 'PNDG' AND t_dts < :at`, "at")
	c[1] = t.text("submit open requests", `UPDATE trade SET t_st_id = 'SBMT' WHERE t_st_id = 'PNDG' AND t_dts < :at`, "at")
	c[2] = t.text("delete open requests", `DELETE FROM trade_request WHERE tr_t_id IN (SELECT t_id FROM trade WHERE t_st_id = 'SBMT' AND t_dts < :at)`, "at")
	c[3] = t.text("history of cancelled trades", `INSERT INTO trade_history (th_t_id, th_dts, th_st_id)
SELECT t_id, :at, 'CNCL' FROM trade WHERE t_st_id = 'SBMT' AND t_dts < :at`, "at")
	c[4] = t.text("cancel trades", `UPDATE trade SET t_st_id = 'CNCL', t_dts = :at WHERE t_st_id = 'SBMT' AND t_dts < :at`, "at")
}
