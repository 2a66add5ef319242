package engine

import (
	"context"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

// Session is one user's connection with the engine's error classes: what a
// driver needs.
type Session struct {
	conn     Conn
	reader   Reader // conn, where it wants to know who only reads; else nil
	classify func(error) workload.Class
}

// Conn is a connection that can be closed.
type Conn interface {
	workload.Conn
	Close() error
}

// NewSession returns a session over conn; classify sorts the engine's errors.
func NewSession(conn Conn, classify func(error) workload.Class) *Session {
	reader, _ := conn.(Reader)
	return &Session{conn, reader, classify}
}

// Do runs transaction t once. The error, where there is one, is for people;
// the Outcome is complete without it.
func (s *Session) Do(ctx context.Context, t *workload.Transaction, in any) (workload.Outcome, error) {
	if s.reader != nil {
		s.reader.ReadOnly(t.ReadOnly)
		defer s.reader.ReadOnly(false)
	}
	status, err := t.Exec(ctx, s.conn, in)
	if err != nil {
		return workload.Outcome{Status: workload.Failed, Class: s.classify(err)}, err
	}
	return workload.Outcome{Status: status}, nil
}

// Conn is the session's connection, for checks and set-up.
func (s *Session) Conn() workload.Conn { return s.conn }

// Close closes the connection; it may be called more than once.
func (s *Session) Close() error { return s.conn.Close() }
