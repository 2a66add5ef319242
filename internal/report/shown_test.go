package report

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/analyse"
	"github.com/loadstone-perf/loadstone/internal/report/figure/loadcurve"
	"pgregory.net/rapid"
)

func TestSpreadJoinsTextsThatDifferInNumbersAlone(t *testing.T) {
	for _, c := range []struct {
		in   []string
		want string
	}{
		{nil, ""},
		{[]string{"16 % used"}, "16 % used"},
		{[]string{"16 % used", "9.5 % used", "83 % used"}, "9.5 to 83 % used"},
		{[]string{"p99 is 1,200 ms", "p99 is 900 ms"}, "p99 is 900 to 1,200 ms"},
		{[]string{"same", "same"}, "same"},
		{[]string{"1 a", "b", "2 a", "c", "d", "e"}, "1 to 2 a; b; c; and 2 other kinds"},
	} {
		if got := spread(c.in); got != c.want {
			t.Errorf("spread(%q) = %q, want %q", c.in, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.StringOf(rapid.RuneFrom([]rune("a1,. 0"))), 1, 5).Draw(t, "texts")
		got := spread(texts) // whatever it is given, it returns
		if len(slices.Compact(slices.Clone(texts))) == 1 && got != texts[0] {
			t.Fatalf("spread(%q) = %q", texts, got)
		}
	})
}

func TestAGateThatManyTrialsFailedIsOneReason(t *testing.T) {
	s := invalid()
	s.Invalid = append(s.Invalid, "the moon is full")
	want := []string{
		"trial 3 (users = 4): Little's law: 4.1 %; wanted: at most 2 %",
		"machine quiet: 5 of 5 trials (8–12): other processes use 31 to 47 % of the machine's CPU; wanted: at most 10 %",
		"the moon is full",
	}
	if got := reasons(s); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	text := Text(s, 100, false)
	if strings.Contains(text, "What was measured") || !strings.Contains(text, "For diagnosis only: PostgreSQL") {
		t.Error("the answer repeats the reasons, or does not tell what was measured")
	}
}

func TestFiguresLeaveOutIntervalsThatAreTooShort(t *testing.T) {
	s := quickstart()
	tr := &s.Trials[0]
	last := len(tr.Timeline.Seconds)
	tr.Timeline.Seconds = append(tr.Timeline.Seconds, float64(last)+0.01)
	for i := range tr.Timeline.Tracks {
		tr.Timeline.Tracks[i].Values = append(slices.Clone(tr.Timeline.Tracks[i].Values), 4321)
	}
	got := shown(s).Trials[0].Timeline
	if len(got.Seconds) != last || len(got.Tracks[0].Values) != last || slices.Contains(got.Tracks[3].Values, 4321) {
		t.Errorf("%d seconds and %d values, want %d", len(got.Seconds), len(got.Tracks[0].Values), last)
	}
	if len(s.Trials[0].Timeline.Seconds) != last+1 {
		t.Error("the study itself was changed")
	}
	_, data, err := HTML(s)
	if err != nil || !strings.Contains(string(data["throughput-over-time.csv"]), ",4321,") {
		t.Errorf("the data lacks the short interval: %v", err)
	}
	half := analyse.Timeline{Seconds: []float64{1, 2, 2.5, 3.5}, Tracks: []analyse.Track{{Values: []float64{1, 2, 3, 4}}}}
	if got := whole(half); len(got.Seconds) != 4 {
		t.Errorf("an interval of half the usual length is left out: %v", got.Seconds)
	}
}

func TestASearchIsShownByRisingLoadWithItsSteps(t *testing.T) {
	s := searched()
	s.Curve.Lines[0].Stop = &analyse.Stop{Load: 8, Label: "users = 8", Trial: 2, Limit: "cpu", Text: "instance CPU 95 % is over its limit of 90 %"}
	got := shown(s)
	var labels []string
	for _, cl := range got.Cells {
		labels = append(labels, cl.Label)
	}
	if want := []string{"users = 1", "users = 2", "users = 4", "users = 8"}; !slices.Equal(labels, want) || got.Peak != 3 {
		t.Errorf("%q, peak %d", labels, got.Peak)
	}
	if !slices.Equal(got.Curve.Lines[0].Cells, []int{0, 1, 2, 3}) || s.Cells[1].Label != "users = 8" || s.Curve.Lines[0].Cells[1] != 3 {
		t.Errorf("the line goes %v, and the study itself %v", got.Curve.Lines[0].Cells, s.Curve.Lines[0].Cells)
	}
	for _, tr := range got.Trials {
		if got.Cells[tr.Cell].Label != tr.Label {
			t.Errorf("trial %d (%s) is now of %s", tr.Number, tr.Label, got.Cells[tr.Cell].Label)
		}
	}
	if text := Text(s, 100, false); !strings.Contains(text, "  1. The search begins with 1 user\n") || !strings.Contains(text, "  5. 8 users gave the most of 4 loads\n") {
		t.Error("the steps are not told")
	}
	for _, want := range []string{"The first block is the search itself", "(but the first block, which is the search", "The least load over a limit is users = 8: instance CPU 95 %"} {
		if text := strings.Join(strings.Fields(Text(s, 100, false)), " "); !strings.Contains(text, want) {
			t.Errorf("the report does not say %q", want)
		}
	}
	for range 6 {
		s.Search = append(s.Search, analyse.Decision{Base: "cpus = 2", Why: "on"})
	}
	blocks := search(s.Search)
	if len(blocks) != 4 || len(blocks[1].List) != 1 || len(blocks[3].More.List) != 11 {
		t.Errorf("many steps are shown as %+v", blocks)
	}
}

