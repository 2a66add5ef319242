-- Engine mysql (MariaDB and MySQL) needs its own text: procedures are written in
-- their language.

-- One call is one transaction's work and one round trip, between START
-- TRANSACTION at the transaction's isolation and COMMIT. Transactions that show
-- something return rows of (part, content, amount): which part of the answer a
-- row belongs to, the row as text, and a number where one is worked with. Lists
-- come in braces.

-- tradestatus shows the last 50 trades of an account.
CREATE PROCEDURE tradestatus(ca_id_in bigint)
BEGIN
    (SELECT 0 AS part,
        concat_ws(',', t_id, t_dts, st_name, tt_name, t_s_symb, t_qty, t_exec_name, t_chrg, s_name, ex_name) AS content,
        CAST(NULL AS decimal(20, 2)) AS amount
    FROM trade JOIN status_type ON st_id = t_st_id JOIN trade_type ON tt_id = t_tt_id
    JOIN security ON s_symb = t_s_symb JOIN exchange ON ex_id = s_ex_id
    WHERE t_ca_id = ca_id_in ORDER BY t_dts DESC, t_id DESC LIMIT 50)
    UNION ALL
    (SELECT 1, concat_ws(',', c_l_name, c_f_name, b_name), NULL
    FROM customer_account JOIN customer ON c_id = ca_c_id JOIN broker ON b_id = ca_b_id WHERE ca_id = ca_id_in);
END;

-- marketwatch returns the number of securities watched and what they are and
-- were worth. The way is 0 for a watch list, 1 for an account, 2 for an
-- industry.
CREATE PROCEDURE marketwatch(
    way smallint, day_in date, c_id_in bigint, ca_id_in bigint, industry_in varchar(50), first_in bigint, last_in bigint)
BEGIN
    IF way = 0 THEN
        SELECT count(*), coalesce(sum(s_num_out * lt_price), 0), coalesce(sum(s_num_out * dm_close), 0)
        FROM watch_list JOIN watch_item ON wi_wl_id = wl_id JOIN security ON s_symb = wi_s_symb
        JOIN last_trade ON lt_s_symb = s_symb JOIN daily_market ON dm_s_symb = s_symb AND dm_date = day_in
        WHERE wl_c_id = c_id_in;
    ELSEIF way = 1 THEN
        SELECT count(*), coalesce(sum(s_num_out * lt_price), 0), coalesce(sum(s_num_out * dm_close), 0)
        FROM holding_summary JOIN security ON s_symb = hs_s_symb
        JOIN last_trade ON lt_s_symb = s_symb JOIN daily_market ON dm_s_symb = s_symb AND dm_date = day_in
        WHERE hs_ca_id = ca_id_in;
    ELSE
        SELECT count(*), coalesce(sum(s_num_out * lt_price), 0), coalesce(sum(s_num_out * dm_close), 0)
        FROM industry JOIN company ON co_in_id = in_id JOIN security ON s_co_id = co_id
        JOIN last_trade ON lt_s_symb = s_symb JOIN daily_market ON dm_s_symb = s_symb AND dm_date = day_in
        WHERE in_name = industry_in AND co_id BETWEEN first_in AND last_in;
    END IF;
END;

