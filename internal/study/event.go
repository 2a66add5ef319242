package study

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadstone-perf/loadstone/internal/unit"
)

// What an Event does.
const (
	EventSet         = "set"          // change limits of a running instance
	EventMigrate     = "migrate"      // move a running virtual machine to another hypervisor process
	EventMoveStorage = "move-storage" // move a running instance's files to another directory
)

// mostEvents bounds a list of events: more are a trace, not an experiment.
const mostEvents = 32

// Event is something that happens to instances while load runs on them.
type Event struct {
	At time.Duration // from the beginning of measuring
	Do string        // EventSet, EventMigrate or EventMoveStorage
	// Instance is whom it happens to, as the file has it: a number from 1 among
	// all instances, a name such as "instance-1" or "small-1", the name of a
	// group, or "all".
	Instance string
	Set      []Setting // of EventSet
	To       string    // of EventMoveStorage: a directory of the instances' host
}

// Setting is one limit of an instance and its new value.
type Setting struct{ Knob, Value string } // "instance.cpus", "0.5"

// String is the event in words, as a study asks for it: "set instance.cpus =
// 0.5", "move-storage to /mnt/fast".
func (e Event) String() string {
	var parts []string
	for _, s := range e.Set {
		parts = append(parts, s.Knob+" = "+s.Value)
	}
	if e.To != "" {
		parts = append(parts, "to "+e.To)
	}
	return strings.TrimSpace(e.Do + " " + strings.Join(parts, ", "))
}

// After is s as e leaves it.
func (e Event) After(s Shape) Shape {
	c := Config{Shape: s}
	for _, k := range instanceKnobs() {
		for _, set := range e.Set {
			if set.Knob == k.Name {
				k.set(nil, &c, set.Value)
			}
		}
	}
	return c.Shape
}

// Hits says whether e happens to the instance with this number among all of
// c's, from 1, which is number index of group g, from 1.
func (e Event) Hits(number, index int, g Group) bool {
	base := g.Name
	if base == "" {
		base = "instance"
	}
	switch e.Instance {
	case "all", strconv.Itoa(number), fmt.Sprintf("%s-%d", base, index):
		return true
	}
	return g.Name != "" && e.Instance == g.Name
}

// eventList is the section events with the places of its items.
type eventList struct {
	key    *node // nil where the study has none
	events []eventAt
}

// eventAt is an event with the places of what may not fit a configuration.
type eventAt struct {
	Event
	at, do, instance *node
	set              []*node // the names in Set
}

// settable are the limits that an event may change, by the names that they have
// in an event.
func settable() []string {
	return []string{"cpus", "memory", "cpu_shares", "disk_read", "disk_write", "disk_read_ops", "disk_write_ops"}
}

// eventParams describe the values of an event, but for the limits.
func eventParams() []unit.Param {
	return []unit.Param{
		{Name: "at", Kind: unit.Time, Min: "0s", Max: "7d", About: "When it begins, from the beginning of measuring."},
		{Name: "do", Allowed: []string{EventSet, EventMigrate, EventMoveStorage}, About: "set changes limits of the running instance; migrate moves a running virtual machine to another hypervisor process; move-storage moves the files of a running virtual machine."},
		{Name: "instance", Default: "all", About: "Whom it happens to: a number, a name such as instance-1 or small-1, the name of a group, or all."},
		{Name: "to", About: "move-storage: the directory that the files move to."},
	}
}

const (
	eventsShape  = "a list such as [{at: 20s, do: set, cpus: 0.5}]"
	eventExample = "an event such as {at: 20s, do: set, instance: 1, cpus: 0.5}"
)

