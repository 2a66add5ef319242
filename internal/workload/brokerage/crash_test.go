package brokerage_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/drive"
	"github.com/loadstone-perf/loadstone/internal/engine/enginetest"
	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/workload"
	"github.com/loadstone-perf/loadstone/internal/workload/brokerage"
)

// journal is what users were told, kept outside the database, and the moment
// at which it has the server killed.
type journal struct {
	opener
	kill func() error
	at   int // acknowledged Trade-Results; 0 is never

	mu        sync.Mutex
	orders    map[int64]bool
	completed map[int64]bool
	feeds     int
}

func newJournal(l loaded) *journal {
	return &journal{opener: opener{l}, orders: map[int64]bool{}, completed: map[int64]bool{}}
}

// Open implements drive.Target.
func (j *journal) Open(ctx context.Context, user int) (drive.Session, error) {
	s, err := j.opener.Open(ctx, user)
	return noted{s, j}, err
}

// noted is a session whose acknowledged work is written down.
type noted struct {
	drive.Session
	*journal
}

// Do implements drive.Session.
func (n noted) Do(ctx context.Context, t *workload.Transaction, in any) (workload.Outcome, error) {
	o, err := n.Session.Do(ctx, t, in)
	if err != nil || o.Status != workload.Committed {
		return o, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	switch t.Name {
	case "tradeorder":
		n.orders[brokerage.Trade(in)] = true
	case "marketfeed":
		n.feeds++
	case "traderesult":
		n.completed[brokerage.Trade(in)] = true
		if len(n.completed) == n.at {
			if err := n.kill(); err != nil {
				return o, err
			}
		}
	}
	return o, nil
}

// kept sees that every acknowledged order is in the database, and that every
// acknowledged Trade-Result's trade is complete.
func (j *journal) kept(t *testing.T, c workload.Conn) {
	t.Helper()
	found := map[int64]string{}
	// The market also completes orders that an earlier run left open.
	v := enginetest.Ask(t, c, "SELECT t_id, t_st_id FROM trade WHERE t_id > 11520")
	for i := 0; i < len(v); i += 2 {
		found[v[i].Int] = string(v[i+1].Str)
	}
	for n := range j.orders {
		if found[n] == "" {
			t.Errorf("order %d was acknowledged and is lost", n)
		}
	}
	for n := range j.completed {
		if found[n] != "CMPT" {
			t.Errorf("trade %d was acknowledged as complete and is %q", n, found[n])
		}
	}
}

// chance is another seed in each run, or the one that LOADSTONE_TEST_SEED
// repeats.
func chance(t *testing.T) uint64 {
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

// crash has a driver play customers and market, kills the server at a random
// moment, and sees that after recovery every order and every Trade-Result that
// was acknowledged is there and that all conditions hold.
func (l loaded) crash(t *testing.T, server *enginetest.Server) {
	seed := chance(t)
	s := rng.At(seed, rng.Name("crash"))
	before := l.already(t, l.session(t).Conn())
	j := newJournal(l)
	j.kill, j.at = server.Kill, int(s.Between(20, 200))
	t.Logf("LOADSTONE_TEST_SEED=%d repeats this: killed after %d Trade-Results", seed, j.at)
	rep, err := drive.Run(t.Context(), drive.Config{
		Workload: j.d, Target: j, Clock: clock.Real{}, Seed: seed, Users: 6, Measure: time.Minute, MaxReopen: 1,
	}, nowhere{})
	if err == nil {
		t.Fatal("the server was killed and the run ended as if it had not been")
	}
	server.Recover(t)
	c := l.session(t).Conn()
	j.kept(t, c)
	t.Logf("%d orders and %d Trade-Results were acknowledged, %v are unknown", len(j.orders), len(j.completed), rep.Tally.Unknown)
	if len(j.completed) < j.at || len(j.orders) < j.at {
		t.Errorf("%d orders and %d Trade-Results at the crash, want %d", len(j.orders), len(j.completed), j.at)
	}
	if failed := l.check(t, c, both(before, rep.Tally)); len(failed) > 0 {
		t.Error("after recovery:", failed, fmt.Sprint(rep.Tally))
	}
}
