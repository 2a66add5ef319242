package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const (
	// maxPacket is the longest packet: one of exactly this length is
	// continued by the next.
	maxPacket = 1<<24 - 1
	// maxAnswer bounds the answer to one call, in bytes.
	maxAnswer = 256 << 20
	// firstBuffer holds the answers of usual calls whole.
	firstBuffer = 16 << 10
)

// input cuts what the server sends into packets. Within one answer no byte
// that was handed out is overwritten, so results alias the buffer: where it is
// full, a larger one takes its place and the old one is left to them.
type input struct {
	fill  func([]byte) (int, error) // reads at least one byte
	buf   []byte
	r, w  int  // buf[r:w] is read and not yet handed out
	total int  // bytes of this answer
	seq   byte // number of the last packet
}

func newInput(fill func([]byte) (int, error)) input {
	return input{fill: fill, buf: make([]byte, firstBuffer)}
}

// reset starts a new answer: the whole buffer may be used again.
func (in *input) reset() {
	in.w = copy(in.buf, in.buf[in.r:in.w])
	in.r, in.total = 0, 0
}

// next returns the next packet's contents, which are valid until reset.
func (in *input) next() ([]byte, error) {
	msg, err := in.packet()
	if err != nil || len(msg) < maxPacket {
		if err == nil && len(msg) == 0 {
			err = &malformed{"an empty packet"}
		}
		return msg, err
	}
	// A row of 16 MiB or more comes in parts.
	whole := append([]byte(nil), msg...)
	for len(msg) == maxPacket {
		if msg, err = in.packet(); err != nil {
			return nil, err
		}
		whole = append(whole, msg...)
	}
	return whole, nil
}

func (in *input) packet() ([]byte, error) {
	if in.w-in.r < 4 {
		if err := in.need(4); err != nil {
			return nil, err
		}
	}
	head := in.buf[in.r:]
	n := int(head[0]) | int(head[1])<<8 | int(head[2])<<16
	in.seq = head[3]
	if in.w-in.r < 4+n {
		if err := in.need(4 + n); err != nil {
			return nil, err
		}
	}
	msg := in.buf[in.r+4 : in.r+4+n : in.r+4+n]
	in.r += 4 + n
	return msg, nil
}

// need reads until n bytes are there.
func (in *input) need(n int) error {
	for in.w-in.r < n {
		if in.total > maxAnswer {
			return fmt.Errorf("the answer of the server is larger than %d bytes", maxAnswer)
		}
		if in.w == len(in.buf) || len(in.buf)-in.r < n {
			in.replace(n)
		}
		m, err := in.fill(in.buf[in.w:])
		in.w += m
		in.total += m
		if errors.Is(err, io.EOF) && in.w > in.r {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// replace puts a buffer with room for n bytes in the place of a full one.
func (in *input) replace(n int) {
	size := 2 * len(in.buf)
	if size > maxPacket {
		size = len(in.buf)
	}
	buf := make([]byte, max(size, n+firstBuffer))
	in.w = copy(buf, in.buf[in.r:in.w])
	in.r, in.buf = 0, buf
}

// body reads the fields of one packet and keeps whether they were all there.
type body struct {
	b   []byte
	bad bool
}

func (b *body) take(n int) []byte {
	if n < 0 || n > len(b.b) {
		b.bad, b.b = true, nil
		return nil
	}
	out := b.b[:n]
	b.b = b.b[n:]
	return out
}

func (b *body) byte() byte {
	if f := b.take(1); f != nil {
		return f[0]
	}
	return 0
}

func (b *body) uint16() int {
	if f := b.take(2); f != nil {
		return int(binary.LittleEndian.Uint16(f))
	}
	return 0
}

func (b *body) uint32() uint32 {
	if f := b.take(4); f != nil {
		return binary.LittleEndian.Uint32(f)
	}
	return 0
}

// length reads a length-encoded integer, of at most 63 bits.
func (b *body) length() int {
	first := b.byte()
	n := 0
	switch first {
	case 0xfc:
		n = 2
	case 0xfd:
		n = 3
	case 0xfe:
		n = 8
	case 0xfb, 0xff:
		b.bad = true
		return 0
	default:
		return int(first)
	}
	var v uint64
	for i, c := range b.take(n) {
		v |= uint64(c) << (8 * i)
	}
	if v > 1<<63-1 {
		b.bad = true
		return 0
	}
	return int(v)
}

// text reads a string with its length before it.
func (b *body) text() []byte { return b.take(b.length()) }

// zero reads a string that ends with a zero.
func (b *body) zero() string {
	for i, c := range b.b {
		if c == 0 {
			s := string(b.b[:i])
			b.b = b.b[i+1:]
			return s
		}
	}
	b.bad, b.b = true, nil
	return ""
}

// appendLength appends a length-encoded integer.
func appendLength(dst []byte, n int) []byte {
	switch {
	case n < 0xfb:
		return append(dst, byte(n))
	case n < 1<<16:
		return append(dst, 0xfc, byte(n), byte(n>>8))
	case n < 1<<24:
		return append(dst, 0xfd, byte(n), byte(n>>8), byte(n>>16))
	}
	return binary.LittleEndian.AppendUint64(append(dst, 0xfe), uint64(n))
}

// openPacket begins a packet with number seq; closePacket writes its length.
func openPacket(dst []byte, seq byte) []byte { return append(dst, 0, 0, 0, seq) }

// closePacket writes the length of the packet that began at offset at.
func closePacket(dst []byte, at int) ([]byte, error) {
	n := len(dst) - at - 4
	if n >= maxPacket {
		return dst[:at], fmt.Errorf("a request of %d bytes: the protocol allows %d", n, maxPacket-1)
	}
	dst[at], dst[at+1], dst[at+2] = byte(n), byte(n>>8), byte(n>>16)
	return dst, nil
}
