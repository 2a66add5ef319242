-- A New-Order for pgbench. It draws 5 to 15 different items in rising order,
-- because it can neither sort nor compare a list: one from each fifteenth of
-- the items, not uniform. All lines are of the home warehouse. One order in a
-- hundred names an unknown item and is rolled back.
\set w random(1, :warehouses)
\set d random(1, 10)
\set c ((random(0, 1023) | random(1, 3000)) + 259) % 3000 + 1
\set n random(5, 15)
\set i1 ((random(0, 8191) | random(1, 6666)) + 7911) % 6666 + 1
\set i2 ((random(0, 8191) | random(1, 6666)) + 7911) % 6666 + 6667
\set i3 ((random(0, 8191) | random(1, 6666)) + 7911) % 6666 + 13333
\set i4 ((random(0, 8191) | random(1, 6666)) + 7911) % 6666 + 19999
\set i5 ((random(0, 8191) | random(1, 6666)) + 7911) % 6666 + 26665
\set i6 ((random(0, 8191) | random(1, 6666)) + 7911) % 6666 + 33331
\set i7 ((random(0, 8191) | random(1, 6666)) + 7911) % 6666 + 39997
\set i8 ((random(0, 8191) | random(1, 6666)) + 7911) % 6666 + 46663
\set i9 ((random(0, 8191) | random(1, 6666)) + 7911) % 6666 + 53329
\set i10 ((random(0, 8191) | random(1, 6666)) + 7911) % 6666 + 59995
\set i11 ((random(0, 8191) | random(1, 6666)) + 7911) % 6666 + 66661
\set i12 ((random(0, 8191) | random(1, 6666)) + 7911) % 6666 + 73327
\set i13 ((random(0, 8191) | random(1, 6666)) + 7911) % 6666 + 79993
\set i14 ((random(0, 8191) | random(1, 6666)) + 7911) % 6666 + 86659
\set i15 ((random(0, 8191) | random(1, 6666)) + 7911) % 6666 + 93325
\set q random(1, 10)
\set unknown random(1, 100)
\if :unknown = 1
BEGIN;
SELECT * FROM neworder(:w, :d::smallint, :c, now()::timestamp, 1::smallint, (ARRAY[:i1, :i2, :i3, :i4, 100001]::integer[]), array_fill(:w::integer, ARRAY[5]), array_fill(:q::smallint, ARRAY[5]));
ROLLBACK;
\else
SELECT * FROM neworder(:w, :d::smallint, :c, now()::timestamp, 1::smallint, (ARRAY[:i1, :i2, :i3, :i4, :i5, :i6, :i7, :i8, :i9, :i10, :i11, :i12, :i13, :i14, :i15]::integer[])[1:(:n::integer)], array_fill(:w::integer, ARRAY[:n::integer]), array_fill(:q::smallint, ARRAY[:n::integer]));
\endif
