package replay

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"pgregory.net/rapid"
)

func TestFormulas(t *testing.T) {
	names := map[string]float64{"a": 2, "b.c": 3}
	for _, c := range []struct {
		text string
		want float64
	}{
		{"1", 1}, {"1.5e3", 1500}, {"1e-3", 0.001}, {"a", 2}, {"a + b.c * 2", 8}, {"(a+b.c)*2", 10}, {"-a - -1", -1},
		{"8 / a / 2", 2}, {"8 - a - 1", 5}, {"2*-a", -4}, {"a-1", 1}, {".5", 0.5},
	} {
		n, err := parseExpr(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if got := n.eval(names); got != c.want {
			t.Errorf("%q is %g, want %g", c.text, got, c.want)
		}
	}
	for _, text := range []string{"", " ", "1 +", "(1", "1)", "1 2", "a b", "$x", "1..2", "1e999", "1e", strings.Repeat("(", 60) + "1", strings.Repeat("1+", 600) + "1"} {
		if n, err := parseExpr(text); err == nil {
			t.Errorf("%q was read as %+v", text, n)
		}
	}
}

// TestFormulasFollowArithmetic builds random formulas beside their values.
func TestFormulasFollowArithmetic(t *testing.T) {
	var build func(t *rapid.T, depth int) (string, float64)
	build = func(t *rapid.T, depth int) (string, float64) {
		if depth == 0 || rapid.Bool().Draw(t, "leaf") {
			return "7", 7
		}
		x, a := build(t, depth-1)
		y, b := build(t, depth-1)
		switch rapid.SampledFrom([]string{"+", "-", "*", "/"}).Draw(t, "op") {
		case "+":
			return "(" + x + "+" + y + ")", a + b
		case "-":
			return "(" + x + " - " + y + ")", a - b
		case "*":
			return "(" + x + " *" + y + ")", a * b
		}
		return "(" + x + "/" + y + ")", a / b
	}
	rapid.Check(t, func(t *rapid.T) {
		text, want := build(t, 5)
		n, err := parseExpr(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if got := n.eval(nil); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Fatalf("%q is %g, want %g", text, got, want)
		}
	})
}

// toy is a study of one stream whose parameters have one solution: 0.1 s a
// gigabit from the one row, and a packet's time from the other.
const toy = `replay: toy
parameters:
  - {name: copy, start: 0.3, low: 0.001, high: 10, unit: s}
  - {name: packet, start: 1e-5, low: 1e-8, high: 1, unit: s}
assumptions:
  - {name: rho, value: 1.2, low: 1.1, high: 1.3, unit: factor}
experiments:
  - name: small
    host: wire
    stream: {nic: lan, connections: 1, window-b: 1e9, round-trip-us: 10, wire-b: 1250, delivered-b: 1250, cores: 1,
      per-gigabit: copy, per-delivered: packet}
  - {name: large, like: small, stream: {delivered-b: 12500}}
  - {name: far, like: small, stream: {rho: rho}}
published:
  - {id: a, metric: small, unit: Gb/s, value: 5, rounding: 0.05, source: here, calibrated: copy, reads: small.gbps}
  - {id: b, metric: large, unit: Gb/s, value: 8, rounding: 0.05, source: here, calibrated: packet, reads: large.gbps}
  - {id: c, metric: far, unit: Gb/s, value: 4.2, rounding: 0.05, source: here, predicted: equal, ratio: true, reads: far.gbps}
  - {id: d, metric: far over small, unit: order, value: 1, source: here, predicted: less, reads: far.gbps / small.gbps}
  - {id: e, metric: packets, unit: 1/s, value: 1, source: here, predicted: greater, reads: large.delivered_pps / small.delivered_pps}
  - {id: f, metric: else, unit: x, value: 1, source: here, omitted: no reason}
`

func TestToyParses(t *testing.T) {
	s, err := Parse("toy.yaml", []byte(toy))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Calibrated) != 2 || len(s.Predicted) != 3 || len(s.Omitted) != 1 || len(s.Experiments) != 3 {
		t.Errorf("%+v", s)
	}
}

