-- A Payment for pgbench: 60 % by last name, which the server puts together
-- because pgbench has no strings; 15 % by a customer of any warehouse.
\set w random(1, :warehouses)
\set d random(1, 10)
\set cw :w
\set cd :d
\set remote random(1, 100)
\if :remote <= 15
\set cw random(1, :warehouses)
\set cd random(1, 10)
\endif
\set a random(100, 500000)
\set named random(1, 100)
\if :named <= 60
\set l ((random(0, 255) | random(0, 999)) + 173) % 1000
SELECT * FROM payment(:w, :d::smallint, :cw, :cd::smallint, 0, (ARRAY['BAR','OUGHT','ABLE','PRI','PRES','ESE','ANTI','CALLY','ATION','EING'])[:l::integer / 100 + 1] || (ARRAY['BAR','OUGHT','ABLE','PRI','PRES','ESE','ANTI','CALLY','ATION','EING'])[:l::integer / 10 % 10 + 1] || (ARRAY['BAR','OUGHT','ABLE','PRI','PRES','ESE','ANTI','CALLY','ATION','EING'])[:l::integer % 10 + 1], round(:a::numeric / 100, 2), now()::timestamp);
\else
\set c ((random(0, 1023) | random(1, 3000)) + 259) % 3000 + 1
SELECT * FROM payment(:w, :d::smallint, :cw, :cd::smallint, :c, '', round(:a::numeric / 100, 2), now()::timestamp);
\endif
