package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

// Types of the protocol (enum_field_types).
const (
	typeTiny       = 1
	typeShort      = 2
	typeLong       = 3
	typeFloat      = 4
	typeDouble     = 5
	typeNull       = 6
	typeTimestamp  = 7
	typeLongLong   = 8
	typeInt24      = 9
	typeDate       = 10
	typeDateTime   = 12
	typeYear       = 13
	typeVarchar    = 15
	typeBit        = 16
	typeNewDecimal = 246
	typeEnum       = 247 // and set, and the four sizes of blob and text up to
	typeGeometry   = 255 // which is the last; strings are 253 and 254
)

// looseScale is the scale of a Fixed argument: that of workload.Money. The
// server makes it the column's.
const looseScale = 2

// maxScale is the largest scale of a 64-bit Fixed.
const maxScale = 18

// column is one column of a result.
type column struct {
	label    string
	typ      byte
	unsigned bool
	scale    int
	stored   bool // of a table, not worked out
	bit      bool // TINYINT(1), which is how the product spells BOOLEAN
}

// parseColumn reads a column's description (Protocol::ColumnDefinition41).
func parseColumn(msg []byte) (column, error) {
	b := body{b: msg}
	b.text() // catalogue
	b.text() // schema
	b.text() // table, as named in the statement
	table := b.text()
	label := b.text()
	b.text() // column
	b.take(1)
	b.uint16() // character set
	length := b.uint32()
	typ := b.byte()
	flags := b.uint16()
	scale := b.byte()
	if b.bad {
		return column{}, &malformed{"the description of a column ends too early"}
	}
	return column{
		label: string(label), typ: typ, unsigned: flags&0x20 != 0, scale: int(scale),
		stored: len(table) > 0, bit: typ == typeTiny && length == 1,
	}, nil
}

// typeOf is the type that an argument of a kind goes as.
func typeOf(k workload.ValueKind) byte {
	switch k {
	case workload.Integer:
		return typeLongLong
	case workload.Fixed:
		return typeNewDecimal
	case workload.String:
		return 253
	case workload.Day:
		return typeDate
	case workload.Instant:
		return typeDateTime
	case workload.Bit:
		return typeTiny
	}
	return typeNull
}

// appendArgument appends v, which is not null, as typeOf says.
func appendArgument(dst []byte, v *workload.Value) ([]byte, error) {
	switch v.Kind {
	case workload.Integer:
		return binary.LittleEndian.AppendUint64(dst, uint64(v.Int)), nil
	case workload.String:
		return append(appendLength(dst, len(v.Str)), v.Str...), nil
	case workload.Fixed:
		at := len(dst)
		dst = AppendFixed(append(dst, 0), v.Int, looseScale)
		dst[at] = byte(len(dst) - at - 1)
		return dst, nil
	case workload.Day:
		y, m, d, err := date(v.Int)
		return append(dst, 4, byte(y), byte(y>>8), byte(m), byte(d)), err
	case workload.Instant:
		day, us := split(v.Int)
		y, m, d, err := date(day)
		s := us / 1e6
		dst = append(dst, 11, byte(y), byte(y>>8), byte(m), byte(d), byte(s/3600), byte(s/60%60), byte(s%60))
		return binary.LittleEndian.AppendUint32(dst, uint32(us%1e6)), err
	case workload.Bit:
		return append(dst, byte(v.Int&1)), nil
	}
	return dst, fmt.Errorf("a value of unknown kind %d", v.Kind)
}

// split cuts an instant into its day and the microseconds of the day.
func split(us int64) (day, rest int64) {
	const perDay = 86400 * 1e6
	day, rest = us/perDay, us%perDay
	if rest < 0 {
		day, rest = day-1, rest+perDay
	}
	return day, rest
}

// date is the calendar date of a day; the server's years are 0 to 9999.
func date(day int64) (y, m, d int, err error) {
	if day < -719528 || day > 2932896 {
		return 0, 0, 0, fmt.Errorf("day %d after 1970 is outside the years 0 to 9999", day)
	}
	year, month, d := time.Unix(day*86400, 0).UTC().Date()
	return year, int(month), d, nil
}

// AppendFixed appends n / 10^scale in decimal, 0 <= scale <= 18.
func AppendFixed(dst []byte, n int64, scale int) []byte {
	u := uint64(n)
	if n < 0 {
		dst, u = append(dst, '-'), -u
	}
	unit := uint64(1)
	for range scale {
		unit *= 10
	}
	dst = strconv.AppendUint(dst, u/unit, 10)
	if scale == 0 {
		return dst
	}
	dst = append(dst, '.')
	for part := u % unit; unit > 1; part %= unit {
		unit /= 10
		dst = append(dst, '0'+byte(part/unit))
	}
	return dst
}

// AppendDay appends a day as YYYY-MM-DD, AppendInstant with the time of day and
// its microseconds behind a blank.
func AppendDay(dst []byte, day int64) ([]byte, error) {
	y, m, d, err := date(day)
	dst = appendDigits(append(appendDigits(dst, y, 4), '-'), m, 2)
	return appendDigits(append(dst, '-'), d, 2), err
}

