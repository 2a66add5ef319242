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
// must not cost more here than in a C client. Per call of one row over a Unix
// socket, on a two-core virtual machine with the server beside, the CPU time of
// the client process (getrusage, select by primary key, 2 s each):
//
//	                                 1 user   8 users   64 users
//	net.Conn Write, then Read        16–19    12–14     14–21 µs
//	blocking calls on threads        11–18    13–17      8–14 µs
//	armed write, scheduler told      10       12–14     20–22 µs
//	armed write, raw calls (used)     9        8–10     10–12 µs
//	pgbench 15, -M prepared, -j 1     8–12     8–9      13–15 µs
//
// (ranges over one and two processors for Go, and repeats). "Armed" is to
// write inside RawConn.Read, which saves the read that finds nothing; "raw" is
// not to tell the scheduler of calls that don't block: see link. TCP over
// loopback costs the kernel some microseconds more on both sides. Threads that
// block lose where few users leave them idle, because the scheduler's monitor
// has to take their processors away. BenchmarkBesidePgbench measures the last
// two lines again.
//
// The package does not pool connections, does not retry, and speaks neither
// TLS nor COPY out.
package wire
