package catalog_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/catalog"
	"github.com/loadstone-perf/loadstone/internal/study"
	"github.com/loadstone-perf/loadstone/internal/unit"
	"github.com/loadstone-perf/loadstone/studies"
)

var update = flag.Bool("update", false, "write the table of published studies into the guide")

// small is the machine whose outcome each header states: two CPUs of one
// thread, one NUMA node, no KVM, no large pages, no volumes of a study's own.
var small = study.Size{CPUs: 2, Memory: 24 * unit.GiB}

// published is a file that follows an experiment of a published study.
type published struct {
	name   string // as `loadstone run` takes it
	source []byte
	header []string // lines of the comment on top, without marks
	// written is the plan with the figures that stand in the file.
	written *study.Plan
}

func allPublished(t *testing.T) []published {
	t.Helper()
	all, err := readPublished()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var readPublished = sync.OnceValues(func() (all []published, err error) {
	files, err := studies.Paths()
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if !strings.Contains(file, "/") {
			continue
		}
		source, err := studies.Files.ReadFile(file)
		if err != nil {
			return nil, err
		}
		p := published{name: strings.TrimSuffix(file, ".yaml"), source: source, header: header(source)}
		if p.written, err = p.plan(study.Size{}, study.Size{}); err != nil {
			return nil, err
		}
		if s := p.written.Study.Scale; s != nil {
			if p.written, err = p.plan(study.Size{}, s.From); err != nil {
				return nil, err
			}
		}
		all = append(all, p)
	}
	return all, nil
})

func header(source []byte) (lines []string) {
	for line := range strings.Lines(string(source)) {
		text, ok := strings.CutPrefix(line, "#")
		if !ok {
			return lines
		}
		lines = append(lines, strings.TrimRight(strings.TrimPrefix(text, " "), "\n"))
	}
	return lines
}

// paragraph is the header's paragraph that begins with prefix, in one line and
// without the prefix.
func (p published) paragraph(prefix string) string {
	i := slices.IndexFunc(p.header, func(line string) bool { return strings.HasPrefix(line, prefix) })
	if i < 0 {
		return ""
	}
	text := strings.TrimPrefix(p.header[i], prefix)
	for _, line := range p.header[i+1:] {
		if line == "" || labelled(line) {
			break
		}
		text += " " + line
	}
	return text
}

// The header's labels.
const (
	takesLabel = "Takes "
	needsLabel = "Needs: "
	hereLabel  = "On 2 CPUs and 24 GiB: "
)

func labelled(line string) bool {
	return slices.ContainsFunc([]string{takesLabel, needsLabel, hereLabel}, func(l string) bool { return strings.HasPrefix(line, l) })
}

// offered is the catalogue. There is one, because it remembers what goes
// together.
var offered = sync.OnceValue(catalog.Known)

// plan parses and plans p, on a machine of size m unless the file or `to` say
// for which.
func (p published) plan(m, to study.Size) (*study.Plan, error) {
	k := offered()
	k.Machine, k.To = m, to
	s, err := study.Parse(p.name+".yaml", p.source, k)
	if err != nil {
		return nil, err
	}
	return study.NewPlan(s)
}

func configs(p *study.Plan) (all []study.Config) {
	for _, c := range slices.Concat(p.Bases, p.Cells) {
		all = append(all, c.Config)
	}
	return all
}

// lacking are the reasons why the small machine refuses p.
func (p published) lacking() (why []string) {
	if _, err := p.plan(small, study.Size{}); err != nil {
		why = append(why, err.Error())
	}
	n := p.written.Study.Needs
	for _, need := range []struct {
		unmet bool
		text  string
	}{
		{n.KVM, "KVM"},
		{n.CPUs > int(small.CPUs), fmt.Sprintf("%d CPUs", n.CPUs)},
		{n.Memory > small.Memory, fmt.Sprintf("%s of memory", n.Memory)},
		{n.NUMANodes > 1, fmt.Sprintf("%d NUMA nodes", n.NUMANodes)},
		{n.ThreadsPerCore > 1, fmt.Sprintf("%d threads a core", n.ThreadsPerCore)},
		{n.Hosts > 1, fmt.Sprintf("%d hosts", n.Hosts)},
		{len(n.Providers) > 0 && !slices.ContainsFunc(n.Providers, local), strings.Join(n.Providers, " or ")},
	} {
		if need.unmet {
			why = append(why, need.text)
		}
	}
	for _, c := range configs(p.written) {
		for _, g := range c.Groups {
			why = append(why, peculiar(g.Shape)...)
		}
	}
	return why
}

