// Package mysql is the engine of MariaDB, releases 10.11 and up, and of MySQL,
// releases 8.0 and up: it finds the server's programs, makes and starts a
// database in a machine, reads its settings back, samples its counters and
// what its sessions wait for, and renders schemas and statements.
//
// The life of a database is Locate → Create → Start → Load and Open → Stop. All
// of it lies below the machine's directory: the files of the database in data/,
// Loadstone's configuration file beside it, and the server's Unix socket in
// run/, or, where that path is too long for a socket, in a short directory
// below /tmp.
//
// The server reads no other configuration file than Loadstone's, so that it runs
// with the product's own defaults, what Loadstone sets and says why, and what
// the study asks for.
//
// Who may log in: the Unix socket lies in a directory that only the machine's
// user may enter, and there root needs no password. On loopback TCP, which is
// for other programs and for people, root is refused and every other account
// must prove its password.
//
// Bulk loading is in load/, the sessions of users in wire/. Only MariaDB is
// tried by this project's tests; what MySQL does otherwise is in flavour.
package mysql

import (
	"github.com/loadstone-perf/loadstone/internal/engine"
)

// Name is the engine's name in studies and in the maps by engine of a workload
// (Scripts, Own).
const Name = "mysql"

// superuser owns the database and everything that a workload gives no owner.
const superuser = "root"

// New returns the engine.
func New() engine.Engine { return product{} }

type product struct{}

// Name implements engine.Engine.
func (product) Name() string { return Name }

// Dialect implements engine.Engine.
func (product) Dialect() engine.Dialect { return Dialect{} }
