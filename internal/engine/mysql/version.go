package mysql

import (
	"fmt"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/engine/release"
)

// flavour is which of the two products a server is.
type flavour string

const (
	mariadb flavour = "mariadb"
	oracle  flavour = "mysql"
)

// title is the product's name for people.
func (f flavour) title() string {
	if f == oracle {
		return "MySQL"
	}
	return "MariaDB"
}

// oldest is the first release whose settings and statistics this package knows.
func (f flavour) oldest() version {
	if f == mariadb {
		return version{10, 11}
	}
	return version{8, 0}
}

// version is a release, constraint what a study asks of one. A constraint need
// not name the product: MariaDB's releases are numbered from 10, MySQL's up to 9.
type (
	version    = release.Version
	constraint = release.Constraint
)

// parseBanner reads what the server prints of its version, such as
// "mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64" or
// "/usr/sbin/mysqld  Ver 8.0.36 for Linux on x86_64 (MySQL Community Server - GPL)".
func parseBanner(text string) (flavour, version, error) {
	_, rest, ok := strings.Cut(text, " Ver ")
	fields := strings.Fields(rest)
	if ok && len(fields) > 0 {
		number, suffix, _ := strings.Cut(fields[0], "-")
		f := oracle
		if strings.Contains(suffix, "MariaDB") {
			f = mariadb
		}
		if v, err := parseVersion(number); err == nil && len(v) == 3 {
			return f, v, nil
		}
	}
	return "", nil, fmt.Errorf("%q is not the version of a MariaDB or MySQL server", strings.TrimSpace(text))
}

// parseVersion reads up to three numbers: 10, 10.11, 10.11.19.
func parseVersion(text string) (version, error) { return release.Parse(text, 3) }

// parseConstraint reads terms joined by commas: ">=10.11", "10.11.19",
// ">=8.0,<9".
func parseConstraint(text string) (constraint, error) {
	return release.ParseConstraint(text, parseVersion)
}
