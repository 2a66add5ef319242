package catalog_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTheGuideOnAddingHolds follows the pages on adding a workload and an
// engine to the letter, in a copy of the source: it writes their files, adds
// their line to the catalogue, runs their tests on the real servers and their
// study up to the report.
func TestTheGuideOnAddingHolds(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	dir := copied(t)
	for _, page := range []struct{ file, folder, marker string }{
		{"adding-a-workload.md", "internal/workload/ledger", "func Workloads() []workload.Kind {\n\treturn []workload.Kind{\n"},
		{"adding-an-engine.md", "internal/engine/postfork", "func Engines() []Engine {\n\treturn []Engine{\n"},
	} {
		t.Run(page.file, func(t *testing.T) {
			text, err := os.ReadFile("../../docs/guide/" + page.file)
			if err != nil {
				t.Fatal(err)
			}
			line, study := follow(t, dir, string(text))
			file := filepath.Join(dir, "internal/catalog/catalog.go")
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			changed := strings.Replace(string(source), page.marker, page.marker+line, 1)
			changed = strings.Replace(changed, "import (\n", "import (\n\t\"github.com/loadstone-perf/loadstone/"+page.folder+"\"\n", 1)
			if strings.Count(changed, "\n") != strings.Count(string(source), "\n")+2 {
				t.Fatal("the catalogue has no place for the page's line")
			}
			write(t, file, changed)
			write(t, filepath.Join(dir, page.file+".yaml"), study)
			command(t, dir, "go", "vet", "./"+page.folder)
			if strings.Contains(string(text), `"update"`) {
				command(t, dir, "go", "test", "./"+page.folder, "-run", "Suite", "-update")
			}
			command(t, dir, "go", "test", "-count", "1", "./"+page.folder)
			out := command(t, dir, "go", "run", "./cmd/loadstone", "run", page.file+".yaml", "--out", page.file+".out")
			if _, err := os.Stat(filepath.Join(dir, page.file+".out", "report", "index.html")); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// copied is a copy of the source in a directory of its own.
func copied(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	const root = "../.."
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() && (name == ".git" || name == "bin") {
			return fs.SkipDir
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(dir, name), 0o755)
		}
		if !d.Type().IsRegular() {
			return nil
		}
		b, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // another test's file, gone by now
		}
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, name), b, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// follow writes the page's files below dir, and returns its line for the
// catalogue and its study.
func follow(t *testing.T, dir, page string) (line, study string) {
	t.Helper()
	files := 0
	for _, m := range regexp.MustCompile("(?s)```(go|yaml)\n(.*?)```").FindAllStringSubmatch(page, -1) {
		first, rest, _ := strings.Cut(m[2], "\n")
		name, isFile := strings.CutPrefix(first, "// internal/")
		switch {
		case m[1] == "yaml":
			study = m[2]
		case isFile:
			files++
			write(t, filepath.Join(dir, "internal", name), strings.TrimLeft(rest, "\n"))
		default:
			line = m[2]
		}
	}
	if files < 2 || line == "" || study == "" {
		t.Fatalf("the page has %d files, the line %q and the study %q", files, line, study)
	}
	return line, study
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// command runs a command in dir. `go run` reports every exit code as 1 and
// prints what it was: 3 says that the gate found the machine too busy, which
// is no fault of the page.
func command(t *testing.T, dir string, args ...string) (output []byte) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil && !(slices.Contains(args, "run") && strings.Contains(string(out), "exit status 3")) {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}
