package unit

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseBytes(t *testing.T) {
	for _, c := range []struct {
		text string
		want Bytes
		ok   bool
	}{
		{"0B", 0, true},
		{"1B", 1, true},
		{"8192B", 8192, true},
		{"256MiB", 256 * MiB, true},
		{"256 MiB", 256 * MiB, true},
		{"1.5GiB", 3 * GiB / 2, true},
		{".5KiB", 512, true},
		{"10MB", 10_000_000, true},
		{"1kB", 1000, true},
		{"1KB", 1000, true},
		{"2TB", 2_000_000_000_000, true},
		{"1e3MiB", 1000 * MiB, true},
		{"0.4B", 0, true},
		{"8388607TiB", 8388607 * TiB, true},
		{"8388608TiB", 0, false}, // 2^63
		{"9223372036854775807B", 0, false},
		{"9223372036854774784B", 9223372036854774784, true}, // largest float64 below 2^63
		{"1e400B", 0, false},
		{"-1B", 0, false},
		{"NaNB", 0, false},
		{"InfMiB", 0, false},
		{"infinityB", 0, false},
		{"0x10MiB", 0, false},
		{"1_000MiB", 0, false},
		{"1p3MiB", 0, false},
		{"", 0, false},
		{"B", 0, false},
		{"MiB", 0, false},
		{"256", 0, false},
		{"256mib", 0, false},
		{"256M", 0, false},
		{"1 2MiB", 0, false},
		{"1MiBMiB", 0, false},
	} {
		got, err := ParseBytes(c.text)
		if got != c.want || (err == nil) != c.ok {
			t.Errorf("ParseBytes(%q) = %d, %v; want %d, ok %v", c.text, got, err, c.want, c.ok)
		}
		if err != nil && !strings.Contains(err.Error(), `"`+c.text+`"`) {
			t.Errorf("the error does not tell what was found: %v", err)
		}
	}
}

func TestBytesReadBackAsPrinted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Sizes up to 2^53 are exact in the float64 that ParseBytes computes
		// with; larger ones are in whole KiB.
		b := Bytes(rapid.Int64Range(0, 1<<53).Draw(t, "bytes"))
		if rapid.Bool().Draw(t, "large") {
			b = Bytes(rapid.Int64Range(0, 1<<52).Draw(t, "KiB")) * KiB
		}
		got, err := ParseBytes(b.String())
		if err != nil || got != b {
			t.Fatalf("ParseBytes(%q) = %d, %v; want %d", b.String(), got, err, b)
		}
	})
}

func TestBytesForPeople(t *testing.T) {
	for _, c := range []struct {
		b             Bytes
		exact, people string
	}{
		{0, "0B", "0 B"},
		{1, "1B", "1 B"},
		{1023, "1023B", "1023 B"},
		{KiB, "1KiB", "1 KiB"},
		{1500, "1500B", "1.46 KiB"},
		{999 * MiB, "999MiB", "999 MiB"},
		{1000 * MiB, "1000MiB", "1000 MiB"},
		{1023 * MiB, "1023MiB", "1023 MiB"},
		{GiB, "1GiB", "1 GiB"},
		{3 * GiB / 2, "1536MiB", "1.5 GiB"},
		{5000 * TiB, "5000TiB", "5000 TiB"},
		{-GiB, "-1GiB", "-1 GiB"},
		{math.MaxInt64, "9223372036854775807B", "8388608 TiB"},
		{math.MinInt64, "-8388608TiB", "-8388608 TiB"},
	} {
		if got := c.b.String(); got != c.exact {
			t.Errorf("%d prints as %q, want %q", int64(c.b), got, c.exact)
		}
		if got := c.b.Human(); got != c.people {
			t.Errorf("%d is %q for people, want %q", int64(c.b), got, c.people)
		}
	}
}

func TestParseDuration(t *testing.T) {
	for _, c := range []struct {
		text string
		want time.Duration
		ok   bool
	}{
		{"0s", 0, true},
		{"500ms", 500 * time.Millisecond, true},
		{"10s", 10 * time.Second, true},
		{"2m30s", 150 * time.Second, true},
		{"1h", time.Hour, true},
		{"2d", 48 * time.Hour, true},
		{"1.5d", 36 * time.Hour, true},
		{"99999d", 99999 * 24 * time.Hour, true},
		{"100000d", 0, false},
		{"106752d", 0, false}, // beyond 2^63 ns
		{"2562048h", 0, false},
		{"0", 0, false},
		{"10", 0, false},
		{"", 0, false},
		{"d", 0, false},
		{"-5s", 0, false},
		{"-1d", 0, false},
		{"NaNd", 0, false},
		{"Infd", 0, false},
		{"0x1d", 0, false},
		{"5 s", 0, false},
		{"5sec", 0, false},
	} {
		got, err := ParseDuration(c.text)
		if got != c.want || (err == nil) != c.ok {
			t.Errorf("ParseDuration(%q) = %v, %v; want %v, ok %v", c.text, got, err, c.want, c.ok)
		}
	}
}

func TestDurationsReadBackAsPrinted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "ns"))
		got, err := ParseDuration(d.String())
		if err != nil || got != d {
			t.Fatalf("ParseDuration(%q) = %v, %v", d.String(), got, err)
		}
	})
}

func TestParsePercent(t *testing.T) {
	for _, c := range []struct {
		text string
		want float64
		ok   bool
	}{
		{"25%", 25, true},
		{"0%", 0, true},
		{"0.5 %", 0.5, true},
		{"-3%", -3, true}, // bounds are Param's business
		{"120%", 120, true},
		{"25", 0, false},
		{"%", 0, false},
		{"NaN%", 0, false},
		{"Inf%", 0, false},
		{"1e999%", 0, false},
		{"25%%", 0, false},
		{"", 0, false},
	} {
		got, err := ParsePercent(c.text)
		if got != c.want || (err == nil) != c.ok {
			t.Errorf("ParsePercent(%q) = %v, %v; want %v, ok %v", c.text, got, err, c.want, c.ok)
		}
	}
}

func FuzzParseBytes(f *testing.F) {
	for _, s := range []string{"256MiB", "1.5GiB", "0B", "-1kB", "9e18B", "NaNB", "1e-400B", " 1 B"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		b, err := ParseBytes(text)
		if err != nil {
			if b != 0 {
				t.Fatalf("ParseBytes(%q) failed and gave %d", text, b)
			}
			return
		}
		if b < 0 {
			t.Fatalf("ParseBytes(%q) = %d, less than nothing", text, b)
		}
		// What was printed reads back as itself, up to float64's 53 bits.
		again, err := ParseBytes(b.String())
		if err != nil && b < math.MaxInt64-1024 || err == nil && math.Abs(float64(again-b)) > float64(b)/(1<<52) {
			t.Fatalf("%q → %d → %q → %d, %v", text, b, b.String(), again, err)
		}
	})
}

func FuzzParseDuration(f *testing.F) {
	for _, s := range []string{"10s", "2m30s", "1d", "-1s", "0", "1e5d", "99999.9d", "9223372036854775807ns"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseDuration(text)
		if err != nil {
			if d != 0 {
				t.Fatalf("ParseDuration(%q) failed and gave %v", text, d)
			}
			return
		}
		if d < 0 {
			t.Fatalf("ParseDuration(%q) = %v, less than nothing", text, d)
		}
		if again, err := ParseDuration(d.String()); err != nil || again != d {
			t.Fatalf("%q → %v → %v, %v", text, d, again, err)
		}
	})
}
