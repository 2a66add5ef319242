package record

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestCreateThenOpenGivesTheSame(t *testing.T) {
	d := create(t, 3)
	again, err := Open(d.Path())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(again.Study(), d.Study()) || string(again.Source()) != "name: a study\n" || again.Path() != d.Path() {
		t.Errorf("%+v\n%+v", again.Study(), d.Study())
	}
	if again.Study().Format != Format || again.Study().Seed != 1<<63+1 {
		t.Errorf("format %d, seed %d", again.Study().Format, again.Study().Seed)
	}
}

func TestCreateRefusesADirectoryThatIsNotEmpty(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(dir, plan(1), nil); err == nil || !strings.Contains(err.Error(), "not empty: it holds mine.txt") {
		t.Error(err)
	}
	if _, err := Create(filepath.Join(dir, "mine.txt"), plan(1), nil); err == nil {
		t.Error("made a result directory of a file")
	}
}

func TestPlanMayNotCollideOrLeadOut(t *testing.T) {
	for want, change := range map[string]func(p []Planned){
		`"../x" is not a name`: func(p []Planned) { p[1].Dir = "../x" },
		`"" is not a name`:     func(p []Planned) { p[1].Dir = "" },
		`".x" is not a name`:   func(p []Planned) { p[1].Dir = ".x" },
		`"x/y" has a slash`:    func(p []Planned) { p[1].Dir = "x/y" },
		"trials 1 and 2 have":  func(p []Planned) { p[1].Dir = p[0].Dir },
	} {
		s := plan(2)
		change(s.Plan)
		if _, err := Create(filepath.Join(t.TempDir(), "x"), s, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %s, got %v", want, err)
		}
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	if _, err := Open(filepath.Join(t.TempDir(), "nothing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that is not there: %v", err)
	}
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "is not a result directory of Loadstone: it has no study.json") {
		t.Error(err)
	}
	for text, want := range map[string]string{
		`{"format": 2}`:                         "has format 2, written by a newer Loadstone; this one reads formats up to 1",
		`{"format": 0}`:                         "it has no format number",
		`{}`:                                    "it has no format number",
		`{"format": 1, "plan": [`:               "study.json is damaged",
		``:                                      "study.json is damaged",
		`{"format": 1, "seed": "x"}`:            "study.json is damaged",
		`{"format": 1, "plan": [{"dir":"/x"}]}`: `"/x" is not a name`,
	} {
		d := create(t, 1)
		if err := os.WriteFile(filepath.Join(d.Path(), "study.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(d.Path()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want %q, got %v", text, want, err)
		}
	}
}

