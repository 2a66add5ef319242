package study

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/unit"
)

// Published is one entry of the `published:` section: what somebody else
// printed of the study's question. It changes nothing of what is run; reports
// show it beside what was measured.
type Published struct {
	Series string // what was measured there; the values of one series are of one system
	Metric string // one of PublishedMetrics
	// At is the configuration, by knobs that vary; none is the study as a whole.
	// Where there is an Against, the value is the ratio of the metric at At to
	// that at Against, whose knobs are those of At, or the provider's name.
	At, Against []Place
	CPUPct      float64 // where over 0, both sides of a ratio use that much of their CPUs
	Value       float64 // in Unit; 0 where there are only words
	Bound       string  // "above" or "below": the value is a bound; "" where it is the value
	Says        string  // in words, where no number was printed
	Unit        string  // "" for ratios and words
	Source      string  // table, figure or page
}

// Place is the value of a knob: as the study runs it, and as its file states
// it, which differ where the study is scaled.
type Place struct{ Knob, Value, Stated string }

// PublishedMetrics are what published values may be of: throughput, mean and
// percentiles of the response time of what the headline counts, use of CPUs, requests
// of the disk and their mean latency, and Jain's index.
func PublishedMetrics() []string {
	return []string{"throughput", "response", "p50", "p90", "p95", "p99", "p99.9", "instance_cpu", "host_cpu", "disk_requests", "disk_latency", "fairness"}
}

// publishedUnit is the unit of a metric; "" where the entry has to say.
func publishedUnit(metric string) string {
	switch metric {
	case "throughput", "fairness":
		return ""
	case "instance_cpu", "host_cpu":
		return "%"
	case "disk_requests":
		return "/s"
	}
	return "ms"
}

const (
	mostPublished  = 200 // entries
	publishedShape = "a list such as [{series: ESX 4.0, at: {instance.cpus: 8}, metric: throughput, value: 3060, unit: tps, source: Table 1}]"
	placeShape     = "a section of knobs that vary, such as {instance.cpus: 8}"
)

// publishedParams describe the single values of an entry; at and against are
// sections beside them.
func publishedParams() []unit.Param {
	number := func(name, about string) unit.Param {
		return unit.Param{Name: name, Kind: unit.Float, Min: "0", Max: "1000000000000000", About: about}
	}
	return []unit.Param{
		{Name: "series", About: "What was measured there, in a few words; values of one series are of one system."},
		{Name: "metric", Allowed: PublishedMetrics(), About: "What the value is of."},
		number("value", "The value; a ratio where there is an against."),
		number("above", "In place of value: a bound that it was above."),
		number("below", "In place of value: a bound that it was below."),
		{Name: "says", About: "In place of value: what was said, where no number was printed."},
		{Name: "unit", About: "Unit of a throughput, as printed; ratios have none."},
		{Name: "at_cpu", Kind: unit.Share, Min: "1%", Max: "100%", About: "For a ratio of throughputs: the part of their CPUs that both sides used."},
		{Name: "source", About: "Where it stands: table, figure or page."},
	}
}

// publication is an entry with the places that faults need.
type publication struct {
	Published
	at          *node
	places      [2]*node // at and against; nil where the entry has none
	right       bool
	unit, alone *node // the unit; the value in any of its forms
}

// readPublished reads the list of entries; resolve completes them, once the
// knobs that vary are known.
func (c *checker) readPublished(p pair) {
	items := p.value.items
	switch {
	case p.value.shape == refused:
		return
	case p.value.shape == absent || p.value.shape == list && len(items) == 0:
		c.fault(p.key, "published has no values", publishedShape)
		return
	case p.value.shape != list:
		c.fault(p.value, "published is "+p.value.what()+", not a list of values", publishedShape)
		return
	case len(items) > mostPublished:
		c.fault(p.key, fmt.Sprintf("published has %d values", len(items)), fmt.Sprintf("at most %d", mostPublished))
		return
	}
	for _, item := range items {
		switch item.shape {
		case refused:
		case absent:
			c.fault(p.key, "published: a value is missing", publishedShape)
		case section:
			c.publications = append(c.publications, c.publication(item))
		default:
			c.fault(item, "published: a value is "+item.what()+", not a section", publishedShape)
		}
	}
}

