package wire_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/enginetest"
	"github.com/loadstone-perf/loadstone/internal/engine/mysql"
	"github.com/loadstone-perf/loadstone/internal/engine/mysql/wire"
	"github.com/loadstone-perf/loadstone/internal/engine/sqltext"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// server is a real server; network and address are as Config has them.
type server struct{ socket, tcp string }

func start(t *testing.T) server {
	t.Helper()
	db := enginetest.Serve(t, mysql.New(), engine.Config{Connections: 160})
	tcp, socket, ok := strings.Cut(db.(interface{ Endpoint() string }).Endpoint(), ", Unix socket ")
	if !ok {
		t.Fatal("the endpoint names no socket")
	}
	return server{socket, tcp}
}

func (s server) config() wire.Config {
	return wire.Config{Network: "unix", Address: s.socket, User: "root"}
}

func dial(t testing.TB, c wire.Config) *wire.Conn {
	t.Helper()
	conn, err := wire.Dial(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func exec(t testing.TB, c *wire.Conn, sql string) {
	t.Helper()
	if err := c.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// statement prepares sql and returns how to run it; order says which argument
// each placeholder takes.
func statement(t testing.TB, c *wire.Conn, sql string, order ...int) *workload.Statement {
	t.Helper()
	if err := c.Prepare(t.Context(), wire.Prepared{Index: -1, Name: sql, Text: sqltext.Text{SQL: sql, Order: order}}); err != nil {
		t.Fatal(err)
	}
	return &workload.Statement{Index: -1, Name: sql}
}

func run(t testing.TB, c *wire.Conn, st *workload.Statement, args ...workload.Value) workload.Result {
	t.Helper()
	r, err := c.Run(t.Context(), st, args)
	if err != nil {
		t.Fatalf("%s: %v", st.Name, err)
	}
	return r
}

func TestWire(t *testing.T) {
	s := start(t)
	admin := dial(t, s.config())
	exec(t, admin, `CREATE DATABASE wire; USE wire; CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(40), n BIGINT);
		INSERT INTO t VALUES (1, 'one', 0), (2, 'two', 0), (3, 'three', 0);
		CREATE PROCEDURE two() BEGIN SELECT 1; SELECT 2; END;
		CREATE PROCEDURE changing(x INT) BEGIN IF x = 1 THEN SELECT 1; ELSEIF x = 2 THEN SELECT 'a', 2.50; END IF; END;
		CREATE USER web@'%' IDENTIFIED BY 'secret'; GRANT ALL ON wire.* TO web@'%'`)
	for _, c := range []struct {
		name string
		test func(*testing.T, server)
	}{
		{"LetsInWhoProvesTheirPassword", logins},
		{"MapsArgumentsToPlaceholders", arguments},
		{"ReadsEveryType", types},
		{"TellsTheServerWhenATypeChanges", retyped},
		{"ReadsCalls", calls},
		{"ReadsRowsLargerThanAPacket", large},
		{"BeginsWithTheFirstStatement", begin},
		{"NeverCommitsPartOfATransaction", failed},
		{"EndsAStatementWithItsContext", cancelled},
		{"AllocatesNothingACall", allocations},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, s) })
	}
}

func logins(t *testing.T, s server) {
	for _, c := range []struct {
		network, user, password string
		want                    bool
	}{
		{"unix", "web", "secret", true}, {"tcp", "web", "secret", true}, {"unix", "root", "", true},
		{"unix", "web", "wrong", false}, {"unix", "web", "", false}, {"tcp", "web", "wrong", false},
		{"tcp", "root", "", false}, {"tcp", "", "", false}, {"unix", "nobody", "", false},
	} {
		cfg := wire.Config{Network: c.network, Address: map[string]string{"unix": s.socket, "tcp": s.tcp}[c.network], User: c.user, Password: c.password}
		conn, err := wire.Dial(t.Context(), cfg)
		if (err == nil) != c.want {
			t.Errorf("%s as %q with password %q: %v, want success %t", c.network, c.user, c.password, err, c.want)
		}
		if err == nil {
			_ = conn.Close()
		}
	}
	if _, err := wire.Dial(t.Context(), wire.Config{Network: "unix", Address: s.socket + "x", User: "root"}); wire.Classify(err) != workload.Connection {
		t.Errorf("no server: %v, want class connection", err)
	}
}

