package dvdstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// scripted is a shop whose answer to one statement is set.
type scripted struct {
	shop
	name   string
	answer workload.Result
	err    error
}

// Run implements workload.Conn.
func (s *scripted) Run(ctx context.Context, st *workload.Statement, args []workload.Value) (workload.Result, error) {
	if st.Name == s.name {
		s.args = args
		return s.answer, s.err
	}
	return s.shop.Run(ctx, st, args)
}

// one is the answer of a procedure that returns a number.
func one(v workload.Value) workload.Result {
	return workload.Result{Columns: 1, Values: []workload.Value{v}}
}

// walk plays steps until one of transaction name has run, and returns it with
// how it ended.
func walk(t *testing.T, u workload.User, c workload.Conn, name string) (workload.Step, workload.Status, error) {
	t.Helper()
	for range 1_000 {
		st := u.Next()
		status, err := st.Transaction.Exec(t.Context(), c, st.Input)
		o := workload.Outcome{Status: status}
		if err != nil {
			o = workload.Outcome{Status: workload.Failed, Class: workload.Fatal}
		}
		u.Done(o)
		if st.Transaction.Name == name {
			return st, status, err
		}
	}
	t.Fatalf("no %s in 1,000 steps", name)
	return workload.Step{}, 0, nil
}

func TestOutcomesFollowTheProcedures(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		name, statement, transaction string
		answer                       workload.Result
		err                          error
		want                         workload.Status
		fails                        string
	}{
		{"order number", "purchase", "purchase", one(workload.Int(12)), nil, workload.Committed, ""},
		{"out of stock", "purchase", "purchase", one(workload.Int(0)), nil, workload.RolledBack, ""},
		{"no order number", "purchase", "purchase", one(workload.Value{}), nil, workload.Failed, "want one number"},
		{"no row", "purchase", "purchase", workload.Result{Columns: 1}, nil, workload.Failed, "want one number"},
		{"broken purchase", "purchase", "purchase", workload.Result{}, broken, workload.Failed, "broken"},
		{"registered", "new_customer", "newcustomer", one(workload.Int(99)), nil, workload.Committed, ""},
		{"name taken", "new_customer", "newcustomer", one(workload.Int(0)), nil, workload.RolledBack, ""},
		{"broken registration", "new_customer", "newcustomer", workload.Result{}, broken, workload.Failed, "broken"},
		{"unknown user, no row", "login", "login", workload.Result{Columns: 4}, nil, workload.Failed, `no customer has user name "user`},
		{"unknown user, number 0", "login", "login", one(workload.Int(0)), nil, workload.Failed, `no customer has user name "user`},
		{"broken log-in", "login", "login", workload.Result{}, broken, workload.Failed, "broken"},
		{"no prices", "price_lookup", "pricelookup", workload.Result{Columns: 2}, nil, workload.Failed, "0 of "},
		{"broken look-up", "price_lookup", "pricelookup", workload.Result{}, broken, workload.Failed, "broken"},
		{"nothing found", "browse_by_title", "browse", workload.Result{Columns: 7}, nil, workload.Committed, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := define(t, nil).NewUser(1, rng.At(1, 1))
			_, status, err := walk(t, u, &scripted{name: c.statement, answer: c.answer, err: c.err}, c.transaction)
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("error %v, want %q in it", err, c.fails)
				}
			} else if err != nil || status != c.want {
				t.Errorf("status %v, error %v; want status %v", status, err, c.want)
			}
		})
	}
}

// TestTakenNameIsFollowedByAnother: as the kit, but with a name that nobody
// else draws.
func TestTakenNameIsFollowedByAnother(t *testing.T) {
	u := define(t, map[string]string{"pct_newcustomers": "100%"}).NewUser(5, rng.At(1, 1))
	c := &scripted{name: "new_customer", answer: one(workload.Int(0))}
	seen := map[string]bool{}
	for range 100 {
		st := u.Next()
		if st.Transaction.Name != "newcustomer" {
			t.Fatalf("%s follows a registration whose name was taken", st.Transaction.Name)
		}
		status, err := st.Transaction.Exec(t.Context(), c, st.Input)
		if err != nil {
			t.Fatal(err)
		}
		seen[string(c.args[14].Str)] = true
		u.Done(workload.Outcome{Status: status})
	}
	if len(seen) != 100 {
		t.Errorf("%d different names in 100 registrations", len(seen))
	}
}

