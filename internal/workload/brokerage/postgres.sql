-- PostgreSQL needs its own text: procedures are written in its languages.

-- One call is one transaction's work and one round trip, between BEGIN at the
-- transaction's isolation and COMMIT. Transactions that show something return
-- rows of (part, content, amount): which part of the answer a row belongs to,
-- the row as text, and a number where one is worked with.

-- tradestatus shows the last 50 trades of an account.
CREATE FUNCTION tradestatus(ca_id_in bigint)
RETURNS TABLE (part smallint, content text, amount numeric) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY SELECT 0::smallint, r::text, NULL::numeric FROM (
        SELECT t_id, t_dts, st_name, tt_name, t_s_symb, t_qty, t_exec_name, t_chrg, s_name, ex_name
        FROM trade JOIN status_type ON st_id = t_st_id JOIN trade_type ON tt_id = t_tt_id
        JOIN security ON s_symb = t_s_symb JOIN exchange ON ex_id = s_ex_id
        WHERE t_ca_id = ca_id_in ORDER BY t_dts DESC, t_id DESC LIMIT 50) r;
    RETURN QUERY SELECT 1::smallint, r::text, NULL::numeric FROM (
        SELECT c_l_name, c_f_name, b_name
        FROM customer_account JOIN customer ON c_id = ca_c_id JOIN broker ON b_id = ca_b_id WHERE ca_id = ca_id_in) r;
END $$;

-- marketwatch returns the number of securities watched and what they are and
-- were worth. The way is 0 for a watch list, 1 for an account, 2 for an
-- industry.
CREATE FUNCTION marketwatch(way smallint, day_in date, c_id_in bigint, ca_id_in bigint, industry_in text, first_in bigint, last_in bigint)
RETURNS TABLE (watched bigint, now_worth numeric, then_worth numeric) LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF way = 0 THEN
        RETURN QUERY SELECT count(*), coalesce(sum(s_num_out * lt_price), 0), coalesce(sum(s_num_out * dm_close), 0)
        FROM watch_list JOIN watch_item ON wi_wl_id = wl_id JOIN security ON s_symb = wi_s_symb
        JOIN last_trade ON lt_s_symb = s_symb JOIN daily_market ON dm_s_symb = s_symb AND dm_date = day_in
        WHERE wl_c_id = c_id_in;
    ELSIF way = 1 THEN
        RETURN QUERY SELECT count(*), coalesce(sum(s_num_out * lt_price), 0), coalesce(sum(s_num_out * dm_close), 0)
        FROM holding_summary JOIN security ON s_symb = hs_s_symb
        JOIN last_trade ON lt_s_symb = s_symb JOIN daily_market ON dm_s_symb = s_symb AND dm_date = day_in
        WHERE hs_ca_id = ca_id_in;
    ELSE
        RETURN QUERY SELECT count(*), coalesce(sum(s_num_out * lt_price), 0), coalesce(sum(s_num_out * dm_close), 0)
        FROM industry JOIN company ON co_in_id = in_id JOIN security ON s_co_id = co_id
        JOIN last_trade ON lt_s_symb = s_symb JOIN daily_market ON dm_s_symb = s_symb AND dm_date = day_in
        WHERE in_name = industry_in AND co_id BETWEEN first_in AND last_in;
    END IF;
END $$;

-- securitydetail shows a security, its company, reports, prices and news.
CREATE FUNCTION securitydetail(symbol_in text, day_in date, rows_in integer, long_in boolean)
RETURNS TABLE (part smallint, content text, amount numeric) LANGUAGE plpgsql STABLE AS $$
DECLARE
    company_id bigint;