func TestTrialsTellWhereEachStands(t *testing.T) {
	d := create(t, 7)
	good(t, d, 1, Finished)
	good(t, d, 2, Failed)
	good(t, d, 3, Aborted)
	start(t, d, 4, "", "buy") // and nobody finishes it
	good(t, d, 6, Finished)
	good(t, d, 7, Finished)
	for n, text := range map[int]string{6: "{", 7: `{"format": 9}`} {
		if err := os.WriteFile(filepath.Join(d.trial(d.study.Plan[n-1]), manifestName), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	trials, err := d.Trials()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		status            Status
		missing, cut, bad bool
		reason            string
	}{
		{Finished, false, false, false, "so it ended"},
		{Failed, false, false, false, "so it ended"},
		{Aborted, false, false, false, "so it ended"},
		{Running, false, true, false, "cut short"},
		{"", true, false, false, ""},
		{Failed, false, false, true, "is damaged"},
		{Failed, false, false, true, "newer Loadstone"},
	} {
		r := trials[i]
		if r.Trial.Status != want.status || r.Missing != want.missing || r.CutShort != want.cut || (r.Damage != nil) != want.bad || !strings.Contains(r.Trial.Reason, want.reason) {
			t.Errorf("trial %d: %+v", i+1, r)
		}
		if !reflect.DeepEqual(r.Trial.Planned, d.study.Plan[i]) {
			t.Errorf("trial %d has the plan of %+v", i+1, r.Trial.Planned)
		}
	}
	numbers := func(again ...Status) (out []int) {
		p, err := d.Pending(again...)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range p {
			out = append(out, p.Trial)
		}
		return out
	}
	if got := numbers(); !reflect.DeepEqual(got, []int{3, 4, 5}) {
		t.Errorf("pending %v", got)
	}
	if got := numbers(Failed); !reflect.DeepEqual(got, []int{2, 3, 4, 5, 6, 7}) {
		t.Errorf("pending with failed ones %v", got)
	}
	release, err := d.Lock()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if r := reader(t, d, 4); r.CutShort || r.Trial.Reason != "" {
		t.Errorf("a trial that is worked on counts as cut short: %+v", r)
	}
}

func TestEarlierAttemptsAreSetAside(t *testing.T) {
	d := create(t, 1)
	for i := range 3 {
		w := start(t, d, 1, "", "buy")
		if err := fill(w, i+1); err == nil {
			t.Fatal("three series fit a workload of one type")
		}
		if _, err := w.Log().Write([]byte{byte('0' + i)}); err != nil {
			t.Fatal(err)
		}
	}
	path := d.trial(d.study.Plan[0])
	for i, name := range []string{path + ".cut-1", path + ".cut-2", path} {
		if log, err := os.ReadFile(filepath.Join(name, "log.txt")); err != nil || string(log) != string(rune('0'+i)) {
			t.Errorf("%s: %q, %v", name, log, err)
		}
	}
	good(t, d, 1, Failed)
	good(t, d, 1, Finished)
	if _, err := d.Start(trialOf(d, 1, "", "buy")); err == nil || !strings.Contains(err.Error(), "finished already") {
		t.Errorf("a finished trial was begun again: %v", err)
	}
	if got, err := os.ReadDir(filepath.Dir(path)); err != nil || len(got) != 5 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestStartRefusesWhatIsNotPlanned(t *testing.T) {
	d := create(t, 1)
	other := trialOf(d, 1, "", "buy")
	other.Dir = "999"
	if _, err := d.Start(other); err == nil || !strings.Contains(err.Error(), `"999" is not in the plan`) {
		t.Error(err)
	}
	for _, names := range [][]string{{"a,b"}, {"a", "a"}, {""}, {"a\nb"}, {`a"`}} {
		if _, err := d.Start(trialOf(d, 1, "", names...)); err == nil {
			t.Errorf("types %q were taken", names)
		}
	}
	if _, err := d.Start(trialOf(d, 1, "a", "a")); err == nil {
		t.Error("the unit and a type have one name")
	}
}

func TestLockKeepsASecondWriterOut(t *testing.T) {
	d := create(t, 1)
	if d.Busy() {
		t.Error("busy without a lock")
	}
	release, err := d.Lock()
	if err != nil {
		t.Fatal(err)
	}
	other, err := Open(d.Path())
	if err != nil {
		t.Fatal(err)
	}
	if !other.Busy() {
		t.Error("not busy under a lock")
	}
	if _, err := other.Lock(); err == nil || !strings.Contains(err.Error(), "another Loadstone is writing to") {
		t.Errorf("locked twice: %v", err)
	}
	release()
	if other.Busy() {
		t.Error("busy after the release")
	}
	// Readers that look do not keep a writer out.
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				other.Busy()
			}
		}
	}()
	for range 200 {
		release, err := d.Lock()
		if err != nil {
			t.Fatal(err)
		}
		release()
	}
	close(stop)
	<-done
}

func TestWriterKeepsWhatIsItsOwn(t *testing.T) {
	d := create(t, 1)
	w := start(t, d, 1, "", "buy")
	if err := w.Update(func(t *Trial) {
		t.Status, t.Reason, t.Planned, t.Format = Finished, "no", Planned{Dir: "../x"}, 7
		t.Provider, t.Instances = "native", []Instance{{Name: "instance-1"}}
	}); err != nil {
		t.Fatal(err)
	}
	r := reader(t, d, 1)
	if r.Trial.Status != Running || r.Trial.Dir != d.study.Plan[0].Dir || r.Trial.Format != Format || r.Trial.Provider != "native" || len(r.Trial.Instances) != 1 {
		t.Errorf("%+v", r.Trial)
	}
	if err := w.Finish(Running, ""); err == nil {
		t.Error("a trial finished as running")
	}
	if err := w.WriteFile("instance-1/server.log", []byte("ready\n")); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(Aborted, "by hand"); err != nil {
		t.Fatal(err)
	}
	r = reader(t, d, 1)
	if r.Trial.Status != Aborted || r.Trial.Reason != "by hand" || len(r.Trial.Files) != 2 || r.Trial.Files[1].Name != "instance-1/server.log" || r.Trial.Files[1].Bytes != 6 ||
		r.Trial.Files[1].SHA256 != fmt.Sprintf("%x", sha256.Sum256([]byte("ready\n"))) {
		t.Errorf("%+v", r.Trial)
	}
	for what, err := range map[string]error{
		"finish":   w.Finish(Finished, ""),
		"update":   w.Update(func(*Trial) {}),
		"log":      func() error { _, err := w.Log().Write([]byte("x")); return err }(),
		"counters": func() error { _, err := w.Counters("x", nil); return err }(),
		"instance": func() error { _, err := w.Instance(1); return err }(),
	} {
		if err == nil {
			t.Errorf("%s after the end", what)
		}
	}
}

