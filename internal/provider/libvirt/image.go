//go:build linux

package libvirt

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/provider/home"
	"github.com/loadstone-perf/loadstone/internal/provider/libvirt/guest"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// The root of a guest's programs is made from the packages that this machine
// has installed: the database servers and what they depend on, file by file.
// So the server under test is the same program as a native instance's, and
// neither a mirror nor a network is needed. The image's name holds a hash of
// the packages and their versions.

// imageFormat goes up when the contents of images change for other reasons than
// the packages.
const imageFormat = 3

// servers are names of packages that hold database servers, as patterns.
func servers() []string {
	return []string{"postgresql-[0-9]*", "mariadb-server-core*", "mariadb-server", "mysql-server-core*", "mysql-community-server-core"}
}

// tools are packages that every guest has.
func tools() []string {
	return []string{"base-files", "base-passwd", "bash", "dash", "coreutils", "findutils", "grep", "sed", "util-linux", "procps", "libc-bin"}
}

// packages are the installed packages that go into an image.
type packages struct {
	names []string
	hash  string // of names and versions
}

// choosePackages reads dpkg's database.
func choosePackages(ctx context.Context) (packages, error) {
	out, err := exec.CommandContext(ctx, "dpkg-query", "--show",
		"--showformat=${db:Status-Abbrev}\t${Package}\t${Version}\t${Architecture}\t${Provides}\t${Pre-Depends}, ${Depends}\n").Output()
	if err != nil {
		return packages{}, fmt.Errorf("the installed packages: %w", err)
	}
	db := parsePackages(string(out))
	names := db.closure(append(servers(), tools()...))
	h := sha256.New()
	fmt.Fprintf(h, "image %d\n", imageFormat)
	for _, n := range names {
		fmt.Fprintf(h, "%s %s\n", n, db.version[n])
	}
	return packages{names, hex.EncodeToString(h.Sum(nil)[:6])}, nil
}

// packageDB is what dpkg knows of installed packages.
type packageDB struct {
	version  map[string]string
	needs    map[string][][]string // of each dependency the alternatives
	provider map[string][]string   // who provides a name
}

// parsePackages reads lines of status, name, version, architecture, provides
// and dependencies, divided by tabs.
func parsePackages(text string) packageDB {
	db := packageDB{map[string]string{}, map[string][][]string{}, map[string][]string{}}
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 6 || !strings.HasPrefix(f[0], "ii") {
			continue
		}
		name := f[1]
		db.version[name] = f[2] + " " + f[3]
		for _, p := range dependencies(f[4]) {
			db.provider[p[0]] = append(db.provider[p[0]], name)
		}
		db.needs[name] = dependencies(f[5])
	}
	return db
}

