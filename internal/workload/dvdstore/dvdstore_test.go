package dvdstore_test

import (
	"context"
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/unit"
	"github.com/loadstone-perf/loadstone/internal/workload"
	"github.com/loadstone-perf/loadstone/internal/workload/dvdstore"
	"github.com/loadstone-perf/loadstone/internal/workload/workloadtest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestSuite(t *testing.T) {
	for _, mode := range []string{"strict", "compat"} {
		other := map[string]string{"strict": "compat", "compat": "strict"}[mode]
		t.Run(mode, func(t *testing.T) {
			workloadtest.Run(t, dvdstore.Kind(), workloadtest.Options{
				Small: map[string]string{"size": "1MB", "mode": mode},
				Data:  map[string]string{"size": "700kB", "mode": other},
				Behaviour: map[string]string{
					"think_time": "1s", "pct_newcustomers": "50%", "n_searches": "1",
					"search_batch_size": "9", "n_line_items": "2",
				},
				Conn:   func(*workload.Definition) workload.Conn { return &shop{} },
				Golden: "testdata/fingerprints.txt",
				Update: *update,
				Think:  workloadtest.Think{Params: map[string]string{"think_time": "10s"}, Mean: 10 * time.Second},
			})
		})
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

// shop answers as the procedures do: it knows every user, registers
// everybody, sells product n for n cents, and is out of stock in every
// fortieth purchase.
type shop struct {
	customers, orders int64
	out               [40]workload.Value
	calls             map[string]int // by statement, where it is not nil
	args              []workload.Value
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
	default:
		return workload.Result{Columns: 7, Values: s.out[:2*7]}, nil
	}
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

// Tx implements workload.Conn: every call is a transaction of its own.
func (s *shop) Tx(context.Context, workload.TxOp) error {
	return fmt.Errorf("the shop's users open no transactions")
}
