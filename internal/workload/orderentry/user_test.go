package orderentry

import (
	"slices"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/unit"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

func terminal(t *testing.T, number int, texts map[string]string) *user {
	t.Helper()
	k := Kind()
	v, err := unit.NewValues(k.Params, texts)
	if err != nil {
		t.Fatal(err)
	}
	d, err := k.New(v, 7)
	if err != nil {
		t.Fatal(err)
	}
	return d.NewUser(number, rng.At(21, uint64(number))).(*user)
}

// enter plays n steps and calls f with each.
func enter(u *user, n int, f func(kind int, st workload.Step, e *entry)) {
	for range n {
		st := u.Next()
		f(st.Transaction.Index, st, st.Input.(*entry))
		u.Done(workload.Outcome{})
	}
}

// TestDeckDealsTheExactMixEveryPass: clause 5.2.4.2.
func TestDeckDealsTheExactMixEveryPass(t *testing.T) {
	u := terminal(t, 0, nil)
	orders := map[string]bool{}
	for range 500 {
		var counts [kinds]int
		var order []byte
		enter(u, deckSize, func(kind int, _ workload.Step, _ *entry) {
			counts[kind]++
			order = append(order, '0'+byte(kind))
		})
		if counts != [kinds]int{10, 10, 1, 1, 1} {
			t.Fatalf("a deck has %v", counts)
		}
		orders[string(order)] = true
	}
	if len(orders) < 499 {
		t.Errorf("500 decks came in %d orders", len(orders))
	}
}

// TestClause2_4_1NewOrderInputs: ranges and shares of what is entered.
func TestClause2_4_1NewOrderInputs(t *testing.T) {
	u := terminal(t, 0, map[string]string{"warehouses": "5"})
	var orders, unknown, lines, remote, single int
	var count, quantity, customer, district, item between
	homes, suppliers, items := make([]int, 5), make([]int, 5), make([]int, u.choice.item.y)
	enter(u, 115_000, func(kind int, _ workload.Step, e *entry) {
		if kind != newOrder {
			return
		}
		orders++
		homes[e.warehouse-1]++
		count.add(workload.Int(int64(len(e.lines))))
		customer.add(workload.Int(e.customer))
		district.add(workload.Int(e.district))
		known := e.lines
		if e.unknown {
			unknown++
			if known = e.lines[:len(e.lines)-1]; e.lines[len(known)].item != 100_001 {
				t.Fatalf("the last item is %d", e.lines[len(known)].item)
			}
		}
		if !slices.IsSortedFunc(known, func(a, b line) int { return int((a.supply-b.supply)*1_000_000 + a.item - b.item) }) {
			t.Fatalf("lines are not in the order of locks: %v", known)
		}
		seen := map[int64]bool{}
		all := int64(1)
		for _, l := range e.lines {
			lines++
			quantity.add(workload.Int(l.quantity))
			if seen[l.item] {
				t.Fatalf("item %d is there twice", l.item)
			}
			seen[l.item] = true
			if l.supply != e.warehouse {
				all = 0
				remote++
				suppliers[l.supply-1]++
			}
		}
		if e.allLocal() != all {
			t.Fatalf("all local: %d", e.allLocal())
		}
		for _, l := range known {
			item.add(workload.Int(l.item))
			items[l.item-1]++
		}
		single += int(all)
	})
	near(t, "unknown items", unknown, orders, 0.01)
	near(t, "remote lines", remote, lines, 0.01)
	count.want(t, "lines", 5, 15)
	quantity.want(t, "quantity", 1, 10)
	customer.want(t, "customer", 1, 3_000)
	district.want(t, "district", 1, 10)
	item.want(t, "item", 1, 100_000)
	uniform := []float64{.2, .2, .2, .2, .2}
	for what, counts := range map[string][]int{"home": homes, "supplying": suppliers} {
		if chi, limit := fitness(counts, uniform); chi > limit {
			t.Errorf("%s warehouses %v: chi-square %.1f, limit %.1f", what, counts, chi, limit)
		}
	}
	// That no item is there twice makes the most popular ones rarer by a
	// hundredth: too little to show among half a million lines.
	if chi, limit := fitness(items, exact(u.choice.item)); chi > limit {
		t.Errorf("items: chi-square %.1f, limit %.1f", chi, limit)
	}
}

// TestClause2_5_1PaymentInputs and Order-Status, Delivery, Stock-Level.
func TestClause2_5_1PaymentInputs(t *testing.T) {
	u := terminal(t, 0, map[string]string{"warehouses": "4", "deck": "weights"})
	var payments, remote, named, looks, lookedByName int
	var amount, carrier, threshold, elsewhere between
	enter(u, 120_000, func(kind int, _ workload.Step, e *entry) {
		switch kind {
		case payment:
			payments++
			amount.add(workload.Int(e.amount))
			if e.customerWarehouse != e.warehouse {
				remote++
				elsewhere.add(workload.Int(e.customerDistrict))
			} else if e.customerDistrict != e.district {
				t.Fatalf("district %d of the home warehouse, the terminal is at %d", e.customerDistrict, e.district)
			}
			if e.byName {
				named++
			}
		case orderStatus:
			looks++
			if e.byName {
				lookedByName++
			}
			if e.customerWarehouse != e.warehouse || e.customerDistrict != e.district {
				t.Fatal("Order-Status of a customer elsewhere")
			}
		case delivery:
			carrier.add(workload.Int(e.carrier))
		case stockLevel:
			threshold.add(workload.Int(e.threshold))
		}
		if kind == payment || kind == orderStatus {
			if e.byName != (len(e.last) > 0) || e.byName != (e.customer == 0) {
				t.Fatalf("by name %v: customer %d, name %q", e.byName, e.customer, e.last)
			}
		}
	})
	near(t, "remote payments", remote, payments, 0.15)
	near(t, "payments by last name", named, payments, 0.6)
	near(t, "Order-Status by last name", lookedByName, looks, 0.6)
	amount.want(t, "amount", 1_00, 5_000_00)
	elsewhere.want(t, "remote district", 1, 10)
	carrier.want(t, "carrier", 1, 10)
	threshold.want(t, "threshold", 10, 20)
}

// TestOneWarehouseHasNoOther: everything is local.
func TestOneWarehouseHasNoOther(t *testing.T) {
	u := terminal(t, 3, map[string]string{"warehouses": "1"})
	enter(u, 5_000, func(kind int, _ workload.Step, e *entry) {
		if e.warehouse != 1 || kind == newOrder && e.allLocal() != 1 || kind == payment && e.customerWarehouse != 1 {
			t.Fatalf("%+v", e)
		}
	})
}

// TestPacedTerminalsStayWhereTheyAre: warehouse and, for Stock-Level,
// district; the keying and think times of clause 5.2.5.7.
func TestPacedTerminalsStayWhereTheyAre(t *testing.T) {
	places := map[[2]int64]bool{}
	for number := range 30 {
		u := terminal(t, number, map[string]string{"warehouses": "3", "pacing": "paced"})
		want := int64(number/10 + 1)
		other := map[int64]bool{}
		enter(u, 460, func(kind int, st workload.Step, e *entry) {
			if e.warehouse != want {
				t.Fatalf("terminal %d is at warehouse %d", number, e.warehouse)
			}
			if kind == stockLevel {
				places[[2]int64{e.warehouse, e.district}] = true
			} else {
				other[e.district] = true
			}
			if k := []time.Duration{18, 3, 2, 2, 2}[kind] * time.Second; st.Keying != k {
				t.Fatalf("%s has keying time %v", st.Transaction.Name, st.Keying)
			}
		})
		if len(other) != districts {
			t.Errorf("terminal %d serves %d districts", number, len(other))
		}
	}
	if len(places) != 30 {
		t.Errorf("30 terminals stand at %d places", len(places))
	}
}

// TestThinkTimesOfEachType: Order-Status 10 s and Delivery 5 s, which some
// tools exchange.
func TestThinkTimesOfEachType(t *testing.T) {
	u := terminal(t, 0, map[string]string{"pacing": "paced", "deck": "weights"})
	var sum, n [kinds]float64
	enter(u, 100_000, func(kind int, st workload.Step, _ *entry) {
		sum[kind] += st.Think.Seconds()
		n[kind]++
	})
	for kind, want := range []float64{12, 12, 10, 5, 5} {
		if got := sum[kind] / n[kind]; got < 0.9*want || got > 1.1*want {
			t.Errorf("%s: think time %.2f s on average, want %.0f s", u.transactions[kind].Name, got, want)
		}
	}
	for kind, want := range []time.Duration{5, 5, 5, 5, 20} {
		if tx := u.transactions[kind]; tx.Limit != want*time.Second || tx.Percentile != 90 {
			t.Errorf("%s: limit %v at the %v. percentile", tx.Name, tx.Limit, tx.Percentile)
		}
	}
}

// TestBatchNeverWaits and goes to every warehouse.
func TestBatchNeverWaits(t *testing.T) {
	u := terminal(t, 0, nil)
	seen := map[int64]bool{}
	enter(u, 500, func(_ int, st workload.Step, e *entry) {
		seen[e.warehouse] = true
		if st.Keying != 0 || st.Think != 0 {
			t.Fatalf("keying %v, think %v", st.Keying, st.Think)
		}
	})
	if len(seen) != 10 {
		t.Errorf("%d warehouses of 10", len(seen))
	}
}

// TestTotalFollowsTheFormula: clause 2.4.2.2, worked out by hand.
func TestTotalFollowsTheFormula(t *testing.T) {
	for _, x := range []struct{ amount, discount, tax, want int64 }{
		{100_00, 0, 0, 100_00},
		{100_00, 1_000, 0, 90_00},
		{100_00, 0, 2_500, 125_00},
		{200_00, 5_000, 4_000, 140_00},
		{33, 3_333, 1_111, 24},               // 24.445…
		{15 * 1_000_00, 1, 3_999, 2_099_640}, // 15000 · 0.9999 · 1.3999 = 20996.40015
		{0, 100, 100, 0},
	} {
		e := entry{discount: x.discount, tax: x.tax, lines: []line{{amount: x.amount}}}
		if e.addUp(); e.total != x.want {
			t.Errorf("%d less %d plus %d is %d, want %d", x.amount, x.discount, x.tax, e.total, x.want)
		}
	}
}
