-- MariaDB and MySQL need their own text: procedures are written in their language.

-- One call is one transaction and one round trip. Inside, rows are locked in one
-- order: stock by warehouse and item; customer, district, warehouse; new orders
-- by district. Rows that everybody wants are locked last.
--
-- A call outside of a transaction is one of its own, as it is elsewhere: without
-- that, each statement in it would be. A call inside leaves the end to the
-- caller. MySQL does not tell a procedure where it is: there every call is a
-- transaction of its own, and ends the caller's.

-- customer_named finds the number of the customer in the middle, rounded up, of
-- those with a last name in a district, sorted by first name (clause 2.5.2.2);
-- null where there is none.
CREATE PROCEDURE customer_named(IN w_id_in int, IN d_id_in smallint, IN last_in varchar(16), OUT id int)
BEGIN
    DECLARE skipped int;
    SELECT (count(*) - 1) DIV 2 INTO skipped FROM customer
    WHERE c_w_id = w_id_in AND c_d_id = d_id_in AND c_last = last_in;
    IF skipped >= 0 THEN
        SELECT c_id INTO id FROM customer
        WHERE c_w_id = w_id_in AND c_d_id = d_id_in AND c_last = last_in
        ORDER BY c_first, c_id LIMIT 1 OFFSET skipped;
    END IF;
END;

-- neworder enters an order and returns a row for each line whose item exists,
-- with what the terminal shows. Lines come in the order of supplying warehouse
-- and item, without any item twice, as lists in braces. Rates are in
-- ten-thousandths. An order of which an item does not exist is undone.
--
-- The lines go into order_line first, which reads the lists once; the stock is
-- then changed line by line of it. What the insert reads of items and stock
-- never changes.
CREATE PROCEDURE neworder(
    w_id_in int, d_id_in smallint, c_id_in int, entry_d_in datetime(6), all_local_in smallint,
    i_ids text, supply_w_ids text, quantities text)
BEGIN
    DECLARE own boolean DEFAULT /*M! @@in_transaction = 0 AND */ TRUE;
    DECLARE order_id, discount, tax, wanted int;
    DECLARE last varchar(16);
    DECLARE credit char(2);
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
        IF own THEN ROLLBACK; END IF;
        RESIGNAL;
    END;
    IF own THEN START TRANSACTION; END IF;
    SET i_ids = concat('[', substr(i_ids, 2, length(i_ids) - 2), ']'),
        supply_w_ids = concat('[', substr(supply_w_ids, 2, length(supply_w_ids) - 2), ']'),
        quantities = concat('[', substr(quantities, 2, length(quantities) - 2), ']'),
        wanted = json_length(i_ids);

    UPDATE district SET d_next_o_id = last_insert_id(d_next_o_id) + 1 WHERE d_w_id = w_id_in AND d_id = d_id_in;
    IF row_count() <> 1 THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'neworder: there is no such district';
    END IF;
    SET order_id = last_insert_id();

    SELECT CAST(c_discount * 10000 AS signed), CAST((w_tax + d_tax) * 10000 AS signed), c_last, c_credit
    INTO discount, tax, last, credit
    FROM customer JOIN warehouse ON w_id = c_w_id JOIN district ON d_w_id = c_w_id AND d_id = c_d_id
    WHERE c_w_id = w_id_in AND c_d_id = d_id_in AND c_id = c_id_in;

    INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
    VALUES (order_id, d_id_in, w_id_in, c_id_in, entry_d_in, NULL, wanted, all_local_in);

    INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (order_id, d_id_in, w_id_in);

    INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
        ol_delivery_d, ol_quantity, ol_amount, ol_dist_info)
    SELECT order_id, d_id_in, w_id_in, l.n, i_id, s_w_id, NULL, l.quantity, i_price * l.quantity,
        CASE d_id_in WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
            WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
            WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
    FROM (
        SELECT n, i, json_value(supply_w_ids, concat('$[', n - 1, ']')) + 0 AS w,
            json_value(quantities, concat('$[', n - 1, ']')) + 0 AS quantity
        FROM json_table(i_ids, '$[*]' COLUMNS (n FOR ORDINALITY, i int PATH '$')) ids) l
    STRAIGHT_JOIN item ON i_id = l.i
    STRAIGHT_JOIN stock ON s_w_id = l.w AND s_i_id = l.i;

    UPDATE order_line STRAIGHT_JOIN stock ON s_w_id = ol_supply_w_id AND s_i_id = ol_i_id
    SET s_quantity = s_quantity - ol_quantity + CASE WHEN s_quantity >= ol_quantity + 10 THEN 0 ELSE 91 END,
        s_ytd = s_ytd + ol_quantity,
        s_order_cnt = s_order_cnt + 1,
        s_remote_cnt = s_remote_cnt + CASE WHEN s_w_id = w_id_in THEN 0 ELSE 1 END
    WHERE ol_w_id = w_id_in AND ol_d_id = d_id_in AND ol_o_id = order_id;

    SELECT ol_number, s_quantity, i_price, ol_amount,
        CASE WHEN i_data LIKE '%ORIGINAL%' AND s_data LIKE '%ORIGINAL%' THEN 'B' ELSE 'G' END,
        i_name, order_id, discount, tax, last, credit
    FROM order_line STRAIGHT_JOIN item ON i_id = ol_i_id
    STRAIGHT_JOIN stock ON s_w_id = ol_supply_w_id AND s_i_id = ol_i_id
    WHERE ol_w_id = w_id_in AND ol_d_id = d_id_in AND ol_o_id = order_id;

    IF own AND (SELECT count(*) FROM order_line WHERE ol_w_id = w_id_in AND ol_d_id = d_id_in AND ol_o_id = order_id) = wanted THEN
        COMMIT;
    ELSEIF own THEN
        ROLLBACK;
    END IF;
