-- An Order-Status for pgbench, as payment.sql.
\set w random(1, :warehouses)
\set d random(1, 10)
\set named random(1, 100)
\if :named <= 60
\set l ((random(0, 255) | random(0, 999)) + 173) % 1000
SELECT * FROM orderstatus(:w, :d::smallint, 0, (ARRAY['BAR','OUGHT','ABLE','PRI','PRES','ESE','ANTI','CALLY','ATION','EING'])[:l::integer / 100 + 1] || (ARRAY['BAR','OUGHT','ABLE','PRI','PRES','ESE','ANTI','CALLY','ATION','EING'])[:l::integer / 10 % 10 + 1] || (ARRAY['BAR','OUGHT','ABLE','PRI','PRES','ESE','ANTI','CALLY','ATION','EING'])[:l::integer % 10 + 1]);
\else
\set c ((random(0, 1023) | random(1, 3000)) + 259) % 3000 + 1
SELECT * FROM orderstatus(:w, :d::smallint, :c, '');
\endif