-- securitydetail shows a security, its company, reports, prices and news. The
-- long texts of news are read only where they are shown: their parts of the
-- query are two.
CREATE PROCEDURE securitydetail(symbol_in varchar(15), day_in date, rows_in int, long_in boolean)
BEGIN
    DECLARE company_id bigint;
    SELECT s_co_id INTO company_id FROM security WHERE s_symb = symbol_in;
    (SELECT 0 AS part,
        concat_ws(',', co_id, s_name, co_name, co_sp_rate, co_ceo, co_desc, co_open_date, co_st_id,
            ca.ad_line1, ca.ad_line2, cz.zc_town, cz.zc_div, ca.ad_zc_code, ca.ad_ctry, s_num_out, s_start_date, s_exch_date, s_pe,
            s_52wk_high, s_52wk_high_date, s_52wk_low, s_52wk_low_date, s_dividend, s_yield,
            ex_name, ex_num_symb, ex_open, ex_close, ex_desc,
            ea.ad_line1, ea.ad_line2, ez.zc_town, ez.zc_div, ea.ad_zc_code, ea.ad_ctry) AS content,
        CAST(NULL AS decimal(20, 2)) AS amount
    FROM security JOIN company ON co_id = s_co_id JOIN address ca ON ca.ad_id = co_ad_id JOIN zip_code cz ON cz.zc_code = ca.ad_zc_code
    JOIN exchange ON ex_id = s_ex_id JOIN address ea ON ea.ad_id = ex_ad_id JOIN zip_code ez ON ez.zc_code = ea.ad_zc_code
    WHERE s_symb = symbol_in)
    UNION ALL
    (SELECT 1, concat_ws(',', co_name, in_name), NULL
    FROM company_competitor JOIN company ON co_id = cp_comp_co_id JOIN industry ON in_id = cp_in_id
    WHERE cp_co_id = company_id ORDER BY co_id LIMIT 3)
    UNION ALL
    (SELECT 2, concat_ws(',', fi_year, fi_qtr, fi_qtr_start_date, fi_revenue, fi_net_earn, fi_basic_eps, fi_dilut_eps, fi_margin,
        fi_inventory, fi_assets, fi_liability, fi_out_basic, fi_out_dilut), NULL
    FROM financial WHERE fi_co_id = company_id ORDER BY fi_year, fi_qtr LIMIT 20)
    UNION ALL
    (SELECT 5, concat_ws(',', ni_dts, ni_source, ni_author, ni_item), NULL
    FROM news_xref JOIN news_item ON ni_id = nx_ni_id WHERE long_in AND nx_co_id = company_id ORDER BY ni_id LIMIT 2)
    UNION ALL
    (SELECT 5, concat_ws(',', ni_dts, ni_source, ni_author, ni_headline, ni_summary), NULL
    FROM news_xref JOIN news_item ON ni_id = nx_ni_id WHERE NOT long_in AND nx_co_id = company_id ORDER BY ni_id LIMIT 2)
    UNION ALL
    (SELECT 3, concat_ws(',', dm_date, dm_close, dm_high, dm_low, dm_vol), NULL
    FROM daily_market WHERE dm_s_symb = symbol_in AND dm_date >= day_in ORDER BY dm_date LIMIT rows_in)
    UNION ALL
    (SELECT 4, concat_ws(',', lt_open_price, lt_vol), lt_price FROM last_trade WHERE lt_s_symb = symbol_in);
END;

-- customerposition shows a customer, asked for by number, or by tax id where
-- that is not empty, and, where an account is given, its last trades.
CREATE PROCEDURE customerposition(c_id_in bigint, tax_id_in varchar(20), ca_id_in bigint)
BEGIN
    IF tax_id_in <> '' THEN
        SELECT c_id INTO c_id_in FROM customer WHERE c_tax_id = tax_id_in;
    END IF;
    (SELECT 0 AS part,
        concat_ws(',', c_st_id, c_l_name, c_f_name, c_m_name, c_gndr, c_tier, c_dob, c_ad_id,
            c_ctry_1, c_area_1, c_local_1, c_ext_1, c_ctry_2, c_area_2, c_local_2, c_ext_2, c_ctry_3, c_area_3, c_local_3, c_ext_3,
            c_email_1, c_email_2) AS content,
        CAST(NULL AS decimal(20, 2)) AS amount
    FROM customer WHERE c_id = c_id_in)
    UNION ALL
    (SELECT 1, concat_ws(',', r.ca_id, r.ca_bal), r.worth FROM (
        SELECT ca_id, ca_bal, coalesce(sum(hs_qty * lt_price), 0) AS worth
        FROM customer_account LEFT JOIN holding_summary ON hs_ca_id = ca_id LEFT JOIN last_trade ON lt_s_symb = hs_s_symb
        WHERE ca_c_id = c_id_in GROUP BY ca_id, ca_bal ORDER BY worth, ca_id LIMIT 10) r)
    UNION ALL
    (SELECT 2, concat_ws(',', t_id, t_s_symb, t_qty, st_name, th_dts), NULL
    FROM (SELECT t_id, t_s_symb, t_qty FROM trade WHERE t_ca_id = ca_id_in ORDER BY t_dts DESC, t_id DESC LIMIT 10) t
    JOIN trade_history ON th_t_id = t_id JOIN status_type ON st_id = th_st_id
    WHERE ca_id_in <> 0 ORDER BY th_dts DESC, t_id DESC LIMIT 30);
