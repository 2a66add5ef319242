package mysql

import (
	"context"
	"errors"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

// waitsQuery counts the sessions of users that run a statement, by what the
// server says that they do and by the file operation that they wait for, and in
// one row more those that wait for a row lock, who are among the former.
// Loadstone's own sessions have no database.
//
// Who waits for a lock stands in INNODB_TRX alone, but that is a picture which
// InnoDB makes anew only where nobody has looked for a tenth of a second: who
// polls as often as that always sees the same. The number is always new.
//
// With 64 sessions a poll costs the server 0.3 ms of CPU (release 10.11): ten a
// second are 0.3 % of one CPU.
const waitsQuery = `SELECT COALESCE(h.PROCESSLIST_STATE, ''), COALESCE(e.OPERATION, ''), COUNT(*)
FROM performance_schema.threads h
LEFT JOIN performance_schema.events_waits_current e ON e.THREAD_ID = h.THREAD_ID AND e.END_EVENT_ID IS NULL
WHERE h.TYPE = 'FOREGROUND' AND h.PROCESSLIST_DB IS NOT NULL AND h.PROCESSLIST_COMMAND IN ('Query', 'Execute')
GROUP BY 1, 2
UNION ALL SELECT '` + rowLocks + `', '', COUNT FROM information_schema.INNODB_METRICS WHERE NAME = 'lock_row_lock_current_waits'`

// rowLocks marks the row with the number of sessions that wait for a row lock.
const rowLocks = "row locks"

// waits is the observe.StateSource of a server: the active sessions of users by
// what they wait for. "CPU" is a session that waits for nothing that the server
// tells of: it runs, or would if it had a CPU.
type waits struct{ link link }

func newWaits(s askable, query string) *waits { return &waits{newLink(s, "waits", query)} }

// Name implements observe.StateSource.
func (*waits) Name() string { return "waits" }

// Poll implements observe.StateSource. A connection that broke is made anew
// once; the error is for a server that does not answer any more.
func (w *waits) Poll(ctx context.Context, add func(state string, n int)) error {
	use := func(r workload.Result) {
		running, locked := 0, 0
		for i := range r.Rows() {
			row := r.Row(i)
			state, n := string(row[0].Str), int(row[2].Int)
			switch name := class(state, string(row[1].Str)); {
			case state == rowLocks:
				locked = n
			case name == onCPU:
				running += n
			default:
				add(name, n)
			}
		}
		// The two are counted a moment apart.
		locked = min(locked, running)
		for name, n := range map[string]int{"Lock:Row": locked, onCPU: running - locked} {
			if n > 0 {
				add(name, n)
			}
		}
	}
	err := w.link.ask(ctx, use)
	if err != nil && !errors.Is(err, errEnded) && ctx.Err() == nil {
		err = w.link.ask(ctx, use)
	}
	return err
}

func (w *waits) close() { w.link.close() }

// onCPU is the state of a session that waits for nothing.
const onCPU = "CPU"

// class names what a session does as Class:Event, from the server's text for its
// state and from the file operation under way. A session that waits for a row
// lock has neither.
func class(state, operation string) string {
	lower := strings.ToLower(state)
	switch {
	case operation != "":
		return "IO:" + event("data "+operation)
	case strings.HasPrefix(lower, "commit"):
		// What takes time in it is the wait for the redo log, where
		// transactions are durable.
		return "Log:Commit"
	case strings.HasPrefix(lower, "waiting for") && strings.Contains(lower, "lock"):
		return "Lock:" + event(state)
	case strings.HasPrefix(lower, "waiting"), strings.HasPrefix(lower, "user sleep"):
		return "Other:" + event(state)
	default:
		return onCPU
	}
}

// event is a state's text as one word: "User sleep" is UserSleep.
func event(state string) string {
	var b strings.Builder
	for word := range strings.FieldsSeq(state) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}
