-- PostgreSQL needs its own text: procedures are written in its languages.

-- One call is one transaction and one round trip. Inside, each procedure has
-- as few statements as its result allows, works on sets rather than rows, and
-- locks in one order: stock by warehouse and item; customer, district,
-- warehouse; new orders by district. Rows that everybody wants are locked last.

-- customer_named returns the number of the customer in the middle, rounded up,
-- of those with a last name in a district, sorted by first name (clause
-- 2.5.2.2); null where there is none.
CREATE FUNCTION customer_named(w_id_in integer, d_id_in smallint, last_in varchar)
RETURNS integer LANGUAGE plpgsql STABLE AS $$
DECLARE
    ids integer[];
BEGIN
    ids := ARRAY(SELECT c_id FROM customer
                 WHERE c_w_id = w_id_in AND c_d_id = d_id_in AND c_last = last_in
                 ORDER BY c_first, c_id);
    RETURN ids[(cardinality(ids) + 1) / 2];
END $$;

-- neworder enters an order and returns a row for each line whose item exists,
-- with what the terminal shows. Lines come in the order of supplying warehouse
-- and item, without any item twice. Rates are in ten-thousandths.
CREATE FUNCTION neworder(
    w_id_in integer, d_id_in smallint, c_id_in integer, entry_d_in timestamp, all_local_in smallint,
    i_ids integer[], supply_w_ids integer[], quantities smallint[])
RETURNS TABLE (
    number smallint, stock smallint, price numeric, amount numeric, brand text, name varchar,
    order_id integer, discount integer, tax integer, last varchar, credit char)
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE district SET d_next_o_id = d_next_o_id + 1
    FROM warehouse, customer
    WHERE d_w_id = w_id_in AND d_id = d_id_in AND w_id = w_id_in
      AND c_w_id = w_id_in AND c_d_id = d_id_in AND c_id = c_id_in
    RETURNING d_next_o_id - 1, (c_discount * 10000)::integer, ((w_tax + d_tax) * 10000)::integer, c_last, c_credit
    INTO STRICT order_id, discount, tax, last, credit;

    INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
    VALUES (order_id, d_id_in, w_id_in, c_id_in, entry_d_in, NULL, cardinality(i_ids), all_local_in);

    INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (order_id, d_id_in, w_id_in);

    RETURN QUERY
    WITH taken AS (
        UPDATE stock
        SET s_quantity = s_quantity - l.quantity + CASE WHEN s_quantity >= l.quantity + 10 THEN 0 ELSE 91 END,
            s_ytd = s_ytd + l.quantity,
            s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + CASE WHEN s_w_id = w_id_in THEN 0 ELSE 1 END
        FROM unnest(i_ids, supply_w_ids, quantities) WITH ORDINALITY AS l (i, w, quantity, n)
        JOIN item ON i_id = l.i
        WHERE s_w_id = l.w AND s_i_id = l.i
        RETURNING l.n::smallint AS n, l.i, l.w, l.quantity, s_quantity, i_price, i_price * l.quantity AS cost, i_name,
            CASE WHEN i_data LIKE '%ORIGINAL%' AND s_data LIKE '%ORIGINAL%' THEN 'B' ELSE 'G' END AS mark,
            CASE d_id_in WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
                WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
                WHEN 9 THEN s_dist_09 ELSE s_dist_10 END AS dist
    ), written AS (
        INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
            ol_delivery_d, ol_quantity, ol_amount, ol_dist_info)
        SELECT order_id, d_id_in, w_id_in, t.n, t.i, t.w, NULL, t.quantity, t.cost, t.dist FROM taken t
    )
    SELECT t.n, t.s_quantity, t.i_price, t.cost, t.mark, t.i_name, order_id, discount, tax, last, credit FROM taken t;
END $$;

-- payment takes a payment and returns what the terminal shows. The customer is
-- asked for by number, or by last name where the number is 0. Customers of bad
-- credit carry a record of it (clause 2.5.2.2).
CREATE FUNCTION payment(
    w_id_in integer, d_id_in smallint, c_w_id_in integer, c_d_id_in smallint, c_id_in integer, last_in varchar,
    amount_in numeric, paid_in timestamp)
RETURNS TABLE (
    id integer, balance numeric, first varchar, middle char, last varchar,
    street_1 varchar, street_2 varchar, city varchar, state char, zip char, phone char, since timestamp,
    credit char, credit_limit numeric, discount integer, data text,
    w_1 varchar, w_2 varchar, w_3 varchar, w_4 char, w_5 char,
    d_1 varchar, d_2 varchar, d_3 varchar, d_4 char, d_5 char)
LANGUAGE plpgsql AS $$
DECLARE
    w_named varchar;
    d_named varchar;
