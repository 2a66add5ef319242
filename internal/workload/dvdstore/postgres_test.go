package dvdstore_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/enginetest"
	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// loaded is the workload in a database of its own on a real server.
type loaded struct{ enginetest.Subject }

// texts are the texts among values.
func texts(values []workload.Value) []string {
	var out []string
	for _, v := range values {
		if v.Kind == workload.String {
			out = append(out, string(v.Str))
		}
	}
	return out
}

// run calls statement name with arguments.
func (l loaded) run(t *testing.T, c workload.Conn, name string, args ...any) workload.Result {
	t.Helper()
	for _, st := range l.Definition.Statements {
		if st.Name != name {
			continue
		}
		values := make([]workload.Value, len(st.Params))
		for i, a := range args {
			switch a := a.(type) {
			case int:
				values[i] = workload.Int(int64(a))
			case string:
				values[i] = workload.Str([]byte(a))
			case workload.Value:
				values[i] = a
			}
		}
		for i := len(args); i < len(values); i++ {
			values[i] = workload.Int(0)
		}
		r, err := c.Run(t.Context(), st, values)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return r
	}
	t.Fatalf("there is no statement %s", name)
	return workload.Result{}
}

// purchase buys pairs of product and quantity for customer 1, at their prices
// and without tax.
func (l loaded) purchase(t *testing.T, c workload.Conn, pairs ...int) int64 {
	t.Helper()
	args, net := make([]any, 5, 5+len(pairs)), int64(0)
	for i, p := range pairs {
		if args = append(args, p); i%2 == 0 {
			for _, price := range enginetest.Ask(t, c, fmt.Sprintf("SELECT price FROM products WHERE prod_id = %d", p)) {
				net += price.Int * int64(pairs[i+1])
			}
		}
	}
	args[0], args[1], args[2], args[3], args[4] = 1, len(pairs)/2, workload.Money(net), workload.Money(0), workload.Money(net)
	return l.run(t, c, "purchase", args...).Values[0].Int
}

// load loads the workload into database name.
func load(t *testing.T, db engine.Database, name string, params map[string]string) loaded {
	t.Helper()
	return loaded{enginetest.Load(t, db, name, define(t, params))}
}

// onPostgreSQL loads each mode and sees that the procedures mean what they say,
// under concurrent users too.
func onPostgreSQL(t *testing.T, db engine.Database) {
	strict := load(t, db, "strict", map[string]string{"size": "small"})
	compat := load(t, db, "compat", map[string]string{"size": "1MB", "mode": "compat"})
	t.Run("FreshDataPassChecks", func(t *testing.T) {
		for _, l := range []loaded{strict, compat} {
			if failed := l.Check(t, l.Open(t).Conn(), workload.Tally{}); len(failed) > 0 {
				t.Errorf("%s: %v", l.Name, failed)
			}
		}
	})
	t.Run("StrictSearches", strict.searches)
	t.Run("StrictHistory", strict.history)
	t.Run("StrictPurchase", strict.purchases)
	t.Run("StrictPlans", strict.plans)
	t.Run("StrictChecksFindFaults", strict.faults)
	t.Run("CompatHasTheKitsFaults", compat.kitFaults)
	t.Run("StrictUsers", strict.users)
	t.Run("CompatUsers", compat.users)
	t.Run("StrictLosesNoUpdate", strict.contention)
}

func (l loaded) searches(t *testing.T) {
	c := l.Open(t).Conn()
	first := texts(enginetest.Ask(t, c, "SELECT title, actor FROM products WHERE prod_id = 3"))
	words := strings.Fields(first[0])
	for _, terms := range []string{first[0], words[1] + " " + words[0], strings.ToLower(first[0])} {
		r := l.run(t, c, "browse_by_title", 9, terms)
		if r.Rows() == 0 || r.Values[0].Int != 3 {
			t.Errorf("title %q: %d rows, the first should be product 3", terms, r.Rows())
		}
		for i := range r.Rows() {
			if !strings.Contains(string(r.Row(i)[2].Str), words[0]) || !strings.Contains(string(r.Row(i)[2].Str), words[1]) {
				t.Errorf("title %q found %q", terms, r.Row(i)[2].Str)
			}
		}
	}
	if r := l.run(t, c, "browse_by_title", 9, first[1]); r.Rows() != 0 {
		t.Errorf("an actor's name found %d titles", r.Rows())
	}
	if r := l.run(t, c, "browse_by_actor", 9, first[1]); r.Rows() == 0 || string(r.Row(0)[3].Str) != first[1] {
		t.Errorf("actor %q found %d rows", first[1], r.Rows())
	}
	r := l.run(t, c, "browse_by_category", 2, 3)
	if r.Rows() != 2 || r.Columns != 7 || r.Row(0)[0].Int >= r.Row(1)[0].Int {
		t.Fatalf("category 3: %d rows of %d columns", r.Rows(), r.Columns)
	}
	for i := range r.Rows() {
		if r.Row(i)[1].Int != 3 || r.Row(i)[5].Int != 1 {
			t.Errorf("category 3 found a product of category %d, special %d", r.Row(i)[1].Int, r.Row(i)[5].Int)
		}
	}
}

