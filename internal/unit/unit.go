// Package unit parses and prints quantities with their units (sizes,
// durations, percentages) and describes named parameters.
//
// Quantities are converted at the edge: inside, a Bytes is bytes, a
// time.Duration nanoseconds, and a percentage a float64 where 25 is 25 %.
package unit

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Bytes is an amount of memory or disk, in bytes.
type Bytes int64

// Binary multiples.
const (
	KiB Bytes = 1 << 10
	MiB Bytes = 1 << 20
	GiB Bytes = 1 << 30
	TiB Bytes = 1 << 40
)

// sizes lists the suffixes from the largest down; binary before decimal, so
// that String prefers them.
var sizes = []struct {
	suffix string
	bytes  Bytes
}{
	{"TiB", TiB}, {"GiB", GiB}, {"MiB", MiB}, {"KiB", KiB},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"KB", 1e3}, {"B", 1},
}

// ParseBytes reads a size with its unit: 256MiB, 1.5GiB, 10MB, 8192B.
func ParseBytes(text string) (Bytes, error) {
	for _, s := range sizes {
		num, ok := strings.CutSuffix(text, s.suffix)
		if !ok {
			continue
		}
		n, err := parseNumber(strings.TrimSpace(num))
		if err != nil || n < 0 || n*float64(s.bytes) >= math.MaxInt64 {
			break
		}
		return Bytes(math.Round(n * float64(s.bytes))), nil
	}
	return 0, fmt.Errorf("%q is not a size: write a number and a unit (B, kB, MB, GB, TB, KiB, MiB, GiB, TiB), as in 256MiB", text)
}

// String prints b exactly, in the largest binary unit that divides it.
func (b Bytes) String() string {
	if b == 0 {
		return "0B"
	}
	for _, s := range sizes[:4] {
		if b%s.bytes == 0 {
			return fmt.Sprintf("%d%s", b/s.bytes, s.suffix)
		}
	}
	return fmt.Sprintf("%dB", int64(b))
}

// Human prints b in three significant digits, or whole from 1000 on, for
// people.
func (b Bytes) Human() string {
	for _, s := range sizes[:4] {
		if b >= s.bytes || b <= -s.bytes {
			n := float64(b) / float64(s.bytes)
			if math.Abs(n) >= 999.5 { // three digits would need an exponent
				return strconv.FormatFloat(n, 'f', 0, 64) + " " + s.suffix
			}
			return strconv.FormatFloat(n, 'g', 3, 64) + " " + s.suffix
		}
	}
	return fmt.Sprintf("%d B", int64(b))
}

// ParseDuration reads a duration with its unit: 500ms, 10s, 2m30s, 1h, 2d.
func ParseDuration(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := parseNumber(days); err == nil && n >= 0 && n < 1e5 {
			return time.Duration(n * 24 * float64(time.Hour)), nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || text == "0" {
		return 0, fmt.Errorf("%q is not a duration: write a number and a unit (ms, s, m, h, d), as in 10s", text)
	}
	return d, nil
}

// ParsePercent reads a percentage: 25 for "25%".
func ParsePercent(text string) (float64, error) {
	if num, ok := strings.CutSuffix(text, "%"); ok {
		if n, err := parseNumber(strings.TrimSpace(num)); err == nil {
			return n, nil
		}
	}
	return 0, fmt.Errorf("%q is not a percentage: write a number and %%, as in 25%%", text)
}

// parseNumber reads a finite decimal number.
func parseNumber(text string) (float64, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(n, 0) || math.IsNaN(n) || strings.ContainsAny(text, "xXpP_") {
		return 0, fmt.Errorf("%q is not a number", text)
	}
	return n, nil
}
