package brokerage

import (
	"strconv"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

// texts executes each transaction statement by statement, in SQL that every
// engine takes.
type texts struct {
	list []*workload.Statement
	readTexts
	writeTexts
	maintain [maintained]*workload.Statement
	clean    [5]*workload.Statement
}

// readTexts are the statements of transactions that only read, and of those
// that read the same.
type readTexts struct {
	statusTrades, statusNames                                   *workload.Statement
	watched, held, ofIndustry                                   *workload.Statement
	company, competitors, reports, daily, last, shortNews, news *workload.Statement
	byTaxID, person, worth, recent                              *workload.Statement
	volume                                                      *workload.Statement
	tradeList, settlements, payments, steps                     *workload.Statement
	ofAccount, ofSymbol, firstOf, holdingSteps                  *workload.Statement
	rename, retype, recall                                      *workload.Statement
}

// text adds a statement to the list.
func (t *texts) text(name, sql string, params ...string) *workload.Statement {
	st := &workload.Statement{Index: len(t.list), Name: name, Text: sql, Params: params}
	t.list = append(t.list, st)
	return st
}

// numbered are the names of n parameters.
func numbered(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = prefix + strconv.Itoa(i+1)
	}
	return out
}

// places is names as parameters in a list.
func places(names []string) string { return ":" + strings.Join(names, ", :") }

func newTexts() *texts {
	t := &texts{}
	t.statusTexts()
	t.watchTexts()
	t.detailTexts()
	t.lookupTexts()
	t.updateTexts()
	t.orderTexts()
	t.resultTexts()
	t.feedTexts()
	t.maintenanceTexts()
	return t
}

func (t *texts) statusTexts() {
	t.statusTrades = t.text("trades of account", `SELECT t_id, t_dts, st_name, tt_name, t_s_symb, t_qty, t_exec_name, t_chrg, s_name, ex_name
FROM trade JOIN status_type ON st_id = t_st_id JOIN trade_type ON tt_id = t_tt_id
JOIN security ON s_symb = t_s_symb JOIN exchange ON ex_id = s_ex_id
WHERE t_ca_id = :ca_id ORDER BY t_dts DESC, t_id DESC {limit 50}`, "ca_id")
	t.statusNames = t.text("names of account", `SELECT c_l_name, c_f_name, b_name
FROM customer_account JOIN customer ON c_id = ca_c_id JOIN broker ON b_id = ca_b_id WHERE ca_id = :ca_id`, "ca_id")
	t.byTaxID = t.text("customer by tax id", `SELECT c_id FROM customer WHERE c_tax_id = :tax_id`, "tax_id")
	t.person = t.text("customer", `SELECT c_st_id, c_l_name, c_f_name, c_m_name, c_gndr, c_tier, c_dob, c_ad_id,
c_ctry_1, c_area_1, c_local_1, c_ext_1, c_ctry_2, c_area_2, c_local_2, c_ext_2, c_ctry_3, c_area_3, c_local_3, c_ext_3,
c_email_1, c_email_2 FROM customer WHERE c_id = :c_id`, "c_id")
	t.worth = t.text("worth of accounts", `SELECT ca_id, ca_bal, coalesce(sum(hs_qty * lt_price), 0) AS worth
FROM customer_account LEFT JOIN holding_summary ON hs_ca_id = ca_id LEFT JOIN last_trade ON lt_s_symb = hs_s_symb
WHERE ca_c_id = :c_id GROUP BY ca_id, ca_bal ORDER BY worth, ca_id {limit 10}`, "c_id")
	t.recent = t.text("recent history", `SELECT t_id, t_s_symb, t_qty, st_name, th_dts
FROM (SELECT t_id, t_s_symb, t_qty FROM trade WHERE t_ca_id = :ca_id ORDER BY t_dts DESC, t_id DESC {limit 10}) t
JOIN trade_history ON th_t_id = t_id JOIN status_type ON st_id = th_st_id ORDER BY th_dts DESC, t_id DESC {limit 30}`, "ca_id")
}