BEGIN
    SELECT s_co_id INTO STRICT company_id FROM security WHERE s_symb = symbol_in;
    RETURN QUERY SELECT 0::smallint, r::text, NULL::numeric FROM (
        SELECT co_id, s_name, co_name, co_sp_rate, co_ceo, co_desc, co_open_date, co_st_id,
            ca.ad_line1, ca.ad_line2, cz.zc_town, cz.zc_div, ca.ad_zc_code, ca.ad_ctry, s_num_out, s_start_date, s_exch_date, s_pe,
            s_52wk_high, s_52wk_high_date, s_52wk_low, s_52wk_low_date, s_dividend, s_yield,
            ex_name, ex_num_symb, ex_open, ex_close, ex_desc, ea.ad_line1, ea.ad_line2, ez.zc_town, ez.zc_div, ea.ad_zc_code, ea.ad_ctry
        FROM security JOIN company ON co_id = s_co_id JOIN address ca ON ca.ad_id = co_ad_id JOIN zip_code cz ON cz.zc_code = ca.ad_zc_code
        JOIN exchange ON ex_id = s_ex_id JOIN address ea ON ea.ad_id = ex_ad_id JOIN zip_code ez ON ez.zc_code = ea.ad_zc_code
        WHERE s_symb = symbol_in) r;
    RETURN QUERY SELECT 1::smallint, r::text, NULL::numeric FROM (
        SELECT co_name, in_name FROM company_competitor JOIN company ON co_id = cp_comp_co_id JOIN industry ON in_id = cp_in_id
        WHERE cp_co_id = company_id ORDER BY co_id LIMIT 3) r;
    RETURN QUERY SELECT 2::smallint, r::text, NULL::numeric FROM (
        SELECT fi_year, fi_qtr, fi_qtr_start_date, fi_revenue, fi_net_earn, fi_basic_eps, fi_dilut_eps, fi_margin,
            fi_inventory, fi_assets, fi_liability, fi_out_basic, fi_out_dilut
        FROM financial WHERE fi_co_id = company_id ORDER BY fi_year, fi_qtr LIMIT 20) r;
    IF long_in THEN
        RETURN QUERY SELECT 5::smallint, r::text, NULL::numeric FROM (
            SELECT ni_dts, ni_source, ni_author, ni_item FROM news_xref JOIN news_item ON ni_id = nx_ni_id
            WHERE nx_co_id = company_id ORDER BY ni_id LIMIT 2) r;
    ELSE
        RETURN QUERY SELECT 5::smallint, r::text, NULL::numeric FROM (
            SELECT ni_dts, ni_source, ni_author, ni_headline, ni_summary FROM news_xref JOIN news_item ON ni_id = nx_ni_id
            WHERE nx_co_id = company_id ORDER BY ni_id LIMIT 2) r;
    END IF;
    RETURN QUERY SELECT 3::smallint, r::text, NULL::numeric FROM (
        SELECT dm_date, dm_close, dm_high, dm_low, dm_vol FROM daily_market
        WHERE dm_s_symb = symbol_in AND dm_date >= day_in ORDER BY dm_date LIMIT rows_in) r;
    RETURN QUERY SELECT 4::smallint, (lt_open_price, lt_vol)::text, lt_price FROM last_trade WHERE lt_s_symb = symbol_in;
END $$;

-- customerposition shows a customer, asked for by number, or by tax id where
-- that is not empty, and, where an account is given, its last trades.
CREATE FUNCTION customerposition(c_id_in bigint, tax_id_in text, ca_id_in bigint)
RETURNS TABLE (part smallint, content text, amount numeric) LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF tax_id_in <> '' THEN
        SELECT c_id INTO STRICT c_id_in FROM customer WHERE c_tax_id = tax_id_in;
    END IF;
    RETURN QUERY SELECT 0::smallint, r::text, NULL::numeric FROM (
        SELECT c_st_id, c_l_name, c_f_name, c_m_name, c_gndr, c_tier, c_dob, c_ad_id,
            c_ctry_1, c_area_1, c_local_1, c_ext_1, c_ctry_2, c_area_2, c_local_2, c_ext_2, c_ctry_3, c_area_3, c_local_3, c_ext_3,
            c_email_1, c_email_2 FROM customer WHERE c_id = c_id_in) r;
    RETURN QUERY SELECT 1::smallint, (r.ca_id, r.ca_bal)::text, r.worth FROM (
        SELECT ca_id, ca_bal, coalesce(sum(hs_qty * lt_price), 0) AS worth
        FROM customer_account LEFT JOIN holding_summary ON hs_ca_id = ca_id LEFT JOIN last_trade ON lt_s_symb = hs_s_symb
        WHERE ca_c_id = c_id_in GROUP BY ca_id, ca_bal ORDER BY worth, ca_id LIMIT 10) r;
    IF ca_id_in <> 0 THEN
        RETURN QUERY SELECT 2::smallint, r::text, NULL::numeric FROM (
            SELECT t_id, t_s_symb, t_qty, st_name, th_dts
            FROM (SELECT t_id, t_s_symb, t_qty FROM trade WHERE t_ca_id = ca_id_in ORDER BY t_dts DESC, t_id DESC LIMIT 10) t
            JOIN trade_history ON th_t_id = t_id JOIN status_type ON st_id = th_st_id ORDER BY th_dts DESC, t_id DESC LIMIT 30) r;
    END IF;