func (l loaded) history(t *testing.T) {
	c := l.Open(t).Conn()
	busy := enginetest.Ask(t, c, "SELECT customerid FROM cust_hist GROUP BY customerid HAVING count(*) > 12 ORDER BY 1 LIMIT 1")[0].Int
	r := l.run(t, c, "login", fmt.Sprintf("user%d", busy), "password")
	if r.Rows() != 10 || r.Columns != 4 || r.Values[0].Int != busy {
		t.Errorf("customer %d: %d rows of %d columns", busy, r.Rows(), r.Columns)
	}
	got := texts(r.Values)
	want := texts(enginetest.Ask(t, c, fmt.Sprintf(`SELECT p.title, p.actor, q.title FROM cust_hist h
		JOIN products p ON p.prod_id = h.prod_id JOIN products q ON q.prod_id = p.common_prod_id
		WHERE h.customerid = %d ORDER BY h.orderid DESC, h.prod_id LIMIT 10`, busy)))
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("customer %d: history %v, want %v", busy, got, want)
	}
	idle := enginetest.Ask(t, c, `SELECT customerid FROM customers c WHERE NOT EXISTS (
		SELECT 1 FROM cust_hist h WHERE h.customerid = c.customerid) ORDER BY 1 LIMIT 1`)[0].Int
	if r := l.run(t, c, "login", fmt.Sprintf("user%d", idle), "password"); r.Rows() != 1 || r.Values[0].Int != idle {
		t.Errorf("customer %d without history: %d rows", idle, r.Rows())
	}
	for _, wrong := range [][2]string{{"user1", "wrong"}, {"nobody", "password"}} {
		if r := l.run(t, c, "login", wrong[0], wrong[1]); r.Rows() != 0 {
			t.Errorf("%v logs in", wrong)
		}
	}
}

