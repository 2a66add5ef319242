package wire

import (
	"bytes"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

func fixed(n int64) workload.Value   { return workload.Value{Kind: workload.Fixed, Int: n} }
func day(n int64) workload.Value     { return workload.Value{Kind: workload.Day, Int: n} }
func instant(n int64) workload.Value { return workload.Value{Kind: workload.Instant, Int: n} }
func bit(n int64) workload.Value     { return workload.Value{Kind: workload.Bit, Int: n} }
func text(s string) workload.Value   { return workload.Str([]byte(s)) }

func same(a, b workload.Value) bool {
	return a.Kind == b.Kind && a.Int == b.Int && bytes.Equal(a.Str, b.Str)
}

// numericOf is the type numeric(18, scale).
func numericOf(scale int) Type { return TypeOf(oidNumeric, 18<<16+int32(scale)+4) }

func TestNumericKeepsEveryInteger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := numericOf(rapid.IntRange(0, maxScale).Draw(t, "scale"))
		want := fixed(rapid.Int64().Draw(t, "n"))
		b, err := typ.Append(nil, &want)
		if err != nil {
			t.Fatal(err)
		}
		var got workload.Value
		if err := typ.Decode(b[4:], &got); err != nil || !same(got, want) {
			t.Fatalf("%d came back as %v, %v", want.Int, got, err)
		}
	})
}

// An independent reading of the format: the sum of its digits.
func TestNumericBytesMeanTheNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scale := rapid.IntRange(0, maxScale).Draw(t, "scale")
		n := rapid.Int64().Draw(t, "n")
		b := appendNumeric(nil, n, scale)[4:]
		field := func(i int) int { return int(int16(uint16(b[2*i])<<8 | uint16(b[2*i+1]))) }
		sum := new(big.Rat)
		for i := range field(0) {
			if d := field(4 + i); d < 0 || d > 9999 {
				t.Fatalf("digit %d", d)
			}
			power := new(big.Int).Exp(big.NewInt(10000), big.NewInt(int64(abs(field(1)-i))), nil)
			unit := new(big.Rat).SetInt(power)
			if field(1) < i {
				unit.Inv(unit)
			}
			sum.Add(sum, unit.Mul(unit, new(big.Rat).SetInt64(int64(field(4+i)))))
		}
		if field(2) == numericNegative {
			sum.Neg(sum)
		}
		want := new(big.Rat).SetFrac(big.NewInt(n), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil))
		if sum.Cmp(want) != 0 || field(3) != scale {
			t.Fatalf("%s of display scale %d, want %s of %d", sum, field(3), want, scale)
		}
	})
}

func abs(n int) int { return max(n, -n) }

func TestValuesThatDoNotFitAreRefused(t *testing.T) {
	for _, test := range []struct {
		oid   uint32
		v     workload.Value
		error string // "" where it fits
	}{
		{oidInt2, workload.Int(32767), ""},
		{oidInt2, workload.Int(32768), "integer 32768 can't go into smallint exactly"},
		{oidInt2, workload.Int(-32769), "can't"},
		{oidInt4, workload.Int(math.MinInt32), ""},
		{oidInt4, workload.Int(math.MaxInt32 + 1), "can't"},
		{oidInt4, workload.Money(100), "fixed-point number 100 can't go into integer"},
		{oidInt4, text("1"), "a string can't go into integer"},
		{oidInt8, workload.Int(math.MinInt64), ""},
		{oidInt8, bit(1), "can't"},
		{oidBool, bit(1), ""},
		{oidBool, bit(2), "can't"},
		{oidBool, workload.Int(1), "can't"},
		{oidNumeric, workload.Int(math.MinInt64), ""},
		{oidNumeric, fixed(math.MinInt64), ""},
		{oidNumeric, text("1"), "can't"},
		{oidText, text(""), ""},
		{oidText, workload.Int(1), "can't"},
		{oidDate, day(-1), ""},
		{oidDate, day(math.MaxInt32 + epochDays + 1), "can't"},
		{oidDate, instant(0), "can't"},
		{oidTimestamp, day(0), ""},
		{oidTimestamp, day(maxDays), "can't"},
		{oidTimestamp, instant(math.MinInt64), "can't"},
		{oidTimestamptz, instant(math.MaxInt64), ""},
		{600, text("(1,2)"), ""}, // point, as text
		{600, workload.Int(3), ""},
		{600, fixed(3), "can't go into type with OID 600"},
	} {
		typ := TypeOf(test.oid, -1)
		b, err := typ.Append([]byte("x"), &test.v)
		switch {
		case test.error == "" && err != nil, test.error != "" && (err == nil || !strings.Contains(err.Error(), test.error)):
			t.Errorf("%v into %s: error %v, want %q", test.v, typ, err, test.error)
		case err == nil && (b[0] != 'x' || len(b) != 5+int(b[4])):
			t.Errorf("%v into %s: %x", test.v, typ, b)
		}
	}
	wide := numericOf(maxScale + 1)
	if _, err := wide.Append(nil, &workload.Value{Kind: workload.Fixed, Int: 1}); err == nil {
		t.Error("a scale that no 64-bit number has is accepted")
	}
}

