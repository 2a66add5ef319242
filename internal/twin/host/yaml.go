package host

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/loadstone-perf/loadstone/internal/unit"
)

// Error is one fault in a host file.
type Error struct {
	File         string
	Line, Column int // from 1
	Message      string
}

// Error is file:line:column: message.
func (e Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

// reader collects the faults of one file.
type reader struct {
	file   string
	faults []Error
}

func (r *reader) fault(tok *token.Token, format string, args ...any) {
	e := Error{File: r.file, Line: 1, Column: 1, Message: fmt.Sprintf(format, args...)}
	if tok != nil && tok.Position != nil {
		e.Line, e.Column = tok.Position.Line, tok.Position.Column
	}
	r.faults = append(r.faults, e)
}

// err joins the faults in the order of their places.
func (r *reader) err() error {
	slices.SortStableFunc(r.faults, func(a, b Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	errs := make([]error, len(r.faults))
	for i, f := range r.faults {
		errs[i] = f
	}
	return errors.Join(errs...)
}

// section is a mapping whose entries are taken one by one; done reports those
// that nobody took.
type section struct {
	r     *reader
	at    *token.Token
	name  string
	order []string
	keys  map[string]*token.Token
	value map[string]ast.Node
	asked map[string]bool
}

// maxFile bounds a host file, in bytes.
const maxFile = 64 << 10

// open parses src as one mapping, or reports why it is none and returns nil.
func (r *reader) open(src []byte) (s *section) {
	if len(src) > maxFile {
		r.fault(nil, "the file has %d bytes, at most %d are read", len(src), maxFile)
		return nil
	}
	defer func() { // the library has panicked on malformed input before
		if p := recover(); p != nil {
			r.fault(nil, "not readable as YAML: %v", p)
			s = nil
		}
	}()
	file, err := parser.ParseBytes(src, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		var y yaml.Error
		if errors.As(err, &y) {
			r.fault(y.GetToken(), "YAML: %s", y.GetMessage())
		} else {
			r.fault(nil, "YAML: %v", err)
		}
		return nil
	}
	if len(file.Docs) != 1 || file.Docs[0].Body == nil {
		r.fault(nil, "a host file is one document with entries such as host: NAME")
		return nil
	}
	return r.section("the file", file.Docs[0].Body)
}

// section reads n as a mapping, or reports that it is none and returns nil.
func (r *reader) section(name string, n ast.Node) *section {
	s := &section{r: r, at: n.GetToken(), name: name, keys: map[string]*token.Token{}, value: map[string]ast.Node{}, asked: map[string]bool{}}
	var entries []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		entries = n.Values
	case *ast.MappingValueNode:
		entries = []*ast.MappingValueNode{n}
	default:
		r.fault(n.GetToken(), "%s is a section of entries, not %q", name, strings.TrimSpace(n.String()))
		return nil
	}
	for i, e := range entries {
		key := e.Key.GetToken()
		if i == 0 {
			s.at = key
		}
		if _, plain := e.Key.(ast.ScalarNode); !plain || e.Key.IsMergeKey() {
			r.fault(key, "only plain names may be keys")
			continue
		}
		if s.keys[key.Value] != nil {
			r.fault(key, "%q stands twice in %s", key.Value, name)
			continue
		}
		s.order = append(s.order, key.Value)
		s.keys[key.Value], s.value[key.Value] = key, e.Value
	}
	return s
}

// done reports entries that nothing asked for.
func (s *section) done() {
	for _, key := range s.order {
		if !s.asked[key] {
			var known []string
			for k := range s.asked {
				known = append(known, k)
			}
			slices.Sort(known)
			s.r.fault(s.keys[key], "%s has no entry %q; allowed: %s", s.name, key, strings.Join(known, ", "))
		}
	}
}

// take returns the node of an entry, or nil where it is not there; then,
// where it is required, that is reported.
func (s *section) take(key string, required bool) ast.Node {
	s.asked[key] = true
	n := s.value[key]
	if n == nil && required {
		s.r.fault(s.at, "%s lacks %s", s.name, key)
	}
	return n
}

// scalar reads an entry through parse; def stands for one that is not there, and
// "" as def says that it is required.
func scalar[T any](s *section, key, def string, parse func(string) (T, error)) (out T) {
	n := s.take(key, def == required)
	text := def
	at := s.at
	if n != nil {
		at = n.GetToken()
		if _, ok := n.(ast.ScalarNode); !ok {
			s.r.fault(at, "%s is a single value", key)
			return out
		}
		text = at.Value
	}
	if n == nil && def == required {
		return out
	}
	out, err := parse(text)
	if err != nil {
		s.r.fault(at, "%s: %v", key, err)
	}
	return out
}

// required, as a default, says that there is none.
const required = "\x00"

func (s *section) text(key, def string) string {
	return scalar(s, key, def, func(t string) (string, error) { return t, nil })
}

func (s *section) int(key, def string, least, most int) int {
	return scalar(s, key, def, func(t string) (int, error) {
		n, err := strconv.Atoi(t)
		if err != nil || n < least || n > most {
			return least, fmt.Errorf("%q is not a whole number from %d to %d", t, least, most)
		}
		return n, nil
	})
}

func (s *section) number(key, def string, least, most float64) float64 {
	return scalar(s, key, def, numberFrom("", least, most))
}

// numberFrom parses a number with a unit behind it, within bounds.
func numberFrom(unit string, least, most float64) func(string) (float64, error) {
	return func(t string) (float64, error) {
		num, ok := strings.CutSuffix(t, unit)
		x, err := strconv.ParseFloat(strings.TrimSpace(num), 64)
		if !ok || err != nil || !(x >= least && x <= most) {
			return least, fmt.Errorf("%q is not a number from %g to %g%s", t, least, most, map[bool]string{true: " with the unit " + unit}[unit != ""])
		}
		return x, nil
	}
}

func (s *section) bytes(key, def string) unit.Bytes { return scalar(s, key, def, unit.ParseBytes) }

func (s *section) duration(key, def string) time.Duration {
	return scalar(s, key, def, unit.ParseDuration)
}

func (s *section) flag(key string) bool {
	return scalar(s, key, "false", func(t string) (bool, error) {
		if t != "true" && t != "false" {
			return false, fmt.Errorf("%q is neither true nor false", t)
		}
		return t == "true", nil
	})
}

// sub reads an entry as a section; nil where it is not there or none.
func (s *section) sub(key string, required bool) *section {
	n := s.take(key, required)
	if n == nil {
		return nil
	}
	return s.r.section(key, n)
}

// named reads an entry as a section of named sections.
func (s *section) named(key string, required bool, each func(name string, s *section)) {
	all := s.sub(key, required)
	if all == nil {
		return
	}
	for _, name := range all.order {
		all.asked[name] = true
		if one := s.r.section(name, all.value[name]); one != nil {
			each(name, one)
			one.done()
		}
	}
}

// list reads an entry's items.
func (s *section) list(key string, required bool) []ast.Node {
	n := s.take(key, required)
	if n == nil {
		return nil
	}
	l, ok := n.(*ast.SequenceNode)
	if !ok {
		s.r.fault(n.GetToken(), "%s is a list", key)
		return nil
	}
	return l.Values
}