END;

-- brokervolume returns what is open with brokers in a sector.
CREATE PROCEDURE brokervolume(sector_in varchar(30), brokers_in text)
BEGIN
    SET brokers_in = replace(substr(brokers_in, 2, char_length(brokers_in) - 2), '"', '');
    SELECT 0, b_name, sum(tr_qty * tr_bid_price) AS volume
    FROM sector JOIN industry ON in_sc_id = sc_id JOIN company ON co_in_id = in_id JOIN security ON s_co_id = co_id
    JOIN trade_request ON tr_s_symb = s_symb JOIN broker ON b_id = tr_b_id
    WHERE sc_name = sector_in AND find_in_set(b_name, brokers_in) GROUP BY b_name ORDER BY volume DESC, b_name;
END;

-- trades_found finds the trades of frames 1 (given), 2 (of an account) and 3
-- (of a security), and leaves their numbers as a JSON array in ids.
CREATE PROCEDURE trades_found(
    frame smallint, INOUT ids text, ca_id_in bigint, symbol_in varchar(15), from_in datetime(6), to_in datetime(6))
BEGIN
    IF frame = 2 THEN
        SELECT group_concat(t_id) INTO ids FROM (
            SELECT t_id FROM trade WHERE t_ca_id = ca_id_in AND t_dts >= from_in AND t_dts <= to_in ORDER BY t_dts, t_id LIMIT 20) f;
    ELSEIF frame = 3 THEN
        SELECT group_concat(t_id) INTO ids FROM (
            SELECT t_id FROM trade WHERE t_s_symb = symbol_in AND t_dts >= from_in AND t_dts <= to_in ORDER BY t_dts, t_id LIMIT 20) f;
    ELSE
        SET ids = substr(ids, 2, char_length(ids) - 2);
    END IF;
    SET ids = concat('[', coalesce(ids, ''), ']');
END;

-- trades_shown returns trades and what belongs to them, and, where it is not
-- null, how many were changed as the amount of the one row of part 9. A trade
-- has at most four steps; without a limit their order would be dropped.
CREATE PROCEDURE trades_shown(ids text, changed_in bigint)
BEGIN
    (SELECT 9 AS part, '' AS content, CAST(changed_in AS decimal(20, 2)) AS amount FROM dual WHERE changed_in IS NOT NULL)
    UNION ALL
    (SELECT 0, concat_ws(',', t_id, t_bid_price, t_exec_name, t_is_cash, tt_is_mrkt, t_trade_price, t_ca_id, t_qty, t_dts, t_tt_id), NULL
    FROM json_table(ids, '$[*]' COLUMNS (i bigint PATH '$')) l STRAIGHT_JOIN trade ON t_id = l.i STRAIGHT_JOIN trade_type ON tt_id = t_tt_id)
    UNION ALL
    (SELECT 1, concat_ws(',', se_t_id, se_amt, se_cash_due_date, se_cash_type), NULL
    FROM json_table(ids, '$[*]' COLUMNS (i bigint PATH '$')) l STRAIGHT_JOIN settlement ON se_t_id = l.i)
    UNION ALL
    (SELECT 2, concat_ws(',', ct_t_id, ct_amt, ct_dts, ct_name), NULL
    FROM json_table(ids, '$[*]' COLUMNS (i bigint PATH '$')) l STRAIGHT_JOIN cash_transaction ON ct_t_id = l.i)
    UNION ALL
    (SELECT 3, concat_ws(',', th_t_id, th_dts, th_st_id), NULL
    FROM json_table(ids, '$[*]' COLUMNS (i bigint PATH '$')) l STRAIGHT_JOIN trade_history ON th_t_id = l.i
    ORDER BY th_t_id, th_dts LIMIT 80);
END;

-- tradelookup shows old trades, or in frame 4 what became of the holdings of
-- one.
CREATE PROCEDURE tradelookup(
    frame smallint, ids text, ca_id_in bigint, symbol_in varchar(15), from_in datetime(6), to_in datetime(6))