func (t *texts) watchTexts() {
	const value = `SELECT count(*), coalesce(sum(s_num_out * lt_price), 0), coalesce(sum(s_num_out * dm_close), 0) FROM `
	const priced = ` JOIN last_trade ON lt_s_symb = s_symb JOIN daily_market ON dm_s_symb = s_symb AND dm_date = :day WHERE `
	t.watched = t.text("value of watch list", value+`watch_list JOIN watch_item ON wi_wl_id = wl_id
JOIN security ON s_symb = wi_s_symb`+priced+`wl_c_id = :c_id`, "day", "c_id")
	t.held = t.text("value of holdings", value+`holding_summary JOIN security ON s_symb = hs_s_symb`+priced+
		`hs_ca_id = :ca_id`, "day", "ca_id")
	t.ofIndustry = t.text("value of industry", value+`industry JOIN company ON co_in_id = in_id
JOIN security ON s_co_id = co_id`+priced+`in_name = :industry AND co_id BETWEEN :first AND :last`, "day", "industry", "first", "last")
	names := numbered("b", manyBrokers)
	t.volume = t.text("volume of brokers", `SELECT b_name, sum(tr_qty * tr_bid_price) AS volume
FROM sector JOIN industry ON in_sc_id = sc_id JOIN company ON co_in_id = in_id JOIN security ON s_co_id = co_id
JOIN trade_request ON tr_s_symb = s_symb JOIN broker ON b_id = tr_b_id
WHERE sc_name = :sector AND b_name IN (`+places(names)+`) GROUP BY b_name ORDER BY volume DESC, b_name`,
		append([]string{"sector"}, names...)...)
}

func (t *texts) detailTexts() {
	t.company = t.text("security and company", `SELECT co_id, s_name, co_name, co_sp_rate, co_ceo, co_desc, co_open_date, co_st_id,
ca.ad_line1, ca.ad_line2, cz.zc_town, cz.zc_div, ca.ad_zc_code, ca.ad_ctry, s_num_out, s_start_date, s_exch_date, s_pe,
s_52wk_high, s_52wk_high_date, s_52wk_low, s_52wk_low_date, s_dividend, s_yield,
ex_name, ex_num_symb, ex_open, ex_close, ex_desc, ea.ad_line1, ea.ad_line2, ez.zc_town, ez.zc_div, ea.ad_zc_code, ea.ad_ctry
FROM security JOIN company ON co_id = s_co_id JOIN address ca ON ca.ad_id = co_ad_id JOIN zip_code cz ON cz.zc_code = ca.ad_zc_code
JOIN exchange ON ex_id = s_ex_id JOIN address ea ON ea.ad_id = ex_ad_id JOIN zip_code ez ON ez.zc_code = ea.ad_zc_code
WHERE s_symb = :symbol`, "symbol")
	t.competitors = t.text("competitors", `SELECT co_name, in_name FROM company_competitor
JOIN company ON co_id = cp_comp_co_id JOIN industry ON in_id = cp_in_id WHERE cp_co_id = :co_id ORDER BY co_id {limit 3}`, "co_id")
	t.reports = t.text("financial reports", `SELECT fi_year, fi_qtr, fi_qtr_start_date, fi_revenue, fi_net_earn, fi_basic_eps,
fi_dilut_eps, fi_margin, fi_inventory, fi_assets, fi_liability, fi_out_basic, fi_out_dilut
FROM financial WHERE fi_co_id = :co_id ORDER BY fi_year, fi_qtr {limit 20}`, "co_id")
	t.daily = t.text("daily prices", `SELECT dm_date, dm_close, dm_high, dm_low, dm_vol FROM daily_market
WHERE dm_s_symb = :symbol AND dm_date >= :day ORDER BY dm_date {limit :rows}`, "symbol", "day", "rows")
	t.last = t.text("last trade", `SELECT lt_price, lt_open_price, lt_vol FROM last_trade WHERE lt_s_symb = :symbol`, "symbol")
	const of = ` FROM news_xref JOIN news_item ON ni_id = nx_ni_id WHERE nx_co_id = :co_id ORDER BY ni_id {limit 2}`
	t.shortNews = t.text("news in short", `SELECT ni_dts, ni_source, ni_author, ni_headline, ni_summary`+of, "co_id")
	t.news = t.text("news in full", `SELECT ni_dts, ni_source, ni_author, ni_item`+of, "co_id")
}

