package orderentry_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/catalog"
	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/enginetest"
	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/workload"
	"github.com/loadstone-perf/loadstone/internal/workload/orderentry"
)

// crashSeed chooses the moment of the crash: another one in each run, or the
// one that LOADSTONE_TEST_SEED repeats.
func crashSeed(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv("LOADSTONE_TEST_SEED")
	if text == "" {
		return uint64(clock.Real{}.Now().UnixNano())
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("LOADSTONE_TEST_SEED: %v", err)
	}
	return seed
}

// crashUsers is how many users work when the server is killed.
const crashUsers = 6

// crash is the durability test of clause 3.5: several users work in all modes
// at once, the server is killed at a random moment, and after recovery the
// database holds every order and payment that was acknowledged, none that
// nobody asked for, and all conditions.
func crash(t *testing.T, server *enginetest.Server, list []subject) {
	seed := crashSeed(t)
	if !server.Own() {
		for _, s := range list {
			t.Run(s.mode, func(t *testing.T) { s.crashInside(t, server, seed) })
		}
		return
	}
	const users, most = crashUsers, 4_000
	s := rng.At(seed, rng.Name("crash"))
	moment := s.Between(100, 1_000) // acknowledged transactions
	t.Logf("LOADSTONE_TEST_SEED=%d repeats this: killed after %d transactions", seed, moment)
	before := make([]workload.Tally, len(list))
	logs := make([]journal, len(list))
	for i, s := range list {
		before[i] = s.loaded().tallied(t)
	}
	kill := sync.OnceValue(server.Kill)
	var wg sync.WaitGroup
	for n := range users {
		i := n % len(list)
		session, u := list[i].loaded().Open(t), list[i].Definition.NewUser(n, rng.At(seed, uint64(n)))
		wg.Go(func() {
			for range most {
				st := u.Next()
				o, err := perform(t, session, st.Transaction, st.Input)
				u.Done(o)
				logs[i].add(st, o)
				if o.Class == workload.Connection {
					return
				}
				if err != nil {
					t.Errorf("%s: class %v: %v", st.Transaction.Name, o.Class, err)
					return
				}
				if logs[i].count()*int64(len(list)) >= moment {
					if err := kill(); err != nil {
						t.Error(err)
					}
				}
			}
			t.Errorf("user %d did %d transactions and the server still runs", n, most)
		})
	}
	wg.Wait()
	server.Recover(t)
	for i, s := range list {
		t.Run(s.mode, func(t *testing.T) { s.recovered(t, before[i], &logs[i]) })
	}
}

// insideVariable names the directory of a database to crash, subjectVariable
// engine and mode, for the child.
const (
	insideVariable  = "LOADSTONE_TEST_CRASH"
	subjectVariable = "LOADSTONE_TEST_SUBJECT"
)

// crashInside is crash for an engine that runs in this very process: users work
// in a child, which is killed. It prints what they are told; what it had no time
// to print, at most one transaction of each user, is neither known nor asked
// for.
func (s subject) crashInside(t *testing.T, server *enginetest.Server, seed uint64) {
	r := rng.At(seed, rng.Name("crash"))
	moment := r.Between(100, 1_000)
	t.Logf("LOADSTONE_TEST_SEED=%d repeats this: killed after %d transactions", seed, moment)
	before := s.loaded().tallied(t)
	log := journal{written: map[string]bool{}, committed: map[string]int64{}, unknown: map[string]int64{}}
	t.Setenv("LOADSTONE_TEST_SEED", strconv.FormatUint(seed, 10))
	t.Setenv(subjectVariable, s.Name)
	server.Child(t, "TestCrashInside", insideVariable, func(line string) bool {
		name, row, ok := strings.Cut(line, ": ")
		if !ok || !slices.ContainsFunc(s.Definition.Transactions, func(tx *workload.Transaction) bool { return tx.Name == name }) {
			t.Logf("the child says: %s", line)
			return log.total < moment
		}
		log.total++
		log.committed[name]++
		if row != "" {
			log.written[row+"\n"] = true
		}
		return log.total < moment
	})
	for _, tx := range s.Definition.Transactions {
		log.unknown[tx.Name] = crashUsers
	}
	s.recovered(t, before, &log)
}

// TestCrashInside is the child of crashInside.
func TestCrashInside(t *testing.T) {
	dir := os.Getenv(insideVariable)
	if dir == "" {
		t.Skip("only as a child")
	}
	seed := crashSeed(t)
	name, mode, _ := strings.Cut(os.Getenv(subjectVariable), ", ")
	i := slices.IndexFunc(catalog.Engines(), func(e catalog.Engine) bool { return e.Name == name })
	server := enginetest.Reopen(t, catalog.Engines()[i].New(), dir, engine.Config{Connections: 40, Durable: true})
	d := define(t, map[string]string{"warehouses": "1", "mode": mode})
	d.Database = mode
	var out sync.Mutex
	loaded{enginetest.Subject{Name: mode, Definition: d, Database: server}}.together(t, crashUsers, func(n int, session *engine.Session) {
		u := d.NewUser(n, rng.At(seed, uint64(n)))
		for range 10_000 { // long before them the child is killed
			st := u.Next()
			o, err := perform(t, session, st.Transaction, st.Input)
			u.Done(o)
			if err != nil {
				t.Errorf("%s: class %v: %v", st.Transaction.Name, o.Class, err)
				return
			}
			if o.Status == workload.Committed {
				out.Lock()
				fmt.Printf("%s: %s\n", st.Transaction.Name, strings.TrimSuffix(orderentry.Written(st.Transaction.Name, st.Input), "\n"))
				out.Unlock()
			}
		}
	})
}

// count is how many transactions were acknowledged.
func (j *journal) count() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.total
}

// recovered compares what users were told with what the database holds.
func (s subject) recovered(t *testing.T, tally workload.Tally, log *journal) {
	l := s.loaded()
	c := l.Open(t).Conn()
	found := map[string]bool{}
	orders := enginetest.Ask(t, c, "SELECT o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt FROM orders WHERE o_id > 3000")
	for row := range slices.Chunk(orders, 6) {
		found[fmt.Sprintln("order", row[0].Int, row[1].Int, row[2].Int, row[3].Int, row[4].Int, row[5].Int)] = true
	}
	payments := enginetest.Ask(t, c, "SELECT h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_date, h_amount FROM history")
	for row := range slices.Chunk(payments, 7) {
		found[fmt.Sprintln("payment", row[0].Int, row[1].Int, row[2].Int, row[3].Int, row[4].Int, row[5].Int, row[6].Int)] = true
	}
	lost := 0
	for row := range log.written {
		if !found[row] {
			lost++
			t.Errorf("acknowledged and lost: %s", row)
		}
	}
	t.Logf("%d transactions acknowledged, %d orders and payments among them, %d lost; %v were under way",
		log.total, len(log.written), lost, log.unknown)
	if len(log.written) == 0 || len(log.unknown) == 0 {
		t.Error("the crash met no work")
	}
	log.into(tally)
	if failed := l.Check(t, c, tally); len(failed) > 0 {
		t.Errorf("after recovery: %v", failed)
	}
}
