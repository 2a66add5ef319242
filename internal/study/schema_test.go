package study

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"pgregory.net/rapid"
)

// validator checks values against the part of JSON Schema that Schema uses.
// A keyword that it does not know is a fault, so that none goes unchecked.
type validator struct{ t fatalist }

// check says why v does not fit s, or "".
func (c validator) check(s object, v any, at string) string {
	for _, keyword := range keysOf(s) {
		if why := c.keyword(keyword, s[keyword], s, v); why != "" {
			return at + ": " + why
		}
	}
	var why string
	switch v := v.(type) {
	case object:
		why = c.properties(s, v, at)
	case []any:
		if items, ok := s["items"].(object); ok {
			for i, item := range v {
				if why = c.check(items, item, fmt.Sprintf("%s[%d]", at, i)); why != "" {
					break
				}
			}
		}
	}
	return why
}

func keysOf(s object) []string {
	keys := make([]string, 0, len(s))
	for k := range s {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (c validator) keyword(name string, want any, s object, v any) string {
	text, isText := v.(string)
	n, isNumber := v.(float64)
	sect, isObject := v.(object)
	items, isList := v.([]any)
	ok := true
	switch name {
	case "$schema", "title", "description", "default", "items", "properties", "patternProperties", "additionalProperties":
	case "type":
		ok = slices.ContainsFunc(asList(want), func(t any) bool { return hasType(v, t.(string)) })
	case "enum":
		ok = slices.ContainsFunc(want.([]any), func(x any) bool { return reflect.DeepEqual(x, v) })
	case "const":
		ok = reflect.DeepEqual(want, v)
	case "pattern":
		ok = !isText || regexp.MustCompile(want.(string)).MatchString(text)
	case "minimum":
		ok = !isNumber || n >= want.(float64)
	case "maximum":
		ok = !isNumber || n <= want.(float64)
	case "maxItems":
		ok = !isList || float64(len(items)) <= want.(float64)
	case "minItems":
		ok = !isList || float64(len(items)) >= want.(float64)
	case "maxProperties":
		ok = !isObject || float64(len(sect)) <= want.(float64)
	case "minProperties":
		ok = !isObject || float64(len(sect)) >= want.(float64)
	case "uniqueItems":
		for i := range items {
			for j := range i {
				ok = ok && !reflect.DeepEqual(items[i], items[j])
			}
		}
	case "required":
		for _, k := range want.([]any) {
			_, has := sect[k.(string)]
			ok = ok && (!isObject || has)
		}
	case "anyOf":
		ok = slices.ContainsFunc(want.([]any), func(x any) bool { return c.check(x.(object), v, "") == "" })
	case "not":
		ok = c.check(want.(object), v, "") != ""
	default:
		c.t.Fatalf("keyword %q is not known to the validator", name)
	}
	if !ok {
		return fmt.Sprintf("%v breaks %s %v", v, name, want)
	}
	return ""
}

func (c validator) properties(s, v object, at string) string {
	named, _ := s["properties"].(object)
	patterns, _ := s["patternProperties"].(object)
	for _, key := range keysOf(v) {
		known := false
		where := at + "." + key
		if sub, ok := named[key].(object); ok {
			known = true
			if why := c.check(sub, v[key], where); why != "" {
				return why
			}
		}
		for pattern, sub := range patterns {
			if regexp.MustCompile(pattern).MatchString(key) {
				known = true
				if why := c.check(sub.(object), v[key], where); why != "" {
					return why
				}
			}
		}
		switch others := s["additionalProperties"].(type) {
		case bool:
			if !others && !known {
				return where + " is not allowed"
			}
		case object:
			if known {
				break
			}
			if why := c.check(others, v[key], where); why != "" {
				return why
			}
		}
	}
	return ""
}

func asList(v any) []any {
	if l, ok := v.([]any); ok {
		return l
	}
	return []any{v}
}

func hasType(v any, name string) bool {
	switch v := v.(type) {
	case string:
		return name == "string"
	case bool:
		return name == "boolean"
	case float64:
		return name == "number" || name == "integer" && v == math.Trunc(v)
	case object:
		return name == "object"
	case []any:
		return name == "array"
	}
	return name == "null"
}

// decoded is YAML as JSON has it.
func decoded(t fatalist, src []byte) any {
	t.Helper()
	b, err := yaml.YAMLToJSON(src)
	if err != nil {
		t.Fatalf("%v", err)
	}
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("%v", err)
	}
	return v
}

func schema(t fatalist) object {
	t.Helper()
	var s object
	if err := json.Unmarshal(Schema(known()), &s); err != nil {
		t.Fatalf("the schema is no JSON: %v", err)
	}
	return s
}

func TestSchemaAcceptsWhatParseAccepts(t *testing.T) {
	s := schema(t)
	for _, file := range []string{"../../studies/quickstart.yaml", "../../studies/saturation.yaml"} {
		if why := (validator{t}).check(s, decoded(t, read(t, file)), "study"); why != "" {
			t.Errorf("%s: %s", file, why)
		}
	}
	for _, src := range completeStudies(t) {
		if why := (validator{t}).check(s, decoded(t, []byte(src)), "study"); why != "" {
			t.Errorf("%s in:\n%s", why, src)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		src := drawStudy(t)
		if why := (validator{t}).check(s, decoded(t, []byte(src)), "study"); why != "" {
			t.Fatalf("%s in:\n%s", why, src)
		}
	})
}

// TestSchemaRefusesSingleFaults: editors mark what can be seen without knowing
// other values.
func TestSchemaRefusesSingleFaults(t *testing.T) {
	s := schema(t)
	for _, name := range []string{
		"empty-sections", "impossible-values", "missing-sections", "not-a-section", "just-text", "settings-faults",
		"unknown-nested", "unknown-offers", "unknown-params", "unknown-top", "vary-fixed", "vary-shapes",
		"vary-unknown", "vary-values", "version-faults", "wrong-params", "wrong-types", "wrong-units", "rate-faults", "cpuset-faults",
		"measure-faults", "measure-shapes", "measure-values", "measure-vary", "profile-faults", "profile-empty", "profile-shapes",
		"groups-faults", "groups-vary", "instance-values", "placement-without-cpus", "scale-shapes", "scale-missing",
		"limits-faults", "limits-response-shape", "published-shapes", "published-empty", "saturate-and-vary", "saturate-values", "saturate-rate-without-unit",
	} {
		src := read(t, filepath.Join("testdata", name+".yaml"))
		if (validator{t}).check(s, decoded(t, src), "study") == "" {
			t.Errorf("%s was accepted", name)
		}
	}
}

// TestSchemaRefusesEachKnobsWrongValue tries one wrong value at a time, which
// a file with many faults would hide.
func TestSchemaRefusesEachKnobsWrongValue(t *testing.T) {
	s := schema(t)
	for _, line := range []string{
		"instances: 0", "instances: 65", "instances: many", "users: 0", "users: 1.5", "users: many", "rate: 200", "rate: 5/day", "arrivals: uniform", "connections: 0",
		"instance: {cpus: 0}", "instance: {cpuset: a-b}", "instance: {memory: 5}", "instance: {memory: -1GiB}", "instance: {cpu_shares: 1}",
		"run: {warmup: 5}", "run: {measure: fast}", "run: {repeats: 0}", "run: {restore: never}", "run: {seed: -1}", "run: {}",
		"run: {measure: {}}", "run: {measure: {min: 5}}", "run: {measure: {max: 0.5}}", "run: {measure: {precision: 2}}",
		"run: {measure: {checkpoints: -1}}", "run: {measure: {least: 1s}}", "run: {measure: [1s]}", "run: {max: 1m}",
		"limits: {errors: 1}", "limits: {}", "limits: {cpu: 90}", "limits: {disk_latency: 10}", "limits: {response: {}}",
		"limits: {response: 1s}", "limits: {response: {order: 1s}}", "limits: {response: {order: {}}}",
		"limits: {response: {order: {p95: 1}}}", "limits: {response: {order: {95: 1s}}}", "limits: {response: {order: {p100: 1s}}}",
		"profile: []", "profile: 1m", "profile: {for: 1m, load: 5%}", "profile: [1m]", "profile: [{for: 1m}]", "profile: [{load: 5%}]",
		"profile: [{for: 1, load: 5%}]", "profile: [{for: 1m, load: 5}]", "profile: [{for: 1m, load: 5%, at: 1s}]", "profile_repeat: maybe",
		"users: saturated", "rate: saturated", "connections: saturate", "vary: {users: [saturate]}",
		"users: saturate\nsaturate: {}", "users: saturate\nsaturate: {from: 0}", "users: saturate\nsaturate: {to: many}", "users: saturate\nsaturate: {gain: 3}",
		"users: saturate\nsaturate: {loads: 5}", "users: saturate\nsaturate: {by: 2}", "rate: saturate\nsaturate: {from: 5/day}",
		"vary: {run.measure.max: [1]}", "vary: {saturate.gain: [1%]}", "vary: {profile_repeat: [true]}", "vary: {limits.cpu: [90%]}",
		"instances: {}", "instances: {small: {}}", "instances: {small: {count: -1}}", "instances: {9: {count: 1}}", "instances: {a: {instance: {cpu: 1}}}",
		"instances: {a: {users: 0}}", "instances: {a: {arrivals: poisson}}", "instances: {a: {workload: {name: dvdstore}}}", "instances: {a: {workload: {size: 5}}}",
		"instances: {a: {engine: {version: 15}}}", "instances: {a: {engine: {settings: {1x: 1}}}}", "instances: {a: {count: 1}}\nvary: {instances.a.count: [65]}",
		"instances: {a: {count: 1}}\nvary: {instances.a.instance.cpus: [0]}", "instances: {a: {count: 1}}\nvary: {instances.a.run.warmup: [1s]}",
		"instance: {disk_read: 5}", "instance: {disk_read_ops: 1.5/s}", "instance: {placement: any}", "instance: {mems: a}", "instance: {data_volume: here}",
		"instance: {topology: 2x2}", "instance: {latency: low}", "instance: {large_pages: some}", "instance: {vnuma: 0}", "instance: {cpu_reservation: 0}",
		"driver: {}", "driver: {cpus: 0.5}", "driver: {cpuset: x}", "driver: {threads: 1}", "vary: {driver.cpus: [1]}",
		"scale: {to: machine}", "scale: {from: {cpus: 1, memory: 1GiB}}", "scale: {from: {cpus: 1}, to: machine}", "scale: {from: {cpus: 1, memory: 1GiB}, to: here}",
		"scale: {from: {cpus: 1, memory: 1GiB}, to: {cpus: 1, memory: 1}}", "scale: {from: {cpus: 1, memory: 1GiB}, to: machine, data: 0.5}",
		"published: []", "published: 3", "published: [3]", "published: [{}]", "published: [{series: a, metric: p95, value: 1}]", "published: [{series: a, metric: speed, value: 1, source: b}]",
		"published: [{series: a, metric: p95, value: -1, source: b}]", "published: [{series: a, metric: p95, value: 1, source: b, at: {}}]",
		"published: [{series: a, metric: p95, value: 1, source: b, page: 3}]", "published: [{series: a, metric: throughput, value: 1, source: b, at_cpu: 200}]",
		"needs: {}", "needs: {kvm: maybe}", "needs: {cpus: 0}", "needs: {providers: []}", "needs: {providers: [A]}", "needs: {memory: 4}",
		"vary: {instances: [65]}", "question: [a]", "vary: {}", "vary: {users: []}", "vary: {users: 4}", "vary: {users: [0]}",
		"vary: {users: [1, 1]}", "vary: {run.seed: [1]}", "vary: {users + rate: [1]}", "vary: {engine.settings.1x: [1]}", "extra: 1",
	} {
		src := minimal + line + "\n"
		if _, err := Parse("x.yaml", []byte(src), known()); err == nil {
			t.Errorf("Parse accepts %s", line)
		}
		if (validator{t}).check(s, decoded(t, []byte(src)), "study") == "" {
			t.Errorf("the schema accepts %s", line)
		}
	}
}

func TestSchemaDescribesEveryKnob(t *testing.T) {
	s := schema(t)
	if s["$schema"] != "https://json-schema.org/draft/2020-12/schema" {
		t.Errorf("$schema is %v", s["$schema"])
	}
	properties := s["properties"].(object)
	for _, k := range knobs() {
		if k.About == "" {
			t.Errorf("%s has no description", k.Name)
		}
		if strings.HasPrefix(k.Name, "provider.") { // the alternatives are tested below
			continue
		}
		o, ok := object{"properties": properties}, true
		for leaf := range strings.SplitSeq(k.Name, ".") {
			if either, two := o["anyOf"].([]any); two {
				o = either[1].(object) // run.measure as a section
			}
			if k.Name == countKnob && leaf == "count" {
				o = o["patternProperties"].(object)[groupPattern].(object)
			}
			if o, ok = o["properties"].(object)[leaf].(object); !ok {
				break
			}
		}
		if !ok || o["description"] == nil {
			t.Errorf("%s is missing or without description: %v", k.Name, o)
		}
	}
	alternatives := properties["provider"].(object)["anyOf"].([]any)
	if len(alternatives) != len(known().Providers) {
		t.Errorf("%d alternatives of provider", len(alternatives))
	}
	size := properties["workload"].(object)["properties"].(object)["size"].(object)
	if size["default"] != "small" || !strings.Contains(size["description"].(string), "Size of the database.") {
		t.Errorf("workload.size: %v", size)
	}
}

func TestSchemaIsTheSameEachTime(t *testing.T) {
	first := string(Schema(known()))
	for range 10 {
		if string(Schema(known())) != first {
			t.Fatal("the schema differs from time to time")
		}
	}
	if !json.Valid(Schema(Known{})) {
		t.Error("a build that offers nothing has no schema")
	}
}