BEGIN
    DECLARE found_id bigint;
    IF frame = 4 THEN
        SELECT t_id INTO found_id FROM trade WHERE t_ca_id = ca_id_in AND t_dts >= from_in ORDER BY t_dts, t_id LIMIT 1;
        (SELECT 0 AS part, CAST(found_id AS char) AS content, CAST(NULL AS decimal(20, 2)) AS amount FROM dual WHERE found_id IS NOT NULL)
        UNION ALL
        (SELECT 1, concat_ws(',', hh_h_t_id, hh_t_id, hh_before_qty, hh_after_qty), NULL
        FROM holding_history WHERE hh_h_t_id IN (SELECT hh_h_t_id FROM holding_history WHERE hh_t_id = found_id)
        ORDER BY hh_h_t_id, hh_t_id LIMIT 20);
    ELSE
        CALL trades_found(frame, ids, ca_id_in, symbol_in, from_in, to_in);
        CALL trades_shown(ids, NULL);
    END IF;
END;

-- tradeupdate changes old trades, and shows them.
CREATE PROCEDURE tradeupdate(
    frame smallint, ids text, ca_id_in bigint, symbol_in varchar(15), from_in datetime(6), to_in datetime(6))
BEGIN
    CALL trades_found(frame, ids, ca_id_in, symbol_in, from_in, to_in);
    IF frame = 1 THEN
        UPDATE json_table(ids, '$[*]' COLUMNS (i bigint PATH '$')) l STRAIGHT_JOIN trade ON t_id = l.i
        SET t_exec_name = CASE WHEN t_exec_name LIKE '% X %'
            THEN replace(t_exec_name, ' X ', ' ') ELSE replace(t_exec_name, ' ', ' X ') END;
    ELSEIF frame = 2 THEN
        UPDATE json_table(ids, '$[*]' COLUMNS (i bigint PATH '$')) l STRAIGHT_JOIN settlement ON se_t_id = l.i
        SET se_cash_type = CASE se_cash_type WHEN 'Cash Account' THEN 'Cash' WHEN 'Cash' THEN 'Cash Account'
            WHEN 'Margin' THEN 'Margin Account' ELSE 'Margin' END;
    ELSE
        UPDATE json_table(ids, '$[*]' COLUMNS (i bigint PATH '$')) l STRAIGHT_JOIN cash_transaction ON ct_t_id = l.i
        SET ct_name = CASE WHEN ct_name LIKE '% shares of %'
            THEN replace(ct_name, ' shares of ', ' Shares of ') ELSE replace(ct_name, ' Shares of ', ' shares of ') END;
    END IF;
    CALL trades_shown(ids, row_count());
END;

-- tax_on is the tax on a profit of a customer.
CREATE PROCEDURE tax_on(c_id_in bigint, profit decimal(20, 2), OUT tax decimal(12, 2))
BEGIN
    SELECT round(profit * sum(tx_rate), 2) INTO tax FROM customer_taxrate JOIN taxrate ON tx_id = cx_tx_id WHERE cx_c_id = c_id_in;
END;

-- closed works out what a trade of so many pieces at a price would close of
-- the lots of an account in a security.
CREATE PROCEDURE closed(
    ca_id_in bigint, symbol_in varchar(15), lifo_in boolean, needed bigint, price decimal(12, 2),
    OUT bought decimal(20, 2), OUT sold decimal(20, 2))
BEGIN
    DECLARE lot_qty, used bigint;
    DECLARE lot_price decimal(12, 2);
    DECLARE past boolean DEFAULT FALSE;
    DECLARE lots CURSOR FOR SELECT h_qty, h_price FROM holding WHERE h_ca_id = ca_id_in AND h_s_symb = symbol_in
        ORDER BY CASE WHEN lifo_in THEN h_dts END DESC, CASE WHEN lifo_in THEN h_t_id END DESC, h_dts, h_t_id;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET past = TRUE;
    SET bought = 0, sold = 0;
    OPEN lots;
    FETCH lots INTO lot_qty, lot_price;
    WHILE needed > 0 AND NOT past DO
        SET used = least(abs(lot_qty), needed),
            bought = bought + used * CASE WHEN lot_qty > 0 THEN lot_price ELSE price END,
            sold = sold + used * CASE WHEN lot_qty > 0 THEN price ELSE lot_price END,
            needed = needed - used;
        FETCH lots INTO lot_qty, lot_price;
    END WHILE;
    CLOSE lots;
