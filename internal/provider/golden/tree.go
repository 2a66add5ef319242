//go:build linux

package golden

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/loadstone-perf/loadstone/internal/provider/home"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

const (
	// copiers is how many files are copied at a time: enough to keep a disk's
	// queue filled, few enough to leave the machine usable.
	copiers = 4
	// copyStep is how much is copied between looks at ctx.
	copyStep = 8 << 20
)

// entry is one file, directory or symbolic link of a tree.
type entry struct {
	path     string // relative to the tree
	mode     uint32 // st_mode, with the kind of file
	uid, gid int
	size     int64  // of a file
	blocks   int64  // bytes that it takes on the disk
	link     string // what a symbolic link says
}

func (e entry) kind() uint32 { return e.mode & unix.S_IFMT }

// entries is a tree, sorted by path; the first is the top directory, ".".
type entries []entry

// bytes is the size of all files.
func (es entries) bytes() (n unit.Bytes) {
	for _, e := range es {
		n += unit.Bytes(e.size)
	}
	return n
}

// scan lists a tree. Sockets and pipes are left out: they mean nothing
// without the process that made them. Devices are an error.
func scan(root string) (entries, error) {
	var all entries
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		e := entry{path: rel, mode: st.Mode, uid: int(st.Uid), gid: int(st.Gid), blocks: st.Blocks * 512}
		switch e.kind() {
		case unix.S_IFREG:
			e.size = st.Size
		case unix.S_IFDIR:
		case unix.S_IFLNK:
			if e.link, err = os.Readlink(path); err != nil {
				return err
			}
		case unix.S_IFSOCK, unix.S_IFIFO:
			return nil
		default:
			return fmt.Errorf("%s is a device, which a golden state can't hold", path)
		}
		all = append(all, e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	return all, nil
}

// owners says how owners are mapped: files of the user `from` and its group
// become `to`'s, those of others stay theirs. The zero value keeps all.
type owners struct {
	from   int
	to     home.Account
	change bool
}

func (o owners) of(e entry) (uid, gid int) {
	if o.change && e.uid == o.from {
		return o.to.UID, o.to.GID
	}
	return e.uid, e.gid
}

// copyTree copies files from one directory to another, which must not exist,
// with modes, owners and holes. It returns the way: "reflink" or "copy".
func copyTree(ctx context.Context, from, to string, files entries, who owners) (way string, err error) {
	if err := os.Mkdir(to, 0o700); err != nil {
		return "", err
	}
	c := copier{from: from, to: to, who: who}
	if c.reflink, err = reflinks(from, to, files); err != nil {
		return "", err
	}
	if err := enough(to, files, c.reflink); err != nil {
		return "", err
	}
	for _, e := range files {
		if e.kind() == unix.S_IFDIR && e.path != "." {
			if err := os.Mkdir(filepath.Join(to, e.path), 0o700); err != nil {
				return "", err
			}
		}
	}
	work, inner := errgroup.WithContext(ctx)
	work.SetLimit(copiers)
	for _, e := range files {
		if e.kind() != unix.S_IFDIR {
			work.Go(func() error { return c.copy(inner, e) })
		}
	}
	if err := work.Wait(); err != nil {
		return "", err
	}
	// Directories last: one may forbid to write in it.
	for _, e := range slices.Backward(files) {
		if e.kind() == unix.S_IFDIR {
			if err := c.finish(e); err != nil {
				return "", err
			}
		}
	}
	if c.reflink {
		return "reflink", nil
	}
	return "copy", nil
}

// copier copies the files of one tree.
type copier struct {
	from, to string
	who      owners
	reflink  bool
}

func (c copier) copy(ctx context.Context, e entry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if e.kind() == unix.S_IFLNK {
		if err := os.Symlink(e.link, filepath.Join(c.to, e.path)); err != nil {
			return err
		}
		return c.finish(e)
	}
	in, err := os.Open(filepath.Join(c.from, e.path))
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(filepath.Join(c.to, e.path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if c.reflink {
		err = unix.IoctlFileClone(int(out.Fd()), int(in.Fd()))
	} else {
		err = copyExtents(ctx, in, out, e.size)
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("copy %s: %w", e.path, err)
	}
	return c.finish(e)
}

// finish sets owner and mode; the owner first, since changing it clears the
// set-user-id bits.
func (c copier) finish(e entry) error {
	path := filepath.Join(c.to, e.path)
	uid, gid := c.who.of(e)
	if os.Geteuid() == 0 {
		if err := os.Lchown(path, uid, gid); err != nil {
			return err
		}
	}
	if e.kind() == unix.S_IFLNK {
		return nil
	}
	if err := unix.Chmod(path, e.mode&^unix.S_IFMT); err != nil {
		return fmt.Errorf("mode of %s: %w", path, err)
	}
	return nil
}

// copyExtents copies what of the file is data and leaves its holes holes.
func copyExtents(ctx context.Context, in, out *os.File, size int64) error {
	if err := out.Truncate(size); err != nil {
		return err
	}
	for at := int64(0); at < size; {
		data, err := unix.Seek(int(in.Fd()), at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return nil // a hole to the end
		}
		hole := size
		if err != nil {
			data = at // a file system that does not know: all is data
		} else if hole, err = unix.Seek(int(in.Fd()), data, unix.SEEK_HOLE); err != nil {
			hole = size
		}
		if err := copyRange(ctx, in, out, data, min(hole, size)); err != nil {
			return err
		}
		at = hole
	}
	return nil
}

// copyRange copies the bytes from `from` up to `to`, in the kernel where that
// is possible between these two files.
func copyRange(ctx context.Context, in, out *os.File, from, to int64) error {
	for from < to {
		if err := ctx.Err(); err != nil {
			return err
		}
		r, w := from, from
		n, err := unix.CopyFileRange(int(in.Fd()), &r, int(out.Fd()), &w, int(min(to-from, copyStep)), 0)
		switch {
		case err == nil && n == 0:
			return io.ErrUnexpectedEOF // the file has shrunk
		case err == nil:
			from += int64(n)
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EXDEV), errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EOPNOTSUPP):
			_, err := io.Copy(io.NewOffsetWriter(out, from), io.NewSectionReader(in, from, min(to-from, copyStep)))
			if err != nil {
				return err
			}
			from += min(to-from, copyStep)
		default:
			return err
		}
	}
	return nil
}

// reflinks tries whether a file of the tree can be cloned to a directory.
func reflinks(from, to string, files entries) (bool, error) {
	n := slices.IndexFunc(files, func(e entry) bool { return e.kind() == unix.S_IFREG && e.size > 0 })
	if n < 0 {
		return false, nil
	}
	in, err := os.Open(filepath.Join(from, files[n].path))
	if err != nil {
		return false, err
	}
	defer in.Close()
	probe := filepath.Join(to, ".reflink")
	out, err := os.OpenFile(probe, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false, err
	}
	// Whatever the reason for which it can't be cloned, it can be copied.
	cloned := unix.IoctlFileClone(int(out.Fd()), int(in.Fd())) == nil
	return cloned, errors.Join(out.Close(), os.Remove(probe))
}

// spare is the part of a copy's size that must stay free beside it, for the
// file system's own needs; at least leastSpare.
const (
	spare      = 1.0 / 64
	leastSpare = 4 << 20
)

// enough says whether dir's file system has room for a copy of files.
func enough(dir string, files entries, reflink bool) error {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return fmt.Errorf("free space of %s: %w", dir, err)
	}
	var need int64
	for _, e := range files {
		if !reflink {
			need += e.blocks
		}
	}
	need += max(leastSpare, int64(float64(need)*spare))
	free := int64(fs.Bavail) * fs.Bsize
	if free < need {
		return fmt.Errorf("not enough room in %s: %s are needed, %s are free: %w",
			dir, unit.Bytes(need).Human(), unit.Bytes(free).Human(), unix.ENOSPC)
	}
	return nil
}

// syncFS writes everything on path's file system to the disk. For a tree of
// many files it is much faster than fsync of each, and just as safe: it
// reports write errors since Linux 5.8.
func syncFS(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	defer f.Close()
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return fmt.Errorf("sync %s: %w", path, err)
	}
	return nil
}

// evict asks the kernel to forget the cached pages of the files, which must
// be clean. It is a request: pages that another process maps stay.
func evict(root string, files entries) {
	for _, e := range files {
		if e.kind() != unix.S_IFREG {
			continue
		}
		f, err := os.Open(filepath.Join(root, e.path))
		if err != nil {
			continue
		}
		_ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
		f.Close()
	}
}
