package brokerage_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/engine/enginetest"
	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// copyOf copies l's database on the server, for the given mode.
func (l loaded) copyOf(t *testing.T, mode, name string) loaded {
	t.Helper()
	d := *define(t, little(map[string]string{"mode": mode}))
	s, err := l.db.Open(t.Context(), &workload.Definition{Database: "template1"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	enginetest.Ask(t, s.Conn(), fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s STRATEGY file_copy OWNER brokerage", name, l.d.Database))
	d.Database = name
	return loaded{&d, l.db}
}

// onPostgreSQL sees, on copies of a database as it was loaded, that every check
// finds what it is for, that no transaction walks a large table in either mode,
// and that trades that have nothing in common complete side by side.
func (l loaded) onPostgreSQL(t *testing.T) {
	t.Run("ChecksFindFaults", l.faults)
	t.Run("NeighboursCompleteSideBySide", l.copyOf(t, "procedures", "neighbours").neighbours)
	for _, mode := range modes() {
		t.Run("WalksNoLargeTable/"+mode, l.copyOf(t, mode, "walked_"+mode).walks)
	}
}

// scans is how often tables of trades were walked from end to end, and how
// often entries of TRADE's indexes were looked up.
func scans(t *testing.T, c workload.Conn) (walks, lookups int64) {
	t.Helper()
	v := enginetest.Ask(t, c, `SELECT sum(seq_scan)::bigint, sum(CASE relname WHEN 'trade' THEN idx_scan ELSE 0 END)::bigint FROM pg_stat_user_tables
		WHERE relname IN ('trade', 'trade_history', 'settlement', 'cash_transaction', 'holding_history', 'holding', 'holding_summary', 'daily_market')`)
	return v[0].Int, v[1].Int
}

// walks sees that no transaction walks a table of trades. The server counts
// what a session did when it ends, or a little later.
func (l loaded) walks(t *testing.T) {
	c := l.session(t).Conn()
	walks, lookups := scans(t, c)
	s, u := l.session(t), l.d.NewUser(0, rng.At(6))
	const steps = 900
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
		if n >= lookups+steps/4 {
			if w != walks {
				t.Errorf("%d walks of tables of trades in %d transactions", w-walks, steps)
			}
			return
		}
		if err := (clock.Real{}).SleepUntil(t.Context(), clock.Real{}.Now().Add(100*time.Millisecond)); err != nil {
			t.Fatal(err)
		}
	}
	t.Error("the server's counters do not show the transactions")
}

// neighbours has two sessions complete two trades with numbers next to each
// other, of other brokers and accounts, at the same time: neither fails.
func (l loaded) neighbours(t *testing.T) {
	c := l.session(t).Conn()
	enginetest.Ask(t, c, `INSERT INTO trade (t_dts, t_st_id, t_tt_id, t_is_cash, t_s_symb, t_qty, t_bid_price, t_ca_id, t_exec_name, t_chrg, t_comm, t_tax, t_lifo)
		SELECT t_dts, 'SBMT', t_tt_id, t_is_cash, t_s_symb, t_qty, t_bid_price, t_ca_id, t_exec_name, t_chrg, t_comm, t_tax, t_lifo FROM trade WHERE t_id IN (
		(SELECT t_id FROM trade JOIN customer_account ON ca_id = t_ca_id WHERE ca_b_id = 1 ORDER BY ca_id, t_id LIMIT 1),
		(SELECT t_id FROM trade JOIN customer_account ON ca_id = t_ca_id WHERE ca_b_id = 2 ORDER BY ca_id DESC, t_id LIMIT 1))`)
	trades := enginetest.Ask(t, c, "SELECT t_id FROM trade WHERE t_st_id = 'SBMT' ORDER BY t_id")
	if len(trades) != 2 || trades[1].Int != trades[0].Int+1 {
		t.Fatalf("trades to complete are %v, want two neighbours", trades)
	}
	var both [2]workload.Conn
	for i := range both {
		both[i] = l.session(t).Conn()
		if err := both[i].Tx(t.Context(), workload.BeginSerializable); err != nil {
			t.Fatal(err)
		}
	}
	// Both have read before either writes.
	for i, c := range both {
		enginetest.Ask(t, c, fmt.Sprintf("SELECT t_st_id FROM trade WHERE t_id = %d", trades[i].Int))
	}
	for i, c := range both {
		enginetest.Ask(t, c, fmt.Sprintf("SELECT status FROM traderesult(%d, 25.00, timestamp '2006-01-02 09:00')", trades[i].Int))
	}
	for i, c := range both {
		if err := c.Tx(t.Context(), workload.Commit); err != nil {
			t.Errorf("trade %d: %v", i+1, err)
		}
	}
}

// faults injects one fault at a time and sees that the check of that name
// finds it.
func (l loaded) faults(t *testing.T) {
	c := l.session(t).Conn()
	tally := l.already(t, c)
	if failed := l.check(t, c, tally); len(failed) > 0 {
		t.Fatalf("before any fault: %v", failed)
	}
	// A completed trade that neither an order nor a result accounts for.
	const entered = "INSERT INTO trade SELECT (r).* FROM (SELECT jsonb_populate_record(t, '{\"t_id\": 99999999}') AS r FROM trade t WHERE t_id = 77) x"
	for _, x := range []struct{ check, fault string }{
		{"condition 1", "UPDATE broker SET b_num_trades = b_num_trades + 1 WHERE b_id = 3"},
		{"condition 1", "UPDATE trade SET t_st_id = 'SBMT' WHERE t_id = 77"},
		{"condition 2", "UPDATE broker SET b_comm_total = b_comm_total - 0.01 WHERE b_id = 3"},
		{"condition 2", "UPDATE trade SET t_comm = t_comm + 0.01 WHERE t_id = 77"},
		{"condition 3", "UPDATE holding SET h_qty = h_qty + 1 WHERE h_t_id = (SELECT min(h_t_id) FROM holding)"},
		{"condition 3", "DELETE FROM holding WHERE h_t_id = (SELECT min(h_t_id) FROM holding)"},
		{"condition 3", "UPDATE holding_summary SET hs_qty = hs_qty + 1 WHERE hs_ca_id = (SELECT min(hs_ca_id) FROM holding_summary)"},
		{"settlements", "DELETE FROM settlement WHERE se_t_id = 77"},
		{"settlements", "UPDATE trade SET t_st_id = 'CNCL' WHERE t_id = 77"},
		{"requests", "INSERT INTO trade_request SELECT t_id, t_tt_id, t_s_symb, t_qty, t_bid_price, 1 FROM trade WHERE t_id = 77"},
		{"requests", "UPDATE trade SET t_st_id = 'PNDG' WHERE t_id = 77"},
		{"histories", "UPDATE trade SET t_st_id = 'SBMT' WHERE t_id = 77"},
		{"histories", "DELETE FROM trade_history WHERE th_t_id = 77 AND th_st_id = 'CMPT'"},
		{"payments", "DELETE FROM cash_transaction WHERE ct_t_id = (SELECT min(ct_t_id) FROM cash_transaction)"},
		{"payments", "UPDATE cash_transaction SET ct_amt = ct_amt + 0.01 WHERE ct_t_id = (SELECT min(ct_t_id) FROM cash_transaction)"},
		{"orders", entered},
		{"completed trades", entered},
		{"balances", "UPDATE customer_account SET ca_bal = ca_bal + 0.01 WHERE ca_id = 1"},
		{"volumes", "UPDATE last_trade SET lt_vol = lt_vol - 1 WHERE lt_s_symb = (SELECT min(lt_s_symb) FROM last_trade)"},
	} {
		enginetest.Inside(t, c, func() {
			enginetest.Ask(t, c, x.fault)
			if failed := l.check(t, c, tally, x.check); len(failed) == 0 {
				t.Errorf("check %s holds in spite of: %s", x.check, x.fault)
			}
		})
	}
}
