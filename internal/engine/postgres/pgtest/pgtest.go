//go:build linux

// Package pgtest runs a throw-away PostgreSQL for the tests of packages that
// the engine itself is made of and that can't use it. The server is not
// durable; it dies with the test's process.
package pgtest

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
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loadstone-perf/loadstone/internal/clock"
)

// Server is a running server. Superuser is "postgres", without a password.
type Server struct {
	Bin    string // directory of the product's programs
	Socket string // path of the Unix socket
	Port   int    // on 127.0.0.1; it names the socket too
	stop   func()
}

// TCP is the server's address on loopback.
func (s *Server) TCP() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port)) }

// Config is how to connect to database postgres as superuser.
func (s *Server) Config() *pgconn.Config {
	cfg, err := pgconn.ParseConfig("host=" + filepath.Dir(s.Socket) + " user=postgres dbname=postgres sslmode=disable")
	if err != nil {
		panic(err) // our own text
	}
	cfg.Port = uint16(s.Port)
	return cfg
}

// Shared is a server that the first test which needs it starts, and Main
// stops.
type Shared struct {
	once   sync.Once
	server *Server
	err    error
}

// Main runs a package's tests and stops the server; call it from TestMain.
func (s *Shared) Main(m *testing.M) {
	code := m.Run()
	if s.server != nil {
		s.server.stop()
	}
	os.Exit(code)
}

// Get returns the server, or skips the test where the machine has none.
func (s *Shared) Get(tb testing.TB) *Server {
	tb.Helper()
	s.once.Do(func() { s.server, s.err = start() })
	if s.err != nil {
		if os.Getenv("CI") == "true" {
			tb.Fatal(s.err)
		}
		tb.Skip(s.err)
	}
	return s.server
}

func start() (*Server, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return nil, fmt.Errorf("no PostgreSQL server: /usr/lib/postgresql/*/bin/initdb is missing")
	}
	slices.Sort(found)
	dir, err := os.MkdirTemp("", "pgtest")
	if err != nil {
		return nil, err
	}
	s := &Server{Bin: filepath.Dir(found[len(found)-1]), stop: func() { _ = os.RemoveAll(dir) }}
	if err := s.start(dir); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// start makes a database in dir and runs a server on it.
func (s *Server) start(dir string) error {
	attr, err := unprivileged(dir)
	if err != nil {
		return err
	}
	data := filepath.Join(dir, "d")
	initdb := exec.Command(filepath.Join(s.Bin, "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-N", "-E", "UTF8", "--locale=C")
	initdb.SysProcAttr, initdb.Dir = attr, dir
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	if s.Port, err = freePort(); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return err
	}
	cmd := exec.Command(filepath.Join(s.Bin, "postgres"), "-D", data, "-k", dir, "-p", strconv.Itoa(s.Port),
		"-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "max_connections=200",
		"-c", "shared_buffers=128MB", "-c", "max_wal_size=4GB", "-c", "wal_level=minimal", "-c", "max_wal_senders=0")
	cmd.SysProcAttr, cmd.Dir, cmd.Stderr = attr, dir, log
	if err := cmd.Start(); err != nil {
		return err
	}
	s.Socket = filepath.Join(dir, fmt.Sprintf(".s.PGSQL.%d", s.Port))
	s.stop = func() {
		_ = cmd.Process.Signal(syscall.SIGINT) // fast shutdown
		_ = cmd.Wait()
		_ = log.Close()
		_ = os.RemoveAll(dir)
	}
	return s.wait(log.Name())
}

// unprivileged is how to run the server's programs, which refuse root: as
// nobody, to whom dir then belongs.
func unprivileged(dir string) (*syscall.SysProcAttr, error) {
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() != 0 {
		return attr, nil
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		return nil, err
	}
	uid, _ := strconv.Atoi(nobody.Uid)
	gid, _ := strconv.Atoi(nobody.Gid)
	attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return attr, os.Chown(dir, uid, gid)
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// wait returns when the server answers.
func (s *Server) wait(log string) error {
	const tries, pause = 300, 100 * time.Millisecond
	for range tries {
		c, err := pgconn.ConnectConfig(context.Background(), s.Config())
		if err == nil {
			return c.Close(context.Background())
		}
		_ = clock.Real{}.SleepUntil(context.Background(), clock.Real{}.Now().Add(pause))
	}
	said, _ := os.ReadFile(log)
	return fmt.Errorf("the server does not answer:\n%s", said)
}
