package analyse

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/record"
)

// The first records of PostgreSQL name states by its own types of events.
func TestOldRecordsAreReadInTheClassesOfToday(t *testing.T) {
	for old, want := range map[string]string{
		"CPU": "CPU", "Lock:transactionid": "Lock:transactionid", "IO:DataFileRead": "IO:DataFileRead",
		"IO:WALSync": "Log:WALSync", "IO:WalSync": "Log:WalSync", "LWLock:WALWrite": "Log:WALWriteLock",
		"LWLock:BufferMapping": "Latch:BufferMapping", "BufferPin:BufferPin": "Latch:BufferPin",
		"Timeout:PgSleep": "Other:PgSleep", "IPC:SyncRep": "Other:SyncRep", "Client:ClientRead": "",
		"Log:WALSync": "Log:WALSync", "Latch:lock0wait": "Latch:lock0wait", "Other:odd": "Other:odd", "": "Other:",
	} {
		got, ok := classed(old)
		if got != want || ok != (want != "") {
			t.Errorf("%q is read as %q (%v), want %q", old, got, ok, want)
		}
		if again, ok := classed(got); want != "" && (again != got || !ok) {
			t.Errorf("%q does not stay itself: %q", got, again)
		}
	}
}

func TestStatesThatBecomeOneAreAddedUp(t *testing.T) {
	in := record.States{
		At: []float64{1, 2}, Polls: []float64{10, 10}, Names: []string{"BufferPin:x", "CPU", "Client:ClientRead", "LWLock:x"},
		Sessions: [][]float64{{1, 2}, {5, 5}, {40, 40}, {10, math.NaN()}},
	}
	got := spoken(in)
	if strings.Join(got.Names, " ") != "Latch:x CPU" || got.Sessions[0][0] != 11 || !math.IsNaN(got.Sessions[0][1]) || !slices.Equal(got.Sessions[1], []float64{5, 5}) {
		t.Errorf("%+v", got)
	}
	if !slices.Equal(in.Sessions[0], []float64{1, 2}) {
		t.Errorf("what was read has changed: %v", in.Sessions[0])
	}
}
