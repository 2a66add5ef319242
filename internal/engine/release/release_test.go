package release

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func parse(text string) (Version, error) { return Parse(text, 3) }

func TestTermsCompareAsFarAsTheySay(t *testing.T) {
	for _, c := range []struct {
		text    string
		yes, no []string
	}{
		{"", []string{"10.11.19", "8.0.36"}, nil},
		{"10", []string{"10.11.19", "10.6.1", "10"}, []string{"11.4.2", "1.10"}},
		{"=10.11", []string{"10.11.0"}, []string{"10.12.0", "10.6.9"}},
		{"10.11.19", []string{"10.11.19"}, []string{"10.11.18", "10.11"}},
		{">10.11", []string{"10.12.0", "11.0.1"}, []string{"10.11.19"}},
		{"<=10.11", []string{"10.11.19", "8.0.36"}, []string{"11.0.1"}},
		{" >=8.0 , <9", []string{"8.4.0"}, []string{"9.0.1", "7.9.9"}},
	} {
		parsed, err := ParseConstraint(c.text, parse)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
		}
		for want, list := range map[bool][]string{true: c.yes, false: c.no} {
			for _, text := range list {
				v, err := parse(text)
				if err != nil {
					t.Fatal(err)
				}
				if got := parsed.Allows(v); got != want {
					t.Errorf("%q allows %s: %v, want %v", c.text, v, got, want)
				}
			}
		}
	}
}

func TestWhatIsNoVersionIsRefused(t *testing.T) {
	for _, text := range []string{"", ".", "1.", "1.2.3.4", "01", "+1", "-1", "1 ", "10000", "a", "1.x", "99999999999999999999"} {
		if v, err := parse(text); err == nil {
			t.Errorf("%q became %v", text, v)
		} else if !strings.Contains(err.Error(), text) {
			t.Errorf("%q: the error %v does not name it", text, err)
		}
	}
	for _, text := range []string{"~15", "==15", ">", "15,", "15;16", "=>15", ">=15 <17"} {
		if c, err := ParseConstraint(text, parse); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%q became %v, %v", text, c, err)
		}
	}
}

func TestExactNamesOneRelease(t *testing.T) {
	for text, want := range map[string]string{"16.2": "16.2", "=16.2": "16.2", ">=15,16.2": "16.2", "16": "", ">=16.2": "", "": ""} {
		c, err := ParseConstraint(text, parse)
		if err != nil {
			t.Fatal(err)
		}
		if v, ok := c.Exact(2); v.String() != want || ok != (want != "") {
			t.Errorf("%q names %s", text, v)
		}
	}
}

func TestConstraintsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c Constraint
		for range rapid.IntRange(1, 3).Draw(t, "terms") {
			op := rapid.SampledFrom([]string{"=", ">=", "<=", ">", "<"}).Draw(t, "op")
			c = append(c, Term{op, rapid.SliceOfN(rapid.IntRange(0, 9999), 1, 3).Draw(t, "version")})
		}
		again, err := ParseConstraint(c.String(), parse)
		same := func(a, b Term) bool { return a.Op == b.Op && slices.Equal(a.Version, b.Version) }
		if err != nil || !slices.EqualFunc(again, c, same) {
			t.Fatalf("%s reads %v, %v", c, again, err)
		}
	})
	if got := (Constraint{}).String(); got != "any version" {
		t.Errorf("no constraint reads %q", got)
	}
}

func FuzzConstraint(f *testing.F) {
	for _, s := range []string{"", ">=15", ">=15,<17", "16.2", "=18.0", " 15 ", "10.11.19", ">>15"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseConstraint(text, parse)
		if err != nil || len(c) == 0 {
			return
		}
		if back, err := ParseConstraint(c.String(), parse); err != nil || back.String() != c.String() {
			t.Errorf("%q became %s, which became %s, %v", text, c, back, err)
		}
	})
}
