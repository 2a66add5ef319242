package orderentry_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/enginetest"
	"github.com/loadstone-perf/loadstone/internal/engine/postgres"
	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/workload"
	"github.com/loadstone-perf/loadstone/internal/workload/orderentry"
)

// loaded is a workload in a database of its own on a real server.
type loaded struct {
	d  *workload.Definition
	db engine.Database
}

func (l loaded) session(t *testing.T) *engine.Session {
	t.Helper()
	s, err := l.db.Open(t.Context(), l.d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// ask runs sql and returns its values, row after row.
func ask(t *testing.T, c workload.Conn, sql string) []workload.Value {
	t.Helper()
	r, err := c.Run(t.Context(), &workload.Statement{Index: -1, Name: sql, Text: sql}, nil)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	// The result lives until the next call only.
	out := slices.Clone(r.Values)
	for i := range out {
		out[i].Str = slices.Clone(out[i].Str)
	}
	return out
}

// check runs the checks of the given names, or all of them where none is
// given, and returns those that do not hold.
func (l loaded) check(t *testing.T, c workload.Conn, tally workload.Tally, names ...string) map[string]string {
	t.Helper()
	failed := map[string]string{}
	for _, check := range l.d.Checks {
		if len(names) > 0 && !slices.Contains(names, check.Name) {
			continue
		}
		q := *check.Query
		q.Index = -1
		r, err := c.Run(t.Context(), &q, nil)
		if err != nil {
			t.Fatalf("check %s: %v", check.Name, err)
		}
		if len(r.Values) != 1 || r.Values[0].Kind != workload.Integer {
			t.Fatalf("check %s gave %v, want a whole number", check.Name, r.Values)
		}
		var least, most int64
		if check.Want != nil {
			least, most = check.Want(tally)
		}
		if n := r.Values[0].Int; n < least || n > most {
			failed[check.Name] = fmt.Sprintf("found %d, want %d to %d", n, least, most)
		}
	}
	return failed
}

// server starts PostgreSQL for the test.
func server(t *testing.T) engine.Database {
	t.Helper()
	return enginetest.Serve(t, postgres.New(), engine.Config{Connections: 40})
}

// load loads the workload into database name.
func load(t *testing.T, db engine.Database, name string, params map[string]string) loaded {
	t.Helper()
	d := *define(t, params)
	d.Database = name
	r, err := db.Load(t.Context(), &d, engine.LoadOptions{Workers: 2})
	if err != nil {
		t.Fatalf("load %v: %v", params, err)
	}
	t.Logf("loaded %d rows, %v, stages %.2v", r.Rows, r.Bytes.Human(), r.StageSeconds)
	return loaded{&d, db}
}

// copyOf copies l's database on the server, for the other mode.
func (l loaded) copyOf(t *testing.T, mode, name string) loaded {
	t.Helper()
	d := *define(t, map[string]string{"warehouses": "2", "mode": mode})
	d.Database = "template1"
	s, err := l.db.Open(t.Context(), &workload.Definition{Database: "template1"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	ask(t, s.Conn(), fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s STRATEGY file_copy OWNER orderentry", name, l.d.Database))
	d.Database = name
	return loaded{&d, l.db}
}

// TestOnPostgreSQL loads two warehouses into a real server, and sees that the
// transactions do what they should, in both modes and under concurrent users.
func TestOnPostgreSQL(t *testing.T) {
	db := server(t)
	calls := load(t, db, "calls", map[string]string{"warehouses": "2"})
	texts := calls.copyOf(t, "statements", "texts")
	t.Run("FreshDataPassChecks", func(t *testing.T) {
		if failed := calls.check(t, calls.session(t).Conn(), newTally()); len(failed) > 0 {
			t.Error(failed)
		}
	})
	t.Run("ChecksFindFaults", calls.faults)
	t.Run("ModesLeaveTheSameRows", func(t *testing.T) { sameHistory(t, calls, texts) })
	for mode, l := range map[string]loaded{"Procedures": calls, "Statements": texts} {
		t.Run(mode+"WalkNoLargeTable", l.walks)
		t.Run(mode+"NeitherDeadlockNorLoseUpdates", l.contention)
		t.Run(mode+"DeliverConcurrently", l.deliveries)
		t.Run(mode+"UsersKeepAllConditions", l.users)
	}
}

func newTally() workload.Tally {
	return workload.Tally{Committed: map[string]int64{}, RolledBack: map[string]int64{}, Unknown: map[string]int64{}}
}

// transaction is the type of a name.
func (l loaded) transaction(t *testing.T, name string) *workload.Transaction {
	t.Helper()
	for _, tx := range l.d.Transactions {
		if tx.Name == name {
			return tx
		}
	}
	t.Fatalf("there is no transaction %s", name)
	return nil
}

// do runs a transaction that must commit.
func (l loaded) do(t *testing.T, s *engine.Session, name string, in any) {
	if o, err := s.Do(t.Context(), l.transaction(t, name), in); err != nil || o.Status != workload.Committed {
		t.Errorf("%s: %+v, %v", name, o, err)
	}
}

// tables are all tables of the workload.
func tables() []string {
	return []string{"warehouse", "district", "customer", "history", "item", "stock", "orders", "new_order", "order_line"}
}

// contents is the number of rows of each table and a hash of them all,
// whatever their order.
func contents(t *testing.T, c workload.Conn) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range tables() {
		v := ask(t, c, "SELECT count(*), sum(hashtextextended(r::text, 1) % 1000000000000) FROM "+name+" r")
		out[name] = fmt.Sprintf("%d rows, %d", v[0].Int, v[1].Int)
	}
	return out
}

// sameHistory plays one user's history in both modes, and compares what the
// user saw and what all tables hold afterwards.
func sameHistory(t *testing.T, a, b loaded) {
	const steps = 600
	seen := map[string]int{}
	var shown [2][]string
	for i, l := range []loaded{a, b} {
		s, u := l.session(t), l.d.NewUser(3, rng.At(77))
		for range steps {
			st := u.Next()
			o, err := s.Do(t.Context(), st.Transaction, st.Input)
			if err != nil {
				t.Fatalf("%s: %v", st.Transaction.Name, err)
			}
			u.Done(o)
			if o.Status == workload.RolledBack {
				seen["rollback"]++
				shown[i] = append(shown[i], "rolled back")
				continue
			}
			seen[st.Transaction.Name]++
			shown[i] = append(shown[i], st.Transaction.Name+" "+orderentry.Shown(st.Input))
		}
	}
	for n := range shown[0] {
		if shown[0][n] != shown[1][n] {
			t.Fatalf("step %d: procedures show\n%s\nstatements show\n%s", n, shown[0][n], shown[1][n])
		}
	}
	if seen["rollback"] == 0 || len(seen) != 6 {
		t.Errorf("the history lacks something: %v", seen)
	}
	x, y := contents(t, a.session(t).Conn()), contents(t, b.session(t).Conn())
	if !maps.Equal(x, y) {
		t.Errorf("tables differ:\nprocedures %v\nstatements %v", x, y)
	}
	if want := fmt.Sprintf("%d rows", 60_000+seen["neworder"]/2); !strings.HasPrefix(x["orders"], want) {
		t.Errorf("ORDERS has %s, want %s", x["orders"], want)
	}
}

// inside runs f in a transaction that is rolled back.
func inside(t *testing.T, c workload.Conn, f func()) {
	t.Helper()
	if err := c.Tx(t.Context(), workload.Begin); err != nil {
		t.Fatal(err)
	}
	f()
	if err := c.Tx(t.Context(), workload.Rollback); err != nil {
		t.Fatal(err)
	}
}

// faults injects one fault at a time and sees that the check of that name
// finds it.
func (l loaded) faults(t *testing.T) {
	c := l.session(t).Conn()
	for _, x := range []struct{ check, fault string }{
		{"condition 1", "UPDATE district SET d_ytd = d_ytd + 0.01 WHERE d_w_id = 2 AND d_id = 7"},
		{"condition 2", "UPDATE district SET d_next_o_id = 3002 WHERE d_w_id = 2 AND d_id = 7"},
		{"condition 2", "DELETE FROM new_order WHERE no_w_id = 2 AND no_d_id = 10 AND no_o_id = 3000"},
		{"condition 3", "DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 1 AND no_o_id = 2500"},
		{"condition 4", "UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_w_id = 2 AND o_d_id = 3 AND o_id = 9"},
		{"condition 4", "DELETE FROM order_line WHERE ol_w_id = 2 AND ol_d_id = 3"},
		{"condition 5", "UPDATE orders SET o_carrier_id = NULL WHERE o_w_id = 1 AND o_d_id = 3 AND o_id = 9"},
		{"condition 5", "UPDATE orders SET o_carrier_id = 1 WHERE o_w_id = 1 AND o_d_id = 3 AND o_id = 2999"},
		{"condition 5", "INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (3001, 1, 1)"},
		{"condition 6", `UPDATE orders SET o_ol_cnt = o_ol_cnt + CASE o_id WHEN 9 THEN 1 ELSE -1 END
			WHERE o_w_id = 2 AND o_d_id = 3 AND o_id IN (9, 10)`},
		{"condition 6", "DELETE FROM order_line WHERE ol_w_id = 2 AND ol_d_id = 3 AND ol_o_id = 9"},
		{"condition 7", "UPDATE order_line SET ol_delivery_d = NULL WHERE ol_w_id = 1 AND ol_d_id = 3 AND ol_o_id = 9 AND ol_number = 2"},
		{"condition 7", "UPDATE order_line SET ol_delivery_d = now() WHERE ol_w_id = 1 AND ol_d_id = 3 AND ol_o_id = 2999 AND ol_number = 2"},
		{"condition 8", "UPDATE history SET h_amount = h_amount - 0.01 WHERE h_w_id = 1 AND h_d_id = 1 AND h_c_id = 1"},
		{"condition 8", "DELETE FROM history WHERE h_w_id = 1"},
		{"condition 9", "UPDATE history SET h_d_id = 2 WHERE h_w_id = 1 AND h_d_id = 1 AND h_c_id = 1"},
		{"condition 10", "UPDATE history SET h_c_id = 2 WHERE h_w_id = 1 AND h_d_id = 1 AND h_c_id = 1"},
		{"condition 10", "UPDATE customer SET c_balance = c_balance + 0.01 WHERE c_w_id = 2 AND c_d_id = 1 AND c_id = 1"},
		{"condition 11", "UPDATE customer SET c_delivery_cnt = 1 WHERE c_w_id = 2 AND c_d_id = 1 AND c_id = 1"},
		{"condition 11", "DELETE FROM new_order WHERE no_w_id = 2 AND no_d_id = 5"},
		{"condition 12", "UPDATE customer SET c_ytd_payment = c_ytd_payment + 0.01 WHERE c_w_id = 2 AND c_d_id = 1 AND c_id = 1"},
		{"condition 12", "UPDATE order_line SET ol_amount = 1 WHERE ol_w_id = 2 AND ol_d_id = 1 AND ol_o_id = 1 AND ol_number = 1"},
		{"orders", "DELETE FROM orders WHERE o_w_id = 2 AND o_d_id = 1 AND o_id = 1"},
		{"payments", "INSERT INTO history SELECT * FROM history WHERE h_w_id = 1 AND h_d_id = 1 AND h_c_id = 1"},
		{"deliveries", "UPDATE customer SET c_delivery_cnt = 1 WHERE c_w_id = 2 AND c_d_id = 1 AND c_id = 1"},
	} {
		inside(t, c, func() {
			ask(t, c, x.fault)
			if failed := l.check(t, c, newTally(), x.check); len(failed) == 0 {
				t.Errorf("check %s holds in spite of: %s", x.check, x.fault)
			}
		})
	}
}

// together runs f for several sessions at once.
func (l loaded) together(t *testing.T, sessions int, f func(i int, s *engine.Session)) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range sessions {
		s := l.session(t)
		wg.Go(func() { f(i, s) })
	}
	wg.Wait()
}

// contention has sessions order the same items for the same district, and pay
// at the same warehouse.
func (l loaded) contention(t *testing.T) {
	const sessions, each = 6, 15
	c := l.session(t).Conn()
	const sql = `SELECT sum(s_order_cnt), sum(s_ytd), (SELECT d_next_o_id FROM district WHERE d_w_id = 2 AND d_id = 4),
		(SELECT (w_ytd * 100)::bigint FROM warehouse WHERE w_id = 2),
		(SELECT c_payment_cnt FROM customer WHERE c_w_id = 2 AND c_d_id = 1 AND c_id = 1)
		FROM stock WHERE s_w_id = 2 AND s_i_id IN (20, 21, 22, 23, 24, 25)`
	before := ask(t, c, sql)
	lists := [][]int64{{20, 21, 22, 23, 24}, {25, 24, 23, 22, 21}, {22, 24, 20, 25, 23}}
	l.together(t, sessions, func(i int, s *engine.Session) {
		for n := range each {
			l.do(t, s, "neworder", orderentry.Order(2, 4, 1, lists[(i+n)%3]...))
			l.do(t, s, "payment", orderentry.Payment(2, int64(i)+1))
		}
	})
	after := ask(t, c, sql)
	for i, want := range []int64{sessions * each * 5, sessions * each * 5, sessions * each, sessions * each * 100, sessions * each} {
		if grown := after[i].Int - before[i].Int; grown != want {
			t.Errorf("number %d grew by %d, want %d", i, grown, want)
		}
	}
}

// deliveries has sessions deliver for one warehouse at once: each delivers ten
// orders, and no order is left behind an older one.
func (l loaded) deliveries(t *testing.T) {
	const sessions, each = 4, 6
	c := l.session(t).Conn()
	const sql = "SELECT sum(c_delivery_cnt) FROM customer WHERE c_w_id = 1"
	before := ask(t, c, sql)[0].Int
	l.together(t, sessions, func(_ int, s *engine.Session) {
		for range each {
			l.do(t, s, "delivery", orderentry.Delivery(1))
		}
	})
	if grown := ask(t, c, sql)[0].Int - before; grown != sessions*each*districts {
		t.Errorf("%d orders were delivered, want %d", grown, sessions*each*districts)
	}
	if failed := l.check(t, c, newTally(), "condition 3", "condition 5"); len(failed) > 0 {
		t.Error(failed)
	}
	// A district that has none left is passed over.
	inside(t, c, func() {
		ask(t, c, "DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id > 7")
		// The connection's own transaction is open: call what it calls.
		if v := ask(t, c, "SELECT delivery(1, 1::smallint, now()::timestamp)"); v[0].Int != 7 {
			t.Errorf("%d orders were delivered for seven districts", v[0].Int)
		}
	})
}

const districts = 10

// users plays the script with several users at once and runs the checks with
// what was counted since the database was loaded.
func (l loaded) users(t *testing.T) {
	const users, steps = 6, 115
	c := l.session(t).Conn()
	earlier := ask(t, c, `SELECT (SELECT count(*) FROM orders) - 60000, (SELECT count(*) FROM history) - 60000,
		(SELECT sum(c_delivery_cnt) FROM customer) / 10`)
	tally := newTally()
	tally.Committed["neworder"], tally.Committed["payment"], tally.Committed["delivery"] = earlier[0].Int, earlier[1].Int, earlier[2].Int
	var mu sync.Mutex
	l.together(t, users, func(i int, s *engine.Session) {
		u := l.d.NewUser(i, rng.At(11, uint64(i)))
		for range steps {
			st := u.Next()
			o, err := s.Do(t.Context(), st.Transaction, st.Input)
			u.Done(o)
			mu.Lock()
			switch o.Status {
			case workload.Committed:
				tally.Committed[st.Transaction.Name]++
			case workload.RolledBack:
				tally.RolledBack[st.Transaction.Name]++
			default:
				t.Errorf("%s: class %v: %v", st.Transaction.Name, o.Class, err)
			}
			mu.Unlock()
		}
	})
	if done := tally.Committed["neworder"] + tally.RolledBack["neworder"] - earlier[0].Int; done != users*steps*10/23 {
		t.Errorf("%d orders were entered, want %d", done, users*steps*10/23)
	}
	if failed := l.check(t, c, tally); len(failed) > 0 {
		t.Errorf("checks: %v", failed)
	}
}

// scans is how often tables that grow were walked from end to end, and how
// often index entries of stock were looked up.
func scans(t *testing.T, c workload.Conn) (walks, lookups int64) {
	v := ask(t, c, `SELECT sum(seq_scan), sum(CASE relname WHEN 'stock' THEN idx_scan ELSE 0 END)
		FROM pg_stat_user_tables WHERE relname NOT IN ('warehouse', 'district')`)
	return v[0].Int, v[1].Int
}

// walks sees that no transaction walks a large table. The server counts what a
// session did when it ends, or a little later.
func (l loaded) walks(t *testing.T) {
	c := l.session(t).Conn()
	walks, lookups := scans(t, c)
	s, u := l.session(t), l.d.NewUser(0, rng.At(5))
	const steps = 230
	for range steps {
		st := u.Next()
		o, err := s.Do(t.Context(), st.Transaction, st.Input)
		if err != nil {
			t.Fatal(err)
		}
		u.Done(o)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		w, n := scans(t, c)
		if n >= lookups+5*steps*10/23 {
			if w != walks {
				t.Errorf("%d walks of large tables in %d transactions", w-walks, steps)
			}
			return
		}
		if err := (clock.Real{}).SleepUntil(t.Context(), clock.Real{}.Now().Add(100*time.Millisecond)); err != nil {
			t.Fatal(err)
		}
	}
	t.Error("the server's counters do not show the transactions")
}
