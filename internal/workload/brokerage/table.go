package brokerage

import "github.com/loadstone-perf/loadstone/internal/workload"

// The types of columns. Identifiers are whole numbers of 64 bits, amounts and
// prices decimals of two places: see the guide for where they are wider than
// the specification asks.
func id(name string) workload.Column    { return col(name, workload.Type{Base: workload.Int64}) }
func whole(name string) workload.Column { return col(name, workload.Type{Base: workload.Int32}) }
func small(name string) workload.Column { return col(name, workload.Type{Base: workload.Int16}) }
func money(name string) workload.Column { return decimal(name, 12, 2) }
func stamp(name string) workload.Column { return col(name, workload.Type{Base: workload.Timestamp}) }
func day(name string) workload.Column   { return col(name, workload.Type{Base: workload.Date}) }
func flag(name string) workload.Column  { return col(name, workload.Type{Base: workload.Boolean}) }
func long(name string) workload.Column  { return col(name, workload.Type{Base: workload.LongText}) }

func decimal(name string, precision, scale int) workload.Column {
	return col(name, workload.Type{Base: workload.Decimal, Precision: precision, Scale: scale})
}

func varchar(name string, n int) workload.Column {
	return col(name, workload.Type{Base: workload.Varchar, Length: n})
}

func char(name string, n int) workload.Column {
	return col(name, workload.Type{Base: workload.Char, Length: n})
}

func col(name string, t workload.Type) workload.Column {
	return workload.Column{Name: name, Type: t, NotNull: true}
}

func null(c workload.Column) workload.Column {
	c.NotNull = false
	return c
}

// columns is a table's columns.
func columns(c ...workload.Column) []workload.Column { return c }

// key is a list of columns' names.
func key(names ...string) []string { return names }

// refers is a foreign key of table from the columns to the primary key of to.
func refers(table, to string, columns ...string) workload.ForeignKey {
	name := table
	for _, c := range columns {
		name += "_" + c
	}
	return workload.ForeignKey{Name: name, Columns: columns, Table: to}
}

func index(name string, columns ...string) workload.Index {
	return workload.Index{Name: name, Columns: columns}
}

// tables lists the 33 tables, those referred to before those that refer.
func (w *world) tables() []workload.Table {
	out := w.dimensionTables()
	out = append(out, w.companyTables()...)
	out = append(out, w.priceTables()...)
	out = append(out, w.customerTables()...)
	out = append(out, w.brokerTables()...)
	return append(out, w.tradeTables()...)
}

