//go:build linux

package container

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"github.com/loadstone-perf/loadstone/internal/provider/home"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// Where no image is named, a container runs the programs that the machine's
// package manager installed: an image is made that holds only what differs
// (users, mount points, a few configuration files), and the directories of
// programs are mounted read-only. So the server under test is the same file
// as a native instance's, a comparison of the two compares confinement and
// nothing else, no registry is asked, and making the image takes no time. Its
// name holds a hash of its contents: it is made anew when they change.

const (
	// hostImage names the images that are made here, with a tag each.
	hostImage = "localhost/loadstone-host"
	// configBound is the most that the copied configuration files may hold.
	configBound = 16 * unit.MiB
	// imageLabel marks images, ownerLabel and others containers of ours.
	imageLabel = "io.loadstone.image"
)

// programDirs are the directories of programs, as far as they are there:
// those of the file system hierarchy, and Homebrew's.
func programDirs() []string {
	return []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/home/linuxbrew/.linuxbrew"}
}

// configs are files and directories that programs read at their start: where
// libraries and alternatives are, the time zone, and what servers of
// packages read by themselves.
func configs() []string {
	return []string{
		"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives",
		"/etc/localtime", "/etc/timezone", "/etc/ssl/openssl.cnf", "/etc/pki/tls/openssl.cnf",
		"/etc/my.cnf", "/etc/my.cnf.d", "/etc/mysql",
	}
}

// mounts are the host's directories that the container sees. h is the
// instance's.
func mounts(h *home.Home, cache string, host bool) []mount.Mount {
	bind := func(path string, readOnly bool) mount.Mount {
		return mount.Mount{Type: mount.TypeBind, Source: path, Target: path, ReadOnly: readOnly}
	}
	// The directory above data, because a restore exchanges data for another.
	all := []mount.Mount{bind(h.Dir, false)}
	if servers := filepath.Join(cache, "servers"); exists(servers) {
		all = append(all, bind(servers, true))
	}
	for _, dir := range programDirs() {
		if st, err := os.Lstat(dir); host && err == nil && st.IsDir() {
			all = append(all, bind(dir, true))
		}
	}
	return all
}

// ensureImage returns the name of the image to run: the one that was asked
// for, which must be there, or the one of the host's programs.
func ensureImage(ctx context.Context, c *client.Client, asked string, who home.Account) (string, error) {
	if asked != "" {
		if there, err := hasImage(ctx, c, asked); err != nil || there {
			return asked, err
		}
		return "", fmt.Errorf("image %q is not among the engine's images: pull or load it first (podman pull, docker pull, podman load)", asked)
	}
	text, err := skeleton(who)
	if err != nil {
		return "", fmt.Errorf("make an image of the host's programs: %w", err)
	}
	sum := sha256.Sum256(text)
	name := hostImage + ":" + hex.EncodeToString(sum[:6])
	if there, err := hasImage(ctx, c, name); err != nil || there {
		return name, err
	}
	out, err := c.ImageImport(ctx, client.ImageImportSource{Source: bytes.NewReader(text), SourceName: "-"}, name,
		client.ImageImportOptions{Message: "made by Loadstone from this machine", Changes: []string{"LABEL " + imageLabel + "=host"}})
	if err == nil {
		_, err = io.Copy(io.Discard, io.LimitReader(out, 1<<20))
		out.Close()
	}
	if err != nil {
		return "", fmt.Errorf("make an image of the host's programs: %w", err)
	}
	// An engine may report a failure in the answer's text only.
	there, err := hasImage(ctx, c, name)
	if err == nil && !there {
		err = errors.New("the engine took it, but does not have it")
	}
	if err != nil {
		return "", fmt.Errorf("make an image of the host's programs: %w", err)
	}
	return name, dropOldImages(ctx, c, name)
}

func hasImage(ctx context.Context, c *client.Client, name string) (bool, error) {
	found, err := c.ImageList(ctx, client.ImageListOptions{Filters: client.Filters{}.Add("reference", name)})
	if err != nil {
		return false, fmt.Errorf("look for image %q: %w", name, err)
	}
	return len(found.Items) > 0, nil
}

