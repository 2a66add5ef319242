-- mode strict: schema
CREATE TABLE `customers` (
  `customerid` int NOT NULL AUTO_INCREMENT,
  `firstname` varchar(50) NOT NULL,
  `lastname` varchar(50) NOT NULL,
  `address1` varchar(50) NOT NULL,
  `address2` varchar(50) NULL,
  `city` varchar(50) NOT NULL,
  `state` varchar(50) NULL,
  `zip` varchar(9) NULL,
  `country` varchar(50) NOT NULL,
  `region` smallint NOT NULL,
  `email` varchar(50) NULL,
  `phone` varchar(50) NULL,
  `creditcardtype` int NOT NULL,
  `creditcard` varchar(50) NOT NULL,
  `creditcardexpiration` varchar(50) NOT NULL,
  `username` varchar(50) NOT NULL,
  `password` varchar(50) NOT NULL,
  `age` smallint NULL,
  `income` int NULL,
  `gender` varchar(1) NULL,
  PRIMARY KEY (`customerid`)
) ENGINE=InnoDB;
CREATE TABLE `orders` (
  `orderid` int NOT NULL AUTO_INCREMENT,
  `orderdate` date NOT NULL,
  `customerid` int NULL,
  `netamount` decimal(12,2) NOT NULL,
  `tax` decimal(12,2) NOT NULL,
  `totalamount` decimal(12,2) NOT NULL,
  PRIMARY KEY (`orderid`)
) ENGINE=InnoDB;
CREATE TABLE `orderlines` (
  `orderlineid` smallint NOT NULL,
  `orderid` int NOT NULL,
  `prod_id` int NOT NULL,
  `quantity` smallint NOT NULL,
  `orderdate` date NOT NULL,
  UNIQUE KEY `ix_orderlines_orderid` (`orderid`, `orderlineid`)
) ENGINE=InnoDB;
CREATE TABLE `cust_hist` (
  `customerid` int NOT NULL,
  `orderid` int NOT NULL,
  `prod_id` int NOT NULL
) ENGINE=InnoDB;
CREATE TABLE `products` (
  `prod_id` int NOT NULL AUTO_INCREMENT,
  `category` smallint NOT NULL,
  `title` varchar(50) COLLATE utf8mb4_uca1400_nopad_as_ci NOT NULL,
  `actor` varchar(50) COLLATE utf8mb4_uca1400_nopad_as_ci NOT NULL,
  `price` decimal(12,2) NOT NULL,
  `special` smallint NULL,
  `common_prod_id` int NOT NULL,
  PRIMARY KEY (`prod_id`)
) ENGINE=InnoDB;
CREATE TABLE `inventory` (
  `prod_id` int NOT NULL,
  `quan_in_stock` int NOT NULL,
  `sales` int NOT NULL,
  PRIMARY KEY (`prod_id`)
) ENGINE=InnoDB;
CREATE TABLE `categories` (
  `category` int NOT NULL AUTO_INCREMENT,
  `categoryname` varchar(50) NOT NULL,
  PRIMARY KEY (`category`)
) ENGINE=InnoDB;
CREATE TABLE `reorder` (
  `prod_id` int NOT NULL,
  `date_low` date NOT NULL,
  `quan_low` int NOT NULL,
  `date_reordered` date NULL,
  `quan_reordered` int NULL,
  `date_expected` date NULL
) ENGINE=InnoDB;
ALTER TABLE `customers` ADD UNIQUE KEY `ix_cust_username` (`username`), ADD UNIQUE KEY `ix_cust_user_password` (`username`, `password`);
ALTER TABLE `orders` ADD KEY `ix_order_custid` (`customerid`);
ALTER TABLE `cust_hist` ADD KEY `ix_cust_hist_customerid` (`customerid`);
ALTER TABLE `products` ADD KEY `ix_prod_category` (`category`), ADD KEY `ix_prod_special` (`special`), ADD KEY `ix_prod_cat_special` (`category`, `special`);
ALTER TABLE `products` ADD FULLTEXT KEY `ix_prod_actor` (`actor`);
ALTER TABLE `products` ADD FULLTEXT KEY `ix_prod_title` (`title`);
ALTER TABLE `orders` ADD CONSTRAINT `fk_customerid` FOREIGN KEY (`customerid`) REFERENCES `customers` (`customerid`) ON DELETE SET NULL;
ALTER TABLE `orderlines` ADD CONSTRAINT `fk_orderid` FOREIGN KEY (`orderid`) REFERENCES `orders` (`orderid`) ON DELETE CASCADE;
ALTER TABLE `cust_hist` ADD CONSTRAINT `fk_cust_hist_customerid` FOREIGN KEY (`customerid`) REFERENCES `customers` (`customerid`) ON DELETE CASCADE;
-- mode strict: new_customer
CALL new_customer(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?);
-- mode strict: login
CALL login(?,?);
-- mode strict: browse_by_category
CALL browse_by_category(?,?);
-- mode strict: browse_by_actor
CALL browse_by_actor(?,?);
-- mode strict: browse_by_title
CALL browse_by_title(?,?);
-- mode strict: price_lookup
SELECT prod_id, price FROM products WHERE prod_id IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);
-- mode strict: purchase
CALL purchase(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?);
-- mode strict: check orders
SELECT count(*) FROM orders WHERE orderid > 12000;
-- mode strict: check customers
SELECT count(*) FROM customers WHERE customerid > 20000;
-- mode strict: check totals
SELECT count(*) FROM orders WHERE orderid > 12000 AND totalamount <> netamount + tax;
-- mode strict: check lines
SELECT count(*) FROM orders o LEFT JOIN ( SELECT orderid, count(*) AS n, min(orderlineid) AS low, max(orderlineid) AS high FROM orderlines WHERE orderid > 12000 GROUP BY orderid) l ON l.orderid = o.orderid WHERE o.orderid > 12000 AND (l.n IS NULL OR l.n > 10 OR l.low <> 1 OR l.high <> l.n);
-- mode strict: check orphan lines
SELECT count(*) FROM orderlines l WHERE l.orderid > 12000 AND NOT EXISTS (SELECT 1 FROM orders o WHERE o.orderid = l.orderid);
-- mode strict: check orphan history
SELECT count(*) FROM cust_hist h WHERE h.orderid > 12000 AND NOT EXISTS ( SELECT 1 FROM orders o WHERE o.orderid = h.orderid AND o.customerid = h.customerid);
-- mode strict: check history
SELECT count(*) FROM (SELECT orderid, prod_id FROM ( SELECT orderid, prod_id, 1 AS side FROM orderlines WHERE orderid > 12000 UNION ALL SELECT orderid, prod_id, -1 FROM cust_hist WHERE orderid > 12000) b GROUP BY orderid, prod_id HAVING sum(side) <> 0) d;
-- mode strict: check amounts
SELECT count(*) FROM orders o JOIN ( SELECT l.orderid, sum(l.quantity * p.price) AS net FROM orderlines l JOIN products p ON p.prod_id = l.prod_id WHERE l.orderid > 12000 GROUP BY l.orderid) s ON s.orderid = o.orderid WHERE o.netamount <> s.net;
-- mode strict: check stock
SELECT count(*) FROM inventory WHERE quan_in_stock < 0;
-- mode strict: check restocks
SELECT count(*) FROM reorder r WHERE NOT EXISTS ( SELECT 1 FROM inventory i WHERE i.prod_id = r.prod_id) OR r.quan_low NOT BETWEEN 0 AND 2 OR r.quan_reordered IS NULL OR r.quan_low + r.quan_reordered <> CASE WHEN r.prod_id % 10000 = 0 THEN 2500 ELSE 250 END;
-- mode strict: check sales
SELECT i.n - l.n FROM (SELECT sum(sales) AS n FROM inventory) i CROSS JOIN (SELECT coalesce(sum(quantity), 0) AS n FROM orderlines WHERE orderid > 12000) l;
-- mode strict: check balance
SELECT i.n - r.n FROM ( SELECT sum((quan_in_stock + sales) * (prod_id % 997 + 1)) AS n FROM inventory) i CROSS JOIN ( SELECT coalesce(sum(quan_reordered * (prod_id % 997 + 1)), 0) AS n FROM reorder) r;
-- mode compat: schema
CREATE TABLE `customers` (
  `customerid` int NOT NULL AUTO_INCREMENT,
  `firstname` varchar(50) NOT NULL,
  `lastname` varchar(50) NOT NULL,
  `address1` varchar(50) NOT NULL,
  `address2` varchar(50) NULL,
  `city` varchar(50) NOT NULL,
  `state` varchar(50) NULL,
  `zip` varchar(9) NULL,
  `country` varchar(50) NOT NULL,
  `region` smallint NOT NULL,
  `email` varchar(50) NULL,
  `phone` varchar(50) NULL,
  `creditcardtype` int NOT NULL,
  `creditcard` varchar(50) NOT NULL,
  `creditcardexpiration` varchar(50) NOT NULL,
  `username` varchar(50) NOT NULL,
  `password` varchar(50) NOT NULL,
  `age` smallint NULL,
  `income` int NULL,
  `gender` varchar(1) NULL,
  PRIMARY KEY (`customerid`)
) ENGINE=InnoDB;
CREATE TABLE `orders` (
  `orderid` int NOT NULL AUTO_INCREMENT,
  `orderdate` date NOT NULL,
  `customerid` int NULL,
  `netamount` decimal(12,2) NOT NULL,
  `tax` decimal(12,2) NOT NULL,
  `totalamount` decimal(12,2) NOT NULL,
  PRIMARY KEY (`orderid`)
) ENGINE=InnoDB;
CREATE TABLE `orderlines` (
  `orderlineid` smallint NOT NULL,
  `orderid` int NOT NULL,
  `prod_id` int NOT NULL,
  `quantity` smallint NOT NULL,
  `orderdate` date NOT NULL,
  UNIQUE KEY `ix_orderlines_orderid` (`orderid`, `orderlineid`)
) ENGINE=InnoDB;
CREATE TABLE `cust_hist` (
  `customerid` int NOT NULL,
  `orderid` int NOT NULL,
  `prod_id` int NOT NULL
) ENGINE=InnoDB;
CREATE TABLE `products` (
  `prod_id` int NOT NULL AUTO_INCREMENT,
  `category` smallint NOT NULL,
  `title` varchar(50) COLLATE utf8mb4_uca1400_nopad_as_ci NOT NULL,
  `actor` varchar(50) COLLATE utf8mb4_uca1400_nopad_as_ci NOT NULL,
  `price` decimal(12,2) NOT NULL,
  `special` smallint NULL,
  `common_prod_id` int NOT NULL,
  PRIMARY KEY (`prod_id`)
) ENGINE=InnoDB;
CREATE TABLE `inventory` (
  `prod_id` int NOT NULL,
  `quan_in_stock` int NOT NULL,
  `sales` int NOT NULL,
  PRIMARY KEY (`prod_id`)
) ENGINE=InnoDB;
CREATE TABLE `categories` (
  `category` int NOT NULL AUTO_INCREMENT,
  `categoryname` varchar(50) NOT NULL,
  PRIMARY KEY (`category`)
) ENGINE=InnoDB;
CREATE TABLE `reorder` (
  `prod_id` int NOT NULL,
  `date_low` date NOT NULL,
  `quan_low` int NOT NULL,
  `date_reordered` date NULL,
  `quan_reordered` int NULL,
  `date_expected` date NULL
) ENGINE=InnoDB;
ALTER TABLE `customers` ADD UNIQUE KEY `ix_cust_username` (`username`), ADD UNIQUE KEY `ix_cust_user_password` (`username`, `password`);
ALTER TABLE `orders` ADD KEY `ix_order_custid` (`customerid`);
ALTER TABLE `cust_hist` ADD KEY `ix_cust_hist_customerid` (`customerid`);
ALTER TABLE `products` ADD KEY `ix_prod_category` (`category`), ADD KEY `ix_prod_special` (`special`), ADD KEY `ix_prod_cat_special` (`category`, `special`);
ALTER TABLE `products` ADD FULLTEXT KEY `ix_prod_actor` (`actor`);
ALTER TABLE `products` ADD FULLTEXT KEY `ix_prod_title` (`title`);
ALTER TABLE `orders` ADD CONSTRAINT `fk_customerid` FOREIGN KEY (`customerid`) REFERENCES `customers` (`customerid`) ON DELETE SET NULL;
ALTER TABLE `orderlines` ADD CONSTRAINT `fk_orderid` FOREIGN KEY (`orderid`) REFERENCES `orders` (`orderid`) ON DELETE CASCADE;
ALTER TABLE `cust_hist` ADD CONSTRAINT `fk_cust_hist_customerid` FOREIGN KEY (`customerid`) REFERENCES `customers` (`customerid`) ON DELETE CASCADE;
-- mode compat: new_customer
CALL new_customer(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?);
-- mode compat: login
CALL login(?,?);
-- mode compat: browse_by_category
CALL browse_by_category(?,?);
-- mode compat: browse_by_actor
CALL browse_by_actor(?,?);
-- mode compat: browse_by_title
CALL browse_by_title(?,?);
-- mode compat: price_lookup
SELECT prod_id, price FROM products WHERE prod_id IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);
-- mode compat: purchase
CALL purchase(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?);
-- mode compat: check orders
SELECT count(*) FROM orders WHERE orderid > 12000;
-- mode compat: check customers
SELECT count(*) FROM customers WHERE customerid > 20000;
-- mode compat: check totals
SELECT count(*) FROM orders WHERE orderid > 12000 AND totalamount <> netamount + tax;
-- mode compat: check lines
SELECT count(*) FROM orders o LEFT JOIN ( SELECT orderid, count(*) AS n, min(orderlineid) AS low, max(orderlineid) AS high FROM orderlines WHERE orderid > 12000 GROUP BY orderid) l ON l.orderid = o.orderid WHERE o.orderid > 12000 AND (l.n IS NULL OR l.n > 10 OR l.low <> 1 OR l.high <> l.n);
-- mode compat: check orphan lines
SELECT count(*) FROM orderlines l WHERE l.orderid > 12000 AND NOT EXISTS (SELECT 1 FROM orders o WHERE o.orderid = l.orderid);
-- mode compat: check orphan history
SELECT count(*) FROM cust_hist h WHERE h.orderid > 12000 AND NOT EXISTS ( SELECT 1 FROM orders o WHERE o.orderid = h.orderid AND o.customerid = h.customerid);
-- mode compat: check history
SELECT count(*) FROM (SELECT orderid, prod_id FROM ( SELECT orderid, prod_id, 1 AS side FROM orderlines WHERE orderid > 12000 UNION ALL SELECT orderid, prod_id, -1 FROM cust_hist WHERE orderid > 12000) b GROUP BY orderid, prod_id HAVING sum(side) <> 0) d;
-- mode compat: check stock
SELECT count(*) FROM inventory WHERE quan_in_stock < 0;
-- mode compat: check restocks
SELECT count(*) FROM reorder r WHERE NOT EXISTS ( SELECT 1 FROM inventory i WHERE i.prod_id = r.prod_id) OR r.quan_low NOT BETWEEN CASE WHEN (r.prod_id + 1) % 10000 = 0 THEN 2498 ELSE 248 END AND CASE WHEN (r.prod_id + 1) % 10000 = 0 THEN 2500 ELSE 250 END;
-- calls statements: schema
CREATE TABLE `customers` (
  `customerid` int NOT NULL AUTO_INCREMENT,
  `firstname` varchar(50) NOT NULL,
  `lastname` varchar(50) NOT NULL,
  `address1` varchar(50) NOT NULL,
  `address2` varchar(50) NULL,
  `city` varchar(50) NOT NULL,
  `state` varchar(50) NULL,
  `zip` varchar(9) NULL,
  `country` varchar(50) NOT NULL,
  `region` smallint NOT NULL,
  `email` varchar(50) NULL,
  `phone` varchar(50) NULL,
  `creditcardtype` int NOT NULL,
  `creditcard` varchar(50) NOT NULL,
  `creditcardexpiration` varchar(50) NOT NULL,
  `username` varchar(50) NOT NULL,
  `password` varchar(50) NOT NULL,
  `age` smallint NULL,
  `income` int NULL,
  `gender` varchar(1) NULL,
  PRIMARY KEY (`customerid`)
) ENGINE=InnoDB;
CREATE TABLE `orders` (
  `orderid` int NOT NULL AUTO_INCREMENT,
  `orderdate` date NOT NULL,
  `customerid` int NULL,
  `netamount` decimal(12,2) NOT NULL,
  `tax` decimal(12,2) NOT NULL,
  `totalamount` decimal(12,2) NOT NULL,
  PRIMARY KEY (`orderid`)
) ENGINE=InnoDB;
CREATE TABLE `orderlines` (
  `orderlineid` smallint NOT NULL,
  `orderid` int NOT NULL,
  `prod_id` int NOT NULL,
  `quantity` smallint NOT NULL,
  `orderdate` date NOT NULL,
  UNIQUE KEY `ix_orderlines_orderid` (`orderid`, `orderlineid`)
) ENGINE=InnoDB;
CREATE TABLE `cust_hist` (
  `customerid` int NOT NULL,
  `orderid` int NOT NULL,
  `prod_id` int NOT NULL
) ENGINE=InnoDB;
CREATE TABLE `products` (
  `prod_id` int NOT NULL AUTO_INCREMENT,
  `category` smallint NOT NULL,
  `title` varchar(50) COLLATE utf8mb4_uca1400_nopad_as_ci NOT NULL,
  `actor` varchar(50) COLLATE utf8mb4_uca1400_nopad_as_ci NOT NULL,
  `price` decimal(12,2) NOT NULL,
  `special` smallint NULL,
  `common_prod_id` int NOT NULL,
  PRIMARY KEY (`prod_id`)
) ENGINE=InnoDB;
CREATE TABLE `inventory` (
  `prod_id` int NOT NULL,
  `quan_in_stock` int NOT NULL,
  `sales` int NOT NULL,
  PRIMARY KEY (`prod_id`)
) ENGINE=InnoDB;
CREATE TABLE `categories` (
  `category` int NOT NULL AUTO_INCREMENT,
  `categoryname` varchar(50) NOT NULL,
  PRIMARY KEY (`category`)
) ENGINE=InnoDB;
CREATE TABLE `reorder` (
  `prod_id` int NOT NULL,
  `date_low` date NOT NULL,
  `quan_low` int NOT NULL,
  `date_reordered` date NULL,
  `quan_reordered` int NULL,
  `date_expected` date NULL
) ENGINE=InnoDB;
ALTER TABLE `customers` ADD UNIQUE KEY `ix_cust_username` (`username`), ADD UNIQUE KEY `ix_cust_user_password` (`username`, `password`);
ALTER TABLE `orders` ADD KEY `ix_order_custid` (`customerid`);
ALTER TABLE `cust_hist` ADD KEY `ix_cust_hist_customerid` (`customerid`);
ALTER TABLE `products` ADD KEY `ix_prod_category` (`category`), ADD KEY `ix_prod_special` (`special`), ADD KEY `ix_prod_cat_special` (`category`, `special`);
ALTER TABLE `products` ADD FULLTEXT KEY `ix_prod_actor` (`actor`);
ALTER TABLE `products` ADD FULLTEXT KEY `ix_prod_title` (`title`);
ALTER TABLE `orders` ADD CONSTRAINT `fk_customerid` FOREIGN KEY (`customerid`) REFERENCES `customers` (`customerid`) ON DELETE SET NULL;
ALTER TABLE `orderlines` ADD CONSTRAINT `fk_orderid` FOREIGN KEY (`orderid`) REFERENCES `orders` (`orderid`) ON DELETE CASCADE;
ALTER TABLE `cust_hist` ADD CONSTRAINT `fk_cust_hist_customerid` FOREIGN KEY (`customerid`) REFERENCES `customers` (`customerid`) ON DELETE CASCADE;
-- calls statements: browse_by_category
SELECT prod_id, category, title, actor, price, special, common_prod_id FROM products WHERE category = ? AND special = 1 ORDER BY prod_id + 0 LIMIT ?;
-- calls statements: browse_by_actor
SELECT prod_id, category, title, actor, price, special, common_prod_id FROM products WHERE MATCH (`products`.`actor`) AGAINST (REPLACE(RTRIM(CONCAT(' ', TRIM(REGEXP_REPLACE(?, '[^[:alnum:]_]+', ' ')))), ' ', ' +') IN BOOLEAN MODE) ORDER BY prod_id + 0 LIMIT ?;
-- calls statements: browse_by_title
SELECT prod_id, category, title, actor, price, special, common_prod_id FROM products WHERE MATCH (`products`.`title`) AGAINST (REPLACE(RTRIM(CONCAT(' ', TRIM(REGEXP_REPLACE(?, '[^[:alnum:]_]+', ' ')))), ' ', ' +') IN BOOLEAN MODE) ORDER BY prod_id + 0 LIMIT ?;
-- calls statements: price_lookup
SELECT prod_id, price FROM products WHERE prod_id IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);
-- calls statements: login
SELECT customerid FROM customers WHERE username = ? AND password = ?;
-- calls statements: history
SELECT bought.title, bought.actor, related.title AS related FROM (SELECT orderid, prod_id FROM cust_hist WHERE customerid = ? ORDER BY orderid DESC, prod_id LIMIT 10) recent JOIN products bought ON bought.prod_id = recent.prod_id JOIN products related ON related.prod_id = bought.common_prod_id ORDER BY recent.orderid DESC, recent.prod_id;
-- calls statements: user name taken
SELECT customerid FROM customers WHERE username = ?;
-- calls statements: new customer
INSERT INTO customers (firstname, lastname, address1, address2, city, state, zip, country, region, email, phone, creditcardtype, creditcard, creditcardexpiration, username, password, age, income, gender) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);
-- calls statements: stock
SELECT quan_in_stock FROM inventory WHERE prod_id = ? FOR UPDATE;
-- calls statements: take stock
UPDATE inventory SET quan_in_stock = ?, sales = sales + ? WHERE prod_id = ?;
-- calls statements: reorder
INSERT INTO reorder (prod_id, date_low, quan_low, date_reordered, quan_reordered, date_expected) VALUES (?, CURRENT_DATE, ?, CURRENT_DATE, ?, CURRENT_DATE);
-- calls statements: new order
INSERT INTO orders (orderdate, customerid, netamount, tax, totalamount) VALUES (CURRENT_DATE, ?, ?, ?, ?);
-- calls statements: new line
INSERT INTO orderlines (orderlineid, orderid, prod_id, quantity, orderdate) VALUES (?, ?, ?, ?, CURRENT_DATE);
-- calls statements: remember
INSERT INTO cust_hist (customerid, orderid, prod_id) VALUES (?, ?, ?);
-- calls statements: last number
SELECT LAST_INSERT_ID();
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
