package sqltext

import (
	"fmt"
	"strings"
)

// Lexis is what a language quotes and comments beyond standard SQL, which has
// '…' and "…" with doubled quotes, comments after --, and comments between /*
// and */.
type Lexis struct {
	Backslash      bool // a backslash in '…' and "…" takes the next byte with it
	EscapeString   bool // E'…', in which a backslash does
	DollarQuotes   bool // $tag$ … $tag$
	Backticks      bool // `name`
	Brackets       bool // [name]
	NestedComments bool // /* … /* … */ … */
	HashComments   bool // # to the end of the line
	// BlankAfterDashes is set where -- begins a comment only before a blank, a
	// control character or the end.
	BlankAfterDashes bool
}

// quoted returns the length of the string, quoted name or comment that starts
// at in[pos], or 0 where none does.
func (x Lexis) quoted(in string, pos int) (int, error) {
	rest := in[pos:]
	var n int
	switch {
	case x.dashes(rest), x.HashComments && rest[0] == '#':
		if n = strings.IndexByte(rest, '\n'); n < 0 {
			n = len(rest)
		}
		return n, nil
	case strings.HasPrefix(rest, "/*"):
		n = x.commentLength(rest)
	case rest[0] == '\'', rest[0] == '"':
		n = untilQuote(rest, rest[0], x.Backslash)
	case x.Backticks && rest[0] == '`':
		n = untilQuote(rest, '`', false)
	case x.Brackets && rest[0] == '[':
		n = strings.IndexByte(rest, ']') + 1
	case x.EscapeString && (rest[0] == 'e' || rest[0] == 'E') && strings.HasPrefix(rest[1:], "'"):
		if n = untilQuote(rest[1:], '\'', true); n > 0 {
			n++
		}
	case x.DollarQuotes && rest[0] == '$':
		tag := 1 + wordLength(rest[1:])
		if tag >= len(rest) || rest[tag] != '$' || rest[1] >= '0' && rest[1] <= '9' {
			return 0, nil
		}
		delimiter := rest[:tag+1]
		if end := strings.Index(rest[tag+1:], delimiter); end >= 0 {
			n = tag + 1 + end + len(delimiter)
		}
	default:
		return 0, nil
	}
	if n == 0 {
		return 0, fmt.Errorf("quote or comment at byte %d is never closed", pos)
	}
	return n, nil
}

// dashes says whether rest begins with a comment of dashes.
func (x Lexis) dashes(rest string) bool {
	return strings.HasPrefix(rest, "--") && (!x.BlankAfterDashes || len(rest) == 2 || rest[2] <= ' ')
}

// untilQuote returns the length of a quoted text that begins with quote, in
// which a doubled quote stands for itself, and with escapes a backslash takes
// the next byte with it; 0 where it is not closed.
func untilQuote(text string, quote byte, escapes bool) int {
	for i := 1; i < len(text); i++ {
		switch {
		case escapes && text[i] == '\\':
			i++
		case text[i] == quote && i+1 < len(text) && text[i+1] == quote:
			i++
		case text[i] == quote:
			return i + 1
		}
	}
	return 0
}

// commentLength returns the length of the comment that text begins with, 0
// where it is not closed.
func (x Lexis) commentLength(text string) int {
	depth := 0
	for i := 0; i+1 < len(text); i++ {
		switch text[i : i+2] {
		case "/*":
			if depth == 0 || x.NestedComments {
				depth++
				i++
			}
		case "*/":
			depth--
			i++
			if depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

const wordBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

// wordLength returns the length of the identifier or number that text begins
// with. Bytes above ASCII belong to words, as in the servers.
func wordLength(text string) int {
	for i := range len(text) {
		if text[i] < 0x80 && strings.IndexByte(wordBytes, text[i]) < 0 {
			return i
		}
	}
	return len(text)
}

// nameStart says whether text begins with what may begin a parameter's name:
// an array slice such as a[1:2] has none.
func nameStart(text string) bool {
	return wordLength(text) > 0 && (text[0] < '0' || text[0] > '9')
}

// Plain says whether name is an identifier of ASCII letters, digits and
// underscores: one that no engine needs quotes for, unless it is a key word.
func Plain(name string) bool { return nameStart(name) && strings.Trim(name, wordBytes) == "" }

// Literal renders text as a string constant of standard SQL, for a language
// without Backslash.
func Literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// Quoted renders name between quotes, in which the quote itself is doubled.
func Quoted(name string, quote byte) string {
	q := string(quote)
	return q + strings.ReplaceAll(name, q, q+q) + q
}

// List renders names joined by commas.
func List(names []string, render func(string) string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = render(n)
	}
	return strings.Join(out, ", ")
}