func TestKnobsAreNamedShortWhereThatIsEnough(t *testing.T) {
	for _, c := range []struct {
		factors []string
		label   string
		want    string
	}{
		{[]string{"engine.settings.fsync", "users"}, "engine.settings.fsync = on, users = 2", "fsync = on, users = 2"},
		{[]string{"instance.cpus", "engine.cpus"}, "instance.cpus = 1, engine.cpus = 2", "instance.cpus = 1, engine.cpus = 2"},
		{nil, "all", "all"},
	} {
		s := &analyse.Study{Factors: c.factors, Cells: []analyse.Cell{{Label: c.label}}, Peak: -1}
		if got := shown(s).Cells[0].Label; got != c.want || s.Cells[0].Label != c.label {
			t.Errorf("%q became %q, want %q", c.label, got, c.want)
		}
	}
}

func TestIntervalsBelowZeroAreCutAndSaidSo(t *testing.T) {
	s := quickstart()
	s.Cells[1].Throughput.Low, s.Cells[1].Throughput.High = -5000, 90000
	b := build(s)
	curve := b.curveLine(s.Curve, s.Curve.Lines[0])
	svg := loadcurve.SVG(loadcurve.Data{Width: 760, Height: 320, Lines: []loadcurve.Line{curve}})
	if !strings.Contains(svg, `data-y="0 0 40000"`) { // twice the highest point, 16,030, and up to a round number
		t.Errorf("the axis follows the interval: %s", svg[:600])
	}
	text := Text(s, 120, false)
	for _, want := range []string{"0 – 90,000", "An interval that reaches below 0 is cut there"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text does not say %q", want)
		}
	}
	if strings.Contains(Text(quickstart(), 120, false), "is cut there") || !strings.Contains(build(s).doc.Sections[1].Blocks[0].Figure.Caption, "Intervals are cut at 0") {
		t.Error("says that intervals were cut where none was, or not where one was")
	}
	if got := interval(analyse.Estimate{Low: -1, High: 5, N: 2, Method: "m"}); got != "interval 0 to 5.00 (m, 2 repeats, cut at 0)" {
		t.Errorf("got %q", got)
	}
	if got := low(analyse.Estimate{Low: analyse.Absent()}); !math.IsNaN(got) {
		t.Errorf("an absent end became %v", got)
	}
}

func TestGlanceHasWhatOneAsksFirst(t *testing.T) {
	b := build(quickstart())
	if b.doc.Sections[0].ID != "glance" {
		t.Fatalf("the first section is %s", b.doc.Sections[0].ID)
	}
	got := map[string]string{}
	for _, row := range b.doc.Sections[0].Blocks[0].Table.Rows {
		got[row[0].Text] = row[1].Text
	}
	want := map[string]string{
		"Under test":   "PostgreSQL 16.9; dvdstore 1, small (10 MB)",
		"Machine":      "2 × 2.4 GHz, virtual; 23.5 GiB",
		"Instance":     "cpus 2, memory 1GiB",
		"Data":         "a database of 300 MiB, 29.3 % of the 1 GiB of memory that may be used",
		"Durability":   "fsync = on; synchronous_commit = off (default: on)",
		"Synced write": "105 µs (median, before the study)",
		"Restored":     "by copy in 1.31 to 1.50 s; verified: all 310 MiB",
		"Measured":     "11 trials of 4 configurations finished, in windows of 60.0 s",
		"Driver":       "210 µs of CPU per order; late by 105 to 138 µs (99th percentile)",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestEvidenceIsSplitAndShort(t *testing.T) {
	for _, c := range []struct {
		figures, decisive int
		lists             []int // lines of each list, the hidden one last
	}{
		{0, 0, nil}, {3, 3, []int{3}}, {3, 0, []int{3}}, {11, 1, []int{1, 7, 3}}, {12, 8, []int{8, 4}}, {12, 10, []int{8, 2, 2}}, {2, 9, []int{2}},
	} {
		l := analyse.Limit{Evidence: make([]string, c.figures), Decisive: c.decisive}
		var got []int
		for _, b := range evidence(l) {
			if b.More != nil {
				got = append(got, len(b.More.List))
			} else if b.Heading == "" {
				got = append(got, len(b.List))
			}
		}
		if !slices.Equal(got, c.lists) {
			t.Errorf("%d figures, %d of them decisive: lists of %v, want %v", c.figures, c.decisive, got, c.lists)
		}
	}
}

func TestComparisonsOfAStudyBeginWithTheVerdict(t *testing.T) {
	s := varied()
	b := build(s)
	at := slices.IndexFunc(b.doc.Sections, func(s section) bool { return s.ID == "comparison" })
	if at < 0 {
		t.Fatal("no section")
	}
	of := b.doc.Sections[at].Blocks
	if of[0].Text != s.Comparisons[0].Verdict || of[2].Table == nil || len(of[2].Table.Rows) != 2 {
		t.Errorf("blocks %+v", of)
	}
	if csv := string(b.data["comparison-fsync-off.csv"]); !strings.Contains(csv, "p95 login") {
		t.Errorf("the data lacks what the table leaves out: %s", csv)
	}
	s.Valid, s.Invalid = false, []string{"a reason"}
	s.Comparisons[0].Valid, s.Comparisons[0].Verdict = false, "INVALID: a reason. What was found: nothing."
	b = build(s)
	if got := b.doc.Sections[at].Blocks[0].Text; got != "For diagnosis only: nothing." {
		t.Errorf("got %q", got)
	}
}
