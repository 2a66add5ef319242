package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loadstone-perf/loadstone/internal/analyse"
	"github.com/loadstone-perf/loadstone/internal/report/figure/chart"
)

// writer lays out text in a terminal's width.
type writer struct {
	b      strings.Builder
	width  int
	colour bool
}

// ANSI styles.
const (
	bold  = "1"
	faint = "2"
	red   = "31;1"
	green = "32"
	amber = "33;1"
)

// style wraps s in an ANSI style where the terminal has colours.
func (w *writer) style(code, s string) string {
	if !w.colour || s == "" || code == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (w *writer) line(s string) { w.b.WriteString(strings.TrimRight(s, " ") + "\n") }

// para writes s broken into lines, the first after lead and the others as far
// in; a lead that would take half the width becomes part of the text.
func (w *writer) para(lead, s, code string) {
	indent := strings.Repeat(" ", utf8.RuneCountInString(lead))
	if len(indent) > w.width/2 {
		lead, s, indent = "  ", lead+s, "  "
	}
	for i, l := range wrap(s, w.width-len(indent)) {
		if i > 0 {
			lead = indent
		}
		w.line(lead + w.style(code, l))
	}
}

// renderText renders d for a terminal.
func renderText(d document, width int, colour bool) string {
	d = d.marked()
	if width < 40 {
		width = 80
	}
	w := &writer{width: width, colour: colour}
	w.head(d)
	for _, s := range d.Sections {
		w.line("")
		w.line(w.style(bold, clean(strings.ToUpper(s.Title))))
		for _, b := range s.Blocks {
			w.block(b)
		}
	}
	return w.b.String()
}

func (w *writer) head(d document) {
	w.para("", d.Title, bold)
	w.para("", d.Question, faint)
	w.line("")
	if !d.Valid {
		w.para("INVALID  ", "These figures must not be quoted. They are shown to find the cause.", red)
		for _, r := range d.Invalid {
			w.para("  - ", r, "")
		}
		w.line("")
	}
	if d.Simulated {
		w.para("SIMULATED  ", "These figures come from a model. Nothing was measured on a machine.", amber)
		w.line("")
	}
	if len(d.Caveats) > 0 {
		w.para("CAUTION  ", "The instances' provider says this of the figures below.", amber)
		for _, c := range d.Caveats {
			w.para("  - ", c, "")
		}
		w.line("")
	}
	w.para("", d.Answer, bold)
	if len(d.Key) > 0 {
		w.line("")
	}
	names := 0
	for _, k := range d.Key {
		names = max(names, utf8.RuneCountInString(clean(k.Name)))
	}
	for _, k := range d.Key {
		w.para(pad(clean(k.Name), min(names, w.width/2), false)+"  ", strings.TrimSpace(k.Value+" "+k.Unit), bold)
		w.para(strings.Repeat(" ", min(names, w.width/2)+2), k.Detail, faint)
	}
	if len(d.Notes) > 0 {
		w.line("")
		w.line("To bear in mind")
	}
	for _, n := range d.Notes {
		w.para("  - ", n, "")
	}
}

func (w *writer) block(b block) {
	switch {
	case b.Heading != "":
		w.line("")
		w.line(clean(b.Heading))
	case b.Text != "":
		w.para("", b.Text, "")
	case b.Aside != "":
		w.para("", b.Aside, faint)
	case b.Table != nil:
		w.line("")
		w.table(*b.Table)
	case b.Figure != nil && b.Figure.Text != nil:
		w.line("")
		w.para("", b.Figure.Title, "") // nothing where the section's heading says it
		for _, l := range b.Figure.Text(w.width) {
			w.line(l)
		}
	case b.Code != "":
		w.line("")
		for l := range strings.Lines(b.Code) {
			w.line("  " + clean(strings.TrimRight(l, "\r\n")))
		}
	}
	for _, l := range b.List {
		w.para("  - ", l, "")
	}
	for i, l := range b.Steps {
		w.para(fmt.Sprintf("%3d. ", i+1), l, "")
	}
	if b.More != nil {
		w.para("  - ", b.More.Summary+": "+strings.Join(b.More.List, "; "), "")
	}
	for _, t := range b.Terms {
		w.para("  "+t.Name+": ", t.Text, "")
	}
}

// table writes t in aligned columns; where they do not fit the width, each row
// as a list of its fields.
func (w *writer) table(t table) {
	caption := t.Caption
	widths, fits := columnWidths(t, w.width)
	var left []string
	for !fits {
		name, rest := withoutOptional(t)
		if name == "" {
			break
		}
		left, t = append(left, name), rest
		widths, fits = columnWidths(t, w.width)
	}
	if len(left) > 0 {
		caption += fmt.Sprintf(" Left out for want of room: %s (data/%s).", strings.Join(left, ", "), t.CSV)
	}
	w.para("", caption, faint)
	if !fits {
		w.records(t)
		return
	}
	var head []string
	for i, c := range t.Columns {
		head = append(head, pad(clean(c.Name), widths[i], c.Numeric))
	}
	w.line(w.style(faint, strings.TrimRight(strings.Join(head, "  "), " ")))
	for _, row := range t.Rows {
		w.row(t, row, widths)
	}
}

// row writes one row; fields of text that are too long go on below.
func (w *writer) row(t table, row []field, widths []int) {
	cells := make([][]string, len(row))
	height := 1
	for i, f := range row {
		cells[i] = wrap(f.Text, widths[i])
		height = max(height, len(cells[i]))
	}
	for k := range height {
		var out []string
		for i, c := range cells {
			text := ""
			if k < len(c) {
				text = c[k]
			}
			out = append(out, w.style(toneCode(row[i].Tone, text), pad(text, widths[i], t.Columns[i].Numeric)))
		}
		w.line(strings.Join(out, "  "))
	}
}

func toneCode(t tone, text string) string {
	switch {
	case t == bad && text != "":
		return red
	case t == good:
		return green
	case t == muted:
		return faint
	}
	return ""
}

func (w *writer) records(t table) {
	for _, row := range t.Rows {
		w.para("", row[0].Text, bold)
		for i, f := range row[1:] {
			if f.Text != "" && f.Text != "–" {
				w.para("  "+clean(t.Columns[i+1].Name)+": ", f.Text, toneCode(f.Tone, f.Text))
			}
		}
	}
}

// withoutOptional returns t without its last optional column, and that
// column's name; "" where all that is left is needed.
func withoutOptional(t table) (left string, rest table) {
	for i := len(t.Columns) - 1; i >= 0; i-- {
		if !t.Columns[i].Optional {
			continue
		}
		left = t.Columns[i].Name
		t.Columns = slices.Delete(slices.Clone(t.Columns), i, i+1)
		rows := make([][]field, len(t.Rows))
		for k, row := range t.Rows {
			rows[k] = slices.Delete(slices.Clone(row), i, i+1)
		}
		t.Rows = rows
		return left, t
	}
	return "", t
}

// leastColumn is the width below which a column of text is not cut.
const leastColumn = 12

// columnWidths returns the width of each column; columns of text give way,
// the widest first and that of the names last, until the whole fits into
// width.
func columnWidths(t table, width int) (widths []int, fits bool) {
	total := 2 * (len(t.Columns) - 1)
	widths = make([]int, len(t.Columns))
	for i, c := range t.Columns {
		widths[i] = utf8.RuneCountInString(clean(c.Name))
		for _, row := range t.Rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(clean(row[i].Text)))
		}
		total += widths[i]
	}
	for total > width {
		i := givesWay(t.Columns, widths)
		if i < 0 {
			return widths, false
		}
		widths[i]--
		total--
	}
	return widths, true
}

