package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

// A numeric on the wire (numeric.c, numeric_send) is four 16-bit fields and
// the digits: number of digits, weight of the first, sign, display scale;
// each digit is 0 to 9999 and counts 10000^(weight-i).

// maxScale is the largest scale of a 64-bit Fixed.
const maxScale = 18

const (
	numericPositive = 0x0000
	numericNegative = 0x4000
)

// pow10 returns 10^n for n in 0 to 19.
func pow10(n int) uint64 {
	return [...]uint64{
		1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9,
		1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
	}[n]
}

// appendNumeric appends n / 10^scale, 0 <= scale <= maxScale, as a field.
func appendNumeric(dst []byte, n int64, scale int) []byte {
	sign, u := uint16(numericPositive), uint64(n)
	if n < 0 {
		sign, u = numericNegative, -u
	}
	whole, part := u, uint64(0)
	if scale > 0 {
		unit := pow10(scale)
		whole, part = u/unit, u%unit
	}
	// Digits before the point, the last one first; a uint64 has at most 5.
	var before [5]uint16
	nb := 0
	for ; whole > 0; whole /= 10000 {
		before[nb] = uint16(whole % 10000)
		nb++
	}
	// Digits after it: four decimals each, the last one filled up with zeros.
	var after [5]uint16
	na := 0
	for left := scale; left > 0 && part > 0; left -= 4 {
		if left >= 4 {
			unit := pow10(left - 4)
			after[na], part = uint16(part/unit), part%unit
		} else {
			after[na], part = uint16(part*pow10(4-left)), 0
		}
		na++
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(8+2*(nb+na)))
	dst = binary.BigEndian.AppendUint16(dst, uint16(nb+na))
	dst = binary.BigEndian.AppendUint16(dst, uint16(nb-1)) // weight -1: nothing before the point
	dst = binary.BigEndian.AppendUint16(dst, sign)
	dst = binary.BigEndian.AppendUint16(dst, uint16(scale))
	for i := nb - 1; i >= 0; i-- {
		dst = binary.BigEndian.AppendUint16(dst, before[i])
	}
	for _, d := range after[:na] {
		dst = binary.BigEndian.AppendUint16(dst, d)
	}
	return dst
}

var (
	errInexact  = errors.New("it has more decimals")
	errOverflow = errors.New("it does not fit in 64 bits")
)

// decodeNumeric reads a numeric as a Fixed at t's scale. Where the database
// declares none, as for sums and the columns of functions, a number that
// shows no decimals is an Integer, and others are of scale 2.
func (t Type) decodeNumeric(b []byte, v *workload.Value) error {
	if len(b) < 8 {
		return fmt.Errorf("%d bytes are not a %s", len(b), t)
	}
	digits := int(binary.BigEndian.Uint16(b))
	weight := int(int16(binary.BigEndian.Uint16(b[2:])))
	sign := binary.BigEndian.Uint16(b[4:])
	shown := binary.BigEndian.Uint16(b[6:])
	if len(b) != 8+2*digits {
		return fmt.Errorf("%d bytes are not a %s of %d digits", len(b), t, digits)
	}
	if sign != numericPositive && sign != numericNegative {
		return fmt.Errorf("a %s that is not a finite number has no value here", t)
	}
	kind, scale := workload.Fixed, int(t.scale)
	if t.loose && shown == 0 {
		kind, scale = workload.Integer, 0
	}
	if scale < 0 || scale > maxScale {
		return fmt.Errorf("a %s has no value here: scales are 0 to %d", t, maxScale)
	}
	u, err := unscaled(b[8:], weight, scale)
	if err == nil && u > 1<<63-1 && (sign == numericPositive || u > 1<<63) {
		err = errOverflow
	}
	if err != nil {
		return fmt.Errorf("a %s can't be read at scale %d: %w; a cast in the statement sets the scale", t, scale, err)
	}
	n := int64(u)
	if sign == numericNegative {
		n = -n
	}
	*v = workload.Value{Kind: kind, Int: n}
	return nil
}

// unscaled returns digits × 10^scale, exactly. weight is of the first digit.
func unscaled(digits []byte, weight, scale int) (uint64, error) {
	var u uint64
	shift := 0 // power of ten still to multiply by
	for ; len(digits) > 0; digits, weight = digits[2:], weight-1 {
		d := uint64(binary.BigEndian.Uint16(digits))
		power := 4*weight + scale // d counts 10^power in the result
		unit := 4                 // decimals of d that the result has room for
		if power < 0 {
			unit = max(4+power, 0)
			drop := pow10(4 - unit)
			if d%drop != 0 {
				return 0, errInexact
			}
			d /= drop
		}
		hi, lo := bits.Mul64(u, pow10(unit))
		sum, carry := bits.Add64(lo, d, 0)
		if hi+carry != 0 {
			return 0, errOverflow
		}
		u, shift = sum, max(power, 0)
	}
	for ; shift > 0 && u > 0; shift-- {
		hi, lo := bits.Mul64(u, 10)
		if hi != 0 {
			return 0, errOverflow
		}
		u = lo
	}
	return u, nil
}
