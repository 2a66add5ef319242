package study

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxTrials bounds a plan: at a minute each, ten thousand take a week.
const maxTrials = 10_000

// axis is one entry of vary with the places of its values.
type axis struct {
	key   *node
	knobs []*node // their names
	steps [][]*node
	// faulty axes are checked value by value, but not crossed with others.
	faulty bool
}

// readVary reads the section vary into c.axes.
func (c *checker) readVary(p pair) {
	if !c.isSection("vary", p) {
		return
	}
	for _, q := range p.value.pairs {
		a := axis{key: q.key, knobs: splitKey(q.key)}
		known := true
		for _, key := range a.knobs {
			known = c.mayVary(key) && known
			a.faulty = !c.onlyOnce(key) || a.faulty
		}
		a.faulty = !c.steps(&a, q) || a.faulty
		if known {
			c.axes = append(c.axes, a)
		}
	}
}

// splitKey takes "a + b" apart, each with its own place.
func splitKey(key *node) []*node {
	var out []*node
	quoted := key.found != key.text
	offset := 0
	for part := range strings.SplitSeq(key.text, "+") {
		name := strings.TrimSpace(part)
		n := &node{shape: scalar, line: key.line, column: key.column, found: key.found, text: name}
		if !quoted {
			lead := len(part) - len(strings.TrimLeft(part, " \t"))
			n.column += utf8.RuneCountInString(key.text[:offset+lead])
			n.found = name
		}
		out = append(out, n)
		offset += len(part) + len("+")
	}
	return out
}

// mayVary says whether the knob may vary, and reports why not.
func (c *checker) mayVary(key *node) bool {
	path := key.text
	in, _, _ := strings.Cut(path, ".")
	if group, rest := inGroup(path); group != "" {
		return c.groupMayVary(key, group, rest)
	}
	if setting, ok := strings.CutPrefix(path, settingsPrefix); ok {
		return c.settingName(key, setting)
	}
	if path == countKnob {
		c.fault(key, "instances.count does not say of which group", "instances.NAME.count")
		return false
	}
	if k, ok := c.knob(path); ok {
		if k.fixed != "" {
			c.fault(key, fmt.Sprintf("%s may not vary: %s", path, k.fixed), "")
		}
		return k.fixed == ""
	}
	if _, ok := c.param(path); ok {
		return true
	}
	names := c.variable()
	switch {
	case in == "limits":
		c.fault(key, fmt.Sprintf("%s may not vary: limits judge all results alike", path), "")
	case in == "profile", in == "events", in == saturate, in == "scale", in == "needs", in == "published":
		c.fault(key, fmt.Sprintf("%s may not vary: all cells have one", path), "")
	case path == "":
		c.fault(key, "the name of a knob is missing", "KNOB, or KNOB + KNOB for several that change together")
	case path == "vary":
		c.fault(key, "vary may not vary itself", "")
	case path == "engine.settings" || slices.Contains(sections(), path):
		of := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !strings.HasPrefix(n, path+".") })
		c.fault(key, path+" is a section: one of its knobs may vary", strings.Join(of, ", "))
	default:
		allowed := names
		if slices.Contains(sections(), in) {
			allowed = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !strings.HasPrefix(n, in+".") })
		}
		hint := c.meant(path, names)
		if hint != "" {
			allowed = nil
		}
		c.fault(key, fmt.Sprintf("unknown knob %q%s", path, hint), strings.Join(allowed, ", "))
	}
	return false
}

// meant is didYouMean for dotted paths, where a leaf alone is also understood.
func (c *checker) meant(path string, names []string) string {
	if path == "run.measure.min" {
		return `; did you mean "run.measure"?`
	}
	for _, n := range names {
		if strings.HasSuffix(n, "."+path) {
			return fmt.Sprintf("; did you mean %q?", n)
		}
	}
	return didYouMean(path, names)
}

// onlyOnce reports a knob that is in two axes, and notes the first.
func (c *checker) onlyOnce(key *node) bool {
	if first, ok := c.varied[key.text]; ok {
		c.fault(key, fmt.Sprintf("%s varies twice: first in line %d", key.text, first.key.line), "")
		return false
	}
	c.varied[key.text] = entry{key: key}
	return true
}

// variable are the paths that may vary.
func (c *checker) variable() []string {
	var names []string
	for _, k := range c.table {
		if k.fixed == "" && k.Name != countKnob {
			names = append(names, k.Name)
		}
	}
	for _, in := range chosen() {
		for _, o := range c.offers(in) {
			for _, n := range prefixed(in, paramNames(o.Params)) {
				if !slices.Contains(names, n) {
					names = append(names, n)
				}
			}
		}
	}
	return append(names, settingsPrefix+"NAME")
}

// steps reads the values of an axis.
func (c *checker) steps(a *axis, p pair) bool {
	name := p.key.text
	allowed := "a list such as [1, 2, 4]"
	if len(a.knobs) > 1 {
		allowed = "a list of lists such as [[1, 8], [2, 16]], one value for each knob"
	}
	switch {
	case p.value.shape == refused:
		return false
	case p.value.shape == absent || p.value.shape == list && len(p.value.items) == 0:
		c.fault(p.key, name+" has no values", allowed)
		return false
	case p.value.shape != list:
		c.fault(p.value, name+" is "+p.value.what()+", not a list of values", allowed)
		return false
	}
	ok := true
	for _, item := range p.value.items {
		step := []*node{item}
		if len(a.knobs) > 1 {
			if item.shape != list || len(item.items) != len(a.knobs) {
				c.fault(item, fmt.Sprintf("%s change together: each step is a list of %d values", name, len(a.knobs)), allowed)
				ok = false
				continue
			}
			step = item.items
		}
		ok = c.step(a, item, step) && ok
	}
	return ok
}

