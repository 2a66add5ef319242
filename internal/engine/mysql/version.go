package mysql

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
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

// version is a release, such as 10.11.19, or the beginning of one.
type version []int

func (v version) String() string {
	parts := make([]string, len(v))
	for i, n := range v {
		parts[i] = strconv.Itoa(n)
	}
	return strings.Join(parts, ".")
}

// compare compares v with w, as far as w says.
func (v version) compare(w version) int {
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
func parseVersion(text string) (version, error) {
	var v version
	for part := range strings.SplitSeq(text, ".") {
		n, err := strconv.Atoi(part)
		if err != nil || len(part) > 4 || strings.Trim(part, "0123456789") != "" || len(part) > 1 && part[0] == '0' {
			return nil, fmt.Errorf("%q is not a version: write one to three numbers, as in 10.11 or 8.0.36", text)
		}
		v = append(v, n)
	}
	if len(v) > 3 {
		return nil, fmt.Errorf("%q is not a version: it has more than three numbers", text)
	}
	return v, nil
}

// constraint is a set of terms that a server must all satisfy; none is any
// server. It need not name the product: MariaDB's releases are numbered from 10,
// MySQL's up to 9.
type constraint []term

// term is one comparison. It speaks of as many numbers as it names: "10.11" is
// every 10.11.x, "<=10" includes 10.11, ">10.11" starts at 10.12.
type term struct {
	op string // "=", ">=", "<=", ">" or "<"
	v  version
}

// parseConstraint reads terms joined by commas: ">=10.11", "10.11.19",
// ">=8.0,<9".
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

// allows says whether a release satisfies every term of c.
func (c constraint) allows(v version) bool {
	for _, t := range c {
		order := v.compare(t.v)
		holds := map[string]bool{"=": order == 0, ">=": order >= 0, "<=": order <= 0, ">": order > 0, "<": order < 0}
		if !holds[t.op] {
			return false
		}
	}
	return true
}

// String writes c so that parseConstraint reads the same back.
func (c constraint) String() string {
	if len(c) == 0 {
		return "any version"
	}
	parts := make([]string, len(c))
	for i, t := range c {
		parts[i] = strings.TrimPrefix(t.op, "=") + t.v.String()
	}
	return strings.Join(parts, ",")
}
