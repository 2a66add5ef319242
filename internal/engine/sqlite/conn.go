package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// conn is one session: a connection of its own with every statement prepared.
//
// # Who writes
//
// One session at a time has the writer's lock of a database. A transaction that
// begins to read and wants to write later can't get it any more once another
// has written, because it has seen what is no longer so; waiting would not
// help, and it would have to begin anew. So Begin takes the lock at once
// (BEGIN IMMEDIATE), unless the transaction type says that it only reads:
// readers see the snapshot of their first statement and wait for nobody. The
// other kinds of Begin, which ask for an isolation by name, begin as readers,
// and a write that comes too late is an error to be retried, as a serialization
// failure is elsewhere. Outside a transaction, each statement that writes or
// has a lock token is a writing transaction of its own.
//
// # Waiting
//
// A session that finds the lock taken tries again after pauses that grow, those
// of SQLite's own busy handler, up to the setting busy_timeout. The loop is
// here rather than in the library so that waiting sessions can be counted and
// a context that ends is noticed.
//
// One goroutine uses a conn at a time. close alone may be called from another
// one: a call under way then ends with an error.
type conn struct {
	db       *database
	h        *handle
	readOnly bool // the transaction type that runs says that it only reads

	known   map[*workload.Statement]*statement
	control [controls]*statement
	scratch scratch
	rows    rows
	inTx    bool
	failed  bool // a statement of the transaction failed: only Rollback is left

	state   atomic.Int32 // what the session does, for wait events
	closing atomic.Bool
	told    atomic.Int64 // the round of counting that tally answers
	tally   [tallies]atomic.Int64

	mu      sync.Mutex // held through a call: guards h against close and counting
	watched sync.Mutex // guards what follows
	done    <-chan struct{}
	unwatch func() bool
}

// The statements of transaction control.
const (
	beginWrite = iota
	beginRead
	commit
	rollback
	controls
)

// What a session does.
const (
	idle int32 = iota
	running
	waitingToWrite
	committing
	checkpointing
	activities
)

func newConn(ctx context.Context, db *database, h *handle, d *workload.Definition) (*conn, error) {
	c := &conn{db: db, h: h, known: map[*workload.Statement]*statement{}}
	for i, sql := range [controls]string{"BEGIN IMMEDIATE", "BEGIN", "COMMIT", "ROLLBACK"} {
		st, err := h.prepare(sql)
		if err != nil {
			return nil, errors.Join(err, c.close())
		}
		c.control[i] = st
	}
	for _, s := range d.Statements {
		if _, err := c.statementOf(s); err != nil {
			return nil, errors.Join(err, c.close())
		}
	}
	return c, ctx.Err()
}

// prepare renders and compiles s.
func (c *conn) prepare(s *workload.Statement) (*statement, error) {
	text, err := language().Render(s)
	if err != nil {
		return nil, err
	}
	st, err := c.h.prepare(text.SQL)
	if err != nil {
		return nil, fmt.Errorf("statement %q: %w", s.Name, err)
	}
	if st.params != len(s.Params) {
		err := fmt.Errorf("statement %q has %d parameters, and declares %d", s.Name, st.params, len(s.Params))
		st.finalize()
		return nil, err
	}
	st.name, st.locks = s.Name, text.Locks
	return st, nil
}

// statementOf is the prepared form of s, made now where s is none of the
// definition's: the query of a check, say.
func (c *conn) statementOf(s *workload.Statement) (*statement, error) {
	if st, ok := c.known[s]; ok {
		return st, nil
	}
	st, err := c.prepare(s)
	if err == nil {
		c.known[s] = st
	}
	return st, err
}

// ReadOnly implements engine.Reader.
func (c *conn) ReadOnly(only bool) { c.readOnly = only }

// Run implements workload.Conn. In the steady state it allocates nothing. The
// Result aliases buffers that the next call on c overwrites.
func (c *conn) Run(ctx context.Context, s *workload.Statement, args []workload.Value) (workload.Result, error) {
	if err := c.enter(ctx); err != nil {
		return workload.Result{}, fmt.Errorf("statement %q: %w", s.Name, err)
	}
	defer c.leave()
	st, err := c.statementOf(s)
	if err != nil {
		return workload.Result{}, err
	}
	r, err := c.run(ctx, st, args)
	if err != nil {
		c.failed = c.inTx
		return workload.Result{}, fmt.Errorf("statement %q: %w", st.name, err)
	}
	return r, nil
}

