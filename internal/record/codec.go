package record

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The range of every histogram, in microseconds, and its significant digits.
const (
	histLow    = 1
	histHigh   = 3_600_000_000
	histDigits = 3
	histCounts = 23552 // buckets that come of these: 23 halves of 1,024
)

// NewHistogram returns an empty histogram with the range that records have:
// 1 µs to 1 h with three significant digits.
func NewHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(histLow, histHigh, histDigits)
}

// The V2 compressed encoding of HdrHistogram: base64 of a cookie, the length
// and a zlib stream; in it a header of 40 bytes (cookie, length of the counts,
// normalizing offset, digits, lowest, highest, ratio; big-endian) and the
// counts as zig-zag LEB128 integers of at most nine bytes, a negative one
// standing for so many zeros. It is decoded here, not by the library, since an
// hour holds tens of thousands of histograms: this adds up counts without
// building a histogram for each.
const (
	cookieCompressed = 0x1c849314
	cookieCounts     = 0x1c849313
	cookieMask       = 0xffffff0f // leaves out the word size
	headerBytes      = 40
)

// codec encodes and decodes histograms with buffers of its own, which are
// used again. It is not safe for concurrent use.
type codec struct {
	plain  []byte
	packed bytes.Buffer
	binary []byte
	zw     *zlib.Writer
	zr     io.ReadCloser
	src    bytes.Reader
}

// encode appends h in the V2 compressed encoding to dst.
func (c *codec) encode(dst []byte, h *hdrhistogram.Histogram) ([]byte, error) {
	counts, err := countsOf(h)
	if err != nil {
		return dst, err
	}
	p := append(c.plain[:0], make([]byte, headerBytes)...)
	p = appendCounts(p, counts)
	binary.BigEndian.PutUint32(p[0:], cookieCounts)
	binary.BigEndian.PutUint32(p[4:], uint32(len(p)-headerBytes))
	binary.BigEndian.PutUint32(p[12:], histDigits)
	binary.BigEndian.PutUint64(p[16:], histLow)
	binary.BigEndian.PutUint64(p[24:], histHigh)
	binary.BigEndian.PutUint64(p[32:], math.Float64bits(1))
	c.plain = p

	c.packed.Reset()
	c.packed.Write(make([]byte, 8))
	if c.zw == nil {
		c.zw = zlib.NewWriter(&c.packed)
	} else {
		c.zw.Reset(&c.packed)
	}
	if _, err := c.zw.Write(p); err != nil {
		return dst, err
	}
	if err := c.zw.Close(); err != nil {
		return dst, err
	}
	b := c.packed.Bytes()
	binary.BigEndian.PutUint32(b[0:], cookieCompressed)
	binary.BigEndian.PutUint32(b[4:], uint32(len(b)-8))
	return base64.StdEncoding.AppendEncode(dst, b), nil
}

// countsOf are the counts of h, which must have the range of records.
func countsOf(h *hdrhistogram.Histogram) ([]int64, error) {
	if h.LowestTrackableValue() != histLow || h.HighestTrackableValue() != histHigh || h.SignificantFigures() != histDigits {
		return nil, fmt.Errorf("a histogram of %d to %d with %d digits is not in the range of records", h.LowestTrackableValue(), h.HighestTrackableValue(), h.SignificantFigures())
	}
	return h.Export().Counts, nil
}

// histogramOfCounts is a histogram with the range of records; it keeps counts.
func histogramOfCounts(counts []int64) *hdrhistogram.Histogram {
	return hdrhistogram.Import(&hdrhistogram.Snapshot{LowestTrackableValue: histLow, HighestTrackableValue: histHigh, SignificantFigures: histDigits, Counts: counts})
}

// appendCounts appends counts up to the last that is not zero.
func appendCounts(dst []byte, counts []int64) []byte {
	last := len(counts) - 1
	for last > 0 && counts[last] == 0 {
		last--
	}
	for i := 0; i <= last; {
		run := 0
		for i+run <= last && counts[i+run] == 0 {
			run++
		}
		switch {
		case run > 1:
			dst = appendZigZag(dst, int64(-run))
			i += run
		default:
			dst = appendZigZag(dst, counts[i])
			i++
		}
	}
	return dst
}

