package sqlite

import (
	"fmt"
	"strings"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

// statement is one prepared statement.
type statement struct {
	h       *handle
	name    string
	stmt    uintptr
	params  int
	columns []column
	writes  bool // it changes the database
	changes bool // it says how many rows it changed
	locks   bool // it takes the writer's lock although it only reads
}

// column is one column of a result.
type column struct {
	name string
	kind workload.ValueKind // what a whole number in it is
}

// prepare compiles sql, which is one statement.
func (h *handle) prepare(sql string) (*statement, error) {
	text, err := libc.CString(sql)
	if err != nil {
		return nil, err
	}
	defer libc.Xfree(h.tls, text)
	rc := sqlite3.Xsqlite3_prepare_v3(h.tls, h.db, text, int32(len(sql)+1), sqlite3.SQLITE_PREPARE_PERSISTENT, h.out, 0)
	if rc != sqlite3.SQLITE_OK {
		return nil, fmt.Errorf("%s: %w", sql, h.failure(rc))
	}
	st := &statement{h: h, name: sql, stmt: h.pointer()}
	if st.stmt == 0 {
		return nil, fmt.Errorf("%q is no statement", sql)
	}
	st.params = int(sqlite3.Xsqlite3_bind_parameter_count(h.tls, st.stmt))
	st.writes = sqlite3.Xsqlite3_stmt_readonly(h.tls, st.stmt) == 0
	verb, _, _ := strings.Cut(strings.ToUpper(strings.TrimSpace(sql)), " ")
	st.changes = st.writes && (verb == "INSERT" || verb == "UPDATE" || verb == "DELETE" || verb == "REPLACE" || verb == "WITH")
	for i := range sqlite3.Xsqlite3_column_count(h.tls, st.stmt) {
		st.columns = append(st.columns, column{
			libc.GoString(sqlite3.Xsqlite3_column_name(h.tls, st.stmt, i)),
			kindOf(libc.GoString(sqlite3.Xsqlite3_column_decltype(h.tls, st.stmt, i))),
		})
	}
	return st, nil
}

// kindOf says what a whole number is in a column of a declared type. The types
// are those that the schema renders; an expression has none.
func kindOf(declared string) workload.ValueKind {
	family, _, _ := strings.Cut(strings.ToUpper(declared), "(")
	switch strings.TrimSpace(family) {
	case "DECIMAL":
		return workload.Fixed
	case "DATE":
		return workload.Day
	case "TIMESTAMP":
		return workload.Instant
	case "BOOLEAN":
		return workload.Bit
	default:
		return workload.Integer
	}
}

// finalize gives the statement back.
func (st *statement) finalize() {
	sqlite3.Xsqlite3_finalize(st.h.tls, st.stmt) // repeats the last step's error
	st.stmt = 0
}

// step goes to the next row.
func (st *statement) step() int32 { return sqlite3.Xsqlite3_step(st.h.tls, st.stmt) }

// reset makes the statement ready to begin again.
func (st *statement) reset() { sqlite3.Xsqlite3_reset(st.h.tls, st.stmt) } // repeats the last step's error

// bytes is a value as text. It is valid until the next call for st.
func (st *statement) bytes(i int) []byte {
	p := sqlite3.Xsqlite3_column_text(st.h.tls, st.stmt, int32(i))
	n := sqlite3.Xsqlite3_column_bytes(st.h.tls, st.stmt, int32(i))
	if p == 0 || n == 0 {
		return nil
	}
	return libc.GoBytes(p, int(n))
}

// scratch is C memory that bound texts lie in. A statement keeps pointing into
// it after it has run, which does no harm: every parameter is bound anew
// before the next run.
type scratch struct {
	p    uintptr
	size int
}

// fit makes room for n bytes. What was in it is lost.
func (s *scratch) fit(tls *libc.TLS, n int) error {
	if n <= s.size {
		return nil
	}
	libc.Xfree(tls, s.p)
	s.size = max(2*n, 4096)
	if s.p = libc.Xmalloc(tls, libc.Tsize_t(s.size)); s.p == 0 {
		s.size = 0
		return fmt.Errorf("out of memory for %d bytes of parameters", n)
	}
	return nil
}

func (s *scratch) free(tls *libc.TLS) {
	libc.Xfree(tls, s.p)
	*s = scratch{}
}

// bind gives the parameters their values, and copies texts into s.
func (st *statement) bind(args []workload.Value, s *scratch) error {
	if len(args) != st.params {
		return fmt.Errorf("%d arguments for %d parameters", len(args), st.params)
	}
	total := 1 // an empty text needs an address too
	for i := range args {
		total += len(args[i].Str)
	}
	tls := st.h.tls
	if err := s.fit(tls, total); err != nil {
		return err
	}
	used := 0
	for i := range args {
		var rc int32
		switch a := &args[i]; a.Kind {
		case workload.Null:
			rc = sqlite3.Xsqlite3_bind_null(tls, st.stmt, int32(i+1))
		case workload.String:
			if n := len(a.Str); n > 0 {
				copy(libc.GoBytes(s.p+uintptr(used), n), a.Str)
			}
			rc = sqlite3.Xsqlite3_bind_text(tls, st.stmt, int32(i+1), s.p+uintptr(used), int32(len(a.Str)), sqlite3.SQLITE_STATIC)
			used += len(a.Str)
		default:
			rc = sqlite3.Xsqlite3_bind_int64(tls, st.stmt, int32(i+1), a.Int)
		}
		if rc != sqlite3.SQLITE_OK {
			return fmt.Errorf("parameter %d: %w", i+1, st.h.failure(rc))
		}
	}
	return nil
}

// rows holds the values of one result.
type rows struct {
	values []workload.Value
	text   []byte
}

func (r *rows) clear() { r.values, r.text = r.values[:0], r.text[:0] }

// add reads the row that st stands on.
func (r *rows) add(st *statement) error {
	tls := st.h.tls
	for i := range st.columns {
		var v workload.Value
		switch t := sqlite3.Xsqlite3_column_type(tls, st.stmt, int32(i)); t {
		case sqlite3.SQLITE_NULL:
		case sqlite3.SQLITE_INTEGER:
			v = workload.Value{Kind: st.columns[i].kind, Int: sqlite3.Xsqlite3_column_int64(tls, st.stmt, int32(i))}
		case sqlite3.SQLITE_TEXT:
			// A slice of text that has to move keeps its old memory.
			at := len(r.text)
			r.text = append(r.text, st.bytes(i)...)
			v = workload.Str(r.text[at:len(r.text):len(r.text)])
		default:
			return fmt.Errorf("column %s: a value of storage class %d is neither a whole number nor a text", st.columns[i].name, t)
		}
		r.values = append(r.values, v)
	}
	return nil
}
