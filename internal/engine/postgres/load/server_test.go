package load

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/engine/postgres/wire"
)

// testServer is a PostgreSQL server for the tests of this package.
type testServer struct {
	bin, socket string
	port        int
	stop        func()
	err         error
}

// started tells TestMain that there may be a server to stop.
var started atomic.Bool

// shared is started by the first test that needs a server; TestMain stops it.
var shared = sync.OnceValue(startServer)

func TestMain(m *testing.M) {
	code := m.Run()
	if started.Load() {
		shared().stop()
	}
	os.Exit(code)
}

// server returns the running server, or skips where the machine has none.
func server(tb testing.TB) *testServer {
	tb.Helper()
	s := shared()
	if s.err != nil {
		if os.Getenv("CI") == "true" {
			tb.Fatal(s.err)
		}
		tb.Skip(s.err)
	}
	return s
}

// config is how the tests connect, as superuser.
func (s *testServer) config() *pgconn.Config {
	cfg, err := pgconn.ParseConfig("host=" + filepath.Dir(s.socket) + " user=postgres dbname=postgres sslmode=disable")
	if err != nil {
		panic(err)
	}
	cfg.Port = uint16(s.port)
	return cfg
}

// dial connects to a database as superuser.
func dial(tb testing.TB, database string) *wire.Conn {
	tb.Helper()
	cfg := server(tb).config()
	cfg.Database = database
	c, err := wire.Connect(tb.Context(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

func startServer() *testServer {
	started.Store(true)
	s := &testServer{stop: func() {}}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		s.err = fmt.Errorf("no PostgreSQL server: /usr/lib/postgresql/*/bin/initdb is missing")
		return s
	}
	slices.Sort(found)
	s.bin = filepath.Dir(found[len(found)-1])
	dir, err := os.MkdirTemp("", "load")
	if err != nil {
		s.err = err
		return s
	}
	s.stop = func() { _ = os.RemoveAll(dir) }
	if s.err = s.start(dir); s.err != nil {
		s.stop()
	}
	return s
}

// start makes a database in dir and runs a server on it.
func (s *testServer) start(dir string) error {
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() == 0 {
		nobody, err := user.Lookup("nobody")
		if err != nil {
			return err
		}
		uid, _ := strconv.Atoi(nobody.Uid)
		gid, _ := strconv.Atoi(nobody.Gid)
		if err := os.Chown(dir, uid, gid); err != nil {
			return err
		}
		attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	data := filepath.Join(dir, "d")
	initdb := exec.Command(filepath.Join(s.bin, "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-N", "-E", "UTF8", "--locale=C")
	initdb.SysProcAttr, initdb.Dir = attr, dir
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return err
	}
	cmd := exec.Command(filepath.Join(s.bin, "postgres"), "-D", data, "-k", dir, "-p", strconv.Itoa(port),
		"-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "max_connections=100",
		"-c", "shared_buffers=128MB", "-c", "max_wal_size=4GB", "-c", "wal_level=minimal", "-c", "max_wal_senders=0")
	cmd.SysProcAttr, cmd.Dir, cmd.Stderr = attr, dir, log
	if err := cmd.Start(); err != nil {
		return err
	}
	s.socket = filepath.Join(dir, fmt.Sprintf(".s.PGSQL.%d", port))
	s.port = port
	s.stop = func() {
		_ = cmd.Process.Signal(syscall.SIGINT) // fast shutdown
		_ = cmd.Wait()
		_ = log.Close()
		_ = os.RemoveAll(dir)
	}
	return s.wait(log.Name())
}

// waitFor returns when done does, or fails.
func waitFor(tb testing.TB, what string, done func() bool) {
	tb.Helper()
	const tries, pause = 200, 20 * time.Millisecond
	for range tries {
		if done() {
			return
		}
		_ = clock.Real{}.SleepUntil(context.Background(), clock.Real{}.Now().Add(pause))
	}
	tb.Fatalf("%s: not within %d tries", what, tries)
}

// wait returns when the server answers.
func (s *testServer) wait(log string) error {
	const tries, pause = 300, 100 * time.Millisecond
	for range tries {
		c, err := wire.Connect(context.Background(), s.config())
		if err == nil {
			return c.Close()
		}
		_ = clock.Real{}.SleepUntil(context.Background(), clock.Real{}.Now().Add(pause))
	}
	said, _ := os.ReadFile(log)
	return fmt.Errorf("the server does not answer:\n%s", said)
}
