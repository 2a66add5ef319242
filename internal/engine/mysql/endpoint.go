package mysql

import (
	"crypto/tls"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/endpoint"
	"github.com/loadstone-perf/loadstone/internal/engine/mysql/wire"
)

// endpointForm is what endpoints of both products look like.
func endpointForm() endpoint.Form {
	return endpoint.Form{
		Schemes: []string{"mysql", "mariadb"}, Port: 3306,
		Socket: "socket", SocketIs: "the path of a Unix socket",
		SocketPath: func(path string, _ int) string { return path },
		Example:    "mysql://USER@HOST:PORT/DATABASE?sslmode=verify-full, or mysql://USER@/DATABASE?socket=/PATH for a Unix socket",
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
	session  string // what holds in every session
}

// config is how Loadstone connects to a database of the server, or to none.
func (s *settled) config(database string) wire.Config {
	network, at := s.Dial()
	return wire.Config{
		Network: network, Address: at, User: s.User, Password: string(s.password), Database: database,
		TLS: s.tlsConf, Verified: s.Trusted(), Timeout: s.ConnectTimeout, Session: s.session,
	}
}

// own implements askable.
func (s *settled) own() wire.Config { return s.config("") }

// sessionSettings hold in each session, whatever the server's defaults, because
// the meaning of statements depends on them: see meaning for why. They are the
// session's own and change nothing for others.
func (f flavour) sessionSettings(v version) string {
	const level = "tx_isolation" // of MariaDB; good after release 11.1 too
	set := "SET time_zone = '+00:00', lock_wait_timeout = 30, sql_mode = 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'"
	switch {
	case f == oracle:
		return set + ", transaction_isolation = 'READ-COMMITTED'"
	case f.snapshots(v):
		set += ", innodb_snapshot_isolation = ON"
	}
	return set + ", " + level + " = 'READ-COMMITTED'"
}
