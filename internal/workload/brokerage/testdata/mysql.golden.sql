CREATE TABLE `status_type` (
  `st_id` char(4) NOT NULL,
  `st_name` varchar(10) NOT NULL,
  PRIMARY KEY (`st_id`)
) ENGINE=InnoDB;
CREATE TABLE `trade_type` (
  `tt_id` char(3) NOT NULL,
  `tt_name` varchar(12) NOT NULL,
  `tt_is_sell` boolean NOT NULL,
  `tt_is_mrkt` boolean NOT NULL,
  PRIMARY KEY (`tt_id`)
) ENGINE=InnoDB;
CREATE TABLE `zip_code` (
  `zc_code` varchar(12) NOT NULL,
  `zc_town` varchar(80) NOT NULL,
  `zc_div` varchar(80) NOT NULL,
  PRIMARY KEY (`zc_code`)
) ENGINE=InnoDB;
CREATE TABLE `taxrate` (
  `tx_id` varchar(4) NOT NULL,
  `tx_name` varchar(50) NOT NULL,
  `tx_rate` decimal(6,5) NOT NULL,
  PRIMARY KEY (`tx_id`)
) ENGINE=InnoDB;
CREATE TABLE `charge` (
  `ch_tt_id` char(3) NOT NULL,
  `ch_c_tier` smallint NOT NULL,
  `ch_chrg` decimal(12,2) NOT NULL,
  PRIMARY KEY (`ch_tt_id`, `ch_c_tier`)
) ENGINE=InnoDB;
CREATE TABLE `address` (
  `ad_id` bigint NOT NULL,
  `ad_line1` varchar(80) NULL,
  `ad_line2` varchar(80) NULL,
  `ad_zc_code` varchar(12) NOT NULL,
  `ad_ctry` varchar(80) NULL,
  PRIMARY KEY (`ad_id`)
) ENGINE=InnoDB;
CREATE TABLE `exchange` (
  `ex_id` varchar(6) NOT NULL,
  `ex_name` varchar(100) NOT NULL,
  `ex_num_symb` int NOT NULL,
  `ex_open` smallint NOT NULL,
  `ex_close` smallint NOT NULL,
  `ex_desc` varchar(150) NULL,
  `ex_ad_id` bigint NOT NULL,
  PRIMARY KEY (`ex_id`)
) ENGINE=InnoDB;
CREATE TABLE `commission_rate` (
  `cr_c_tier` smallint NOT NULL,
  `cr_tt_id` char(3) NOT NULL,
  `cr_ex_id` varchar(6) NOT NULL,
  `cr_from_qty` int NOT NULL,
  `cr_to_qty` int NOT NULL,
  `cr_rate` decimal(5,2) NOT NULL,
  PRIMARY KEY (`cr_c_tier`, `cr_tt_id`, `cr_ex_id`, `cr_from_qty`)
) ENGINE=InnoDB;
CREATE TABLE `sector` (
  `sc_id` char(2) NOT NULL,
  `sc_name` varchar(30) NOT NULL,
  PRIMARY KEY (`sc_id`)
) ENGINE=InnoDB;
CREATE TABLE `industry` (
  `in_id` char(2) NOT NULL,
  `in_name` varchar(50) NOT NULL,
  `in_sc_id` char(2) NOT NULL,
  PRIMARY KEY (`in_id`)
) ENGINE=InnoDB;
CREATE TABLE `company` (
  `co_id` bigint NOT NULL,
  `co_st_id` char(4) NOT NULL,
  `co_name` varchar(60) NOT NULL,
  `co_in_id` char(2) NOT NULL,
  `co_sp_rate` char(4) NOT NULL,
  `co_ceo` varchar(46) NOT NULL,
  `co_ad_id` bigint NULL,
  `co_desc` varchar(150) NOT NULL,
  `co_open_date` date NOT NULL,
  PRIMARY KEY (`co_id`)
) ENGINE=InnoDB;
CREATE TABLE `company_competitor` (
  `cp_co_id` bigint NOT NULL,
  `cp_comp_co_id` bigint NOT NULL,
  `cp_in_id` char(2) NOT NULL,
  PRIMARY KEY (`cp_co_id`, `cp_comp_co_id`, `cp_in_id`)
) ENGINE=InnoDB;
CREATE TABLE `financial` (
  `fi_co_id` bigint NOT NULL,
  `fi_year` smallint NOT NULL,
  `fi_qtr` smallint NOT NULL,
  `fi_qtr_start_date` date NOT NULL,
  `fi_revenue` decimal(15,2) NOT NULL,
  `fi_net_earn` decimal(15,2) NOT NULL,
  `fi_basic_eps` decimal(10,2) NOT NULL,
  `fi_dilut_eps` decimal(10,2) NOT NULL,
  `fi_margin` decimal(10,2) NOT NULL,
  `fi_inventory` decimal(15,2) NOT NULL,
  `fi_assets` decimal(15,2) NOT NULL,
  `fi_liability` decimal(15,2) NOT NULL,
  `fi_out_basic` bigint NOT NULL,
  `fi_out_dilut` bigint NOT NULL,
  PRIMARY KEY (`fi_co_id`, `fi_year`, `fi_qtr`)
) ENGINE=InnoDB;
CREATE TABLE `news_item` (
  `ni_id` bigint NOT NULL,
  `ni_headline` varchar(80) NOT NULL,
  `ni_summary` varchar(255) NOT NULL,
  `ni_item` longtext NOT NULL,
  `ni_dts` datetime(6) NOT NULL,
  `ni_source` varchar(30) NOT NULL,
  `ni_author` varchar(30) NULL,
  PRIMARY KEY (`ni_id`)
) ENGINE=InnoDB;
CREATE TABLE `news_xref` (
  `nx_ni_id` bigint NOT NULL,
  `nx_co_id` bigint NOT NULL,
  PRIMARY KEY (`nx_ni_id`, `nx_co_id`)
) ENGINE=InnoDB;
CREATE TABLE `security` (
  `s_symb` varchar(15) NOT NULL,
  `s_issue` char(6) NOT NULL,
  `s_st_id` char(4) NOT NULL,
  `s_name` varchar(70) NOT NULL,
  `s_ex_id` varchar(6) NOT NULL,
  `s_co_id` bigint NOT NULL,
  `s_num_out` bigint NOT NULL,
  `s_start_date` date NOT NULL,
  `s_exch_date` date NOT NULL,
  `s_pe` decimal(10,2) NOT NULL,
  `s_52wk_high` decimal(12,2) NOT NULL,
  `s_52wk_high_date` date NOT NULL,
  `s_52wk_low` decimal(12,2) NOT NULL,
  `s_52wk_low_date` date NOT NULL,
  `s_dividend` decimal(12,2) NOT NULL,
  `s_yield` decimal(5,2) NOT NULL,
  PRIMARY KEY (`s_symb`)
) ENGINE=InnoDB;
CREATE TABLE `last_trade` (
  `lt_s_symb` varchar(15) NOT NULL,
  `lt_dts` datetime(6) NOT NULL,
  `lt_price` decimal(12,2) NOT NULL,
  `lt_open_price` decimal(12,2) NOT NULL,
  `lt_vol` bigint NULL,
  PRIMARY KEY (`lt_s_symb`)
) ENGINE=InnoDB;
CREATE TABLE `daily_market` (
  `dm_date` date NOT NULL,
  `dm_s_symb` varchar(15) NOT NULL,
  `dm_close` decimal(12,2) NOT NULL,
  `dm_high` decimal(12,2) NOT NULL,
  `dm_low` decimal(12,2) NOT NULL,
  `dm_vol` bigint NOT NULL,
  PRIMARY KEY (`dm_date`, `dm_s_symb`)
) ENGINE=InnoDB;
CREATE TABLE `customer` (
  `c_id` bigint NOT NULL,
  `c_tax_id` varchar(20) NOT NULL,
  `c_st_id` char(4) NOT NULL,
  `c_l_name` varchar(25) NOT NULL,
  `c_f_name` varchar(20) NOT NULL,
  `c_m_name` char(1) NULL,
  `c_gndr` char(1) NOT NULL,
  `c_tier` smallint NOT NULL,
  `c_dob` date NOT NULL,
  `c_ad_id` bigint NOT NULL,
  `c_ctry_1` varchar(3) NOT NULL,
  `c_area_1` varchar(3) NOT NULL,
  `c_local_1` varchar(10) NOT NULL,
  `c_ext_1` varchar(5) NULL,
  `c_ctry_2` varchar(3) NOT NULL,
  `c_area_2` varchar(3) NOT NULL,
  `c_local_2` varchar(10) NOT NULL,
  `c_ext_2` varchar(5) NULL,
  `c_ctry_3` varchar(3) NOT NULL,
  `c_area_3` varchar(3) NOT NULL,
  `c_local_3` varchar(10) NOT NULL,
  `c_ext_3` varchar(5) NULL,
  `c_email_1` varchar(50) NULL,
  `c_email_2` varchar(50) NULL,
  PRIMARY KEY (`c_id`)
) ENGINE=InnoDB;
CREATE TABLE `customer_taxrate` (
  `cx_tx_id` varchar(4) NOT NULL,
  `cx_c_id` bigint NOT NULL,
  PRIMARY KEY (`cx_c_id`, `cx_tx_id`)
) ENGINE=InnoDB;
CREATE TABLE `watch_list` (
  `wl_id` bigint NOT NULL,
  `wl_c_id` bigint NOT NULL,
  PRIMARY KEY (`wl_id`)
) ENGINE=InnoDB;
CREATE TABLE `watch_item` (
  `wi_wl_id` bigint NOT NULL,
  `wi_s_symb` varchar(15) NOT NULL,
  PRIMARY KEY (`wi_wl_id`, `wi_s_symb`)
) ENGINE=InnoDB;
CREATE TABLE `broker` (
  `b_id` bigint NOT NULL,
  `b_st_id` char(4) NOT NULL,
  `b_name` varchar(49) NOT NULL,
  `b_num_trades` bigint NOT NULL,
  `b_comm_total` decimal(12,2) NOT NULL,
  PRIMARY KEY (`b_id`)
) ENGINE=InnoDB;
CREATE TABLE `customer_account` (
  `ca_id` bigint NOT NULL,
  `ca_b_id` bigint NOT NULL,
  `ca_c_id` bigint NOT NULL,
  `ca_name` varchar(50) NULL,
  `ca_tax_st` smallint NOT NULL,
  `ca_bal` decimal(12,2) NOT NULL,
  PRIMARY KEY (`ca_id`)
) ENGINE=InnoDB;
CREATE TABLE `account_permission` (
  `ap_ca_id` bigint NOT NULL,
  `ap_acl` char(4) NOT NULL,
  `ap_tax_id` varchar(20) NOT NULL,
  `ap_l_name` varchar(25) NOT NULL,
  `ap_f_name` varchar(20) NOT NULL,
  PRIMARY KEY (`ap_ca_id`, `ap_tax_id`)
) ENGINE=InnoDB;
CREATE TABLE `trade` (
  `t_id` bigint NOT NULL AUTO_INCREMENT,
  `t_dts` datetime(6) NOT NULL,
  `t_st_id` char(4) NOT NULL,
  `t_tt_id` char(3) NOT NULL,
  `t_is_cash` boolean NOT NULL,
  `t_s_symb` varchar(15) NOT NULL,
  `t_qty` int NOT NULL,
  `t_bid_price` decimal(12,2) NOT NULL,
  `t_ca_id` bigint NOT NULL,
  `t_exec_name` varchar(49) NOT NULL,
  `t_trade_price` decimal(12,2) NULL,
  `t_chrg` decimal(12,2) NOT NULL,
  `t_comm` decimal(12,2) NOT NULL,
  `t_tax` decimal(12,2) NOT NULL,
  `t_lifo` boolean NOT NULL,
  PRIMARY KEY (`t_id`)
) ENGINE=InnoDB;
CREATE TABLE `trade_request` (
  `tr_t_id` bigint NOT NULL,
  `tr_tt_id` char(3) NOT NULL,
  `tr_s_symb` varchar(15) NOT NULL,
  `tr_qty` int NOT NULL,
  `tr_bid_price` decimal(12,2) NOT NULL,
  `tr_b_id` bigint NOT NULL,
  PRIMARY KEY (`tr_t_id`)
) ENGINE=InnoDB;
CREATE TABLE `trade_history` (
  `th_t_id` bigint NOT NULL,
  `th_dts` datetime(6) NOT NULL,
  `th_st_id` char(4) NOT NULL,
  PRIMARY KEY (`th_t_id`, `th_st_id`)
) ENGINE=InnoDB;
CREATE TABLE `settlement` (
  `se_t_id` bigint NOT NULL,
  `se_cash_type` varchar(40) NOT NULL,
  `se_cash_due_date` date NOT NULL,
  `se_amt` decimal(12,2) NOT NULL,
  PRIMARY KEY (`se_t_id`)
) ENGINE=InnoDB;
CREATE TABLE `cash_transaction` (
  `ct_t_id` bigint NOT NULL,
  `ct_dts` datetime(6) NOT NULL,
  `ct_amt` decimal(12,2) NOT NULL,
  `ct_name` varchar(100) NULL,
  PRIMARY KEY (`ct_t_id`)
) ENGINE=InnoDB;
CREATE TABLE `holding_summary` (
  `hs_ca_id` bigint NOT NULL,
  `hs_s_symb` varchar(15) NOT NULL,
  `hs_qty` int NOT NULL,
  PRIMARY KEY (`hs_ca_id`, `hs_s_symb`)
) ENGINE=InnoDB;
CREATE TABLE `holding` (
  `h_t_id` bigint NOT NULL,
  `h_ca_id` bigint NOT NULL,
  `h_s_symb` varchar(15) NOT NULL,
  `h_dts` datetime(6) NOT NULL,
  `h_price` decimal(12,2) NOT NULL,
  `h_qty` int NOT NULL,
  PRIMARY KEY (`h_t_id`)
) ENGINE=InnoDB;
CREATE TABLE `holding_history` (
  `hh_h_t_id` bigint NOT NULL,
  `hh_t_id` bigint NOT NULL,
  `hh_before_qty` int NOT NULL,
  `hh_after_qty` int NOT NULL,
  PRIMARY KEY (`hh_h_t_id`, `hh_t_id`)
) ENGINE=InnoDB;
ALTER TABLE `company` ADD KEY `company_name` (`co_name`), ADD KEY `company_industry` (`co_in_id`);
ALTER TABLE `news_xref` ADD KEY `news_xref_company` (`nx_co_id`);
ALTER TABLE `security` ADD KEY `security_company` (`s_co_id`, `s_issue`);
ALTER TABLE `daily_market` ADD KEY `daily_market_symbol` (`dm_s_symb`, `dm_date`);
ALTER TABLE `customer` ADD UNIQUE KEY `customer_tax` (`c_tax_id`);
ALTER TABLE `watch_list` ADD KEY `watch_list_customer` (`wl_c_id`);
ALTER TABLE `broker` ADD UNIQUE KEY `broker_name` (`b_name`);
ALTER TABLE `customer_account` ADD KEY `customer_account_customer` (`ca_c_id`);
ALTER TABLE `trade` ADD KEY `trade_status` (`t_st_id`, `t_id`), ADD KEY `trade_account` (`t_ca_id`, `t_dts`), ADD KEY `trade_symbol` (`t_s_symb`, `t_dts`);
ALTER TABLE `trade_request` ADD KEY `trade_request_symbol` (`tr_s_symb`), ADD KEY `trade_request_broker` (`tr_b_id`);
ALTER TABLE `holding` ADD KEY `holding_account` (`h_ca_id`, `h_s_symb`);
ALTER TABLE `holding_history` ADD KEY `holding_history_trade` (`hh_t_id`);
ALTER TABLE `charge` ADD CONSTRAINT `charge_ch_tt_id` FOREIGN KEY (`ch_tt_id`) REFERENCES `trade_type` (`tt_id`);
ALTER TABLE `address` ADD CONSTRAINT `address_ad_zc_code` FOREIGN KEY (`ad_zc_code`) REFERENCES `zip_code` (`zc_code`);
ALTER TABLE `exchange` ADD CONSTRAINT `exchange_ex_ad_id` FOREIGN KEY (`ex_ad_id`) REFERENCES `address` (`ad_id`);
ALTER TABLE `commission_rate` ADD CONSTRAINT `commission_rate_cr_tt_id` FOREIGN KEY (`cr_tt_id`) REFERENCES `trade_type` (`tt_id`);
ALTER TABLE `commission_rate` ADD CONSTRAINT `commission_rate_cr_ex_id` FOREIGN KEY (`cr_ex_id`) REFERENCES `exchange` (`ex_id`);
ALTER TABLE `industry` ADD CONSTRAINT `industry_in_sc_id` FOREIGN KEY (`in_sc_id`) REFERENCES `sector` (`sc_id`);
ALTER TABLE `company` ADD CONSTRAINT `company_co_st_id` FOREIGN KEY (`co_st_id`) REFERENCES `status_type` (`st_id`);
ALTER TABLE `company` ADD CONSTRAINT `company_co_in_id` FOREIGN KEY (`co_in_id`) REFERENCES `industry` (`in_id`);
ALTER TABLE `company` ADD CONSTRAINT `company_co_ad_id` FOREIGN KEY (`co_ad_id`) REFERENCES `address` (`ad_id`);
ALTER TABLE `company_competitor` ADD CONSTRAINT `company_competitor_cp_co_id` FOREIGN KEY (`cp_co_id`) REFERENCES `company` (`co_id`);
ALTER TABLE `company_competitor` ADD CONSTRAINT `company_competitor_cp_comp_co_id` FOREIGN KEY (`cp_comp_co_id`) REFERENCES `company` (`co_id`);
ALTER TABLE `company_competitor` ADD CONSTRAINT `company_competitor_cp_in_id` FOREIGN KEY (`cp_in_id`) REFERENCES `industry` (`in_id`);
ALTER TABLE `financial` ADD CONSTRAINT `financial_fi_co_id` FOREIGN KEY (`fi_co_id`) REFERENCES `company` (`co_id`);
ALTER TABLE `news_xref` ADD CONSTRAINT `news_xref_nx_ni_id` FOREIGN KEY (`nx_ni_id`) REFERENCES `news_item` (`ni_id`);
ALTER TABLE `news_xref` ADD CONSTRAINT `news_xref_nx_co_id` FOREIGN KEY (`nx_co_id`) REFERENCES `company` (`co_id`);
ALTER TABLE `security` ADD CONSTRAINT `security_s_st_id` FOREIGN KEY (`s_st_id`) REFERENCES `status_type` (`st_id`);
ALTER TABLE `security` ADD CONSTRAINT `security_s_ex_id` FOREIGN KEY (`s_ex_id`) REFERENCES `exchange` (`ex_id`);
ALTER TABLE `security` ADD CONSTRAINT `security_s_co_id` FOREIGN KEY (`s_co_id`) REFERENCES `company` (`co_id`);
ALTER TABLE `last_trade` ADD CONSTRAINT `last_trade_lt_s_symb` FOREIGN KEY (`lt_s_symb`) REFERENCES `security` (`s_symb`);
ALTER TABLE `daily_market` ADD CONSTRAINT `daily_market_dm_s_symb` FOREIGN KEY (`dm_s_symb`) REFERENCES `security` (`s_symb`);
ALTER TABLE `customer` ADD CONSTRAINT `customer_c_st_id` FOREIGN KEY (`c_st_id`) REFERENCES `status_type` (`st_id`);
ALTER TABLE `customer` ADD CONSTRAINT `customer_c_ad_id` FOREIGN KEY (`c_ad_id`) REFERENCES `address` (`ad_id`);
ALTER TABLE `customer_taxrate` ADD CONSTRAINT `customer_taxrate_cx_tx_id` FOREIGN KEY (`cx_tx_id`) REFERENCES `taxrate` (`tx_id`);
ALTER TABLE `customer_taxrate` ADD CONSTRAINT `customer_taxrate_cx_c_id` FOREIGN KEY (`cx_c_id`) REFERENCES `customer` (`c_id`);
ALTER TABLE `watch_list` ADD CONSTRAINT `watch_list_wl_c_id` FOREIGN KEY (`wl_c_id`) REFERENCES `customer` (`c_id`);
ALTER TABLE `watch_item` ADD CONSTRAINT `watch_item_wi_wl_id` FOREIGN KEY (`wi_wl_id`) REFERENCES `watch_list` (`wl_id`);
ALTER TABLE `watch_item` ADD CONSTRAINT `watch_item_wi_s_symb` FOREIGN KEY (`wi_s_symb`) REFERENCES `security` (`s_symb`);
ALTER TABLE `broker` ADD CONSTRAINT `broker_b_st_id` FOREIGN KEY (`b_st_id`) REFERENCES `status_type` (`st_id`);
ALTER TABLE `customer_account` ADD CONSTRAINT `customer_account_ca_b_id` FOREIGN KEY (`ca_b_id`) REFERENCES `broker` (`b_id`);
ALTER TABLE `customer_account` ADD CONSTRAINT `customer_account_ca_c_id` FOREIGN KEY (`ca_c_id`) REFERENCES `customer` (`c_id`);
ALTER TABLE `account_permission` ADD CONSTRAINT `account_permission_ap_ca_id` FOREIGN KEY (`ap_ca_id`) REFERENCES `customer_account` (`ca_id`);
ALTER TABLE `trade` ADD CONSTRAINT `trade_t_st_id` FOREIGN KEY (`t_st_id`) REFERENCES `status_type` (`st_id`);
ALTER TABLE `trade` ADD CONSTRAINT `trade_t_tt_id` FOREIGN KEY (`t_tt_id`) REFERENCES `trade_type` (`tt_id`);
ALTER TABLE `trade` ADD CONSTRAINT `trade_t_s_symb` FOREIGN KEY (`t_s_symb`) REFERENCES `security` (`s_symb`);
ALTER TABLE `trade` ADD CONSTRAINT `trade_t_ca_id` FOREIGN KEY (`t_ca_id`) REFERENCES `customer_account` (`ca_id`);
ALTER TABLE `trade_request` ADD CONSTRAINT `trade_request_tr_t_id` FOREIGN KEY (`tr_t_id`) REFERENCES `trade` (`t_id`);
ALTER TABLE `trade_request` ADD CONSTRAINT `trade_request_tr_tt_id` FOREIGN KEY (`tr_tt_id`) REFERENCES `trade_type` (`tt_id`);
ALTER TABLE `trade_request` ADD CONSTRAINT `trade_request_tr_s_symb` FOREIGN KEY (`tr_s_symb`) REFERENCES `security` (`s_symb`);
ALTER TABLE `trade_request` ADD CONSTRAINT `trade_request_tr_b_id` FOREIGN KEY (`tr_b_id`) REFERENCES `broker` (`b_id`);
ALTER TABLE `trade_history` ADD CONSTRAINT `trade_history_th_t_id` FOREIGN KEY (`th_t_id`) REFERENCES `trade` (`t_id`);
ALTER TABLE `trade_history` ADD CONSTRAINT `trade_history_th_st_id` FOREIGN KEY (`th_st_id`) REFERENCES `status_type` (`st_id`);
ALTER TABLE `settlement` ADD CONSTRAINT `settlement_se_t_id` FOREIGN KEY (`se_t_id`) REFERENCES `trade` (`t_id`);
ALTER TABLE `cash_transaction` ADD CONSTRAINT `cash_transaction_ct_t_id` FOREIGN KEY (`ct_t_id`) REFERENCES `trade` (`t_id`);
ALTER TABLE `holding_summary` ADD CONSTRAINT `holding_summary_hs_ca_id` FOREIGN KEY (`hs_ca_id`) REFERENCES `customer_account` (`ca_id`);
ALTER TABLE `holding_summary` ADD CONSTRAINT `holding_summary_hs_s_symb` FOREIGN KEY (`hs_s_symb`) REFERENCES `security` (`s_symb`);
ALTER TABLE `holding` ADD CONSTRAINT `holding_h_t_id` FOREIGN KEY (`h_t_id`) REFERENCES `trade` (`t_id`);
ALTER TABLE `holding` ADD CONSTRAINT `holding_h_ca_id_h_s_symb` FOREIGN KEY (`h_ca_id`, `h_s_symb`) REFERENCES `holding_summary` (`hs_ca_id`, `hs_s_symb`);
ALTER TABLE `holding_history` ADD CONSTRAINT `holding_history_hh_h_t_id` FOREIGN KEY (`hh_h_t_id`) REFERENCES `trade` (`t_id`);
ALTER TABLE `holding_history` ADD CONSTRAINT `holding_history_hh_t_id` FOREIGN KEY (`hh_t_id`) REFERENCES `trade` (`t_id`);
-- trades of account
SELECT t_id, t_dts, st_name, tt_name, t_s_symb, t_qty, t_exec_name, t_chrg, s_name, ex_name FROM trade JOIN status_type ON st_id = t_st_id JOIN trade_type ON tt_id = t_tt_id JOIN security ON s_symb = t_s_symb JOIN exchange ON ex_id = s_ex_id WHERE t_ca_id = ? ORDER BY t_dts DESC, t_id DESC LIMIT 50;
-- names of account
SELECT c_l_name, c_f_name, b_name FROM customer_account JOIN customer ON c_id = ca_c_id JOIN broker ON b_id = ca_b_id WHERE ca_id = ?;
-- customer by tax id
SELECT c_id FROM customer WHERE c_tax_id = ?;
-- customer
SELECT c_st_id, c_l_name, c_f_name, c_m_name, c_gndr, c_tier, c_dob, c_ad_id, c_ctry_1, c_area_1, c_local_1, c_ext_1, c_ctry_2, c_area_2, c_local_2, c_ext_2, c_ctry_3, c_area_3, c_local_3, c_ext_3, c_email_1, c_email_2 FROM customer WHERE c_id = ?;
-- worth of accounts
SELECT ca_id, ca_bal, coalesce(sum(hs_qty * lt_price), 0) AS worth FROM customer_account LEFT JOIN holding_summary ON hs_ca_id = ca_id LEFT JOIN last_trade ON lt_s_symb = hs_s_symb WHERE ca_c_id = ? GROUP BY ca_id, ca_bal ORDER BY worth, ca_id LIMIT 10;
-- recent history
SELECT t_id, t_s_symb, t_qty, st_name, th_dts FROM (SELECT t_id, t_s_symb, t_qty FROM trade WHERE t_ca_id = ? ORDER BY t_dts DESC, t_id DESC LIMIT 10) t JOIN trade_history ON th_t_id = t_id JOIN status_type ON st_id = th_st_id ORDER BY th_dts DESC, t_id DESC LIMIT 30;
-- value of watch list
SELECT count(*), coalesce(sum(s_num_out * lt_price), 0), coalesce(sum(s_num_out * dm_close), 0) FROM watch_list JOIN watch_item ON wi_wl_id = wl_id JOIN security ON s_symb = wi_s_symb JOIN last_trade ON lt_s_symb = s_symb JOIN daily_market ON dm_s_symb = s_symb AND dm_date = ? WHERE wl_c_id = ?;
-- value of holdings
SELECT count(*), coalesce(sum(s_num_out * lt_price), 0), coalesce(sum(s_num_out * dm_close), 0) FROM holding_summary JOIN security ON s_symb = hs_s_symb JOIN last_trade ON lt_s_symb = s_symb JOIN daily_market ON dm_s_symb = s_symb AND dm_date = ? WHERE hs_ca_id = ?;
-- value of industry
SELECT count(*), coalesce(sum(s_num_out * lt_price), 0), coalesce(sum(s_num_out * dm_close), 0) FROM industry JOIN company ON co_in_id = in_id JOIN security ON s_co_id = co_id JOIN last_trade ON lt_s_symb = s_symb JOIN daily_market ON dm_s_symb = s_symb AND dm_date = ? WHERE in_name = ? AND co_id BETWEEN ? AND ?;
-- volume of brokers
SELECT b_name, sum(tr_qty * tr_bid_price) AS volume FROM sector JOIN industry ON in_sc_id = sc_id JOIN company ON co_in_id = in_id JOIN security ON s_co_id = co_id JOIN trade_request ON tr_s_symb = s_symb JOIN broker ON b_id = tr_b_id WHERE sc_name = ? AND b_name IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) GROUP BY b_name ORDER BY volume DESC, b_name;
-- security and company
SELECT co_id, s_name, co_name, co_sp_rate, co_ceo, co_desc, co_open_date, co_st_id, ca.ad_line1, ca.ad_line2, cz.zc_town, cz.zc_div, ca.ad_zc_code, ca.ad_ctry, s_num_out, s_start_date, s_exch_date, s_pe, s_52wk_high, s_52wk_high_date, s_52wk_low, s_52wk_low_date, s_dividend, s_yield, ex_name, ex_num_symb, ex_open, ex_close, ex_desc, ea.ad_line1, ea.ad_line2, ez.zc_town, ez.zc_div, ea.ad_zc_code, ea.ad_ctry FROM security JOIN company ON co_id = s_co_id JOIN address ca ON ca.ad_id = co_ad_id JOIN zip_code cz ON cz.zc_code = ca.ad_zc_code JOIN exchange ON ex_id = s_ex_id JOIN address ea ON ea.ad_id = ex_ad_id JOIN zip_code ez ON ez.zc_code = ea.ad_zc_code WHERE s_symb = ?;
-- competitors
SELECT co_name, in_name FROM company_competitor JOIN company ON co_id = cp_comp_co_id JOIN industry ON in_id = cp_in_id WHERE cp_co_id = ? ORDER BY co_id LIMIT 3;
-- financial reports
SELECT fi_year, fi_qtr, fi_qtr_start_date, fi_revenue, fi_net_earn, fi_basic_eps, fi_dilut_eps, fi_margin, fi_inventory, fi_assets, fi_liability, fi_out_basic, fi_out_dilut FROM financial WHERE fi_co_id = ? ORDER BY fi_year, fi_qtr LIMIT 20;
-- daily prices
SELECT dm_date, dm_close, dm_high, dm_low, dm_vol FROM daily_market WHERE dm_s_symb = ? AND dm_date >= ? ORDER BY dm_date LIMIT ?;
-- last trade
SELECT lt_price, lt_open_price, lt_vol FROM last_trade WHERE lt_s_symb = ?;
-- news in short
SELECT ni_dts, ni_source, ni_author, ni_headline, ni_summary FROM news_xref JOIN news_item ON ni_id = nx_ni_id WHERE nx_co_id = ? ORDER BY ni_id LIMIT 2;
-- news in full
SELECT ni_dts, ni_source, ni_author, ni_item FROM news_xref JOIN news_item ON ni_id = nx_ni_id WHERE nx_co_id = ? ORDER BY ni_id LIMIT 2;
-- trades
SELECT t_id, t_bid_price, t_exec_name, t_is_cash, tt_is_mrkt, t_trade_price FROM trade JOIN trade_type ON tt_id = t_tt_id WHERE t_id IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);
-- settlements
SELECT se_t_id, se_amt, se_cash_due_date, se_cash_type FROM settlement WHERE se_t_id IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);
-- cash transactions
SELECT ct_t_id, ct_amt, ct_dts, ct_name FROM cash_transaction WHERE ct_t_id IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);
-- history of trades
SELECT th_t_id, th_dts, th_st_id FROM trade_history WHERE th_t_id IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ORDER BY th_t_id, th_dts;
-- trades of account in time
SELECT t_id, t_bid_price, t_exec_name, t_is_cash, t_trade_price FROM trade WHERE t_ca_id = ? AND t_dts >= ? AND t_dts <= ? ORDER BY t_dts, t_id LIMIT 20;
-- trades of security in time
SELECT t_id, t_ca_id, t_exec_name, t_is_cash, t_trade_price, t_qty, t_dts, t_tt_id FROM trade WHERE t_s_symb = ? AND t_dts >= ? AND t_dts <= ? ORDER BY t_dts, t_id LIMIT 20;
-- first trade of account
SELECT t_id FROM trade WHERE t_ca_id = ? AND t_dts >= ? ORDER BY t_dts, t_id LIMIT 1;
-- history of holdings
SELECT hh_h_t_id, hh_t_id, hh_before_qty, hh_after_qty FROM holding_history WHERE hh_h_t_id IN (SELECT hh_h_t_id FROM holding_history WHERE hh_t_id = ?) ORDER BY hh_h_t_id, hh_t_id LIMIT 20;
-- rename executors
UPDATE trade SET t_exec_name = CASE WHEN t_exec_name LIKE '% X %' THEN replace(t_exec_name, ' X ', ' ') ELSE replace(t_exec_name, ' ', ' X ') END WHERE t_id IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);
-- change cash types
UPDATE settlement SET se_cash_type = CASE se_cash_type WHEN 'Cash Account' THEN 'Cash' WHEN 'Cash' THEN 'Cash Account' WHEN 'Margin' THEN 'Margin Account' ELSE 'Margin' END WHERE se_t_id IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);
-- rename cash transactions
UPDATE cash_transaction SET ct_name = CASE WHEN replace(ct_name, ' shares of ', ' Shares of ') <> ct_name THEN replace(ct_name, ' shares of ', ' Shares of ') ELSE replace(ct_name, ' Shares of ', ' shares of ') END WHERE ct_t_id IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);
-- account
SELECT ca_b_id, ca_c_id, ca_tax_st, ca_bal, c_tier, c_f_name, c_l_name, c_tax_id, ca_name, b_name FROM customer_account JOIN customer ON c_id = ca_c_id JOIN broker ON b_id = ca_b_id WHERE ca_id = ?;
-- permission
SELECT ap_acl FROM account_permission WHERE ap_ca_id = ? AND ap_tax_id = ? AND ap_f_name = ? AND ap_l_name = ?;
-- security by name
SELECT s_symb, s_ex_id, s_name, co_name FROM company JOIN security ON s_co_id = co_id WHERE co_name = ? AND s_issue = ?;
-- security by symbol
SELECT s_symb, s_ex_id, s_name, co_name FROM security JOIN company ON co_id = s_co_id WHERE s_symb = ?;
-- price
SELECT lt_price FROM last_trade WHERE lt_s_symb = ?;
-- type of trade
SELECT tt_is_mrkt, tt_is_sell FROM trade_type WHERE tt_id = ?;
-- position
SELECT hs_qty FROM holding_summary WHERE hs_ca_id = ? AND hs_s_symb = ?;
-- lots, oldest first
SELECT h_t_id, h_qty, h_price FROM holding WHERE h_ca_id = ? AND h_s_symb = ? ORDER BY h_dts, h_t_id;
-- lots, newest first
SELECT h_t_id, h_qty, h_price FROM holding WHERE h_ca_id = ? AND h_s_symb = ? ORDER BY h_dts DESC, h_t_id DESC;
-- tax rates
SELECT CAST(sum(tx_rate) AS decimal(8, 5)) FROM customer_taxrate JOIN taxrate ON tx_id = cx_tx_id WHERE cx_c_id = ?;
-- commission rate
SELECT cr_rate, ch_chrg FROM commission_rate JOIN charge ON ch_tt_id = cr_tt_id AND ch_c_tier = cr_c_tier WHERE cr_c_tier = ? AND cr_tt_id = ? AND cr_ex_id = ? AND cr_from_qty <= ? AND cr_to_qty >= ?;
-- assets
SELECT coalesce(sum(hs_qty * lt_price), 0) FROM holding_summary JOIN last_trade ON lt_s_symb = hs_s_symb WHERE hs_ca_id = ?;
-- insert trade
INSERT INTO trade (t_dts, t_st_id, t_tt_id, t_is_cash, t_s_symb, t_qty, t_bid_price, t_ca_id, t_exec_name, t_trade_price, t_chrg, t_comm, t_tax, t_lifo) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, ?, ?, 0, ?);
-- number of trade
SELECT LAST_INSERT_ID();
-- insert request
INSERT INTO trade_request (tr_t_id, tr_tt_id, tr_s_symb, tr_qty, tr_bid_price, tr_b_id) VALUES (?, ?, ?, ?, ?, ?);
-- insert history
INSERT INTO trade_history (th_t_id, th_dts, th_st_id) VALUES (?, ?, ?);
-- trade to complete
SELECT t_st_id, t_ca_id, t_tt_id, t_s_symb, t_qty, t_chrg, t_lifo, t_is_cash, tt_is_sell, ca_b_id, ca_c_id, ca_tax_st, s_ex_id, s_name, c_tier, t_dts FROM trade JOIN trade_type ON tt_id = t_tt_id JOIN customer_account ON ca_id = t_ca_id JOIN customer ON c_id = ca_c_id JOIN security ON s_symb = t_s_symb WHERE t_id = ?;
-- open position
INSERT INTO holding_summary (hs_ca_id, hs_s_symb, hs_qty) VALUES (?, ?, ?);
-- change position
UPDATE holding_summary SET hs_qty = ? WHERE hs_ca_id = ? AND hs_s_symb = ?;
-- close position
DELETE FROM holding_summary WHERE hs_ca_id = ? AND hs_s_symb = ?;
-- insert lot
INSERT INTO holding (h_t_id, h_ca_id, h_s_symb, h_dts, h_price, h_qty) VALUES (?, ?, ?, ?, ?, ?);
-- change lot
UPDATE holding SET h_qty = ? WHERE h_t_id = ?;
-- delete lot
DELETE FROM holding WHERE h_t_id = ?;
-- insert holding history
INSERT INTO holding_history (hh_h_t_id, hh_t_id, hh_before_qty, hh_after_qty) VALUES (?, ?, ?, ?);
-- complete trade
UPDATE trade SET t_comm = ?, t_tax = ?, t_dts = ?, t_st_id = 'CMPT', t_trade_price = ? WHERE t_id = ?;
-- credit broker
UPDATE broker SET b_comm_total = b_comm_total + ?, b_num_trades = b_num_trades + 1 WHERE b_id = ?;
-- insert settlement
INSERT INTO settlement (se_t_id, se_cash_type, se_cash_due_date, se_amt) VALUES (?, ?, ?, ?);
-- change balance
UPDATE customer_account SET ca_bal = ca_bal + ? WHERE ca_id = ?;
-- insert cash transaction
INSERT INTO cash_transaction (ct_t_id, ct_dts, ct_amt, ct_name) VALUES (?, ?, ?, ?);
-- balance
SELECT ca_bal FROM customer_account WHERE ca_id = ?;
-- new price
UPDATE last_trade SET lt_price = ?, lt_vol = lt_vol + ?, lt_dts = ? WHERE lt_s_symb = ?;
-- requests in the money
SELECT tr_t_id, tr_qty FROM trade_request WHERE tr_s_symb = ? AND (tr_tt_id = 'TSL' AND tr_bid_price >= ? OR tr_tt_id = 'TLS' AND tr_bid_price <= ? OR tr_tt_id = 'TLB' AND tr_bid_price >= ?) ORDER BY tr_t_id FOR UPDATE;
-- submit trade
UPDATE trade SET t_st_id = 'SBMT', t_dts = CASE WHEN t_dts > ? THEN t_dts ELSE ? END WHERE t_id = ?;
-- history of submitted trade
INSERT INTO trade_history (th_t_id, th_dts, th_st_id) SELECT t_id, t_dts, t_st_id FROM trade WHERE t_id = ?;
-- delete request
DELETE FROM trade_request WHERE tr_t_id = ?;
-- maintain account_permission
UPDATE account_permission SET ap_acl = CASE ap_acl WHEN '1111' THEN '0011' ELSE '1111' END WHERE ap_ca_id = ?;
-- maintain address
UPDATE address SET ad_line2 = CASE ad_line2 WHEN 'Unit 10C' THEN 'Unit 22' ELSE 'Unit 10C' END WHERE ad_id = (SELECT c_ad_id FROM customer WHERE c_id = ?);
-- maintain company
UPDATE company SET co_sp_rate = CASE co_sp_rate WHEN 'ABA ' THEN 'AAA ' ELSE 'ABA ' END WHERE co_id = ?;
-- maintain customer
UPDATE customer SET c_email_2 = CASE WHEN c_email_2 LIKE '%@mail.example' THEN replace(c_email_2, '@mail.example', '@post.example') ELSE replace(c_email_2, '@post.example', '@mail.example') END WHERE c_id = ?;
-- maintain customer_taxrate
UPDATE customer_taxrate SET cx_tx_id = ? WHERE cx_c_id = ? AND cx_tx_id LIKE 'D%';
-- maintain daily_market
UPDATE daily_market SET dm_vol = dm_vol + ? WHERE dm_s_symb = ? AND dm_date BETWEEN ? AND ?;
-- maintain exchange
UPDATE exchange SET ex_desc = ?;
-- maintain financial
UPDATE financial SET fi_qtr_start_date = ? WHERE fi_co_id = ? AND fi_year = ? AND fi_qtr = ?;
-- maintain news_item
UPDATE news_item SET ni_dts = ? WHERE ni_id IN (SELECT nx_ni_id FROM news_xref WHERE nx_co_id = ?);
-- maintain security
UPDATE security SET s_exch_date = ? WHERE s_symb = ?;
-- maintain taxrate
UPDATE taxrate SET tx_name = CASE WHEN replace(tx_name, ' Tax ', ' tax ') <> tx_name THEN replace(tx_name, ' Tax ', ' tax ') ELSE replace(tx_name, ' tax ', ' Tax ') END WHERE tx_id = ?;
-- maintain watch_item
UPDATE watch_item SET wi_s_symb = ? WHERE wi_wl_id = ? AND wi_s_symb = ?;
-- history of open requests
INSERT INTO trade_history (th_t_id, th_dts, th_st_id) SELECT t_id, ?, 'SBMT' FROM trade WHERE t_st_id = 'PNDG' AND t_dts < ?;
-- submit open requests
UPDATE trade SET t_st_id = 'SBMT' WHERE t_st_id = 'PNDG' AND t_dts < ?;
-- delete open requests
DELETE FROM trade_request WHERE tr_t_id IN (SELECT t_id FROM trade WHERE t_st_id = 'SBMT' AND t_dts < ?);
-- history of cancelled trades
INSERT INTO trade_history (th_t_id, th_dts, th_st_id) SELECT t_id, ?, 'CNCL' FROM trade WHERE t_st_id = 'SBMT' AND t_dts < ?;
-- cancel trades
UPDATE trade SET t_st_id = 'CNCL', t_dts = ? WHERE t_st_id = 'SBMT' AND t_dts < ?;
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
SELECT round(((SELECT sum(ca_bal) FROM customer_account) - coalesce((SELECT sum(ct_amt) FROM cash_transaction WHERE ct_t_id > 11520), 0)) * 100);
-- check volumes
SELECT sum(lt_vol) FROM last_trade;
-- mode procedures: maintain account_permission
UPDATE account_permission SET ap_acl = CASE ap_acl WHEN '1111' THEN '0011' ELSE '1111' END WHERE ap_ca_id = ?;
-- mode procedures: maintain address
UPDATE address SET ad_line2 = CASE ad_line2 WHEN 'Unit 10C' THEN 'Unit 22' ELSE 'Unit 10C' END WHERE ad_id = (SELECT c_ad_id FROM customer WHERE c_id = ?);
-- mode procedures: maintain company
UPDATE company SET co_sp_rate = CASE co_sp_rate WHEN 'ABA ' THEN 'AAA ' ELSE 'ABA ' END WHERE co_id = ?;
-- mode procedures: maintain customer
UPDATE customer SET c_email_2 = CASE WHEN c_email_2 LIKE '%@mail.example' THEN replace(c_email_2, '@mail.example', '@post.example') ELSE replace(c_email_2, '@post.example', '@mail.example') END WHERE c_id = ?;
-- mode procedures: maintain customer_taxrate
UPDATE customer_taxrate SET cx_tx_id = ? WHERE cx_c_id = ? AND cx_tx_id LIKE 'D%';
-- mode procedures: maintain daily_market
UPDATE daily_market SET dm_vol = dm_vol + ? WHERE dm_s_symb = ? AND dm_date BETWEEN ? AND ?;
-- mode procedures: maintain exchange
UPDATE exchange SET ex_desc = ?;
-- mode procedures: maintain financial
UPDATE financial SET fi_qtr_start_date = ? WHERE fi_co_id = ? AND fi_year = ? AND fi_qtr = ?;
-- mode procedures: maintain news_item
UPDATE news_item SET ni_dts = ? WHERE ni_id IN (SELECT nx_ni_id FROM news_xref WHERE nx_co_id = ?);
-- mode procedures: maintain security
UPDATE security SET s_exch_date = ? WHERE s_symb = ?;
-- mode procedures: maintain taxrate
UPDATE taxrate SET tx_name = CASE WHEN replace(tx_name, ' Tax ', ' tax ') <> tx_name THEN replace(tx_name, ' Tax ', ' tax ') ELSE replace(tx_name, ' tax ', ' Tax ') END WHERE tx_id = ?;
-- mode procedures: maintain watch_item
UPDATE watch_item SET wi_s_symb = ? WHERE wi_wl_id = ? AND wi_s_symb = ?;
-- mode procedures: tradestatus
CALL tradestatus(?);
-- mode procedures: marketwatch
CALL marketwatch(?,?,?,?,?,?,?);
-- mode procedures: securitydetail
CALL securitydetail(?,?,?,?);
-- mode procedures: customerposition
CALL customerposition(?,?,?);
-- mode procedures: tradeorder
CALL tradeorder(?,?,?,?,?,?,?,?,?,?,?,?,?);
-- mode procedures: traderesult
CALL traderesult(?,?,?);
-- mode procedures: tradelookup
CALL tradelookup(?,?,?,?,?,?);
-- mode procedures: brokervolume
CALL brokervolume(?,?);
-- mode procedures: tradeupdate
CALL tradeupdate(?,?,?,?,?,?);
-- mode procedures: marketfeed
CALL marketfeed(?,?,?,?);
-- mode procedures: tradecleanup
CALL tradecleanup(?);
