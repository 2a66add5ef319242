package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/daemon"
)

// installation is a directory of server programs.
type installation struct {
	bin     string
	version version
	origin  string
}

// Version implements engine.Installation.
func (in *installation) Version() string { return in.version.String() }

// Origin implements engine.Installation.
func (in *installation) Origin() string { return in.origin }

func (in *installation) program(name string) string { return filepath.Join(in.bin, name) }

// The places below a machine's directory.
func dataDir(m engine.Machine) string    { return filepath.Join(m.Dir(), "data") }
func configFile(m engine.Machine) string { return filepath.Join(m.Dir(), "loadstone.conf") }

// hba is who may log in: see the package comment.
const hba = `# TYPE  DATABASE  USER       ADDRESS       METHOD
local   all       all                      trust
host    all       ` + superuser + `  all           reject
host    all       all        127.0.0.1/32  scram-sha-256
`

// Create implements engine.Installation: it makes a cluster with initdb, in
// UTF-8 and the C locale, so that text sorts the same on every machine and
// release. Data checksums are as the product has them by default: off up to
// release 17, on from 18. The directory must not hold a cluster yet; after an
// error there is none.
func (in *installation) Create(ctx context.Context, m engine.Machine) (err error) {
	data := dataDir(m)
	// mkdir fails where data exists, so what is removed below is ours.
	if _, err := daemon.Run(m.Command(ctx, "mkdir", "-m", "700", data)); err != nil {
		return fmt.Errorf("create database in %s: %w", data, err)
	}
	defer func() {
		if err != nil {
			_, gone := daemon.Run(m.Command(context.WithoutCancel(ctx), "rm", "-rf", data))
			err = errors.Join(err, gone)
		}
	}()
	_, err = daemon.Run(m.Command(ctx, in.program("initdb"), "--pgdata", data, "--username", superuser,
		"--encoding", "UTF8", "--locale", "C", "--auth", "trust", "--no-instructions"))
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w (the machine's user must be able to reach %s)", err, in.bin)
	}
	if err != nil {
		return fmt.Errorf("create database in %s: %w", data, err)
	}
	return daemon.Put(ctx, m, filepath.Join(data, "pg_hba.conf"), hba)
}
