package study

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loadstone-perf/loadstone/internal/unit"
)

// config checks one configuration, given as one value for each path, and
// makes it. Where m lacks what the study varies (the base), so does the
// result. What holds for the whole study goes to s.
func (c *checker) config(s *Study, m map[string]entry) Config {
	cfg := c.values(s, m)
	c.requiredNames()
	if c.given("engine.endpoint") {
		cfg.Provider = Choice{Name: External}
	}
	if c.grouped == nil {
		cfg.Load.Profile = c.phases(m, cfg)
	}
	c.grouping(s, m, &cfg)
	c.attached(m, &cfg)
	c.limitedTypes(m)
	cfg.Events = c.eventsOf(m, cfg)
	return cfg
}

// values makes a configuration of values that are right by themselves; its
// groups are not made yet.
func (c *checker) values(s *Study, m map[string]entry) Config {
	var cfg Config
	for _, k := range c.table {
		text := k.Default
		if e, ok := m[k.Name]; ok {
			if !c.value(k, e) {
				continue
			}
			text = e.value.text
		} else if c.given(k.Name) {
			continue
		}
		if k.set != nil {
			k.set(s, &cfg, c.orDefault(k.Name, text))
		}
	}
	cfg.Workload.Params = c.params(m, "workload")
	cfg.Engine.Params = c.params(m, "engine")
	cfg.Provider.Params = c.params(m, "provider")
	cfg.Settings = c.settingValues(m)
	c.window(m, &cfg)
	return cfg
}

// longestMeasure bounds measuring where the file does not.
const longestMeasure = 7 * 24 * time.Hour

// window completes and checks how long is measured.
func (c *checker) window(m map[string]entry, cfg *Config) {
	r := &cfg.Run
	adaptive := c.measured || c.given("run.measure.precision") || c.given("run.measure.checkpoints")
	if adaptive && !c.given("run.measure.max") {
		r.MeasureMax = min(10*r.Measure, longestMeasure)
	}
	at := c.blame(m, "run.measure.max", "run.measure", "run.measure.precision")
	switch {
	case r.Measure == 0 || r.MeasureMax == 0: // not known or not right
	case r.Measure > r.MeasureMax:
		c.faultOnce("measure over max", at, fmt.Sprintf("measuring takes at least %s and at most %s", short(r.Measure), short(r.MeasureMax)),
			"run.measure.max no less than run.measure")
	case r.PrecisionPct > 0 && r.Measure == r.MeasureMax:
		c.faultOnce("precision in fixed time", at, fmt.Sprintf("a precision is asked for, but measuring takes %s in any case", short(r.Measure)),
			"run.measure.max over run.measure")
	}
}

// short writes a duration without empty parts: 2m, not 2m0s.
func short(d time.Duration) string {
	text := d.String()
	for _, empty := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, empty) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// orDefault fills in the defaults that depend on other knobs.
func (c *checker) orDefault(path, text string) string {
	open := c.given("rate")
	switch {
	case text != "":
	case path == "users" && !open:
		return defaultUsers
	case path == "arrivals" && open:
		return defaultArrivals
	case path == "connections" && open && !c.given("users"):
		return defaultConnections
	}
	return text
}

// value checks one value of a knob. Faults are reported once however many
// cells share the value.
func (c *checker) value(k knob, e entry) bool {
	if e.value.shape != scalar {
		return false
	}
	if in, leaf, _ := strings.Cut(k.Name, "."); leaf == "name" {
		return c.offer(in, e) != nil
	}
	return c.once(rightKey{e.value, ""}, func() bool {
		err := k.check(e.value.text)
		if e.value.text == "" && k.Name != "question" {
			err = fmt.Errorf("the text is empty")
		}
		if err != nil {
			allowed := k.allowed()
			if _, varied := c.varied[k.Name]; !varied {
				allowed = orSaturate(k.Name, allowed)
			}
			c.fault(e.value, k.Name+": "+err.Error(), allowed)
		}
		return err == nil
	})
}

// once remembers what check said of a value.
func (c *checker) once(key rightKey, check func() bool) bool {
	right, done := c.right[key]
	if !done {
		right = check()
		c.right[key] = right
	}
	return right
}