// step takes one step of an axis.
func (c *checker) step(a *axis, at *node, step []*node) bool {
	for i, v := range step {
		path := a.knobs[i].text
		switch v.shape {
		case scalar:
			if v.text != saturate || !slices.Contains(searchable(), path) {
				continue
			}
			c.fault(v, path+": saturate is no value to vary: the search finds the load by itself", path+": saturate at the top of the file")
		case absent:
			c.fault(at, path+": a value is missing here", c.allowed(path))
		case refused:
		default:
			c.fault(v, fmt.Sprintf("%s takes one value, not %s", path, v.what()), c.allowed(path))
		}
		return false
	}
	for _, earlier := range a.steps {
		if c.equal(a, earlier, step) {
			c.fault(at, fmt.Sprintf("%s is listed twice: first in line %d as %s", texts(step), earlier[0].line, texts(earlier)), "each value once; run.repeats repeats them all")
			return false
		}
	}
	a.steps = append(a.steps, step)
	return true
}

// equal says whether two steps mean the same.
func (c *checker) equal(a *axis, x, y []*node) bool {
	for i, name := range a.knobs {
		same := c.sameText(name.text)
		if x[i].text != y[i].text && (same(x[i].text) != same(y[i].text)) {
			return false
		}
	}
	return true
}

func texts(step []*node) string {
	out := make([]string, len(step))
	for i, v := range step {
		out[i] = v.text
	}
	return strings.Join(out, ", ")
}

// cells crosses the axes, the first outermost, and checks every
// configuration as if the varied values stood in their places.
func (c *checker) cells(s *Study) []Cell {
	for _, a := range c.axes {
		for _, k := range a.knobs {
			e, set := c.base[k.text]
			if c.searched(k.text) {
				e, set = c.search, true
			}
			if k.text == "instances" && c.grouped != nil {
				e, set = entry{key: c.grouped}, true
			}
			if set {
				c.fault(k, fmt.Sprintf("%s is varied here and set in line %d", k.text, e.key.line), "one of the two")
			}
		}
	}
	sound := slices.DeleteFunc(slices.Clone(c.axes), func(a axis) bool { return a.faulty })
	if len(sound) < len(c.axes) {
		c.singly(s)
	}
	count, loads := 1, 1
	if s.Search != nil {
		loads = mostLoads
		if loads*s.Repeats > maxTrials {
			c.fault(c.blame(c.base, "run.repeats"), fmt.Sprintf("the study has more than %d trials: %s", maxTrials, c.size(s)), "fewer repeats")
			return nil
		}
	}
	for _, a := range sound {
		count *= len(a.steps)
		if count*loads*max(s.Repeats, 1) > maxTrials {
			c.fault(a.key, fmt.Sprintf("the study has more than %d trials: %s", maxTrials, c.size(s)), "fewer values or repeats")
			c.singly(s)
			return nil
		}
	}
	out := make([]Cell, 0, count)
	c.cross(sound, maps.Clone(c.base), nil, func(m map[string]entry, factors []Factor) {
		out = append(out, Cell{Factors: slices.Clone(factors), Config: c.config(s, m)})
	})
	return out
}

// cross calls emit for every combination of steps.
func (c *checker) cross(axes []axis, m map[string]entry, factors []Factor, emit func(map[string]entry, []Factor)) {
	if len(axes) == 0 {
		emit(m, factors)
		return
	}
	a := axes[0]
	for _, step := range a.steps {
		next := factors
		for i, k := range a.knobs {
			m[k.text] = entry{k, step[i]}
			next = append(next, Factor{Knob: k.text, Value: step[i].text})
		}
		c.cross(axes[1:], m, next, emit)
	}
}

// singly checks each varied value alone, where the axes can't be crossed.
func (c *checker) singly(s *Study) {
	for i := range c.axes {
		c.cross(c.axes[i:i+1], maps.Clone(c.base), nil, func(m map[string]entry, _ []Factor) { c.config(s, m) })
	}
}

// size writes the size of the plan as a product.
func (c *checker) size(s *Study) string {
	var parts []string
	for _, a := range c.axes {
		parts = append(parts, fmt.Sprintf("%d of %s", len(a.steps), a.key.text))
	}
	if s.Search != nil {
		parts = append(parts, fmt.Sprintf("up to %d of %s", mostLoads, s.Search.Knob))
	}
	return strings.Join(append(parts, fmt.Sprintf("%d repeats", s.Repeats)), " × ")
}

// vary is what Study tells of the axes.
func (c *checker) vary() []Axis {
	var out []Axis
	for _, a := range c.axes {
		x := Axis{}
		for _, k := range a.knobs {
			x.Knobs = append(x.Knobs, k.text)
		}
		for _, step := range a.steps {
			var row []string
			for _, v := range step {
				row = append(row, v.text)
			}
			x.Values = append(x.Values, row)
		}
		out = append(out, x)
	}
	return out
}
