package analyse

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Condition is a change that must not be: "throughput < -3%".
type Condition struct {
	Percentile float64 // 0 is throughput
	Type       string  // of transaction; "" is the unit
	Above      bool    // fails above Pct, else below it
	Pct        float64 // change of other against base
	text       string
}

// String is c as it was written.
func (c Condition) String() string { return c.text }

// Outcome is what a Condition comes to.
type Outcome string

// The outcomes. An interval that lies wholly beyond the condition fails it,
// one that lies wholly on this side passes, and what straddles it, or has no
// interval, is undecided.
const (
	Passes    Outcome = "passes"
	Undecided Outcome = "can't tell"
	Fails     Outcome = "fails"
)

// Judgement is the outcome of a Condition with the figures behind it.
type Judgement struct {
	Condition string   `json:"condition"`
	Outcome   Outcome  `json:"outcome"`
	Reasons   []string `json:"reasons"` // the configurations that decided it
}

// ParseCondition reads QUANTITY < PERCENT or QUANTITY > PERCENT. QUANTITY is
// "throughput", or "p50", "p95" or "p99" of the unit of work, or of one type as
// in "p99:login"; PERCENT is a change with its sign: "-3%", "+10 %".
func ParseCondition(text string) (Condition, error) {
	text = strings.Join(strings.Fields(text), " ")
	at := strings.LastIndexAny(text, "<>")
	if at < 0 {
		return Condition{}, fmt.Errorf("condition %q has neither < nor >: write it like 'throughput < -3%%' or 'p95 > +10%%'", text)
	}
	c := Condition{Above: text[at] == '>', text: text}
	limit, isPct := strings.CutSuffix(strings.TrimSpace(text[at+1:]), "%")
	if !isPct {
		return Condition{}, fmt.Errorf("condition %q: its limit must end with %%, as in -3%%", text)
	}
	var ok bool
	if c.Pct, ok = decimal(strings.TrimSpace(limit)); !ok || c.Pct <= -100 || c.Pct > 1e6 {
		return Condition{}, fmt.Errorf("condition %q: %q is not a change in percent above -100", text, strings.TrimSpace(limit))
	}
	quantity, name, typed := strings.Cut(strings.TrimSpace(text[:at]), ":")
	if quantity == "throughput" && !typed {
		return c, nil
	}
	c.Type = strings.TrimSpace(name)
	p, isP := strings.CutPrefix(quantity, "p")
	if isP {
		c.Percentile, isP = decimal(p)
	}
	if !isP || !slices.Contains(contrasted(), c.Percentile) || typed && c.Type == "" {
		return Condition{}, fmt.Errorf("condition %q: %q is not compared; what is: throughput, p50, p95, p99, and these of one type as in p99:login", text, strings.TrimSpace(text[:at]))
	}
	return c, nil
}

// decimal reads a plain decimal number, without exponents, infinities and the
// like.
func decimal(s string) (float64, bool) {
	if s == "" || len(s) > 20 || strings.Trim(s[1:], "0123456789.") != "" || !strings.ContainsAny(s[:1], "+-.0123456789") {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil
}

// Require judges conditions and keeps the outcomes in x.Conditions.
func (x *Comparison) Require(conditions []Condition) error {
	var err error
	x.Conditions, err = judgeAll(conditions, x.Judge)
	return err
}

func judgeAll(conditions []Condition, judge func(Condition) (Judgement, error)) ([]Judgement, error) {
	var out []Judgement
	for _, c := range conditions {
		j, err := judge(c)
		if err != nil {
			return nil, err
		}
		out = append(out, j)
	}
	return out, nil
}

// Judge decides c on every configuration of x: one that fails fails it. The
// error says where x has no such quantity.
func (x *Comparison) Judge(c Condition) (Judgement, error) {
	out := Judgement{Condition: c.text, Outcome: Passes, Reasons: []string{}}
	seen := false
	why := map[Outcome][]string{}
	for _, cell := range x.Cells {
		for _, e := range cell.Effects {
			if e.Percentile != c.Percentile || c.Percentile > 0 && (c.Type == "" && !e.unit || c.Type != "" && c.Type != e.Type) {
				continue
			}
			seen = true
			o := c.decide(e.Low, e.High)
			why[o] = append(why[o], fmt.Sprintf("%s at %s: %s", e.Quantity, cell.Label, changeText(e.Ratio, e.Low, e.High)))
		}
	}
	if !seen {
		return out, fmt.Errorf("condition %q: nothing of the kind was compared", c.text)
	}
	for _, o := range []Outcome{Undecided, Fails} {
		if len(why[o]) > 0 {
			out.Outcome = o
		}
	}
	out.Reasons = why[out.Outcome]
	return out, nil
}

// decide is the outcome for a ratio with an interval.
func (c Condition) decide(low, high Number) Outcome {
	limit := Number(1 + c.Pct/100)
	switch {
	case !low.OK() || !high.OK():
		return Undecided
	case c.Above && low > limit, !c.Above && high < limit:
		return Fails
	case c.Above && high <= limit, !c.Above && low >= limit:
		return Passes
	}
	return Undecided
}
