// Package socket moves the bytes of a database connection with as little of the
// driver's CPU time as Go allows: a request and its answer cost one write, one
// wait and usually one read. It also sees to it that one call at a time uses the
// connection, and cuts one off whose context ends. It knows nothing of what the
// bytes mean.
package socket

import (
	"fmt"
	"io"
	"net"
	"syscall"
)

// Link moves bytes. Its one purpose is that a call costs few system calls:
// the request is written, the goroutine parks until the answer is there, and
// one read takes it all.
//
// A plain net.Conn.Read after the Write tries to read at once, which never
// finds the answer that soon and costs a system call. Waiting first is only
// safe where the poller was armed before the request went out, because its
// readiness is edge-triggered: an answer that came before arming would never
// wake us. So the write is done inside RawConn.Read, which arms, then asks
// the function, then waits. It follows that Send is only for requests that
// the server answers in any case.
type Link struct {
	conn net.Conn
	own  *socket         // the socket where it is our own, else nil
	raw  syscall.RawConn // to wait with; nil where the ordinary way must do
	step func(fd uintptr) bool

	pending []byte // to write before reading
	buf     []byte // to read into
	n       int
	err     error
}

// Attach makes conn the link's connection, and returns what to use from then
// on in its place.
func (l *Link) Attach(conn net.Conn) (net.Conn, error) {
	if err := l.takeOver(conn); err != nil {
		return nil, fmt.Errorf("take over the socket of the connection: %w", err)
	}
	l.step = l.exchange // made once: a method value allocates
	return l.conn, nil
}

// Send sets what goes out before the next Fill. b must stay as it is until
// then.
func (l *Link) Send(b []byte) { l.pending = b }

// Fill writes what is pending and reads at least one byte into buf.
func (l *Link) Fill(buf []byte) (int, error) {
	if l.raw == nil {
		if err := l.flush(); err != nil {
			return 0, err
		}
		return l.conn.Read(buf)
	}
	for {
		l.buf, l.n, l.err = buf, 0, nil
		if err := l.raw.Read(l.step); err != nil {
			return 0, err
		}
		if l.err != nil || l.n > 0 {
			return l.n, l.err
		}
		if err := l.flush(); err != nil {
			return 0, err
		}
	}
}

// flush writes what is pending the ordinary way.
func (l *Link) flush() error {
	b := l.pending
	l.pending = nil
	if len(b) == 0 {
		return nil
	}
	_, err := l.conn.Write(b)
	return err
}

// exchange is one attempt of RawConn.Read; false means "wait until readable".
func (l *Link) exchange(fd uintptr) bool {
	if l.own != nil {
		fd = l.own.fd // what is waited on is not what is read
	}
	if len(l.pending) > 0 {
		n, errno := rawCall(rawWrite, fd, l.pending)
		switch {
		case errno == 0 && n == len(l.pending):
			l.pending = nil
			return false
		case errno == 0 || errno == syscall.EAGAIN:
			// The socket's buffer is full: leave, and let flush wait.
			l.pending = l.pending[n:]
			return true
		}
		// The server may have said why it left: the read finds that, or
		// the end of the stream.
		l.pending, l.err = nil, errno
	}
	n, errno := rawCall(rawRead, fd, l.buf)
	switch {
	case errno == syscall.EAGAIN && l.err == nil:
		return false
	case n > 0:
		l.n, l.err = n, nil
	case l.err == nil && errno == 0:
		l.err = io.EOF
	case l.err == nil:
		l.err = errno
	}
	return true
}

// Spoke tells, without waiting, whether the server sent something; what it
// sent is in buf[:n].
func (l *Link) Spoke(buf []byte) (n int, err error) {
	if l.raw == nil {
		return 0, nil
	}
	err = l.raw.Read(func(fd uintptr) bool {
		if l.own != nil {
			fd = l.own.fd
		}
		// A failure shows again in the next Fill.
		n, _ = rawCall(rawRead, fd, buf)
		return true
	})
	return n, err
}
