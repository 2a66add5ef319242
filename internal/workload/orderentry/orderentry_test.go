package orderentry_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/unit"
	"github.com/loadstone-perf/loadstone/internal/workload"
	"github.com/loadstone-perf/loadstone/internal/workload/orderentry"
	"github.com/loadstone-perf/loadstone/internal/workload/workloadtest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestSuite(t *testing.T) {
	for _, mode := range []string{"procedures", "statements"} {
		other := map[string]string{"procedures": "statements", "statements": "procedures"}[mode]
		t.Run(mode, func(t *testing.T) {
			workloadtest.Run(t, orderentry.Kind(), workloadtest.Options{
				Small:     map[string]string{"warehouses": "1", "mode": mode},
				Data:      map[string]string{"warehouses": "2", "mode": other},
				Behaviour: map[string]string{"pacing": "paced", "deck": "weights"},
				Conn:      func(*workload.Definition) workload.Conn { return newDesk() },
				SameData:  mode == "statements",
				Golden:    "testdata/fingerprints.txt",
				Update:    *update,
				// A deck of 23 has 20 thinks of 12 s, one of 10 s and two of 5 s.
				Think: workloadtest.Think{
					Params: map[string]string{"pacing": "paced"},
					Mean:   260 * time.Second / 23,
				},
			})
		})
	}
}

// TestWeightsAreTheStatedMix: the suite has the deck.
func TestWeightsAreTheStatedMix(t *testing.T) {
	d := define(t, map[string]string{"deck": "weights"})
	u, counts := d.NewUser(0, rng.At(3)), make([]float64, 5)
	const n = 100_000
	for range n {
		counts[u.Next().Transaction.Index]++
		u.Done(workload.Outcome{})
	}
	chi := 0.0
	for i, want := range []float64{45, 43, 4, 4, 4} {
		if d.Transactions[i].Share != want {
			t.Errorf("%s states %v %%", d.Transactions[i].Name, d.Transactions[i].Share)
		}
		want *= n / 100
		chi += (counts[i] - want) * (counts[i] - want) / want
	}
	if chi > 18.47 { // 99.9 % quantile with 4 degrees of freedom
		t.Errorf("chi-square %.1f: %v", chi, counts)
	}
}

