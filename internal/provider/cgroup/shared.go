//go:build linux

package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Shared is memory that processes share under names of the whole system:
// files below /dev/shm and segments of System V. It outlives processes that
// are killed, and nothing leads to it any more when they are gone.
type Shared struct {
	Files    []string
	Segments []int // shmid
}

// shmDir is where POSIX shared memory is (shm_overview(7)).
const shmDir = "/dev/shm/"

// SharedBy is what the processes share; it must be asked while they live.
func SharedBy(pids []int) (s Shared) {
	for _, pid := range pids {
		maps, err := os.ReadFile(pidText(pid) + "/maps")
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(maps)) {
			// address, permissions, offset, device, inode, path
			f := strings.Fields(line)
			if len(f) == 6 && strings.HasPrefix(f[5], shmDir) && !slices.Contains(s.Files, f[5]) && ownedAlike(f[5], pid) {
				s.Files = append(s.Files, f[5])
			}
		}
	}
	table, err := os.ReadFile("/proc/sysvipc/shm")
	if err == nil && len(pids) > 0 {
		s.Segments = segmentsOf(string(table), pids, began)
	}
	return s
}

// ownedAlike says whether a file and a process belong to the same user.
func ownedAlike(path string, pid int) bool {
	var file, process unix.Stat_t
	return unix.Stat(path, &file) == nil && unix.Stat(pidText(pid), &process) == nil && file.Uid == process.Uid
}

// began is when a process did; zero where that is not known.
func began(pid int) time.Time {
	s, err := ReadStat(pid)
	boot, bootErr := Booted()
	if err != nil || bootErr != nil {
		return time.Time{}
	}
	return boot.Add(Ticks(s.Start))
}

// segmentsOf reads a table like /proc/sysvipc/shm, whose first line names its
// columns (proc_sysvipc(5)), and returns the segments that the processes made:
// of an earlier process with the same id they are not, which the time of the
// segment's last change tells.
func segmentsOf(table string, pids []int, began func(pid int) time.Time) (ids []int) {
	lines := strings.Split(table, "\n")
	head := strings.Fields(lines[0])
	at := func(f []string, name string) int64 {
		n := slices.Index(head, name)
		if n < 0 || n >= len(f) {
			return -1
		}
		v, err := strconv.ParseInt(f[n], 10, 64)
		if err != nil {
			return -1
		}
		return v
	}
	// The time of boot is known to a second.
	const slack = 2 * time.Second
	for _, line := range lines[1:] {
		f := strings.Fields(line)
		maker, id := int(at(f, "cpid")), at(f, "shmid")
		if id < 0 || !slices.Contains(pids, maker) {
			continue
		}
		if then := began(maker); !then.IsZero() && !time.Unix(at(f, "ctime"), 0).Before(then.Add(-slack)) {
			ids = append(ids, int(id))
		}
	}
	return ids
}

// Remove removes it, once the processes have ended. What others removed
// meanwhile is no error.
func (s Shared) Remove() error {
	var errs []error
	for _, path := range s.Files {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	for _, id := range s.Segments {
		if _, err := unix.SysvShmCtl(id, unix.IPC_RMID, nil); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.EIDRM) {
			errs = append(errs, fmt.Errorf("remove shared memory segment %d: %w", id, err))
		}
	}
	return errors.Join(errs...)
}

// Names are its names for people.
func (s Shared) Names() (names []string) {
	names = append(names, s.Files...)
	for _, id := range s.Segments {
		names = append(names, "shared memory segment "+strconv.Itoa(id))
	}
	return names
}

// markAttributes are where a control group can carry a text of ours: the first
// needs root, the second a v2 hierarchy (xattr(7)).
func markAttributes() []string { return []string{"trusted.loadstone", "user.loadstone"} }

// Mark writes text on each of the group's control groups, so that they say
// whose they are even where nothing else does any more. Where the kernel has no
// place for it, their names must do.
func (g *Group) Mark(text string) {
	for _, dir := range g.Dirs() {
		for _, name := range markAttributes() {
			if unix.Setxattr(dir, name, []byte(text), 0) == nil {
				break
			}
		}
	}
}

// Marked returns the control groups with names of ours, below those in which
// this process could make some, with the text that they carry, which may be "".
func (l Layout) Marked() map[string]string {
	found := map[string]string{}
	look := func(parent string) {
		dirs, _ := filepath.Glob(filepath.Join(parent, Name("*")))
		for _, dir := range dirs {
			found[dir] = markOf(dir)
		}
	}
	for _, at := range l.V1 {
		look(at.Dir)
	}
	for dir := l.V2.Dir; dir != ""; dir = filepath.Dir(dir) {
		look(dir)
		if dir == l.V2.Mount || dir == filepath.Dir(dir) {
			break
		}
	}
	return found
}

func markOf(dir string) string {
	const most = 4096
	text := make([]byte, most)
	for _, name := range markAttributes() {
		if n, err := unix.Getxattr(dir, name, text); err == nil {
			return string(text[:n])
		}
	}
	return ""
}
