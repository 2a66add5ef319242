//go:build linux

package home

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// Sockets returns the directories that a server with its files in data made
// for its socket below /tmp, where the path of a socket in data would be too
// long: /tmp/loadstone-HASH-RANDOM, with a hash of data's path (see SocketDir
// in package engine/daemon). uid is whom the server ran as.
func Sockets(data string, uid int) (dirs []string) {
	sum := sha256.Sum256([]byte(data))
	all, _ := filepath.Glob("/tmp/loadstone-" + hex.EncodeToString(sum[:4]) + "-*")
	for _, dir := range all {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() {
			continue
		}
		// Whoever else has a directory of such a name in /tmp keeps it.
		st, ok := info.Sys().(*syscall.Stat_t)
		if ok && (int(st.Uid) == uid || int(st.Uid) == os.Geteuid()) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// RemoveSockets removes what Sockets lists and returns it.
func RemoveSockets(data string, uid int) (removed []string, err error) {
	var errs []error
	for _, dir := range Sockets(data, uid) {
		errs = append(errs, RemoveTree(dir))
		removed = append(removed, dir)
	}
	return removed, errors.Join(errs...)
}
