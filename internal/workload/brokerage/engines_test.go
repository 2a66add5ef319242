package brokerage_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/catalog"
	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/drive"
	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/enginetest"
	"github.com/loadstone-perf/loadstone/internal/engine/postgres"
	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/unit"
	"github.com/loadstone-perf/loadstone/internal/workload"
	"github.com/loadstone-perf/loadstone/internal/workload/brokerage"
)

// define makes the workload with these parameters.
func define(t testing.TB, texts map[string]string) *workload.Definition {
	t.Helper()
	k := brokerage.Kind()
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

// little are parameters of a small database: 5,760 trades a day.
func little(more map[string]string) map[string]string {
	out := map[string]string{
		"customers": "1000", "initial_trade_days": "2", "scale_factor": "5000", "market_days": "30", "news_bytes": "1000",
	}
	maps.Copy(out, more)
	return out
}

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

// load loads the workload into database name.
func load(t *testing.T, db engine.Database, name string, params map[string]string) loaded {
	t.Helper()
	d := *define(t, params)
	d.Database = name
	r, err := db.Load(t.Context(), &d, engine.LoadOptions{Workers: 2})
	if err != nil {
		t.Fatalf("load %v: %v", params, err)
	}
	t.Logf("loaded %d rows, %v (estimated %v), stages %.2v", r.Rows, r.Bytes.Human(), d.DataSize.Human(), r.StageSeconds)
	return loaded{&d, db}
}

func newTally() workload.Tally {
	return workload.Tally{
		Committed: map[string]int64{}, RolledBack: map[string]int64{}, Unknown: map[string]int64{}, Facts: map[string]int64{},
	}
}

// standard is what the first subject did and held, which all others must do
// and hold.
type standard struct {
	mu      sync.Mutex
	known   bool
	subject enginetest.Subject
	history enginetest.History
	holds   enginetest.Contents
}

// TestEveryEngine loads a small database for each mode of each engine of the
// catalogue that this machine has, and sees that
//
//   - one history leaves the same rows behind and shows the same everywhere,
//   - customers and market, all at once, keep all conditions,
//   - the clerk cancels what was left open, and changes each of its tables,
//   - what was acknowledged survives a crash of the server.
//
// Adding an engine to the catalogue adds it here.
func TestEveryEngine(t *testing.T) {
	first := &standard{}
	for _, e := range catalog.Engines() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			everyMode(t, e.New(), first)
		})
	}
}

// everyMode runs all tests on one engine. What needs no durable server comes
// first, as loading does in trials.
func everyMode(t *testing.T, e engine.Engine, first *standard) {
	server := enginetest.Restartable(t, e, engine.Config{Connections: 40})
	list := databases(t, server, e)
	if e.Name() == postgres.Name {
		t.Run("Own", list[0].onPostgreSQL)
	}
	for _, l := range list {
		t.Run(l.d.Database, func(t *testing.T) {
			t.Run("HistoryIsTheSame", func(t *testing.T) { l.history(t, e.Name()+", "+l.d.Database, first) })
			t.Run("ClerkMaintainsAndCleansUp", l.clerk)
		})
	}
	server.Restart(t, engine.Config{Connections: 40, Durable: true})
	users := 8
	if engine.Inside(e) {
		users = 1 // and the market: more writers than one spend their time on retries
	}
	for _, l := range list {
		t.Run("UsersAndMarketKeepAllConditions/"+l.d.Database, func(t *testing.T) { l.run(t, users) })
	}
	if server.Own() { // else a crash would be that of the test
		t.Run("SurvivesACrash", func(t *testing.T) { list[0].crash(t, server) })
	}
}

// databases loads one for each mode that the workload has on e. PostgreSQL
// copies the first, which takes a tenth of the time.
func databases(t *testing.T, server *enginetest.Server, e engine.Engine) (list []loaded) {
	t.Helper()
	for _, mode := range modes() {
		params := little(map[string]string{"mode": mode})
		if _, ok := define(t, params).Scripts[e.Name()]; !ok && mode == "procedures" {
			continue
		}
		if len(list) > 0 && e.Name() == postgres.Name {
			list = append(list, list[0].copyOf(t, mode, mode))
			continue
		}
		list = append(list, load(t, server, mode, params))
	}
	return list
}

// subject is l as the tests over all engines take it.
func (l loaded) subject(name string) enginetest.Subject {
	return enginetest.Subject{Name: name, Definition: l.d, Database: l.db}
}