// AppendInstant appends an instant, given in microseconds since 1970.
func AppendInstant(dst []byte, us int64) ([]byte, error) {
	day, rest := split(us)
	dst, err := AppendDay(dst, day)
	s := int(rest / 1e6)
	dst = appendDigits(append(dst, ' '), s/3600, 2)
	dst = appendDigits(append(dst, ':'), s/60%60, 2)
	dst = appendDigits(append(dst, ':'), s%60, 2)
	return appendDigits(append(dst, '.'), int(rest%1e6), 6), err
}

// appendDigits appends n with leading zeros.
func appendDigits(dst []byte, n, width int) []byte {
	at := len(dst)
	for range width {
		dst = append(dst, '0')
	}
	for i := at + width - 1; i >= at; i-- {
		dst[i], n = '0'+byte(n%10), n/10
	}
	return dst
}

// decode reads the column's value from the front of b.
func (c *column) decode(b *body, v *workload.Value) error {
	switch c.typ {
	case typeLong, typeInt24:
		n := b.uint32()
		v.Kind, v.Int = workload.Integer, int64(int32(n))
		if c.unsigned {
			v.Int = int64(n)
		}
	case typeNewDecimal, 0:
		return c.decimal(b.text(), v)
	case typeLongLong:
		return c.long(b, v)
	case typeShort, typeYear:
		n := uint16(b.uint16())
		v.Kind, v.Int = workload.Integer, int64(int16(n))
		if c.unsigned {
			v.Int = int64(n)
		}
	case typeTiny:
		n := b.byte()
		v.Kind, v.Int = workload.Integer, int64(int8(n))
		if c.bit {
			v.Kind = workload.Bit
		} else if c.unsigned {
			v.Int = int64(n)
		}
	case typeDate, typeDateTime, typeTimestamp:
		return c.moment(b.take(int(b.byte())), v)
	case typeFloat:
		*v = real(float64(math.Float32frombits(b.uint32())), 32)
	case typeDouble:
		if f := b.take(8); f != nil {
			*v = real(math.Float64frombits(binary.LittleEndian.Uint64(f)), 64)
		}
	case typeBit:
		v.Kind, v.Int = workload.Integer, 0
		for _, x := range b.text() {
			v.Int = v.Int<<8 | int64(x)
		}
	default:
		if c.typ != typeVarchar && (c.typ < 245 || c.typ == typeGeometry) {
			return fmt.Errorf("a value of type %d has no kind here", c.typ)
		}
		*v = workload.Value{Kind: workload.String, Str: b.text()}
	}
	return nil
}

func (c *column) long(b *body, v *workload.Value) error {
	f := b.take(8)
	if f == nil {
		return nil // noticed by who looks at b
	}
	n := binary.LittleEndian.Uint64(f)
	if c.unsigned && n > math.MaxInt64 {
		return fmt.Errorf("%d does not fit in 64 bits with a sign", n)
	}
	v.Kind, v.Int = workload.Integer, int64(n)
	return nil
}

// real is a floating-point number, which has no kind of its own, as text.
func real(f float64, bits int) workload.Value {
	return workload.Value{Kind: workload.String, Str: strconv.AppendFloat(nil, f, 'g', -1, bits)}
}

var errOverflow = errors.New("it does not fit in 64 bits")

// decimal reads a decimal's text as a Fixed at the column's scale. A number
// without decimals that was worked out, as the sum of whole numbers is, is an
// Integer.
func (c *column) decimal(text []byte, v *workload.Value) error {
	negative, point, scale := false, false, 0
	var n uint64
	for i, d := range text {
		switch {
		case d == '-' && i == 0:
			negative = true
		case d == '.' && !point:
			point = true
		case d >= '0' && d <= '9':
			if n > (math.MaxInt64-9)/10 {
				return fmt.Errorf("decimal %q: %w", text, errOverflow)
			}
			if n = n*10 + uint64(d-'0'); point {
				scale++
			}
		default:
			return fmt.Errorf("%q is not a decimal number", text)
		}
	}
	if scale != c.scale || scale > maxScale {
		return fmt.Errorf("decimal %q has %d decimals, its column %d, and at most %d are read: a cast in the statement sets the scale", text, scale, c.scale, maxScale)
	}
	v.Kind, v.Int = workload.Fixed, int64(n)
	if negative {
		v.Int = -v.Int
	}
	if c.scale == 0 && !c.stored {
		v.Kind = workload.Integer
	}
	return nil
}

// moment reads a date, with the time of day or without.
func (c *column) moment(b []byte, v *workload.Value) error {
	if len(b) != 0 && len(b) != 4 && len(b) != 7 && len(b) != 11 {
		return fmt.Errorf("%d bytes are not a date", len(b))
	}
	if len(b) == 0 || b[2] == 0 || b[3] == 0 {
		return errors.New("a date with a month or day of zero has no value here")
	}
	day := time.Date(int(b[0])|int(b[1])<<8, time.Month(b[2]), int(b[3]), 0, 0, 0, 0, time.UTC).Unix() / 86400
	if c.typ == typeDate {
		v.Kind, v.Int = workload.Day, day
		return nil
	}
	us := int64(0)
	if len(b) >= 7 {
		us = (int64(b[4])*3600 + int64(b[5])*60 + int64(b[6])) * 1e6
	}
	if len(b) == 11 {
		us += int64(binary.LittleEndian.Uint32(b[7:]))
	}
	v.Kind, v.Int = workload.Instant, day*86400*1e6+us
	return nil
}
