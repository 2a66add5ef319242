//go:build linux

package libvirt

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/providertest"
)

// TestAGuest tries all that an instance promises on one machine, because each
// boot of an emulated one takes many seconds.
func TestAGuest(t *testing.T) {
	cache := open(t)
	i := made(t, cache, small)
	for _, c := range []struct {
		name string
		run  func(*testing.T, *Instance)
	}{
		{"TheDirectoryIsEmptyAndOnTheDataDisk", directoryIsEmpty},
		{"TheImageIsReadOnly", imageReadOnly},
		{"ExitStatus", exitStatus},
		{"ProgramsThatAreNotThere", programsMissing},
		{"InputAndOutputsAreThreePipes", threePipes},
		{"LargeDataGoesThroughUnchanged", largeData},
		{"InputThatNobodyReads", inputUnread},
		{"SignalsArePassedOn", signalsPass},
		{"ADaemonHoldsTheOutput", daemonHolds},
		{"ManyAtTheSameTime", manyAtOnce},
		{"ABusyInstanceIsNotSaved", busyNotSaved},
		{"CountersCount", countersCount},
		{"SocketsAreReachable", socketsReachable},
		{"AStrangerIsRefused", strangerRefused},
		{"GoldenStates", goldenStates},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, i) })
	}
	providertest.RunOn(t, New, cache, i) // its last test kills the emulator, and closes
	if err := i.Command(t.Context(), "true").Run(); err == nil {
		t.Error("a closed instance ran a command")
	}
	if left := leftovers(t, cache); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// leftovers lists what is below cache of instances.
func leftovers(t *testing.T, cache string) []string {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(guests(cache), "subject-*"))
	if err != nil {
		t.Fatal(err)
	}
	return left
}

