package orderentry_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/enginetest"
	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/workload"
	"github.com/loadstone-perf/loadstone/internal/workload/orderentry"
)

// loaded is the workload in a database of its own on a real server.
type loaded struct{ enginetest.Subject }

// load loads the workload into database name.
func load(t *testing.T, db engine.Database, name string, params map[string]string) loaded {
	t.Helper()
	return loaded{enginetest.Load(t, db, name, define(t, params))}
}

// copyOf copies l's database on the server, for the other mode.
func (l loaded) copyOf(t *testing.T, mode, name string) loaded {
	t.Helper()
	d := *define(t, map[string]string{"warehouses": "2", "mode": mode})
	l.maintain(t, fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s STRATEGY file_copy OWNER orderentry", name, l.Name))
	d.Database = name
	return loaded{enginetest.Subject{Name: name, Definition: &d, Database: l.Database}}
}

// maintain runs sql in a database of the product's own.
func (l loaded) maintain(t *testing.T, sql string) {
	t.Helper()
	s, err := l.Database.Open(t.Context(), &workload.Definition{Database: "template1"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	enginetest.Ask(t, s.Conn(), sql)
}

// onPostgreSQL loads two warehouses and sees what only PostgreSQL's own SQL can
// tell: that checks find faults, that no transaction walks a table, and that hot
// rows neither deadlock nor lose updates.
func onPostgreSQL(t *testing.T, db engine.Database) {
	calls := load(t, db, "calls", map[string]string{"warehouses": "2"})
	texts := calls.copyOf(t, "statements", "texts")
	t.Run("FreshDataPassChecks", func(t *testing.T) {
		if failed := calls.Check(t, calls.Open(t).Conn(), enginetest.NewTally()); len(failed) > 0 {
			t.Error(failed)
		}
	})
	t.Run("ChecksFindFaults", calls.faults)
	for mode, l := range map[string]loaded{"Procedures": calls, "Statements": texts} {
		t.Run(mode+"WalkNoLargeTable", l.walks)
		t.Run(mode+"NeitherDeadlockNorLoseUpdates", l.contention)
		t.Run(mode+"DeliverConcurrently", l.deliveries)
	}
	// What is not there need not be written when the server stops.
	for _, l := range []loaded{calls, texts} {
		l.maintain(t, "DROP DATABASE "+l.Name+" WITH (FORCE)")
	}
}

// transaction is the type of a name.
func (l loaded) transaction(t *testing.T, name string) *workload.Transaction {
	t.Helper()
	for _, tx := range l.Definition.Transactions {
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

// faults injects one fault at a time and sees that the check of that name
// finds it.
func (l loaded) faults(t *testing.T) {
	c := l.Open(t).Conn()
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
		enginetest.Inside(t, c, func() {
			enginetest.Ask(t, c, x.fault)
			if failed := l.Check(t, c, enginetest.NewTally(), x.check); len(failed) == 0 {
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
		s := l.Open(t)
		wg.Go(func() { f(i, s) })
	}
	wg.Wait()
}

// contention has sessions order the same items for the same district, and pay
// at the same warehouse.
func (l loaded) contention(t *testing.T) {
	const sessions, each = 6, 15
	c := l.Open(t).Conn()
	const sql = `SELECT sum(s_order_cnt), sum(s_ytd), (SELECT d_next_o_id FROM district WHERE d_w_id = 2 AND d_id = 4),
		(SELECT (w_ytd * 100)::bigint FROM warehouse WHERE w_id = 2),
		(SELECT c_payment_cnt FROM customer WHERE c_w_id = 2 AND c_d_id = 1 AND c_id = 1)
		FROM stock WHERE s_w_id = 2 AND s_i_id IN (20, 21, 22, 23, 24, 25)`
	before := enginetest.Ask(t, c, sql)
	lists := [][]int64{{20, 21, 22, 23, 24}, {25, 24, 23, 22, 21}, {22, 24, 20, 25, 23}}
	l.together(t, sessions, func(i int, s *engine.Session) {
		for n := range each {
			l.do(t, s, "neworder", orderentry.Order(2, 4, 1, lists[(i+n)%3]...))
			l.do(t, s, "payment", orderentry.Payment(2, int64(i)+1))
		}
	})
	after := enginetest.Ask(t, c, sql)
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
	c := l.Open(t).Conn()
	const sql = "SELECT sum(c_delivery_cnt) FROM customer WHERE c_w_id = 1"
	before := enginetest.Ask(t, c, sql)[0].Int
	l.together(t, sessions, func(_ int, s *engine.Session) {
		for range each {
			l.do(t, s, "delivery", orderentry.Delivery(1))
		}
	})
	if grown := enginetest.Ask(t, c, sql)[0].Int - before; grown != sessions*each*districts {
		t.Errorf("%d orders were delivered, want %d", grown, sessions*each*districts)
	}
	if failed := l.Check(t, c, enginetest.NewTally(), "condition 3", "condition 5"); len(failed) > 0 {
		t.Error(failed)
	}
	// A district that has none left is passed over.
	enginetest.Inside(t, c, func() {
		enginetest.Ask(t, c, "DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id > 7")
		// The connection's own transaction is open: call what it calls.
		if v := enginetest.Ask(t, c, "SELECT delivery(1, 1::smallint, now()::timestamp)"); v[0].Int != 7 {
			t.Errorf("%d orders were delivered for seven districts", v[0].Int)
		}
	})
}

const districts = 10

// scans is how often tables that grow were walked from end to end, and how
// often index entries of stock were looked up.
func scans(t *testing.T, c workload.Conn) (walks, lookups int64) {
	v := enginetest.Ask(t, c, `SELECT sum(seq_scan), sum(CASE relname WHEN 'stock' THEN idx_scan ELSE 0 END)
		FROM pg_stat_user_tables WHERE relname NOT IN ('warehouse', 'district')`)
	return v[0].Int, v[1].Int
}

// patiently asks up to a hundred times, a tenth of a second apart, whether done.
func patiently(t *testing.T, done func() bool) bool {
	t.Helper()
	for range 100 {
		if done() {
			return true
		}
		if err := (clock.Real{}).SleepUntil(t.Context(), clock.Real{}.Now().Add(100*time.Millisecond)); err != nil {
			t.Fatal(err)
		}
	}
	return false
}

// walks sees that no transaction walks a large table. The server counts what a
// session did when it ends, or a little later: so those before must be gone.
func (l loaded) walks(t *testing.T) {
	c := l.Open(t).Conn()
	if !patiently(t, func() bool {
		return enginetest.Ask(t, c, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`)[0].Int == 0
	}) {
		t.Fatal("other sessions stay open")
	}
	walks, lookups := scans(t, c)
	s, u := l.Open(t), l.Definition.NewUser(0, rng.At(5))
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
	var w int64
	if !patiently(t, func() (shown bool) {
		var n int64
		w, n = scans(t, c)
		return n >= lookups+5*steps*10/23
	}) {
		t.Error("the server's counters do not show the transactions")
	}
	if w != walks {
		t.Errorf("%d walks of large tables in %d transactions", w-walks, steps)
	}
}
