package replay

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/loadstone-perf/loadstone/internal/twin/dbms"
)

// Error is a fault in a replay file.
type Error struct {
	File         string
	Line, Column int // from 1
	Message      string
}

// Error is file:line:column: message.
func (e Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

// faultAt is an Error whose file is filled in by Parse.
func faultAt(t *token.Token, format string, args ...any) error {
	e := Error{Line: 1, Column: 1, Message: fmt.Sprintf(format, args...)}
	if t != nil && t.Position != nil {
		e.Line, e.Column = t.Position.Line, t.Position.Column
	}
	return e
}

// Model is what a study's calculations need to know, and no published number.
type Model struct {
	Name        string
	Parameters  []Parameter
	Assumptions []Assumption
	Databases   []Database
	Experiments []Experiment
}

// Study is a replay file: a model, the published numbers that its parameters
// are fitted to, and those that it predicts. They are of different types, so
// that a fit can't be handed a prediction.
type Study struct {
	Model
	About      string
	Source     string
	Calibrated []Calibrated
	Predicted  []Prediction
	Omitted    []Omitted
}

// Parameter is a quantity that is fitted.
type Parameter struct {
	Name  string  `yaml:"name"`
	Start float64 `yaml:"start"`
	Low   float64 `yaml:"low"`
	High  float64 `yaml:"high"`
	Unit  string  `yaml:"unit"`
	About string  `yaml:"about"`
}

// Assumption is a quantity that no figure sets: it is drawn from its range.
type Assumption struct {
	Name  string  `yaml:"name"`
	Value float64 `yaml:"value"`
	Low   float64 `yaml:"low"`
	High  float64 `yaml:"high"`
	Least float64 `yaml:"least"` // that means anything
	Unit  string  `yaml:"unit"`
	About string  `yaml:"about"`
}

// Number is one published number.
type Number struct {
	ID, Metric, Unit, Source string
	Value                    float64
	Rounding                 float64 // half of the last printed digit
}

// Calibrated is a number that sets a parameter.
type Calibrated struct {
	Number
	Sets  string // parameter
	Reads Expr
}

// Prediction is a number that the model must give by itself.
type Prediction struct {
	Number
	Sense  Sense
	Within float64 // relative, of Similar
	Ratio  bool    // it is a ratio of throughputs
	Reads  Expr
	Why    string // what the likely reason is where it fails
}

// Omitted is a number that the twin has no quantity for.
type Omitted struct {
	Number
	Why string
}

// Sense is how a prediction is compared with its number.
type Sense string

// The senses. Greater and Less are orderings and bounds.
const (
	Equal   Sense = "equal"
	Greater Sense = "greater"
	Less    Sense = "less"
	Similar Sense = "similar"
)

// Database is classes of transactions with formulas for numbers.
type Database struct {
	Name    string   `yaml:"name"`
	PageB   Expr     `yaml:"page-b"`
	Tables  []Table  `yaml:"tables"`
	Hot     []Hot    `yaml:"hot"`
	Classes []Class  `yaml:"classes"`
	at      ast.Node // for errors
}

// Table is dbms.Table in formulas; "scale" is that of the machine.
type Table struct {
	Name        string `yaml:"name"`
	Pages       Expr   `yaml:"pages"`
	Zipf        Expr   `yaml:"zipf"`
	HotPages    Expr   `yaml:"hot-pages"`
	HotAccesses Expr   `yaml:"hot-accesses"`
	Scattered   bool   `yaml:"scattered"`
}

// Hot is dbms.HotRows in formulas.
type Hot struct {
	Name string `yaml:"name"`
	Rows Expr   `yaml:"rows"`
}

// Class is dbms.Class in formulas.
type Class struct {
	Name       string  `yaml:"name"`
	Weight     Expr    `yaml:"weight"`
	ComputeNS  Expr    `yaml:"compute-ns"`
	MemoryNS   Expr    `yaml:"memory-ns"`
	Misses     Expr    `yaml:"misses"`
	LogB       Expr    `yaml:"log-b"`
	RequestB   Expr    `yaml:"request-b"`
	ResponseB  Expr    `yaml:"response-b"`
	RoundTrips Expr    `yaml:"round-trips"`
	Touches    []Touch `yaml:"touches"`
	Locks      []Lock  `yaml:"locks"`
}

// Touch is dbms.Touch by the table's name.
type Touch struct {
	Table  string `yaml:"table"`
	Pages  Expr   `yaml:"pages"`
	Writes Expr   `yaml:"writes"`
}

// Lock is dbms.Lock by the rows' name.
type Lock struct {
	Rows  string `yaml:"rows"`
	Count Expr   `yaml:"count"`
}

// document is the file as it is written.
type document struct {
	Name        string       `yaml:"replay"`
	About       string       `yaml:"about"`
	Source      string       `yaml:"source"`
	Parameters  []Parameter  `yaml:"parameters"`
	Assumptions []Assumption `yaml:"assumptions"`
	Databases   []Database   `yaml:"databases"`
	Experiments experiments  `yaml:"experiments"`
	Published   []row        `yaml:"published"`
}

// row is one published number with what becomes of it.
type row struct {
	ID         string  `yaml:"id"`
	Metric     string  `yaml:"metric"`
	Unit       string  `yaml:"unit"`
	Source     string  `yaml:"source"`
	Value      float64 `yaml:"value"`
	Rounding   float64 `yaml:"rounding"`
	Reads      Expr    `yaml:"reads"`
	Calibrated string  `yaml:"calibrated"`
	Predicted  Sense   `yaml:"predicted"`
	Within     float64 `yaml:"within"`
	Ratio      bool    `yaml:"ratio"`
	Omitted    string  `yaml:"omitted"`
	Why        string  `yaml:"why"`
	at         *token.Token
}

// UnmarshalYAML keeps the place for errors.
func (r *row) UnmarshalYAML(n ast.Node) error {
	type plain row
	if err := yaml.NodeToValue(n, (*plain)(r), yaml.Strict()); err != nil {
		return err
	}
	r.at = firstToken(n)
	return nil
}

// UnmarshalYAML keeps the place for errors.
func (d *Database) UnmarshalYAML(n ast.Node) error {
	type plain Database
	if err := yaml.NodeToValue(n, (*plain)(d), yaml.Strict()); err != nil {
		return err
	}
	d.at = n
	return nil
}

// firstToken is where n begins.
func firstToken(n ast.Node) *token.Token {
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 {
		return m.Values[0].Key.GetToken()
	}
	return n.GetToken()
}

// maxFile bounds a replay file, in bytes.
const maxFile = 256 << 10

// Parse reads a replay file. name is for errors, each of which has file, line
// and column; faults in the meaning come all at once. All lists are of
// sections whose entries are those of the types named here; numbers of
// databases, experiments and reads are formulas (Expr) of parameters,
// assumptions, the host's ghz and the machine's scale, and reads also of
// results, such as vm8.tps.
//
//	replay: NAME, as the folder
//	about: one line
//	source: the paper
//	parameters: [Parameter]      what is fitted
//	assumptions: [Assumption]    what is drawn
//	databases: [Database]
//	experiments: [Experiment]    like: NAME begins as an earlier one
//	published:                   every number of the paper, as one of
//	  - {id, metric, unit, value, rounding, source, reads, calibrated: PARAMETER}
//	  - {id, …, reads, predicted: equal | greater | less | similar, within, ratio: true, why}
//	  - {id, …, omitted: why}
func Parse(name string, src []byte) (s *Study, err error) {
	defer func() { // the library has panicked on malformed input before
		if p := recover(); p != nil {
			s, err = nil, Error{name, 1, 1, fmt.Sprintf("not readable as YAML: %v", p)}
		}
	}()
	if len(src) > maxFile {
		return nil, Error{name, 1, 1, fmt.Sprintf("the file has %d bytes, at most %d are read", len(src), maxFile)}
	}
	file, err := parser.ParseBytes(src, 0)
	if err != nil {
		return nil, located(name, err)
	}
	if len(file.Docs) != 1 || file.Docs[0].Body == nil {
		return nil, Error{name, 1, 1, "a replay file is one document with entries such as replay: NAME"}
	}
	var d document
	if err := yaml.NodeToValue(file.Docs[0].Body, &d, yaml.Strict()); err != nil {
		return nil, located(name, err)
	}
	c := checker{doc: &d}
	s = c.study()
	if len(c.faults) > 0 {
		for i := range c.faults {
			c.faults[i] = located(name, c.faults[i])
		}
		return nil, errors.Join(c.faults...)
	}
	return s, nil
}

// located gives an error of the library or of faultAt its file.
func located(name string, err error) error {
	var own Error
	if errors.As(err, &own) {
		own.File = name
		return own
	}
	e := Error{File: name, Line: 1, Column: 1, Message: strings.ReplaceAll(err.Error(), "\n", " ")}
	var y yaml.Error
	if errors.As(err, &y) {
		e.Message = y.GetMessage()
		if t := y.GetToken(); t != nil && t.Position != nil {
			e.Line, e.Column = t.Position.Line, t.Position.Column
		}
	}
	return e
}

// checker turns a document into a study and collects the faults.
type checker struct {
	doc    *document
	faults []error
	known  map[string]bool // names for formulas
}

func (c *checker) fault(t *token.Token, format string, args ...any) {
	c.faults = append(c.faults, faultAt(t, format, args...))
}

func (c *checker) study() *Study {
	d := c.doc
	if d.Name == "" {
		c.fault(nil, "the file lacks replay: NAME")
	}
	c.names()
	c.databases()
	c.experiments()
	s := &Study{About: d.About, Source: d.Source, Model: Model{Name: d.Name, Parameters: d.Parameters,
		Assumptions: d.Assumptions, Databases: d.Databases}}
	for _, x := range d.Experiments {
		if !x.Template {
			s.Experiments = append(s.Experiments, x)
			for _, m := range outputs {
				c.known[x.Name+"."+m] = true
			}
		}
	}
	c.rows(s)
	return s
}

// names collects parameters and assumptions.
func (c *checker) names() {
	c.known = map[string]bool{}
	add := func(name string, value, low, high float64) {
		if name == "" || c.known[name] || strings.Contains(name, ".") || !(low <= value && value <= high) || low <= 0 {
			c.fault(nil, "the quantity %q: %g within %g and %g: a name of its own and 0 < low <= value <= high", name, value, low, high)
		}
		c.known[name] = true
	}
	for _, p := range c.doc.Parameters {
		add(p.Name, p.Start, p.Low, p.High)
	}
	for _, a := range c.doc.Assumptions {
		add(a.Name, a.Value, a.Low, a.High)
	}
}

// formula reports names in e that mean nothing here.
func (c *checker) formula(e Expr, more ...string) {
	e.names(func(name string) {
		if !c.known[name] && !slices.Contains(more, name) {
			c.fault(e.at, "%q is no parameter, assumption or result", name)
		}
	})
}

func (c *checker) databases() {
	for i := range c.doc.Databases {
		d := &c.doc.Databases[i]
		at := firstToken(d.at)
		c.formulas(d.formulas()...)
		for _, k := range d.Classes {
			for _, t := range k.Touches {
				if !slices.ContainsFunc(d.Tables, func(x Table) bool { return x.Name == t.Table }) {
					c.fault(at, "class %s touches %q, which is no table of %s", k.Name, t.Table, d.Name)
				}
			}
			for _, l := range k.Locks {
				if !slices.ContainsFunc(d.Hot, func(x Hot) bool { return x.Name == l.Rows }) {
					c.fault(at, "class %s locks %q, which are no hot rows of %s", k.Name, l.Rows, d.Name)
				}
			}
		}
	}
}

// formulas lists all of d.
func (d *Database) formulas() []Expr {
	out := []Expr{d.PageB}
	for _, t := range d.Tables {
		out = append(out, t.Pages, t.Zipf, t.HotPages, t.HotAccesses)
	}
	for _, h := range d.Hot {
		out = append(out, h.Rows)
	}
	for _, k := range d.Classes {
		out = append(out, k.Weight, k.ComputeNS, k.MemoryNS, k.Misses, k.LogB, k.RequestB, k.ResponseB, k.RoundTrips)
		for _, t := range k.Touches {
			out = append(out, t.Pages, t.Writes)
		}
		for _, l := range k.Locks {
			out = append(out, l.Count)
		}
	}
	return out
}

func (c *checker) formulas(es ...Expr) {
	for _, e := range es {
		c.formula(e, "scale", "ghz")
	}
}

// rows divides the published numbers.
func (c *checker) rows(s *Study) {
	seen := map[string]bool{}
	for i := range c.doc.Published {
		r := &c.doc.Published[i]
		n := Number{r.ID, r.Metric, r.Unit, r.Source, r.Value, r.Rounding}
		if r.ID == "" || seen[r.ID] || r.Metric == "" || r.Source == "" {
			c.fault(r.at, "the published number %q has no id of its own, no metric or no source", r.ID)
		}
		seen[r.ID] = true
		c.formula(r.Reads)
		kinds := 0
		if r.Calibrated != "" {
			kinds++
			s.Calibrated = append(s.Calibrated, Calibrated{n, r.Calibrated, r.Reads})
			if !slices.ContainsFunc(s.Parameters, func(p Parameter) bool { return p.Name == r.Calibrated }) {
				c.fault(r.at, "%s sets %q, which is no parameter", r.ID, r.Calibrated)
			}
		}
		if r.Predicted != "" {
			kinds++
			s.Predicted = append(s.Predicted, Prediction{n, r.Predicted, r.Within, r.Ratio, r.Reads, r.Why})
			if !slices.Contains([]Sense{Equal, Greater, Less, Similar}, r.Predicted) || (r.Predicted == Similar) != (r.Within > 0) {
				c.fault(r.at, "%s: predicted %q within %g: equal, greater, less, or similar with within", r.ID, r.Predicted, r.Within)
			}
		}
		if r.Omitted != "" {
			kinds++
			s.Omitted = append(s.Omitted, Omitted{n, r.Omitted})
		}
		if kinds != 1 || r.Reads.set() == (r.Omitted != "") {
			c.fault(r.at, "%s is to be one of calibrated, predicted and omitted; the first two read something", r.ID)
		}
	}
	for _, p := range s.Parameters {
		if !slices.ContainsFunc(s.Calibrated, func(r Calibrated) bool { return r.Sets == p.Name }) {
			c.fault(nil, "no published number sets the parameter %s", p.Name)
		}
	}
}

// database evaluates d for one machine.
func (d *Database) database(names map[string]float64) *dbms.Database {
	out := &dbms.Database{Name: d.Name, PageBytes: int(d.PageB.or(8192, names))}
	for _, t := range d.Tables {
		out.Tables = append(out.Tables, dbms.Table{Name: t.Name, Pages: t.Pages.value(names), Scattered: t.Scattered,
			Popularity: dbms.Popularity{Zipf: t.Zipf.value(names), HotPages: t.HotPages.value(names), HotAccesses: t.HotAccesses.value(names)}})
	}
	for _, h := range d.Hot {
		out.Hot = append(out.Hot, dbms.HotRows{Name: h.Name, Rows: int(h.Rows.value(names))})
	}
	for _, k := range d.Classes {
		c := dbms.Class{Name: k.Name, Weight: k.Weight.or(1, names), Compute: k.ComputeNS.value(names), Memory: k.MemoryNS.value(names),
			Misses: k.Misses.value(names), LogBytes: k.LogB.value(names), RequestBytes: k.RequestB.value(names),
			ResponseBytes: k.ResponseB.value(names), RoundTrips: int(k.RoundTrips.or(1, names))}
		for _, t := range k.Touches {
			at := slices.IndexFunc(d.Tables, func(x Table) bool { return x.Name == t.Table })
			c.Touches = append(c.Touches, dbms.Touch{Table: at, Pages: t.Pages.value(names), Writes: t.Writes.value(names)})
		}
		for _, l := range k.Locks {
			at := slices.IndexFunc(d.Hot, func(x Hot) bool { return x.Name == l.Rows })
			c.Locks = append(c.Locks, dbms.Lock{Hot: at, Rows: int(l.Count.value(names))})
		}
		out.Classes = append(out.Classes, c)
	}
	return out
}
