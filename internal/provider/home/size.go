//go:build linux

package home

import (
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/loadstone-perf/loadstone/internal/unit"
)

// SizeOf is what the files below dir take on the disk. What can't be read
// counts nothing: the figure is for people.
func SizeOf(dir string) (size unit.Bytes) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && info.Mode().IsRegular() {
			size += unit.Bytes(st.Blocks * 512)
		}
		return nil
	})
	return size
}
