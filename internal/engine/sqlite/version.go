package sqlite

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// version is the numbers of a release: 3.54.1 is {3, 54, 1}.
type version []int

func (v version) String() string {
	parts := make([]string, len(v))
	for i, n := range v {
		parts[i] = strconv.Itoa(n)
	}
	return strings.Join(parts, ".")
}

// parseVersion reads one to three numbers joined by dots.
func parseVersion(text string) (version, error) {
	var v version
	for part := range strings.SplitSeq(text, ".") {
		n, err := strconv.Atoi(part)
		if err != nil || len(v) == 3 || part != strconv.Itoa(n) || n < 0 {
			return nil, fmt.Errorf("%q is not a version: write one to three numbers, as in 3.54 or 3.54.1", text)
		}
		v = append(v, n)
	}
	return v, nil
}

// constraint is a set of comparisons that a version must all satisfy.
type constraint []term

// term compares as many numbers as its version has: "3.54" is every 3.54.x,
// and ">3.54" begins at 3.55.
type term struct {
	op string // "=", ">=", "<=", ">" or "<"
	v  version
}

// parseConstraint reads terms joined by commas: ">=3.50,<4".
func parseConstraint(text string) (constraint, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var c constraint
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
		v, err := parseVersion(strings.TrimSpace(number))
		if err != nil {
			return nil, fmt.Errorf("version %q: %w", text, err)
		}
		c = append(c, term{op, v})
	}
	return c, nil
}

// allows says whether v satisfies every term of c.
func (c constraint) allows(v version) bool {
	for _, t := range c {
		order := slices.CompareFunc(v[:min(len(v), len(t.v))], t.v, cmp.Compare[int])
		var ok bool
		switch t.op {
		case "=":
			ok = order == 0
		case ">=":
			ok = order >= 0
		case "<=":
			ok = order <= 0
		case ">":
			ok = order > 0
		case "<":
			ok = order < 0
		}
		if !ok {
			return false
		}
	}
	return true
}