// local says whether a provider has what it needs on the small machine.
func local(provider string) bool { return provider == "native" || provider == "container" }

// peculiar are the things of a shape that the small machine lacks.
func peculiar(s study.Shape) (why []string) {
	if s.LargePages != "" && s.LargePages != "off" {
		why = append(why, "large pages")
	}
	for _, volume := range []string{s.DataVolume, s.LogVolume} {
		if volume != "" {
			why = append(why, volume)
		}
	}
	return why
}

func TestPublishedStudiesPlanAtTheirOwnSize(t *testing.T) {
	all := allPublished(t)
	if len(all) < 20 {
		t.Errorf("found %d files, want those of five papers", len(all))
	}
	for _, p := range all {
		t.Run(p.name, func(t *testing.T) {
			plan := p.written
			if want := strings.ReplaceAll(p.name, "/", "-"); plan.Study.Name != want {
				t.Errorf("holds the study %q, want %q", plan.Study.Name, want)
			}
			if len(configs(plan)) == 0 {
				t.Error("plans nothing")
			}
			if !strings.Contains(strings.Join(p.header, "\n"), "    loadstone run "+p.name) {
				t.Errorf("the header does not say how to run it: loadstone run %s", p.name)
			}
			for _, label := range []string{takesLabel, needsLabel, hereLabel} {
				if p.paragraph(label) == "" {
					t.Errorf("the header has no line that begins with %q", label)
				}
			}
		})
	}
}

// TestTheSmallMachineDoesWhatTheHeaderSays: it runs the study, or refuses it
// for the reason that stands there.
func TestTheSmallMachineDoesWhatTheHeaderSays(t *testing.T) {
	runs := 0
	for _, p := range allPublished(t) {
		said, why := strings.TrimSuffix(p.paragraph(hereLabel), "."), p.lacking()
		reason, refused := strings.CutPrefix(said, "refused, ")
		switch {
		case said == "runs" && len(why) > 0:
			t.Errorf("%s: the header says that it runs; it is refused: %s", p.name, strings.Join(why, "; "))
		case said == "runs":
			runs++
		case !refused || reason == "":
			t.Errorf("%s: the header says %q, want \"runs\" or \"refused, REASON\"", p.name, said)
		case !slices.ContainsFunc(why, func(w string) bool { return strings.Contains(w, reason) }):
			t.Errorf("%s: the header says that it is refused for %q; the reasons are %q", p.name, reason, why)
		}
	}
	if runs < 5 {
		t.Errorf("only %d studies run on the small machine", runs)
	}
}

// TestWhatCanNotBeScaledSaysWhichMachineWouldDo forces all files to the small
// machine, also those that say themselves how far they shrink.
func TestWhatCanNotBeScaledSaysWhichMachineWouldDo(t *testing.T) {
	scaled := 0
	for _, p := range allPublished(t) {
		plan, err := p.plan(small, small)
		var faults study.Errors
		switch {
		case err == nil && plan.Study.Scale != nil && len(plan.Study.Scale.Values) > 0:
			scaled++
		case err == nil && plan.Study.Scale != nil:
			t.Errorf("%s: nothing of it was scaled", p.name)
		case err != nil && !errors.As(err, &faults):
			t.Errorf("%s: %v", p.name, err)
		}
		for _, fault := range faults {
			if !strings.Contains(fault.Message, "is large enough") && !strings.Contains(fault.Message, "keeps them apart") {
				t.Errorf("%s: %v", p.name, fault)
			}
		}
	}
	if scaled == 0 {
		t.Error("no study can be scaled to the small machine")
	}
}

func TestNoTwoPublishedStudiesAnswerTheSame(t *testing.T) {
	comment := regexp.MustCompile(`(?m)\s*#.*$|^(study|question):.*$`)
	space := regexp.MustCompile(`\s+`)
	questions, texts := map[string]string{}, map[string]string{}
	for _, p := range allPublished(t) {
		q := p.written.Study.Question
		text := space.ReplaceAllString(comment.ReplaceAllString(string(p.source), ""), " ")
		if other, ok := questions[q]; ok || q == "" {
			t.Errorf("%s and %s ask %q", p.name, other, q)
		}
		if other, ok := texts[text]; ok {
			t.Errorf("%s and %s do the same", p.name, other)
		}
		questions[q], texts[text] = p.name, p.name
	}
}