// sh runs a script in the guest and returns what it printed.
func sh(t *testing.T, i *Instance, script string, args ...string) string {
	t.Helper()
	out, err := i.Command(t.Context(), "sh", append([]string{"-c", script, "sh"}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

// eventually waits until done says so, for half a minute at most.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	clk := clock.Real{}
	for range 1500 {
		if done() {
			return
		}
		if err := clk.SleepUntil(t.Context(), clk.Now().Add(20*time.Millisecond)); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatalf("not yet: %s", what)
}

func directoryIsEmpty(t *testing.T, i *Instance) {
	if got := sh(t, i, "ls -A; stat -f -c %T ."); got != "ext2/ext3" {
		t.Errorf("a new directory has %q", got)
	}
	if cpus, memory := i.Capacity(); cpus != small.CPUs || memory != small.Memory {
		t.Errorf("the capacity is %v CPUs and %s", cpus, memory)
	}
	if got := sh(t, i, "pwd"); got != i.Dir() {
		t.Errorf("commands begin in %s, not in %s", got, i.Dir())
	}
}

func imageReadOnly(t *testing.T, i *Instance) {
	if out, err := i.Command(t.Context(), "touch", "/usr/x").CombinedOutput(); err == nil {
		t.Errorf("a command wrote to the image: %s", out)
	}
	if uid := sh(t, i, "id -u"); uid != strconv.Itoa(i.user.UID) {
		t.Errorf("commands run as user %s", uid)
	}
}

func exitStatus(t *testing.T, i *Instance) {
	for _, c := range []struct {
		script string
		want   int
	}{{"exit 0", 0}, {"exit 7", 7}, {"exit 255", 255}, {"kill -9 $$", 137}, {"kill -TERM $$", 143}, {"/nowhere", 127}} {
		err := i.Command(t.Context(), "sh", "-c", c.script).Run()
		got := 0
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			got = exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if got != c.want {
			t.Errorf("%s ends with %d, want %d", c.script, got, c.want)
		}
	}
}

func programsMissing(t *testing.T, i *Instance) {
	// The host has qemu-img, the guest has not.
	out, err := i.Command(t.Context(), "qemu-img").CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 127 || !strings.Contains(string(out), "qemu-img") {
		t.Errorf("a program that is on the host only: %v, %s", err, out)
	}
}

func threePipes(t *testing.T, i *Instance) {
	cmd := i.Command(t.Context(), "sh", "-c", "cat; echo err >&2; echo out")
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("in\n"), &out, &errs
	if err := cmd.Run(); err != nil || out.String() != "in\nout\n" || errs.String() != "err\n" {
		t.Errorf("out %q, err %q, %v", &out, &errs, err)
	}
}

func largeData(t *testing.T, i *Instance) {
	var data []byte
	for sum := sha256.Sum256(nil); len(data) < 2<<20; sum = sha256.Sum256(sum[:]) {
		data = append(data, sum[:]...)
	}
	cmd := i.Command(t.Context(), "cat")
	cmd.Stdin = bytes.NewReader(data)
	out, err := cmd.Output()
	if err != nil || sha256.Sum256(out) != sha256.Sum256(data) {
		t.Errorf("%d bytes come back of %d, %v", len(out), len(data), err)
	}
}

func inputUnread(t *testing.T, i *Instance) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	defer r.Close()
	cmd := i.Command(t.Context(), "echo", "done")
	cmd.Stdin = r // stays open, and empty
	if out, err := cmd.Output(); err != nil || string(out) != "done\n" {
		t.Errorf("%q, %v", out, err)
	}
}

func signalsPass(t *testing.T, i *Instance) {
	for _, s := range []struct {
		signal syscall.Signal
		name   string
	}{{syscall.SIGINT, "INT"}, {syscall.SIGQUIT, "QUIT"}, {syscall.SIGTERM, "TERM"}, {syscall.SIGHUP, "HUP"}} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		cmd := i.Command(ctx, "sh", "-c", "trap 'echo got; exit 3' "+s.name+"; echo ready; while :; do sleep 0.05; done")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var word string
		if _, err := fmt.Fscan(out, &word); err != nil || word != "ready" {
			t.Fatalf("%q, %v", word, err)
		}
		if err := cmd.Process.Signal(s.signal); err != nil {
			t.Fatal(err)
		}
		rest, _ := io.ReadAll(out)
		err = cmd.Wait()
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 3 || strings.TrimSpace(string(rest)) != "got" {
			t.Errorf("%v: said %q, ended with %v", s.signal, rest, err)
		}
	}
}

// daemonHolds starts a process that outlives its parent and holds the output:
// the parent's end, with all that it wrote, is seen at once.
func daemonHolds(t *testing.T, i *Instance) {
	out, err := i.Command(t.Context(), "sh", "-c", "sleep 1000 & seq 20000").Output()
	if err != nil || !strings.HasSuffix(string(out), "\n20000\n") {
		t.Errorf("%d bytes, %v", len(out), err)
	}
	if n, err := i.link.agent.Busy(); err != nil || n != 1 {
		t.Errorf("%d processes run, %v", n, err)
	}
	sh(t, i, "pkill sleep")
	eventually(t, "nothing runs", func() bool { n, err := i.link.agent.Busy(); return n == 0 && err == nil })
}

func manyAtOnce(t *testing.T, i *Instance) {
	const many = 8
	got := make(chan string, many)
	for n := range many {
		go func() {
			out, err := i.Command(t.Context(), "sh", "-c", fmt.Sprintf("cat; echo %d", n)).Output()
			if err != nil {
				out = []byte(err.Error())
			}
			got <- strings.TrimSpace(string(out))
		}()
	}
	seen := map[string]bool{}
	for range many {
		seen[<-got] = true
	}
	if len(seen) != many {
		t.Errorf("%d answers: %v", len(seen), seen)
	}
}

func busyNotSaved(t *testing.T, i *Instance) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := i.Command(ctx, "sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a process runs", func() bool { n, err := i.link.agent.Busy(); return n == 1 && err == nil })
	if err := i.Save(t.Context(), "busy", nil); err == nil || !strings.Contains(err.Error(), "processes still run") {
		t.Errorf("saving a busy instance: %v", err)
	}
	cancel()
	_ = cmd.Wait()
	eventually(t, "nothing runs", func() bool { n, err := i.link.agent.Busy(); return n == 0 && err == nil })
}

