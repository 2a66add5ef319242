package drive

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

func TestFailedStepEndsTheUnitAndTheScriptBeginsAnew(t *testing.T) {
	txs := types("a", "b", "c")
	n := 0
	tg := &target{}
	tg.do = func(ctx context.Context, _ int, tx *workload.Transaction) (workload.Outcome, error) {
		pause(ctx, 10*time.Millisecond)
		if tx.Name == "b" {
			if n++; n%2 == 1 {
				return failed(workload.Timeout), errors.New("too slow")
			}
		}
		return workload.Outcome{}, nil
	}
	rep, s := drive(t, Config{
		Workload: plays("unit", txs, workload.Step{Transaction: txs[0]}, workload.Step{Transaction: txs[1]}, workload.Step{Transaction: txs[2], Last: true}),
		Target:   tg, Users: 1, Measure: time.Second,
	})
	// Twenty times: a, b fails, a, b, c.
	for k, want := range []int64{40, 20, 20, 20} {
		if got := s.all(k).Committed; got != want {
			t.Errorf("%s: %d commits, want %d", rep.Totals[k].Type, got, want)
		}
	}
	if e := rep.Totals[3].Errors["timeout"]; e != 20 {
		t.Errorf("%d units failed, want 20", e)
	}
	if len(rep.Errors) != 1 || rep.Errors[0] != (record.ErrorSeen{Type: "b", Class: "timeout", Text: "too slow", At: .02, Count: 20}) {
		t.Errorf("errors seen: %+v", rep.Errors)
	}
}

func TestFailedUnitWaitsForTheNextArrival(t *testing.T) {
	txs := types("a", "b")
	tg := &target{do: func(context.Context, int, *workload.Transaction) (workload.Outcome, error) {
		return failed(workload.Timeout), errors.New("too slow")
	}}
	rep, _ := drive(t, Config{
		Workload: plays("unit", txs, workload.Step{Transaction: txs[0]}, workload.Step{Transaction: txs[1], Last: true}),
		Target:   tg, RatePerS: 10, Arrivals: Constant, Users: 2, Measure: time.Second,
	})
	if n := rep.Totals[0].Errors["timeout"]; n != 10 || rep.Totals[2].Errors["timeout"] != 10 {
		t.Errorf("%d transactions and %d units failed of 10 arrivals", n, rep.Totals[2].Errors["timeout"])
	}
}

func TestLastAttemptToReopenIsTheLast(t *testing.T) {
	opens := 0
	tg := &target{do: func(context.Context, int, *workload.Transaction) (workload.Outcome, error) {
		return failed(workload.Connection), errGone
	}}
	tg.refuse = func(int) error {
		if opens++; opens > 1 {
			return errors.New("no")
		}
		return nil
	}
	_, _, _ = end(t, Config{Workload: single(0), Target: tg, Users: 1, Measure: time.Hour, MaxReopen: 3})
	if opens != 1+3 {
		t.Errorf("opened %d times, want 1 and 3 attempts more", opens)
	}
}

// A connection that comes when the run has ended is closed all the same.
func TestConnectionThatComesTooLateIsClosed(t *testing.T) {
	opens := 0
	tg := &target{do: func(context.Context, int, *workload.Transaction) (workload.Outcome, error) {
		return failed(workload.Connection), errGone
	}}
	tg.refuse = func(int) error {
		if opens++; opens > 1 {
			pause(context.Background(), 10*time.Second)
		}
		return nil
	}
	rep, _ := drive(t, Config{Workload: single(0), Target: tg, Users: 1, Measure: time.Second, Drain: time.Second})
	if rep.Totals[0].Errors["connection"] != 1 || tg.opened.Load() != 2 {
		t.Errorf("%+v; %d sessions", rep.Totals[0], tg.opened.Load())
	}
}

