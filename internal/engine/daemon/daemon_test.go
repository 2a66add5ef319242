package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/engine/daemon"
	"github.com/loadstone-perf/loadstone/internal/engine/enginetest"
)

func TestTheEndOfAProcessIsTold(t *testing.T) {
	m := enginetest.LocalMachine(t)
	p, err := daemon.Start(t.Context(), m, "sh", "-c", "echo last words; exit 3")
	if err != nil {
		t.Fatal(err)
	}
	<-p.Exited()
	if err := p.Exit(); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("exit: %v", err)
	}
	if !p.Settle() || p.Log() != "last words\n" {
		t.Errorf("log %q", p.Log())
	}
	whole := p.WithLog(errors.New("it failed"))
	if !strings.Contains(whole.Error(), "it failed") || !strings.Contains(whole.Error(), "last words") {
		t.Errorf("%v", whole)
	}
	if _, err := daemon.Start(t.Context(), m, "/no/such/program"); err == nil {
		t.Error("a program that is not there was started")
	}
}

func TestEndAsksFirstAndKillsThen(t *testing.T) {
	m := enginetest.LocalMachine(t)
	const loop = "; echo ready; while :; do sleep 0.01; done"
	for _, x := range []struct {
		script string
		harder []os.Signal
		asked  bool // is enough
		said   string
	}{
		{"trap 'exit 0' TERM" + loop, nil, true, ""},
		{"trap '' TERM" + loop, nil, false, ""},
		{"trap '' TERM; trap 'echo harder; exit 0' QUIT" + loop, []os.Signal{syscall.SIGQUIT}, false, "harder"},
	} {
		p, err := daemon.Start(t.Context(), m, "sh", "-c", x.script)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		if !x.asked {
			cancel() // the deaf ones are not waited for
		}
		for p.Log() == "" { // the trap is set before
			select {
			case <-p.Exited():
				t.Fatal("it ended by itself")
			default:
			}
		}
		err = p.End(ctx, syscall.SIGTERM, x.harder...)
		cancel()
		if (err == nil) != x.asked || !x.asked && !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", x.script, err)
		}
		if p.Settle(); !strings.Contains(p.Log(), x.said) {
			t.Errorf("%s: it said %q", x.script, p.Log())
		}
	}
}

func TestAServerIsReadyWhenItAnswers(t *testing.T) {
	m := enginetest.LocalMachine(t)
	refused, later := errors.New("refused"), errors.New("not yet")
	final := func(err error) bool { return errors.Is(err, refused) }
	for _, x := range []struct {
		name, script string
		answers      []error // the last for ever
		want         string  // "" is ready
	}{
		{"at once", "exec sleep 60", []error{nil}, ""},
		{"at last", "exec sleep 60", []error{later, later, nil}, ""},
		{"final", "echo some words; exec sleep 60", []error{later, refused}, "refused; its log ends"},
		{"ends", "echo last words; exit 3", []error{later}, "the server ended: exit status 3; its log ends:\nlast words"},
	} {
		p, err := daemon.Start(t.Context(), m, "sh", "-c", x.script)
		if err != nil {
			t.Fatal(err)
		}
		asked := 0
		err = p.Ready(t.Context(), func(context.Context) error {
			answer := x.answers[min(asked, len(x.answers)-1)]
			asked++
			return answer
		}, final)
		if (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", x.name, err, x.want)
		}
		if x.want == "" && asked != len(x.answers) {
			t.Errorf("%s: asked %d times", x.name, asked)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := p.Ready(ended, func(context.Context) error { return later }, final); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: after the context's end: %v", x.name, err)
		}
		_ = p.End(ended, syscall.SIGTERM)
	}
}

func TestAnotherPortIsTriedWhereOneIsTaken(t *testing.T) {
	tries := 0
	start := func(free int) error {
		err := daemon.OnFreePort(func(port int) error {
			if tries++; port <= 0 || port > 65535 {
				t.Errorf("port %d", port)
			}
			if tries == free {
				return nil
			}
			return fmt.Errorf("start: %w", daemon.ErrPortTaken)
		})
		return err
	}
	if err := start(3); err != nil || tries != 3 {
		t.Errorf("%v after %d tries, want the third to do", err, tries)
	}
	if tries = 0; !errors.Is(start(100), daemon.ErrPortTaken) || tries != 5 {
		t.Errorf("%d tries where every port is taken", tries)
	}
	other := errors.New("another")
	if err := daemon.OnFreePort(func(int) error { tries++; return other }); !errors.Is(err, other) || tries != 6 {
		t.Errorf("%v, tried again after another error", err)
	}
}

func TestProcessesAreFoundByWhereTheyWork(t *testing.T) {
	if _, err := os.Stat("/proc/self/cwd"); err != nil {
		t.Skip("this system has no /proc")
	}
	m := enginetest.LocalMachine(t)
	p, err := daemon.Start(t.Context(), m, "sh", "-c", `cd "$0" && echo there && exec sleep 60`, m.Dir())
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	defer func() { _ = p.End(ended, syscall.SIGTERM) }()
	err = p.Ready(t.Context(), func(context.Context) error {
		if p.Log() == "" {
			return errors.New("not there yet")
		}
		return nil
	}, func(error) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	all, none := func(string) bool { return true }, func(string) bool { return false }
	if got := daemon.In(m.Dir(), all); len(got) != 1 || got[0] != p.Pid() {
		t.Errorf("found %v, want %d", got, p.Pid())
	}
	if got := daemon.In(m.Dir(), none); got != nil {
		t.Errorf("found %v where none is wanted", got)
	}
	if got := daemon.In(m.Dir()+"/nowhere", all); got != nil {
		t.Errorf("found %v in a directory that is not there", got)
	}
}

func TestOnlyTheEndOfALongLogIsKept(t *testing.T) {
	m := enginetest.LocalMachine(t)
	p, err := daemon.Start(t.Context(), m, "seq", "-f", "line %.0f", "1", "100000")
	if err != nil {
		t.Fatal(err)
	}
	<-p.Exited()
	p.Settle()
	log := p.Log()
	if len(log) > 64<<10 || len(log) < 60<<10 || !strings.HasPrefix(log, "line ") || !strings.HasSuffix(log, "line 100000\n") {
		t.Errorf("%d bytes, from %q to %q", len(log), log[:min(20, len(log))], log[max(0, len(log)-20):])
	}
}

func TestFilesAreWholeAndPrivate(t *testing.T) {
	m := enginetest.LocalMachine(t)
	path := m.Dir() + "/a file"
	for i := range 2 {
		text := fmt.Sprintf("content %d\n'quoted' $x\n", i)
		if err := daemon.Put(t.Context(), m, path, text); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		info, _ := os.Stat(path)
		if err != nil || string(got) != text || info.Mode().Perm() != 0o600 {
			t.Errorf("%q, %v, %v", got, info, err)
		}
	}
	if err := daemon.Put(t.Context(), m, m.Dir()+"/no/dir", "x"); err == nil || !strings.Contains(err.Error(), "no/dir") {
		t.Errorf("a directory that is not there: %v", err)
	}
}
