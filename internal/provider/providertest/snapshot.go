package providertest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/provider"
)

// keeper is an instance that keeps golden states.
type keeper interface {
	provider.Machine
	provider.Snapshotter
	provider.Instance
}

func (s suite) keeper(t *testing.T, cache string) keeper {
	t.Helper()
	k, ok := s.provision(t, cache, provider.Shape{}).(keeper)
	if !ok {
		t.Skip("instances of this provider keep no golden states")
	}
	return k
}

// fill makes a tree with everything that a database's directory may hold.
const fill = `
mkdir -p base/1 pg_wal empty && umask 077
i=0; while [ $i -lt 40 ]; do echo "row $i of many" >base/1/$i; i=$((i+1)); done
head -c 3000000 /dev/urandom >base/big
: >base/nothing
echo end | dd of=base/sparse bs=1 seek=50000000 2>/dev/null
dd if=/dev/null of=base/hole bs=1 seek=40000000 2>/dev/null
ln -s base/big link && ln -s /nowhere dangling
chmod 600 base/big && chmod 750 pg_wal && chmod 4711 base/1/7
echo 'odd name' >"base/a b'c"
mkdir locked && echo x >locked/in && chmod 500 locked
`

// listing describes every file below the instance's directory, contents
// included.
const listing = `find . -printf '%P %y %m %s %l %U %G\n' | sort; find . -type f -exec cksum {} + | sort -k3; du -k base/sparse base/hole`

func snapshotRoundTrip(t *testing.T, s suite) {
	cache := s.dir(t)
	k := s.keeper(t, cache)
	if _, ok, err := k.Find(t.Context(), "state-1"); ok || err != nil {
		t.Fatalf("before saving: %v, %v", ok, err)
	}
	if _, err := k.Restore(t.Context(), "state-1"); err == nil {
		t.Fatal("a state that is not there was restored")
	}
	sh(t, k, fill)
	want := sh(t, k, listing)
	if err := k.Save(t.Context(), "state-1", []byte(`{"rows": 40}`)); err != nil {
		t.Fatal(err)
	}
	if got := sh(t, k, listing); got != want {
		t.Errorf("saving changed the directory:\n%s", diff(want, got))
	}
	if about, ok, err := k.Find(t.Context(), "state-1"); !ok || err != nil || string(about) != `{"rows": 40}` {
		t.Errorf("found %q, %v, %v", about, ok, err)
	}
	sh(t, k, "rm base/1/3; echo more >>base/1/4; echo new >base/new; chmod 700 locked; rm -r locked")
	first, err := k.Restore(t.Context(), "state-1")
	if err != nil {
		t.Fatal(err)
	}
	if got := sh(t, k, listing); got != want {
		t.Errorf("restored over a changed directory:\n%s", diff(want, got))
	}
	other := s.keeper(t, cache)
	second, err := other.Restore(t.Context(), "state-1")
	if err != nil {
		t.Fatal(err)
	}
	if got := sh(t, other, listing); got != want {
		t.Errorf("restored into another instance:\n%s", diff(want, got))
	}
	if first.Digest == "" || first.Digest != second.Digest || first.Way == "" || first.Verified == "" || first.Bytes < 93_000_000 {
		t.Errorf("restored %+v, then %+v", first, second)
	}
	// What an instance does with its files must not reach the golden state.
	sh(t, other, "echo changed >base/big")
	if _, err := k.Restore(t.Context(), "state-1"); err != nil {
		t.Errorf("after another instance wrote to its copy: %v", err)
	}
	replaceState(t, k)
}

func replaceState(t *testing.T, k keeper) {
	t.Helper()
	sh(t, k, "echo second >second")
	if err := k.Save(t.Context(), "state-1", []byte("2")); err != nil {
		t.Fatal(err)
	}
	sh(t, k, "rm second")
	if _, err := k.Restore(t.Context(), "state-1"); err != nil {
		t.Fatal(err)
	}
	if got := sh(t, k, "cat second"); got != "second" {
		t.Errorf("the replaced state has %q", got)
	}
	for _, key := range []string{"", ".", "..", "a/b", ".hidden", strings.Repeat("k", 300)} {
		if err := k.Save(t.Context(), key, nil); err == nil {
			t.Errorf("key %q was accepted", key)
		}
	}
}

func diff(want, got string) string {
	in := map[string]bool{}
	for _, l := range strings.Split(want, "\n") {
		in[l] = true
	}
	var out []string
	for _, l := range strings.Split(got, "\n") {
		if !in[l] {
			out = append(out, "+ "+l)
		}
		delete(in, l)
	}
	for l := range in {
		out = append(out, "- "+l)
	}
	return strings.Join(out, "\n")
}

