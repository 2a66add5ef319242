package postgres

import (
	"strings"
	"testing"
)

func TestConstraintAllowsWhatItSays(t *testing.T) {
	for _, c := range []struct{ constraint, allowed, refused string }{
		{"", "10.0 15.18 18.3", ""},
		{">=15", "15.0 15.18 16.0 18.3", "14.99 10.1"},
		{">=15,<17", "15.0 16.99", "14.20 17.0 18.1"},
		{"15", "15.0 15.18", "14.18 16.15"},
		{"16.2", "16.2", "16.1 16.3 15.2 16.20"},
		{"=16.2", "16.2", "16.3"},
		{"<=16", "16.0 16.99 15.1", "17.0"},
		{">16", "17.0 18.3", "16.99"},
		{"<16.2", "16.1 15.9", "16.2 17.0"},
		{">16.2", "16.3 17.0", "16.2"},
		{" >= 15 , < 16 ", "15.3", "16.0"},
		{">=17,<16", "", "15.1 16.5 17.1"},
	} {
		parsed, err := parseConstraint(c.constraint)
		if err != nil {
			t.Errorf("%q: %v", c.constraint, err)
			continue
		}
		for text, want := range each(c.allowed, c.refused) {
			v, err := parseVersion(text)
			if err != nil {
				t.Fatal(err)
			}
			if got := parsed.Allows(v); got != want {
				t.Errorf("%q allows %s: %t, want %t", c.constraint, text, got, want)
			}
		}
	}
}

// each yields the words of yes with true and those of no with false.
func each(yes, no string) func(func(string, bool) bool) {
	return func(yield func(string, bool) bool) {
		for i, words := range []string{yes, no} {
			for _, w := range strings.Fields(words) {
				if !yield(w, i == 0) {
					return
				}
			}
		}
	}
}

func TestNonsenseIsNoConstraint(t *testing.T) {
	for _, text := range []string{
		"x", ">=", ">=15,", ",", "15,,16", "15.", ".2", "15.2.1", "=>15", "==15", "~15", "!15", "15 16", ">= 15 <17",
		"-15", "+15", "015", "15.02", "9.6", "9", "0", "99999", "15.99999", "15.x", "1e1", "१५", ">=15;<17", "latest",
	} {
		if c, err := parseConstraint(text); err == nil {
			t.Errorf("%q was read as %s", text, c)
		} else if !strings.Contains(err.Error(), text) {
			t.Errorf("%q: error %q does not quote it", text, err)
		}
	}
}

func TestBannerOfAReleaseIsRead(t *testing.T) {
	for text, want := range map[string]string{
		"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n": "15.18",
		"postgres (PostgreSQL) 18.3\n":                           "18.3",
		"postgres (PostgreSQL) 10.0":                             "10.0",
		"postgres (PostgreSQL) 19beta1":                          "",
		"postgres (PostgreSQL) 19devel":                          "",
		"postgres (PostgreSQL) 17":                               "",
		"postgres (PostgreSQL) 9.6.24":                           "",
		"postgres (PostgreSQL) ":                                 "",
		"mysqld  Ver 8.0.36":                                     "",
		"":                                                       "",
	} {
		v, err := parseBanner(text)
		if want == "" {
			if err == nil {
				t.Errorf("%q was read as %s", text, v)
			}
		} else if err != nil || v.String() != want {
			t.Errorf("%q: %s, %v, want %s", text, v, err, want)
		}
	}
}
