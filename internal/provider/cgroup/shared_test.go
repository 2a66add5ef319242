//go:build linux

package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestSharedMemoryIsFoundAndRemoved shares memory in both ways from this very
// process.
func TestSharedMemoryIsFoundAndRemoved(t *testing.T) {
	const size = 4096
	f, err := os.CreateTemp(shmDir, "loadstone-test-")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = os.Remove(f.Name()) })
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	m, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, size, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
	found := SharedBy([]int{os.Getpid()})
	if !slices.Contains(found.Files, f.Name()) || !slices.Contains(found.Segments, id) || len(found.Names()) != len(found.Files)+len(found.Segments) {
		t.Errorf("found %+v, want %s and segment %d", found, f.Name(), id)
	}
	if none := SharedBy(nil); len(none.Names()) > 0 {
		t.Errorf("no process shares %+v", none)
	}
	if err := unix.Munmap(m); err != nil {
		t.Fatal(err)
	}
	for range 2 { // what is gone is no error
		if err := (Shared{Files: []string{f.Name()}, Segments: []int{id}}).Remove(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(f.Name()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", f.Name(), err)
	}
	if left := SharedBy([]int{os.Getpid()}); slices.Contains(left.Segments, id) {
		t.Errorf("segment %d is still there", id)
	}
}

func TestASegmentOfAnEarlierProcessWithTheSameIdIsNotItsOwn(t *testing.T) {
	const table = `       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  cgid      atime      dtime      ctime                   rss                  swap
  10001860     720896   600                    56    77 25950      0   101   104   101   104 1795298824 1795298825       2000                  4096                     0
  10183836    1048577   600                    56    77 13928      0   101   104   101   104 1795302370 1795302371        900                  4096                     0
  10183837    1048578   600                    56    78 13928      0   101   104   101   104 1795302370 1795302371       2000                  4096                     0
 broken line
`
	began := func(pid int) time.Time { return time.Unix(1001, 0) }
	for name, c := range map[string]struct {
		table string
		pids  []int
		want  []int
	}{
		"made since it began": {table, []int{77}, []int{720896}},
		"another's":           {table, []int{79}, nil},
		"two makers":          {table, []int{78, 77}, []int{720896, 1048578}},
		"nothing":             {"", []int{77}, nil},
		"other columns":       {"a b c\n1 77 2000\n", []int{77}, nil},
	} {
		if got := segmentsOf(c.table, c.pids, began); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	never := func(int) time.Time { return time.Time{} }
	if got := segmentsOf(table, []int{77}, never); len(got) > 0 {
		t.Errorf("of a process of which nothing is known: %v", got)
	}
}

// TestControlGroupsSayWhoseTheyAre reads a mark back from a real one.
func TestControlGroupsSayWhoseTheyAre(t *testing.T) {
	l, err := Discover()
	if err != nil || l.V2.Dir == "" || mayMake(l.V2.Dir) != nil {
		t.Skip("no control group can be made here")
	}
	id := "test-" + filepath.Base(t.TempDir()) + "-" + strconv.Itoa(os.Getpid())
	g := &Group{V2: filepath.Join(l.V2.Dir, Name(id))}
	if err := os.Mkdir(g.V2, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Rmdir(g.V2) })
	if text, there := l.Marked()[g.V2]; !there || text != "" {
		t.Errorf("before it is marked: %q, %v", text, there)
	}
	g.Mark("mine")
	if text := l.Marked()[g.V2]; text != "mine" {
		t.Errorf("marked, it says %q", text)
	}
}
