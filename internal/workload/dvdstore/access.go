package dvdstore

import "github.com/loadstone-perf/loadstone/internal/workload"

// meanUpTo is the mean of what is uniform from 1 to n and cut at most.
func meanUpTo(n, most int64) float64 {
	sum := int64(0)
	for i := range n {
		sum += min(i+1, most)
	}
	return float64(sum) / float64(n)
}

// access is what the transactions do to the database.
func (s *store) access() []workload.Access {
	called := s.calls != nil
	out := []workload.Access{s.loginAccess(), s.registerAccess(), s.browseAccess(), s.priceAccess(), s.purchaseAccess()}
	lines := meanUpTo(s.lines, maxLines)
	// Bytes of requests and answers by call, and statement by statement.
	bytes := [5][2][2]float64{
		{{57, 200}, {105, 320}},
		{{210, 50}, {390, 240}},
		{{58, 40 + 90*meanUpTo(s.batch, s.batch)}, {58, 40 + 90*meanUpTo(s.batch, s.batch)}},
		{{120, 40 + 16*lines}, {120, 40 + 16*lines}},
		{{240, 50}, {190 + 244*lines, 150 + 160*lines}},
	}
	for i, tx := range s.transactions.all() {
		a := &out[i]
		a.Weight = tx.Share
		way := 1
		if called {
			way, a.RoundTrips = 0, 1
		}
		a.RequestBytes, a.ResponseBytes = bytes[i][way][0], bytes[i][way][1]
	}
	return out
}

// loginAccess: five rows of history for each order, and what goes with them.
func (s *store) loginAccess() workload.Access {
	bought := min(10, 5*float64(s.orders())/float64(s.customers))
	return workload.Access{
		Tables: []workload.TableAccess{
			{Table: "customers", Index: "ix_cust_user_password", Finds: 1, Rows: 1},
			{Table: "cust_hist", Index: "ix_cust_hist_customerid", Finds: 1, Rows: bought, Together: true},
			{Table: "products", Finds: 2 * bought, Rows: 2 * bought},
		},
		Statements: 2, RoundTrips: 2,
	}
}

func (s *store) registerAccess() workload.Access {
	return workload.Access{
		Tables: []workload.TableAccess{
			{Table: "customers", Index: "ix_cust_username", Finds: 1},
			{Table: "customers", Inserts: 1},
		},
		Statements: 3, RoundTrips: 5,
	}
}

// browseAccess: a third of the searches each reads the special offers of a
// category, the films with an actor's two names, or those with two words in
// their titles; all that match are read and sorted.
func (s *store) browseAccess() workload.Access {
	w, films := &s.words, float64(s.products)
	offers := films / float64(len(w.category)) / float64(s.specialEach())
	actors := films / float64(len(w.first)*len(w.last))
	titles := 2 * films / float64(len(w.title)*len(w.title))
	return workload.Access{
		Tables: []workload.TableAccess{
			{Table: "products", Index: "ix_prod_cat_special", Finds: 1. / 3, Rows: offers / 3},
			{Table: "products", Index: "ix_prod_actor", Finds: 2. / 3, Rows: actors / 3},
			{Table: "products", Index: "ix_prod_title", Finds: 2. / 3, Rows: titles / 3},
		},
		Statements: 1, RoundTrips: 1,
	}
}

func (s *store) priceAccess() workload.Access {
	lines := meanUpTo(s.lines, maxLines)
	return workload.Access{
		Tables:     []workload.TableAccess{{Table: "products", Finds: lines, Rows: lines}},
		Statements: 1, RoundTrips: 1,
	}
}

// purchaseAccess: lines ask for one to three pieces. A product is filled up when
// it is sold out; one that was loaded with fewer than a line asks for stays so,
// and undoes the purchase. Of the rows of inventory, the popular ones are so few
// that purchases seldom meet at one.
func (s *store) purchaseAccess() workload.Access {
	lines := meanUpTo(s.lines, maxLines)
	const pieces, mostLoaded = 2, 500
	filled := lines * pieces / fullStock
	tables := []workload.TableAccess{
		{Table: "inventory", Finds: lines, Rows: lines, Updates: lines},
		{Table: "orders", Inserts: 1},
		{Table: "orderlines", Inserts: lines},
		{Table: "cust_hist", Inserts: lines},
	}
	if s.compat { // whose trigger does not work
		filled = 0
	} else {
		tables = append(tables, workload.TableAccess{Table: "reorder", Inserts: filled})
	}
	a := workload.Access{
		Tables:     tables,
		Statements: 2 + 4*lines + filled, RoundTrips: 4 + 4*lines + filled,
		RolledBack: lines * pieces / (mostLoaded + 1),
	}
	if !s.compat { // which reads without locking
		a.Locks = []workload.RowLock{{Name: "inventory", Of: s.products, Rows: lines}}
	}
	return a
}
