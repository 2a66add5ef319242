package record

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A trial's files, cut at any byte, give a valid prefix or an error that
// names the file; the other trials stay as they are.
func TestCutFilesGiveAPrefixOrAClearError(t *testing.T) {
	d := create(t, 3)
	good(t, d, 1, Finished)
	w := start(t, d, 2, "order", "login", "buy")
	if err := fill(w, 5); err != nil {
		t.Fatal(err)
	}
	good(t, d, 3, Finished)
	full := snapshot(t, reader(t, d, 2))
	finished := snapshot(t, reader(t, d, 1))
	for _, n := range []int{2, 3} {
		names := files(t, d, n)
		if len(names) != 8 {
			t.Fatalf("%d files: %v", len(names), names)
		}
		for _, name := range names {
			whole, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			rapid.Check(t, func(rt *rapid.T) {
				at := rapid.IntRange(0, len(whole)-1).Draw(rt, "cut at")
				if err := os.WriteFile(name, whole[:at], 0o644); err != nil {
					rt.Fatal(err)
				}
				r := reader(t, d, n)
				got, err := take(r)
				switch base := filepath.Base(name); {
				case base == manifestName && at < len(whole)-1:
					if r.Damage == nil || !strings.Contains(r.Trial.Reason, base) {
						rt.Fatalf("a manifest cut at byte %d of %d: %v", at, len(whole), r.Damage)
					}
				case n == 3 && base != manifestName && base != "log.txt":
					if err == nil || !strings.Contains(err.Error(), base) || !strings.Contains(err.Error(), "damaged") {
						rt.Fatalf("%s of a finished trial, cut at byte %d of %d: %v", base, at, len(whole), err)
					}
				case n == 2:
					if err != nil || !got.prefixOf(full) {
						rt.Fatalf("%s cut at byte %d of %d: %v\n%+v\n%+v", base, at, len(whole), err, got, full)
					}
				}
			})
			// With the last cut still there:
			if got, err := take(reader(t, d, 1)); err != nil || !reflect.DeepEqual(got, finished) {
				t.Fatalf("the finished trial reads otherwise: %v", err)
			}
			if err := os.WriteFile(name, whole, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := snapshot(t, reader(t, d, 2)); !reflect.DeepEqual(got, full) {
		t.Error("the files are not whole again")
	}
}

// contents is all that a reader gives.
type contents struct {
	intervals []Interval
	commits   []int64 // in the histograms
	counters  Counters
	states    States
}

func take(r *Reader) (c contents, err error) {
	c.intervals, err = r.Intervals(1)
	m, err2 := r.Histograms(1, 0, time.Hour)
	for _, m := range m {
		c.commits = append(c.commits, m.Response.TotalCount(), m.Service.TotalCount(), m.Undone.TotalCount())
	}
	var err3, err4 error
	c.counters, err3 = r.Counters("host")
	c.states, err4 = r.States("instance-1/waits")
	return c, errors.Join(err, err2, err3, err4)
}

func snapshot(tb testing.TB, r *Reader) contents {
	tb.Helper()
	c, err := take(r)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// prefixOf says whether everything in c is at the beginning of full.
func (c contents) prefixOf(full contents) bool {
	n := len(c.intervals)
	if n > len(full.intervals) || !same(c.intervals, full.intervals[:n]) {
		return false
	}
	for i, v := range c.commits {
		if v > full.commits[i] {
			return false
		}
	}
	prefix := func(a, b []float64) bool {
		return len(a) <= len(b) && reflect.DeepEqual(a[:len(a):len(a)], b[:len(a):len(a)]) || len(a) == 0
	}
	ok := prefix(c.counters.At, full.counters.At) && prefix(c.states.At, full.states.At) && prefix(c.states.Polls, full.states.Polls)
	for i, v := range c.counters.Values {
		ok = ok && len(v) == len(c.counters.At) && prefix(v, full.counters.Values[i])
	}
	for i, name := range c.states.Names {
		v := c.states.Sessions[i]
		ok = ok && len(v) == len(c.states.At)
		for k, other := range full.states.Names {
			if other == name {
				ok = ok && prefix(v, full.states.Sessions[k])
			}
		}
	}
	return ok
}

// childMode names what a copy of the test program does instead of testing.
const childMode = "LOADSTONE_RECORD_TEST_CHILD"

func TestMain(m *testing.M) {
	switch mode, path, _ := strings.Cut(os.Getenv(childMode), ":"); mode {
	case "":
		os.Exit(m.Run())
	case "write":
		fmt.Println(childWrite(path))
	case "full":
		fmt.Println(childFull(path))
	}
	os.Exit(1)
}

func child(t *testing.T, mode, path string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^$")
	cmd.Env = append(os.Environ(), childMode+"="+mode+":"+path)
	cmd.Stderr = os.Stderr
	return cmd
}

// childWrite resumes the study at path and runs all its trials. On its
// standard output it tells how far it is, and it never ends well: it is killed.
func childWrite(path string) error {
	d, err := Open(path)
	if err != nil {
		return err
	}
	if _, err := d.Lock(); err != nil {
		return err
	}
	pending, err := d.Pending()
	if err != nil {
		return err
	}
	for _, p := range pending {
		fmt.Println("trial", p.Trial)
		w, err := d.Start(trialOf(d, p.Trial, "order", "login", "buy"))
		if err != nil {
			return err
		}
		if err := fill(w, 5); err != nil {
			return err
		}
		if err := w.Finish(Finished, ""); err != nil {
			return err
		}
		fmt.Println("finished", p.Trial)
	}
	return errors.New("all done")
}

// kill -9 at random moments, again and again: each time what had finished is
// still whole, what had not is pending, and the lock is free.
func TestKilledWriterLeavesAReadableResult(t *testing.T) {
	const seed, kills, trials = 7, 25, 400
	d := create(t, trials)
	state := uint64(seed)
	for k := range kills {
		cmd := child(t, "write", d.Path())
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// Killed after a random number of bytes told, in the middle of whatever
		// it does then.
		state = state*6364136223846793005 + 1442695040888963407
		told := make([]byte, 1+state>>33%60)
		n := 0
		for n < len(told) {
			m, err := out.Read(told[n:])
			if n += m; err != nil {
				break
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil || strings.Contains(string(told), "result directory") {
			t.Fatalf("seed %d, kill %d: %v, %s", seed, k, err, told)
		}
		checkKilled(t, d, string(told[:n]), fmt.Sprintf("seed %d, kill %d", seed, k))
	}
	if trials := snapshotStatuses(t, d); trials[Finished] < kills/4 {
		t.Errorf("only %v: the writer never got far", trials)
	}
}

func snapshotStatuses(t *testing.T, d *Dir) map[Status]int {
	t.Helper()
	all, err := d.Trials()
	if err != nil {
		t.Fatal(err)
	}
	n := map[Status]int{}
	for _, r := range all {
		n[r.Trial.Status]++
	}
	return n
}

// checkKilled checks d after its writer, which told so much, was killed.
func checkKilled(t *testing.T, d *Dir, told, when string) {
	t.Helper()
	if d.Busy() {
		t.Errorf("%s: the lock outlives its process", when)
	}
	all, err := d.Trials()
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	cut := 0
	for _, r := range all {
		if r.Damage != nil {
			t.Errorf("%s: %v", when, r.Damage)
		}
		if r.Missing {
			continue
		}
		if r.CutShort {
			cut++
		}
		got, err := take(r)
		if r.Trial.Status == Finished && (err != nil || len(got.intervals) != 5 || len(got.counters.At) != 5) {
			t.Errorf("%s: finished trial %d has %d intervals: %v", when, r.Trial.Planned.Trial, len(got.intervals), err)
		}
	}
	if cut > 1 {
		t.Errorf("%s: %d trials are cut short", when, cut)
	}
	for line := range strings.Lines(told) {
		if n, ok := strings.CutPrefix(line, "finished "); ok && strings.HasSuffix(line, "\n") {
			i, err := strconv.Atoi(strings.TrimSpace(n))
			if err != nil || all[i-1].Trial.Status != Finished {
				t.Errorf("%s: the writer told of %q, the record does not", when, line)
			}
		}
	}
}

// childFull finishes trial 1 and then writes until files may not grow any more,
// as on a full disk. It tells what each call returned.
func childFull(path string) error {
	d, err := Open(path)
	if err != nil {
		return err
	}
	w, err := d.Start(trialOf(d, 1, "order", "login", "buy"))
	if err != nil {
		return err
	}
	if err := errors.Join(fill(w, 5), w.Finish(Finished, "")); err != nil {
		return err
	}
	if w, err = d.Start(trialOf(d, 2, "order", "login", "buy")); err != nil {
		return err
	}
	signal.Ignore(syscall.SIGXFSZ)
	limit := syscall.Rlimit{Cur: 8 << 10, Max: 8 << 10}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	err = fill(w, 1000)
	return errors.Join(err, w.Finish(Finished, ""))
}

func TestFullDiskIsAnErrorAndHurtsNoEarlierTrial(t *testing.T) {
	d := create(t, 3)
	out, err := child(t, "full", d.Path()).Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatal(err)
	}
	first, last, _ := strings.Cut(string(out), "\n")
	for _, s := range []string{first, last} {
		if !strings.Contains(s, "file too large") || !strings.Contains(s, "record") {
			t.Errorf("the writer says %q", s)
		}
	}
	r := reader(t, d, 2)
	if r.Trial.Status != Failed || !strings.Contains(r.Trial.Reason, "file too large") {
		t.Errorf("the trial that could not be written: %q, %q", r.Trial.Status, r.Trial.Reason)
	}
	if got, err := take(r); err != nil || len(got.intervals) < 2 {
		t.Errorf("what was written before: %d intervals, %v", len(got.intervals), err)
	}
	if got := snapshot(t, reader(t, d, 1)); len(got.intervals) != 5 {
		t.Errorf("the trial before has %d intervals", len(got.intervals))
	}
	good(t, d, 2, Finished)
	good(t, d, 3, Finished)
}

// Half a line may be in the file after an error: what came behind it would be
// one line with it.
func TestNothingIsAppendedAfterAWriteError(t *testing.T) {
	dir := t.TempDir()
	l, err := newLines(dir, "x.csv", "head\n")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.f.Close(); err != nil {
		t.Fatal(err)
	}
	first := l.write([]byte("lost\n"))
	if l.f, err = os.OpenFile(filepath.Join(dir, "x.csv"), os.O_WRONLY|os.O_APPEND, 0); err != nil {
		t.Fatal(err)
	}
	if again := l.write([]byte("more\n")); first == nil || !errors.Is(again, first) {
		t.Errorf("after %v came %v", first, again)
	}
	f, err := l.close()
	if data, _ := os.ReadFile(filepath.Join(dir, "x.csv")); !errors.Is(err, first) || string(data) != "head\n" || f.Bytes != 5 {
		t.Errorf("%q, %+v, %v", data, f, err)
	}
}