// dropOldImages removes images of the host's programs as they were earlier.
// One that a container still runs stays.
func dropOldImages(ctx context.Context, c *client.Client, current string) error {
	found, err := c.ImageList(ctx, client.ImageListOptions{Filters: client.Filters{}.Add("reference", hostImage)})
	if err != nil {
		return fmt.Errorf("look for old images: %w", err)
	}
	for _, image := range found.Items {
		for _, tag := range image.RepoTags {
			if strings.HasPrefix(tag, hostImage+":") && tag != current {
				_, _ = c.ImageRemove(ctx, tag, client.ImageRemoveOptions{})
			}
		}
	}
	return nil
}

// skeleton is the file system of the image, as a tar archive. It is the same,
// byte for byte, as long as the machine is.
func skeleton(who home.Account) ([]byte, error) {
	var out bytes.Buffer
	a := archive{w: tar.NewWriter(&out)}
	for _, dir := range []string{"/dev", "/etc", "/home", "/proc", "/root", "/run", "/sys", "/var", "/var/lib"} {
		a.dir(dir, 0o755)
	}
	a.dir("/tmp", 0o1777)
	a.dir("/var/tmp", 0o1777)
	for _, dir := range programDirs() {
		if link, err := os.Readlink(dir); err == nil {
			a.link(dir, link)
		} else if exists(dir) {
			a.dir(dir, 0o755)
		}
	}
	a.file("/etc/passwd", fmt.Appendf(nil, "root:x:0:0:root:/root:/bin/sh\n%s:x:%d:%d::/:/bin/sh\n", who.Name, who.UID, who.GID))
	a.file("/etc/group", fmt.Appendf(nil, "root:x:0:\n%s:x:%d:\n", who.Name, who.GID))
	a.file("/etc/nsswitch.conf", []byte("passwd: files\ngroup: files\nhosts: files dns\n"))
	for _, path := range configs() {
		a.copy(path)
	}
	if err := a.w.Close(); err != nil && a.err == nil {
		a.err = err
	}
	return out.Bytes(), a.err
}

// archive writes a tar archive; after the first error it does nothing.
type archive struct {
	w      *tar.Writer
	copied unit.Bytes
	err    error
}

func (a *archive) add(h tar.Header, content []byte) {
	if a.err != nil {
		return
	}
	h.Name = strings.TrimPrefix(h.Name, "/")
	h.Size = int64(len(content))
	if a.err = a.w.WriteHeader(&h); a.err == nil {
		_, a.err = a.w.Write(content)
	}
}

func (a *archive) dir(path string, mode int64) {
	a.add(tar.Header{Typeflag: tar.TypeDir, Name: path + "/", Mode: mode}, nil)
}

func (a *archive) link(path, to string) {
	a.add(tar.Header{Typeflag: tar.TypeSymlink, Name: path, Linkname: to, Mode: 0o777}, nil)
}

func (a *archive) file(path string, content []byte) {
	a.add(tar.Header{Typeflag: tar.TypeReg, Name: path, Mode: 0o644}, content)
}

// copy adds what the host has at path, which need not be there: directories,
// links, and files that everybody may read, since an image is no place for
// secrets. Directories above are made as needed by whoever unpacks.
func (a *archive) copy(path string) {
	if a.err != nil || !exists(path) {
		return
	}
	a.err = filepath.WalkDir(path, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			a.dir(at, 0o755)
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(at)
			if err != nil {
				return err
			}
			a.link(at, to)
		case info.Mode().IsRegular() && info.Mode().Perm()&0o004 != 0:
			if a.copied += unit.Bytes(info.Size()); a.copied > configBound {
				return fmt.Errorf("the configuration files %s hold more than %s", strings.Join(configs(), ", "), configBound.Human())
			}
			text, err := os.ReadFile(at)
			if err != nil {
				return err
			}
			a.file(at, text)
		}
		return a.err
	})
}
