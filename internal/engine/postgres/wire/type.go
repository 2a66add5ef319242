package wire

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

// Object identifiers of the built-in types (pg_type.dat).
const (
	oidBool        = 16
	oidInt8        = 20
	oidInt2        = 21
	oidInt4        = 23
	oidText        = 25
	oidName        = 19
	oidBpchar      = 1042
	oidVarchar     = 1043
	oidDate        = 1082
	oidTimestamp   = 1114
	oidTimestamptz = 1184
	oidNumeric     = 1700
)

// form is how a type looks on the wire.
type form uint8

const (
	formText form = iota // the server's text format: every type without a form of its own
	formBool
	formInt2
	formInt4
	formInt8
	formNumeric
	formString // text format and binary format are the same bytes
	formDate
	formInstant // timestamp, with or without time zone
)

// The server counts days and microseconds from 2000-01-01 (datatype/timestamp.h).
const (
	epochDays   = 10957
	epochMicros = epochDays * dayMicros
	dayMicros   = 86400 * 1_000_000
)

// looseScale is the scale of a Fixed where the database declares none, as for
// every numeric parameter: that of workload.Money.
const looseScale = 2

// Type is a database type with the conversion between its binary format and
// workload.Value. Make it with TypeOf.
type Type struct {
	OID   uint32
	form  form
	scale int8 // of formNumeric: what a Fixed's integer counts
	loose bool // of formNumeric: the database declares no scale
}

// TypeOf returns the type with an object identifier and type modifier, -1
// being no modifier. A numeric without a modifier takes and gives a Fixed of
// scale 2. Types that this package has no binary format for go as text, from
// and to String values: see Binary.
func TypeOf(oid uint32, modifier int32) Type {
	t := Type{OID: oid}
	switch oid {
	case oidBool:
		t.form = formBool
	case oidInt2:
		t.form = formInt2
	case oidInt4:
		t.form = formInt4
	case oidInt8:
		t.form = formInt8
	case oidText, oidVarchar, oidBpchar, oidName:
		t.form = formString
	case oidDate:
		t.form = formDate
	case oidTimestamp, oidTimestamptz:
		t.form = formInstant
	case oidNumeric:
		t.form, t.scale, t.loose = formNumeric, looseScale, true
		if modifier >= 4 {
			// precision in the upper half, scale in the lower 11 bits,
			// as a signed number (numeric.c, numeric_typmod_scale)
			scale := int((modifier-4)&0x7ff^1024) - 1024
			t.scale, t.loose = int8(min(max(scale, -1), maxScale+1)), false
		}
	}
	return t
}

// Binary tells whether values go in the binary format.
func (t Type) Binary() bool { return t.form != formText }

// Append appends v as a field: its length as four bytes, then its bytes, as
// Bind and binary COPY want it. A value that the type can't hold exactly is
// an error.
func (t Type) Append(dst []byte, v *workload.Value) ([]byte, error) {
	if v.Kind == workload.Null {
		return append(dst, 0xff, 0xff, 0xff, 0xff), nil
	}
	n := v.Int
	switch t.form {
	case formInt4:
		if v.Kind == workload.Integer && n == int64(int32(n)) {
			return append(dst, 0, 0, 0, 4, byte(n>>24), byte(n>>16), byte(n>>8), byte(n)), nil
		}
	case formString:
		if v.Kind == workload.String {
			dst = binary.BigEndian.AppendUint32(dst, uint32(len(v.Str)))
			return append(dst, v.Str...), nil
		}
	case formInt8:
		if v.Kind == workload.Integer {
			return appendInt64(dst, n), nil
		}
	case formInt2:
		if v.Kind == workload.Integer && n == int64(int16(n)) {
			return append(dst, 0, 0, 0, 2, byte(n>>8), byte(n)), nil
		}
	case formNumeric:
		switch {
		case v.Kind == workload.Fixed && t.scale >= 0 && t.scale <= maxScale:
			return appendNumeric(dst, n, int(t.scale)), nil
		case v.Kind == workload.Integer:
			return appendNumeric(dst, n, 0), nil
		}
	case formDate:
		if d := n - epochDays; v.Kind == workload.Day && d == int64(int32(d)) {
			return append(dst, 0, 0, 0, 4, byte(d>>24), byte(d>>16), byte(d>>8), byte(d)), nil
		}
	case formInstant:
		switch {
		case v.Kind == workload.Instant && n >= math.MinInt64+epochMicros:
			return appendInt64(dst, n-epochMicros), nil
		case v.Kind == workload.Day && n > -maxDays && n < maxDays:
			return appendInt64(dst, n*dayMicros-epochMicros), nil
		}
	case formBool:
		if v.Kind == workload.Bit && n == n&1 {
			return append(dst, 0, 0, 0, 1, byte(n)), nil
		}
	case formText:
		return t.appendText(dst, v)
	}
	return dst, t.refuse(v)
}

