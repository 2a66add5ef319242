package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// lockTries bounds how often Lock tries again while only readers, which hold
// the lock for a moment to look, are in its way.
const lockTries = 1000

// Lock makes this process the only writer of d until release is called or the
// process ends, however it ends. The error says so where another is at work.
func (d *Dir) Lock() (release func(), err error) {
	f, err := os.OpenFile(filepath.Join(d.path, "lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("locking the result directory: %w", err)
	}
	for range lockTries {
		if err = flock(f, syscall.LOCK_EX); err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			break
		}
		// Where a shared lock can be had, the one in the way is shared too:
		// a reader in Busy, gone in a moment.
		if flock(f, syscall.LOCK_SH) != nil {
			err = fmt.Errorf("another Loadstone is writing to %s", d.path)
			break
		}
		_ = flock(f, syscall.LOCK_UN)
		runtime.Gosched()
	}
	return nil, errors.Join(fmt.Errorf("locking the result directory: %w", err), f.Close())
}

// Busy says whether a process, this one included, holds d's lock: whether a
// trial whose status is Running is really being worked on.
func (d *Dir) Busy() bool {
	f, err := os.Open(filepath.Join(d.path, "lock"))
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(flock(f, syscall.LOCK_SH), syscall.EWOULDBLOCK)
}

// flock tries to lock f without waiting. The lock belongs to the open file
// and goes with it.
func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		if err != syscall.EINTR {
			return err
		}
	}
}
