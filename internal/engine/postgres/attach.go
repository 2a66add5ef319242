package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// running is a server that somebody else runs. It implements engine.Server
// and engine.Keeper.
type running struct {
	settled
	about   engine.About
	version version

	mu   sync.Mutex
	wide *attached // the database whose counters include the whole server's
}

// aboutQuery asks what a user may know of any server. Sessions are counted
// from the statistics of databases, because the view of activity hides other
// users' sessions from one without privileges.
const aboutQuery = `SELECT current_setting('server_version_num'), r.rolsuper OR r.rolcreatedb, pg_is_in_recovery(), pg_backend_pid(),
 current_setting('max_connections')::int - coalesce((SELECT sum(numbackends) FROM pg_stat_database), 0) + 1
 - CASE WHEN r.rolsuper THEN 0 ELSE current_setting('superuser_reserved_connections')::int
   + coalesce(current_setting('reserved_connections', true), '0')::int END
FROM pg_roles r WHERE r.rolname = current_user`

// Attach implements engine.Attacher.
func (product) Attach(ctx context.Context, e engine.Endpoint) (engine.Server, error) {
	parsed, err := endpointForm().Parse(e.URL)
	if err != nil {
		return nil, fmt.Errorf("the endpoint is not right: %w", err)
	}
	want, err := parseConstraint(e.Version)
	if err != nil {
		return nil, err
	}
	s := &running{settled: settled{Endpoint: parsed, password: e.Password}}
	if s.tlsConf, err = parsed.TLS(); err != nil {
		return nil, err
	}
	if err := s.look(ctx); err != nil {
		return nil, fmt.Errorf("PostgreSQL at %s: %w", parsed.Where, err)
	}
	switch {
	case s.version[0] < oldest:
		return nil, fmt.Errorf("PostgreSQL at %s is %s: Loadstone needs %d or later", parsed.Where, s.version, oldest)
	case !want.Allows(s.version):
		return nil, fmt.Errorf("PostgreSQL at %s is %s: the study wants %s", parsed.Where, s.version, want)
	}
	return s, nil
}

// look connects once and fills in s.about.
func (s *running) look(ctx context.Context) error {
	conn, err := s.connectTo(ctx, s.Database)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	rows, err := ask(ctx, conn, aboutQuery)
	if err != nil {
		return err
	}
	if len(rows) != 1 {
		return errors.New("the server does not know the user that it let in")
	}
	number, err := strconv.Atoi(rows[0][0])
	if err != nil {
		return fmt.Errorf("version %q: %w", rows[0][0], err)
	}
	if rows[0][2] == "t" {
		return errors.New("it is a standby, which takes no writes: name the primary")
	}
	s.version = version{number / 10000, number % 10000}
	s.about = engine.About{Version: s.version.String(), Address: s.Address, MayCreate: rows[0][1] == "t"}
	s.about.Free, _ = strconv.Atoi(rows[0][4])
	if t, ok := conn.Conn().(*tls.Conn); ok {
		s.about.Address.Encryption = strings.Replace(s.Encryption, "TLS", tls.VersionName(t.ConnectionState().Version), 1)
	}
	s.about.Here, s.about.NotHere = s.here(rows[0][3])
	return nil
}

// here finds out whether the server runs on this machine. A loopback address
// alone proves nothing: a tunnel ends there too.
func (s *running) here(pid string) (bool, string) {
	if !s.Loopback {
		return false, "the server is on another machine"
	}
	name, err := os.ReadFile("/proc/" + pid + "/comm")
	if err != nil || strings.TrimSpace(string(name)) != "postgres" {
		return false, "the server's processes are not among this machine's: it is behind a tunnel or in a container"
	}
	return true, ""
}

// connectTo opens a connection of Loadstone's own to a database.
func (s *running) connectTo(ctx context.Context, database string) (*pgconn.PgConn, error) {
	c, err := s.config(database)
	if err != nil {
		return nil, err
	}
	conn, err := pgconn.ConnectConfig(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("connect to database %s as %s: %w", database, s.User, err)
	}
	return conn, nil
}

// ask runs one statement and returns its rows as texts; NULL is "".
func ask(ctx context.Context, conn *pgconn.PgConn, sql string, args ...string) ([][]string, error) {
	values := make([][]byte, len(args))
	for i, a := range args {
		values[i] = []byte(a)
	}
	result := conn.ExecParams(ctx, sql, values, nil, nil, nil).Read()
	if result.Err != nil {
		return nil, result.Err
	}
	rows := make([][]string, len(result.Rows))
	for i, row := range result.Rows {
		for _, v := range row {
			rows[i] = append(rows[i], string(v))
		}
	}
	return rows, nil
}

