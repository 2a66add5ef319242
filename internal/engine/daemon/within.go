package daemon

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// In returns the processes that work in dir, as those of a database server do in
// the server's own, and whose program's file has a name that is wanted. Systems
// without /proc have none to tell of.
func In(dir string, wanted func(program string) bool) []int {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil
	}
	var pids []int
	links, _ := filepath.Glob("/proc/[0-9]*/cwd") // the pattern is well formed
	for _, link := range links {
		at, err := os.Readlink(link)
		if err != nil || at != real {
			continue
		}
		program, err := os.Readlink(filepath.Join(filepath.Dir(link), "exe"))
		if err != nil || !wanted(filepath.Base(program)) {
			continue
		}
		if pid, err := strconv.Atoi(strings.Split(link, "/")[2]); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
