// Package release compares versions of server programs with what studies ask of
// them.
package release

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Version is the numbers of a release, such as 10.11.19, or the beginning of
// one.
type Version []int

// String joins the numbers with dots.
func (v Version) String() string {
	parts := make([]string, len(v))
	for i, n := range v {
		parts[i] = strconv.Itoa(n)
	}
	return strings.Join(parts, ".")
}

// Compare compares v with w, as far as w says: 10.11.19 is equal to 10.11.
func (v Version) Compare(w Version) int {
	for i, n := range w {
		have := 0
		if i < len(v) {
			have = v[i]
		}
		if c := cmp.Compare(have, n); c != 0 {
			return c
		}
	}
	return 0
}

// Parse reads one to most numbers joined by dots, each of at most four digits
// and without leading zeros.
func Parse(text string, most int) (Version, error) {
	var v Version
	for part := range strings.SplitSeq(text, ".") {
		n, err := strconv.Atoi(part)
		if err != nil || len(part) > 4 || part != strconv.Itoa(n) || n < 0 {
			return nil, fmt.Errorf("%q is not a version: write one to %d numbers joined by dots", text, most)
		}
		v = append(v, n)
	}
	if len(v) > most {
		return nil, fmt.Errorf("%q is not a version: it has more than %d numbers", text, most)
	}
	return v, nil
}

// Constraint is a set of terms that a version must all satisfy; none is any
// version.
type Constraint []Term

// Term is one comparison. It speaks of as many numbers as it names: "10.11" is
// every 10.11.x, "<=10" includes 10.11, ">10.11" begins at 10.12.
type Term struct {
	Op      string // "=", ">=", "<=", ">" or "<"
	Version Version
}

// ParseConstraint reads terms joined by commas: ">=10.11", "15.18", ">=8.0,<9". A
// term without a comparison is "=". parse reads the product's versions.
func ParseConstraint(text string, parse func(string) (Version, error)) (Constraint, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var c Constraint
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		number := strings.TrimLeft(part, "<>=")
		op := part[:len(part)-len(number)]
		if op == "" {
			op = "="
		}
		if !slices.Contains([]string{"=", ">=", "<=", ">", "<"}, op) {
			return nil, fmt.Errorf("version %q: %q is not a comparison: allowed are =, >=, <=, > and <", text, op)
		}
		v, err := parse(strings.TrimSpace(number))
		if err != nil {
			return nil, fmt.Errorf("version %q: %w", text, err)
		}
		c = append(c, Term{op, v})
	}
	return c, nil
}

// Allows says whether a release satisfies every term of c.
func (c Constraint) Allows(v Version) bool {
	for _, t := range c {
		order := v.Compare(t.Version)
		holds := map[string]bool{"=": order == 0, ">=": order >= 0, "<=": order <= 0, ">": order > 0, "<": order < 0}
		if !holds[t.Op] {
			return false
		}
	}
	return true
}

// Exact returns the one release that c names with all of its numbers, of which
// there are as many as numbers: "16.2" or "=16.2".
func (c Constraint) Exact(numbers int) (Version, bool) {
	for _, t := range c {
		if t.Op == "=" && len(t.Version) == numbers {
			return t.Version, true
		}
	}
	return nil, false
}

// String writes c so that ParseConstraint reads the same back.
func (c Constraint) String() string {
	if len(c) == 0 {
		return "any version"
	}
	parts := make([]string, len(c))
	for i, t := range c {
		parts[i] = strings.TrimPrefix(t.Op, "=") + t.Version.String()
	}
	return strings.Join(parts, ",")
}