func countersCount(t *testing.T, i *Instance) {
	sources := map[string]func() map[string]float64{}
	for _, s := range i.Sources() {
		sources[s.Name()] = func() map[string]float64 {
			out := make([]float64, len(s.Columns()))
			if err := s.Read(t.Context(), out); err != nil {
				t.Fatal(err)
			}
			m := map[string]float64{}
			for n, c := range s.Columns() {
				if c.Name == "" || c.About == "" {
					t.Errorf("column %+v of %s", c, s.Name())
				}
				m[c.Name] = out[n]
			}
			return m
		}
	}
	before := map[string]map[string]float64{}
	for _, name := range []string{"domain", "guest"} {
		if sources[name] == nil {
			t.Fatalf("no source %s", name)
		}
		before[name] = sources[name]()
	}
	sh(t, i, "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; head -c 3000000 /dev/zero >f; sync f; rm f")
	after := map[string]map[string]float64{"domain": sources["domain"](), "guest": sources["guest"]()}
	for _, c := range []struct {
		source, column string
		least          float64
	}{
		{"domain", "cpu_s", 0.05}, {"domain", "vcpu_run_s", 0.05}, {"domain", "write_bytes", 3e6}, {"domain", "flushes", 1},
		{"guest", "cpu_user_s", 0.02}, {"guest", "disk_vdb_write_bytes", 3e6}, {"guest", "forks", 1},
	} {
		if d := after[c.source][c.column] - before[c.source][c.column]; !(d >= c.least) {
			t.Errorf("%s.%s grew by %v, at least %v expected", c.source, c.column, d, c.least)
		}
	}
	if v := after["domain"]["vcpu_ready_s"]; math.IsNaN(v) || v < 0 {
		t.Errorf("ready time is %v", v)
	}
	if v := after["guest"]["cpu_steal_s"]; math.IsNaN(v) {
		t.Error("no steal in the guest")
	}
	if v := after["guest"]["mem_total_bytes"]; v < 300e6 || v > float64(small.Memory) {
		t.Errorf("the guest has %v bytes", v)
	}
	if v := after["guest"]["clock_offset_s"]; math.Abs(v) > 5 {
		t.Errorf("the guest's clock is %v s off", v)
	}
}

// shouter is a server on a Unix socket: it gives back what it is sent, in upper
// case, and ends in good order when it is interrupted. A database takes minutes
// to make where everything is emulated.
const shouter = `
use IO::Socket::UNIX;
my $path = shift;
$SIG{CHLD} = 'IGNORE';
$SIG{INT} = sub { unlink $path; exit 0 };
my $s = IO::Socket::UNIX->new(Local => $path, Listen => 10) or die "listen: $!";
while (1) {
	my $c = $s->accept or next;
	next if fork;
	while (sysread($c, my $b, 65536)) { print $c uc $b; $c->flush }
	exit 0;
}`

