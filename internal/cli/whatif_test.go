package cli

import (
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/catalog"
	"github.com/loadstone-perf/loadstone/internal/provider/twin"
	"github.com/loadstone-perf/loadstone/internal/study"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// TestAStudyIsPutOnTheTwin: what the axes set takes the place of what the study
// says, wherever it says it, and everything else stays, on its line.
func TestAStudyIsPutOnTheTwin(t *testing.T) {
	const source = `study: shop
workload: {name: dvdstore, size: small}
engine:
  name: postgres
  settings: {shared_buffers: 25%}
# where it runs
provider: {name: native}
instance: {cpus: 2, memory: 4GiB}
driver: {cpus: 1}
connections: 1
vary:
  users: [4, 8]
  instance.large_pages: [off,
    host]
run: {measure: 20s}
`
	known := catalog.Known()
	parse := func(axes ...axis) *study.Study {
		t.Helper()
		edited, err := onTwin([]byte(source), "r920", "native", axes)
		if err != nil {
			t.Fatal(err)
		}
		if lines := strings.Split(string(edited), "\n"); lines[0] != "study: shop" || lines[14] != "run: {measure: 20s}" {
			t.Errorf("lines moved:\n%s", edited)
		}
		s, err := study.Parse("shop.yaml", edited, known)
		if err != nil {
			t.Fatalf("%v\n%s", err, edited)
		}
		return s
	}
	s := parse()
	if s.Base.Provider.Name != twin.Name || s.Base.Provider.Params.Text("host") != "r920" || s.Base.Driver != (study.Driver{}) ||
		len(s.Vary) != 2 || s.Vary[1].Values[1][0] != "host" || s.Base.Shape.CPUs != 2 {
		t.Errorf("%+v", s.Base)
	}
	s = parse(axis{"users", []string{"1", "2", "3"}}, axis{"instance.cpus", []string{"1", "4"}}, axis{"engine.settings.shared_buffers", []string{"1GB"}},
		axis{"workload.size", []string{"medium"}}, axis{"instances", []string{"2"}})
	plan, err := study.NewPlan(s)
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Cells) != 3*2*2 {
		t.Errorf("%d cells", len(plan.Cells))
	}
	c := plan.Cells[0].Config
	if c.Load.Users != 1 || c.Shape.CPUs != 1 || c.Shape.Memory != 4*unit.GiB || c.Settings["shared_buffers"] != "1GB" ||
		c.Workload.Params.Text("size") != "medium" || c.Instances != 2 || c.Load.Connections != 1 {
		t.Errorf("%+v", c)
	}
}

func TestWhatCanNotBePutOnTheTwinIsSaid(t *testing.T) {
	for source, want := range map[string]string{
		"{study: x, provider: {name: native}}": "do not begin their lines",
		"study: [":                             "",
		"":                                     "one document",
		"study: x\nvary:\n  users + instance.cpus: [[1, 1]]\n": "--set all of them, or none",
	} {
		out, err := onTwin([]byte(source), "h", "native", []axis{{"users", []string{"1"}}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %s, error %v", source, out, err)
		}
	}
}

func TestKnobsOfAHostChangeACopy(t *testing.T) {
	f, _, err := twin.Read("r920")
	if err != nil {
		t.Fatal(err)
	}
	h, err := onHost(f.Host, "host.sockets", "2")
	if err != nil || h.CPU.Sockets != 2 || f.Host.CPU.Sockets != 4 {
		t.Errorf("%d sockets of %d, %v", h.CPU.Sockets, f.Host.CPU.Sockets, err)
	}
	if h, err = onHost(f.Host, "host.clock", "3.2GHz"); err != nil || h.CPU.GHz != 3.2 || h.CPU.Turbo != nil {
		t.Errorf("%+v, %v", h.CPU, err)
	}
	if h, err = onHost(f.Host, "host.memory", "512GiB"); err != nil || h.Memory != 512*unit.GiB {
		t.Errorf("%s, %v", h.Memory, err)
	}
	before := f.Host.Stores[0].Tiers[0].Device.Read
	if h, err = onHost(f.Host, "host.disk-times", "2"); err != nil || h.Stores[0].Tiers[0].Device.Read != 2*before || f.Host.Stores[0].Tiers[0].Device.Read != before {
		t.Errorf("%v of %v, %v", h.Stores[0].Tiers[0].Device.Read, before, err)
	}
	for knob, value := range map[string]string{"host.cores": "0", "host.threads": "3", "host.clock": "fast", "host.memory": "1B", "host.disk-times": "-1",
		"host.log-times": "2", "host.cpus": "4", "host.nodes": "1e3"} {
		if _, err := onHost(f.Host, knob, value); err == nil {
			t.Errorf("%s = %s: no error", knob, value)
		}
	}
}
