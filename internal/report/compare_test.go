package report

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/analyse"
)

// comparison is one with a difference, a sameness and something not resolved.
func comparison() *analyse.Comparison {
	effect := func(quantity, name string, p float64, ratio, low, high float64, v analyse.Verdict, text string, better bool) analyse.Effect {
		return analyse.Effect{
			Quantity: quantity, Type: name, Percentile: p, Unit: "ms", Base: 100, Other: 100 * ratio, BaseN: 3, OtherN: 3,
			Ratio: analyse.Number(ratio), Low: analyse.Number(low), High: analyse.Number(high), P: 0.01, HolmP: 0.02, RankP: 0.1,
			EquivalenceP: analyse.Number(nan), MarginPct: 3, Verdict: v, Text: text, Better: better,
		}
	}
	return &analyse.Comparison{
		Base: analyse.Side{Name: "before"}, Other: analyse.Side{Name: "after"}, Valid: true,
		Verdict: "after against before: at users = 4, throughput differs by +4.1 % (2.0 to 6.3 %), for the better.",
		Metric:  analyse.Metric{Name: "orders a minute", Short: "OPM"}, MarginPct: 3, PercentileMarginPct: 10,
		Cells: []analyse.Contrast{{Label: "users = 4", Effects: []analyse.Effect{
			effect("throughput", "", 0, 1.041, 1.020, 1.063, analyse.Differs, "differs by +4.1 % (2.0 to 6.3 %)", true),
			effect("p50 order", "order", 50, 1.001, 0.99, 1.01, analyse.Same, "same within ±10 %", false),
			effect("p95 order", "order", 95, 1.2, nan, nan, analyse.Unresolved, "not resolved: one repeat gives no interval", false),
			effect("p99 login", "login", 99, 1.2, 1.1, 1.3, analyse.Differs, "differs by +20.0 % (10.0 to 30.0 %)", false),
		}}},
		Unmatched:   []string{"users = 8: only in before"},
		Differences: []analyse.Difference{{Name: "Engine", Base: "PostgreSQL 15.17", Other: "PostgreSQL 15.18"}},
		Conditions:  []analyse.Judgement{{Condition: "p99:login > 5%", Outcome: analyse.Fails, Reasons: []string{"p99 login at users = 4: +20.0 %"}}},
	}
}

func TestComparisonSaysTheVerdictFirst(t *testing.T) {
	text := ComparisonText([]*analyse.Comparison{comparison()}, 120, false)
	at := 0
	for _, want := range []string{
		"after against before: at users = 4, throughput differs by +4.1 %", "p99:login > 5%", "fails", "users = 4", "throughput", "+4.1 % (2.0 to 6.3 %)", "better",
		"same within ±10 %", "+20.0 % ", "not resolved: one", "+20.0 % (10.0 to 30.0 %)", "worse", "only in before", "PostgreSQL 15.18", "Holm", "±3 %",
	} {
		next := strings.Index(text[at:], want)
		if next < 0 {
			t.Fatalf("%q is missing, or stands too early, in:\n%s", want, text)
		}
		at += next
	}
	if strings.Contains(text, "INVALID") {
		t.Error("a valid comparison is called invalid")
	}
}

func TestComparisonPageIsWholeAndWellFormed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "page")
	second := comparison()
	second.Other.Name = "much later"
	second.Conditions, second.Unmatched, second.Differences = nil, nil, nil
	index, err := WriteComparison([]*analyse.Comparison{comparison(), second}, dir)
	if err != nil || index != filepath.Join(dir, "index.html") {
		t.Fatal(index, err)
	}
	page, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	svgs, links := 0, 0
	for _, e := range parse(t, page) {
		if e.name == "svg" {
			svgs++
		}
		if href := e.attr["href"]; e.name == "a" && strings.HasPrefix(href, "data/") {
			links++
			if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(href))); err != nil {
				t.Error(err)
			}
		}
	}
	if svgs != 4 || links != 4 {
		t.Errorf("%d pictures and %d links to data, want 4 of each", svgs, links)
	}
	sheet, err := os.ReadFile(filepath.Join(dir, "data", "comparison-after.csv"))
	if err != nil || strings.Count(string(sheet), "\n") != 5 || !strings.Contains(string(sheet), "users = 4,throughput,ms,100,104.1") {
		t.Errorf("%v\n%s", err, sheet)
	}
	var back compared
	text, err := os.ReadFile(filepath.Join(dir, "comparison.json"))
	if err == nil {
		err = json.Unmarshal(text, &back)
	}
	if err != nil || len(back.Comparisons) != 2 || back.Comparisons[0].Cells[0].Effects[2].Low.OK() || back.Comparisons[0].Verdict != comparison().Verdict {
		t.Errorf("%v: %+v", err, back)
	}
}

