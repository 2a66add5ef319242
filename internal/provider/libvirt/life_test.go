//go:build linux

package libvirt

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/providertest"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// TestEveryKnobIsReadBack has a guest with all knobs that this machine can turn,
// and lets happen to it what can happen while it runs: it migrates, its disk moves
// while it writes, its limits change.
func TestEveryKnobIsReadBack(t *testing.T) {
	shape := provider.Shape{
		CPUs: 1.5, CPUSet: "0-1", Mems: "0", Memory: 640 * unit.MiB, CPUShares: 512,
		ReadBytesPS: 64 * unit.MiB, WriteBytesPS: 32 * unit.MiB, ReadOpsPS: 2000, WriteOpsPS: 1000,
		Topology: provider.Topology{Sockets: 2, Cores: 1, Threads: 1}, VirtualNUMA: 2, LargePages: provider.LargePagesGuest,
		LatencySensitivity: "normal", DiskAdapter: "virtio-scsi", NetworkAdapter: "vmxnet3",
	}
	i := made(t, open(t), shape)
	knobs, err := i.Effective(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"instance.cpus": "1.5", "instance.vcpus": "2", "instance.cpuset": "0 | 1", "instance.mems": "0", "instance.cpu_shares": "512",
		"instance.topology": "2x1x1", "instance.vnuma": "2", "instance.large_pages": "guest",
		"instance.disk_read": "64MiB/s", "instance.disk_write": "32MiB/s", "instance.disk_read_ops": "2000/s", "instance.disk_write_ops": "1000/s",
		"instance.disk_adapter": "virtio-scsi", "instance.network_adapter": "vmxnet3", "instance.network_driver": "vmxnet3",
		"instance.latency": "normal",
	}
	for _, k := range knobs {
		if text, ok := want[k.Name]; ok && k.Effective != text || !k.Matches {
			t.Errorf("knob %+v, want %q", k, text)
		}
		delete(want, k.Name)
	}
	if len(want) > 0 {
		t.Errorf("not read back: %v", want)
	}
	migrates(t, i)
	moveDisk(t, i)
	resized(t, i)
	changedOutside(t, i)
	saveLast(t, i)
}

// saveLast saves a state after which the guest stays halted.
func saveLast(t *testing.T, i *Instance) {
	if err := i.SaveLast(t.Context(), "last", []byte(`{"rows": 2}`)); err != nil {
		t.Fatal(err)
	}
	if about, ok, err := i.Find(t.Context(), "last"); !ok || err != nil || string(about) != `{"rows": 2}` {
		t.Errorf("found %q, %v, %v", about, ok, err)
	}
	if _, there := i.pid(); there {
		t.Error("the guest runs again")
	}
	if err := i.Command(t.Context(), "true").Run(); err == nil {
		t.Error("a halted guest ran a command")
	}
	if err := i.Remove(t.Context(), "last"); err != nil {
		t.Fatal(err)
	}
}