func TestWriterRefusesWhatReadersCannotTake(t *testing.T) {
	d := create(t, 1)
	w := start(t, d, 1, "", "buy")
	for _, name := range []string{"", "../x", "a/b/c", "a b", "/x", ".x", "a/.b"} {
		if _, err := w.Counters(name, nil); err == nil {
			t.Errorf("counters named %q", name)
		}
	}
	for _, cols := range [][]Column{{{Name: ""}}, {{Name: "a,b"}}, {{Name: "a"}, {Name: "a"}}, {{Name: "a b"}}, {{Name: "at_s"}}, {{Name: "a:b"}}} {
		if _, err := w.Counters("x", cols); err == nil {
			t.Errorf("columns %v", cols)
		}
	}
	c, err := w.Counters("host", []Column{{Name: "a"}})
	if err != nil {
		t.Fatal(err)
	}
	if c.Row(0, []float64{1, 2}) == nil {
		t.Error("two values for one column")
	}
	if _, err := w.Counters("host", nil); err == nil {
		t.Error("two logs of one name")
	}
	s, err := w.States("waits")
	if err != nil {
		t.Fatal(err)
	}
	if s.Row(0, 1, map[string]int64{"": 1}) == nil {
		t.Error("a state without a name")
	}
	if _, err := w.Instance(0); err == nil {
		t.Error("instance 0")
	}
	for what, change := range map[string]func(i *Interval){
		"two series for one":        func(i *Interval) { i.Types = append(i.Types, Series{}) },
		"an end before the start":   func(i *Interval) { i.End = i.Start },
		"errors of no class":        func(i *Interval) { i.Types[0].Errors = []int64{1} },
		"errors of unknown classes": func(i *Interval) { i.Types[0].Errors = make([]int64, 7) },
	} {
		d := create(t, 1)
		iw, err := start(t, d, 1, "", "buy").Instance(1)
		if err != nil {
			t.Fatal(err)
		}
		i := interval(0, 1, 1)
		change(&i)
		first := iw.Interval(i)
		if first == nil {
			t.Errorf("%s were taken", what)
		}
		if err := iw.Interval(interval(0, 1, 1)); !errors.Is(err, first) {
			t.Errorf("%s: after %v came %v", what, first, err)
		}
	}
	iw, err := w.Instance(1)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(iw.Interval(interval(1, 1, 1)), iw.Interval(interval(2, 1, 1))); err != nil {
		t.Fatal(err)
	}
	if iw.Interval(interval(2, 1, 1)) == nil {
		t.Error("an interval came twice")
	}
	if _, err := w.Instance(1); err == nil {
		t.Error("one instance was begun twice")
	}
	if err := w.Finish(Finished, ""); err == nil || reader(t, d, 1).Trial.Status != Failed {
		t.Errorf("a trial whose record failed counts as finished: %v", err)
	}
}

func TestVerifyFindsEveryChange(t *testing.T) {
	d := create(t, 1)
	good(t, d, 1, Finished)
	if err := reader(t, d, 1).Verify(); err != nil {
		t.Fatal(err)
	}
	path := d.trial(d.study.Plan[0])
	host := filepath.Join(path, "host.csv")
	data, err := os.ReadFile(host)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-2]++
	if err := errors.Join(os.WriteFile(host, data, 0o644), os.Remove(filepath.Join(path, "instance-1", "load.csv"))); err != nil {
		t.Fatal(err)
	}
	err = reader(t, d, 1).Verify()
	if err == nil || !strings.Contains(err.Error(), "host.csv was changed after the trial") || !strings.Contains(err.Error(), "load.csv is gone") || strings.Contains(err.Error(), "series.csv") {
		t.Error(err)
	}
	if _, err := reader(t, d, 1).Intervals(1); err == nil || !strings.Contains(err.Error(), "load.csv is gone") {
		t.Error(err)
	}
}

func TestIntervalsNeedAnEpoch(t *testing.T) {
	d := create(t, 1)
	tr := trialOf(d, 1, "", "buy")
	tr.Epoch = tr.Ended
	w, err := d.Start(tr)
	if err != nil {
		t.Fatal(err)
	}
	iw, err := w.Instance(1)
	if err != nil {
		t.Fatal(err)
	}
	if err := iw.Interval(interval(0, 1, 1)); err == nil || !strings.Contains(err.Error(), "no epoch") {
		t.Error(err)
	}
}
