package trial_test

import (
	"strings"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/study"
)

const oneEvent = `
study: one-event
workload: {name: dvdstore}
engine: {name: postgres}
provider: {name: native}
instance: {cpus: 1, memory: 1GiB}
users: 2
run: {warmup: 1s, measure: 4s, repeats: 1}
events:
  - {at: 2s, do: set, cpus: 0.2, memory: 768MiB}
  - {at: 3s, do: set, instance: 1, cpus: 0.9}
`

func TestALimitThatIsSetInMidTrialIsInForceAndOnRecord(t *testing.T) {
	seq, pending := bench(t, oneEvent)
	if err := seq.Run(t.Context(), pending); err != nil {
		t.Fatal(err)
	}
	trials, err := seq.Dir.Trials()
	if err != nil {
		t.Fatal(err)
	}
	got := trials[0].Trial
	if got.Status != record.Finished || len(got.Events) != 2 {
		t.Fatalf("%s (%s), events %+v; want finished, two events", got.Status, got.Reason, got.Events)
	}
	first, second := got.Events[0], got.Events[1]
	if first.DueS != 3 || first.BeginS < 3 || first.EndS < first.BeginS || second.BeginS < 4 || second.BeginS < first.EndS {
		t.Errorf("times are %+v and %+v", first, second)
	}
	effective := map[string]string{}
	for _, k := range append(first.Set, second.Set...) {
		if !k.Matches {
			t.Errorf("%+v", k)
		}
		effective[k.Name] += k.Effective + " "
	}
	if effective["instance.cpus"] != "0.2 0.9 " || effective["instance.memory"] != "768MiB " || len(effective) != 2 {
		t.Errorf("read back: %v", effective)
	}
	// The shape is that of the beginning, whatever was set since.
	for _, k := range got.Instances[0].Shape {
		if k.Name == "instance.cpus" && k.Effective != "1" || k.Name == "instance.memory" && k.Effective != "1GiB" {
			t.Errorf("the shape is on record as %+v", k)
		}
	}
	nothingLeft(t, seq.Bench.Cache)
}

func TestAnEventThatCantHappenFailsTheTrial(t *testing.T) {
	seq, pending := bench(t, oneEvent)
	seq.Plan.Cells[0].Config.Events = []study.Event{{At: time.Second, Do: study.EventMoveStorage, Instance: "all", To: "/nowhere"}}
	if err := seq.Run(t.Context(), pending); err != nil {
		t.Fatal(err)
	}
	trials, err := seq.Dir.Trials()
	if err != nil {
		t.Fatal(err)
	}
	got := trials[0].Trial
	if got.Status != record.Failed || !strings.Contains(got.Reason, "provider native can't move-storage while it runs") {
		t.Errorf("%s because %q", got.Status, got.Reason)
	}
	if strings.Count(got.Reason, "move-storage") > 3 {
		t.Errorf("the reason repeats itself: %s", got.Reason)
	}
	nothingLeft(t, seq.Bench.Cache)
}
