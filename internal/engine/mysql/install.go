package mysql

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/daemon"
)

// installation is a server program.
type installation struct {
	server  string // path of the program
	product flavour
	version version
	origin  string
	maker   string // of MariaDB: the program that makes an empty database
	base    string // of MariaDB: the directory that the installation is below
}

// Version implements engine.Installation.
func (in *installation) Version() string { return in.version.String() }

// Origin implements engine.Installation.
func (in *installation) Origin() string { return in.origin }

// The places below a machine's directory.
func dataDir(m engine.Machine) string    { return filepath.Join(m.Dir(), "data") }
func tempDir(m engine.Machine) string    { return filepath.Join(m.Dir(), "tmp") }
func configFile(m engine.Machine) string { return filepath.Join(m.Dir(), "loadstone.cnf") }

// accounts leaves root alone, and only on the Unix socket: MariaDB's maker adds
// nameless accounts, and roots of other hosts without a password.
const accounts = `DELETE FROM mysql.global_priv WHERE User = '' OR User = 'root' AND Host <> 'localhost';
DELETE FROM mysql.db WHERE User = '';
`

// Create implements engine.Installation: it makes a database with the product's
// own program, which starts the server for that. The directory must not hold one
// yet; after an error there is none.
func (in *installation) Create(ctx context.Context, m engine.Machine) (err error) {
	data := dataDir(m)
	// mkdir fails where data exists, so what is removed below is ours.
	if _, err := daemon.Run(m.Command(ctx, "mkdir", "-m", "700", data)); err != nil {
		return fmt.Errorf("create database in %s: %w", data, err)
	}
	defer func() {
		if err != nil {
			_, gone := daemon.Run(m.Command(context.WithoutCancel(ctx), "rm", "-rf", data, tempDir(m)))
			err = errors.Join(err, gone)
		}
	}()
	if err := makeTemp(ctx, m); err != nil {
		return fmt.Errorf("create database in %s: %w", data, err)
	}
	program, args := in.server, []string{"--no-defaults", "--initialize-insecure", "--datadir=" + data, "--tmpdir=" + tempDir(m), "--lower-case-table-names=1"}
	if in.product == mariadb {
		extra := filepath.Join(data, "accounts.sql")
		if err := daemon.Put(ctx, m, extra, accounts); err != nil {
			return err
		}
		program, args = in.maker, []string{
			"--no-defaults", "--basedir=" + in.base, "--datadir=" + data, "--tmpdir=" + tempDir(m), "--extra-file=" + extra,
			"--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve",
		}
	}
	_, err = daemon.Run(m.Command(ctx, program, args...))
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w (the machine's user must be able to reach %s)", err, filepath.Dir(program))
	}
	if err != nil {
		return fmt.Errorf("create database in %s: %w", data, err)
	}
	return nil
}

// makeTemp makes the server's directory for temporary tables. It must be its
// own: a server that starts removes those of all others from it.
func makeTemp(ctx context.Context, m engine.Machine) error {
	_, err := daemon.Run(m.Command(ctx, "mkdir", "-p", "-m", "700", tempDir(m)))
	return err
}
