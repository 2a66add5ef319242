package socket

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Lost is an error that leaves a connection unusable: what the server did with
// the request is unknown.
type Lost struct{ Err error }

// Error implements error.
func (l *Lost) Error() string { return "connection to the database server lost: " + l.Err.Error() }

// Unwrap returns why.
func (l *Lost) Unwrap() error { return l.Err }

// errTwo is a fault of the program.
var errTwo = errors.New("database connection used by two goroutines at once")

// The states of Calls. A call moves it from idle to busy and back, so that Close
// and an ending context know whether an answer is outstanding.
const (
	idle int32 = iota
	busy
	closed
)

// Calls lets one call at a time use a connection, and cuts a call off when its
// context ends. Over makes one ready; only Close may come from a goroutine
// beside the one that calls.
type Calls struct {
	conn   net.Conn
	state  atomic.Int32
	broken error // why the connection can't be used any more; set by its user only

	// mu orders an ending context's expire against the next call's watch.
	mu      sync.Mutex
	done    <-chan struct{} // of the watched context
	expired error           // why the network deadline is set; nil where it is not
	unwatch func() bool
}

// Over makes c the calls over conn.
func (c *Calls) Over(conn net.Conn) { c.conn = conn }

// Enter begins a call: the connection is usable, and ctx has not ended and is
// watched until the next call. An error that is not of the program's own making
// is a *Lost.
func (c *Calls) Enter(ctx context.Context) error {
	if !c.state.CompareAndSwap(idle, busy) {
		if c.Closed() {
			return &Lost{net.ErrClosed}
		}
		return errTwo
	}
	if c.broken != nil {
		c.Leave()
		return c.broken
	}
	if done := ctx.Done(); done != c.done {
		c.watch(ctx, done)
	}
	if err := ctx.Err(); err != nil {
		c.Leave()
		return &Lost{err}
	}
	return nil
}

// Leave ends a call.
func (c *Calls) Leave() { c.state.CompareAndSwap(busy, idle) }

// watch makes ctx the context whose end interrupts calls. Users pass the
// same context call after call, so a call costs a comparison of channels and
// no goroutine or timer.
//
// expire runs in a goroutine of its own and may be late: for a call that has
// ended, or while the next context's call runs. So it acts only while its
// context is the watched one and a call is under way, and a deadline that hit
// no call is taken back here.
func (c *Calls) watch(ctx context.Context, done <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unwatch != nil {
		c.unwatch()
	}
	c.done, c.unwatch = done, nil
	if c.expired != nil {
		// It fails only where the connection is closed.
		_ = c.conn.SetDeadline(time.Time{})
		c.expired = nil
	}
	if done != nil {
		c.unwatch = context.AfterFunc(ctx, func() { c.expire(done, ctx.Err()) })
	}
}

// expire interrupts the call under way, if it is done's.
func (c *Calls) expire(done <-chan struct{}, why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == done && c.state.Load() == busy {
		c.expired = why
		_ = c.conn.SetDeadline(time.Unix(1, 0))
	}
}

// Fail records that the connection can't go on, and returns the error to give, a
// *Lost: the context's where its end is the cause. The server's and the client's
// ideas of where they are differ from here on.
func (c *Calls) Fail(err error) error {
	c.mu.Lock()
	if c.expired != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		err = c.expired
	}
	c.mu.Unlock()
	if c.broken == nil {
		c.broken = &Lost{err}
	}
	return c.broken
}

// Broken is what Fail returned first; nil where the connection is usable.
func (c *Calls) Broken() error { return c.broken }

// Closed says whether Close was called.
func (c *Calls) Closed() bool { return c.state.Load() == closed }

// Close lets no call begin any more, and says whether it is the first to do so
// and whether an answer is outstanding: of a call under way, or of one that was
// given up. It does not close the connection.
func (c *Calls) Close() (first, outstanding bool) {
	was := c.state.Swap(closed)
	if was == closed {
		return false, false
	}
	c.mu.Lock()
	unwatch := c.unwatch
	given := c.expired != nil
	c.mu.Unlock()
	if unwatch != nil {
		unwatch()
	}
	return true, was == busy || given
}