END;

-- close_lots does that for trade t_id_in, and leaves in needed for how many
-- pieces there was no lot.
CREATE PROCEDURE close_lots(
    t_id_in bigint, ca_id_in bigint, symbol_in varchar(15), lifo_in boolean, INOUT needed bigint, price decimal(12, 2),
    OUT bought decimal(20, 2), OUT sold decimal(20, 2))
BEGIN
    DECLARE lot, lot_qty, used, left_qty bigint;
    DECLARE lot_price decimal(12, 2);
    DECLARE past boolean DEFAULT FALSE;
    DECLARE lots CURSOR FOR SELECT h_t_id, h_qty, h_price FROM holding WHERE h_ca_id = ca_id_in AND h_s_symb = symbol_in
        ORDER BY CASE WHEN lifo_in THEN h_dts END DESC, CASE WHEN lifo_in THEN h_t_id END DESC, h_dts, h_t_id;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET past = TRUE;
    SET bought = 0, sold = 0;
    OPEN lots;
    FETCH lots INTO lot, lot_qty, lot_price;
    WHILE needed > 0 AND NOT past DO
        SET used = least(abs(lot_qty), needed),
            bought = bought + used * CASE WHEN lot_qty > 0 THEN lot_price ELSE price END,
            sold = sold + used * CASE WHEN lot_qty > 0 THEN price ELSE lot_price END,
            left_qty = lot_qty - sign(lot_qty) * used,
            needed = needed - used;
        INSERT INTO holding_history (hh_h_t_id, hh_t_id, hh_before_qty, hh_after_qty) VALUES (lot, t_id_in, lot_qty, left_qty);
        IF left_qty = 0 THEN
            DELETE FROM holding WHERE h_t_id = lot;
        ELSE
            UPDATE holding SET h_qty = left_qty WHERE h_t_id = lot;
        END IF;
        FETCH lots INTO lot, lot_qty, lot_price;
    END WHILE;
    CLOSE lots;
END;

-- tradeorder enters an order. Who trades for the account is its owner where
-- tax_id_in is empty; the security is asked for by symbol, or by company and
-- issue where that is empty. It returns the number of the trade and what was
-- estimated.
CREATE PROCEDURE tradeorder(
    ca_id_in bigint, tax_id_in varchar(20), f_name_in varchar(20), l_name_in varchar(25), symbol_in varchar(15),
    company_in varchar(60), issue_in char(6), tt_id_in char(3), qty_in int, bid_in decimal(12, 2), margin_in boolean,
    lifo_in boolean, at_in datetime(6))