// run runs st, in a transaction of its own where none is open.
func (c *conn) run(ctx context.Context, st *statement, args []workload.Value) (workload.Result, error) {
	switch {
	case c.failed:
		return workload.Result{}, errors.New("the transaction has failed, and only a rollback is left")
	case c.readOnly && (st.writes || st.locks):
		return workload.Result{}, errors.New("it writes, and the transaction type says that it only reads")
	}
	if st.writes && !c.inTx {
		c.state.Store(committing)
	}
	if c.inTx || !st.locks || st.writes {
		r, err := c.execute(ctx, st, args)
		if err == nil && st.writes && !c.inTx {
			err = c.written()
		}
		return r, err
	}
	// A read that locks, alone: it waits for the lock and lets it go again.
	if _, err := c.execute(ctx, c.control[beginWrite], nil); err != nil {
		return workload.Result{}, err
	}
	r, err := c.execute(ctx, st, args)
	if err := errors.Join(err, c.step(c.control[rollback])); err != nil {
		return workload.Result{}, err
	}
	return r, nil
}

// execute binds and runs st to its end.
func (c *conn) execute(ctx context.Context, st *statement, args []workload.Value) (workload.Result, error) {
	if err := st.bind(args, &c.scratch); err != nil {
		return workload.Result{}, err
	}
	c.rows.clear()
	rc, err := c.first(ctx, st)
	for ; err == nil && rc == sqlite3.SQLITE_ROW; rc = st.step() {
		err = c.rows.add(st)
	}
	if err == nil && rc != sqlite3.SQLITE_DONE {
		err = c.failure(ctx, rc)
	}
	st.reset()
	if err != nil {
		return workload.Result{}, err
	}
	r := workload.Result{Columns: len(st.columns), Values: c.rows.values}
	if st.changes {
		r.Affected = sqlite3.Xsqlite3_changes64(c.h.tls, c.h.db)
	}
	return r, nil
}

// first makes the first step of st, and again after pauses where another
// session has the writer's lock. Nothing has been done when that shows.
func (c *conn) first(ctx context.Context, st *statement) (int32, error) {
	var since time.Time
	before := c.state.Load()
	for try := 0; ; try++ {
		rc := st.step()
		if rc&0xff != sqlite3.SQLITE_BUSY || rc == sqlite3.SQLITE_BUSY_SNAPSHOT {
			if try > 0 {
				c.state.Store(before)
				c.db.waited(since)
			}
			return rc, nil
		}
		st.reset()
		if c.inTx {
			return 0, errUpgrade // waiting would not make its snapshot new
		}
		if try == 0 {
			since = c.db.clock.Now()
		}
		c.state.Store(waitingToWrite)
		if err := c.pause(ctx, try, since); err != nil {
			c.state.Store(before)
			c.db.waited(since)
			return 0, err
		}
	}
}

// pauseAfter is the pause after a number of tries for the writer's lock: those
// of SQLite's own busy handler, sqliteDefaultBusyCallback.
func pauseAfter(try int) time.Duration {
	millis := [...]time.Duration{1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100}
	return millis[min(try, len(millis)-1)] * time.Millisecond
}

// pause waits before the next try, unless the time for all of them is over.
func (c *conn) pause(ctx context.Context, try int, since time.Time) error {
	now := c.db.clock.Now()
	left := c.db.busyTimeout - now.Sub(since)
	if left <= 0 {
		return fmt.Errorf("%w: %v", errWaited, c.db.busyTimeout)
	}
	if err := c.db.clock.SleepUntil(ctx, now.Add(min(pauseAfter(try), left))); err != nil {
		return err
	}
	if c.closing.Load() {
		return errClosed
	}
	return nil
}

