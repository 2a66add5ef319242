package record

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"time"
)

// table walks the lines of a CSV file in memory without allocating for each
// field. Lines that begin with # before the header are comments. A last line
// without its end was torn by a crash and does not count.
type table struct {
	name     string // for errors
	comments []byte
	header   []byte
	rest     []byte
	line     int
	row      []byte // the current line; field takes from its front
}

// newTable reads the comments and the header. ok is false where the file ends
// before its header does: it has no rows.
func newTable(name string, data []byte) (t *table, ok bool) {
	t = &table{name: name}
	t.comments, t.rest = head(data)
	t.line = bytes.Count(t.comments, []byte("\n"))
	if ok = t.next(); ok {
		t.header = t.row
	}
	return t, ok
}

// next goes to the next complete line.
func (t *table) next() bool {
	i := bytes.IndexByte(t.rest, '\n')
	if i < 0 {
		return false
	}
	t.row, t.rest = t.rest[:i], t.rest[i+1:]
	t.line++
	return true
}

// expect says whether the header begins with the columns of want.
func (t *table) expect(want string) error {
	h, ok := bytes.CutPrefix(t.header, []byte(want))
	if !ok || len(h) > 0 && h[0] != ',' {
		return fmt.Errorf("%s:%d: its columns are %q, not %q", t.name, t.line, t.header, want)
	}
	return nil
}

// errorf is an error about the current line.
func (t *table) errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", t.name, t.line, fmt.Sprintf(format, args...))
}

// field takes the next field from the row: "" where there is none.
func (t *table) field() []byte {
	i := bytes.IndexByte(t.row, ',')
	if i < 0 {
		f := t.row
		t.row = nil
		return f
	}
	f := t.row[:i]
	t.row = t.row[i+1:]
	return f
}

// quoted takes the next field, which may be in double quotes.
func (t *table) quoted() (string, bool) {
	if len(t.row) == 0 || t.row[0] != '"' {
		return string(t.field()), true
	}
	var out []byte
	for i := 1; i < len(t.row); i++ {
		switch {
		case t.row[i] != '"':
			out = append(out, t.row[i])
		case i+1 < len(t.row) && t.row[i+1] == '"':
			out = append(out, '"')
			i++
		default:
			t.row = t.row[i+1:]
			ok := len(t.row) == 0 || t.row[0] == ','
			t.row = bytes.TrimPrefix(t.row, []byte(","))
			return string(out), ok
		}
	}
	return "", false
}

// appendQuoted appends a field, in quotes where it needs them. Line breaks
// and other control characters become spaces: a row is one line.
func appendQuoted(b []byte, s string) []byte {
	plain := true
	for i := range len(s) {
		plain = plain && s[i] != ',' && s[i] != '"' && s[i] >= ' '
	}
	if plain {
		return append(b, s...)
	}
	b = append(b, '"')
	for i := range len(s) {
		switch {
		case s[i] == '"':
			b = append(b, `""`...)
		case s[i] < ' ':
			b = append(b, ' ')
		default:
			b = append(b, s[i])
		}
	}
	return append(b, '"')
}

// count takes a field that is a whole number, 0 where it is empty and may be.
func (t *table) count(empty bool) (int64, bool) {
	f := t.field()
	if len(f) == 0 {
		return 0, empty
	}
	return parseInt(f)
}

func parseInt(f []byte) (int64, bool) {
	negative := len(f) > 1 && f[0] == '-'
	if negative {
		f = f[1:]
	}
	if len(f) == 0 || len(f) > 19 {
		return 0, false
	}
	var u uint64
	for _, c := range f {
		if c < '0' || c > '9' {
			return 0, false
		}
		u = u*10 + uint64(c-'0')
	}
	if negative {
		return int64(-u), u <= -math.MinInt64
	}
	return int64(u), u <= math.MaxInt64
}

// parseSeconds reads seconds with up to nine decimals, exactly.
func parseSeconds(f []byte) (time.Duration, bool) {
	whole, decimals, _ := bytes.Cut(f, []byte("."))
	negative := len(whole) > 0 && whole[0] == '-'
	s, ok := parseInt(bytes.TrimPrefix(whole, []byte("-")))
	if !ok || s < 0 || s >= math.MaxInt64/int64(time.Second) || len(decimals) > 9 {
		return 0, false
	}
	ns := int64(0)
	for i := range 9 {
		ns *= 10
		if i < len(decimals) {
			if decimals[i] < '0' || decimals[i] > '9' {
				return 0, false
			}
			ns += int64(decimals[i] - '0')
		}
	}
	d := time.Duration(s)*time.Second + time.Duration(ns)
	if negative {
		d = -d
	}
	return d, true
}

// seconds is d in seconds, rounded once: 1.235, where d.Seconds() has
// 1.2349999999999999.
func seconds(d time.Duration) float64 { return float64(d) / float64(time.Second) }

// parseFloat reads a number, NaN where f is empty.
func parseFloat(f []byte) (float64, bool) {
	if len(f) == 0 {
		return math.NaN(), true
	}
	// Most counters are whole numbers that a float64 holds exactly.
	if len(f) <= 15 {
		if n, ok := parseInt(f); ok && f[0] != '-' {
			return float64(n), true
		}
	}
	v, err := strconv.ParseFloat(string(f), 64)
	return v, err == nil
}

// appendFloat appends the shortest text that reads back as v, nothing for
// NaN and infinities.
func appendFloat(b []byte, v float64) []byte {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return b
	case v == math.Trunc(v) && math.Abs(v) < 1e15:
		return strconv.AppendInt(b, int64(v), 10)
	}
	return strconv.AppendFloat(b, v, 'g', -1, 64)
}
