package mysql

import (
	"context"
	"errors"
	"sync"

	"github.com/loadstone-perf/loadstone/internal/engine/mysql/wire"
	"github.com/loadstone-perf/loadstone/internal/engine/sqltext"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// errEnded says that the server that is asked has ended.
var errEnded = errors.New("the database server has ended")

// askable is a server that counters and wait events are asked of.
type askable interface {
	own() wire.Config // of Loadstone's own connections, to no database
	Exited() <-chan struct{}
}

// link is a connection that asks one prepared question again and again. A
// connection that broke is made anew by the next question.
type link struct {
	server   askable
	question workload.Statement

	mu     sync.Mutex
	conn   *wire.Conn
	closed bool
}

func newLink(s askable, name, query string) link {
	return link{server: s, question: workload.Statement{Index: -1, Name: name, Text: query}}
}

// ask hands the answer to use, or returns an error, which is errEnded where no
// further question can be answered.
func (l *link) ask(ctx context.Context, use func(workload.Result)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.server.Exited():
		return errEnded
	default:
	}
	if l.closed {
		return errEnded
	}
	if l.conn == nil {
		cfg := l.server.own()
		cfg.Statements = []wire.Prepared{{Index: -1, Name: l.question.Name, Text: sqltext.Text{SQL: l.question.Text}}}
		conn, err := wire.Dial(ctx, cfg)
		if err != nil {
			return err
		}
		l.conn = conn
	}
	r, err := l.conn.Run(ctx, &l.question, nil)
	if err != nil {
		_ = l.conn.Close() // whatever it was, a new one is as good
		l.conn = nil
		return err
	}
	use(r)
	return nil
}

// close ends the connection for good; the question that is being asked is
// answered first.
func (l *link) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.conn != nil {
		_ = l.conn.Close() // nothing is lost with it
		l.conn = nil
	}
}
