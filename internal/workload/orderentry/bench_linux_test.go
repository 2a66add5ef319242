package orderentry_test

import (
	"bytes"
	"context"
	_ "embed" // for the peers
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/drive"
	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/enginetest"
	"github.com/loadstone-perf/loadstone/internal/engine/postgres"
	"github.com/loadstone-perf/loadstone/internal/engine/postgres/pgtest"
	"github.com/loadstone-perf/loadstone/internal/engine/postgres/wire"
	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/trial"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

//go:embed testdata/peers.txt
var peersText string

// number reads a whole number from the environment.
func number(tb testing.TB, name string, otherwise int) int {
	tb.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		tb.Fatalf("%s=%s: want a whole number above 0", name, text)
	}
	return n
}

// BenchmarkPeers runs drivers in turn on one PostgreSQL with durability on, and
// prints what each did and took, counted from outside: New-Orders by the growth
// of D_NEXT_O_ID, CPU and resident memory of all processes from /proc. Ours is
// a process of its own, too.
//
// LOADSTONE_BENCH_SECONDS (5) is how long each turn is measured, after a second
// or a fifth of it, whichever is longer; LOADSTONE_BENCH_ROUNDS (2) how often
// each has its turn; LOADSTONE_BENCH_WAREHOUSES (10) the size.
func BenchmarkPeers(b *testing.B) {
	field := newField(b)
	users := []int{8, 32}
	list := append(field.ours(b), field.others(b)...)
	for range number(b, "LOADSTONE_BENCH_ROUNDS", 2) {
		for _, n := range users {
			for _, d := range list {
				d.add(n, field.turn(b, d, n))
			}
		}
	}
	b.ReportMetric(0, "ns/op") // the comparison is in the table
	text := fmt.Sprintf("\n%-20s %5s %8s %14s %14s %14s %9s\n", "driver", "users", "NOPM", "driver µs/NO", "driver µs/tx", "server µs/NO", "resident")
	for _, n := range users {
		for _, d := range list {
			text += d.line(n, d.sums[n])
		}
	}
	for _, d := range list[:2] { // memory only
		text += d.line(100, field.turn(b, d, 100))
	}
	fmt.Print(text) // a benchmark's log is cut off after some lines
}

