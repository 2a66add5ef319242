package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/loadstone-perf/loadstone/internal/analyse"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// studies are those that every rendering must survive.
func studies() map[string]*analyse.Study {
	noCurve := quickstart()
	noCurve.Curve = nil
	bare := quickstart()
	for i := range bare.Trials {
		bare.Trials[i].Timeline, bare.Trials[i].Waits = analyse.Timeline{}, nil
	}
	once := sample([]int{4}, 1, 30)
	for i := range once.Cells {
		e := &once.Cells[i].Throughput
		e.Low, e.High, e.N, e.Method = analyse.Absent(), analyse.Absent(), 1, "one repeat: no interval"
	}
	return map[string]*analyse.Study{
		"ordinary": quickstart(), "invalid": invalid(), "empty": empty(), "hostile": hostile(),
		"no curve": noCurve, "no timelines": bare, "one trial": once, "all failed": allFailed(), "zero": {},
		"searched": searched(), "varied": varied(), "scaled": scaled(),
	}
}

// allFailed is a study whose every trial failed.
func allFailed() *analyse.Study {
	s := quickstart()
	s.Valid, s.Peak, s.Invalid, s.Answer, s.Curve = false, -1, []string{"no trial finished"}, "INVALID: no trial finished.", nil
	for i := range s.Cells {
		s.Cells[i] = analyse.Cell{Label: s.Cells[i].Label, Factors: s.Cells[i].Factors, Throughput: analyse.Estimate{Low: analyse.Absent(), High: analyse.Absent(), Method: "not measured"}}
	}
	for i := range s.Trials {
		t := &s.Trials[i]
		*t = analyse.Trial{Number: t.Number, Block: t.Block, Cell: t.Cell, Label: t.Label, Status: "failed", Reason: "the server did not start"}
	}
	return s
}

// element is a start tag of a page.
type element struct {
	name string
	attr map[string]string
}

var rawText = regexp.MustCompile(`(?s)<(style|script)>.*?</(style|script)>`)

// parse reads a page strictly, as XML: what is closed must have been opened,
// attributes are quoted, and nothing is left to a browser's guesses. Style and
// script are other languages and left out.
func parse(t *testing.T, page []byte) []element {
	t.Helper()
	if n := len(rawText.FindAll(page, -1)); n != 2 {
		t.Fatalf("%d elements of style and script, want one each", n)
	}
	d := xml.NewDecoder(bytes.NewReader(rawText.ReplaceAll(page, nil)))
	d.Entity = xml.HTMLEntity
	var out []element
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("the page is not well-formed: %v", err)
		}
		if e, ok := token.(xml.StartElement); ok {
			el := element{e.Name.Local, map[string]string{}}
			for _, a := range e.Attr {
				el.attr[a.Name.Local] = a.Value
			}
			out = append(out, el)
		}
	}
}

func TestPageIsWellFormedAndAccessible(t *testing.T) {
	for name, s := range studies() {
		t.Run(name, func(t *testing.T) {
			page, _, err := HTML(s)
			if err != nil {
				t.Fatal(err)
			}
			if !utf8.Valid(page) {
				t.Error("the page is not UTF-8")
			}
			elements := parse(t, page)
			checkIDs(t, elements)
			count := map[string]int{}
			for _, e := range elements {
				count[e.name]++
				if e.name == "svg" && len(e.attr["aria-label"]) < 5 {
					t.Error("a figure without a description")
				}
			}
			if count["h1"] != 1 || count["main"] != 1 || count["table"] != count["caption"] || count["figure"] != count["figcaption"] {
				t.Errorf("elements: %v", count)
			}
		})
	}
}

// checkIDs sees that ids are unique and that whatever refers to one finds it.
func checkIDs(t *testing.T, elements []element) {
	t.Helper()
	ids := map[string]bool{}
	for _, e := range elements {
		if id, ok := e.attr["id"]; ok {
			if ids[id] || id == "" {
				t.Errorf("id %q twice or empty", id)
			}
			ids[id] = true
		}
	}
	for _, e := range elements {
		refs := strings.Fields(e.attr["aria-labelledby"])
		if inside, ok := strings.CutPrefix(e.attr["href"], "#"); ok {
			refs = append(refs, inside)
		}
		for _, r := range refs {
			if !ids[r] {
				t.Errorf("%s refers to id %q, which is not there", e.name, r)
			}
		}
	}
}

