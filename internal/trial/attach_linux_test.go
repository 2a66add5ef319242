package trial_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/catalog"
	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/postgres/pgtest"
	"github.com/loadstone-perf/loadstone/internal/provider/external"
	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/study"
	"github.com/loadstone-perf/loadstone/internal/trial"
)

// onServer prepares a sequence of trials on a server that runs already. more
// are further lines of the study, and load says whether it may make databases.
func onServer(t *testing.T, f *pgtest.Foreign, database, load, more string) (*trial.Sequence, []record.Planned) {
	t.Helper()
	url := f.URL("bench", "127.0.0.1", database, "sslmode=verify-full&sslrootcert="+f.CA)
	source := "study: there\nworkload: {name: dvdstore}\nengine: {name: postgres, endpoint: \"" + url + "\"" + load + "}\nusers: 2\nrun: {warmup: 0s, measure: 1s, repeats: 2}\n" + more
	s, err := study.Parse("test.yaml", []byte(source), catalog.Known())
	if err != nil {
		t.Fatal(err)
	}
	plan, err := study.NewPlan(s)
	if err != nil {
		t.Fatal(err)
	}
	eng := catalog.Engines()[0].New()
	server, err := eng.(engine.Attacher).Attach(t.Context(), engine.Endpoint{URL: url, Password: pgtest.ForeignPassword})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	var pending []record.Planned
	for _, x := range plan.Trials {
		pending = append(pending, record.Planned{Trial: x.Number, Block: x.Block, Cell: x.Cell + 1, Seed: x.Seed, Dir: x.Dir})
	}
	dir, err := record.Create(filepath.Join(t.TempDir(), "out"), record.Study{Format: record.Format, Name: s.Name, Plan: pending}, s.Source)
	if err != nil {
		t.Fatal(err)
	}
	return &trial.Sequence{
		Bench: &trial.Bench{Clock: clock.Real{}, Provider: external.New(external.Server{Where: server.About().Address.Where}), Engine: eng, Server: server, Cache: cache},
		Plan:  plan, Dir: dir, Kind: catalog.Workloads()[0],
		Began: func(record.Planned) {}, Done: func(record.Planned, record.Status, error) {},
	}, pending
}

// ran runs the trials and returns their records.
func ran(t *testing.T, seq *trial.Sequence, pending []record.Planned) []*record.Reader {
	t.Helper()
	if err := seq.Run(t.Context(), pending); err != nil {
		t.Fatal(err)
	}
	trials, err := seq.Dir.Trials()
	if err != nil {
		t.Fatal(err)
	}
	return trials
}

const golden = "loadstone_golden_dvdstore_"

// TestOnAServerThatRunsAlready shares one server and its golden state.
func TestOnAServerThatRunsAlready(t *testing.T) {
	f := pgtest.StartForeign(t, "synchronous_commit=off")
	f.Exec(t, "postgres", "CREATE DATABASE precious")
	t.Run("with consent each trial has a copy of its own", func(t *testing.T) { withCopies(t, f) })
	t.Run("without consent the database stays as it is left", func(t *testing.T) { asLeft(t, f) })
	t.Run("a trial that is given up leaves nothing", func(t *testing.T) { givenUp(t, f) })
	t.Run("what is elsewhere is not observed", func(t *testing.T) { elsewhere(t, f) })
	t.Run("a setting that differs fails the trial", func(t *testing.T) { otherSetting(t, f) })
}

func withCopies(t *testing.T, f *pgtest.Foreign) {
	seq, pending := onServer(t, f, "postgres", ", load: allowed", "instances: 2\n")
	for _, r := range ran(t, seq, pending[:1])[:1] {
		got := r.Trial
		if got.Status != record.Finished || len(got.Instances) != 2 {
			t.Fatalf("trial %d is %s: %s", got.Planned.Trial, got.Status, got.Reason)
		}
		for _, i := range got.Instances {
			if i.Restore.Way != "template" || i.Restore.Digest == "" || !strings.HasPrefix(i.Golden.Key, golden) || i.Golden.Rows == 0 {
				t.Errorf("%s: restore %+v, golden state %+v", i.Name, i.Restore, i.Golden)
			}
			for _, c := range i.Checks {
				if !c.Passed {
					t.Errorf("%s: check %+v", i.Name, c)
				}
			}
		}
		if a, b := databaseOf(got.Instances[0]), databaseOf(got.Instances[1]); a == b || a == "" {
			t.Errorf("the instances have databases %q and %q", a, b)
		}
		if !strings.Contains(strings.Join(got.Warnings, "\n"), "synchronous_commit = off") || strings.Contains(strings.Join(got.Warnings, "\n"), "not restored") {
			t.Errorf("warnings %q", got.Warnings)
		}
		if !strings.Contains(got.Engine.Origin, "127.0.0.1:") || got.Engine.Version == "" || got.Provider != "external" {
			t.Errorf("engine %+v, provider %q", got.Engine, got.Provider)
		}
		counters, err := r.Counters("instance-1/database")
		if _, host := r.Counters("host"); err != nil || host != nil || len(counters.At) < 2 {
			t.Errorf("counters: %v, %v", err, host)
		}
	}
	if left := f.Databases(t); strings.Contains(left, "loadstone_work") || !strings.Contains(left, golden) || !strings.Contains(left, "precious") {
		t.Errorf("databases afterwards: %s", left)
	}
}

