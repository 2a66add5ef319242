package postgres

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/enginetest"
)

// programs makes a directory with a server that says it is of that version.
func programs(t *testing.T, says string) string {
	t.Helper()
	dir := t.TempDir()
	for name, script := range map[string]string{"postgres": "#!/bin/sh\necho \"" + says + "\"\n", "initdb": "#!/bin/sh\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestTheNewestAllowedServerIsTaken(t *testing.T) {
	old, mid, small, big := programs(t, "postgres (PostgreSQL) 13.2"), programs(t, "postgres (PostgreSQL) 15.9"),
		programs(t, "postgres (PostgreSQL) 16.2"), programs(t, "postgres (PostgreSQL) 16.10 (Debian)")
	broken, empty := programs(t, "Segmentation fault"), t.TempDir()
	all := []string{empty, old, big, mid, broken, small}
	for version, want := range map[string]string{
		"": "16.10", ">=15": "16.10", "15": "15.9", "<16.10": "16.2", "16.2": "16.2",
	} {
		in, err := locate(t.Context(), mustParse(t, version), engine.Want{}, all)
		if err != nil || in.Version() != want || !strings.Contains(in.Origin(), want) {
			t.Errorf("%q: %v, %v, want %s", version, in, err, want)
		}
	}
	for _, version := range []string{"17", "13", "<15"} {
		_, err := locate(t.Context(), mustParse(t, version), engine.Want{}, all)
		if err == nil {
			t.Errorf("%q was found", version)
			continue
		}
		for _, part := range []string{mustParse(t, version).String(), "13.2 in " + old + " (Loadstone needs 15 or later)", "16.10 in " + big, "Segmentation fault", "install"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q: error %q lacks %q", version, err, part)
			}
		}
	}
	if _, err := locate(t.Context(), nil, engine.Want{}, nil); err == nil || !strings.Contains(err.Error(), "found no PostgreSQL server") {
		t.Errorf("error %v on an empty machine", err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := locate(over, nil, engine.Want{}, all); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v with a context that is over", err)
	}
}

func mustParse(t *testing.T, text string) constraint {
	t.Helper()
	c, err := parseConstraint(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestBinDirsAreAbsoluteAndListedOnce(t *testing.T) {
	one, two := programs(t, "1"), programs(t, "2")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(one, link); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", strings.Join([]string{one, ".", "", "relative", two, link, one, "/does/not/exist"}, ":"))
	dirs := binDirs(t.Context())
	if len(dirs) < 2 || dirs[0] != one || dirs[1] != two {
		t.Errorf("%q, want %s and %s first", dirs, one, two)
	}
	seen := map[string]bool{}
	for _, d := range dirs {
		if seen[d] || !filepath.IsAbs(d) {
			t.Errorf("%s is listed twice or relative in %q", d, dirs)
		}
		seen[d] = true
	}
}

func TestWhatIsPublishedFollowsTheConstraint(t *testing.T) {
	for text, major := range map[string]int{"": 18, ">=15": 18, ">=15,<17": 16, "15": 15, "<=17": 17} {
		if v, err := published(mustParse(t, text)); err != nil || v[0] != major {
			t.Errorf("%q: %s, %v, want a release of %d", text, v, err, major)
		}
	}
	if v, err := published(mustParse(t, "16.2")); err != nil || v.String() != "16.2" {
		t.Errorf("16.2: %s, %v", v, err)
	}
	for _, text := range []string{"14", "<15", ">=18,<17", "14.2", "16.2,>17"} {
		if v, err := published(mustParse(t, text)); err == nil || !strings.Contains(err.Error(), "known releases are 18.") {
			t.Errorf("%q: %s, %v", text, v, err)
		}
	}
	if _, err := repository(); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		os, arch string
		alpine   bool
		want     string
	}{{"linux", "amd64", false, "linux-amd64"}, {"linux", "arm64", false, "linux-arm64v8"}, {"linux", "amd64", true, "linux-amd64-alpine"}, {"darwin", "arm64", false, "darwin-arm64v8"}} {
		if got := platform(c.os, c.arch, c.alpine); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
	if _, err := fetch(t.Context(), nil, engine.Want{Fetch: true}); err == nil || !strings.Contains(err.Error(), "cache") {
		t.Errorf("fetching without a cache: %v", err)
	}
}

// archive is what a repository serves.
func archive(t *testing.T) []byte {
	t.Helper()
	content, err := os.ReadFile("testdata/programs.txz")
	if err != nil {
		t.Fatal(err)
	}
	return jar(t, "postgres-linux-x86_64.txz", content)
}

func jar(t *testing.T, name string, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range []struct {
		name    string
		content []byte
	}{{"META-INF/MANIFEST.MF", []byte("x")}, {name, content}} {
		w, err := z.Create(f.name)
		if err == nil {
			_, err = w.Write(f.content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// serve answers with files by path; others are not found.
func serve(t *testing.T, files map[string][]byte) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(content)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func sum(content []byte) []byte { return fmt.Appendf(nil, "%x", sha256.Sum256(content)) }

func TestAFetchedArchiveIsInstalledWhole(t *testing.T) {
	good := archive(t)
	url := serve(t, map[string][]byte{"/a.jar": good, "/a.jar.sha256": append(bytes.ToUpper(sum(good)), "  a.jar\n"...)})
	cache := filepath.Join(t.TempDir(), "new", "cache")
	dir := filepath.Join(cache, "pg")
	// What an earlier, unusable attempt left is replaced.
	if err := os.MkdirAll(filepath.Join(dir, "stale"), 0o700); err != nil {
		t.Fatal(err)
	}
	var stages []string
	if err := install(t.Context(), url+"/a.jar", dir, func(s string) { stages = append(stages, s) }); err != nil {
		t.Fatal(err)
	}
	if len(stages) != 3 {
		t.Errorf("stages %q, want three", stages)
	}
	in, err := fetched(t.Context(), dir, version{18, 3})
	if err != nil || in.Version() != "18.3" {
		t.Errorf("%v, %v", in, err)
	}
	if _, err := fetched(t.Context(), dir, version{18, 2}); err == nil {
		t.Error("release 18.3 passed for 18.2")
	}
	for name, mode := range map[string]os.FileMode{"": 0o755, "bin": 0o755, "bin/postgres": 0o755, "share/postgres.bki": 0o644, "lib/libpq.so.5": 0o644} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v, want mode %o: other users must read it", name, info, err, mode)
		}
	}
	left, err := os.ReadDir(cache)
	if err != nil || len(left) != 1 {
		t.Errorf("the cache holds %v, %v, want one directory", left, err)
	}
}

func TestABadArchiveIsRefusedAndLeavesNothing(t *testing.T) {
	good := archive(t)
	truncated := good[:len(good)/2]
	noPrograms := jar(t, "readme.txt", []byte("x"))
	notXZ := jar(t, "x.txz", []byte("not compressed"))
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for what, c := range map[string]struct {
		ctx   context.Context
		files map[string][]byte
		want  string
	}{
		"nothing there":    {t.Context(), nil, "404"},
		"no checksum":      {t.Context(), map[string][]byte{"/a.jar": good}, "a.jar.sha256: 404"},
		"empty checksum":   {t.Context(), map[string][]byte{"/a.jar": good, "/a.jar.sha256": []byte(" \n")}, "checksum is empty"},
		"other checksum":   {t.Context(), map[string][]byte{"/a.jar": good, "/a.jar.sha256": sum(noPrograms)}, "SHA-256"},
		"endless checksum": {t.Context(), map[string][]byte{"/a.jar": good, "/a.jar.sha256": make([]byte, 4096)}, "larger than 1KiB"},
		"changed archive":  {t.Context(), map[string][]byte{"/a.jar": append(good[:len(good):len(good)], 0), "/a.jar.sha256": sum(good)}, "SHA-256"},
		"truncated":        {t.Context(), map[string][]byte{"/a.jar": truncated, "/a.jar.sha256": sum(truncated)}, "unpack"},
		"no programs":      {t.Context(), map[string][]byte{"/a.jar": noPrograms, "/a.jar.sha256": sum(noPrograms)}, "holds no .txz"},
		"not xz":           {t.Context(), map[string][]byte{"/a.jar": notXZ, "/a.jar.sha256": sum(notXZ)}, "unpack"},
		"cancelled":        {over, map[string][]byte{"/a.jar": good, "/a.jar.sha256": sum(good)}, "canceled"},
	} {
		cache := t.TempDir()
		err := install(c.ctx, serve(t, c.files)+"/a.jar", filepath.Join(cache, "pg"), nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", what, err, c.want)
		}
		if left, err := os.ReadDir(cache); err != nil || len(left) > 0 {
			t.Errorf("%s: left %v, %v", what, left, err)
		}
	}
}

func TestAnArchiveCanNotWriteOutside(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "in")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	if err := extract(root, &tar.Header{Typeflag: tar.TypeSymlink, Name: "out", Linkname: ".."}, nil); err != nil {
		t.Fatal(err)
	}
	for _, h := range []*tar.Header{
		{Typeflag: tar.TypeReg, Name: "../evil"},
		{Typeflag: tar.TypeReg, Name: "a/../../evil"},
		{Typeflag: tar.TypeReg, Name: "out/evil"},
		{Typeflag: tar.TypeReg, Name: filepath.Join(parent, "evil")},
		{Typeflag: tar.TypeSymlink, Name: "../evil", Linkname: "x"},
		{Typeflag: tar.TypeDir, Name: "../evil"},
		{Typeflag: tar.TypeChar, Name: "device"},
	} {
		if err := extract(root, h, strings.NewReader("x")); err == nil {
			t.Errorf("%s of type %c was written", h.Name, h.Typeflag)
		}
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) != 1 {
		t.Errorf("beside the directory: %v, %v", left, err)
	}
}

// The newest release that is published is fetched for real, and its own views
// and settings are read: they differ from those of the release that a machine
// has by habit.
func TestTheNewestReleaseIsFetchedAndRuns(t *testing.T) {
	m := enginetest.LocalMachine(t)
	in, err := locate(t.Context(), nil, engine.Want{Cache: filepath.Join(m.Dir(), "cache"), Fetch: true}, nil)
	if _, offline := errors.AsType[net.Error](err); offline && os.Getenv("CI") != "true" {
		t.Skipf("the repository of PostgreSQL's binaries can't be reached: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Create(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	s := startServer(t, in.(*installation), m, map[string]string{"work_mem": "1%"})
	settings, err := s.Settings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range settings {
		if !x.Matches {
			t.Errorf("%+v", x)
		}
	}
	conn, err := s.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if _, err := conn.Exec(t.Context(), "CREATE DATABASE shop").ReadAll(); err != nil {
		t.Fatal(err)
	}
	values := make([]float64, len(s.counters.Columns()))
	if err := s.counters.Read(t.Context(), values); err != nil {
		t.Fatal(err)
	}
	for i, c := range s.counters.Columns() {
		if math.IsNaN(values[i]) {
			t.Errorf("%s: %s can't be read", in.Version(), c.Name)
		}
	}
	if err := s.waits.Poll(t.Context(), func(string, int) {}); err != nil {
		t.Error(err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}