BEGIN
    DECLARE broker_id, owner_id, trade_no bigint;
    DECLARE tax_status, tier, held int;
    DECLARE is_market, is_sell boolean;
    DECLARE balance, price, charge, commission, tax decimal(12, 2);
    DECLARE assets, bought, sold decimal(20, 2) DEFAULT 0;
    DECLARE rate decimal(5, 2);
    DECLARE f_name varchar(20);
    DECLARE l_name varchar(25);
    DECLARE tax_id varchar(20);
    DECLARE account_name varchar(50);
    DECLARE broker_name varchar(49);
    DECLARE acl, status char(4);
    DECLARE symbol varchar(15);
    DECLARE exchange_id varchar(6);
    DECLARE s_name_found varchar(70);
    DECLARE company_name varchar(60);

    SELECT ca_b_id, ca_c_id, ca_tax_st, ca_bal, c_tier, c_f_name, c_l_name, c_tax_id, ca_name, b_name
    INTO broker_id, owner_id, tax_status, balance, tier, f_name, l_name, tax_id, account_name, broker_name
    FROM customer_account JOIN customer ON c_id = ca_c_id JOIN broker ON b_id = ca_b_id WHERE ca_id = ca_id_in;
    IF tax_id_in <> '' THEN
        SELECT ap_acl INTO acl FROM account_permission
        WHERE ap_ca_id = ca_id_in AND ap_tax_id = tax_id_in AND ap_f_name = f_name_in AND ap_l_name = l_name_in;
        IF acl IS NULL THEN
            SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'tradeorder: who asks may not trade for the account';
        END IF;
        SET f_name = f_name_in, l_name = l_name_in;
    END IF;
    IF symbol_in = '' THEN
        SELECT s_symb, s_ex_id, s_name, co_name INTO symbol, exchange_id, s_name_found, company_name
        FROM company JOIN security ON s_co_id = co_id WHERE co_name = company_in AND s_issue = issue_in;
    ELSE
        SELECT s_symb, s_ex_id, s_name, co_name INTO symbol, exchange_id, s_name_found, company_name
        FROM security JOIN company ON co_id = s_co_id WHERE s_symb = symbol_in;
    END IF;
    SELECT lt_price INTO price FROM last_trade WHERE lt_s_symb = symbol;
    SELECT tt_is_mrkt, tt_is_sell INTO is_market, is_sell FROM trade_type WHERE tt_id = tt_id_in;
    IF broker_id IS NULL OR price IS NULL OR is_market IS NULL THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'tradeorder: there is no such account, security or type of trade';
    END IF;
    IF NOT is_market THEN
        SET price = bid_in;
    END IF;

    SET tax = 0;
    SELECT hs_qty INTO held FROM holding_summary WHERE hs_ca_id = ca_id_in AND hs_s_symb = symbol;
    IF held IS NOT NULL AND is_sell = (held > 0) THEN
        CALL closed(ca_id_in, symbol, lifo_in, qty_in, price, bought, sold);
        IF sold > bought AND tax_status <> 0 THEN
            CALL tax_on(owner_id, sold - bought, tax);
        END IF;
    END IF;
    SELECT cr_rate, ch_chrg INTO rate, charge FROM commission_rate JOIN charge ON ch_tt_id = cr_tt_id AND ch_c_tier = cr_c_tier
    WHERE cr_c_tier = tier AND cr_tt_id = tt_id_in AND cr_ex_id = exchange_id AND cr_from_qty <= qty_in AND cr_to_qty >= qty_in;
    SET commission = round(qty_in * price * rate / 100, 2);
    IF margin_in THEN
        SELECT balance + coalesce(sum(hs_qty * lt_price), 0) INTO assets
        FROM holding_summary JOIN last_trade ON lt_s_symb = hs_s_symb WHERE hs_ca_id = ca_id_in;
    END IF;

    SET status = CASE WHEN is_market THEN 'SBMT' ELSE 'PNDG' END;
    INSERT INTO trade (t_dts, t_st_id, t_tt_id, t_is_cash, t_s_symb, t_qty, t_bid_price, t_ca_id, t_exec_name,
        t_trade_price, t_chrg, t_comm, t_tax, t_lifo)
    VALUES (at_in, status, tt_id_in, NOT margin_in, symbol, qty_in, price, ca_id_in, concat(f_name, ' ', l_name),
        NULL, charge, commission, 0, lifo_in);
    SET trade_no = last_insert_id();
    IF NOT is_market THEN
        INSERT INTO trade_request (tr_t_id, tr_tt_id, tr_s_symb, tr_qty, tr_bid_price, tr_b_id)
        VALUES (trade_no, tt_id_in, symbol, qty_in, price, broker_id);
    END IF;
    INSERT INTO trade_history (th_t_id, th_dts, th_st_id) VALUES (trade_no, at_in, status);
    SELECT trade_no, commission, tax, assets;
END;