// dimensionTables are what others refer to and nobody writes.
func (w *world) dimensionTables() []workload.Table {
	return []workload.Table{
		{
			Name: "status_type", Columns: columns(char("st_id", 4), varchar("st_name", 10)), PrimaryKey: key("st_id"),
			Rows: w.once(statuses, statusRows),
		},
		{
			Name: "trade_type", Columns: columns(char("tt_id", 3), varchar("tt_name", 12), flag("tt_is_sell"), flag("tt_is_mrkt")),
			PrimaryKey: key("tt_id"), Rows: w.once(kinds, tradeTypeRows),
		},
		{
			Name: "zip_code", Columns: columns(varchar("zc_code", 12), varchar("zc_town", 80), varchar("zc_div", 80)),
			PrimaryKey: key("zc_code"), Rows: w.once(zips, zipRows),
		},
		{
			Name: "taxrate", Columns: columns(varchar("tx_id", 4), varchar("tx_name", 50), decimal("tx_rate", 6, 5)),
			PrimaryKey: key("tx_id"), Rows: w.once(taxes, taxRows),
		},
		{
			Name: "charge", Columns: columns(char("ch_tt_id", 3), small("ch_c_tier"), money("ch_chrg")),
			PrimaryKey: key("ch_tt_id", "ch_c_tier"),
			Foreign:    []workload.ForeignKey{refers("charge", "trade_type", "ch_tt_id")},
			Rows:       w.once(kinds*tiers, chargeRows),
		},
		{
			Name: "address",
			Columns: columns(id("ad_id"), null(varchar("ad_line1", 80)), null(varchar("ad_line2", 80)),
				varchar("ad_zc_code", 12), null(varchar("ad_ctry", 80))),
			PrimaryKey: key("ad_id"),
			Foreign:    []workload.ForeignKey{refers("address", "zip_code", "ad_zc_code")},
			Rows:       w.source(w.units+1, exchanges+w.companies()+w.customers, addressRows),
		},
		{
			Name: "exchange",
			Columns: columns(varchar("ex_id", 6), varchar("ex_name", 100), whole("ex_num_symb"), small("ex_open"),
				small("ex_close"), null(varchar("ex_desc", 150)), id("ex_ad_id")),
			PrimaryKey: key("ex_id"),
			Foreign:    []workload.ForeignKey{refers("exchange", "address", "ex_ad_id")},
			Rows:       w.once(exchanges, exchangeRows),
		},
		{
			Name: "commission_rate",
			Columns: columns(small("cr_c_tier"), char("cr_tt_id", 3), varchar("cr_ex_id", 6), whole("cr_from_qty"),
				whole("cr_to_qty"), decimal("cr_rate", 5, 2)),
			PrimaryKey: key("cr_c_tier", "cr_tt_id", "cr_ex_id", "cr_from_qty"),
			Foreign: []workload.ForeignKey{
				refers("commission_rate", "trade_type", "cr_tt_id"), refers("commission_rate", "exchange", "cr_ex_id"),
			},
			Rows: w.once(tiers*kinds*exchanges*bands, commissionRows),
		},
		{
			Name: "sector", Columns: columns(char("sc_id", 2), varchar("sc_name", 30)), PrimaryKey: key("sc_id"),
			Rows: w.once(sectors, sectorRows),
		},
		{
			Name: "industry", Columns: columns(char("in_id", 2), varchar("in_name", 50), char("in_sc_id", 2)),
			PrimaryKey: key("in_id"),
			Foreign:    []workload.ForeignKey{refers("industry", "sector", "in_sc_id")},
			Rows:       w.once(industries, industryRows),
		},
	}
}

// companyTables are companies, what they say of themselves, and the news.
func (w *world) companyTables() []workload.Table {
	return []workload.Table{
		{
			Name: "company",
			Columns: columns(id("co_id"), char("co_st_id", 4), varchar("co_name", 60), char("co_in_id", 2),
				char("co_sp_rate", 4), varchar("co_ceo", 46), null(id("co_ad_id")), varchar("co_desc", 150), day("co_open_date")),
			PrimaryKey: key("co_id"),
			Indexes:    []workload.Index{index("company_name", "co_name"), index("company_industry", "co_in_id")},
			Foreign: []workload.ForeignKey{
				refers("company", "status_type", "co_st_id"), refers("company", "industry", "co_in_id"),
				refers("company", "address", "co_ad_id"),
			},
			Rows: w.source(w.units, w.companies(), companyRows),
		},
		{
			Name: "company_competitor", Columns: columns(id("cp_co_id"), id("cp_comp_co_id"), char("cp_in_id", 2)),
			PrimaryKey: key("cp_co_id", "cp_comp_co_id", "cp_in_id"),
			Foreign: []workload.ForeignKey{
				refers("company_competitor", "company", "cp_co_id"), refers("company_competitor", "company", "cp_comp_co_id"),
				refers("company_competitor", "industry", "cp_in_id"),
			},
			Rows: w.source(w.units, competitors*w.companies(), competitorRows),
		},
		{
			Name: "financial",
			Columns: columns(id("fi_co_id"), small("fi_year"), small("fi_qtr"), day("fi_qtr_start_date"),
				decimal("fi_revenue", 15, 2), decimal("fi_net_earn", 15, 2), decimal("fi_basic_eps", 10, 2),
				decimal("fi_dilut_eps", 10, 2), decimal("fi_margin", 10, 2), decimal("fi_inventory", 15, 2),
				decimal("fi_assets", 15, 2), decimal("fi_liability", 15, 2), id("fi_out_basic"), id("fi_out_dilut")),
			PrimaryKey: key("fi_co_id", "fi_year", "fi_qtr"),
			Foreign:    []workload.ForeignKey{refers("financial", "company", "fi_co_id")},
			Rows:       w.source(w.units, quarters*w.companies(), financialRows),
		},
		{
			Name: "news_item",
			Columns: columns(id("ni_id"), varchar("ni_headline", 80), varchar("ni_summary", 255), long("ni_item"),
				stamp("ni_dts"), varchar("ni_source", 30), null(varchar("ni_author", 30))),
			PrimaryKey: key("ni_id"), Rows: w.source(w.customers/newsPerBatch, w.customers, newsRows),
		},
		{
			Name: "news_xref", Columns: columns(id("nx_ni_id"), id("nx_co_id")), PrimaryKey: key("nx_ni_id", "nx_co_id"),
			Indexes: []workload.Index{index("news_xref_company", "nx_co_id")},
			Foreign: []workload.ForeignKey{
				refers("news_xref", "news_item", "nx_ni_id"), refers("news_xref", "company", "nx_co_id"),
			},
			Rows: w.source(w.units, w.customers, newsReferenceRows),
		},
	}
}

