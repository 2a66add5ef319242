package drive

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// virtual is the clock of tests that run in a synctest bubble, where time
// passes only while everyone waits. It is not clock.Real, whose waits Run
// sharpens with the kernel's help.
type virtual struct{ clock.Real }

var bubbleClock = virtual{}

// pause waits for d in a bubble; false where ctx or quit ends first.
func pause(ctx context.Context, d time.Duration) bool {
	return bubbleClock.SleepUntil(ctx, bubbleClock.Now().Add(d)) == nil
}

// work is the answer of a fake target to one attempt.
type work func(ctx context.Context, user int, t *workload.Transaction) (workload.Outcome, error)

// target is a target in memory. Its sessions fail with class Connection once
// they are closed, also under a Do.
type target struct {
	do     work
	refuse func(number int) error // of Open; may be nil

	opened, closed atomic.Int64
}

type session struct {
	t      *target
	number int
	ctx    context.Context
	cancel context.CancelFunc
	once   sync.Once
}

func (t *target) Open(_ context.Context, number int) (Session, error) {
	if t.refuse != nil {
		if err := t.refuse(number); err != nil {
			return nil, err
		}
	}
	t.opened.Add(1)
	s := &session{t: t, number: number}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

var errGone = errors.New("the connection is gone")

func (s *session) Do(_ context.Context, t *workload.Transaction, _ any) (workload.Outcome, error) {
	if s.ctx.Err() != nil {
		return failed(workload.Connection), errGone
	}
	out, err := s.t.do(s.ctx, s.number, t)
	if s.ctx.Err() != nil {
		return failed(workload.Connection), errGone
	}
	return out, err
}

func (s *session) Close() error {
	s.once.Do(func() {
		s.t.closed.Add(1)
		s.cancel()
	})
	return nil
}

func failed(c workload.Class) workload.Outcome {
	return workload.Outcome{Status: workload.Failed, Class: c}
}

// takes answers every attempt with a commit after d.
func takes(d time.Duration) work {
	return func(ctx context.Context, _ int, _ *workload.Transaction) (workload.Outcome, error) {
		pause(ctx, d)
		return workload.Outcome{}, nil
	}
}

// script plays steps over and over; a failure begins them anew.
type script struct {
	steps []workload.Step
	at    int
	seen  func(workload.Outcome)
}

func (s *script) Next() workload.Step { return s.steps[s.at] }

func (s *script) Done(o workload.Outcome) {
	if s.seen != nil {
		s.seen(o)
	}
	s.at++
	if s.at == len(s.steps) || o.Status == workload.Failed {
		s.at = 0
	}
}

// types makes transactions with the given names.
func types(names ...string) []*workload.Transaction {
	var out []*workload.Transaction
	for i, n := range names {
		out = append(out, &workload.Transaction{Index: i, Name: n})
	}
	return out
}

// plays makes a workload whose users repeat steps. unit names the unit, ""
// where each step is one.
func plays(unit string, txs []*workload.Transaction, steps ...workload.Step) *workload.Definition {
	return &workload.Definition{
		Name: "fake", Unit: unit, Transactions: txs,
		NewUser: func(int, rng.Stream) workload.User { return &script{steps: steps} },
	}
}

// single is a workload of one transaction that is a unit, with a think time.
func single(think time.Duration) *workload.Definition {
	txs := types("buy")
	return plays("", txs, workload.Step{Transaction: txs[0], Think: think, Last: true})
}

// sums is a Sink that adds everything up and checks what every interval must
// be like.
type sums struct {
	t         *testing.T
	intervals []record.Interval // without histograms
	response  []*hdrhistogram.Histogram
	service   []*hdrhistogram.Histogram
	undone    []*hdrhistogram.Histogram
	late      *hdrhistogram.Histogram
	fail      func(n int) error
}

func newSums(t *testing.T, series int) *sums {
	s := &sums{t: t, late: record.NewHistogram()}
	for range series {
		s.response = append(s.response, record.NewHistogram())
		s.service = append(s.service, record.NewHistogram())
		s.undone = append(s.undone, record.NewHistogram())
	}
	return s
}

func (s *sums) Interval(i record.Interval) error {
	if n := len(s.intervals); n > 0 && s.intervals[n-1].End != i.Start || n == 0 && i.Start != 0 || i.End <= i.Start {
		s.t.Errorf("interval %d is from %v to %v", len(s.intervals), i.Start, i.End)
	}
	merge := func(to, from *hdrhistogram.Histogram) int64 {
		if from == nil {
			return 0
		}
		to.Merge(from)
		return from.TotalCount()
	}
	merge(s.late, i.Late)
	i.Late = nil
	copied := make([]record.Series, len(i.Types))
	for k, v := range i.Types {
		if n := merge(s.response[k], v.Response); n != v.Committed {
			s.t.Errorf("series %d has %d response times for %d commits", k, n, v.Committed)
		}
		if n := merge(s.service[k], v.Service); n != v.Committed {
			s.t.Errorf("series %d has %d service times for %d commits", k, n, v.Committed)
		}
		if n := merge(s.undone[k], v.Undone); n != v.RolledBack {
			s.t.Errorf("series %d has %d response times for %d roll-backs", k, n, v.RolledBack)
		}
		v.Response, v.Service, v.Undone = nil, nil, nil
		v.Errors = append([]int64(nil), v.Errors...)
		copied[k] = v
	}
	i.Types = copied
	s.intervals = append(s.intervals, i)
	if s.fail != nil {
		return s.fail(len(s.intervals))
	}
	return nil
}

// series sums series k over the intervals that lie in [from, to].
func (s *sums) series(k int, from, to time.Duration) record.Series {
	sum := record.Series{Errors: make([]int64, workload.Classes)}
	for _, i := range s.intervals {
		if i.Start < from || i.End > to {
			continue
		}
		v := i.Types[k]
		sum.Committed += v.Committed
		sum.RolledBack += v.RolledBack
		sum.Retries += v.Retries
		sum.ResponseSum += v.ResponseSum
		sum.ThinkSum += v.ThinkSum
		for c, n := range v.Errors {
			sum.Errors[c] += n
		}
	}
	return sum
}

const forever = time.Duration(1<<63 - 1)

// all sums series k over the whole run.
func (s *sums) all(k int) record.Series { return s.series(k, 0, forever) }

// counts are Totals without the map, for comparing.
func checkTotals(t *testing.T, rep Report, s *sums) {
	t.Helper()
	for k, total := range rep.Totals {
		sum := s.all(k)
		errs := map[string]int64{}
		for c, n := range sum.Errors {
			if n > 0 {
				errs[workload.Class(c).String()] = n
			}
		}
		if total.Committed != sum.Committed || total.RolledBack != sum.RolledBack || total.Retries != sum.Retries || len(errs) != len(total.Errors) {
			t.Errorf("%s: the report has %+v, the intervals come to %+v", total.Type, total, sum)
		}
		for c, n := range errs {
			if total.Errors[c] != n {
				t.Errorf("%s: %d errors of class %s in the report, %d in the intervals", total.Type, total.Errors[c], c, n)
			}
		}
	}
}
