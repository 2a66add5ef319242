//go:build linux

package golden

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/loadstone-perf/loadstone/internal/unit"
)

const (
	// wholeBound is up to which size every byte of a tree is digested. Above
	// it samples are, so that proving a restore does not take longer than the
	// restore.
	wholeBound = 256 * unit.MiB
	// sampleBytes in each of sampleCount places make up the samples: 256 MiB.
	sampleBytes = 64 << 10
	sampleCount = 4096
)

// sum is a digest and what it covers, in words.
type sum struct{ hash, covers string }

// span is a part of one file.
type span struct{ from, to int64 }

// digestTree digests files as they are below root: of each the path, kind,
// mode, size or link text, and contents, whole or in samples. SHA-256 is used
// because processors compute it faster than disks read; owners are left out
// because a restore may map them.
func digestTree(ctx context.Context, root string, files entries) (sum, error) {
	parts, covers := plan(files)
	hashes := make([][sha256.Size]byte, len(files))
	work, inner := errgroup.WithContext(ctx)
	work.SetLimit(copiers)
	for n, e := range files {
		work.Go(func() (err error) {
			hashes[n], err = digestEntry(inner, filepath.Join(root, e.path), e, parts[n])
			return err
		})
	}
	if err := work.Wait(); err != nil {
		return sum{}, err
	}
	all := sha256.New()
	for _, h := range hashes {
		all.Write(h[:])
	}
	return sum{hash: "sha256:" + hex.EncodeToString(all.Sum(nil)), covers: covers}, nil
}

// plan chooses which parts of each file are digested.
func plan(files entries) (parts [][]span, covers string) {
	parts = make([][]span, len(files))
	total := files.bytes()
	if total <= wholeBound {
		for n, e := range files {
			if e.size > 0 {
				parts[n] = []span{{0, e.size}}
			}
		}
		return parts, "all " + total.Human()
	}
	return parts, fmt.Sprintf("sizes of %d files and %s of samples", len(files), sample(files, parts, total).Human())
}

// sample spreads samples evenly over all bytes of the tree, each at a place
// within its stretch that a hash of its number and of the tree's size
// chooses. It returns how many bytes they hold.
func sample(files entries, parts [][]span, total unit.Bytes) (covered unit.Bytes) {
	stretch := int64(total) / sampleCount
	n, base := 0, int64(0) // files[n] begins at base in the bytes of the tree
	for i := range int64(sampleCount) {
		var seed [16]byte
		binary.LittleEndian.PutUint64(seed[:8], uint64(i))
		binary.LittleEndian.PutUint64(seed[8:], uint64(total))
		h := sha256.Sum256(seed[:])
		at := i*stretch + int64(binary.LittleEndian.Uint64(h[:8])%uint64(stretch))
		for at >= base+files[n].size {
			base += files[n].size
			n++
		}
		from := (at - base) / sampleBytes * sampleBytes
		s := span{from, min(from+sampleBytes, files[n].size)}
		if !slices.Contains(parts[n], s) {
			parts[n] = append(parts[n], s)
			covered += unit.Bytes(s.to - s.from)
		}
	}
	return covered
}

func digestEntry(ctx context.Context, path string, e entry, parts []span) (out [sha256.Size]byte, err error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return out, fmt.Errorf("digest %s: %w", e.path, err)
	}
	size, link := int64(0), ""
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		size = st.Size
	case unix.S_IFLNK:
		if link, err = os.Readlink(path); err != nil {
			return out, fmt.Errorf("digest: %w", err)
		}
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q %o %d %q\n", e.path, st.Mode, size, link)
	if len(parts) > 0 {
		f, err := os.Open(path)
		if err != nil {
			return out, fmt.Errorf("digest: %w", err)
		}
		defer f.Close()
		// Samples lie far from each other: asked for one by one, each would cost
		// a disk's whole latency. It is a request; what is not read ahead is read.
		for _, p := range parts {
			_ = unix.Fadvise(int(f.Fd()), p.from, p.to-p.from, unix.FADV_WILLNEED)
		}
		for _, p := range parts {
			// A file that shrank gives fewer bytes, and so another digest.
			if err := copyHash(ctx, h, io.NewSectionReader(f, p.from, p.to-p.from)); err != nil {
				return out, fmt.Errorf("digest %s: %w", e.path, err)
			}
		}
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}

// copyHash hashes r, with a look at ctx from time to time.
func copyHash(ctx context.Context, h io.Writer, r io.Reader) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := io.CopyN(h, r, copyStep)
		if errors.Is(err, io.EOF) || err == nil && n == 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