BEGIN
    IF c_id_in = 0 THEN
        c_id_in := customer_named(c_w_id_in, c_d_id_in, last_in);
    END IF;

    UPDATE customer
    SET c_balance = c_balance - amount_in, c_ytd_payment = c_ytd_payment + amount_in,
        c_payment_cnt = c_payment_cnt + 1,
        c_data = CASE c_credit WHEN 'BC' THEN
            left(concat_ws(' ', c_id, c_d_id, c_w_id, d_id_in, w_id_in, amount_in) || '|' || c_data, 500)
            ELSE c_data END
    WHERE c_w_id = c_w_id_in AND c_d_id = c_d_id_in AND c_id = c_id_in
    RETURNING c_id, c_balance, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone,
        c_since, c_credit, c_credit_lim, (c_discount * 10000)::integer, CASE c_credit WHEN 'BC' THEN left(c_data, 200) END
    INTO STRICT id, balance, first, middle, last, street_1, street_2, city, state, zip, phone, since, credit, credit_limit, discount, data;

    UPDATE district SET d_ytd = d_ytd + amount_in WHERE d_w_id = w_id_in AND d_id = d_id_in
    RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip INTO STRICT d_named, d_1, d_2, d_3, d_4, d_5;

    UPDATE warehouse SET w_ytd = w_ytd + amount_in WHERE w_id = w_id_in
    RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip INTO STRICT w_named, w_1, w_2, w_3, w_4, w_5;

    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (c_id_in, c_d_id_in, c_w_id_in, d_id_in, w_id_in, paid_in, amount_in, w_named || '    ' || d_named);
    RETURN NEXT;
END $$;

-- orderstatus returns a row for each line of the customer's last order.
CREATE FUNCTION orderstatus(w_id_in integer, d_id_in smallint, c_id_in integer, last_in varchar)
RETURNS TABLE (
    id integer, balance numeric, first varchar, middle char, last varchar,
    order_id integer, entry_d timestamp, carrier_id smallint,
    i_id integer, supply_w_id integer, quantity smallint, amount numeric, delivery_d timestamp)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF c_id_in = 0 THEN
        c_id_in := customer_named(w_id_in, d_id_in, last_in);
    END IF;
    RETURN QUERY
    SELECT c_id, c_balance, c_first, c_middle, c_last, o_id, o_entry_d, o_carrier_id,
        ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
    FROM customer
    CROSS JOIN LATERAL (
        SELECT o_id, o_entry_d, o_carrier_id FROM orders
        WHERE o_w_id = w_id_in AND o_d_id = d_id_in AND o_c_id = c_id_in
        ORDER BY o_id DESC LIMIT 1) o
    JOIN order_line ON ol_w_id = w_id_in AND ol_d_id = d_id_in AND ol_o_id = o_id
    WHERE c_w_id = w_id_in AND c_d_id = d_id_in AND c_id = c_id_in;
END $$;

-- delivery delivers the oldest new order of each district and returns their
-- number. Another delivery for the warehouse may take some of them while this
-- one waits for it: then it looks again, for those districts.
CREATE FUNCTION delivery(w_id_in integer, carrier_id_in smallint, delivery_d_in timestamp)
RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    ds smallint[] := '{}';
    os integer[] := '{}';
    asked integer;
    new_ds smallint[];
    new_os integer[];
BEGIN
    LOOP
        WITH oldest AS MATERIALIZED (
            SELECT d::smallint AS d, (SELECT no_o_id FROM new_order
                WHERE no_w_id = w_id_in AND no_d_id = d::smallint ORDER BY no_o_id LIMIT 1) AS o
            FROM generate_series(1, 10) d
            WHERE d::smallint <> ALL (ds)
        ), taken AS (
            DELETE FROM new_order USING oldest
            WHERE no_w_id = w_id_in AND no_d_id = d AND no_o_id = o
            RETURNING no_d_id, no_o_id
        )
        SELECT array_agg(no_d_id), array_agg(no_o_id), (SELECT count(o) FROM oldest)
        INTO new_ds, new_os, asked FROM taken;
        ds := ds || new_ds;
        os := os || new_os;
        EXIT WHEN asked = coalesce(cardinality(new_ds), 0);
    END LOOP;

    WITH o AS (
        UPDATE orders SET o_carrier_id = carrier_id_in
        FROM unnest(ds, os) AS n (d, o)
        WHERE o_w_id = w_id_in AND o_d_id = n.d AND o_id = n.o
        RETURNING o_d_id, o_c_id
    ), l AS (
        UPDATE order_line SET ol_delivery_d = delivery_d_in
        FROM unnest(ds, os) AS n (d, o)
        WHERE ol_w_id = w_id_in AND ol_d_id = n.d AND ol_o_id = n.o
        RETURNING ol_d_id, ol_amount
    )
    UPDATE customer SET c_balance = c_balance + total, c_delivery_cnt = c_delivery_cnt + 1
    FROM o JOIN (SELECT ol_d_id, sum(ol_amount) AS total FROM l GROUP BY ol_d_id) t ON ol_d_id = o_d_id
    WHERE c_w_id = w_id_in AND c_d_id = o_d_id AND c_id = o_c_id;
    RETURN cardinality(ds);
END $$;

-- stocklevel counts the items of a district's last 20 orders of which the
-- terminal's warehouse has less than the threshold.
CREATE FUNCTION stocklevel(w_id_in integer, d_id_in smallint, threshold_in smallint)
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    next integer;
    low bigint;
BEGIN
    SELECT d_next_o_id INTO next FROM district WHERE d_w_id = w_id_in AND d_id = d_id_in;
    SELECT count(DISTINCT s_i_id) INTO low
    FROM order_line JOIN stock ON s_w_id = w_id_in AND s_i_id = ol_i_id
    WHERE ol_w_id = w_id_in AND ol_d_id = d_id_in AND ol_o_id >= next - 20 AND ol_o_id < next
      AND s_quantity < threshold_in;
    RETURN low;
END $$;
