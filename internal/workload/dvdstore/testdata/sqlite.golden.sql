-- calls statements: schema
CREATE TABLE customers (
  customerid INTEGER PRIMARY KEY,
  firstname VARCHAR(50) NOT NULL,
  lastname VARCHAR(50) NOT NULL,
  address1 VARCHAR(50) NOT NULL,
  address2 VARCHAR(50),
  city VARCHAR(50) NOT NULL,
  state VARCHAR(50),
  zip VARCHAR(9),
  country VARCHAR(50) NOT NULL,
  region SMALLINT NOT NULL,
  email VARCHAR(50),
  phone VARCHAR(50),
  creditcardtype INTEGER NOT NULL,
  creditcard VARCHAR(50) NOT NULL,
  creditcardexpiration VARCHAR(50) NOT NULL,
  username VARCHAR(50) NOT NULL,
  password VARCHAR(50) NOT NULL,
  age SMALLINT,
  income INTEGER,
  gender VARCHAR(1)
);
CREATE TABLE orders (
  orderid INTEGER PRIMARY KEY,
  orderdate DATE NOT NULL,
  customerid INTEGER,
  netamount DECIMAL(12,2) NOT NULL,
  tax DECIMAL(12,2) NOT NULL,
  totalamount DECIMAL(12,2) NOT NULL,
  CONSTRAINT fk_customerid FOREIGN KEY (customerid) REFERENCES customers (customerid) ON DELETE SET NULL
);
CREATE TABLE orderlines (
  orderlineid SMALLINT NOT NULL,
  orderid INTEGER NOT NULL,
  prod_id INTEGER NOT NULL,
  quantity SMALLINT NOT NULL,
  orderdate DATE NOT NULL,
  CONSTRAINT fk_orderid FOREIGN KEY (orderid) REFERENCES orders (orderid) ON DELETE CASCADE
);
CREATE TABLE cust_hist (
  customerid INTEGER NOT NULL,
  orderid INTEGER NOT NULL,
  prod_id INTEGER NOT NULL,
  CONSTRAINT fk_cust_hist_customerid FOREIGN KEY (customerid) REFERENCES customers (customerid) ON DELETE CASCADE
);
CREATE TABLE products (
  prod_id INTEGER PRIMARY KEY,
  category SMALLINT NOT NULL,
  title VARCHAR(50) NOT NULL,
  actor VARCHAR(50) NOT NULL,
  price DECIMAL(12,2) NOT NULL,
  special SMALLINT,
  common_prod_id INTEGER NOT NULL
);
CREATE TABLE inventory (
  prod_id INTEGER PRIMARY KEY,
  quan_in_stock INTEGER NOT NULL,
  sales INTEGER NOT NULL
);
CREATE TABLE categories (
  category INTEGER PRIMARY KEY,
  categoryname VARCHAR(50) NOT NULL
);
CREATE TABLE reorder (
  prod_id INTEGER NOT NULL,
  date_low DATE NOT NULL,
  quan_low INTEGER NOT NULL,
  date_reordered DATE,
  quan_reordered INTEGER,
  date_expected DATE
);
CREATE UNIQUE INDEX ix_cust_username ON customers (username);
CREATE UNIQUE INDEX ix_cust_user_password ON customers (username, password);
CREATE INDEX ix_order_custid ON orders (customerid);
CREATE UNIQUE INDEX ix_orderlines_orderid ON orderlines (orderid, orderlineid);
CREATE INDEX ix_cust_hist_customerid ON cust_hist (customerid);
CREATE VIRTUAL TABLE products_actor_words USING fts5(actor, content='products', content_rowid='prod_id', tokenize='unicode61 remove_diacritics 0');
INSERT INTO products_actor_words (products_actor_words) VALUES ('rebuild');
CREATE TRIGGER products_actor_words_insert AFTER INSERT ON products BEGIN INSERT INTO products_actor_words (rowid, actor) VALUES (new.rowid, new.actor); END;
CREATE TRIGGER products_actor_words_delete AFTER DELETE ON products BEGIN INSERT INTO products_actor_words (products_actor_words, rowid, actor) VALUES ('delete', old.rowid, old.actor); END;
CREATE TRIGGER products_actor_words_update AFTER UPDATE OF actor ON products BEGIN INSERT INTO products_actor_words (products_actor_words, rowid, actor) VALUES ('delete', old.rowid, old.actor); INSERT INTO products_actor_words (rowid, actor) VALUES (new.rowid, new.actor); END;
CREATE VIRTUAL TABLE products_title_words USING fts5(title, content='products', content_rowid='prod_id', tokenize='unicode61 remove_diacritics 0');
INSERT INTO products_title_words (products_title_words) VALUES ('rebuild');
CREATE TRIGGER products_title_words_insert AFTER INSERT ON products BEGIN INSERT INTO products_title_words (rowid, title) VALUES (new.rowid, new.title); END;
CREATE TRIGGER products_title_words_delete AFTER DELETE ON products BEGIN INSERT INTO products_title_words (products_title_words, rowid, title) VALUES ('delete', old.rowid, old.title); END;
CREATE TRIGGER products_title_words_update AFTER UPDATE OF title ON products BEGIN INSERT INTO products_title_words (products_title_words, rowid, title) VALUES ('delete', old.rowid, old.title); INSERT INTO products_title_words (rowid, title) VALUES (new.rowid, new.title); END;
CREATE INDEX ix_prod_category ON products (category);
CREATE INDEX ix_prod_special ON products (special);
CREATE INDEX ix_prod_cat_special ON products (category, special);
-- calls statements: browse_by_category
SELECT prod_id, category, title, actor, price, special, common_prod_id FROM products WHERE category = ?2 AND special = 1 ORDER BY prod_id + 0 LIMIT ?1;
-- calls statements: browse_by_actor
SELECT prod_id, category, title, actor, price, special, common_prod_id FROM products WHERE products.rowid IN (SELECT rowid FROM products_actor_words WHERE products_actor_words MATCH '"' || replace(replace(trim(?2), '"', ' '), ' ', '" "') || '"') ORDER BY prod_id + 0 LIMIT ?1;
-- calls statements: browse_by_title
SELECT prod_id, category, title, actor, price, special, common_prod_id FROM products WHERE products.rowid IN (SELECT rowid FROM products_title_words WHERE products_title_words MATCH '"' || replace(replace(trim(?2), '"', ' '), ' ', '" "') || '"') ORDER BY prod_id + 0 LIMIT ?1;
-- calls statements: price_lookup
SELECT prod_id, price FROM products WHERE prod_id IN (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10);
-- calls statements: login
SELECT customerid FROM customers WHERE username = ?1 AND password = ?2;
-- calls statements: history
SELECT bought.title, bought.actor, related.title AS related FROM (SELECT orderid, prod_id FROM cust_hist WHERE customerid = ?1 ORDER BY orderid DESC, prod_id LIMIT 10) recent JOIN products bought ON bought.prod_id = recent.prod_id JOIN products related ON related.prod_id = bought.common_prod_id ORDER BY recent.orderid DESC, recent.prod_id;
-- calls statements: user name taken
SELECT customerid FROM customers WHERE username = ?1;
-- calls statements: new customer
INSERT INTO customers (firstname, lastname, address1, address2, city, state, zip, country, region, email, phone, creditcardtype, creditcard, creditcardexpiration, username, password, age, income, gender) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19);
-- calls statements: stock
SELECT quan_in_stock FROM inventory WHERE prod_id = ?1 /* the session has the writer's lock */;
-- calls statements: take stock
UPDATE inventory SET quan_in_stock = ?1, sales = sales + ?2 WHERE prod_id = ?3;
-- calls statements: reorder
INSERT INTO reorder (prod_id, date_low, quan_low, date_reordered, quan_reordered, date_expected) VALUES (?1, (unixepoch() / 86400), ?2, (unixepoch() / 86400), ?3, (unixepoch() / 86400));
-- calls statements: new order
INSERT INTO orders (orderdate, customerid, netamount, tax, totalamount) VALUES ((unixepoch() / 86400), ?1, ?2, ?3, ?4);
-- calls statements: new line
INSERT INTO orderlines (orderlineid, orderid, prod_id, quantity, orderdate) VALUES (?1, ?2, ?3, ?4, (unixepoch() / 86400));
-- calls statements: remember
INSERT INTO cust_hist (customerid, orderid, prod_id) VALUES (?1, ?2, ?3);
-- calls statements: last number
SELECT last_insert_rowid();
-- calls statements: check orders
SELECT count(*) FROM orders WHERE orderid > 12000;
-- calls statements: check customers
SELECT count(*) FROM customers WHERE customerid > 20000;
-- calls statements: check totals
SELECT count(*) FROM orders WHERE orderid > 12000 AND totalamount <> netamount + tax;
-- calls statements: check lines
SELECT count(*) FROM orders o LEFT JOIN ( SELECT orderid, count(*) AS n, min(orderlineid) AS low, max(orderlineid) AS high FROM orderlines WHERE orderid > 12000 GROUP BY orderid) l ON l.orderid = o.orderid WHERE o.orderid > 12000 AND (l.n IS NULL OR l.n > 10 OR l.low <> 1 OR l.high <> l.n);
-- calls statements: check orphan lines
SELECT count(*) FROM orderlines l WHERE l.orderid > 12000 AND NOT EXISTS (SELECT 1 FROM orders o WHERE o.orderid = l.orderid);
-- calls statements: check orphan history
SELECT count(*) FROM cust_hist h WHERE h.orderid > 12000 AND NOT EXISTS ( SELECT 1 FROM orders o WHERE o.orderid = h.orderid AND o.customerid = h.customerid);
-- calls statements: check history
SELECT count(*) FROM (SELECT orderid, prod_id FROM ( SELECT orderid, prod_id, 1 AS side FROM orderlines WHERE orderid > 12000 UNION ALL SELECT orderid, prod_id, -1 FROM cust_hist WHERE orderid > 12000) b GROUP BY orderid, prod_id HAVING sum(side) <> 0) d;
-- calls statements: check amounts
SELECT count(*) FROM orders o JOIN ( SELECT l.orderid, sum(l.quantity * p.price) AS net FROM orderlines l JOIN products p ON p.prod_id = l.prod_id WHERE l.orderid > 12000 GROUP BY l.orderid) s ON s.orderid = o.orderid WHERE o.netamount <> s.net;
-- calls statements: check stock
SELECT count(*) FROM inventory WHERE quan_in_stock < 0;
-- calls statements: check restocks
SELECT count(*) FROM reorder r WHERE NOT EXISTS ( SELECT 1 FROM inventory i WHERE i.prod_id = r.prod_id) OR r.quan_low NOT BETWEEN 0 AND 2 OR r.quan_reordered IS NULL OR r.quan_low + r.quan_reordered <> CASE WHEN r.prod_id % 10000 = 0 THEN 2500 ELSE 250 END;
-- calls statements: check sales
SELECT i.n - l.n FROM (SELECT sum(sales) AS n FROM inventory) i CROSS JOIN (SELECT coalesce(sum(quantity), 0) AS n FROM orderlines WHERE orderid > 12000) l;
-- calls statements: check balance
SELECT i.n - r.n FROM ( SELECT sum((quan_in_stock + sales) * (prod_id % 997 + 1)) AS n FROM inventory) i CROSS JOIN ( SELECT coalesce(sum(quan_reordered * (prod_id % 997 + 1)), 0) AS n FROM reorder) r;