-- traderesult completes a trade at a price. It returns the status that it
-- found: a trade that is complete already is left as it is.
CREATE PROCEDURE traderesult(t_id_in bigint, price_in decimal(12, 2), at_in datetime(6))
BEGIN
    DECLARE account, broker_id, owner_id, needed, after_qty, signed_qty bigint;
    DECLARE qty, tax_status, tier, held int;
    DECLARE lifo, is_cash, is_sell boolean;
    DECLARE charge, commission, balance, settled decimal(12, 2);
    DECLARE tax decimal(12, 2) DEFAULT 0;
    DECLARE bought, sold decimal(20, 2) DEFAULT 0;
    DECLARE rate decimal(5, 2);
    DECLARE status char(4);
    DECLARE kind char(3);
    DECLARE symbol varchar(15);
    DECLARE exchange_id varchar(6);
    DECLARE security_name varchar(70);
    DECLARE entered datetime(6);

    SELECT t_st_id, t_ca_id, t_tt_id, t_s_symb, t_qty, t_chrg, t_lifo, t_is_cash, tt_is_sell, ca_b_id, ca_c_id, ca_tax_st,
        s_ex_id, s_name, c_tier, t_dts
    INTO status, account, kind, symbol, qty, charge, lifo, is_cash, is_sell, broker_id, owner_id, tax_status,
        exchange_id, security_name, tier, entered
    FROM trade JOIN trade_type ON tt_id = t_tt_id JOIN customer_account ON ca_id = t_ca_id JOIN customer ON c_id = ca_c_id
    JOIN security ON s_symb = t_s_symb WHERE t_id = t_id_in;
    IF status IS NULL THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'traderesult: there is no such trade';
    END IF;
    IF status = 'SBMT' THEN
        SET at_in = greatest(at_in, entered); -- an order of an earlier run may be dated later
        SELECT hs_qty INTO held FROM holding_summary WHERE hs_ca_id = account AND hs_s_symb = symbol;
        SET needed = qty, signed_qty = CASE WHEN is_sell THEN -qty ELSE qty END, after_qty = coalesce(held, 0) + signed_qty;
        IF held IS NULL THEN
            INSERT INTO holding_summary (hs_ca_id, hs_s_symb, hs_qty) VALUES (account, symbol, after_qty);
        ELSEIF after_qty <> 0 THEN
            UPDATE holding_summary SET hs_qty = after_qty WHERE hs_ca_id = account AND hs_s_symb = symbol;
        END IF;
        IF held IS NOT NULL AND is_sell = (held > 0) THEN
            CALL close_lots(t_id_in, account, symbol, lifo, needed, price_in, bought, sold);
        END IF;
        IF needed > 0 THEN
            INSERT INTO holding_history (hh_h_t_id, hh_t_id, hh_before_qty, hh_after_qty)
            VALUES (t_id_in, t_id_in, 0, sign(signed_qty) * needed);
            INSERT INTO holding (h_t_id, h_ca_id, h_s_symb, h_dts, h_price, h_qty)
            VALUES (t_id_in, account, symbol, at_in, price_in, sign(signed_qty) * needed);
        END IF;
        IF held IS NOT NULL AND after_qty = 0 THEN
            DELETE FROM holding_summary WHERE hs_ca_id = account AND hs_s_symb = symbol;
        END IF;

        IF sold > bought AND tax_status <> 0 THEN
            CALL tax_on(owner_id, sold - bought, tax);
        END IF;
        SELECT cr_rate INTO rate FROM commission_rate
        WHERE cr_c_tier = tier AND cr_tt_id = kind AND cr_ex_id = exchange_id AND cr_from_qty <= qty AND cr_to_qty >= qty;
        SET commission = round(qty * price_in * rate / 100, 2),
            settled = CASE WHEN is_sell THEN qty * price_in - charge - commission ELSE -(qty * price_in + charge + commission) END
                - CASE tax_status WHEN 1 THEN tax ELSE 0 END;

        UPDATE trade SET t_comm = commission, t_tax = tax, t_dts = at_in, t_st_id = 'CMPT', t_trade_price = price_in
        WHERE t_id = t_id_in;
        INSERT INTO trade_history (th_t_id, th_dts, th_st_id) VALUES (t_id_in, at_in, 'CMPT');
        INSERT INTO settlement (se_t_id, se_cash_type, se_cash_due_date, se_amt)
        VALUES (t_id_in, CASE WHEN is_cash THEN 'Cash Account' ELSE 'Margin' END, date(at_in) + INTERVAL 2 DAY, settled);
        IF is_cash THEN
            UPDATE customer_account SET ca_bal = ca_bal + settled WHERE ca_id = account;
            INSERT INTO cash_transaction (ct_t_id, ct_dts, ct_amt, ct_name)
            VALUES (t_id_in, at_in, settled, concat(kind, ' ', qty, ' shares of ', security_name));
        END IF;
        SELECT ca_bal INTO balance FROM customer_account WHERE ca_id = account;
        -- Many want the broker's row: it is locked last.
        UPDATE broker SET b_comm_total = b_comm_total + commission, b_num_trades = b_num_trades + 1 WHERE b_id = broker_id;
    END IF;
    SELECT status, commission, tax, balance;
END;