func TestAnInvalidComparisonSaysSoEverywhere(t *testing.T) {
	c := comparison()
	c.Valid, c.Invalid, c.Verdict = false, []string{"after: trial 3: steal"}, "INVALID: after: trial 3: steal."
	b := buildComparison([]*analyse.Comparison{comparison(), c})
	page, err := renderPage(b.doc)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(page), renderText(b.doc, 100, false)} {
		if !strings.Contains(text, "INVALID") || !strings.Contains(text, "after: trial 3: steal") || !strings.Contains(text, "must not be quoted") {
			t.Error("it is not said that the comparison is invalid")
		}
	}
	if !strings.Contains(string(page), "The study is not valid") {
		t.Error("the figure's caption does not say so")
	}
}

func TestHostileNamesStayTextInAComparison(t *testing.T) {
	c := comparison()
	for _, s := range []*string{&c.Base.Name, &c.Other.Name, &c.Verdict, &c.Cells[0].Label, &c.Unmatched[0], &c.Differences[0].Base, &c.Conditions[0].Condition, &c.Cells[0].Effects[0].Quantity, &c.Cells[0].Effects[0].Text} {
		*s = attack
	}
	page, err := renderPage(buildComparison([]*analyse.Comparison{c}).doc)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range parse(t, page) {
		if e.name == "img" || e.name == "script" {
			t.Errorf("a name became the element %s", e.name)
		}
	}
	if text := ComparisonText([]*analyse.Comparison{c}, 80, false); strings.ContainsAny(text, "\x00\x1b") {
		t.Error("a name reaches the terminal with its control characters")
	}
}

func TestNumbersThatMustBeThereAreDemanded(t *testing.T) {
	c := comparison()
	c.Cells[0].Effects[1].Other = math.Inf(1)
	if _, err := ComparisonJSON([]*analyse.Comparison{c}); err == nil || !strings.Contains(err.Error(), "Effects[1].Other") {
		t.Error(err)
	}
}

func TestHistoryMarksEachChange(t *testing.T) {
	h := &analyse.History{Metric: analyse.Metric{Name: "orders a minute", Short: "OPM"}, Verdict: "Throughput changed.", Notes: []string{"a note"},
		Left: []analyse.LeftOut{{Name: "odd", Reason: "INVALID: steal"}}, Conditions: comparison().Conditions}
	l := analyse.HistoryLine{Label: "users = 4"}
	for i := range 4 {
		h.Runs = append(h.Runs, analyse.HistoryRun{Name: fmt.Sprint("night-", i), Created: time.Date(2026, 10, 1+i, 3, 0, 0, 0, time.UTC), Engine: "PostgreSQL 15.18"})
		l.Points = append(l.Points, analyse.HistoryPoint{Run: i, Throughput: analyse.Estimate{Value: 1000 + float64(i), N: 3}})
	}
	h.Runs[2].Differences = []analyse.Difference{{Name: "shared_buffers", Base: "128MB", Other: "1GB"}}
	l.Changes = []analyse.HistoryChange{{Run: 2, At: 2, Ratio: 0.958, Text: "from the run of 2026-10-03 on: -4.2 % (-5.1 to -3.2 %)"}}
	h.Lines = []analyse.HistoryLine{l}
	text := HistoryText(h, 140, false)
	marked := 0
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "night-") && strings.Contains(line, "◆") {
			marked++
			if !strings.HasPrefix(line, "night-2") || !strings.Contains(line, "from the run of 2026-10-03 on") {
				t.Errorf("marked: %s", line)
			}
		}
	}
	if marked != 1 || !strings.Contains(text, "shared_buffers 128MB → 1GB") || !strings.Contains(text, "odd: INVALID: steal") || strings.Index(text, "Throughput changed.") > 120 {
		t.Errorf("%d marks in\n%s", marked, text)
	}
	if _, err := HistoryJSON(h); err != nil {
		t.Error(err)
	}
}
