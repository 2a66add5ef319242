package arch_test

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestTheGuideHasTheseRules compares the table in the architecture guide with
// the rules that are executed, in both directions.
func TestTheGuideHasTheseRules(t *testing.T) {
	text, err := os.ReadFile("../../docs/guide/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range astray(string(text), rules) {
		t.Error(fault)
	}
}

func TestATableThatDiffersIsSeen(t *testing.T) {
	const head = "<!-- import rules -->\n| folder | may import of ours | never |\n|---|---|---|\n"
	const tail = "<!-- end of import rules -->\n"
	want := []rule{{"drive", []string{"workload", "clock"}, append([]string{"net"}, drivers...)}, {"cli", everything, drivers}}
	for table, faults := range map[string]int{
		"| `drive` | `clock`, `workload` | `net`, database drivers |\n| `cli` | all | database drivers |\n":                  0,
		"| `drive` | `clock` | `net`, database drivers |\n| `cli` | all | database drivers |\n":                              1,
		"| `drive` | `clock`, `workload` | database drivers |\n| `cli` | all | – |\n":                                        2,
		"| `drive` | `clock`, `workload` | `net`, database drivers |\n":                                                      1,
		"| `drive` | `clock`, `workload` | `net`, database drivers |\n| `cli` | all | database drivers |\n| `x` | – | – |\n": 1,
		"": 1,
	} {
		if got := astray(head+table+tail, want); len(got) != faults {
			t.Errorf("%q: %q, want %d faults", table, got, faults)
		}
	}
	if got := astray("no table", want); len(got) != 1 {
		t.Errorf("without markers: %q", got)
	}
}

// astray lists in what the table between the markers of text differs from want.
func astray(text string, want []rule) (faults []string) {
	_, rest, begun := strings.Cut(text, "<!-- import rules -->")
	table, _, ended := strings.Cut(rest, "<!-- end of import rules -->")
	lines := strings.Split(strings.TrimSpace(table), "\n")
	if !begun || !ended || len(lines) < 3 {
		return []string{"the guide has no table between <!-- import rules --> and <!-- end of import rules -->"}
	}
	told := map[string]rule{}
	for _, line := range lines[2:] {
		cells := strings.Split(strings.Trim(line, "| "), "|")
		if len(cells) != 3 {
			return append(faults, "not a line of the table: "+line)
		}
		r := rule{strings.Trim(cells[0], " `"), listed(cells[1]), listed(cells[2])}
		told[r.folder] = r
		if !slices.ContainsFunc(want, func(w rule) bool { return w.folder == r.folder }) {
			faults = append(faults, "the guide has a rule for "+r.folder+", which is not executed")
		}
	}
	for _, w := range want {
		r, there := told[w.folder]
		switch {
		case !there:
			faults = append(faults, "the guide has no rule for "+w.folder)
		case !same(r.ours, w.ours):
			faults = append(faults, w.folder+" may import "+strings.Join(w.ours, ", ")+"; the guide says "+strings.Join(r.ours, ", "))
		case !same(r.never, w.never):
			faults = append(faults, w.folder+" may never import "+strings.Join(w.never, ", ")+"; the guide says "+strings.Join(r.never, ", "))
		}
	}
	return faults
}

// listed are the names in a cell of the table.
func listed(cell string) (out []string) {
	for name := range strings.SplitSeq(cell, ",") {
		switch name = strings.Trim(name, " `"); name {
		case "–", "":
		case "all":
			out = append(out, everything...)
		case "database drivers":
			out = append(out, drivers...)
		default:
			out = append(out, name)
		}
	}
	return out
}

// same says whether a and b hold the same names in any order.
func same(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}
