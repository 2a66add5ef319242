package wire

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loadstone-perf/loadstone/internal/engine/socket"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

func tx(tb testing.TB, c *Conn, op workload.TxOp) {
	tb.Helper()
	if err := c.Tx(tb.Context(), op); err != nil {
		tb.Fatal(err)
	}
}

func TestTransactionsCommitAndRollBack(t *testing.T) {
	c, other := dial(t, anySQL), dial(t, anySQL)
	do(t, c, "DROP TABLE IF EXISTS tx; CREATE TABLE tx (a integer PRIMARY KEY)")
	count := func() int64 { return mustAsk(t, other, "select count(*) from tx").Int }
	tx(t, c, workload.Begin)
	mustAsk(t, c, "insert into tx values (1)")
	if n := count(); n != 0 {
		t.Errorf("%d rows seen before the commit", n)
	}
	tx(t, c, workload.Commit)
	if n := count(); n != 1 {
		t.Errorf("%d rows after the commit", n)
	}
	tx(t, c, workload.Begin)
	mustAsk(t, c, "insert into tx values (2)")
	tx(t, c, workload.Rollback)
	if n := count(); n != 1 {
		t.Errorf("%d rows after the rollback", n)
	}
	mustAsk(t, c, "insert into tx values (3)")
	if n := count(); n != 2 {
		t.Errorf("%d rows after an insert outside transactions", n)
	}
}

func TestIsolationIsAsAsked(t *testing.T) {
	c := dial(t, anySQL)
	for op, want := range map[workload.TxOp]string{
		workload.Begin: "read committed", workload.BeginReadCommitted: "read committed",
		workload.BeginRepeatableRead: "repeatable read", workload.BeginSerializable: "serializable",
	} {
		tx(t, c, op)
		if v := mustAsk(t, c, "select current_setting('transaction_isolation')"); string(v.Str) != want {
			t.Errorf("step %d: %q, want %q", op, v.Str, want)
		}
		if !c.InTransaction() {
			t.Errorf("step %d: not in a transaction", op)
		}
		tx(t, c, workload.Commit)
	}
}

// Begin goes out with the first statement: until then the server knows of no
// transaction.
func TestBeginCostsNoRoundTrip(t *testing.T) {
	c, other := dial(t, anySQL), dial(t, anySQL)
	pid := mustAsk(t, c, "select pg_backend_pid()")
	state := func() string {
		return string(mustAsk(t, other, "select state from pg_stat_activity where pid = $1", pid).Str)
	}
	tx(t, c, workload.Begin)
	if s := state(); s != "idle" {
		t.Errorf("after Begin the server says %q", s)
	}
	tx(t, c, workload.Commit)
	tx(t, c, workload.Begin)
	tx(t, c, workload.Rollback)
	tx(t, c, workload.Rollback)
	tx(t, c, workload.Begin)
	mustAsk(t, c, "select 1")
	if s := state(); s != "idle in transaction" {
		t.Errorf("after the first statement the server says %q", s)
	}
	tx(t, c, workload.Commit)
	if s := state(); s != "idle" {
		t.Errorf("after Commit the server says %q", s)
	}
}

func TestMisplacedTransactionStepsAreErrors(t *testing.T) {
	c := dial(t, anySQL)
	if err := c.Tx(t.Context(), workload.Commit); err == nil {
		t.Error("Commit outside a transaction")
	}
	for range 2 {
		tx(t, c, workload.Begin)
		if err := c.Tx(t.Context(), workload.BeginSerializable); err == nil {
			t.Error("Begin after Begin")
		}
		mustAsk(t, c, "select 1")
		if err := c.Tx(t.Context(), workload.Begin); err == nil {
			t.Error("Begin in a transaction")
		}
		tx(t, c, workload.Commit)
	}
	if err := c.Tx(t.Context(), workload.Rollback+1); err == nil {
		t.Error("an unknown step")
	}
}

func TestFailedTransactionsEndInRollback(t *testing.T) {
	c := dial(t, anySQL)
	do(t, c, "CREATE TEMP TABLE f (a integer PRIMARY KEY)")
	spoil := func() {
		t.Helper()
		tx(t, c, workload.Begin)
		mustAsk(t, c, "insert into f values (1)")
		var e *Error
		if _, err := ask(c, t.Context(), "insert into f values (1)"); !errors.As(err, &e) || e.Code != "23505" || !strings.Contains(e.Detail, "(1)") {
			t.Fatalf("error %#v", err)
		}
		if _, err := ask(c, t.Context(), "select 1"); !errors.As(err, &e) || e.Code != "25P02" {
			t.Fatalf("in a failed transaction: %v", err)
		}
	}
	spoil()
	tx(t, c, workload.Rollback)
	spoil()
	if err := c.Tx(t.Context(), workload.Commit); !errors.Is(err, errCommitFailed) {
		t.Errorf("commit of a failed transaction: %v", err)
	}
	spoil()
	tx(t, c, workload.Begin) // rolls back first
	mustAsk(t, c, "insert into f values (2)")
	tx(t, c, workload.Commit)
	if n := mustAsk(t, c, "select sum(a) from f"); n.Int != 2 {
		t.Errorf("the sum is %d", n.Int)
	}
	// The very first statement fails, together with its Begin.
	tx(t, c, workload.Begin)
	if _, err := ask(c, t.Context(), "select 1 / $1::integer", workload.Int(0)); err == nil || !c.InTransaction() {
		t.Errorf("error %v, in a transaction: %t", err, c.InTransaction())
	}
	tx(t, c, workload.Rollback)
	mustAsk(t, c, "select 1")
}