func databaseOf(i record.Instance) string {
	at := slices.IndexFunc(i.Shape, func(k record.Knob) bool { return k.Name == "endpoint.database" })
	if at < 0 {
		return ""
	}
	return i.Shape[at].Effective
}

// asLeft runs two trials on a database that a person made from a golden state.
func asLeft(t *testing.T, f *pgtest.Foreign) {
	name := f.Exec(t, "postgres", "SELECT datname FROM pg_database WHERE datname LIKE '"+golden+"%'")[0][0]
	f.Exec(t, "postgres", "CREATE DATABASE shop OWNER bench TEMPLATE "+name)
	seq, pending := onServer(t, f, "shop", "", "")
	var orders []int64
	for _, r := range ran(t, seq, pending) {
		got := r.Trial
		if got.Status != record.Finished || databaseOf(got.Instances[0]) != "shop" || got.Instances[0].Restore.Way != "" {
			t.Fatalf("trial %d is %s: %s; %+v", got.Planned.Trial, got.Status, got.Reason, got.Instances)
		}
		if !strings.Contains(strings.Join(got.Warnings, "\n"), "not restored before each repeat") {
			t.Errorf("warnings %q say nothing of what was not restored", got.Warnings)
		}
		for _, c := range got.Instances[0].Checks {
			if !c.Passed {
				t.Errorf("trial %d: check %+v", got.Planned.Trial, c)
			}
			if c.Name == "orders" {
				orders = append(orders, c.Found, c.Least)
			}
		}
	}
	if len(orders) != 4 || orders[0] == 0 || orders[2] <= orders[0] || orders[1] != orders[0] || orders[3] != orders[2] {
		t.Errorf("orders found and wanted by trial: %v; want the second to count from the first's", orders)
	}
	f.Exec(t, "shop", "UPDATE orders SET netamount = netamount + 1 WHERE orderid = (SELECT max(orderid) FROM orders)")
	seq, pending = onServer(t, f, "shop", "", "")
	if got := ran(t, seq, pending[:1])[0].Trial; got.Status != record.Failed || !strings.Contains(got.Reason, "before the trial") {
		t.Errorf("on a database that is wrong beforehand the trial is %s: %s", got.Status, got.Reason)
	}
	if left := f.Databases(t); !strings.Contains(left, "shop") {
		t.Errorf("the database is gone: %s", left)
	}
}

func givenUp(t *testing.T, f *pgtest.Foreign) {
	seq, pending := onServer(t, f, "postgres", ", load: allowed", "")
	before := f.Databases(t)
	for _, stage := range []string{"restore", "measure"} {
		ctx, cancel := context.WithCancel(t.Context())
		seq.Bench.Progress = func(p trial.Progress) {
			if p.Stage == stage {
				cancel()
			}
		}
		err := seq.Run(ctx, pending[:1])
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("given up at %s: %v", stage, err)
		}
		if after := f.Databases(t); after != before {
			t.Errorf("given up at %s: before %s, after %s", stage, before, after)
		}
	}
}

// remote is a server that says that it is elsewhere.
type remote struct {
	engine.Server
	engine.Keeper
}

// About implements engine.Server.
func (r remote) About() engine.About {
	a := r.Server.About()
	a.Here, a.NotHere = false, "the server is on another machine"
	return a
}

func elsewhere(t *testing.T, f *pgtest.Foreign) {
	seq, pending := onServer(t, f, "postgres", ", load: allowed", "")
	seq.Bench.Server = remote{seq.Bench.Server, seq.Bench.Server.(engine.Keeper)}
	r := ran(t, seq, pending[:1])[0]
	if r.Trial.Status != record.Finished {
		t.Fatalf("trial is %s: %s", r.Trial.Status, r.Trial.Reason)
	}
	if _, err := r.Counters("host"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("counters of the host: %v; want none, since it was not observed", err)
	}
	if c, err := r.Counters("driver_host"); err != nil || len(c.At) < 2 {
		t.Errorf("counters of the driver's machine: %d rows, %v", len(c.At), err)
	}
	if w := strings.Join(r.Trial.Warnings, "\n"); !strings.Contains(w, "not observed") {
		t.Errorf("warnings %q do not say so", w)
	}
}

func otherSetting(t *testing.T, f *pgtest.Foreign) {
	before := f.Databases(t)
	seq, pending := onServer(t, f, "postgres", ", load: allowed, settings: {work_mem: 5MB}", "")
	got := ran(t, seq, pending[:1])[0].Trial
	if got.Status != record.Failed || !strings.Contains(got.Reason, "work_mem is 4MB, but 5MB was asked for") {
		t.Errorf("trial is %s: %s", got.Status, got.Reason)
	}
	if after := f.Databases(t); after != before {
		t.Errorf("before %s, after %s", before, after)
	}
	if text, err := os.ReadFile(filepath.Join(seq.Dir.Path(), "study.json")); err != nil || strings.Contains(fmt.Sprint(string(text), got), pgtest.ForeignPassword) {
		t.Errorf("the record has the password, or can't be read: %v", err)
	}
}