func arguments(t *testing.T, s server) {
	c := dial(t, s.config())
	st := statement(t, c, "SELECT ? - ?, ?, CONCAT(?, ?)", 1, 0, 1, 2, 2)
	r := run(t, c, st, workload.Int(3), workload.Int(10), workload.Str([]byte("ab")))
	if r.Values[0].Int != 7 || r.Values[1].Int != 10 || string(r.Values[2].Str) != "abab" {
		t.Errorf("%+v", r.Values)
	}
	if _, err := c.Run(t.Context(), st, []workload.Value{workload.Int(1)}); err == nil {
		t.Error("one argument of three was taken")
	}
	if err := c.Prepare(t.Context(), wire.Prepared{Index: -1, Name: "x", Text: sqltext.Text{SQL: "SELECT ?, ?", Order: []int{0}}}); err == nil {
		t.Error("a statement with more placeholders than known was taken")
	}
}

func types(t *testing.T, s server) {
	c := dial(t, s.config())
	for _, x := range []struct {
		sql  string
		want workload.Value
	}{
		{"CAST(-1 AS SIGNED)", workload.Int(-1)},
		{"CAST(4000000000 AS UNSIGNED)", workload.Int(4_000_000_000)},
		{"9223372036854775807", workload.Int(math.MaxInt64)},
		{"CAST(-12.340 AS DECIMAL(10,3))", workload.Value{Kind: workload.Fixed, Int: -12_340}},
		{"CAST(0.05 AS DECIMAL(4,4))", workload.Value{Kind: workload.Fixed, Int: 500}},
		{"SUM(1)", workload.Int(1)},
		{"NULL", workload.Value{}},
		{"'Ωmega'", workload.Str([]byte("Ωmega"))},
		{"x'00ff'", workload.Str([]byte{0, 0xff})},
		{"DATE '1969-12-31'", workload.Value{Kind: workload.Day, Int: -1}},
		{"TIMESTAMP '1970-01-01 00:00:01'", workload.Value{Kind: workload.Instant, Int: 1e6}},
		{"CAST('1969-12-31 23:59:59.999999' AS DATETIME(6))", workload.Value{Kind: workload.Instant, Int: -1}},
		{"TIMESTAMP '1970-01-02 00:00:00'", workload.Value{Kind: workload.Instant, Int: 86400e6}},
		{"1.5e0", workload.Str([]byte("1.5"))},
		{"TRUE", workload.Int(1)},
		{"b'101'", workload.Str([]byte{5})},
	} {
		r := run(t, c, statement(t, c, "SELECT "+x.sql))
		got := r.Values[0]
		if got.Kind != x.want.Kind || got.Int != x.want.Int || string(got.Str) != string(x.want.Str) {
			t.Errorf("%s is %+v, want %+v", x.sql, got, x.want)
		}
	}
	for _, sql := range []string{
		"18446744073709551615", "TIME '10:00:00'", "CAST(1 AS DECIMAL(30,20))", "123456789012345678901", "CAST('0000-00-00' AS DATE)",
	} {
		exec(t, c, "SET sql_mode = ''")
		st := statement(t, c, "SELECT "+sql)
		if r, err := c.Run(t.Context(), st, nil); err == nil && r.Values[0].Kind != workload.Null {
			t.Errorf("%s is %+v, want an error", sql, r.Values)
		}
		run(t, c, statement(t, c, "SELECT 1"))
	}
}

