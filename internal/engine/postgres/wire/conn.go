package wire

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loadstone-perf/loadstone/internal/engine/socket"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// Config says where to connect, as whom, and what to prepare.
type Config struct {
	Network  string // "unix" or "tcp"
	Address  string // path of the socket, or host:port
	User     string
	Password string // "" where the server asks for none
	Database string
	// From, where it is not nil, says how to connect in place of all of the
	// above, TLS included. It is made by pgconn.ParseConfig; it is copied, not
	// changed.
	From *pgconn.Config

	// Statements are prepared and described before Dial returns, in one
	// round trip.
	Statements []Prepared
	// Render gives the SQL of a statement that is not among Statements,
	// which is then prepared on its first use. nil refuses such statements.
	// An engine.Dialect's Statement method fits.
	Render func(*workload.Statement) (string, error)
}

// Prepared is one statement to prepare.
type Prepared struct {
	Index int    // workload.Statement.Index; negative for a statement without one
	Name  string // workload.Statement.Name
	SQL   string // with $1, $2, … for the parameters
}

// connectTimeout bounds connecting and authentication.
const connectTimeout = 30 * time.Second

// Conn is one connection to a PostgreSQL server. It implements engine.Conn.
//
// One goroutine uses it at a time; Close alone may be called from another,
// and makes a call under way fail with an error classed Connection.
type Conn struct {
	net  net.Conn
	link socket.Link
	in   input
	out  []byte

	byIndex   []*statement
	known     map[*workload.Statement]*statement
	named     map[string]*statement
	render    func(*workload.Statement) (string, error)
	control   [workload.Rollback + 1]*statement
	adhoc     int // statements prepared so far, for their names on the server
	begin     *statement
	txStatus  byte
	values    []workload.Value
	pid       uint32
	secretKey []byte
	tls       *tls.Config // nil where the connection is not encrypted

	calls socket.Calls
}

// Dial connects, authenticates and prepares c.Statements. ctx bounds this
// only; later calls watch their own.
func Dial(ctx context.Context, c Config) (*Conn, error) {
	pc, err := c.parameters()
	if err != nil {
		return nil, fmt.Errorf("connect to PostgreSQL at %s: %w", c.Address, err)
	}
	conn, err := Connect(ctx, pc)
	if err != nil {
		return nil, err
	}
	conn.render = c.Render
	if err := conn.prepareAll(ctx, c.Statements); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// parameters says the same in pgconn's words. Nothing in it comes from the
// environment.
func (c Config) parameters() (*pgconn.Config, error) {
	if c.From != nil {
		return c.From.Copy(), nil
	}
	pc, err := pgconn.ParseConfig("host=localhost port=5432 sslmode=disable target_session_attrs=any")
	if err != nil {
		return nil, fmt.Errorf("the PG… environment variables: %w", err)
	}
	pc.User, pc.Password, pc.Database = c.User, c.Password, c.Database
	pc.TLSConfig, pc.Fallbacks = nil, nil
	pc.ConnectTimeout = connectTimeout
	pc.RuntimeParams = map[string]string{"application_name": "loadstone", "client_encoding": "UTF8"}
	// The address is ours, not looked up from a host name.
	pc.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	pc.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, c.Network, c.Address)
	}
	return pc, nil
}

// Connect connects as cfg, made by pgconn.ParseConfig, says; nothing but
// transaction control is prepared.
func Connect(ctx context.Context, cfg *pgconn.Config) (*Conn, error) {
	pc, err := pgconn.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to PostgreSQL as %s to database %s: %w", cfg.User, cfg.Database, err)
	}
	h, err := pc.Hijack()
	if err != nil {
		return nil, fmt.Errorf("take over the connection to PostgreSQL: %w", err)
	}
	if h.TxStatus != 'I' || h.Frontend.ReadBufferLen() != 0 {
		_ = h.Conn.Close()
		return nil, errors.New("take over the connection to PostgreSQL: the server said more than it should before the first statement")
	}
	c := &Conn{
		txStatus: h.TxStatus, pid: h.PID, secretKey: h.SecretKey, tls: cfg.TLSConfig,
		known: map[*workload.Statement]*statement{},
		named: map[string]*statement{},
	}
	if c.net, err = c.link.Attach(h.Conn); err != nil {
		_ = h.Conn.Close()
		return nil, err
	}
	c.calls.Over(c.net)
	c.in = newInput(&c.link)
	if err := c.prepareControl(ctx); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// Close ends the connection. It may be called more than once and from any
// goroutine. Where a statement is under way, or was given up, the server is
// asked to cancel it, so that it does not work on for nobody.
func (c *Conn) Close() error {
	first, outstanding := c.calls.Close()
	if !first {
		return nil
	}
	if !outstanding {
		// Best effort: without it the server logs a lost client at most.
		_, _ = c.net.Write([]byte{'X', 0, 0, 0, 4})
	} else {
		c.cancel()
	}
	if err := c.net.Close(); err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("close the connection to PostgreSQL: %w", err)
	}
	return nil
}

// cancelBound is how long asking for a cancel may take.
const cancelBound = 500 * time.Millisecond

// cancel asks the server, over a connection of its own, to give up the
// statement under way (Frontend/Backend Protocol, Canceling Requests in
// Progress). Nobody can do anything about a failure.
func (c *Conn) cancel() {
	addr := c.net.RemoteAddr()
	if addr == nil {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), cancelBound)
	defer stop()
	var d net.Dialer
	n, err := d.DialContext(ctx, addr.Network(), addr.String())
	if err != nil {
		return
	}
	defer func() { _ = n.Close() }()
	deadline, _ := ctx.Deadline()
	_ = n.SetDeadline(deadline)
	if c.tls != nil {
		t, err := c.encrypt(ctx, n)
		if err != nil {
			return
		}
		n = t
	}
	msg := binary.BigEndian.AppendUint32(nil, uint32(12+len(c.secretKey)))
	msg = binary.BigEndian.AppendUint32(msg, 80877102)
	msg = binary.BigEndian.AppendUint32(msg, c.pid)
	if _, err := n.Write(append(msg, c.secretKey...)); err == nil {
		_, _ = n.Read(msg[:1]) // the server closes once the signal is sent
	}
}

// encrypt asks for TLS on a new connection to the server (Frontend/Backend
// Protocol, SSL Session Encryption), so that the key of a cancel is not sent in
// the open where nothing else was.
func (c *Conn) encrypt(ctx context.Context, n net.Conn) (net.Conn, error) {
	answer := []byte{0}
	if _, err := n.Write([]byte{0, 0, 0, 8, 4, 210, 22, 47}); err != nil { // 80877103
		return nil, err
	}
	if _, err := io.ReadFull(n, answer); err != nil {
		return nil, err
	}
	if answer[0] != 'S' {
		return nil, errors.New("the server refuses TLS for a cancel")
	}
	t := tls.Client(n, c.tls)
	return t, t.HandshakeContext(ctx)
}

// enter begins a call: the connection is usable, ctx has not ended and is
// watched, and the buffers are empty.
func (c *Conn) enter(ctx context.Context) error {
	if err := c.calls.Enter(ctx); err != nil {
		return err
	}
	c.out = c.out[:0]
	c.in.reset()
	return nil
}

// leave ends a call.
func (c *Conn) leave() { c.calls.Leave() }

// fail records that the connection can't go on and returns the error to give.
func (c *Conn) fail(err error) error { return c.calls.Fail(err) }

// InTransaction tells whether the server is inside a transaction that Begin
// opened, failed or not.
func (c *Conn) InTransaction() bool { return c.begin != nil || c.txStatus != 'I' }
