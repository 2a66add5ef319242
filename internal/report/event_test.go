package report

import (
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/analyse"
)

// happening gives each finished trial of a study an event from 20 s to 22 s, and
// its parts.
func happening() *analyse.Study {
	s := quickstart()
	for i := range s.Trials {
		t := &s.Trials[i]
		if t.Status != "finished" {
			continue
		}
		t.Events = []analyse.Event{{Instance: "small-1", Asked: "migrate", DueS: 20, BeginS: 20.1, EndS: 22.4, DowntimeS: 0.126, Bytes: 145 << 20},
			{Instance: "small-1", Asked: "set instance.cpus = 0.5", DueS: 25, BeginS: 25.1, EndS: 25.2, DowntimeS: analyse.Absent(), Set: []analyse.Knob{{Name: "instance.cpus", Effective: "0.5", Matches: true}}}}
		hit := func(x float64) []analyse.Hit {
			return []analyse.Hit{{Instance: "small-1", Throughput: x / 4, P95Ms: 7}}
		}
		t.Stretches = []analyse.Stretch{
			{Name: "before", Start: 10, End: 20, Throughput: 4000, P95Ms: 5, Hit: hit(4000)},
			{Name: "during 1", During: true, Start: 20, End: 23, Throughput: 3000, P95Ms: 50, Hit: hit(3000)},
			{Name: "after", Start: 23, End: 40, Throughput: 3600, P95Ms: analyse.Absent(), Hit: hit(3600)},
		}
	}
	s.Cells[0].Stretches = []analyse.StretchEstimate{
		{Name: "before", Throughput: analyse.Estimate{Value: 4000, Low: 3900, High: 4100, N: 3}, ToBefore: analyse.Estimate{Low: analyse.Absent(), High: analyse.Absent()}},
		{Name: "after", Throughput: analyse.Estimate{Value: 3600, Low: 3500, High: 3700, N: 3}, ToBefore: analyse.Estimate{Value: 0.9, Low: 0.88, High: 0.92, N: 3}},
	}
	return s
}

func TestEventsAreMarkedAndTold(t *testing.T) {
	b := build(happening())
	text := Text(happening(), 160, false)
	for _, want := range []string{"Events", "migrate", "145 MiB", "126", "instance.cpus: 0.5", "during 1", "75.0 %", "90", "small-1"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in the report", want)
		}
	}
	marked := 0
	for _, s := range b.doc.Sections {
		for _, block := range s.Blocks {
			if f := block.Figure; f != nil && strings.Contains(f.Wide, `data-event="1"`) {
				marked++
			}
		}
	}
	if marked < 2 {
		t.Errorf("%d figures over time mark the event, want several", marked)
	}
	events, parts := string(b.data["events.csv"]), string(b.data["event-parts.csv"])
	if !strings.Contains(events, ",1,migrate,small-1,20,20.1,22.4,0.126,152043520,\n") || !strings.Contains(events, ",2,set instance.cpus = 0.5,small-1,25,25.1,25.2,,0,instance.cpus: 0.5\n") {
		t.Errorf("events.csv has\n%s", events)
	}
	if !strings.Contains(parts, ",during 1,all,20,23,3000,orders a minute,50\n") || !strings.Contains(parts, ",after,small-1,23,40,900,orders a minute,7\n") {
		t.Errorf("event-parts.csv has\n%s", parts)
	}
}

func TestAStudyWithoutEventsSaysNothingOfThem(t *testing.T) {
	b := build(quickstart())
	for _, s := range b.doc.Sections {
		if s.ID == "events" {
			t.Error("there is a section on events")
		}
	}
	if b.data["events.csv"] != nil {
		t.Error("there is a file of events")
	}
}
