package postgres

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/observe"
)

// waitsQuery counts the active sessions of users by what they wait for. It
// reads the function below the view pg_stat_activity, without its joins to the
// catalogues. With 64 sessions it costs the server about 0.2 ms of CPU, with 250
// about 0.3 ms (release 15): ten a second are 0.2 to 0.3 % of one CPU.
const waitsQuery = `SELECT coalesce(wait_event_type, ''), coalesce(wait_event, ''), count(*)
FROM pg_stat_get_activity(NULL)
WHERE state = 'active' AND backend_type = 'client backend' AND datid IN ` + workloadDatabases + `
GROUP BY 1, 2`

// stateOf names the wait event of an active session in the language of all
// engines (docs/formats): its class, a colon, and the server's own name of the
// event. ok is false for one that is not at work in the server: it waits for
// its client.
//
// Log is what waits until the write-ahead log is written: the writing itself
// (type IO) and the locks around it (LWLock), whose names get "Lock" at their
// end, as they had up to release 12, so that the two stay apart. Events of the
// log begin with "WAL", from release 17 on with "Wal" where the type is IO.
// Latch holds the locks inside the server: LWLock, pins of buffers, spinlocks,
// the extension of a table, and groups whose leader works for its members. All
// other heavy locks are users waiting for each other.
func stateOf(kind, event string) (state string, ok bool) {
	log := len(event) >= 3 && strings.EqualFold(event[:3], "WAL")
	switch {
	case kind == "":
		return "CPU", true
	case kind == "Client" || kind == "Activity":
		return "", false
	case kind == "LWLock" && log:
		return "Log:" + event + "Lock", true
	case kind == "IO" && log:
		return "Log:" + event, true
	case kind == "LWLock", kind == "BufferPin", kind == "Buffer",
		kind == "Lock" && event == "extend",
		kind == "Timeout" && event == "SpinDelay",
		kind == "IPC" && strings.HasSuffix(event, "GroupUpdate"):
		return "Latch:" + event, true
	case kind == "IO", kind == "Lock":
		return kind + ":" + event, true
	}
	return "Other:" + event, true
}

// waits is the observe.StateSource of a server: the active sessions of users
// by state, as in "Log:WALSync" or "Lock:transactionid". "CPU" is a session
// that waits for nothing: it runs, or would if it had a CPU.
type waits struct{ link link }

func newWaits(s *server) *waits { return &waits{link{server: s, query: waitsQuery}} }

// Name implements observe.StateSource.
func (*waits) Name() string { return "waits" }

// Poll implements observe.StateSource. A connection that broke is made anew
// once; the error is for a server that does not answer any more.
func (w *waits) Poll(ctx context.Context, add func(state string, n int)) error {
	rows, err := w.link.ask(ctx)
	if err != nil && !errors.Is(err, errEnded) && ctx.Err() == nil {
		rows, err = w.link.ask(ctx)
	}
	if err != nil {
		return err
	}
	for _, row := range rows {
		n, err := strconv.Atoi(string(row[2]))
		if err != nil {
			return errors.New("wait events: a count that is no number")
		}
		if state, ok := stateOf(string(row[0]), string(row[1])); ok {
			add(state, n)
		}
	}
	return nil
}

func (w *waits) close() { w.link.close() }

// Sources implements engine.Database.
func (s *server) Sources() []observe.Source { return []observe.Source{s.counters} }

// States implements engine.Database.
func (s *server) States() []observe.StateSource { return []observe.StateSource{s.waits} }