// offer finds what e names in a section, or reports that there is none.
func (c *checker) offer(in string, e entry) *Offer {
	if e.value.shape != scalar {
		return nil
	}
	os := c.offers(in)
	for i := range os {
		if os[i].Name == e.value.text {
			return &os[i]
		}
	}
	c.fault(e.value, fmt.Sprintf("unknown %s %q%s", in, e.value.text, didYouMean(e.value.text, offerNames(os))), oneOf(offerNames(os)))
	return nil
}

// requiredNames reports what every study must give.
func (c *checker) requiredNames() {
	if !c.given("study") {
		c.fault(c.start(), "the study has no name", "a line such as study: NAME at the top")
	}
	for _, in := range chosen() {
		if in == "provider" && c.given("engine.endpoint") {
			continue // the server is somewhere already
		}
		at := c.start()
		if i := slices.IndexFunc(c.top.pairs, func(p pair) bool { return p.key.text == in }); i >= 0 {
			at = c.top.pairs[i].key
			if v := c.top.pairs[i].value; v.shape != section || len(v.pairs) == 0 {
				continue // reported already
			}
		}
		if !c.given(in + ".name") {
			c.fault(at, "the study names no "+in, fmt.Sprintf("%s: {name: NAME} with one of the names %s", in, oneOf(offerNames(c.offers(in)))))
		}
	}
}

// start is the place of what is missing altogether.
func (c *checker) start() *node {
	return &node{line: c.top.line, column: c.top.column, found: c.top.found}
}

// params checks the parameters of what a section names.
func (c *checker) params(m map[string]entry, in string) unit.Values {
	o, sure := c.choice(m, in)
	texts := map[string]string{}
	right := true
	for _, path := range paths(m) {
		name, ok := strings.CutPrefix(path, in+".")
		if _, fixed := c.knob(path); !ok || fixed || strings.HasPrefix(path, settingsPrefix) {
			continue
		}
		if o == nil {
			right = c.someParam(in, name, m[path]) && right
		} else if c.paramValue(o, in, name, m[path]) {
			texts[name] = m[path].value.text
		} else {
			right = false
		}
	}
	if !right || !sure {
		return unit.Values{}
	}
	v, err := unit.NewValues(o.Params, texts)
	if err == nil && o.Check != nil && !c.partly(m, in) {
		key := in + " " + o.Name + fmt.Sprintf("%q", texts)
		if _, done := c.checks[key]; !done { // which may be slow, and cells share parameters
			c.checks[key] = o.Check(v)
		}
		err = c.checks[key]
	}
	if err != nil {
		c.faultOnce("check of "+o.Name, c.blame(m, append(prefixed(in, paramNames(o.Params)), in+".name")...), in+": "+err.Error(), "")
	}
	return v
}

// choice finds what a section names. Where the name is missing or wrong, sure
// is false and the offer is what was most likely meant, or nil.
func (c *checker) choice(m map[string]entry, in string) (o *Offer, sure bool) {
	os := c.offers(in)
	word := ""
	if e, ok := m[in+".name"]; ok {
		if o := c.offer(in, e); o != nil {
			return o, true
		}
		word = e.value.text
	}
	meant := nearest(word, offerNames(os))
	for i := range os {
		if os[i].Name == meant || len(os) == 1 {
			return &os[i], false
		}
	}
	return nil, false
}

