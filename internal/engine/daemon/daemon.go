// Package daemon runs a server program inside an engine.Machine, whatever the
// product: it finds a free port, starts the process, waits until it answers,
// keeps the end of its log, notices its end, and has the small commands that an
// engine gives to a machine: run one to its end, write a file, make a directory
// for a Unix socket.
package daemon

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/engine"
)

const (
	// Patience bounds each step of ending a process by force.
	Patience = 5 * time.Second
	// portTries bounds how often another port is tried.
	portTries = 5
	// askEvery is how often a starting server is asked whether it is ready.
	askEvery = 10 * time.Millisecond
)

// Process is a server that has been started.
type Process struct {
	process *os.Process
	kill    context.CancelFunc // ends the process through its command's context
	log     tail
	exited  chan struct{} // closed when the process has been waited for
	exit    error         // read after exited
	drained chan struct{} // closed when nobody holds the log's pipe any more
}

// Start starts a program in m, with standard output and error as its log. The
// process outlives ctx.
func Start(ctx context.Context, m engine.Machine, program string, args ...string) (*Process, error) {
	// The pipe is ours rather than os/exec's so that the end of the process and
	// the end of the last one that writes to the log are two events.
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	life, kill := context.WithCancel(context.WithoutCancel(ctx))
	cmd := m.Command(life, program, args...)
	cmd.Stdout, cmd.Stderr = write, write
	err = cmd.Start()
	_ = write.Close()
	if err != nil {
		kill()
		_ = read.Close()
		return nil, err
	}
	p := &Process{process: cmd.Process, kill: kill, exited: make(chan struct{}), drained: make(chan struct{})}
	go p.drain(read)
	go p.wait(cmd)
	return p, nil
}

// drain keeps the log until the last process that writes it has ended.
func (p *Process) drain(from io.ReadCloser) {
	defer close(p.drained)
	defer func() { _ = from.Close() }()
	// The only error is of a broken pipe, which ends the log as well.
	_, _ = io.Copy(&p.log, from)
}

func (p *Process) wait(cmd *exec.Cmd) {
	p.exit = cmd.Wait()
	p.kill()
	close(p.exited)
}

// Ready returns when ask, which connects to the server, succeeds. It waits as
// long as ctx allows, because recovery after a crash takes as long as it takes.
// An error of ask that is final, and the end of the process, end the waiting at
// once; the error has the server's last words.
func (p *Process) Ready(ctx context.Context, ask func(context.Context) error, final func(error) bool) error {
	// alive ends with the server, so that no attempt or pause outlasts it.
	alive, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-p.exited:
			cancel()
		case <-alive.Done():
		}
	}()
	wall := clock.Real{}
	for {
		err := ask(alive)
		if err == nil {
			return nil
		}
		if final(err) {
			return p.WithLog(err)
		}
		if wall.SleepUntil(alive, wall.Now().Add(askEvery)) == nil {
			continue
		}
		if ctx.Err() != nil {
			return p.WithLog(fmt.Errorf("the server is not ready: %w", ctx.Err()))
		}
		exit := p.Exit()
		p.Settle() // what it said may still be on its way
		return p.WithLog(fmt.Errorf("the server ended: %w", exit))
	}
}

// Pid is the number of the process.
func (p *Process) Pid() int { return p.process.Pid }

// Exited is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Failure tells how a process that has exited ended; nil is exit status 0.
func (p *Process) Failure() error {
	<-p.exited
	return p.exit
}

// Exit is Failure, or what to say of an exit with status 0 that nobody asked
// for.
func (p *Process) Exit() error {
	if err := p.Failure(); err != nil {
		return err
	}
	return errors.New("exit status 0")
}

// Log returns the last lines of the log, at most 64 KiB.
func (p *Process) Log() string { return p.log.String() }

// WithLog adds the last lines of the log to err.
func (p *Process) WithLog(err error) error {
	return fmt.Errorf("%w; its log ends:\n%s", err, p.log.last(20))
}

// Settle waits until the log of a process that has exited is complete, at most
// Patience, and says whether it is.
func (p *Process) Settle() bool { return pause(p.drained) }

// End asks the process to end with signal ask and waits until ctx is over; then
// it sends the harder ones in turn, with Patience after each, and at last kills
// it. The error says that it was cut off, or that it does not end.
func (p *Process) End(ctx context.Context, ask os.Signal, harder ...os.Signal) error {
	if ctx.Err() == nil {
		// A failure means that the process has just ended.
		_ = p.process.Signal(ask)
		select {
		case <-p.exited:
			return nil
		case <-ctx.Done():
		}
	}
	cut := fmt.Errorf("the server was cut off: %w", ctx.Err())
	for _, s := range harder {
		_ = p.process.Signal(s)
		if pause(p.exited) {
			return cut
		}
	}
	p.kill()
	if !pause(p.exited) {
		return errors.Join(cut, fmt.Errorf("the server's process %d does not end", p.process.Pid))
	}
	return cut
}

// pause waits for done, at most Patience, and says whether it came.
func pause(done <-chan struct{}) bool {
	patience, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	select {
	case <-done:
		return true
	case <-patience.Done():
		return false
	}
}

// Run runs cmd to its end and returns what it printed, without blanks at either
// end; the error has what it said about its failure.
func Run(cmd *exec.Cmd) (string, error) {
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, strings.TrimSpace(errs.String()))
	}
	return strings.TrimSpace(out.String()), nil
}

// Put writes a file as the machine's user, whole or not at all.
func Put(ctx context.Context, m engine.Machine, path, content string) error {
	cmd := m.Command(ctx, "sh", "-c", `umask 077 && cat >"$1.new" && mv "$1.new" "$1"`, "sh", path)
	cmd.Stdin = strings.NewReader(content)
	if _, err := Run(cmd); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// socketMax is the longest path of a Unix socket: 107 bytes on Linux, 103 on
// the BSDs and macOS.
const socketMax = 103

// SocketDir makes a directory that only the machine's user may enter, for a
// Unix socket called name: run/ in the machine's directory, or a short one
// below /tmp where the socket's path would be too long. That has a hash of the
// machine's directory in its name, by which whoever owns the machine finds it
// should this process die: /tmp/loadstone-HASH-RANDOM.
func SocketDir(ctx context.Context, m engine.Machine, name string) (string, error) {
	dir := filepath.Join(m.Dir(), "run")
	if len(filepath.Join(dir, name)) <= socketMax {
		_, err := Run(m.Command(ctx, "mkdir", "-p", "-m", "700", dir))
		return dir, err
	}
	sum := sha256.Sum256([]byte(m.Dir()))
	return Run(m.Command(ctx, "mktemp", "-d", "/tmp/loadstone-"+hex.EncodeToString(sum[:4])+"-XXXXXXXX"))
}

// ErrPortTaken says that somebody took a port between our look and the server's.
var ErrPortTaken = errors.New("the port is taken")

// OnFreePort calls start with a TCP port on loopback that nobody listens on now,
// and again with another where its error is ErrPortTaken.
func OnFreePort(start func(port int) error) error {
	for try := 1; ; try++ {
		port, err := freePort()
		if err != nil {
			return err
		}
		if err = start(port); !errors.Is(err, ErrPortTaken) || try == portTries {
			return err
		}
	}
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port, nil
}
