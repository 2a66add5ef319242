package dvdstore_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/enginetest"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// onMariaDB loads each mode and sees what TestEveryEngine does not: that calls
// inside of a transaction are a part of it, that hot rows lose no update, and
// what the kit's form for this engine means.
func onMariaDB(t *testing.T, db engine.Database) {
	strict := load(t, db, "strict", map[string]string{"size": "small"})
	compat := load(t, db, "compat", map[string]string{"size": "1MB", "mode": "compat"})
	t.Run("StrictSearches", strict.searches)
	t.Run("StrictHistory", strict.history)
	t.Run("StrictPurchase", strict.purchases)
	t.Run("StrictLosesNoUpdate", strict.contention)
	t.Run("StrictFindsByIndexes", strict.lookups)
	t.Run("CompatIsTheKits", compat.kitOnMySQL)
	t.Run("CompatUsers", compat.users)
	t.Run("CompatNeverRestocks", func(t *testing.T) {
		if v := enginetest.Ask(t, compat.Open(t).Conn(), "SELECT count(*) FROM reorder"); v[0].Int != 0 {
			t.Errorf("%d rows in REORDER: the kit's trigger does not work on this engine", v[0].Int)
		}
	})
}

// lookups sees that no call walks a table from end to end: that the server reads
// no more rows one after the other than its temporary tables of ten have.
func (l loaded) lookups(t *testing.T) {
	c := l.Open(t).Conn()
	walked := func() int64 {
		var n int64
		text := string(enginetest.Ask(t, c, "SHOW STATUS LIKE 'Handler_read_rnd_next'")[1].Str)
		if _, err := fmt.Sscan(text, &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	title := texts(enginetest.Ask(t, c, "SELECT title, actor FROM products WHERE prod_id = 3"))
	for name, call := range map[string]func(){
		"login":              func() { l.run(t, c, "login", "user7", "password") },
		"browse_by_title":    func() { l.run(t, c, "browse_by_title", 5, title[0]) },
		"browse_by_actor":    func() { l.run(t, c, "browse_by_actor", 5, title[1]) },
		"browse_by_category": func() { l.run(t, c, "browse_by_category", 5, 3) },
		"price_lookup":       func() { l.run(t, c, "price_lookup", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10) },
		"purchase":           func() { enginetest.Inside(t, c, func() { l.purchase(t, c, 5, 1, 6, 1, 7, 1) }) },
	} {
		call() // the first execution reads what is cached later
		before := walked()
		call()
		// The question itself walks a temporary table of one row.
		if n := walked() - before; n > 150 {
			t.Errorf("%s walks over %d rows", name, n)
		}
	}
}

// kitOnMySQL is what the kit means on this engine.
func (l loaded) kitOnMySQL(t *testing.T) {
	c := l.Open(t).Conn()
	first := texts(enginetest.Ask(t, c, "SELECT title, actor FROM products WHERE prod_id = 3"))
	for i, procedure := range []string{"browse_by_title", "browse_by_actor"} {
		words := strings.Fields(first[i])
		r := l.run(t, c, procedure, 9, words[0]+" nowhere")
		if r.Rows() == 0 {
			t.Errorf("%s found nothing by one of two words", procedure)
		}
		for n := range r.Rows() {
			if text := string(r.Row(n)[2+i].Str); !strings.Contains(text, words[0]) {
				t.Errorf("%s %q found %q", procedure, words[0], text)
			}
		}
	}
	if r := l.run(t, c, "login", "user1", "wrong"); r.Rows() != 1 || r.Values[0].Int != 0 {
		t.Errorf("a wrong password gives %d rows %v", r.Rows(), r.Values)
	}
	busy := enginetest.Ask(t, c, "SELECT customerid, count(*) FROM cust_hist GROUP BY customerid HAVING count(*) > 10 ORDER BY 1 LIMIT 1")
	if r := l.run(t, c, "login", fmt.Sprintf("user%d", busy[0].Int), "password"); r.Rows() != 10 || r.Values[0].Int != busy[0].Int {
		t.Errorf("customer %d has %d rows of history, want the last ten", busy[0].Int, r.Rows())
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
		if v := enginetest.Ask(t, c, "SELECT age, income FROM customers WHERE customerid = 2001"); v[0].Int != 30 || v[1].Int != 20_000 {
			t.Errorf("age and income are %v", v)
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
		if v := enginetest.Ask(t, c, "SELECT quan_in_stock FROM inventory WHERE prod_id = 6"); v[0].Int != 2 {
			t.Errorf("%d are left of product 6, want 2", v[0].Int)
		}
	})
	if v := enginetest.Ask(t, c, "SELECT count(*) FROM orders WHERE orderid > 1200"); v[0].Int != 0 {
		t.Errorf("%d orders outlive the transaction that made them", v[0].Int)
	}
}
