package study

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/unit"
)

// loadAllowed is the word of consent: Loadstone may make databases on a server
// that is not its own.
const loadAllowed = "allowed"

// passwordRemedy is what may stand in a study in place of a password.
const passwordRemedy = "password_env: NAME of an environment variable, or password_file: PATH"

// endpointKnobs say which running server is measured.
func endpointKnobs() []knob {
	const fixed = "a study measures one server: run one study for each, and compare them"
	return []knob{
		{Param: unit.Param{Name: "engine.endpoint", About: "URL of a server that runs already, as postgres://user@host:5432/postgres?sslmode=verify-full; it takes the place of provider. No password stands in it."},
			also: func(t string) error {
				if t != "" && credentials.MatchString(t) {
					return errors.New("the URL has a password in it: a study is kept with its results")
				}
				return nil
			},
			shape: "PRODUCT://USER@HOST:PORT/DATABASE?PARAMETERS, and the password by " + passwordRemedy, fixed: fixed,
			set: func(_ *Study, c *Config, t string) { c.Endpoint.URL = t }},
		{Param: unit.Param{Name: "engine.password_env", About: "Variable of the environment that holds the password for the endpoint."},
			also: func(t string) error {
				if t != "" && !environName.MatchString(t) {
					return errors.New("this is not the name of a variable")
				}
				return nil
			},
			shape: "letters, digits and _, not beginning with a digit", pattern: environPattern, fixed: fixed,
			set: func(_ *Study, c *Config, t string) { c.Endpoint.PasswordEnv = t }},
		{Param: unit.Param{Name: "engine.password_file", About: "File that holds the password for the endpoint, and nothing else but a line end."},
			fixed: fixed,
			set:   func(_ *Study, c *Config, t string) { c.Endpoint.PasswordFile = t }},
		{Param: unit.Param{Name: "engine.load", Allowed: []string{loadAllowed}, About: "Consent that Loadstone makes databases of its own names on the endpoint's server, and removes them; left out, it only uses what it loaded before."},
			shape: "the word " + loadAllowed, fixed: fixed,
			set: func(_ *Study, c *Config, t string) { c.Endpoint.Load = t == loadAllowed }},
	}
}

// Where passwords stand that should not stand in a study: between a user's
// name and the host of a URL, as a parameter of one, as a knob.
var (
	credentials     = regexp.MustCompile(`://[^\s:@/]*:(\S*)@|[?&](?:ssl)?password=([^&\s"'}]*)`)
	passwordEntries = regexp.MustCompile(`(?i)\bpass(?:word|wd)?["']?\s*:\s*(.+)`)
)

// masked is text with stars in place of whatever looks like a password, as
// long as it was, so that places in it stay the same.
func masked(text string) string {
	for _, pattern := range []*regexp.Regexp{credentials, passwordEntries} {
		for _, m := range slices.Backward(pattern.FindAllStringSubmatchIndex(text, -1)) {
			for g := 2; g < len(m); g += 2 {
				if m[g] >= 0 {
					secret := text[m[g]:m[g+1]]
					text = text[:m[g]] + strings.Repeat("*", len([]rune(secret))) + text[m[g+1]:]
				}
			}
		}
	}
	return text
}

// hidden is a part of the file, found, with stars in place of passwords also
// where what shows that they are some is not in it.
func (c *checker) hidden(found string) string {
	found = masked(found)
	for _, line := range c.lines {
		for _, pattern := range []*regexp.Regexp{credentials, passwordEntries} {
			for _, m := range pattern.FindAllStringSubmatch(line, -1) {
				for _, secret := range strings.FieldsFunc(strings.Join(m[1:], " "), func(r rune) bool { return strings.ContainsRune(" \t,{}[]\"'", r) }) {
					found = strings.ReplaceAll(found, secret, strings.Repeat("*", len([]rune(secret))))
				}
			}
		}
	}
	return found
}

