package brokerage_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/drive"
	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/enginetest"
	"github.com/loadstone-perf/loadstone/internal/engine/postgres"
	"github.com/loadstone-perf/loadstone/internal/engine/postgres/pgtest"
	"github.com/loadstone-perf/loadstone/internal/unit"
	"github.com/loadstone-perf/loadstone/internal/workload"
	"github.com/loadstone-perf/loadstone/internal/workload/orderentry"
)

// BenchmarkDriverCPUBesideOrderEntry drives Brokerage and Order-Entry in turn
// on one server, by procedures, and prints the CPU time that the driver spends
// on a transaction of each, the collector of the series and the garbage
// collector included.
func BenchmarkDriverCPUBesideOrderEntry(b *testing.B) {
	const rounds = 3
	server := enginetest.Restartable(b, postgres.New(), engine.Config{Connections: 60})
	k := orderentry.Kind()
	v, err := unit.NewValues(k.Params, map[string]string{"warehouses": "1"})
	if err != nil {
		b.Fatal(err)
	}
	other, err := k.New(v, 7)
	if err != nil {
		b.Fatal(err)
	}
	list := []*workload.Definition{define(b, little(nil)), other}
	var cpu, done [2]float64
	for _, d := range list {
		if _, err := server.Load(b.Context(), d, engine.LoadOptions{Workers: 2}); err != nil {
			b.Fatal(err)
		}
	}
	for range rounds {
		for i, d := range list {
			n, spent := driveFor(b, server, d)
			done[i] += n
			cpu[i] += float64(spent.Microseconds())
		}
	}
	b.ReportMetric(0, "ns/op") // one run is the whole comparison
	b.ReportMetric(cpu[0]/done[0], "brokerage-µs/tx")
	b.ReportMetric(cpu[1]/done[1], "orderentry-µs/tx")
	b.ReportMetric(cpu[0]/done[0]/(cpu[1]/done[1]), "ratio")
}

// driveFor drives d for a while and returns how many transactions this process
// did, and what CPU time it took.
func driveFor(b *testing.B, db engine.Database, d *workload.Definition) (done float64, spent time.Duration) {
	b.Helper()
	const users, each = 8, 4 * time.Second
	before := ownCPU(b)
	r, err := drive.Run(b.Context(), drive.Config{
		Workload: d, Target: opener{loaded{d, db}}, Clock: clock.Real{}, Seed: 5, Users: users, Measure: each,
	}, nowhere{})
	if err != nil {
		b.Fatal(err)
	}
	spent = ownCPU(b) - before
	for _, o := range r.Totals[:len(d.Transactions)] {
		done += float64(o.Committed + o.RolledBack)
	}
	return done, spent
}

// ownCPU is the CPU time of this process.
func ownCPU(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkRowsBesideRawCopy loads a database, has the server write all tables
// to files in its own binary format, and has it read them again into tables
// without indexes, over as many connections: what loading costs beside what
// the server needs for the rows alone.
func BenchmarkRowsBesideRawCopy(b *testing.B) {
	const workers = 2
	server := enginetest.Restartable(b, postgres.New(), engine.Config{
		Connections: 20, Settings: map[string]string{"shared_buffers": "1GB", "max_wal_size": "16GB"},
	})
	d := *define(b, map[string]string{"initial_trade_days": "3", "news_bytes": "10000"})
	d.Database = "ours"
	r, err := server.Load(b.Context(), &d, engine.LoadOptions{Workers: workers})
	if err != nil {
		b.Fatal(err)
	}
	raw := pgtest.RawCopy(b, server, postgres.Dialect{}, &d, server.Dir(), workers)
	ours := r.StageSeconds["rows"]
	b.ReportMetric(0, "ns/op") // one run is the whole comparison
	b.ReportMetric(float64(r.Rows)/ours, "rows/s")
	b.ReportMetric(float64(r.Rows)/raw, "raw-rows/s")
	b.ReportMetric(raw/ours, "ratio")
	text := ""
	for stage, seconds := range r.StageSeconds {
		text += fmt.Sprintf(" %s %.1f s", stage, seconds)
	}
	b.Logf("%d rows, stages%s; raw %.1f s", r.Rows, text, raw)
}
