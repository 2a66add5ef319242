package engine

import (
	"context"
	"time"

	"github.com/loadstone-perf/loadstone/internal/unit"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// Attacher is an engine that can measure a server which runs already, started
// by somebody else. Found by assertion on an Engine.
type Attacher interface {
	// Address reads the URL of an endpoint; it is pure. The error says what is
	// wrong and what is allowed, and repeats nothing of the URL that could be
	// a password.
	Address(url string) (Address, error)
	// Attach connects to the server and looks at it. It changes nothing there.
	Attach(ctx context.Context, e Endpoint) (Server, error)
}

// Endpoint says where a running server is and how to log in.
type Endpoint struct {
	URL      string // product://user@host:port/database?parameters, no password in it
	Password Secret
	Version  string // constraint, as Want.Version; "" is any that the engine supports
}

// Secret is a text that no format prints.
type Secret string

// hidden is what is printed in place of a Secret.
const hidden = "(secret)"

// String hides s.
func (s Secret) String() string { return hidden }

// GoString hides s.
func (s Secret) GoString() string { return hidden }

// MarshalText hides s.
func (s Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// Address is where an Endpoint's URL leads.
type Address struct {
	Where      string // for people and records: "db.example.com:5432", or the path of a socket
	Host       string // name or number; the directory of a Unix socket
	Port       int
	User       string
	Database   string
	Encryption string // "none", "TLS, certificate and host name verified"
	// Loopback says that the address is a Unix socket or loopback, so that
	// whatever answers there listens on this machine.
	Loopback bool
}

// Server is a running server that Loadstone neither starts nor stops nor
// configures. A Keeper can hold golden states as well.
type Server interface {
	About() About
	// Settings compares the settings in asked, a study's, with the server's,
	// and lists those that are not the product's defaults.
	Settings(ctx context.Context, asked map[string]string) ([]Setting, error)
	// Use returns the database that the endpoint's URL names, as it is. The
	// error says that Loadstone did not load it with the contents of d, or that
	// it is a golden state, which a run would spoil.
	Use(ctx context.Context, d *workload.Definition, c Config) (Database, Golden, error)
	// Close ends the connections; the server runs on. It is idempotent.
	Close() error
}

// About is what attaching found.
type About struct {
	Version string
	Address Address
	// Here says that the server's processes were found on this machine, so
	// that the host's counters are about it. NotHere is why not, "" where Here.
	Here    bool
	NotHere string
	// MayCreate says that the user may make databases.
	MayCreate bool
	// Free is how many more sessions the server takes from this user.
	Free int
}

// Keeper is a Server that holds golden states beside other people's data.
// Whatever it makes carries a mark that says so, and only what carries it is
// ever removed.
type Keeper interface {
	// Find returns the golden state with the contents of d; ok is false where
	// there is none. The error is for a state that is not what its mark says,
	// and for somebody else's database in its place.
	Find(ctx context.Context, d *workload.Definition) (g Golden, ok bool, err error)
	// Build loads a golden state with the contents of d. It is whole or not
	// there at all, even after a crash.
	Build(ctx context.Context, d *workload.Definition, o LoadOptions) (Golden, error)
	// Copy makes a working copy of the golden state of d and verifies it. The
	// copy is removed by Stop of the Database, or, where that never came, by a
	// later Copy.
	Copy(ctx context.Context, d *workload.Definition, c Config) (Database, Copied, error)
}

// Golden describes a golden state on a Server.
type Golden struct {
	Name    string // what it is called on the server
	Created time.Time
	Report  LoadReport
}

// Copied tells how a working copy was made.
type Copied struct {
	Name     string        // what the copy is called on the server
	Way      string        // "template", or "copy" where rows are copied table by table
	Took     time.Duration // the copy
	Verify   time.Duration // the verification
	Digest   string        // of what was compared, the same as the golden state's
	Verified string        // what the digest covers
	Bytes    unit.Bytes
}
