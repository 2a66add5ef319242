// Package wire is the lean way to PostgreSQL: one connection, prepared
// statements, binary values, and no more than that.
//
// pgconn connects and authenticates; then Dial takes the socket over and
// prepares and describes every statement in one round trip. From there on a
// Run is one write of Bind, Execute and Sync, one wait, and one read of an
// answer of usual size. Nothing is allocated a call: requests are made up in
// a buffer from a part prepared in advance, and results alias the read buffer.
// A transaction's BEGIN goes out with its first statement.
//
// # What the wait costs
//
// A driver's own CPU time is taken from the machine under test, so that a call
// must not cost more here than in a C client. CPU time of the client process
// (getrusage) per call, a select of one row by primary key over a Unix socket,
// on two processors with the server and other work beside; ranges over
// repeats, and over GOMAXPROCS 1 and 2 for all but the last two:
//
//	                                        1 user   8 users  64 users
//	net.Conn's Write, then Read             16–19    12–14    14–21 µs
//	blocking calls on threads               11–18    13–17     8–14 µs
//	write in RawConn.Read, scheduler told   10       12–14    20–22 µs
//	the same with raw calls                  8–10     8–13     9–12 µs
//	the same, watched for input (used)       5–6      8        6–7 µs
//	pgbench 15, -M prepared, -j 1            6–9      8–9      6–15 µs
//
// In order, what helps: not to try a read that finds nothing yet; not to tell
// the scheduler of calls that don't block; and not to be woken when the server
// takes the request, which halves the context switches. All three are in package
// socket. Threads that block lose with few users, because the
// scheduler's monitor has to take their processors away. Over TCP only the
// first two apply. BenchmarkBesidePgbench measures the last two lines again.
//
// Over TLS none of that applies: crypto/tls reads and writes the ordinary way,
// and its own work is part of what an encrypted connection costs.
//
// The package does not pool connections, does not retry, and does not speak
// COPY out.
package wire
