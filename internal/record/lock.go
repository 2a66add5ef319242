package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Lock makes this process the only writer of d until release is called or the
// process ends, however it ends. The error says so where another is at work.
//
// A writer holds an exclusive lock on the file "lock" as long as it works;
// Busy looks by a shared lock, which it holds for a moment. So that such a
// look cannot turn a writer away, writers first queue on study.json, for the
// moment that locking takes: who has that, and finds "lock" locked shared,
// knows that only readers are in its way, and waits for them.
func (d *Dir) Lock() (release func(), err error) {
	lock, err := d.lock()
	if err != nil {
		return nil, fmt.Errorf("locking the result directory: %w", err)
	}
	return func() { lock.Close() }, nil
}

func (d *Dir) lock() (lock *os.File, err error) {
	turn, err := os.Open(filepath.Join(d.path, "study.json"))
	if err != nil {
		return nil, err
	}
	defer turn.Close()
	if err := flock(turn, syscall.LOCK_EX); err != nil {
		return nil, err
	}
	lock, err = os.OpenFile(filepath.Join(d.path, "lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	err = flock(lock, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		if flock(lock, syscall.LOCK_SH|syscall.LOCK_NB) == nil {
			err = flock(lock, syscall.LOCK_EX)
		} else {
			err = fmt.Errorf("another Loadstone is writing to %s", d.path)
		}
	}
	if err != nil {
		lock.Close()
		return nil, err
	}
	return lock, nil
}

// Busy says whether a process, this one included, holds d's lock: whether a
// trial whose status is Running is really being worked on.
func (d *Dir) Busy() bool {
	f, err := os.Open(filepath.Join(d.path, "lock"))
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(flock(f, syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

// flock locks f as how says. The lock belongs to the open file and goes with
// it.
func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if err != syscall.EINTR {
			return err
		}
	}
}
