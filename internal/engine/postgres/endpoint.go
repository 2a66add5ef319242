package postgres

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/endpoint"
)

// endpointForm is what the product's endpoints look like.
func endpointForm() endpoint.Form {
	return endpoint.Form{
		Schemes: []string{"postgres", "postgresql"}, Port: 5432,
		Socket: "host", SocketIs: "the directory of a Unix socket",
		SocketPath: func(dir string, port int) string { return address{dir, port}.socket() },
		Example:    "postgres://USER@HOST:PORT/DATABASE?sslmode=verify-full, or postgres://USER@/DATABASE?host=/DIRECTORY for a Unix socket",
	}
}

// Address implements engine.Attacher.
func (product) Address(text string) (engine.Address, error) {
	e, err := endpointForm().Parse(text)
	return e.Address, err
}

// settled is an endpoint with all that connecting needs, its files read.
type settled struct {
	endpoint.Endpoint
	password engine.Secret
	tlsConf  *tls.Config
}

// ownName is the application name of Loadstone's own connections, and userName
// that of the users' sessions, which alone are counted.
const (
	ownName  = "loadstone (own)"
	userName = "loadstone"
)

// sessionSettings hold in each session, whatever the server's defaults: the
// meaning of {now} and {today} depends on the first. They are the session's
// own, as the product's other clients set them, and change nothing for others.
func sessionSettings() map[string]string { return map[string]string{"timezone": "UTC"} }

// config is how Loadstone itself connects to a database of the server. Nothing
// in it is from the environment's PG… variables or a password file.
func (s *settled) config(database string) (*pgconn.Config, error) {
	c, err := pgconn.ParseConfig("host=/ user=nobody sslmode=disable target_session_attrs=any")
	if err != nil {
		return nil, fmt.Errorf("the PG… environment variables: %w", err)
	}
	network, at := s.Dial()
	c.Host, c.Port, c.User, c.Password, c.Database = s.Host, uint16(s.Port), s.User, string(s.password), database
	c.TLSConfig, c.Fallbacks, c.ConnectTimeout, c.ValidateConnect = s.tlsConf, nil, s.ConnectTimeout, nil
	c.SSLNegotiation, c.SSLCertMode, c.ChannelBinding = "", "", "prefer"
	c.RequireAuth = s.requireAuth()
	c.RuntimeParams = sessionSettings()
	c.RuntimeParams["application_name"], c.RuntimeParams["client_encoding"] = ownName, "UTF8"
	c.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	c.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, at)
	}
	return c, nil
}

// requireAuth forbids that the password leaves this machine readable: a server
// that nobody verified could ask for it in plain text.
func (s *settled) requireAuth() string {
	if s.Trusted() {
		return ""
	}
	return "!password"
}
