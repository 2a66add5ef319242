//go:build linux

package libvirt

import (
	"encoding/xml"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/home"
)

func TestTheMarkOfAMachineTellsItsOwner(t *testing.T) {
	o := home.Owner{PID: 4711, StartTime: 99, Boot: "b & c", Space: "pid:[1]"}
	var m mark
	if err := xml.Unmarshal([]byte(metadata("/c/guests/<x>", o)), &m); err != nil {
		t.Fatal(err)
	}
	if got := (home.Owner{PID: m.Owner.PID, StartTime: m.Owner.Start, Boot: m.Owner.Boot, Space: m.Owner.Space}); m.Home != "/c/guests/<x>" || got != o {
		t.Errorf("%q of %+v", m.Home, got)
	}
}

// TestMachinesAreOrphansOnlyWhereTheirOwnersAreKnownToBeDead: a machine whose
// directory can't be seen from here may be of another Loadstone that lives in a
// container.
func TestMachinesAreOrphansOnlyWhereTheirOwnersAreKnownToBeDead(t *testing.T) {
	self, err := home.Self()
	if err != nil {
		t.Fatal(err)
	}
	dead, elsewhere := self, self
	dead.StartTime++
	elsewhere.Space = "pid:[1]"
	here, gone := t.TempDir(), filepath.Join(t.TempDir(), "gone")
	for name, c := range map[string]struct {
		dir   string
		owner home.Owner
		want  bool
	}{
		"dead": {gone, dead, true}, "alive": {gone, self, false}, "not known": {gone, elsewhere, false},
		"its directory is there": {here, dead, false}, "before the last boot": {gone, home.Owner{PID: self.PID, Boot: "another"}, true},
	} {
		if got := (machine{home: c.dir, owner: c.owner}).orphaned(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestWhatAMachineLeftElsewhereIsRemovedWithoutADaemon leaves what an owner does
// that died where no guest runs any more: its directory, a disk on another
// volume, an emulator that outlived its daemon; and half an image.
func TestWhatAMachineLeftElsewhereIsRemovedWithoutADaemon(t *testing.T) {
	if answers() {
		t.Skip("the system's libvirt answers")
	}
	cache, volume := t.TempDir(), t.TempDir()
	me := home.Account{UID: os.Geteuid(), GID: os.Getegid(), Name: "me"}
	h, err := home.New(t.Context(), clock.Real{}, guests(cache), "subject", me)
	if err != nil {
		t.Fatal(err)
	}
	disk, foreign := filepath.Join(volume, namePrefix+h.ID+".qcow2"), filepath.Join(volume, "other.qcow2")
	making := filepath.Join(images(cache), makingImage+"root")
	busy := filepath.Join(images(cache), makingImage+"busy")
	for _, path := range []string{disk, disk + newDisk, foreign, filepath.Join(making, "out"), filepath.Join(busy, "out")} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, make([]byte, 100), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	lock, err := home.LockFile(t.Context(), clock.Real{}, filepath.Join(images(cache), lockOfImage+"busy"), unix.LOCK_EX)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	i := &Instance{home: h}
	if err := errors.Join(i.announce(disk), i.announce(foreign), i.announce(filepath.Join(h.Dir, "vm", "data.qcow2"))); err != nil {
		t.Fatal(err)
	}
	// A program with an emulator's arguments.
	emulator := exec.Command("perl", "-e", "sleep 1000", "--", "-name", "guest="+namePrefix+h.ID+",debug-threads=on")
	if err := emulator.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- emulator.Wait() }()
	clean := New().(provider.Cleaner)
	if found, err := clean.Leftovers(t.Context(), cache); err != nil || len(found) != 1 || found[0].What != making {
		t.Errorf("while the owner lives: %+v, %v", found, err)
	}
	if err := h.Abandon(); err != nil {
		t.Fatal(err)
	}
	found, err := clean.Leftovers(t.Context(), cache)
	if err != nil || len(found) != 2 || found[0].What != h.Dir || found[1].What != making {
		t.Fatalf("left are %+v, %v", found, err)
	}
	if parts := strings.Join(found[0].Parts, "\n"); !strings.Contains(parts, disk) || !strings.Contains(parts, "process ") {
		t.Errorf("with it are %s", parts)
	}
	for _, l := range found {
		if err := l.Remove(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := <-ended; err == nil {
		t.Error("the emulator was not ended")
	}
	for path, stays := range map[string]bool{h.Dir: false, disk: false, disk + newDisk: false, making: false, foreign: true, busy: true} {
		if exists(path) != stays {
			t.Errorf("%s is there: %v", path, !stays)
		}
	}
}

// TestAFullDiskIsToldAsOne makes disks where there is no room for them.
func TestAFullDiskIsToldAsOne(t *testing.T) {
	if _, err := exec.LookPath("qemu-img"); err != nil {
		need(t, small)
	}
	if os.Geteuid() != 0 {
		t.Skip("a full disk is made with a mount, which needs root")
	}
	dir := t.TempDir()
	raw := filepath.Join(t.TempDir(), "raw")
	if err := os.WriteFile(raw, []byte(strings.Repeat("data", 1<<20)), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=1m,nr_inodes=2", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("mount: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	to := filepath.Join(dir, "disk")
	if err := qemuImg(t.Context(), "convert", "-q", "-f", "raw", "-O", "qcow2", raw, to); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("4 MiB in 1 MiB: %v", err)
	}
	if err := overlay(t.Context(), raw, "raw", filepath.Join(dir, "another")); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("without a free inode: %v", err)
	}
	if err := overlay(t.Context(), filepath.Join(dir, "nowhere"), "raw", to); err == nil || errors.Is(err, unix.ENOSPC) {
		t.Errorf("over a disk that is not there: %v", err)
	}
}

// TestGuestsAreVirtualAndSaySo: large pages of guest and host are told apart by
// it, and a reader is told of emulation before and after a run.
func TestGuestsAreVirtualAndSaySo(t *testing.T) {
	if v, ok := New().(provider.Virtualizer); !ok || !v.Virtual() {
		t.Error("guests are not virtual")
	}
	notes := strings.Join(New().(provider.Noter).Notes(t.Context(), small), "\n")
	var w provider.Warner = &Instance{plan: &plan{kvm: HasKVM(), hostAddress: "198.18.0.1", data: "/nowhere"}}
	warnings := strings.Join(w.Warnings(), "\n")
	if emulated := !HasKVM(); strings.Contains(notes, emulatedNote) != emulated || strings.Contains(warnings, emulatedNote) != emulated {
		t.Errorf("emulated: %v; the notes are %q, the warnings %q", emulated, notes, warnings)
	}
}
