package record

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// epoch is that of all trials in tests.
var epoch = time.Date(2026, 3, 1, 12, 0, 0, 250e6, time.UTC)

// plan makes a study with n trials.
func plan(n int) Study {
	s := Study{Loadstone: "test", Name: "a study", Question: "Does it?", File: "study.yaml", Seed: 1<<63 + 1, Created: epoch}
	for i := range n {
		s.Plan = append(s.Plan, Planned{
			Trial: i + 1, Block: 1, Cell: i + 1, Seed: uint64(i), Dir: fmt.Sprintf("%03d-b1-users-%d", i+1, i+1),
			Factors: []Factor{{"users", fmt.Sprint(i + 1)}},
		})
	}
	return s
}

// create makes a result directory with n planned trials.
func create(tb testing.TB, n int) *Dir {
	tb.Helper()
	d, err := Create(filepath.Join(tb.TempDir(), "result"), plan(n), []byte("name: a study\n"))
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// trialOf is the manifest of trial n, from 1, of d with the types named.
func trialOf(d *Dir, n int, unit string, types ...string) Trial {
	t := Trial{Loadstone: "test", Planned: d.study.Plan[n-1], Started: epoch, Epoch: epoch, Workload: Workload{Name: "fake", Unit: unit}}
	for _, name := range types {
		t.Workload.Types = append(t.Workload.Types, TxType{Name: name})
	}
	return t
}

// start begins the record of trial n.
func start(tb testing.TB, d *Dir, n int, unit string, types ...string) *Writer {
	tb.Helper()
	w, err := d.Start(trialOf(d, n, unit, types...))
	if err != nil {
		tb.Fatal(err)
	}
	return w
}

// reader reads trial n.
func reader(tb testing.TB, d *Dir, n int) *Reader {
	tb.Helper()
	d, err := Open(d.Path())
	if err != nil {
		tb.Fatal(err)
	}
	all, err := d.Trials()
	if err != nil {
		tb.Fatal(err)
	}
	return all[n-1]
}

// histogram holds values.
func histogram(values ...int64) *hdrhistogram.Histogram {
	if len(values) == 0 {
		return nil
	}
	h := NewHistogram()
	for _, v := range values {
		if err := h.RecordValue(v); err != nil {
			panic(err)
		}
	}
	return h
}

// second is interval i, from 0, with n commits of 1, 2, … ms in each series.
func interval(i, series, n int) Interval {
	out := Interval{Start: time.Duration(i) * time.Second, End: time.Duration(i+1) * time.Second, InFlight: int64(n), Backlog: 2, Late: histogram(50, 60)}
	for range series {
		var v []int64
		for k := range n {
			v = append(v, int64(k+1)*1000)
		}
		out.Types = append(out.Types, Series{Committed: int64(n), RolledBack: 1, ResponseSum: 7, ThinkSum: 8, Errors: []int64{0, 1, 2, 3, 4, 5}, Response: histogram(v...), Service: histogram(v...), Undone: histogram(77)})
	}
	return out
}

// good writes a small trial with every kind of file and finishes it as status.
func good(tb testing.TB, d *Dir, n int, status Status) {
	tb.Helper()
	w := start(tb, d, n, "order", "login", "buy")
	if err := fill(w, 5); err != nil {
		tb.Fatal(err)
	}
	if err := w.Finish(status, "so it ended"); err != nil {
		tb.Fatal(err)
	}
}

// fill writes every kind of file with n seconds of rows.
func fill(w *Writer, n int) error {
	iw, err := w.Instance(1)
	if err != nil {
		return err
	}
	host, err := w.Counters("host", []Column{{"cpu_user_s", true, "time in user mode"}, {"cpus", false, "processors"}})
	if err != nil {
		return err
	}
	waits, err := w.States("instance-1/waits")
	if err != nil {
		return err
	}
	for i := range n {
		if err := iw.Interval(interval(i, 3, i+1)); err != nil {
			return err
		}
		at := time.Duration(i+1) * time.Second
		if err := host.Row(at, []float64{float64(i) + .25, 2}); err != nil {
			return err
		}
		if err := waits.Row(at, 10, map[string]int64{"CPU": int64(i), "IO:WALSync": 3}); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w.Log(), "second %d\n", i); err != nil {
			return err
		}
	}
	return nil
}

// files lists every file of trial n below its directory.
func files(tb testing.TB, d *Dir, n int) []string {
	tb.Helper()
	root := d.trial(d.study.Plan[n-1])
	var out []string
	err := filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return out
}