func TestRetriesAreBoundedAndCounted(t *testing.T) {
	for _, class := range []workload.Class{workload.Retry, workload.Deadlock} {
		var attempts, units int
		tg := &target{}
		tg.do = func(ctx context.Context, _ int, _ *workload.Transaction) (workload.Outcome, error) {
			attempts++
			// Units in turn need 1, 2, 3, 4, 5 … attempts; three are allowed.
			if attempts > units%5 || attempts == 3 {
				good := attempts > units%5
				attempts, units = 0, units+1
				if good {
					return workload.Outcome{}, nil
				}
			}
			return failed(class), fmt.Errorf("conflict %d", units)
		}
		rep, s := drive(t, Config{Workload: single(time.Second), Target: tg, Users: 1, Measure: 50 * time.Second, MaxAttempts: 3})
		sum := s.all(0)
		done := int64(units)
		if done < 45 || sum.Committed != (done+4)/5+(done+3)/5+(done+2)/5 || sum.Errors[class] != (done+1)/5+done/5 {
			t.Errorf("%v: of %d units %d committed and %d failed", class, done, sum.Committed, sum.Errors[class])
		}
		if want := (done+3)/5 + 2*((done+2)/5+(done+1)/5+done/5); sum.Retries != want {
			t.Errorf("%v: %d retries, want %d", class, sum.Retries, want)
		}
		if len(rep.Errors) != 1 || rep.Errors[0].Count != sum.Retries+sum.Errors[class] || rep.Errors[0].Text != "conflict 1" {
			t.Errorf("%v: errors seen: %+v", class, rep.Errors)
		}
		if rep.Tally.Unknown["buy"] != 0 {
			t.Errorf("%v: %d unknown outcomes: what is to be retried was undone", class, rep.Tally.Unknown["buy"])
		}
		// The back-off is in the response time but for the first attempt.
		if sum.ResponseSum == 0 || s.response[0].ValueAtPercentile(30) != 0 {
			t.Errorf("%v: response times come to %d µs", class, sum.ResponseSum)
		}
	}
}

func TestLostConnectionIsOpenedAgainAndItsOutcomeUnknown(t *testing.T) {
	for _, connections := range []int{0, 1} {
		n, refused := 0, 0
		tg := &target{}
		tg.do = func(ctx context.Context, _ int, _ *workload.Transaction) (workload.Outcome, error) {
			pause(ctx, 10*time.Millisecond)
			if n++; n%10 == 0 {
				refused = 2
				return failed(workload.Connection), errGone
			}
			return workload.Outcome{}, nil
		}
		tg.refuse = func(int) error {
			if refused > 0 {
				refused--
				return errors.New("not yet")
			}
			return nil
		}
		users := 1 + connections // with connections 1: two users share it
		rep, s := drive(t, Config{Workload: single(0), Target: tg, Users: users, Connections: connections, Measure: 5 * time.Second, Seed: 3})
		sum := s.all(0)
		lost := sum.Errors[workload.Connection]
		if lost < 10 || rep.Tally.Unknown["buy"] != lost || rep.Driver.Reopened < lost-1 || rep.Driver.Reopened > lost {
			t.Errorf("%d connections lost, %d outcomes unknown, %d opened again", lost, rep.Tally.Unknown["buy"], rep.Driver.Reopened)
		}
		if s.response[0].Max() < 50_000 {
			t.Errorf("the longest response time is %d µs: the back-off of opening again is not in it", s.response[0].Max())
		}
		if m := s.service[0].Max(); !s.service[0].ValuesAreEquivalent(m, 10_000) {
			t.Errorf("the longest service time is %d µs, want 10,000", m)
		}
		if n, m := len(rep.Errors), rep.Errors[0].Count; n != 1 || m != lost {
			t.Errorf("errors seen: %+v", rep.Errors)
		}
	}
}

// end runs c in a bubble to its error.
func end(t *testing.T, c Config) (Report, *sums, error) {
	t.Helper()
	var rep Report
	var err error
	s := newSums(t, len(c.Workload.Transactions))
	synctest.Test(t, func(t *testing.T) {
		c.Clock = bubbleClock
		rep, err = Run(t.Context(), c, s)
		if tg := c.Target.(*target); tg.opened.Load() != tg.closed.Load() {
			t.Errorf("%d sessions opened, %d closed", tg.opened.Load(), tg.closed.Load())
		}
	})
	if err == nil {
		t.Fatal("the run ended well")
	}
	checkTotals(t, rep, s)
	return rep, s, err
}

func TestUserThatCannotComeBackEndsTheRun(t *testing.T) {
	var down atomic.Bool
	var tries atomic.Int64
	tg := &target{}
	tg.do = func(ctx context.Context, user int, _ *workload.Transaction) (workload.Outcome, error) {
		pause(ctx, 10*time.Millisecond)
		if user == 2 {
			down.Store(true)
		}
		if down.Load() {
			return failed(workload.Connection), errGone
		}
		return workload.Outcome{}, nil
	}
	tg.refuse = func(int) error {
		if down.Load() {
			tries.Add(1)
			return errors.New("the server is down")
		}
		return nil
	}
	rep, _, err := end(t, Config{Workload: single(0), Target: tg, Users: 3, Ramp: 3 * time.Second, Measure: time.Hour, MaxReopen: 4})
	for _, want := range []string{"user ", "in 4 attempts", "the server is down"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v: it does not say %q", err, want)
		}
	}
	// User 2 comes after two seconds, 0 and 1 notice then: whoever is first
	// through with its four attempts, the others have at most as many.
	if n := tries.Load(); n < 4 || n > 12 {
		t.Errorf("%d attempts to connect", n)
	}
	if len(rep.Ended) == 0 || rep.Driver.EndedEarly != len(rep.Ended) || rep.Phases.MeasureEnd > 10 || rep.Phases.MeasureEnd < 2 {
		t.Errorf("ended %+v, phases %+v", rep.Ended, rep.Phases)
	}
}

