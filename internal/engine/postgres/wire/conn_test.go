package wire

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

var _ engine.Conn = (*Conn)(nil)

// anySQL lets a test run statements without preparing them by hand.
func anySQL(c *Config) { c.Render = verbatim }

func verbatim(s *workload.Statement) (string, error) { return s.Text, nil }

// ask runs sql once.
func ask(c *Conn, ctx context.Context, sql string, args ...workload.Value) (workload.Result, error) {
	return c.Run(ctx, &workload.Statement{Index: -1, Name: "ask", Text: sql}, args)
}

// mustAsk runs sql once and returns its first value.
func mustAsk(tb testing.TB, c *Conn, sql string, args ...workload.Value) workload.Value {
	tb.Helper()
	r, err := ask(c, tb.Context(), sql, args...)
	if err != nil {
		tb.Fatalf("%s: %v", sql, err)
	}
	if len(r.Values) == 0 {
		return workload.Value{}
	}
	return r.Values[0]
}

func do(tb testing.TB, c *Conn, sql string) {
	tb.Helper()
	if err := c.Exec(tb.Context(), sql); err != nil {
		tb.Fatalf("%s: %v", sql, err)
	}
}

func TestValuesPassThroughTheServer(t *testing.T) {
	c := dial(t, anySQL)
	for sql, gen := range map[string]*rapid.Generator[workload.Value]{
		"select $1::smallint":      rapid.Map(rapid.Int64Range(-1<<15, 1<<15-1), workload.Int),
		"select $1::integer":       rapid.Map(rapid.Int64Range(-1<<31, 1<<31-1), workload.Int),
		"select $1::bigint":        rapid.Map(rapid.Int64(), workload.Int),
		"select $1::boolean":       rapid.Map(rapid.Int64Range(0, 1), bit),
		"select $1::numeric(18,2)": rapid.Map(rapid.Int64Range(-1e17, 1e17), fixed),
		"select $1::numeric":       rapid.Map(rapid.Int64(), fixed),
		"select $1::date":          rapid.Map(rapid.Int64Range(-700_000, 700_000), day),
		"select $1::timestamp":     rapid.Map(rapid.Int64Range(-1e15, 1e17), instant),
		"select $1::timestamptz":   rapid.Map(rapid.Int64Range(-1e15, 1e17), instant),
		"select $1::text":          rapid.Map(rapid.StringMatching(`[a-zäß€]*`), text),
		"select $1::varchar":       rapid.Map(rapid.StringN(0, 5, 20_000), func(s string) workload.Value { return text(strings.ReplaceAll(s, "\x00", "")) }),
	} {
		s := &workload.Statement{Index: -1, Name: sql, Text: sql}
		t.Run(sql, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				want := rapid.OneOf(gen, rapid.Just(workload.Value{})).Draw(t, "value")
				r, err := c.Run(context.Background(), s, []workload.Value{want})
				if err != nil || r.Columns != 1 || len(r.Values) != 1 || !same(r.Values[0], want) {
					t.Fatalf("%v came back as %v, %v", want, r, err)
				}
			})
		})
	}
}

// The server's own text of what it got is the independent witness.
func TestServerReadsWhatWasMeant(t *testing.T) {
	c := dial(t, anySQL)
	do(t, c, "SET TimeZone = 'UTC'")
	for _, test := range []struct {
		typ  string
		v    workload.Value
		want string
	}{
		{"numeric", workload.Money(1999), "19.99"},
		{"numeric", workload.Money(-5), "-0.05"},
		{"numeric", workload.Money(0), "0.00"},
		{"numeric", workload.Money(1_000_000), "10000.00"},
		{"numeric", workload.Int(123456789), "123456789"},
		{"numeric", workload.Money(-9223372036854775808), "-92233720368547758.08"},
		{"date", day(0), "1970-01-01"},
		{"date", day(14304), "2009-03-01"},
		{"timestamp", instant(1), "1970-01-01 00:00:00.000001"},
		{"timestamp", day(10957), "2000-01-01 00:00:00"},
		{"timestamptz", instant(951782400_000000), "2000-02-29 00:00:00+00"},
		{"boolean", bit(1), "true"},
		{"integer[]", text("{1,2,3}"), "{1,2,3}"},
		{"interval", text("1 day"), "1 day"},
		{"double precision", text("0.5"), "0.5"},
	} {
		if got := mustAsk(t, c, "select $1::"+test.typ+"::text", test.v); string(got.Str) != test.want {
			t.Errorf("%v as %s: the server reads %q, want %q", test.v, test.typ, got.Str, test.want)
		}
	}
}

