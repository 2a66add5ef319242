package mysql

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/mysql/wire"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// running is a server that somebody else runs. It implements engine.Server and
// engine.Keeper.
type running struct {
	settled
	about   engine.About
	product flavour
	version version

	mu   sync.Mutex
	wide *attached // the database whose counters are the server's
}

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
		return nil, fmt.Errorf("the database server at %s: %w", parsed.Where, err)
	}
	switch {
	case s.version.Compare(s.product.oldest()) < 0:
		return nil, fmt.Errorf("%s at %s is %s: Loadstone needs %s or later", s.product.title(), parsed.Where, s.version, s.product.oldest())
	case !want.Allows(s.version):
		return nil, fmt.Errorf("%s at %s is %s: the study wants %s", s.product.title(), parsed.Where, s.version, want)
	}
	s.session = s.product.sessionSettings(s.version)
	return s, nil
}

// aboutQuery asks what a user may know of any server: its version, whether it
// takes writes, how many sessions it takes of this user, who the user is, and
// the thread of the operating system that serves this session.
func (f flavour) aboutQuery() string {
	thread := "(SELECT TID FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID())"
	if f == oracle {
		thread = "(SELECT THREAD_OS_ID FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID())"
	}
	return "SELECT VERSION(), @@global.read_only, @@global.max_connections, @@max_user_connections, CURRENT_USER(), " + thread +
		", (SELECT CAST(VARIABLE_VALUE AS SIGNED) FROM " + f.status() + " WHERE VARIABLE_NAME = 'Threads_connected')"
}

// mayQuery asks whether a user may make databases that begin as ours do: by a
// right on everything, or on a pattern of names.
const mayQuery = `SELECT COUNT(*) FROM (
 SELECT GRANTEE, PRIVILEGE_TYPE FROM information_schema.USER_PRIVILEGES
 UNION ALL SELECT GRANTEE, PRIVILEGE_TYPE FROM information_schema.SCHEMA_PRIVILEGES WHERE ? LIKE TABLE_SCHEMA
) p WHERE PRIVILEGE_TYPE = 'CREATE' AND GRANTEE = ?`

// look connects once and fills in s.about.
func (s *running) look(ctx context.Context) error {
	conn, err := wire.Dial(ctx, s.config(s.Database))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if s.product = oracle; conn.MariaDB() {
		s.product = mariadb
	}
	rows, err := ask(ctx, conn, s.product.aboutQuery())
	if err != nil {
		return err
	}
	row := rows[0]
	number, _, _ := strings.Cut(row[0], "-")
	if s.version, err = parseVersion(number); err != nil {
		return err
	}
	if row[1] != "0" {
		return errors.New("it is read-only, as a replica is: name the primary")
	}
	s.about = engine.About{Version: s.version.String(), Address: s.Address}
	s.about.Free = free(row[2], row[3], row[6])
	if in := conn.Encryption(); in != "" {
		s.about.Address.Encryption = strings.Replace(s.Encryption, "TLS", in, 1)
	}
	user, host := row[4], ""
	if i := strings.LastIndexByte(user, '@'); i >= 0 {
		user, host = user[:i], user[i+1:]
	}
	may, err := ask(ctx, conn, mayQuery, goldenPrefix+"x", "'"+user+"'@'"+host+"'")
	if err != nil {
		return err
	}
	s.about.MayCreate = may[0][0] != "0"
	s.about.Here, s.about.NotHere = s.here(row[5])
	return nil
}

// free is how many sessions more a server takes of a user, the asking one's
// place included.
func free(most, mostOfUser, connected string) int {
	n, _ := strconv.Atoi(most)
	have, _ := strconv.Atoi(connected)
	n -= have - 1
	if own, _ := strconv.Atoi(mostOfUser); own > 0 {
		n = min(n, own)
	}
	return n
}

