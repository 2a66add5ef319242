package study

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/unit"
)

// responseLimit is a limit with its place.
type responseLimit struct {
	ResponseLimit
	key *node // the name of the type
}

// percentilePattern is how a percentile is named: p50, p99.9.
const percentilePattern = `^p[0-9]{1,2}(\.[0-9]{1,3})?$`

// responseParam describes the value of a response limit.
func responseParam() unit.Param {
	return unit.Param{Kind: unit.Time, Min: "1us", Max: "1h", About: "Longest response time at this percentile."}
}

// readResponse reads limits.response.
func (c *checker) readResponse(p pair) {
	if !c.isSection("limits.response", p) {
		return
	}
	for _, q := range p.value.pairs {
		path := "limits.response." + q.key.text
		if !c.isSection(path, q) {
			continue
		}
		seen := map[float64]bool{}
		for _, r := range q.value.pairs {
			percentile := float(strings.TrimPrefix(r.key.text, "p"))
			switch {
			case !percentileName.MatchString(r.key.text) || percentile <= 0:
				c.fault(r.key, fmt.Sprintf("%s: %q is not a percentile", path, r.key.text), "p50, p95, p99, p99.9 and others between p0 and p100")
				continue
			case seen[percentile]:
				c.fault(r.key, fmt.Sprintf("%s: the percentile %s stands here twice", path, r.key.text), "")
				continue
			}
			seen[percentile] = true
			if text, ok := c.leaf(path+"."+r.key.text, r, responseParam()); ok {
				most, _ := unit.ParseDuration(text)
				c.response = append(c.response, responseLimit{ResponseLimit{q.key.text, percentile, most}, q.key})
			}
		}
	}
}

// limits are the response limits as Study holds them.
func (c *checker) limits() []ResponseLimit {
	var out []ResponseLimit
	for _, l := range c.response {
		out = append(out, l.ResponseLimit)
	}
	return out
}

// limitedTypes reports limits of types that the workload of a configuration
// does not have.
func (c *checker) limitedTypes(m map[string]entry) {
	if len(c.response) == 0 {
		return
	}
	o, sure := c.choice(m, "workload")
	if !sure || o.Types == nil {
		return
	}
	for _, l := range c.response {
		if !slices.Contains(o.Types, l.Type) {
			c.fault(l.key, fmt.Sprintf("workload %s has no transaction type %q%s", o.Name, l.Type, didYouMean(l.Type, o.Types)), strings.Join(o.Types, ", "))
		}
	}
}
