package endpoint

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// postgres and mysql are forms of the two kinds: a socket found by its
// directory and port, and one found by its own path.
func postgres() Form {
	return Form{
		Schemes: []string{"postgres", "postgresql"}, Port: 5432, Socket: "host", SocketIs: "the directory of a Unix socket",
		SocketPath: func(dir string, port int) string { return dir + "/.s.PGSQL." + strconv.Itoa(port) },
		Example:    "postgres://USER@HOST/DATABASE",
	}
}

func mysql() Form {
	return Form{
		Schemes: []string{"mysql", "mariadb"}, Port: 3306, Socket: "socket", SocketIs: "the path of a Unix socket",
		SocketPath: func(path string, _ int) string { return path }, Example: "mysql://USER@HOST/DATABASE",
	}
}

// FuzzEndpoint: whatever is written, no error repeats what could be a password,
// and what is taken leads somewhere.
func FuzzEndpoint(f *testing.F) {
	for _, text := range []string{
		"postgres://u@h/d", "postgres://u:secret@h/d", "postgres://u@h:99999/d", "postgres://u@/d?host=/run", "postgres://u@h/d?sslmode=prefer",
		"postgres://u@h/d?password=secret", "postgres://u:p/q@h/d", "postgres://u@[::1]:5/d?sslmode=disable", "postgres://%zz@h/d", "mysql://u@h/d", "mysql://u@/d?socket=/run/x.sock",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ReplaceAll(text, "secret", "Zx9-marker")
		e, err := postgres().Parse(text)
		if strings.HasPrefix(text, "mysql") {
			e, err = mysql().Parse(text)
		}
		if err != nil {
			if strings.Contains(err.Error(), "Zx9") {
				t.Errorf("%q: the error repeats it: %v", text, err)
			}
			return
		}
		network, at := e.Dial()
		if e.User == "" || e.Database == "" || e.Host == "" || e.Port < 1 || e.Port > 65535 || at == "" || e.Where == "" || (network == "unix") != (e.socket != "") {
			t.Errorf("%q became %+v", text, e)
		}
		if strings.Contains(e.Where, "Zx9-marker") && !strings.Contains(e.Host, "Zx9-marker") {
			t.Errorf("%q: %s tells more than the host", text, e.Where)
		}
	})
}

func TestEndpointsSayWhatTheyMean(t *testing.T) {
	for text, want := range map[string]string{
		"postgres://u@h/d":                                  "h:5432 d verify-full false",
		"postgresql://u@h:99/d?sslmode=require":             "h:99 d require false",
		"postgres://u@127.0.0.1/d?sslmode=disable":          "127.0.0.1:5432 d disable true",
		"postgres://u@localhost/d":                          "localhost:5432 d verify-full true",
		"postgres://u@[::1]:7/d":                            "[::1]:7 d verify-full true",
		"postgres://u@/d?host=/run/postgresql":              "/run/postgresql/.s.PGSQL.5432 d disable true",
		"postgres://u@:77/d?host=/run/postgresql/":          "/run/postgresql/.s.PGSQL.77 d disable true",
		"postgres://u@h/d?connect_timeout=5&sslrootcert=/x": "h:5432 d verify-full false",
	} {
		e, err := postgres().Parse(text)
		if got := fmt.Sprint(e.Where, " ", e.Database, " ", e.mode, " ", e.Loopback); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", text, got, err, want)
		}
	}
	for text, part := range map[string]string{
		"":                                "postgres://USER",
		"postgres://h/d":                  "no user",
		"postgres://u@h":                  "no database",
		"postgres://u@h/a/b":              "no database",
		"postgres://u@/d":                 "no host",
		"postgres://u:p@h/d":              "password",
		"postgres://u:@h/d":               "password",
		"postgres://u@h/d?password=p":     "password",
		"postgres://u@h:0/d":              "65535",
		"postgres://u@h/d?sslmode=prefer": "sslmode",
		"postgres://u@h/d?sslmode=disable&sslcert=/x":      "certificates",
		"postgres://u@h/d?sslcert=/x":                      "need each other",
		"postgres://u@/d?host=/run&sslmode=verify-full":    "Unix socket",
		"postgres://u@h/d?host=/run":                       "absolute path",
		"postgres://u@/d?host=run":                         "absolute path",
		"postgres://u@h/d?connect_timeout=0":               "seconds",
		"postgres://u@h/d?options=-cfsync=off":             "allowed are",
		"postgres://u@h/d?sslmode=require&sslmode=require": "twice",
		"mysql://u@h/d":                                    "postgres://USER",
	} {
		if _, err := postgres().Parse(text); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v; want an error with %q", text, err, part)
		}
	}
}

func TestProductsDifferInTheirForms(t *testing.T) {
	for text, want := range map[string]string{
		"mysql://u@h/d": "h:3306 verify-full", "mariadb://u@h:1/d?sslmode=require": "h:1 require",
		"mysql://u@/d?socket=/run/mysqld/mysqld.sock": "/run/mysqld/mysqld.sock disable",
	} {
		e, err := mysql().Parse(text)
		if got := e.Where + " " + e.mode; err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", text, got, err, want)
		}
	}
	for text, part := range map[string]string{
		"mysql://u@/d?host=/run": "allowed are socket", "mysql://u@/d?socket=x": "the path of a Unix socket", "postgres://u@h/d": "mysql://USER",
	} {
		if _, err := mysql().Parse(text); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v; want an error with %q", text, err, part)
		}
	}
}

func TestAPasswordIsSentOnlyWhereItIsSafe(t *testing.T) {
	for text, want := range map[string]bool{
		"postgres://u@h/d":                         true,
		"postgres://u@h/d?sslmode=verify-ca":       true,
		"postgres://u@h/d?sslmode=require":         false,
		"postgres://u@h/d?sslmode=disable":         false,
		"postgres://u@127.0.0.1/d?sslmode=disable": true,
		"postgres://u@/d?host=/run":                true,
	} {
		if e, err := postgres().Parse(text); err != nil || e.Trusted() != want {
			t.Errorf("%s: %v, %v", text, e.Trusted(), err)
		}
	}
}