// someParam reports a parameter that no offer of a section has.
func (c *checker) someParam(in, name string, e entry) bool {
	if _, ok := c.param(in + "." + name); ok {
		return true
	}
	names := c.namesIn(in)
	for _, o := range c.offers(in) {
		names = append(names, paramNames(o.Params)...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	c.fault(e.key, fmt.Sprintf("no %s has a parameter %q%s", in, name, didYouMean(name, names)), strings.Join(names, ", "))
	return false
}

// partly says whether m lacks some of what varies in a section.
func (c *checker) partly(m map[string]entry, in string) bool {
	for path := range c.varied {
		if group, rest := inGroup(path); group != "" && group == c.group {
			path = rest
		}
		if _, ok := m[path]; !ok && strings.HasPrefix(path, in+".") {
			return true
		}
	}
	return false
}

func prefixed(in string, names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = in + "." + n
	}
	return out
}

// paramValue checks one parameter of offer o.
func (c *checker) paramValue(o *Offer, in, name string, e entry) bool {
	if e.value.shape != scalar {
		return false
	}
	return c.once(rightKey{e.value, o.Name}, func() bool {
		for _, p := range o.Params {
			if p.Name != name {
				continue
			}
			err := p.Check(e.value.text)
			if err != nil {
				c.fault(e.value, in+"."+name+": "+err.Error(), p.Shape())
			}
			return err == nil
		}
		names := append(c.namesIn(in), paramNames(o.Params)...)
		message := fmt.Sprintf("%s %s has no parameter %q", in, o.Name, name)
		c.fault(e.key, message+didYouMean(name, names), strings.Join(names, ", "))
		return false
	})
}

// settingValues checks and collects engine.settings.
func (c *checker) settingValues(m map[string]entry) map[string]string {
	out := map[string]string{}
	engine := m["engine.name"]
	for _, path := range paths(m) {
		name, ok := strings.CutPrefix(path, settingsPrefix)
		e := m[path]
		if !ok || e.value.shape != scalar {
			continue
		}
		out[name] = e.value.text
		if strings.ContainsAny(e.value.text, "\n\x00") {
			c.fault(e.value, path+": the value of a setting is one line", "")
		}
		if c.known.Settings == nil || engine.value == nil || engine.value.shape != scalar {
			continue
		}
		c.once(rightKey{e.value, engine.value.text}, func() bool {
			err := c.known.Settings(engine.value.text, name, e.value.text)
			if err != nil {
				c.fault(e.value, path+": "+err.Error(), "")
			}
			return err == nil
		})
	}
	return out
}

// combinations reports values that are right alone and impossible together.
func (c *checker) combinations(s *Study, m map[string]entry, cfg Config) {
	if c.given("users") && c.given("rate") {
		c.faultOnce("users and rate", c.whereGiven("rate"), "rate and users exclude each other: users wait for their work to end (closed loop), arrivals at a rate do not (open loop)", "one of the two")
	}
	if c.given("arrivals") && !c.given("rate") {
		c.faultOnce("arrivals alone", c.whereGiven("arrivals"), "arrivals says how work arrives in open loop, but no rate is given", "arrivals together with rate")
	}
	if n, users := cfg.Load.Connections, cfg.Load.Users; users > 0 && n > users {
		c.faultOnce("connections over users", c.blame(m, "connections", "users"),
			fmt.Sprintf("%d connections are more than %d users can use", n, users), "as many connections as users, or fewer")
	}
	if n := cfg.Load.Connections; c.searched("users") && s.Search != nil && float64(n) > s.Search.From {
		c.faultOnce("connections over users", c.blame(m, "connections"),
			fmt.Sprintf("%d connections are more than the users with whom the search begins can use: %s", n, s.Search.amount(s.Search.From)),
			"as many connections as saturate.from, or fewer")
	}
	if c.known.Fit != nil {
		for _, f := range c.known.Fit(cfg) {
			c.faultOnce(f.Message, c.blame(m, f.Knobs...), f.Message, f.Allowed)
		}
	}
	c.shaped(m, cfg.Shape)
	c.apart(m, cfg)
}

// whereGiven is the name under which path stands.
func (c *checker) whereGiven(path string) *node {
	if c.own(path) {
		path = ofGroup(c.group, path)
	}
	if e, ok := c.base[path]; ok {
		return e.key
	}
	if c.searched(path) {
		return c.search.key
	}
	return c.varied[path].key
}

// blame picks the value at which a combination is reported: the first of the
// paths that varies, else the first that is set.
func (c *checker) blame(m map[string]entry, paths ...string) *node {
	for _, p := range paths {
		_, varied := c.varied[p]
		if c.own(p) {
			_, varied = c.varied[ofGroup(c.group, p)]
		}
		if varied && m[p].value != nil {
			return m[p].value
		}
	}
	for _, p := range paths {
		if e, ok := m[p]; ok {
			return e.value
		}
	}
	return c.start()
}
