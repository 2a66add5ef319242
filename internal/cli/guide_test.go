package cli_test

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/cli"
)

// conversation is one example of the guide: what is typed, what is printed,
// and the exit code where it is not 0.
var conversation = regexp.MustCompile("(?ms)^```console\n\\$ loadstone (.*?)\n(.*?)^```\n(?:<!-- exit code (\\d) -->\n)?")

// TestTheGuideToComparingShowsWhatIsPrinted plays the guide's examples on
// fabricated results and holds what is printed to what the guide shows.
func TestTheGuideToComparingShowsWhatIsPrinted(t *testing.T) {
	path, err := filepath.Abs("../../docs/guide/comparing.md")
	if err != nil {
		t.Fatal(err)
	}
	guide, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	usual := made{users: []string{"8"}, repeats: 5, rate: 100, noise: 0.004, created: "2026-10-01", engine: "15.17", data: "shop-10", checks: true}
	for i := 1; i <= 9; i++ {
		m := usual
		m.seed, m.created = uint64(i), fmt.Sprintf("2026-10-%02d", i)
		if i >= 6 {
			m.rate, m.engine = 96, "15.18"
		}
		if err := m.write(filepath.Join("results", fmt.Sprint("night-", i))); err != nil {
			t.Fatal(err)
		}
	}
	examples := conversation.FindAllStringSubmatch(string(guide), -1)
	if len(examples) < 3 || len(examples) != strings.Count(string(guide), "```console") {
		t.Fatalf("%d examples found", len(examples))
	}
	for _, e := range examples {
		var stdout, stderr bytes.Buffer
		code := cli.Main(words(e[1]), &stdout, &stderr)
		if got := stdout.String() + stderr.String(); !shows(e[2], got) {
			t.Errorf("loadstone %s prints\n%s\nand the guide shows\n%s", e[1], got, e[2])
		}
		if want := cmp.Or(e[3], "0"); fmt.Sprint(code) != want {
			t.Errorf("loadstone %s: exit code %d, the guide says %s", e[1], code, want)
		}
	}
}

// shows says whether text is shown, in which a line with an ellipsis stands
// for any number of lines.
func shows(shown, text string) bool {
	parts := strings.Split("\n"+shown, "\n…\n")
	for i, p := range parts {
		parts[i] = regexp.QuoteMeta(p)
	}
	return regexp.MustCompile("(?s)^" + strings.Join(parts, "\n.*\n") + "$").MatchString("\n" + text)
}

// words splits a command line at its spaces; quotes hold together.
func words(line string) (out []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			out = append(out, part)
		} else {
			out = append(out, strings.Fields(part)...)
		}
	}
	return out
}
