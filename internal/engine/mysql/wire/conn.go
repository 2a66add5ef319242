package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/loadstone-perf/loadstone/internal/engine/socket"
	"github.com/loadstone-perf/loadstone/internal/engine/sqltext"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// Config says where to connect, as whom, and what to prepare.
type Config struct {
	Network  string // "unix" or "tcp"
	Address  string // path of the socket, or host:port
	User     string
	Password string // "" where the account has none
	Database string // "" for none
	// TLS is how to encrypt TCP; nil is not at all. Verified says that it
	// verifies the server, to whom the password itself may then go.
	TLS      *tls.Config
	Verified bool
	Timeout  time.Duration // of connecting and authentication; 0 is 30 s
	// Session are statements that run before all others: what holds in this
	// session alone.
	Session string

	// Statements are prepared before Dial returns, in one round trip.
	Statements []Prepared
	// Render gives the text of a statement that is not among Statements, which
	// is then prepared on its first use. nil refuses such statements.
	Render func(*workload.Statement) (sqltext.Text, error)
}

// Prepared is one statement to prepare.
type Prepared struct {
	Index int    // workload.Statement.Index; negative for a statement without one
	Name  string // workload.Statement.Name
	sqltext.Text
}

// connectTimeout bounds connecting and authentication where a Config does not.
const connectTimeout = 30 * time.Second

// Conn is one connection to a server. It implements engine.Conn.
//
// One goroutine uses it at a time; Close alone may be called from another,
// and makes a call under way fail with an error classed Connection.
type Conn struct {
	cfg     Config
	net     net.Conn
	tls     *tls.Conn // net, where it is encrypted
	link    socket.Link
	in      input
	out     []byte
	id      uint32 // the server's number of the connection
	version string // of the server
	mariaDB bool
	cached  bool // columns are described again only where they changed

	byIndex  []*statement
	known    map[*workload.Statement]*statement
	named    map[string]*statement
	control  [][]byte // what the transaction begins with; nil where it has begun, or none is wanted
	controls [workload.BeginSerializable + 1][][]byte
	open     bool // a transaction is open
	failed   bool // and a statement in it has failed
	values   []workload.Value
	results  int // sets of rows in this answer

	calls socket.Calls
}

// Dial connects, logs in and prepares c.Statements. ctx bounds this only; later
// calls watch their own.
func Dial(ctx context.Context, cfg Config) (*Conn, error) {
	c, err := dial(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to the database server at %s as %s: %w", cfg.Address, cfg.User, err)
	}
	if err := c.prepareAll(ctx, cfg.Statements); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

func dial(ctx context.Context, cfg Config) (*Conn, error) {
	timeout := cfg.Timeout
	if timeout <= 0 {
		timeout = connectTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var d net.Dialer
	n, err := d.DialContext(ctx, cfg.Network, cfg.Address)
	if err != nil {
		return nil, &socket.Lost{Err: err}
	}
	c := &Conn{cfg: cfg, net: n, known: map[*workload.Statement]*statement{}, named: map[string]*statement{}}
	c.in = newInput(n.Read)
	stop := context.AfterFunc(ctx, func() { _ = n.SetDeadline(time.Unix(1, 0)) })
	err = c.authenticate(ctx, cfg)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	if err == nil {
		c.net, err = c.link.Attach(c.net)
	}
	if err != nil {
		_ = n.Close()
		return nil, err
	}
	c.calls.Over(c.net)
	c.in = newInput(c.link.Fill)
	if cfg.Session != "" {
		err = c.Exec(ctx, cfg.Session)
	}
	if err == nil {
		err = c.isolation(ctx)
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// ID is the server's number of the connection.
func (c *Conn) ID() uint32 { return c.id }

// Version is what the server says of itself: "10.11.19-MariaDB", "8.0.36".
func (c *Conn) Version() string { return c.version }

// Encryption is the version of TLS in use, "TLS 1.3"; "" without.
func (c *Conn) Encryption() string {
	if c.tls == nil {
		return ""
	}
	return tls.VersionName(c.tls.ConnectionState().Version)
}

// MariaDB says whether the server is MariaDB, rather than MySQL.
func (c *Conn) MariaDB() bool { return c.mariaDB }

// Close ends the connection. It may be called more than once and from any
// goroutine. Where a statement is under way, or was given up, the server is
// asked to end it, so that it does not work on for nobody.
func (c *Conn) Close() error {
	first, outstanding := c.calls.Close()
	if !first {
		return nil
	}
	if !outstanding {
		// Best effort: without COM_QUIT the server notes an aborted client at most.
		_, _ = c.net.Write([]byte{1, 0, 0, 0, comQuit})
	}
	err := c.net.Close()
	if outstanding {
		c.kill()
	}
	if err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("close the connection to the database server: %w", err)
	}
	return nil
}

// killBound is how long asking the server to end a statement may take.
const killBound = 500 * time.Millisecond

// kill asks the server, over a connection of its own, to end the session: it
// does not notice a closed socket while it works. Nobody can do anything about
// a failure.
func (c *Conn) kill() {
	ctx, stop := context.WithTimeout(context.Background(), killBound)
	defer stop()
	cfg := c.cfg
	cfg.Database, cfg.Statements, cfg.Session = "", nil, ""
	killer, err := dial(ctx, cfg)
	if err != nil {
		return
	}
	defer func() { _ = killer.Close() }()
	_ = killer.Exec(ctx, fmt.Sprintf("KILL %d", c.id))
}

// enter begins a call: the connection is usable, ctx has not ended and is
// watched, and the buffers are empty.
func (c *Conn) enter(ctx context.Context) error {
	if err := c.calls.Enter(ctx); err != nil {
		return err
	}
	c.out = c.out[:0]
	c.values, c.results = c.values[:0], 0
	c.in.reset()
	return nil
}

// leave ends a call.
func (c *Conn) leave() { c.calls.Leave() }

// fail records that the connection can't go on and returns the error to give.
func (c *Conn) fail(err error) error { return c.calls.Fail(err) }
