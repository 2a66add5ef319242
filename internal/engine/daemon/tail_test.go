package daemon

import (
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTailKeepsTheLastWholeLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var log tail
		var all strings.Builder
		for i := range rapid.IntRange(0, 300).Draw(t, "writes") {
			line := strings.Repeat(strconv.Itoa(i%10), rapid.IntRange(0, 2000).Draw(t, "length")) + "\n"
			all.WriteString(line)
			if n, err := log.Write([]byte(line)); n != len(line) || err != nil {
				t.Fatalf("write: %d, %v", n, err)
			}
		}
		got := log.String()
		if !strings.HasSuffix(all.String(), got) || len(got) > tailBytes || len(got) < min(all.Len(), tailBytes-2001) {
			t.Fatalf("kept %d bytes of %d", len(got), all.Len())
		}
		if rest := all.Len() - len(got); rest > 0 && all.String()[rest-1] != '\n' {
			t.Fatal("the kept text begins in the middle of a line")
		}
	})
	log := tail{text: []byte("a\nb\nc\n")}
	if got := log.last(2); got != "b\nc" {
		t.Errorf("last 2 lines: %q", got)
	}
	if got := new(tail).last(5); got != "" {
		t.Errorf("last lines of nothing: %q", got)
	}
}