// maxDays keeps days × dayMicros within 64 bits.
const maxDays = 100_000_000

func appendInt64(dst []byte, n int64) []byte {
	dst = append(dst, 0, 0, 0, 8)
	return binary.BigEndian.AppendUint64(dst, uint64(n))
}

// appendText appends v as the server would read it in a statement's text.
func (t Type) appendText(dst []byte, v *workload.Value) ([]byte, error) {
	switch v.Kind {
	case workload.String:
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(v.Str)))
		return append(dst, v.Str...), nil
	case workload.Integer:
		at := len(dst)
		dst = strconv.AppendInt(append(dst, 0, 0, 0, 0), v.Int, 10)
		binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
		return dst, nil
	}
	return dst, t.refuse(v)
}

// refuse says that v does not go into t.
func (t Type) refuse(v *workload.Value) error {
	if v.Kind == workload.String {
		return fmt.Errorf("a string can't go into %s", t)
	}
	return fmt.Errorf("%s %d can't go into %s exactly", kindName(v.Kind), v.Int, t)
}

func kindName(k workload.ValueKind) string {
	names := [...]string{"null", "integer", "fixed-point number", "string", "day", "instant", "bit"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("value of unknown kind %d", k)
}

// String names t as SQL does, where it can.
func (t Type) String() string {
	switch t.OID {
	case oidBool:
		return "boolean"
	case oidInt2:
		return "smallint"
	case oidInt4:
		return "integer"
	case oidInt8:
		return "bigint"
	case oidText, oidVarchar, oidBpchar, oidName:
		return "text"
	case oidDate:
		return "date"
	case oidTimestamp:
		return "timestamp"
	case oidTimestamptz:
		return "timestamp with time zone"
	case oidNumeric:
		if t.loose {
			return "numeric"
		}
		return fmt.Sprintf("numeric of scale %d", t.scale)
	}
	return fmt.Sprintf("type with OID %d", t.OID)
}

// Decode reads the bytes of a field that is not null into v; a String aliases
// them.
func (t Type) Decode(b []byte, v *workload.Value) error {
	switch t.form {
	case formInt4:
		if len(b) == 4 {
			*v = workload.Value{Kind: workload.Integer, Int: int64(int32(binary.BigEndian.Uint32(b)))}
			return nil
		}
	case formString, formText:
		*v = workload.Value{Kind: workload.String, Str: b}
		return nil
	case formInt8:
		if len(b) == 8 {
			*v = workload.Value{Kind: workload.Integer, Int: int64(binary.BigEndian.Uint64(b))}
			return nil
		}
	case formInt2:
		if len(b) == 2 {
			*v = workload.Value{Kind: workload.Integer, Int: int64(int16(binary.BigEndian.Uint16(b)))}
			return nil
		}
	case formNumeric:
		return t.decodeNumeric(b, v)
	case formDate:
		if len(b) == 4 {
			return t.decodeDate(int32(binary.BigEndian.Uint32(b)), v)
		}
	case formInstant:
		if len(b) == 8 {
			return t.decodeInstant(int64(binary.BigEndian.Uint64(b)), v)
		}
	case formBool:
		if len(b) == 1 && b[0] <= 1 {
			*v = workload.Value{Kind: workload.Bit, Int: int64(b[0])}
			return nil
		}
	}
	return fmt.Errorf("%d bytes are not a %s", len(b), t)
}

// The extreme numbers are infinities (datatype/timestamp.h).
func (t Type) decodeDate(n int32, v *workload.Value) error {
	if n == math.MaxInt32 || n == math.MinInt32 {
		return fmt.Errorf("an infinite %s has no value here", t)
	}
	*v = workload.Value{Kind: workload.Day, Int: int64(n) + epochDays}
	return nil
}

func (t Type) decodeInstant(n int64, v *workload.Value) error {
	if n == math.MinInt64 || n > math.MaxInt64-epochMicros {
		return fmt.Errorf("%s %d µs after 2000 has no value here", t, n)
	}
	*v = workload.Value{Kind: workload.Instant, Int: n + epochMicros}
	return nil
}
