// Package fingerprint identifies the contents of tables by counts and hashes
// that are the same on every machine and engine, whatever the order in which
// the rows come.
package fingerprint

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

// Content identifies rows whatever their order: how many they are, and two
// sums of 64 bits over their hashes. Contents that differ by accident agree in
// all three with a negligible chance; it is no protection against malice.
// Equal contents are ==.
type Content struct {
	Rows     int64
	sum, mix uint64
}

// Add counts one row in.
func (c *Content) Add(row []workload.Value) {
	h := hashRow(row)
	c.Rows++
	c.sum += h
	// A second, unrelated sum: one wrong row that another makes up for in
	// the first sum will not in this one.
	c.mix += fold(h, keyRow)
}

// Odd constants with about as many ones as zeros: the first 64 bits of the
// fractional parts of the square roots of 2, 3 and 5, made odd.
const (
	keyRow   = 0x6a09e667f3bcc909
	keyValue = 0xbb67ae8584caa73b
	keyWord  = 0x3c6ef372fe94f82b
)

// fold multiplies to 128 bits and folds the halves: every bit of either
// factor reaches every bit of the result.
func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// hashRow hashes the kinds and contents of row's values, in order.
func hashRow(row []workload.Value) uint64 {
	h := uint64(keyRow)
	for i := range row {
		v := &row[i]
		switch v.Kind {
		case workload.Null:
			h = fold(h^keyWord, keyValue)
		case workload.String:
			h = hashBytes(h^uint64(len(v.Str)+1)*keyValue, v.Str)
		default:
			h = fold(h^uint64(v.Kind)<<56^keyValue, uint64(v.Int)^keyWord)
		}
		h += uint64(i)
	}
	return h
}

// hashBytes hashes b on top of h, eight bytes at a time; the caller has mixed
// the length in, so that the zeros that fill the last word mean nothing.
func hashBytes(h uint64, b []byte) uint64 {
	for ; len(b) >= 8; b = b[8:] {
		h = fold(h^binary.LittleEndian.Uint64(b), keyWord)
	}
	var last uint64
	for i, c := range b {
		last |= uint64(c) << (8 * i)
	}
	return fold(h^last, keyValue)
}

// Table is the contents of one table.
type Table struct {
	Name string
	Content
}

// Text renders the contents of tables, in their order: a version of this
// scheme, then for each table its name in lower case, the number of its rows
// and the hash of its contents.
func Text(tables []Table) string {
	parts := []string{"v1"}
	for _, t := range tables {
		parts = append(parts, fmt.Sprintf("%s:%d:%016x%016x", strings.ToLower(t.Name), t.Rows, t.sum, t.mix))
	}
	return strings.Join(parts, " ")
}