// appendZigZag appends v as LEB128 whose ninth byte has all eight bits.
func appendZigZag(dst []byte, v int64) []byte {
	u := uint64(v<<1) ^ uint64(v>>63)
	for range 8 {
		if u < 0x80 {
			return append(dst, byte(u))
		}
		dst = append(dst, byte(u)|0x80)
		u >>= 7
	}
	return append(dst, byte(u))
}

// errHistogram says that bytes are no histogram of ours.
var errHistogram = errors.New("not a histogram of this format")

// add decodes text and adds its counts to counts, which has histCounts.
func (c *codec) add(counts []int64, text []byte) error {
	p, err := c.unpack(text)
	if err != nil {
		return err
	}
	at := 0
	for len(p) > 0 {
		v, n := zigZag(p)
		if n == 0 {
			return fmt.Errorf("%w: cut in a count", errHistogram)
		}
		p = p[n:]
		switch {
		case v < 0 && (v == math.MinInt64 || -v > int64(len(counts)-at)), v >= 0 && at >= len(counts):
			return fmt.Errorf("%w: it has counts beyond the range", errHistogram)
		case v < 0:
			at += int(-v)
		case v > math.MaxInt64-counts[at]:
			return fmt.Errorf("%w: count %d overflows", errHistogram, v)
		default:
			counts[at] += v
			at++
		}
	}
	return nil
}

// unpack returns the encoded counts in text, valid until the next call.
func (c *codec) unpack(text []byte) ([]byte, error) {
	if n := base64.StdEncoding.DecodedLen(len(text)); cap(c.binary) < n {
		c.binary = make([]byte, n)
	}
	n, err := base64.StdEncoding.Decode(c.binary[:cap(c.binary)], text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errHistogram, err)
	}
	b := c.binary[:n]
	if len(b) < 8 || binary.BigEndian.Uint32(b)&cookieMask != cookieCompressed&cookieMask || uint64(binary.BigEndian.Uint32(b[4:])) > uint64(len(b)-8) {
		return nil, fmt.Errorf("%w: wrong cookie or length", errHistogram)
	}
	c.src.Reset(b[8 : 8+binary.BigEndian.Uint32(b[4:])])
	if c.zr == nil {
		c.zr, err = zlib.NewReader(&c.src)
	} else {
		err = c.zr.(zlib.Resetter).Reset(&c.src, nil)
	}
	if err != nil {
		c.zr = nil
		return nil, fmt.Errorf("%w: %w", errHistogram, err)
	}
	// A count has at most nine bytes: longer streams are no histograms.
	limit := headerBytes + 9*histCounts
	if cap(c.plain) < limit+1 {
		c.plain = make([]byte, limit+1)
	}
	n, err = io.ReadFull(c.zr, c.plain[:limit+1])
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("%w: its counts are empty, too long or damaged (%w)", errHistogram, err)
	}
	p := c.plain[:n]
	if n < headerBytes || binary.BigEndian.Uint32(p)&cookieMask != cookieCounts&cookieMask || uint64(binary.BigEndian.Uint32(p[4:])) != uint64(n-headerBytes) {
		return nil, fmt.Errorf("%w: wrong inner cookie or length", errHistogram)
	}
	if binary.BigEndian.Uint32(p[12:]) != histDigits || binary.BigEndian.Uint64(p[16:]) != histLow || binary.BigEndian.Uint64(p[24:]) != histHigh {
		return nil, fmt.Errorf("%w: it has another range", errHistogram)
	}
	return p[headerBytes:], nil
}

// zigZag reads one integer; n is 0 where p ends in the middle of it.
func zigZag(p []byte) (v int64, n int) {
	var u uint64
	for i, b := range p {
		if i == 8 {
			u |= uint64(b) << 56
		} else {
			u |= uint64(b&0x7f) << (7 * i)
		}
		if i == 8 || b < 0x80 {
			return int64(u>>1) ^ -int64(u&1), i + 1
		}
	}
	return 0, 0
}
