package postgres

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"

	embedded "github.com/fergusstrange/embedded-postgres"
	"github.com/ulikunitz/xz"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// Bounds on what is fetched, several times what releases weigh, so that a
// broken or hostile answer can't fill the memory or the disk.
const (
	maxArchive = 200 * unit.MiB // compressed; release 18 has 10 to 40 MiB
	maxFiles   = unit.GiB       // unpacked; release 18 has about 60 MiB
)

// fetch finds in w.Cache, or fetches into it, the newest release that c allows
// of the server programs that the embedded-postgres-binaries project publishes
// as Java archives.
//
// The library that drives those archives takes one whose checksum is missing,
// can't be interrupted, and always starts a server too; so we take its
// knowledge of what is published where, and do the rest here: the archive is
// refused unless its SHA-256 is the published one, it is unpacked beside its
// place, and takes it by one rename, so that a directory of that name is whole.
func fetch(ctx context.Context, c constraint, w engine.Want) (engine.Installation, error) {
	if w.Cache == "" {
		return nil, errors.New("fetching PostgreSQL needs a cache directory")
	}
	v, err := published(c)
	if err != nil {
		return nil, err
	}
	name := "embedded-postgres-binaries-" + platform(runtime.GOOS, runtime.GOARCH, isAlpine())
	dir := filepath.Join(w.Cache, fmt.Sprintf("postgresql-%s-%s-%s", v, runtime.GOOS, runtime.GOARCH))
	in, err := fetched(ctx, dir, v)
	if err == nil {
		return in, nil
	}
	repository, err := repository()
	if err != nil {
		return nil, err
	}
	// The archives' versions have a third number, for repackaging.
	url := fmt.Sprintf("%s/io/zonky/test/postgres/%s/%s.0/%s-%s.0.jar", repository, name, v, name, v)
	if err := install(ctx, url, dir, w.Progress); err != nil {
		return nil, fmt.Errorf("fetch PostgreSQL %s: %w", v, err)
	}
	return fetched(ctx, dir, v)
}

// fetched returns the installation in dir where that is release v.
func fetched(ctx context.Context, dir string, v version) (engine.Installation, error) {
	in, err := inspect(ctx, filepath.Join(dir, "bin"))
	if err != nil {
		return nil, fmt.Errorf("fetched PostgreSQL %s in %s: %w", v, dir, err)
	}
	if in.version.String() != v.String() {
		return nil, fmt.Errorf("fetched PostgreSQL in %s is %s, not %s", dir, in.version, v)
	}
	in.origin = fmt.Sprintf("PostgreSQL %s, embedded-postgres-binaries, in %s", v, in.bin)
	return in, nil
}

// published returns the release to fetch: the one that c names exactly, else
// the newest allowed of those that the library names, one a major version.
func published(c constraint) (version, error) {
	if v, ok := c.Exact(2); ok && c.Allows(v) && v[0] >= oldest {
		return v, nil
	}
	var known []string
	for _, text := range []embedded.PostgresVersion{embedded.V18, embedded.V17, embedded.V16, embedded.V15} {
		release := strings.TrimSuffix(string(text), ".0")
		v, err := parseVersion(release)
		if err != nil {
			return nil, err
		}
		if c.Allows(v) {
			return v, nil
		}
		known = append(known, release)
	}
	return nil, fmt.Errorf("no PostgreSQL server that satisfies %s, neither on this machine nor to be fetched: "+
		"known releases are %s, and any other can be named exactly", c, strings.Join(known, ", "))
}

// repository is the address that the library fetches from. It can be set
// there but not asked for, hence the reflection; a test holds it in place.
func repository() (string, error) {
	field := reflect.ValueOf(embedded.DefaultConfig()).FieldByName("binaryRepositoryURL")
	if field.Kind() != reflect.String || !strings.HasPrefix(field.String(), "https://") {
		return "", errors.New("embedded-postgres no longer says where its binaries are")
	}
	return field.String(), nil
}

// platform is how the archives' names spell a system.
func platform(goos, goarch string, alpine bool) string {
	if goarch == "arm64" {
		goarch = "arm64v8"
	}
	if alpine {
		goarch += "-alpine"
	}
	return goos + "-" + goarch
}