func define(t testing.TB, texts map[string]string) *workload.Definition {
	t.Helper()
	k := orderentry.Kind()
	v, err := unit.NewValues(k.Params, texts)
	if err != nil {
		t.Fatal(err)
	}
	d, err := k.New(v, 7)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// desk answers as a database does: it knows every item but number 100,001 and
// every customer, of whom there are three of each name.
type desk struct {
	out   [16 * 32]workload.Value
	ops   []workload.TxOp
	order int64
	// lost is an item that is missing, or 0.
	lost int64
	// fail is a statement that fails, or "".
	fail string
	// answer is what statement named instead returns, where that is not "".
	instead string
	answer  workload.Result
	data    []byte // that the last payment stored

	original, good, bad []byte // what texts there are
}

func newDesk() *desk {
	return &desk{ops: make([]workload.TxOp, 0, 8), original: []byte("abcORIGINALxyz"), good: []byte("GC"), bad: []byte("BC")}
}

var errDesk = errors.New("closed for lunch")

// Tx implements workload.Conn and remembers the last eight steps.
func (d *desk) Tx(_ context.Context, op workload.TxOp) error {
	if len(d.ops) == cap(d.ops) {
		d.ops = d.ops[:0]
	}
	d.ops = append(d.ops, op)
	return nil
}

// Run implements workload.Conn.
func (d *desk) Run(_ context.Context, st *workload.Statement, args []workload.Value) (workload.Result, error) {
	if len(args) != len(st.Params) {
		return workload.Result{}, fmt.Errorf("%s: %d arguments for %d parameters", st.Name, len(args), len(st.Params))
	}
	switch st.Name {
	case d.fail:
		return workload.Result{}, errDesk
	case d.instead:
		return d.answer, nil
	case "neworder":
		return d.enter(args), nil
	case "payment":
		return d.rows(1, 26), nil
	case "orderstatus":
		return d.rows(5, 13), nil
	case "delivery", "stocklevel":
		return d.rows(1, 1), nil
	case "item":
		if args[0].Int == 100_001 || args[0].Int == d.lost {
			return d.rows(0, 3), nil
		}
		r := d.rows(1, 3)
		r.Values[0], r.Values[2] = workload.Money(args[0].Int), workload.Str(d.original)
		return r, nil
	case "stock":
		r := d.rows(1, 3)
		r.Values[0] = workload.Int(args[2].Int % 91)
		r.Values[1] = workload.Str(d.original)
		return r, nil
	case "customers named":
		r := d.rows(3, 1)
		for i := range r.Values {
			r.Values[i] = workload.Int(int64(i) + 100)
		}
		return r, nil
	case "payer":
		r := d.rows(1, 15)
		r.Values[1], r.Values[2] = workload.Str(d.good), workload.Str(d.good)
		if args[2].Int%2 == 0 {
			r.Values[1] = workload.Str(d.bad)
		}
		return r, nil
	case "pay, bad credit":
		d.data = append(d.data[:0], args[1].Str...)
	case "lines":
		return d.rows(5, 5), nil
	case "addresses":
		return d.rows(1, 12), nil
	}
	if strings.HasPrefix(st.Text, "SELECT") {
		return d.rows(1, 4), nil
	}
	return workload.Result{Affected: 1}, nil
}

// rows are n rows of ones.
func (d *desk) rows(n, columns int) workload.Result {
	out := d.out[:n*columns]
	for i := range out {
		out[i] = workload.Int(1)
	}
	return workload.Result{Columns: columns, Values: out}
}

// enter returns a row for each item that exists; item i costs i cents.
func (d *desk) enter(args []workload.Value) workload.Result {
	d.order++
	r := d.rows(15, 11)
	found, n, number := 0, int64(0), int64(0)
	for _, c := range args[5].Str[1:] {
		if c >= '0' && c <= '9' {
			n = n*10 + int64(c-'0')
			continue
		}
		number++
		if n != 100_001 && n != d.lost {
			row := r.Row(found)
			row[0], row[2], row[3], row[4] = workload.Int(number), workload.Money(n), workload.Money(n), workload.Value{}
			found++
		}
		n = 0
	}
	r.Values = r.Values[:found*11]
	return r
}

// do runs the transaction of a name on in.
func do(t *testing.T, d *workload.Definition, c workload.Conn, name string, in any) (workload.Status, error) {
	t.Helper()
	for _, tx := range d.Transactions {
		if tx.Name == name {
			return tx.Exec(t.Context(), c, in)
		}
	}
	t.Fatalf("there is no transaction %s", name)
	return 0, nil
}

// TestUnknownItemsRollBack: an order with an unknown item ends in a rollback,
// every other transaction does not.
func TestUnknownItemsRollBack(t *testing.T) {
	for _, mode := range []string{"procedures", "statements"} {
		d := define(t, map[string]string{"mode": mode})
		u, c := d.NewUser(0, rng.At(1)), newDesk()
		rolledBack := 0
		for range 5_000 {
			st := u.Next()
			c.ops = c.ops[:0]
			status, err := st.Transaction.Exec(t.Context(), c, st.Input)
			if err != nil {
				t.Fatal(err)
			}
			bad := st.Transaction.Name == "neworder" && orderentry.Unknown(st.Input)
			if (status == workload.RolledBack) != bad {
				t.Fatalf("%s: %s has status %v, unknown item %v", mode, st.Transaction.Name, status, bad)
			}
			want := []workload.TxOp{workload.Begin, workload.Commit}
			switch {
			case bad:
				want[1] = workload.Rollback
				rolledBack++
			case mode == "procedures":
				want = nil
			}
			if !slices.Equal(c.ops, want) {
				t.Fatalf("%s: %s took the steps %v, want %v", mode, st.Transaction.Name, c.ops, want)
			}
			u.Done(workload.Outcome{Status: status})
		}
		if rolledBack == 0 {
			t.Errorf("%s: no order was rolled back", mode)
		}
	}
}

// TestWrongAnswersAreErrors: a database that lost rows is not measured as a
// fast one.
func TestWrongAnswersAreErrors(t *testing.T) {
	none := func(columns int) workload.Result { return workload.Result{Columns: columns} }
	order := func() any { return orderentry.Order(1, 1, 1, 10, 20, 30, 40, 50) }
	for _, x := range []struct {
		mode, transaction string
		in                any
		desk              *desk
		want              string
	}{
		{"procedures", "neworder", order(), &desk{lost: 30}, "4 of 5 lines"},
		{"procedures", "neworder", order(), &desk{instead: "neworder", answer: none(11)}, "0 of 5 lines"},
		{"procedures", "neworder", orderentry.Order(1, 1, 1, 10), &desk{instead: "neworder", answer: newDesk().rows(2, 11)}, "2 rows for 1 lines"},
		{"procedures", "payment", orderentry.Payment(1, 1), &desk{instead: "payment", answer: none(26)}, "0 rows, want one"},
		{"procedures", "delivery", orderentry.Delivery(1), &desk{instead: "delivery", answer: none(1)}, "0 rows, want one"},
		{"procedures", "orderstatus", orderentry.Payment(1, 1), &desk{instead: "orderstatus", answer: none(13)}, "0 lines"},
		{"procedures", "stocklevel", orderentry.Payment(1, 1), &desk{instead: "stocklevel", answer: none(1)}, "0 rows, want one"},
		{"procedures", "payment", orderentry.Payment(1, 1), &desk{fail: "payment"}, "lunch"},
		{"statements", "neworder", order(), &desk{lost: 30}, "item: 0 rows"},
		{"statements", "neworder", order(), &desk{instead: "take stock"}, "take stock: 0 rows changed"},
		{"statements", "neworder", order(), &desk{fail: "district"}, "lunch"},
		{"statements", "payment", orderentry.Payment(1, 1), &desk{instead: "pay warehouse"}, "pay warehouse: 0 rows changed"},
		{"statements", "delivery", orderentry.Delivery(1), &desk{instead: "deliver lines"}, "deliver lines: 0 rows changed"},
		{"statements", "delivery", orderentry.Delivery(1), &desk{instead: "oldest new order", answer: none(1)}, "1000 times in a row"},
		{"statements", "orderstatus", orderentry.Payment(1, 1), &desk{instead: "lines", answer: none(5)}, "the last order has 0"},
		{"statements", "stocklevel", orderentry.Payment(1, 1), &desk{instead: "low stock", answer: none(1)}, "0 rows, want one"},
	} {
		x.desk.ops = make([]workload.TxOp, 0, 8)
		_, err := do(t, define(t, map[string]string{"mode": x.mode}), x.desk, x.transaction, x.in)
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s, %s: error %v, want %q", x.mode, x.transaction, err, x.want)
		}
		if x.mode == "statements" && (len(x.desk.ops) != 2 || x.desk.ops[1] != workload.Rollback) {
			t.Errorf("%s, %s: steps %v, want a rollback", x.mode, x.transaction, x.desk.ops)
		}
	}
}

