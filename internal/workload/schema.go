package workload

// Table is one table, in a form that every engine can render.
type Table struct {
	Name       string
	Columns    []Column
	PrimaryKey []string
	Indexes    []Index
	Foreign    []ForeignKey
	// FillFactor is the part of a page that loading fills, in percent; 0 is
	// the engine's default. Engines without the notion ignore it.
	FillFactor int
	Rows       Source
}

// Column is one column.
type Column struct {
	Name    string
	Type    Type
	NotNull bool
	// Identity columns get the next number where an insert names none; after
	// loading the sequence continues after the largest loaded number.
	Identity bool
	// Own gives an engine another type than Type, by engine name, as SQL.
	Own map[string]string
}

// Type is a column's type.
type Type struct {
	Base      Base
	Length    int // of Varchar and Char
	Precision int // of Decimal
	Scale     int // of Decimal
}

// Base is the family of a Type.
type Base uint8

// The families of types.
const (
	Int16 Base = iota
	Int32
	Int64
	Decimal
	Varchar
	Char
	LongText // of any length
	Date
	Timestamp
	Boolean
)

// Index is a secondary index.
type Index struct {
	Name     string
	Columns  []string
	Unique   bool
	FullText bool // over the words of its single column
}

// ForeignKey is a reference from Columns to the primary key of Table.
type ForeignKey struct {
	Name     string
	Columns  []string
	Table    string
	OnDelete string // "", "cascade" or "set null"
}

// Source makes a table's initial rows. Batch i depends on the seed, the table
// and i alone, so that loading is parallel, can resume, and gives the same
// bytes on every machine.
type Source struct {
	Batches int64 // numbered from 0; 0 for a table that starts empty
	Rows    int64 // about how many rows all batches have together
	// Fill emits the rows of one batch in order. The row passed to emit, and
	// what its values point to, is valid only until emit returns. It is safe
	// to call from several goroutines.
	Fill func(batch int64, emit func(row []Value) error) error
}

// ValueKind says what a Value holds.
type ValueKind uint8

// The kinds of values.
const (
	Null    ValueKind = iota
	Integer           // Int
	Fixed             // Int, unscaled: 1999 is 19.99 in a column of scale 2
	String            // Str
	Day               // Int: days since 1970-01-01
	Instant           // Int: microseconds since 1970-01-01 00:00 UTC
	Bit               // Int: 0 or 1
)

// Value is one value of a row, an argument or a result. It is a plain struct
// so that rows and calls allocate nothing.
type Value struct {
	Kind ValueKind
	Int  int64
	Str  []byte // of String; in a Result valid only as long as that
}

// Int returns an Integer.
func Int(n int64) Value { return Value{Kind: Integer, Int: n} }

// Money returns a Fixed of scale 2 from hundredths.
func Money(cents int64) Value { return Value{Kind: Fixed, Int: cents} }

// Str returns a String that aliases b.
func Str(b []byte) Value { return Value{Kind: String, Str: b} }
