package report

import (
	"slices"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/analyse"
	"github.com/loadstone-perf/loadstone/internal/report/figure/chart"
	"github.com/loadstone-perf/loadstone/internal/report/figure/loadcurve"
)

// publishedMark begins the name of everything that others measured, wherever
// it is drawn.
const publishedMark = "published: "

// published is the section that sets what others printed beside what was
// measured.
func (b *builder) published() {
	if len(b.s.Published) > 0 {
		b.section("published", "What others published", b.publishedTable(b.s.Published, "published")...)
	}
}

// publishedTable is the values with what was measured in their place.
func (b *builder) publishedTable(of []analyse.Published, name string) []block {
	csv := b.addData(name, publishedCSV(of))
	t := table{Caption: "Values that others published, and what was measured here in their place. Nothing here depends on them.", CSV: csv,
		Columns: columns("Value", "Where", "Series", "#Published", "#Ours", "How they lie", "Source")}
	multiples := false
	for _, p := range of {
		printed, ours := field{Text: p.Printed}, toned("–", muted)
		if p.Base != "" {
			multiples = true
			printed = field{Text: num(p.Value) + " ×", Detail: p.Printed}
		}
		if p.Ours.OK() {
			ours = c(strings.TrimSpace(num(p.Ours) + " " + p.Unit))
			if p.Unit == "" && p.Metric != "fairness" {
				ours.Text += " ×"
			}
			if p.Low.OK() && p.High.OK() {
				ours.Detail = num(max(0, p.Low)) + "–" + num(p.High)
			}
		}
		t.Rows = append(t.Rows, []field{c(firstUpper(p.Name)), whereField(p), c(p.Series), printed, ours, c(p.Verdict), c(p.Source)})
	}
	out := []block{b.table(t)}
	if multiples {
		out = append(out, block{Aside: "Figures of another machine and another product can't be compared by size. Of a series of throughputs, each is compared as a multiple of its first; × marks a ratio."})
	}
	return out
}

// whereField tells of which configuration a value is, and of what it is a
// multiple.
func whereField(p analyse.Published) field {
	if p.Base == "" {
		return c(p.Where)
	}
	return c(p.Where + " ÷ " + p.Base)
}

// publishedLines are series of published values for a figure whose x axis is
// in units of 1 ÷ scale.
func publishedLines(of []analyse.PublishedLine, scale float64) (out []loadcurve.Line) {
	for _, l := range of {
		line := loadcurve.Line{Name: publishedMark + l.Series}
		for _, p := range l.Points {
			line.Points = append(line.Points, loadcurve.Point{X: float64(p.X) * scale, Y: float64(p.Y)})
		}
		out = append(out, line)
	}
	return out
}

// remarksOf are what others said of single values.
func remarksOf(w analyse.Sweep, scale float64) (out []chart.Remark) {
	for _, r := range w.Remarks {
		out = append(out, chart.Remark{X: float64(r.X) * scale, Text: "“" + r.Text + "”"})
	}
	return out
}

// publishedNote says in a caption what of the figure was not measured here, and
// where it stands.
func publishedNote(of []analyse.PublishedLine, remarks []analyse.Remark) (note string) {
	var sources []string
	add := func(source string) {
		if source != "" && !slices.Contains(sources, source) {
			sources = append(sources, source)
		}
	}
	for _, l := range of {
		for _, p := range l.Points {
			add(p.Source)
		}
	}
	if len(of) > 0 {
		note += " Hollow diamonds were not measured here but published: only their ratios count, so each line begins at what was measured."
	}
	for _, r := range remarks {
		add(r.Source)
	}
	if len(remarks) > 0 {
		note += " Words in quotation marks were published, too."
	}
	if len(sources) > 0 {
		note += " Source: " + strings.Join(sources, "; ") + "."
	}
	return note
}

func publishedCSV(of []analyse.Published) []byte {
	f := newSheet("metric", "where", "series", "printed", "value", "bound", "multiple_of", "ours", "low", "high", "unit", "verdict", "source")
	for _, p := range of {
		f.text(p.Metric, p.Where, p.Series, p.Printed).num(float64(p.Value)).text(p.Bound, p.Base).
			num(float64(p.Ours), float64(p.Low), float64(p.High)).text(p.Unit, p.Verdict, p.Source).end()
	}
	return f.bytes()
}
