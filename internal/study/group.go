package study

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

const (
	groupPrefix = "instances."
	countKnob   = "instances.count" // of a group, whose name is not in the table
	// mostGroups bounds the groups of a study, mostInstances what all of them
	// have together: the most that a plain number may be.
	mostGroups, mostInstances = 16, 64

	groupPattern = `^[A-Za-z][A-Za-z0-9_-]{0,30}$`
)

var groupName = regexp.MustCompile(groupPattern)

// group is one group of instances with the place of its name.
type group struct{ key *node }

// inGroup takes the path of a knob of a group apart: the group's name, and the
// path that the knob has elsewhere. Other paths have no group.
func inGroup(path string) (group, rest string) {
	below, ok := strings.CutPrefix(path, groupPrefix)
	if !ok {
		return "", path
	}
	group, rest, ok = strings.Cut(below, ".")
	switch {
	case !ok:
		return "", path
	case rest == "count":
		return group, countKnob
	}
	return group, rest
}

// ofGroup is the path of a group's own knob: the reverse of inGroup.
func ofGroup(group, path string) string {
	if path == countKnob {
		path = "count"
	}
	return groupPrefix + group + "." + path
}

// mayDiffer says whether groups may have path for themselves.
func (c *checker) mayDiffer(path string) bool {
	in, leaf, _ := strings.Cut(path, ".")
	switch {
	case path == countKnob, path == "users", path == "rate", path == "connections":
		return true
	case strings.HasPrefix(path, settingsPrefix):
		return true
	case in == "workload" && leaf != "name":
		_, ok := c.param(path)
		return ok
	}
	k, ok := c.knob(path)
	return ok && in == "instance" && k.Name == path
}

// differing are the paths of the table that groups may have for themselves.
func (c *checker) differing() (names []string) {
	for _, k := range c.table {
		if c.mayDiffer(k.Name) {
			names = append(names, k.Name)
		}
	}
	return names
}

// readGroups reads instances where it is a section.
func (c *checker) readGroups(p pair) {
	c.grouped = p.key
	if !c.isSection("instances", p) {
		return
	}
	for _, q := range p.value.pairs {
		switch {
		case !groupName.MatchString(q.key.text):
			c.fault(q.key, fmt.Sprintf("%q is not a name for a group of instances", q.key.text), "letters, digits, - and _, beginning with a letter, at most 31")
			continue
		case len(c.groups) == mostGroups:
			c.fault(q.key, fmt.Sprintf("instances has more than %d groups", mostGroups), "groups that are alike as one, with a count")
			return
		}
		c.groups = append(c.groups, group{q.key})
		c.readGroup(q)
	}
}

// readGroup reads what a group has for itself into c.base.
func (c *checker) readGroup(p pair) {
	name := p.key.text
	in := groupPrefix + name
	if !c.isSection(in, p) {
		return
	}
	names := []string{"count", "instance", "users", "rate", "connections", "workload", "engine"}
	for _, q := range p.value.pairs {
		switch key := q.key.text; {
		case !slices.Contains(names, key):
			c.unknown(q.key, in, names)
		case key == "instance", key == "workload", key == "engine":
			if c.isSection(in+"."+key, q) {
				c.readGroupSection(name, q)
			}
		case q.value.shape == scalar && q.value.text == saturate && key != "count":
			c.fault(q.value, fmt.Sprintf("%s.%s: the search is for one load of all groups that have none of their own", in, key), key+": saturate at the top of the file")
		default:
			c.scalar(in+"."+key, q)
		}
	}
}

// readGroupSection reads the section instance, workload or engine of a group.
func (c *checker) readGroupSection(name string, p pair) {
	section := p.key.text
	in := groupPrefix + name + "." + section
	for _, q := range p.value.pairs {
		path := section + "." + q.key.text
		switch {
		case path == "engine.settings":
			c.groupSettings(name, q)
		case section == "engine":
			c.fault(q.key, fmt.Sprintf("%s may not differ between groups: a study has one product in one version", path), in+": {settings: {…}}")
		case path == "workload.name":
			c.fault(q.key, "workload.name may not differ between groups: they would not have one metric", "parameters of the one workload")
		case section == "workload", c.mayDiffer(path):
			c.scalar(ofGroup(name, path), q) // parameters are checked when the workload is known
		default:
			c.unknown(q.key, in, c.namesIn(section))
		}
	}
}

func (c *checker) groupSettings(name string, p pair) {
	if !c.isSection(groupPrefix+name+".engine.settings", p) {
		return
	}
	for _, q := range p.value.pairs {
		if c.settingName(q.key, q.key.text) {
			c.scalar(ofGroup(name, settingsPrefix+q.key.text), q)
		}
	}
}