END $$;

-- brokervolume returns what is open with brokers in a sector.
CREATE FUNCTION brokervolume(sector_in text, names text[])
RETURNS TABLE (part smallint, content text, amount numeric) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY SELECT 0::smallint, b_name::text, sum(tr_qty * tr_bid_price) AS volume
    FROM sector JOIN industry ON in_sc_id = sc_id JOIN company ON co_in_id = in_id JOIN security ON s_co_id = co_id
    JOIN trade_request ON tr_s_symb = s_symb JOIN broker ON b_id = tr_b_id
    WHERE sc_name = sector_in AND b_name = ANY (names) GROUP BY b_name ORDER BY volume DESC, b_name;
END $$;

-- trades_shown returns what belongs to trades: settlements, cash transactions
-- and history.
CREATE FUNCTION trades_shown(ids bigint[])
RETURNS TABLE (part smallint, content text, amount numeric) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY SELECT 1::smallint, r::text, NULL::numeric FROM (
        SELECT se_t_id, se_amt, se_cash_due_date, se_cash_type FROM settlement WHERE se_t_id = ANY (ids)) r;
    RETURN QUERY SELECT 2::smallint, r::text, NULL::numeric FROM (
        SELECT ct_t_id, ct_amt, ct_dts, ct_name FROM cash_transaction WHERE ct_t_id = ANY (ids)) r;
    RETURN QUERY SELECT 3::smallint, r::text, NULL::numeric FROM (
        SELECT th_t_id, th_dts, th_st_id FROM trade_history WHERE th_t_id = ANY (ids) ORDER BY th_t_id, th_dts) r;
END $$;

-- trades_found returns the numbers of the trades of frames 1 (given), 2 (of an
-- account) and 3 (of a security).
CREATE FUNCTION trades_found(frame smallint, ids bigint[], ca_id_in bigint, symbol_in text, from_in timestamp, to_in timestamp)
RETURNS bigint[] LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF frame = 2 THEN
        RETURN ARRAY(SELECT t_id FROM trade WHERE t_ca_id = ca_id_in AND t_dts >= from_in AND t_dts <= to_in ORDER BY t_dts, t_id LIMIT 20);
    ELSIF frame = 3 THEN
        RETURN ARRAY(SELECT t_id FROM trade WHERE t_s_symb = symbol_in AND t_dts >= from_in AND t_dts <= to_in ORDER BY t_dts, t_id LIMIT 20);
    END IF;
    RETURN ids;
END $$;

-- tradelookup shows old trades, or in frame 4 what became of the holdings of
-- one.
CREATE FUNCTION tradelookup(frame smallint, ids bigint[], ca_id_in bigint, symbol_in text, from_in timestamp, to_in timestamp)
RETURNS TABLE (part smallint, content text, amount numeric) LANGUAGE plpgsql STABLE AS $$
DECLARE
    found_id bigint;
BEGIN
    IF frame = 4 THEN
        SELECT t_id INTO found_id FROM trade WHERE t_ca_id = ca_id_in AND t_dts >= from_in ORDER BY t_dts, t_id LIMIT 1;
        IF FOUND THEN
            RETURN QUERY SELECT 0::smallint, found_id::text, NULL::numeric;
            RETURN QUERY SELECT 1::smallint, r::text, NULL::numeric FROM (
                SELECT hh_h_t_id, hh_t_id, hh_before_qty, hh_after_qty FROM holding_history
                WHERE hh_h_t_id IN (SELECT hh_h_t_id FROM holding_history WHERE hh_t_id = found_id)
                ORDER BY hh_h_t_id, hh_t_id LIMIT 20) r;
        END IF;
        RETURN;
    END IF;
    ids := trades_found(frame, ids, ca_id_in, symbol_in, from_in, to_in);
    RETURN QUERY SELECT 0::smallint, r::text, NULL::numeric FROM (
        SELECT t_id, t_bid_price, t_exec_name, t_is_cash, tt_is_mrkt, t_trade_price, t_ca_id, t_qty, t_dts, t_tt_id
        FROM trade JOIN trade_type ON tt_id = t_tt_id WHERE t_id = ANY (ids)) r;
    RETURN QUERY SELECT * FROM trades_shown(ids);
