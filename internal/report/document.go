package report

import (
	"slices"
	"strings"
)

// document is a report before it is rendered.
type document struct {
	Title, Question, Answer string
	Valid, Simulated        bool
	Invalid                 []string // reasons
	Caveats                 []string // what providers say of every figure
	Key                     []keyFigure
	Notes                   []string
	Sections                []section
}

// simulated is written before whatever shows figures of a model, so that no
// part of a report that is cut out can be taken for a measurement.
const simulated = "SIMULATED"

// marked is d with the mark in its title and in the titles of all figures and
// tables, where its figures come from a model.
func (d document) marked() document {
	if !d.Simulated {
		return d
	}
	mark := func(text string) string {
		if text == "" {
			return simulated
		}
		return simulated + ": " + text
	}
	figureOf := func(f figure) figure {
		f.Title, f.Caption = mark(f.Title), mark(f.Caption)
		return f
	}
	d.Title = mark(d.Title)
	d.Sections = slices.Clone(d.Sections)
	for i := range d.Sections {
		blocks := slices.Clone(d.Sections[i].Blocks)
		for k := range blocks {
			b := &blocks[k]
			if b.Table != nil {
				t := *b.Table
				t.Caption = mark(t.Caption)
				b.Table = &t
			}
			if b.Figure != nil {
				f := figureOf(*b.Figure)
				b.Figure = &f
			}
			b.Small = slices.Clone(b.Small)
			for n := range b.Small {
				b.Small[n] = figureOf(b.Small[n])
			}
		}
		d.Sections[i].Blocks = blocks
	}
	return d
}

// keyFigure is one of the figures on top.
type keyFigure struct{ Name, Value, Unit, Detail string }

// section is a part of the report with a heading.
type section struct {
	ID, Title string
	Blocks    []block
}

// block is one piece of a section: exactly one field is set.
type block struct {
	Heading string // below the section's
	Text    string
	Aside   string // in small print
	List    []string
	Steps   []string // a numbered list
	More    *more
	Terms   []term // names with a sentence each
	Table   *table
	Figure  *figure
	Small   []figure // two beside each other where there is room
	Code    string   // verbatim
}

// more is a list that a page shows on demand; the text report has it in one
// paragraph.
type more struct {
	Summary string
	List    []string
}

// term is a name and what it means or is.
type term struct{ Name, Text string }

// table is rows under a caption. The first column names the row.
type table struct {
	Number  int
	Caption string
	CSV     string // name of the file with the same and more
	Columns []column
	Rows    [][]field
	// Wide is set for tables of many columns.
	Wide bool
}

// column is the head of a table's column.
type column struct {
	Name    string
	Numeric bool // aligned right, in figures of one width
	// Optional columns are left out of the text report, the last first, where
	// there is no room; the data file has them.
	Optional bool
}

// tone is how a field is to be read at a glance; its text always says the same
// in words.
type tone string

const (
	plain tone = ""
	good  tone = "good"
	bad   tone = "bad"
	muted tone = "muted"
)

// field is one cell of a table.
type field struct {
	Text   string
	Detail string // small, below: an interval; the text report leaves it out
	Tone   tone
}

// figure is one picture or a set of small ones, with a caption that says what
// to see.
type figure struct {
	Number  int
	Title   string
	Caption string
	CSV     string // name of the data file
	// Wide and Narrow are the picture as SVG, for pages and for telephones.
	Wide, Narrow string
	Panels       []panelRow
	// Text draws the figure for a terminal of the given width; nil where the
	// tables say enough.
	Text func(width int) []string
}

// panelRow is small pictures that belong together.
type panelRow struct {
	Label  string
	Panels []panel
}

// panel is one small picture, as SVG; SVG is "" where there is nothing to
// draw, and Label says why.
type panel struct{ Label, SVG string }

// c is a plain field.
func c(text string) field { return field{Text: text} }

func toned(text string, t tone) field { return field{Text: text, Tone: t} }

// columns reads heads: a leading # marks numbers, a trailing ? what may be left
// out.
func columns(names ...string) []column {
	out := make([]column, len(names))
	for i, n := range names {
		n, out[i].Optional = strings.CutSuffix(n, "?")
		n, out[i].Numeric = strings.CutPrefix(n, "#")
		out[i].Name = n
	}
	return out
}
