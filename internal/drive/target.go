package drive

import (
	"context"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

// Target is all that a driver knows of the system under test.
type Target interface {
	// Open opens the connection of user number `user`, from 0.
	Open(ctx context.Context, user int) (Session, error)
}

// Session is one user's connection.
type Session interface {
	// Do runs transaction t once, without retrying. Outcome is complete even
	// with an error, which is for people.
	Do(ctx context.Context, t *workload.Transaction, in any) (workload.Outcome, error)
	// Close may be called while a Do is under way, which then fails with
	// class Connection.
	Close() error
}