func TestServerErrorsAreClassed(t *testing.T) {
	a, b := dial(t, anySQL), dial(t, anySQL)
	do(t, a, "DROP TABLE IF EXISTS cls; CREATE TABLE cls (id integer PRIMARY KEY, n integer); INSERT INTO cls VALUES (1, 0), (2, 0)")
	const bump = "update cls set n = n + 1 where id = $1"
	one, two := workload.Int(1), workload.Int(2)
	want := func(err error, class workload.Class) {
		t.Helper()
		if got := Classify(err); got != class {
			t.Errorf("%v is classed %s, want %s", err, got, class)
		}
	}

	tx(t, a, workload.BeginRepeatableRead)
	mustAsk(t, a, "select n from cls")
	mustAsk(t, b, bump, one)
	_, err := ask(a, t.Context(), bump, one)
	want(err, workload.Retry)
	tx(t, a, workload.Rollback)

	tx(t, a, workload.Begin)
	mustAsk(t, a, bump, one)
	do(t, b, "SET lock_timeout = '10ms'")
	_, err = ask(b, t.Context(), bump, one)
	want(err, workload.Timeout)
	do(t, b, "SET lock_timeout = 0; SET statement_timeout = '10ms'")
	_, err = ask(b, t.Context(), bump, one)
	want(err, workload.Timeout)
	do(t, b, "SET statement_timeout = 0")

	do(t, a, "SET deadlock_timeout = '10ms'")
	tx(t, b, workload.Begin)
	mustAsk(t, b, bump, two)
	var wg sync.WaitGroup
	var second error
	wg.Go(func() { _, second = ask(b, t.Context(), bump, one) })
	_, first := ask(a, t.Context(), bump, two)
	if first != nil {
		tx(t, a, workload.Rollback)
	} else {
		tx(t, a, workload.Commit)
	}
	wg.Wait()
	if first == nil {
		first = second
	}
	want(first, workload.Deadlock)

	_, err = ask(a, t.Context(), "select * from nowhere")
	want(err, workload.Fatal)
	mustAsk(t, a, "select 1")

	pid := mustAsk(t, b, "select pg_backend_pid()")
	do(t, a, fmt.Sprintf("select pg_terminate_backend(%d, 5000)", pid.Int))
	_, err = ask(b, t.Context(), bump, one)
	want(err, workload.Connection)
	if !strings.Contains(err.Error(), "terminating connection") {
		t.Errorf("%v does not say what the server said", err)
	}
	_, err = ask(b, t.Context(), bump, one)
	want(err, workload.Connection)
}

func TestClassify(t *testing.T) {
	for _, test := range []struct {
		err  error
		want workload.Class
	}{
		{nil, workload.NoError},
		{&Error{Code: "40001"}, workload.Retry},
		{fmt.Errorf("statement: %w", &Error{Code: "40P01"}), workload.Deadlock},
		{&Error{Code: "57014"}, workload.Timeout},
		{&Error{Code: "55P03"}, workload.Timeout},
		{&Error{Code: "08006"}, workload.Connection},
		{&Error{Code: "57P01"}, workload.Connection},
		{&Error{Code: "57P03"}, workload.Connection},
		{&Error{Code: "25P03", Severity: "FATAL"}, workload.Connection},
		{&Error{Code: "23505", Severity: "ERROR"}, workload.Fatal},
		{&Error{Code: "XX000", Severity: "PANIC"}, workload.Connection},
		{&pgconn.PgError{Code: "53300", Severity: "FATAL"}, workload.Connection},
		{&pgconn.PgError{Code: "28P01", Severity: "FATAL"}, workload.Fatal},
		{&socket.Lost{Err: io.EOF}, workload.Connection},
		{&socket.Lost{Err: os.ErrDeadlineExceeded}, workload.Connection},
		{&socket.Lost{Err: net.ErrClosed}, workload.Connection},
		{&socket.Lost{Err: &malformed{'D', "bad"}}, workload.Fatal},
		{errors.New("other"), workload.Fatal},
	} {
		if got := Classify(test.err); got != test.want {
			t.Errorf("%v is classed %s, want %s", test.err, got, test.want)
		}
	}
}

func TestLongQueriesGetMemoryByTheServersBuffers(t *testing.T) {
	c := dial(t, anySQL)
	want := mustAsk(t, c, "SELECT 1024 * least(65536, greatest(4096, setting::bigint * 8 / 16)) FROM pg_settings WHERE name = 'shared_buffers'").Int
	if err := c.LongQueries(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := mustAsk(t, c, "SELECT pg_size_bytes(current_setting('work_mem'))").Int; got != want {
		t.Errorf("work_mem is %d bytes, want %d", got, want)
	}
}