// isAlpine says whether the C library is musl.
func isAlpine() bool {
	_, err := os.Stat("/etc/alpine-release")
	return err == nil
}

// install fetches the archive at url and unpacks it to dir, which comes into
// being whole or not at all.
func install(ctx context.Context, url, dir string, progress func(string)) error {
	tell := func(stage string) {
		if progress != nil {
			progress(stage)
		}
	}
	// The machine's unprivileged user must reach the programs.
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	tell("checksum of " + filepath.Base(url))
	sum, err := get(ctx, url+".sha256", unit.KiB)
	if err != nil {
		return err
	}
	tell(filepath.Base(url))
	archive, err := get(ctx, url, maxArchive)
	if err != nil {
		return err
	}
	if err := verify(archive, string(sum)); err != nil {
		return fmt.Errorf("%s: %w", url, err)
	}
	tell("unpack " + filepath.Base(url))
	temporary, err := os.MkdirTemp(filepath.Dir(dir), ".fetch-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temporary) }()
	if err := os.Chmod(temporary, 0o755); err != nil {
		return err
	}
	if err := unpack(ctx, archive, temporary); err != nil {
		return fmt.Errorf("unpack %s: %w", url, err)
	}
	// What stands there can only be unusable: fetch looked before.
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Rename(temporary, dir)
}

// get reads what url answers, at most limit bytes.
func get(ctx context.Context, url string, limit unit.Bytes) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, response.Status)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, int64(limit)+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", url, err)
	case len(body) > int(limit):
		return nil, fmt.Errorf("%s is larger than %s", url, limit)
	}
	return body, nil
}

// verify compares the SHA-256 of archive with the published one, in
// hexadecimal, of which only the first word counts.
func verify(archive []byte, published string) error {
	fields := strings.Fields(published)
	if len(fields) == 0 {
		return errors.New("its published checksum is empty")
	}
	if sum := sha256.Sum256(archive); !strings.EqualFold(fields[0], hex.EncodeToString(sum[:])) {
		return fmt.Errorf("its SHA-256 is %x, not the published %q", sum, fields[0])
	}
	return nil
}

// unpack writes the programs of a Java archive, which holds one .txz, to dir.
func unpack(ctx context.Context, archive []byte, dir string) error {
	outer, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return err
	}
	i := slices.IndexFunc(outer.File, func(f *zip.File) bool { return strings.HasSuffix(f.Name, ".txz") })
	if i < 0 {
		return errors.New("the archive holds no .txz")
	}
	inner, err := outer.File[i].Open()
	if err != nil {
		return err
	}
	defer func() { _ = inner.Close() }()
	plain, err := xz.NewReader(bufio.NewReader(inner))
	if err != nil {
		return err
	}
	// A Root refuses names and links that lead out of dir.
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	limited := &io.LimitedReader{R: plain, N: int64(maxFiles)}
	entries := tar.NewReader(limited)
	for {
		header, err := entries.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && limited.N == 0:
			return fmt.Errorf("more than %s unpacked", maxFiles)
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
		if err := extract(root, header, entries); err != nil {
			return fmt.Errorf("%s: %w", header.Name, err)
		}
	}
}

// extract writes one entry below root, readable by everyone.
func extract(root *os.Root, header *tar.Header, content io.Reader) error {
	name := filepath.Clean(header.Name)
	dir := filepath.Dir(name)
	if header.Typeflag == tar.TypeDir {
		dir = name
	}
	// Modes are set after making, because the umask may take them away.
	if err := errors.Join(root.MkdirAll(dir, 0o755), root.Chmod(dir, 0o755)); err != nil {
		return err
	}
	switch header.Typeflag {
	case tar.TypeDir:
		return nil
	case tar.TypeSymlink:
		return root.Symlink(header.Linkname, name)
	case tar.TypeReg:
		mode := os.FileMode(0o644)
		if header.Mode&0o100 != 0 {
			mode = 0o755
		}
		file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
		if err != nil {
			return err
		}
		_, err = io.Copy(file, content)
		return errors.Join(err, file.Chmod(mode), file.Close())
	default:
		return fmt.Errorf("entry of unexpected type %q", header.Typeflag)
	}
}
