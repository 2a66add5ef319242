package provider

import (
	"context"
	"time"

	"github.com/loadstone-perf/loadstone/internal/unit"
)

// What can happen to an instance while load runs on it. Each is one capability
// of an instance, found by assertion.

// Resizer is an instance whose limits can be changed while it runs.
type Resizer interface {
	// Resize gives the instance the CPU time, memory, weight and limits of the
	// disk of s. What else is in s must be what the instance has. It returns
	// when the new limits are in force, or an error; Shaped then reads back
	// which took.
	Resize(ctx context.Context, s Shape) error
}

// Migrator is an instance that can go on running under another hypervisor
// process.
type Migrator interface {
	// ReadyToMigrate makes ready whatever takes time and would disturb a load.
	ReadyToMigrate(ctx context.Context) error
	// Migrate moves the running instance. After an error it is where it was,
	// unless the error says otherwise.
	Migrate(ctx context.Context) (Moved, error)
}

// StorageMover is an instance whose files can move while they are used.
type StorageMover interface {
	// MoveStorage moves the instance's files to a place below dir, a directory
	// of the instances' host. After an error they are where they were.
	MoveStorage(ctx context.Context, dir string) (Moved, error)
}

// Moved tells what a move took.
type Moved struct {
	Took time.Duration // until the instance used the new place
	// Downtime is how long the instance stood still, as the hypervisor tells; 0
	// where it tells nothing of the kind.
	Downtime time.Duration
	Bytes    unit.Bytes // that were moved
}

// Live is a provider whose instances can change while they run.
type Live interface {
	// Prototype is an instance's type without an instance: a nil pointer, of
	// which nothing but assertions may be asked.
	Prototype() Instance
	// CheckResize says why a running instance of shape from can't get shape
	// to here, beside what Check says of to.
	CheckResize(from, to Shape) []Problem
	// CheckMove says why instances can't migrate here, or, where dir is not
	// "", why their files can't move to dir.
	CheckMove(ctx context.Context, dir string) []Problem
}
