package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/loadstone-perf/loadstone/internal/engine/socket"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// Error is what the server says went wrong. The connection stays usable unless
// Classify calls it Connection.
type Error struct {
	Code    int    // the product's own number, such as 1213
	State   string // SQLSTATE, five characters; "" before the log-in
	Message string
}

// Error gives the message with its number.
func (e *Error) Error() string {
	if e.State == "" {
		return fmt.Sprintf("%s (error %d)", e.Message, e.Code)
	}
	return fmt.Sprintf("%s (error %d, SQLSTATE %s)", e.Message, e.Code, e.State)
}

// parseError reads an ERR packet.
func parseError(msg []byte) error {
	if len(msg) < 3 {
		return &malformed{"an error without a number"}
	}
	e := &Error{Code: int(binary.LittleEndian.Uint16(msg[1:]))}
	text := msg[3:]
	if len(text) >= 6 && text[0] == '#' {
		e.State, text = string(text[1:6]), text[6:]
	}
	e.Message = string(text)
	return e
}

// malformed is a message that breaks the protocol.
type malformed struct{ what string }

func (m *malformed) Error() string { return "malformed message of the database server: " + m.what }

// Classify sorts an error of this package, by the server's error numbers
// (MariaDB and MySQL share those below 1900; both manuals list theirs under
// "error codes").
func Classify(err error) workload.Class {
	if err == nil {
		return workload.NoError
	}
	var (
		e *Error
		l *socket.Lost
		m *malformed
	)
	switch {
	case errors.As(err, &e):
		return classOf(e.Code)
	case errors.As(err, &m):
		return workload.Fatal
	case errors.As(err, &l):
		return workload.Connection
	}
	return workload.Fatal
}

func classOf(code int) workload.Class {
	switch code {
	case 1020, // record has changed since last read: MariaDB's snapshot isolation
		1412, // table definition has changed, please retry transaction
		1615: // prepared statement needs to be re-prepared
		return workload.Retry
	case 1213:
		return workload.Deadlock
	case 1205, // lock wait timeout
		1317,       // query execution was interrupted
		1907,       // InnoDB: statement interrupted
		1969, 3024, // statement timeout of MariaDB, of MySQL
		3572: // NOWAIT found a lock
		return workload.Timeout
	case 1040, 1203, 1226, // too many connections, of the server or of the user
		1053,       // server shutdown in progress
		1079, 1080, // forced close
		1152, 1158, 1159, 1160, 1161, // aborted, and network errors
		1184, 1927, 4031, // aborted, killed, idle for too long
		2006, 2013: // server has gone away, lost connection
		return workload.Connection
	}
	return workload.Fatal
}

// over says whether the server hangs up after an error.
func over(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && classOf(e.Code) == workload.Connection
}
