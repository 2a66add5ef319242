-- mode procedures: schema
CREATE TABLE warehouse (
  w_id integer NOT NULL,
  w_name varchar(10) NOT NULL,
  w_street_1 varchar(20) NOT NULL,
  w_street_2 varchar(20) NOT NULL,
  w_city varchar(20) NOT NULL,
  w_state char(2) NOT NULL,
  w_zip char(9) NOT NULL,
  w_tax numeric(4,4) NOT NULL,
  w_ytd numeric(14,2) NOT NULL
) WITH (fillfactor=10);
CREATE TABLE district (
  d_id smallint NOT NULL,
  d_w_id integer NOT NULL,
  d_name varchar(10) NOT NULL,
  d_street_1 varchar(20) NOT NULL,
  d_street_2 varchar(20) NOT NULL,
  d_city varchar(20) NOT NULL,
  d_state char(2) NOT NULL,
  d_zip char(9) NOT NULL,
  d_tax numeric(4,4) NOT NULL,
  d_ytd numeric(14,2) NOT NULL,
  d_next_o_id integer NOT NULL
) WITH (fillfactor=10);
CREATE TABLE customer (
  c_id integer NOT NULL,
  c_d_id smallint NOT NULL,
  c_w_id integer NOT NULL,
  c_first varchar(16) NOT NULL,
  c_middle char(2) NOT NULL,
  c_last varchar(16) NOT NULL,
  c_street_1 varchar(20) NOT NULL,
  c_street_2 varchar(20) NOT NULL,
  c_city varchar(20) NOT NULL,
  c_state char(2) NOT NULL,
  c_zip char(9) NOT NULL,
  c_phone char(16) NOT NULL,
  c_since timestamp NOT NULL,
  c_credit char(2) NOT NULL,
  c_credit_lim numeric(12,2) NOT NULL,
  c_discount numeric(4,4) NOT NULL,
  c_balance numeric(14,2) NOT NULL,
  c_ytd_payment numeric(14,2) NOT NULL,
  c_payment_cnt integer NOT NULL,
  c_delivery_cnt integer NOT NULL,
  c_data varchar(500) NOT NULL
) WITH (fillfactor=85);
CREATE TABLE history (
  h_c_id integer NOT NULL,
  h_c_d_id smallint NOT NULL,
  h_c_w_id integer NOT NULL,
  h_d_id smallint NOT NULL,
  h_w_id integer NOT NULL,
  h_date timestamp NOT NULL,
  h_amount numeric(6,2) NOT NULL,
  h_data varchar(24) NOT NULL
);
CREATE TABLE item (
  i_id integer NOT NULL,
  i_im_id integer NOT NULL,
  i_name varchar(24) NOT NULL,
  i_price numeric(5,2) NOT NULL,
  i_data varchar(50) NOT NULL
);
CREATE TABLE stock (
  s_i_id integer NOT NULL,
  s_w_id integer NOT NULL,
  s_quantity smallint NOT NULL,
  s_dist_01 char(24) NOT NULL,
  s_dist_02 char(24) NOT NULL,
  s_dist_03 char(24) NOT NULL,
  s_dist_04 char(24) NOT NULL,
  s_dist_05 char(24) NOT NULL,
  s_dist_06 char(24) NOT NULL,
  s_dist_07 char(24) NOT NULL,
  s_dist_08 char(24) NOT NULL,
  s_dist_09 char(24) NOT NULL,
  s_dist_10 char(24) NOT NULL,
  s_ytd integer NOT NULL,
  s_order_cnt integer NOT NULL,
  s_remote_cnt integer NOT NULL,
  s_data varchar(50) NOT NULL
) WITH (fillfactor=90);
CREATE TABLE orders (
  o_id integer NOT NULL,
  o_d_id smallint NOT NULL,
  o_w_id integer NOT NULL,
  o_c_id integer NOT NULL,
  o_entry_d timestamp NOT NULL,
  o_carrier_id smallint,
  o_ol_cnt smallint NOT NULL,
  o_all_local smallint NOT NULL
) WITH (fillfactor=90);
CREATE TABLE new_order (
  no_o_id integer NOT NULL,
  no_d_id smallint NOT NULL,
  no_w_id integer NOT NULL
);
CREATE TABLE order_line (
  ol_o_id integer NOT NULL,
  ol_d_id smallint NOT NULL,
  ol_w_id integer NOT NULL,
  ol_number smallint NOT NULL,
  ol_i_id integer NOT NULL,
  ol_supply_w_id integer NOT NULL,
  ol_delivery_d timestamp,
  ol_quantity smallint NOT NULL,
  ol_amount numeric(6,2) NOT NULL,
  ol_dist_info char(24) NOT NULL
) WITH (fillfactor=90);
ALTER TABLE warehouse ADD PRIMARY KEY (w_id);
ALTER TABLE district ADD PRIMARY KEY (d_w_id, d_id);
ALTER TABLE customer ADD PRIMARY KEY (c_w_id, c_d_id, c_id);
ALTER TABLE item ADD PRIMARY KEY (i_id);
ALTER TABLE stock ADD PRIMARY KEY (s_w_id, s_i_id);
ALTER TABLE orders ADD PRIMARY KEY (o_w_id, o_d_id, o_id);
ALTER TABLE new_order ADD PRIMARY KEY (no_w_id, no_d_id, no_o_id);
ALTER TABLE order_line ADD PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number);
CREATE INDEX customer_name ON customer (c_w_id, c_d_id, c_last, c_first, c_id);
CREATE INDEX orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id);
-- mode procedures: neworder
SELECT * FROM neworder($1,$2,$3,$4,$5,$6,$7,$8);
-- mode procedures: payment
SELECT * FROM payment($1,$2,$3,$4,$5,$6,$7,$8);
-- mode procedures: orderstatus
SELECT * FROM orderstatus($1,$2,$3,$4);
-- mode procedures: delivery
SELECT * FROM delivery($1,$2,$3);
-- mode procedures: stocklevel
SELECT * FROM stocklevel($1,$2,$3);
-- mode procedures: check condition 1
SELECT count(*) FROM warehouse LEFT JOIN (SELECT d_w_id, sum(d_ytd) AS ytd FROM district GROUP BY d_w_id) d ON d_w_id = w_id WHERE ytd IS NULL OR w_ytd <> ytd;
-- mode procedures: check condition 2
SELECT count(*) FROM district LEFT JOIN (SELECT o_w_id, o_d_id, max(o_id) AS last_o FROM orders GROUP BY o_w_id, o_d_id) o ON o_w_id = d_w_id AND o_d_id = d_id LEFT JOIN (SELECT no_w_id, no_d_id, max(no_o_id) AS last_no FROM new_order GROUP BY no_w_id, no_d_id) n ON no_w_id = d_w_id AND no_d_id = d_id WHERE last_o IS NULL OR d_next_o_id - 1 <> last_o OR last_no <> last_o;
-- mode procedures: check condition 3
SELECT count(*) FROM (SELECT no_w_id, no_d_id FROM new_order GROUP BY no_w_id, no_d_id HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*)) n;
-- mode procedures: check condition 4
SELECT count(CASE WHEN stated IS NULL OR there IS NULL OR stated <> there THEN 1 END), count(CASE WHEN wrong <> 0 OR entered <> met THEN 1 END), count(CASE WHEN torn <> 0 THEN 1 END) FROM district LEFT JOIN (SELECT o_w_id, o_d_id, count(*) AS entered, sum(o_ol_cnt) AS stated FROM orders GROUP BY o_w_id, o_d_id) o ON o_w_id = d_w_id AND o_d_id = d_id LEFT JOIN (SELECT ol_w_id, ol_d_id, sum(n) AS there, count(o_id) AS met, count(CASE WHEN n <> o_ol_cnt THEN 1 END) AS wrong, count(CASE WHEN done <> CASE WHEN o_carrier_id IS NULL THEN 0 ELSE n END THEN 1 END) AS torn FROM (SELECT ol_w_id, ol_d_id, ol_o_id, count(*) AS n, count(ol_delivery_d) AS done FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id) l LEFT JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id GROUP BY ol_w_id, ol_d_id) s ON ol_w_id = d_w_id AND ol_d_id = d_id;
-- mode procedures: check condition 5
SELECT (SELECT count(*) FROM orders LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id WHERE o_carrier_id IS NULL AND no_o_id IS NULL OR o_carrier_id IS NOT NULL AND no_o_id IS NOT NULL) + (SELECT count(*) FROM new_order LEFT JOIN orders ON o_w_id = no_w_id AND o_d_id = no_d_id AND o_id = no_o_id WHERE o_id IS NULL);
-- mode procedures: check condition 8
SELECT count(*) FROM warehouse LEFT JOIN (SELECT h_w_id, sum(h_amount) AS paid FROM history GROUP BY h_w_id) h ON h_w_id = w_id WHERE paid IS NULL OR w_ytd <> paid;
-- mode procedures: check condition 9
SELECT count(*) FROM district LEFT JOIN (SELECT h_w_id, h_d_id, sum(h_amount) AS paid FROM history GROUP BY h_w_id, h_d_id) h ON h_w_id = d_w_id AND h_d_id = d_id WHERE paid IS NULL OR d_ytd <> paid;
-- mode procedures: check condition 10
SELECT count(CASE WHEN c_balance <> coalesce(bought, 0) - coalesce(paid, 0) THEN 1 END), count(CASE WHEN c_balance + c_ytd_payment <> coalesce(bought, 0) THEN 1 END) FROM customer LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, sum(cost) AS bought FROM orders JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, sum(ol_amount) AS cost FROM order_line WHERE ol_delivery_d IS NOT NULL AND ol_amount <> 0 GROUP BY ol_w_id, ol_d_id, ol_o_id) l ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id GROUP BY o_w_id, o_d_id, o_c_id) b ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) AS paid FROM history GROUP BY h_c_w_id, h_c_d_id, h_c_id) h ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id;
-- mode procedures: check condition 11
SELECT count(*) FROM district LEFT JOIN (SELECT o_w_id, o_d_id, count(*) AS entered FROM orders GROUP BY o_w_id, o_d_id) o ON o_w_id = d_w_id AND o_d_id = d_id LEFT JOIN (SELECT no_w_id, no_d_id, count(*) AS waiting FROM new_order GROUP BY no_w_id, no_d_id) n ON no_w_id = d_w_id AND no_d_id = d_id LEFT JOIN (SELECT c_w_id, c_d_id, sum(c_delivery_cnt) AS arrived FROM customer GROUP BY c_w_id, c_d_id) c ON c_w_id = d_w_id AND c_d_id = d_id WHERE entered IS NULL OR arrived IS NULL OR entered - coalesce(waiting, 0) <> 2100 + arrived;
-- mode procedures: check orders
SELECT count(*) FROM orders;
-- mode procedures: check payments
SELECT count(*) FROM history;
-- mode procedures: check deliveries
SELECT sum(c_delivery_cnt) FROM customer;
-- mode statements: schema
CREATE TABLE warehouse (
  w_id integer NOT NULL,
  w_name varchar(10) NOT NULL,
  w_street_1 varchar(20) NOT NULL,
  w_street_2 varchar(20) NOT NULL,
  w_city varchar(20) NOT NULL,
  w_state char(2) NOT NULL,
  w_zip char(9) NOT NULL,
  w_tax numeric(4,4) NOT NULL,
  w_ytd numeric(14,2) NOT NULL
) WITH (fillfactor=10);
CREATE TABLE district (
  d_id smallint NOT NULL,
  d_w_id integer NOT NULL,
  d_name varchar(10) NOT NULL,
  d_street_1 varchar(20) NOT NULL,
  d_street_2 varchar(20) NOT NULL,
  d_city varchar(20) NOT NULL,
  d_state char(2) NOT NULL,
  d_zip char(9) NOT NULL,
  d_tax numeric(4,4) NOT NULL,
  d_ytd numeric(14,2) NOT NULL,
  d_next_o_id integer NOT NULL
) WITH (fillfactor=10);
CREATE TABLE customer (
  c_id integer NOT NULL,
  c_d_id smallint NOT NULL,
  c_w_id integer NOT NULL,
  c_first varchar(16) NOT NULL,
  c_middle char(2) NOT NULL,
  c_last varchar(16) NOT NULL,
  c_street_1 varchar(20) NOT NULL,
  c_street_2 varchar(20) NOT NULL,
  c_city varchar(20) NOT NULL,
  c_state char(2) NOT NULL,
  c_zip char(9) NOT NULL,
  c_phone char(16) NOT NULL,
  c_since timestamp NOT NULL,
  c_credit char(2) NOT NULL,
  c_credit_lim numeric(12,2) NOT NULL,
  c_discount numeric(4,4) NOT NULL,
  c_balance numeric(14,2) NOT NULL,
  c_ytd_payment numeric(14,2) NOT NULL,
  c_payment_cnt integer NOT NULL,
  c_delivery_cnt integer NOT NULL,
  c_data varchar(500) NOT NULL
) WITH (fillfactor=85);
CREATE TABLE history (
  h_c_id integer NOT NULL,
  h_c_d_id smallint NOT NULL,
  h_c_w_id integer NOT NULL,
  h_d_id smallint NOT NULL,
  h_w_id integer NOT NULL,
  h_date timestamp NOT NULL,
  h_amount numeric(6,2) NOT NULL,
  h_data varchar(24) NOT NULL
);
CREATE TABLE item (
  i_id integer NOT NULL,
  i_im_id integer NOT NULL,
  i_name varchar(24) NOT NULL,
  i_price numeric(5,2) NOT NULL,
  i_data varchar(50) NOT NULL
);
CREATE TABLE stock (
  s_i_id integer NOT NULL,
  s_w_id integer NOT NULL,
  s_quantity smallint NOT NULL,
  s_dist_01 char(24) NOT NULL,
  s_dist_02 char(24) NOT NULL,
  s_dist_03 char(24) NOT NULL,
  s_dist_04 char(24) NOT NULL,
  s_dist_05 char(24) NOT NULL,
  s_dist_06 char(24) NOT NULL,
  s_dist_07 char(24) NOT NULL,
  s_dist_08 char(24) NOT NULL,
  s_dist_09 char(24) NOT NULL,
  s_dist_10 char(24) NOT NULL,
  s_ytd integer NOT NULL,
  s_order_cnt integer NOT NULL,
  s_remote_cnt integer NOT NULL,
  s_data varchar(50) NOT NULL
) WITH (fillfactor=90);
CREATE TABLE orders (
  o_id integer NOT NULL,
  o_d_id smallint NOT NULL,
  o_w_id integer NOT NULL,
  o_c_id integer NOT NULL,
  o_entry_d timestamp NOT NULL,
  o_carrier_id smallint,
  o_ol_cnt smallint NOT NULL,
  o_all_local smallint NOT NULL
) WITH (fillfactor=90);
CREATE TABLE new_order (
  no_o_id integer NOT NULL,
  no_d_id smallint NOT NULL,
  no_w_id integer NOT NULL
);
CREATE TABLE order_line (
  ol_o_id integer NOT NULL,
  ol_d_id smallint NOT NULL,
  ol_w_id integer NOT NULL,
  ol_number smallint NOT NULL,
  ol_i_id integer NOT NULL,
  ol_supply_w_id integer NOT NULL,
  ol_delivery_d timestamp,
  ol_quantity smallint NOT NULL,
  ol_amount numeric(6,2) NOT NULL,
  ol_dist_info char(24) NOT NULL
) WITH (fillfactor=90);
ALTER TABLE warehouse ADD PRIMARY KEY (w_id);
ALTER TABLE district ADD PRIMARY KEY (d_w_id, d_id);
ALTER TABLE customer ADD PRIMARY KEY (c_w_id, c_d_id, c_id);
ALTER TABLE item ADD PRIMARY KEY (i_id);
ALTER TABLE stock ADD PRIMARY KEY (s_w_id, s_i_id);
ALTER TABLE orders ADD PRIMARY KEY (o_w_id, o_d_id, o_id);
ALTER TABLE new_order ADD PRIMARY KEY (no_w_id, no_d_id, no_o_id);
ALTER TABLE order_line ADD PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number);
CREATE INDEX customer_name ON customer (c_w_id, c_d_id, c_last, c_first, c_id);
CREATE INDEX orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id);
-- mode statements: district
SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = $1 AND d_id = $2 FOR UPDATE;
-- mode statements: advance district
UPDATE district SET d_next_o_id = $1 WHERE d_w_id = $2 AND d_id = $3;
-- mode statements: buyer
SELECT c_discount, c_last, c_credit, w_tax FROM customer JOIN warehouse ON w_id = c_w_id WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3;
-- mode statements: insert order
INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local) VALUES ($1, $2, $3, $4, $5, NULL, $6, $7);
-- mode statements: insert new order
INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES ($1, $2, $3);
-- mode statements: item
SELECT i_price, i_name, i_data FROM item WHERE i_id = $1;
-- mode statements: stock
SELECT s_quantity, s_data, CASE $1 + 0 WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END FROM stock WHERE s_w_id = $2 AND s_i_id = $3 FOR UPDATE;
-- mode statements: take stock
UPDATE stock SET s_quantity = $1, s_ytd = s_ytd + $2, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + $3 WHERE s_w_id = $4 AND s_i_id = $5;
-- mode statements: insert line
INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES ($1, $2, $3, $4, $5, $6, NULL, $7, $8, $9);
-- mode statements: customers named
SELECT c_id FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first, c_id;
-- mode statements: payer
SELECT c_balance, c_credit, c_data, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit_lim, c_discount FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3 FOR UPDATE;
-- mode statements: pay
UPDATE customer SET c_balance = c_balance - $1, c_ytd_payment = c_ytd_payment + $1, c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = $2 AND c_d_id = $3 AND c_id = $4;
-- mode statements: pay, bad credit
UPDATE customer SET c_balance = c_balance - $1, c_ytd_payment = c_ytd_payment + $1, c_payment_cnt = c_payment_cnt + 1, c_data = $2 WHERE c_w_id = $3 AND c_d_id = $4 AND c_id = $5;
-- mode statements: addresses
SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip, d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM warehouse JOIN district ON d_w_id = w_id WHERE w_id = $1 AND d_id = $2;
-- mode statements: insert history
INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) VALUES ($1, $2, $3, $4, $5, $6, $7, $8);
-- mode statements: pay district
UPDATE district SET d_ytd = d_ytd + $1 WHERE d_w_id = $2 AND d_id = $3;
-- mode statements: pay warehouse
UPDATE warehouse SET w_ytd = w_ytd + $1 WHERE w_id = $2;
-- mode statements: viewer
SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3;
-- mode statements: last order
SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3 ORDER BY o_id DESC LIMIT 1;
-- mode statements: lines
SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3;
-- mode statements: oldest new order
SELECT no_o_id FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 ORDER BY no_o_id LIMIT 1 FOR UPDATE;
-- mode statements: new orders left
SELECT no_o_id FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 ORDER BY no_o_id LIMIT 1;
-- mode statements: delete new order
DELETE FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 AND no_o_id = $3;
-- mode statements: customer of order
SELECT o_c_id FROM orders WHERE o_w_id = $1 AND o_d_id = $2 AND o_id = $3;
-- mode statements: carry order
UPDATE orders SET o_carrier_id = $1 WHERE o_w_id = $2 AND o_d_id = $3 AND o_id = $4;
-- mode statements: deliver lines
UPDATE order_line SET ol_delivery_d = $1 WHERE ol_w_id = $2 AND ol_d_id = $3 AND ol_o_id = $4;
-- mode statements: sum of lines
SELECT CAST(sum(ol_amount) AS decimal(12, 2)) FROM order_line WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3;
-- mode statements: charge customer
UPDATE customer SET c_balance = c_balance + $1, c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = $2 AND c_d_id = $3 AND c_id = $4;
-- mode statements: next order
SELECT d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2;
-- mode statements: low stock
SELECT count(DISTINCT s_i_id) FROM order_line JOIN stock ON s_w_id = $1 AND s_i_id = ol_i_id WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id >= $3 AND ol_o_id < $4 AND s_quantity < $5;
-- mode statements: check condition 1
SELECT count(*) FROM warehouse LEFT JOIN (SELECT d_w_id, sum(d_ytd) AS ytd FROM district GROUP BY d_w_id) d ON d_w_id = w_id WHERE ytd IS NULL OR w_ytd <> ytd;
-- mode statements: check condition 2
SELECT count(*) FROM district LEFT JOIN (SELECT o_w_id, o_d_id, max(o_id) AS last_o FROM orders GROUP BY o_w_id, o_d_id) o ON o_w_id = d_w_id AND o_d_id = d_id LEFT JOIN (SELECT no_w_id, no_d_id, max(no_o_id) AS last_no FROM new_order GROUP BY no_w_id, no_d_id) n ON no_w_id = d_w_id AND no_d_id = d_id WHERE last_o IS NULL OR d_next_o_id - 1 <> last_o OR last_no <> last_o;
-- mode statements: check condition 3
SELECT count(*) FROM (SELECT no_w_id, no_d_id FROM new_order GROUP BY no_w_id, no_d_id HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*)) n;
-- mode statements: check condition 4
SELECT count(CASE WHEN stated IS NULL OR there IS NULL OR stated <> there THEN 1 END), count(CASE WHEN wrong <> 0 OR entered <> met THEN 1 END), count(CASE WHEN torn <> 0 THEN 1 END) FROM district LEFT JOIN (SELECT o_w_id, o_d_id, count(*) AS entered, sum(o_ol_cnt) AS stated FROM orders GROUP BY o_w_id, o_d_id) o ON o_w_id = d_w_id AND o_d_id = d_id LEFT JOIN (SELECT ol_w_id, ol_d_id, sum(n) AS there, count(o_id) AS met, count(CASE WHEN n <> o_ol_cnt THEN 1 END) AS wrong, count(CASE WHEN done <> CASE WHEN o_carrier_id IS NULL THEN 0 ELSE n END THEN 1 END) AS torn FROM (SELECT ol_w_id, ol_d_id, ol_o_id, count(*) AS n, count(ol_delivery_d) AS done FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id) l LEFT JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id GROUP BY ol_w_id, ol_d_id) s ON ol_w_id = d_w_id AND ol_d_id = d_id;
-- mode statements: check condition 5
SELECT (SELECT count(*) FROM orders LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id WHERE o_carrier_id IS NULL AND no_o_id IS NULL OR o_carrier_id IS NOT NULL AND no_o_id IS NOT NULL) + (SELECT count(*) FROM new_order LEFT JOIN orders ON o_w_id = no_w_id AND o_d_id = no_d_id AND o_id = no_o_id WHERE o_id IS NULL);
-- mode statements: check condition 8
SELECT count(*) FROM warehouse LEFT JOIN (SELECT h_w_id, sum(h_amount) AS paid FROM history GROUP BY h_w_id) h ON h_w_id = w_id WHERE paid IS NULL OR w_ytd <> paid;
-- mode statements: check condition 9
SELECT count(*) FROM district LEFT JOIN (SELECT h_w_id, h_d_id, sum(h_amount) AS paid FROM history GROUP BY h_w_id, h_d_id) h ON h_w_id = d_w_id AND h_d_id = d_id WHERE paid IS NULL OR d_ytd <> paid;
-- mode statements: check condition 10
SELECT count(CASE WHEN c_balance <> coalesce(bought, 0) - coalesce(paid, 0) THEN 1 END), count(CASE WHEN c_balance + c_ytd_payment <> coalesce(bought, 0) THEN 1 END) FROM customer LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, sum(cost) AS bought FROM orders JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, sum(ol_amount) AS cost FROM order_line WHERE ol_delivery_d IS NOT NULL AND ol_amount <> 0 GROUP BY ol_w_id, ol_d_id, ol_o_id) l ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id GROUP BY o_w_id, o_d_id, o_c_id) b ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) AS paid FROM history GROUP BY h_c_w_id, h_c_d_id, h_c_id) h ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id;
-- mode statements: check condition 11
SELECT count(*) FROM district LEFT JOIN (SELECT o_w_id, o_d_id, count(*) AS entered FROM orders GROUP BY o_w_id, o_d_id) o ON o_w_id = d_w_id AND o_d_id = d_id LEFT JOIN (SELECT no_w_id, no_d_id, count(*) AS waiting FROM new_order GROUP BY no_w_id, no_d_id) n ON no_w_id = d_w_id AND no_d_id = d_id LEFT JOIN (SELECT c_w_id, c_d_id, sum(c_delivery_cnt) AS arrived FROM customer GROUP BY c_w_id, c_d_id) c ON c_w_id = d_w_id AND c_d_id = d_id WHERE entered IS NULL OR arrived IS NULL OR entered - coalesce(waiting, 0) <> 2100 + arrived;
-- mode statements: check orders
SELECT count(*) FROM orders;
-- mode statements: check payments
SELECT count(*) FROM history;
-- mode statements: check deliveries
SELECT sum(c_delivery_cnt) FROM customer;
