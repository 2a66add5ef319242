// Package postgres is the PostgreSQL engine, releases 15 and up: it finds the
// server's programs or fetches them, makes and starts a database cluster in a
// machine, reads its settings back, samples its statistics views, and renders
// schemas and statements.
//
// The life of a cluster is Locate → Create → Start → Load and Open → Stop. All
// of it lies below the machine's directory: the cluster in data/, Loadstone's
// configuration file beside it, and the server's Unix socket in run/, or, where
// that path is too long for a socket, in a short directory below /tmp.
//
// The configuration file replaces the one that initdb writes, so that the
// server runs with the product's own defaults, what Loadstone sets and says
// why, and what the study asks for; nothing comes from the machine's locale or
// environment.
//
// Who may log in: the Unix socket lies in a directory that only the machine's
// user may enter, and there nobody is asked for a password. On loopback TCP,
// which is for other programs and for people, the superuser is refused and
// every other role must prove its password (SCRAM).
//
// Bulk loading is in load/, the sessions of users in wire/.
package postgres

import (
	"github.com/loadstone-perf/loadstone/internal/engine"
)

// Name is the engine's name in studies and in the maps by engine of a
// workload (Scripts, Own).
const Name = "postgres"

// superuser owns the cluster and everything that a workload gives no owner.
const superuser = "loadstone"

// New returns the PostgreSQL engine.
func New() engine.Engine { return product{} }

type product struct{}

// Name implements engine.Engine.
func (product) Name() string { return Name }

// Dialect implements engine.Engine.
func (product) Dialect() engine.Dialect { return Dialect{} }
