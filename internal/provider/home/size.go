//go:build linux

package home

import (
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/loadstone-perf/loadstone/internal/unit"
)

// SizeOf is what the files below dir take on the disk. What can't be read
// counts nothing: the figure is for people.
func SizeOf(dir string) (size unit.Bytes) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, unread error) error {
		var st unix.Stat_t
		if unread == nil && d.Type().IsRegular() && unix.Lstat(path, &st) == nil {
			size += unit.Bytes(st.Blocks * 512)
		}
		return nil //nolint:nilerr // what can't be read counts nothing
	})
	return size
}