// history plays one user's history, with the market in it, and compares it
// with the first subject's.
func (l loaded) history(t *testing.T, name string, first *standard) {
	const steps = 1_500
	if failed := l.check(t, l.session(t).Conn(), newTally()); len(failed) > 0 {
		t.Errorf("after loading: %v", failed)
	}
	s := l.subject(name)
	h := s.Play(t, resolved{l.d.NewUser(3, rng.At(4)), false}, steps, brokerage.Shown)
	holds := s.Contents(t)
	l.undone(t, s)
	first.mu.Lock()
	defer first.mu.Unlock()
	if first.known {
		enginetest.Same(t, first.subject, s, first.history, h, first.holds, holds)
		return
	}
	first.known, first.subject, first.history, first.holds = true, s, h, holds
	// All types but the clerk's two.
	if len(h.Counts) != 10 {
		t.Errorf("the history lacks something: %v", h.Counts)
	}
	if n, want := len(holds["trade"]), 11_520+h.Counts["tradeorder"]; n != want {
		t.Errorf("TRADE has %d rows, want %d", n, want)
	}
}

// resolved is a user whose orders are either all rolled back or none is. What
// is rolled back takes a number on some engines and none on others, so that
// histories with both can't be compared.
type resolved struct {
	workload.User
	cancel bool
}

// Next implements workload.User.
func (r resolved) Next() workload.Step {
	st := r.User.Next()
	brokerage.Cancel(st.Input, r.cancel)
	return st
}

// undone sees that orders that are rolled back leave nothing behind.
func (l loaded) undone(t *testing.T, s enginetest.Subject) {
	const rows = "SELECT (SELECT count(*) FROM trade) + (SELECT count(*) FROM trade_history) + (SELECT count(*) FROM trade_request)"
	c := l.session(t).Conn()
	before := enginetest.Ask(t, c, rows)[0].Int
	h := s.Play(t, resolved{l.d.NewUser(4, rng.At(5)), true}, 90, brokerage.Shown)
	if n := enginetest.Ask(t, c, rows)[0].Int; n != before || h.Counts["rolled back"] == 0 || h.Counts["tradeorder"] != 0 {
		t.Errorf("%d rows became %d, of the orders %v", before, n, h.Counts)
	}
}

// opener opens sessions for a driver.
type opener struct{ loaded }

func (o opener) Open(ctx context.Context, _ int) (drive.Session, error) { return o.db.Open(ctx, o.d) }

// nowhere takes what a driver saw.
type nowhere struct{}

func (nowhere) Interval(record.Interval) error { return nil }

// already is what the database holds beyond what was loaded, as a tally.
func (l loaded) already(t *testing.T, c workload.Conn) workload.Tally {
	t.Helper()
	v := enginetest.Ask(t, c, `SELECT (SELECT count(*) FROM trade WHERE t_id > 11520), (SELECT count(*) FROM trade WHERE t_id > 11520 AND t_st_id = 'CMPT'),
		(SELECT CAST(sum(lt_vol) AS decimal(18, 0)) FROM last_trade)`)
	tally := newTally()
	tally.Committed["tradeorder"], tally.Committed["traderesult"], tally.Facts["fed"] = v[0].Int, v[1].Int, v[2].Int
	return tally
}

// both is a with what b counted beside it.
func both(a, b workload.Tally) workload.Tally {
	for name, n := range b.Committed {
		a.Committed[name] += n
	}
	for name, n := range b.Unknown {
		a.Unknown[name] += n
	}
	a.Facts["fed"] += b.Facts["fed"]
	return a
}