// BenchmarkLoadAndCheck loads LOADSTONE_BENCH_WAREHOUSES (10) and runs all
// checks, LOADSTONE_BENCH_ROUNDS (2) times, and has the server read the same
// rows from files of its own binary format in between. It reports the least
// time and CPU of each, and what part of the raw copy's speed loading the rows
// has.
func BenchmarkLoadAndCheck(b *testing.B) {
	server := enginetest.Restartable(b, postgres.New(), engine.Config{
		Connections: 20, Settings: map[string]string{"shared_buffers": "4GB", "maintenance_work_mem": "512MB"},
	})
	f := &field{server: server, dir: server.Dir(), warehouses: number(b, "LOADSTONE_BENCH_WAREHOUSES", 10), clock: clock.Real{}}
	least := map[string]float64{}
	note := func(what string, n float64) {
		if old, ok := least[what]; !ok || n < old {
			least[what] = n
		}
	}
	for i := range number(b, "LOADSTONE_BENCH_ROUNDS", 2) {
		d := f.definition(b, "procedures")
		d.Database = fmt.Sprint("round", i)
		own, others, _ := process(os.Getpid())
		served := f.served()
		began := f.clock.Now()
		r, err := server.Load(b.Context(), d, engine.LoadOptions{Workers: 2})
		if err != nil {
			b.Fatal(err)
		}
		note("load-s", f.clock.Now().Sub(began).Seconds())
		for stage, seconds := range r.StageSeconds {
			note(stage+"-s", seconds)
		}
		cpu, waited, _ := process(os.Getpid())
		note("loader-cpu-s", cpu+waited-own-others)
		note("server-cpu-s", f.served()-served)
		note("rows", float64(r.Rows))
		raw := pgtest.RawCopy(b, server, postgres.Dialect{}, d, server.Dir(), 2)
		note("raw-copy-s", raw)
		began = f.clock.Now()
		checks, err := trial.Checks(b.Context(), server, d, enginetest.NewTally())
		if err != nil {
			b.Fatal(err)
		}
		note("checks-s", f.clock.Now().Sub(began).Seconds())
		for _, c := range checks {
			if !c.Passed {
				b.Errorf("%s: found %d", c.Name, c.Found)
			}
		}
		f.ask(b, "template1", "DROP DATABASE "+d.Database)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(least["raw-copy-s"]/least["rows-s"], "of-raw-copy")
	for what, n := range least {
		b.ReportMetric(n, what)
	}
}

// field is where drivers compete.
type field struct {
	server     *enginetest.Server
	dir        string // of the server's files
	host, port string
	warehouses int
	length     time.Duration
	clock      clock.Clock
}

// driver is one competitor.
type driver struct {
	name, database string
	start          func(users, seconds int) *exec.Cmd
	ownMix         bool // its transactions are not in our proportion
	sums           map[int]usage
}

// usage is what a driver did and took while it was measured.
type usage struct {
	turns         int
	orders        float64
	seconds       float64
	driver, other float64 // CPU seconds: of the driver, of the server
	resident      float64 // MB, at the end
}

func (d *driver) add(users int, u usage) {
	if d.sums == nil {
		d.sums = map[int]usage{}
	}
	s := d.sums[users]
	d.sums[users] = usage{
		s.turns + u.turns, s.orders + u.orders, s.seconds + u.seconds, s.driver + u.driver, s.other + u.other,
		max(s.resident, u.resident),
	}
}

// transactionsPerOrder is how many transactions go with a New-Order that
// commits: 23 in a deck to 10, less those rolled back.
const transactionsPerOrder = 2.3 / 0.99

func (d *driver) line(users int, u usage) string {
	perOrder := 1e6 * u.driver / u.orders
	tx := fmt.Sprintf("%14.1f", perOrder/transactionsPerOrder)
	if d.ownMix {
		tx = fmt.Sprintf("%14s", "-")
	}
	return fmt.Sprintf("%-20s %5d %8.0f %14.1f %s %14.1f %6.1f MB\n",
		d.name, users, 60*u.orders/u.seconds, perOrder, tx, 1e6*u.other/u.orders, u.resident)
}

// newField starts the server and loads a database for each mode.
func newField(b *testing.B) *field {
	f := &field{
		server: enginetest.Restartable(b, postgres.New(), engine.Config{
			Connections: 120, Durable: true,
			Settings: map[string]string{"shared_buffers": "4GB", "max_wal_size": "16GB"},
		}),
		warehouses: number(b, "LOADSTONE_BENCH_WAREHOUSES", 10),
		length:     time.Duration(number(b, "LOADSTONE_BENCH_SECONDS", 5)) * time.Second,
	}
	told, ok := f.server.Database.(interface{ Endpoint() string })
	if !ok {
		b.Fatal("the engine tells no endpoint")
	}
	m := regexp.MustCompile(`:(\d+), Unix socket (.*)/[^/]+$`).FindStringSubmatch(told.Endpoint())
	if m == nil {
		b.Fatalf("no port and socket in %q", told.Endpoint())
	}
	f.port, f.host, f.dir, f.clock = m[1], m[2], f.server.Dir(), clock.Real{}
	return f
}

// ours are Loadstone's driver in both modes, and pgbench calling the
// procedures of the first.
func (f *field) ours(b *testing.B) []*driver {
	var list []*driver
	for _, mode := range []string{"procedures", "statements"} {
		d := f.definition(b, mode)
		r, err := f.server.Load(b.Context(), d, engine.LoadOptions{Workers: 2})
		if err != nil {
			b.Fatal(err)
		}
		b.Logf("loaded %s: stages %.2v", mode, r.StageSeconds)
		list = append(list, &driver{name: "Loadstone, " + mode, database: mode, start: func(users, seconds int) *exec.Cmd {
			cmd := exec.CommandContext(b.Context(), os.Args[0], "-test.run", "^TestDriveAsChild$", "-test.count", "1")
			cmd.Env = append(os.Environ(), fmt.Sprintf("LOADSTONE_BENCH_CHILD=%s %s %s %d %d %d",
				f.host, f.port, mode, f.warehouses, users, seconds))
			return cmd
		}})
	}
	program, err := exec.LookPath("pgbench")
	if err != nil {
		b.Logf("pgbench is left out: %v", err)
		return list
	}
	return append(list, &driver{name: "pgbench, procedures", database: "procedures", start: func(users, seconds int) *exec.Cmd {
		args := []string{"-h", f.host, "-p", f.port, "-U", "orderentry", "-n", "-M", "prepared", "-c", strconv.Itoa(users),
			"-D", "warehouses=" + strconv.Itoa(f.warehouses), "-T", strconv.Itoa(seconds)}
		for name, weight := range map[string]int{"neworder": 10, "payment": 10, "orderstatus": 1, "delivery": 1, "stocklevel": 1} {
			args = append(args, "-f", fmt.Sprintf("testdata/pgbench/%s.sql@%d", name, weight))
		}
		return exec.CommandContext(b.Context(), program, append(args, "procedures")...)
	}})
}

func (f *field) definition(tb testing.TB, mode string) *workload.Definition {
	d := define(tb, map[string]string{"warehouses": strconv.Itoa(f.warehouses), "mode": mode})
	d.Database = mode
	return d
}

// others are the drivers of testdata/peers.txt that this machine has, each
// with a database that it fills itself.
func (f *field) others(b *testing.B) (list []*driver) {
	for text := range strings.Lines(peersText) {
		parts := strings.Split(strings.TrimSpace(text), " | ")
		if len(parts) != 4 || strings.HasPrefix(text, "#") {
			continue
		}
		name, database := parts[0], strings.ReplaceAll(parts[0], "-", "_")
		if _, err := exec.LookPath(parts[1]); err != nil {
			b.Logf("%s is left out: %v", name, err)
			continue
		}
		shell := func(command string, users, seconds int) *exec.Cmd {
			cmd := exec.CommandContext(b.Context(), "sh", "-c", command)
			cmd.Env = append(os.Environ(), "HOST="+f.host, "PORT="+f.port, "ROLE=orderentry", "PASSWORD=orderentry", "DATABASE="+database,
				fmt.Sprint("WAREHOUSES=", f.warehouses), fmt.Sprint("USERS=", users), fmt.Sprint("SECONDS=", seconds))
			return cmd
		}
		f.ask(b, "template1", "CREATE DATABASE "+database+" OWNER orderentry")
		if out, err := shell(parts[2], 1, 1).CombinedOutput(); err != nil {
			b.Logf("%s is left out, it could not fill its database: %v\n%s", name, err, out)
			continue
		}
		list = append(list, &driver{name: name, database: database, ownMix: true, start: func(users, seconds int) *exec.Cmd {
			return shell(parts[3], users, seconds)
		}})
	}
	return list
}

// ask runs one statement that returns at most one number.
func (f *field) ask(b *testing.B, database, sql string) float64 {
	b.Helper()
	s, err := f.server.Open(b.Context(), &workload.Definition{Database: database})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	r, err := s.Conn().Run(b.Context(), &workload.Statement{Index: -1, Name: sql, Text: sql}, nil)
	if err != nil {
		b.Fatalf("%s: %v", sql, err)
	}
	if r.Rows() == 0 {
		return 0
	}
	return float64(r.Values[0].Int)
}

// turn lets d work and measures it for f.length, when it has started well.
func (f *field) turn(b *testing.B, d *driver, users int) usage {
	warm := max(f.length/5, time.Second)
	cmd := d.start(users, int((warm+f.length)/time.Second)+3)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	f.wait(b, warm)
	before := f.read(b, d, cmd.Process.Pid)
	f.wait(b, f.length)
	after := f.read(b, d, cmd.Process.Pid)
	if err := cmd.Wait(); err != nil {
		b.Fatalf("%s: %v\n%s", d.name, err, out.Bytes())
	}
	u := usage{1, after.orders - before.orders, after.seconds - before.seconds, after.driver - before.driver, after.other - before.other, after.resident}
	if u.orders <= 0 {
		b.Fatalf("%s entered no orders\n%s", d.name, out.Bytes())
	}
	return u
}

func (f *field) wait(b *testing.B, d time.Duration) {
	if err := f.clock.SleepUntil(b.Context(), f.clock.Now().Add(d)); err != nil {
		b.Fatal(err)
	}
}

// read takes all counters at one moment.
func (f *field) read(b *testing.B, d *driver, pid int) usage {
	var u usage
	table := "district"
	if d.name == "sysbench-tpcc" {
		table = "district1" // it numbers its sets of tables
	}
	u.orders = f.ask(b, d.database, "SELECT sum(d_next_o_id) FROM "+table)
	u.seconds = float64(f.clock.Now().UnixNano()) / 1e9
	for _, p := range append(descendants(pid), pid) {
		cpu, _, resident := process(p)
		u.driver += cpu
		u.resident += resident
	}
	u.other = f.served()
	return u
}

// served is the CPU time of the server's processes so far, in seconds.
func (f *field) served() (seconds float64) {
	for _, p := range enginetest.Processes(f.dir) {
		cpu, waited, _ := process(p)
		seconds += cpu + waited
	}
	return seconds
}

// process is the CPU time in seconds of a process and of its children that have
// ended, and its resident memory in MB, from /proc/PID/stat (proc(5)).
func process(pid int) (cpu, waited, resident float64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, 0 // it has ended
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	at := func(i int) float64 {
		n, _ := strconv.ParseFloat(fields[i-3], 64) // the state is the third field
		return n
	}
	const ticks = 100 // USER_HZ
	return (at(14) + at(15)) / ticks, (at(16) + at(17)) / ticks, at(24) * float64(os.Getpagesize()) / 1e6
}

// descendants are the processes below pid.
func descendants(pid int) (list []int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range files {
		text, _ := os.ReadFile(file)
		for _, word := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(word); err == nil {
				list = append(append(list, child), descendants(child)...)
			}
		}
	}
	return list
}

