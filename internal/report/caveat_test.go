package report

import (
	"bytes"
	"strings"
	"testing"
)

// TestCaveatsStandAboveTheAnswer: what makes every figure doubtful is read
// before the first of them.
func TestCaveatsStandAboveTheAnswer(t *testing.T) {
	const caveat = "processors were <emulated>"
	for _, caveats := range [][]string{nil, {caveat}} {
		s := quickstart()
		s.Caveats = caveats
		page, _, err := HTML(s)
		if err != nil {
			t.Fatal(err)
		}
		answer := bytes.Index(page, []byte(`class="answer"`))
		at := bytes.Index(page, []byte("processors were &lt;emulated&gt;"))
		if shown := at >= 0 && at < answer; shown != (caveats != nil) || bytes.Contains(page, []byte(">CAUTION<")) != shown {
			t.Errorf("page with %q: at %d, the answer at %d", caveats, at, answer)
		}
		text := Text(s, 80, false)
		first := strings.Index(text, s.Answer[:20])
		if at := strings.Index(text, caveat); at >= 0 != (caveats != nil) || at > first {
			t.Errorf("text with %q: at %d, the answer at %d:\n%s", caveats, at, first, text[:800])
		}
	}
}
