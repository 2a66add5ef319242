package study

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Error is one fault in a study file.
type Error struct {
	File         string
	Line, Column int    // from 1; columns count characters
	Found        string // the offending text as it stands in the file
	Message      string
	Allowed      string // what may stand there instead; "" where Message says it
	Source       string // the whole line
}

// Error shows the fault as a compiler would: position and message, the line,
// and carets under the offending text with what is allowed.
func (e Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d:%d: %s\n", e.File, e.Line, e.Column, e.Message)
	text, start := excerpt(e.Source, e.Column-1)
	number := fmt.Sprint(e.Line)
	fmt.Fprintf(&b, "  %s | %s\n", number, string(text))
	fmt.Fprintf(&b, "  %s | ", strings.Repeat(" ", len(number)))
	for _, r := range text[:start] {
		if r != '\t' { // a tab stays, so that the caret keeps its place
			r = ' '
		}
		b.WriteRune(r)
	}
	b.WriteString(strings.Repeat("^", e.width(len(text)-start)))
	if e.Allowed != "" {
		b.WriteString(" allowed: " + e.Allowed)
	}
	return b.String()
}

// width is how many characters the carets span, at least one: the offending
// text as far as it lies on the line shown.
func (e Error) width(room int) int {
	found, _, _ := strings.Cut(e.Found, "\n")
	return max(1, min(utf8.RuneCountInString(found), room))
}

// excerpt bounds how much of a long line is shown. It returns the text and
// where in it the character at index lies.
func excerpt(line string, index int) (text []rune, at int) {
	const before, after, most = 60, 60, 140
	text = []rune(line)
	index = min(max(index, 0), len(text))
	if len(text) <= most {
		return text, index
	}
	if end := index + after; end < len(text) {
		text = append(text[:end:end], '…')
	}
	if start := index - before; start > 0 {
		text = append([]rune{'…'}, text[start:]...)
		index -= start - 1
	}
	return text, index
}

// Errors are all faults of a study file, in the order of their positions.
type Errors []Error

// Error shows every fault, with an empty line between them.
func (es Errors) Error() string {
	texts := make([]string, len(es))
	for i, e := range es {
		texts[i] = e.Error()
	}
	return strings.Join(texts, "\n\n")
}

// Unwrap gives the single faults to errors.Is and errors.As.
func (es Errors) Unwrap() []error {
	out := make([]error, len(es))
	for i, e := range es {
		out[i] = e
	}
	return out
}

// sorted returns the faults by position; those at one place stay in the order
// in which they were found.
func (es Errors) sorted() Errors {
	slices.SortStableFunc(es, func(a, b Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return es
}

// didYouMean returns `; did you mean "x"?` for the candidate that is nearest
// to word, or "" where none is near.
func didYouMean(word string, candidates []string) string {
	if best := nearest(word, candidates); best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	return ""
}

// nearest returns the candidate at the least edit distance from word, the
// first of several, or "" where all are further than a third of word's length.
func nearest(word string, candidates []string) string {
	best, least := "", max(1, len(word)/3)+1
	for _, c := range candidates {
		if d := distance(word, c); d < least {
			best, least = c, d
		}
	}
	return best
}

// distance is the number of insertions, deletions, substitutions and swaps of
// neighbours that turn a into b (optimal string alignment). Both are bounded,
// as no name is long.
func distance(a, b string) int {
	const longest = 64
	x, y := []rune(a), []rune(b)
	if len(x) > longest || len(y) > longest {
		return longest
	}
	rows := make([][]int, len(x)+1)
	for i := range rows {
		rows[i] = make([]int, len(y)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(x); i++ {
		for j := 1; j <= len(y); j++ {
			change := 1
			if x[i-1] == y[j-1] {
				change = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(x)][len(y)]
}
