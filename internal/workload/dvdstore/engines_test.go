package dvdstore_test

import (
	"fmt"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/catalog"
	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/enginetest"
	"github.com/loadstone-perf/loadstone/internal/engine/mysql"
	"github.com/loadstone-perf/loadstone/internal/engine/postgres"
	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/workload"
	"github.com/loadstone-perf/loadstone/internal/workload/dvdstore"
)

// played is what one subject did and holds, which all others must do and hold.
type played struct {
	enginetest.Subject
	history enginetest.History
	holds   enginetest.Contents
}

// TestEveryEngine loads strict for each way of each engine of the catalogue
// that this machine has, and sees that
//
//   - orders at the edges of stock end as they should,
//   - one history shows the same and leaves the same rows behind everywhere,
//   - concurrent users keep all checks and lose no update,
//
// and what is of one engine alone.
//
// Adding an engine to the catalogue adds it here.
func TestEveryEngine(t *testing.T) {
	var first *played
	for _, e := range catalog.Engines() {
		t.Run(e.Name, func(t *testing.T) { everyWay(t, e.New(), &first) })
	}
	if first == nil {
		t.Skip("no engine of the catalogue has a server on this machine")
	}
}

// everyWay shares one server, because making one takes seconds.
func everyWay(t *testing.T, e engine.Engine, first **played) {
	db := enginetest.Serve(t, e, engine.Config{Connections: 40})
	switch e.Name() {
	case postgres.Name:
		t.Run("Own", func(t *testing.T) { onPostgreSQL(t, db) })
	case mysql.Name:
		t.Run("Own", func(t *testing.T) { onMariaDB(t, db) })
	}
	for _, calls := range []string{"procedures", "statements"} {
		params := map[string]string{"size": "1MB", "calls": calls}
		if _, ok := define(t, params).Scripts[e.Name()]; !ok && calls == "procedures" {
			continue
		}
		t.Run(calls, func(t *testing.T) {
			l := load(t, db, calls, params)
			t.Run("FreshDataPassChecks", func(t *testing.T) {
				if failed := l.Check(t, l.Open(t).Conn(), workload.Tally{}); len(failed) > 0 {
					t.Error(failed)
				}
			})
			t.Run("HistoryIsTheSame", func(t *testing.T) {
				s := enginetest.Subject{Name: e.Name() + ", " + calls, Definition: l.Definition, Database: db}
				p := &played{Subject: s, history: s.Play(t, l.Definition.NewUser(3, rng.At(78)), 900, dvdstore.Shown)}
				p.holds = s.Contents(t)
				compare(t, first, p)
			})
			t.Run("StockHasEdges", l.edges)
		})
		t.Run(calls+"Users", func(t *testing.T) { load(t, db, calls+"users", params).users(t) })
	}
}

// compare sees that p is the same as the first, or makes it the first.
func compare(t *testing.T, first **played, p *played) {
	t.Helper()
	if *first != nil {
		enginetest.Same(t, (*first).Subject, p.Subject, (*first).history, p.history, (*first).holds, p.holds)
		return
	}
	*first = p
	for _, name := range []string{"login", "newcustomer", "browse", "pricelookup", "purchase"} {
		if p.history.Counts[name] == 0 {
			t.Errorf("the history has no %s: %v", name, p.history.Counts)
		}
	}
	if len(p.holds["orders"]) <= 1_200 || len(p.holds["customers"]) <= 2_000 {
		t.Errorf("%d orders and %d customers: the history left nothing", len(p.holds["orders"]), len(p.holds["customers"]))
	}
}

// edges buys at the edges of stock.
func (l loaded) edges(t *testing.T) {
	s := l.Open(t)
	c := s.Conn()
	input := l.Definition.NewUser(0, rng.At(5)).Next().Input
	buy := l.Definition.Transactions[len(l.Definition.Transactions)-1]
	for _, x := range []struct {
		name      string
		stock     int64 // of the first product
		pairs     []int64
		left      int64 // in stock afterwards
		reordered int64
		sold      bool
	}{
		{"plenty", 100, []int64{5, 3}, 97, 0, true},
		{"same product on two lines", 100, []int64{5, 3, 7, 1, 5, 2}, 95, 0, true},
		{"three are left", 6, []int64{5, 3}, 3, 0, true},
		{"two are left", 5, []int64{5, 3}, 250, 248, true},
		{"none is left", 3, []int64{5, 3}, 250, 250, true},
		{"one too few", 3, []int64{5, 4}, 3, 0, false},
		{"too few for two lines", 4, []int64{5, 3, 5, 3}, 4, 0, false},
		{"too few of the second", 100, []int64{5, 1, 6, 9_999}, 100, 0, false},
		{"unknown product", 100, []int64{5, 3, 99_999, 1}, 100, 0, false},
		{"ten lines", 100, []int64{5, 1, 1, 1, 2, 1, 3, 1, 4, 1, 6, 1, 7, 1, 8, 1, 9, 1, 11, 1}, 99, 0, true},
	} {
		number := func(sql string) int64 { return enginetest.Ask(t, c, fmt.Sprintf(sql, x.pairs[0]))[0].Int }
		enginetest.Ask(t, c, fmt.Sprintf("UPDATE inventory SET quan_in_stock = 100 WHERE prod_id IN (1, 2, 3, 4, 6, 7, 8, 9, 11) AND prod_id <> %d", x.pairs[0]))
		enginetest.Ask(t, c, fmt.Sprintf("UPDATE inventory SET quan_in_stock = %d WHERE prod_id = %d", x.stock, x.pairs[0]))
		before := number("SELECT coalesce(sum(quan_reordered), 0) + 0 * %d FROM reorder")
		orders := enginetest.Ask(t, c, "SELECT count(*) FROM orders")[0].Int
		dvdstore.Fill(input, 1, x.pairs...)
		o, err := s.Do(t.Context(), buy, input)
		if err != nil || (o.Status == workload.Committed) != x.sold || (dvdstore.Order(input) != 0) != x.sold {
			t.Errorf("%s: status %d, order %d, %v", x.name, o.Status, dvdstore.Order(input), err)
		}
		if left := number("SELECT quan_in_stock FROM inventory WHERE prod_id = %d"); left != x.left {
			t.Errorf("%s: %d are left, want %d", x.name, left, x.left)
		}
		if n := number("SELECT coalesce(sum(quan_reordered), 0) + 0 * %d FROM reorder") - before; n != x.reordered {
			t.Errorf("%s: reordered %d, want %d", x.name, n, x.reordered)
		}
		grown := enginetest.Ask(t, c, "SELECT count(*) FROM orders")[0].Int - orders
		lines := enginetest.Ask(t, c, fmt.Sprintf("SELECT count(*) FROM orderlines WHERE orderid = %d", dvdstore.Order(input)))[0].Int
		if x.sold != (grown == 1) || x.sold && int(lines) != len(x.pairs)/2 {
			t.Errorf("%s: %d orders more, of %d lines", x.name, grown, lines)
		}
	}
}