END $$;

-- tradeupdate changes old trades, and shows them. How many it changed is the
-- amount of the one row of part 9.
CREATE FUNCTION tradeupdate(frame smallint, ids bigint[], ca_id_in bigint, symbol_in text, from_in timestamp, to_in timestamp)
RETURNS TABLE (part smallint, content text, amount numeric) LANGUAGE plpgsql AS $$
DECLARE
    n bigint;
BEGIN
    ids := trades_found(frame, ids, ca_id_in, symbol_in, from_in, to_in);
    IF frame = 1 THEN
        UPDATE trade SET t_exec_name = CASE WHEN t_exec_name LIKE '% X %'
            THEN replace(t_exec_name, ' X ', ' ') ELSE replace(t_exec_name, ' ', ' X ') END WHERE t_id = ANY (ids);
    ELSIF frame = 2 THEN
        UPDATE settlement SET se_cash_type = CASE se_cash_type WHEN 'Cash Account' THEN 'Cash' WHEN 'Cash' THEN 'Cash Account'
            WHEN 'Margin' THEN 'Margin Account' ELSE 'Margin' END WHERE se_t_id = ANY (ids);
    ELSE
        UPDATE cash_transaction SET ct_name = CASE WHEN ct_name LIKE '% shares of %'
            THEN replace(ct_name, ' shares of ', ' Shares of ') ELSE replace(ct_name, ' Shares of ', ' shares of ') END
        WHERE ct_t_id = ANY (ids);
    END IF;
    GET DIAGNOSTICS n = ROW_COUNT;
    RETURN QUERY SELECT 9::smallint, ''::text, n::numeric(20, 2);
    RETURN QUERY SELECT 0::smallint, r::text, NULL::numeric FROM (
        SELECT t_id, t_bid_price, t_exec_name, t_is_cash, tt_is_mrkt, t_trade_price, t_ca_id, t_qty, t_dts, t_tt_id
        FROM trade JOIN trade_type ON tt_id = t_tt_id WHERE t_id = ANY (ids)) r;
    RETURN QUERY SELECT * FROM trades_shown(ids);
END $$;

-- tax_on is the tax on a profit of a customer.
CREATE FUNCTION tax_on(c_id_in bigint, profit numeric)
RETURNS numeric LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT round(profit * sum(tx_rate), 2) FROM customer_taxrate JOIN taxrate ON tx_id = cx_tx_id WHERE cx_c_id = c_id_in);
END $$;

-- tradeorder enters an order. Who trades for the account is its owner where
-- tax_id_in is empty; the security is asked for by symbol, or by company and
-- issue where that is empty. It returns the number of the trade and what was
-- estimated.
CREATE FUNCTION tradeorder(
    ca_id_in bigint, tax_id_in text, f_name_in text, l_name_in text, symbol_in text, company_in text, issue_in text,
    tt_id_in text, qty_in integer, bid_in numeric, margin_in boolean, lifo_in boolean, at_in timestamp)
RETURNS TABLE (trade_no bigint, commission numeric, tax numeric, assets numeric) LANGUAGE plpgsql AS $$
DECLARE
    a record;
    s record;
    k record;
    l record;
    price numeric;
    needed bigint := qty_in;
    used bigint;
    bought numeric := 0;
    sold numeric := 0;
    held bigint;
    rate numeric;
    charge numeric;
