package catalog_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/catalog"
	"github.com/loadstone-perf/loadstone/internal/study"
	"github.com/loadstone-perf/loadstone/studies"
)

func TestReadyMadeStudiesAreRight(t *testing.T) {
	files, err := studies.Paths()
	if err != nil || len(files) == 0 {
		t.Fatalf("no ready-made studies: %v", err)
	}
	for _, file := range files {
		source, err := studies.Files.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := study.Parse(file, source, catalog.Known())
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if s.Name != strings.ReplaceAll(strings.TrimSuffix(file, ".yaml"), "/", "-") {
			t.Errorf("%s holds the study %q: a file is named after its study, with its folder before", file, s.Name)
		}
		if _, err := study.NewPlan(s); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// TestStudiesInTheDocumentsAreRight parses every complete study (a fence that
// begins with its name) in the README and the guide.
func TestStudiesInTheDocumentsAreRight(t *testing.T) {
	files, err := filepath.Glob("../../docs/guide/*.md")
	if err != nil {
		t.Fatal(err)
	}
	fence := regexp.MustCompile("(?s)```yaml\n((?:#[^\n]*\n)*study: .*?)```")
	found := 0
	for _, file := range append(files, "../../README.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range fence.FindAllSubmatch(text, -1) {
			found++
			if _, err := study.Parse(file, m[1], catalog.Known()); err != nil && strings.Contains(string(m[1]), "\nworkload:") {
				t.Errorf("%v\nin\n%s", err, m[1])
			}
		}
	}
	if found < 3 {
		t.Errorf("found %d studies in the documents, want several", found)
	}
}
