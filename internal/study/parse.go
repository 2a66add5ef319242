package study

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/unit"
)

// Parse reads the study file src, whose name is file, against what this build
// offers. The error is of type Errors and holds every fault.
func Parse(file string, src []byte, known Known) (*Study, error) {
	c := &checker{
		file: file, known: known, table: knobs(),
		seen: map[faultKey]bool{}, base: map[string]entry{}, varied: map[string]entry{},
		right: map[rightKey]bool{}, checks: map[string]error{},
	}
	s := &Study{File: file, Source: slices.Clone(src)}
	if root := c.tree(src); root != nil {
		c.root(root)
		s.Scale = c.rescale()
		s.Search = c.readSearch()
		s.Limits.Response = c.limits()
		s.Base = c.config(s, c.base)
		s.Needs.Providers = c.needed
		c.overruled()
		s.Published = c.published()
		s.cells = c.cells(s)
		s.Vary = c.vary()
	}
	if len(c.faults) > 0 {
		all := c.faults.sorted()
		if c.more > 0 {
			all[len(all)-1].Message += fmt.Sprintf(" (and %d more faults, not shown)", c.more)
		}
		return nil, all
	}
	return s, nil
}

// checker collects what the file says and what is wrong with it.
type checker struct {
	file   string
	known  Known
	table  []knob
	lines  []string
	faults Errors
	more   int // faults beyond maxFaults
	seen   map[faultKey]bool
	base   map[string]entry // what is set, by dotted path
	varied map[string]entry // what varies: key is the name below vary
	axes   []axis
	search entry // the knob that is searched for; zero where none is
	// measured says that run.measure is a section.
	measured bool
	// grouped is the name instances where it is a section, else nil; groups are
	// those in it, and group is the name of the one that is being checked.
	grouped  *node
	groups   []group
	group    string
	scale    scaling
	profile  profile
	events   eventList
	needed   []string // needs.providers
	response []responseLimit
	// publications are the entries of published.
	publications []publication
	right        map[rightKey]bool // what the check of a value said
	checks       map[string]error  // what Offer.Check said, by the parameters
	top          *node
}

// entry is a value and the name it stands under.
type entry struct{ key, value *node }

type faultKey struct {
	line, column int
	rule         string
}

type rightKey struct {
	value *node
	offer string
}

// fault reports what is wrong at n, once.
func (c *checker) fault(n *node, message, allowed string) {
	c.faultOnce(message, n, message, allowed)
}

// faultOnce reports at most one fault of a rule at n: different cells may
// break a rule at the same place with different values.
func (c *checker) faultOnce(rule string, n *node, message, allowed string) {
	key := faultKey{n.line, n.column, rule}
	if c.seen[key] {
		return
	}
	c.seen[key] = true
	if len(c.faults) >= maxFaults {
		c.more++
		return
	}
	e := Error{File: c.file, Line: n.line, Column: n.column, Found: c.hidden(n.found), Message: masked(message), Allowed: allowed}
	// Implied values have places beyond the text; a fault lies inside the file.
	e.Line = min(max(e.Line, 1), max(len(c.lines), 1))
	if e.Line <= len(c.lines) {
		e.Source = masked(c.lines[e.Line-1])
	}
	e.Column = min(max(e.Column, 1), len([]rune(e.Source))+1)
	c.faults = append(c.faults, e)
}

// root takes the file apart by its sections.
func (c *checker) root(n *node) {
	c.top = n
	names := append(c.topNames(), "vary")
	stands := func(name string) bool {
		return slices.ContainsFunc(n.pairs, func(p pair) bool { return p.key.text == name })
	}
	// Groups come first: vary may name them, wherever it stands.
	for _, p := range n.pairs {
		if p.key.text == "instances" && p.value.shape == section {
			c.readGroups(p)
		}
	}
	for _, p := range n.pairs {
		if !slices.Contains(names, p.key.text) {
			c.unknown(p.key, "", names)
			meant := nearest(p.key.text, names)
			if meant == "" || stands(meant) {
				continue
			}
			p.key.text = meant // and on, so that the faults within are found too
		}
		switch name := p.key.text; {
		case name == "vary":
			c.readVary(p)
		case name == "profile":
			c.readProfile(p)
		case name == "events":
			c.readEvents(p)
		case name == "scale":
			c.readScale(p)
		case name == "published":
			c.readPublished(p)
		case name == "instances" && p.value.shape == section: // read already
		case slices.Contains(searchable(), name) && p.value.shape == scalar && p.value.text == saturate:
			c.searchFor(p)
		case slices.Contains(sections(), name):
			c.section(p)
		default:
			c.scalar(name, p)
		}
	}
}

