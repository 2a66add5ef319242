package enginetest

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/engine"
)

// Server is a server on a local machine that a test may kill and start again.
type Server struct {
	engine.Database // of the latest start
	machine         *Local
	install         engine.Installation
	config          engine.Config
}

// Restartable is Serve for tests that kill the server.
func Restartable(t testing.TB, e engine.Engine, c engine.Config) *Server {
	t.Helper()
	in := located(t, e)
	m := localMachine(t)
	if err := in.Create(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	s := &Server{machine: m, install: in, config: c}
	s.start(t)
	return s
}

// Reopen starts e on the files of a Server of another process, which has
// stopped: see Child.
func Reopen(t testing.TB, e engine.Engine, dir string, c engine.Config) *Server {
	t.Helper()
	s := &Server{machine: &Local{dir: dir}, install: located(t, e), config: c}
	s.start(t)
	return s
}

// Child is the crash of an engine that is no process of its own: the server
// stops, and the named test of this program runs as a child, with the directory
// of the files in the environment under variable, to Reopen it. told is called
// with each line that the child prints; when it returns false the child is
// killed, and what it printed until then is still told. The child's errors are
// lines, too.
func (s *Server) Child(t *testing.T, test, variable string, told func(line string) bool) {
	t.Helper()
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+test+"$", "-test.count=1")
	cmd.Env = append(os.Environ(), variable+"="+s.Dir())
	cmd.SysProcAttr = attributes(false)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killed := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if !told(lines.Text()) && !killed {
			killed = true
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	if err := cmd.Wait(); !killed {
		t.Errorf("the child ended by itself: %v", err)
	}
	s.start(t)
}

// start starts the server on what its files hold; it ends with the test.
func (s *Server) start(t testing.TB) {
	t.Helper()
	db, err := s.install.Start(t.Context(), s.machine, s.config)
	if err != nil {
		t.Fatal(err)
	}
	s.Database = db
	t.Cleanup(func() {
		// A server that was killed has nothing left to stop in order.
		if err := db.Stop(context.WithoutCancel(t.Context())); err != nil && s.Database == db {
			t.Error(err)
		}
	})
}

// Restart stops the server in good order and starts it as c says: tests load
// without durability, as trials do, and go on with it.
func (s *Server) Restart(t testing.TB, c engine.Config) {
	t.Helper()
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.config = c
	s.start(t)
}

// Dir is where the server's files are and its processes work.
func (s *Server) Dir() string { return s.machine.Dir() }

// Own tells whether the server is a process of its own, which Kill can end.
func (s *Server) Own() bool { return s.machine.Server() != nil }

// Kill ends the server at once, as a crash does. It may be called from any
// goroutine.
func (s *Server) Kill() error { return s.machine.Server().Kill() }

// Recover waits until the killed server is gone and starts it again.
func (s *Server) Recover(t testing.TB) {
	t.Helper()
	select {
	case <-s.Exited():
	case <-patience(t):
		t.Fatal("the server that was killed still runs")
	}
	if err := s.Stop(t.Context()); err == nil {
		t.Error("stopping a server that was killed reported that all is in order")
	}
	noneLeft(t, s.machine)
	s.start(t)
}