// attached checks what a study with an endpoint may ask for, and what only
// such a study may.
func (c *checker) attached(m map[string]entry, cfg *Config) {
	if !c.given("engine.endpoint") {
		for _, path := range []string{"engine.password_env", "engine.password_file", "engine.load"} {
			if c.given(path) {
				c.faultOnce("endpoint missing", c.whereGiven(path), path+" is about a server that runs already, but no engine.endpoint is given", "engine.endpoint beside it")
			}
		}
		return
	}
	if c.given("engine.password_env") && c.given("engine.password_file") {
		c.faultOnce("two passwords", c.whereGiven("engine.password_file"), "the password is in engine.password_env and in engine.password_file", "one of the two")
	}
	c.endpointURL(m, cfg.Endpoint.URL)
	c.notOurs(m)
	if !cfg.Endpoint.Load && !c.given("engine.load") {
		c.notRestored(m, cfg)
	}
}

// endpointURL lets the product check the URL.
func (c *checker) endpointURL(m map[string]entry, url string) {
	if _, varied := c.varied["engine.name"]; varied {
		c.faultOnce("endpoint of products", c.whereGiven("engine.name"), "engine.name varies, but engine.endpoint is a server of one product", "")
		return
	}
	o, sure := c.choice(m, "engine")
	e := m["engine.endpoint"]
	switch {
	case !sure || url == "": // reported already
	case o.Endpoint == nil:
		c.faultOnce("not attachable", e.key, fmt.Sprintf("%s can't be measured where it runs already: Loadstone starts it by itself", o.Name), "provider in place of engine.endpoint")
	default:
		if err := o.Endpoint(url); err != nil {
			c.fault(e.value, "engine.endpoint: "+err.Error(), "")
		}
	}
}

// notOurs reports what can't be set on somebody else's server and machine.
func (c *checker) notOurs(m map[string]entry) {
	places := maps.Clone(c.base)
	maps.Copy(places, c.varied)
	for _, path := range paths(places) {
		at := places[path].key
		_, varied := c.varied[path]
		group, path := inGroup(path)
		switch {
		case strings.HasPrefix(path, "provider."):
			c.faultOnce("provider and endpoint", at, "provider says where Loadstone starts servers, but engine.endpoint names one that runs already", "one of the two")
		case strings.HasPrefix(path, "instance."):
			c.faultOnce(path, at, path+" can't be set on a server that runs already", "leave it out")
		case path == "limits.cpu":
			c.faultOnce(path, at, "limits.cpu can't be judged: the CPU time of a server that runs already is not observed", "leave it out")
		case group != "" && strings.HasPrefix(path, settingsPrefix):
			c.faultOnce(path+" of a group", at, path+" can't differ between groups: they share one server that runs already", "the value that the server has, in engine.settings at the top")
		case varied && strings.HasPrefix(path, settingsPrefix):
			c.faultOnce(path, at, path+" can't vary: Loadstone does not alter the settings of a server that runs already", "the value that the server has, in engine.settings")
		}
	}
	for _, path := range paths(m) {
		v := m[path].value
		if strings.HasPrefix(path, settingsPrefix) && v.shape == scalar && strings.HasSuffix(v.text, "%") {
			c.faultOnce(path+" in percent", v, path+": the memory of a server that runs already is not known", "the value that the server has")
		}
	}
}

// notRestored reports what needs databases made anew, without consent to that.
func (c *checker) notRestored(m map[string]entry, cfg *Config) {
	const remedy = "engine.load: allowed"
	switch {
	case c.searched("instances"):
		c.faultOnce("instances on one database", c.whereGiven("instances"), "each instance needs a database of its own, which Loadstone may not make on this server", remedy)
	case cfg.Instances > 1:
		c.faultOnce("instances on one database", c.groupedAt(c.blame(m, append(c.groupPaths(countKnob), "instances")...)), "each instance needs a database of its own, which Loadstone may not make on this server", remedy)
	}
	if c.given("run.restore") {
		c.faultOnce("restore without consent", c.whereGiven("run.restore"), "restoring makes databases, which Loadstone may not do on this server", remedy+", or run.restore left out: each trial then runs on what the one before left")
	}
}
