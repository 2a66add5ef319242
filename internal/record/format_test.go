package record

import (
	"flag"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write testdata/format-1 anew, which only a new format may need")

// testdata/format-1 is a result as the first version of the formats wrote it.
// It is never written again: later programs read it as this one did.
func TestFormat1StaysReadable(t *testing.T) {
	path := filepath.Join("testdata", "format-1")
	if *update {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		d, err := Create(path, plan(2), []byte("name: a study\n"))
		if err != nil {
			t.Fatal(err)
		}
		good(t, d, 1, Finished)
		if err := fill(start(t, d, 2, "order", "login", "buy"), 2); err != nil {
			t.Fatal(err)
		}
	}
	d, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if s := d.Study(); s.Name != "a study" || s.Seed != 1<<63+1 || !s.Created.Equal(epoch) || len(s.Plan) != 2 || s.Plan[1].Factors[0] != (Factor{"users", "2"}) {
		t.Errorf("%+v", s)
	}
	trials, err := d.Trials()
	if err != nil {
		t.Fatal(err)
	}
	if a, b := trials[0].Trial, trials[1].Trial; a.Status != Finished || b.Status != Running || !trials[1].CutShort || !a.Epoch.Equal(epoch) || a.Workload.Unit != "order" {
		t.Errorf("%+v\n%+v", a, b)
	}
	if err := trials[0].Verify(); err != nil {
		t.Error(err)
	}
	for i, n := range []int{5, 2} {
		c := snapshot(t, trials[i])
		if len(c.intervals) != n || len(c.counters.At) != n || len(c.states.At) != n {
			t.Fatalf("trial %d: %d intervals, %d counters, %d states", i+1, len(c.intervals), len(c.counters.At), len(c.states.At))
		}
		last := c.intervals[n-1]
		s := last.Types[2]
		if last.End != time.Duration(n)*time.Second || last.InFlight != int64(n) || last.Backlog != 2 || last.IdleSum != 0 || s.Committed != int64(n) || s.RolledBack != 1 ||
			s.ResponseSum != 7 || s.ThinkSum != 8 || s.Errors[5] != 5 || s.Max/100 != int64(n)*10 {
			t.Errorf("trial %d: %+v", i+1, last)
		}
		if c.counters.Names[0] != "cpu_user_s" || !c.counters.Totals[0] || c.counters.Totals[1] || c.counters.Values[0][n-1] != float64(n)-.75 {
			t.Errorf("trial %d: %+v", i+1, c.counters)
		}
		if math.Abs(c.states.Sessions[0][n-1]-float64(n-1)) > 0 || c.states.Names[1] != "IO:WALSync" || c.states.Polls[0] != 10 {
			t.Errorf("trial %d: %+v", i+1, c.states)
		}
	}
	m, err := trials[0].Histograms(1, time.Second, 3*time.Second)
	if err != nil || m[1].Type != "buy" || m[1].Response.TotalCount() != 5 || m[1].Undone.Max() != 77 {
		t.Errorf("%+v, %v", m, err)
	}
	late, err := trials[0].Late(1, 0, time.Minute)
	if err != nil || late.TotalCount() != 10 || late.Max() != 60 {
		t.Errorf("%v, %v", late, err)
	}
}
