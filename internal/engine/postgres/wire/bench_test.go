package wire

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// benchRows is the size of the table that the benchmarks read.
const benchRows = 100_000

// benchStatements are run with an integer from 1 to benchRows.
var benchStatements = []Prepared{
	{Index: 0, Name: "row", SQL: "SELECT b FROM wire_bench WHERE a = $1"},
	{Index: 1, Name: "call", SQL: "SELECT * FROM wire_bench_call($1, $1, 'text')"},
}

// benchTable makes what benchStatements need.
func benchTable(tb testing.TB) {
	c := dial(tb, nil)
	do(tb, c, fmt.Sprintf(`
		DROP FUNCTION IF EXISTS wire_bench_call; DROP TABLE IF EXISTS wire_bench;
		CREATE TABLE wire_bench AS SELECT g AS a, 'name ' || g AS b, g::numeric(12,2) AS c FROM generate_series(1, %d) g;
		ALTER TABLE wire_bench ADD PRIMARY KEY (a);
		CREATE FUNCTION wire_bench_call(x integer, y integer, z text) RETURNS TABLE (r_a integer, r_b text, r_c numeric, r_z text)
		LANGUAGE sql STABLE AS 'SELECT a, b, c, z FROM wire_bench WHERE a BETWEEN x AND y + 4'`, benchRows))
	do(tb, c, "VACUUM ANALYSE wire_bench")
}

func BenchmarkRun(b *testing.B) {
	benchTable(b)
	for _, network := range []string{"unix", "tcp"} {
		for _, p := range benchStatements {
			b.Run(p.Name+"/"+network, func(b *testing.B) {
				c := dial(b, func(cfg *Config) {
					if network == "tcp" {
						cfg.Network, cfg.Address = "tcp", shared.Get(b).TCP()
					}
					cfg.Statements = benchStatements
				})
				s := &workload.Statement{Index: p.Index, Name: p.Name}
				ctx, r, args := b.Context(), rng.At(1), make([]workload.Value, 1)
				b.ReportAllocs()
				for b.Loop() {
					args[0] = workload.Int(r.Between(1, benchRows))
					if res, err := c.Run(ctx, s, args); err != nil || len(res.Values) == 0 {
						b.Fatal(res, err)
					}
				}
			})
		}
	}
}

// BenchmarkBesidePgbench runs the same prepared statements here and in
// pgbench, in turn, and reports the CPU time that each client side needs for
// a call: of this process, and of the pgbench process without its start.
func BenchmarkBesidePgbench(b *testing.B) {
	benchTable(b)
	const calls = 6_400 // a round, of all users together
	for _, users := range []int{1, 8, 64} {
		for _, p := range benchStatements {
			b.Run(fmt.Sprintf("%s/users=%d", p.Name, users), func(b *testing.B) {
				conns := make([]*Conn, users)
				for i := range conns {
					conns[i] = dial(b, func(cfg *Config) { cfg.Statements = benchStatements })
				}
				script := filepath.Join(b.TempDir(), "script.sql")
				sql := map[string]string{"row": "SELECT b FROM wire_bench WHERE a = :a;", "call": "SELECT * FROM wire_bench_call(:a, :a, 'text');"}[p.Name]
				if err := os.WriteFile(script, fmt.Appendf(nil, "\\set a random(1, %d)\n%s\n", benchRows, sql), 0o644); err != nil {
					b.Fatal(err)
				}
				each := calls / users
				start := pgbench(b, script, users, 1) // connecting, for the most part
				var ours, theirs []float64
				for b.Loop() {
					theirs = append(theirs, (pgbench(b, script, users, each)-start)/float64(each*users))
					ours = append(ours, callAll(b, conns, p, each)/float64(each*users))
				}
				slices.Sort(ours)
				slices.Sort(theirs)
				mine, other := ours[len(ours)/2], theirs[len(theirs)/2]
				b.ReportMetric(mine, "cpu-µs/call")
				b.ReportMetric(other, "pgbench-cpu-µs/call")
				b.ReportMetric(mine/other, "ratio")
			})
		}
	}
}

// pgbench runs script each times with users clients in one thread and returns
// the CPU time it took, in microseconds.
func pgbench(b *testing.B, script string, users, each int) float64 {
	b.Helper()
	s := shared.Get(b)
	cmd := exec.Command(filepath.Join(s.Bin, "pgbench"), "-h", filepath.Dir(s.Socket), "-p", strconv.Itoa(s.Port), "-U", "postgres",
		"-n", "-M", "prepared", "-f", script, "-c", strconv.Itoa(users), "-j", "1", "-t", strconv.Itoa(each), "postgres")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("pgbench: %v\n%s", err, out)
	}
	return float64((cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Microseconds())
}

// callAll runs p each times on every connection, beside each other, and
// returns the CPU time of this process, in microseconds.
func callAll(b *testing.B, conns []*Conn, p Prepared, each int) float64 {
	b.Helper()
	began := ownCPU()
	var wg sync.WaitGroup
	for i, c := range conns {
		wg.Go(func() {
			s := &workload.Statement{Index: p.Index, Name: p.Name}
			r, args := rng.At(1, uint64(i)), make([]workload.Value, 1)
			for range each {
				args[0] = workload.Int(r.Between(1, benchRows))
				if _, err := c.Run(b.Context(), s, args); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return ownCPU() - began
}

// ownCPU is the CPU time of this process so far, in microseconds.
func ownCPU() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e3
}
