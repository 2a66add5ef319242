//go:build linux

package libvirt

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/loadstone-perf/loadstone/internal/provider/home"
	"github.com/loadstone-perf/loadstone/internal/provider/libvirt/guest"
)

// relayBound is how long connecting to the guest may take.
const relayBound = 10 * time.Second

// link is the connection with one guest's agent, and the sockets on the host
// that stand for the guest's.
type link struct {
	agent  *guest.Agent
	ferry  *ferry // what agent speaks over
	config guest.Config

	mu      sync.Mutex
	closed  bool
	sockets map[string]*net.UnixListener
	madeDir map[string]bool // directories that exist on the host for a socket only
	work    sync.WaitGroup
}

// openLink connects to the port at path. The guest need not run yet.
func openLink(path string, c guest.Config) (*link, error) {
	conn, err := dialShort(path)
	if err != nil {
		return nil, fmt.Errorf("the port to the guest: %w", err)
	}
	f := newFerry(conn)
	return &link{agent: guest.NewAgent(f), ferry: f, config: c, sockets: map[string]*net.UnixListener{}, madeDir: map[string]bool{}}, nil
}

// settle waits for the agent and prepares the guest. Where ctx ends first the
// link is closed.
func (l *link) settle(ctx context.Context, c guest.Config) (facts guest.Facts, err error) {
	err = l.within(ctx, func() (err error) {
		facts, err = l.agent.Settle(c)
		return err
	})
	return facts, err
}

// within calls do, and closes the link where ctx ends first.
func (l *link) within(ctx context.Context, do func() error) error {
	stop := context.AfterFunc(ctx, func() { _ = l.agent.Close() })
	err := do()
	if !stop() && err == nil {
		err = ctx.Err()
	}
	return err
}

// close ends the connection, whereupon the guest powers off, and removes the
// sockets on the host.
func (l *link) close() {
	_ = l.agent.Close()
	l.mu.Lock()
	l.closed = true
	for path := range l.sockets {
		l.drop(path)
	}
	l.mu.Unlock()
	l.work.Wait()
}

// mirror keeps, for each socket that servers make in the guest, one at the same
// path on the host, below dir or /tmp.
func (l *link) mirror(dir string) {
	l.work.Go(func() {
		// It ends with the link.
		_ = l.agent.Watch(func(path string, there bool) {
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.closed || !below(path, dir) && !below(path, "/tmp") {
				return
			}
			l.drop(path)
			if there {
				// A path at which the host can have no socket is reported by
				// who looks for the server there.
				_ = l.listen(path)
			}
		})
	})
}

// below says whether path is inside dir.
func below(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel) && rel != "."
}

// listen makes the socket on the host; the caller holds mu.
func (l *link) listen(path string) error {
	if dir := filepath.Dir(path); !exists(dir) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		l.madeDir[dir] = true
	}
	s, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = s.Close()
		return err
	}
	l.sockets[path] = s
	l.work.Go(func() {
		for {
			conn, err := s.AcceptUnix()
			if err != nil {
				return
			}
			go l.forward(conn, path)
		}
	})
	return nil
}

// drop removes the socket on the host; the caller holds mu.
func (l *link) drop(path string) {
	s := l.sockets[path]
	if s == nil {
		return
	}
	delete(l.sockets, path)
	_ = s.Close()
	dir := filepath.Dir(path)
	if l.madeDir[dir] {
		_ = os.Remove(dir) // another socket may be in it
	}
}

// duplex is a connection each of whose directions can be ended by itself.
type duplex interface {
	io.ReadWriteCloser
	CloseWrite() error
}

// forward joins a connection on the host with the server's socket in the guest.
func (l *link) forward(conn *net.UnixConn, path string) {
	to, err := l.dial(path)
	if err != nil {
		_ = conn.Close()
		return
	}
	guest.Join(conn, to)
}

func (l *link) dial(path string) (duplex, error) {
	if l.config.Address == "" {
		return l.agent.Dial(path)
	}
	ip, _, err := net.ParseCIDR(l.config.Address)
	if err != nil {
		return nil, err
	}
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(ip.String(), strconv.Itoa(guest.RelayPort)), relayBound)
	if err != nil {
		return nil, err
	}
	if err := guest.Preamble(conn, l.config.Token, path); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn.(*net.TCPConn), nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// gate is the socket on which the programs that stand for commands reach the
// agent: see guest.Exec.
type gate struct {
	listener net.Listener
	dir      *os.File
}

// openGate listens at path and gives each connection a stream of its own.
func openGate(path string, stream func() (duplex, error)) (*gate, error) {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	if err := home.RemoveTree(path); err != nil {
		dir.Close()
		return nil, err
	}
	l, err := net.Listen("unix", fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path)))
	if err != nil {
		dir.Close()
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = l.Close()
		dir.Close()
		return nil, err
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				st, err := stream()
				if err != nil {
					_ = conn.Close()
					return
				}
				guest.Join(conn.(*net.UnixConn), st)
			}()
		}
	}()
	return &gate{l, dir}, nil
}

func (g *gate) close() {
	_ = g.listener.Close()
	g.dir.Close()
}
