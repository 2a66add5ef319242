package unit

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind is what a Param's text must parse as.
type Kind int

// The kinds of parameters.
const (
	Text     Kind = iota // any text
	Int                  // a whole number
	Float                // a number
	Size                 // an amount of memory or disk: 256MiB
	Time                 // a duration: 10s
	Share                // a percentage: 25%
	Bool                 // true or false
	SizeName             // one of Allowed, or a Size
)

// Param describes one named parameter of a workload, provider or engine: what
// a study may give for it, and what it is where the study is silent.
type Param struct {
	Name    string
	Kind    Kind
	Default string   // parses as Kind; "" is "not set" (only for Text)
	Min     string   // least allowed, parses as Kind; "" is no bound
	Max     string   // most allowed; "" is no bound
	Allowed []string // the only texts allowed, for Text and SizeName
	About   string   // one line for help texts, the schema and errors
}

// Check says whether text is allowed for p; the error tells what was found
// and what is allowed, without naming p.
func (p Param) Check(text string) error {
	v, err := p.Kind.number(text)
	switch {
	case p.Kind == SizeName && slices.Contains(p.Allowed, text):
		return nil
	case err != nil && p.Kind == SizeName:
		return fmt.Errorf("%q is neither one of %s nor a size such as 250MiB", text, strings.Join(p.Allowed, ", "))
	case err != nil:
		return err
	case p.Kind == Text && len(p.Allowed) > 0 && !slices.Contains(p.Allowed, text):
		return fmt.Errorf("%q is not %s", text, p.Shape())
	}
	for _, b := range []struct {
		text, word string
		broken     func(v, bound float64) bool
	}{
		{p.Min, "least", func(v, b float64) bool { return v < b }},
		{p.Max, "most", func(v, b float64) bool { return v > b }},
	} {
		if bound, err := p.Kind.number(b.text); b.text != "" && err == nil && b.broken(v, bound) {
			return fmt.Errorf("%s is out of range: at %s %s", text, b.word, b.text)
		}
	}
	return nil
}

// Shape tells a person what p's text may be, for error messages and help.
func (p Param) Shape() string {
	switch {
	case p.Kind == Text && len(p.Allowed) == 1:
		return p.Allowed[0]
	case p.Kind == Text && len(p.Allowed) > 1:
		return "one of " + strings.Join(p.Allowed, ", ")
	}
	var s string
	switch p.Kind {
	case Text:
		s = "text"
	case Int:
		s = "a whole number"
	case Float:
		s = "a number"
	case Size:
		s = "a size such as 256MiB"
	case Time:
		s = "a duration such as 10s"
	case Share:
		s = "a percentage such as 25%"
	case Bool:
		s = "true or false"
	case SizeName:
		s = strings.Join(p.Allowed, ", ") + " or a size such as 250MiB"
	}
	switch {
	case p.Min != "" && p.Max != "":
		s += fmt.Sprintf(" from %s to %s", p.Min, p.Max)
	case p.Min != "":
		s += fmt.Sprintf(", at least %s", p.Min)
	case p.Max != "":
		s += fmt.Sprintf(", at most %s", p.Max)
	}
	return s
}

// number parses text as k, as a number that can be compared with a bound.
func (k Kind) number(text string) (float64, error) {
	switch k {
	case Int:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%q is not a whole number", text)
		}
		return float64(n), nil
	case Float:
		return parseNumber(text)
	case Size, SizeName:
		b, err := ParseBytes(text)
		return float64(b), err
	case Time:
		d, err := ParseDuration(text)
		return float64(d), err
	case Share:
		f, err := ParsePercent(text)
		return f, err
	case Bool:
		if text != "true" && text != "false" {
			return 0, fmt.Errorf("%q is neither true nor false", text)
		}
	}
	return 0, nil
}

// Values are the parameters of one thing, checked and complete.
type Values struct{ text map[string]string }

// NewValues checks texts against specs and fills in the defaults. The error
// joins one for every fault.
func NewValues(specs []Param, texts map[string]string) (Values, error) {
	v := Values{text: make(map[string]string, len(specs))}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if !slices.ContainsFunc(specs, func(p Param) bool { return p.Name == name }) {
			errs = append(errs, fmt.Errorf("unknown parameter %q", name))
		}
	}
	for _, p := range specs {
		t, given := texts[p.Name]
		if !given {
			t = p.Default
		} else if err := p.Check(t); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p.Name, err))
		}
		v.text[p.Name] = t
	}
	return v, errors.Join(errs...)
}

// Text returns the parameter as it was written. Like all getters it panics on
// a name that no Param of the set has: that is our bug, not the user's.
func (v Values) Text(name string) string {
	t, ok := v.text[name]
	if !ok {
		panic("unit: no parameter " + name)
	}
	return t
}

// Int returns a parameter of kind Int.
func (v Values) Int(name string) int64 { return must(strconv.ParseInt(v.Text(name), 10, 64)) }

// Float returns a parameter of kind Float.
func (v Values) Float(name string) float64 { return must(parseNumber(v.Text(name))) }

// Bytes returns a parameter of kind Size, or of kind SizeName where it is a
// size and no name.
func (v Values) Bytes(name string) Bytes { return must(ParseBytes(v.Text(name))) }

// Duration returns a parameter of kind Time.
func (v Values) Duration(name string) time.Duration { return must(ParseDuration(v.Text(name))) }

// Percent returns a parameter of kind Share: 25 for 25%.
func (v Values) Percent(name string) float64 { return must(ParsePercent(v.Text(name))) }

// Bool returns a parameter of kind Bool.
func (v Values) Bool(name string) bool { return v.Text(name) == "true" }

// All returns a copy of every parameter by name.
func (v Values) All() map[string]string {
	out := make(map[string]string, len(v.text))
	for k, t := range v.text {
		out[k] = t
	}
	return out
}

func must[T any](v T, err error) T {
	if err != nil {
		panic("unit: " + err.Error())
	}
	return v
}