func snapshotIsVerified(t *testing.T, s suite) {
	for _, damage := range []struct {
		name string
		do   func(t *testing.T, path string)
	}{
		{"a flipped bit", func(t *testing.T, path string) {
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			b := []byte{0}
			if _, err := f.ReadAt(b, 1234); err != nil {
				t.Fatal(err)
			}
			b[0] ^= 4
			if _, err := f.WriteAt(b, 1234); err != nil {
				t.Fatal(err)
			}
		}},
		{"a cut file", func(t *testing.T, path string) {
			if err := os.Truncate(path, 1000); err != nil {
				t.Fatal(err)
			}
		}},
		{"a lost file", func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}},
		{"another mode", func(t *testing.T, path string) {
			if err := os.Chmod(path, 0o644); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(damage.name, func(t *testing.T) {
			cache := s.dir(t)
			k := s.keeper(t, cache)
			sh(t, k, "head -c 100000 /dev/urandom >precious && chmod 600 precious")
			if err := k.Save(t.Context(), "state", nil); err != nil {
				t.Fatal(err)
			}
			damage.do(t, elsewhere(t, cache, k.Dir(), "precious"))
			sh(t, k, "echo untouched >mine")
			if _, err := k.Restore(t.Context(), "state"); err == nil || !strings.Contains(err.Error(), "damaged") {
				t.Fatalf("restoring gives %v", err)
			}
			if got := sh(t, k, "cat mine"); got != "untouched" {
				t.Errorf("a failed restore left %q", got)
			}
			r, ok := any(k).(interface {
				Remove(ctx context.Context, key string) error
			})
			if !ok {
				t.Fatal("a damaged state can't be removed: no method Remove")
			}
			for range 2 {
				if err := r.Remove(t.Context(), "state"); err != nil {
					t.Fatal(err)
				}
			}
			if _, ok, err := k.Find(t.Context(), "state"); ok || err != nil {
				t.Errorf("after removal: %v, %v", ok, err)
			}
		})
	}
}

// elsewhere finds the file of this name below cache that is not in dir.
func elsewhere(t *testing.T, cache, dir, name string) string {
	t.Helper()
	var found string
	err := filepath.WalkDir(cache, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == name && !strings.HasPrefix(path, dir+"/") {
			found = path
		}
		return err
	})
	if err != nil || found == "" {
		t.Fatalf("no golden %s: %v", name, err)
	}
	return found
}

func snapshotNeedsAnIdleInstance(t *testing.T, s suite) {
	k := s.keeper(t, s.dir(t))
	if err := k.Save(t.Context(), "state", nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd, _, err := s.startServer(ctx, k)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Save(t.Context(), "other", nil); err == nil {
		t.Error("a running instance was saved")
	}
	if _, err := k.Restore(t.Context(), "state"); err == nil {
		t.Error("a running instance was restored")
	}
	cancel()
	_ = cmd.Wait()
}

func snapshotsAtTheSameTime(t *testing.T, s suite) {
	cache := s.dir(t)
	instances := []keeper{s.keeper(t, cache), s.keeper(t, cache), s.keeper(t, cache)}
	for _, k := range instances {
		sh(t, k, "head -c 200000 /dev/zero >zeros")
	}
	if err := instances[0].Save(t.Context(), "state", []byte("x")); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for n, k := range instances {
		all.Go(func() {
			for range 4 {
				if n == 0 {
					if err := k.Save(t.Context(), "state", []byte("x")); err != nil {
						t.Error(err)
					}
				} else if _, err := k.Restore(t.Context(), "state"); err != nil {
					t.Error(err)
				}
				if about, ok, err := k.Find(t.Context(), "state"); !ok || err != nil || string(about) != "x" {
					t.Errorf("found %q, %v, %v", about, ok, err)
				}
			}
		})
	}
	all.Wait()
}

// tmpfs mounts a small file system of its own for one test.
func tmpfs(t *testing.T, s suite, options string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		missing(t, "a full disk is made with a mount, which needs root")
	}
	dir := s.dir(t)
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", options, "tmpfs", dir).CombinedOutput(); err != nil {
		missing(t, fmt.Sprintf("mounting a tmpfs: %v: %s", err, out))
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	return dir
}

func fullDisk(t *testing.T, s suite) {
	t.Run("no room for a golden state", func(t *testing.T) {
		cache := tmpfs(t, s, "size=24m,mode=755")
		k := s.keeper(t, cache)
		sh(t, k, "head -c 8000000 /dev/urandom >big")
		if err := k.Save(t.Context(), "fits", nil); err != nil {
			t.Fatal(err)
		}
		err := k.Save(t.Context(), "too-much", nil)
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("saving on a full disk: %v", err)
		}
		if _, ok, err := k.Find(t.Context(), "too-much"); ok || err != nil {
			t.Errorf("after a failed save: %v, %v", ok, err)
		}
		if _, err := k.Restore(t.Context(), "fits"); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("restoring on a full disk: %v", err)
		}
		if got := sh(t, k, "wc -c <big"); got != "8000000" {
			t.Errorf("a failed restore left %s bytes", got)
		}
	})
	t.Run("no room for an instance", func(t *testing.T) {
		for inodes := 2; inodes < 10; inodes++ {
			cache := tmpfs(t, s, fmt.Sprintf("size=1m,mode=755,nr_inodes=%d", inodes))
			inst, err := s.new().Provision(t.Context(), provider.Request{Name: "subject", Cache: cache})
			if err == nil {
				if err := inst.Close(t.Context()); err != nil {
					t.Error(err)
				}
			} else if !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("%d inodes: %v", inodes, err)
			}
			if left := leftovers(t, cache); len(left) > 0 {
				t.Errorf("%d inodes: left behind: %v", inodes, left)
			}
		}
	})
}
