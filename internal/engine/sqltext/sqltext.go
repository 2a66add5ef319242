// Package sqltext renders a workload's statements for an engine: it replaces
// parameters (:name) and intent tokens ({limit :n}) and leaves alone what is
// not code: strings, quoted names, comments. It also checks what every engine
// must check of a schema before it renders one.
//
// An engine says in a Language how its own SQL looks. The package knows no
// engine, and does not parse SQL beyond where a quoted text ends.
package sqltext

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

// Language is how one engine writes what engines write differently. A nil
// function, or a token without a text, is something that the engine lacks: a
// statement that needs it is an error.
type Language struct {
	Engine string // its name, as in Statement.Own
	Lexis  Lexis
	// Parameter is the placeholder of parameter number i, from 0.
	Parameter func(i int) string
	// Marks are the bytes that begin the engine's own placeholders: one that
	// stands in a statement is an error. A dollar sign counts before a digit.
	Marks string
	// WholeNumbers refuses constants with a fraction: the engine stores
	// decimals as whole numbers, of which such a constant knows nothing.
	WholeNumbers bool
	// Call renders a call that returns rows; args are placeholders.
	Call func(procedure string, args []string) string
	// Words are the texts of the tokens without arguments: now, today, lock
	// update, lock share, and last id, which is the number that an identity
	// column got by the session's last insert into a table that has one. An
	// empty text means that the engine needs none.
	Words map[string]string
	// Limit renders {limit n}; n is a number or a placeholder, and must stand
	// in the result once.
	Limit func(n string) string
	// Match renders {match TABLE.COLUMN :words}: a condition that holds where
	// every word of the parameter occurs in the column, as a whole word and
	// whatever its case. Words are of letters and digits, and blanks part
	// them. No word at all matches nothing. Each call of words gives a
	// placeholder for one more place in the result, from left to right.
	Match func(table, column string, words func() string) string
}

// Text is a rendered statement.
type Text struct {
	SQL string
	// Order is which parameter each placeholder stands for, from left to
	// right: what an engine without numbered placeholders binds by.
	Order []int
	// Locks says that the statement has a token {lock …}: an engine that has
	// no lock of single rows takes a larger one.
	Locks bool
}

// Render renders s: its own text for the engine, else its common text, else
// its call. A token that is unknown or that the engine lacks is an error, as is
// a parameter that is used but not declared, or declared but not used.
func (l *Language) Render(s *workload.Statement) (Text, error) {
	text, own := s.Own[l.Engine]
	switch {
	case own:
	case s.Text != "" && s.Call != "":
		return Text{}, fmt.Errorf("statement %s has both a text and a call", s.Name)
	case s.Call != "":
		return l.call(s)
	default:
		text = s.Text
	}
	if strings.TrimSpace(text) == "" {
		return Text{}, fmt.Errorf("statement %s has no text for %s", s.Name, l.Engine)
	}
	r := renderer{language: l, in: text, params: s.Params}
	if err := r.run(); err != nil {
		return Text{}, fmt.Errorf("statement %s: %w", s.Name, err)
	}
	for i, p := range s.Params {
		if !slices.Contains(r.order, i) {
			return Text{}, fmt.Errorf("statement %s: parameter %s is declared but not used", s.Name, p)
		}
	}
	return Text{r.out.String(), r.order, r.locks}, nil
}

func (l *Language) call(s *workload.Statement) (Text, error) {
	if strings.Trim(s.Call, wordBytes+".") != "" {
		return Text{}, fmt.Errorf("statement %s: %q is not the name of a procedure", s.Name, s.Call)
	}
	if l.Call == nil {
		return Text{}, fmt.Errorf("statement %s calls the procedure %s, and %s has no procedures", s.Name, s.Call, l.Engine)
	}
	args, order := make([]string, len(s.Params)), make([]int, len(s.Params))
	for i := range args {
		args[i], order[i] = l.Parameter(i), i
	}
	return Text{SQL: l.Call(s.Call, args), Order: order}, nil
}

// renderer copies SQL from in to out and replaces parameters and tokens on the
// way.
type renderer struct {
	language *Language
	in       string
	pos      int
	out      strings.Builder
	params   []string
	order    []int
	locks    bool
}