BEGIN
    SELECT ca_b_id, ca_c_id, ca_tax_st, ca_bal, c_tier, c_f_name, c_l_name, c_tax_id, ca_name, b_name INTO STRICT a
    FROM customer_account JOIN customer ON c_id = ca_c_id JOIN broker ON b_id = ca_b_id WHERE ca_id = ca_id_in;
    IF tax_id_in = '' THEN
        f_name_in := a.c_f_name;
        l_name_in := a.c_l_name;
    ELSE
        PERFORM ap_acl FROM account_permission
        WHERE ap_ca_id = ca_id_in AND ap_tax_id = tax_id_in AND ap_f_name = f_name_in AND ap_l_name = l_name_in;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'the holder of tax id % may not trade for account %', tax_id_in, ca_id_in;
        END IF;
    END IF;
    IF symbol_in = '' THEN
        SELECT s_symb, s_ex_id, s_name INTO STRICT s FROM company JOIN security ON s_co_id = co_id
        WHERE co_name = company_in AND s_issue = issue_in;
    ELSE
        SELECT s_symb, s_ex_id, s_name, co_name INTO STRICT s FROM security JOIN company ON co_id = s_co_id WHERE s_symb = symbol_in;
    END IF;
    SELECT lt_price INTO STRICT price FROM last_trade WHERE lt_s_symb = s.s_symb;
    SELECT tt_is_mrkt, tt_is_sell INTO STRICT k FROM trade_type WHERE tt_id = tt_id_in;
    IF NOT k.tt_is_mrkt THEN
        price := bid_in;
    END IF;

    tax := 0;
    SELECT hs_qty INTO held FROM holding_summary WHERE hs_ca_id = ca_id_in AND hs_s_symb = s.s_symb;
    IF held IS NOT NULL AND k.tt_is_sell = (held > 0) THEN
        FOR l IN SELECT h_qty, h_price FROM holding WHERE h_ca_id = ca_id_in AND h_s_symb = s.s_symb
            ORDER BY CASE WHEN lifo_in THEN h_dts END DESC, CASE WHEN lifo_in THEN h_t_id END DESC, h_dts, h_t_id
        LOOP
            EXIT WHEN needed = 0;
            used := least(abs(l.h_qty), needed);
            bought := bought + used * CASE WHEN l.h_qty > 0 THEN l.h_price ELSE price END;
            sold := sold + used * CASE WHEN l.h_qty > 0 THEN price ELSE l.h_price END;
            needed := needed - used;
        END LOOP;
        IF sold > bought AND a.ca_tax_st <> 0 THEN
            tax := tax_on(a.ca_c_id, sold - bought);
        END IF;
    END IF;
    SELECT cr_rate, ch_chrg INTO STRICT rate, charge FROM commission_rate JOIN charge ON ch_tt_id = cr_tt_id AND ch_c_tier = cr_c_tier
    WHERE cr_c_tier = a.c_tier AND cr_tt_id = tt_id_in AND cr_ex_id = s.s_ex_id AND cr_from_qty <= qty_in AND cr_to_qty >= qty_in;
    commission := round(qty_in * price * rate / 100, 2);
    assets := 0;
    IF margin_in THEN
        SELECT a.ca_bal + coalesce(sum(hs_qty * lt_price), 0) INTO assets
        FROM holding_summary JOIN last_trade ON lt_s_symb = hs_s_symb WHERE hs_ca_id = ca_id_in;
    END IF;

    INSERT INTO trade (t_dts, t_st_id, t_tt_id, t_is_cash, t_s_symb, t_qty, t_bid_price, t_ca_id, t_exec_name,
        t_trade_price, t_chrg, t_comm, t_tax, t_lifo)
    VALUES (at_in, CASE WHEN k.tt_is_mrkt THEN 'SBMT' ELSE 'PNDG' END, tt_id_in, NOT margin_in, s.s_symb, qty_in, price, ca_id_in,
        f_name_in || ' ' || l_name_in, NULL, charge, commission, 0, lifo_in)
    RETURNING t_id INTO trade_no;
    IF NOT k.tt_is_mrkt THEN
        INSERT INTO trade_request (tr_t_id, tr_tt_id, tr_s_symb, tr_qty, tr_bid_price, tr_b_id)
        VALUES (trade_no, tt_id_in, s.s_symb, qty_in, price, a.ca_b_id);
    END IF;
    INSERT INTO trade_history (th_t_id, th_dts, th_st_id) VALUES (trade_no, at_in, CASE WHEN k.tt_is_mrkt THEN 'SBMT' ELSE 'PNDG' END);
    RETURN NEXT;
END $$;

-- traderesult completes a trade at a price. It returns the status that it
-- found: a trade that is complete already is left as it is.
--
-- What a serializable transaction has read, the server notes coarsely. It would
-- find a broker among few by reading all of them, and then count all as read:
-- without enable_seqscan = off no two could run at once. And whoever finds a
-- trade by the primary key has read that page of it, to which all others add
-- that complete one of some hundred trades entered next to it: an index by hash
-- spreads these over its pages.
CREATE INDEX trade_hash ON trade USING hash (t_id);

CREATE FUNCTION traderesult(t_id_in bigint, price_in numeric, at_in timestamp)
RETURNS TABLE (status text, commission numeric, tax numeric, balance numeric) LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    t record;
    l record;
    held bigint;
    after_qty bigint;
    needed bigint;
    used bigint;
    left_qty bigint;
    bought numeric := 0;
    sold numeric := 0;
    rate numeric;
    settled numeric;