-- submit_hits submits the limit orders in a security that a price triggers,
-- and appends each to hits: its place, its number, its quantity.
CREATE PROCEDURE submit_hits(place int, symbol varchar(15), price decimal(12, 2), at_in datetime(6), INOUT hits longtext)
BEGIN
    DECLARE trade_no, quantity bigint;
    DECLARE past boolean DEFAULT FALSE;
    DECLARE found CURSOR FOR SELECT tr_t_id, tr_qty FROM trade_request
        WHERE tr_s_symb = symbol AND (tr_tt_id = 'TSL' AND tr_bid_price >= price
            OR tr_tt_id = 'TLS' AND tr_bid_price <= price OR tr_tt_id = 'TLB' AND tr_bid_price >= price)
        ORDER BY tr_t_id FOR UPDATE;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET past = TRUE;
    OPEN found;
    FETCH found INTO trade_no, quantity;
    WHILE NOT past DO
        -- An order may reach the database while the feed is under way, and be
        -- dated later than the feed.
        UPDATE trade SET t_st_id = 'SBMT', t_dts = greatest(t_dts, at_in) WHERE t_id = trade_no;
        DELETE FROM trade_request WHERE tr_t_id = trade_no;
        INSERT INTO trade_history (th_t_id, th_dts, th_st_id) SELECT t_id, t_dts, t_st_id FROM trade WHERE t_id = trade_no;
        SET hits = concat(hits, CASE hits WHEN '[' THEN '' ELSE ',' END, '[', place, ',', trade_no, ',', quantity, ']');
        FETCH found INTO trade_no, quantity;
    END WHILE;
    CLOSE found;
END;

-- marketfeed writes prices and submits the limit orders that they trigger: a
-- row for each, with the place of its price in the lists.
CREATE PROCEDURE marketfeed(symbols text, prices text, quantities text, at_in datetime(6))
BEGIN
    DECLARE place int DEFAULT 1;
    DECLARE symbol varchar(15);
    DECLARE price decimal(12, 2);
    DECLARE hits longtext DEFAULT '[';
    SET symbols = substr(symbols, 2, char_length(symbols) - 2),
        prices = substr(prices, 2, char_length(prices) - 2),
        quantities = substr(quantities, 2, char_length(quantities) - 2);
    WHILE place <= 1 + char_length(symbols) - char_length(replace(symbols, ',', '')) DO
        SET symbol = substring_index(substring_index(symbols, ',', place), ',', -1),
            price = substring_index(substring_index(prices, ',', place), ',', -1);
        UPDATE last_trade SET lt_price = price,
            lt_vol = lt_vol + CAST(substring_index(substring_index(quantities, ',', place), ',', -1) AS signed), lt_dts = at_in
        WHERE lt_s_symb = symbol;
        IF row_count() <> 1 THEN
            SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'marketfeed: there is no price of a security';
        END IF;
        CALL submit_hits(place, symbol, price, at_in, hits);
        SET place = place + 1;
    END WHILE;
    SELECT l.place, l.trade_no, l.quantity
    FROM json_table(concat(hits, ']'), '$[*]' COLUMNS (place int PATH '$[0]', trade_no bigint PATH '$[1]', quantity int PATH '$[2]')) l;
END;

-- tradecleanup cancels what is open since before at_in.
CREATE PROCEDURE tradecleanup(at_in datetime(6))
BEGIN
    INSERT INTO trade_history (th_t_id, th_dts, th_st_id) SELECT t_id, at_in, 'SBMT' FROM trade WHERE t_st_id = 'PNDG' AND t_dts < at_in;
    UPDATE trade SET t_st_id = 'SBMT' WHERE t_st_id = 'PNDG' AND t_dts < at_in;
    DELETE FROM trade_request WHERE tr_t_id IN (SELECT t_id FROM trade WHERE t_st_id = 'SBMT' AND t_dts < at_in);
    INSERT INTO trade_history (th_t_id, th_dts, th_st_id) SELECT t_id, at_in, 'CNCL' FROM trade WHERE t_st_id = 'SBMT' AND t_dts < at_in;
    UPDATE trade SET t_st_id = 'CNCL', t_dts = at_in WHERE t_st_id = 'SBMT' AND t_dts < at_in;
    SELECT row_count();
END;
