//go:build linux

package libvirt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/provider/cgroup"
)

// ferry is the connection to a guest's port, which outlives the emulator that
// has it: when the guest migrates, what is written goes to the new emulator, and
// what is read comes from the old one to its last byte, and then from the new
// one. The agent in the guest, whose port it is, sees nothing of it.
//
// Bytes that the old emulator had not read yet when the guest went over would be
// lost, so that nobody writes meanwhile: see hold.
type ferry struct {
	writing sync.Mutex // held by who writes, and from hold to board or release

	mu     sync.Mutex
	at     net.Conn
	next   net.Conn      // where to read when at has ended; nil while none is known
	closed chan struct{} // by Close
	once   sync.Once
}

func newFerry(conn net.Conn) *ferry { return &ferry{at: conn, closed: make(chan struct{})} }

// Write implements io.Writer. It waits while the guest migrates.
func (f *ferry) Write(b []byte) (int, error) {
	f.writing.Lock()
	defer f.writing.Unlock()
	conn, _ := f.ends()
	if conn == nil {
		return 0, net.ErrClosed
	}
	return conn.Write(b)
}

// ends are the connection in use and the next.
func (f *ferry) ends() (at, next net.Conn) {
	select {
	case <-f.closed:
		return nil, nil
	default:
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.next != nil {
		return f.next, f.next
	}
	return f.at, nil
}

// Read implements io.Reader: the end of the emulator that the guest has left is
// not the end.
func (f *ferry) Read(b []byte) (int, error) {
	for {
		f.mu.Lock()
		from := f.at
		f.mu.Unlock()
		n, err := from.Read(b)
		if n > 0 || err == nil {
			return n, nil
		}
		if !f.cross() {
			return 0, err
		}
	}
}

// cross leaves a connection that has ended for the next; false where there is
// none, and none will be.
func (f *ferry) cross() bool {
	if f.step() {
		return true
	}
	// The emulator that the guest leaves may end before it is known that the
	// guest has arrived: who holds the writing says which. Where the next is
	// known already, nobody is waited for: who writes may wait for the guest,
	// which may wait for its own words to be read.
	f.writing.Lock()
	defer f.writing.Unlock()
	return f.step()
}

// step goes over to the next connection, if there is one.
func (f *ferry) step() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.next == nil {
		return false
	}
	_ = f.at.Close()
	f.at, f.next = f.next, nil
	return true
}

// Close implements io.Closer.
func (f *ferry) Close() error {
	f.once.Do(func() { close(f.closed) })
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.at.Close()
	if f.next != nil {
		err = errors.Join(err, f.next.Close())
	}
	return err
}

// hold keeps everybody from writing, and returns when the emulator has read all
// that was written. After it, board or release must be called.
func (f *ferry) hold(ctx context.Context, clk clock.Clock) error {
	f.writing.Lock()
	for {
		at, crossing := f.ends()
		left, err := unread(at)
		if err == nil && left == 0 && crossing == nil {
			return nil
		}
		if err == nil {
			err = cgroup.Pause(ctx, clk)
		}
		if err != nil {
			f.writing.Unlock()
			return fmt.Errorf("the port to the guest does not come to rest: %w", err)
		}
	}
}

// board lets everybody write to next, and read from it when the emulator that
// the guest has left ends.
func (f *ferry) board(next net.Conn) {
	f.mu.Lock()
	f.next = next
	f.mu.Unlock()
	f.writing.Unlock()
}

// release lets everybody write again as before.
func (f *ferry) release() { f.writing.Unlock() }

// unread is how many bytes, with the kernel's overhead, the other end of a Unix
// socket has not read yet (SIOCOUTQ).
func unread(conn net.Conn) (n int, err error) {
	if conn == nil {
		return 0, net.ErrClosed
	}
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return 0, errors.New("the port is no Unix socket")
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	ctrl := raw.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unix.TIOCOUTQ) })
	return n, errors.Join(ctrl, err)
}

var _ io.ReadWriteCloser = (*ferry)(nil)
