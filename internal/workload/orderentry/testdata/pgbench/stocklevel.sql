-- A Stock-Level for pgbench.
\set w random(1, :warehouses)
\set d random(1, 10)
\set threshold random(10, 20)
SELECT * FROM stocklevel(:w, :d::smallint, :threshold::smallint);
