//go:build !linux

package wire

import "syscall"

// Elsewhere the ordinary way does: one failed attempt to read more a call.
const (
	rawCalls = false
	rawRead  = 0
	rawWrite = 0
)

func rawCall(_, _ uintptr, _ []byte) (int, syscall.Errno) { return 0, syscall.ENOSYS }