// purchases buys at the edges of stock, in a transaction that is undone.
func (l loaded) purchases(t *testing.T) {
	c := l.Open(t).Conn()
	for _, x := range []struct {
		name      string
		stock     int // at least 3: less is restocked
		pairs     []int
		sold      int64 // of the first product
		left      int64 // in stock afterwards
		reordered int64 // 0 where nothing was
	}{
		{"plenty", 100, []int{5, 3}, 3, 97, 0},
		{"same product on two lines", 100, []int{5, 3, 7, 1, 5, 2}, 5, 95, 0},
		{"three are left", 6, []int{5, 3}, 3, 3, 0},
		{"two are left", 5, []int{5, 3}, 3, 250, 248},
		{"none is left", 3, []int{5, 3}, 3, 250, 250},
		{"one too few", 3, []int{5, 4}, 0, 3, 0},
		{"too few for two lines", 4, []int{5, 3, 5, 3}, 0, 4, 0},
		{"too few of the second", 100, []int{5, 1, 6, 9_999}, 0, 100, 0},
		{"hot seller", 4, []int{10_000, 2}, 2, 2_500, 2_498},
		{"its neighbour", 4, []int{9_999, 2}, 2, 250, 248},
		{"unknown product", 100, []int{5, 3, 99_999, 1}, 0, 100, 0},
		{"ten lines", 100, []int{5, 1, 1, 1, 2, 1, 3, 1, 4, 1, 6, 1, 7, 1, 8, 1, 9, 1, 11, 1}, 1, 99, 0},
	} {
		enginetest.Inside(t, c, func() {
			enginetest.Ask(t, c, fmt.Sprintf("UPDATE inventory SET quan_in_stock = %d WHERE prod_id = %d", x.stock, x.pairs[0]))
			enginetest.Ask(t, c, "UPDATE inventory SET quan_in_stock = 100 WHERE prod_id IN (1, 2, 3, 4, 6, 7, 8, 9, 11)")
			of := fmt.Sprintf(" WHERE prod_id = %d", x.pairs[0])
			before := enginetest.Ask(t, c, "SELECT sales FROM inventory"+of)[0].Int
			id := l.purchase(t, c, x.pairs...)
			if (id != 0) != (x.sold != 0) {
				t.Errorf("%s: order number %d", x.name, id)
			}
			now := enginetest.Ask(t, c, "SELECT sales, quan_in_stock FROM inventory"+of)
			if now[0].Int-before != x.sold || now[1].Int != x.left {
				t.Errorf("%s: sold %d, left %d; want %d and %d", x.name, now[0].Int-before, now[1].Int, x.sold, x.left)
			}
			re := enginetest.Ask(t, c, "SELECT coalesce(sum(quan_reordered), 0), count(*) FROM reorder"+of)
			if re[0].Int != x.reordered || re[1].Int > 1 {
				t.Errorf("%s: reordered %d in %d rows, want %d", x.name, re[0].Int, re[1].Int, x.reordered)
			}
			lines := enginetest.Ask(t, c, fmt.Sprintf("SELECT prod_id, quantity FROM orderlines WHERE orderid = %d AND orderdate = CURRENT_DATE ORDER BY orderlineid", id))
			if id == 0 {
				lines = enginetest.Ask(t, c, "SELECT 1 FROM orders WHERE orderid > 12000")
			}
			for i, v := range lines {
				if id == 0 || v.Int != int64(x.pairs[i]) {
					t.Errorf("%s: order %d has lines %v", x.name, id, lines)
					break
				}
			}
			if id != 0 && len(lines) != len(x.pairs) {
				t.Errorf("%s: %d lines, want %d", x.name, len(lines)/2, len(x.pairs)/2)
			}
		})
	}
}

// plans sees that the calls, once put into the calling statement, find their
// indexes and walk no table from end to end.
func (l loaded) plans(t *testing.T) {
	c := l.Open(t).Conn()
	for index, call := range map[string]string{
		"ix_cust_hist_customerid": "SELECT * FROM login('user7', 'password')",
		"ix_prod_actor":           "SELECT * FROM browse_by_actor(5, 'A B')",
		"ix_prod_title":           "SELECT * FROM browse_by_title(5, 'A B')",
		"ix_prod_":                "SELECT * FROM browse_by_category(5, 3)",
		"products_pkey":           "SELECT prod_id, price FROM products WHERE prod_id IN (1, 2, 3, 3, 3, 3, 3, 3, 3, 3)",
	} {
		plan := strings.Join(texts(enginetest.Ask(t, c, "EXPLAIN "+call)), "\n")
		if !strings.Contains(plan, index) || strings.Contains(plan, "Seq Scan") || strings.Contains(plan, "Function Scan") {
			t.Errorf("%s: no %s in\n%s", call, index, plan)
		}
	}
}