func TestResultsHaveRowsColumnsAndAffected(t *testing.T) {
	c := dial(t, anySQL)
	do(t, c, "CREATE TEMP TABLE t (a integer, b text)")
	for _, test := range []struct {
		sql                     string
		affected, rows, columns int64
	}{
		{"insert into t select g, 'x' || g from generate_series(1, 300) g", 300, 0, 0},
		{"select a, b from t order by a", 0, 300, 2},
		{"update t set b = 'y' where a <= 7 returning a", 7, 7, 1},
		{"delete from t where a > 298", 2, 0, 0},
		{"select from t", 0, 0, 0},
		{"select a from t where false", 0, 0, 1},
		{"", 0, 0, 0},
	} {
		r, err := ask(c, t.Context(), test.sql)
		if err != nil || r.Affected != test.affected || int64(r.Rows()) != test.rows || int64(r.Columns) != test.columns {
			t.Errorf("%q: %d affected, %d rows, %d columns, %v", test.sql, r.Affected, r.Rows(), r.Columns, err)
		}
	}
}

// Values alias the buffer, which is replaced while a large answer comes in.
func TestLargeAnswersKeepEveryValue(t *testing.T) {
	c := dial(t, anySQL)
	for range 2 {
		r, err := ask(c, t.Context(), "select g, repeat(chr(97 + g % 26), g * 37) from generate_series(1, 600) g")
		if err != nil {
			t.Fatal(err)
		}
		for i := range r.Rows() {
			row := r.Row(i)
			if want := strings.Repeat(string(rune('a'+(i+1)%26)), (i+1)*37); row[0].Int != int64(i+1) || string(row[1].Str) != want {
				t.Fatalf("row %d is %d and %d bytes", i, row[0].Int, len(row[1].Str))
			}
		}
	}
}

// A request larger than the socket's buffer is written in parts.
func TestLargeRequestsArrive(t *testing.T) {
	for _, network := range []string{"unix", "tcp"} {
		c := dial(t, func(cfg *Config) {
			anySQL(cfg)
			if network == "tcp" {
				cfg.Network, cfg.Address = "tcp", shared.Get(t).TCP()
			}
		})
		big := strings.Repeat("0123456789abcdef", 1<<19)
		if got := mustAsk(t, c, "select md5($1::text) = md5(repeat('0123456789abcdef', 1 << 19))", text(big)); got.Int != 1 {
			t.Errorf("%s: the text arrived changed", network)
		}
	}
}

func TestRunAllocatesNothing(t *testing.T) {
	c := dial(t, func(cfg *Config) {
		cfg.Statements = []Prepared{{Index: 3, Name: "mixed", SQL: `
			select g, 'name ' || g, $1::numeric(12,2) * g, $2::date, $3::text from generate_series(1, 10) g`}}
	})
	s := &workload.Statement{Index: 3, Name: "mixed"}
	args := []workload.Value{workload.Money(1999), day(14304), text("hello")}
	ctx := t.Context()
	for name, work := range map[string]func() error{
		"call": func() error { _, err := c.Run(ctx, s, args); return err },
		"transaction": func() error {
			if err := c.Tx(ctx, workload.Begin); err != nil {
				return err
			}
			if _, err := c.Run(ctx, s, args); err != nil {
				return err
			}
			return c.Tx(ctx, workload.Commit)
		},
	} {
		n := testing.AllocsPerRun(200, func() {
			if err := work(); err != nil {
				t.Fatal(err)
			}
		})
		if n != 0 {
			t.Errorf("a %s allocates %v times", name, n)
		}
	}
}

