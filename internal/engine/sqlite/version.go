package sqlite

import "github.com/loadstone-perf/loadstone/internal/engine/release"

// parseVersion reads one to three numbers: 3.54, 3.54.1.
func parseVersion(text string) (release.Version, error) { return release.Parse(text, 3) }

// parseConstraint reads terms joined by commas: ">=3.50,<4".
func parseConstraint(text string) (release.Constraint, error) {
	return release.ParseConstraint(text, parseVersion)
}
