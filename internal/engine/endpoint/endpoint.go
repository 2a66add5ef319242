// Package endpoint reads the URLs by which studies name servers that run
// already, and says how to reach and to verify them. The words are the same for
// every product (sslmode, sslrootcert, …); a Form says what differs.
package endpoint

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadstone-perf/loadstone/internal/engine"
)

// Form is what a product's endpoints look like.
type Form struct {
	Schemes []string // of the URL, the usual one first
	Port    int      // where the URL names none
	// Socket is the parameter that names a Unix socket by an absolute path, and
	// SocketIs says what it is a path of: "the directory of a Unix socket".
	Socket, SocketIs string
	// SocketPath makes the socket's own path of the parameter and the port.
	SocketPath func(given string, port int) string
	Example    string // of a whole URL, for errors
}

// Endpoint is a URL taken apart.
type Endpoint struct {
	engine.Address               // Host is the parameter of a Unix socket as given
	ConnectTimeout time.Duration // at least a second

	mode      string // of TLS: one of modes
	rootCert  string // file with the certificates of trusted authorities; "" for the system's
	cert, key string // files with the client's certificate and key; "" without
	socket    string // path of the Unix socket; "" on TCP
}

// mode is one value of sslmode.
type mode struct{ name, about string }

// modes are the values that a study may ask for. PostgreSQL's own "allow" and
// "prefer", and MySQL's "PREFERRED", are missing on purpose: they leave open
// whether the measured traffic is encrypted.
func modes() []mode {
	return []mode{
		{"disable", "none"},
		{"require", "TLS, certificate not verified"},
		{"verify-ca", "TLS, certificate verified"},
		{"verify-full", "TLS, certificate and host name verified"},
	}
}

// Parse reads an endpoint's URL. Where it does not say, TCP is encrypted and
// verified in full, and a Unix socket is not. Errors quote no more of the URL
// than the names of parameters, since anything else may hold a password.
func (f Form) Parse(text string) (Endpoint, error) {
	u, err := url.Parse(text)
	if err != nil || !slices.Contains(f.Schemes, u.Scheme) || u.Opaque != "" || u.Fragment != "" {
		return Endpoint{}, errors.New("it is not of the form " + f.Example)
	}
	if _, has := u.User.Password(); has {
		return Endpoint{}, errors.New("it has a password in it")
	}
	e := Endpoint{Address: engine.Address{
		Host: u.Hostname(), Port: f.Port, User: u.User.Username(), Database: strings.TrimPrefix(u.Path, "/"),
	}}
	if e.User == "" {
		return Endpoint{}, errors.New("it names no user: " + f.Example)
	}
	if e.Database == "" || strings.Contains(e.Database, "/") {
		return Endpoint{}, errors.New("it names no database: " + f.Example)
	}
	if p := u.Port(); p != "" {
		if e.Port, err = strconv.Atoi(p); err != nil || e.Port < 1 || e.Port > 65535 {
			return Endpoint{}, errors.New("its port is no number from 1 to 65535")
		}
	}
	if err := f.parameters(&e, u.RawQuery); err != nil {
		return Endpoint{}, err
	}
	return e, f.complete(&e)
}

// parameters reads what stands after the question mark.
func (f Form) parameters(e *Endpoint, query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return errors.New("what follows the question mark is not of the form NAME=VALUE&NAME=VALUE")
	}
	fields := map[string]*string{"sslmode": &e.mode, "sslrootcert": &e.rootCert, "sslcert": &e.cert, "sslkey": &e.key}
	for name, given := range values {
		if len(given) != 1 {
			return fmt.Errorf("parameter %s is given twice", name)
		}
		field, known := fields[name]
		switch {
		case known:
			*field = given[0]
		case name == f.Socket && e.Host == "" && filepath.IsAbs(given[0]):
			e.Host = filepath.Clean(given[0])
			e.socket = f.SocketPath(e.Host, e.Port)
		case name == f.Socket:
			return fmt.Errorf("parameter %s is %s: an absolute path, and no host before the database", name, f.SocketIs)
		case name == "connect_timeout":
			n, err := strconv.Atoi(given[0])
			if err != nil || n < 1 || n > 3600 {
				return errors.New("parameter connect_timeout is no number of seconds from 1 to 3600")
			}
			e.ConnectTimeout = time.Duration(n) * time.Second
		case name == "password" || name == "sslpassword":
			return errors.New("it has a password in it")
		default:
			return fmt.Errorf("it has a parameter that an endpoint does not take: allowed are %s, sslmode, sslrootcert, sslcert, sslkey and connect_timeout", f.Socket)
		}
	}
	return nil
}

// complete fills in what follows from the rest, and finds what does not fit.
func (f Form) complete(e *Endpoint) error {
	if e.Host == "" {
		return errors.New("it names no host: " + f.Example)
	}
	socket := e.socket != ""
	if e.mode == "" {
		if e.mode = "verify-full"; socket {
			e.mode = "disable"
		}
	}
	i := slices.IndexFunc(modes(), func(m mode) bool { return m.name == e.mode })
	switch {
	case i < 0:
		return errors.New("its sslmode is none of disable, require, verify-ca and verify-full: a study says whether its traffic is encrypted")
	case socket && e.mode != "disable":
		return errors.New("it asks for TLS on a Unix socket, where there is none")
	case e.mode == "disable" && (e.rootCert != "" || e.cert != "" || e.key != ""):
		return errors.New("it names certificates, but without TLS none is used")
	case (e.cert == "") != (e.key == ""):
		return errors.New("sslcert and sslkey need each other")
	}
	e.Encryption = modes()[i].about
	if e.ConnectTimeout == 0 {
		e.ConnectTimeout = 10 * time.Second
	}
	ip := net.ParseIP(e.Host)
	e.Loopback = socket || e.Host == "localhost" || ip != nil && ip.IsLoopback()
	_, e.Where = e.Dial()
	return nil
}

// Dial is where to connect, in the words of package net.
func (e *Endpoint) Dial() (network, at string) {
	if e.socket != "" {
		return "unix", e.socket
	}
	return "tcp", net.JoinHostPort(e.Host, strconv.Itoa(e.Port))
}

// Trusted says whether a password may be sent as it is: it stays on this
// machine, or goes encrypted to a server that was verified.
func (e *Endpoint) Trusted() bool { return e.Loopback || strings.HasPrefix(e.mode, "verify-") }
