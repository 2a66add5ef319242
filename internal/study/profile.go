package study

import (
	"fmt"
	"slices"
	"time"

	"github.com/loadstone-perf/loadstone/internal/unit"
)

// mostPhases bounds a profile: more are a trace, not a shape.
const mostPhases = 100

// profile is the load over time with the places of its phases.
type profile struct {
	key    *node // nil where the study has none
	phases []phase
}

type phase struct {
	Phase
	load *node // the place of LoadPct
}

// phaseParams describe the values of a phase.
func phaseParams() []unit.Param {
	return []unit.Param{
		{Name: "for", Kind: unit.Time, Min: "100ms", Max: "1d", About: "How long the phase lasts."},
		{Name: "load", Kind: unit.Share, Min: "0%", Max: "1000%", About: "Closed loop: the part of the users that are at work, at most 100%. Open loop: the factor on the rate."},
	}
}

const profileShape = "a list such as [{for: 30s, load: 50%}, {for: 10s, load: 100%}]"

// readProfile reads the list of phases.
func (c *checker) readProfile(p pair) {
	c.profile.key = p.key
	items := p.value.items
	switch {
	case p.value.shape == refused:
		return
	case p.value.shape == absent || p.value.shape == list && len(items) == 0:
		c.fault(p.key, "profile has no phases", profileShape)
		return
	case p.value.shape != list:
		c.fault(p.value, "profile is "+p.value.what()+", not a list of phases", profileShape)
		return
	case len(items) > mostPhases:
		c.fault(p.key, fmt.Sprintf("profile has %d phases", len(items)), fmt.Sprintf("at most %d", mostPhases))
		return
	}
	var phases []phase
	for _, item := range items {
		if ph, ok := c.readPhase(p.key, item); ok {
			phases = append(phases, ph)
		}
	}
	if len(phases) < len(items) {
		return
	}
	if !slices.ContainsFunc(phases, func(ph phase) bool { return ph.LoadPct > 0 }) {
		c.fault(p.key, "the profile has no phase with any load", "a load over 0% in one phase or more")
		return
	}
	c.profile.phases = phases
}

// readPhase reads one item of the list that stands under key.
func (c *checker) readPhase(key, at *node) (ph phase, ok bool) {
	const example = "a phase such as {for: 30s, load: 50%}"
	switch at.shape {
	case refused:
		return ph, false
	case absent:
		c.fault(key, "profile: a phase is missing", example)
		return ph, false
	case scalar, list:
		c.fault(at, "profile: a phase is "+at.what()+", not a section", example)
		return ph, false
	}
	given, ok := []string{}, true
	for _, q := range at.pairs {
		i := slices.IndexFunc(phaseParams(), func(p unit.Param) bool { return p.Name == q.key.text })
		if i < 0 {
			c.unknown(q.key, "a phase of the profile", paramNames(phaseParams()))
			ok = false
			continue
		}
		text, right := c.leaf("profile: "+q.key.text, q, phaseParams()[i])
		ok = ok && right
		given = append(given, q.key.text)
		if q.key.text == "load" {
			ph.load = q.value
			ph.LoadPct, _ = unit.ParsePercent(text)
		} else {
			ph.For, _ = unit.ParseDuration(text)
		}
	}
	for _, p := range phaseParams() {
		if !slices.Contains(given, p.Name) {
			c.fault(at, fmt.Sprintf("profile: the phase has no %q", p.Name), example)
			ok = false
		}
	}
	return ph, ok
}

// phases returns the profile of a configuration, and reports what can't be.
func (c *checker) phases(m map[string]entry, cfg Config) []Phase {
	if c.profile.key == nil {
		if c.given("profile_repeat") {
			c.faultOnce("profile_repeat alone", c.whereGiven("profile_repeat"), "profile_repeat says how a profile goes on, but there is no profile", "profile_repeat together with profile")
		}
		return nil
	}
	if c.search.key != nil {
		c.faultOnce("profile and search", c.profile.key, fmt.Sprintf("profile and %s: saturate exclude each other: the search compares loads that are steady", c.search.key.text), "one of the two")
	}
	if len(c.profile.phases) == 0 {
		return nil
	}
	if !c.given("rate") {
		c.closedLoop(cfg.Load.Users)
	}
	once := m["profile_repeat"].value != nil && m["profile_repeat"].value.text == "false"
	return c.spread(cfg.Run, once)
}

// closedLoop reports loads that a number of users, 0 where it is not known,
// can't bring.
func (c *checker) closedLoop(users int) {
	for _, ph := range c.profile.phases {
		if ph.LoadPct > 100 {
			c.faultOnce("over all users", ph.load, fmt.Sprintf("profile: load: %s of the users can't be at work in closed loop", ph.load.text), "at most 100%; more needs a rate, or more users")
		} else if at := float64(users) * ph.LoadPct / 100; at > 0 && at < 1 {
			c.faultOnce("under one user", ph.load, fmt.Sprintf("profile: load: %s of %d users is less than one user", ph.load.text, users), "0%, or a load of one user or more")
		}
	}
}

// spread lays the phases over a trial.
func (c *checker) spread(r Run, once bool) []Phase {
	var out []Phase
	var pass time.Duration
	for _, ph := range c.profile.phases {
		out = append(out, ph.Phase)
		pass += ph.For
	}
	if once {
		out[len(out)-1].For += r.Warmup + max(r.Measure, r.MeasureMax)
	} else if r.Measure > 0 && pass > r.Measure {
		c.faultOnce("profile over measure", c.profile.key,
			fmt.Sprintf("one pass of the profile takes %s, but only %s are measured: the result would depend on where in the profile they lie", short(pass), short(r.Measure)),
			"a run.measure of whole passes, or profile_repeat: false")
	}
	return out
}