// dependencies reads a field such as "libc6 (>= 2.36), debconf | debconf-2.0".
func dependencies(field string) (all [][]string) {
	for _, item := range strings.Split(field, ",") {
		var names []string
		for _, alternative := range strings.Split(item, "|") {
			name, _, _ := strings.Cut(strings.TrimSpace(alternative), " ")
			if name, _, _ = strings.Cut(name, ":"); name != "" {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			all = append(all, names)
		}
	}
	return all
}

// closure lists the installed packages whose names match patterns, and all that
// they depend on, sorted.
func (db packageDB) closure(patterns []string) []string {
	var names []string
	var add func(name string)
	add = func(name string) {
		if db.version[name] == "" {
			for _, p := range db.provider[name] {
				add(p)
			}
			return
		}
		if slices.Contains(names, name) || skipped(name) {
			return
		}
		names = append(names, name)
		for _, alternatives := range db.needs[name] {
			for _, a := range alternatives {
				add(a)
			}
		}
	}
	for name := range db.version {
		for _, p := range patterns {
			// The patterns are well formed.
			if ok, _ := filepath.Match(p, name); ok {
				add(name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// skipped are packages that others depend on for installing or for booting by
// themselves.
func skipped(name string) bool {
	return slices.Contains([]string{"debconf", "dpkg", "systemd", "init", "udev", "ssl-cert", "apt", "initramfs-tools", "postgresql-client-common", "ucf", "lsb-release"}, name) ||
		strings.HasPrefix(name, "init-system") || strings.HasPrefix(name, "sysvinit")
}

// leftOut are directories of packages that no server reads.
func leftOut(path string) bool {
	for _, dir := range []string{"/usr/share/doc", "/usr/share/man", "/usr/share/info", "/usr/share/locale", "/usr/share/lintian", "/usr/include", "/usr/share/bug", "/var/lib/mysql"} {
		if path == dir || strings.HasPrefix(path, dir+"/") {
			return true
		}
	}
	return false
}

// images is where images of a cache are.
func images(cache string) string { return filepath.Join(guests(cache), "images") }

// ensure makes the file name in the images of a cache with make, if it is not
// there: whole or not at all, and by one process at a time.
func ensure(ctx context.Context, clk clock.Clock, cache, name string, make func(ctx context.Context, tmp string) error) (string, error) {
	path := filepath.Join(images(cache), name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(images(cache), 0o755); err != nil {
		return "", err
	}
	lock, err := home.LockFile(ctx, clk, filepath.Join(images(cache), lockOfImage+name), unix.LOCK_EX)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	tmp := filepath.Join(images(cache), makingImage+name)
	if err := home.RemoveTree(tmp); err != nil {
		return "", err
	}
	if err := os.Mkdir(tmp, 0o700); err != nil {
		return "", err
	}
	defer func() { _ = home.RemoveTree(tmp) }()
	if err := make(ctx, tmp); err != nil {
		return "", err
	}
	out := filepath.Join(tmp, "out")
	if err := os.Chmod(out, 0o644); err != nil {
		return "", err
	}
	return path, os.Rename(out, path)
}

// rootImage returns the image of the guests' programs, made if need be.
func rootImage(ctx context.Context, clk clock.Clock, cache string, who home.Account) (string, error) {
	chosen, err := choosePackages(ctx)
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("root-%s-%d.ext4", chosen.hash, who.UID)
	path, err := ensure(ctx, clk, cache, name, func(ctx context.Context, tmp string) error {
		stage := filepath.Join(tmp, "stage")
		size, err := fillRoot(ctx, stage, chosen, who)
		if err != nil {
			return err
		}
		// Metadata and rounding of files to blocks take less than this.
		size += size/5 + 64*unit.MiB
		return mkfs(ctx, filepath.Join(tmp, "out"), size, guest.RootLabel, "-O", "^has_journal", "-d", stage)
	})
	if err != nil {
		return "", fmt.Errorf("make an image of this machine's packages: %w", err)
	}
	return path, nil
}

// mkfs makes a file with an ext4 file system. Nothing is left to be initialised
// later: it would be in the measured window.
func mkfs(ctx context.Context, path string, size unit.Bytes, label string, args ...string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	err = f.Truncate(int64(size) &^ 4095)
	f.Close()
	if err != nil {
		return err
	}
	args = append([]string{"-q", "-F", "-t", "ext4", "-m", "0", "-L", label,
		"-E", "lazy_itable_init=0,lazy_journal_init=0"}, append(args, path)...)
	cmd := exec.CommandContext(ctx, "mke2fs", args...)
	cmd.Env = []string{"PATH=/usr/sbin:/sbin:/usr/bin:/bin", "MKE2FS_SYNC=0"}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("mke2fs: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// fillRoot copies the packages' files into stage and returns their size.
func fillRoot(ctx context.Context, stage string, chosen packages, who home.Account) (size unit.Bytes, err error) {
	for _, dir := range []string{"", "/dev", "/proc", "/sys", "/run", "/tmp", "/etc", "/root", "/home", "/var/lib", "/usr/bin", "/usr/sbin", "/usr/lib"} {
		if err := os.MkdirAll(stage+dir, 0o755); err != nil {
			return 0, err
		}
	}
	// Where /bin is a link to usr/bin, paths of packages lead through it.
	for _, name := range []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} {
		if to, err := os.Readlink(name); err == nil {
			if err := errors.Join(os.MkdirAll(filepath.Join(stage, to), 0o755), os.Symlink(to, stage+name)); err != nil {
				return 0, err
			}
		}
	}
	cmd := exec.CommandContext(ctx, "dpkg-query", append([]string{"--listfiles"}, chosen.names...)...)
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("the files of packages: %w", err)
	}
	extra := []string{"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/nsswitch.conf", "/etc/localtime", "/usr/bin/awk", "/etc/alternatives/awk"}
	conf, _ := filepath.Glob("/etc/ld.so.conf.d/*")
	lines := bufio.NewScanner(io.MultiReader(strings.NewReader(string(out)), strings.NewReader(strings.Join(append(extra, conf...), "\n"))))
	for lines.Scan() {
		path := lines.Text()
		if !strings.HasPrefix(path, "/") || leftOut(path) || path == "/." {
			continue
		}
		n, err := copyInto(stage, path)
		if err != nil {
			return 0, err
		}
		size += n
	}
	return size, errors.Join(lines.Err(), accounts(stage, who), ctx.Err())
}

// copyInto copies one file, directory or link to the same path below stage. One
// that is not there, or that this user may not read, is left out: packages list
// files that were removed since.
func copyInto(stage, path string) (unit.Bytes, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return 0, nil
	}
	to := stage + path
	if _, err := os.Lstat(to); err == nil {
		return 0, nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return 0, err
	}
	switch {
	case st.IsDir():
		return 0, os.MkdirAll(to, 0o755)
	case st.Mode()&fs.ModeSymlink != 0:
		link, err := os.Readlink(path)
		if err != nil {
			return 0, err
		}
		return 0, os.Symlink(link, to)
	case !st.Mode().IsRegular():
		return 0, nil
	}
	from, err := os.Open(path)
	if err != nil {
		return 0, nil
	}
	defer from.Close()
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, st.Mode().Perm()|0o444)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	n, err := io.Copy(f, from)
	return unit.Bytes(n), err
}

// accounts writes who is known in the guest.
func accounts(stage string, who home.Account) error {
	name := who.Name
	if _, err := strconv.Atoi(name); err == nil {
		name = "loadstone"
	}
	var errs []error
	for path, text := range map[string]string{
		"/etc/passwd":        fmt.Sprintf("root:x:0:0:root:/root:/bin/sh\n%s:x:%d:%d::/:/bin/sh\n", name, who.UID, who.GID),
		"/etc/group":         fmt.Sprintf("root:x:0:\n%s:x:%d:\n", name, who.GID),
		"/etc/hosts":         "127.0.0.1 localhost\n::1 localhost\n",
		"/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
	} {
		if err := os.Remove(stage + path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
		errs = append(errs, os.WriteFile(stage+path, []byte(text), 0o644))
	}
	return errors.Join(errs...)
}
