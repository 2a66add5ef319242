package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/daemon"
)

// server is a running cluster.
type server struct {
	in      *installation
	machine engine.Machine
	address address
	chosen  []choice
	durable bool
	logDir  string // that holds the log apart from the data; "" where it does not

	process  *daemon.Process
	answered bool     // it has been ready once
	shared   []string // shared memory files that the server mapped at its start

	counters *counters
	waits    *waits

	stopping sync.Mutex
	stopped  bool
	stop     error
}

// Start implements engine.Installation. It waits for the server as long as
// ctx allows, because recovery after a crash takes as long as it takes; a
// server that ends is noticed at once, and the error has its last words.
func (in *installation) Start(ctx context.Context, m engine.Machine, c engine.Config) (engine.Database, error) {
	cpus, memory := m.Capacity()
	chosen, err := choose(c, cpus, memory)
	if err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	if c.LogDir != "" {
		if err := moveLog(ctx, m, c.LogDir); err != nil {
			return nil, fmt.Errorf("start PostgreSQL: %w", err)
		}
	}
	var s *server
	err = daemon.OnFreePort(func(port int) (err error) {
		s, err = in.start(ctx, m, chosen, c.Durable, port)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("start PostgreSQL %s: %w", in.version, err)
	}
	s.logDir = c.LogDir
	return s, nil
}

// start tries once, with a port.
func (in *installation) start(ctx context.Context, m engine.Machine, chosen []choice, durable bool, port int) (*server, error) {
	dir, err := daemon.SocketDir(ctx, m, filepath.Base(address{port: 65535}.socket()))
	if err != nil {
		return nil, err
	}
	s := &server{in: in, machine: m, address: address{dir, port}, chosen: chosen, durable: durable}
	s.counters, s.waits = newCounters(s), newWaits(s)
	err = daemon.Put(ctx, m, configFile(m), render(chosen, dataDir(m), s.address))
	if err == nil {
		s.process, err = daemon.Start(ctx, m, in.program("postgres"), "--config-file="+configFile(m))
	}
	if err != nil {
		return nil, errors.Join(err, s.removeSocketDir())
	}
	if err := s.ready(ctx); err != nil {
		// Nobody needs the files of a server that never answered in order.
		now, cancel := context.WithCancel(context.WithoutCancel(ctx))
		cancel()
		_ = s.Stop(now)
		if strings.Contains(s.Log(), "could not create any TCP/IP sockets") {
			err = fmt.Errorf("%w: %w", daemon.ErrPortTaken, err)
		}
		return nil, err
	}
	return s, nil
}

// ready returns when the server answers.
func (s *server) ready(ctx context.Context) error {
	err := s.process.Ready(ctx, func(ctx context.Context) error {
		conn, err := s.connect(ctx)
		if err != nil {
			return err
		}
		return conn.Close(ctx)
	}, func(err error) bool {
		// 57P03: starting up, or in recovery. Any other answer is final.
		refused, ok := errors.AsType[*pgconn.PgError](err)
		return ok && refused.Code != "57P03"
	})
	if err == nil {
		s.answered, s.shared = true, sharedFiles(s.process.Pid())
	}
	return err
}

// connect opens a connection of the superuser to the maintenance database.
func (s *server) connect(ctx context.Context) (*pgconn.PgConn, error) {
	c, err := s.superuser()
	if err != nil {
		return nil, err
	}
	return pgconn.ConnectConfig(ctx, c)
}

// superuser returns how to connect as the superuser. Nothing in it is from the
// environment's PG… variables.
func (s *server) superuser() (*pgconn.Config, error) {
	c, err := pgconn.ParseConfig("host=/ user=" + superuser + " dbname=postgres sslmode=disable")
	if err != nil {
		return nil, err
	}
	c.Host, c.Port = s.address.dir, uint16(s.address.port)
	c.Password, c.Fallbacks, c.ConnectTimeout, c.ValidateConnect = "", nil, 0, nil
	c.RuntimeParams = map[string]string{"application_name": "loadstone"}
	return c, nil
}

// Exited implements engine.Database.
func (s *server) Exited() <-chan struct{} { return s.process.Exited() }

// Log implements engine.Database: at most the last 64 KiB.
func (s *server) Log() string { return s.process.Log() }

// Endpoint tells people and other programs where the server listens.
func (s *server) Endpoint() string {
	return fmt.Sprintf("127.0.0.1:%d, Unix socket %s", s.address.port, s.address.socket())
}

// Stop implements engine.Database with the product's fast shutdown: sessions
// are cut off, their open transactions rolled back, and everything is written.
// Where ctx ends first the server is made to quit at once and the error says
// so; its files then need the recovery that the next Start does. A server that
// had ended by itself is an error too, once its remains are cleared away.
func (s *server) Stop(ctx context.Context) error {
	s.stopping.Lock()
	defer s.stopping.Unlock()
	if !s.stopped {
		s.stop = s.end(ctx)
		s.stopped = true
	}
	return s.stop
}

func (s *server) end(ctx context.Context) error {
	s.counters.close()
	s.waits.close()
	var cut error
	select {
	case <-s.Exited():
		cut = fmt.Errorf("the server had ended by itself: %w", s.process.Exit())
	default:
		// Fast shutdown, then the immediate one.
		cut = s.process.End(ctx, syscall.SIGINT, syscall.SIGQUIT)
		if cut == nil && s.process.Failure() != nil {
			cut = fmt.Errorf("the server ended with %w", s.process.Failure())
		}
	}
	// The context may be over, and the remains must go all the same.
	after := context.WithoutCancel(ctx)
	remains := errors.Join(s.clear(after), s.removeSocketDir())
	if cut != nil {
		return s.process.WithLog(errors.Join(cut, remains))
	}
	if !s.durable && remains == nil {
		if _, err := daemon.Run(s.machine.Command(ctx, s.in.program("initdb"), "--sync-only", "--pgdata", dataDir(s.machine))); err != nil {
			return fmt.Errorf("make the files safe: %w", err)
		}
	}
	return remains
}

// removeSocketDir removes the socket's directory: a snapshot of the machine's
// directory must hold no socket. A server that never answered removes only what
// is its own, because the directory may be that of another that runs there.
func (s *server) removeSocketDir() error {
	if s.answered {
		return os.RemoveAll(s.address.dir)
	}
	for _, path := range []string{s.address.socket(), s.address.socket() + ".lock", s.address.dir} {
		_ = os.Remove(path) // it may not be there, or not be empty
	}
	return nil
}