// A published value, as the header has it: `[OF: ]WHAT = NUMBER … (SOURCE)`, or
// an ordering.
var valueLine = regexp.MustCompile(`^(?:([^:]+): )?([^=<:]+) ([=<]) ([0-9][0-9.]*)[^()]*\(.+\)$`)
var orderingLine = regexp.MustCompile(`^ordering: .+ \(.+\)$`)

// TestPublishedValuesHaveASourceAndACell: where a value is of one
// configuration, the study has it.
func TestPublishedValuesHaveASourceAndACell(t *testing.T) {
	for _, p := range allPublished(t) {
		plan := p.written
		values := p.values()
		if len(values) == 0 {
			t.Errorf("%s: the header has no section Published", p.name)
		}
		for _, line := range values {
			if orderingLine.MatchString(line) {
				continue
			}
			m := valueLine.FindStringSubmatch(line)
			if m == nil {
				t.Errorf("%s: %q is not a value with its source", p.name, line)
				continue
			}
			if knob, value, ok := strings.Cut(m[1], " = "); ok && !has(plan, knob, value) {
				t.Errorf("%s: %q is of %s = %s, which the study does not have", p.name, line, knob, value)
			}
		}
	}
}

// TestSectionsPublishedHaveTheHeadersValues: each number of a section
// `published:` stands in the header, too, and each section has a source with a
// page.
func TestSectionsPublishedHaveTheHeadersValues(t *testing.T) {
	page := regexp.MustCompile(`paper, .*page [0-9]+`)
	sections := 0
	for _, p := range allPublished(t) {
		lines := strings.Join(p.values(), "\n")
		if len(p.written.Study.Published) > 0 {
			sections++
		}
		for _, v := range p.written.Study.Published {
			if !page.MatchString(v.Source) {
				t.Errorf("%s: %q is no source with its page", p.name, v.Source)
			}
			number := regexp.MustCompile(`(?:[=<]|at) ` + regexp.QuoteMeta(strconv.FormatFloat(v.Value, 'f', -1, 64)) + `0?\b`)
			if v.Says == "" && v.Bound == "" && !number.MatchString(lines) {
				t.Errorf("%s: %s = %g is not in the header:\n%s", p.name, v.Metric, v.Value, lines)
			}
		}
	}
	if sections < 9 {
		t.Errorf("only %d studies have published values beside theirs", sections)
	}
}

// values are the lines of the header's section Published; a line that is
// indented further belongs to the one before.
func (p published) values() (lines []string) {
	i := slices.IndexFunc(p.header, func(line string) bool { return strings.HasPrefix(line, "Published") })
	if i < 0 {
		return nil
	}
	for _, line := range p.header[i+1:] {
		if value, ok := strings.CutPrefix(line, "  "); ok {
			lines = append(lines, value)
		}
	}
	return lines
}

// has says whether some cell of the plan has this value of a knob.
func has(p *study.Plan, knob, value string) bool {
	for _, c := range slices.Concat(p.Bases, p.Cells) {
		if slices.Contains(c.Factors, study.Factor{Knob: knob, Value: value}) {
			return true
		}
	}
	return false
}

const (
	guide      = "../../docs/guide/published-studies.md"
	tableBegin = "<!-- studies: written by `go test ./internal/catalog -run Guide -update` -->\n"
	tableEnd   = "<!-- end -->\n"
)

// TestTheGuideListsAllPublishedStudies holds the guide's tables against the
// files.
func TestTheGuideListsAllPublishedStudies(t *testing.T) {
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(string(text), tableBegin)
	got, after, ok2 := strings.Cut(rest, tableEnd)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no place for the tables", guide)
	}
	want := tables(t)
	if *update {
		if err := os.WriteFile(guide, []byte(before+tableBegin+want+tableEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got != want {
		t.Errorf("the tables of %s are not those of the files: run with -update", guide)
	}
}

// tables are the studies by folder: question, needs and the small machine.
func tables(t *testing.T) string {
	var b strings.Builder
	last := ""
	for _, p := range allPublished(t) {
		folder, file, _ := strings.Cut(p.name, "/")
		if folder != last {
			fmt.Fprintf(&b, "\n### %s\n\n| study | question | needs | 2 CPUs, 24 GiB |\n|---|---|---|---|\n", folder)
			last = folder
		}
		cell := func(text string) string { return strings.ReplaceAll(strings.TrimSuffix(text, "."), "|", "\\|") }
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", file, cell(p.written.Study.Question), cell(p.paragraph(needsLabel)), cell(p.paragraph(hereLabel)))
	}
	return b.String() + "\n"
}
