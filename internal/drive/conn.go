package drive

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/loadstone-perf/loadstone/internal/rng"
)

// openers is how many connections are opened at the same time at the start.
const openers = 16

// Back-off before an attempt: doubling from the first to the longest, each
// drawn uniformly from its upper half.
const (
	retryFirst, retryLongest   = time.Millisecond, 100 * time.Millisecond
	reopenFirst, reopenLongest = 50 * time.Millisecond, 2 * time.Second
)

func backoff(s *rng.Stream, try int, first, longest time.Duration) time.Duration {
	d := longest
	if try < 30 && first<<try < longest {
		d = first << try
	}
	return time.Duration(s.Between(int64(d/2), int64(d)))
}

// conn is one connection of the run. Who holds it (its user, or who took it
// from the pool) alone calls its methods but close; session is written under
// mu, since close comes from another goroutine.
type conn struct {
	number  int
	mu      sync.Mutex
	session Session
	shut    bool
}

// errShut says that the run is over.
var errShut = errors.New("the run has ended")

// set puts a new session in place, unless the run is over.
func (c *conn) set(s Session) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shut {
		_ = s.Close()
		return errShut
	}
	c.session = s
	return nil
}

// lose gives up a session that no longer works.
func (c *conn) lose() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session != nil {
		_ = c.session.Close()
		c.session = nil
	}
}

// close ends the session for good, also under a Do.
func (c *conn) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shut {
		return nil
	}
	c.shut = true
	if c.session == nil {
		return nil
	}
	return c.session.Close()
}

// openAll opens every connection.
func (r *run) openAll(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for w := range min(openers, len(r.conns)) {
		wg.Go(func() {
			for i := w; i < len(r.conns) && ctx.Err() == nil; i += openers {
				s, err := r.c.Target.Open(ctx, i)
				if err == nil {
					err = r.conns[i].set(s)
				}
				if err != nil {
					cancel(fmt.Errorf("opening connection %d of %d: %w", i+1, len(r.conns), err))
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// closeAll closes every connection. It is called once the run is over, or to
// end it: then a Do under way fails.
func (r *run) closeAll() {
	var wg sync.WaitGroup
	for w := range min(openers, len(r.conns)) {
		wg.Go(func() {
			for i := w; i < len(r.conns); i += openers {
				// What a server says to a good-bye changes nothing in the results.
				_ = r.conns[i].close()
			}
		})
	}
	wg.Wait()
}

// take gives u a connection that works: its own, or the next of the pool,
// opened anew where it was lost. waited says that it took time.
func (u *user) take() (c *conn, waited bool, err error) {
	r := u.r
	if c = u.conn; c == nil {
		if c, waited, err = u.fromPool(); err != nil {
			return nil, waited, err
		}
	}
	if c.session != nil {
		return c, waited, nil
	}
	if err := u.reopen(c); err != nil {
		if r.work.Err() == nil {
			u.stop(err)
		}
		u.give(c)
		return nil, true, err
	}
	return c, true, nil
}

// fromPool takes the next connection of the pool. Receivers of a channel are
// served in the order in which they came.
func (u *user) fromPool() (c *conn, waited bool, err error) {
	r := u.r
	select {
	case c = <-r.pool:
		return c, false, nil
	default:
	}
	begin := r.now()
	select {
	case c = <-r.pool:
		r.poolWaits.Add(1)
		r.poolWait.Add(int64(r.now() - begin))
		return c, true, nil
	case <-r.work.Done():
		return nil, true, r.work.Err()
	}
}

// give returns a connection that take gave.
func (u *user) give(c *conn) {
	if u.conn == nil {
		u.r.pool <- c // has room for all
	}
}

// reopen opens c again, with bounded attempts.
func (u *user) reopen(c *conn) error {
	r := u.r
	var last error
	for try := range r.c.MaxReopen {
		if try > 0 {
			if err := r.sleep(r.work, r.now()+backoff(&u.random, try-1, reopenFirst, reopenLongest)); err != nil {
				return err
			}
		}
		s, err := r.c.Target.Open(r.work, c.number)
		if err == nil {
			r.reopened.Add(1)
			return c.set(s)
		}
		if r.work.Err() != nil {
			return r.work.Err()
		}
		last = err
	}
	return fmt.Errorf("connection %d was lost and could not be opened again in %d attempts: %w", c.number+1, r.c.MaxReopen, last)
}