// readEvents reads the list of events.
func (c *checker) readEvents(p pair) {
	c.events.key = p.key
	items := p.value.items
	switch {
	case p.value.shape == refused:
		return
	case p.value.shape == absent || p.value.shape == list && len(items) == 0:
		c.fault(p.key, "events has no events", eventsShape)
		return
	case p.value.shape != list:
		c.fault(p.value, "events is "+p.value.what()+", not a list of events", eventsShape)
		return
	case len(items) > mostEvents:
		c.fault(p.key, fmt.Sprintf("events has %d events", len(items)), fmt.Sprintf("at most %d", mostEvents))
		return
	}
	var all []eventAt
	for _, item := range items {
		if e, ok := c.readEvent(p.key, item); ok {
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(a, b eventAt) int { return int(a.At - b.At) })
	c.events.events = all
}

// readEvent reads one item of the list that stands under key.
func (c *checker) readEvent(key, at *node) (e eventAt, ok bool) {
	switch at.shape {
	case refused:
		return e, false
	case absent:
		c.fault(key, "events: an event is missing", eventExample)
		return e, false
	case scalar, list:
		c.fault(at, "events: an event is "+at.what()+", not a section", eventExample)
		return e, false
	}
	e, ok = eventAt{Event: Event{Instance: "all"}, at: at, do: at, instance: at}, true
	given := map[string]pair{}
	for _, q := range at.pairs {
		given[q.key.text] = q
		ok = c.readEventValue(&e, q) && ok
	}
	for _, name := range []string{"at", "do"} {
		if _, there := given[name]; !there {
			c.fault(at, fmt.Sprintf("events: the event has no %q", name), eventExample)
			ok = false
		}
	}
	return e, ok && c.eventWhole(e, at, given)
}

// readEventValue reads one value of an event.
func (c *checker) readEventValue(e *eventAt, q pair) bool {
	name := q.key.text
	if slices.Contains(settable(), name) {
		k, _ := c.knob("instance." + name)
		text, ok := c.leaf("events: "+name, q, unit.Param{Name: name, About: k.About})
		if !ok {
			return false
		}
		if err := k.check(text); err != nil {
			c.fault(q.value, "events: "+name+": "+err.Error(), k.allowed())
			return false
		}
		e.Set, e.set = append(e.Set, Setting{k.Name, text}), append(e.set, q.key)
		return true
	}
	i := slices.IndexFunc(eventParams(), func(p unit.Param) bool { return p.Name == name })
	if i < 0 {
		c.unknown(q.key, "an event", append(paramNames(eventParams()), settable()...))
		return false
	}
	text, ok := c.leaf("events: "+name, q, eventParams()[i])
	if !ok {
		return false
	}
	switch name {
	case "at":
		e.At, _ = unit.ParseDuration(text)
		e.at = q.value
	case "do":
		e.Do, e.do = text, q.value
	case "instance":
		e.Instance, e.instance = text, q.value
	case "to":
		if !strings.HasPrefix(text, "/") || strings.ContainsAny(text, "\n\x00") {
			c.fault(q.value, fmt.Sprintf("events: to: %q is not the path of a directory from the root on", text), "an absolute path such as /mnt/fast")
			return false
		}
		e.To = text
	}
	return true
}

// eventWhole reports an event that lacks what it needs, or has what another
// kind of event needs.
func (c *checker) eventWhole(e eventAt, at *node, given map[string]pair) bool {
	_, to := given["to"]
	switch {
	case e.Do == EventSet && len(e.set) == 0:
		c.fault(at, "events: set changes nothing", "one or more of "+strings.Join(settable(), ", "))
	case e.Do != EventSet && e.Do != "" && len(e.set) > 0:
		c.fault(e.set[0], fmt.Sprintf("events: %s does not take %s", e.Do, e.set[0].text), "do: "+EventSet)
	case e.Do == EventMoveStorage && !to:
		c.fault(at, "events: move-storage does not say where to", "to: /a/directory")
	case e.Do != EventMoveStorage && e.Do != "" && to:
		c.fault(given["to"].key, fmt.Sprintf("events: %s does not take to", e.Do), "do: "+EventMoveStorage)
	default:
		return true
	}
	return false
}

// eventsOf returns the events of a configuration, and reports those that can't
// happen in it. m are the values of the file and of the cell.
func (c *checker) eventsOf(m map[string]entry, cfg Config) (out []Event) {
	if c.events.key == nil {
		return nil
	}
	for _, other := range []struct {
		there bool
		name  string
		why   string
	}{
		{c.search.key != nil, "saturate", "a search compares loads that are steady"},
		{c.profile.key != nil, "profile", "what an event does could not be told from what the load does"},
		{c.scale.key != nil && slices.ContainsFunc(c.events.events, func(e eventAt) bool { return len(e.Set) > 0 }), "scale", "what an event sets is not scaled"},
		{cfg.Run.MeasureMax > 0, "run.measure with a max", "the window must be the same with and without what the event does"},
	} {
		if other.there {
			c.faultOnce("events and "+other.name, c.events.key, fmt.Sprintf("events and %s exclude each other: %s", other.name, other.why), "one of the two")
			return nil
		}
	}
	for _, e := range c.events.events {
		if cfg.Run.Measure > 0 && e.At >= cfg.Run.Measure {
			c.faultOnce("event after the end", e.at, fmt.Sprintf("events: at %s is not before the end of measuring, which takes %s", short(e.At), short(cfg.Run.Measure)), "at less than run.measure")
		}
		c.offered(e, cfg)
		c.hit(m, e, cfg)
		out = append(out, e.Event)
	}
	return out
}

// offered reports an event that the provider's instances can't have.
func (c *checker) offered(e eventAt, cfg Config) {
	if cfg.Provider.Name == External {
		c.faultOnce("event on an endpoint", e.do, "events: "+e.Do+" needs instances of Loadstone's own, and the server runs already", "a study without engine.endpoint")
		return
	}
	for _, o := range c.known.Providers {
		if o.Name != cfg.Provider.Name || slices.Contains(o.Events, e.Do) {
			continue
		}
		var who []string
		for _, o := range c.known.Providers {
			if slices.Contains(o.Events, e.Do) {
				who = append(who, o.Name)
			}
		}
		c.faultOnce("event of provider "+o.Name, e.do, fmt.Sprintf("events: provider %s can't do %s while an instance runs", o.Name, e.Do), "provider: {name: …} with one of "+oneOf(who))
	}
}

// hit reports an event that happens to nobody, or that would set a limit which
// an instance has not had from its beginning.
func (c *checker) hit(m map[string]entry, e eventAt, cfg Config) {
	if !c.counted(m) {
		return
	}
	number, hits := 0, 0
	for _, g := range cfg.Groups {
		for index := range g.Count {
			number++
			if !e.Hits(number, index+1, g) {
				continue
			}
			hits++
			for i, set := range e.Set {
				if !has(g.Shape, set.Knob) && c.fixedHere(m, g.Name, set.Knob) {
					c.faultOnce("set without a limit", e.set[i], fmt.Sprintf("events: set can't give a running instance a limit that it began without: %s is not set", set.Knob), set.Knob+" from the beginning")
				}
			}
		}
	}
	if hits == 0 {
		c.faultOnce("event for nobody", e.instance, fmt.Sprintf("events: no instance is %q where there are %d", e.Instance, cfg.Instances), "a number from 1 to "+strconv.Itoa(max(1, cfg.Instances))+", a name, or all")
	}
}

// counted says whether m tells how many instances there are: the base of a
// study that varies their number does not.
func (c *checker) counted(m map[string]entry) bool {
	for _, path := range append(c.groupPaths(countKnob), "instances") {
		if _, varied := c.varied[path]; !varied {
			continue
		}
		if _, there := m[path]; !there {
			return false
		}
	}
	return true
}

// fixedHere says whether what a group's instances have of a knob is known from
// m: not where it varies and m lacks it.
func (c *checker) fixedHere(m map[string]entry, group, knob string) bool {
	for _, path := range []string{knob, ofGroup(group, knob)} {
		if _, varied := c.varied[path]; !varied {
			continue
		}
		if _, there := m[path]; !there {
			return false
		}
	}
	return true
}

// has says whether a shape has a limit.
func has(s Shape, knob string) bool {
	return map[string]bool{
		"instance.cpus": s.CPUs > 0, "instance.memory": s.Memory > 0, "instance.cpu_shares": s.CPUShares > 0,
		"instance.disk_read": s.ReadBytesPS > 0, "instance.disk_write": s.WriteBytesPS > 0,
		"instance.disk_read_ops": s.ReadOpsPS > 0, "instance.disk_write_ops": s.WriteOpsPS > 0,
	}[knob]
}

// eventsSchema describes events: a list.
func (c *checker) eventsSchema() object {
	properties := object{}
	for _, p := range eventParams() {
		properties[p.Name] = paramSchema(p)
	}
	properties["instance"] = object{"type": []string{"string", "integer"}, "default": "all", "description": eventParams()[2].About}
	properties["to"] = object{"type": "string", "pattern": pathPattern, "description": eventParams()[3].About}
	for _, name := range settable() {
		k, _ := c.knob("instance." + name)
		properties[name] = k.schema()
	}
	item := closed("One event.", properties)
	item["required"] = []string{"at", "do"}
	return object{
		"type": "array", "minItems": 1, "maxItems": mostEvents, "items": item,
		"description": "What happens to instances while load runs on them.",
	}
}
