package enginetest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// An engine inside this process can't be killed without the test. So the suite
// runs itself once more as a child, with the directory of a loaded database in
// its environment; the child does nothing but commit, tells each commit, and is
// killed in the middle of it.

// insideVariable names the directory.
const insideVariable = "ENGINETEST_INSIDE"

// crashInside kills a child that commits one number after the other: after
// recovery the last that it told must be there, or the one after it.
func (l *loaded) crashInside(t *testing.T) {
	if err := l.db.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	told := l.killChild(t, 50)
	l.db = l.start(t, l.machine, nil)
	s := l.open(t)
	r := l.run(t, s, parentByName, workload.Str([]byte(parentName(40))))
	if got := r.Values[1].Int; got != told && got != told+1 {
		t.Errorf("number %d is there after the crash, the last one told was %d", got, told)
	}
	// What the child had begun beside it is not.
	r = l.run(t, s, parentByName, workload.Str([]byte(parentName(41))))
	if got := r.Values[1].Int; got != 40*101 {
		t.Errorf("amount %d after recovery, want %d: what was not committed is there", got, 40*101)
	}
	l.run(t, s, setAmount, workload.Money(1), workload.Int(40))
	if err := l.db.Stop(t.Context()); err != nil {
		t.Errorf("stop: %v", err)
	}
}

// killChild starts the child and kills it once it has told `most` commits. It
// returns the last one that was told.
func (l *loaded) killChild(t *testing.T, most int) int64 {
	t.Helper()
	top, _, _ := strings.Cut(t.Name(), "/")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+top+"$", "-test.count=1")
	cmd.Env = append(os.Environ(), insideVariable+"="+l.machine.Dir())
	cmd.SysProcAttr = attributes(false)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	told, lines := int64(0), bufio.NewScanner(out)
	for n := 0; lines.Scan(); {
		text, ok := strings.CutPrefix(lines.Text(), "committed ")
		if !ok {
			t.Logf("the child says: %s", lines.Text())
			continue
		}
		if told, err = strconv.ParseInt(text, 10, 64); err != nil {
			t.Error(err)
		}
		if n++; n == most {
			// What is told before the kill reaches it is still read.
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil || told == 0 {
		t.Errorf("the child ended by itself (%v), and told %d", err, told)
	}
	return told
}

// workInside is the child's part, and says whether this process is one.
func workInside(t *testing.T, e engine.Engine) bool {
	dir := os.Getenv(insideVariable)
	if dir == "" {
		return false
	}
	in, err := e.Locate(t.Context(), engine.Want{})
	if err != nil {
		t.Fatal(err)
	}
	db, err := in.Start(t.Context(), &Local{dir: dir}, engine.Config{Connections: 2, Durable: true})
	if err != nil {
		t.Fatal(err)
	}
	l := &loaded{suite: &suite{}, db: db, def: synthetic(1000)}
	s := l.open(t)
	const commits = 1_000_000 // long before them the child is killed
	for i := range int64(commits) {
		l.tx(t, s, workload.Begin)
		l.run(t, s, setAmount, workload.Money(i+1), workload.Int(40))
		l.tx(t, s, workload.Commit)
		fmt.Printf("committed %d\n", i+1)
		l.tx(t, s, workload.Begin)
		l.run(t, s, setAmount, workload.Money(888), workload.Int(41))
		l.tx(t, s, workload.Rollback)
	}
	_ = db.Stop(context.WithoutCancel(t.Context()))
	return true
}