// publication reads one entry as far as it can be judged alone.
func (c *checker) publication(at *node) publication {
	out := publication{at: at, right: true}
	params := publishedParams()
	given := map[string]bool{}
	for _, q := range at.pairs {
		name := q.key.text
		if i := slices.Index([]string{"at", "against"}, name); i >= 0 {
			if out.right = c.isPlace("published: "+name, q) && out.right; q.value.shape == section {
				out.places[i] = q.value
			}
			given[name] = true
			continue
		}
		i := slices.IndexFunc(params, func(p unit.Param) bool { return p.Name == name })
		if i < 0 {
			c.unknown(q.key, "a value of published", append([]string{"at", "against"}, paramNames(params)...))
			out.right = false
			continue
		}
		text, ok := c.leaf("published: "+name, q, params[i])
		if ok && (text == "" || strings.ContainsAny(text, "\n")) {
			c.fault(q.value, "published: "+name+" is one line of text", params[i].Shape())
			ok = false
		}
		given[name], out.right = true, out.right && ok
		out.set(name, text, q)
	}
	c.complete(&out, given)
	return out
}

// isPlace reports an at or against that is no section of single values.
func (c *checker) isPlace(name string, q pair) bool {
	switch {
	case q.value.shape == refused:
		return false
	case q.value.shape == absent || q.value.shape == section && len(q.value.pairs) == 0:
		c.fault(q.key, name+" has no knobs", placeShape)
		return false
	case q.value.shape != section:
		c.fault(q.value, name+" is "+q.value.what()+", not a section", placeShape)
		return false
	}
	right := true
	for _, k := range q.value.pairs {
		_, ok := c.leaf(name+": "+k.key.text, k, unit.Param{})
		right = right && ok
	}
	return right
}

// set stores a single value that stands at q.
func (p *publication) set(name, text string, q pair) {
	switch name {
	case "series":
		p.Series = text
	case "metric":
		p.Metric = text
	case "says":
		p.Says, p.alone = text, q.key
	case "value", "above", "below":
		p.Value, p.alone = float(text), q.key
		if name != "value" {
			p.Bound = name
		}
	case "unit":
		p.Unit, p.unit = text, q.value
	case "at_cpu":
		p.CPUPct, _ = unit.ParsePercent(text)
	case "source":
		p.Source = text
	}
}

// complete reports what an entry lacks, and what does not go together.
func (c *checker) complete(p *publication, given map[string]bool) {
	fault := func(at *node, message, allowed string) {
		c.fault(at, "published: "+message, allowed)
		p.right = false
	}
	for _, name := range []string{"series", "metric", "source"} {
		if !given[name] {
			fault(p.at, "the value has no "+name, publishedShape)
		}
	}
	forms := 0
	for _, name := range []string{"value", "above", "below", "says"} {
		if given[name] {
			forms++
		}
	}
	switch {
	case forms == 0:
		fault(p.at, "there is no value", "one of value, above, below and says")
	case forms > 1:
		fault(p.alone, "one entry has one value", "one of value, above, below and says")
	}
	if !p.right {
		return
	}
	own := publishedUnit(p.Metric)
	switch bare := given["against"] || p.Says != "" || p.Metric == "fairness"; {
	case bare && p.unit != nil:
		fault(p.unit, "a ratio, an index and words have no unit", "no unit")
	case bare:
	case own != "" && p.unit != nil && p.Unit != own:
		fault(p.unit, fmt.Sprintf("%s is in %s, not in %s", p.Metric, own, p.Unit), own)
	case own != "":
		p.Unit = own
	case p.unit == nil:
		fault(p.at, "throughput has no unit", "a unit such as tps, as it was printed")
	}
	if p.CPUPct > 0 && (!given["against"] || p.Metric != "throughput") {
		fault(p.at, "at_cpu is for a ratio of throughputs", "metric: throughput with an against")
	}
}

