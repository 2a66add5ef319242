// Package wire is the hot path to PostgreSQL.
package wire
