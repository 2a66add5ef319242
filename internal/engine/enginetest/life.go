package enginetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/unit"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// stopSoon bounds what the suite waits for where nothing should take long.
const stopSoon = 20 * time.Second

func (s *suite) locate(t *testing.T) {
	in, err := s.engine.Locate(t.Context(), engine.Want{Version: s.traits.Version})
	if err != nil {
		t.Fatal(err)
	}
	if in.Version() == "" || in.Origin() == "" {
		t.Errorf("version %q, origin %q: both must say something", in.Version(), in.Origin())
	}
	s.install = in
	for _, nonsense := range []string{"new", ">=", ">=15,", "~15", "15.x", ">=15;<17"} {
		if _, err := s.engine.Locate(t.Context(), engine.Want{Version: nonsense}); err == nil || !strings.Contains(err.Error(), nonsense) {
			t.Errorf("version %q: error %v, want one that quotes it", nonsense, err)
		}
	}
	_, err = s.engine.Locate(t.Context(), engine.Want{Version: ">=999"})
	if err == nil || !strings.Contains(err.Error(), in.Version()) || !strings.Contains(err.Error(), ">=999") {
		t.Errorf("version >=999: error %v, want one that names what was wanted and that %s was found", err, in.Version())
	}
	same, err := s.engine.Locate(t.Context(), engine.Want{Version: in.Version()})
	if err != nil || same.Version() != in.Version() {
		t.Errorf("the version that was found can't be asked for: %v", err)
	}
}

func (s *suite) dialect(t *testing.T) {
	d := s.engine.Dialect()
	for _, st := range synthetic(batchRows).Statements {
		if text, err := d.Statement(st); err != nil || strings.ContainsAny(text, "{}") {
			t.Errorf("%s: %q, %v", st.Name, text, err)
		}
	}
	if text, err := d.Statement(&workload.Statement{Name: "unknown", Text: "SELECT 1 {teleport}"}); err == nil {
		t.Errorf("an unknown token became %q, want an error", text)
	}
	before, after, err := d.Schema(synthetic(batchRows))
	if err != nil || len(before) < 5 || len(after) == 0 {
		t.Errorf("schema: %d statements before, %d after, %v", len(before), len(after), err)
	}
}

// life walks through create, start, stop and start, and what goes wrong there.
func (s *suite) life(t *testing.T, m engine.Machine) {
	if err := s.install.Create(t.Context(), m); err == nil {
		t.Error("a second Create in the same place succeeded")
	}
	for name, part := range s.traits.Wrong {
		db, err := s.install.Start(t.Context(), m, engine.Config{Connections: 5, Durable: true, Settings: map[string]string{name: "nonsense"}})
		if err == nil {
			_ = db.Stop(t.Context())
			t.Errorf("setting %s = nonsense was taken", name)
		} else if !strings.Contains(err.Error(), part) || !strings.Contains(err.Error(), name) {
			t.Errorf("setting %s = nonsense: error %v, want the server's message with %q", name, err, part)
		}
		noneLeft(t, m)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if db, err := s.install.Start(cancelled, m, engine.Config{Connections: 5, Durable: true}); !errors.Is(err, context.Canceled) {
		t.Errorf("Start with a context that is over: %v, %v", db, err)
	}
	noneLeft(t, m)

	db := s.start(t, m, nil)
	select {
	case <-db.Exited():
		t.Fatal("Exited is closed while the server runs")
	default:
	}
	second, err := s.install.Start(t.Context(), m, engine.Config{Connections: 5, Durable: true})
	if err == nil {
		_ = second.Stop(t.Context())
		t.Error("a second server was started in the same place")
	}
	if _, err := db.Settings(t.Context()); err != nil {
		t.Errorf("after an attempt to start a second server: %v", err)
	}
	if db.Log() == "" {
		t.Error("the server's log is empty")
	}
	if err := db.Stop(t.Context()); err != nil {
		t.Errorf("stop: %v", err)
	}
	select {
	case <-db.Exited():
	default:
		t.Error("Exited is open after Stop")
	}
	if err := db.Stop(t.Context()); err != nil {
		t.Errorf("the second Stop: %v", err)
	}
	noneLeft(t, m)
	s.stopAtOnce(t, m)
	again := s.start(t, m, nil)
	if err := again.Stop(t.Context()); err != nil {
		t.Errorf("stop after a cut-off server was started again: %v", err)
	}
}

// stopAtOnce stops with a context that is over.
func (s *suite) stopAtOnce(t *testing.T, m engine.Machine) {
	t.Helper()
	db := s.start(t, m, nil)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := db.Stop(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("Stop with a context that is over: %v, want context.Canceled, because the files are not complete", err)
	}
	noneLeft(t, m)
}

func (s *suite) settings(t *testing.T, m engine.Machine) {
	_, memory := m.Capacity()
	want := maps.Clone(s.traits.Good)
	want[s.traits.Memory] = "12.5%"
	want[s.traits.Rounded] = s.traits.RoundedValue
	db := s.start(t, m, want)
	list, err := db.Settings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	find := func(name string) engine.Setting {
		i := slices.IndexFunc(list, func(x engine.Setting) bool { return strings.EqualFold(x.Name, name) })
		if i < 0 {
			t.Errorf("setting %s is not listed", name)
			return engine.Setting{}
		}
		return list[i]
	}
	for name, effective := range s.traits.Effective {
		if x := find(name); x.Effective != effective || x.Intended != effective || !x.Matches || x.Why != "study" || x.Default == "" {
			t.Errorf("%+v, want %s intended and effective, and why \"study\"", x, effective)
		}
	}
	share := fmt.Sprintf("%dMB", memory/8/unit.MiB)
	if x := find(s.traits.Memory); x.Effective != share || !x.Matches {
		t.Errorf("%+v, want %s: an eighth of %s", x, share, memory)
	}
	if x := find(s.traits.Rounded); x.Matches || x.Intended != s.traits.RoundedValue || x.Effective == x.Intended {
		t.Errorf("%+v, want %s intended, another value effective, and no match", x, s.traits.RoundedValue)
	}
	asked := 0
	for _, x := range list {
		if x.Intended != "" {
			asked++
		}
		if !x.Matches && x.Name != s.traits.Rounded {
			t.Errorf("%+v does not match", x)
		}
		if x.Why == "" {
			t.Errorf("%+v has no reason", x)
		}
	}
	if asked <= len(want) {
		t.Errorf("%d settings were asked for, want the study's %d and Loadstone's own", asked, len(want))
	}
}
