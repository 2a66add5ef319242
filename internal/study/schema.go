package study

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/unit"
)

// Schema returns the JSON Schema (draft 2020-12) of study files, made from
// the tables that Parse uses, so that editors complete and explain the knobs.
// It accepts whatever Parse accepts, but for numbers in quotes; what depends
// on several values at once only Parse finds.
func Schema(known Known) []byte {
	c := &checker{known: known, table: knobs()}
	properties := object{
		"vary":      c.varySchema(),
		"profile":   profileSchema(),
		"published": publishedSchema(),
		"events":    c.eventsSchema(),
	}
	for _, k := range c.table {
		if !strings.Contains(k.Name, ".") {
			properties[k.Name] = k.schema()
		}
	}
	for _, name := range searchable() {
		properties[name] = either(properties[name].(object), object{"const": saturate})
	}
	properties["instances"] = either(properties["instances"].(object), c.groupsSchema())
	properties["scale"] = c.scaleSchema()
	for name, about := range map[string]string{
		"instance": "Size and place of the instance; what is left out is not confined.",
		"driver":   "CPUs of the driver's own; left out, it shares all CPUs.",
		"needs":    "What a machine must have for the question to make sense.",
		"run":      "How each configuration runs.",
		"limits":   "What a result may hold before it is invalid, and where a search ends.",
		"saturate": "How the load is searched for, where users, rate or instances is saturate.",
	} {
		properties[name] = closed(about, c.sectionSchema(name))
	}
	for _, in := range chosen() {
		properties[in] = c.choiceSchema(in)
	}
	root := closed("What to vary on a database and its machine, and how to measure it.", properties)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "Loadstone study"
	// A name that varies is not set: sections may stand without theirs.
	root["required"] = []string{"study"}
	out, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		panic("study: schema: " + err.Error()) // maps, slices and texts always marshal
	}
	return append(out, '\n')
}

// object is a JSON object; its keys are written in alphabetical order.
type object = map[string]any

// either is the schema of what fits a or b; its description is a's.
func either(a, b object) object {
	return object{"description": a["description"], "anyOf": []object{a, b}}
}

// closed is the schema of a section that has these properties and no others.
func closed(about string, properties object) object {
	return object{
		"type": "object", "description": about, "properties": properties,
		"additionalProperties": false, "minProperties": 1,
	}
}

// schema describes one value of k.
func (k knob) schema() object {
	if k.pattern == "" {
		return paramSchema(k.Param)
	}
	o := object{"description": k.About, "pattern": k.pattern}
	switch {
	case k.pattern == boundPattern: // whole numbers are no texts
		o["type"], o["minimum"] = []string{"string", "integer"}, 1
	case k.Name == "engine.version", k.pattern == cpuSetPattern, k.Name == "study":
		// An unquoted 16 is a number to YAML, and patterns bind only texts.
		o["type"] = []string{"string", "number"}
	default:
		o["type"] = "string"
	}
	if k.Default != "" {
		o["default"] = value(k.Kind, k.Default)
	}
	return o
}

// Patterns of quantities, as package unit reads them.
const (
	decimalPattern  = `[0-9]+(\.[0-9]*)?|\.[0-9]+`
	sizePattern     = `^\+?(` + decimalPattern + `)([eE][+-]?[0-9]+)? *([KMGT]i?B|kB|B)$`
	durationPattern = `^(\+?((` + decimalPattern + `)(ns|us|µs|μs|ms|s|m|h))+|\+?(` + decimalPattern + `)d)$`
	percentPattern  = `^[+-]?(` + decimalPattern + `)([eE][+-]?[0-9]+)? *%$`
)

// paramSchema describes one value of p.
func paramSchema(p unit.Param) object {
	about := p.About
	if p.Kind != unit.Text || len(p.Allowed) > 0 {
		about = strings.TrimSpace(about + " (" + p.Shape() + ")")
	}
	o := object{"description": about}
	if p.Default != "" {
		o["default"] = value(p.Kind, p.Default)
	}
	switch p.Kind {
	case unit.Int, unit.Float:
		o["type"] = map[unit.Kind]string{unit.Int: "integer", unit.Float: "number"}[p.Kind]
		if p.Min != "" {
			o["minimum"] = json.Number(p.Min)
		}
		if p.Max != "" {
			o["maximum"] = json.Number(p.Max)
		}
	case unit.Bool:
		o["type"] = "boolean"
	case unit.Size:
		o["type"], o["pattern"] = "string", sizePattern
	case unit.Time:
		o["type"], o["pattern"] = "string", durationPattern
	case unit.Share:
		o["type"], o["pattern"] = "string", percentPattern
	case unit.SizeName:
		o["anyOf"] = []object{{"enum": p.Allowed}, {"type": "string", "pattern": sizePattern}}
	default:
		if len(p.Allowed) > 0 {
			o["enum"] = p.Allowed
		} else {
			o["type"] = []string{"string", "number", "boolean"}
		}
	}
	return o
}

