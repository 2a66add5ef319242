package mysql

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

// Locate implements engine.Engine. Of the servers on this machine that w.Version
// allows it takes the newest MariaDB, or else the newest MySQL. There is nothing
// to fetch: neither product publishes programs that run wherever they are put.
func (product) Locate(ctx context.Context, w engine.Want) (engine.Installation, error) {
	c, err := parseConstraint(w.Version)
	if err != nil {
		return nil, err
	}
	in, err := locate(ctx, c, binDirs())
	if err != nil {
		return nil, err // no typed nil
	}
	return in, nil
}

// locate is Locate with the directories to look in.
func locate(ctx context.Context, c constraint, dirs []string) (*installation, error) {
	var found []*installation
	var seen []string // what was looked at and not taken
	for _, dir := range dirs {
		for _, name := range []string{"mariadbd", "mysqld"} {
			in, err := inspect(ctx, filepath.Join(dir, name))
			switch {
			case errors.Is(err, os.ErrNotExist):
			case err != nil:
				seen = append(seen, err.Error())
			case slices.ContainsFunc(found, func(o *installation) bool { return o.server == in.server }):
			case in.version.Compare(in.product.oldest()) < 0:
				seen = append(seen, fmt.Sprintf("%s (Loadstone needs %s or later)", in.origin, in.product.oldest()))
			case !c.Allows(in.version):
				seen = append(seen, in.origin)
			default:
				found = append(found, in)
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
		}
	}
	if len(found) > 0 {
		return slices.MaxFunc(found, func(a, b *installation) int {
			if a.product != b.product {
				return strings.Compare(string(b.product), string(a.product)) // mariadb before mysql
			}
			return a.version.Compare(b.version)
		}), nil
	}
	slices.Sort(seen)
	if seen = slices.Compact(seen); len(seen) == 0 {
		seen = []string{"none"}
	}
	return nil, fmt.Errorf("no MariaDB or MySQL server that satisfies %s: found %s; install one (Debian and Ubuntu: apt install mariadb-server; "+
		"Fedora: dnf install mariadb-server; macOS: brew install mariadb) or put its directory on PATH", c, strings.Join(seen, ", "))
}

// binDirs lists where servers are installed by habit: PATH, and the directories
// of the packages of Linux systems, of the products' own archives, and of
// Homebrew, each once.
func binDirs() []string {
	dirs := filepath.SplitList(os.Getenv("PATH"))
	for _, pattern := range []string{
		"/usr/sbin", "/usr/libexec", "/usr/bin", "/usr/local/sbin", "/usr/local/libexec", "/usr/local/bin",
		"/usr/local/mysql/bin", "/usr/local/mariadb/bin", "/opt/mysql/*/bin", "/opt/mariadb/*/bin",
		"/opt/homebrew/opt/mariadb*/bin", "/opt/homebrew/opt/mysql*/bin",
		"/usr/local/opt/mariadb*/bin", "/usr/local/opt/mysql*/bin",
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

// inspect asks a server program for its version. The error is os.ErrNotExist
// where there is none, or what makes an empty database is missing.
func inspect(ctx context.Context, path string) (*installation, error) {
	// Links lead to the directory whose neighbours the server belongs to.
	server, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, os.ErrNotExist
	}
	out, err := exec.CommandContext(ctx, server, "--no-defaults", "--version").Output()
	if err != nil {
		return nil, fmt.Errorf("%s --version: %w", server, err)
	}
	f, v, err := parseBanner(string(out))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", server, err)
	}
	in := &installation{server: server, product: f, version: v, origin: fmt.Sprintf("%s %s in %s", f.title(), v, filepath.Dir(server))}
	if f == mariadb {
		if in.maker, in.base, err = maker(filepath.Dir(server)); err != nil {
			return nil, fmt.Errorf("%s: %w", in.origin, err)
		}
	}
	return in, nil
}

// maker finds the program that makes an empty MariaDB, and the directory that
// the installation is below, for a server in dir.
func maker(dir string) (program, base string, err error) {
	base = filepath.Dir(dir)
	for _, at := range []string{"bin", "scripts", "sbin"} {
		for _, name := range []string{"mariadb-install-db", "mysql_install_db"} {
			path := filepath.Join(base, at, name)
			if _, err := os.Stat(path); err == nil {
				return path, base, nil
			}
		}
	}
	return "", "", fmt.Errorf("no mariadb-install-db below %s", base)
}