// priceTables are securities and what they cost and cost before.
func (w *world) priceTables() []workload.Table {
	return []workload.Table{
		{
			Name: "security",
			Columns: columns(varchar("s_symb", 15), char("s_issue", 6), char("s_st_id", 4), varchar("s_name", 70),
				varchar("s_ex_id", 6), id("s_co_id"), id("s_num_out"), day("s_start_date"), day("s_exch_date"),
				decimal("s_pe", 10, 2), money("s_52wk_high"), day("s_52wk_high_date"), money("s_52wk_low"),
				day("s_52wk_low_date"), money("s_dividend"), decimal("s_yield", 5, 2)),
			PrimaryKey: key("s_symb"),
			Indexes:    []workload.Index{index("security_company", "s_co_id", "s_issue")},
			Foreign: []workload.ForeignKey{
				refers("security", "status_type", "s_st_id"), refers("security", "exchange", "s_ex_id"),
				refers("security", "company", "s_co_id"),
			},
			Rows: w.source(w.units, w.securities(), securityRows),
		},
		{
			Name: "last_trade",
			Columns: columns(varchar("lt_s_symb", 15), stamp("lt_dts"), money("lt_price"), money("lt_open_price"),
				null(id("lt_vol"))),
			PrimaryKey: key("lt_s_symb"), FillFactor: 50,
			Foreign: []workload.ForeignKey{refers("last_trade", "security", "lt_s_symb")},
			Rows:    w.source(w.units, w.securities(), lastTradeRows),
		},
		{
			Name: "daily_market",
			Columns: columns(day("dm_date"), varchar("dm_s_symb", 15), money("dm_close"), money("dm_high"),
				money("dm_low"), id("dm_vol")),
			PrimaryKey: key("dm_date", "dm_s_symb"),
			Indexes:    []workload.Index{index("daily_market_symbol", "dm_s_symb", "dm_date")},
			Foreign:    []workload.ForeignKey{refers("daily_market", "security", "dm_s_symb")},
			Rows:       w.source(w.securities()/symbolsPerBatch, w.securities()*w.marketDays, dailyRows),
		},
	}
}

