package study

import (
	"regexp"
	"strings"
	"testing"
)

const guide = "../../docs/guide/writing-a-study.md"

// fence is a block of YAML in the guide: its text, and whether the line above
// it marks it as a complete study.
var fence = regexp.MustCompile("(?ms)^(<!-- complete study -->\n)?```yaml\n(.*?)^```$")

// fences returns the guide's examples: complete studies and fragments.
func fences(t *testing.T) (complete, fragments []string) {
	t.Helper()
	for _, m := range fence.FindAllStringSubmatch(string(read(t, guide)), -1) {
		if m[1] != "" {
			complete = append(complete, m[2])
		} else {
			fragments = append(fragments, m[2])
		}
	}
	return complete, fragments
}

func completeStudies(t *testing.T) []string {
	t.Helper()
	complete, _ := fences(t)
	if len(complete) < 3 {
		t.Fatalf("the guide has %d complete studies, at least 3 are expected", len(complete))
	}
	return complete
}

func TestCompleteStudiesOfTheGuideAreRight(t *testing.T) {
	for _, src := range completeStudies(t) {
		s, err := Parse(guide, []byte(src), known())
		if err != nil {
			t.Errorf("%v\nin:\n%s", err, src)
			continue
		}
		if _, err := NewPlan(s); err != nil {
			t.Errorf("%v\nin:\n%s", err, src)
		}
	}
}

// TestFragmentsOfTheGuideAreRight completes each fragment with the sections
// that it leaves out.
func TestFragmentsOfTheGuideAreRight(t *testing.T) {
	_, fragments := fences(t)
	if len(fragments) < 5 {
		t.Fatalf("the guide has %d fragments", len(fragments))
	}
	for _, src := range fragments {
		full := src
		for line := range strings.Lines(minimal) {
			key, _, _ := strings.Cut(line, ":")
			if !regexp.MustCompile(`(?m)^`+key+`:`).MatchString(src) && !strings.Contains(src, key+".name:") {
				full += line
			}
		}
		if _, err := Parse(guide, []byte(full), known()); err != nil {
			t.Errorf("%v\nin:\n%s", err, src)
		}
	}
}

// TestTheGuideNamesEveryKnob keeps the guide complete.
func TestTheGuideNamesEveryKnob(t *testing.T) {
	text := string(read(t, guide))
	for _, k := range knobs() {
		if !strings.Contains(text, "`"+k.Name+"`") {
			t.Errorf("the guide does not name `%s`", k.Name)
		}
		if k.Default == "" {
			continue
		}
		row := regexp.MustCompile("(?m)^\\| `" + regexp.QuoteMeta(k.Name) + "` \\|.*\\| " + regexp.QuoteMeta(k.Default) + " \\|")
		if !row.MatchString(text) {
			t.Errorf("the guide does not say that `%s` is %s by default", k.Name, k.Default)
		}
	}
	for _, p := range known().Workloads[0].Params {
		if !strings.Contains(text, "`workload."+p.Name+"`") {
			t.Errorf("the guide does not name `workload.%s`", p.Name)
		}
	}
}

// TestTheGuideShowsARealError holds the guide's example of an error to what
// Parse prints.
func TestTheGuideShowsARealError(t *testing.T) {
	src := "study: my-study\nquestion: How much?\nworkload: {name: dvdstore, size: smal}\nengine: {name: postgres}\nprovider: {name: native}\n"
	_, err := Parse("my-study.yaml", []byte(src), known())
	if err == nil || !strings.Contains(string(read(t, guide)), "```text\n"+err.Error()+"\n```") {
		t.Errorf("the guide does not show:\n%v", err)
	}
}
