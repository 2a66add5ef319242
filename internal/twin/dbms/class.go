// Package dbms models databases on a host in discrete events: what a
// transaction costs, the buffer cache and its dirty pages, checkpoints, the
// log, row locks, and the users who wait for it all.
//
// A transaction class is numbers. They are measured from a real workload or
// given by hand: the model does not know the difference.
package dbms

import (
	"errors"
	"fmt"
	"math"
)

// Database is what an instance keeps and does.
type Database struct {
	Name      string
	PageBytes int
	Tables    []Table
	Hot       []HotRows
	Classes   []Class
}

// Table is the pages of one table with its indexes.
type Table struct {
	Name       string
	Pages      float64
	Popularity Popularity
	// Scattered says that popular pages lie anywhere in the table; else they
	// lie together.
	Scattered bool
}

// Popularity is how accesses spread over the pages of a table: evenly; to a
// hot set; or by Zipf's law, where the page of rank k gets a part proportional
// to 1/k^Zipf.
type Popularity struct {
	Zipf float64
	// HotPages of the pages, 0 to 1, get HotAccesses of the accesses.
	HotPages, HotAccesses float64
}

// HotRows are rows that transactions lock for writing: so many that each is
// as likely.
type HotRows struct {
	Name string
	Rows int
}

// Class is one type of transaction, in means over many.
type Class struct {
	Name   string
	Weight float64 // relative part of all transactions
	// Compute (c) and Memory (m) are nanoseconds of processor time at nominal
	// frequency with all memory local and no misses of the translation buffer,
	// which are counted in Misses.
	Compute, Memory, Misses float64
	Touches                 []Touch
	Locks                   []Lock
	LogBytes                float64 // 0 where it only reads
	RoundTrips              int     // requests and answers; 0 is 1
	RequestBytes            float64 // of all requests
	ResponseBytes           float64
	// RolledBack is the part that its own rules undo.
	RolledBack float64
}

// Touch is accesses to pages of one table.
type Touch struct {
	Table  int     // index in Database.Tables
	Pages  float64 // a transaction, on average
	Writes float64 // of them, that change the page
}

// Lock is the locking of rows of one kind, held until the commit is on disk.
type Lock struct {
	Hot  int // index in Database.Hot
	Rows int
}

// Validate checks everything that the model relies on; the error joins one for
// every fault.
func (d *Database) Validate() error {
	var errs []error
	fault := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("database %s: "+format, append([]any{d.Name}, args...)...))
	}
	if d.PageBytes < 512 || len(d.Classes) == 0 {
		fault("pages of %d bytes and %d classes", d.PageBytes, len(d.Classes))
	}
	for _, t := range d.Tables {
		p := t.Popularity
		if !(t.Pages >= 1 && t.Pages < 1e12) {
			fault("table %s has %g pages", t.Name, t.Pages)
		}
		if !(p.Zipf >= 0 && p.Zipf < 3) || !(p.HotPages >= 0 && p.HotPages < 1) || !(p.HotAccesses >= 0 && p.HotAccesses <= 1) ||
			(p.HotPages == 0) != (p.HotAccesses == 0) || p.Zipf > 0 && p.HotPages > 0 {
			fault("table %s has the popularity %+v", t.Name, p)
		}
	}
	for _, h := range d.Hot {
		if h.Rows < 1 {
			fault("hot rows %s: %d rows", h.Name, h.Rows)
		}
	}
	for i := range d.Classes {
		d.checkClass(&d.Classes[i], fault)
	}
	return errors.Join(errs...)
}

func (d *Database) checkClass(c *Class, fault func(string, ...any)) {
	for _, x := range []float64{c.Weight, c.Compute, c.Memory, c.Misses, c.LogBytes, c.RequestBytes, c.ResponseBytes} {
		if !(x >= 0 && x < 1e12) {
			fault("class %s has the quantity %g", c.Name, x)
		}
	}
	if c.Compute+c.Memory < 1 || !(c.RolledBack >= 0 && c.RolledBack <= 1) || c.RoundTrips < 0 {
		fault("class %s: work of %g ns, %g rolled back, %d round trips", c.Name, c.Compute+c.Memory, c.RolledBack, c.RoundTrips)
	}
	for _, t := range c.Touches {
		if t.Table < 0 || t.Table >= len(d.Tables) || !(t.Pages >= 0 && t.Pages < 1e6) || !(t.Writes >= 0 && t.Writes <= t.Pages) {
			fault("class %s touches %+v", c.Name, t)
		}
	}
	rows := 0
	for i, l := range c.Locks {
		rows += l.Rows
		if l.Hot < 0 || l.Hot >= len(d.Hot) || l.Rows < 1 || rows > maxLocks {
			fault("class %s locks %+v", c.Name, l)
		} else if l.Rows > d.Hot[l.Hot].Rows {
			fault("class %s locks %d of %d rows %s", c.Name, l.Rows, d.Hot[l.Hot].Rows, d.Hot[l.Hot].Name)
		}
		if i > 0 && l.Hot <= c.Locks[i-1].Hot { // the order is what prevents deadlocks
			fault("class %s takes locks out of order", c.Name)
		}
	}
}

// stratum is pages of one table that are as popular as each other.
type stratum struct {
	table int
	first float64 // rank of its first page in the table
	pages float64
	part  float64 // of the table's accesses
}

// strata divides a table's pages: one stratum where all are alike, two for a
// hot set, and for Zipf's law ranks in powers of two.
func (t *Table) strata(table int) []stratum {
	p := t.Popularity
	switch {
	case p.HotPages > 0:
		hot := max(1, math.Round(p.HotPages*t.Pages))
		if hot >= t.Pages {
			break
		}
		return []stratum{{table, 0, hot, p.HotAccesses}, {table, hot, t.Pages - hot, 1 - p.HotAccesses}}
	case p.Zipf > 0:
		var out []stratum
		all := harmonic(t.Pages, p.Zipf)
		before := 0.0
		for first, n := 0.0, 1.0; first < t.Pages; first, n = first+n, max(1, first+n) {
			n = min(n, t.Pages-first)
			upTo := harmonic(first+n, p.Zipf)
			out = append(out, stratum{table, first, n, (upTo - before) / all})
			before = upTo
		}
		return out
	}
	return []stratum{{table, 0, t.Pages, 1}}
}

// harmonic is Σ 1/k^s for k = 1 to n: exactly up to 64, beyond by the
// Euler–Maclaurin formula.
func harmonic(n, s float64) (sum float64) {
	const exact = 64
	for k := 1.0; k <= min(n, exact); k++ {
		sum += math.Pow(k, -s)
	}
	if n <= exact {
		return sum
	}
	f := func(x float64) float64 { return math.Pow(x, -s) }
	integral := math.Log(n / exact)
	if s != 1 {
		integral = (math.Pow(n, 1-s) - math.Pow(exact, 1-s)) / (1 - s)
	}
	return sum + integral + (f(n)-f(exact))/2 + s*(f(exact)/exact-f(n)/n)/12
}