// TestDriveAsChild is Loadstone's driver as a process of its own: it does
// nothing unless the benchmark runs it.
func TestDriveAsChild(t *testing.T) {
	text := os.Getenv("LOADSTONE_BENCH_CHILD")
	if text == "" {
		t.Skip("only for the benchmark")
	}
	var host, port, mode string
	var f field
	var users, seconds int
	if _, err := fmt.Sscan(text, &host, &port, &mode, &f.warehouses, &users, &seconds); err != nil {
		t.Fatal(err)
	}
	d := f.definition(t, mode)
	r, err := drive.Run(t.Context(), drive.Config{
		Workload: d, Target: unixTarget{filepath.Join(host, ".s.PGSQL."+port), d}, Clock: clock.Real{},
		Users: users, Measure: time.Duration(seconds) * time.Second, Seed: uint64(clock.Real{}.Now().UnixNano()),
	}, nowhere{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Errors) > 0 {
		t.Errorf("errors: %+v", r.Errors)
	}
}

// nowhere is a sink for intervals that nobody reads.
type nowhere struct{}

func (nowhere) Interval(record.Interval) error { return nil }

// unixTarget opens sessions as the engine does, on a server of another process.
type unixTarget struct {
	socket string
	d      *workload.Definition
}

// Open implements drive.Target.
func (u unixTarget) Open(ctx context.Context, _ int) (drive.Session, error) {
	c := wire.Config{Network: "unix", Address: u.socket, User: u.d.Role.Name, Database: u.d.Database}
	for _, st := range u.d.Statements {
		text, err := (postgres.Dialect{}).Statement(st)
		if err != nil {
			return nil, err
		}
		c.Statements = append(c.Statements, wire.Prepared{Index: st.Index, Name: st.Name, SQL: text})
	}
	conn, err := wire.Dial(ctx, c)
	if err != nil {
		return nil, err
	}
	return engine.NewSession(conn, wire.Classify), nil
}