func TestTextsOfTheStudyStayTexts(t *testing.T) {
	page, _, err := HTML(hostile())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range parse(t, page) {
		if e.name == "img" || e.name == "script" || e.name == "iframe" {
			t.Errorf("an element %s came in", e.name)
		}
		for a := range e.attr {
			if strings.HasPrefix(a, "on") || a == "style" {
				t.Errorf("attribute %s of %s came in", a, e.name)
			}
		}
	}
	if got := bytes.Count(page, []byte("window.owned=1&lt;/script")); got < 50 {
		t.Errorf("the attack shows as text only %d times: it was not told", got)
	}
	for _, r := range string(page) {
		if !visible(r) && r != '\n' && r != '\t' {
			t.Fatalf("control character %U", r)
		}
	}
}

func TestPolicyNamesExactlyThePagesStyleAndScript(t *testing.T) {
	page, _, err := HTML(quickstart())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []string{"style", "script"} {
		_, rest, _ := strings.Cut(string(page), "<"+e+">")
		inner, _, _ := strings.Cut(rest, "</"+e+">")
		// Attributes are written with character references.
		want := strings.NewReplacer("+", "&#43;", "'", "&#39;").Replace("-src '" + hash(inner) + "'")
		if len(inner) < 100 || !strings.Contains(string(page), e+want) {
			t.Errorf("the policy does not name the hash of %s, %s", e, want)
		}
	}
}

func TestLinksAndDataFilesMatch(t *testing.T) {
	for name, s := range studies() {
		page, data, err := HTML(s)
		if err != nil {
			t.Fatal(err)
		}
		linked := map[string]bool{}
		for _, e := range parse(t, page) {
			if file, ok := strings.CutPrefix(e.attr["href"], "data/"); ok {
				linked[file] = true
				if data[file] == nil {
					t.Errorf("%s: link to data/%s, which is not there", name, file)
				}
			}
		}
		for file := range data {
			if !linked[file] {
				t.Errorf("%s: nothing links to %s", name, file)
			}
			if !regexp.MustCompile(`^[a-z0-9-]+\.csv$`).MatchString(file) {
				t.Errorf("%s: file name %q", name, file)
			}
		}
	}
}

func TestDataFilesAreTables(t *testing.T) {
	for name, s := range studies() {
		_, data, err := HTML(s)
		if err != nil {
			t.Fatal(err)
		}
		for file, content := range data {
			rows, err := csv.NewReader(bytes.NewReader(content)).ReadAll()
			if err != nil || len(rows) < 2 {
				t.Errorf("%s: %s has %d rows: %v", name, file, len(rows), err)
				continue
			}
			for _, row := range rows {
				for _, f := range row {
					if _, err := strconv.ParseFloat(f, 64); err != nil && strings.IndexAny(f, "=+-@") == 0 {
						t.Errorf("%s: %s: a spreadsheet would run %q", name, file, f)
					}
					if f == "NaN" || strings.Contains(f, "Inf") {
						t.Errorf("%s: %s: %q where nothing is", name, file, f)
					}
				}
			}
		}
	}
}

func TestFormulasAreDisarmedAndNumbersAreNot(t *testing.T) {
	got := string(newSheet("a").text("=1+1", "@x", "-3", "-x", "+4.5", "plain", "").num(-2.5, math.NaN()).bytes())
	if got != "a\n" {
		t.Fatalf("an unfinished row was written: %q", got)
	}
	f := newSheet("a")
	f.text("=1+1", "@x", "-3", "-x", "+4.5", "plain", "").num(-2.5, math.NaN()).end()
	if want := "a\n'=1+1,'@x,-3,'-x,+4.5,plain,,-2.5,\n"; string(f.bytes()) != want {
		t.Errorf("got %q, want %q", f.bytes(), want)
	}
}

