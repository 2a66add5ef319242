package sqlite

import (
	"context"
	"errors"
	"fmt"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

// Error is what the library says went wrong.
type Error struct {
	Code    int // extended result code
	Message string
}

// Error gives the message and the code.
func (e *Error) Error() string { return fmt.Sprintf("%s (SQLite code %d)", e.Message, e.Code) }

var (
	// errClosed says that the session or the database was closed.
	errClosed = errors.New("the session is closed")
	// errWaited says that the writer's lock did not come in time.
	errWaited = errors.New("others held the writer's lock for too long")
	// errUpgrade says that a transaction that has read wants to write, and
	// that another has written since.
	errUpgrade = errors.New("the transaction can't write any more: another has written since it began to read")
)

// Classify sorts an error of this package (result codes: https://sqlite.org/rescode.html).
func Classify(err error) workload.Class {
	var e *Error
	switch {
	case err == nil:
		return workload.NoError
	case errors.Is(err, errClosed), errors.Is(err, context.Canceled):
		return workload.Connection
	case errors.Is(err, errWaited), errors.Is(err, context.DeadlineExceeded):
		return workload.Timeout
	case errors.Is(err, errUpgrade):
		return workload.Retry
	case !errors.As(err, &e):
		return workload.Fatal
	}
	switch int32(e.Code) {
	case sqlite3.SQLITE_BUSY_SNAPSHOT, sqlite3.SQLITE_BUSY_RECOVERY:
		return workload.Retry
	}
	switch int32(e.Code) & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_INTERRUPT:
		return workload.Timeout
	case sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_SCHEMA:
		return workload.Retry
	default:
		return workload.Fatal
	}
}