// givesWay returns the column that can best be narrower, -1 for none.
func givesWay(of []column, widths []int) int {
	widest := -1
	for i, c := range of {
		if i > 0 && !c.Numeric && widths[i] > leastColumn && (widest < 0 || widths[i] > widths[widest]) {
			widest = i
		}
	}
	if widest < 0 && !of[0].Numeric && widths[0] > 2*leastColumn {
		return 0
	}
	return widest
}

// wrap breaks s into lines of at most width characters, at spaces where there
// are any; control characters are replaced. It returns no line for no text.
func wrap(s string, width int) (lines []string) {
	width = max(width, 8)
	for _, para := range strings.Split(s, "\n") {
		line := ""
		for _, word := range strings.Fields(clean(para)) {
			for utf8.RuneCountInString(word) > width {
				if line != "" {
					lines, line = append(lines, line), ""
				}
				r := []rune(word)
				lines, word = append(lines, string(r[:width])), string(r[width:])
			}
			switch {
			case line == "":
				line = word
			case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
				line += " " + word
			default:
				lines, line = append(lines, line), word
			}
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// clean replaces what would steer a terminal.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n':
			return ' '
		case !visible(r):
			return utf8.RuneError
		}
		return r
	}, s)
}

// pad fills s up to width, and cuts it where it is longer.
func pad(s string, width int, right bool) string {
	s = cut(s, width)
	fill := strings.Repeat(" ", max(width-utf8.RuneCountInString(s), 0))
	if right {
		return fill + s
	}
	return s + fill
}

