package unit

import (
	"strings"
	"testing"
	"time"
)

func TestParamCheck(t *testing.T) {
	const right = ""
	for _, c := range []struct {
		name, text string
		p          Param
		want       string // part of the error; "" where the text is right
	}{
		{"text", "anything", Param{Kind: Text}, right},
		{"text empty", "", Param{Kind: Text}, right},
		{"one allowed", "each", Param{Kind: Text, Allowed: []string{"each"}}, right},
		{"one allowed, other", "once", Param{Kind: Text, Allowed: []string{"each"}}, `"once" is not each`},
		{"several allowed", "c", Param{Kind: Text, Allowed: []string{"a", "b"}}, `"c" is not one of a, b`},
		{"int", "12", Param{Kind: Int, Min: "1", Max: "12"}, right},
		{"int at least", "0", Param{Kind: Int, Min: "1"}, "0 is out of range: at least 1"},
		{"int at most", "13", Param{Kind: Int, Max: "12"}, "13 is out of range: at most 12"},
		{"int fraction", "1.5", Param{Kind: Int}, "not a whole number"},
		{"int overflow", "9223372036854775808", Param{Kind: Int}, "not a whole number"},
		{"int empty", "", Param{Kind: Int}, "not a whole number"},
		{"float", "-1.5", Param{Kind: Float}, right},
		{"float NaN", "NaN", Param{Kind: Float}, "not a number"},
		{"float infinite", "Inf", Param{Kind: Float}, "not a number"},
		{"float overflow", "1e999", Param{Kind: Float}, "not a number"},
		{"size", "64MiB", Param{Kind: Size, Min: "64MiB"}, right},
		{"size at least", "63MiB", Param{Kind: Size, Min: "64MiB"}, "at least 64MiB"},
		{"size bare", "64", Param{Kind: Size}, "not a size"},
		{"time", "1m", Param{Kind: Time, Max: "60s"}, right},
		{"time at most", "61s", Param{Kind: Time, Max: "1m"}, "at most 1m"},
		{"share", "100%", Param{Kind: Share, Min: "0%", Max: "100%"}, right},
		{"share at most", "100.1%", Param{Kind: Share, Max: "100%"}, "at most 100%"},
		{"share at least", "-0.1%", Param{Kind: Share, Min: "0%"}, "at least 0%"},
		{"bool", "true", Param{Kind: Bool}, right},
		{"bool word", "yes", Param{Kind: Bool}, "neither true nor false"},
		{"size name", "small", Param{Kind: SizeName, Allowed: []string{"small"}, Min: "1MiB"}, right},
		{"size name as size", "2MiB", Param{Kind: SizeName, Allowed: []string{"small"}, Min: "1MiB"}, right},
		{"size name too small", "2B", Param{Kind: SizeName, Allowed: []string{"small"}, Min: "1MiB"}, "at least 1MiB"},
		{"size name unknown", "tiny", Param{Kind: SizeName, Allowed: []string{"small", "large"}}, "neither one of small, large nor a size"},
	} {
		err := c.p.Check(c.text)
		switch {
		case c.want == right && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != right && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

func TestShapeTellsKindAndBounds(t *testing.T) {
	for _, c := range []struct {
		p    Param
		want string
	}{
		{Param{}, "text"},
		{Param{Allowed: []string{"each"}}, "each"},
		{Param{Allowed: []string{"a", "b"}}, "one of a, b"},
		{Param{Kind: Int, Min: "1", Max: "9"}, "a whole number from 1 to 9"},
		{Param{Kind: Float, Max: "9"}, "a number, at most 9"},
		{Param{Kind: Size, Min: "1MiB"}, "a size such as 256MiB, at least 1MiB"},
		{Param{Kind: Time}, "a duration such as 10s"},
		{Param{Kind: Share}, "a percentage such as 25%"},
		{Param{Kind: Bool}, "true or false"},
		{Param{Kind: SizeName, Allowed: []string{"small", "large"}}, "small, large or a size such as 250MiB"},
	} {
		if got := c.p.Shape(); got != c.want {
			t.Errorf("%+v has shape %q, want %q", c.p, got, c.want)
		}
	}
}

var specs = []Param{
	{Name: "mode", Default: "strict", Allowed: []string{"strict", "compat"}},
	{Name: "count", Kind: Int, Default: "3", Min: "1"},
	{Name: "factor", Kind: Float, Default: "0.5"},
	{Name: "memory", Kind: Size, Default: "1GiB"},
	{Name: "pause", Kind: Time, Default: "10ms"},
	{Name: "part", Kind: Share, Default: "20%"},
	{Name: "on", Kind: Bool, Default: "true"},
}

func TestValuesAreCompleteAndTyped(t *testing.T) {
	v, err := NewValues(specs, map[string]string{"count": "7", "on": "false"})
	if err != nil {
		t.Fatal(err)
	}
	if v.Text("mode") != "strict" || v.Int("count") != 7 || v.Float("factor") != 0.5 || v.Bytes("memory") != GiB ||
		v.Duration("pause") != 10*time.Millisecond || v.Percent("part") != 20 || v.Bool("on") {
		t.Errorf("values: %v", v.All())
	}
	if all := v.All(); len(all) != len(specs) {
		t.Errorf("%d values of %d", len(all), len(specs))
	}
	v.All()["mode"] = "changed"
	if v.Text("mode") != "strict" {
		t.Error("All gives the values themselves, not a copy")
	}
}

func TestNewValuesReportsEveryFaultInOneOrder(t *testing.T) {
	wrong := map[string]string{"zebra": "1", "ant": "2", "count": "0", "mode": "other", "moth": "3"}
	_, first := NewValues(specs, wrong)
	if first == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{`"zebra"`, `"ant"`, `"moth"`, "count: 0 is out of range", `mode: "other"`} {
		if !strings.Contains(first.Error(), want) {
			t.Errorf("%q is missing in: %v", want, first)
		}
	}
	for range 20 { // a map's order differs from run to run
		if _, err := NewValues(specs, wrong); err.Error() != first.Error() {
			t.Fatalf("errors in another order:\n%v\n%v", first, err)
		}
	}
}

func TestGettersPanicOnNamesThatNoParamHas(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Values{}.Text("nothing")
}