// run has a driver play customers, market and clerk, a random history, and runs
// the checks with what was counted since the database was loaded. It lasts until
// the market has done enough, a minute at most.
func (l loaded) run(t *testing.T, users int) {
	const lasts, atMost, results, feeds = 2 * time.Second, time.Minute, 100, 4
	seed := chance(t)
	t.Logf("LOADSTONE_TEST_SEED=%d repeats what they draw", seed)
	c := l.session(t).Conn()
	tally := l.already(t, c)
	j := newJournal(l)
	rep, err := drive.Run(t.Context(), drive.Config{
		Workload: l.d, Target: j, Clock: clock.Real{}, Seed: seed, Users: users, Measure: lasts,
		Extend: func(elapsed time.Duration) time.Duration {
			j.mu.Lock()
			defer j.mu.Unlock()
			if elapsed > atMost || len(j.completed) >= results && j.feeds >= feeds {
				return 0
			}
			return time.Second
		},
	}, nowhere{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range rep.Errors {
		if e.Class == "fatal" || e.Class == "connection" || e.Class == "timeout" {
			t.Errorf("%s: %d errors of class %s, the first: %s", e.Type, e.Count, e.Class, e.Text)
		}
	}
	var all, errs int64
	for _, o := range rep.Totals {
		t.Log(o.Type, o.Committed, o.RolledBack, o.Retries, o.Errors)
		all += o.Committed
		for _, n := range o.Errors {
			errs += n
		}
	}
	if rep.Tally.Committed["traderesult"] == 0 || rep.Tally.Committed["marketfeed"] == 0 || rep.Tally.Committed["tradecleanup"] != 1 {
		t.Errorf("the market did nothing: %v", rep.Tally.Committed)
	}
	if errs*100 > all {
		t.Errorf("%d errors beside %d commits", errs, all)
	}
	j.kept(t, c)
	tally = both(tally, rep.Tally)
	if failed := l.check(t, c, tally); len(failed) > 0 {
		t.Errorf("checks: %v, tally %v", failed, tally)
	}
}

// change runs sql with one argument for :x.
func change(t *testing.T, c workload.Conn, sql string, x workload.Value) {
	t.Helper()
	st := &workload.Statement{Index: -1, Name: sql, Text: sql, Params: []string{"x"}}
	if _, err := c.Run(t.Context(), st, []workload.Value{x}); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// clerk plays the session that cleans up and maintains: what was left open is
// cancelled, and each of twelve tables changes.
func (l loaded) clerk(t *testing.T) {
	const users = 3
	s := l.session(t)
	c := s.Conn()
	long := workload.Value{Kind: workload.Instant, Int: time.Date(2004, 12, 1, 9, 0, 0, 0, time.UTC).UnixMicro()}
	change(t, c, "UPDATE trade SET t_dts = :x WHERE t_id > 11520 AND t_st_id IN ('PNDG', 'SBMT')", long)
	change(t, c, "UPDATE trade_history SET th_dts = :x WHERE th_t_id IN (SELECT t_id FROM trade WHERE t_st_id IN ('PNDG', 'SBMT'))", long)
	open := enginetest.Ask(t, c, "SELECT count(*) FROM trade WHERE t_st_id IN ('PNDG', 'SBMT')")[0].Int
	if open == 0 {
		t.Error("no trade is open")
	}
	run := l.d.NewRun(users, 3)
	u := run.User(users+run.Extra()-1, rng.At(3)).(workload.Timed)
	maintained := []string{
		"account_permission", "address", "company", "customer", "customer_taxrate", "daily_market", "exchange",
		"financial", "news_item", "security", "taxrate", "watch_item",
	}
	for n := range 1 + len(maintained) {
		d := *l.d
		d.Tables = slices.DeleteFunc(slices.Clone(l.d.Tables), func(x workload.Table) bool { return n == 0 || x.Name != maintained[n-1] })
		table := loaded{&d, l.db}.subject("clerk")
		before := table.Contents(t)
		st := u.NextAt(time.Duration(n) * time.Minute)
		o, err := s.Do(t.Context(), st.Transaction, st.Input)
		if err != nil || o.Status != workload.Committed {
			t.Fatalf("step %d, %s: %+v, %v", n, st.Transaction.Name, o, err)
		}
		u.DoneAt(st.Due, o)
		if want := time.Duration(n) * time.Minute; st.Due != want {
			t.Errorf("step %d is due at %v, want %v", n, st.Due, want)
		}
		if n > 0 && maps.EqualFunc(before, table.Contents(t), slices.Equal) {
			t.Errorf("step %d did not change %s", n, maintained[n-1])
		}
	}
	v := enginetest.Ask(t, c, "SELECT (SELECT count(*) FROM trade WHERE t_st_id = 'CNCL'), (SELECT count(*) FROM trade_request)")
	if v[0].Int != open || v[1].Int != 0 {
		t.Errorf("%d trades were cancelled of %d, %d requests are left", v[0].Int, open, v[1].Int)
	}
	if failed := l.check(t, c, newTally(), "requests", "histories", "settlements"); len(failed) > 0 {
		t.Error(failed)
	}
}
