// Package engine is what is under test: one database product each folder. An
// engine finds its server program, makes and starts a database inside a
// machine that somebody else provides, loads a workload's rows into it, opens
// sessions for users, and gives its counters and effective settings.
//
// It knows nothing of where the machine is, nor of who drives the load.
package engine

import (
	"context"
	"os/exec"

	"github.com/loadstone-perf/loadstone/internal/observe"
	"github.com/loadstone-perf/loadstone/internal/unit"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// Engine is one database product.
type Engine interface {
	Name() string
	// Locate finds a server program on this machine that satisfies
	// w.Version, or fetches one. It starts nothing.
	Locate(ctx context.Context, w Want) (Installation, error)
	// Dialect renders schemas and statements.
	Dialect() Dialect
}

// Dialect turns a workload into an engine's SQL. It is pure.
type Dialect interface {
	// Statement renders s with the engine's own placeholders. An intent
	// token that the engine lacks is an error.
	Statement(s *workload.Statement) (string, error)
	// Schema renders what makes the tables (before the rows are loaded) and
	// the keys and indexes (after).
	Schema(d *workload.Definition) (before, after []string, err error)
}

// Want is what a study asks of a server program.
type Want struct {
	Version string // constraints joined by commas, such as ">=15" or ">=15,<17"; "" is any
	Cache   string // directory in which fetched programs are kept
	// Fetch allows fetching a program that the machine does not have.
	Fetch bool
	// Progress is called with what is being fetched; may be nil.
	Progress func(stage string)
}

// Installation is a server program.
type Installation interface {
	Version() string // "15.18"
	Origin() string  // where it is from, for people
	// Create makes an empty database in m's directory.
	Create(ctx context.Context, m Machine) error
	// Start starts the server on the database in m's directory and returns
	// when it answers.
	Start(ctx context.Context, m Machine, c Config) (Database, error)
}

// Machine is where the server runs: what an engine needs of a provider's
// instance.
type Machine interface {
	// Command prepares a command that will run inside the machine, as its
	// unprivileged user, confined as the machine is, and killed with it.
	Command(ctx context.Context, name string, args ...string) *exec.Cmd
	// Dir is the directory for the database, as commands see it. It exists,
	// belongs to the machine's user, and is what snapshots hold.
	Dir() string
	// Capacity is what the instance may use.
	Capacity() (cpus float64, memory unit.Bytes)
}

// Config is how a server is to run.
type Config struct {
	// Settings are the study's; each is applied or Start fails. A percentage
	// is of the instance's memory.
	Settings map[string]string
	// Connections is how many sessions will be opened, Loadstone's own
	// included.
	Connections int
	// Durable is false only for loading: the server may lose everything in a
	// crash, and Stop makes all of it safe.
	Durable bool
	// LogDir is an empty directory of the machine's user that is to hold the
	// database's log apart from its data; "" keeps it with the data.
	// LargePages is "on" where the server's buffers must be in large pages,
	// "off" where they must not, "" where it does not matter. Only an Equipped
	// engine is asked for either, and Start fails where it can't be had.
	LogDir, LargePages string
}

// Equipped is an Engine that knows what Config.LogDir and Config.LargePages
// ask for. Found by assertion.
type Equipped interface {
	LogApart() bool
	LargePages() bool
}

// Database is a running server.
type Database interface {
	// Load makes the schema of d, its rows, keys, indexes, procedures and
	// statistics.
	Load(ctx context.Context, d *workload.Definition, o LoadOptions) (LoadReport, error)
	// Open opens the session of a user, every statement of d prepared.
	Open(ctx context.Context, d *workload.Definition) (*Session, error)
	// Settings reads every setting back: those that Loadstone set and those
	// that differ from the product's defaults.
	Settings(ctx context.Context) ([]Setting, error)
	// Sources are the database's counters, and States its wait events.
	Sources() []observe.Source
	States() []observe.StateSource
	// Stop ends the server in good order, or at once where ctx is done; the
	// files are complete when it returns nil.
	Stop(ctx context.Context) error
	// Exited is closed when the server process has ended, for whatever reason.
	Exited() <-chan struct{}
	// Log returns the last lines of the server's own log.
	Log() string
}

// LoadOptions say how to load.
type LoadOptions struct {
	Workers int // parallel streams; 0 chooses from the machine's CPUs
	// Progress is called now and then with rows done and rows in all.
	Progress func(stage string, done, all int64)
}

// LoadReport tells what loading took.
type LoadReport struct {
	Rows         int64
	Bytes        unit.Bytes         // size of the database afterwards
	StageSeconds map[string]float64 // by stage: rows, keys, scripts, analyse
	// Fingerprint identifies the loaded contents: row counts and content
	// hashes of all tables, the same on every machine and engine version.
	Fingerprint string
}

// Setting is one setting of the server.
type Setting struct {
	Name      string
	Intended  string // as asked for, normalised; "" where nobody asked
	Effective string // as read back
	Default   string // the product's own default
	Why       string // "study", "sized from memory", "durability", …
	Matches   bool   // Effective is what was intended; true where nobody asked
}