// topNames are the names that may stand at the top, but vary.
func (c *checker) topNames() []string {
	names := append(sections(), "profile", "events", "published")
	for _, k := range c.table {
		if !strings.Contains(k.Name, ".") {
			names = append(names, k.Name)
		}
	}
	return names
}

// unknown reports a name that nothing has, with the nearest of candidates or
// the place where the name belongs.
func (c *checker) unknown(key *node, in string, candidates []string) {
	what := fmt.Sprintf("unknown knob %q", key.text)
	if in != "" {
		what += " in " + in
	}
	if in != "" && slices.ContainsFunc(candidates, func(n string) bool { return distance(n, key.text) == 1 }) {
		c.fault(key, what+didYouMean(key.text, candidates), "")
		return
	}
	for _, k := range c.table {
		home, leaf := splitPath(k.Name)
		switch {
		case k.Name == key.text && home != "" && in == "": // instance.cpus: 2 at the top
			parts := strings.Split(k.Name, ".")
			c.fault(key, fmt.Sprintf("%s; write it as a section, %s: …%s", what, strings.Join(parts, ": {"), strings.Repeat("}", len(parts)-1)), "")
			return
		case leaf == key.text && leaf != "name" && home != "" && in != home:
			c.fault(key, fmt.Sprintf("%s; %s belongs in the section %s", what, leaf, home), "")
			return
		}
	}
	if in != "" && slices.Contains(c.topNames(), key.text) {
		c.fault(key, fmt.Sprintf("%s; %s belongs at the top of the file, not indented", what, key.text), "")
		return
	}
	if hint := didYouMean(key.text, candidates); hint != "" {
		c.fault(key, what+hint, "")
		return
	}
	c.fault(key, what, strings.Join(candidates, ", "))
}

// splitPath takes the last name of a path off.
func splitPath(path string) (home, leaf string) {
	dot := strings.LastIndexByte(path, '.')
	return path[:max(dot, 0)], path[dot+1:]
}

// section reads one section of knobs into c.base.
func (c *checker) section(p pair) {
	name := p.key.text
	if !c.isSection(name, p) {
		return
	}
	names := c.namesIn(name)
	for _, q := range p.value.pairs {
		path := name + "." + q.key.text
		switch {
		case path == "engine.settings":
			c.settings(q)
		case path == "engine.password":
			c.fault(q.key, "a password may not stand in a study, which is kept with its results", passwordRemedy)
		case path == "run.measure" && q.value.shape == section:
			c.measure(q)
		case path == "limits.response":
			c.readResponse(q)
		case path == "needs.providers":
			c.readProviders(q)
		case slices.Contains(chosen(), name), slices.Contains(names, q.key.text):
			c.scalar(path, q) // parameters are checked when the name is known
		default:
			c.unknown(q.key, name, names)
		}
	}
}

// isSection reports p where its value is not a section with something in it.
func (c *checker) isSection(name string, p pair) bool {
	allowed := "a section such as " + name + ": {…}"
	if slices.Contains(chosen(), name) {
		allowed = "a section such as " + name + ": {name: NAME}"
	}
	switch p.value.shape {
	case refused:
		return false
	case section:
		if len(p.value.pairs) > 0 {
			return true
		}
		fallthrough
	case absent:
		c.fault(p.key, name+" has nothing in it: fill it in or leave it out", allowed)
		return false
	}
	c.fault(p.value, name+" is "+p.value.what()+", not a section", allowed)
	return false
}

// namesIn are the names of the table's knobs in a section.
func (c *checker) namesIn(name string) []string {
	var names []string
	for _, k := range c.table {
		if home, leaf := splitPath(k.Name); home == name {
			names = append(names, leaf)
		}
	}
	switch name {
	case "engine":
		names = append(names, "settings")
	case "limits":
		names = append(names, "response")
	case "needs":
		names = append(names, "providers")
	}
	return names
}

// settings reads engine.settings.
func (c *checker) settings(p pair) {
	if !c.isSection("engine.settings", p) {
		return
	}
	for _, q := range p.value.pairs {
		if c.settingName(q.key, q.key.text) {
			c.scalar(settingsPrefix+q.key.text, q)
		}
	}
}

func (c *checker) settingName(at *node, name string) bool {
	if !settingName.MatchString(name) {
		c.fault(at, fmt.Sprintf("%q is not the name of a setting", name), "letters, digits and _ . $ -, not beginning with a digit")
		return false
	}
	return true
}

