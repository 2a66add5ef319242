package study

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/unit"
)

// What is searched where the file does not say, and bounds of it.
const (
	defaultFrom        = 1
	defaultToUsers     = 1024
	defaultToInstances = 16
	defaultToRatio     = 1024 // of a rate
	// mostRatio bounds To over From, so that doubling alone does not use up
	// the loads that a search may try.
	mostRatio = 100_000
)

// searchFor notes a knob whose value is saturate.
func (c *checker) searchFor(p pair) {
	if c.search.key != nil {
		c.fault(p.value, fmt.Sprintf("only one load can be searched for: %s is already, in line %d", c.search.key.text, c.search.key.line),
			"saturate once, among "+strings.Join(searchable(), ", "))
		return
	}
	c.search = entry(p)
}

// orSaturate adds to what is allowed for a knob that may be searched for.
func orSaturate(path, allowed string) string {
	if slices.Contains(searchable(), path) {
		return allowed + ", or " + saturate
	}
	return allowed
}

// searched says whether the value of path is searched for; a group that has it
// for itself takes no part in the search.
func (c *checker) searched(path string) bool {
	return c.search.key != nil && c.search.key.text == path && !c.own(path)
}

// readSearch makes the search that the study asks for, or returns nil where
// it asks for none or has faults that leave none.
func (c *checker) readSearch() *Search {
	if c.search.key == nil {
		if i := slices.IndexFunc(c.top.pairs, func(p pair) bool { return p.key.text == saturate }); i >= 0 {
			c.fault(c.top.pairs[i].key, "saturate says how to search, but no load is searched for", "saturate together with users: saturate, rate: saturate or instances: saturate")
		}
		return nil
	}
	s := &Search{Knob: c.search.key.text}
	gain, ok1 := c.searchText("saturate.gain")
	loads, ok2 := c.searchText("saturate.loads")
	from, ok3 := c.bound(s, "saturate.from")
	to, ok4 := c.bound(s, "saturate.to")
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return nil
	}
	s.GainPct, _ = unit.ParsePercent(gain)
	s.Loads, s.From, s.To = int(number(loads)), from, to
	if s.From == 0 && s.Knob == "rate" {
		c.fault(c.search.value, "rate: saturate needs a rate to begin with", "saturate: {from: 100/s}")
		return nil
	}
	s.fillIn()
	return c.searchSpan(s)
}

// searchText is the text of a knob of the search or its default; false where
// it is wrong, which is reported.
func (c *checker) searchText(path string) (string, bool) {
	k, _ := c.knob(path)
	e, ok := c.base[path]
	if !ok {
		return k.Default, true
	}
	return e.value.text, c.value(k, e)
}

// bound reads a load in the unit of what is searched for; 0 where it is left
// out.
func (c *checker) bound(s *Search, path string) (load float64, ok bool) {
	text, ok := c.searchText(path)
	if !ok || text == "" {
		return 0, ok
	}
	at, rate := c.base[path].value, strings.Contains(text, "/")
	switch {
	case rate && s.Knob != "rate":
		c.fault(at, fmt.Sprintf("%s: %s is a rate, but %s are searched for", path, text, s.Knob), "a whole number of "+s.Knob)
		return 0, false
	case !rate && s.Knob == "rate":
		c.fault(at, fmt.Sprintf("%s: %s has no unit of time, but a rate is searched for", path, text), "a rate such as 100/s")
		return 0, false
	case rate:
		load, _ = parseRate(text)
		return load, true
	}
	k, _ := c.knob(s.Knob)
	if err := k.Check(text); err != nil {
		c.fault(at, path+": "+err.Error(), k.Shape())
		return 0, false
	}
	return float(text), true
}

// fillIn sets what the file leaves out.
func (s *Search) fillIn() {
	if s.From == 0 {
		s.From = defaultFrom
	}
	if s.To > 0 {
		return
	}
	switch s.Knob {
	case "users":
		s.To = defaultToUsers
	case "instances":
		s.To = defaultToInstances
	case "rate":
		s.To = min(defaultToRatio*s.From, mostRate)
	}
}

// searchSpan reports bounds between which a search can't work.
func (c *checker) searchSpan(s *Search) *Search {
	at := c.blame(c.base, "saturate.to", "saturate.from", "saturate.loads")
	switch room := s.room(s.Loads); {
	case s.To < s.From:
		c.fault(at, fmt.Sprintf("the search ends at %s, before it begins at %s", s.amount(s.To), s.amount(s.From)), "saturate.to over saturate.from")
	case s.To > mostRatio*s.From:
		c.fault(at, fmt.Sprintf("from %s to %s is too far to search", s.bare(s.From), s.amount(s.To)), fmt.Sprintf("saturate.to at most %d times saturate.from", mostRatio))
	case room < s.Loads:
		c.fault(at, fmt.Sprintf("from %s to %s there are only %d different loads of the %d that are to be tried", s.bare(s.From), s.amount(s.To), room, s.Loads),
			"bounds that are further apart")
	default:
		return s
	}
	return nil
}