func TestFiguresLeadBackToTheStudy(t *testing.T) {
	s := quickstart()
	_, data, err := HTML(s)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(data["throughput.csv"])).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.Index(rows[0], "throughput")
	for i, cl := range s.Cells {
		for k, want := range []float64{cl.Throughput.Value, float64(cl.Throughput.Low), float64(cl.Throughput.High)} {
			if got, err := strconv.ParseFloat(rows[i+1][at+k], 64); err != nil || got != want {
				t.Errorf("%s: column %d is %s, want %v", cl.Label, k, rows[i+1][at+k], want)
			}
		}
	}
	rows, err = csv.NewReader(bytes.NewReader(data["throughput-over-time.csv"])).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	// 11 trials left a timeline of 75 s.
	if want := 1 + 11*75; len(rows) != want {
		t.Errorf("%d rows over time, want %d", len(rows), want)
	}
}

func TestInvalidStudyShowsNoKeyFigures(t *testing.T) {
	for _, s := range []*analyse.Study{invalid(), empty(), allFailed()} {
		page, _, err := HTML(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, out := range []string{string(page), Text(s, 100, false)} {
			if strings.Contains(out, "Peak throughput") || !strings.Contains(out, "INVALID") || !strings.Contains(out, s.Invalid[0]) && !strings.Contains(out, inPage(s.Invalid[0])) {
				t.Errorf("%s: key figures are shown, or the reasons are not", s.Name)
			}
		}
		if bytes.Count(page, []byte("<figcaption>")) != bytes.Count(page, []byte("The study is not valid: for diagnosis only.")) {
			t.Errorf("%s: a figure does not say that the study is not valid", s.Name)
		}
	}
	page, _, err := HTML(quickstart())
	if err != nil || !bytes.Contains(page, []byte("Peak throughput")) || bytes.Contains(page, []byte("not valid")) {
		t.Errorf("a valid study does not show its key figures: %v", err)
	}
}

// What the data stand for is told with the headline, where the workload says.
func TestShareOfTheNominalFigureIsBesideThePeak(t *testing.T) {
	const name = "Share of the nominal figure"
	s := quickstart()
	if strings.Contains(Text(s, 100, false), name) {
		t.Error("a workload without a nominal figure has a share of it")
	}
	s.Nominal = &analyse.Nominal{Value: 2, SharePct: 4_321, Params: []analyse.Fact{{Name: "customers", Value: "1000"}, {Name: "days", Value: "30"}}}
	page, _, err := HTML(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{string(page), Text(s, 200, false)} {
		for _, want := range []string{name, "4,321", "customers = 1000, days = 30"} {
			if !strings.Contains(out, want) {
				t.Errorf("the report does not have %q", want)
			}
		}
	}
}

// inPage writes a text as html/template does.
func inPage(s string) string { return strings.ReplaceAll(s, "'", "&#39;") }

func TestSimulatedStudySaysSo(t *testing.T) {
	for _, simulated := range []bool{false, true} {
		s := quickstart()
		s.Simulated = simulated
		page, _, err := HTML(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := bytes.Contains(page, []byte(">SIMULATED<")); got != simulated {
			t.Errorf("page: banner %v, want %v", got, simulated)
		}
		text := Text(s, 80, false)
		if got := strings.Contains(text, "SIMULATED"); got != simulated {
			t.Errorf("text: banner %v, want %v", got, simulated)
		}
		// No part that is cut out may look like a measurement.
		titles := regexp.MustCompile(`(?s)<title>[^<]*</title>\n<style|<h1>.*?</h1>|<caption.*?</caption>|<figcaption>.*?</figcaption>|class="figure-title">[^<]*`).FindAllString(string(page), -1)
		if len(titles) < 10 {
			t.Fatalf("the page has %d titles", len(titles))
		}
		for _, title := range titles {
			if strings.Contains(title, "SIMULATED") != simulated {
				t.Errorf("simulated: %v, and a title is %s", simulated, title)
			}
		}
		for _, line := range strings.Split(text, "\n") {
			if simulated && strings.HasPrefix(line, "Throughput in ") {
				t.Errorf("text: a table is called %q", line)
			}
		}
	}
}

func TestFailedTrialsAndTheirReasonsAreShown(t *testing.T) {
	s := quickstart()
	page, _, err := HTML(s)
	if err != nil {
		t.Fatal(err)
	}
	failed := s.Trials[slices.IndexFunc(s.Trials, func(t analyse.Trial) bool { return t.Status == "failed" })]
	for _, want := range []string{failed.Reason, fmt.Sprintf("Trial %d, block %d: failed", failed.Number, failed.Block), "12 trials in the order of running; 11 finished and passed the gate."} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

func TestTheChosenTrialIsThePeaksMedian(t *testing.T) {
	s := quickstart()
	for i, x := range []float64{300, 100, 200} {
		s.Trials[i].Throughput = x
	}
	s.Peak, s.Cells[0].Trials = 0, []int{0, 1, 2}
	if got := chosenTrial(s); got != &s.Trials[2] {
		t.Errorf("trial %d was chosen, want 3", got.Number)
	}
	s.Cells[0].Trials = []int{0, 1}
	if got := chosenTrial(s); got != &s.Trials[1] {
		t.Errorf("of two, trial %d was chosen, want the lower, 2", got.Number)
	}
	if got := chosenTrial(empty()); got != nil {
		t.Errorf("trial %d was chosen of none", got.Number)
	}
}

func TestSameStudySameBytes(t *testing.T) {
	a, dataA, _ := HTML(quickstart())
	b, dataB, _ := HTML(quickstart())
	if !bytes.Equal(a, b) || len(dataA) != len(dataB) {
		t.Error("the page differs between two renderings")
	}
	for name := range dataA {
		if !bytes.Equal(dataA[name], dataB[name]) {
			t.Errorf("%s differs", name)
		}
	}
}

func TestJSONReadsBack(t *testing.T) {
	out, err := JSON(quickstart())
	if err != nil {
		t.Fatal(err)
	}
	var back analyse.Study
	if err := json.Unmarshal(out, &back); err != nil {
		t.Fatal(err)
	}
	if back.Cells[3].Throughput.Value != quickstart().Cells[3].Throughput.Value || len(back.Trials) != 12 {
		t.Error("what was read back differs")
	}
}

func TestJSONNamesTheNumberThatItCannotHold(t *testing.T) {
	s := quickstart()
	s.Cells[1].Throughput.Low = analyse.Absent() // may be absent
	s.Trials[2].Timeline.Seconds = []float64{nan}
	if _, err := JSON(s); err != nil {
		t.Errorf("what may be absent is refused: %v", err)
	}
	s.Cells[1].Usage[2].Value = math.Inf(1)
	if _, err := JSON(s); err == nil || !strings.Contains(err.Error(), "study.Cells[1].Usage[2].Value") {
		t.Errorf("got %v, want the place of the infinity", err)
	}
}

func TestTextGolden(t *testing.T) {
	for name, got := range map[string]string{
		"quickstart-100.txt":       Text(quickstart(), 100, false),
		"quickstart-60-colour.txt": Text(quickstart(), 60, true),
		"invalid-80.txt":           Text(invalid(), 80, false),
		"empty-80.txt":             Text(empty(), 80, false),
		"scaled-100.txt":           only(Text(scaled(), 100, false), "SPEED-UP OVER CPUS", "THROUGHPUT OVER TIME"),
	} {
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil || string(want) != got {
			t.Errorf("differs from %s (run with -update and read it): %v", path, err)
		}
	}
}

// only is the part of a text report from one heading to another.
func only(text, from, to string) string {
	_, rest, _ := strings.Cut(text, from+"\n")
	part, _, _ := strings.Cut(rest, to+"\n")
	return from + "\n" + part
}

var ansi = regexp.MustCompile("\x1b\\[[0-9;]*m")

func TestTextKeepsToItsWidthAndItsCharacters(t *testing.T) {
	all := map[string]document{}
	for name, s := range studies() {
		s.Source = "" // shown word for word, however wide
		all[name] = build(s).doc
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"ordinary", "invalid", "empty", "hostile", "no curve", "one trial", "all failed", "zero"}).Draw(t, "study")
		width := rapid.IntRange(40, 200).Draw(t, "width")
		colour := rapid.Bool().Draw(t, "colour")
		out := renderText(all[name], width, colour)
		if colour {
			out = ansi.ReplaceAllString(out, "")
		}
		for line := range strings.Lines(out) {
			line = strings.TrimSuffix(line, "\n")
			if n := utf8.RuneCountInString(line); n > width {
				t.Fatalf("%d characters in a width of %d: %q", n, width, line)
			}
			for _, r := range line {
				if !visible(r) {
					t.Fatalf("control character %U in %q", r, line)
				}
			}
		}
	})
}

func TestWrapLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOf(rapid.RuneFrom([]rune("ab é\n "))).Draw(t, "text")
		width := rapid.IntRange(8, 30).Draw(t, "width")
		var got string
		for _, l := range wrap(s, width) {
			if utf8.RuneCountInString(l) > width {
				t.Fatalf("%q is wider than %d", l, width)
			}
			got += l
		}
		squeeze := strings.NewReplacer(" ", "", "\n", "")
		if squeeze.Replace(got) != squeeze.Replace(s) {
			t.Fatalf("%q became %q", s, got)
		}
	})
}