func TestStatementsAreFoundByIdentity(t *testing.T) {
	var rendered []string
	c := dial(t, func(cfg *Config) {
		cfg.Statements = []Prepared{{Index: 0, Name: "one", SQL: "select 1"}, {Index: 1, Name: "two", SQL: "select 2"}}
		cfg.Render = func(s *workload.Statement) (string, error) {
			rendered = append(rendered, s.Name)
			if s.Text == "" {
				return "", errors.New("no text")
			}
			return s.Text, nil
		}
	})
	check := &workload.Statement{Name: "check", Text: "select 3"} // its index says "one"
	other := &workload.Statement{Name: "check", Text: "select 4"}
	for _, test := range []struct {
		s    *workload.Statement
		want int64
	}{
		{&workload.Statement{Index: 0, Name: "one"}, 1}, {&workload.Statement{Index: 1, Name: "two"}, 2},
		{check, 3}, {other, 4}, {check, 3}, {&workload.Statement{Index: 7, Name: "two"}, 2},
	} {
		r, err := c.Run(t.Context(), test.s, nil)
		if err != nil || r.Values[0].Int != test.want {
			t.Errorf("%q at %d: %v, %v; want %d", test.s.Name, test.s.Index, r, err, test.want)
		}
	}
	if len(rendered) != 2 {
		t.Errorf("rendered %q: not each once", rendered)
	}
	if err := c.Prepare(t.Context(), Prepared{Index: 5, Name: "late", SQL: "select 5"}); err != nil {
		t.Fatal(err)
	}
	if r, err := c.Run(t.Context(), &workload.Statement{Index: 5, Name: "late"}, nil); err != nil || r.Values[0].Int != 5 {
		t.Error(r, err)
	}
	for _, test := range []struct {
		s     workload.Statement
		args  int
		error string
	}{
		{workload.Statement{Name: "gone"}, 0, `statement "gone": no text`},
		{workload.Statement{Name: "broken", Text: "selec 1"}, 0, `prepare statement "broken": syntax error`},
		{workload.Statement{Name: "one"}, 1, `statement "one" takes 0 arguments, not 1`},
	} {
		if _, err := c.Run(t.Context(), &test.s, make([]workload.Value, test.args)); err == nil || !strings.Contains(err.Error(), test.error) {
			t.Errorf("error %v, want %q", err, test.error)
		}
	}
	if _, err := dial(t, nil).Run(t.Context(), check, nil); err == nil || !strings.Contains(err.Error(), `"check" was not prepared`) {
		t.Errorf("without Render: %v", err)
	}
}

func TestDialNamesTheStatementThatFails(t *testing.T) {
	cfg := config(shared.Get(t))
	cfg.Statements = []Prepared{{0, "good", "select 1"}, {1, "bad", "select * from nowhere"}, {2, "later", "select 2"}}
	_, err := Dial(t.Context(), cfg)
	if err == nil || !strings.Contains(err.Error(), `prepare statement "bad": relation "nowhere" does not exist (SQLSTATE 42P01)`) {
		t.Errorf("error %v", err)
	}
}

func TestDialClassesItsErrors(t *testing.T) {
	s := shared.Get(t)
	for _, test := range []struct {
		name   string
		change func(*Config)
		want   workload.Class
	}{
		{"nobody listens", func(c *Config) { c.Address = s.Socket + "0" }, workload.Connection},
		{"no such database", func(c *Config) { c.Database = "nowhere" }, workload.Fatal},
		{"no such role", func(c *Config) { c.User = "nobody" }, workload.Fatal},
	} {
		cfg := config(s)
		test.change(&cfg)
		if _, err := Dial(t.Context(), cfg); err == nil || Classify(err) != test.want {
			t.Errorf("%s: %v is classed %s, want %s", test.name, err, Classify(err), test.want)
		}
	}
}

// Notices, changed parameters and notifications may come before, within and
// after any answer.
func TestAsynchronousMessagesAreNoAnswers(t *testing.T) {
	c, other := dial(t, anySQL), dial(t, anySQL)
	do(t, c, `CREATE FUNCTION pg_temp.noisy() RETURNS integer LANGUAGE plpgsql AS $$
		BEGIN RAISE NOTICE 'one'; PERFORM set_config('application_name', 'x', false); RAISE WARNING 'two'; RETURN 5; END $$; LISTEN here`)
	for range 3 {
		do(t, other, "NOTIFY here, 'hello'")
		if v := mustAsk(t, c, "select pg_temp.noisy()"); v.Int != 5 {
			t.Error(v)
		}
	}
}

func TestCopyThroughRunIsAnErrorNotAHang(t *testing.T) {
	c := dial(t, anySQL)
	do(t, c, "CREATE TEMP TABLE t (a integer)")
	if _, err := ask(c, t.Context(), "copy t from stdin"); err == nil {
		t.Error("no error")
	}
}

// The server tells of bad rows when it meets them, and answers nothing that
// comes after.
func TestRefusedCopyEndsWithTheServersError(t *testing.T) {
	for _, network := range []string{"unix", "tcp"} {
		t.Run(network, func(t *testing.T) {
			refuseCopies(t, dial(t, func(cfg *Config) {
				anySQL(cfg)
				if network == "tcp" {
					cfg.Network, cfg.Address = "tcp", shared.Get(t).TCP()
				}
			}))
		})
	}
}

