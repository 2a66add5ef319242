package analyse

import (
	"encoding/json"
	"math"
)

// Number is a float64 that may be absent: NaN and infinities are null in JSON.
type Number float64

// Absent is the Number that is not there.
func Absent() Number { return Number(math.NaN()) }

// OK says whether n is there.
func (n Number) OK() bool { return !math.IsNaN(float64(n)) && !math.IsInf(float64(n), 0) }

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	if !n.OK() {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *Number) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*n = Absent()
		return nil
	}
	return json.Unmarshal(b, (*float64)(n))
}