func (r *renderer) run() error {
	for r.pos < len(r.in) {
		if n, err := r.language.Lexis.quoted(r.in, r.pos); err != nil {
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
		case r.marked(rest):
			err = fmt.Errorf("numbered parameter at byte %d: write parameters by name, as in :id", r.pos)
		case r.language.WholeNumbers && fraction(rest):
			err = fmt.Errorf("constant with a fraction at byte %d: %s stores decimals as whole numbers, so give it as a parameter", r.pos, r.language.Engine)
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

// marked says whether rest begins with a placeholder of the engine's own form.
func (r *renderer) marked(rest string) bool {
	if strings.IndexByte(r.language.Marks, rest[0]) < 0 {
		return false
	}
	return rest[0] != '$' || len(rest) > 1 && rest[1] >= '0' && rest[1] <= '9'
}

// fraction says whether text begins with a number that has a fraction.
func fraction(text string) bool {
	rest := strings.TrimLeft(text, "0123456789")
	return len(rest) > 1 && rest[0] == '.' && rest[1] >= '0' && rest[1] <= '9'
}

func (r *renderer) copy(n int) {
	r.out.WriteString(r.in[r.pos : r.pos+n])
	r.pos += n
}

// parameter writes a placeholder for the parameter called name.
func (r *renderer) parameter(name string) error {
	i, err := r.find(name)
	if err != nil {
		return err
	}
	r.out.WriteString(r.placeholder(i))
	return nil
}

func (r *renderer) find(name string) (int, error) {
	i := slices.Index(r.params, name)
	if i < 0 {
		return 0, fmt.Errorf("parameter :%s is not declared: declared are %q", name, r.params)
	}
	return i, nil
}

// placeholder notes one more use of parameter i and returns its text.
func (r *renderer) placeholder(i int) string {
	r.order = append(r.order, i)
	return r.language.Parameter(i)
}

// allowed names every token.
const allowed = "allowed are {limit :n}, {limit 10}, {match TABLE.COLUMN :words}, {now}, {today}, {last id}, {lock update} and {lock share}"

// token renders the intent token that rest begins with.
func (r *renderer) token(rest string) error {
	end := strings.IndexByte(rest, '}')
	if end < 0 {
		return fmt.Errorf("{ at byte %d is never closed", r.pos)
	}
	r.pos += end + 1
	whole, words := rest[:end+1], strings.Fields(rest[1:end])
	lacks := fmt.Errorf("%s has no form of the token %s", r.language.Engine, whole)
	switch name := strings.Join(words, " "); {
	case slices.Contains([]string{"now", "today", "last id", "lock update", "lock share"}, name):
		text, ok := r.language.Words[name]
		if !ok {
			return lacks
		}
		r.out.WriteString(text)
		r.locks = r.locks || words[0] == "lock"
		return nil
	case len(words) == 2 && words[0] == "limit":
		if r.language.Limit == nil {
			return lacks
		}
		return r.limit(whole, words[1])
	case len(words) == 3 && words[0] == "match":
		if r.language.Match == nil {
			return lacks
		}
		return r.match(whole, words[1], words[2])
	default:
		return fmt.Errorf("unknown token %s: %s", whole, allowed)
	}
}

func (r *renderer) limit(whole, n string) error {
	if name, ok := strings.CutPrefix(n, ":"); ok {
		i, err := r.find(name)
		if err != nil {
			return err
		}
		n = r.placeholder(i)
	} else if strings.Trim(n, "0123456789") != "" {
		return fmt.Errorf("token %s: %q is neither a parameter nor a whole number", whole, n)
	}
	r.out.WriteString(r.language.Limit(n))
	return nil
}

func (r *renderer) match(whole, where, parameter string) error {
	table, column, ok := strings.Cut(where, ".")
	if !ok || !Plain(table) || !Plain(column) {
		return fmt.Errorf("token %s: %q is not TABLE.COLUMN", whole, where)
	}
	name, ok := strings.CutPrefix(parameter, ":")
	if !ok {
		return fmt.Errorf("token %s: %q is not a parameter", whole, parameter)
	}
	i, err := r.find(name)
	if err != nil {
		return err
	}
	r.out.WriteString(r.language.Match(table, column, func() string { return r.placeholder(i) }))
	return nil
}
