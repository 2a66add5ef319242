package enginetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// Foreign is a server that a test started by itself, as somebody else would,
// for an engine to attach to.
type Foreign struct {
	// Endpoint is of a user who may make databases, encrypted and verified.
	Endpoint engine.Endpoint
	// Good are other endpoints that lead to the server, by what is special
	// about them.
	Good map[string]engine.Endpoint
	// Refused are endpoints that must not be attached to; each with a part of
	// the error.
	Refused map[string]Refused
	// NoCreate is of a user who may not make databases.
	NoCreate engine.Endpoint
	// In is Endpoint with the URL of another database.
	In func(database string) engine.Endpoint
	// Take makes an empty database, as an administrator would; Clone makes a
	// copy of another one; Rows counts the rows of a table in one.
	Take  func(t *testing.T, database string)
	Clone func(t *testing.T, database, of string)
	Rows  func(t *testing.T, database, table string) string
	// State describes all databases and roles, so that a test can see what was
	// made, removed or altered.
	State func(t *testing.T) string
	// Stop ends the server.
	Stop func()
}

// Refused is an endpoint that must not work.
type Refused struct {
	engine.Endpoint
	Part string
}

// Attach is the suite of engines that can be attached to a running server and
// keep golden states there (engine.Attacher, engine.Keeper).
func Attach(t *testing.T, a engine.Attacher, f Foreign) {
	x := &attachSuite{Foreign: f, attacher: a, def: synthetic(1000), connections: engine.Config{Connections: 10, Durable: true}}
	t.Run("Refusals", x.refusals)
	t.Run("Ways", x.ways)
	t.Run("Other's", x.others)
	t.Run("Keep", x.keep)
	t.Run("Cancelled", x.cancelled)
	t.Run("Use", x.use)
	t.Run("Gone", x.gone) // last: it ends the server
}

type attachSuite struct {
	Foreign
	attacher    engine.Attacher
	def         *workload.Definition
	connections engine.Config
}

