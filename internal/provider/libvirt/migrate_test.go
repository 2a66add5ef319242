//go:build linux

package libvirt

import (
	"bufio"
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/observe"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// migrates moves a running guest to another emulator and back, while a session
// with a server in it stays open and its counters are read.
func migrates(t *testing.T, i *Instance) {
	if err := i.ReadyToMigrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	sh(t, i, "head -c 3000000 /dev/urandom >f; cksum f >sum; mkdir -m 700 run")
	socket := filepath.Join(i.Dir(), "run", "shouter")
	server := i.Command(context.WithoutCancel(t.Context()), "perl", "-e", shouter, socket)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the server's socket is on the host", func() bool { return exists(socket) })
	var session net.Conn
	eventually(t, "the server takes a session", func() (ok bool) {
		var err error
		session, err = net.Dial("unix", socket)
		return err == nil
	})
	defer func() { _ = session.Close() }()
	ask(t, session, "before")
	cutShort(t, i)
	ask(t, session, "still here")
	counters := i.Sources()
	totals := readAll(t, counters)
	for n, name := range []string{"there", "and back"} {
		old := i.plan.name
		done, err := i.Migrate(t.Context())
		if err != nil {
			t.Fatalf("%s: %v; the daemon says:\n%s", name, err, tail(filepath.Join(filepath.Dir(filepath.Dir(i.daemon.socket)), "daemon.log")))
		}
		t.Logf("%s: %+v", name, done)
		if done.Downtime <= 0 || done.Downtime > done.Took || done.Bytes < 20*unit.MiB {
			t.Errorf("%s: %+v: no such migration", name, done)
		}
		if _, there := emulatorOf(old); there || i.plan.name == old {
			t.Errorf("%s: the emulator that the guest left still runs", name)
		}
		ask(t, session, name)
		if got := sh(t, i, "[ \"$(cksum f)\" = \"$(cat sum)\" ] && echo the same"); got != "the same" {
			t.Errorf("%s: the disk says %q", name, got)
		}
		knobs, err := i.Effective(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range knobs {
			if !k.Matches {
				t.Errorf("%s: %+v", name, k)
			}
		}
		after := readAll(t, counters)
		for at, was := range totals {
			if now := after[at]; now < was {
				t.Errorf("move %d: %s was %v and is %v", n+1, at, was, now)
			}
		}
		totals = after
	}
	if left := leftoverDaemons(t, i); left > 1 {
		t.Errorf("the guest is known to %d daemons", left)
	}
	_ = session.Close()
	sh(t, i, "pkill perl; rm -rf run")
	_ = server.Wait()
}

// cutShort ends a migration in its middle: the guest stays where it is.
func cutShort(t *testing.T, i *Instance) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	at := i.plan.name
	if _, err := i.Migrate(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a migration that was cut short: %v", err)
	}
	if _, there := emulatorOf(at); !there || i.plan.name != at || i.travel.moves.Load() != 0 {
		t.Errorf("after a migration that was cut short the guest is %s", i.plan.name)
	}
}

// ask sends a word to the shouter and waits for its answer.
func ask(t *testing.T, session net.Conn, word string) {
	t.Helper()
	if _, err := session.Write([]byte(word + "\n")); err != nil {
		t.Fatal(err)
	}
	got, err := bufio.NewReader(session).ReadString('\n')
	if err != nil || got != strings.ToUpper(word)+"\n" {
		t.Fatalf("the session answers %q to %q: %v", got, word, err)
	}
}

// readAll reads every total of sources, by source and column.
func readAll(t *testing.T, sources []observe.Source) map[string]float64 {
	t.Helper()
	all := map[string]float64{}
	for _, s := range sources {
		out := make([]float64, len(s.Columns()))
		if err := s.Read(t.Context(), out); err != nil {
			t.Fatal(err)
		}
		for n, c := range s.Columns() {
			if c.Total && out[n] == out[n] {
				all[s.Name()+"."+c.Name] = out[n]
			}
		}
	}
	if all["domain.cpu_s"] <= 0 || all["cgroup.cpu_user_s"] <= 0 || all["guest.cpu_user_s"] <= 0 {
		t.Errorf("not counted: %v", all)
	}
	return all
}

// leftoverDaemons is how many of our daemons know the guest.
func leftoverDaemons(t *testing.T, i *Instance) (n int) {
	t.Helper()
	for _, name := range []string{"libvirt", "libvirt-2"} {
		d, ok := runningDaemon(filepath.Join(guests(i.cache), name))
		if !ok {
			continue
		}
		conn, err := d.connect()
		if err != nil {
			t.Fatal(err)
		}
		domains, _, err := conn.ConnectListAllDomains(1, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, dom := range domains {
			if strings.Contains(dom.Name, i.home.ID) {
				n++
			}
		}
		_ = conn.Disconnect()
	}
	return n
}

// resized changes every limit of a running guest and reads it back.
func resized(t *testing.T, i *Instance) {
	t.Helper()
	to := i.shape
	to.CPUs, to.CPUShares, to.Memory, to.ReadOpsPS = 0.5, 256, 384*unit.MiB, 300
	if found := (Provider{}).CheckResize(i.shape, to); len(found) > 0 {
		t.Fatal(found)
	}
	if err := i.Resize(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	knobs, err := i.Effective(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"instance.cpus": "0.5", "instance.cpu_shares": "256", "instance.disk_read_ops": "300/s", "instance.memory": "384 MiB"}
	for _, k := range knobs {
		if text, ok := want[k.Name]; ok && !strings.HasPrefix(k.Effective, text) || !k.Matches {
			t.Errorf("after Resize: %+v, want %q", k, text)
		}
		delete(want, k.Name)
	}
	if len(want) > 0 {
		t.Errorf("not read back: %v", want)
	}
}

func TestWhatAGuestCantGetWhileItRuns(t *testing.T) {
	from := provider.Shape{CPUs: 2, Memory: unit.GiB}
	for _, c := range []struct {
		name string
		to   provider.Shape
		knob string
	}{
		{"more CPUs than virtual ones", provider.Shape{CPUs: 3, Memory: unit.GiB}, "instance.cpus"},
		{"more memory than it began with", provider.Shape{CPUs: 2, Memory: 2 * unit.GiB}, "instance.memory"},
		{"too little memory", provider.Shape{CPUs: 2, Memory: 64 * unit.MiB}, "instance.memory"},
		{"a limit that it began without", provider.Shape{CPUs: 2, Memory: unit.GiB, ReadOpsPS: 100}, "instance.disk_read_ops"},
		{"a limit taken away", provider.Shape{CPUs: 2}, "instance.memory"},
		{"nothing wrong", provider.Shape{CPUs: 0.5, Memory: 512 * unit.MiB}, ""},
	} {
		found := (Provider{}).CheckResize(from, c.to)
		if c.knob == "" && len(found) > 0 || c.knob != "" && (len(found) != 1 || found[0].Knob != c.knob) {
			t.Errorf("%s: %+v, want a problem of %q", c.name, found, c.knob)
		}
	}
}
