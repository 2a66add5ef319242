// Package wire is the lean way to MariaDB and MySQL: one connection, prepared
// statements, binary values, and no more than that.
//
// Dial logs in, prepares every statement, and learns what arguments and columns
// each has. From there on a Run is one write of COM_STMT_EXECUTE, one wait, and
// one read of an answer of usual size. Nothing is allocated a call: requests are
// made up in one buffer, and results alias the read buffer. A transaction's
// BEGIN goes out with its first statement: the server reads one command after
// the other, whether or not the client waited for the answer in between.
//
// The protocol is the one that MariaDB calls "client/server protocol" and MySQL
// "protocol 4.1": https://mariadb.com/kb/en/clientserver-protocol/.
//
// # What a call costs
//
// A driver's own CPU time is taken from the machine under test. CPU time of the
// client process (getrusage) per call, a select of one row by primary key over a
// Unix socket, on two processors with the server and other work beside; the
// other column is the usual driver of Go programs, go-sql-driver/mysql 1.10.1,
// without package database/sql:
//
//	          here    usual driver
//	1 user    6.6     12.8 µs
//	8 users   4.4     11.9 µs
//
// TestCPUBesideAnotherDriver measures this again. What helps is in package
// socket, and that nothing is allocated.
//
// Over TLS none of that applies: crypto/tls reads and writes the ordinary way,
// and its own work is part of what an encrypted connection costs.
//
// The package does not pool connections, does not retry, and does not compress.
package wire
