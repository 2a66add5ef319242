package brokerage_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/workload"
	"github.com/loadstone-perf/loadstone/internal/workload/brokerage"
)

// modes are the ways to send a transaction.
func modes() []string { return []string{"procedures", "statements"} }

// allTypes plays a user who does the work of customers and market, and then the
// clerk's, on c: a clean-up and each table once. f is called with each step and
// how it ended, and says whether to go on.
func allTypes(d *workload.Definition, c workload.Conn, f func(st workload.Step, s workload.Status, err error) bool) {
	const steps, clerkSteps = 3_000, 13
	more := true
	play := func(u workload.User, n int) {
		for range n {
			if !more {
				return
			}
			st := u.Next()
			status, err := st.Transaction.Exec(context.Background(), c, st.Input)
			o := workload.Outcome{Status: status}
			if err != nil {
				o = workload.Outcome{Status: workload.Failed, Class: workload.Fatal}
			}
			more = f(st, status, err)
			u.Done(o)
		}
	}
	play(d.NewUser(0, rng.At(14)), steps)
	run := d.NewRun(1, 3)
	play(run.User(run.Extra(), rng.At(13)), clerkSteps)
}

// TestEachTypeHasItsIsolation: clause 3.3, and that one call of commit or
// rollback ends each.
func TestEachTypeHasItsIsolation(t *testing.T) {
	const committed, repeatable, serializable = workload.BeginReadCommitted, workload.BeginRepeatableRead, workload.BeginSerializable
	levels := map[string]workload.TxOp{
		"tradestatus": committed, "marketwatch": committed, "securitydetail": committed, "customerposition": committed,
		"tradeorder": repeatable, "traderesult": serializable, "tradelookup": committed, "brokervolume": committed,
		"tradeupdate": repeatable, "marketfeed": committed, "datamaintenance": committed, "tradecleanup": committed,
	}
	for _, mode := range modes() {
		d, c, seen := define(t, little(map[string]string{"mode": mode})), newDesk(), map[string]int{}
		allTypes(d, c, func(st workload.Step, status workload.Status, err error) bool {
			name := st.Transaction.Name
			end := workload.Commit
			if status == workload.RolledBack {
				end, name = workload.Rollback, name+" rolled back"
			}
			seen[name]++
			if want := []workload.TxOp{levels[st.Transaction.Name], end}; err != nil || !slices.Equal(c.ops, want) {
				t.Fatalf("%s, %s: %v, steps of control %v, want %v", mode, name, err, c.ops, want)
			}
			c.ops = c.ops[:0]
			return true
		})
		if len(seen) != len(levels)+1 || seen["tradeorder rolled back"] == 0 {
			t.Errorf("%s: played were %v", mode, seen)
		}
	}
}

// TestWhatFailsIsRolledBack has one statement after the other fail.
func TestWhatFailsIsRolledBack(t *testing.T) {
	for _, mode := range modes() {
		d := define(t, little(map[string]string{"mode": mode}))
		for _, s := range d.Statements {
			c, failed := newDesk(), 0
			c.fail = s.Name
			allTypes(d, c, func(st workload.Step, _ workload.Status, err error) bool {
				if err != nil {
					failed++
					if !errors.Is(err, errDesk) || c.ops[len(c.ops)-1] != workload.Rollback || slices.Contains(c.ops, workload.Commit) {
						t.Errorf("%s, %s, where %q fails: %v, %v", mode, st.Transaction.Name, s.Name, err, c.ops)
					}
				}
				c.ops = c.ops[:0]
				return failed < 3
			})
			if failed == 0 {
				t.Errorf("%s: nothing runs %q", mode, s.Name)
			}
		}
	}
}

// TestOnlyWhatMayBeEmptyIs has one statement after the other find or change
// nothing: a database that lacks a row is told, and no transaction counts as
// done that did not do its work.
func TestOnlyWhatMayBeEmptyIs(t *testing.T) {
	may := []string{
		"volume of brokers", "brokervolume", // nothing is open
		"trades of account in time", "trades of security in time", "first trade of account", "history of holdings",
		"trades of account", "recent history", // an account without trades
		"position", "lots, oldest first", "lots, newest first", "requests in the money", "marketfeed",
		"settlements", "cash transactions", "history of trades", // of trades that are there
		"rename executors", "change cash types", "rename cash transactions",
		"history of open requests", "submit open requests", "delete open requests", "history of cancelled trades", "cancel trades",
	}
	for _, mode := range modes() {
		d := define(t, little(map[string]string{"mode": mode}))
		for _, s := range d.Statements {
			// A row may have its new value already.
			if strings.HasPrefix(s.Name, "maintain ") {
				continue
			}
			c, failed := newDesk(), 0
			c.none = s.Name
			allTypes(d, c, func(_ workload.Step, _ workload.Status, err error) bool {
				if err != nil {
					failed++
				}
				return failed == 0
			})
			if want := !slices.Contains(may, s.Name); want != (failed > 0) {
				t.Errorf("%s: %d steps failed where %q finds nothing", mode, failed, s.Name)
			}
		}
	}
}

// TestTradesAreCompletedOnce: a Trade-Result leaves a trade that is complete as
// it is, and does not count; one for a trade that was not submitted is an error.
func TestTradesAreCompletedOnce(t *testing.T) {
	for _, mode := range modes() {
		for status, want := range map[string]workload.Status{
			"SBMT": workload.Committed, "CMPT": workload.RolledBack, "PNDG": workload.Failed, "CNCL": workload.Failed,
		} {
			c, results := newDesk(), 0
			c.status = []byte(status)
			allTypes(define(t, little(map[string]string{"mode": mode})), c, func(st workload.Step, got workload.Status, err error) bool {
				if st.Transaction.Name != brokerage.TradeResult {
					return true
				}
				results++
				if err != nil {
					got = workload.Failed
				}
				if got != want {
					t.Fatalf("%s: a trade that is %s ends as %v, %v", mode, status, got, err)
				}
				return results < 100
			})
			if results == 0 {
				t.Errorf("%s: no Trade-Result", mode)
			}
		}
	}
}
