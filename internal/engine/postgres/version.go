package postgres

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// oldest is the first release whose statistics views and start-up settings
// this package knows.
const oldest = 15

// version is a PostgreSQL release: 15.18 is {15, 18}. Since release 10 the
// first number is the major version and the second the minor one.
type version struct{ major, minor int }

func (v version) String() string { return fmt.Sprintf("%d.%d", v.major, v.minor) }

func (v version) compare(w version) int {
	return cmp.Or(cmp.Compare(v.major, w.major), cmp.Compare(v.minor, w.minor))
}

// parseBanner reads what `postgres --version` prints, such as
// "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)". Beta and
// development releases have no minor number and are refused.
func parseBanner(text string) (version, error) {
	_, rest, ok := strings.Cut(text, "(PostgreSQL) ")
	if fields := strings.Fields(rest); ok && len(fields) > 0 {
		if v, whole, err := parseVersion(fields[0]); err == nil && whole {
			return v, nil
		}
	}
	return version{}, fmt.Errorf("%q is not the version of a released PostgreSQL server", strings.TrimSpace(text))
}

// parseVersion reads "15" or "15.18"; whole says that there was a minor number.
func parseVersion(text string) (v version, whole bool, err error) {
	major, minor, whole := strings.Cut(text, ".")
	v.major, err = parseNumber(major)
	if err == nil && whole {
		v.minor, err = parseNumber(minor)
	}
	if err != nil || v.major < 10 {
		return version{}, false, fmt.Errorf("%q is not a version: write a major version from 10 up, or a release, as in 15 or 15.18", text)
	}
	return v, whole, nil
}

// parseNumber reads up to four decimal digits: no sign, no space, no leading
// zero.
func parseNumber(text string) (int, error) {
	if len(text) == 0 || len(text) > 4 || strings.Trim(text, "0123456789") != "" || len(text) > 1 && text[0] == '0' {
		return 0, fmt.Errorf("%q is not a version number", text)
	}
	return strconv.Atoi(text)
}

// constraint is a set of terms that a version must all satisfy; none is any
// version.
type constraint []term

// term is one comparison. Without a minor number (whole is false) it speaks of
// major versions: "15" is every 15.x, "<=16" includes 16.9, ">16" starts at 17.
type term struct {
	op    string // "=", ">=", "<=", ">" or "<"
	v     version
	whole bool
}

// parseConstraint reads terms joined by commas: ">=15,<17", "15", "16.2".
func parseConstraint(text string) (constraint, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var c constraint
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		number := strings.TrimLeft(part, "<>=")
		op := part[:len(part)-len(number)]
		switch op {
		case "":
			op = "="
		case "=", ">=", "<=", ">", "<":
		default:
			return nil, fmt.Errorf("version %q: %q is not a comparison: allowed are =, >=, <=, > and <", text, op)
		}
		v, whole, err := parseVersion(strings.TrimSpace(number))
		if err != nil {
			return nil, fmt.Errorf("version %q: %w", text, err)
		}
		c = append(c, term{op, v, whole})
	}
	return c, nil
}

// allows says whether v satisfies every term of c.
func (c constraint) allows(v version) bool {
	for _, t := range c {
		order := v.compare(t.v)
		if !t.whole {
			order = cmp.Compare(v.major, t.v.major)
		}
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

// exact returns the one release that c names with "16.2" or "=16.2".
func (c constraint) exact() (version, bool) {
	for _, t := range c {
		if t.op == "=" && t.whole {
			return t.v, true
		}
	}
	return version{}, false
}

// String writes c so that parseConstraint reads the same back.
func (c constraint) String() string {
	if len(c) == 0 {
		return "any version"
	}
	parts := make([]string, len(c))
	for i, t := range c {
		text := strconv.Itoa(t.v.major)
		if t.whole {
			text = t.v.String()
		}
		parts[i] = strings.TrimPrefix(t.op, "=") + text
	}
	return strings.Join(parts, ",")
}