// here finds out whether the server runs on this machine, by the thread that
// serves our own session. A loopback address alone proves nothing: a tunnel ends
// there too.
func (s *running) here(thread string) (bool, string) {
	if !s.Loopback {
		return false, "the server is on another machine"
	}
	if slices.ContainsFunc([]string{"mariadbd", "mysqld"}, func(name string) bool { return threadOf(thread, name) }) {
		return true, ""
	}
	return false, "the server's processes are not among this machine's: it is behind a tunnel or in a container"
}

// threadOf says whether a thread of this machine is one of a process that is
// called name. Threads have names of their own, so that the process is asked.
func threadOf(thread, name string) bool {
	status, err := os.ReadFile("/proc/" + thread + "/status")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(status)) {
		if pid, ok := strings.CutPrefix(line, "Tgid:"); ok {
			text, err := os.ReadFile("/proc/" + strings.TrimSpace(pid) + "/comm")
			return err == nil && strings.TrimSpace(string(text)) == name
		}
	}
	return false
}

// askIn is ask on a connection of its own, to a database or to none.
func (s *running) askIn(ctx context.Context, database, sql string, args ...string) ([][]string, error) {
	conn, err := wire.Dial(ctx, s.config(database))
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	return ask(ctx, conn, sql, args...)
}

// About implements engine.Server.
func (s *running) About() engine.About { return s.about }

// Close implements engine.Server. Every connection belongs to a Database or
// lasts for one question, so nothing is left to end.
func (s *running) Close() error { return nil }

// Settings implements engine.Server. Nothing is set: what differs does not
// match.
func (s *running) Settings(ctx context.Context, study map[string]string) ([]engine.Setting, error) {
	var chosen []choice
	for name, value := range study {
		c, err := asked(name, value, 0)
		if err != nil {
			return nil, fmt.Errorf("setting %s = %q: %w", name, value, err)
		}
		chosen = append(chosen, c)
	}
	slices.SortFunc(chosen, func(a, b choice) int { return strings.Compare(a.name, b.name) })
	conn, err := wire.Dial(ctx, s.own())
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	defer func() { _ = conn.Close() }()
	parameters, err := s.product.parameters(ctx, conn)
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	return discreet(compare(chosen, parameters), parameters), nil
}

// discreet takes out of settings what may hold a secret, since other people's
// servers have passwords in their settings (wsrep_sst_auth, plugins' keys): of
// texts that nobody asked for, only those known to be harmless keep their
// values. It also says where values come from.
func discreet(list []engine.Setting, parameters []parameter) []engine.Setting {
	for n := range list {
		x := &list[n]
		i := slices.IndexFunc(parameters, func(p parameter) bool { return p.name == x.Name })
		if x.Intended == "" && i >= 0 && parameters[i].free() && !harmless(x.Name) {
			x.Effective, x.Default = "set (not recorded: it may hold a secret)", ""
		}
		if x.Why == "Loadstone's own" {
			x.Why = "the server's configuration"
		}
	}
	return list
}

// free says whether p is of free text.
func (p parameter) free() bool {
	if p.kind != "" {
		return p.kind == "VARCHAR"
	}
	_, number := number(p.value)
	return !number && p.value != "ON" && p.value != "OFF"
}

// harmless are variables of free text that hold no secret.
func harmless(name string) bool {
	return proof(name) || strings.HasPrefix(name, "character_set_") || strings.HasPrefix(name, "collation_") ||
		slices.Contains([]string{"time_zone", "innodb_version", "default_storage_engine", "innodb_data_file_path", "version_compile_os",
			"version_compile_machine", "version_ssl_library", "transaction_isolation", "optimizer_switch"}, name)
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
	case m.Name == s.Database:
		return nil, engine.Golden{}, fmt.Errorf("database %s is a %s of Loadstone's, which a run would spoil: allow loading in the study (load: allowed), "+
			"or name a database of your own with the same tables", s.Database, kindTitle(m.Kind))
	}
	db, err := s.open(ctx, s.Database, c)
	if err != nil {
		return nil, engine.Golden{}, err
	}
	return db, m.golden(s.Database), nil
}
