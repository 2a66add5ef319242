-- MariaDB and MySQL need their own text: procedures and triggers are written in their language. Mode: strict.

-- new_customer returns the new customer's number, or 0 where the user name is
-- taken.
CREATE PROCEDURE new_customer(
    firstname_in varchar(50), lastname_in varchar(50), address1_in varchar(50), address2_in varchar(50),
    city_in varchar(50), state_in varchar(50), zip_in varchar(9), country_in varchar(50), region_in smallint,
    email_in varchar(50), phone_in varchar(50), creditcardtype_in int, creditcard_in varchar(50),
    creditcardexpiration_in varchar(50), username_in varchar(50), password_in varchar(50),
    age_in smallint, income_in int, gender_in varchar(1))
BEGIN
    DECLARE taken boolean DEFAULT FALSE;
    DECLARE CONTINUE HANDLER FOR 1062 SET taken = TRUE;
    INSERT INTO customers (
        firstname, lastname, address1, address2, city, state, zip, country, region, email, phone,
        creditcardtype, creditcard, creditcardexpiration, username, password, age, income, gender)
    VALUES (
        firstname_in, lastname_in, address1_in, address2_in, city_in, state_in, zip_in, country_in,
        region_in, email_in, phone_in, creditcardtype_in, creditcard_in, creditcardexpiration_in,
        username_in, password_in, age_in, income_in, gender_in);
    SELECT CASE WHEN taken THEN 0 ELSE last_insert_id() END;
END;

-- login returns the customer's number with each of the last ten products
-- bought, newest order first, and what goes with it: one row without products
-- for a customer without history, no row for a wrong name or password.
CREATE PROCEDURE login(username_in varchar(50), password_in varchar(50))
BEGIN
    DECLARE id int;
    SELECT customerid INTO id FROM customers WHERE username = username_in AND password = password_in;
    SELECT c.customerid, h.title, h.actor, h.related
    FROM customers c
    LEFT JOIN (
        SELECT bought.title, bought.actor, related.title AS related
        FROM (SELECT orderid, prod_id FROM cust_hist
              WHERE customerid = id
              ORDER BY orderid DESC, prod_id LIMIT 10) recent
        JOIN products bought ON bought.prod_id = recent.prod_id
        JOIN products related ON related.prod_id = bought.common_prod_id
    ) h ON TRUE
    WHERE c.customerid = id;
END;

-- The searches return the first batch_size products by number that match.

CREATE PROCEDURE browse_by_category(batch_size_in int, category_in int)
BEGIN
    SELECT * FROM products WHERE category = category_in AND special = 1
    ORDER BY prod_id LIMIT batch_size_in;
END;

-- A word with a + before it must be there. What is neither letter, digit nor
-- underscore would be an operator, and becomes a blank.

CREATE PROCEDURE browse_by_actor(batch_size_in int, actor_in varchar(50))
BEGIN
    SET actor_in = replace(rtrim(concat(' ', trim(regexp_replace(actor_in, '[^[:alnum:]_]+', ' ')))), ' ', ' +');
    SELECT * FROM products WHERE MATCH (actor) AGAINST (actor_in IN BOOLEAN MODE)
    ORDER BY prod_id LIMIT batch_size_in;
END;

CREATE PROCEDURE browse_by_title(batch_size_in int, title_in varchar(50))
BEGIN
    SET title_in = replace(rtrim(concat(' ', trim(regexp_replace(title_in, '[^[:alnum:]_]+', ' ')))), ' ', ' +');
    SELECT * FROM products WHERE MATCH (title) AGAINST (title_in IN BOOLEAN MODE)
    ORDER BY prod_id LIMIT batch_size_in;
END;

