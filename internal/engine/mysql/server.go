package mysql

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/daemon"
	"github.com/loadstone-perf/loadstone/internal/engine/mysql/wire"
)

// server is a running database.
type server struct {
	in       *installation
	machine  engine.Machine
	address  address
	chosen   []choice
	process  *daemon.Process
	answered bool // it has been ready once
	// logDir and largePages are as in engine.Config.
	logDir, largePages string

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
	_, memory := m.Capacity()
	chosen, err := in.choose(c, memory)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", in.product.title(), err)
	}
	if c.LogDir != "" {
		if err := moveLog(ctx, m, c.LogDir); err != nil {
			return nil, fmt.Errorf("start %s: %w", in.product.title(), err)
		}
	}
	var s *server
	err = daemon.OnFreePort(func(port int) (err error) {
		s, err = in.start(ctx, m, chosen, port)
		return err
	})
	if err == nil {
		s.logDir, s.largePages = c.LogDir, c.LargePages
		if err = s.provePages(ctx); err != nil {
			err = errors.Join(err, s.Stop(ctx))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("start %s %s: %w", in.product.title(), in.version, err)
	}
	return s, nil
}

// start tries once, with a port.
func (in *installation) start(ctx context.Context, m engine.Machine, chosen []choice, port int) (*server, error) {
	data := dataDir(m)
	// A second server in the same place would try for half a minute to lock
	// the files of the first.
	isServer := func(program string) bool { return program == "mariadbd" || program == "mysqld" }
	if pids := daemon.In(data, isServer); len(pids) > 0 {
		return nil, fmt.Errorf("process %d already runs a server in %s", pids[0], data)
	}
	dir, err := daemon.SocketDir(ctx, m, socketName)
	if err != nil {
		return nil, err
	}
	s := &server{in: in, machine: m, address: address{dir, port}, chosen: chosen}
	s.counters, s.waits = newCounters(s, in.product, serverCounters(in.product)), newWaits(s, waitsQuery)
	err = makeTemp(ctx, m)
	if err == nil {
		err = daemon.Put(ctx, m, configFile(m), in.render(chosen, data, tempDir(m), s.address))
	}
	if err == nil {
		s.process, err = daemon.Start(ctx, m, in.server, "--defaults-file="+configFile(m))
	}
	if err != nil {
		return nil, errors.Join(err, s.removeSocketDir())
	}
	if err := s.ready(ctx); err != nil {
		// Nobody needs the files of a server that never answered in order.
		now, cancel := context.WithCancel(context.WithoutCancel(ctx))
		cancel()
		_ = s.Stop(now)
		if strings.Contains(s.Log(), "Can't start server: Bind on TCP/IP port") {
			err = fmt.Errorf("%w: %w", daemon.ErrPortTaken, err)
		}
		return nil, err
	}
	return s, nil
}

// ready returns when the server answers. Its socket is made when it is ready, so
// that any answer is final.
func (s *server) ready(ctx context.Context) error {
	err := s.process.Ready(ctx, func(ctx context.Context) error {
		conn, err := s.connect(ctx)
		if err != nil {
			return err
		}
		return conn.Close()
	}, func(err error) bool {
		_, refused := errors.AsType[*wire.Error](err)
		return refused
	})
	s.answered = err == nil
	return err
}

// connect opens a connection of the superuser, to no database.
func (s *server) connect(ctx context.Context) (*wire.Conn, error) {
	return wire.Dial(ctx, s.own())
}

// own returns how to connect as the superuser.
func (s *server) own() wire.Config {
	return wire.Config{Network: "unix", Address: s.address.socket(), User: superuser}
}

// Exited implements engine.Database.
func (s *server) Exited() <-chan struct{} { return s.process.Exited() }

// Log implements engine.Database: at most the last 64 KiB.
func (s *server) Log() string { return s.process.Log() }

// Endpoint tells people and other programs where the server listens.
func (s *server) Endpoint() string {
	return fmt.Sprintf("127.0.0.1:%d, Unix socket %s", s.address.port, s.address.socket())
}

// Stop implements engine.Database with the product's own shutdown: sessions are
// cut off, their open transactions rolled back, and everything is written and
// made safe. Where ctx ends first the server is killed and the error says so;
// its files then need the recovery that the next Start does. A server that had
// ended by itself is an error too.
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
		cut = s.process.End(ctx, syscall.SIGTERM)
		if cut == nil && s.process.Failure() != nil {
			cut = fmt.Errorf("the server ended with %w", s.process.Failure())
		}
	}
	remains := s.removeSocketDir()
	if !s.process.Settle() {
		remains = errors.Join(remains, errors.New("processes of the server do not end"))
	}
	if cut != nil {
		return s.process.WithLog(errors.Join(cut, remains))
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
	_ = os.Remove(s.address.dir) // it may not be there, or not be empty
	return nil
}