END;

-- payment takes a payment and returns what the terminal shows. The customer is
-- asked for by number, or by last name where the number is 0. Customers of bad
-- credit carry a record of it (clause 2.5.2.2).
CREATE PROCEDURE payment(
    w_id_in int, d_id_in smallint, c_w_id_in int, c_d_id_in smallint, c_id_in int, last_in varchar(16),
    amount_in decimal(12, 2), paid_in datetime(6))
BEGIN
    DECLARE own boolean DEFAULT /*M! @@in_transaction = 0 AND */ TRUE;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
        IF own THEN ROLLBACK; END IF;
        RESIGNAL;
    END;
    IF own THEN START TRANSACTION; END IF;
    IF c_id_in = 0 THEN
        CALL customer_named(c_w_id_in, c_d_id_in, last_in, c_id_in);
    END IF;

    UPDATE customer
    SET c_balance = c_balance - amount_in, c_ytd_payment = c_ytd_payment + amount_in,
        c_payment_cnt = c_payment_cnt + 1,
        c_data = CASE c_credit WHEN 'BC' THEN
            left(concat(concat_ws(' ', c_id, c_d_id, c_w_id, d_id_in, w_id_in, amount_in), '|', c_data), 500)
            ELSE c_data END
    WHERE c_w_id = c_w_id_in AND c_d_id = c_d_id_in AND c_id = c_id_in;
    IF row_count() <> 1 THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'payment: there is no such customer';
    END IF;

    UPDATE district SET d_ytd = d_ytd + amount_in WHERE d_w_id = w_id_in AND d_id = d_id_in;
    UPDATE warehouse SET w_ytd = w_ytd + amount_in WHERE w_id = w_id_in;

    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    SELECT c_id_in, c_d_id_in, c_w_id_in, d_id_in, w_id_in, paid_in, amount_in, concat(w_name, '    ', d_name)
    FROM warehouse JOIN district ON d_w_id = w_id WHERE w_id = w_id_in AND d_id = d_id_in;
    IF row_count() <> 1 THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'payment: there is no such district';
    END IF;

    SELECT c_id, c_balance, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone,
        c_since, c_credit, c_credit_lim, CAST(c_discount * 10000 AS signed), CASE c_credit WHEN 'BC' THEN left(c_data, 200) END,
        w_street_1, w_street_2, w_city, w_state, w_zip, d_street_1, d_street_2, d_city, d_state, d_zip
    FROM customer JOIN district JOIN warehouse
    WHERE c_w_id = c_w_id_in AND c_d_id = c_d_id_in AND c_id = c_id_in
      AND d_w_id = w_id_in AND d_id = d_id_in AND w_id = w_id_in;
    IF own THEN COMMIT; END IF;
