package engine

// InProcess is an engine whose database runs inside the process that drives it
// rather than in a server of its own. Found by assertion on an Engine.
//
// What such a database uses of CPU and memory is the driver's: an instance's
// limits do not confine it, its counters do not see it, and the driver's own
// cost can't be told from the database's.
type InProcess interface {
	InProcess() bool
}

// Inside says whether e's databases run inside Loadstone's own process.
func Inside(e Engine) bool {
	in, ok := e.(InProcess)
	return ok && in.InProcess()
}

// Reader is a Conn that begins transactions differently where the type only
// reads: an engine with one lock for all writers leaves readers out of its
// queue. Found by assertion on a Conn; Session.Do tells it before every
// transaction.
type Reader interface {
	ReadOnly(only bool)
}
