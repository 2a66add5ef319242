package analyse

import (
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/stats"
)

func TestConditionsAreReadAsWritten(t *testing.T) {
	for text, want := range map[string]Condition{
		"throughput < -3%":   {Pct: -3},
		"throughput<-3 %":    {Pct: -3},
		" p95 > +10% ":       {Percentile: 95, Above: true, Pct: 10},
		"p99:order > 5.5%":   {Percentile: 99, Type: "order", Above: true, Pct: 5.5},
		"p50:new order < 0%": {Percentile: 50, Type: "new order"},
		"p50:a<b > 1%":       {Percentile: 50, Type: "a<b", Above: true, Pct: 1},
	} {
		got, err := ParseCondition(text)
		want.text = got.text
		if err != nil || got != want {
			t.Errorf("%q is read as %+v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"":                      "neither < nor >",
		"throughput -3%":        "neither < nor >",
		"throughput < -3":       "must end with %",
		"throughput < x%":       "not a change in percent",
		"throughput < NaN%":     "not a change in percent",
		"throughput < 1e300%":   "not a change in percent",
		"throughput < -100%":    "not a change in percent",
		"throughput < %":        "not a change in percent",
		"throughput:order < 1%": "is not compared",
		"p90 > 1%":              "is not compared",
		"p95: > 1%":             "is not compared",
		"p > 1%":                "is not compared",
		"latency > 1%":          "is not compared",
	} {
		if _, err := ParseCondition(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzParseCondition(f *testing.F) {
	for _, text := range []string{"throughput < -3%", "p99:order > +5%", "p95>", "<%", "p50:é < .5 %"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseCondition(text)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without a text")
			}
			return
		}
		again, err := ParseCondition(c.String())
		if err != nil || again != c {
			t.Errorf("%q prints as %q, which is read as %+v, %v", text, c, again, err)
		}
		if !(c.Pct > -100) || c.Percentile != 0 && c.Percentile != 50 && c.Percentile != 95 && c.Percentile != 99 {
			t.Errorf("%q gives %+v", text, c)
		}
	})
}

func TestConditionsAreDecidedByTheWholeInterval(t *testing.T) {
	for _, c := range []struct {
		text      string
		low, high float64
		want      Outcome
	}{
		{"throughput < -3%", 0.90, 0.96, Fails},
		{"throughput < -3%", 0.90, 0.98, Undecided},
		{"throughput < -3%", 0.98, 1.02, Passes},
		{"throughput < -3%", 1.10, 1.12, Passes},
		{"throughput < -3%", nan(), nan(), Undecided},
		{"throughput < +3%", 1.00, 1.02, Fails}, // a gain was demanded
		{"throughput < +3%", 1.04, 1.06, Passes},
		{"p95 > +10%", 1.11, 1.20, Fails},
		{"p95 > +10%", 1.05, 1.20, Undecided},
		{"p95 > +10%", 0.90, 1.05, Passes},
	} {
		x, err := ParseCondition(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := x.decide(Number(c.low), Number(c.high)); got != c.want {
			t.Errorf("%s on %g to %g: %s, want %s", c.text, c.low, c.high, got, c.want)
		}
	}
}

func TestOneConfigurationThatFailsFailsTheCondition(t *testing.T) {
	src := stats.Random(3)
	p := usualProduct()
	p.buffers = []string{"16MiB", "25%"}
	base := p.study("base", &src)
	p.effect = map[string]float64{"25%": 0.9}
	x := compare(t, base, p.study("slow", &src))
	require := func(text string) Judgement {
		c, err := ParseCondition(text)
		if err == nil {
			err = x.Require([]Condition{c})
		}
		if err != nil {
			t.Fatal(err)
		}
		return x.Conditions[0]
	}
	for text, want := range map[string]struct {
		outcome Outcome
		reasons int
	}{
		"throughput < -5%": {Fails, 4}, "throughput < -20%": {Passes, 8}, "p95 > +5%": {Fails, 4}, "p99:login > +30%": {Passes, 8},
	} {
		j := require(text)
		if j.Outcome != want.outcome || len(j.Reasons) != want.reasons || j.Condition != text {
			t.Errorf("%s: %+v", text, j)
		}
		if want.outcome == Fails && !strings.Contains(j.Reasons[0], "at users = 1, buffers = 25%: ") {
			t.Errorf("%s: %q", text, j.Reasons)
		}
	}
	c, _ := ParseCondition("p95:logout > 1%")
	if err := x.Require([]Condition{c}); err == nil || !strings.Contains(err.Error(), "p95:logout") {
		t.Errorf("a type that there is not: %v", err)
	}
}