// failure is the error of a statement that ended with rc: where the context's
// end interrupted it, that of the context.
func (c *conn) failure(ctx context.Context, rc int32) error {
	if rc&0xff == sqlite3.SQLITE_INTERRUPT {
		if c.closing.Load() {
			return errClosed
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return c.h.failure(rc)
}

// Tx implements workload.Conn. Commit in a transaction in which a statement
// failed rolls back and is an error; Rollback outside a transaction does
// nothing.
func (c *conn) Tx(ctx context.Context, op workload.TxOp) error {
	if err := c.enter(ctx); err != nil {
		return fmt.Errorf("transaction control: %w", err)
	}
	defer c.leave()
	switch op {
	case workload.Begin, workload.BeginReadCommitted, workload.BeginRepeatableRead, workload.BeginSerializable:
		if err := c.begin(ctx, op); err != nil {
			return fmt.Errorf("begin: %w", err)
		}
	case workload.Commit:
		if err := c.commit(); err != nil {
			return fmt.Errorf("commit: %w", err)
		}
	case workload.Rollback:
		if err := c.rollback(); err != nil {
			return fmt.Errorf("rollback: %w", err)
		}
	default:
		return fmt.Errorf("unknown transaction step %d", op)
	}
	return nil
}

func (c *conn) begin(ctx context.Context, op workload.TxOp) error {
	if c.inTx && !c.failed {
		return errors.New("a transaction is open already")
	}
	if err := c.rollback(); err != nil {
		return err
	}
	which := beginRead
	if op == workload.Begin && !c.readOnly {
		which = beginWrite
	}
	if _, err := c.execute(ctx, c.control[which], nil); err != nil {
		return err
	}
	c.inTx = true
	return nil
}

func (c *conn) commit() error {
	switch {
	case !c.inTx:
		return errors.New("no transaction is open")
	case c.failed:
		return errors.Join(errors.New("the transaction was rolled back, because a statement in it had failed"), c.rollback())
	}
	c.state.Store(committing)
	if err := c.step(c.control[commit]); err != nil {
		c.failed = true
		return err
	}
	c.inTx = false
	return c.written()
}

// rollback ends what is open; the library may have ended it already.
func (c *conn) rollback() error {
	open := c.inTx
	c.inTx, c.failed = false, false
	if !open {
		return nil
	}
	c.db.rollbacks.Add(1)
	if c.h.idle() {
		return nil
	}
	return c.step(c.control[rollback])
}

// step runs a statement without rows that waits for nobody.
func (c *conn) step(st *statement) error {
	rc := st.step()
	st.reset()
	if rc != sqlite3.SQLITE_DONE {
		return c.h.failure(rc)
	}
	return nil
}

// written ends what changed the database: it is counted, and where the WAL has
// become long, its pages go into the database.
func (c *conn) written() error {
	frames := c.h.takeFrames()
	if frames == 0 {
		return nil // it changed nothing
	}
	c.db.committed(frames)
	if every := c.db.checkpointEvery; every == 0 || frames < every {
		return nil
	}
	c.state.Store(checkpointing)
	return c.db.checkpoint(c.h, frames)
}

// enter begins a call.
func (c *conn) enter(ctx context.Context) error {
	c.mu.Lock()
	if c.closing.Load() {
		c.mu.Unlock()
		return errClosed
	}
	if done := ctx.Done(); done != c.done {
		c.watch(ctx, done)
	}
	if err := ctx.Err(); err != nil {
		c.mu.Unlock()
		return err
	}
	c.state.Store(running)
	return nil
}

// leave ends a call, and tells the counters where they have asked.
func (c *conn) leave() {
	if round := c.db.round.Load(); round != c.told.Load() {
		c.count(round)
	}
	c.state.Store(idle)
	c.mu.Unlock()
}

// interruptEvery is how often a call whose context has ended is interrupted
// again: an interrupt that comes just before a statement begins is lost.
const interruptEvery = 10 * time.Millisecond

// watch makes ctx the context whose end interrupts calls. Users pass the same
// one call after call, so that a call costs a comparison of channels.
func (c *conn) watch(ctx context.Context, done <-chan struct{}) {
	c.watched.Lock()
	defer c.watched.Unlock()
	if c.unwatch != nil {
		c.unwatch()
	}
	c.done, c.unwatch = done, nil
	if done == nil {
		return
	}
	c.unwatch = context.AfterFunc(ctx, func() { c.expire(done) })
}

// expire interrupts the call under way until it ends, as long as done is the
// end of the context that is watched.
func (c *conn) expire(done <-chan struct{}) {
	for !c.mu.TryLock() {
		c.watched.Lock()
		if c.done != done || c.closing.Load() {
			c.watched.Unlock()
			return
		}
		c.h.interrupt()
		c.watched.Unlock()
		_ = c.db.clock.SleepUntil(context.Background(), c.db.clock.Now().Add(interruptEvery))
	}
	c.mu.Unlock()
}

// Close implements engine.Conn.
func (c *conn) Close() error { return c.close() }

// close ends the session: a call under way is interrupted first. It may be
// called more than once.
func (c *conn) close() error {
	if c.closing.Swap(true) {
		return nil
	}
	for !c.mu.TryLock() {
		c.h.interrupt()
		_ = c.db.clock.SleepUntil(context.Background(), c.db.clock.Now().Add(interruptEvery))
	}
	defer c.mu.Unlock()
	c.watched.Lock()
	if c.unwatch != nil {
		c.unwatch()
	}
	c.watched.Unlock()
	c.count(c.db.round.Load())
	c.db.forget(c)
	for _, st := range c.known {
		st.finalize()
	}
	for _, st := range c.control {
		if st != nil {
			st.finalize()
		}
	}
	c.scratch.free(c.h.tls)
	return c.h.close()
}

var _ engine.Conn = (*conn)(nil)
