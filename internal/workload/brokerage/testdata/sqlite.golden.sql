CREATE TABLE status_type (
  st_id CHAR(4) NOT NULL,
  st_name VARCHAR(10) NOT NULL,
  PRIMARY KEY (st_id)
) WITHOUT ROWID;
CREATE TABLE trade_type (
  tt_id CHAR(3) NOT NULL,
  tt_name VARCHAR(12) NOT NULL,
  tt_is_sell BOOLEAN NOT NULL,
  tt_is_mrkt BOOLEAN NOT NULL,
  PRIMARY KEY (tt_id)
) WITHOUT ROWID;
CREATE TABLE zip_code (
  zc_code VARCHAR(12) NOT NULL,
  zc_town VARCHAR(80) NOT NULL,
  zc_div VARCHAR(80) NOT NULL,
  PRIMARY KEY (zc_code)
) WITHOUT ROWID;
CREATE TABLE taxrate (
  tx_id VARCHAR(4) NOT NULL,
  tx_name VARCHAR(50) NOT NULL,
  tx_rate DECIMAL(6,5) NOT NULL,
  PRIMARY KEY (tx_id)
) WITHOUT ROWID;
CREATE TABLE charge (
  ch_tt_id CHAR(3) NOT NULL,
  ch_c_tier SMALLINT NOT NULL,
  ch_chrg DECIMAL(12,2) NOT NULL,
  PRIMARY KEY (ch_tt_id, ch_c_tier),
  CONSTRAINT charge_ch_tt_id FOREIGN KEY (ch_tt_id) REFERENCES trade_type (tt_id)
) WITHOUT ROWID;
CREATE TABLE address (
  ad_id INTEGER PRIMARY KEY,
  ad_line1 VARCHAR(80),
  ad_line2 VARCHAR(80),
  ad_zc_code VARCHAR(12) NOT NULL,
  ad_ctry VARCHAR(80),
  CONSTRAINT address_ad_zc_code FOREIGN KEY (ad_zc_code) REFERENCES zip_code (zc_code)
);
CREATE TABLE exchange (
  ex_id VARCHAR(6) NOT NULL,
  ex_name VARCHAR(100) NOT NULL,
  ex_num_symb INTEGER NOT NULL,
  ex_open SMALLINT NOT NULL,
  ex_close SMALLINT NOT NULL,
  ex_desc VARCHAR(150),
  ex_ad_id BIGINT NOT NULL,
  PRIMARY KEY (ex_id),
  CONSTRAINT exchange_ex_ad_id FOREIGN KEY (ex_ad_id) REFERENCES address (ad_id)
);
CREATE TABLE commission_rate (
  cr_c_tier SMALLINT NOT NULL,
  cr_tt_id CHAR(3) NOT NULL,
  cr_ex_id VARCHAR(6) NOT NULL,
  cr_from_qty INTEGER NOT NULL,
  cr_to_qty INTEGER NOT NULL,
  cr_rate DECIMAL(5,2) NOT NULL,
  PRIMARY KEY (cr_c_tier, cr_tt_id, cr_ex_id, cr_from_qty),
  CONSTRAINT commission_rate_cr_tt_id FOREIGN KEY (cr_tt_id) REFERENCES trade_type (tt_id),
  CONSTRAINT commission_rate_cr_ex_id FOREIGN KEY (cr_ex_id) REFERENCES exchange (ex_id)
) WITHOUT ROWID;
CREATE TABLE sector (
  sc_id CHAR(2) NOT NULL,
  sc_name VARCHAR(30) NOT NULL,
  PRIMARY KEY (sc_id)
) WITHOUT ROWID;
CREATE TABLE industry (
  in_id CHAR(2) NOT NULL,
  in_name VARCHAR(50) NOT NULL,
  in_sc_id CHAR(2) NOT NULL,
  PRIMARY KEY (in_id),
  CONSTRAINT industry_in_sc_id FOREIGN KEY (in_sc_id) REFERENCES sector (sc_id)
) WITHOUT ROWID;
CREATE TABLE company (
  co_id INTEGER PRIMARY KEY,
  co_st_id CHAR(4) NOT NULL,
  co_name VARCHAR(60) NOT NULL,
  co_in_id CHAR(2) NOT NULL,
  co_sp_rate CHAR(4) NOT NULL,
  co_ceo VARCHAR(46) NOT NULL,
  co_ad_id BIGINT,
  co_desc VARCHAR(150) NOT NULL,
  co_open_date DATE NOT NULL,
  CONSTRAINT company_co_st_id FOREIGN KEY (co_st_id) REFERENCES status_type (st_id),
  CONSTRAINT company_co_in_id FOREIGN KEY (co_in_id) REFERENCES industry (in_id),
  CONSTRAINT company_co_ad_id FOREIGN KEY (co_ad_id) REFERENCES address (ad_id)
);
CREATE TABLE company_competitor (
  cp_co_id BIGINT NOT NULL,
  cp_comp_co_id BIGINT NOT NULL,
  cp_in_id CHAR(2) NOT NULL,
  PRIMARY KEY (cp_co_id, cp_comp_co_id, cp_in_id),
  CONSTRAINT company_competitor_cp_co_id FOREIGN KEY (cp_co_id) REFERENCES company (co_id),
  CONSTRAINT company_competitor_cp_comp_co_id FOREIGN KEY (cp_comp_co_id) REFERENCES company (co_id),
  CONSTRAINT company_competitor_cp_in_id FOREIGN KEY (cp_in_id) REFERENCES industry (in_id)
) WITHOUT ROWID;
CREATE TABLE financial (
  fi_co_id BIGINT NOT NULL,
  fi_year SMALLINT NOT NULL,
  fi_qtr SMALLINT NOT NULL,
  fi_qtr_start_date DATE NOT NULL,
  fi_revenue DECIMAL(15,2) NOT NULL,
  fi_net_earn DECIMAL(15,2) NOT NULL,
  fi_basic_eps DECIMAL(10,2) NOT NULL,
  fi_dilut_eps DECIMAL(10,2) NOT NULL,
  fi_margin DECIMAL(10,2) NOT NULL,
  fi_inventory DECIMAL(15,2) NOT NULL,
  fi_assets DECIMAL(15,2) NOT NULL,
  fi_liability DECIMAL(15,2) NOT NULL,
  fi_out_basic BIGINT NOT NULL,
  fi_out_dilut BIGINT NOT NULL,
  PRIMARY KEY (fi_co_id, fi_year, fi_qtr),
  CONSTRAINT financial_fi_co_id FOREIGN KEY (fi_co_id) REFERENCES company (co_id)
) WITHOUT ROWID;
CREATE TABLE news_item (
  ni_id INTEGER PRIMARY KEY,
  ni_headline VARCHAR(80) NOT NULL,
  ni_summary VARCHAR(255) NOT NULL,
  ni_item TEXT NOT NULL,
  ni_dts TIMESTAMP NOT NULL,
  ni_source VARCHAR(30) NOT NULL,
  ni_author VARCHAR(30)
);
CREATE TABLE news_xref (
  nx_ni_id BIGINT NOT NULL,
  nx_co_id BIGINT NOT NULL,
  PRIMARY KEY (nx_ni_id, nx_co_id),
  CONSTRAINT news_xref_nx_ni_id FOREIGN KEY (nx_ni_id) REFERENCES news_item (ni_id),
  CONSTRAINT news_xref_nx_co_id FOREIGN KEY (nx_co_id) REFERENCES company (co_id)
) WITHOUT ROWID;
CREATE TABLE security (
  s_symb VARCHAR(15) NOT NULL,
  s_issue CHAR(6) NOT NULL,
  s_st_id CHAR(4) NOT NULL,
  s_name VARCHAR(70) NOT NULL,
  s_ex_id VARCHAR(6) NOT NULL,
  s_co_id BIGINT NOT NULL,
  s_num_out BIGINT NOT NULL,
  s_start_date DATE NOT NULL,
  s_exch_date DATE NOT NULL,
  s_pe DECIMAL(10,2) NOT NULL,
  s_52wk_high DECIMAL(12,2) NOT NULL,
  s_52wk_high_date DATE NOT NULL,
  s_52wk_low DECIMAL(12,2) NOT NULL,
  s_52wk_low_date DATE NOT NULL,
  s_dividend DECIMAL(12,2) NOT NULL,
  s_yield DECIMAL(5,2) NOT NULL,
  PRIMARY KEY (s_symb),
  CONSTRAINT security_s_st_id FOREIGN KEY (s_st_id) REFERENCES status_type (st_id),
  CONSTRAINT security_s_ex_id FOREIGN KEY (s_ex_id) REFERENCES exchange (ex_id),
  CONSTRAINT security_s_co_id FOREIGN KEY (s_co_id) REFERENCES company (co_id)
) WITHOUT ROWID;
CREATE TABLE last_trade (
  lt_s_symb VARCHAR(15) NOT NULL,
  lt_dts TIMESTAMP NOT NULL,
  lt_price DECIMAL(12,2) NOT NULL,
  lt_open_price DECIMAL(12,2) NOT NULL,
  lt_vol BIGINT,
  PRIMARY KEY (lt_s_symb),
  CONSTRAINT last_trade_lt_s_symb FOREIGN KEY (lt_s_symb) REFERENCES security (s_symb)
) WITHOUT ROWID;
CREATE TABLE daily_market (
  dm_date DATE NOT NULL,
  dm_s_symb VARCHAR(15) NOT NULL,
  dm_close DECIMAL(12,2) NOT NULL,
  dm_high DECIMAL(12,2) NOT NULL,
  dm_low DECIMAL(12,2) NOT NULL,
  dm_vol BIGINT NOT NULL,
  PRIMARY KEY (dm_date, dm_s_symb),
  CONSTRAINT daily_market_dm_s_symb FOREIGN KEY (dm_s_symb) REFERENCES security (s_symb)
) WITHOUT ROWID;
CREATE TABLE customer (
  c_id INTEGER PRIMARY KEY,
  c_tax_id VARCHAR(20) NOT NULL,
  c_st_id CHAR(4) NOT NULL,
  c_l_name VARCHAR(25) NOT NULL,
  c_f_name VARCHAR(20) NOT NULL,
  c_m_name CHAR(1),
  c_gndr CHAR(1) NOT NULL,
  c_tier SMALLINT NOT NULL,
  c_dob DATE NOT NULL,
  c_ad_id BIGINT NOT NULL,
  c_ctry_1 VARCHAR(3) NOT NULL,
  c_area_1 VARCHAR(3) NOT NULL,
  c_local_1 VARCHAR(10) NOT NULL,
  c_ext_1 VARCHAR(5),
  c_ctry_2 VARCHAR(3) NOT NULL,
  c_area_2 VARCHAR(3) NOT NULL,
  c_local_2 VARCHAR(10) NOT NULL,
  c_ext_2 VARCHAR(5),
  c_ctry_3 VARCHAR(3) NOT NULL,
  c_area_3 VARCHAR(3) NOT NULL,
  c_local_3 VARCHAR(10) NOT NULL,
  c_ext_3 VARCHAR(5),
  c_email_1 VARCHAR(50),
  c_email_2 VARCHAR(50),
  CONSTRAINT customer_c_st_id FOREIGN KEY (c_st_id) REFERENCES status_type (st_id),
  CONSTRAINT customer_c_ad_id FOREIGN KEY (c_ad_id) REFERENCES address (ad_id)
);
CREATE TABLE customer_taxrate (
  cx_tx_id VARCHAR(4) NOT NULL,
  cx_c_id BIGINT NOT NULL,
  PRIMARY KEY (cx_c_id, cx_tx_id),
  CONSTRAINT customer_taxrate_cx_tx_id FOREIGN KEY (cx_tx_id) REFERENCES taxrate (tx_id),
  CONSTRAINT customer_taxrate_cx_c_id FOREIGN KEY (cx_c_id) REFERENCES customer (c_id)
) WITHOUT ROWID;
CREATE TABLE watch_list (
  wl_id INTEGER PRIMARY KEY,
  wl_c_id BIGINT NOT NULL,
  CONSTRAINT watch_list_wl_c_id FOREIGN KEY (wl_c_id) REFERENCES customer (c_id)
);
CREATE TABLE watch_item (
  wi_wl_id BIGINT NOT NULL,
  wi_s_symb VARCHAR(15) NOT NULL,
  PRIMARY KEY (wi_wl_id, wi_s_symb),
  CONSTRAINT watch_item_wi_wl_id FOREIGN KEY (wi_wl_id) REFERENCES watch_list (wl_id),
  CONSTRAINT watch_item_wi_s_symb FOREIGN KEY (wi_s_symb) REFERENCES security (s_symb)
) WITHOUT ROWID;
CREATE TABLE broker (
  b_id INTEGER PRIMARY KEY,
  b_st_id CHAR(4) NOT NULL,
  b_name VARCHAR(49) NOT NULL,
  b_num_trades BIGINT NOT NULL,
  b_comm_total DECIMAL(12,2) NOT NULL,
  CONSTRAINT broker_b_st_id FOREIGN KEY (b_st_id) REFERENCES status_type (st_id)
);
CREATE TABLE customer_account (
  ca_id INTEGER PRIMARY KEY,
  ca_b_id BIGINT NOT NULL,
  ca_c_id BIGINT NOT NULL,
  ca_name VARCHAR(50),
  ca_tax_st SMALLINT NOT NULL,
  ca_bal DECIMAL(12,2) NOT NULL,
  CONSTRAINT customer_account_ca_b_id FOREIGN KEY (ca_b_id) REFERENCES broker (b_id),
  CONSTRAINT customer_account_ca_c_id FOREIGN KEY (ca_c_id) REFERENCES customer (c_id)
);
CREATE TABLE account_permission (
  ap_ca_id BIGINT NOT NULL,
  ap_acl CHAR(4) NOT NULL,
  ap_tax_id VARCHAR(20) NOT NULL,
  ap_l_name VARCHAR(25) NOT NULL,
  ap_f_name VARCHAR(20) NOT NULL,
  PRIMARY KEY (ap_ca_id, ap_tax_id),
  CONSTRAINT account_permission_ap_ca_id FOREIGN KEY (ap_ca_id) REFERENCES customer_account (ca_id)
) WITHOUT ROWID;
CREATE TABLE trade (
  t_id INTEGER PRIMARY KEY,
  t_dts TIMESTAMP NOT NULL,
  t_st_id CHAR(4) NOT NULL,
  t_tt_id CHAR(3) NOT NULL,
  t_is_cash BOOLEAN NOT NULL,
  t_s_symb VARCHAR(15) NOT NULL,
  t_qty INTEGER NOT NULL,
  t_bid_price DECIMAL(12,2) NOT NULL,
  t_ca_id BIGINT NOT NULL,
  t_exec_name VARCHAR(49) NOT NULL,
  t_trade_price DECIMAL(12,2),
  t_chrg DECIMAL(12,2) NOT NULL,
  t_comm DECIMAL(12,2) NOT NULL,
  t_tax DECIMAL(12,2) NOT NULL,
  t_lifo BOOLEAN NOT NULL,
  CONSTRAINT trade_t_st_id FOREIGN KEY (t_st_id) REFERENCES status_type (st_id),
  CONSTRAINT trade_t_tt_id FOREIGN KEY (t_tt_id) REFERENCES trade_type (tt_id),
  CONSTRAINT trade_t_s_symb FOREIGN KEY (t_s_symb) REFERENCES security (s_symb),
  CONSTRAINT trade_t_ca_id FOREIGN KEY (t_ca_id) REFERENCES customer_account (ca_id)
);
CREATE TABLE trade_request (
  tr_t_id INTEGER PRIMARY KEY,
  tr_tt_id CHAR(3) NOT NULL,
  tr_s_symb VARCHAR(15) NOT NULL,
  tr_qty INTEGER NOT NULL,
  tr_bid_price DECIMAL(12,2) NOT NULL,
  tr_b_id BIGINT NOT NULL,
  CONSTRAINT trade_request_tr_t_id FOREIGN KEY (tr_t_id) REFERENCES trade (t_id),
  CONSTRAINT trade_request_tr_tt_id FOREIGN KEY (tr_tt_id) REFERENCES trade_type (tt_id),
  CONSTRAINT trade_request_tr_s_symb FOREIGN KEY (tr_s_symb) REFERENCES security (s_symb),
  CONSTRAINT trade_request_tr_b_id FOREIGN KEY (tr_b_id) REFERENCES broker (b_id)
);
CREATE TABLE trade_history (
  th_t_id BIGINT NOT NULL,
  th_dts TIMESTAMP NOT NULL,
  th_st_id CHAR(4) NOT NULL,
  PRIMARY KEY (th_t_id, th_st_id),
  CONSTRAINT trade_history_th_t_id FOREIGN KEY (th_t_id) REFERENCES trade (t_id),
  CONSTRAINT trade_history_th_st_id FOREIGN KEY (th_st_id) REFERENCES status_type (st_id)
) WITHOUT ROWID;
CREATE TABLE settlement (
  se_t_id INTEGER PRIMARY KEY,
  se_cash_type VARCHAR(40) NOT NULL,
  se_cash_due_date DATE NOT NULL,
  se_amt DECIMAL(12,2) NOT NULL,
  CONSTRAINT settlement_se_t_id FOREIGN KEY (se_t_id) REFERENCES trade (t_id)
);
CREATE TABLE cash_transaction (
  ct_t_id INTEGER PRIMARY KEY,
  ct_dts TIMESTAMP NOT NULL,
  ct_amt DECIMAL(12,2) NOT NULL,
  ct_name VARCHAR(100),
  CONSTRAINT cash_transaction_ct_t_id FOREIGN KEY (ct_t_id) REFERENCES trade (t_id)
);
CREATE TABLE holding_summary (
  hs_ca_id BIGINT NOT NULL,
  hs_s_symb VARCHAR(15) NOT NULL,
  hs_qty INTEGER NOT NULL,
  PRIMARY KEY (hs_ca_id, hs_s_symb),
  CONSTRAINT holding_summary_hs_ca_id FOREIGN KEY (hs_ca_id) REFERENCES customer_account (ca_id),
  CONSTRAINT holding_summary_hs_s_symb FOREIGN KEY (hs_s_symb) REFERENCES security (s_symb)
) WITHOUT ROWID;
CREATE TABLE holding (
  h_t_id INTEGER PRIMARY KEY,
  h_ca_id BIGINT NOT NULL,
  h_s_symb VARCHAR(15) NOT NULL,
  h_dts TIMESTAMP NOT NULL,
  h_price DECIMAL(12,2) NOT NULL,
  h_qty INTEGER NOT NULL,
  CONSTRAINT holding_h_t_id FOREIGN KEY (h_t_id) REFERENCES trade (t_id),
  CONSTRAINT holding_h_ca_id_h_s_symb FOREIGN KEY (h_ca_id, h_s_symb) REFERENCES holding_summary (hs_ca_id, hs_s_symb)
);
CREATE TABLE holding_history (
  hh_h_t_id BIGINT NOT NULL,
  hh_t_id BIGINT NOT NULL,
  hh_before_qty INTEGER NOT NULL,
  hh_after_qty INTEGER NOT NULL,
  PRIMARY KEY (hh_h_t_id, hh_t_id),
  CONSTRAINT holding_history_hh_h_t_id FOREIGN KEY (hh_h_t_id) REFERENCES trade (t_id),
  CONSTRAINT holding_history_hh_t_id FOREIGN KEY (hh_t_id) REFERENCES trade (t_id)
) WITHOUT ROWID;
CREATE INDEX company_name ON company (co_name);
CREATE INDEX company_industry ON company (co_in_id);
CREATE INDEX news_xref_company ON news_xref (nx_co_id);
CREATE INDEX security_company ON security (s_co_id, s_issue);
CREATE INDEX daily_market_symbol ON daily_market (dm_s_symb, dm_date);
CREATE UNIQUE INDEX customer_tax ON customer (c_tax_id);
CREATE INDEX watch_list_customer ON watch_list (wl_c_id);
CREATE UNIQUE INDEX broker_name ON broker (b_name);
CREATE INDEX customer_account_customer ON customer_account (ca_c_id);
CREATE INDEX trade_status ON trade (t_st_id, t_id);
CREATE INDEX trade_account ON trade (t_ca_id, t_dts);
CREATE INDEX trade_symbol ON trade (t_s_symb, t_dts);
CREATE INDEX trade_request_symbol ON trade_request (tr_s_symb);
CREATE INDEX trade_request_broker ON trade_request (tr_b_id);
CREATE INDEX holding_account ON holding (h_ca_id, h_s_symb);
CREATE INDEX holding_history_trade ON holding_history (hh_t_id);
-- trades of account
SELECT t_id, t_dts, st_name, tt_name, t_s_symb, t_qty, t_exec_name, t_chrg, s_name, ex_name FROM trade JOIN status_type ON st_id = t_st_id JOIN trade_type ON tt_id = t_tt_id JOIN security ON s_symb = t_s_symb JOIN exchange ON ex_id = s_ex_id WHERE t_ca_id = ?1 ORDER BY t_dts DESC, t_id DESC LIMIT 50;
-- names of account
SELECT c_l_name, c_f_name, b_name FROM customer_account JOIN customer ON c_id = ca_c_id JOIN broker ON b_id = ca_b_id WHERE ca_id = ?1;
-- customer by tax id
SELECT c_id FROM customer WHERE c_tax_id = ?1;
-- customer
SELECT c_st_id, c_l_name, c_f_name, c_m_name, c_gndr, c_tier, c_dob, c_ad_id, c_ctry_1, c_area_1, c_local_1, c_ext_1, c_ctry_2, c_area_2, c_local_2, c_ext_2, c_ctry_3, c_area_3, c_local_3, c_ext_3, c_email_1, c_email_2 FROM customer WHERE c_id = ?1;
-- worth of accounts
SELECT ca_id, ca_bal, coalesce(sum(hs_qty * lt_price), 0) AS worth FROM customer_account LEFT JOIN holding_summary ON hs_ca_id = ca_id LEFT JOIN last_trade ON lt_s_symb = hs_s_symb WHERE ca_c_id = ?1 GROUP BY ca_id, ca_bal ORDER BY worth, ca_id LIMIT 10;
-- recent history
SELECT t_id, t_s_symb, t_qty, st_name, th_dts FROM (SELECT t_id, t_s_symb, t_qty FROM trade WHERE t_ca_id = ?1 ORDER BY t_dts DESC, t_id DESC LIMIT 10) t JOIN trade_history ON th_t_id = t_id JOIN status_type ON st_id = th_st_id ORDER BY th_dts DESC, t_id DESC LIMIT 30;
-- value of watch list
SELECT count(*), coalesce(sum(s_num_out * lt_price), 0), coalesce(sum(s_num_out * dm_close), 0) FROM watch_list JOIN watch_item ON wi_wl_id = wl_id JOIN security ON s_symb = wi_s_symb JOIN last_trade ON lt_s_symb = s_symb JOIN daily_market ON dm_s_symb = s_symb AND dm_date = ?1 WHERE wl_c_id = ?2;
-- value of holdings
SELECT count(*), coalesce(sum(s_num_out * lt_price), 0), coalesce(sum(s_num_out * dm_close), 0) FROM holding_summary JOIN security ON s_symb = hs_s_symb JOIN last_trade ON lt_s_symb = s_symb JOIN daily_market ON dm_s_symb = s_symb AND dm_date = ?1 WHERE hs_ca_id = ?2;
-- value of industry
SELECT count(*), coalesce(sum(s_num_out * lt_price), 0), coalesce(sum(s_num_out * dm_close), 0) FROM industry JOIN company ON co_in_id = in_id JOIN security ON s_co_id = co_id JOIN last_trade ON lt_s_symb = s_symb JOIN daily_market ON dm_s_symb = s_symb AND dm_date = ?1 WHERE in_name = ?2 AND co_id BETWEEN ?3 AND ?4;
-- volume of brokers
SELECT b_name, sum(tr_qty * tr_bid_price) AS volume FROM sector JOIN industry ON in_sc_id = sc_id JOIN company ON co_in_id = in_id JOIN security ON s_co_id = co_id JOIN trade_request ON tr_s_symb = s_symb JOIN broker ON b_id = tr_b_id WHERE sc_name = ?1 AND b_name IN (?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37, ?38, ?39, ?40, ?41) GROUP BY b_name ORDER BY volume DESC, b_name;
-- security and company
SELECT co_id, s_name, co_name, co_sp_rate, co_ceo, co_desc, co_open_date, co_st_id, ca.ad_line1, ca.ad_line2, cz.zc_town, cz.zc_div, ca.ad_zc_code, ca.ad_ctry, s_num_out, s_start_date, s_exch_date, s_pe, s_52wk_high, s_52wk_high_date, s_52wk_low, s_52wk_low_date, s_dividend, s_yield, ex_name, ex_num_symb, ex_open, ex_close, ex_desc, ea.ad_line1, ea.ad_line2, ez.zc_town, ez.zc_div, ea.ad_zc_code, ea.ad_ctry FROM security JOIN company ON co_id = s_co_id JOIN address ca ON ca.ad_id = co_ad_id JOIN zip_code cz ON cz.zc_code = ca.ad_zc_code JOIN exchange ON ex_id = s_ex_id JOIN address ea ON ea.ad_id = ex_ad_id JOIN zip_code ez ON ez.zc_code = ea.ad_zc_code WHERE s_symb = ?1;
-- competitors
SELECT co_name, in_name FROM company_competitor JOIN company ON co_id = cp_comp_co_id JOIN industry ON in_id = cp_in_id WHERE cp_co_id = ?1 ORDER BY co_id LIMIT 3;
-- financial reports
SELECT fi_year, fi_qtr, fi_qtr_start_date, fi_revenue, fi_net_earn, fi_basic_eps, fi_dilut_eps, fi_margin, fi_inventory, fi_assets, fi_liability, fi_out_basic, fi_out_dilut FROM financial WHERE fi_co_id = ?1 ORDER BY fi_year, fi_qtr LIMIT 20;
-- daily prices
SELECT dm_date, dm_close, dm_high, dm_low, dm_vol FROM daily_market WHERE dm_s_symb = ?1 AND dm_date >= ?2 ORDER BY dm_date LIMIT ?3;
-- last trade
SELECT lt_price, lt_open_price, lt_vol FROM last_trade WHERE lt_s_symb = ?1;
-- news in short
SELECT ni_dts, ni_source, ni_author, ni_headline, ni_summary FROM news_xref JOIN news_item ON ni_id = nx_ni_id WHERE nx_co_id = ?1 ORDER BY ni_id LIMIT 2;
-- news in full
SELECT ni_dts, ni_source, ni_author, ni_item FROM news_xref JOIN news_item ON ni_id = nx_ni_id WHERE nx_co_id = ?1 ORDER BY ni_id LIMIT 2;
-- trades
SELECT t_id, t_bid_price, t_exec_name, t_is_cash, tt_is_mrkt, t_trade_price FROM trade JOIN trade_type ON tt_id = t_tt_id WHERE t_id IN (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20);
-- settlements
SELECT se_t_id, se_amt, se_cash_due_date, se_cash_type FROM settlement WHERE se_t_id IN (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20);
-- cash transactions
SELECT ct_t_id, ct_amt, ct_dts, ct_name FROM cash_transaction WHERE ct_t_id IN (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20);
-- history of trades
SELECT th_t_id, th_dts, th_st_id FROM trade_history WHERE th_t_id IN (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20) ORDER BY th_t_id, th_dts;
-- trades of account in time
SELECT t_id, t_bid_price, t_exec_name, t_is_cash, t_trade_price FROM trade WHERE t_ca_id = ?1 AND t_dts >= ?2 AND t_dts <= ?3 ORDER BY t_dts, t_id LIMIT 20;
-- trades of security in time
SELECT t_id, t_ca_id, t_exec_name, t_is_cash, t_trade_price, t_qty, t_dts, t_tt_id FROM trade WHERE t_s_symb = ?1 AND t_dts >= ?2 AND t_dts <= ?3 ORDER BY t_dts, t_id LIMIT 20;
-- first trade of account
SELECT t_id FROM trade WHERE t_ca_id = ?1 AND t_dts >= ?2 ORDER BY t_dts, t_id LIMIT 1;
-- history of holdings
SELECT hh_h_t_id, hh_t_id, hh_before_qty, hh_after_qty FROM holding_history WHERE hh_h_t_id IN (SELECT hh_h_t_id FROM holding_history WHERE hh_t_id = ?1) ORDER BY hh_h_t_id, hh_t_id LIMIT 20;
-- rename executors
UPDATE trade SET t_exec_name = CASE WHEN t_exec_name LIKE '% X %' THEN replace(t_exec_name, ' X ', ' ') ELSE replace(t_exec_name, ' ', ' X ') END WHERE t_id IN (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20);
-- change cash types
UPDATE settlement SET se_cash_type = CASE se_cash_type WHEN 'Cash Account' THEN 'Cash' WHEN 'Cash' THEN 'Cash Account' WHEN 'Margin' THEN 'Margin Account' ELSE 'Margin' END WHERE se_t_id IN (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20);
-- rename cash transactions
UPDATE cash_transaction SET ct_name = CASE WHEN replace(ct_name, ' shares of ', ' Shares of ') <> ct_name THEN replace(ct_name, ' shares of ', ' Shares of ') ELSE replace(ct_name, ' Shares of ', ' shares of ') END WHERE ct_t_id IN (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20);
-- account
SELECT ca_b_id, ca_c_id, ca_tax_st, ca_bal, c_tier, c_f_name, c_l_name, c_tax_id, ca_name, b_name FROM customer_account JOIN customer ON c_id = ca_c_id JOIN broker ON b_id = ca_b_id WHERE ca_id = ?1;
-- permission
SELECT ap_acl FROM account_permission WHERE ap_ca_id = ?1 AND ap_tax_id = ?2 AND ap_f_name = ?3 AND ap_l_name = ?4;
-- security by name
SELECT s_symb, s_ex_id, s_name, co_name FROM company JOIN security ON s_co_id = co_id WHERE co_name = ?1 AND s_issue = ?2;
-- security by symbol
SELECT s_symb, s_ex_id, s_name, co_name FROM security JOIN company ON co_id = s_co_id WHERE s_symb = ?1;
-- price
SELECT lt_price FROM last_trade WHERE lt_s_symb = ?1;
-- type of trade
SELECT tt_is_mrkt, tt_is_sell FROM trade_type WHERE tt_id = ?1;
-- position
SELECT hs_qty FROM holding_summary WHERE hs_ca_id = ?1 AND hs_s_symb = ?2;
-- lots, oldest first
SELECT h_t_id, h_qty, h_price FROM holding WHERE h_ca_id = ?1 AND h_s_symb = ?2 ORDER BY h_dts, h_t_id;
-- lots, newest first
SELECT h_t_id, h_qty, h_price FROM holding WHERE h_ca_id = ?1 AND h_s_symb = ?2 ORDER BY h_dts DESC, h_t_id DESC;
-- tax rates
SELECT CAST(sum(tx_rate) AS decimal(8, 5)) FROM customer_taxrate JOIN taxrate ON tx_id = cx_tx_id WHERE cx_c_id = ?1;
-- commission rate
SELECT cr_rate, ch_chrg FROM commission_rate JOIN charge ON ch_tt_id = cr_tt_id AND ch_c_tier = cr_c_tier WHERE cr_c_tier = ?1 AND cr_tt_id = ?2 AND cr_ex_id = ?3 AND cr_from_qty <= ?4 AND cr_to_qty >= ?4;
-- assets
SELECT coalesce(sum(hs_qty * lt_price), 0) FROM holding_summary JOIN last_trade ON lt_s_symb = hs_s_symb WHERE hs_ca_id = ?1;
-- insert trade
INSERT INTO trade (t_dts, t_st_id, t_tt_id, t_is_cash, t_s_symb, t_qty, t_bid_price, t_ca_id, t_exec_name, t_trade_price, t_chrg, t_comm, t_tax, t_lifo) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, NULL, ?10, ?11, 0, ?12);
-- number of trade
SELECT last_insert_rowid();
-- insert request
INSERT INTO trade_request (tr_t_id, tr_tt_id, tr_s_symb, tr_qty, tr_bid_price, tr_b_id) VALUES (?1, ?2, ?3, ?4, ?5, ?6);
-- insert history
INSERT INTO trade_history (th_t_id, th_dts, th_st_id) VALUES (?1, ?2, ?3);
-- trade to complete
SELECT t_st_id, t_ca_id, t_tt_id, t_s_symb, t_qty, t_chrg, t_lifo, t_is_cash, tt_is_sell, ca_b_id, ca_c_id, ca_tax_st, s_ex_id, s_name, c_tier, t_dts FROM trade JOIN trade_type ON tt_id = t_tt_id JOIN customer_account ON ca_id = t_ca_id JOIN customer ON c_id = ca_c_id JOIN security ON s_symb = t_s_symb WHERE t_id = ?1;
-- open position
INSERT INTO holding_summary (hs_ca_id, hs_s_symb, hs_qty) VALUES (?1, ?2, ?3);
-- change position
UPDATE holding_summary SET hs_qty = ?1 WHERE hs_ca_id = ?2 AND hs_s_symb = ?3;
-- close position
DELETE FROM holding_summary WHERE hs_ca_id = ?1 AND hs_s_symb = ?2;
-- insert lot
INSERT INTO holding (h_t_id, h_ca_id, h_s_symb, h_dts, h_price, h_qty) VALUES (?1, ?2, ?3, ?4, ?5, ?6);
-- change lot
UPDATE holding SET h_qty = ?1 WHERE h_t_id = ?2;
-- delete lot
DELETE FROM holding WHERE h_t_id = ?1;
-- insert holding history
INSERT INTO holding_history (hh_h_t_id, hh_t_id, hh_before_qty, hh_after_qty) VALUES (?1, ?2, ?3, ?4);
-- complete trade
UPDATE trade SET t_comm = ?1, t_tax = ?2, t_dts = ?3, t_st_id = 'CMPT', t_trade_price = ?4 WHERE t_id = ?5;
-- credit broker
UPDATE broker SET b_comm_total = b_comm_total + ?1, b_num_trades = b_num_trades + 1 WHERE b_id = ?2;
-- insert settlement
INSERT INTO settlement (se_t_id, se_cash_type, se_cash_due_date, se_amt) VALUES (?1, ?2, ?3, ?4);
-- change balance
UPDATE customer_account SET ca_bal = ca_bal + ?1 WHERE ca_id = ?2;
-- insert cash transaction
INSERT INTO cash_transaction (ct_t_id, ct_dts, ct_amt, ct_name) VALUES (?1, ?2, ?3, ?4);
-- balance
SELECT ca_bal FROM customer_account WHERE ca_id = ?1;
-- new price
UPDATE last_trade SET lt_price = ?1, lt_vol = lt_vol + ?2, lt_dts = ?3 WHERE lt_s_symb = ?4;
-- requests in the money
SELECT tr_t_id, tr_qty FROM trade_request WHERE tr_s_symb = ?1 AND (tr_tt_id = 'TSL' AND tr_bid_price >= ?2 OR tr_tt_id = 'TLS' AND tr_bid_price <= ?2 OR tr_tt_id = 'TLB' AND tr_bid_price >= ?2) ORDER BY tr_t_id /* the session has the writer's lock */;
-- submit trade
UPDATE trade SET t_st_id = 'SBMT', t_dts = CASE WHEN t_dts > ?1 THEN t_dts ELSE ?1 END WHERE t_id = ?2;
-- history of submitted trade
INSERT INTO trade_history (th_t_id, th_dts, th_st_id) SELECT t_id, t_dts, t_st_id FROM trade WHERE t_id = ?1;
-- delete request
DELETE FROM trade_request WHERE tr_t_id = ?1;
-- maintain account_permission
UPDATE account_permission SET ap_acl = CASE ap_acl WHEN '1111' THEN '0011' ELSE '1111' END WHERE ap_ca_id = ?1;
-- maintain address
UPDATE address SET ad_line2 = CASE ad_line2 WHEN 'Unit 10C' THEN 'Unit 22' ELSE 'Unit 10C' END WHERE ad_id = (SELECT c_ad_id FROM customer WHERE c_id = ?1);
-- maintain company
UPDATE company SET co_sp_rate = CASE co_sp_rate WHEN 'ABA ' THEN 'AAA ' ELSE 'ABA ' END WHERE co_id = ?1;
-- maintain customer
UPDATE customer SET c_email_2 = CASE WHEN c_email_2 LIKE '%@mail.example' THEN replace(c_email_2, '@mail.example', '@post.example') ELSE replace(c_email_2, '@post.example', '@mail.example') END WHERE c_id = ?1;
-- maintain customer_taxrate
UPDATE customer_taxrate SET cx_tx_id = ?1 WHERE cx_c_id = ?2 AND cx_tx_id LIKE 'D%';
-- maintain daily_market
UPDATE daily_market SET dm_vol = dm_vol + ?1 WHERE dm_s_symb = ?2 AND dm_date BETWEEN ?3 AND ?4;
-- maintain exchange
UPDATE exchange SET ex_desc = ?1;
-- maintain financial
UPDATE financial SET fi_qtr_start_date = ?1 WHERE fi_co_id = ?2 AND fi_year = ?3 AND fi_qtr = ?4;
-- maintain news_item
UPDATE news_item SET ni_dts = ?1 WHERE ni_id IN (SELECT nx_ni_id FROM news_xref WHERE nx_co_id = ?2);
-- maintain security
UPDATE security SET s_exch_date = ?1 WHERE s_symb = ?2;
-- maintain taxrate
UPDATE taxrate SET tx_name = CASE WHEN replace(tx_name, ' Tax ', ' tax ') <> tx_name THEN replace(tx_name, ' Tax ', ' tax ') ELSE replace(tx_name, ' tax ', ' Tax ') END WHERE tx_id = ?1;
-- maintain watch_item
UPDATE watch_item SET wi_s_symb = ?1 WHERE wi_wl_id = ?2 AND wi_s_symb = ?3;
-- history of open requests
INSERT INTO trade_history (th_t_id, th_dts, th_st_id) SELECT t_id, ?1, 'SBMT' FROM trade WHERE t_st_id = 'PNDG' AND t_dts < ?1;
-- submit open requests
UPDATE trade SET t_st_id = 'SBMT' WHERE t_st_id = 'PNDG' AND t_dts < ?1;
-- delete open requests
DELETE FROM trade_request WHERE tr_t_id IN (SELECT t_id FROM trade WHERE t_st_id = 'SBMT' AND t_dts < ?1);
-- history of cancelled trades
INSERT INTO trade_history (th_t_id, th_dts, th_st_id) SELECT t_id, ?1, 'CNCL' FROM trade WHERE t_st_id = 'SBMT' AND t_dts < ?1;
-- cancel trades
UPDATE trade SET t_st_id = 'CNCL', t_dts = ?1 WHERE t_st_id = 'SBMT' AND t_dts < ?1;
-- check condition 1
SELECT count(*) FROM broker LEFT JOIN (SELECT ca_b_id, count(*) AS trades, sum(t_comm) AS earned FROM trade JOIN customer_account ON ca_id = t_ca_id WHERE t_st_id = 'CMPT' GROUP BY ca_b_id) t ON ca_b_id = b_id WHERE b_num_trades <> coalesce(trades, 0);
-- check condition 2
SELECT count(*) FROM broker LEFT JOIN (SELECT ca_b_id, count(*) AS trades, sum(t_comm) AS earned FROM trade JOIN customer_account ON ca_id = t_ca_id WHERE t_st_id = 'CMPT' GROUP BY ca_b_id) t ON ca_b_id = b_id WHERE b_comm_total <> coalesce(earned, 0);
-- check condition 3
SELECT (SELECT count(*) FROM holding_summary LEFT JOIN (SELECT h_ca_id, h_s_symb, sum(h_qty) AS pieces FROM holding GROUP BY h_ca_id, h_s_symb) h ON h_ca_id = hs_ca_id AND h_s_symb = hs_s_symb WHERE hs_qty <> coalesce(pieces, 0) OR hs_qty = 0) + (SELECT count(*) FROM holding LEFT JOIN holding_summary ON hs_ca_id = h_ca_id AND hs_s_symb = h_s_symb WHERE hs_ca_id IS NULL);
-- check settlements
SELECT (SELECT count(*) FROM trade LEFT JOIN settlement ON se_t_id = t_id WHERE (t_st_id = 'CMPT') <> (se_t_id IS NOT NULL)) + (SELECT count(*) FROM settlement LEFT JOIN trade ON t_id = se_t_id WHERE t_id IS NULL);
-- check requests
SELECT (SELECT count(*) FROM trade_request LEFT JOIN trade ON t_id = tr_t_id WHERE t_id IS NULL OR t_st_id <> 'PNDG') + (SELECT count(*) FROM trade LEFT JOIN trade_request ON tr_t_id = t_id WHERE t_st_id = 'PNDG' AND tr_t_id IS NULL);
-- check histories
SELECT count(*) FROM trade LEFT JOIN (SELECT th_t_id, max(th_dts) AS latest FROM trade_history GROUP BY th_t_id) h ON h.th_t_id = t_id LEFT JOIN trade_history s ON s.th_t_id = t_id AND s.th_st_id = t_st_id WHERE s.th_dts IS NULL OR s.th_dts <> latest;
-- check payments
SELECT count(*) FROM trade JOIN settlement ON se_t_id = t_id LEFT JOIN cash_transaction ON ct_t_id = t_id WHERE t_is_cash AND (ct_amt IS NULL OR ct_amt <> se_amt) OR NOT t_is_cash AND ct_t_id IS NOT NULL;
-- check orders
SELECT count(*) FROM trade WHERE t_id > 11520;
-- check completed trades
SELECT count(*) FROM trade WHERE t_st_id = 'CMPT' AND t_id > 11520;
-- check balances
SELECT ((SELECT sum(ca_bal) FROM customer_account) - coalesce((SELECT sum(ct_amt) FROM cash_transaction WHERE ct_t_id > 11520), 0));
-- check volumes
SELECT sum(lt_vol) FROM last_trade;