// groupMayVary says whether a group's knob may vary, and reports why not.
func (c *checker) groupMayVary(key *node, group, rest string) bool {
	var names []string
	for _, g := range c.groups {
		names = append(names, g.key.text)
	}
	switch {
	case len(names) == 0:
		c.fault(key, fmt.Sprintf("instances has no group %q: it is a number", group), "instances: {"+group+": {count: 1, …}}")
		return false
	case !slices.Contains(names, group):
		c.fault(key, fmt.Sprintf("instances has no group %q%s", group, didYouMean(group, names)), strings.Join(names, ", "))
		return false
	}
	if setting, ok := strings.CutPrefix(rest, settingsPrefix); ok {
		return c.settingName(key, setting)
	}
	if c.mayDiffer(rest) {
		return true
	}
	all := c.differing()
	hint := c.meant(rest, all)
	if hint != "" {
		all = nil
	}
	for i, path := range all {
		all[i] = ofGroup(group, path)
	}
	c.fault(key, fmt.Sprintf("a group has no knob %q of its own%s", rest, hint), strings.Join(all, ", "))
	return false
}

// overlay is m as a group sees it: its own values in place of the file's.
func overlay(m map[string]entry, name string) map[string]entry {
	out := maps.Clone(m)
	for path, e := range m {
		if group, rest := inGroup(path); group != "" {
			delete(out, path)
			if group == name {
				out[rest] = e
			}
		}
	}
	return out
}

// grouping makes the groups of a configuration, each checked as if it were the
// only one.
func (c *checker) grouping(s *Study, m map[string]entry, cfg *Config) {
	if c.grouped == nil {
		cfg.Groups = []Group{{Count: cfg.Instances, Workload: cfg.Workload, Settings: cfg.Settings, Shape: cfg.Shape, Load: cfg.Load}}
		c.combinations(s, m, *cfg)
		return
	}
	cfg.Instances = 0
	known := true
	for _, g := range c.groups {
		c.group = g.key.text
		own := overlay(m, c.group)
		of := c.values(s, own)
		count, counted := c.count(own)
		known = known && counted
		made := Group{Name: c.group, Count: count, Workload: of.Workload, Settings: of.Settings, Shape: of.Shape, Load: of.Load}
		made.Workload.Name = cfg.Workload.Name
		made.Load.Profile = c.phases(own, of)
		cfg.Groups = append(cfg.Groups, made)
		cfg.Instances += made.Count
		of.Provider, of.Endpoint = cfg.Provider, cfg.Endpoint
		c.combinations(s, own, of.Of(made))
		c.group = ""
	}
	c.oneLoop(cfg.Groups)
	if at := c.blame(m, c.groupPaths(countKnob)...); known && cfg.Instances == 0 {
		c.faultOnce("no instances", c.groupedAt(at), "no group has any instance", "a count of 1 or more in one group")
	} else if known && cfg.Instances > mostInstances {
		c.faultOnce("too many instances", c.groupedAt(at), fmt.Sprintf("the groups have %d instances together", cfg.Instances), fmt.Sprintf("at most %d", mostInstances))
	}
}

// count is how many instances a group has, 1 where it does not say; ok is false
// where it varies and own lacks it, or is wrong.
func (c *checker) count(own map[string]entry) (n int, ok bool) {
	e, set := own[countKnob]
	k, _ := c.knob(countKnob)
	switch {
	case !set && c.given(countKnob), set && !c.value(k, e):
		return 1, false
	case !set:
		return 1, true
	}
	return int(number(e.value.text)), true
}

// groupedAt is at, or the name instances where at is no place in the file.
func (c *checker) groupedAt(at *node) *node {
	if c.grouped != nil && at.line == c.top.line && at.column == c.top.column {
		return c.grouped
	}
	return at
}

// groupPaths are the paths of a knob in all groups.
func (c *checker) groupPaths(path string) (paths []string) {
	for _, g := range c.groups {
		paths = append(paths, ofGroup(g.key.text, path))
	}
	return paths
}

// oneLoop reports groups of which some are driven in closed and some in open
// loop.
func (c *checker) oneLoop(groups []Group) {
	open := -1
	for i, g := range groups {
		if g.Load.RatePerS > 0 {
			open = i
		}
	}
	for i, g := range groups {
		if open >= 0 && g.Load.Users > 0 {
			c.faultOnce("two loops", c.groups[i].key, fmt.Sprintf("group %s has users (closed loop) and group %s a rate (open loop): their figures can't be added up", g.Name, groups[open].Name), "users in all groups, or a rate in all")
			return
		}
	}
}

// overruled reports file-wide values that vary or are searched for, but that
// every group has for itself: all cells would be the same.
func (c *checker) overruled() {
	if len(c.groups) == 0 {
		return
	}
	all := maps.Clone(c.varied)
	if c.search.key != nil {
		all[c.search.key.text] = c.search
	}
	for _, path := range paths(all) {
		if group, _ := inGroup(path); group != "" || !c.mayDiffer(path) {
			continue
		}
		taken := slices.ContainsFunc(c.groups, func(g group) bool {
			_, set := c.base[ofGroup(g.key.text, path)]
			_, varied := c.varied[ofGroup(g.key.text, path)]
			return !set && !varied
		})
		if !taken {
			c.fault(all[path].key, fmt.Sprintf("%s is for no instance: every group has its own", path), "a group without "+path+" of its own")
		}
	}
}
