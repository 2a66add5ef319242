-- PostgreSQL needs its own text: procedures and triggers are written in its languages. Mode: strict.

-- Functions of one query are in language sql and stable, so that PostgreSQL
-- puts them into the calling statement and keeps one plan for both.

-- new_customer returns the new customer's number, or 0 where the user name is
-- taken.
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
        username_in, password_in, age_in, income_in, gender_in)
    ON CONFLICT DO NOTHING
    RETURNING customerid INTO id;
    RETURN coalesce(id, 0);
END $$;

-- login returns the customer's number with each of the last ten products
-- bought, newest order first, and what goes with it: one row without products
-- for a customer without history, no row for a wrong name or password.
CREATE FUNCTION login(username_in varchar, password_in varchar)
RETURNS TABLE (r_customerid integer, r_title text, r_actor text, r_relatedpurchase text)
LANGUAGE sql STABLE AS $$
    SELECT c.customerid, h.title, h.actor, h.related
    FROM customers c
    LEFT JOIN LATERAL (
        SELECT bought.title, bought.actor, related.title AS related
        FROM (SELECT orderid, prod_id FROM cust_hist
              WHERE customerid = c.customerid
              ORDER BY orderid DESC, prod_id LIMIT 10) recent
        JOIN products bought ON bought.prod_id = recent.prod_id
        JOIN products related ON related.prod_id = bought.common_prod_id
    ) h ON true
    WHERE c.username = username_in AND c.password = password_in
$$;

-- The searches return the first batch_size products by number that match. The
-- inner query is fenced by OFFSET 0: without it, the planner may walk all
-- products in order of number until enough of them match.

CREATE FUNCTION browse_by_category(batch_size_in integer, category_in integer)
RETURNS SETOF products LANGUAGE sql STABLE AS $$
    SELECT * FROM (SELECT * FROM products WHERE category = category_in AND special = 1 OFFSET 0) p
    ORDER BY prod_id LIMIT batch_size_in
$$;

CREATE FUNCTION browse_by_actor(batch_size_in integer, actor_in text)
RETURNS SETOF products LANGUAGE sql STABLE AS $$
    SELECT * FROM (
        SELECT * FROM products
        WHERE to_tsvector('simple', actor) @@ plainto_tsquery('simple', actor_in) OFFSET 0) p
    ORDER BY prod_id LIMIT batch_size_in
$$;

CREATE FUNCTION browse_by_title(batch_size_in integer, title_in text)
RETURNS SETOF products LANGUAGE sql STABLE AS $$
    SELECT * FROM (
        SELECT * FROM products
        WHERE to_tsvector('simple', title) @@ plainto_tsquery('simple', title_in) OFFSET 0) p
    ORDER BY prod_id LIMIT batch_size_in
$$;

-- purchase returns the new order's number, or 0 with nothing changed where the
-- stock of a product is less than all lines together ask for.
--
-- Every purchase locks its rows of inventory in the order of prod_id before it
-- writes anything: no update is lost, and no two purchases deadlock. Plans are
-- kept whatever the number of lines: planning costs more than a purchase.
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
    prods integer[] := (ARRAY[prod_id_in0, prod_id_in1, prod_id_in2, prod_id_in3, prod_id_in4,
        prod_id_in5, prod_id_in6, prod_id_in7, prod_id_in8, prod_id_in9])[1:number_items];
    quans integer[] := (ARRAY[qty_in0, qty_in1, qty_in2, qty_in3, qty_in4,
        qty_in5, qty_in6, qty_in7, qty_in8, qty_in9])[1:number_items];
    enough boolean;
    id integer;
BEGIN
    SELECT count(*) = (SELECT count(DISTINCT line.prod_id) FROM unnest(prods) AS line (prod_id)) INTO enough
    FROM (SELECT prod_id, quan_in_stock FROM inventory
          WHERE prod_id = ANY (prods) ORDER BY prod_id FOR UPDATE) stock
    JOIN (SELECT line.prod_id, sum(line.quan) AS quan
          FROM unnest(prods, quans) AS line (prod_id, quan) GROUP BY line.prod_id) ask
      ON ask.prod_id = stock.prod_id
    WHERE stock.quan_in_stock >= ask.quan;
    IF NOT enough THEN
        RETURN 0;
    END IF;

    UPDATE inventory i
    SET quan_in_stock = i.quan_in_stock - ask.quan, sales = i.sales + ask.quan
    FROM (SELECT line.prod_id, sum(line.quan)::integer AS quan
          FROM unnest(prods, quans) AS line (prod_id, quan) GROUP BY line.prod_id) ask
    WHERE i.prod_id = ask.prod_id;

    INSERT INTO orders (orderdate, customerid, netamount, tax, totalamount)
    VALUES (current_date, customerid_in, netamount_in, taxamount_in, totalamount_in)
    RETURNING orderid INTO id;

    INSERT INTO orderlines (orderlineid, orderid, prod_id, quantity, orderdate)
    SELECT line.n, id, line.prod_id, line.quan, current_date
    FROM unnest(prods, quans) WITH ORDINALITY AS line (prod_id, quan, n);

    INSERT INTO cust_hist (customerid, orderid, prod_id)
    SELECT customerid_in, id, line.prod_id FROM unnest(prods) AS line (prod_id);
    RETURN id;
END $$ SET plan_cache_mode = force_generic_plan;

-- restock fills the stock of a product up when a purchase leaves fewer than
-- three, so that the share of orders that find no stock stays as it is.
CREATE FUNCTION restock_order() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    full_stock integer := CASE WHEN new.prod_id % 10000 = 0 THEN 2500 ELSE 250 END;
BEGIN
    INSERT INTO reorder (prod_id, date_low, quan_low, date_reordered, quan_reordered, date_expected)
    VALUES (new.prod_id, current_date, new.quan_in_stock,
            current_date, full_stock - new.quan_in_stock, current_date);
    new.quan_in_stock := full_stock;
    RETURN new;
END $$;

CREATE TRIGGER restock BEFORE UPDATE OF quan_in_stock ON inventory
FOR EACH ROW WHEN (new.quan_in_stock < 3) EXECUTE FUNCTION restock_order();
