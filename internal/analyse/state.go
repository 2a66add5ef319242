package analyse

import (
	"slices"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/record"
)

// The classes of states in which sessions are seen, whatever the engine: see
// docs/formats. CPU stands alone; all others are followed by the engine's own
// name of the event.
const (
	stateCPU   = "CPU"
	stateLock  = "Lock:"  // another session's row or table lock
	stateLatch = "Latch:" // a lock inside the server
	stateLog   = "Log:"   // writing the log
	stateIO    = "IO:"    // reading or writing data files
	stateOther = "Other:"
)

// spoken is s in the classes above, without sessions that wait for their
// client, which are not at work. The first records of PostgreSQL have its own
// types of events in place of classes: these are translated, and states that
// become one are added up.
func spoken(s record.States) record.States {
	out := record.States{At: s.At, Polls: s.Polls}
	for i, name := range s.Names {
		name, ok := classed(name)
		if !ok || i >= len(s.Sessions) {
			continue
		}
		k := slices.Index(out.Names, name)
		if k < 0 {
			out.Names, out.Sessions = append(out.Names, name), append(out.Sessions, s.Sessions[i])
			continue
		}
		sum := slices.Clone(out.Sessions[k])
		for row := range min(len(sum), len(s.Sessions[i])) {
			sum[row] += s.Sessions[i][row]
		}
		out.Sessions[k] = sum
	}
	return out
}

// classed is a state's name with one of the classes; ok is false for a session
// that waits for its client.
func classed(state string) (name string, ok bool) {
	kind, event, _ := strings.Cut(state, ":")
	log := strings.HasPrefix(event, "WAL") || strings.HasPrefix(event, "Wal")
	switch kind {
	case "Client":
		return "", false
	case "LWLock":
		if log {
			return stateLog + event + "Lock", true
		}
		return stateLatch + event, true
	case "IO":
		if log {
			return stateLog + event, true
		}
	case "BufferPin":
		return stateLatch + event, true
	case "CPU", "Lock", "Latch", "Log", "Other":
	default:
		return stateOther + event, true
	}
	return state, true
}
