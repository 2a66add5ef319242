package socket

import (
	"fmt"
	"net"
	"os"
	"syscall"
	"time"
)

// socket is a Unix socket that wakes its goroutine only for input.
//
// Go's poller watches every descriptor for input and for room to write. Room
// to write is signalled when the server takes a request from a Unix socket, so
// that each call would wake a thread twice, once for nothing; that costs as
// much as the rest of a call. Therefore the socket is taken from Go's poller
// and watched by an epoll instance of its own for input alone, and Go's
// poller watches that instance: epoll instances can be nested.
//
// One goroutine uses it at a time, Close and SetDeadline excepted.
type socket struct {
	fd            uintptr
	watch         *os.File        // the epoll instance
	raw           syscall.RawConn // of watch
	local, remote net.Addr
}

// takeSocket makes a socket of conn, which is closed.
func takeSocket(conn *net.UnixConn) (*socket, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	s := &socket{local: conn.LocalAddr(), remote: conn.RemoteAddr()}
	var errno syscall.Errno
	err = raw.Control(func(fd uintptr) {
		s.fd, _, errno = syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_DUPFD_CLOEXEC, 0)
	})
	if err == nil && errno != 0 {
		err = errno
	}
	if err != nil {
		return nil, fmt.Errorf("duplicate the descriptor: %w", err)
	}
	// Only this takes it from Go's poller; the duplicate keeps it open.
	if err := conn.Close(); err != nil {
		_ = syscall.Close(int(s.fd))
		return nil, err
	}
	if err := s.nest(); err != nil {
		_ = syscall.Close(int(s.fd))
		return nil, err
	}
	return s, nil
}

// nest makes s.watch.
func (s *socket) nest() error {
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return fmt.Errorf("epoll_create1: %w", err)
	}
	// os.NewFile gives to the poller only what is non-blocking.
	if err := syscall.SetNonblock(fd, true); err != nil {
		_ = syscall.Close(fd)
		return err
	}
	s.watch = os.NewFile(uintptr(fd), "epoll")
	if s.raw, err = s.watch.SyscallConn(); err == nil {
		err = s.control(fd, syscall.EPOLL_CTL_ADD, syscall.EPOLLIN)
	}
	if err != nil {
		_ = s.watch.Close()
	}
	return err
}

// control says what the epoll instance watches for.
func (s *socket) control(epoll, op int, events uint32) error {
	err := syscall.EpollCtl(epoll, op, int(s.fd), &syscall.EpollEvent{Events: events, Fd: int32(s.fd)})
	if err != nil {
		return fmt.Errorf("epoll_ctl: %w", err)
	}
	return nil
}

// Read implements net.Conn.
func (s *socket) Read(b []byte) (int, error) {
	l := Link{own: s, buf: b}
	if err := s.raw.Read(l.exchange); err != nil {
		return 0, err
	}
	return l.n, l.err
}

// Write implements net.Conn. Where the socket is full it watches for room
// instead of input.
//
// After it has begun to watch, it tries once more before it waits. Room that
// the server made between the failed write and the change of what is watched
// would else be missed: the epoll instance tells of a socket that is ready when
// watching begins only where that socket is not on its list of ready ones yet,
// and from the last wait it may still be there. Nobody would then wake the
// other: the server has taken all, and waits for more.
func (s *socket) Write(b []byte) (int, error) {
	done, full := 0, false
	var failed error
	err := s.raw.Read(func(epoll uintptr) bool {
		for done < len(b) {
			n, errno := rawCall(rawWrite, s.fd, b[done:])
			done += n
			switch {
			case errno == syscall.EAGAIN && full:
				return false
			case errno == syscall.EAGAIN:
				full = true
				if failed = s.control(int(epoll), syscall.EPOLL_CTL_MOD, syscall.EPOLLOUT); failed != nil {
					return true
				}
			case errno != 0:
				failed = errno
				return true
			}
		}
		return true
	})
	if err == nil {
		err = failed
	}
	if full {
		back := s.raw.Control(func(epoll uintptr) {
			if e := s.control(int(epoll), syscall.EPOLL_CTL_MOD, syscall.EPOLLIN); err == nil {
				err = e
			}
		})
		if err == nil {
			err = back
		}
	}
	return done, err
}

// Close implements net.Conn. The descriptor is free for others only after
// nobody is inside Read or Write any more: closing the file waits for that.
func (s *socket) Close() error {
	if err := s.watch.Close(); err != nil {
		return err
	}
	return syscall.Close(int(s.fd))
}

// LocalAddr implements net.Conn.
func (s *socket) LocalAddr() net.Addr { return s.local }

// RemoteAddr implements net.Conn.
func (s *socket) RemoteAddr() net.Addr { return s.remote }

// SetDeadline implements net.Conn: reading and writing wait in the same way.
func (s *socket) SetDeadline(t time.Time) error { return s.watch.SetReadDeadline(t) }

// SetReadDeadline implements net.Conn; it is SetDeadline.
func (s *socket) SetReadDeadline(t time.Time) error { return s.SetDeadline(t) }

// SetWriteDeadline implements net.Conn; it is SetDeadline.
func (s *socket) SetWriteDeadline(t time.Time) error { return s.SetDeadline(t) }
