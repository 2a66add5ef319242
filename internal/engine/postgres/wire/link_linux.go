package wire

import (
	"syscall"
	"unsafe"
)

const (
	rawCalls = true
	rawRead  = syscall.SYS_READ
	rawWrite = syscall.SYS_WRITE
)

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