BEGIN
    SELECT t_st_id, t_ca_id, t_tt_id, t_s_symb, t_qty, t_chrg, t_lifo, t_is_cash, tt_is_sell, ca_b_id, ca_c_id, ca_tax_st,
        s_ex_id, s_name, c_tier, t_dts INTO STRICT t
    FROM trade JOIN trade_type ON tt_id = t_tt_id JOIN customer_account ON ca_id = t_ca_id JOIN customer ON c_id = ca_c_id
    JOIN security ON s_symb = t_s_symb WHERE t_id = t_id_in;
    status := t.t_st_id;
    IF status <> 'SBMT' THEN
        RETURN NEXT;
        RETURN;
    END IF;
    at_in := greatest(at_in, t.t_dts); -- an order of an earlier run may be dated later

    SELECT hs_qty INTO held FROM holding_summary WHERE hs_ca_id = t.t_ca_id AND hs_s_symb = t.t_s_symb;
    needed := t.t_qty;
    after_qty := coalesce(held, 0) + CASE WHEN t.tt_is_sell THEN -needed ELSE needed END;
    IF held IS NULL THEN
        INSERT INTO holding_summary (hs_ca_id, hs_s_symb, hs_qty) VALUES (t.t_ca_id, t.t_s_symb, after_qty);
    ELSIF after_qty <> 0 THEN
        UPDATE holding_summary SET hs_qty = after_qty WHERE hs_ca_id = t.t_ca_id AND hs_s_symb = t.t_s_symb;
    END IF;
    IF held IS NOT NULL AND t.tt_is_sell = (held > 0) THEN
        FOR l IN SELECT h_t_id, h_qty, h_price FROM holding WHERE h_ca_id = t.t_ca_id AND h_s_symb = t.t_s_symb
            ORDER BY CASE WHEN t.t_lifo THEN h_dts END DESC, CASE WHEN t.t_lifo THEN h_t_id END DESC, h_dts, h_t_id
        LOOP
            EXIT WHEN needed = 0;
            used := least(abs(l.h_qty), needed);
            bought := bought + used * CASE WHEN l.h_qty > 0 THEN l.h_price ELSE price_in END;
            sold := sold + used * CASE WHEN l.h_qty > 0 THEN price_in ELSE l.h_price END;
            left_qty := l.h_qty - sign(l.h_qty) * used;
            needed := needed - used;
            INSERT INTO holding_history (hh_h_t_id, hh_t_id, hh_before_qty, hh_after_qty) VALUES (l.h_t_id, t_id_in, l.h_qty, left_qty);
            IF left_qty = 0 THEN
                DELETE FROM holding WHERE h_t_id = l.h_t_id;
            ELSE
                UPDATE holding SET h_qty = left_qty WHERE h_t_id = l.h_t_id;
            END IF;
        END LOOP;
    END IF;
    IF needed > 0 THEN
        left_qty := CASE WHEN t.tt_is_sell THEN -needed ELSE needed END;
        INSERT INTO holding_history (hh_h_t_id, hh_t_id, hh_before_qty, hh_after_qty) VALUES (t_id_in, t_id_in, 0, left_qty);
        INSERT INTO holding (h_t_id, h_ca_id, h_s_symb, h_dts, h_price, h_qty)
        VALUES (t_id_in, t.t_ca_id, t.t_s_symb, at_in, price_in, left_qty);
    END IF;
    IF held IS NOT NULL AND after_qty = 0 THEN
        DELETE FROM holding_summary WHERE hs_ca_id = t.t_ca_id AND hs_s_symb = t.t_s_symb;
    END IF;

    tax := 0;
    IF sold > bought AND t.ca_tax_st <> 0 THEN
        tax := tax_on(t.ca_c_id, sold - bought);
    END IF;
    SELECT cr_rate INTO STRICT rate FROM commission_rate
    WHERE cr_c_tier = t.c_tier AND cr_tt_id = t.t_tt_id AND cr_ex_id = t.s_ex_id AND cr_from_qty <= t.t_qty AND cr_to_qty >= t.t_qty;
    commission := round(t.t_qty * price_in * rate / 100, 2);
    settled := CASE WHEN t.tt_is_sell THEN t.t_qty * price_in - t.t_chrg - commission
        ELSE -(t.t_qty * price_in + t.t_chrg + commission) END - CASE t.ca_tax_st WHEN 1 THEN tax ELSE 0 END;

    UPDATE trade SET t_comm = commission, t_tax = tax, t_dts = at_in, t_st_id = 'CMPT', t_trade_price = price_in WHERE t_id = t_id_in;
    INSERT INTO trade_history (th_t_id, th_dts, th_st_id) VALUES (t_id_in, at_in, 'CMPT');
    INSERT INTO settlement (se_t_id, se_cash_type, se_cash_due_date, se_amt)
    VALUES (t_id_in, CASE WHEN t.t_is_cash THEN 'Cash Account' ELSE 'Margin' END, at_in::date + 2, settled);
    IF t.t_is_cash THEN
        UPDATE customer_account SET ca_bal = ca_bal + settled WHERE ca_id = t.t_ca_id;
        INSERT INTO cash_transaction (ct_t_id, ct_dts, ct_amt, ct_name)
        VALUES (t_id_in, at_in, settled, t.t_tt_id || ' ' || t.t_qty || ' shares of ' || t.s_name);
    END IF;
    SELECT ca_bal INTO balance FROM customer_account WHERE ca_id = t.t_ca_id;
    -- Many want the broker's row: it is locked last.
    UPDATE broker SET b_comm_total = b_comm_total + commission, b_num_trades = b_num_trades + 1 WHERE b_id = t.ca_b_id;
    RETURN NEXT;
