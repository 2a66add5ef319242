package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/engine/daemon"
)

// clear ends the server processes that outlived the postmaster and frees the
// memory that they shared. A server that ended in order left neither, and
// removed its lock file; so a lock file that names our postmaster is the sign
// that there is something to do. One that names another is of a server that
// already ran in the directory, and is not to be touched.
func (s *server) clear(ctx context.Context) error {
	var lock []string
	text, err := daemon.Run(s.machine.Command(ctx, "cat", filepath.Join(dataDir(s.machine), "postmaster.pid")))
	if err == nil {
		lock = strings.Split(text, "\n")
	}
	killed := len(lock) > 0 && lock[0] == strconv.Itoa(s.process.Pid())
	if killed {
		// Idle processes notice that their postmaster has died and end; busy
		// ones would go on until they next look.
		for _, pid := range processesIn(dataDir(s.machine)) {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill() // it may have ended by itself
			}
		}
	}
	if !s.process.Settle() {
		return errors.New("processes of the server do not end")
	}
	if killed {
		s.free(ctx, lock)
	}
	return nil
}

// free removes the shared memory that a killed postmaster left. The next start
// in the same directory would do so, but there may be none. That a removal
// finds nothing is no fault.
func (s *server) free(ctx context.Context, lock []string) {
	// The lock file has, in the seventh line, the key and the number of the
	// segment by which the next start knows whether processes are left.
	if len(lock) >= 7 {
		if fields := strings.Fields(lock[6]); len(fields) == 2 {
			_, _ = daemon.Run(s.machine.Command(ctx, "ipcrm", "-m", fields[1]))
		}
	}
	gone := []string{"-f"}
	for _, file := range s.shared {
		gone = append(append(gone, file), listed(file)...)
	}
	_, _ = daemon.Run(s.machine.Command(ctx, "rm", gone...))
}

// shm is the beginning of the paths of dynamic shared memory.
const shm = "/dev/shm/PostgreSQL."

// listed returns the files that a server's list of its dynamic shared memory
// names. The list has been laid out the same in releases 14 to 18 (struct
// dsm_control_header in src/backend/storage/ipc/dsm.c): a magic number, the
// number of items, the most there can be, four bytes of padding, and items of
// 40 bytes that begin with the number in the file's name. Another layout,
// as on a system of 32 bits, gives names of files that are not there.
func listed(file string) []string {
	const magic, header, item = 0x9a503d32, 16, 40
	list, err := os.ReadFile(file)
	if err != nil || len(list) < header || binary.NativeEndian.Uint32(list) != magic {
		return nil
	}
	var files []string
	for at := header; at+item <= len(list) && len(files) < int(binary.NativeEndian.Uint32(list[4:])); at += item {
		files = append(files, shm+strconv.FormatUint(uint64(binary.NativeEndian.Uint32(list[at:])), 10))
	}
	return files
}

// processesIn returns the PostgreSQL processes that work in dir, as all those
// of a server do.
func processesIn(dir string) []int {
	return daemon.In(dir, func(program string) bool { return strings.HasPrefix(program, "postgres") })
}

// sharedFiles returns the files of dynamic shared memory that a process maps.
func sharedFiles(pid int) []string {
	maps, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/maps")
	if err != nil {
		return nil
	}
	var files []string
	for line := range strings.Lines(string(maps)) {
		fields := strings.Fields(line)
		if len(fields) == 6 && strings.HasPrefix(fields[5], shm) && !slices.Contains(files, fields[5]) {
			files = append(files, fields[5])
		}
	}
	return files
}
