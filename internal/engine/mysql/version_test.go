package mysql

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/engine"
)

func TestBannersTellProductAndRelease(t *testing.T) {
	for banner, want := range map[string]string{
		"mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)": "mariadb 10.11.19",
		"/usr/libexec/mariadbd  Ver 11.4.2-MariaDB for Linux on aarch64 (MariaDB Server)":     "mariadb 11.4.2",
		"/usr/sbin/mysqld  Ver 8.0.36 for Linux on x86_64 (MySQL Community Server - GPL)":     "mysql 8.0.36",
		"mysqld  Ver 8.4.0-0ubuntu1 for Linux on x86_64 ((Ubuntu))":                           "mysql 8.4.0",
		"":                                    "",
		"postgres (PostgreSQL) 15.18":         "",
		"mariadbd  Ver ten-MariaDB for Linux": "",
		"mysqld  Ver 8.0 for Linux":           "",
	} {
		f, v, err := parseBanner(banner)
		got := ""
		if err == nil {
			got = string(f) + " " + v.String()
		}
		if got != want {
			t.Errorf("%q is %q (%v), want %q", banner, got, err, want)
		}
	}
}

func TestConstraintsCompareAsFarAsTheySay(t *testing.T) {
	for _, c := range []struct {
		text string
		yes  []string
		no   []string
	}{
		{"", []string{"10.11.19", "8.0.36"}, nil},
		{"10", []string{"10.11.19", "10.6.1"}, []string{"11.4.2"}},
		{"10.11", []string{"10.11.0"}, []string{"10.12.0", "10.6.9"}},
		{"10.11.19", []string{"10.11.19"}, []string{"10.11.18"}},
		{">10.11", []string{"10.12.0", "11.0.1"}, []string{"10.11.19"}},
		{"<=10.11", []string{"10.11.19", "8.0.36"}, []string{"11.0.1"}},
		{" >=8.0 , <9", []string{"8.4.0"}, []string{"9.0.1", "10.11.19"}},
	} {
		parsed, err := parseConstraint(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
		}
		for want, servers := range map[bool][]string{true: c.yes, false: c.no} {
			for _, s := range servers {
				v, err := parseVersion(s)
				if err != nil {
					t.Fatal(err)
				}
				if got := parsed.Allows(v); got != want {
					t.Errorf("%q allows %s: %t", c.text, s, got)
				}
			}
		}
	}
	for _, nonsense := range []string{"new", ">=", ",", "10.", ".1", "10.11.19.2", "010", "-1", "mysql", "=>10", "99999"} {
		if c, err := parseConstraint(nonsense); err == nil || !strings.Contains(err.Error(), nonsense) {
			t.Errorf("%q: %v, %v, want an error that quotes it", nonsense, c, err)
		}
	}
}

func FuzzBanner(f *testing.F) {
	for _, seed := range []string{"", "10.11.19", "mariadbd  Ver 10.11.19-MariaDB x", "mysqld  Ver 8.0.36 for y"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, v, err := parseBanner(text); err == nil && len(v) != 3 {
			t.Errorf("%q has version %v", text, v)
		}
	})
}

// program writes an executable shell script that prints banner.
func program(t *testing.T, path, banner string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho '"+banner+"'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestLocateTakesTheNewestMariaDBThatIsAllowed(t *testing.T) {
	root := t.TempDir()
	dir := func(name string) string { return filepath.Join(root, name, "sbin") }
	for name, banner := range map[string]string{
		"old": "mariadbd  Ver 10.5.1-MariaDB for x", "good": "mariadbd  Ver 10.11.8-MariaDB for x", "new": "mariadbd  Ver 11.4.2-MariaDB for x",
	} {
		program(t, filepath.Join(dir(name), "mariadbd"), banner)
		program(t, filepath.Join(root, name, "bin", "mariadb-install-db"), "")
	}
	program(t, filepath.Join(dir("half"), "mariadbd"), "mariadbd  Ver 11.8.1-MariaDB for x")
	program(t, filepath.Join(dir("my"), "mysqld"), "mysqld  Ver 8.4.0 for x")
	dirs := []string{dir("old"), dir("good"), dir("new"), dir("my"), dir("half"), filepath.Join(root, "nowhere")}
	for text, want := range map[string]string{"": "11.4.2", "10": "10.11.8", ">=8,<10": "8.4.0", "<9": "8.4.0"} {
		c, err := parseConstraint(text)
		if err != nil {
			t.Fatal(err)
		}
		in, err := locate(t.Context(), c, dirs)
		if err != nil || in.Version() != want {
			t.Errorf("%q: %v, %v, want %s", text, in, err, want)
		}
	}
	for text, parts := range map[string][]string{
		"10.5":   {"10.5", "Loadstone needs 10.11 or later", "apt install mariadb-server"},
		"11.8.1": {"no mariadb-install-db below", "MariaDB 11.8.1"},
	} {
		c, _ := parseConstraint(text)
		_, err := locate(t.Context(), c, dirs)
		for _, part := range parts {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%q: %v, want %q in it", text, err, part)
			}
		}
	}
	if _, err := locate(t.Context(), nil, nil); err == nil || !strings.Contains(err.Error(), "found none") {
		t.Errorf("nothing to find: %v", err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New().Locate(over, engine.Want{}); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that is over: %v", err)
	}
}
