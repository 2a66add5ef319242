package trial_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/drive"
	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/trial"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// pgbenchScript is a DVD Store order as pgbench can say it: the same functions
// with the same chances and like numbers of rows, but its strings come from
// few words, and it spends no time on choosing them.
func pgbenchScript(actor, title string) string {
	search := fmt.Sprintf(`\set t random(1, 3)
\set b random(1, 9)
\if :t = 1
\set g random(1, 16)
SELECT * FROM browse_by_category(:b, :g);
\elif :t = 2
SELECT * FROM browse_by_actor(:b, '%s');
\else
SELECT * FROM browse_by_title(:b, '%s');
\endif
`, actor, title)
	script := `\set u random(1, 5)
\if :u = 1
\set n random(1, 1000000000000)
SELECT * FROM new_customer('ABCDEFGH', 'ABCDEFGHIJ', '1234567890 Example Way', '', 'ABCDEFG', 'AL', '12345', 'US', 1::smallint, 'ABCDEFGHIJ@example.com', '1234567890', 1, '1234567890123456', '2012/05', 'p' || :client_id || '_' || :n, 'password', 40::smallint, 60000, 'M');
\else
\set c random(1, 20000)
SELECT * FROM login('user' || :c, 'password');
\endif
\set s random(1, 5)
` + search
	for i := 2; i <= 5; i++ { // 1 to 5 searches, equally likely
		script += fmt.Sprintf("\\if :s >= %d\n%s\\endif\n", i, search)
	}
	return script + `\set c random(1, 20000)
\set q random(1, 3)
\set p1 random(1, 10000)
\set p2 random(1, 10000)
\set p3 random(1, 10000)
\set p4 random(1, 10000)
\set p5 random(1, 10000)
SELECT prod_id, price FROM products WHERE prod_id IN (:p1, :p2, :p3, :p4, :p5, :p5, :p5, :p5, :p5, :p5);
SELECT * FROM purchase(:c, 5, 100.00, 8.25, 108.25, :p1, :q, :p2, :q, :p3, :q, :p4, :q, :p5, :q, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
`
}

// BenchmarkDriverBesidePgbench prints the CPU time that a driver spends on an
// order, ours and pgbench's in turn on one server, and their ratio.
func BenchmarkDriverBesidePgbench(b *testing.B) {
	const users, each, rounds = 8, 4 * time.Second, 5
	seq, _ := bench(b, "study: bench\nworkload: {name: dvdstore}\nengine: {name: postgres}\nprovider: {name: native}\n")
	pgbench := findPgbench(b)
	def, err := definition(seq)
	if err != nil {
		b.Fatal(err)
	}
	db := loaded(b, seq, def, 2*users+8)
	host, port := endpoint(b, db)
	script := filepath.Join(cache, "order.sql")
	if err := os.WriteFile(script, []byte(pgbenchScript("smith", "dragon")), 0o644); err != nil {
		b.Fatal(err)
	}
	var ours, theirs usage
	for range rounds {
		ours.add(driveFor(b, def, db, users, each))
		theirs.add(pgbenchFor(b, pgbench, each, "-h", host, "-p", port, "-U", "loadstone", "-n", "-M", "prepared", "-c", strconv.Itoa(users), "-f", script, def.Database))
	}
	b.ReportMetric(0, "ns/op") // one run is the whole comparison
	b.ReportMetric(ours.micros(), "ours-µs/order")
	b.ReportMetric(theirs.micros(), "pgbench-µs/order")
	b.ReportMetric(ours.micros()/theirs.micros(), "ratio")
	b.ReportMetric(ours.perMinute(), "ours-orders/min")
	b.ReportMetric(theirs.perMinute(), "pgbench-orders/min")
}

// usage is what a driver did, and what CPU it took.
type usage struct {
	orders float64
	cpu    time.Duration
	wall   time.Duration
}

func (u *usage) add(v usage) { u.orders += v.orders; u.cpu += v.cpu; u.wall += v.wall }

func (u usage) micros() float64    { return float64(u.cpu.Microseconds()) / u.orders }
func (u usage) perMinute() float64 { return u.orders / u.wall.Minutes() }

// discard is a sink for intervals that nobody reads.
type discard struct{}

func (discard) Interval(record.Interval) error { return nil }

// sessions opens a database's sessions for a driver.
type sessions struct {
	db  engine.Database
	def *workload.Definition
}

func (s sessions) Open(ctx context.Context, _ int) (drive.Session, error) {
	return s.db.Open(ctx, s.def)
}

// driveFor drives def for a while and returns what this process used: the
// collector of the series and the garbage collector are in it.
func driveFor(b *testing.B, def *workload.Definition, db engine.Database, users int, each time.Duration) usage {
	before := ownCPU(b)
	r, err := drive.Run(b.Context(), drive.Config{
		Workload: def, Target: sessions{db, def}, Clock: clock.Real{}, Users: users, Measure: each,
		Seed: uint64(clock.Real{}.Now().UnixNano()), // no user name twice on one database
	}, discard{})
	if err != nil {
		b.Fatal(err)
	}
	unit := r.Totals[len(r.Totals)-1]
	return usage{float64(unit.Committed + unit.RolledBack), ownCPU(b) - before, each}
}

func ownCPU(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

var processed = regexp.MustCompile(`number of transactions actually processed: (\d+)`)

// pgbenchFor runs pgbench for a while and returns what it used.
func pgbenchFor(b *testing.B, program string, each time.Duration, args ...string) usage {
	cmd := exec.CommandContext(b.Context(), program, append([]string{"-T", strconv.Itoa(int(each.Seconds()))}, args...)...)
	out, err := cmd.CombinedOutput()
	m := processed.FindSubmatch(out)
	if err != nil || m == nil {
		b.Fatalf("pgbench: %v\n%s", err, out)
	}
	n, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		b.Fatal(err)
	}
	return usage{n, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), each}
}

func findPgbench(b *testing.B) string {
	if path, err := exec.LookPath("pgbench"); err == nil {
		return path
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pgbench")
	if len(found) == 0 {
		b.Skip("no pgbench on this machine")
	}
	return found[len(found)-1]
}

// loaded starts a durable server on a new database with def's rows in it.
func loaded(b testing.TB, seq *trial.Sequence, def *workload.Definition, connections int) engine.Database {
	inst, err := seq.Bench.Provider.Provision(b.Context(), provider.Request{Name: "bench", Cache: cache})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = inst.Close(context.Background()) })
	machine, ok := inst.(provider.Machine)
	if !ok {
		b.Fatal("the provider's instances run no programs")
	}
	if err := seq.Bench.Install.Create(b.Context(), machine); err != nil {
		b.Fatal(err)
	}
	db, err := seq.Bench.Install.Start(b.Context(), machine, engine.Config{Connections: connections, Durable: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Stop(context.Background()) })
	if _, err := db.Load(b.Context(), def, engine.LoadOptions{}); err != nil {
		b.Fatal(err)
	}
	return db
}

// endpoint takes the socket's directory and the port from what the server
// tells people, so that pgbench connects as our driver does.
func endpoint(b *testing.B, db engine.Database) (host, port string) {
	told, ok := db.(interface{ Endpoint() string })
	if !ok {
		b.Fatal("the engine tells no endpoint")
	}
	m := regexp.MustCompile(`:(\d+), Unix socket (.*)/[^/]+$`).FindStringSubmatch(told.Endpoint())
	if m == nil {
		b.Fatalf("no port and socket in %q", told.Endpoint())
	}
	return m[2], m[1]
}
