//go:build !linux

package socket

import (
	"net"
	"syscall"
)

// Elsewhere the ordinary way does, with a failed attempt to read more a call.
const (
	rawRead  = 0
	rawWrite = 0
)

// socket is Linux's.
type socket struct{ fd uintptr }

func (l *Link) takeOver(conn net.Conn) error {
	l.conn = conn
	return nil
}

func rawCall(_, _ uintptr, _ []byte) (int, syscall.Errno) { return 0, syscall.ENOSYS }
