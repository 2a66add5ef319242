package wire

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loadstone-perf/loadstone/internal/engine/socket"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// Error is what the server says went wrong. The connection stays usable
// unless Severity is FATAL or PANIC.
type Error struct {
	Severity string // ERROR, FATAL or PANIC
	Code     string // SQLSTATE, five characters
	Message  string
	Detail   string
	Hint     string
	Where    string // the context: procedure and line, or COPY's table and line
	Position int    // character in the statement's text, from 1; 0 where unknown
}

// Error gives the message with what helps to find the cause.
func (e *Error) Error() string {
	s := fmt.Sprintf("%s (SQLSTATE %s)", e.Message, e.Code)
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	if e.Where != "" {
		s += " [" + strings.ReplaceAll(e.Where, "\n", "; ") + "]"
	}
	return s
}

// parseError reads the body of an ErrorResponse.
func parseError(msg []byte) (*Error, error) {
	var e Error
	for b := (body{b: msg}); ; {
		f := b.take(1)
		if f == nil {
			return nil, &malformed{'E', "it ends within a field"}
		}
		if f[0] == 0 {
			return &e, nil
		}
		switch text := b.text(); f[0] {
		case 'V':
			e.Severity = text
		case 'S':
			if e.Severity == "" { // translated, and all that servers before 9.6 send
				e.Severity = text
			}
		case 'C':
			e.Code = text
		case 'M':
			e.Message = text
		case 'D':
			e.Detail = text
		case 'H':
			e.Hint = text
		case 'W':
			e.Where = text
		case 'P':
			e.Position, _ = strconv.Atoi(text) // a position that is no number is no position
		}
	}
}

// Classify sorts an error of this package (SQLSTATE classes: PostgreSQL
// documentation, appendix A).
func Classify(err error) workload.Class {
	if err == nil {
		return workload.NoError
	}
	var (
		e  *Error
		pe *pgconn.PgError
		l  *socket.Lost
		ce *pgconn.ConnectError
		m  *malformed
	)
	switch {
	case errors.As(err, &e):
		return classOf(e.Severity, e.Code)
	case errors.As(err, &pe):
		// While connecting every error is FATAL; only some pass.
		return classOf("", pe.Code)
	case errors.As(err, &m):
		return workload.Fatal
	case errors.As(err, &l), errors.As(err, &ce):
		return workload.Connection
	}
	return workload.Fatal
}

func classOf(severity, code string) workload.Class {
	switch code {
	case "40001":
		return workload.Retry
	case "40P01":
		return workload.Deadlock
	case codeQueryCanceled, "55P03":
		return workload.Timeout
	case "53300":
		return workload.Connection
	}
	switch {
	case strings.HasPrefix(code, "08"), strings.HasPrefix(code, "57P"),
		severity == "FATAL", severity == "PANIC":
		return workload.Connection
	}
	return workload.Fatal
}