// faults injects one fault at a time and sees that the check of that name
// finds it.
func (l loaded) faults(t *testing.T) {
	c := l.Open(t).Conn()
	for _, x := range []struct{ check, fault string }{
		{"orders", "INSERT INTO orders (orderdate, customerid, netamount, tax, totalamount) VALUES (CURRENT_DATE, 1, 1, 0, 1)"},
		{"customers", `INSERT INTO customers (firstname, lastname, address1, city, country, region, creditcardtype, creditcard,
			creditcardexpiration, username, password) VALUES ('a', 'b', 'c', 'd', 'US', 1, 1, '1', '2010/01', 'x', 'y')`},
		{"totals", "UPDATE orders SET tax = tax + 0.01 WHERE orderid > 12000"},
		{"amounts", "UPDATE orders SET netamount = netamount + 0.01, totalamount = totalamount + 0.01 WHERE orderid > 12000"},
		{"lines", "DELETE FROM orderlines WHERE orderid > 12000"},
		{"lines", "DELETE FROM orderlines WHERE orderid > 12000 AND orderlineid = 1"},
		{"orphan history", "UPDATE orders SET customerid = 2 WHERE orderid > 12000"},
		{"history", "DELETE FROM cust_hist WHERE orderid > 12000 AND prod_id = 5"},
		{"history", "INSERT INTO cust_hist SELECT * FROM cust_hist WHERE orderid > 12000"},
		{"stock", "INSERT INTO inventory (prod_id, quan_in_stock, sales) VALUES (99999, -1, 0)"},
		{"restocks", "INSERT INTO reorder (prod_id, date_low, quan_low, quan_reordered) VALUES (7, CURRENT_DATE, 3, 247)"},
		{"restocks", "INSERT INTO reorder (prod_id, date_low, quan_low, quan_reordered) VALUES (7, CURRENT_DATE, 2, 247)"},
		{"restocks", "INSERT INTO reorder (prod_id, date_low, quan_low, quan_reordered) VALUES (99999, CURRENT_DATE, 2, 248)"},
		{"sales", "UPDATE inventory SET sales = sales - 1 WHERE prod_id = 5"},
		{"balance", "UPDATE inventory SET quan_in_stock = quan_in_stock - 1 WHERE prod_id = (SELECT min(prod_id) FROM inventory WHERE quan_in_stock > 9)"},
		{"balance", `UPDATE inventory SET quan_in_stock = quan_in_stock + CASE prod_id % 2 WHEN 0 THEN 1 ELSE -1 END
			WHERE prod_id IN (SELECT min(prod_id) FROM inventory WHERE quan_in_stock > 9 GROUP BY prod_id % 2)`},
	} {
		enginetest.Inside(t, c, func() {
			if l.purchase(t, c, 5, 1, 6, 2) == 0 {
				t.Fatal("products 5 and 6 are out of stock")
			}
			tally := workload.Tally{Committed: map[string]int64{"purchase": 1}}
			if failed := l.Check(t, c, tally, x.check); len(failed) > 0 {
				t.Fatalf("before the fault: %v", failed)
			}
			enginetest.Ask(t, c, x.fault)
			if failed := l.Check(t, c, tally, x.check); len(failed) == 0 {
				t.Errorf("check %s holds in spite of: %s", x.check, x.fault)
			}
		})
	}
}

// contention has sessions buy the same products in different orders: strict
// neither deadlocks nor loses an update.
func (l loaded) contention(t *testing.T) {
	const sessions, each = 6, 60
	sum := func() []workload.Value {
		return enginetest.Ask(t, l.Open(t).Conn(), "SELECT sum(sales), sum(quan_in_stock) FROM inventory WHERE prod_id IN (20, 21, 22)")
	}
	before := sum()
	carts := [][]int{{20, 1, 21, 1, 22, 1}, {22, 1, 21, 1, 20, 1}, {21, 1, 20, 1, 22, 1}}
	bought := make([]int64, sessions)
	var wg sync.WaitGroup
	for i := range sessions {
		c := l.Open(t).Conn()
		wg.Go(func() {
			for n := range each {
				if l.purchase(t, c, carts[(i+n)%3]...) != 0 {
					bought[i] += 3
				}
			}
		})
	}
	wg.Wait()
	after, total := sum(), int64(0)
	for _, n := range bought {
		total += n
	}
	if grown := after[0].Int - before[0].Int; total == 0 || grown != total {
		t.Errorf("%d pieces were bought, SALES grew by %d", total, grown)
	}
}

