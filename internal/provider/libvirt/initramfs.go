//go:build linux

package libvirt

import (
	"compress/gzip"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/ulikunitz/xz"

	"github.com/loadstone-perf/loadstone/internal/provider/libvirt/guest"
)

// archive writes an initial file system: cpio in the "newc" format
// (Documentation/driver-api/early-userspace/buffer-format.rst).
type archive struct {
	w    io.Writer
	ino  int
	size int64
	dirs map[string]bool
	err  error
}

func newArchive(w io.Writer) *archive { return &archive{w: w, dirs: map[string]bool{"/": true}} }

// Modes of the entries that are made.
const (
	modeDir  = 0o040755
	modeFile = 0o100755
)

func (a *archive) write(p []byte) {
	if a.err == nil {
		var n int
		n, a.err = a.w.Write(p)
		a.size += int64(n)
	}
}

func (a *archive) align() {
	for a.err == nil && a.size%4 != 0 {
		a.write([]byte{0})
	}
}

func (a *archive) entry(name string, mode int, data []byte) {
	a.ino++
	name = strings.TrimPrefix(name, "/")
	a.write(fmt.Appendf(nil, "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X",
		a.ino, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name)+1, 0))
	a.write(append([]byte(name), 0))
	a.align()
	a.write(data)
	a.align()
}

// file adds a file and the directories above it.
func (a *archive) file(path string, data []byte) {
	a.dir(filepath.Dir(path))
	a.entry(path, modeFile, data)
}

func (a *archive) dir(path string) {
	if a.dirs[path] {
		return
	}
	a.dir(filepath.Dir(path))
	a.dirs[path] = true
	a.entry(path, modeDir, nil)
}

func (a *archive) close() error {
	a.entry("TRAILER!!!", 0, nil)
	return a.err
}

// writeInitramfs writes the initial file system: this program as the first
// process, the libraries that it needs, and the modules.
func writeInitramfs(to io.Writer, self string, k kernel, modules []string) error {
	a := newArchive(to)
	for _, dir := range []string{"/dev", "/proc", "/sys", "/lower", "/upper", "/r", "/tmp"} {
		a.dir(dir)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		return err
	}
	a.file("/init", program)
	libraries, err := librariesOf(self)
	if err != nil {
		return err
	}
	for at, from := range libraries {
		data, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		a.file(at, data)
	}
	var list strings.Builder
	for _, m := range modules {
		data, err := readModule(filepath.Join(k.modules, m))
		if err != nil {
			return err
		}
		at := "/lib/modules/" + moduleName(m) + ".ko"
		a.file(at, data)
		list.WriteString(at + "\n")
	}
	a.file(guest.ModuleList, []byte(list.String()))
	return a.close()
}

// readModule reads a module, uncompressed.
func readModule(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var r io.Reader = f
	switch filepath.Ext(path) {
	case ".ko":
	case ".gz":
		r, err = gzip.NewReader(f)
	case ".xz":
		r, err = xz.NewReader(f)
	case ".zst":
		// The tool is there where the distribution compresses so.
		return exec.Command("zstd", "-dcq", path).Output()
	default:
		err = errCompressed
	}
	if err != nil {
		return nil, fmt.Errorf("module %s: %w", path, err)
	}
	return io.ReadAll(r)
}

// librariesOf returns what a program is linked with dynamically, which is
// nothing unless it was built with cgo: the path in the guest, and the file.
func librariesOf(program string) (map[string]string, error) {
	f, err := elf.Open(program)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	defer func() { _ = f.Close() }()
	interp := f.Section(".interp")
	if interp == nil {
		return nil, nil
	}
	text, err := interp.Data()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	loader := strings.TrimRight(string(text), "\x00")
	out := map[string]string{loader: loader}
	// The loader itself knows where this machine has its libraries.
	list, err := exec.Command(loader, "--list", program).Output()
	if err != nil {
		return nil, fmt.Errorf("the libraries of %s: %w", program, err)
	}
	for line := range strings.Lines(string(list)) {
		_, path, ok := strings.Cut(line, " => ")
		if path, _, _ = strings.Cut(strings.TrimSpace(path), " ("); ok && strings.HasPrefix(path, "/") {
			out["/lib/"+filepath.Base(path)] = path
		} else if ok {
			return nil, errors.New("a library of " + program + " is missing: " + strings.TrimSpace(line))
		}
	}
	return out, nil
}
