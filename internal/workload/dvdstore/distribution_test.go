package dvdstore_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// rows calls f with every row of a table; get reads a column by name.
func rows(t *testing.T, d *workload.Definition, table string, f func(get func(column string) workload.Value)) {
	t.Helper()
	i := slices.IndexFunc(d.Tables, func(x workload.Table) bool { return x.Name == table })
	place := map[string]int{}
	for n, c := range d.Tables[i].Columns {
		place[c.Name] = n
	}
	var row []workload.Value
	get := func(column string) workload.Value {
		n, ok := place[column]
		if !ok {
			t.Fatalf("%s has no column %s", table, column)
		}
		return row[n]
	}
	for b := range d.Tables[i].Rows.Batches {
		err := d.Tables[i].Rows.Fill(b, func(r []workload.Value) error {
			row = r
			f(get)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// uniform tests that counts has exactly the values least, least+step, …, most
// and that they are equally likely (chi-square, 0.1 %).
func uniform(t *testing.T, what string, counts map[int64]int, least, most, step int64) {
	t.Helper()
	total := 0
	for v, n := range counts {
		total += n
		if v < least || v > most || (v-least)%step != 0 {
			t.Errorf("%s: %d is not one of %d, %d, … %d", what, v, least, least+step, most)
		}
	}
	bins := (most-least)/step + 1
	want := float64(total) / float64(bins)
	chi := 0.0
	for v := least; v <= most; v += step {
		chi += (float64(counts[v]) - want) * (float64(counts[v]) - want) / want
	}
	if k := float64(bins - 1); chi > quantile(k) {
		t.Errorf("%s: chi-square %.1f is over %.1f: not uniform over %d values, of %d draws", what, chi, quantile(k), bins, total)
	}
}

// quantile is the 99.9 % quantile of chi-square (Wilson and Hilferty, 1931).
func quantile(k float64) float64 {
	return k * math.Pow(1-2/(9*k)+3.0902*math.Sqrt(2/(9*k)), 3)
}

// share tests that hits of total is what p says, within four standard errors.
func share(t *testing.T, what string, hits, total int, p float64) {
	t.Helper()
	got, se := float64(hits)/float64(total), math.Sqrt(p*(1-p)/float64(total))
	if math.Abs(got-p) > 4*se {
		t.Errorf("%s: %.4f of %d, want %.4f ± %.4f", what, got, total, p, 4*se)
	}
}

func TestCustomersHaveTheKitsDistributions(t *testing.T) {
	d := define(t, nil)
	ages, incomes, cards, expiries := map[int64]int{}, map[int64]int{}, map[int64]int{}, map[int64]int{}
	letters := map[int64]int{}
	men, n := 0, int64(0)
	rows(t, d, "customers", func(get func(string) workload.Value) {
		n++
		text := func(c string) string { return string(get(c).Str) }
		ages[get("age").Int]++
		incomes[get("income").Int]++
		cards[get("creditcardtype").Int]++
		if text("gender") == "M" {
			men++
		}
		for _, c := range text("firstname") + text("lastname") + text("city") {
			letters[int64(c-'A')]++
		}
		e := text("creditcardexpiration") // YYYY/MM
		expiries[int64(e[3]-'0')*12+int64(e[5]-'0')*10+int64(e[6]-'0')]++
		us := get("country")
		if region := get("region").Int; (region == 1) != (n <= 10_000) || (region == 1) != (string(us.Str) == "US") {
			t.Errorf("customer %d has region %d and country %s", n, region, us.Str)
		}
		if (get("region").Int == 2) != (text("zip") == "00000") || (get("region").Int == 2) != (get("state").Kind == workload.Null) {
			t.Errorf("customer %d: region %d, zip %s, state %q", n, get("region").Int, text("zip"), text("state"))
		}
		want := [][2]string{
			{"username", "user" + digits(n)}, {"password", "password"},
			{"address1", text("phone") + " Disc Way"}, {"email", text("lastname") + "@example.com"},
		}
		for _, w := range want {
			if text(w[0]) != w[1] {
				t.Errorf("customer %d: %s is %q, want %q", n, w[0], text(w[0]), w[1])
			}
		}
		if len(text("phone")) != 10 || len(text("creditcard")) != 16 || len(e) != 7 || e[:3] != "200" && e[:3] != "201" {
			t.Errorf("customer %d: phone %s, card %s, expiry %s", n, text("phone"), text("creditcard"), e)
		}
	})
	if n != 20_000 {
		t.Errorf("%d customers", n)
	}
	uniform(t, "age", ages, 18, 90, 1)
	uniform(t, "income", incomes, 20_000, 100_000, 20_000)
	uniform(t, "card type", cards, 1, 5, 1)
	uniform(t, "letters", letters, 0, 25, 1)
	if len(expiries) != 60 {
		t.Errorf("%d different expiries, want 5 years of 12 months", len(expiries))
	}
	share(t, "men", men, int(n), 0.5)
}

func digits(n int64) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return digits(n/10) + digits(n%10)
}

// head is what the tests remember of an order.
type head struct{ customer, day int64 }

func TestOrdersHaveTheKitsDistributions(t *testing.T) {
	d := define(t, nil)
	var heads []head
	months, nets := map[int64]int{}, map[int64]int{}
	rows(t, d, "orders", func(get func(string) workload.Value) {
		heads = append(heads, head{get("customerid").Int, get("orderdate").Int})
		net, tax, total := get("netamount").Int, get("tax").Int, get("totalamount").Int
		if exact := float64(net) * 0.0825; math.Abs(float64(tax)-exact) > 0.5 || total != net+tax {
			t.Errorf("order %d: net %d, tax %d, total %d", len(heads), net, tax, total)
		}
		nets[(net-1)/1000]++
		if get("orderid").Int != int64(len(heads)) {
			t.Errorf("order %d has number %d", len(heads), get("orderid").Int)
		}
		months[int64(len(heads)-1)/1000]++
	})
	uniform(t, "net amount in steps of 10", nets, 0, 39, 1)
	uniform(t, "orders in a month", months, 0, 11, 1)
	days := map[int64]int{}
	for i, h := range heads {
		days[h.day-14_245]++ // 2009-01-01
		if month := monthOf(h.day - 14_245); month != i/1000 {
			t.Errorf("order %d is in month %d", i+1, month+1)
		}
		if h.customer < 1 || h.customer > 20_000 {
			t.Errorf("order %d is by customer %d", i+1, h.customer)
		}
	}
	if len(days) != 365 {
		t.Errorf("orders fall on %d days, want all 365", len(days))
	}

	type line struct{ order, product int64 }
	var lines []line
	perOrder, quantities, sold := make([]int64, len(heads)), map[int64]int{}, map[int64]int64{}
	rows(t, d, "orderlines", func(get func(string) workload.Value) {
		o := get("orderid").Int
		perOrder[o-1]++
		if get("orderlineid").Int != perOrder[o-1] || get("orderdate").Int != heads[o-1].day {
			t.Errorf("order %d: line %d of %v", o, get("orderlineid").Int, get("orderdate").Int)
		}
		quantities[get("quantity").Int]++
		sold[get("prod_id").Int] += get("quantity").Int
		lines = append(lines, line{o, get("prod_id").Int})
	})
	counts := map[int64]int{}
	for _, n := range perOrder {
		counts[n]++
	}
	uniform(t, "lines in an order", counts, 1, 9, 1)
	uniform(t, "quantity", quantities, 1, 3, 1)

	i := 0
	rows(t, d, "cust_hist", func(get func(string) workload.Value) {
		o := get("orderid").Int
		if i >= len(lines) || lines[i] != (line{o, get("prod_id").Int}) || get("customerid").Int != heads[o-1].customer {
			t.Fatalf("row %d of CUST_HIST is not line %d of ORDERLINES", i, i)
		}
		i++
	})
	if i != len(lines) {
		t.Errorf("%d rows in CUST_HIST, %d in ORDERLINES", i, len(lines))
	}
	rows(t, d, "inventory", func(get func(string) workload.Value) {
		if p := get("prod_id").Int; get("sales").Int != sold[p] {
			t.Errorf("product %d: SALES is %d, the orders sold %d", p, get("sales").Int, sold[p])
		}
	})
}

// monthOf is the month, from 0, of a day since 1 January of a common year.
func monthOf(day int64) int {
	for m, n := range []int64{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31} {
		if day < n {
			return m
		}
		day -= n
	}
	return -1
}

func TestProductsHaveTheKitsDistributions(t *testing.T) {
	d := define(t, map[string]string{"size": "160MB"}) // 40,000 products
	categories, prices := map[int64]int{}, map[int64]int{}
	special, n := 0, 0
	titles, actors := map[string]bool{}, map[string]int{}
	rows(t, d, "products", func(get func(string) workload.Value) {
		n++
		categories[get("category").Int]++
		prices[get("price").Int]++
		special += int(get("special").Int)
		titles[string(get("title").Str)] = true
		actors[string(get("actor").Str)]++
		if c := get("common_prod_id").Int; c < 1 || c > 40_000 {
			t.Errorf("product %d goes with %d", n, c)
		}
		if words := strings.Fields(string(get("title").Str)); len(words) != 2 {
			t.Errorf("product %d has title %q", n, get("title").Str)
		}
	})
	uniform(t, "category", categories, 1, 16, 1)
	uniform(t, "price", prices, 999, 2999, 100)
	share(t, "special offers", special, n, 0.01)
	if len(titles) != 40_000 {
		t.Errorf("%d different titles of 40,000", len(titles))
	}
	if want := 40_000 * (1 - math.Exp(-1)); math.Abs(float64(len(actors))-want) > 500 {
		t.Errorf("%d different actors, want about %.0f of 200 × 200", len(actors), want)
	}

	stock := map[int64]int{}
	rows(t, d, "inventory", func(get func(string) workload.Value) {
		q := get("quan_in_stock").Int
		if p := get("prod_id").Int; p%10_000 != 0 {
			stock[q]++
		} else if q%10 != 0 || q > 5_000 {
			t.Errorf("hot seller %d has a stock of %d", p, q)
		}
	})
	uniform(t, "stock", stock, 0, 500, 1)
}

// TestSpecialOffersAreRarerAbove100000Products: 1 in 10,000.
func TestSpecialOffersAreRarerAbove100000Products(t *testing.T) {
	d := define(t, map[string]string{"size": "4GB"})
	special, n := 0, 0
	rows(t, d, "products", func(get func(string) workload.Value) { n++; special += int(get("special").Int) })
	if n != 200_000 || special < 5 || special > 40 {
		t.Errorf("%d of %d products are on special offer, want about 20", special, n)
	}
}

// play plays units of user 0 with d and calls f with each step after it ran.
func play(t *testing.T, d *workload.Definition, units int, f func(workload.Step, *shop)) {
	t.Helper()
	u, c := d.NewUser(0, rng.At(3, 0)), &shop{}
	for done := 0; done < units; {
		st := u.Next()
		status, err := st.Transaction.Exec(t.Context(), c, st.Input)
		if err != nil {
			t.Fatal(err)
		}
		f(st, c)
		u.Done(workload.Outcome{Status: status})
		if st.Last {
			done++
		}
	}
}

func TestUsersHaveTheKitsDistributions(t *testing.T) {
	d := define(t, map[string]string{"size": "40MB"}) // 20,000 products
	const units = 40_000
	browses, lines, quantities, batch, logins := map[int64]int{}, map[int64]int{}, map[int64]int{}, map[int64]int{}, map[int64]int{}
	kinds, products := map[int64]int{}, map[int64]int{}
	registered, now, us, bought := 0, int64(0), 0, 0
	play(t, d, units, func(st workload.Step, c *shop) {
		switch st.Transaction.Name {
		case "newcustomer":
			registered++
			if c.args[8].Int == 1 {
				us++
			}
		case "login":
			logins[(c.out[0].Int-1)/1_000]++
		case "browse":
			now++
			batch[c.args[0].Int]++
			kinds[int64(len(strings.Fields(string(c.args[1].Str))))]++
		case "purchase":
			browses[now]++
			now = 0
			n := c.args[1].Int
			lines[n]++
			for i := range n {
				products[c.args[5+2*i].Int]++
				quantities[c.args[6+2*i].Int]++
				bought++
			}
		}
	})
	uniform(t, "searches in an order", browses, 1, 5, 1)
	uniform(t, "lines in an order", lines, 1, 9, 1)
	uniform(t, "quantity", quantities, 1, 3, 1)
	uniform(t, "films asked for", batch, 1, 9, 1)
	uniform(t, "customers who log in, by thousands", logins, 0, 79, 1)
	share(t, "registrations", registered, units, 0.2)
	share(t, "registrations from the US", us, registered, 0.5)
	total := kinds[0] + kinds[2] // a category is a number, a title or actor two words
	share(t, "searches by category", kinds[0], total, 1.0/3)
	// Two hot sellers of ten tickets each among 19,998 of one.
	share(t, "hot sellers", products[10_000]+products[20_000], bought, 20.0/20_018)
	share(t, "first hot seller", products[10_000], products[10_000]+products[20_000], 0.5)
	share(t, "products up to 5,000", count(products, 1, 5_000), bought, 5_000.0/20_018)
}

func count(m map[int64]int, least, most int64) int {
	n := 0
	for k, v := range m {
		if k >= least && k <= most {
			n += v
		}
	}
	return n
}

// TestCartsHaveAtMostTenLines: 1 to 2n−1, those above ten cut to ten.
func TestCartsHaveAtMostTenLines(t *testing.T) {
	lines := map[int64]int{}
	play(t, define(t, map[string]string{"n_line_items": "10"}), 20_000, func(st workload.Step, c *shop) {
		if st.Transaction.Name == "purchase" {
			lines[c.args[1].Int]++
		}
	})
	share(t, "ten lines", lines[10], 20_000, 10.0/19)
	delete(lines, 10)
	uniform(t, "fewer lines", lines, 1, 9, 1)
}