-- purchase returns the new order's number, or 0 with nothing changed where the
-- stock of a product is less than all lines together ask for.
--
-- The stock of all products is taken in one statement, in the order of prod_id,
-- before anything else is written, and every purchase does so: no update is
-- lost, and no two purchases deadlock. A call outside of a transaction is one of
-- its own; a call inside undoes only itself, and leaves the end to the caller.
-- (MySQL does not tell a procedure where it is: there every call is a
-- transaction of its own, and ends the caller's.)
CREATE PROCEDURE purchase(
    customerid_in int, number_items int,
    netamount_in decimal(12, 2), taxamount_in decimal(12, 2), totalamount_in decimal(12, 2),
    prod_id_in0 int, qty_in0 int, prod_id_in1 int, qty_in1 int,
    prod_id_in2 int, qty_in2 int, prod_id_in3 int, qty_in3 int,
    prod_id_in4 int, qty_in4 int, prod_id_in5 int, qty_in5 int,
    prod_id_in6 int, qty_in6 int, prod_id_in7 int, qty_in7 int,
    prod_id_in8 int, qty_in8 int, prod_id_in9 int, qty_in9 int)
BEGIN
    DECLARE own boolean DEFAULT /*M! @@in_transaction = 0 AND */ TRUE;
    DECLARE id int DEFAULT 0;
    DECLARE wanted int;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
        IF own THEN ROLLBACK; END IF;
        RESIGNAL;
    END;
    IF own THEN START TRANSACTION; END IF;
    SAVEPOINT before_purchase;

    SELECT count(DISTINCT line.prod_id) INTO wanted FROM (
        SELECT 1 AS n, prod_id_in0 AS prod_id UNION ALL SELECT 2, prod_id_in1 UNION ALL SELECT 3, prod_id_in2
        UNION ALL SELECT 4, prod_id_in3 UNION ALL SELECT 5, prod_id_in4 UNION ALL SELECT 6, prod_id_in5
        UNION ALL SELECT 7, prod_id_in6 UNION ALL SELECT 8, prod_id_in7 UNION ALL SELECT 9, prod_id_in8
        UNION ALL SELECT 10, prod_id_in9) line
    WHERE line.n <= number_items;
    UPDATE (
        SELECT line.prod_id, sum(line.quan) AS quan FROM (
            SELECT 1 AS n, prod_id_in0 AS prod_id, qty_in0 AS quan UNION ALL SELECT 2, prod_id_in1, qty_in1
            UNION ALL SELECT 3, prod_id_in2, qty_in2 UNION ALL SELECT 4, prod_id_in3, qty_in3
            UNION ALL SELECT 5, prod_id_in4, qty_in4 UNION ALL SELECT 6, prod_id_in5, qty_in5
            UNION ALL SELECT 7, prod_id_in6, qty_in6 UNION ALL SELECT 8, prod_id_in7, qty_in7
            UNION ALL SELECT 9, prod_id_in8, qty_in8 UNION ALL SELECT 10, prod_id_in9, qty_in9) line
        WHERE line.n <= number_items GROUP BY line.prod_id ORDER BY line.prod_id LIMIT 10) ask
    STRAIGHT_JOIN inventory i ON i.prod_id = ask.prod_id
    SET i.quan_in_stock = i.quan_in_stock - ask.quan, i.sales = i.sales + ask.quan
    WHERE i.quan_in_stock >= ask.quan;

    IF row_count() = wanted THEN
        INSERT INTO orders (orderdate, customerid, netamount, tax, totalamount)
        VALUES (current_date, customerid_in, netamount_in, taxamount_in, totalamount_in);
        SET id = last_insert_id();

        INSERT INTO orderlines (orderlineid, orderid, prod_id, quantity, orderdate)
        SELECT line.n, id, line.prod_id, line.quan, current_date FROM (
            SELECT 1 AS n, prod_id_in0 AS prod_id, qty_in0 AS quan UNION ALL SELECT 2, prod_id_in1, qty_in1
            UNION ALL SELECT 3, prod_id_in2, qty_in2 UNION ALL SELECT 4, prod_id_in3, qty_in3
            UNION ALL SELECT 5, prod_id_in4, qty_in4 UNION ALL SELECT 6, prod_id_in5, qty_in5
            UNION ALL SELECT 7, prod_id_in6, qty_in6 UNION ALL SELECT 8, prod_id_in7, qty_in7
            UNION ALL SELECT 9, prod_id_in8, qty_in8 UNION ALL SELECT 10, prod_id_in9, qty_in9) line
        WHERE line.n <= number_items;

        INSERT INTO cust_hist (customerid, orderid, prod_id)
        SELECT customerid_in, id, prod_id FROM orderlines WHERE orderid = id;
    ELSE
        ROLLBACK TO SAVEPOINT before_purchase;
    END IF;
    SELECT id;
    IF own THEN COMMIT; END IF;
END;

-- restock fills the stock of a product up when a purchase leaves fewer than
-- three, so that the share of orders that find no stock stays as it is.
CREATE TRIGGER restock BEFORE UPDATE ON inventory FOR EACH ROW
BEGIN
    DECLARE full_stock int DEFAULT CASE WHEN NEW.prod_id % 10000 = 0 THEN 2500 ELSE 250 END;
    IF NEW.quan_in_stock < 3 AND NEW.quan_in_stock <> OLD.quan_in_stock THEN
        INSERT INTO reorder (prod_id, date_low, quan_low, date_reordered, quan_reordered, date_expected)
        VALUES (NEW.prod_id, current_date, NEW.quan_in_stock,
                current_date, full_stock - NEW.quan_in_stock, current_date);
        SET NEW.quan_in_stock = full_stock;
    END IF;
END;
