package study

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/loadstone-perf/loadstone/internal/unit"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestEveryFaultIsShownAtItsPlace compares the printed errors of broken
// studies with golden files.
func TestEveryFaultIsShownAtItsPlace(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) < 25 {
		t.Fatalf("%d broken studies (%v): at least 25 are expected", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			src := read(t, file)
			_, err := Parse(filepath.Base(file), src, known())
			if err == nil {
				t.Fatal("the study was found to be right")
			}
			insideFile(t, src, err)
			golden := strings.TrimSuffix(file, ".yaml") + ".txt"
			got := err.Error() + "\n"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want := read(t, golden); got != string(want) {
				t.Errorf("found:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// fatalist is what *testing.T and *rapid.T have in common.
type fatalist interface {
	Helper()
	Fatalf(format string, args ...any)
}

// insideFile fails where an error's position does not lie in src.
func insideFile(t fatalist, src []byte, err error) {
	t.Helper()
	var all Errors
	if !errors.As(err, &all) || len(all) == 0 {
		t.Fatalf("error of type %T has no positions", err)
	}
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimPrefix(string(src), "\ufeff"))
	lines := strings.Split(text, "\n")
	for i, e := range all {
		if e.Line < 1 || e.Line > len(lines) {
			t.Fatalf("line %d of %d: %v", e.Line, len(lines), e)
		}
		if n := utf8.RuneCountInString(lines[e.Line-1]); e.Column < 1 || e.Column > n+1 {
			t.Fatalf("column %d of %d in line %q: %v", e.Column, n, lines[e.Line-1], e)
		}
		if i > 0 && (e.Line < all[i-1].Line || e.Line == all[i-1].Line && e.Column < all[i-1].Column) {
			t.Fatalf("errors are not in order: %d:%d after %d:%d", e.Line, e.Column, all[i-1].Line, all[i-1].Column)
		}
	}
}

// TestFoundIsWhatStandsAtThePosition ties the text in an error to its place.
func TestFoundIsWhatStandsAtThePosition(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.yaml")
	seen := 0
	for _, file := range files {
		_, err := Parse(file, read(t, file), known())
		var all Errors
		errors.As(err, &all)
		for _, e := range all {
			first, _, _ := strings.Cut(e.Found, "\n")
			rest := []rune(e.Source)[e.Column-1:]
			if !utf8.ValidString(e.Source) || first == "" || first == "?" {
				continue // syntax that has no text of its own
			}
			seen++
			if !strings.HasPrefix(string(rest), strings.TrimRight(first, " ")) {
				t.Errorf("%s:%d:%d: found %q, but there stands %q", file, e.Line, e.Column, first, string(rest))
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d errors were compared", seen)
	}
}

func TestParseKeepsToItsBounds(t *testing.T) {
	big := []byte("study: s\n# " + strings.Repeat("x", maxSource))
	if _, err := Parse("big.yaml", big, known()); err == nil || !strings.Contains(err.Error(), "too much for a study") {
		t.Errorf("a file of %d bytes: %v", len(big), err)
	}
	var many bytes.Buffer
	for i := range 3 * maxFaults {
		many.WriteString(strings.Repeat("k", i+1) + ": 1\n")
	}
	_, err := Parse("many.yaml", many.Bytes(), known())
	var all Errors
	if !errors.As(err, &all) || len(all) != maxFaults {
		t.Errorf("%d faults are reported, want %d", len(all), maxFaults)
	}
}

// minimal is a study of only what every study must have.
const minimal = `study: s
workload: {name: dvdstore}
engine: {name: postgres}
provider: {name: native}
`

func parse(t *testing.T, src string) *Study {
	t.Helper()
	s, err := Parse("test.yaml", []byte(src), known())
	if err != nil {
		t.Fatalf("%v\nin:\n%s", err, src)
	}
	return s
}

func TestDefaultsAreTheDocumentedOnes(t *testing.T) {
	s := parse(t, minimal)
	r := s.Base.Run
	if r.Ramp != 0 || r.Warmup.Seconds() != 30 || r.Measure.Seconds() != 60 || r.Restore != "each" {
		t.Errorf("run: %+v", r)
	}
	if s.Repeats != 3 || s.Seed != 1 || s.Limits.ErrorsPct != 1 || s.Base.Instances != 1 {
		t.Errorf("repeats %d, seed %d, limits %+v, instances %d", s.Repeats, s.Seed, s.Limits, s.Base.Instances)
	}
	if !reflect.DeepEqual(s.Base.Load, Load{Users: 1}) || s.Base.Shape != (Shape{}) || s.Base.Version != "" || len(s.Base.Settings) != 0 {
		t.Errorf("base: %+v", s.Base)
	}
	if got := s.Base.Workload.Params.Text("size"); got != "small" {
		t.Errorf("workload.size is %q", got)
	}
	open := parse(t, minimal+"rate: 90/min\n").Base.Load
	if !reflect.DeepEqual(open, Load{RatePerS: 1.5, Arrivals: "poisson", Connections: 64}) {
		t.Errorf("open loop: %+v", open)
	}
}

func TestEveryKnobReachesTheStudy(t *testing.T) {
	s := parse(t, `
study: all-of_it2
question: >
  How much
  of it?
workload: {name: dvdstore, size: 300MiB, mode: compat, think_time: 20ms}
engine:
  name: postgres
  version: ">=15,<17"
  fetch: false
  settings: {shared_buffers: 25%, fsync: off, work_mem: "8MB", auto_explain.log_timing: true, n: 16.10, empty: ""}
provider: {name: container, image: "debian:13"}
instances: 1
instance: {cpus: 1.5, cpuset: "0-1,4", memory: 2GiB, cpu_shares: 512}
users: 8
connections: 4
run: {ramp: 1s, warmup: 2m, measure: 1h, repeats: 1, restore: each, seed: 9223372036854775807}
limits: {errors: 0.5%}
`)
	b := s.Base
	if s.Name != "all-of_it2" || s.Question != "How much of it?" || s.Seed != 1<<63-1 || s.Repeats != 1 || s.Limits.ErrorsPct != 0.5 {
		t.Errorf("study: %+v", s)
	}
	if b.Shape != (Shape{CPUs: 1.5, CPUSet: "0-1,4", Memory: 2 * unit.GiB, CPUShares: 512}) {
		t.Errorf("shape: %+v", b.Shape)
	}
	if !reflect.DeepEqual(b.Load, Load{Users: 8, Connections: 4}) || b.Version != ">=15,<17" {
		t.Errorf("load: %+v, version %q", b.Load, b.Version)
	}
	if b.Run.Ramp.Seconds() != 1 || b.Run.Warmup.Minutes() != 2 || b.Run.Measure.Hours() != 1 {
		t.Errorf("run: %+v", b.Run)
	}
	if b.Workload.Params.Text("size") != "300MiB" || b.Workload.Params.Text("mode") != "compat" || b.Engine.Params.Bool("fetch") {
		t.Errorf("params: %v %v", b.Workload.Params.All(), b.Engine.Params.All())
	}
	if b.Provider.Name != "container" || b.Provider.Params.Text("image") != "debian:13" {
		t.Errorf("provider: %+v", b.Provider)
	}
	want := map[string]string{"shared_buffers": "25%", "fsync": "off", "work_mem": "8MB", "auto_explain.log_timing": "true", "n": "16.10", "empty": ""}
	for k, v := range want {
		if got, ok := b.Settings[k]; !ok || got != v {
			t.Errorf("setting %s is %q, want %q", k, got, v)
		}
	}
	if len(b.Settings) != len(want) {
		t.Errorf("settings: %v", b.Settings)
	}
}

func TestVariedKnobsReachTheCellsInOrder(t *testing.T) {
	s := parse(t, strings.Replace(minimal, "provider: {name: native}\n", "", 1)+`
vary:
  instance.cpus + users: [[1, 8], [2, 16]]
  engine.settings.shared_buffers: [128MB, 25%]
  workload.size: [small, 300MiB]
  provider.name: [native, container]
`)
	if s.Base.Load.Users != 0 || s.Base.Provider.Name != "" || s.Base.Shape.CPUs != 0 || len(s.Base.Settings) != 0 {
		t.Errorf("the base holds what varies: %+v", s.Base)
	}
	p, err := NewPlan(s)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Cells) != 16 || len(s.Vary) != 4 {
		t.Fatalf("%d cells, %d axes", len(p.Cells), len(s.Vary))
	}
	for i, c := range p.Cells {
		first, second, third, fourth := i/8, i/4%2, i/2%2, i%2 // the first axis is outermost
		if c.Config.Load.Users != []int{8, 16}[first] || c.Config.Shape.CPUs != []float64{1, 2}[first] {
			t.Errorf("cell %d: %+v %+v", i, c.Config.Load, c.Config.Shape)
		}
		if got := c.Config.Settings["shared_buffers"]; got != []string{"128MB", "25%"}[second] {
			t.Errorf("cell %d: shared_buffers %q", i, got)
		}
		if got := c.Config.Workload.Params.Text("size"); got != []string{"small", "300MiB"}[third] {
			t.Errorf("cell %d: size %q", i, got)
		}
		if got := c.Config.Provider.Name; got != []string{"native", "container"}[fourth] {
			t.Errorf("cell %d: provider %q", i, got)
		}
		want := Factor{"instance.cpus", []string{"1", "2"}[first]}
		if len(c.Factors) != 5 || c.Factors[0] != want {
			t.Errorf("cell %d: factors %v", i, c.Factors)
		}
	}
}

// TestImpossibleDefaultsDoNotMatterWhereTheKnobVaries: the check of an offer
// sees whole configurations only.
func TestImpossibleDefaultsDoNotMatterWhereTheKnobVaries(t *testing.T) {
	k := known()
	k.Workloads[0].Check = func(v unit.Values) error {
		if v.Text("mode") == "strict" && v.Int("n_searches") < 4 {
			return errors.New("too few searches")
		}
		return nil
	}
	for src, want := range map[string]bool{
		minimal: false,
		minimal + "vary: {workload.n_searches: [4, 5]}\n": true,
		minimal + "vary: {workload.n_searches: [4, 3]}\n": false,
		minimal + "vary: {workload.mode: [compat]}\n":     true,
	} {
		if _, err := Parse("x.yaml", []byte(src), k); (err == nil) != want {
			t.Errorf("right: %v, want %v in:\n%s", err, want, src)
		}
	}
}

func TestByteOrderMarkAndLineEndsDoNotMatter(t *testing.T) {
	for _, src := range []string{
		"\ufeff" + minimal,
		strings.ReplaceAll(minimal, "\n", "\r\n"),
		strings.TrimSuffix(minimal, "\n"),
		"---\n" + minimal + "...\n",
		"# a comment\n\n" + minimal + "\n\n# the end\n",
	} {
		if _, err := Parse("x.yaml", []byte(src), known()); err != nil {
			t.Errorf("%q: %v", src, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/*.yaml", "../../studies/*.yaml"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		s, err := Parse("fuzz.yaml", src, known())
		if err != nil {
			insideFile(t, src, err)
			_ = err.Error()
			return
		}
		if _, err := NewPlan(s); err != nil {
			t.Fatalf("a study that was right has no plan: %v", err)
		}
	})
}

// TestTheLargestStudyIsReadInBoundedWork: at the bound on trials every cell is
// made once, and the check of the offer, which may be slow, runs once for each
// set of parameters.
func TestTheLargestStudyIsReadInBoundedWork(t *testing.T) {
	k := known()
	checks := 0
	k.Workloads[0].Check = func(unit.Values) error { checks++; return nil }
	numbers := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%d, ", i+1)
		}
		return "[" + strings.TrimSuffix(b.String(), ", ") + "]"
	}
	src := minimal + "run: {repeats: 1}\nvary:\n  workload.n_searches: " + numbers(100) + "\n  users: " + numbers(100) + "\n"
	s, err := Parse("large.yaml", []byte(src), k)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPlan(s)
	if err != nil || len(p.Trials) != maxTrials {
		t.Fatalf("%d trials, %v", len(p.Trials), err)
	}
	if checks != 100 {
		t.Errorf("the offer was checked %d times, want 100", checks)
	}
}

func TestMeasuringMayDependOnWhatIsSeen(t *testing.T) {
	second := time.Second
	for run, want := range map[string]Run{
		"measure: 20s":                       {Measure: 20 * second},
		"measure: {min: 20s}":                {Measure: 20 * second, MeasureMax: 200 * second},
		"measure: {precision: 2%}":           {Measure: 60 * second, MeasureMax: 600 * second, PrecisionPct: 2},
		"measure: {max: 60s}":                {Measure: 60 * second, MeasureMax: 60 * second},
		"measure: {min: 1s, max: 1m}":        {Measure: second, MeasureMax: 60 * second},
		"measure: {checkpoints: 2, min: 2d}": {Measure: 48 * 3600 * second, MeasureMax: longestMeasure, Checkpoints: 2},
		"measure: {min: 7d, checkpoints: 0}": {Measure: longestMeasure, MeasureMax: longestMeasure},
		"measure: {min: 1s, max: 7d, precision: 0.01%, checkpoints: 1000}": {
			Measure: second, MeasureMax: longestMeasure, PrecisionPct: 0.01, Checkpoints: 1000},
	} {
		want.Warmup, want.Restore = 30*second, "each"
		if got := parse(t, minimal+"run: {"+run+"}\n").Base.Run; got != want {
			t.Errorf("%s:\n%+v, want\n%+v", run, got, want)
		}
	}
	s := parse(t, minimal+"run: {measure: {max: 5m}}\nvary: {run.measure: [10s, 20s], run.measure.precision: [1%, 2%]}\n")
	for i, c := range s.cells {
		want := Run{Warmup: 30 * second, Restore: "each", Measure: []time.Duration{10 * second, 20 * second}[i/2], MeasureMax: 300 * second, PrecisionPct: float64(i%2 + 1)}
		if c.Config.Run != want {
			t.Errorf("cell %d: %+v, want %+v", i, c.Config.Run, want)
		}
	}
	for i, c := range parse(t, minimal+"vary: {run.measure.checkpoints + run.measure: [[1, 10s], [2, 20s]]}\n").cells {
		if n := time.Duration(i + 1); c.Config.Run.MeasureMax != n*100*second || c.Config.Run.Checkpoints != i+1 {
			t.Errorf("cell %d: %+v", i, c.Config.Run)
		}
	}
}

func TestTheSearchAndItsDefaults(t *testing.T) {
	for src, want := range map[string]Search{
		"users: saturate":                             {Knob: "users", From: 1, To: 1024, GainPct: 3, Loads: 6},
		"instances: saturate":                         {Knob: "instances", From: 1, To: 16, GainPct: 3, Loads: 6},
		"rate: saturate\nsaturate: {from: 90/min}":    {Knob: "rate", From: 1.5, To: 1536, GainPct: 3, Loads: 6},
		"rate: saturate\nsaturate: {from: 1000000/s}": {Knob: "rate", From: 1e6, To: 1e7, GainPct: 3, Loads: 6},
		"users: saturate\nsaturate: {from: 2, to: 100000, gain: 0.1%, loads: 16}": {Knob: "users", From: 2, To: 100000, GainPct: 0.1, Loads: 16},
		"instances: saturate\nsaturate: {from: 59, to: 64}":                       {Knob: "instances", From: 59, To: 64, GainPct: 3, Loads: 6},
		"instances: saturate\nrate: 10/s":                                         {Knob: "instances", From: 1, To: 16, GainPct: 3, Loads: 6},
	} {
		s := parse(t, minimal+src+"\n")
		if s.Search == nil || *s.Search != want {
			t.Errorf("%s:\n%+v, want\n%+v", src, s.Search, want)
		}
	}
	if s := parse(t, minimal+"users: 8\n"); s.Search != nil {
		t.Errorf("a search that nobody asked for: %+v", s.Search)
	}
	open := parse(t, minimal+"rate: saturate\nsaturate: {from: 10/s}\n").Base.Load
	if !reflect.DeepEqual(open, Load{Arrivals: "poisson", Connections: 64}) {
		t.Errorf("load beside the search: %+v", open)
	}
}

func TestLimitsReachTheStudy(t *testing.T) {
	s := parse(t, minimal+`limits:
  cpu: 90%
  disk_latency: 10ms
  response:
    purchase: {p99.9: 1h, p50: 5ms}
    order: {p95: 500ms}
`)
	want := Limits{ErrorsPct: 1, CPUPct: 90, DiskLatency: 10 * time.Millisecond, OtherCPUPct: 10, StealPct: 2, Response: []ResponseLimit{
		{"purchase", 99.9, time.Hour}, {"purchase", 50, 5 * time.Millisecond}, {"order", 95, 500 * time.Millisecond},
	}}
	if !reflect.DeepEqual(s.Limits, want) {
		t.Errorf("%+v, want\n%+v", s.Limits, want)
	}
	if s := parse(t, minimal); !reflect.DeepEqual(s.Limits, Limits{ErrorsPct: 1, OtherCPUPct: 10, StealPct: 2}) {
		t.Errorf("limits that nobody set: %+v", s.Limits)
	}
	k := known()
	k.Workloads[0].Types = nil
	if _, err := Parse("x.yaml", []byte(minimal+"limits: {response: {anything: {p95: 1s}}}\n"), k); err != nil {
		t.Errorf("a workload that names no types takes every name, but: %v", err)
	}
}

func TestProfileReachesTheLoad(t *testing.T) {
	const phases = "profile: [{for: 30s, load: 50%}, {for: 10s, load: 100%}]\n"
	half, full := Phase{30 * time.Second, 50}, Phase{10 * time.Second, 100}
	rest := Phase{full.For + 30*time.Second + 10*time.Minute, 100} // warm-up and the longest window
	burst := Phase{100 * time.Millisecond, 1000}
	for src, want := range map[string][]Phase{
		"users: 2\n":          nil,
		"users: 2\n" + phases: {half, full},
		"users: 2\nprofile_repeat: true\n" + phases:                                             {half, full},
		"users: 2\nprofile_repeat: false\n" + phases + "run: {measure: {min: 10s, max: 10m}}\n": {half, rest},
		"rate: 5/s\nprofile: [{for: 100ms, load: 1000%}]\n":                                     {burst},
	} {
		if got := parse(t, minimal+src).Base.Load.Profile; !slices.Equal(got, want) {
			t.Errorf("%s%v, want %v", src, got, want)
		}
	}
	cells := parse(t, minimal+phases+"profile_repeat: false\nusers: 4\nvary: {run.measure: [1s, 2s]}\n").cells
	for i, c := range cells {
		want := []Phase{half, {full.For + 30*time.Second + time.Duration(i+1)*time.Second, 100}}
		if !slices.Equal(c.Config.Load.Profile, want) {
			t.Errorf("cell %d: %v, want %v", i, c.Config.Load.Profile, want)
		}
	}
}

// TestInstancesMayVary: each of several instances has users of its own.
func TestInstancesMayVary(t *testing.T) {
	for i, c := range parse(t, minimal+"users: 4\nvary: {instances: [1, 2, 64]}\n").cells {
		if want := []int{1, 2, 64}[i]; c.Config.Instances != want || c.Config.Load.Users != 4 {
			t.Errorf("cell %d: %d instances of %d users", i, c.Config.Instances, c.Config.Load.Users)
		}
	}
}
