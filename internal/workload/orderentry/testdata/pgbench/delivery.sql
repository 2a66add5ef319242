-- A Delivery for pgbench.
\set w random(1, :warehouses)
\set carrier random(1, 10)
SELECT * FROM delivery(:w, :carrier::smallint, now()::timestamp);