END;

-- orderstatus returns a row for each line of the customer's last order.
CREATE PROCEDURE orderstatus(w_id_in int, d_id_in smallint, c_id_in int, last_in varchar(16))
BEGIN
    DECLARE order_id int;
    IF c_id_in = 0 THEN
        CALL customer_named(w_id_in, d_id_in, last_in, c_id_in);
    END IF;
    SELECT o_id INTO order_id FROM orders
    WHERE o_w_id = w_id_in AND o_d_id = d_id_in AND o_c_id = c_id_in
    ORDER BY o_id DESC LIMIT 1;
    SELECT c_id, c_balance, c_first, c_middle, c_last, o_id, o_entry_d, o_carrier_id,
        ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
    FROM customer
    JOIN orders ON o_w_id = w_id_in AND o_d_id = d_id_in AND o_id = order_id
    JOIN order_line ON ol_w_id = w_id_in AND ol_d_id = d_id_in AND ol_o_id = order_id
    WHERE c_w_id = w_id_in AND c_d_id = d_id_in AND c_id = c_id_in;
END;

-- delivery delivers the oldest new order of each district and returns their
-- number. Where another delivery for the warehouse takes the oldest one while
-- this one waits for it, this one goes on to the next.
CREATE PROCEDURE delivery(w_id_in int, carrier_id_in smallint, delivery_d_in datetime(6))
BEGIN
    DECLARE own boolean DEFAULT /*M! @@in_transaction = 0 AND */ TRUE;
    DECLARE d smallint DEFAULT 1;
    DECLARE o, c, delivered int DEFAULT 0;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
        IF own THEN ROLLBACK; END IF;
        RESIGNAL;
    END;
    IF own THEN START TRANSACTION; END IF;
    WHILE d <= 10 DO
        SET o = NULL;
        SELECT no_o_id INTO o FROM new_order
        WHERE no_w_id = w_id_in AND no_d_id = d ORDER BY no_o_id LIMIT 1 FOR UPDATE;
        IF o IS NOT NULL THEN
            DELETE FROM new_order WHERE no_w_id = w_id_in AND no_d_id = d AND no_o_id = o;
            SELECT o_c_id INTO c FROM orders WHERE o_w_id = w_id_in AND o_d_id = d AND o_id = o;
            UPDATE orders SET o_carrier_id = carrier_id_in WHERE o_w_id = w_id_in AND o_d_id = d AND o_id = o;
            UPDATE order_line SET ol_delivery_d = delivery_d_in WHERE ol_w_id = w_id_in AND ol_d_id = d AND ol_o_id = o;
            UPDATE customer SET c_delivery_cnt = c_delivery_cnt + 1, c_balance = c_balance + (
                SELECT sum(ol_amount) FROM order_line WHERE ol_w_id = w_id_in AND ol_d_id = d AND ol_o_id = o)
            WHERE c_w_id = w_id_in AND c_d_id = d AND c_id = c;
            SET delivered = delivered + 1;
        END IF;
        SET d = d + 1;
    END WHILE;
    SELECT delivered;
    IF own THEN COMMIT; END IF;
END;

-- stocklevel counts the items of a district's last 20 orders of which the
-- terminal's warehouse has less than the threshold.
CREATE PROCEDURE stocklevel(w_id_in int, d_id_in smallint, threshold_in smallint)
BEGIN
    DECLARE next int;
    SELECT d_next_o_id INTO next FROM district WHERE d_w_id = w_id_in AND d_id = d_id_in;
    SELECT count(DISTINCT s_i_id)
    FROM order_line JOIN stock ON s_w_id = w_id_in AND s_i_id = ol_i_id
    WHERE ol_w_id = w_id_in AND ol_d_id = d_id_in AND ol_o_id >= next - 20 AND ol_o_id < next
      AND s_quantity < threshold_in;
END;