// cutFront keeps the last n characters of s: labels that are too long often
// differ at their end.
func cutFront(s string, n int) string {
	if r := []rune(s); len(r) > n && n > 1 {
		return "…" + string(r[len(r)-n+1:])
	}
	return s
}

func cut(s string, n int) string { return chart.Cut(s, n) }

// textBars draws the cells' throughput as bars.
func textBars(s *analyse.Study, width int) (lines []string) {
	var most chart.Extent
	names := 0
	for _, cl := range s.Cells {
		names = max(names, utf8.RuneCountInString(clean(cl.Label)))
		if measured(cl) {
			most.Add(cl.Throughput.Value)
		}
	}
	names = min(names, width/3)
	const numbers = 12
	room := width - names - numbers - 4
	for _, cl := range s.Cells {
		value, bar := "–", ""
		if measured(cl) {
			value = chart.Number(cl.Throughput.Value)
			if most.Max > 0 {
				bar = textBar(cl.Throughput.Value/most.Max, room)
			}
		}
		lines = append(lines, pad(cutFront(clean(cl.Label), names), names, false)+"  "+pad(value, numbers, true)+"  "+bar)
	}
	return lines
}

// textBar is a bar of part of room characters, in eighths of a character;
// nothing where there is hardly any room.
func textBar(part float64, room int) string {
	if room < 3 {
		return ""
	}
	eighths := int(math.Round(min(max(part, 0), 1) * float64(room) * 8))
	bar := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		bar += string([]rune(" ▏▎▍▌▋▊▉")[rest])
	}
	return bar
}

// textSpark draws a trial's throughput over time from zero, a character for
// the mean of equal spans; a blank has no value. Below it, ^ marks the window.
func textSpark(t *analyse.Trial, width int) []string {
	var span, most chart.Extent
	span.Add(t.Timeline.Seconds...)
	tr, ok := headline(t)
	if !ok || !span.Seen || span.Max <= 0 {
		return []string{"(no data)"}
	}
	cols := min(width, 100, len(t.Timeline.Seconds))
	// Half a second back: a value belongs to the second that it ends.
	middles := make([]float64, len(t.Timeline.Seconds))
	for i, s := range t.Timeline.Seconds {
		middles[i] = s - 0.5*span.Max/float64(len(middles))
	}
	xs, means, _ := chart.Bin(middles, [][]float64{tr.Values}, 0, span.Max, cols)
	most.Add(means[0]...)
	spark, marks := []rune(strings.Repeat(" ", cols)), []rune(strings.Repeat(" ", cols))
	for i, x := range xs {
		at := min(int(x/span.Max*float64(cols)), cols-1)
		level := 0
		if most.Max > 0 {
			level = int(math.Round(min(max(means[0][i]/most.Max, 0), 1) * 7))
		}
		spark[at] = []rune("▁▂▃▄▅▆▇█")[level]
		if x > t.Window.Start && x <= t.Window.End {
			marks[at] = '^'
		}
	}
	return append([]string{string(spark), string(marks)}, wrap(
		fmt.Sprintf("from 0 to %s %s; ^ marks the window, from %s s to %s s", chart.Number(most.Max), clean(tr.Unit), chart.Number(t.Window.Start), chart.Number(t.Window.End)), width)...)
}

// textWaits draws the mean sessions in each state as bars.
func textWaits(t *analyse.Trial, width int) (lines []string) {
	var most chart.Extent
	names := 0
	for _, w := range t.Waits {
		most.Add(w.Mean)
		names = max(names, utf8.RuneCountInString(clean(w.State)))
	}
	names = min(names, width/3)
	for _, w := range t.Waits {
		bar := ""
		if most.Max > 0 {
			bar = textBar(w.Mean/most.Max, width-names-24)
		}
		lines = append(lines, fmt.Sprintf("%s  %s  %s  %s", pad(clean(w.State), names, false), pad(chart.Number(w.Mean), 8, true), pad(percent(w.Pct), 8, true), bar))
	}
	return lines
}
