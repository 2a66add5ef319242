package wire_test

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
	"testing"

	driverpkg "github.com/go-sql-driver/mysql"

	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// benchRows is the size of the table that the comparison reads.
const benchRows = 20_000

// TestCPUBesideAnotherDriver runs one prepared statement here and through the
// usual driver, whose statements it uses without package database/sql, in turn,
// and prints the CPU time that each needs for a call. Ours must not need more.
func TestCPUBesideAnotherDriver(t *testing.T) {
	if testing.Short() {
		t.Skip("compares CPU times")
	}
	s := start(t)
	admin := dial(t, s.config())
	exec(t, admin, fmt.Sprintf(`CREATE DATABASE bench; USE bench; CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(40));
		INSERT INTO t SELECT seq, CONCAT('name ', seq) FROM seq_1_to_%d`, benchRows))
	const calls = 8_000 // a round, of all users together
	for _, users := range []int{1, 8, 64} {
		ours, theirs := make([]func() error, users), make([]func() error, users)
		for i := range users {
			ours[i], theirs[i] = our(t, s, uint64(i)), their(t, s, uint64(i))
		}
		// The better of some rounds: whatever else the machine does only adds.
		best := [2]float64{1e9, 1e9}
		for range 4 {
			for which, all := range [][]func() error{ours, theirs} {
				best[which] = min(best[which], callAll(t, all, calls/users)/float64(calls/users*users))
			}
		}
		t.Logf("%d users: %.1f µs of CPU a call, the usual driver %.1f µs", users, best[0], best[1])
		if best[0] > best[1] {
			t.Errorf("%d users: %.1f µs of CPU a call, the usual driver needs %.1f µs", users, best[0], best[1])
		}
	}
}

const benchSQL = "SELECT b FROM t WHERE a = ?"

func our(t *testing.T, s server, stream uint64) func() error {
	cfg := s.config()
	cfg.Database = "bench"
	c := dial(t, cfg)
	st := statement(t, c, benchSQL, 0)
	r, args := rng.At(1, stream), make([]workload.Value, 1)
	ctx := t.Context()
	return func() error {
		args[0] = workload.Int(r.Between(1, benchRows))
		got, err := c.Run(ctx, st, args)
		if err == nil && got.Rows() != 1 {
			err = fmt.Errorf("%d rows", got.Rows())
		}
		return err
	}
}

func their(t *testing.T, s server, stream uint64) func() error {
	cfg := driverpkg.NewConfig()
	cfg.Net, cfg.Addr, cfg.User, cfg.DBName = "unix", s.socket, "root", "bench"
	connector, err := driverpkg.NewConnector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	c, err := connector.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	prepared, err := c.(driver.ConnPrepareContext).PrepareContext(t.Context(), benchSQL)
	if err != nil {
		t.Fatal(err)
	}
	st := prepared.(driver.StmtQueryContext)
	r, args, row := rng.At(1, stream), make([]driver.NamedValue, 1), make([]driver.Value, 1)
	ctx := t.Context()
	return func() error {
		args[0] = driver.NamedValue{Ordinal: 1, Value: r.Between(1, benchRows)}
		rows, err := st.QueryContext(ctx, args)
		if err != nil {
			return err
		}
		if err := rows.Next(row); err != nil {
			return err
		}
		if err := rows.Next(row); !errors.Is(err, io.EOF) {
			return fmt.Errorf("more than one row: %w", err)
		}
		return rows.Close()
	}
}

// callAll calls each function n times, beside each other, and returns the CPU
// time of this process, in microseconds.
func callAll(t *testing.T, all []func() error, n int) float64 {
	began := ownCPU(t)
	var wg sync.WaitGroup
	for _, call := range all {
		wg.Go(func() {
			for range n {
				if err := call(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return ownCPU(t) - began
}

// ownCPU is the CPU time of this process so far, in microseconds.
func ownCPU(t *testing.T) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e3
}
