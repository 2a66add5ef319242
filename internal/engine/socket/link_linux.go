package socket

import (
	"net"
	"syscall"
	"unsafe"
)

const (
	rawRead  = syscall.SYS_READ
	rawWrite = syscall.SYS_WRITE
)

// takeOver sets l.conn, and what it can of l.own and l.raw.
func (l *Link) takeOver(conn net.Conn) error {
	l.conn = conn
	switch conn := conn.(type) {
	case *net.UnixConn:
		s, err := takeSocket(conn)
		if err != nil {
			return err
		}
		l.conn, l.own, l.raw = s, s, s.raw
	case syscall.Conn:
		raw, err := conn.SyscallConn()
		if err != nil {
			return err
		}
		l.raw = raw
	}
	return nil
}

// rawCall reads into b or writes it without telling Go's scheduler. Package
// net's descriptors never block, so there is nothing to tell; telling costs
// little by itself, but the scheduler then takes the processor away from
// calls that the kernel preempts, and the way back costs more than the call.
func rawCall(call, fd uintptr, b []byte) (int, syscall.Errno) {
	for {
		n, _, errno := syscall.RawSyscall(call, fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
		switch errno {
		case 0:
			return int(n), 0
		case syscall.EINTR:
		default:
			return 0, errno
		}
	}
}
