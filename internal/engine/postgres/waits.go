package postgres

import (
	"context"
	"errors"
	"strconv"

	"github.com/loadstone-perf/loadstone/internal/observe"
)

// waitsQuery counts the active sessions of users by what they wait for. It
// reads the function below the view pg_stat_activity, without its joins to the
// catalogues. With 64 sessions it costs the server about 0.2 ms of CPU, with 250
// about 0.3 ms (release 15): ten a second are 0.2 to 0.3 % of one CPU.
const waitsQuery = `SELECT coalesce(wait_event_type || ':' || wait_event, 'CPU'), count(*)
FROM pg_stat_get_activity(NULL)
WHERE state = 'active' AND backend_type = 'client backend' AND datid IN ` + workloadDatabases + `
GROUP BY 1`

// waits is the observe.StateSource of a server: the active sessions of users
// by wait event, as in "IO:WALSync" or "Lock:transactionid". "CPU" is a
// session that waits for nothing: it runs, or would if it had a CPU.
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
		n, err := strconv.Atoi(string(row[1]))
		if err != nil {
			return errors.New("wait events: a count that is no number")
		}
		add(string(row[0]), n)
	}
	return nil
}

func (w *waits) close() { w.link.close() }

// Sources implements engine.Database.
func (s *server) Sources() []observe.Source { return []observe.Source{s.counters} }

// States implements engine.Database.
func (s *server) States() []observe.StateSource { return []observe.StateSource{s.waits} }
