// Package mux carries many byte streams over one: over the virtio-serial port
// between a host and its guest, which is a single pipe with two ends.
//
// One side opens streams (Open), the other accepts them (Accept). Each stream
// has a window of its own, so that one whose reader is slow holds up no other;
// each direction can be ended by itself, as with a socket. The end of the pipe
// ends every stream.
//
// A frame is a kind (1 byte), a stream's number (4 bytes), a length (4 bytes),
// all big endian, and that many bytes of payload.
package mux

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Kinds of frames.
const (
	kindOpen   = 1 // a new stream
	kindData   = 2 // payload: bytes of the stream
	kindCredit = 3 // payload: 4 bytes, how much more the sender may send
	kindEnd    = 4 // the sender writes no more
	kindReset  = 5 // the stream is over in both directions
)

const (
	headerBytes = 9
	// window is how much a sender may be ahead of the reader.
	window = 256 << 10
	// most is the longest payload. Small frames let streams take turns.
	most = 16 << 10
	// backlog is how many streams may wait to be accepted.
	backlog = 256
)

// ErrClosed is the error of a stream or session that is over.
var ErrClosed = errors.New("the connection to the guest is over")

// Session is one pipe with its streams.
type Session struct {
	pipe     io.ReadWriteCloser
	accepted chan *Stream
	done     chan struct{}

	writing sync.Mutex // one frame at a time

	mu      sync.Mutex
	streams map[uint32]*Stream
	next    uint32
	err     error // why the session is over
}

// New begins a session over pipe, which it closes at its end.
func New(pipe io.ReadWriteCloser) *Session {
	s := &Session{pipe: pipe, accepted: make(chan *Stream, backlog), done: make(chan struct{}), streams: map[uint32]*Stream{}}
	go s.read()
	return s
}

// Done is closed when the session is over.
func (s *Session) Done() <-chan struct{} { return s.done }

// Err says why the session is over; nil while it is not.
func (s *Session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Close ends the session and all its streams.
func (s *Session) Close() error {
	s.end(ErrClosed)
	return nil
}

// Open begins a stream.
func (s *Session) Open() (*Stream, error) {
	s.mu.Lock()
	if s.err != nil {
		defer s.mu.Unlock()
		return nil, s.err
	}
	s.next++
	st := newStream(s, s.next)
	s.streams[st.id] = st
	s.mu.Unlock()
	if err := s.send(kindOpen, st.id, nil); err != nil {
		return nil, err
	}
	return st, nil
}

// Accept waits for a stream that the other side began.
func (s *Session) Accept() (*Stream, error) {
	select {
	case st := <-s.accepted:
		return st, nil
	case <-s.done:
		return nil, s.Err()
	}
}

// end ends the session with its first reason.
func (s *Session) end(why error) {
	s.mu.Lock()
	if s.err != nil {
		s.mu.Unlock()
		return
	}
	s.err = why
	streams := s.streams
	s.streams = map[uint32]*Stream{}
	s.mu.Unlock()
	close(s.done)
	_ = s.pipe.Close()
	for _, st := range streams {
		st.fail(why)
	}
}

// send writes one frame; a failure ends the session.
func (s *Session) send(kind byte, id uint32, payload []byte) error {
	frame := make([]byte, headerBytes, headerBytes+len(payload))
	frame[0] = kind
	binary.BigEndian.PutUint32(frame[1:], id)
	binary.BigEndian.PutUint32(frame[5:], uint32(len(payload)))
	s.writing.Lock()
	_, err := s.pipe.Write(append(frame, payload...))
	s.writing.Unlock()
	if err != nil {
		s.end(fmt.Errorf("%w: %w", ErrClosed, err))
		return s.Err()
	}
	return nil
}

// read takes frames until the pipe ends.
func (s *Session) read() {
	in := bufio.NewReaderSize(s.pipe, 64<<10)
	var head [headerBytes]byte
	for {
		if _, err := io.ReadFull(in, head[:]); err != nil {
			s.end(fmt.Errorf("%w: %w", ErrClosed, err))
			return
		}
		n := binary.BigEndian.Uint32(head[5:])
		if n > most {
			s.end(fmt.Errorf("%w: a frame of %d bytes, more than %d", ErrClosed, n, most))
			return
		}
		payload := make([]byte, n)
		if _, err := io.ReadFull(in, payload); err != nil {
			s.end(fmt.Errorf("%w: %w", ErrClosed, err))
			return
		}
		if err := s.take(head[0], binary.BigEndian.Uint32(head[1:]), payload); err != nil {
			s.end(err)
			return
		}
	}
}

// take handles one frame. Frames for a stream that is over here, which the
// other side did not know yet, are dropped.
func (s *Session) take(kind byte, id uint32, payload []byte) error {
	if kind == kindOpen {
		return s.accept(id)
	}
	s.mu.Lock()
	st := s.streams[id]
	s.mu.Unlock()
	if st == nil {
		return nil
	}
	switch kind {
	case kindData:
		return st.arrived(payload)
	case kindCredit:
		if len(payload) != 4 {
			return fmt.Errorf("%w: a credit of %d bytes", ErrClosed, len(payload))
		}
		st.credited(int(binary.BigEndian.Uint32(payload)))
	case kindEnd:
		st.ended()
	case kindReset:
		s.forget(id)
		st.fail(io.ErrClosedPipe)
	default:
		return fmt.Errorf("%w: a frame of kind %d", ErrClosed, kind)
	}
	return nil
}

func (s *Session) accept(id uint32) error {
	st := newStream(s, id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.streams[id] != nil {
		return fmt.Errorf("%w: stream %d is opened twice", ErrClosed, id)
	}
	select {
	case s.accepted <- st:
		s.streams[id] = st
		return nil
	default:
		return fmt.Errorf("%w: more than %d streams wait to be accepted", ErrClosed, backlog)
	}
}

func (s *Session) forget(id uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streams, id)
}