// changedOutside holds that reading back finds what somebody else changed.
func changedOutside(t *testing.T, i *Instance) {
	if err := i.conn.DomainPinVcpu(i.domain, 1, []byte{1}); err != nil {
		t.Fatal(err)
	}
	knobs, err := i.Effective(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n := slices.IndexFunc(knobs, func(k provider.Knob) bool { return k.Name == "instance.cpuset" })
	if knobs[n].Matches || knobs[n].Effective != "0 | 0" {
		t.Errorf("after a virtual CPU was moved: %+v", knobs[n])
	}
}

func moveDisk(t *testing.T, i *Instance) {
	sh(t, i, "head -c 3000000 /dev/urandom >f; cksum f >sum")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	writer := i.Command(ctx, "sh", "-c", "while :; do date >>log; sync log; done")
	if err := writer.Start(); err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	old := i.plan.data
	moved, err := i.MoveStorage(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	_ = writer.Wait()
	t.Logf("moved %+v", moved)
	if exists(old) || !exists(i.plan.data) || filepath.Dir(i.plan.data) != to || moved.Bytes < 3_000_000 {
		t.Errorf("the old disk is there: %v, the new one: %v", exists(old), exists(i.plan.data))
	}
	text, err := i.conn.DomainGetXMLDesc(i.domain, 0)
	if err != nil || !strings.Contains(text, i.plan.data) {
		t.Errorf("the machine does not use %s: %v", i.plan.data, err)
	}
	sh(t, i, "[ \"$(cksum f)\" = \"$(cat sum)\" ] && echo more >>f && sync f")
}

// ownerVar says, in the environment of this test's binary, that it shall make an
// instance in a cache and wait to be killed.
const ownerVar = "LOADSTONE_LIBVIRT_OWNER"

// TestKillLeavesNothing kills an owner so that it can do nothing more, and looks
// whether its guest goes, and whether what it left is found and removed but
// nothing of the living, which removes it when the next instance is made, too.
func TestKillLeavesNothing(t *testing.T) {
	if cache := os.Getenv(ownerVar); cache != "" {
		own(t, cache)
		return
	}
	cache := open(t)
	live := made(t, cache, small)
	owner := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestKillLeavesNothing$", "-test.v")
	owner.Env = append(os.Environ(), ownerVar+"="+cache)
	out, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdin, err := owner.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	var dead *Instance
	lines := bufio.NewScanner(out)
	for dead == nil && lines.Scan() {
		if dir, ok := strings.CutPrefix(lines.Text(), "made "); ok {
			dead = &Instance{plan: &plan{name: namePrefix + filepath.Base(dir), owner: dir}}
		}
	}
	if dead == nil {
		t.Fatal("the owner made nothing")
	}
	if _, there := dead.pid(); !there {
		t.Fatal("the owner's guest does not even run")
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait()
	eventually(t, "the guest ends with its owner", func() bool { _, there := dead.pid(); return !there })
	removeLeft(t, cache, dead.plan.owner, owner.Process.Pid)
	if exists(dead.plan.owner) {
		t.Error("the directory of a dead owner stays")
	}
	if err := live.sweep(t.Context()); err != nil { // as the next provision does
		t.Fatal(err)
	}
	if got := sh(t, live, "echo alive"); got != "alive" {
		t.Errorf("sweeping hurt another instance: %q", got)
	}
	for range 2 {
		if err := live.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if left := leftovers(t, cache); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// removeLeft removes what is left of the instance in dir, whose owner was the
// process pid, and nothing else is.
func removeLeft(t *testing.T, cache, dir string, pid int) {
	t.Helper()
	found, err := New().(provider.Cleaner).Leftovers(t.Context(), cache)
	if err != nil || len(found) != 1 {
		t.Fatalf("left are %+v, %v", found, err)
	}
	if l := found[0]; l.What != dir || l.Owner.PID != pid || l.Since.IsZero() || !strings.Contains(l.Why, strconv.Itoa(pid)) {
		t.Errorf("left is %+v, want %s of process %d", l, dir, pid)
	}
	if err := found[0].Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if found, err = New().(provider.Cleaner).Leftovers(t.Context(), cache); err != nil || len(found) > 0 {
		t.Errorf("after removing: %+v, %v", found, err)
	}
}

func own(t *testing.T, cache string) {
	inst, err := New().Provision(t.Context(), provider.Request{Name: "subject", Shape: small, Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	println := func(s string) { _, _ = os.Stdout.WriteString(s + "\n") }
	println("")
	println("made " + inst.(*Instance).home.Dir)
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // for ever
}

// stepper is a context that ends after it was asked a number of times.
type stepper struct {
	context.Context
	left   int
	cancel context.CancelFunc
}

func (s *stepper) Err() error {
	if s.left--; s.left < 0 {
		s.cancel()
	}
	return s.Context.Err()
}

// TestCancelledProvisionLeavesNothing ends the context at each of provisioning's
// looks at it, and once while the guest boots.
func TestCancelledProvisionLeavesNothing(t *testing.T) {
	need(t, small)
	cache := open(t)
	try := func(ctx context.Context) error {
		inst, err := New().Provision(ctx, provider.Request{Name: "subject", Shape: small, Cache: cache})
		if err == nil {
			err = inst.Close(ctx)
		} else if left := leftovers(t, cache); len(left) > 0 || inst != nil {
			t.Errorf("after %v: left behind: %v", err, left)
		}
		return err
	}
	// The first steps, which take no boot.
	for n := range 10 {
		ctx, cancel := context.WithCancel(t.Context())
		if err := try(&stepper{ctx, n, cancel}); err == nil {
			t.Errorf("cancelled at look %d, it succeeded", n)
		}
		cancel()
	}
	// Killed where something has just been made: the mark, the directory's own
	// files and the disk.
	for _, n := range []int{5, 7, 9} {
		providertest.KillAtStep(t, New, cache, n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		eventually(t, "a guest begins", func() bool {
			dirs := leftovers(t, cache)
			return slices.ContainsFunc(dirs, func(d string) bool {
				_, there := (&Instance{plan: &plan{name: namePrefix + filepath.Base(d)}}).pid()
				return there
			})
		})
	}()
	if err := try(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled in mid-boot: %v", err)
	}
}
