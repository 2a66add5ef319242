package chart

import (
	"math"
	"strconv"
	"strings"
)

// Number prints v for people: three significant digits, all digits of what is
// above 100 with separated thousands, and a dash for what is absent.
func Number(v float64) string {
	a := math.Abs(v)
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "–"
	case a == 0:
		return "0"
	case a >= 1e15 || a < 1e-6:
		return strconv.FormatFloat(v, 'g', 3, 64)
	case a >= 99.95:
		return Thousands(strconv.FormatFloat(v, 'f', 0, 64))
	}
	// Rounding first keeps 9.996 from becoming 10.00.
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(a, 'e', 2, 64), 64)
	if err != nil {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return strconv.FormatFloat(v, 'f', 2-int(math.Floor(math.Log10(rounded)+1e-12)), 64)
}

// Plain prints v with the digits that it needs and separated thousands: for
// what was set, not measured.
func Plain(v float64) string {
	if a := math.Abs(v); a >= 1e15 || (a > 0 && a < 1e-6) || !finite(v) {
		return Number(v)
	}
	return Thousands(strconv.FormatFloat(v, 'f', -1, 64))
}

// Count prints n with separated thousands.
func Count(n int64) string { return Thousands(strconv.FormatInt(n, 10)) }

// Thousands puts a comma between groups of three in the whole part of a
// printed number.
func Thousands(num string) string {
	sign := ""
	if strings.HasPrefix(num, "-") {
		sign, num = "-", num[1:]
	}
	whole, rest, dot := strings.Cut(num, ".")
	var b strings.Builder
	for i, r := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(r)
	}
	if dot {
		b.WriteString("." + rest)
	}
	return sign + b.String()
}

// tick prints the label of a mark: with as many decimals as step needs, and
// with an SI prefix from a million up.
func tick(v, step float64) string {
	a := math.Abs(v)
	if a < step*1e-9 {
		return "0"
	}
	if a >= 1e15 || (a > 0 && a < 1e-6) {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	for _, si := range []struct {
		size float64
		name string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}} {
		if a >= si.size {
			return strconv.FormatFloat(v/si.size, 'g', 4, 64) + " " + si.name
		}
	}
	if step <= 0 {
		return Thousands(strconv.FormatFloat(v, 'f', -1, 64))
	}
	decimals := max(0, int(-math.Floor(math.Log10(step)+1e-9)))
	return Thousands(strconv.FormatFloat(v, 'f', min(decimals, 9), 64))
}

// px prints a pixel coordinate to a tenth, the shortest way.
func px(v float64) string {
	s := strconv.FormatFloat(v, 'f', 1, 64)
	if s = strings.TrimSuffix(s, ".0"); s == "-0" {
		return "0"
	}
	return s
}