// socketsReachable starts a server in the guest and asks it from the host, at
// the same path.
func socketsReachable(t *testing.T, i *Instance) {
	sh(t, i, "mkdir -m 700 run")
	socket := filepath.Join(i.Dir(), "run", "shouter")
	server := i.Command(context.WithoutCancel(t.Context()), "perl", "-e", shouter, socket)
	var log bytes.Buffer
	server.Stdout, server.Stderr = &log, &log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the server's socket is on the host", func() bool { return exists(socket) })
	if st, err := os.Stat(socket); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the socket on the host: %v, %v", st, err)
	}
	silent, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	// More than any buffer on the way holds, beside a connection that says
	// nothing.
	sent := bytes.Repeat([]byte("a line of text\n"), 100_000)
	var got []byte
	eventually(t, "the server answers", func() bool {
		got, err = converse(socket, sent)
		return err == nil
	})
	if !bytes.Equal(got, bytes.ToUpper(sent)) {
		t.Errorf("%d bytes come back of %d; the server says %s", len(got), len(sent), &log)
	}
	if err := server.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(); err != nil {
		t.Errorf("the server ended with %v; it says %s", err, &log)
	}
	_ = silent.Close()
	eventually(t, "the socket goes from the host", func() bool { return !exists(socket) && !exists(filepath.Dir(socket)) })
	sh(t, i, "rm -r run")
}

// converse sends all of it while it reads what comes back.
func converse(socket string, sent []byte) ([]byte, error) {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	go func() {
		_, _ = conn.Write(sent)
		_ = conn.(*net.UnixConn).CloseWrite()
	}()
	return io.ReadAll(conn)
}

// strangerRefused connects to the agent as somebody else on this machine could.
func strangerRefused(t *testing.T, i *Instance) {
	if i.plan.hostAddress == "" {
		t.Skip("the guest has no network with the host")
	}
	l := &link{config: i.link.config}
	l.config.Token = strings.Repeat("0", len(l.config.Token))
	conn, err := l.dial("/proc/self/fd/0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if n, err := conn.Read(make([]byte, 1)); err == nil {
		t.Errorf("a stranger reads %d bytes", n)
	}
}

func goldenStates(t *testing.T, i *Instance) {
	ctx := t.Context()
	if _, err := i.Restore(ctx, "state"); err == nil {
		t.Fatal("a state that is not there was restored")
	}
	sh(t, i, "echo one >a && mkdir -m 700 sub && head -c 2000000 /dev/urandom >sub/b && ln -s a link")
	const listing = `find . -printf '%P %y %m %s %l %U %G\n' | sort; find . -type f -exec cksum {} + | sort -k3`
	want := sh(t, i, listing)
	if err := i.Save(ctx, "state", []byte(`{"rows": 1}`)); err != nil {
		t.Fatal(err)
	}
	if got := sh(t, i, listing); got != want {
		t.Errorf("after saving there is\n%s, before\n%s", got, want)
	}
	sh(t, i, "rm a; echo x >>sub/b; echo new >new")
	first, err := i.Restore(ctx, "state")
	if err != nil {
		t.Fatal(err)
	}
	if got := sh(t, i, listing); got != want {
		t.Errorf("after restoring there is\n%s, saved was\n%s", got, want)
	}
	if first.Digest == "" || first.Verified == "" || first.Way == "" || first.Bytes < 2_000_000 {
		t.Errorf("restored %+v", first)
	}
	t.Logf("restored %+v", first)
	if about, ok, err := i.Find(ctx, "state"); !ok || err != nil || string(about) != `{"rows": 1}` {
		t.Errorf("found %q, %v, %v", about, ok, err)
	}
	damage(t, filepath.Join(guests(i.cache), "golden", "state", "data", goldenDisk))
	sh(t, i, "echo untouched >mine")
	if _, err := i.Restore(ctx, "state"); !errors.Is(err, provider.ErrDamaged) {
		t.Errorf("restoring a damaged state gives %v", err)
	}
	if got := sh(t, i, "cat mine"); got != "untouched" {
		t.Errorf("a failed restore left %q", got)
	}
	for range 2 {
		if err := i.Remove(ctx, "state"); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok, err := i.Find(ctx, "state"); ok || err != nil {
		t.Errorf("after removal: %v, %v", ok, err)
	}
}

// damage flips one bit.
func damage(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := []byte{0}
	if _, err := f.ReadAt(b, 400_000); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 4
	if _, err := f.WriteAt(b, 400_000); err != nil {
		t.Fatal(err)
	}
}
