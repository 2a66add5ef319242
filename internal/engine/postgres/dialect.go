package postgres

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

// Dialect renders statements and schemas as PostgreSQL's SQL. It is pure.
type Dialect struct{}

// Statement implements engine.Dialect. Parameters become $1, $2, … in the
// order of s.Params, and may be used more than once; strings, quoted
// identifiers, comments, dollar quotes and `::type` casts stay as they are.
//
// Intent tokens, and what they become:
//
//	{limit :n}, {limit 10}   LIMIT $1, LIMIT 10
//	{now}                    LOCALTIMESTAMP (sessions run in UTC)
//	{today}                  CURRENT_DATE
//	{lock update}            FOR UPDATE
//	{lock share}             FOR SHARE
//
// Any other token is an error, as is a parameter that is used but not
// declared, or declared but not used.
func (Dialect) Statement(s *workload.Statement) (string, error) {
	text, own := s.Own[Name]
	switch {
	case own:
	case s.Text != "" && s.Call != "":
		return "", fmt.Errorf("statement %s has both a text and a call", s.Name)
	case s.Call != "":
		return call(s)
	default:
		text = s.Text
	}
	if strings.TrimSpace(text) == "" {
		return "", fmt.Errorf("statement %s has no text for %s", s.Name, Name)
	}
	r := renderer{in: text, params: s.Params, used: make([]bool, len(s.Params))}
	if err := r.run(); err != nil {
		return "", fmt.Errorf("statement %s: %w", s.Name, err)
	}
	if i := slices.Index(r.used, false); i >= 0 {
		return "", fmt.Errorf("statement %s: parameter %s is declared but not used", s.Name, s.Params[i])
	}
	return r.out.String(), nil
}

// call renders a stored procedure that returns rows.
func call(s *workload.Statement) (string, error) {
	if strings.Trim(s.Call, wordBytes+".") != "" {
		return "", fmt.Errorf("statement %s: %q is not the name of a procedure", s.Name, s.Call)
	}
	args := make([]string, len(s.Params))
	for i := range args {
		args[i] = fmt.Sprintf("$%d", i+1)
	}
	return "SELECT * FROM " + s.Call + "(" + strings.Join(args, ",") + ")", nil
}

const wordBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

// renderer copies SQL from in to out and replaces parameters and tokens on the
// way. It knows just enough of PostgreSQL's lexical structure (manual, section
// 4.1) to leave alone what is not code.
type renderer struct {
	in     string
	pos    int
	out    strings.Builder
	params []string
	used   []bool
}

func (r *renderer) run() error {
	for r.pos < len(r.in) {
		if n, err := quoted(r.in, r.pos); err != nil {
			return err
		} else if n > 0 {
			r.copy(n)
			continue
		}
		var err error
		switch rest := r.in[r.pos:]; {
		case strings.HasPrefix(rest, "::"), strings.HasPrefix(rest, ":="):
			r.copy(2)
		case rest[0] == ':' && nameStart(rest[1:]):
			n := 1 + wordLength(rest[1:])
			err = r.parameter(rest[1:n])
			r.pos += n
		case rest[0] == '{':
			err = r.token(rest)
		case rest[0] == '}':
			err = fmt.Errorf("} at byte %d closes no token", r.pos)
		case rest[0] == '$' && len(rest) > 1 && rest[1] >= '0' && rest[1] <= '9':
			err = fmt.Errorf("numbered parameter at byte %d: write parameters by name, as in :id", r.pos)
		case wordLength(rest) > 0:
			r.copy(wordLength(rest))
		default:
			r.copy(1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *renderer) copy(n int) {
	r.out.WriteString(r.in[r.pos : r.pos+n])
	r.pos += n
}

func (r *renderer) parameter(name string) error {
	i := slices.Index(r.params, name)
	if i < 0 {
		return fmt.Errorf("parameter :%s is not declared: declared are %q", name, r.params)
	}
	r.used[i] = true
	fmt.Fprintf(&r.out, "$%d", i+1)
	return nil
}

// token renders the intent token that rest begins with.
func (r *renderer) token(rest string) error {
	end := strings.IndexByte(rest, '}')
	if end < 0 {
		return fmt.Errorf("{ at byte %d is never closed", r.pos)
	}
	r.pos += end + 1
	words := strings.Fields(rest[1:end])
	switch strings.Join(words, " ") {
	case "now":
		r.out.WriteString("LOCALTIMESTAMP")
		return nil
	case "today":
		r.out.WriteString("CURRENT_DATE")
		return nil
	case "lock update":
		r.out.WriteString("FOR UPDATE")
		return nil
	case "lock share":
		r.out.WriteString("FOR SHARE")
		return nil
	}
	if len(words) != 2 || words[0] != "limit" {
		return fmt.Errorf("unknown token %s: allowed are {limit :n}, {limit 10}, {now}, {today}, {lock update} and {lock share}", rest[:end+1])
	}
	r.out.WriteString("LIMIT ")
	if name, ok := strings.CutPrefix(words[1], ":"); ok {
		return r.parameter(name)
	}
	if strings.Trim(words[1], "0123456789") != "" {
		return fmt.Errorf("token %s: %q is neither a parameter nor a whole number", rest[:end+1], words[1])
	}
	r.out.WriteString(words[1])
	return nil
}

// quoted returns the length of the string, quoted identifier, comment or
// dollar quote that starts at in[pos], or 0 where none does.
func quoted(in string, pos int) (int, error) {
	rest := in[pos:]
	var n int
	switch {
	case strings.HasPrefix(rest, "--"):
		if n = strings.IndexByte(rest, '\n'); n < 0 {
			n = len(rest)
		}
		return n, nil
	case strings.HasPrefix(rest, "/*"):
		n = commentLength(rest)
	case rest[0] == '\'':
		n = untilQuote(rest, '\'', false)
	case (rest[0] == 'e' || rest[0] == 'E') && strings.HasPrefix(rest[1:], "'"):
		if n = untilQuote(rest[1:], '\'', true); n > 0 {
			n++
		}
	case rest[0] == '"':
		n = untilQuote(rest, '"', false)
	case rest[0] == '$':
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

// commentLength returns the length of the comment that text begins with;
// comments nest. It is 0 where the comment is not closed.
func commentLength(text string) int {
	depth := 0
	for i := 0; i+1 < len(text); i++ {
		switch text[i : i+2] {
		case "/*":
			depth++
			i++
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

// wordLength returns the length of the identifier or number that text begins
// with. Bytes above ASCII belong to words, as in the server.
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
