package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/engine"
)

// Locate implements engine.Engine. Of the servers on this machine it takes the
// newest release that w.Version allows; only where none does, and w.Fetch
// allows it, it fetches one into w.Cache.
func (product) Locate(ctx context.Context, w engine.Want) (engine.Installation, error) {
	c, err := parseConstraint(w.Version)
	if err != nil {
		return nil, err
	}
	return locate(ctx, c, w, binDirs(ctx))
}

// locate is Locate with the directories to look in.
func locate(ctx context.Context, c constraint, w engine.Want, dirs []string) (engine.Installation, error) {
	var found []*installation
	var seen []string // what was looked at and not taken
	for _, dir := range dirs {
		in, err := inspect(ctx, dir)
		switch {
		case errors.Is(err, os.ErrNotExist):
		case err != nil:
			seen = append(seen, err.Error())
		case in.version[0] < oldest:
			seen = append(seen, fmt.Sprintf("%s in %s (Loadstone needs %d or later)", in.version, dir, oldest))
		case !c.Allows(in.version):
			seen = append(seen, fmt.Sprintf("%s in %s", in.version, dir))
		default:
			found = append(found, in)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	if len(found) > 0 {
		return slices.MaxFunc(found, func(a, b *installation) int { return a.version.Compare(b.version) }), nil
	}
	if w.Fetch {
		return fetch(ctx, c, w)
	}
	if len(seen) == 0 {
		seen = []string{"no PostgreSQL server"}
	}
	return nil, fmt.Errorf("no PostgreSQL server that satisfies %s: found %s; install one (Debian and Ubuntu: apt install postgresql; "+
		"Fedora: dnf install postgresql-server; macOS: brew install postgresql), put its bin directory on PATH, or allow fetching",
		c, strings.Join(seen, ", "))
}

// binDirs lists where servers are installed by habit: PATH, what pg_config
// says, and the directories of the packages of Debian, of the PostgreSQL
// project for Red Hat's systems, of Homebrew and of Postgres.app, in this
// order and each once.
func binDirs(ctx context.Context) []string {
	dirs := filepath.SplitList(os.Getenv("PATH"))
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin",
		"/usr/pgsql-*/bin",
		"/usr/local/pgsql/bin",
		"/opt/homebrew/opt/postgresql@*/bin",
		"/usr/local/opt/postgresql@*/bin",
		"/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin",
		"/Applications/Postgres.app/Contents/Versions/*/bin",
	} {
		// The only error is of a malformed pattern.
		matches, _ := filepath.Glob(pattern)
		dirs = append(dirs, matches...)
	}
	var once []string
	for _, dir := range dirs {
		// A relative or empty element of PATH depends on where one stands.
		if !filepath.IsAbs(dir) {
			continue
		}
		if real, err := filepath.EvalSymlinks(dir); err == nil && !slices.Contains(once, real) {
			once = append(once, real)
		}
	}
	return once
}

// inspect asks the server program in dir for its version. The error is
// os.ErrNotExist where dir holds no server or lacks initdb.
func inspect(ctx context.Context, dir string) (*installation, error) {
	for _, name := range []string{"postgres", "initdb"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return nil, os.ErrNotExist
		}
	}
	server := filepath.Join(dir, "postgres")
	// Links lead to the directory whose lib and share the server belongs to.
	if real, err := filepath.EvalSymlinks(server); err == nil && filepath.Base(real) == "postgres" {
		dir, server = filepath.Dir(real), real
	}
	out, err := exec.CommandContext(ctx, server, "--version").Output()
	if err != nil {
		return nil, fmt.Errorf("%s --version: %w", server, err)
	}
	v, err := parseBanner(string(out))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", server, err)
	}
	return &installation{bin: dir, version: v, origin: strings.TrimSpace(string(out)) + " in " + dir}, nil
}
