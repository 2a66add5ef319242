package observe_test

import (
	"context"
	"errors"
	"maps"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/observe"
)

func TestHostCountersAreThereAndTotalsNeverFall(t *testing.T) {
	h, err := observe.NewHost()
	if err != nil {
		t.Skip("no /proc on this system:", err)
	}
	first, second := read(t, h), read(t, h)
	for _, name := range []string{"cpu_user_s", "cpu_idle_s", "cpus", "mem_total_bytes", "mem_available_bytes", "context_switches", "net_lo_rx_bytes"} {
		if v, ok := first[name]; !ok || math.IsNaN(v) || (v == 0 && name != "net_lo_rx_bytes") {
			t.Errorf("%s = %v, present %v; want a positive reading", name, v, ok)
		}
	}
	for _, c := range h.Columns() {
		if c.About == "" {
			t.Errorf("column %s has no description", c.Name)
		}
		if c.Total && second[c.Name] < first[c.Name] {
			t.Errorf("total %s fell from %v to %v", c.Name, first[c.Name], second[c.Name])
		}
	}
}

func TestDriverCountsItsOwnCPU(t *testing.T) {
	d := observe.NewDriver()
	before := read(t, d)
	sum, c := 0.0, clock.Real{}
	for begin := c.Now(); c.Now().Sub(begin) < 60*time.Millisecond; {
		sum += math.Sqrt(float64(c.Now().Nanosecond()))
	}
	after := read(t, d)
	if sum == 0 || after["cpu_user_s"]+after["cpu_system_s"] <= before["cpu_user_s"]+before["cpu_system_s"] {
		t.Errorf("60 ms of work did not raise the CPU time: before %v, after %v", before, after)
	}
	if after["cpus_allowed"] < 1 || after["goroutines"] < 1 {
		t.Errorf("implausible: %v", after)
	}
}

func TestMachineNamesItsParts(t *testing.T) {
	m := observe.Machine(t.TempDir())
	if m.Threads < 1 || m.Cores < 1 || m.Sockets < 1 || m.Arch == "" || m.OS == "" || m.Disk.SizeBytes == 0 {
		t.Errorf("machine is incomplete: %+v", m)
	}
	us, err := observe.FsyncMicroseconds(clock.Real{}, t.TempDir())
	if err != nil || us <= 0 {
		t.Errorf("FsyncMicroseconds = %v, %v", us, err)
	}
	if _, err := observe.FsyncMicroseconds(clock.Real{}, t.TempDir()+"/missing"); err == nil {
		t.Error("a missing directory gave no error")
	}
}

// steps is a clock that jumps to whatever time is waited for, up to an end.
type steps struct {
	mu  sync.Mutex
	now time.Time
	end time.Time
}

func (s *steps) Now() time.Time { s.mu.Lock(); defer s.mu.Unlock(); return s.now }

func (s *steps) SleepUntil(ctx context.Context, t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.After(s.end) {
		return context.Canceled
	}
	if t.After(s.now) {
		s.now = t
	}
	return ctx.Err()
}

func (s *steps) pass(d time.Duration) { s.mu.Lock(); s.now = s.now.Add(d); s.mu.Unlock() }

type source struct {
	clock *steps
	slow  time.Duration // of the third reading
	fail  error         // of the third reading
	reads int
}

func (s *source) Name() string              { return "made up" }
func (s *source) Columns() []observe.Column { return []observe.Column{{Name: "reads", Total: true}} }
func (s *source) Read(_ context.Context, out []float64) error {
	s.reads++
	out[0] = float64(s.reads)
	if s.reads == 3 {
		s.clock.pass(s.slow)
		return s.fail
	}
	return nil
}

type rows struct {
	at     []time.Duration
	values []float64
}

func (r *rows) Row(at time.Duration, v []float64) error {
	r.at, r.values = append(r.at, at), append(r.values, v[0])
	return nil
}

func TestSamplerLeavesOutTheTicksThatASlowReadingMissed(t *testing.T) {
	c := &steps{now: time.Unix(100, 0), end: time.Unix(106, 0)}
	s, log := observe.Sampler{Clock: c}, &rows{}
	s.Watch(t.Context(), time.Unix(100, 0), &source{clock: c, slow: 2500 * time.Millisecond}, log)
	if err := s.Wait(); err != nil {
		t.Fatal(err)
	}
	// Due at 0, 1, 2 (which ends at 4.5), then 5 and 6.
	want := []time.Duration{0, time.Second, 4500 * time.Millisecond, 5 * time.Second, 6 * time.Second}
	if len(log.at) != len(want) {
		t.Fatalf("rows at %v, want %v", log.at, want)
	}
	for i := range want {
		if log.at[i] != want[i] {
			t.Errorf("row %d at %v, want %v", i, log.at[i], want[i])
		}
	}
}

func TestSamplerTellsOfASourceThatIsGone(t *testing.T) {
	c := &steps{now: time.Unix(0, 0), end: time.Unix(9, 0)}
	gone := errors.New("gone")
	s, log := observe.Sampler{Clock: c}, &rows{}
	s.Watch(t.Context(), time.Unix(0, 0), &source{clock: c, fail: gone}, log)
	if err := s.Wait(); !errors.Is(err, gone) || len(log.at) != 2 {
		t.Errorf("Wait() = %v after %d rows, want %v after 2", err, len(log.at), gone)
	}
}

type states struct{ polls int }

func (s *states) Name() string { return "waits" }
func (s *states) Poll(_ context.Context, add func(string, int)) error {
	s.polls++
	add("CPU", 2)
	if s.polls%2 == 0 {
		add("Lock:tuple", 1)
	}
	return nil
}

type stateRows struct {
	polls []int64
	seen  []map[string]int64
}

func (s *stateRows) Row(_ time.Duration, polls int64, seen map[string]int64) error {
	s.polls, s.seen = append(s.polls, polls), append(s.seen, maps.Clone(seen))
	return nil
}

func TestStatesAreSummedOverEachSecond(t *testing.T) {
	c := &steps{now: time.Unix(0, 0), end: time.Unix(2, 0)}
	s, log := observe.Sampler{Clock: c}, &stateRows{}
	s.WatchStates(t.Context(), time.Unix(0, 0), &states{}, log)
	if err := s.Wait(); err != nil {
		t.Fatal(err)
	}
	if len(log.polls) != 2 || log.polls[0] != 10 || log.seen[0]["CPU"] != 20 || log.seen[0]["Lock:tuple"] != 5 {
		t.Errorf("polls %v, seen %v; want 10 polls with 20 CPU and 5 locks in each of 2 seconds", log.polls, log.seen)
	}
}

func read(t *testing.T, s observe.Source) map[string]float64 {
	t.Helper()
	out := make([]float64, len(s.Columns()))
	if err := s.Read(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	byName := map[string]float64{}
	for i, c := range s.Columns() {
		byName[c.Name] = out[i]
	}
	return byName
}

func BenchmarkHostRead(b *testing.B) {
	h, err := observe.NewHost()
	if err != nil {
		b.Skip(err)
	}
	out := make([]float64, len(h.Columns()))
	b.ReportAllocs()
	for b.Loop() {
		if err := h.Read(b.Context(), out); err != nil {
			b.Fatal(err)
		}
	}
}
