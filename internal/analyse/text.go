package analyse

import (
	"math"
	"strconv"
	"strings"
)

// figure prints v for a sentence: four significant digits from 1,000 up,
// three below, thousands apart; "unknown" for what is not there.
func figure(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "unknown"
	}
	digits := 3
	if math.Abs(v) >= 999.5 {
		digits = 4
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
	if err != nil {
		return strconv.FormatFloat(v, 'g', digits, 64)
	}
	return thousands(strconv.FormatFloat(rounded, 'f', -1, 64))
}

// thousands puts commas into a decimal number.
func thousands(s string) string {
	sign := ""
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		sign, s = "-", rest
	}
	whole, fraction, dot := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if dot {
		whole += "." + fraction
	}
	return sign + whole
}

// percent prints v with its sign for people: "93 %", "0.4 %".
func percent(v float64) string {
	if math.Abs(v) >= 9.95 && !math.IsInf(v, 0) {
		return strconv.FormatFloat(v, 'f', 0, 64) + " %"
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "unknown"
	}
	return strconv.FormatFloat(v, 'f', 1, 64) + " %"
}

// count prints n things: "1 trial", "3 trials".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return thousands(strconv.Itoa(n)) + " " + thing + "s"
}