// TestBadCreditIsRecorded: 500 characters at most, the newest payment first.
func TestBadCreditIsRecorded(t *testing.T) {
	d := define(t, map[string]string{"mode": "statements"})
	for _, old := range []string{"", "seen before", strings.Repeat("x", 500)} {
		answer := newDesk().rows(1, 15)
		answer.Values[1], answer.Values[2] = workload.Str([]byte("BC")), workload.Str([]byte(old))
		c := newDesk()
		c.instead, c.answer = "payer", answer
		if _, err := do(t, d, c, "payment", orderentry.Payment(3, 4)); err != nil {
			t.Fatal(err)
		}
		want := []byte("1 1 3 4 3 1.00|" + old)
		if want = want[:min(len(want), 500)]; !bytes.Equal(c.data, want) {
			t.Errorf("%q became %q, want %q", old, c.data, want)
		}
	}
}

func TestTallyChecksWidenByUnknownOutcomes(t *testing.T) {
	tally := workload.Tally{
		Committed:  map[string]int64{"neworder": 100, "payment": 90, "delivery": 200},
		RolledBack: map[string]int64{"neworder": 3},
		Unknown:    map[string]int64{"neworder": 2, "payment": 1, "delivery": 4},
	}
	want := map[string][2]int64{"orders": {60_100, 60_102}, "payments": {60_090, 60_091}, "deliveries": {1_980, 2_040}}
	for _, c := range define(t, map[string]string{"warehouses": "2"}).Checks {
		if w, ok := want[c.Name]; ok {
			if least, most := c.Want(tally); least != w[0] || most != w[1] {
				t.Errorf("%s wants %d to %d, not %v", c.Name, least, most, w)
			}
			delete(want, c.Name)
		} else if c.Want != nil {
			t.Errorf("%s wants something else than nothing", c.Name)
		}
	}
	if len(want) > 0 {
		t.Errorf("there are no checks %v", want)
	}
}

// TestEveryConditionHasACheck: twelve, each with its clause.
func TestEveryConditionHasACheck(t *testing.T) {
	found := map[string]bool{}
	for _, c := range define(t, nil).Checks {
		found[c.Clause+" "+c.Name] = true
	}
	for n := 1; n <= 12; n++ {
		if want := fmt.Sprintf("3.3.2.%d condition %d", n, n); !found[want] {
			t.Errorf("there is no check %s", want)
		}
	}
}