func TestFaultsHaveTheirPlaces(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"replay: toy", "repay: toy", "toy.yaml:1:1: "},
		{"unit: s}", "unit: s, colour: red}", "toy.yaml:3:61: "},
		{"per-gigabit: copy", "per-gigabit: cop", `toy.yaml:11:20: "cop" is no parameter`},
		{"per-gigabit: copy", "per-gigabit: copy +", "toy.yaml:11:20: "},
		{"per-gigabit: copy", "per-gigabit: [copy]", "toy.yaml:11:20: "},
		{"like: small, stream: {rho", "like: tiny, stream: {rho", `toy.yaml:13:6: far is like "tiny"`},
		{"name: far", "name: large", "toy.yaml:13:6: an experiment has a name of its own"},
		{"calibrated: copy", "calibrated: cup", `toy.yaml:15:6: a sets "cup"`},
		{"predicted: less", "predicted: fewer", `toy.yaml:18:6: d: predicted "fewer"`},
		{"omitted: no reason", "metric2: x", "toy.yaml:20:"},
		{"omitted: no reason", "predicted: equal", "toy.yaml:20:6: f is to be one of"},
		{"predicted: less", "calibrated: copy, predicted: less", "toy.yaml:18:6: d is to be one of"},
		{"id: b", "id: a", "toy.yaml:16:6: the published number \"a\""},
		{"start: 0.3", "start: 30", "toy.yaml:1:1: the quantity \"copy\""},
		{"host: wire", "host: \"\"", "toy.yaml:8:5: small needs a host"},
		{"reads: far.gbps}", "reads: near.gbps}", `toy.yaml:17:118: "near.gbps" is no`},
		{"value: 5,", "value: five,", "toy.yaml:15:"},
	} {
		src := strings.Replace(toy, c.old, c.new, 1)
		if src == toy {
			t.Fatalf("%q is not in the file", c.old)
		}
		_, err := Parse("toy.yaml", []byte(src))
		var e Error
		if err == nil || !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q for %q: %v, want %s", c.new, c.old, err, c.want)
		}
	}
}

// TestLikeKeepsWhatIsNotGiven is about sections within an experiment.
func TestLikeKeepsWhatIsNotGiven(t *testing.T) {
	var xs experiments
	err := yaml.Unmarshal([]byte(`
- {name: a, host: h, costs: {io-ns: 1, packet-ns: 2}, machines: [{cpus: 4, users: 5, database: d}]}
- {name: b, like: a, costs: {io-ns: 3}, machines: [{cpus: 8}, {count: 2}]}
`), &xs)
	if err != nil {
		t.Fatal(err)
	}
	b := xs[1]
	if b.Costs.IO.value(nil) != 3 || b.Costs.Packet.value(nil) != 2 || len(b.Machines) != 2 || b.Machines[0].CPUs.value(nil) != 8 ||
		b.Machines[0].Users.value(nil) != 5 || b.Machines[1].CPUs.value(nil) != 4 || b.Machines[1].Database != "d" {
		t.Errorf("%+v", b)
	}
	if a := xs[0]; a.Costs.IO.value(nil) != 1 || a.Machines[0].CPUs.value(nil) != 4 {
		t.Errorf("the base changed: %+v", a)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(toy)
	f.Add("replay: x")
	f.Add("experiments: [{name: a, like: a}]")
	f.Fuzz(func(t *testing.T, src string) {
		s, err := Parse("f.yaml", []byte(src))
		if (s == nil) == (err == nil) {
			t.Errorf("%v and %v", s, err)
		}
		if err != nil && !strings.Contains(err.Error(), "f.yaml:") {
			t.Errorf("an error without a place: %v", err)
		}
	})
}
