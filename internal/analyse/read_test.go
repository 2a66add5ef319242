package analyse

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/stats"
)

// write records a synthetic trial as the running side does.
func write(t testing.TB, d *record.Dir, r raw, status record.Status) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	head := r.trial
	head.Status = record.Running
	w, err := d.Start(head)
	check(err)
	for i, rows := range r.intervals {
		out, err := w.Instance(i + 1)
		check(err)
		for _, row := range rows {
			row.Types = slices.Clone(row.Types)
			for k, m := range histograms([]record.Interval{row}, names(r.trial.Workload)) {
				if row.Types[k].Response == nil {
					row.Types[k].Response, row.Types[k].Service = m.Response, m.Service
				}
			}
			row.Late = newHistogram()
			check(row.Late.RecordValues(100, 50))
			check(out.Interval(row))
		}
	}
	scopes := map[string]record.Counters{"host": r.host, "driver": r.driver}
	for i := range r.cgroup {
		scopes[fmt.Sprintf("instance-%d/cgroup", i+1)] = r.cgroup[i]
		scopes[fmt.Sprintf("instance-%d/database", i+1)] = r.database[i]
	}
	for name, c := range scopes {
		var columns []record.Column
		for i := range c.Names {
			columns = append(columns, record.Column{Name: c.Names[i], Total: c.Totals[i], About: "x"})
		}
		log, err := w.Counters(name, columns)
		check(err)
		for row := range c.At {
			var values []float64
			for i := range c.Names {
				values = append(values, c.Values[i][row])
			}
			check(log.Row(time.Duration(c.At[row]*1e9), values))
		}
	}
	for i, s := range r.waits {
		log, err := w.States(fmt.Sprintf("instance-%d/waits", i+1))
		check(err)
		for row := range s.At {
			seen := map[string]int64{}
			for k, name := range s.Names {
				seen[name] = int64(math.Round(s.Sessions[k][row]))
			}
			check(log.Row(time.Duration(s.At[row]*1e9), int64(s.Polls[row]), seen))
		}
	}
	check(w.Finish(status, ""))
}

func TestLoadFindsInTheFilesWhatWasInMemory(t *testing.T) {
	study, trials := usual().study(2, 2, 8)
	study.Plan = append(study.Plan, record.Planned{Trial: 5, Block: 3, Cell: 1, Factors: study.Plan[0].Factors, Dir: "005"})
	study.Search = []record.Decision{{Base: "instance.cpus = 2", Knob: "users", Load: 8, Done: true, Why: "8 users gave the most"}}
	d, err := record.Create(filepath.Join(t.TempDir(), "r"), study, []byte("name: users\n"))
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range trials {
		status := record.Finished
		if i == 3 {
			status = record.Failed
		}
		write(t, d, r, status)
	}
	got, err := Load(d)
	if err != nil {
		t.Fatal(err)
	}
	trials[3].trial.Status = record.Failed
	want := must(t, study, append(trials, raw{trial: record.Trial{Planned: study.Plan[4]}, missing: true}))
	if got.Source != "name: users\n" || !got.Valid || got.Answer != want.Answer {
		t.Errorf("valid %v (%q), answer %q, want %q", got.Valid, got.Invalid, got.Answer, want.Answer)
	}
	if len(got.Search) != 1 || got.Search[0] != (Decision{"instance.cpus = 2", "users", 8, true, "8 users gave the most"}) {
		t.Errorf("decisions %+v", got.Search)
	}
	if len(got.Trials) != 5 || got.Trials[3].Status != "failed" || got.Trials[4].Status != "never begun" {
		t.Errorf("trials %+v", got.Trials[3:])
	}
	a, b := got.Trials[0], want.Trials[0]
	if a.Throughput != b.Throughput || a.Window != b.Window || len(a.Usage) != len(b.Usage) || len(a.Waits) != len(b.Waits) {
		t.Errorf("throughput %g, window %+v, %d resources and %d states, want %g, %+v, %d and %d", a.Throughput, a.Window, len(a.Usage), len(a.Waits), b.Throughput, b.Window, len(b.Usage), len(b.Waits))
	}
	for i := range a.Usage {
		if math.Abs(a.Usage[i].Value-b.Usage[i].Value) > 1e-3*b.Usage[i].Value {
			t.Errorf("%v, want %v", a.Usage[i], b.Usage[i])
		}
	}
	if len(a.Types) != 4 || a.Types[3].Count != b.Types[3].Count || !a.Types[3].P[3].Ms.OK() || a.LatenessP99Us != 100 {
		t.Errorf("types %+v, lateness %v", a.Types, a.LatenessP99Us)
	}
	if len(a.Timeline.Tracks) != len(b.Timeline.Tracks) {
		t.Errorf("%d tracks, want %d", len(a.Timeline.Tracks), len(b.Timeline.Tracks))
	}
	if len(got.Trials[3].Timeline.Tracks) == 0 {
		t.Error("a failed trial has no timeline")
	}
}

func TestDamagedRecordsHideNoOtherTrial(t *testing.T) {
	for file, status := range map[string]record.Status{
		"host.csv": record.Finished, "instance-1/series.csv": record.Finished, "instance-1/histograms.hlog": record.Finished, "driver.csv": record.Failed,
	} {
		s := usual()
		s.measure = 10
		study, trials := s.study(1, 2, 8)
		path := filepath.Join(t.TempDir(), "r")
		d, err := record.Create(path, study, nil)
		if err != nil {
			t.Fatal(err)
		}
		write(t, d, trials[0], status)
		write(t, d, trials[1], record.Finished)
		name := filepath.Join(path, "trials", study.Plan[0].Dir, file)
		if err := os.WriteFile(name, []byte("nothing that a record holds\n1,2\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := Load(d)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		first := got.Trials[0]
		said := first.Reason + strings.Join(first.Warnings, "")
		if first.Status != "failed" || first.Counts || !strings.Contains(said, filepath.Base(file)) {
			t.Errorf("%s: trial %+v", file, first)
		}
		if got.Peak != 1 || !got.Trials[1].Counts {
			t.Errorf("%s: the other trial does not count", file)
		}
	}
}

// BenchmarkHourOfAThousandUsers reads and analyses the record of a trial of an
// hour: 1,000 users, four series of 1,000 values a second each, hundreds of
// cells in every histogram. The target is one second.
func BenchmarkHourOfAThousandUsers(b *testing.B) {
	s := usual()
	s.measure, s.throughput = 3600, func(float64) float64 { return 1000 }
	study, trials := s.study(1, 1000)
	src := stats.Random(4)
	var shapes []*hdrhistogram.Histogram
	for range 10 {
		h := record.NewHistogram()
		for range 1000 {
			if err := h.RecordValue(int64(5000 * math.Exp(0.7*gauss(&src)))); err != nil {
				b.Fatal(err)
			}
		}
		shapes = append(shapes, h)
	}
	for k, row := range trials[0].intervals[0] {
		for i := range row.Types {
			row.Types[i].Response, row.Types[i].Service = shapes[(k+i)%10], shapes[(k+i+5)%10]
		}
	}
	d, err := record.Create(filepath.Join(b.TempDir(), "r"), study, nil)
	if err != nil {
		b.Fatal(err)
	}
	write(b, d, trials[0], record.Finished)
	b.ReportAllocs()
	for b.Loop() {
		got, err := Load(d)
		if err != nil || !got.Trials[0].Counts {
			b.Fatal(err, got)
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s")
	b.ReportMetric(1, "s-target")
}
