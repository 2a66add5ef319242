package orderentry

import (
	"bytes"
	"math"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

// rows calls f with the rows of some batches of a table, their values by
// column.
func rows(t *testing.T, g *generator, name string, batches int64, f func(row map[string]workload.Value)) {
	t.Helper()
	for _, table := range g.tables() {
		if table.Name != name {
			continue
		}
		for batch := range batches {
			err := table.Rows.Fill(batch, func(row []workload.Value) error {
				m := make(map[string]workload.Value, len(row))
				for i, c := range table.Columns {
					m[c.Name] = row[i]
				}
				f(m)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// near says so where count of n is over five standard deviations away from
// its chance.
func near(t *testing.T, what string, count, n int, chance float64) {
	t.Helper()
	if d := math.Abs(float64(count)/float64(n) - chance); d > 5*math.Sqrt(chance*(1-chance)/float64(n)) {
		t.Errorf("%s: %d of %d, want %.2f %%", what, count, n, 100*chance)
	}
}

// between counts how often each value came and sees that the ends of its
// range do.
type between struct {
	least, most int64
	n           int
}

func (b *between) add(v workload.Value) {
	if b.n == 0 {
		b.least, b.most = v.Int, v.Int
	}
	b.least, b.most = min(b.least, v.Int), max(b.most, v.Int)
	b.n++
}

func (b *between) want(t *testing.T, what string, least, most int64) {
	t.Helper()
	slack := (most - least) / 500 // rare ends of wide ranges
	if b.least < least || b.most > most || b.least > least+slack || b.most < most-slack {
		t.Errorf("%s is from %d to %d, want %d to %d", what, b.least, b.most, least, most)
	}
}

// TestClause4_3_3_1Customers: names, credit, permutation over orders.
func TestClause4_3_3_1Customers(t *testing.T) {
	g := newGenerator(1, 3)
	bad, n := 0, 0
	var discount, data between
	given := make([]int, names) // to customers over 1,000
	numbers := map[string]int64{}
	for number := range int64(names) {
		numbers[string(appendLastName(nil, number))] = number
	}
	rows(t, g, "customer", 10, func(row map[string]workload.Value) {
		n++
		id := row["c_id"].Int
		if id <= names && string(row["c_last"].Str) != string(appendLastName(nil, id-1)) {
			t.Fatalf("customer %d is called %s", id, row["c_last"].Str)
		}
		if id > names {
			given[numbers[string(row["c_last"].Str)]]++
		}
		switch string(row["c_credit"].Str) {
		case "BC":
			bad++
		case "GC":
		default:
			t.Fatalf("credit %s", row["c_credit"].Str)
		}
		discount.add(row["c_discount"])
		data.add(workload.Int(int64(len(row["c_data"].Str))))
		if row["c_balance"].Int != -10_00 || row["c_ytd_payment"].Int != 10_00 || row["c_credit_lim"].Int != 50_000_00 ||
			row["c_payment_cnt"].Int != 1 || row["c_delivery_cnt"].Int != 0 || string(row["c_middle"].Str) != "OE" ||
			!bytes.HasSuffix(row["c_zip"].Str, []byte("11111")) || len(row["c_zip"].Str) != 9 {
			t.Fatalf("customer %v", row)
		}
	})
	if n != 30_000 {
		t.Fatalf("%d customers", n)
	}
	near(t, "bad credit", bad, n, 0.1)
	discount.want(t, "C_DISCOUNT", 0, 5_000)
	data.want(t, "C_DATA", 300, 500)
	if chi, limit := fitness(given, exact(g.lastName)); chi > limit {
		t.Errorf("names of customers over 1,000: chi-square %.1f, limit %.1f", chi, limit)
	}
}

// TestClause4_3_3_1Orders: every customer of a district has one order, orders
// from 2,101 are not delivered, and lines are those of their orders.
func TestClause4_3_3_1Orders(t *testing.T) {
	g := newGenerator(2, 3)
	lines := map[[3]int64]int64{}
	var count, carrier, amount, item between
	fixed := 0 // customers whose order has their own number
	owners := map[[3]int64]bool{}
	rows(t, g, "orders", 20, func(row map[string]workload.Value) {
		w, d, o := row["o_w_id"].Int, row["o_d_id"].Int, row["o_id"].Int
		lines[[3]int64{w, d, o}] = row["o_ol_cnt"].Int
		count.add(row["o_ol_cnt"])
		c := [3]int64{w, d, row["o_c_id"].Int}
		if owners[c] {
			t.Fatalf("customer %v has two orders", c)
		}
		owners[c] = true
		if c[2] == o {
			fixed++
		}
		if (row["o_carrier_id"].Kind == workload.Null) != (o > 2_100) || row["o_all_local"].Int != 1 {
			t.Fatalf("order %v", row)
		}
		if o <= 2_100 {
			carrier.add(row["o_carrier_id"])
		}
	})
	if len(lines) != 60_000 {
		t.Fatalf("%d orders", len(lines))
	}
	near(t, "orders with their customer's number", fixed, 60_000, 1./3_000)
	count.want(t, "O_OL_CNT", 5, 15)
	carrier.want(t, "O_CARRIER_ID", 1, 10)
	next := int64(1)
	rows(t, g, "order_line", 20, func(row map[string]workload.Value) {
		key := [3]int64{row["ol_w_id"].Int, row["ol_d_id"].Int, row["ol_o_id"].Int}
		if row["ol_number"].Int != next || row["ol_supply_w_id"].Int != key[0] || row["ol_quantity"].Int != 5 {
			t.Fatalf("line %v, want number %d", row, next)
		}
		if next++; row["ol_number"].Int == lines[key] {
			delete(lines, key)
			next = 1
		}
		waiting := key[2] > 2_100
		if (row["ol_delivery_d"].Kind == workload.Null) != waiting || (row["ol_amount"].Int > 0) != waiting {
			t.Fatalf("line %v", row)
		}
		if waiting {
			amount.add(row["ol_amount"])
		}
		item.add(row["ol_i_id"])
	})
	if len(lines) > 0 {
		t.Errorf("%d orders lack lines", len(lines))
	}
	amount.want(t, "OL_AMOUNT", 1, 9_999_99)
	item.want(t, "OL_I_ID", 1, 100_000)
	waiting := 0
	rows(t, g, "new_order", 20, func(row map[string]workload.Value) {
		if want := int64(2_101 + waiting%900); row["no_o_id"].Int != want {
			t.Fatalf("new order %v, want %d", row, want)
		}
		waiting++
	})
	if waiting != 20*900 {
		t.Errorf("%d new orders", waiting)
	}
}

// TestClause4_3_3_1Stock: quantities and the mark ORIGINAL.
func TestClause4_3_3_1Stock(t *testing.T) {
	g := newGenerator(2, 3)
	for table, column := range map[string]string{"item": "i_data", "stock": "s_data"} {
		marked, n := 0, 0
		var number, length, at between
		batches := int64(10)
		if table == "stock" {
			batches = 20
		}
		rows(t, g, table, batches, func(row map[string]workload.Value) {
			n++
			if table == "stock" {
				number.add(row["s_quantity"])
				if w := int64(n-1)/items + 1; row["s_w_id"].Int != w || row["s_i_id"].Int != int64(n-1)%items+1 {
					t.Fatalf("row %d is of item %d in warehouse %d", n, row["s_i_id"].Int, row["s_w_id"].Int)
				}
			} else {
				number.add(row["i_price"])
			}
			data := row[column].Str
			length.add(workload.Int(int64(len(data))))
			if i := bytes.Index(data, []byte("ORIGINAL")); i >= 0 {
				marked++
				at.add(workload.Int(int64(i)))
			}
		})
		near(t, column+" with ORIGINAL", marked, n, 0.1)
		length.want(t, column, 26, 50)
		at.want(t, "place of ORIGINAL in "+column, 0, 42)
		if table == "stock" {
			number.want(t, "S_QUANTITY", 10, 100)
		} else {
			number.want(t, "I_PRICE", 1_00, 100_00)
		}
	}
}

// TestEveryAmountAddsUp: conditions 1, 8, 9, 10 and 12 of the loaded rows.
func TestEveryAmountAddsUp(t *testing.T) {
	g := newGenerator(3, 3)
	rows(t, g, "warehouse", 1, func(row map[string]workload.Value) {
		if row["w_ytd"].Int != 300_000_00 || row["w_tax"].Int < 0 || row["w_tax"].Int > 2_000 {
			t.Errorf("warehouse %v", row)
		}
	})
	n := 0
	rows(t, g, "district", 1, func(row map[string]workload.Value) {
		n++
		if row["d_ytd"].Int != 30_000_00 || row["d_next_o_id"].Int != 3_001 || row["d_tax"].Int > 2_000 {
			t.Errorf("district %v", row)
		}
	})
	if n != 30 {
		t.Errorf("%d districts", n)
	}
	paid := map[[2]int64]int64{}
	rows(t, g, "history", 30, func(row map[string]workload.Value) {
		paid[[2]int64{row["h_w_id"].Int, row["h_d_id"].Int}] += row["h_amount"].Int
		if row["h_w_id"].Int != row["h_c_w_id"].Int || row["h_d_id"].Int != row["h_c_d_id"].Int {
			t.Fatalf("history %v", row)
		}
	})
	for district, sum := range paid {
		if sum != 30_000_00 {
			t.Errorf("district %v was paid %d cents", district, sum)
		}
	}
	if len(paid) != 30 {
		t.Errorf("%d districts have a history", len(paid))
	}
}

// BenchmarkRows makes the rows of one batch of each table.
func BenchmarkRows(b *testing.B) {
	for _, table := range newGenerator(1, 1).tables() {
		b.Run(table.Name, func(b *testing.B) {
			b.ReportAllocs()
			values, sum := 0, int64(0)
			for b.Loop() {
				err := table.Rows.Fill(0, func(row []workload.Value) error {
					values += len(row)
					sum += row[0].Int
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(values), "ns/value")
		})
	}
}