func refuseCopies(t *testing.T, c *Conn) {
	other := dial(t, anySQL)
	pid := mustAsk(t, c, "select pg_backend_pid()")
	do(t, c, "CREATE TEMP TABLE t (a integer)")
	for _, end := range []func(CopyIn) error{
		func(in CopyIn) error { _, err := in.Finish(); return err },
		func(in CopyIn) error { waitFor(t, "Refused", in.Refused); _, err := in.Finish(); return err },
		func(in CopyIn) error { return in.Abort("enough") },
	} {
		in, err := c.CopyIn(t.Context(), "COPY t FROM STDIN (FORMAT binary)")
		if err != nil {
			t.Fatal(err)
		}
		if in.Refused() {
			t.Error("refused before the rows")
		}
		if err := in.Write([]byte(".....\x00\x02\x00\x00\x00\x01x")); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "the server's error", func() bool {
			return string(mustAsk(t, other, "select state from pg_stat_activity where pid = $1", pid).Str) == "idle"
		})
		var e *Error
		if err := end(in); !errors.As(err, &e) || e.Code != "22P04" || !strings.HasPrefix(e.Where, "COPY t, line 1") {
			t.Errorf("error %v", err)
		}
		mustAsk(t, c, "select 1")
	}
	for sql, want := range map[string]string{"select 1": "copies nothing in", "COPY nowhere FROM STDIN": "does not exist"} {
		if _, err := c.CopyIn(t.Context(), sql); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", sql, err)
		}
		mustAsk(t, c, "select 1")
	}
	in, err := c.CopyIn(t.Context(), "COPY t FROM STDIN (FORMAT binary)")
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Abort("changed my mind"); err != nil {
		t.Error(err)
	}
	mustAsk(t, c, "select 1")
}

func TestConnectionServesOneCallAtATime(t *testing.T) {
	c, other := dial(t, anySQL), dial(t, anySQL)
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = ask(c, context.Background(), "select pg_sleep(600)") })
	waitFor(t, "the first call", func() bool {
		return mustAsk(t, other, "select count(*) from pg_stat_activity where query = 'select pg_sleep(600)' and state = 'active'").Int == 1
	})
	err := c.Exec(t.Context(), "select 1")
	if err == nil || !strings.Contains(err.Error(), "two goroutines") {
		t.Errorf("error %v", err)
	}
	_ = c.Close()
	wg.Wait()
}

func TestCloseInterruptsACallAndItsStatement(t *testing.T) {
	c, other := dial(t, anySQL), dial(t, anySQL)
	got := make(chan error, 1)
	go func() {
		_, err := ask(c, context.Background(), "select pg_sleep(601)")
		got <- err
	}()
	sleeping := func() bool {
		return mustAsk(t, other, "select count(*) from pg_stat_activity where query = 'select pg_sleep(601)' and state = 'active'").Int == 1
	}
	waitFor(t, "the statement runs", sleeping)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := <-got; Classify(err) != workload.Connection && Classify(err) != workload.Timeout {
		t.Errorf("%v is classed %s", err, Classify(err))
	}
	waitFor(t, "the server gives up", func() bool { return !sleeping() })
	if err := c.Close(); err != nil {
		t.Error("closing again:", err)
	}
	if _, err := ask(c, context.Background(), "select 1"); Classify(err) != workload.Connection {
		t.Errorf("after Close: %v", err)
	}
}

func TestContextInterruptsOnlyItsOwnCall(t *testing.T) {
	c := dial(t, anySQL)
	goroutines := runtime.NumGoroutine()
	// Contexts that end between calls do no harm.
	for range 50 {
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := ask(c, ctx, "select 1"); err != nil {
			t.Fatal(err)
		}
		cancel()
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ask(c, ended, "select 1"); !errors.Is(err, context.Canceled) || Classify(err) != workload.Connection {
		t.Errorf("ended context: %v", err)
	}
	if _, err := ask(c, t.Context(), "select 1"); err != nil {
		t.Errorf("after an ended context: %v", err)
	}
	// One that ends during a call interrupts it, and the connection is gone.
	other := dial(t, anySQL)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	got := make(chan error, 1)
	go func() {
		_, err := ask(c, ctx, "select pg_sleep(602)")
		got <- err
	}()
	waitFor(t, "the statement runs", func() bool {
		return mustAsk(t, other, "select count(*) from pg_stat_activity where query = 'select pg_sleep(602)' and state = 'active'").Int == 1
	})
	cancel()
	if err := <-got; !errors.Is(err, context.Canceled) || Classify(err) != workload.Connection {
		t.Errorf("interrupted call: %v", err)
	}
	if _, err := ask(c, t.Context(), "select 1"); Classify(err) != workload.Connection {
		t.Errorf("after an interrupted call: %v", err)
	}
	waitFor(t, "no goroutine is left", func() bool { return runtime.NumGoroutine() <= goroutines })
}

// waitFor returns when done does, or fails.
func waitFor(tb testing.TB, what string, done func() bool) {
	tb.Helper()
	const tries, pause = 500, 10 * time.Millisecond
	for range tries {
		if done() {
			return
		}
		_ = clock.Real{}.SleepUntil(context.Background(), clock.Real{}.Now().Add(pause))
	}
	tb.Fatal(what + fmt.Sprintf(": not within %d tries", tries))
}
