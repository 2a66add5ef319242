package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/engine"
)

const (
	// startTries bounds how often another port is tried.
	startTries = 5
	// probeEvery is how often a starting server is asked whether it is ready.
	probeEvery = 10 * time.Millisecond
	// quitWait bounds each step of ending a server by force.
	quitWait = 5 * time.Second
	// socketMax is the longest path of a Unix socket: 107 bytes on Linux, 103
	// on the BSDs and macOS.
	socketMax = 103
)

// server is a running cluster.
type server struct {
	in      *installation
	machine engine.Machine
	address address
	chosen  []choice
	durable bool

	process  *os.Process
	kill     context.CancelFunc // ends the process through its command's context
	log      *tail
	answered bool          // it has been ready once
	shared   []string      // shared memory files that the server mapped at its start
	exited   chan struct{} // closed when the postmaster has been waited for
	exit     error         // of the postmaster; read after exited
	drained  chan struct{} // closed when no process holds the log's pipe any more

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
	for try := 1; ; try++ {
		port, err := freePort()
		if err != nil {
			return nil, fmt.Errorf("start PostgreSQL: %w", err)
		}
		s, err := in.start(ctx, m, chosen, c.Durable, port)
		if err == nil {
			return s, nil
		}
		if !errors.Is(err, errPortTaken) || try == startTries {
			return nil, fmt.Errorf("start PostgreSQL %s: %w", in.version, err)
		}
	}
}

// errPortTaken says that somebody took the port between our look and the
// server's.
var errPortTaken = errors.New("the port is taken")

// start tries once, with a port.
func (in *installation) start(ctx context.Context, m engine.Machine, chosen []choice, durable bool, port int) (*server, error) {
	dir, err := socketDir(ctx, m)
	if err != nil {
		return nil, err
	}
	s := &server{
		in: in, machine: m, address: address{dir, port}, chosen: chosen, durable: durable,
		log: &tail{}, exited: make(chan struct{}), drained: make(chan struct{}),
	}
	s.counters, s.waits = newCounters(s), newWaits(s)
	if err := s.launch(ctx); err != nil {
		return nil, errors.Join(err, s.removeSocketDir())
	}
	if err := s.ready(ctx); err != nil {
		// Nobody needs the files of a server that never answered in order.
		now, cancel := context.WithCancel(context.WithoutCancel(ctx))
		cancel()
		_ = s.Stop(now)
		if strings.Contains(s.log.String(), "could not create any TCP/IP sockets") {
			err = fmt.Errorf("%w: %w", errPortTaken, err)
		}
		return nil, err
	}
	return s, nil
}

// launch writes the configuration and starts the postmaster.
func (s *server) launch(ctx context.Context) error {
	data := dataDir(s.machine)
	if err := put(ctx, s.machine, configFile(s.machine), render(s.chosen, data, s.address)); err != nil {
		return err
	}
	// The pipe is ours rather than os/exec's so that the end of the postmaster
	// and the end of the last process that writes to the log are two events.
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	// The server outlives Start's ctx: it ends with Stop.
	life, kill := context.WithCancel(context.WithoutCancel(ctx))
	cmd := s.machine.Command(life, s.in.program("postgres"), "--config-file="+configFile(s.machine))
	cmd.Stdout, cmd.Stderr = write, write
	err = cmd.Start()
	_ = write.Close()
	if err != nil {
		kill()
		_ = read.Close()
		return err
	}
	s.process, s.kill = cmd.Process, kill
	go s.drain(read)
	go s.wait(cmd)
	return nil
}

// drain keeps the server's log until its last process has ended.
func (s *server) drain(from io.ReadCloser) {
	defer close(s.drained)
	defer func() { _ = from.Close() }()
	// The only error is of a broken pipe, which ends the log as well.
	_, _ = io.Copy(s.log, from)
}

func (s *server) wait(cmd *exec.Cmd) {
	s.exit = cmd.Wait()
	s.kill()
	close(s.exited)
}

// ready returns when the server answers.
func (s *server) ready(ctx context.Context) error {
	// alive ends with the server, so that no attempt or pause outlasts it.
	alive, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-s.exited:
			cancel()
		case <-alive.Done():
		}
	}()
	wall := clock.Real{}
	for {
		conn, err := s.connect(alive)
		if err == nil {
			s.answered, s.shared = true, sharedFiles(s.process.Pid)
			return conn.Close(ctx)
		}
		// 57P03: starting up, or in recovery. Any other answer is final.
		if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code != "57P03" {
			return s.withLog(err)
		}
		if wall.SleepUntil(alive, wall.Now().Add(probeEvery)) == nil {
			continue
		}
		if ctx.Err() != nil {
			return s.withLog(fmt.Errorf("the server is not ready: %w", ctx.Err()))
		}
		<-s.exited
		// What it said may still be on its way.
		pause(s.drained)
		return s.withLog(fmt.Errorf("the server ended: %w", exitError(s.exit)))
	}
}

func (s *server) withLog(err error) error {
	return fmt.Errorf("%w; its log ends:\n%s", err, s.log.last(20))
}

// exitError is err, or what to say of an exit with status 0.
func exitError(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}

// pause waits for done, at most quitWait, and says whether it came.
func pause(done <-chan struct{}) bool {
	patience, cancel := context.WithTimeout(context.Background(), quitWait)
	defer cancel()
	select {
	case <-done:
		return true
	case <-patience.Done():
		return false
	}
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
func (s *server) Exited() <-chan struct{} { return s.exited }

// Log implements engine.Database: at most the last 64 KiB.
func (s *server) Log() string { return s.log.String() }

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
	case <-s.exited:
		cut = fmt.Errorf("the server had ended by itself: %w", exitError(s.exit))
	default:
		if cut = s.shutDown(ctx); cut == nil && s.exit != nil {
			cut = fmt.Errorf("the server ended with %w", s.exit)
		}
	}
	// The context may be over, and the remains must go all the same.
	after := context.WithoutCancel(ctx)
	remains := errors.Join(s.clear(after), s.removeSocketDir())
	if cut != nil {
		return s.withLog(errors.Join(cut, remains))
	}
	if !s.durable && remains == nil {
		if _, err := run(s.machine.Command(ctx, s.in.program("initdb"), "--sync-only", "--pgdata", dataDir(s.machine))); err != nil {
			return fmt.Errorf("make the files safe: %w", err)
		}
	}
	return remains
}

// shutDown ends a postmaster that was running, by ever harder means.
func (s *server) shutDown(ctx context.Context) error {
	if ctx.Err() == nil {
		// A failure means that the process has just ended.
		_ = s.process.Signal(syscall.SIGINT)
		select {
		case <-s.exited:
			return nil
		case <-ctx.Done():
		}
	}
	cut := fmt.Errorf("the server was cut off: %w", ctx.Err())
	_ = s.process.Signal(syscall.SIGQUIT)
	if !pause(s.exited) {
		s.kill()
		if !pause(s.exited) {
			return errors.Join(cut, fmt.Errorf("the server's process %d does not end", s.process.Pid))
		}
	}
	return cut
}

// freePort returns a TCP port on loopback that nobody listens on now.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// socketDir makes a directory that only the machine's user may enter and whose
// sockets' paths are short enough.
func socketDir(ctx context.Context, m engine.Machine) (string, error) {
	dir := filepath.Join(m.Dir(), "run")
	if len(address{dir, 65535}.socket()) <= socketMax {
		_, err := run(m.Command(ctx, "mkdir", "-p", "-m", "700", dir))
		return dir, err
	}
	return run(m.Command(ctx, "mktemp", "-d", "/tmp/loadstone-XXXXXXXX"))
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