// kitFaults are the kit's, which its driver would meet.
func (l loaded) kitFaults(t *testing.T) {
	c := l.Open(t).Conn()
	first := texts(enginetest.Ask(t, c, "SELECT title, actor FROM products WHERE prod_id = 3"))
	if r := l.run(t, c, "browse_by_title", 9, first[0]); r.Rows() != 0 {
		t.Errorf("title %q found %d rows: the kit looks among actors", first[0], r.Rows())
	}
	// The kit's driver puts the words in quotes.
	for _, procedure := range []string{"browse_by_title", "browse_by_actor"} {
		if r := l.run(t, c, procedure, 9, `"`+first[1]+`"`); r.Rows() == 0 || string(r.Row(0)[3].Str) != first[1] {
			t.Errorf("%s of actor %q found %d rows", procedure, first[1], r.Rows())
		}
	}
	if r := l.run(t, c, "login", "user1", "wrong"); r.Rows() != 1 || r.Values[0].Int != 0 || string(r.Values[1].Str) != "None" {
		t.Errorf("a wrong password gives %d rows %v", r.Rows(), r.Values)
	}
	busy := enginetest.Ask(t, c, "SELECT customerid, count(*) FROM cust_hist GROUP BY customerid HAVING count(*) > 10 ORDER BY 1 LIMIT 1")
	if r := l.run(t, c, "login", fmt.Sprintf("user%d", busy[0].Int), "password"); int64(r.Rows()) != busy[1].Int {
		t.Errorf("customer %d has %d rows of history, want all %d", busy[0].Int, r.Rows(), busy[1].Int)
	}
	enginetest.Inside(t, c, func() {
		register := func() int64 {
			return l.run(t, c, "new_customer", "A", "B", "1 Disc Way", workload.Value{}, "C", workload.Value{}, "00000",
				"UK", 2, "b@example.com", "1", 1, "1", "2010/01", "someone", "password", 30, 20_000, "F").Values[0].Int
		}
		if id := register(); id != 2_001 {
			t.Errorf("the first registration gives number %d", id)
		}
		if id := register(); id != 0 {
			t.Errorf("the same name again gives number %d", id)
		}
		if v := enginetest.Ask(t, c, "SELECT age, income FROM customers WHERE customerid = 2001"); v[0].Kind != workload.Null || v[1].Kind != workload.Null {
			t.Errorf("age and income are %v: the kit stores null", v)
		}
	})
	enginetest.Inside(t, c, func() {
		enginetest.Ask(t, c, "UPDATE inventory SET quan_in_stock = 4 WHERE prod_id = 6")
		if id := l.purchase(t, c, 5, 1, 6, 5); id != 0 {
			t.Errorf("order %d with too little stock", id)
		}
		if v := enginetest.Ask(t, c, "SELECT count(*) FROM orders WHERE orderid > 1200"); v[0].Int != 0 {
			t.Errorf("a rollback leaves %d orders", v[0].Int)
		}
		if id := l.purchase(t, c, 6, 2); id == 0 {
			t.Error("no order with enough stock")
		}
		v := enginetest.Ask(t, c, "SELECT quan_in_stock, quan_low, date_reordered FROM inventory JOIN reorder USING (prod_id) WHERE prod_id = 6")
		if len(v) != 3 || v[0].Int != 250 || v[1].Int != 248 || v[2].Kind != workload.Null {
			t.Errorf("restock of product 6: %v", v)
		}
	})
}

// users plays the script with several users at once and runs the checks with
// what was counted.
func (l loaded) users(t *testing.T) {
	const users, units = 8, 60
	var mu sync.Mutex
	tally := enginetest.NewTally()
	deadlocks := 0
	var wg sync.WaitGroup
	for i := range users {
		s, u := l.Open(t), l.Definition.NewUser(i, rng.At(11, uint64(i)))
		wg.Go(func() {
			for done := 0; done < units; {
				st := u.Next()
				o, err := s.Do(t.Context(), st.Transaction, st.Input)
				u.Done(o)
				mu.Lock()
				switch {
				case o.Status == workload.Committed:
					tally.Committed[st.Transaction.Name]++
				case o.Status == workload.RolledBack:
					tally.RolledBack[st.Transaction.Name]++
				case o.Class == workload.Deadlock && l.Name == "compat":
					deadlocks++ // as in the kit, which locks rows in no order
				default:
					t.Errorf("%s: class %v: %v", st.Transaction.Name, o.Class, err)
				}
				mu.Unlock()
				if st.Last || o.Status == workload.Failed {
					done++
				}
			}
		})
	}
	wg.Wait()
	t.Logf("committed %v, rolled back %v, deadlocks %d", tally.Committed, tally.RolledBack, deadlocks)
	if tally.Committed["purchase"] < users*units*8/10 || tally.Committed["newcustomer"] == 0 {
		t.Errorf("committed %v", tally.Committed)
	}
	if failed := l.Check(t, l.Open(t).Conn(), tally); len(failed) > 0 {
		t.Errorf("checks: %v", failed)
	}
}
