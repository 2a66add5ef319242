-- PostgreSQL needs its own text: procedures and triggers are written in its languages. Mode: compat.

-- Names, parameters, results and meanings are the kit's, faults included, so
-- that the kit's driver finds what it expects. Each fault is marked.

-- new_customer returns the new customer's number, or 0 where the user name is
-- taken. Fault: age and income are stored as null.
CREATE FUNCTION new_customer(
    firstname_in varchar, lastname_in varchar, address1_in varchar, address2_in varchar,
    city_in varchar, state_in varchar, zip_in varchar, country_in varchar, region_in smallint,
    email_in varchar, phone_in varchar, creditcardtype_in integer, creditcard_in varchar,
    creditcardexpiration_in varchar, username_in varchar, password_in varchar,
    age_in smallint, income_in integer, gender_in varchar)
RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    id integer;
BEGIN
    INSERT INTO customers (
        firstname, lastname, address1, address2, city, state, zip, country, region, email, phone,
        creditcardtype, creditcard, creditcardexpiration, username, password, age, income, gender)
    VALUES (
        firstname_in, lastname_in, address1_in, address2_in, city_in, state_in, zip_in, country_in,
        region_in, email_in, phone_in, creditcardtype_in, creditcard_in, creditcardexpiration_in,
        username_in, password_in, NULL, NULL, gender_in)
    RETURNING customerid INTO id;
    RETURN id;
EXCEPTION WHEN unique_violation THEN
    RETURN 0;
END $$;

-- login returns the customer's number with the whole history: each product
-- bought and what goes with it. A customer without history, and number 0 for a
-- wrong name or password, come with 'None' three times.
CREATE FUNCTION login(username_in text, password_in text)
RETURNS TABLE (r_customerid integer, r_title text, r_actor text, r_relatedpurchase text)
LANGUAGE plpgsql AS $$
DECLARE
    id integer;
BEGIN
    SELECT customerid INTO id FROM customers WHERE username = username_in AND password = password_in;
    RETURN QUERY
        SELECT h.customerid, bought.title, bought.actor, related.title
        FROM cust_hist h
        JOIN products bought ON bought.prod_id = h.prod_id
        JOIN products related ON related.prod_id = bought.common_prod_id
        WHERE h.customerid = id;
    IF NOT FOUND THEN
        RETURN QUERY SELECT coalesce(id, 0), 'None'::text, 'None'::text, 'None'::text;
    END IF;
END $$;

CREATE FUNCTION browse_by_category(batch_size_in integer, category_in integer)
RETURNS SETOF products LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT * FROM products p
        WHERE p.category = category_in AND p.special = 1 LIMIT batch_size_in;
END $$;

-- Fault in both searches by words: the words are made a query in the server's
-- default language, while the index knows none; so stop words and endings that
-- the language cuts off are not found.
CREATE FUNCTION browse_by_actor(batch_size_in integer, actor_in text)
RETURNS SETOF products LANGUAGE plpgsql AS $$
DECLARE
    query text := replace(btrim(actor_in), ' ', '&');
BEGIN
    RETURN QUERY SELECT * FROM products p
        WHERE to_tsvector('simple', p.actor) @@ to_tsquery(query) LIMIT batch_size_in;
END $$;

-- Fault: looks for the title's words among the actors.
CREATE FUNCTION browse_by_title(batch_size_in integer, title_in text)
RETURNS SETOF products LANGUAGE plpgsql AS $$
DECLARE
    query text := replace(btrim(title_in), ' ', '&');
BEGIN
    RETURN QUERY SELECT * FROM products p
        WHERE to_tsvector('simple', p.actor) @@ to_tsquery(query) LIMIT batch_size_in;
END $$;

-- purchase returns the new order's number, or 0 with everything undone where a
-- product's stock is too low. Fault: stock and sales are read without a lock
-- and written as absolute numbers, so that of two purchases at once one may be
-- lost.
CREATE FUNCTION purchase(
    customerid_in integer, number_items integer,
    netamount_in numeric, taxamount_in numeric, totalamount_in numeric,
    prod_id_in0 integer DEFAULT 0, qty_in0 integer DEFAULT 0,
    prod_id_in1 integer DEFAULT 0, qty_in1 integer DEFAULT 0,
    prod_id_in2 integer DEFAULT 0, qty_in2 integer DEFAULT 0,
    prod_id_in3 integer DEFAULT 0, qty_in3 integer DEFAULT 0,
    prod_id_in4 integer DEFAULT 0, qty_in4 integer DEFAULT 0,
    prod_id_in5 integer DEFAULT 0, qty_in5 integer DEFAULT 0,
    prod_id_in6 integer DEFAULT 0, qty_in6 integer DEFAULT 0,
    prod_id_in7 integer DEFAULT 0, qty_in7 integer DEFAULT 0,
    prod_id_in8 integer DEFAULT 0, qty_in8 integer DEFAULT 0,
    prod_id_in9 integer DEFAULT 0, qty_in9 integer DEFAULT 0)
RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    prods integer[] := ARRAY[prod_id_in0, prod_id_in1, prod_id_in2, prod_id_in3, prod_id_in4,
        prod_id_in5, prod_id_in6, prod_id_in7, prod_id_in8, prod_id_in9];
    quans integer[] := ARRAY[qty_in0, qty_in1, qty_in2, qty_in3, qty_in4,
        qty_in5, qty_in6, qty_in7, qty_in8, qty_in9];
    id integer;
    stock integer;
    sold integer;
BEGIN
    INSERT INTO orders (orderdate, customerid, netamount, tax, totalamount)
    VALUES (current_timestamp, customerid_in, netamount_in, taxamount_in, totalamount_in)
    RETURNING orderid INTO id;

    FOR n IN 1 .. number_items LOOP
        SELECT quan_in_stock - quans[n], sales + quans[n] INTO stock, sold
        FROM inventory WHERE prod_id = prods[n];
        IF stock < 0 THEN
            RAISE EXCEPTION 'too little stock of product %', prods[n];
        END IF;
        UPDATE inventory SET quan_in_stock = stock, sales = sold WHERE prod_id = prods[n];
        INSERT INTO orderlines (orderlineid, orderid, prod_id, quantity, orderdate)
        VALUES (n, id, prods[n], quans[n], current_timestamp);
        INSERT INTO cust_hist (customerid, orderid, prod_id) VALUES (customerid_in, id, prods[n]);
    END LOOP;
    RETURN id;
EXCEPTION WHEN raise_exception THEN
    RETURN 0;
END $$;

-- restock fills the stock of a product up when a purchase leaves fewer than
-- three. quan_low is what was ordered. Fault: the hot sellers are the products
-- whose number is divisible by 10,000, but the number before each is restocked
-- as one.
CREATE FUNCTION restock_order() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    full_stock integer := 250;
BEGIN
    IF new.quan_in_stock < 3 THEN
        IF (new.prod_id + 1) % 10000 = 0 THEN
            full_stock := 2500;
        END IF;
        INSERT INTO reorder (prod_id, date_low, quan_low)
        VALUES (new.prod_id, current_timestamp, full_stock - new.quan_in_stock);
        new.quan_in_stock := full_stock;
    END IF;
    RETURN new;
END $$;

CREATE TRIGGER restock BEFORE UPDATE ON inventory
FOR EACH ROW WHEN (old.quan_in_stock IS DISTINCT FROM new.quan_in_stock)
EXECUTE FUNCTION restock_order();