func TestSmallTexts(t *testing.T) {
	for in, want := range map[string]string{"": "other", "cpu": "cpu", "../../etc/Passwd": "etc-passwd", "Ä": "other", strings.Repeat("ab ", 40): strings.Repeat("ab-", 13) + "a"} {
		if got := slug(in); got != want {
			t.Errorf("slug(%q) = %q, want %q", in, got, want)
		}
	}
	for want, in := range map[string][]int{"": nil, "3": {3}, "1, 2": {2, 1}, "1–4, 7": {7, 1, 2, 3, 4}, "1, 3, 5–7": {1, 3, 5, 6, 7, 7}} {
		if got := trialList(in); got != want {
			t.Errorf("trialList(%v) = %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{"": "", "cpu": "Cpu.", "A.": "A.", "é!": "É!"} {
		if got := sentence(in); got != want {
			t.Errorf("sentence(%q) = %q, want %q", in, got, want)
		}
	}
	for part, want := range map[float64]string{0: "", 1: "████", 0.5: "██", 0.53: "██▏", 2: "████", -1: ""} {
		if got := textBar(part, 4); got != want {
			t.Errorf("textBar(%g) = %q, want %q", part, got, want)
		}
	}
}

func TestWriteLeavesWholeFilesOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "report")
	for range 2 { // the second time over the first
		index, err := Write(quickstart(), dir)
		if err != nil {
			t.Fatal(err)
		}
		if index != filepath.Join(dir, "index.html") {
			t.Errorf("index at %s", index)
		}
	}
	_, data, _ := HTML(quickstart())
	want := []string{"data", "index.html", "report.json", "report.txt"}
	for name := range data {
		want = append(want, filepath.Join("data", name))
	}
	var got []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, path); rel != "." {
			got = append(got, rel)
		}
		return err
	})
	slices.Sort(want)
	slices.Sort(got)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("files %v, want %v: %v", got, want, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "report.txt"))
	if err != nil || string(text) != Text(quickstart(), textWidth, false) {
		t.Errorf("report.txt differs from Text: %v", err)
	}
}

func TestWriteSaysWhatItCouldNotWrite(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "index.html", "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(quickstart(), dir); err == nil || !strings.Contains(err.Error(), "index.html") {
		t.Errorf("got %v, want an error that names index.html", err)
	}
	left, err := filepath.Glob(filepath.Join(dir, ".index*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestLargeStudyStaysSmall(t *testing.T) {
	page, _, err := HTML(sample([]int{1, 2, 4, 8, 12, 16, 24, 32, 48, 64}, 20, 600))
	if err != nil {
		t.Fatal(err)
	}
	if len(page) > 5<<20 {
		t.Errorf("200 trials make a page of %d bytes", len(page))
	}
	if n := bytes.Count(page, []byte(`class="panel"`)); n < 200 {
		t.Errorf("%d small figures, want one for each trial", n)
	}
}

// BenchmarkReportOf200Trials makes the whole report of 200 trials of ten
// minutes: page, text, JSON and data. The target is three seconds.
func BenchmarkReportOf200Trials(b *testing.B) {
	s := sample([]int{1, 2, 4, 8, 12, 16, 24, 32, 48, 64}, 20, 600)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Write(s, b.TempDir()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s")
	b.ReportMetric(3, "s-target")
}
