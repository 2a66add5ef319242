package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const (
	// maxMessage bounds one message of the server, in bytes.
	maxMessage = 64 << 20
	// maxAnswer bounds the answer to one call, in bytes.
	maxAnswer = 256 << 20
	// firstBuffer holds the answers of usual calls whole.
	firstBuffer = 16 << 10
)

// filler reads at least one byte into a buffer.
type filler interface{ Fill([]byte) (int, error) }

// input cuts what the server sends into messages. Within one answer no byte
// that was handed out is overwritten, so results alias the buffer: where it
// is full, a larger one takes its place and the old one is left to them.
type input struct {
	from  filler
	buf   []byte
	r, w  int // buf[r:w] is read and not yet handed out
	total int // bytes of this answer
}

func newInput(from filler) input {
	return input{from: from, buf: make([]byte, firstBuffer)}
}

// reset starts a new answer: the whole buffer may be used again.
func (in *input) reset() {
	in.w = copy(in.buf, in.buf[in.r:in.w])
	in.r, in.total = 0, 0
}

// next returns the next message's type and body, which are valid until reset.
func (in *input) next() (byte, []byte, error) {
	if in.w-in.r < 5 {
		if err := in.need(5); err != nil {
			return 0, nil, err
		}
	}
	kind := in.buf[in.r]
	n := int(int32(binary.BigEndian.Uint32(in.buf[in.r+1:])))
	if n < 4 || n > maxMessage {
		return 0, nil, &malformed{kind, fmt.Sprintf("length %d is not in 4 to %d", n, maxMessage)}
	}
	if in.w-in.r < 1+n {
		if err := in.need(1 + n); err != nil {
			return 0, nil, err
		}
	}
	body := in.buf[in.r+5 : in.r+1+n : in.r+1+n]
	in.r += 1 + n
	return kind, body, nil
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
		m, err := in.from.Fill(in.buf[in.w:])
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
	if size > maxMessage/2 {
		size = len(in.buf)
	}
	buf := make([]byte, max(size, n+firstBuffer))
	in.w = copy(buf, in.buf[in.r:in.w])
	in.r, in.buf = 0, buf
}

// malformed is a message that breaks the protocol.
type malformed struct {
	kind byte
	what string
}

func (m *malformed) Error() string {
	return fmt.Sprintf("malformed message %q of the server: %s", m.kind, m.what)
}

// body reads the fields of one message and keeps whether they were all there.
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

func (b *body) int16() int {
	if f := b.take(2); f != nil {
		return int(int16(binary.BigEndian.Uint16(f)))
	}
	return 0
}

func (b *body) uint32() uint32 {
	if f := b.take(4); f != nil {
		return binary.BigEndian.Uint32(f)
	}
	return 0
}

// text reads a zero-terminated string.
func (b *body) text() string {
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