// measure reads run.measure where it is a section: the path of its min is
// run.measure, as where the length is fixed.
func (c *checker) measure(p pair) {
	c.measured = true
	if !c.isSection("run.measure", p) {
		return
	}
	names := append([]string{"min"}, c.namesIn("run.measure")...)
	for _, q := range p.value.pairs {
		switch {
		case q.key.text == "min":
			c.scalar("run.measure", q)
		case slices.Contains(names, q.key.text):
			c.scalar("run.measure."+q.key.text, q)
		default:
			c.unknown(q.key, "run.measure", names)
		}
	}
}

// scalar stores a single value in c.base.
func (c *checker) scalar(path string, p pair) {
	switch p.value.shape {
	case scalar:
		c.base[path] = entry(p)
		return
	case absent:
		c.fault(p.key, path+" has no value", orSaturate(path, c.allowed(path)))
	case list:
		hint := ""
		if k, ok := c.knob(path); !ok || k.fixed == "" {
			hint = fmt.Sprintf("; what varies stands under vary, as %s: […]", path)
		}
		c.fault(p.value, path+" is a list, not one value"+hint, orSaturate(path, c.allowed(path)))
	case section:
		c.fault(p.value, path+" is a section, not one value", orSaturate(path, c.allowed(path)))
	}
	// The name was given, if wrongly: nothing more is said of it.
	c.base[path] = entry{p.key, &node{shape: refused, line: p.key.line, column: p.key.column}}
}

// knob finds path in the table, also that of a group's own knob.
func (c *checker) knob(path string) (knob, bool) {
	if group, rest := inGroup(path); group != "" {
		k, ok := c.knob(rest)
		return k, ok && c.mayDiffer(rest)
	}
	i := slices.IndexFunc(c.table, func(k knob) bool { return k.Name == path })
	if i < 0 {
		return knob{}, false
	}
	return c.table[i], true
}

// offers are what may be named in a section.
func (c *checker) offers(in string) []Offer {
	switch in {
	case "workload":
		return c.known.Workloads
	case "engine":
		return c.known.Engines
	case "provider":
		return c.known.Providers
	}
	return nil
}

// param finds path among the parameters of all offers.
func (c *checker) param(path string) (unit.Param, bool) {
	_, path = inGroup(path)
	in, name, _ := strings.Cut(path, ".")
	for _, o := range c.offers(in) {
		if i := slices.IndexFunc(o.Params, func(p unit.Param) bool { return p.Name == name }); i >= 0 {
			return o.Params[i], true
		}
	}
	return unit.Param{}, false
}

// allowed says in words what path takes.
func (c *checker) allowed(path string) string {
	_, path = inGroup(path)
	if k, ok := c.knob(path); ok {
		if in, leaf, _ := strings.Cut(path, "."); leaf == "name" {
			return oneOf(offerNames(c.offers(in)))
		}
		return k.allowed()
	}
	if p, ok := c.param(path); ok {
		return p.Shape()
	}
	return "text, a number or true or false"
}

// given says whether path is set, varied or searched for, for all or for the
// group that is being checked.
func (c *checker) given(path string) bool {
	_, set := c.base[path]
	_, varied := c.varied[path]
	return set || varied || c.own(path) || c.searched(path)
}

// own says whether the group that is being checked has path for itself.
func (c *checker) own(path string) bool {
	_, set := c.base[ofGroup(c.group, path)]
	_, varied := c.varied[ofGroup(c.group, path)]
	return c.group != "" && (set || varied)
}

// leaf takes one value that is not in the table of knobs.
func (c *checker) leaf(path string, p pair, spec unit.Param) (text string, ok bool) {
	switch p.value.shape {
	case refused:
		return "", false
	case absent:
		c.fault(p.key, path+" has no value", spec.Shape())
		return "", false
	case list, section:
		c.fault(p.value, path+" is "+p.value.what()+", not one value", spec.Shape())
		return "", false
	}
	if err := spec.Check(p.value.text); err != nil {
		c.fault(p.value, path+": "+err.Error(), spec.Shape())
		return "", false
	}
	return p.value.text, true
}

func offerNames(os []Offer) []string {
	names := make([]string, len(os))
	for i, o := range os {
		names[i] = o.Name
	}
	return names
}

func paramNames(ps []unit.Param) []string {
	names := make([]string, len(ps))
	for i, p := range ps {
		names[i] = p.Name
	}
	return names
}

func oneOf(names []string) string {
	if len(names) == 0 {
		return "nothing: this build has none"
	}
	return strings.Join(names, ", ")
}

// paths returns the keys of m in order, so that faults come in the same order
// each time.
func paths(m map[string]entry) []string { return slices.Sorted(maps.Keys(m)) }
