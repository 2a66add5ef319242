//go:build linux

package golden

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/home"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// stateBytes is the size of the states that are restored.
const stateBytes = unit.GiB

// BenchmarkRestore restores a state of 1 GiB on a file system that shares
// blocks (XFS, on a loop device) and, beside it, where every byte is copied:
// where the temporary directory is.
func BenchmarkRestore(b *testing.B) {
	for _, c := range []struct {
		way string
		dir func(*testing.B) string
	}{{"reflink", xfs}, {"copy", func(b *testing.B) string { return b.TempDir() }}} {
		b.Run(c.way, func(b *testing.B) { restores(b, c.dir(b), c.way) })
	}
}

func restores(b *testing.B, cache, way string) {
	dir := filepath.Join(cache, "instance", "data")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	fill(b, dir)
	s := Store{Clock: clock.Real{}, Cache: cache, User: home.Account{UID: os.Geteuid(), GID: os.Getegid(), Name: "me"}}
	if err := s.Save(b.Context(), "state", nil, dir); err != nil {
		b.Fatal(err)
	}
	var took, verify float64
	var last provider.Restored
	b.SetBytes(int64(stateBytes))
	for b.Loop() {
		done, err := s.Restore(b.Context(), "state", dir)
		if err != nil {
			b.Fatal(err)
		}
		took, verify, last = took+done.Took.Seconds(), verify+done.Verify.Seconds(), done
	}
	if last.Way != way {
		b.Skipf("restored by %s: this file system has no %s", last.Way, way)
	}
	b.ReportMetric(took/float64(b.N), "s/"+way)
	b.ReportMetric(verify/float64(b.N), "s/verify")
}

// fill makes a database's worth of files, no two blocks of which are alike.
func fill(b *testing.B, dir string) {
	const files = 16
	block := make([]byte, unit.MiB)
	for i := range block {
		block[i] = byte(i * i >> 7)
	}
	n := uint64(0)
	for f := range files {
		out, err := os.Create(filepath.Join(dir, fmt.Sprint(f)))
		if err != nil {
			b.Fatal(err)
		}
		for range int64(stateBytes / files / unit.MiB) {
			for at := 0; at < len(block); at += 4096 {
				n++
				binary.LittleEndian.PutUint64(block[at:], n)
			}
			if _, err := out.Write(block); err != nil {
				b.Fatal(err)
			}
		}
		if err := out.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// mountScript makes and mounts a file system in the file $1 at $2, says so, and
// waits until its input ends. It runs in a mount namespace of its own: with it,
// the mount and its loop device go, even where this process is killed.
const mountScript = `
set -e
mount --make-rprivate /
mkfs.xfs -q -m reflink=1 "$1"
mount -o loop "$1" "$2"
echo ready
read -r _ || true
`

// xfs returns a directory on a file system with reflinks.
func xfs(b *testing.B) string {
	if os.Geteuid() != 0 {
		b.Skip("a loop device needs root")
	}
	dir := b.TempDir()
	image, mount := filepath.Join(dir, "image"), filepath.Join(dir, "mount")
	f, err := os.Create(image)
	if err == nil {
		err = f.Truncate(int64(3 * stateBytes))
		f.Close()
	}
	if err == nil {
		err = os.Mkdir(mount, 0o755)
	}
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", mountScript, "sh", image, mount)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	var said strings.Builder
	cmd.Stderr = &said
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if inErr != nil || outErr != nil {
		b.Fatal(inErr, outErr)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			b.Error(err, said.String())
		}
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		_, _ = io.Copy(io.Discard, out)
		b.Skipf("no XFS on a loop device: %q, %v, %s", line, err, said.String())
	}
	return fmt.Sprintf("/proc/%d/root%s", cmd.Process.Pid, mount)
}
