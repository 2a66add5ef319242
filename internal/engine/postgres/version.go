package postgres

import (
	"fmt"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/engine/release"
)

// oldest is the first release whose statistics views and start-up settings
// this package knows.
const oldest = 15

// version is a PostgreSQL release: since release 10 the first number is the
// major version and the second the minor one. constraint is what a study asks of
// one.
type (
	version    = release.Version
	constraint = release.Constraint
)

// parseBanner reads what `postgres --version` prints, such as
// "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)". Beta and
// development releases have no minor number and are refused.
func parseBanner(text string) (version, error) {
	_, rest, ok := strings.Cut(text, "(PostgreSQL) ")
	if fields := strings.Fields(rest); ok && len(fields) > 0 {
		if v, err := parseVersion(fields[0]); err == nil && len(v) == 2 {
			return v, nil
		}
	}
	return nil, fmt.Errorf("%q is not the version of a released PostgreSQL server", strings.TrimSpace(text))
}

// parseVersion reads a major version, "15", or a release, "15.18".
func parseVersion(text string) (version, error) {
	v, err := release.Parse(text, 2)
	if err != nil || v[0] < 10 {
		return nil, fmt.Errorf("%q is not a version: write a major version from 10 up, or a release, as in 15 or 15.18", text)
	}
	return v, nil
}

// parseConstraint reads terms joined by commas: ">=15,<17", "15", "16.2".
func parseConstraint(text string) (constraint, error) {
	return release.ParseConstraint(text, parseVersion)
}