// value is text as JSON has it.
func value(k unit.Kind, text string) any {
	switch k {
	case unit.Int, unit.Float:
		return json.Number(text)
	case unit.Bool:
		b, _ := strconv.ParseBool(text)
		return b
	}
	return text
}

// sectionSchema describes the table's knobs in a section.
func (c *checker) sectionSchema(name string) object {
	out := object{}
	for _, k := range c.table {
		if home, leaf := splitPath(k.Name); home == name {
			out[leaf] = k.schema()
		}
	}
	switch name {
	case "run":
		whole := c.sectionSchema("run.measure")
		whole["min"] = out["measure"]
		out["measure"] = either(out["measure"].(object), closed("Measuring ends between min and max, when what is asked for is reached.", whole))
	case "limits":
		out["response"] = responseSchema()
	case "needs":
		out["providers"] = object{
			"type": "array", "minItems": 1, "uniqueItems": true, "description": "Providers that will do.",
			"items": object{"type": "string", "pattern": providerPattern},
		}
	}
	return out
}

// groupsSchema describes instances as a section of named groups.
func (c *checker) groupsSchema() object {
	group, workload := object{}, object{}
	for _, k := range c.table {
		if in, leaf := splitPath(k.Name); k.Name == countKnob || in == "" && c.mayDiffer(k.Name) {
			group[leaf] = k.schema()
		}
	}
	for _, o := range c.known.Workloads {
		for _, p := range o.Params {
			workload[p.Name] = c.ownSchema("workload." + p.Name)
		}
	}
	group["instance"] = closed("What the group's instances have for themselves.", c.sectionSchema("instance"))
	if len(workload) > 0 {
		group["workload"] = closed("Parameters of the workload that the group has for itself.", workload)
	}
	group["engine"] = closed("Settings that the group has for itself.", object{"settings": settingsSchema()})
	return object{
		"type": "object", "minProperties": 1, "maxProperties": mostGroups, "additionalProperties": false,
		"description":       "Groups of instances, each with a count and what differs from the rest of the study.",
		"patternProperties": object{groupPattern: closed("One group.", group)},
	}
}

// ownSchema describes one value of what a group may have for itself.
func (c *checker) ownSchema(path string) object {
	if k, ok := c.knob(path); ok {
		return k.schema()
	}
	if all := c.paramSchemas(path); len(all) > 1 {
		return object{"anyOf": all}
	} else if len(all) == 1 {
		return all[0]
	}
	return settingSchema()
}

// scaleSchema describes scale.
func (c *checker) scaleSchema() object {
	size := func(path, about string) object {
		o := closed(about, c.sectionSchema(path))
		o["required"] = c.namesIn(path)
		return o
	}
	to := either(object{"const": toMachine, "description": "The machine that the figures are scaled for: the one at hand, or a size."},
		size("scale.to", "The machine that the figures are scaled for."))
	out := closed("The machine that the study's figures are for, and how they shrink.", object{
		"from": size("scale.from", "The machine that the study's figures are for."), "to": to,
		"data": c.sectionSchema("scale")["data"],
	})
	out["required"] = []string{"from", "to"}
	return out
}

// responseSchema describes limits.response: transaction types, each with its
// percentiles.
func responseSchema() object {
	percentiles := closed("Longest response times by percentile: p95, p99.9.", object{})
	percentiles["patternProperties"] = object{percentilePattern: paramSchema(responseParam())}
	return object{
		"type": "object", "minProperties": 1, "additionalProperties": percentiles,
		"description": "Longest response times by transaction type; left out, no limit.",
	}
}

// profileSchema describes profile: a list of phases.
func profileSchema() object {
	properties, required := object{}, []string{}
	for _, p := range phaseParams() {
		properties[p.Name] = paramSchema(p)
		required = append(required, p.Name)
	}
	item := closed("One phase.", properties)
	item["required"] = required
	return object{
		"type": "array", "minItems": 1, "maxItems": mostPhases, "items": item,
		"description": "Load over time, from the end of the ramp on: phases that follow each other.",
	}
}

