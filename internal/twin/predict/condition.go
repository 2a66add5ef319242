package predict

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/unit"
)

// Condition is a limit on an answer: "p95 < 10ms", "p99:new-order < 200ms",
// "mean < 5ms", "throughput > 12000", "cpu < 80%", "host cpu < 90%".
type Condition struct {
	Text   string
	metric string
	class  int // all, or an index in Question.Classes
	above  bool
	bound  float64 // ms, percent, or in the throughput's unit
}

// Verdict says whether a condition holds.
type Verdict string

// The verdicts: by the whole interval, or not decided by it.
const (
	Holds Verdict = "holds"
	Fails Verdict = "fails"
	Open  Verdict = "open"
)

var conditionForm = regexp.MustCompile(`^(p50|p90|p95|p99|mean|throughput|host cpu|cpu)(?::([^<>]+?))? *([<>]) *([^ ]+)$`)

const conditionShape = "such as 'p95 < 10ms', 'p99:TYPE < 1s', 'throughput > 1000', 'cpu < 80%' or 'host cpu < 90%'"

// ParseCondition reads a condition; classes are the names of transactions.
func ParseCondition(text string, classes []string) (Condition, error) {
	m := conditionForm.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return Condition{}, fmt.Errorf("%q is no condition %s", text, conditionShape)
	}
	c := Condition{Text: strings.TrimSpace(text), metric: m[1], class: all, above: m[3] == ">"}
	if m[2] != "" {
		if c.class = slices.Index(classes, m[2]); c.class < 0 {
			return c, fmt.Errorf("%q: there is no type %q, only %s", text, m[2], strings.Join(classes, ", "))
		}
		if _, times := c.percentile(); !times && c.metric != "mean" {
			return c, fmt.Errorf("%q: only response times are of a type", text)
		}
	}
	var err error
	switch c.metric {
	case "throughput":
		if c.bound, err = strconv.ParseFloat(m[4], 64); err == nil && !(c.bound >= 0 && c.bound < 1e15) {
			err = fmt.Errorf("%q is not a throughput", m[4])
		}
	case "cpu", "host cpu":
		c.bound, err = unit.ParsePercent(m[4])
	default:
		d, e := unit.ParseDuration(m[4])
		c.bound, err = d.Seconds()*1e3, e
	}
	if err != nil {
		return c, fmt.Errorf("%q: %w", text, err)
	}
	return c, nil
}

// percentile is the index in Times.P that c is of.
func (c Condition) percentile() (i int, ok bool) {
	i = slices.Index([]string{"p50", "p90", "p95", "p99"}, c.metric)
	return i, i >= 0
}

// Of is the figure of a that c bounds.
func (c Condition) Of(a Answer) Interval {
	times := a.All
	if c.class != all {
		times = a.Classes[c.class]
	}
	if i, ok := c.percentile(); ok {
		return times.P[i]
	}
	switch c.metric {
	case "mean":
		return times.Mean
	case "cpu":
		return a.InstanceCPU
	case "host cpu":
		return a.HostCPU
	}
	return a.Throughput
}

// Judge says whether c holds of a. Without an interval the value decides; what
// nothing is known of is open.
func (c Condition) Judge(a Answer) Verdict {
	x := c.Of(a)
	low, high := x.Low, x.High
	if math.IsNaN(low) || math.IsNaN(high) {
		low, high = x.Value, x.Value
	}
	within := func(v float64) bool { return !c.above && v < c.bound || c.above && v > c.bound }
	switch {
	case math.IsNaN(x.Value):
		return Open
	case within(low) && within(high):
		return Holds
	case !within(low) && !within(high):
		return Fails
	}
	return Open
}

// Judge is the worst verdict of several conditions; Holds for none.
func Judge(cs []Condition, a Answer) Verdict {
	out := Holds
	for _, c := range cs {
		switch v := c.Judge(a); {
		case v == Fails:
			return Fails
		case v == Open:
			out = Open
		}
	}
	return out
}
