package orderentry_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/catalog"
	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/enginetest"
	"github.com/loadstone-perf/loadstone/internal/engine/mysql"
	"github.com/loadstone-perf/loadstone/internal/engine/postgres"
	"github.com/loadstone-perf/loadstone/internal/engine/sqlite"
	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/workload"
	"github.com/loadstone-perf/loadstone/internal/workload/orderentry"
)

// subject is the workload in one mode on one engine, with the engine's server.
type subject struct {
	enginetest.Subject
	mode string
}

// loaded is s as the other tests take it.
func (s subject) loaded() loaded { return loaded{s.Subject} }

// modes are those that the workload has on an engine: procedures only where
// it brings some for it.
func modes(t *testing.T, engine string) []string {
	t.Helper()
	if _, ok := define(t, map[string]string{"mode": "procedures"}).Scripts[engine]; ok {
		return []string{"procedures", "statements"}
	}
	return []string{"statements"}
}

// commits says whether the procedures of s end the transaction of whoever calls
// them: MySQL does not tell a procedure whether there is one.
func (s subject) commits(t *testing.T) bool {
	t.Helper()
	if s.mode != "procedures" || !strings.HasPrefix(s.Name, mysql.Name+",") {
		return false
	}
	version := enginetest.Ask(t, s.Open(t).Conn(), "SELECT version()")[0].Str
	return !strings.Contains(string(version), "MariaDB")
}

// TestEveryEngine loads one warehouse for each mode of each engine of the
// catalogue that this machine has, and sees that
//
//   - one history leaves the same rows behind and shows the same everywhere,
//   - the ACID tests of clause 3 pass,
//   - concurrent users keep all conditions,
//   - what was acknowledged survives a crash of the server,
//
// and what is of one engine alone.
//
// The tests are here, beside the workload whose inputs they script; what is
// about no workload (playing, reading and comparing contents, killing and
// recovering) is in enginetest. Adding an engine to the catalogue adds it here.
func TestEveryEngine(t *testing.T) {
	var first *standard
	for _, e := range catalog.Engines() {
		t.Run(e.Name, func(t *testing.T) { everyMode(t, e.New(), &first) })
	}
	if first == nil {
		t.Skip("no engine of the catalogue has a server on this machine")
	}
}

// standard is what the first subject did and held, which all others must do
// and hold.
type standard struct {
	subject enginetest.Subject
	history enginetest.History
	holds   enginetest.Contents
}

// everyMode runs all tests on one engine. first is set by the first call.
func everyMode(t *testing.T, e engine.Engine, first **standard) {
	server := enginetest.Restartable(t, e, engine.Config{Connections: 40})
	if e.Name() == postgres.Name {
		t.Run("Own", func(t *testing.T) { onPostgreSQL(t, server) })
	}
	var list []subject
	for _, mode := range modes(t, e.Name()) {
		x := load(t, server, mode, map[string]string{"warehouses": "1", "mode": mode})
		x.Name = e.Name() + ", " + mode
		list = append(list, subject{x.Subject, mode})
	}
	if e.Name() == sqlite.Name {
		t.Run("WalksNoLargeTable", list[0].walksOnSQLite)
	}
	server.Restart(t, engine.Config{Connections: 40, Durable: true})
	for _, s := range list {
		t.Run(s.mode, func(t *testing.T) {
			t.Run("HistoryIsTheSame", func(t *testing.T) { s.history(t, first) })
			t.Run("ACID", s.acid)
			t.Run("UsersKeepAllConditions", s.users)
		})
	}
	t.Run("SurvivesACrash", func(t *testing.T) { crash(t, server, list) })
}

