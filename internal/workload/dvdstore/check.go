package dvdstore

import (
	"fmt"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

// checks are what must hold after a run. They look at new rows only where
// that is enough: those whose number is above what was loaded.
func (s *store) checks() []workload.Check {
	out := s.countChecks()
	out = append(out, s.orderChecks()...)
	out = append(out, s.stockChecks()...)
	for i := range out {
		out[i].Query.Name = "check " + out[i].Name
		out[i].Query.Index = i
	}
	return out
}

// query makes a check's statement, with %d replaced by the number that each
// argument is.
func query(text string, args ...any) *workload.Statement {
	return &workload.Statement{Text: fmt.Sprintf(text, args...)}
}

// committed bounds rows by what transaction name committed: a connection lost
// before the answer may have committed or not.
func committed(name string) func(workload.Tally) (least, most int64) {
	return func(t workload.Tally) (least, most int64) {
		return t.Committed[name], t.Committed[name] + t.Unknown[name]
	}
}

// exactly wants n, which is worked out when the check runs.
func exactly(n func() int64) func(workload.Tally) (least, most int64) {
	return func(workload.Tally) (least, most int64) {
		v := n()
		return v, v
	}
}

// countChecks compare the driver's counts with the tables.
func (s *store) countChecks() []workload.Check {
	return []workload.Check{
		{
			Name:   "orders",
			Clause: "Metrics: purchases less rollbacks",
			About:  "every committed purchase left one new row in ORDERS, and nothing else did",
			Query:  query("SELECT count(*) FROM orders WHERE orderid > %d", s.orders()),
			Want:   committed(s.buy.Name),
		},
		{
			Name:   "customers",
			Clause: "Procedures: NEW_CUSTOMER",
			About:  "every committed registration left one new row in CUSTOMERS, and nothing else did",
			Query:  query("SELECT count(*) FROM customers WHERE customerid > %d", s.customers),
			Want:   committed(s.register.Name),
		},
	}
}

// orderChecks look at new orders one by one: how many are wrong.
func (s *store) orderChecks() []workload.Check {
	n := s.orders()
	out := []workload.Check{
		{
			Name:   "totals",
			Clause: "Procedures: PURCHASE",
			About:  "of every new order, TOTALAMOUNT is NETAMOUNT plus TAX",
			Query:  query("SELECT count(*) FROM orders WHERE orderid > %d AND totalamount <> netamount + tax", n),
		},
		{
			Name:   "lines",
			Clause: "Procedures: PURCHASE",
			About:  "every new order has 1 to 10 lines, numbered from 1 without gaps",
			Query: query(`SELECT count(*) FROM orders o LEFT JOIN (
				SELECT orderid, count(*) AS n, min(orderlineid) AS low, max(orderlineid) AS high
				FROM orderlines WHERE orderid > %d GROUP BY orderid) l ON l.orderid = o.orderid
				WHERE o.orderid > %d
				AND (l.n IS NULL OR l.n > %d OR l.low <> 1 OR l.high <> l.n)`, n, n, maxLines),
		},
		{
			Name:   "orphan lines",
			Clause: "Indexes: foreign key of ORDERLINES",
			About:  "every new order line has its order",
			Query: query(`SELECT count(*) FROM orderlines l WHERE l.orderid > %d
				AND NOT EXISTS (SELECT 1 FROM orders o WHERE o.orderid = l.orderid)`, n),
		},
		{
			Name:   "orphan history",
			Clause: "Procedures: PURCHASE",
			About:  "every new row of CUST_HIST has its order, by the same customer",
			Query: query(`SELECT count(*) FROM cust_hist h WHERE h.orderid > %d AND NOT EXISTS (
				SELECT 1 FROM orders o WHERE o.orderid = h.orderid AND o.customerid = h.customerid)`, n),
		},
		{
			Name:   "history",
			Clause: "Procedures: PURCHASE",
			About:  "CUST_HIST has one row for each line of every new order, and no other",
			Query: query(`SELECT count(*) FROM (SELECT orderid, prod_id FROM (
				SELECT orderid, prod_id, 1 AS side FROM orderlines WHERE orderid > %d
				UNION ALL SELECT orderid, prod_id, -1 FROM cust_hist WHERE orderid > %d) b
				GROUP BY orderid, prod_id HAVING sum(side) <> 0) d`, n, n),
		},
	}
	if s.compat {
		return out
	}
	// Only strict prices every line: the kit's driver takes a product that is
	// in the cart twice once.
	return append(out, workload.Check{
		Name:   "amounts",
		Clause: "One order: price look-up",
		About:  "of every new order, NETAMOUNT is the sum of quantity times price over its lines",
		Query: query(`SELECT count(*) FROM orders o JOIN (
			SELECT l.orderid, sum(l.quantity * p.price) AS net
			FROM orderlines l JOIN products p ON p.prod_id = l.prod_id
			WHERE l.orderid > %d GROUP BY l.orderid) s ON s.orderid = o.orderid
			WHERE o.netamount <> s.net`, n),
	})
}

// stockChecks look at INVENTORY and REORDER.
func (s *store) stockChecks() []workload.Check {
	negative := workload.Check{
		Name:   "stock",
		Clause: "Procedures: PURCHASE",
		About:  "no product's stock is negative",
		Query:  query("SELECT count(*) FROM inventory WHERE quan_in_stock < 0"),
	}
	if s.compat {
		// Lost updates are possible: neither sales nor stock need add up.
		return []workload.Check{negative, {
			Name:   "restocks",
			Clause: "Procedures: RESTOCK",
			About:  "every row of REORDER orders what was missing from 250, or 2,500 of a product that the kit takes for a hot seller",
			Query: query(`SELECT count(*) FROM reorder r WHERE NOT EXISTS (
				SELECT 1 FROM inventory i WHERE i.prod_id = r.prod_id)
				OR r.quan_low NOT BETWEEN CASE WHEN (r.prod_id + 1) %% %d = 0 THEN 2498 ELSE 248 END
				AND CASE WHEN (r.prod_id + 1) %% %d = 0 THEN 2500 ELSE 250 END`, popularEach, popularEach),
		}}
	}
	return []workload.Check{
		negative,
		{
			Name:   "restocks",
			Clause: "Procedures: RESTOCK",
			About:  "every row of REORDER is of a product with 0 to 2 left, filled up to 250, or 2,500 of a hot seller",
			Query: query(`SELECT count(*) FROM reorder r WHERE NOT EXISTS (
				SELECT 1 FROM inventory i WHERE i.prod_id = r.prod_id)
				OR r.quan_low NOT BETWEEN 0 AND 2 OR r.quan_reordered IS NULL
				OR r.quan_low + r.quan_reordered <> CASE WHEN r.prod_id %% %d = 0 THEN 2500 ELSE 250 END`, popularEach),
		},
		{
			Name:   "sales",
			Clause: "Procedures: PURCHASE",
			About:  "SALES grew by what the lines of new orders say: no update was lost",
			Query: query(`SELECT i.n - l.n FROM (SELECT sum(sales) AS n FROM inventory) i
				CROSS JOIN (SELECT coalesce(sum(quantity), 0) AS n FROM orderlines WHERE orderid > %d) l`, s.orders()),
			Want: exactly(func() int64 {
				var sum int64
				for _, n := range s.sold() {
					sum += int64(n)
				}
				return sum
			}),
		},
		{
			Name:   "balance",
			Clause: "Procedures: PURCHASE and RESTOCK",
			About: "for each product, stock plus sales less restocks is what was loaded; " +
				"products are added up with the weight number mod 997 + 1, so that two faults do not cancel out",
			Query: query(`SELECT i.n - r.n FROM (
				SELECT sum((quan_in_stock + sales) * (prod_id %% %d + 1)) AS n FROM inventory) i CROSS JOIN (
				SELECT coalesce(sum(quan_reordered * (prod_id %% %d + 1)), 0) AS n FROM reorder) r`,
				balanceWeights, balanceWeights),
			Want: exactly(s.initialBalance),
		},
	}
}

// balanceWeights is a prime: the weights of products in the balance repeat
// after so many.
const balanceWeights = 997

// initialBalance is the weighted sum of stock and sales that was loaded.
func (s *store) initialBalance() int64 {
	var sum int64
	for i, sold := range s.sold() {
		id := int64(i) + 1
		sum += (s.initialStock(id) + int64(sold)) * (id%balanceWeights + 1)
	}
	return sum
}
