package observe

import "syscall"

// space returns the size and the free bytes (for ordinary users) of the file
// system that holds path; zeros where the system does not tell.
func space(path string) (size, free int64) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return 0, 0
	}
	return int64(s.Blocks) * int64(s.Bsize), int64(s.Bavail) * int64(s.Bsize)
}