// customerTables are customers with what they watch and the tax they pay.
func (w *world) customerTables() []workload.Table {
	phone := func(n string) []workload.Column {
		return columns(varchar("c_ctry_"+n, 3), varchar("c_area_"+n, 3), varchar("c_local_"+n, 10), null(varchar("c_ext_"+n, 5)))
	}
	c := columns(id("c_id"), varchar("c_tax_id", 20), char("c_st_id", 4), varchar("c_l_name", 25), varchar("c_f_name", 20),
		null(char("c_m_name", 1)), char("c_gndr", 1), small("c_tier"), day("c_dob"), id("c_ad_id"))
	c = append(append(append(c, phone("1")...), phone("2")...), phone("3")...)
	return []workload.Table{
		{
			Name: "customer", Columns: append(c, null(varchar("c_email_1", 50)), null(varchar("c_email_2", 50))),
			PrimaryKey: key("c_id"), Indexes: []workload.Index{{Name: "customer_tax", Columns: key("c_tax_id"), Unique: true}},
			Foreign: []workload.ForeignKey{
				refers("customer", "status_type", "c_st_id"), refers("customer", "address", "c_ad_id"),
			},
			Rows: w.source(w.units, w.customers, customerRows),
		},
		{
			Name: "customer_taxrate", Columns: columns(varchar("cx_tx_id", 4), id("cx_c_id")),
			PrimaryKey: key("cx_c_id", "cx_tx_id"),
			Foreign: []workload.ForeignKey{
				refers("customer_taxrate", "taxrate", "cx_tx_id"), refers("customer_taxrate", "customer", "cx_c_id"),
			},
			Rows: w.source(w.units, 2*w.customers, customerTaxRows),
		},
		{
			Name: "watch_list", Columns: columns(id("wl_id"), id("wl_c_id")), PrimaryKey: key("wl_id"),
			Indexes: []workload.Index{index("watch_list_customer", "wl_c_id")},
			Foreign: []workload.ForeignKey{refers("watch_list", "customer", "wl_c_id")},
			Rows:    w.source(w.units, w.customers, watchListRows),
		},
		{
			Name: "watch_item", Columns: columns(id("wi_wl_id"), varchar("wi_s_symb", 15)),
			PrimaryKey: key("wi_wl_id", "wi_s_symb"),
			Foreign: []workload.ForeignKey{
				refers("watch_item", "watch_list", "wi_wl_id"), refers("watch_item", "security", "wi_s_symb"),
			},
			Rows: w.source(w.units, (leastWatched+mostWatched)/2*w.customers, watchItemRows),
		},
	}
}

// brokerTables are brokers and the accounts that they keep.
func (w *world) brokerTables() []workload.Table {
	return []workload.Table{
		{
			Name:    "broker",
			Columns: columns(id("b_id"), char("b_st_id", 4), varchar("b_name", 49), id("b_num_trades"), money("b_comm_total")),
			// Few rows, which every completed trade updates.
			PrimaryKey: key("b_id"), FillFactor: 20,
			Indexes: []workload.Index{{Name: "broker_name", Columns: key("b_name"), Unique: true}},
			Foreign: []workload.ForeignKey{refers("broker", "status_type", "b_st_id")},
			Rows:    w.source(w.units, brokersPerUnit*w.units, brokerRows),
		},
		{
			Name:       "customer_account",
			Columns:    columns(id("ca_id"), id("ca_b_id"), id("ca_c_id"), null(varchar("ca_name", 50)), small("ca_tax_st"), money("ca_bal")),
			PrimaryKey: key("ca_id"), FillFactor: 90,
			Indexes: []workload.Index{index("customer_account_customer", "ca_c_id")},
			Foreign: []workload.ForeignKey{
				refers("customer_account", "broker", "ca_b_id"), refers("customer_account", "customer", "ca_c_id"),
			},
			Rows: w.source(w.units, 5*w.customers, accountRows),
		},
		{
			Name:       "account_permission",
			Columns:    columns(id("ap_ca_id"), char("ap_acl", 4), varchar("ap_tax_id", 20), varchar("ap_l_name", 25), varchar("ap_f_name", 20)),
			PrimaryKey: key("ap_ca_id", "ap_tax_id"),
			Foreign:    []workload.ForeignKey{refers("account_permission", "customer_account", "ap_ca_id")},
			Rows:       w.source(w.units, 71*w.customers/10, permissionRows),
		},
	}
}