// choiceSchema describes a section that names one of several offers: one
// alternative for each, with its parameters.
func (c *checker) choiceSchema(in string) object {
	alternatives := []object{}
	for _, o := range c.offers(in) {
		properties := object{}
		for _, p := range o.Params {
			properties[p.Name] = paramSchema(p)
		}
		for leaf, s := range c.sectionSchema(in) { // name and version win
			properties[leaf] = s
		}
		properties["name"] = object{"const": o.Name, "description": o.About}
		if in == "engine" {
			properties["settings"] = settingsSchema()
		}
		alternatives = append(alternatives, closed(o.About, properties))
	}
	about := "Which " + in + ", with its parameters."
	switch len(alternatives) {
	case 0:
		return object{"not": object{}, "description": "This build has none."}
	case 1:
		alternatives[0]["description"] = about
		return alternatives[0]
	}
	return object{"description": about, "anyOf": alternatives}
}

func settingsSchema() object {
	return object{
		"type": "object", "minProperties": 1,
		"description":          "Settings of the product by name, as its manual has them.",
		"patternProperties":    object{settingPattern: settingSchema()},
		"additionalProperties": false,
	}
}

func settingSchema() object {
	return object{"type": []string{"string", "number", "boolean"}, "description": "Value of the setting; a percentage is of the instance's memory."}
}

// varySchema describes vary: a list of values for each knob that may vary.
func (c *checker) varySchema() object {
	properties := object{}
	for _, path := range c.variable() {
		if in, leaf, _ := strings.Cut(path, "."); leaf == "name" {
			names := offerNames(c.offers(in))
			k, _ := c.knob(path)
			properties[path] = listOf(object{"enum": names, "description": k.About})
			continue
		}
		if k, ok := c.knob(path); ok {
			properties[path] = listOf(k.schema())
		} else if s := c.paramSchemas(path); len(s) == 1 {
			properties[path] = listOf(s[0])
		} else if len(s) > 1 {
			properties[path] = listOf(object{"anyOf": s})
		}
	}
	patterns := c.groupVarySchema()
	for _, all := range []object{properties, patterns} {
		for _, s := range all {
			item := s.(object)["items"].(object)
			delete(item, "default") // a list has none
		}
	}
	together := object{
		"type": "array", "minItems": 1,
		"description": "Knobs that change together: each step is a list of one value for each.",
		"items":       object{"type": "array", "minItems": 2, "items": settingSchema()},
	}
	delete(together["items"].(object)["items"].(object), "description")
	out := closed("What changes from run to run: knobs by their paths, with the values of each. Several lines are crossed.", properties)
	setting := literal(settingsPrefix) + bare(settingPattern) + "$"
	patterns["^"+setting] = listOf(settingSchema())
	patterns[groupPath(settingsPrefix)+bare(settingPattern)+"$"] = listOf(settingSchema())
	patterns[`^ *[^+ ]+( *\+ *[^+ ]+)+ *$`] = together
	out["patternProperties"] = patterns
	return out
}

// groupVarySchema describes the knobs of groups that may vary, by patterns of
// their paths.
func (c *checker) groupVarySchema() object {
	out := object{}
	for _, path := range c.differing() {
		leaf := path
		if path == countKnob {
			leaf = "count"
		}
		out[groupPath(leaf)+"$"] = listOf(c.ownSchema(path))
	}
	for _, o := range c.known.Workloads {
		for _, p := range o.Params {
			path := "workload." + p.Name
			out[groupPath(path)+"$"] = listOf(c.ownSchema(path))
		}
	}
	return out
}

// groupPath is a pattern of the path of a group's knob, without its end.
func groupPath(path string) string {
	return "^" + literal(groupPrefix) + bare(groupPattern) + literal("."+path)
}

// literal and bare make parts of a pattern: of a text, of a whole pattern.
func literal(text string) string { return strings.ReplaceAll(text, ".", `\.`) }

func bare(pattern string) string {
	return strings.TrimPrefix(strings.TrimSuffix(pattern, "$"), "^")
}

// paramSchemas are the different descriptions of a parameter that several
// offers may have under one name.
func (c *checker) paramSchemas(path string) []object {
	in, name, _ := strings.Cut(path, ".")
	var out []object
	var seen []string
	for _, o := range c.offers(in) {
		for _, p := range o.Params {
			if key := fmt.Sprintf("%+v", p); p.Name == name && !slices.Contains(seen, key) {
				seen = append(seen, key)
				out = append(out, paramSchema(p))
			}
		}
	}
	return out
}

func listOf(item object) object {
	return object{"type": "array", "minItems": 1, "uniqueItems": true, "description": item["description"], "items": item}
}