END $$;

-- marketfeed writes prices and submits the limit orders that they trigger: a
-- row for each, with the place of its price in the lists.
CREATE FUNCTION marketfeed(symbols text[], prices numeric[], quantities bigint[], at_in timestamp)
RETURNS TABLE (place integer, trade_no bigint, quantity integer) LANGUAGE plpgsql AS $$
DECLARE
    submitted timestamp;
BEGIN
    FOR i IN 1 .. cardinality(symbols) LOOP
        place := i; -- a loop's variable is its own
        UPDATE last_trade SET lt_price = prices[place], lt_vol = lt_vol + quantities[place], lt_dts = at_in WHERE lt_s_symb = symbols[place];
        IF NOT FOUND THEN
            RAISE EXCEPTION 'there is no price of %', symbols[place];
        END IF;
        FOR trade_no, quantity IN SELECT tr_t_id, tr_qty FROM trade_request
            WHERE tr_s_symb = symbols[place] AND (tr_tt_id = 'TSL' AND tr_bid_price >= prices[place]
                OR tr_tt_id = 'TLS' AND tr_bid_price <= prices[place] OR tr_tt_id = 'TLB' AND tr_bid_price >= prices[place])
            ORDER BY tr_t_id FOR UPDATE
        LOOP
            -- An order may reach the database while the feed is under way, and
            -- be dated later than the feed.
            UPDATE trade SET t_st_id = 'SBMT', t_dts = greatest(t_dts, at_in) WHERE t_id = trade_no RETURNING t_dts INTO STRICT submitted;
            DELETE FROM trade_request WHERE tr_t_id = trade_no;
            INSERT INTO trade_history (th_t_id, th_dts, th_st_id) VALUES (trade_no, submitted, 'SBMT');
            RETURN NEXT;
        END LOOP;
    END LOOP;
END $$;

-- tradecleanup cancels what is open since before at_in.
CREATE FUNCTION tradecleanup(at_in timestamp)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    n bigint;
BEGIN
    INSERT INTO trade_history (th_t_id, th_dts, th_st_id) SELECT t_id, at_in, 'SBMT' FROM trade WHERE t_st_id = 'PNDG' AND t_dts < at_in;
    UPDATE trade SET t_st_id = 'SBMT' WHERE t_st_id = 'PNDG' AND t_dts < at_in;
    DELETE FROM trade_request WHERE tr_t_id IN (SELECT t_id FROM trade WHERE t_st_id = 'SBMT' AND t_dts < at_in);
    INSERT INTO trade_history (th_t_id, th_dts, th_st_id) SELECT t_id, at_in, 'CNCL' FROM trade WHERE t_st_id = 'SBMT' AND t_dts < at_in;
    UPDATE trade SET t_st_id = 'CNCL', t_dts = at_in WHERE t_st_id = 'SBMT' AND t_dts < at_in;
    GET DIAGNOSTICS n = ROW_COUNT;
    RETURN n;
END $$;
