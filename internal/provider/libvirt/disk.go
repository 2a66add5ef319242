//go:build linux

package libvirt

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/bits"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/provider/libvirt/guest"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// dataTemplate returns an empty file system for data disks. Its size is what the
// cache's disk has free, rounded down to a power of two; it takes up only what
// is written.
func dataTemplate(ctx context.Context, clk clock.Clock, cache string) (string, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(cache, &fs); err != nil {
		return "", fmt.Errorf("a data disk: %w", err)
	}
	gib := fs.Bavail * uint64(fs.Bsize) / uint64(unit.GiB)
	size := unit.Bytes(1) << (bits.Len64(max(gib, 1)) - 1) * unit.GiB
	path, err := ensure(ctx, clk, cache, fmt.Sprintf("data-%d.ext4", size/unit.GiB), func(ctx context.Context, tmp string) error {
		// Databases have few files, and large ones.
		return mkfs(ctx, filepath.Join(tmp, "out"), size, guest.DataLabel, "-i", "262144")
	})
	if err != nil {
		return "", fmt.Errorf("a data disk: %w", err)
	}
	return path, nil
}

// overlay makes a qcow2 disk at path over another, which it does not change.
func overlay(ctx context.Context, backing, format, path string) error {
	return qemuImg(ctx, "create", "-q", "-f", "qcow2", "-F", format, "-b", backing, path)
}

// qemuImg runs the program. Where the disk is full the error is ENOSPC, too,
// although all that the program says is text.
func qemuImg(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "qemu-img", args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	err = fmt.Errorf("qemu-img %s: %w: %s", args[0], err, strings.TrimSpace(string(out)))
	// As the C library words it, in the language C; Go's own begins small.
	if strings.Contains(strings.ToLower(string(out)), unix.ENOSPC.Error()) {
		err = fmt.Errorf("%w: %w", err, unix.ENOSPC)
	}
	return err
}

// direct says whether the file at path can be read past the page cache.
func direct(path string) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECT, 0)
	if err != nil {
		return false
	}
	f.Close()
	return true
}

// initramfs returns the initial file system with this program and the modules of
// k, made if need be. It has the drivers of every adapter: machines of all
// shapes share it.
func initramfs(ctx context.Context, clk clock.Clock, cache, self string, k kernel) (string, error) {
	wanted := baseModules()
	for _, a := range diskAdapters() {
		wanted = append(wanted, a.drivers...)
	}
	for _, a := range networkAdapters() {
		wanted = append(wanted, a[1])
	}
	key, err := fileKey(self)
	if err != nil {
		return "", fmt.Errorf("the guests' first file system: %w", err)
	}
	path, err := ensure(ctx, clk, cache, "init-"+key+"-"+k.version+".cpio", func(_ context.Context, tmp string) error {
		x, err := k.index()
		if err != nil {
			return err
		}
		f, err := os.Create(filepath.Join(tmp, "out"))
		if err != nil {
			return err
		}
		defer f.Close()
		return writeInitramfs(f, self, k, x.load(wanted))
	})
	if err != nil {
		return "", fmt.Errorf("the guests' first file system: %w", err)
	}
	return path, dropOld(cache, path)
}

// fileKey identifies a file's contents.
func fileKey(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}

// keptInits is how many initial file systems, each of another build of this
// program, a cache keeps.
const keptInits = 3

// dropOld removes the oldest initial file systems. A machine that boots from one
// has read it already.
func dropOld(cache, current string) error {
	all, _ := filepath.Glob(filepath.Join(images(cache), "init-*.cpio"))
	for len(all) > keptInits {
		oldest, at := -1, int64(0)
		for n, path := range all {
			st, err := os.Stat(path)
			if err == nil && path != current && (oldest < 0 || st.ModTime().UnixNano() < at) {
				oldest, at = n, st.ModTime().UnixNano()
			}
		}
		if oldest < 0 {
			return nil
		}
		if err := os.Remove(all[oldest]); err != nil {
			return err
		}
		all = append(all[:oldest], all[oldest+1:]...)
	}
	return nil
}
