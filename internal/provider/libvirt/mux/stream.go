package mux

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync"
)

// Stream is one byte stream of a session. Read and Write may be called at the
// same time, by one goroutine each.
type Stream struct {
	id      uint32
	session *Session

	mu       sync.Mutex
	changed  sync.Cond // any of what follows
	in       []byte    // arrived, not yet read
	consumed int       // read, not yet credited to the sender
	inEnd    bool      // the other side writes no more
	credit   int       // what may be sent
	outEnd   bool      // this side writes no more
	err      error     // why the stream is over
}

func newStream(s *Session, id uint32) *Stream {
	st := &Stream{id: id, session: s, credit: window}
	st.changed.L = &st.mu
	return st
}

// Read implements io.Reader: io.EOF when the other side has ended its writing.
func (st *Stream) Read(p []byte) (int, error) {
	st.mu.Lock()
	for len(st.in) == 0 && !st.inEnd && st.err == nil {
		st.changed.Wait()
	}
	if len(st.in) == 0 {
		defer st.mu.Unlock()
		if st.inEnd {
			return 0, io.EOF
		}
		return 0, st.err
	}
	n := copy(p, st.in)
	if st.in = st.in[n:]; len(st.in) == 0 {
		st.in = nil
	}
	st.consumed += n
	give := 0
	// Half a window at a time keeps the number of small frames low.
	if st.consumed >= window/2 && !st.inEnd && st.err == nil {
		give, st.consumed = st.consumed, 0
	}
	st.mu.Unlock()
	if give > 0 {
		// A failure ends the session, which the next call sees.
		_ = st.session.send(kindCredit, st.id, binary.BigEndian.AppendUint32(nil, uint32(give)))
	}
	return n, nil
}

// Write implements io.Writer. It waits while the reader is a window behind.
func (st *Stream) Write(p []byte) (int, error) {
	for done := 0; ; {
		st.mu.Lock()
		for st.credit == 0 && st.err == nil && !st.outEnd && done < len(p) {
			st.changed.Wait()
		}
		if st.err != nil || st.outEnd {
			err := st.err
			st.mu.Unlock()
			if err == nil {
				err = io.ErrClosedPipe
			}
			return done, err
		}
		n := min(len(p)-done, st.credit, most)
		st.credit -= n
		st.mu.Unlock()
		if n == 0 {
			return done, nil
		}
		if err := st.session.send(kindData, st.id, p[done:done+n]); err != nil {
			return done, err
		}
		if done += n; done == len(p) {
			return done, nil
		}
	}
}

// CloseWrite ends this side's writing; the other side reads io.EOF.
func (st *Stream) CloseWrite() error {
	st.mu.Lock()
	if st.outEnd || st.err != nil {
		defer st.mu.Unlock()
		return st.err
	}
	st.outEnd = true
	over := st.inEnd
	st.changed.Broadcast()
	st.mu.Unlock()
	err := st.session.send(kindEnd, st.id, nil)
	if over {
		st.session.forget(st.id)
	}
	return err
}

// Close ends the stream in both directions. What was written before a
// CloseWrite still arrives.
func (st *Stream) Close() error {
	st.mu.Lock()
	over := st.err != nil || st.inEnd && st.outEnd
	if st.err == nil {
		st.err = io.ErrClosedPipe
	}
	st.changed.Broadcast()
	st.mu.Unlock()
	st.session.forget(st.id)
	if over {
		return nil
	}
	return st.session.send(kindReset, st.id, nil)
}

func (st *Stream) arrived(p []byte) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if len(st.in)+st.consumed+len(p) > window {
		return fmt.Errorf("%w: the sender of stream %d exceeds its window", ErrClosed, st.id)
	}
	st.in = append(st.in, p...)
	st.changed.Broadcast()
	return nil
}

func (st *Stream) credited(n int) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.credit = min(st.credit+n, window)
	st.changed.Broadcast()
}

func (st *Stream) ended() {
	st.mu.Lock()
	st.inEnd = true
	over := st.outEnd
	st.changed.Broadcast()
	st.mu.Unlock()
	if over {
		st.session.forget(st.id)
	}
}

// fail ends the stream. What has arrived can still be read.
func (st *Stream) fail(why error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.err == nil {
		st.err = why
	}
	st.changed.Broadcast()
}