func TestFatalErrorsInARowEndTheRun(t *testing.T) {
	n := 0
	tg := &target{}
	tg.do = func(ctx context.Context, _ int, _ *workload.Transaction) (workload.Outcome, error) {
		pause(ctx, 10*time.Millisecond)
		// Four in a row and a good one, ten times, then bad for ever.
		if n++; n <= 50 && n%5 == 0 {
			return workload.Outcome{}, nil
		}
		return failed(workload.Fatal), fmt.Errorf("no table orders (%d)", n)
	}
	rep, s, err := end(t, Config{Workload: single(0), Target: tg, Users: 1, Measure: time.Hour, MaxFatal: 5})
	if !strings.Contains(err.Error(), "5 fatal errors in a row, the first: buy: no table orders (51)") {
		t.Errorf("the error is %v", err)
	}
	if sum := s.all(0); sum.Committed != 10 || sum.Errors[workload.Fatal] != 45 {
		t.Errorf("%d commits and %d fatal errors, want 10 and 45", sum.Committed, sum.Errors[workload.Fatal])
	}
	if len(rep.Ended) != 1 || rep.Ended[0].User != 0 || rep.Ended[0].At != 550*time.Millisecond {
		t.Errorf("ended %+v", rep.Ended)
	}
}

func TestSinkErrorEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSums(t, 1)
		full := errors.New("the disk is full")
		s.fail = func(n int) error {
			if n == 3 {
				return full
			}
			return nil
		}
		rep, err := Run(t.Context(), Config{Clock: bubbleClock, Workload: single(0), Target: &target{do: takes(10 * time.Millisecond)}, Users: 2, Measure: time.Hour}, s)
		if !errors.Is(err, full) || len(s.intervals) != 3 {
			t.Errorf("error %v after %d intervals", err, len(s.intervals))
		}
		if rep.Phases.MeasureEnd != 3 {
			t.Errorf("the run ended at %v s, want 3", rep.Phases.MeasureEnd)
		}
	})
}

func TestConnectionThatCannotBeOpenedEndsTheRunAtOnce(t *testing.T) {
	tg := &target{do: takes(0)}
	tg.refuse = func(n int) error {
		if n == 20 {
			return errors.New("too many clients")
		}
		return nil
	}
	started := false
	_, _, err := end(t, Config{Workload: single(0), Target: tg, Users: 40, Measure: time.Hour, Started: func(time.Time) { started = true }})
	if !strings.Contains(err.Error(), "connection 21 of 40: too many clients") || started {
		t.Errorf("error %v; started %v", err, started)
	}
}

func TestDrainIsBoundedAndWhatItCutsIsUnknown(t *testing.T) {
	tg := &target{}
	tg.do = func(ctx context.Context, user int, _ *workload.Transaction) (workload.Outcome, error) {
		if user == 1 {
			<-ctx.Done()
		}
		pause(ctx, 10*time.Millisecond)
		return workload.Outcome{}, nil
	}
	rep, s := drive(t, Config{Workload: single(0), Target: tg, Users: 2, Measure: time.Second, Drain: 3 * time.Second})
	if rep.Driver.Aborted != 1 || rep.Tally.Unknown["buy"] != 1 || rep.Totals[0].Committed != 100 || len(rep.Totals[0].Errors) != 0 {
		t.Errorf("driver %+v, tally %+v, totals %+v", rep.Driver, rep.Tally, rep.Totals)
	}
	if rep.Driver.LastEndS != 4 || rep.Phases.MeasureEnd != 1 || len(s.intervals) < 4 {
		t.Errorf("the last work ended at %v s, measuring at %v", rep.Driver.LastEndS, rep.Phases.MeasureEnd)
	}
}

func TestErrorClassesAreNamedAsInRecords(t *testing.T) {
	names := record.ErrorClasses()
	if len(names) != int(workload.Classes) {
		t.Fatalf("records have %d classes, workloads %d", len(names), workload.Classes)
	}
	for i, n := range names {
		if workload.Class(i).String() != n {
			t.Errorf("class %d is %q in records and %q in workloads", i, n, workload.Class(i))
		}
	}
}
