package orderentry

import "github.com/loadstone-perf/loadstone/internal/workload"

// meanLines is the mean number of lines of an order (clause 2.4.1.3), and
// supplied that of those whose item exists (1 % of orders name one that does
// not). meanNamed is how many customers of a district have one last name, and
// byName the part that is looked for by it (clause 2.5.1.2).
const (
	meanLines = 10
	unknown   = 0.01
	supplied  = meanLines - unknown
	meanNamed = customers / names
	byName    = 0.6
)

// hotItems are the parts of the pages of ITEM and STOCK that NURand(8191, 1,
// 100000) favours, and of the accesses that they get. Popular items lie
// scattered, some twenty to eighty on a page, so that pages differ less than
// rows do.
const (
	hotItemPages, hotItemAccesses = 0.2, 0.73
)

// access is what the transactions do to the database.
func (w *company) access(called bool) []workload.Access {
	out := []workload.Access{w.newOrderAccess(), w.paymentAccess(), w.orderStatusAccess(), w.deliveryAccess(), w.stockLevelAccess()}
	// Bytes of requests and answers by call, and statement by statement.
	bytes := [kinds][2][2]float64{
		newOrder:    {{185, 1_000}, {3_300, 3_600}},
		payment:     {{105, 480}, {535, 1_700}},
		orderStatus: {{75, 600}, {330, 1_000}},
		delivery:    {{65, 50}, {5_000, 3_500}},
		stockLevel:  {{65, 50}, {215, 190}},
	}
	for i := range out {
		a := &out[i]
		if a.Weight = float64(weights()[i]); w.dealt {
			a.Weight = 100 * float64(cards()[i]) / deckSize
		}
		a.RoundTrips = a.Statements + 2 // begin and commit
		way := 1
		if called {
			way, a.RoundTrips = 0, 1
		}
		a.RequestBytes, a.ResponseBytes = bytes[i][way][0], bytes[i][way][1]
	}
	if called { // an order to roll back has a transaction around its call
		out[newOrder].RoundTrips += 2 * unknown
		out[newOrder].RequestBytes += 2 * unknown * workload.MessageBytes
	}
	return out
}

// The rows that transactions queue for: a payment changes its warehouse's and
// its district's, an order its district's, and a delivery takes the oldest
// orders of all districts of its warehouse. They are taken in this order.
func (w *company) deliveryLock() workload.RowLock {
	return workload.RowLock{Name: "oldest orders of a warehouse", Of: w.warehouses, Rows: 1}
}

func (w *company) districtLock() workload.RowLock {
	return workload.RowLock{Name: "district", Of: w.districts(), Rows: 1}
}

func (w *company) warehouseLock() workload.RowLock {
	return workload.RowLock{Name: "warehouse", Of: w.warehouses, Rows: 1}
}

func (w *company) newOrderAccess() workload.Access {
	return workload.Access{
		Tables: []workload.TableAccess{
			{Table: "warehouse", Finds: 1, Rows: 1},
			{Table: "customer", Finds: 1, Rows: 1},
			{Table: "district", Finds: 1, Rows: 1, Updates: 1},
			{Table: "orders", Inserts: 1},
			{Table: "new_order", Inserts: 1},
			{Table: "item", Finds: meanLines, Rows: supplied, HotPages: hotItemPages, HotAccesses: hotItemAccesses},
			{Table: "stock", Finds: supplied, Rows: supplied, Updates: supplied, HotPages: hotItemPages, HotAccesses: hotItemAccesses},
			{Table: "order_line", Inserts: supplied},
		},
		Locks:      []workload.RowLock{w.districtLock()},
		Statements: 5 + meanLines + 3*supplied, RolledBack: unknown,
	}
}

func (w *company) paymentAccess() workload.Access {
	return workload.Access{
		Tables: []workload.TableAccess{
			{Table: "customer", Index: "customer_name", Finds: byName, Rows: byName * meanNamed},
			{Table: "customer", Finds: 1, Rows: 1, Updates: 1},
			{Table: "warehouse", Finds: 1, Rows: 1, Updates: 1},
			{Table: "district", Finds: 1, Rows: 1, Updates: 1},
			{Table: "history", Inserts: 1},
		},
		Locks:      []workload.RowLock{w.districtLock(), w.warehouseLock()},
		Statements: 6 + byName,
	}
}

func (w *company) orderStatusAccess() workload.Access {
	return workload.Access{
		Tables: []workload.TableAccess{
			{Table: "customer", Index: "customer_name", Finds: byName, Rows: byName * meanNamed},
			{Table: "customer", Finds: 1, Rows: 1},
			{Table: "orders", Index: "orders_customer", Finds: 1, Rows: 1},
			{Table: "order_line", Finds: 1, Rows: meanLines, Together: true},
		},
		Statements: 3 + byName,
	}
}

// deliveryAccess: the oldest orders are read in the order in which they came,
// so that the page of one is most often still there from the one before.
func (w *company) deliveryAccess() workload.Access {
	const lines = districts * meanLines
	return workload.Access{
		Tables: []workload.TableAccess{
			{Table: "new_order", Finds: districts, Rows: districts, Deletes: districts, Recent: true},
			{Table: "orders", Finds: districts, Rows: districts, Updates: districts, Recent: true},
			{Table: "order_line", Finds: districts, Rows: lines, Updates: lines, Together: true, Recent: true},
			{Table: "customer", Finds: districts, Rows: districts, Updates: districts},
		},
		Locks:      []workload.RowLock{w.deliveryLock()},
		Statements: 7 * districts,
	}
}

// stockLevelAccess: of the lines of a district's last 20 orders.
func (w *company) stockLevelAccess() workload.Access {
	const lines = 20 * meanLines
	return workload.Access{
		Tables: []workload.TableAccess{
			{Table: "district", Finds: 1, Rows: 1},
			{Table: "order_line", Finds: 1, Rows: lines, Together: true, Recent: true},
			{Table: "stock", Finds: lines, Rows: lines, HotPages: hotItemPages, HotAccesses: hotItemAccesses},
		},
		Statements: 2,
	}
}
