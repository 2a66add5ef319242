package host

import (
	"strconv"

	"github.com/goccy/go-yaml/ast"
)

// Section is a mapping in a host file whose entries are taken one by one: see
// ParseWith. Faults go to the reader of the file, with their places, and the
// least allowed value is returned in place of what is wrong; entries that
// nobody takes are faults.
type Section struct{ in *section }

// Text takes a single value; required says that its absence is a fault, else
// it is "".
func (s Section) Text(key string, need bool) string {
	if need {
		return s.in.text(key, required)
	}
	return s.in.text(key, "")
}

// Number takes a number from least to most, which must be there.
func (s Section) Number(key string, least, most float64) float64 {
	return s.in.number(key, required, least, most)
}

// Optional takes a number from least to most; usual where it is not there.
func (s Section) Optional(key string, usual, least, most float64) float64 {
	return s.in.number(key, strconv.FormatFloat(usual, 'g', -1, 64), least, most)
}

// GHz takes a frequency such as 2.8GHz, which must be there.
func (s Section) GHz(key string) float64 {
	return scalar(s.in, key, required, numberFrom("GHz", 0.1, 10))
}

// Flag takes true or false; false where it is not there.
func (s Section) Flag(key string) bool { return s.in.flag(key) }

// Sub takes a section; ok is false where it is not there, or is none.
func (s Section) Sub(key string, need bool) (sub Section, ok bool) {
	in := s.in.sub(key, need)
	return Section{in}, in != nil
}

// Done reports entries of a section from Sub that nobody took.
func (s Section) Done() { s.in.done() }

// Named takes a section of named sections, in the order of the file.
func (s Section) Named(key string, need bool, each func(name string, s Section)) {
	s.in.named(key, need, func(name string, one *section) { each(name, Section{one}) })
}

// List takes a list of sections; one that is not there is empty.
func (s Section) List(key string, each func(Section)) {
	for _, n := range s.in.list(key, false) {
		if one := s.in.r.section(key, n); one != nil {
			each(Section{one})
			one.done()
		}
	}
}

// Texts takes a list of single values; one that is not there is empty.
func (s Section) Texts(key string) []string {
	var out []string
	for _, n := range s.in.list(key, false) {
		if _, ok := n.(ast.ScalarNode); !ok {
			s.in.r.fault(n.GetToken(), "%s holds single values", key)
			continue
		}
		out = append(out, n.GetToken().Value)
	}
	return out
}

// Pairs takes a section of single values, by key in the order of the file.
func (s Section) Pairs(key string) (keys, values []string) {
	in := s.in.sub(key, false)
	if in == nil {
		return nil, nil
	}
	for _, k := range in.order {
		keys, values = append(keys, k), append(values, in.text(k, required))
	}
	return keys, values
}

// Fault reports what is wrong with the value of an entry, or, where it is not
// there, with the section.
func (s Section) Fault(key, format string, args ...any) {
	at := s.in.at
	if n := s.in.value[key]; n != nil {
		at = n.GetToken()
	}
	s.in.r.fault(at, format, args...)
}