func retyped(t *testing.T, s server) {
	c := dial(t, s.config())
	st := statement(t, c, "SELECT CONCAT(?, '')", 0)
	for _, x := range []struct {
		in   workload.Value
		want string
	}{
		{workload.Value{}, ""}, {workload.Int(-5), "-5"}, {workload.Value{}, ""}, {workload.Int(6), "6"},
		{workload.Str([]byte("x")), "x"}, {workload.Money(-1999), "-19.99"}, {workload.Money(5), "0.05"},
		{workload.Value{Kind: workload.Day, Int: 19782}, "2024-02-29"},
		{workload.Value{Kind: workload.Instant, Int: -1}, "1969-12-31 23:59:59.999999"},
		{workload.Value{Kind: workload.Bit, Int: 1}, "1"}, {workload.Int(math.MinInt64), "-9223372036854775808"},
	} {
		r := run(t, c, st, x.in)
		if string(r.Values[0].Str) != x.want || (r.Values[0].Kind == workload.Null) != (x.in.Kind == workload.Null) {
			t.Errorf("%+v became %q, want %q", x.in, r.Values[0].Str, x.want)
		}
	}
	if _, err := c.Run(t.Context(), st, []workload.Value{{Kind: workload.Day, Int: math.MaxInt64}}); err == nil {
		t.Error("a day that no calendar has was taken")
	}
	if r := run(t, c, st, workload.Int(7)); string(r.Values[0].Str) != "7" {
		t.Errorf("after an error 7 became %q", r.Values[0].Str)
	}
}

func calls(t *testing.T, s server) {
	cfg := s.config()
	cfg.Database = "wire"
	c := dial(t, cfg)
	if r, err := c.Run(t.Context(), statement(t, c, "CALL two()"), nil); err == nil {
		t.Errorf("two sets of rows came as %+v", r)
	}
	st := statement(t, c, "CALL changing(?)", 0)
	for range 2 {
		if r := run(t, c, st, workload.Int(1)); r.Columns != 1 || r.Values[0].Int != 1 {
			t.Errorf("%+v", r)
		}
		if r := run(t, c, st, workload.Int(2)); r.Columns != 2 || string(r.Values[0].Str) != "a" || r.Values[1].Int != 250 {
			t.Errorf("%+v", r)
		}
		if r := run(t, c, st, workload.Int(3)); r.Rows() != 0 {
			t.Errorf("%+v", r)
		}
	}
}

func large(t *testing.T, s server) {
	admin := dial(t, s.config())
	exec(t, admin, "SET GLOBAL max_allowed_packet = 67108864")
	c := dial(t, s.config())
	const n = 40 << 20 // three packets
	r := run(t, c, statement(t, c, fmt.Sprintf("SELECT 1, REPEAT('abcd', %d), 2", n/4)))
	if len(r.Values) != 3 || len(r.Values[1].Str) != n || r.Values[2].Int != 2 || string(r.Values[1].Str[n-5:]) != "dabcd" {
		t.Errorf("%d values, %d bytes", len(r.Values), len(r.Values[1].Str))
	}
	if _, err := c.Run(t.Context(), statement(t, c, "SELECT LENGTH(?)", 0), []workload.Value{workload.Str(make([]byte, 17<<20))}); err == nil {
		t.Error("an argument larger than a packet was sent")
	}
	run(t, c, statement(t, c, "SELECT 1"))
}

func begin(t *testing.T, s server) {
	cfg := s.config()
	cfg.Database = "wire"
	a, b := dial(t, cfg), dial(t, cfg)
	in := statement(t, a, "SELECT @@in_transaction")
	level := statement(t, a, "SELECT trx_isolation_level FROM information_schema.INNODB_TRX WHERE trx_mysql_thread_id = CONNECTION_ID()")
	read := statement(t, a, "SELECT n FROM t WHERE a = 1 FOR UPDATE")
	tx := func(op workload.TxOp) {
		t.Helper()
		if err := a.Tx(t.Context(), op); err != nil {
			t.Fatal(err)
		}
	}
	questions := statement(t, b, "SHOW GLOBAL STATUS LIKE 'Questions'")
	asked := func() string { return string(run(t, b, questions).Values[1].Str) }
	_ = asked()
	for op, want := range map[workload.TxOp]string{
		workload.Begin: "READ COMMITTED", workload.BeginReadCommitted: "READ COMMITTED",
		workload.BeginRepeatableRead: "REPEATABLE READ", workload.BeginSerializable: "SERIALIZABLE",
	} {
		tx(op)
		if r := run(t, a, in); r.Values[0].Int != 1 {
			t.Errorf("begin %d: no transaction is open", op)
		}
		run(t, a, read)
		// The server answers from a picture that it makes anew where nobody
		// has asked for a tenth of a second.
		got := ""
		for range 5 {
			if r := run(t, a, level); r.Rows() == 1 {
				got = string(r.Values[0].Str)
			}
			if got == want || (clock.Real{}).SleepUntil(t.Context(), clock.Real{}.Now().Add(150e6)) != nil {
				break
			}
		}
		if got != want {
			t.Errorf("begin %d: level %s, want %s", op, got, want)
		}
		if err := a.Tx(t.Context(), workload.Begin); err == nil {
			t.Error("a second begin succeeded")
		}
		tx(workload.Rollback)
		if r := run(t, a, in); r.Values[0].Int != 0 {
			t.Errorf("begin %d: the transaction is still open", op)
		}
	}
	// Neither of these goes to the server.
	before := asked()
	tx(workload.Rollback)
	tx(workload.Begin)
	tx(workload.Commit)
	tx(workload.Begin)
	tx(workload.Rollback)
	if after := asked(); strings.TrimSpace(after) == "" || number(t, after) != number(t, before)+1 {
		t.Errorf("%s questions, then %s: an empty transaction is none", before, after)
	}
	if err := a.Tx(t.Context(), workload.Commit); err == nil {
		t.Error("commit without a transaction succeeded")
	}
}

