//go:build linux

package native

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/providertest"
	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// saverVar says, in the environment of a test binary that a test started, in
// which cache it shall save and restore until it is killed.
const saverVar = "LOADSTONE_NATIVE_SAVER"

func TestMain(m *testing.M) {
	if cache := os.Getenv(saverVar); cache != "" {
		fmt.Fprintln(os.Stderr, saveForEver(cache))
		os.Exit(1)
	}
	providertest.Main(m, subject)
}

// saveForEver saves and restores the same golden state again and again, and
// tells of each round.
func saveForEver(cache string) error {
	ctx := context.Background()
	inst, err := New().Provision(ctx, provider.Request{Name: "saver", Cache: cache})
	if err != nil {
		return err
	}
	i := inst.(*Instance)
	fmt.Println("ready")
	for n := range 60 {
		if err := os.WriteFile(filepath.Join(i.Dir(), strconv.Itoa(n)), []byte(strings.Repeat(strconv.Itoa(n), 20_000)), 0o600); err != nil {
			return err
		}
	}
	for {
		if err := i.Save(ctx, "state", []byte("about")); err != nil {
			return err
		}
		fmt.Println("saved")
		if _, err := i.Restore(ctx, "state"); err != nil {
			return err
		}
	}
}

func TestAKilledSaveLeavesAWholeStateOrNone(t *testing.T) {
	seed := uint64(clock.Real{}.Now().UnixNano())
	if text := os.Getenv("LOADSTONE_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("LOADSTONE_SEED=%d", seed)
	draw := rng.At(seed)
	cache := open(t)
	found := 0
	for round := range 12 {
		// Every other saver is killed before it may have saved anything.
		first := round%2 == 0
		killSaver(t, cache, first, time.Duration(draw.IntN(60_000))*time.Microsecond)
		if wholeOrNone(t, cache, round) {
			found++
		}
	}
	t.Logf("%d of 12 kills left a state", found)
}

// wholeOrNone looks at what a killed saver left: nothing unfinished, and
// either no state or one that can be restored (found). It removes the state.
func wholeOrNone(t *testing.T, cache string, round int) (found bool) {
	t.Helper()
	i := made(t, cache, provider.Shape{})
	defer func() { _ = i.Close(t.Context()) }()
	for _, dir := range []string{instances(cache), filepath.Join(cache, "golden")} {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Name() != ".lock" && e.Name() != ".lock-state" && e.Name() != "state" && e.Name() != i.home.ID {
				t.Errorf("round %d: left behind: %s", round, filepath.Join(dir, e.Name()))
			}
		}
	}
	about, ok, err := i.Find(t.Context(), "state")
	if err != nil {
		t.Fatalf("round %d: %v", round, err)
	}
	if !ok {
		return false
	}
	if string(about) != "about" {
		t.Errorf("round %d: about %q", round, about)
	}
	if _, err := i.Restore(t.Context(), "state"); err != nil {
		t.Errorf("round %d: %v", round, err)
	}
	if files, err := os.ReadDir(i.Dir()); err != nil || len(files) != 60 {
		t.Errorf("round %d: %d files were restored, %v", round, len(files), err)
	}
	if err := i.Remove(t.Context(), "state"); err != nil {
		t.Error(err)
	}
	return true
}

// killSaver starts a saver, lets it go on for a while (counted from its start,
// or from its first saved state), and kills it.
func killSaver(t *testing.T, cache string, first bool, after time.Duration) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), saverVar+"="+cache)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill() }()
	// The first line says that the saver has an instance, the second that it
	// has saved.
	lines := bufio.NewReader(out)
	_, err = lines.ReadString('\n')
	if err == nil && !first {
		_, err = lines.ReadString('\n')
	}
	if err != nil {
		t.Fatalf("the saver did nothing: %v", err)
	}
	clk := clock.Real{}
	if err := clk.SleepUntil(t.Context(), clk.Now().Add(after)); err != nil {
		t.Fatal(err)
	}
}

func TestRestoreByReflink(t *testing.T) {
	mkfs, err := exec.LookPath("mkfs.xfs")
	if err != nil || os.Geteuid() != 0 {
		t.Skipf("a file system with reflinks needs root and mkfs.xfs: %v", err)
	}
	dir := open(t)
	image, mount := filepath.Join(dir, "image"), filepath.Join(dir, "mount")
	if err := os.Mkdir(mount, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][]string{
		{"truncate", "-s", "320M", image},
		{mkfs, "-q", "-m", "reflink=1", image},
		{"mount", "-o", "loop", image, mount},
	} {
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			t.Skipf("%v: %v: %s", c, err, out)
		}
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", mount).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	i := made(t, mount, provider.Shape{})
	write := i.Command(t.Context(), "sh", "-c", "head -c 60000000 /dev/urandom >big && echo small >small && chmod 640 small && : >nothing")
	if out, err := write.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := i.Save(t.Context(), "state", nil); err != nil {
		t.Fatal(err)
	}
	// Four more of them would not fit but for sharing their blocks.
	for range 4 {
		other := made(t, mount, provider.Shape{})
		done, err := other.Restore(t.Context(), "state")
		if err != nil {
			t.Fatal(err)
		}
		if done.Way != "reflink" {
			t.Errorf("restored by %s", done.Way)
		}
		if out, err := other.Command(t.Context(), "sh", "-c", "stat -c '%a %s' small && echo changed >big").CombinedOutput(); err != nil || string(out) != "640 6\n" {
			t.Errorf("%s, %v", out, err)
		}
	}
	if _, err := i.Restore(t.Context(), "state"); err != nil {
		t.Errorf("after instances wrote to their clones: %v", err)
	}
}

func TestALargeStateIsVerifiedInSamples(t *testing.T) {
	i := made(t, open(t), provider.Shape{})
	path := filepath.Join(i.Dir(), "large")
	if err := os.WriteFile(path, []byte("begin"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, int64(512*unit.MiB)); err != nil { // nearly all of it a hole
		t.Fatal(err)
	}
	if err := i.Save(t.Context(), "state", nil); err != nil {
		t.Fatal(err)
	}
	done, err := i.Restore(t.Context(), "state")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(done.Verified, "sizes of 2 files and ") {
		t.Errorf("verified %q", done.Verified)
	}
	saved := filepath.Join(i.cache, "golden", "state", "data", "large")
	f, err := os.OpenFile(saved, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// A stretch that is lost is longer than the distance between samples.
	if _, err := f.WriteAt([]byte(strings.Repeat("x", 1<<20)), 100<<20); err != nil {
		t.Fatal(err)
	}
	if _, err := i.Restore(t.Context(), "state"); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a lost stretch: %v", err)
	}
}
