package workload

import "math"

// Access is what one type of transaction does to the database, in means over
// many transactions: what a model of the database needs to know, which knows
// no SQL. It is data and no function of a transaction's input: a model asks for
// means only, and a test that plays the real statements can compare them.
type Access struct {
	// Weight is the type's relative part of all work; 0 where it hardly ever
	// happens.
	Weight float64
	Tables []TableAccess
	// Locks are rows that transactions of a run queue for, in the order in which
	// all of them take such locks.
	Locks []RowLock
	// Statements is how many the server executes, those inside a procedure
	// included, and RoundTrips how many requests are sent and answered for them,
	// steps of transaction control included.
	Statements, RoundTrips float64
	// RequestBytes and ResponseBytes are of all of a transaction's messages:
	// see MessageBytes.
	RequestBytes, ResponseBytes float64
	RolledBack                  float64 // part that the workload's own rules undo, 0 to 1
	// Answer, where it is not nil, leaves in a transaction's input what its user
	// needs to know of the database's answer, which a model has not.
	Answer func(in any)
}

// TableAccess is what a type of transaction does to rows of one table, found by
// one index. A row that a transaction comes back to is counted once.
type TableAccess struct {
	Table string
	Index string  // by which rows are found; "" is the primary key
	Finds float64 // how often the index is entered
	// Rows are those that are read, those that are then changed included.
	Rows                      float64
	Inserts, Updates, Deletes float64 // rows
	// Together says that the rows of one find lie side by side; else each is on
	// a page of its own.
	Together bool
	// Recent says that the rows are among those that came last, which every
	// cache holds. Inserted rows always are.
	Recent bool
	// HotPages, 0 to 1, of the pages of a table get HotAccesses, 0 to 1, of the
	// accesses; 0 and 0 where all are alike. It is the same wherever a table is
	// found by the same index.
	HotPages, HotAccesses float64
}

// RowLock is the locking of rows, held until the transaction ends, that others
// want as well.
type RowLock struct {
	Name string
	Of   int64 // how many such rows there are, each as likely
	Rows float64
}

// MessageBytes is what a request or an answer takes beside its values, by the
// protocols of PostgreSQL and MariaDB: headers, lengths, and the packet's end.
const MessageBytes = 40

// Bytes is about how many bytes v takes in a message or a row.
func (v Value) Bytes() float64 {
	switch v.Kind {
	case Null:
		return 0
	case String:
		return float64(len(v.Str))
	case Bit:
		return 1
	}
	return 8
}

// bytes is about how many bytes a value of type t takes. Texts are taken for two
// thirds of the most that they may be, and LongText, whose length no type
// tells, for 1 kB.
func (t Type) bytes() float64 {
	switch t.Base {
	case Int16:
		return 2
	case Int32, Date:
		return 4
	case Int64, Timestamp:
		return 8
	case Decimal:
		return 2 + float64(t.Precision+1)/2
	case Varchar:
		return 1 + float64(t.Length)*2/3
	case Char:
		return 1 + float64(t.Length)
	case LongText:
		return 1000
	}
	return 1
}

// Heads of rows and of entries of an index as PostgreSQL has them (storage page
// layout: 23 bytes and a line pointer of 4; 8 bytes and a line pointer).
const (
	rowHead   = 28
	entryHead = 12
)

// RowBytes is about how many bytes a row of t takes.
func (t Table) RowBytes() float64 {
	sum := float64(rowHead)
	for _, c := range t.Columns {
		sum += c.Type.bytes()
	}
	return sum
}

// EntryBytes is about how many bytes an entry of an index over these columns
// takes.
func (t Table) EntryBytes(columns []string) float64 {
	sum := float64(entryHead)
	for _, name := range columns {
		for _, c := range t.Columns {
			if c.Name == name {
				sum += c.Type.bytes()
			}
		}
	}
	return sum
}

// Keys are the columns of each index of t by its name, "" being the primary
// key's, where there is one.
func (t Table) Keys() map[string][]string {
	out := map[string][]string{}
	if len(t.PrimaryKey) > 0 {
		out[""] = t.PrimaryKey
	}
	for _, x := range t.Indexes {
		out[x.Name] = x.Columns
	}
	return out
}

// Heads of records of the log as PostgreSQL writes them: a record's with its
// block reference, and that of a commit.
const (
	recordHead   = 54
	commitRecord = 46
)

// LogBytes is about how much of the log transactions of d with this access
// write: each row as it becomes, each new entry of an index, and the commit.
// Updates add no entry: tables leave room for them on the same page. Whole
// pages after a checkpoint come on top.
func (d *Definition) LogBytes(a Access) float64 {
	sum := 0.0
	for _, x := range a.Tables {
		t, ok := d.Table(x.Table)
		if !ok {
			continue
		}
		entries := 0.0
		for _, columns := range t.Keys() {
			entries += recordHead + t.EntryBytes(columns)
		}
		sum += x.Inserts*(recordHead+t.RowBytes()+entries) + x.Updates*(recordHead+t.RowBytes()) + x.Deletes*recordHead
	}
	if sum > 0 {
		sum += commitRecord
	}
	return math.Round(sum)
}

// Table is the table of that name.
func (d *Definition) Table(name string) (Table, bool) {
	for _, t := range d.Tables {
		if t.Name == name {
			return t, true
		}
	}
	return Table{}, false
}