// published are the entries as Study holds them. An entry's knobs must vary
// and have the value that it names, or no figure of the study could stand
// beside it.
func (c *checker) published() []Published {
	var out []Published
	for _, p := range c.publications {
		for i, of := range []*[]Place{&p.At, &p.Against} {
			if p.places[i] == nil {
				continue
			}
			for _, q := range p.places[i].pairs {
				if place, ok := c.place(q, i == 1); ok {
					*of = append(*of, place)
				} else {
					p.right = false
				}
			}
		}
		if p.right && c.opposed(p) {
			out = append(out, p.Published)
		}
	}
	return out
}

// opposed reports a ratio whose sides are not two values of the same knobs.
func (c *checker) opposed(p publication) bool {
	if len(p.Against) == 0 {
		return true
	}
	if fmt.Sprint(p.At) == fmt.Sprint(p.Against) {
		c.fault(p.places[1], "published: at and against are the same", "another value of a knob")
		return false
	}
	for _, a := range p.Against {
		if a.Knob != "provider.name" && !slices.ContainsFunc(p.At, func(x Place) bool { return x.Knob == a.Knob }) {
			c.fault(p.places[1], fmt.Sprintf("published: against names %s, which at does not: there is no telling what is set against it", a.Knob), "the same knobs in at and against")
			return false
		}
	}
	return true
}

// place finds the value of a knob that q names among those that vary. The
// other side of a ratio may lie in another study, of another provider.
func (c *checker) place(q pair, against bool) (Place, bool) {
	knob, text := q.key.text, q.value.text
	if q.value.shape != scalar {
		return Place{}, false
	}
	if _, varies := c.varied[knob]; !varies && against && knob == "provider.name" {
		if !providerName.MatchString(text) {
			c.fault(q.value, fmt.Sprintf("published: %q is not the name of a provider", text), "small letters, digits, - and _")
		}
		return Place{knob, text, text}, providerName.MatchString(text)
	}
	same := c.sameText(knob)
	var knobs, values []string
	for _, a := range c.axes {
		for k, name := range a.knobs {
			if knobs = append(knobs, name.text); name.text != knob {
				continue
			}
			for _, step := range a.steps {
				stated := step[k].text
				if step[k].from != "" {
					stated = step[k].from
				}
				if values = append(values, stated); same(stated) == same(text) {
					return Place{knob, step[k].text, stated}, true
				}
			}
		}
	}
	switch {
	case len(values) > 0:
		c.fault(q.value, fmt.Sprintf("published: %s = %s is not among the values that vary", knob, text), strings.Join(values, ", "))
	case slices.Contains(knobs, knob): // its values are wrong by themselves
	default:
		c.fault(q.key, fmt.Sprintf("published: %s does not vary%s", knob, c.meant(knob, knobs)), oneOf(knobs))
	}
	return Place{}, false
}

// sameText returns a function whose results are equal for texts that mean the
// same value of a knob.
func (c *checker) sameText(knob string) func(string) string {
	p, _ := c.param(knob)
	k, _ := c.knob(knob)
	if k.same != nil {
		return k.same
	}
	return func(text string) string { return canonical(max(p.Kind, k.Kind), text) }
}

// publishedSchema describes published: a list of values.
func publishedSchema() object {
	properties := object{}
	for _, p := range publishedParams() {
		properties[p.Name] = paramSchema(p)
	}
	for name, about := range map[string]string{
		"at":      "The configuration, by knobs that vary, with values as they stand in the file; left out, the study as a whole.",
		"against": "The configuration that the value is a ratio to: other values of the same knobs, or provider.name.",
	} {
		properties[name] = object{
			"type": "object", "minProperties": 1, "description": about,
			"additionalProperties": object{"type": []string{"string", "number", "boolean"}},
		}
	}
	item := closed("One value.", properties)
	item["required"] = []string{"series", "metric", "source"}
	return object{
		"type": "array", "minItems": 1, "maxItems": mostPublished, "items": item,
		"description": "What others printed of the same question: shown beside what is measured, and of no effect on it.",
	}
}
