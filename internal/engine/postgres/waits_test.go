package postgres

import "testing"

// Types and events are those of releases 13 to 18.
func TestWaitEventsAreNamedInTheLanguageOfAllEngines(t *testing.T) {
	for _, c := range []struct{ kind, event, want string }{
		{"", "", "CPU"},
		{"Lock", "transactionid", "Lock:transactionid"},
		{"Lock", "tuple", "Lock:tuple"},
		{"Lock", "extend", "Latch:extend"},
		{"IO", "WALSync", "Log:WALSync"},
		{"IO", "WalSync", "Log:WalSync"},
		{"IO", "DataFileRead", "IO:DataFileRead"},
		{"IO", "WA", "IO:WA"},
		{"LWLock", "WALWrite", "Log:WALWriteLock"},
		{"LWLock", "BufferContent", "Latch:BufferContent"},
		{"BufferPin", "BufferPin", "Latch:BufferPin"},
		{"Buffer", "BufferPin", "Latch:BufferPin"},
		{"Timeout", "SpinDelay", "Latch:SpinDelay"},
		{"Timeout", "PgSleep", "Other:PgSleep"},
		{"IPC", "XactGroupUpdate", "Latch:XactGroupUpdate"},
		{"IPC", "ProcarrayGroupUpdate", "Latch:ProcarrayGroupUpdate"},
		{"IPC", "SyncRep", "Other:SyncRep"},
		{"Extension", "Extension", "Other:Extension"},
		{"Client", "ClientRead", ""},
		{"Activity", "WalWriterMain", ""},
	} {
		got, ok := stateOf(c.kind, c.event)
		if got != c.want || ok != (c.want != "") {
			t.Errorf("%s:%s is %q (%v), want %q", c.kind, c.event, got, ok, c.want)
		}
	}
}