// history plays one user's history and compares it with the first subject's.
func (s subject) history(t *testing.T, first **standard) {
	const steps = 460 // twenty decks
	if failed := s.loaded().Check(t, s.loaded().Open(t).Conn(), enginetest.NewTally()); len(failed) > 0 {
		t.Errorf("after loading: %v", failed)
	}
	h := s.Play(t, s.Definition.NewUser(3, rng.At(78)), steps, orderentry.Shown)
	holds := s.Contents(t)
	if *first == nil {
		*first = &standard{s.Subject, h, holds}
		if h.Counts["rolled back"] == 0 || len(h.Counts) != 6 {
			t.Errorf("the history lacks something: %v", h.Counts)
		}
		if n, want := len(holds["orders"]), 30_000+h.Counts["neworder"]; n != want {
			t.Errorf("ORDERS has %d rows, want %d", n, want)
		}
		return
	}
	enginetest.Same(t, (*first).subject, s.Subject, (*first).history, h, (*first).holds, holds)
}

// users plays a random concurrent history and checks the conditions.
func (s subject) users(t *testing.T) {
	const users, steps = 4, 460
	l := s.loaded()
	tally := l.tallied(t)
	var log journal
	l.together(t, users, func(i int, session *engine.Session) {
		u := l.Definition.NewUser(i, rng.At(11, uint64(i)))
		for range steps {
			st := u.Next()
			o, err := perform(t, session, st.Transaction, st.Input)
			u.Done(o)
			if err != nil {
				t.Errorf("%s: class %v: %v", st.Transaction.Name, o.Class, err)
				return
			}
			log.add(st, o)
		}
	})
	log.into(tally)
	if failed := l.Check(t, l.Open(t).Conn(), tally); len(failed) > 0 {
		t.Errorf("checks: %v", failed)
	}
}

// retriesAtMost bounds how often a transaction that lost a conflict is tried
// again, as a driver does.
const retriesAtMost = 50

// perform does a transaction, and does it again where it lost a conflict.
func perform(t *testing.T, s *engine.Session, tx *workload.Transaction, in any) (o workload.Outcome, err error) {
	for range retriesAtMost {
		o, err = s.Do(t.Context(), tx, in)
		if o.Status != workload.Failed || o.Class != workload.Retry && o.Class != workload.Deadlock && o.Class != workload.Timeout {
			break
		}
	}
	return o, err
}

// tallied is a tally of what tests did to l's database since it was loaded;
// deliveries that found a district empty make it one too many.
func (l loaded) tallied(t *testing.T) workload.Tally {
	t.Helper()
	loaded := 30_000 * l.Definition.Params.Int("warehouses")
	v := enginetest.Ask(t, l.Open(t).Conn(), fmt.Sprintf(`SELECT (SELECT count(*) FROM orders) - %d, (SELECT count(*) FROM history) - %[1]d,
		(SELECT CAST(sum(c_delivery_cnt) AS decimal(12, 0)) FROM customer)`, loaded))
	tally := enginetest.NewTally()
	tally.Committed["neworder"], tally.Committed["payment"], tally.Committed["delivery"] = v[0].Int, v[1].Int, (v[2].Int+9)/10
	return tally
}

// journal is what users were told, kept outside the database.
type journal struct {
	mu                 sync.Mutex
	written            map[string]bool // see orderentry.Written
	committed, unknown map[string]int64
	total              int64
}

// add notes how a step ended.
func (j *journal) add(st workload.Step, o workload.Outcome) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.written == nil {
		j.written, j.committed, j.unknown = map[string]bool{}, map[string]int64{}, map[string]int64{}
	}
	name := st.Transaction.Name
	switch {
	case o.Status == workload.Committed:
		j.total++
		j.committed[name]++
		if row := orderentry.Written(name, st.Input); row != "" {
			j.written[row] = true
		}
	case o.Class == workload.Connection:
		j.unknown[name]++
	}
}

// into adds the journal to a tally.
func (j *journal) into(t workload.Tally) {
	for name, n := range j.committed {
		t.Committed[name] += n
	}
	for name, n := range j.unknown {
		t.Unknown[name] += n
	}
}