func TestBytesThatAreNoValueAreErrors(t *testing.T) {
	for _, test := range []struct {
		typ   Type
		bytes string
		error string
	}{
		{TypeOf(oidInt4, -1), "\x00\x00\x01", "3 bytes are not a integer"},
		{TypeOf(oidBool, -1), "\x02", "1 bytes"},
		{TypeOf(oidDate, -1), "\x7f\xff\xff\xff", "infinite"},
		{TypeOf(oidTimestamp, -1), "\x7f\xff\xff\xff\xff\xff\xff\xff", "no value"},
		{TypeOf(oidTimestamp, -1), "\x80\x00\x00\x00\x00\x00\x00\x00", "no value"},
		{TypeOf(oidNumeric, -1), "\x00\x01\x00\x00", "4 bytes"},
		{TypeOf(oidNumeric, -1), "\x00\x02\x00\x00\x00\x00\x00\x00\x00\x01", "of 2 digits"},
		{TypeOf(oidNumeric, -1), "\x00\x00\x00\x00\xc0\x00\x00\x00", "finite"},
		{TypeOf(oidNumeric, -1), "\x00\x01\xff\xff\x00\x00\x00\x03\x00\x01", "more decimals"},
		{numericOf(2), "\x00\x01\xff\xfe\x00\x00\x00\x08\x00\x01", "more decimals"},
		{numericOf(0), "\x00\x01\x00\x05\x00\x00\x00\x00\x00\x01", "64 bits"},
		{numericOf(0), "\x00\x05\x00\x04\x00\x00\x00\x00\x03\x9a\x0d\x2c\x01\x70\x15\x65\x16\xb0", "64 bits"}, // 2^63
		{numericOf(0), "\x00\x01\x00\x05\x00\x00\x00\x00\x00\x02", "64 bits"},
		{numericOf(0), "\x00\x06\x00\x05\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", "64 bits"}, // 10^20
	} {
		var v workload.Value
		if err := test.typ.Decode([]byte(test.bytes), &v); err == nil || !strings.Contains(err.Error(), test.error) {
			t.Errorf("%s from %x: %v, %v; want error %q", test.typ, test.bytes, v, err, test.error)
		}
	}
	var v workload.Value
	lowest := "\x00\x05\x00\x04\x40\x00\x00\x00\x03\x9a\x0d\x2c\x01\x70\x15\x65\x16\xb0" // -2^63
	if err := numericOf(0).Decode([]byte(lowest), &v); err != nil || v.Int != math.MinInt64 {
		t.Errorf("the lowest number: %v, %v", v, err)
	}
}

func TestScaleComesFromTheColumn(t *testing.T) {
	shown := func(n int64, scale int) []byte { return appendNumeric(nil, n, scale)[4:] }
	for _, test := range []struct {
		typ  Type
		b    []byte
		want workload.Value
	}{
		{numericOf(4), shown(15, 1), fixed(15000)},
		{numericOf(2), shown(1999, 2), fixed(1999)},
		{numericOf(0), shown(7, 0), fixed(7)},
		{TypeOf(oidNumeric, -1), shown(1999, 2), fixed(1999)},
		{TypeOf(oidNumeric, -1), shown(5, 1), fixed(50)},
		{TypeOf(oidNumeric, -1), shown(120000, 5), fixed(120)},
		{TypeOf(oidNumeric, -1), shown(42, 0), workload.Int(42)}, // a sum of integers
	} {
		var got workload.Value
		if err := test.typ.Decode(test.b, &got); err != nil || !same(got, test.want) {
			t.Errorf("%s from %x: %v, %v; want %v", test.typ, test.b, got, err, test.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, oid := range []uint32{oidBool, oidInt2, oidInt4, oidInt8, oidText, oidDate, oidTimestamp, oidNumeric, 600} {
		f.Add(oid, int32(-1), []byte{0, 1, 0, 0, 0, 0, 0, 2, 0, 1})
		f.Add(oid, int32(12<<16+2+4), []byte{0, 0, 0, 1})
	}
	f.Fuzz(func(t *testing.T, oid uint32, modifier int32, b []byte) {
		typ := TypeOf(oid, modifier)
		var v workload.Value
		if typ.Decode(b, &v) != nil {
			return
		}
		// What was read can be written, and reads the same.
		out, err := typ.Append(nil, &v)
		if err != nil {
			t.Fatalf("%s: %v can't be written: %v", typ, v, err)
		}
		var again workload.Value
		if err := typ.Decode(out[4:], &again); err != nil || !same(v, again) {
			t.Fatalf("%s: %v came back as %v, %v", typ, v, again, err)
		}
	})
}
