package dvdstore_test

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/unit"
	"github.com/loadstone-perf/loadstone/internal/workload"
	"github.com/loadstone-perf/loadstone/internal/workload/dvdstore"
	"github.com/loadstone-perf/loadstone/internal/workload/workloadtest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestSuite(t *testing.T) {
	for _, c := range []struct {
		name, mode, calls string
		other             map[string]string            // values of mode and calls that this one has not
		with              map[string]map[string]string // compat has no statements
	}{
		{"strict", "strict", "procedures", map[string]string{"mode": "compat", "calls": "statements"}, nil},
		{
			"compat", "compat", "procedures", map[string]string{"mode": "strict", "calls": "statements"},
			map[string]map[string]string{"calls": {"mode": "strict"}},
		},
		{
			"statements", "strict", "statements", map[string]string{"mode": "compat", "calls": "procedures"},
			map[string]map[string]string{"mode": {"calls": "procedures"}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			workloadtest.Run(t, dvdstore.Kind(), workloadtest.Options{
				Small: map[string]string{"size": "1MB", "mode": c.mode, "calls": c.calls},
				Data:  map[string]string{"size": "700kB", "mode": c.other["mode"], "calls": c.other["calls"]},
				With:  c.with,
				Behaviour: map[string]string{
					"think_time": "1s", "pct_newcustomers": "50%", "n_searches": "1",
					"search_batch_size": "9", "n_line_items": "2",
				},
				Conn:     func(*workload.Definition) workload.Conn { return &shop{} },
				Golden:   "testdata/fingerprints.txt",
				Update:   *update,
				Think:    workloadtest.Think{Params: map[string]string{"think_time": "10s"}, Mean: 10 * time.Second},
				SameData: c.calls == "statements",
			})
		})
	}
}

// TestCompatHasNoStatements: the kit's faults are in its procedures.
func TestCompatHasNoStatements(t *testing.T) {
	k := dvdstore.Kind()
	v, err := unit.NewValues(k.Params, map[string]string{"mode": "compat", "calls": "statements"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.New(v, 7); err == nil || !strings.Contains(err.Error(), "needs mode strict") {
		t.Errorf("error %v, want one that names the mode it needs", err)
	}
}

func define(t *testing.T, texts map[string]string) *workload.Definition {
	t.Helper()
	k := dvdstore.Kind()
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

// shop answers as the procedures do, and the statements: it knows every user, registers
// everybody, sells product n for n cents, and is out of stock in every
// fortieth purchase.
type shop struct {
	customers, orders int64
	out               [40]workload.Value
	calls             map[string]int // by statement, where it is not nil
	args              []workload.Value
	open              bool // a transaction
}

// Run implements workload.Conn.
func (s *shop) Run(_ context.Context, st *workload.Statement, args []workload.Value) (workload.Result, error) {
	if s.calls != nil {
		s.calls[st.Name]++
	}
	s.args = args
	if len(args) != len(st.Params) {
		return workload.Result{}, fmt.Errorf("%s: %d arguments for %d parameters", st.Name, len(args), len(st.Params))
	}
	switch st.Name {
	case "login":
		id := int64(0)
		for _, c := range args[0].Str[len("user"):] {
			id = id*10 + int64(c-'0')
		}
		s.out[0] = workload.Int(id)
		return workload.Result{Columns: 4, Values: s.out[:4]}, nil
	case "new_customer":
		s.customers++
		s.out[0] = workload.Int(1_000_000 + s.customers)
		return workload.Result{Columns: 1, Values: s.out[:1]}, nil
	case "price_lookup":
		return s.prices(args), nil
	case "purchase":
		s.orders++
		s.out[0] = workload.Int(s.orders)
		if s.orders%40 == 0 {
			s.out[0] = workload.Int(0)
		}
		return workload.Result{Columns: 1, Values: s.out[:1]}, nil
	case "history", "browse_by_category", "browse_by_actor", "browse_by_title":
		return workload.Result{Columns: 7, Values: s.out[:2*7]}, nil
	default:
		return s.statement(st.Name)
	}
}

// statement answers what is sent inside a transaction.
func (s *shop) statement(name string) (workload.Result, error) {
	switch name {
	case "user name taken":
		return workload.Result{Columns: 1}, nil
	case "stock":
		s.orders++
		s.out[0] = workload.Int(1000)
		if s.orders%200 == 0 { // of a product, not of a cart
			s.out[0] = workload.Int(0)
		}
		return workload.Result{Columns: 1, Values: s.out[:1]}, nil
	case "last number":
		s.out[0] = workload.Int(2_000_000 + s.orders)
		return workload.Result{Columns: 1, Values: s.out[:1]}, nil
	case "new customer", "take stock", "reorder", "new order", "new line", "remember":
		return workload.Result{Affected: 1}, nil
	}
	return workload.Result{}, fmt.Errorf("the shop knows no statement %q", name)
}

// prices has one row for each different product.
func (s *shop) prices(args []workload.Value) workload.Result {
	n := 0
	for i, a := range args {
		seen := false
		for _, b := range args[:i] {
			seen = seen || a.Int == b.Int
		}
		if !seen {
			s.out[2*n], s.out[2*n+1] = a, workload.Money(a.Int)
			n++
		}
	}
	return workload.Result{Columns: 2, Values: s.out[:2*n]}
}

// Tx implements workload.Conn.
func (s *shop) Tx(_ context.Context, op workload.TxOp) error {
	if (op == workload.Begin) == s.open {
		return fmt.Errorf("transaction step %d, while a transaction is open: %v", op, s.open)
	}
	s.open = !s.open
	return nil
}
