package arch_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryDependencyHasItsLine holds the budget: what go.mod requires
// directly is what docs/dependencies.md gives a reason for.
func TestEveryDependencyHasItsLine(t *testing.T) {
	required := direct(t, "../../go.mod")
	text, err := os.ReadFile("../../docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	budget, _, _ := strings.Cut(string(text), "\nTools,")
	var listed []string
	for _, m := range regexp.MustCompile(`(?m)^\| ([a-z]\S+/\S+) \|`).FindAllStringSubmatch(budget, -1) {
		listed = append(listed, m[1])
	}
	for _, m := range required {
		if !slices.Contains(listed, m) {
			t.Errorf("go.mod requires %s, which has no line in docs/dependencies.md", m)
		}
	}
	for _, m := range listed {
		if !slices.Contains(required, m) {
			t.Errorf("docs/dependencies.md has a line for %s, which go.mod does not require directly", m)
		}
	}
}

// direct lists the modules that a go.mod requires without "// indirect".
func direct(t *testing.T, path string) (out []string) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^(?:require )?\s*([a-z]\S+\.\S+/\S+) v\S+$`).FindAllStringSubmatch(string(text), -1) {
		out = append(out, m[1])
	}
	if len(out) < 5 {
		t.Fatalf("found only %q in %s", out, path)
	}
	return out
}
