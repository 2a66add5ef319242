package provider

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loadstone-perf/loadstone/internal/unit"
)

// Cleaner is a provider that can tell what its instances left on this machine
// because the process that owned them died before it could remove them.
type Cleaner interface {
	// Leftovers lists what dead owners left below cache and what belongs to
	// that elsewhere on the machine. It removes nothing, and lists nothing
	// whose owner lives or may live.
	Leftovers(ctx context.Context, cache string) ([]Leftover, error)
}

// Storer is a provider that keeps things below a cache from run to run on
// purpose: golden states, images.
type Storer interface {
	// Stored lists what is kept below cache and used by nobody now.
	Stored(ctx context.Context, cache string) ([]Leftover, error)
}

// Leftover is one thing that can be removed.
type Leftover struct {
	Kind  string // "instance", "container", "virtual machine", "control group", "golden state", …
	What  string // its path or name, which nothing else of its kind has
	Owner Owner
	Since time.Time // when it was made; zero where not known
	Why   string    // why nobody needs it: "process 4711, which made it, has ended"
	// Parts are what belongs to it elsewhere and goes with it: processes,
	// control groups, shared memory, sockets, files.
	Parts []string
	Bytes unit.Bytes // on the disk; 0 where not known
	// Remove removes it with its parts, after it has looked again whether
	// anybody owns or uses it: then it removes nothing, and the error is
	// ErrOwned.
	Remove func(ctx context.Context) error
}

// ErrOwned says that something was left alone because somebody owns it now.
var ErrOwned = errors.New("somebody uses it now: it was left alone")

// Owner is who made a Leftover; PID is 0 where that is not known.
type Owner struct {
	PID     int
	Started time.Time // zero where not known
	User    string
}

// String names the owner for people: "process 4711 of root".
func (o Owner) String() string {
	who := "a process"
	if o.PID > 0 {
		who = fmt.Sprintf("process %d", o.PID)
	}
	switch {
	case o.User != "":
		who += " of " + o.User
	case o.PID == 0:
		who = "not known"
	}
	return who
}
