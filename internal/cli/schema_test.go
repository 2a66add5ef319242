package cli_test

import (
	"flag"
	"os"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/catalog"
	"github.com/loadstone-perf/loadstone/internal/study"
)

var update = flag.Bool("update", false, "write the files that tests compare with")

// TestPublishedSchemaIsFresh holds docs/formats/study.schema.json to what this
// build accepts: go test ./internal/cli -run Schema -update writes it.
func TestPublishedSchemaIsFresh(t *testing.T) {
	const path = "../../docs/formats/study.schema.json"
	want := study.Schema(catalog.Known())
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s is not what 'loadstone schema' prints: run this test with -update", path)
	}
}