// askIn is ask on a connection of its own to a database.
func (s *running) askIn(ctx context.Context, database, sql string, args ...string) ([][]string, error) {
	conn, err := s.connectTo(ctx, database)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	return ask(ctx, conn, sql, args...)
}

// About implements engine.Server.
func (s *running) About() engine.About { return s.about }

// Close implements engine.Server. Every connection belongs to a Database or
// lasts for one question, so nothing is left to end.
func (s *running) Close() error { return nil }

// Settings implements engine.Server.
func (s *running) Settings(ctx context.Context, asked map[string]string) ([]engine.Setting, error) {
	return s.settingsIn(ctx, s.Database, asked)
}

// settingsIn compares settings as they hold in one database. Nothing is set:
// what differs does not match.
func (s *running) settingsIn(ctx context.Context, database string, study map[string]string) ([]engine.Setting, error) {
	var chosen []choice
	for name, value := range study {
		c, err := asked(name, value, 0)
		if err != nil {
			return nil, fmt.Errorf("setting %s = %q: %w", name, value, err)
		}
		chosen = append(chosen, c)
	}
	slices.SortFunc(chosen, func(a, b choice) int { return strings.Compare(a.name, b.name) })
	rows, err := s.askIn(ctx, database, settingsQuery)
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	parameters := make([]parameter, len(rows))
	for i, r := range rows {
		parameters[i] = parameter{r[0], r[1], r[2], r[3], r[4], r[5], r[6] == "t"}
	}
	return discreet(compare(chosen, parameters), parameters), nil
}

// discreet takes out of settings what may hold a secret, since other people's
// servers have passwords in their settings (primary_conninfo, extensions'
// tokens): of texts that nobody asked for, only those known to be harmless
// keep their values. It also says where values come from.
func discreet(list []engine.Setting, parameters []parameter) []engine.Setting {
	out := list[:0]
	for _, x := range list {
		i := slices.IndexFunc(parameters, func(p parameter) bool { return p.name == x.Name })
		switch {
		case x.Intended != "" || i < 0:
		case parameters[i].kind == "string" && !harmless(x.Name):
			x.Effective, x.Default = "set (not recorded: it may hold a secret)", ""
		}
		if x.Why == "Loadstone's own" {
			x.Why = "the server's configuration file"
		}
		out = append(out, x)
	}
	return out
}

// harmless are parameters of free text that hold no secret.
func harmless(name string) bool {
	return proof(name) || strings.HasPrefix(name, "lc_") || slices.Contains([]string{"DateStyle", "TimeZone", "log_timezone", "default_text_search_config",
		"search_path", "default_tablespace", "temp_tablespaces", "default_table_access_method", "shared_preload_libraries", "synchronous_standby_names",
		"wal_consistency_checking", "in_hot_standby", "ssl_library", "ssl_ciphers", "server_version"}, name)
}

// Use implements engine.Server.
func (s *running) Use(ctx context.Context, d *workload.Definition, c engine.Config) (engine.Database, engine.Golden, error) {
	m, err := s.markIn(ctx, s.Database)
	switch {
	case errors.Is(err, errNoMark):
		return nil, engine.Golden{}, fmt.Errorf("database %s was not loaded by Loadstone: it has no table %s. Allow loading in the study (load: allowed), "+
			"or name a database that was made from one of Loadstone's golden states", s.Database, markTable)
	case err != nil:
		return nil, engine.Golden{}, fmt.Errorf("database %s: %w", s.Database, err)
	case m.DataKey != d.DataKey:
		return nil, engine.Golden{}, fmt.Errorf("database %s holds %s, and this study needs %s: name another database, or allow loading in the study (load: allowed)",
			s.Database, m.DataKey, d.DataKey)
	}
	comment, err := s.commentOn(ctx, s.Database)
	if err != nil {
		return nil, engine.Golden{}, err
	}
	if comment.ok && comment.Kind == kindGolden {
		return nil, engine.Golden{}, fmt.Errorf("database %s is a golden state, which a run would spoil: allow loading in the study (load: allowed), "+
			"or make a database of your own from it (CREATE DATABASE … TEMPLATE %s)", s.Database, quoteName(s.Database))
	}
	db, err := s.open(ctx, s.Database, false, c)
	if err != nil {
		return nil, engine.Golden{}, err
	}
	return db, m.golden(s.Database), nil
}