// attach attaches for the length of the test.
func (x *attachSuite) attach(t *testing.T, e engine.Endpoint) engine.Server {
	t.Helper()
	s, err := x.attacher.Attach(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func (x *attachSuite) keeper(t *testing.T, e engine.Endpoint) engine.Keeper {
	t.Helper()
	k, ok := x.attach(t, e).(engine.Keeper)
	if !ok {
		t.Fatal("the server is no engine.Keeper")
	}
	return k
}

// refusals: what must not be attached to is not, and no error or print tells a
// password.
func (x *attachSuite) refusals(t *testing.T) {
	for name, r := range x.Refused {
		s, err := x.attacher.Attach(t.Context(), r.Endpoint)
		if err == nil {
			_ = s.Close()
			t.Errorf("%s: attached", name)
			continue
		}
		if !strings.Contains(err.Error(), r.Part) {
			t.Errorf("%s: %v; want an error with %q", name, err, r.Part)
		}
		if secret := string(r.Password); secret != "" && strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the error tells the password: %v", name, err)
		}
	}
	if text := fmt.Sprintf("%v %+v %#v %s", x.Endpoint, x.Endpoint, x.Endpoint, x.Endpoint.Password); strings.Contains(text, string(x.Endpoint.Password)) {
		t.Errorf("a printed endpoint tells the password: %s", text)
	}
}

// ways: every good endpoint leads to the server, which says where it is.
func (x *attachSuite) ways(t *testing.T) {
	for name, e := range x.Good {
		a := x.attach(t, e).About()
		address, err := x.attacher.Address(e.URL)
		if err != nil || a.Version == "" || a.Address.Where != address.Where || a.Address.User != address.User || a.Address.Encryption == "" || a.Free <= 0 {
			t.Errorf("%s: %+v, %v; want it to be told", name, a, err)
		}
		if !a.Here || a.NotHere != "" {
			t.Errorf("%s: the server is not found on this machine: %s", name, a.NotHere)
		}
	}
	if a := x.attach(t, x.Endpoint).About(); !a.MayCreate {
		t.Error("the user may not make databases")
	}
	if a := x.attach(t, x.NoCreate).About(); a.MayCreate {
		t.Error("a user without the right may make databases")
	}
}

// others: without the right nothing is made; a database that has a golden
// state's name and not its mark is an error, and stays as it is.
func (x *attachSuite) others(t *testing.T) {
	before := x.State(t)
	if g, err := x.keeper(t, x.NoCreate).Build(t.Context(), x.def, engine.LoadOptions{}); err == nil {
		t.Errorf("a user who may not make databases made %s", g.Name)
	}
	if after := x.State(t); after != before {
		t.Errorf("before:\n%s\nafter a load that is not allowed:\n%s", before, after)
	}
	k := x.keeper(t, x.Endpoint)
	g, ok, err := k.Find(t.Context(), x.def)
	if ok || err != nil {
		t.Fatalf("found %v, %v on a new server", ok, err)
	}
	other := synthetic(300) // has a name of its own
	theirs, _, _ := k.Find(t.Context(), other)
	if theirs.Name == g.Name {
		t.Fatalf("two contents have one name, %s", g.Name)
	}
	x.Take(t, theirs.Name)
	before = x.State(t)
	if _, ok, err := k.Find(t.Context(), other); ok || err == nil || !strings.Contains(err.Error(), theirs.Name) {
		t.Errorf("somebody's database: found %v, %v; want an error that names it", ok, err)
	}
	if _, err := k.Build(t.Context(), other, engine.LoadOptions{}); err == nil {
		t.Error("Build took somebody's database for its own")
	}
	if db, _, err := k.Copy(t.Context(), other, x.connections); err == nil {
		_ = db.Stop(t.Context())
		t.Error("Copy took somebody's database for a golden state")
	}
	if after := x.State(t); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// keep: a golden state is built once, its copies are apart and go away, and it
// and everybody else's stay.
func (x *attachSuite) keep(t *testing.T) {
	k := x.keeper(t, x.Endpoint)
	g, err := k.Build(t.Context(), x.def, engine.LoadOptions{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	if g.Report.Rows != 4000 || g.Report.Fingerprint == "" || g.Report.Bytes <= 0 || g.Created.IsZero() {
		t.Errorf("golden state %+v, want 4000 rows and all told", g)
	}
	found, ok, err := k.Find(t.Context(), x.def)
	if !ok || err != nil || found.Report.Fingerprint != g.Report.Fingerprint || !found.Created.Equal(g.Created) {
		t.Errorf("found %+v, %v, %v; want %+v", found, ok, err, g)
	}
	state := x.State(t)
	again, err := k.Build(t.Context(), x.def, engine.LoadOptions{})
	if err != nil || !again.Created.Equal(g.Created) {
		t.Errorf("built again: %+v, %v; want the first", again, err)
	}
	one, first := x.copy(t, k)
	two, second := x.copy(t, k)
	if first.Name == second.Name || first.Way == "" || first.Digest == "" || first.Digest != second.Digest || first.Took <= 0 || first.Verified == "" {
		t.Errorf("copies %+v and %+v: want two names, one digest", first, second)
	}
	x.change(t, one)
	if n := x.count(t, two); n != 1000 {
		t.Errorf("the second copy has %d parents after a change to the first, want 1000", n)
	}
	x.told(t, one)
	for _, db := range []engine.Database{one, two, one} {
		if err := db.Stop(t.Context()); err != nil {
			t.Errorf("stop: %v", err)
		}
	}
	if after := x.State(t); after != state {
		t.Errorf("with the golden state:\n%s\nafter two copies came and went:\n%s", state, after)
	}
	third, _ := x.copy(t, k)
	if n := x.count(t, third); n != 1000 {
		t.Errorf("a new copy has %d parents, want 1000", n)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := third.Stop(over); err != nil {
		t.Errorf("stop with a context that is over: %v; want the copy removed all the same", err)
	}
	if after := x.State(t); after != state {
		t.Errorf("a copy is left:\n%s", after)
	}
}

// told: a copy's settings are compared, its counters read, and it refuses to be
// loaded.
func (x *attachSuite) told(t *testing.T, db engine.Database) {
	t.Helper()
	settings, err := db.Settings(t.Context())
	if err != nil || len(settings) < 3 {
		t.Errorf("%d settings, %v", len(settings), err)
	}
	for _, s := range db.Sources() {
		row := make([]float64, len(s.Columns()))
		if err := s.Read(t.Context(), row); err != nil {
			t.Errorf("counters of %s: %v", s.Name(), err)
		}
		for i, v := range row {
			if v != v {
				t.Errorf("counter %s of %s can't be read", s.Columns()[i].Name, s.Name())
			}
		}
	}
	for _, s := range db.States() {
		n := 0
		if err := s.Poll(t.Context(), func(_ string, k int) { n += k }); err != nil || n != 0 {
			t.Errorf("%d sessions of users are at work, %v; want none: Loadstone's own do not count", n, err)
		}
	}
	if _, err := db.Load(t.Context(), x.def, engine.LoadOptions{}); err == nil {
		t.Error("a database that is attached was loaded again")
	}
	select {
	case <-db.Exited():
		t.Error("Exited is closed while the server runs")
	default:
	}
}

func (x *attachSuite) copy(t *testing.T, k engine.Keeper) (engine.Database, engine.Copied) {
	t.Helper()
	db, c, err := k.Copy(t.Context(), x.def, x.connections)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Stop(context.Background()) }) // again: its test has judged the first
	return db, c
}

func (x *attachSuite) session(t *testing.T, db engine.Database) *engine.Session {
	t.Helper()
	s, err := db.Open(t.Context(), x.def)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func (x *attachSuite) count(t *testing.T, db engine.Database) int64 {
	t.Helper()
	r, err := x.session(t, db).Conn().Run(t.Context(), x.def.Statements[countParents], nil)
	if err != nil {
		t.Fatal(err)
	}
	return r.Values[0].Int
}

func (x *attachSuite) change(t *testing.T, db engine.Database) {
	t.Helper()
	_, err := x.session(t, db).Conn().Run(t.Context(), x.def.Statements[insertParent], []workload.Value{workload.Str([]byte("new")), workload.Money(1)})
	if err != nil {
		t.Fatal(err)
	}
}

// cancelled: a load that is cut off, wherever, leaves nothing that could be
// taken for golden.
func (x *attachSuite) cancelled(t *testing.T) {
	k, d, before := x.keeper(t, x.Endpoint), synthetic(20000), x.State(t)
	seen := map[string]bool{}
	for _, at := range []string{"", "rows", "keys", "verify", "analyse"} {
		ctx, cancel := context.WithCancel(t.Context())
		if at == "" {
			cancel()
		}
		_, err := k.Build(ctx, d, engine.LoadOptions{Workers: 2, Progress: func(stage string, _, _ int64) {
			if stage == at {
				seen[at] = true
				cancel()
			}
		}})
		cancel()
		if at != "" && !seen[at] {
			continue // not every product has every stage
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled at %q: %v, want context.Canceled", at, err)
		}
		if after := x.State(t); after != before {
			t.Errorf("cancelled at %q: before:\n%s\nafter:\n%s", at, before, after)
		}
	}
	if len(seen) == 0 {
		t.Error("no load was ever under way")
	}
}

// use: without consent only what Loadstone loaded is used, and never a golden
// state.
func (x *attachSuite) use(t *testing.T) {
	k := x.keeper(t, x.Endpoint)
	g, ok, err := k.Find(t.Context(), x.def)
	if !ok || err != nil {
		t.Fatalf("the golden state is not there: %v", err)
	}
	x.Take(t, "theirs")
	x.Clone(t, "ours", g.Name)
	before := x.State(t)
	for database, part := range map[string]string{"theirs": "theirs", g.Name: "golden"} {
		db, _, err := x.attach(t, x.In(database)).Use(t.Context(), x.def, x.connections)
		if err == nil {
			_ = db.Stop(t.Context())
			t.Errorf("database %s is used", database)
		} else if !strings.Contains(err.Error(), part) || !strings.Contains(err.Error(), "load: allowed") {
			t.Errorf("database %s: %v; want what it is, and what to do", database, err)
		}
	}
	ours := x.attach(t, x.In("ours"))
	if db, _, err := ours.Use(t.Context(), synthetic(300), x.connections); err == nil || !strings.Contains(err.Error(), x.def.DataKey) {
		t.Errorf("other contents: %v, %v; want an error that names what is there", db, err)
	}
	db, got, err := ours.Use(t.Context(), x.def, x.connections)
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != "ours" || got.Report.Fingerprint != g.Report.Fingerprint {
		t.Errorf("used %+v; want database ours with the golden state's fingerprint", got)
	}
	x.told(t, db)
	x.change(t, db)
	if err := db.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if n := x.Rows(t, "ours", "parent"); n != "1001" {
		t.Errorf("after use there are %s parents, want 1001: nothing is restored or removed", n)
	}
	if after := x.State(t); after != before {
		t.Errorf("before:\n%s\nafter use:\n%s", before, after)
	}
}

// gone: a server that ends is noticed.
func (x *attachSuite) gone(t *testing.T) {
	db, _, err := x.keeper(t, x.Endpoint).Copy(t.Context(), x.def, x.connections)
	if err != nil {
		t.Fatal(err)
	}
	x.Foreign.Stop()
	if !within(t.Context(), func() bool {
		select {
		case <-db.Exited():
			return true
		default:
			return false
		}
	}) {
		t.Error("nobody noticed that the server has ended")
	}
	if err := db.Stop(t.Context()); err == nil {
		t.Error("a copy was removed from a server that is gone")
	}
}
