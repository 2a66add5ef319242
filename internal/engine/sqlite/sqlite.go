// Package sqlite is the SQLite engine: the library modernc.org/sqlite, which is
// SQLite translated to Go, inside Loadstone's own process. There is no server:
// a "running database" is a set of connections to files in the machine's
// directory, and what it uses of CPU and memory is the driver's.
//
// The life of a database is Locate → Create → Start → Load and Open → Stop.
// Each database of a workload is one file; two more files of the engine's own
// hold the lock that keeps a second Start away, and answer for settings while
// no workload is loaded.
//
// Databases are in WAL mode: readers see the snapshot of their begin and wait
// for nobody, and one session at a time writes. How sessions share the
// writer's lock is in conn.go, what is stored for a value in schema.go.
//
// The package calls the translated C interface (modernc.org/sqlite/lib) rather
// than the database/sql driver above it: a statement then allocates nothing,
// and counters and error codes are at hand. Everything that touches C memory
// is in handle.go and statement.go.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/release"
)

// Name is the engine's name in studies and in the maps by engine of a
// workload (Scripts, Own).
const Name = "sqlite"

// New returns the SQLite engine.
func New() engine.Engine { return product{} }

type product struct{}

// Name implements engine.Engine.
func (product) Name() string { return Name }

// Dialect implements engine.Engine.
func (product) Dialect() engine.Dialect { return Dialect{} }

// InProcess implements engine.InProcess.
func (product) InProcess() bool { return true }

// Locate implements engine.Engine. The library is part of the program, so that
// there is one version to choose from and nothing to fetch.
func (product) Locate(_ context.Context, w engine.Want) (engine.Installation, error) {
	built, err := parseVersion(libraryVersion())
	if err != nil {
		return nil, fmt.Errorf("locate SQLite: %w", err)
	}
	c, err := parseConstraint(w.Version)
	if err != nil {
		return nil, fmt.Errorf("locate SQLite: %w", err)
	}
	if !c.Allows(built) {
		return nil, fmt.Errorf("locate SQLite: the study wants %s, and %s is built into Loadstone", w.Version, built)
	}
	return &installation{built}, nil
}

// installation is the library.
type installation struct{ version release.Version }

// Version implements engine.Installation.
func (in *installation) Version() string { return in.version.String() }

// Origin implements engine.Installation.
func (*installation) Origin() string { return "built into Loadstone" }

// The engine's own files below the machine's directory.
const (
	folder   = "sqlite"
	lockFile = "lock"   // a database that whoever runs the others holds exclusively
	ownFile  = "own.db" // an empty database with the engine's settings
	suffix   = ".workload.db"
)

// Create implements engine.Installation.
func (in *installation) Create(ctx context.Context, m engine.Machine) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("create a SQLite database: %w", err)
	}
	dir := filepath.Join(m.Dir(), folder)
	if err := os.Mkdir(dir, 0o700); err != nil {
		if errors.Is(err, fs.ErrExist) {
			err = fmt.Errorf("%s has a database already", m.Dir())
		}
		return fmt.Errorf("create a SQLite database: %w", err)
	}
	if err := in.fill(dir); err != nil {
		return errors.Join(fmt.Errorf("create a SQLite database: %w", err), os.RemoveAll(dir))
	}
	return nil
}

// fill makes the engine's own files.
func (in *installation) fill(dir string) error {
	for file, script := range map[string]string{
		lockFile: "CREATE TABLE made_by_loadstone (version TEXT NOT NULL)",
		ownFile:  "PRAGMA journal_mode = WAL; CREATE TABLE made_by_loadstone (version TEXT NOT NULL)",
	} {
		h, err := open(filepath.Join(dir, file))
		if err != nil {
			return err
		}
		if err := errors.Join(h.script(script), h.close()); err != nil {
			return err
		}
	}
	return nil
}

// fileOf is the file of a workload's database.
func fileOf(dir, database string) string { return filepath.Join(dir, database+suffix) }