func number(t *testing.T, text string) (n int) {
	t.Helper()
	if _, err := fmt.Sscan(text, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

func failed(t *testing.T, s server) {
	cfg := s.config()
	cfg.Database = "wire"
	c := dial(t, cfg)
	set := statement(t, c, "UPDATE t SET n = n + 1 WHERE a = 2")
	taken := statement(t, c, "INSERT INTO t VALUES (1, 'again', 0)")
	read := statement(t, c, "SELECT n FROM t WHERE a = 2")
	if err := c.Tx(t.Context(), workload.Begin); err != nil {
		t.Fatal(err)
	}
	run(t, c, set)
	_, err := c.Run(t.Context(), taken, nil)
	if e, ok := errors.AsType[*wire.Error](err); !ok || e.Code != 1062 || e.State != "23000" || wire.Classify(err) != workload.Fatal {
		t.Errorf("a key that is taken: %v", err)
	}
	if err := c.Tx(t.Context(), workload.Commit); err == nil {
		t.Error("a transaction of which a statement had failed was committed")
	}
	if r := run(t, c, read); r.Values[0].Int != 0 {
		t.Errorf("n is %d: part of the transaction stayed", r.Values[0].Int)
	}
	// Affected rows are those found, as elsewhere, changed or not.
	same := statement(t, c, "UPDATE t SET n = n WHERE a IN (2, 3)")
	if r := run(t, c, same); r.Affected != 2 {
		t.Errorf("%d rows affected, want 2", r.Affected)
	}
}

func cancelled(t *testing.T, s server) {
	c, watcher := dial(t, s.config()), dial(t, s.config())
	st := statement(t, c, "SELECT SLEEP(60)")
	ctx, cancel := context.WithCancel(t.Context())
	there := statement(t, watcher, fmt.Sprintf("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = %d AND COMMAND = 'Execute'", c.ID()))
	go func() {
		for range 1000 {
			if r, err := watcher.Run(context.Background(), there, nil); err != nil || r.Values[0].Int > 0 {
				break
			}
		}
		cancel()
	}()
	_, err := c.Run(ctx, st, nil)
	if !errors.Is(err, context.Canceled) || wire.Classify(err) != workload.Connection {
		t.Errorf("%v, want the context's error, classed connection", err)
	}
	if _, err := c.Run(t.Context(), st, nil); wire.Classify(err) != workload.Connection {
		t.Errorf("afterwards: %v, want class connection", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func allocations(t *testing.T, s server) {
	cfg := s.config()
	cfg.Database = "wire"
	c := dial(t, cfg)
	st := statement(t, c, "SELECT a, b, n FROM t WHERE a = ? AND b = ?", 0, 1)
	args := []workload.Value{workload.Int(1), workload.Str([]byte("one"))}
	ctx := t.Context()
	n := testing.AllocsPerRun(200, func() {
		if err := c.Tx(ctx, workload.Begin); err != nil {
			t.Fatal(err)
		}
		if r, err := c.Run(ctx, st, args); err != nil || r.Rows() != 1 {
			t.Fatal(r, err)
		}
		if err := c.Tx(ctx, workload.Commit); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations a transaction", n)
	}
}
