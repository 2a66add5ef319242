package socket

import (
	"context"
	"errors"
	"net"
	"testing"
)

// calls is Calls over one end of a pipe, and the other end.
func calls(t *testing.T) (*Calls, net.Conn) {
	t.Helper()
	near, far := net.Pipe()
	t.Cleanup(func() { _, _ = near.Close(), far.Close() })
	c := &Calls{}
	c.Over(near)
	return c, far
}

func TestOneCallAtATime(t *testing.T) {
	c, _ := calls(t)
	if err := c.Enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Enter(t.Context()); !errors.Is(err, errTwo) {
		t.Errorf("a second call beside the first: %v", err)
	}
	c.Leave()
	if err := c.Enter(t.Context()); err != nil {
		t.Errorf("after the first has ended: %v", err)
	}
	if first, outstanding := c.Close(); !first || !outstanding {
		t.Errorf("closed during a call: first %v, outstanding %v", first, outstanding)
	}
	c.Leave()
	var lost *Lost
	if err := c.Enter(t.Context()); !errors.As(err, &lost) || !errors.Is(err, net.ErrClosed) || !c.Closed() {
		t.Errorf("after Close: %v", err)
	}
	if first, _ := c.Close(); first {
		t.Error("a second Close is the first")
	}
	idle, _ := calls(t)
	if first, outstanding := idle.Close(); !first || outstanding {
		t.Errorf("closed without a call: first %v, outstanding %v", first, outstanding)
	}
}

func TestAnEndingContextCutsItsOwnCallOff(t *testing.T) {
	c, far := calls(t)
	ctx, cancel := context.WithCancel(t.Context())
	if err := c.Enter(ctx); err != nil {
		t.Fatal(err)
	}
	cancel()
	_, err := c.conn.Read(make([]byte, 1)) // returns when the deadline is set
	if err = c.Fail(err); !errors.Is(err, context.Canceled) || !errors.Is(c.Broken(), context.Canceled) {
		t.Errorf("the call that was cut off: %v", err)
	}
	c.Leave()
	if err := c.Enter(t.Context()); !errors.Is(err, context.Canceled) {
		t.Errorf("a call on a broken connection: %v", err)
	}
	if _, outstanding := c.Close(); !outstanding {
		t.Error("nobody knows that the server still works on an answer")
	}
	_ = far.Close()
}

func TestAContextThatEndsLateHitsNobody(t *testing.T) {
	c, far := calls(t)
	ended, cancel := context.WithCancel(t.Context())
	if err := c.Enter(ended); err != nil {
		t.Fatal(err)
	}
	c.Leave()
	cancel()
	if err := c.Enter(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("a call with a context that is over: %v", err)
	}
	// As if it came after the next call has begun.
	if err := c.Enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.expire(ended.Done(), context.Canceled)
	go func() { _, _ = far.Write([]byte{1}) }()
	if n, err := c.conn.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("the next call reads %d bytes, %v", n, err)
	}
	c.Leave()
	c.expire(t.Context().Done(), context.Canceled) // between calls
	go func() { _, _ = far.Write([]byte{1}) }()
	if n, err := c.conn.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("after a call: %d bytes, %v", n, err)
	}
}

func TestADeadlineThatHitNoCallIsTakenBack(t *testing.T) {
	c, far := calls(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := c.Enter(ctx); err != nil {
		t.Fatal(err)
	}
	c.expire(ctx.Done(), context.Canceled) // while the call has its answer already
	c.Leave()
	if err := c.Enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = far.Write([]byte{1}) }()
	if n, err := c.conn.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("the next call reads %d bytes, %v", n, err)
	}
}
