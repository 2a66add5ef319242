-- MariaDB and MySQL need their own text: procedures are written in their language. Mode: compat.

-- Names and meanings are the kit's for MySQL, faults included. Where the kit
-- sends statements instead of calling a procedure (login, the searches), a
-- procedure of the kit's name for the other engines does what they do. One thing
-- differs: the kit has NEW_CUSTOMER give the number in a parameter, here it is
-- a row. Each fault is marked.
--
-- Fault: stock is never filled up, because the trigger that the kit ships for
-- that does not work; so there is none here.

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

-- login returns the customer's number with each of the last ten rows of
-- history and what goes with it. A customer without history, and number 0 for a
-- wrong name or password, come in one row without products.
CREATE PROCEDURE login(username_in varchar(50), password_in varchar(50))
BEGIN
    DECLARE id int DEFAULT 0;
    SELECT customerid INTO id FROM customers WHERE username = username_in AND password = password_in;
    SELECT id, h.title, h.actor, h.related
    FROM (SELECT 1) one
    LEFT JOIN (
        SELECT bought.title, bought.actor, related.title AS related
        FROM (SELECT orderid, prod_id FROM cust_hist
              WHERE customerid = id
              ORDER BY orderid DESC LIMIT 10) recent
        JOIN products bought ON bought.prod_id = recent.prod_id
        JOIN products related ON related.prod_id = bought.common_prod_id
    ) h ON TRUE;
END;

CREATE PROCEDURE browse_by_category(batch_size_in int, category_in int)
BEGIN
    SELECT * FROM products WHERE category = category_in AND special = 1 LIMIT batch_size_in;
END;

-- Fault in both searches by words: one of the words is enough.

CREATE PROCEDURE browse_by_actor(batch_size_in int, actor_in varchar(50))
BEGIN
    SELECT * FROM products WHERE MATCH (actor) AGAINST (actor_in) LIMIT batch_size_in;
END;

CREATE PROCEDURE browse_by_title(batch_size_in int, title_in varchar(50))
BEGIN
    SELECT * FROM products WHERE MATCH (title) AGAINST (title_in) LIMIT batch_size_in;
END;

-- purchase returns the new order's number, or 0 with everything undone where a
-- product's stock is too low. Fault: stock and sales are read without a lock
-- and written as absolute numbers, so that of two purchases at once one may be
-- lost.
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
    DECLARE id, item, asked, stock, sold int;
    DECLARE n int DEFAULT 1;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
        IF own THEN ROLLBACK; END IF;
        RESIGNAL;
    END;
    IF own THEN START TRANSACTION; END IF;
    SAVEPOINT before_purchase;

    INSERT INTO orders (orderdate, customerid, netamount, tax, totalamount)
    VALUES (current_date, customerid_in, netamount_in, taxamount_in, totalamount_in);
    SET id = last_insert_id();

    WHILE n <= number_items DO
        SET item = elt(n, prod_id_in0, prod_id_in1, prod_id_in2, prod_id_in3, prod_id_in4,
                prod_id_in5, prod_id_in6, prod_id_in7, prod_id_in8, prod_id_in9),
            asked = elt(n, qty_in0, qty_in1, qty_in2, qty_in3, qty_in4, qty_in5, qty_in6, qty_in7, qty_in8, qty_in9);
        SELECT quan_in_stock - asked, sales + asked INTO stock, sold FROM inventory WHERE prod_id = item;
        IF stock < 0 THEN
            ROLLBACK TO SAVEPOINT before_purchase;
            SET id = 0, n = number_items;
        ELSE
            UPDATE inventory SET quan_in_stock = stock, sales = sold WHERE prod_id = item;
            INSERT INTO orderlines (orderlineid, orderid, prod_id, quantity, orderdate)
            VALUES (n, id, item, asked, current_date);
            INSERT INTO cust_hist (customerid, orderid, prod_id) VALUES (customerid_in, id, item);
        END IF;
        SET n = n + 1;
    END WHILE;
    SELECT id;
    IF own THEN COMMIT; END IF;
END;