func TestNewUserNamesNeverMeet(t *testing.T) {
	d := define(t, map[string]string{"pct_newcustomers": "100%", "n_searches": "1"})
	seen := map[string]bool{}
	for number := range 50 {
		for _, seed := range []uint64{1, 2} { // two runs on one database
			u, c := d.NewUser(number, rng.At(seed, uint64(number))), &names{}
			for range 20 {
				if _, _, err := walk(t, u, c, "newcustomer"); err != nil {
					t.Fatal(err)
				}
			}
			for _, name := range c.names {
				if seen[name] || strings.HasPrefix(name, "user") || len(name) > 50 {
					t.Fatalf("user %d, run %d: name %q is taken, a loaded customer's, or too long", number, seed, name)
				}
				seen[name] = true
			}
		}
	}
	if len(seen) != 2_000 {
		t.Errorf("%d names from 2,000 registrations", len(seen))
	}
}

// names is a shop that remembers the names of those who register.
type names struct {
	shop
	names []string
}

// Run implements workload.Conn.
func (n *names) Run(ctx context.Context, st *workload.Statement, args []workload.Value) (workload.Result, error) {
	if st.Name == "new_customer" {
		n.names = append(n.names, string(args[14].Str))
	}
	return n.shop.Run(ctx, st, args)
}

// TestNetAmountAddsUpTheCart: product n costs n cents in the shop. The kit
// prices a product that is in the cart twice once; strict prices every line.
func TestNetAmountAddsUpTheCart(t *testing.T) {
	for _, mode := range []string{"strict", "compat"} {
		// 100 kB has 1,000 products: carts with one product twice are common.
		d := define(t, map[string]string{"size": "100kB", "mode": mode})
		doubles := 0
		play(t, d, 5_000, func(st workload.Step, c *shop) {
			if st.Transaction.Name != "purchase" {
				return
			}
			a, net := c.args, int64(0)
			seen := map[int64]bool{}
			for i := range a[1].Int {
				product, quantity := a[5+2*i].Int, a[6+2*i].Int
				if seen[product] {
					doubles++
					if mode == "compat" {
						continue
					}
				}
				seen[product] = true
				net += product * quantity
			}
			for i := a[1].Int; i < 10; i++ {
				if a[5+2*i].Int != 0 || a[6+2*i].Int != 0 {
					t.Fatalf("place %d beyond the cart holds product %d", i, a[5+2*i].Int)
				}
			}
			tax := (net*825 + 5_000) / 10_000
			if a[2].Kind != workload.Fixed || a[2].Int != net || a[3].Int != tax || a[4].Int != net+tax {
				t.Fatalf("%s: amounts %v %v %v, want net %d, tax %d", mode, a[2].Int, a[3].Int, a[4].Int, net, tax)
			}
		})
		if doubles == 0 {
			t.Errorf("%s: no cart held a product twice", mode)
		}
	}
}

// TestModesDifferAsStated: what counts, and what is timed.
func TestModesDifferAsStated(t *testing.T) {
	for mode, kit := range map[string]bool{"strict": false, "compat": true} {
		d := define(t, map[string]string{"mode": mode})
		if d.Metric.WithRollbacks != kit {
			t.Errorf("%s: rollbacks count: %v", mode, d.Metric.WithRollbacks)
		}
		st, _, err := walk(t, d.NewUser(0, rng.At(1, 1)), &shop{}, "pricelookup")
		if err != nil || st.Untimed != kit {
			t.Errorf("%s: the price look-up is untimed: %v (%v)", mode, st.Untimed, err)
		}
		if !strings.Contains(d.Scripts["postgres"], "Mode: "+mode+".") {
			t.Errorf("%s has the other mode's procedures", mode)
		}
		names := map[string]bool{}
		for _, c := range d.Checks {
			names[c.Name] = true
		}
		for _, c := range []string{"amounts", "sales", "balance"} {
			if names[c] == kit {
				t.Errorf("%s: check %s is there: %v", mode, c, names[c])
			}
		}
	}
}

func TestChecksWidenByUnknownOutcomes(t *testing.T) {
	tally := workload.Tally{
		Committed:  map[string]int64{"purchase": 100, "newcustomer": 20},
		RolledBack: map[string]int64{"purchase": 3},
		Unknown:    map[string]int64{"purchase": 2, "newcustomer": 1},
	}
	want := map[string][2]int64{"orders": {100, 102}, "customers": {20, 21}}
	for _, c := range define(t, nil).Checks {
		if w, ok := want[c.Name]; ok {
			if least, most := c.Want(tally); least != w[0] || most != w[1] {
				t.Errorf("%s wants %d to %d, not %v", c.Name, least, most, w)
			}
			delete(want, c.Name)
		}
	}
	if len(want) > 0 {
		t.Errorf("there are no checks %v", want)
	}
}
