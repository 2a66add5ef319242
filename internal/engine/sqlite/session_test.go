package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/enginetest"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// The statements of the small workload.
var (
	getPrice = &workload.Statement{Name: "price", Text: "SELECT price FROM item WHERE id = :id", Params: []string{"id"}}
	setPrice = &workload.Statement{Name: "set price", Text: "UPDATE item SET price = :price WHERE id = :id", Params: []string{"price", "id"}}
	getLabel = &workload.Statement{Name: "label", Text: `SELECT no, "select" FROM "order" WHERE no = :no AND "select" = :label`, Params: []string{"no", "label"}}
	locked   = &workload.Statement{Name: "locked", Text: "SELECT price FROM item WHERE id = :id {lock update}", Params: []string{"id"}}
	endless  = &workload.Statement{Name: "endless", Text: "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"}
)

// serve loads the small workload.
func serve(t *testing.T, settings map[string]string) (*database, *workload.Definition) {
	t.Helper()
	d := small()
	db := enginetest.Serve(t, New(), engine.Config{Connections: 8, Durable: true, Settings: settings})
	if _, err := db.Load(t.Context(), d, engine.LoadOptions{}); err != nil {
		t.Fatal(err)
	}
	return db.(*database), d
}

func open1(t *testing.T, db *database, d *workload.Definition) (*engine.Session, workload.Conn) {
	t.Helper()
	s, err := db.Open(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // again, where the test has
	return s, s.Conn()
}

func must(t *testing.T, c workload.Conn, s *workload.Statement, args ...workload.Value) workload.Result {
	t.Helper()
	r, err := c.Run(t.Context(), s, args)
	if err != nil {
		t.Fatalf("%s: %v", s.Name, err)
	}
	return r
}

func tx(t *testing.T, c workload.Conn, op workload.TxOp) {
	t.Helper()
	if err := c.Tx(t.Context(), op); err != nil {
		t.Fatalf("transaction step %d: %v", op, err)
	}
}

// settled polls until done says so.
func settled(t *testing.T, what string, done func() bool) {
	t.Helper()
	for range 500 {
		if done() {
			return
		}
		_ = clock.Real{}.SleepUntil(context.Background(), clock.Real{}.Now().Add(10*time.Millisecond))
	}
	t.Fatalf("%s: not within 500 tries", what)
}

// A transaction type that only reads waits for no writer, and can't write; any
// other has the writer's lock from its begin on.
func TestReadersDoNotWaitForTheWriter(t *testing.T) {
	db, d := serve(t, map[string]string{"busy_timeout": "20"})
	_, writer := open1(t, db, d)
	tx(t, writer, workload.Begin)
	reader, _ := open1(t, db, d)
	do := func(readOnly bool, s *workload.Statement, args ...workload.Value) (workload.Outcome, error) {
		return reader.Do(t.Context(), &workload.Transaction{Name: "t", ReadOnly: readOnly, Exec: func(ctx context.Context, c workload.Conn, _ any) (workload.Status, error) {
			if err := c.Tx(ctx, workload.Begin); err != nil {
				return workload.Failed, err
			}
			if _, err := c.Run(ctx, s, args); err != nil {
				return workload.Failed, errors.Join(err, c.Tx(ctx, workload.Rollback))
			}
			return workload.Committed, c.Tx(ctx, workload.Commit)
		}}, nil)
	}
	if o, err := do(true, getPrice, workload.Int(1)); o.Status != workload.Committed {
		t.Errorf("a reader beside the writer: %+v, %v", o, err)
	}
	if o, err := do(false, getPrice, workload.Int(1)); o.Class != workload.Timeout {
		t.Errorf("a second writer: %+v, %v, want a timeout", o, err)
	}
	for _, s := range []*workload.Statement{locked, setPrice} {
		args := []workload.Value{workload.Int(1), workload.Int(1)}[:len(s.Params)]
		if o, err := do(true, s, args...); o.Class != workload.Fatal || !strings.Contains(err.Error(), "only reads") {
			t.Errorf("%s in a reader: %+v, %v", s.Name, o, err)
		}
	}
	tx(t, writer, workload.Rollback)
	if o, err := do(false, setPrice, workload.Money(1), workload.Int(1)); o.Status != workload.Committed {
		t.Errorf("a writer after the other: %+v, %v", o, err)
	}
}

// What has been read is out of date once another has written: to write on is
// an error to be retried, whether the other is still at it or not.
func TestAReaderThatWritesTooLateIsToRetry(t *testing.T) {
	db, d := serve(t, nil)
	s, late := open1(t, db, d)
	_, early := open1(t, db, d)
	for _, end := range []workload.TxOp{workload.Commit, workload.Rollback} {
		tx(t, late, workload.BeginSerializable)
		must(t, late, getPrice, workload.Int(1))
		tx(t, early, workload.Begin)
		must(t, early, setPrice, workload.Money(5), workload.Int(1))
		if end == workload.Commit {
			tx(t, early, end)
		}
		_, err := late.Run(t.Context(), setPrice, []workload.Value{workload.Money(6), workload.Int(1)})
		if Classify(err) != workload.Retry {
			t.Errorf("%v is %s, want retry", err, Classify(err))
		}
		// The transaction is over: only Rollback is left, and Commit is one.
		if _, err := late.Run(t.Context(), getPrice, []workload.Value{workload.Int(1)}); err == nil {
			t.Error("a transaction that failed goes on")
		}
		if err := late.Tx(t.Context(), workload.Commit); err == nil {
			t.Error("a transaction that failed was committed")
		}
		if end == workload.Rollback {
			tx(t, early, end)
		}
		must(t, late, setPrice, workload.Money(7), workload.Int(1))
	}
	_ = s
}

func TestWaitingForTheLockEndsWithTheContextAndTheSession(t *testing.T) {
	db, d := serve(t, nil)
	_, holder := open1(t, db, d)
	tx(t, holder, workload.Begin)
	waiting := func() bool {
		seen := 0
		if err := db.States()[0].Poll(t.Context(), func(state string, n int) {
			if state == "Lock:Writer" {
				seen += n
			}
		}); err != nil {
			t.Fatal(err)
		}
		return seen == 1
	}
	for name, end := range map[string]func(cancel context.CancelFunc, s *engine.Session){
		"context": func(cancel context.CancelFunc, _ *engine.Session) { cancel() },
		"session": func(_ context.CancelFunc, s *engine.Session) { _ = s.Close() },
	} {
		s, c := open1(t, db, d)
		ctx, cancel := context.WithCancel(t.Context())
		answer := make(chan error)
		go func() {
			_, err := c.Run(ctx, setPrice, []workload.Value{workload.Money(1), workload.Int(1)})
			answer <- err
		}()
		settled(t, "waiting", waiting)
		end(cancel, s)
		if err := <-answer; Classify(err) != workload.Connection {
			t.Errorf("%s: %v is %s, want connection", name, err, Classify(err))
		}
		cancel()
	}
	tx(t, holder, workload.Rollback)
}

func TestALongStatementEndsWithTheContextAndTheSession(t *testing.T) {
	db, d := serve(t, nil)
	for name, end := range map[string]func(cancel context.CancelFunc, s *engine.Session){
		"context": func(cancel context.CancelFunc, _ *engine.Session) { cancel() },
		"session": func(_ context.CancelFunc, s *engine.Session) { _ = s.Close() },
	} {
		s, c := open1(t, db, d)
		ctx, cancel := context.WithCancel(t.Context())
		answer := make(chan error)
		go func() {
			_, err := c.Run(ctx, endless, nil)
			answer <- err
		}()
		settled(t, "running", func() bool { return c.(*conn).state.Load() == running })
		end(cancel, s)
		if err := <-answer; Classify(err) != workload.Connection {
			t.Errorf("%s: %v is %s, want connection", name, err, Classify(err))
		}
		if name == "context" {
			must(t, c, getPrice, workload.Int(1)) // the session goes on
		}
		cancel()
	}
}

// A call that stops in the middle of nothing allocates nothing.
func TestRunAllocatesNothing(t *testing.T) {
	db, d := serve(t, map[string]string{"synchronous": "off"})
	_, c := open1(t, db, d)
	price, label, args := workload.Money(1), workload.Str([]byte("abc")), make([]workload.Value, 2)
	ctx := t.Context()
	n := testing.AllocsPerRun(200, func() {
		for range 5 {
			args[0] = workload.Int(7)
			_, err := c.Run(ctx, getPrice, args[:1])
			args[0], args[1] = price, workload.Int(7)
			_, err2 := c.Run(ctx, setPrice, args)
			args[0], args[1] = workload.Int(7), label
			_, err3 := c.Run(ctx, getLabel, args)
			err4 := c.Tx(ctx, workload.Begin)
			if err := errors.Join(err, err2, err3, err4, c.Tx(ctx, workload.Commit)); err != nil {
				t.Fatal(err)
			}
		}
	})
	if n > 0 {
		t.Errorf("%v allocations in 25 calls", n)
	}
}

// Readers that overlap keep checkpoints from ever finding the WAL unused; it
// has an end in spite of them.
func TestTheWALDoesNotGrowWithoutBound(t *testing.T) {
	const every = 50
	db, d := serve(t, map[string]string{"wal_autocheckpoint": "50", "synchronous": "off"})
	_, writer := open1(t, db, d)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	over := make(chan error, 2)
	for range 2 {
		_, c := open1(t, db, d)
		go func() { over <- readOn(ctx, c) }()
	}
	for i := range int64(4_000) {
		must(t, writer, setPrice, workload.Money(-i-1), workload.Int(i%2_500+1))
	}
	stop()
	for range 2 {
		if err := <-over; err != nil {
			t.Error(err)
		}
	}
	values := make([]float64, len(columnList()))
	if err := db.Sources()[0].Read(t.Context(), values); err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for i, c := range columnList() {
		got[c.Name] = values[i]
	}
	t.Logf("%v frames, %v whole and %v partial checkpoints, WAL of %v bytes", got["wal_frames"], got["checkpoints_requested"], got["checkpoints_partial"], got["wal_file_bytes"])
	if most := float64((boundFactor + 1) * every * frameBytes); got["wal_file_bytes"] > most || got["wal_file_bytes"] == 0 {
		t.Errorf("the WAL has %v bytes, want at most %v", got["wal_file_bytes"], most)
	}
	if got["commits"] != 4_000 || got["wal_frames"] < 4_000 || got["checkpoints_requested"] == 0 || got["checkpoint_frames"] == 0 {
		t.Errorf("counters %v", got)
	}
}

// readOn has a snapshot open nearly all the time until ctx ends.
func readOn(ctx context.Context, c workload.Conn) error {
	background := context.WithoutCancel(ctx)
	for ctx.Err() == nil {
		if err := c.Tx(background, workload.BeginRepeatableRead); err != nil {
			return err
		}
		for i := range int64(20) {
			if _, err := c.Run(background, getPrice, []workload.Value{workload.Int(i + 1)}); err != nil {
				return err
			}
		}
		if err := c.Tx(background, workload.Commit); err != nil {
			return err
		}
	}
	return nil
}

func TestWhatCanNotBeLoadedIsRefused(t *testing.T) {
	for want, spoil := range map[string]func(d *workload.Definition){
		"a row of order refers to item that does not exist": func(d *workload.Definition) {
			d.Tables[0].Rows.Batches--
		},
		"batch 0: row 1 of it is not in the table": func(d *workload.Definition) {
			fill, calls := d.Tables[1].Rows.Fill, 0
			d.Tables[1].Rows.Fill = func(b int64, emit func([]workload.Value) error) error {
				calls++
				again := calls > int(d.Tables[1].Rows.Batches)
				return fill(b, func(row []workload.Value) error {
					if again {
						row[2] = workload.Str([]byte("xyz"))
					}
					return emit(row)
				})
			}
		},
		"verify table item: its rows are not those generated": func(d *workload.Definition) {
			d.Scripts = map[string]string{Name: "-- it spoils a row\nUPDATE item SET price = price + 1 WHERE id = 77"}
		},
		"verify table item: it has 2499 rows": func(d *workload.Definition) {
			d.Tables[1].Rows = workload.Source{}
			d.Scripts = map[string]string{Name: "DELETE FROM item WHERE id = 77"}
		},
		"none for sqlite":            func(d *workload.Definition) { d.Scripts = map[string]string{"postgres": "x"} },
		"not the name of a database": func(d *workload.Definition) { d.Database = "../x" },
		"UNIQUE constraint failed":   func(d *workload.Definition) { d.Tables[0].Rows.Fill = twice(d.Tables[0].Rows.Fill) },
		"1 arguments for 2 parameters": func(d *workload.Definition) {
			d.Tables[0].Rows.Fill = func(_ int64, emit func([]workload.Value) error) error { return emit([]workload.Value{workload.Int(1)}) }
		},
	} {
		db := enginetest.Serve(t, New(), engine.Config{Connections: 2}).(*database)
		d := small()
		spoil(d)
		if _, err := db.Load(t.Context(), d, engine.LoadOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
		if left, err := filepath.Glob(filepath.Join(db.dir, "*"+suffix+"*")); err != nil || len(left) > 0 {
			t.Errorf("%s: %v is left, %v", want, left, err)
		}
	}
}

// twice emits every row two times.
func twice(fill func(int64, func([]workload.Value) error) error) func(int64, func([]workload.Value) error) error {
	return func(b int64, emit func([]workload.Value) error) error {
		return fill(b, func(row []workload.Value) error { return errors.Join(emit(row), emit(row)) })
	}
}

func TestADatabaseIsLoadedOnce(t *testing.T) {
	db, d := serve(t, nil)
	if _, err := db.Load(t.Context(), d, engine.LoadOptions{}); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("a second load: %v", err)
	}
	other := *d
	other.Database = "other"
	if _, err := db.Open(t.Context(), &other); err == nil || !strings.Contains(err.Error(), "not been loaded") {
		t.Errorf("a session of a database that is not there: %v", err)
	}
	if _, err := os.Stat(fileOf(db.dir, "other")); err == nil {
		t.Error("opening a session has made a database")
	}
}

// TestSessionsOpenWhileOthersClose: where the last connection closes, SQLite
// locks the whole file to remove the WAL.
func TestSessionsOpenWhileOthersClose(t *testing.T) {
	db, d := serve(t, nil)
	var g errgroup.Group
	for range 4 {
		g.Go(func() error {
			for range 200 {
				s, err := db.Open(t.Context(), d)
				if err != nil {
					return err
				}
				if err := s.Close(); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}
