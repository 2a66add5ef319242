package scenario

import (
	"fmt"
	"math"
	"slices"

	"github.com/loadstone-perf/loadstone/internal/twin/dbms"
	"github.com/loadstone-perf/loadstone/internal/unit"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// pageBytes is a page of PostgreSQL's.
const pageBytes = 8192

// How full pages are: of a table without a fill factor of its own, and the
// leaves of an index that grew by insertions.
const (
	usualFill = 0.95
	leafFill  = 0.75
)

// recentPart is the part of a table or an index that holds the rows that came
// last.
const recentPart = 0.01

// emptyRows is what a table that starts empty is taken to hold.
const emptyRows = 1000

// catalogueBytes is what a database takes before it has rows.
const catalogueBytes = 8 << 20

// database is the pages of a workload and what each transaction does to them.
func database(d *workload.Definition, demands Demands) (*dbms.Database, error) {
	if len(d.Access) != len(d.Transactions) {
		return nil, fmt.Errorf("workload %s does not say what its transactions do to the database: no model can run it", d.Name)
	}
	if len(demands.Classes) != len(d.Transactions) {
		return nil, fmt.Errorf("workload %s has %d types of transactions, and there are demands for %d", d.Name, len(d.Transactions), len(demands.Classes))
	}
	m := &mapper{d: d, at: map[part]int{}}
	m.sizes()
	for _, a := range d.Access {
		m.hotRows(a)
	}
	for k, a := range d.Access {
		c, err := m.class(k, a, demands.Classes[k])
		if err != nil {
			return nil, err
		}
		m.db.Classes = append(m.db.Classes, c)
	}
	m.db.Name, m.db.PageBytes = d.Name, pageBytes
	return &m.db, nil
}

// perCopy is what copying a page from the page cache takes, in nanoseconds: a
// system call and 8 kB (assumed, as the costs in Assume).
const perCopy = 3_000

// copied adds the copying of pages that are in the cache of the system and not in
// the database's own.
func copied(db *dbms.Database, own, cache unit.Bytes) {
	if own <= 0 || own >= cache {
		return
	}
	inside, outside := dbms.Misses(db, float64(own)/pageBytes), dbms.Misses(db, float64(cache)/pageBytes)
	for i := range db.Classes {
		db.Classes[i].Compute += perCopy * max(0, inside[i]-outside[i])
	}
}

// part is pages that are as popular as each other by rule: those of a table or
// of an index, of all rows or of the recent ones.
type part struct {
	table, index string // index "-" is the table itself
	recent       bool
}

const heap = "-"

// mapper makes a dbms.Database.
type mapper struct {
	d     *workload.Definition
	db    dbms.Database
	at    map[part]int // index in db.Tables
	scale float64      // of pages: to what the workload says that it takes
}

// pages is how many pages a table, or one of its indexes, takes by the widths of
// its columns.
func pages(t workload.Table, columns []string) float64 {
	rows := float64(t.Rows.Rows)
	if rows == 0 {
		rows = emptyRows
	}
	bytes, fill := t.EntryBytes(columns), leafFill
	if columns == nil {
		bytes, fill = t.RowBytes(), usualFill
		if t.FillFactor > 0 {
			fill = float64(t.FillFactor) / 100
		}
	}
	return max(1, math.Ceil(rows*bytes/fill/pageBytes))
}

// sizes makes the pages: by the widths of columns, all multiplied so that
// together they take what the workload says that they do.
func (m *mapper) sizes() {
	type sized struct {
		part
		pages float64
	}
	var all []sized
	sum := 0.0
	add := func(p part, n float64) {
		all = append(all, sized{p, n})
		sum += n
	}
	for _, t := range m.d.Tables {
		add(part{t.Name, heap, false}, pages(t, nil))
		keys := t.Keys()
		for _, name := range sortedNames(keys) {
			add(part{t.Name, name, false}, pages(t, keys[name]))
		}
	}
	m.scale = max(0.1, (float64(m.d.DataSize)-catalogueBytes)/pageBytes/sum)
	for _, s := range all {
		n := max(1, math.Round(s.pages*m.scale))
		recent := max(1, math.Round(n*recentPart))
		m.add(s.part, max(1, n-recent))
		s.part.recent = true
		m.add(s.part, recent)
	}
	for _, a := range m.d.Access {
		for _, x := range a.Tables {
			if x.HotPages > 0 {
				i := m.at[part{x.Table, heap, false}]
				m.db.Tables[i].Popularity = dbms.Popularity{HotPages: x.HotPages, HotAccesses: x.HotAccesses}
				m.db.Tables[i].Scattered = true
			}
		}
	}
}

func sortedNames(keys map[string][]string) []string {
	var names []string
	for name := range keys {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (m *mapper) add(p part, n float64) {
	m.at[p] = len(m.db.Tables)
	name := p.table
	switch p.index {
	case heap:
	case "":
		name += " (primary key)"
	default:
		name = p.index
	}
	if p.recent {
		name += ", recent"
	}
	m.db.Tables = append(m.db.Tables, dbms.Table{Name: name, Pages: n})
}

// hotRows adds the rows that a locks, in the order in which all take them.
func (m *mapper) hotRows(a workload.Access) {
	at := 0
	for _, l := range a.Locks {
		i := slices.IndexFunc(m.db.Hot, func(h dbms.HotRows) bool { return h.Name == l.Name })
		if i < 0 {
			m.db.Hot = slices.Insert(m.db.Hot, at, dbms.HotRows{Name: l.Name, Rows: int(max(1, l.Of))})
			i = at
		}
		at = i + 1
	}
}

// class is type k of transaction.
func (m *mapper) class(k int, a workload.Access, d Demand) (dbms.Class, error) {
	tx := m.d.Transactions[k]
	c := dbms.Class{
		Name: tx.Name, Weight: a.Weight, Compute: d.Compute, Memory: d.Memory, Misses: d.Misses,
		LogBytes: d.LogBytes, RoundTrips: max(1, int(math.Round(a.RoundTrips))),
		RequestBytes: a.RequestBytes, ResponseBytes: a.ResponseBytes, RolledBack: a.RolledBack,
	}
	if c.LogBytes == 0 {
		c.LogBytes = m.d.LogBytes(a)
	}
	touches := map[int]*dbms.Touch{}
	for _, x := range a.Tables {
		t, ok := m.d.Table(x.Table)
		if _, index := t.Keys()[x.Index]; !ok || !index && x.Finds > 0 && x.Index != "" {
			return c, fmt.Errorf("workload %s: %s touches index %q of table %q, which it has not", m.d.Name, tx.Name, x.Index, x.Table)
		}
		m.touch(touches, t, x)
	}
	for i := range m.db.Tables { // in order, so that runs repeat
		if t := touches[i]; t != nil {
			t.Writes = min(t.Writes, t.Pages)
			c.Touches = append(c.Touches, *t)
		}
	}
	for _, l := range a.Locks {
		i := slices.IndexFunc(m.db.Hot, func(h dbms.HotRows) bool { return h.Name == l.Name })
		c.Locks = append(c.Locks, dbms.Lock{Hot: i, Rows: max(1, min(int(math.Round(l.Rows)), m.db.Hot[i].Rows))})
	}
	return c, nil
}

// touch adds the pages of x: for each find a leaf of the index, and a page for
// each row, or for as many rows as fit one where they lie together. An inserted
// row takes a page that came last, in the table and in each index; a change of
// an index entry is a page of the index.
func (m *mapper) touch(to map[int]*dbms.Touch, t workload.Table, x workload.TableAccess) {
	add := func(p part, pages, writes float64) {
		i, ok := m.at[p]
		if !ok || pages == 0 {
			return
		}
		if to[i] == nil {
			to[i] = &dbms.Touch{Table: i}
		}
		to[i].Pages += pages
		to[i].Writes += writes
	}
	rowPages := func(rows float64) float64 {
		if !x.Together {
			return rows
		}
		return min(rows, x.Finds+rows*t.RowBytes()/pageBytes)
	}
	add(part{x.Table, x.Index, x.Recent}, x.Finds, 0)
	add(part{x.Table, heap, x.Recent}, max(rowPages(x.Rows), rowPages(x.Updates+x.Deletes)), rowPages(x.Updates+x.Deletes))
	if x.Inserts == 0 {
		return
	}
	grown := min(x.Inserts, 1+x.Inserts*t.RowBytes()/pageBytes) // one transaction's rows lie together
	add(part{x.Table, heap, true}, grown, grown)
	keys := t.Keys()
	for _, name := range sortedNames(keys) {
		add(part{x.Table, name, true}, grown, grown)
	}
}