// listed is a condition on a column for the trades of a transaction.
func listed(column string) string { return column + " IN (" + places(numbered("t", manyTrades)) + ")" }

func (t *texts) lookupTexts() {
	ids := numbered("t", manyTrades)
	t.tradeList = t.text("trades", `SELECT t_id, t_bid_price, t_exec_name, t_is_cash, tt_is_mrkt, t_trade_price
FROM trade JOIN trade_type ON tt_id = t_tt_id WHERE `+listed("t_id"), ids...)
	t.settlements = t.text("settlements", `SELECT se_t_id, se_amt, se_cash_due_date, se_cash_type FROM settlement WHERE `+listed("se_t_id"), ids...)
	t.payments = t.text("cash transactions", `SELECT ct_t_id, ct_amt, ct_dts, ct_name FROM cash_transaction WHERE `+listed("ct_t_id"), ids...)
	t.steps = t.text("history of trades", `SELECT th_t_id, th_dts, th_st_id FROM trade_history WHERE `+listed("th_t_id")+
		` ORDER BY th_t_id, th_dts`, ids...)
	t.ofAccount = t.text("trades of account in time", `SELECT t_id, t_bid_price, t_exec_name, t_is_cash, t_trade_price
FROM trade WHERE t_ca_id = :ca_id AND t_dts >= :from AND t_dts <= :to ORDER BY t_dts, t_id {limit 20}`, "ca_id", "from", "to")
	t.ofSymbol = t.text("trades of security in time", `SELECT t_id, t_ca_id, t_exec_name, t_is_cash, t_trade_price, t_qty, t_dts, t_tt_id
FROM trade WHERE t_s_symb = :symbol AND t_dts >= :from AND t_dts <= :to ORDER BY t_dts, t_id {limit 20}`, "symbol", "from", "to")
	t.firstOf = t.text("first trade of account", `SELECT t_id FROM trade
WHERE t_ca_id = :ca_id AND t_dts >= :from ORDER BY t_dts, t_id {limit 1}`, "ca_id", "from")
	t.holdingSteps = t.text("history of holdings", `SELECT hh_h_t_id, hh_t_id, hh_before_qty, hh_after_qty FROM holding_history
WHERE hh_h_t_id IN (SELECT hh_h_t_id FROM holding_history WHERE hh_t_id = :t_id) ORDER BY hh_h_t_id, hh_t_id {limit 20}`, "t_id")
}

func (t *texts) updateTexts() {
	ids := numbered("t", manyTrades)
	t.rename = t.text("rename executors", `UPDATE trade SET t_exec_name = CASE WHEN t_exec_name LIKE '% X %'
THEN replace(t_exec_name, ' X ', ' ') ELSE replace(t_exec_name, ' ', ' X ') END WHERE `+listed("t_id"), ids...)
	t.retype = t.text("change cash types", `UPDATE settlement SET se_cash_type = CASE se_cash_type WHEN 'Cash Account' THEN 'Cash'
WHEN 'Cash' THEN 'Cash Account' WHEN 'Margin' THEN 'Margin Account' ELSE 'Margin' END WHERE `+listed("se_t_id"), ids...)
	// Not LIKE, to which case means nothing in some engines.
	t.recall = t.text("rename cash transactions", `UPDATE cash_transaction SET ct_name = CASE WHEN replace(ct_name, ' shares of ', ' Shares of ') <> ct_name
THEN replace(ct_name, ' shares of ', ' Shares of ') ELSE replace(ct_name, ' Shares of ', ' shares of ') END WHERE `+listed("ct_t_id"), ids...)
}
