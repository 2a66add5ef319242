package sqlite

import (
	"fmt"
	"time"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// handle is one open connection of the library. One goroutine uses it at a
// time; interrupt alone may be called beside it, as long as it is open.
type handle struct {
	tls *libc.TLS
	db  uintptr
	out uintptr // memory for what C functions return through pointers
	// frames is where the library leaves how many frames the WAL has after a
	// commit that wrote to it; see watchWAL.
	frames uintptr
	// control is what interrupt passes as its thread's state: tls is the
	// user's.
	control *libc.TLS
}

// outBytes is the size of handle.out: two values of up to eight bytes. What
// frames points to lies after it.
const outBytes = 16

// libraryVersion is the version of the SQLite inside.
func libraryVersion() string {
	tls := libc.NewTLS()
	defer tls.Close()
	return libc.GoString(sqlite3.Xsqlite3_libversion(tls))
}

// open opens the database in a file, which it makes where there is none.
//
// The library's own mutex of the connection is left out: a handle has one user
// at a time.
func open(path string) (*handle, error) {
	h := &handle{tls: libc.NewTLS(), control: libc.NewTLS()}
	h.out = libc.Xcalloc(h.tls, 1, outBytes+8)
	h.frames = h.out + outBytes
	name, err := libc.CString(path)
	if err != nil || h.out == 0 {
		h.release()
		return nil, fmt.Errorf("open %s: out of memory", path)
	}
	defer libc.Xfree(h.tls, name)
	const flags = sqlite3.SQLITE_OPEN_READWRITE | sqlite3.SQLITE_OPEN_CREATE | sqlite3.SQLITE_OPEN_NOMUTEX
	rc := sqlite3.Xsqlite3_open_v2(h.tls, name, h.out, flags, 0)
	h.db = h.pointer()
	if rc != sqlite3.SQLITE_OK {
		err := h.failure(rc)
		_ = h.close() // nothing is open
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	sqlite3.Xsqlite3_extended_result_codes(h.tls, h.db, 1)
	return h, nil
}

// pointer reads the first word of h.out.
func (h *handle) pointer() uintptr {
	return *(*uintptr)(unsafe.Pointer(unsafe.SliceData(libc.GoBytes(h.out, outBytes))))
}

// numbers reads the two ints in h.out, which lie eight bytes apart.
func (h *handle) numbers() (first, second int32) {
	b := unsafe.SliceData(libc.GoBytes(h.out, outBytes))
	return *(*int32)(unsafe.Pointer(b)), *(*int32)(unsafe.Add(unsafe.Pointer(b), 8))
}

// close closes the connection; statements must be finalized before.
func (h *handle) close() error {
	var err error
	if h.db != 0 {
		if rc := sqlite3.Xsqlite3_close_v2(h.tls, h.db); rc != sqlite3.SQLITE_OK {
			err = h.failure(rc)
		}
		h.db = 0
	}
	h.release()
	return err
}

// release gives the memory beside the connection back.
func (h *handle) release() {
	if h.tls == nil {
		return
	}
	libc.Xfree(h.tls, h.out)
	h.tls.Close()
	h.control.Close()
	h.tls = nil
}

// interrupt makes the statement under way fail with SQLITE_INTERRUPT.
func (h *handle) interrupt() { sqlite3.Xsqlite3_interrupt(h.control, h.db) }

// failure is the error of a call that returned rc.
func (h *handle) failure(rc int32) error {
	e := &Error{Code: int(rc)}
	if h.db != 0 {
		e.Message = libc.GoString(sqlite3.Xsqlite3_errmsg(h.tls, h.db))
	} else {
		e.Message = libc.GoString(sqlite3.Xsqlite3_errstr(h.tls, rc))
	}
	return e
}

// script runs statements one after the other, without waiting for a lock and
// without results.
func (h *handle) script(sql string) error {
	text, err := libc.CString(sql)
	if err != nil {
		return err
	}
	defer libc.Xfree(h.tls, text)
	if rc := sqlite3.Xsqlite3_exec(h.tls, h.db, text, 0, 0, 0); rc != sqlite3.SQLITE_OK {
		return fmt.Errorf("%s: %w", sql, h.failure(rc))
	}
	return nil
}

// text runs a query and returns the first column of its first row, or "" where
// there is none.
func (h *handle) text(sql string) (string, error) {
	st, err := h.prepare(sql)
	if err != nil {
		return "", err
	}
	defer st.finalize()
	switch rc := st.step(); rc {
	case sqlite3.SQLITE_ROW:
		return string(st.bytes(0)), nil
	case sqlite3.SQLITE_DONE:
		return "", nil
	default:
		return "", fmt.Errorf("%s: %w", sql, h.failure(rc))
	}
}

// idle says whether no transaction is open.
func (h *handle) idle() bool { return sqlite3.Xsqlite3_get_autocommit(h.tls, h.db) != 0 }

// status reads a counter of the connection, with how far it went; 0 where it
// can't be read.
func (h *handle) status(op int32) int64 {
	if sqlite3.Xsqlite3_db_status(h.tls, h.db, op, h.out, h.out+8, 0) != sqlite3.SQLITE_OK {
		return 0
	}
	n, _ := h.numbers()
	return int64(n)
}

// watchWAL lets the library leave the length of the WAL in h.frames at each
// commit. It takes the place of the automatic checkpoints, which are told of
// commits by the same hook: whoever commits must checkpoint.
func (h *handle) watchWAL() {
	// A C function pointer is a pointer to what a Go function value points to.
	note := struct {
		f func(*libc.TLS, uintptr, uintptr, uintptr, int32) int32
	}{noteFrames}
	sqlite3.Xsqlite3_wal_hook(h.tls, h.db, *(*uintptr)(unsafe.Pointer(&note)), h.frames)
}

// noteFrames is the hook of watchWAL.
func noteFrames(_ *libc.TLS, at, _, _ uintptr, frames int32) int32 {
	libc.AssignPtrInt32(at, frames)
	return sqlite3.SQLITE_OK
}

// takeFrames is how many frames the WAL had after the last commit that wrote
// to it, or 0 where none has since the last call.
func (h *handle) takeFrames() int64 {
	n := libc.AtomicLoadPInt32(h.frames)
	libc.AssignPtrInt32(h.frames, 0)
	return int64(n)
}

// checkpoint copies what it can of the WAL into the database: wal is how many
// frames the WAL has, and copied how many of them are in the database now. Both
// are -1 where somebody else is at it.
//
// It waits for nobody, so that a reader of an old snapshot keeps the WAL from
// beginning anew; with whole it waits for readers, and keeps writers away, up
// to wholeWait.
func (h *handle) checkpoint(whole bool) (wal, copied int64, err error) {
	mode := int32(sqlite3.SQLITE_CHECKPOINT_PASSIVE)
	if whole {
		mode = sqlite3.SQLITE_CHECKPOINT_RESTART
		defer h.patient(wholeWait)()
	}
	rc := sqlite3.Xsqlite3_wal_checkpoint_v2(h.tls, h.db, 0, mode, h.out, h.out+8)
	first, second := h.numbers()
	switch {
	case rc&0xff == sqlite3.SQLITE_BUSY && !whole:
		return -1, -1, nil
	case rc != sqlite3.SQLITE_OK && rc&0xff != sqlite3.SQLITE_BUSY:
		return -1, -1, h.failure(rc)
	}
	return int64(first), int64(second), nil
}

// patient has SQLite wait for locks, up to atMost, until the returned function
// is called.
func (h *handle) patient(atMost time.Duration) (over func()) {
	sqlite3.Xsqlite3_busy_timeout(h.tls, h.db, int32(atMost.Milliseconds()))
	return func() { sqlite3.Xsqlite3_busy_timeout(h.tls, h.db, 0) }
}

// openWait is how long a new connection waits for one that closes, which copies
// the whole WAL where it is the last; wholeWait how long a checkpoint waits for
// readers.
const (
	openWait  = 30 * time.Second
	wholeWait = time.Second
)
