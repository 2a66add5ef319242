package mux

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"pgregory.net/rapid"
)

// pair returns two sessions over one pipe.
func pair(t interface{ Cleanup(func()) }) (opens, accepts *Session) {
	a, b := net.Pipe()
	opens, accepts = New(a), New(b)
	t.Cleanup(func() {
		_ = opens.Close()
		_ = accepts.Close()
	})
	return opens, accepts
}

// both opens a stream and accepts it.
func both(t testing.TB, opens, accepts *Session) (a, b *Stream) {
	t.Helper()
	a, err := opens.Open()
	if err != nil {
		t.Fatal(err)
	}
	b, err = accepts.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return a, b
}

func TestStreamsKeepTheirBytesApart(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		opens, accepts := pair(r)
		go func() { // an echo
			for {
				st, err := accepts.Accept()
				if err != nil {
					return
				}
				go func() {
					_, _ = io.Copy(st, st)
					_ = st.CloseWrite()
				}()
			}
		}()
		sizes := rapid.SliceOfN(rapid.IntRange(0, 3*window), 1, 5).Draw(r, "sizes")
		results := make(chan error, len(sizes))
		for n, size := range sizes {
			st, err := opens.Open()
			if err != nil {
				r.Fatal(err)
			}
			sent := bytes.Repeat([]byte{byte('a' + n)}, size)
			go func() {
				_, _ = st.Write(sent)
				_ = st.CloseWrite()
			}()
			go func() {
				got, err := io.ReadAll(st)
				if err == nil && !bytes.Equal(got, sent) {
					err = fmt.Errorf("stream %d: %d bytes come back of %d", n, len(got), len(sent))
				}
				results <- err
			}()
		}
		for range sizes {
			if err := <-results; err != nil {
				r.Error(err)
			}
		}
	})
}

func TestAStreamNobodyReadsHoldsUpNoOther(t *testing.T) {
	opens, accepts := pair(t)
	slow, _ := both(t, opens, accepts)
	written := make(chan int, 1)
	go func() {
		n, _ := slow.Write(make([]byte, 10*window))
		written <- n
	}()
	a, b := both(t, opens, accepts)
	for n := range 2 * window / 1000 {
		if _, err := a.Write(make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(b, make([]byte, 1000)); err != nil {
			t.Fatalf("after %d: %v", n, err)
		}
	}
	_ = slow.Close()
	if n := <-written; n > window {
		t.Errorf("%d bytes were sent, the window is %d", n, window)
	}
}

func TestEndsAreSeenEachByItself(t *testing.T) {
	opens, accepts := pair(t)
	a, b := both(t, opens, accepts)
	if err := a.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the other side reads %v", err)
	}
	if _, err := a.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("writing after the end gives %v", err)
	}
	if _, err := b.Write([]byte("still")); err != nil {
		t.Fatal(err)
	}
	if err := b.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(a); err != nil || string(got) != "still" {
		t.Errorf("%q, %v", got, err)
	}
	for _, s := range []*Session{opens, accepts} {
		if n := len(s.streams); n > 0 {
			t.Errorf("%d streams are remembered after their end", n)
		}
	}
}

func TestCloseReachesWhoWaits(t *testing.T) {
	opens, accepts := pair(t)
	a, b := both(t, opens, accepts)
	failed := make(chan error, 2)
	go func() { _, err := b.Read(make([]byte, 1)); failed <- err }()
	go func() { _, err := b.Write(make([]byte, 3*window)); failed <- err }()
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := <-failed; !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("who waited got %v", err)
		}
	}
}

func TestTheEndOfThePipeEndsAll(t *testing.T) {
	opens, accepts := pair(t)
	a, b := both(t, opens, accepts)
	_ = opens.Close()
	<-accepts.Done()
	for _, st := range []*Stream{a, b} {
		if _, err := st.Read(make([]byte, 1)); !errors.Is(err, ErrClosed) {
			t.Errorf("reading gives %v", err)
		}
	}
	if _, err := opens.Open(); !errors.Is(err, ErrClosed) {
		t.Errorf("opening gives %v", err)
	}
	if _, err := accepts.Accept(); !errors.Is(err, ErrClosed) || accepts.Err() == nil {
		t.Errorf("accepting gives %v", err)
	}
}

// silent is a pipe whose other side sends what it was given and takes anything.
type silent struct{ io.Reader }

func (silent) Write(p []byte) (int, error) { return len(p), nil }
func (silent) Close() error                { return nil }

func frame(kind byte, id uint32, payload []byte) []byte {
	b := binary.BigEndian.AppendUint32([]byte{kind}, id)
	return append(binary.BigEndian.AppendUint32(b, uint32(len(payload))), payload...)
}

// TestABrokenPeerEndsTheSession holds that no peer can take memory without
// bound.
func TestABrokenPeerEndsTheSession(t *testing.T) {
	many := []byte{}
	for id := range uint32(backlog + 1) {
		many = append(many, frame(kindOpen, id, nil)...)
	}
	flood := frame(kindOpen, 1, nil)
	for range window/most + 1 {
		flood = append(flood, frame(kindData, 1, make([]byte, most))...)
	}
	for name, sent := range map[string][]byte{
		"too long a frame":       binary.BigEndian.AppendUint32(frame(kindData, 1, nil)[:5], most+1),
		"opened twice":           append(frame(kindOpen, 1, nil), frame(kindOpen, 1, nil)...),
		"too many streams":       many,
		"more than the window":   flood,
		"a short credit":         append(frame(kindOpen, 1, nil), frame(kindCredit, 1, []byte{1})...),
		"an unknown kind":        append(frame(kindOpen, 1, nil), frame(99, 1, nil)...),
		"the end in mid-frame":   frame(kindData, 1, make([]byte, 10))[:12],
		"the end in mid-heading": {kindOpen, 0},
	} {
		s := New(silent{bytes.NewReader(sent)})
		<-s.Done()
		if err := s.Err(); !errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzSession(f *testing.F) {
	f.Add(frame(kindOpen, 1, nil))
	f.Add(append(frame(kindOpen, 7, nil), frame(kindData, 7, []byte("hello"))...))
	f.Add(append(frame(kindOpen, 7, nil), frame(kindEnd, 7, nil)...))
	f.Add(append(frame(kindOpen, 7, nil), frame(kindReset, 7, nil)...))
	f.Fuzz(func(t *testing.T, sent []byte) {
		s := New(silent{bytes.NewReader(sent)})
		<-s.Done()
		if s.Err() == nil {
			t.Error("over without a reason")
		}
	})
}
