package study

import (
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loadstone-perf/loadstone/internal/unit"
)

const eventful = `
study: eventful
workload: {name: dvdstore}
engine: {name: postgres}
provider: {name: vm}
instances:
  small: {count: 2, instance: {cpus: 2, memory: 1GiB, disk_read: 50MiB/s, cpu_shares: 512}}
  large: {instance: {cpus: 4}}
run: {measure: 60s}
events:
  - {at: 40s, do: move-storage, instance: large, to: /mnt/fast}
  - {at: 20s, do: set, instance: small-2, cpus: 1, memory: 512MiB, disk_read: 1MiB/s, cpu_shares: 2}
  - {at: 20s, do: migrate, instance: 3}
`

func TestEventsAreInTheOrderOfTheirTimes(t *testing.T) {
	want := []Event{
		{At: 20 * time.Second, Do: EventSet, Instance: "small-2", Set: []Setting{{"instance.cpus", "1"}, {"instance.memory", "512MiB"}, {"instance.disk_read", "1MiB/s"}, {"instance.cpu_shares", "2"}}},
		{At: 20 * time.Second, Do: EventMigrate, Instance: "3"},
		{At: 40 * time.Second, Do: EventMoveStorage, Instance: "large", To: "/mnt/fast"},
	}
	got := parse(t, eventful).cells[0].Config
	if !reflect.DeepEqual(got.Events, want) {
		t.Errorf("got %+v, want %+v", got.Events, want)
	}
	if text := got.Events[0].String(); text != "set instance.cpus = 1, instance.memory = 512MiB, instance.disk_read = 1MiB/s, instance.cpu_shares = 2" {
		t.Errorf("in words: %q", text)
	}
	if text := got.Events[2].String(); text != "move-storage to /mnt/fast" {
		t.Errorf("in words: %q", text)
	}
	before := got.Groups[0].Shape
	after := got.Events[0].After(before)
	before.CPUs, before.Memory, before.ReadBytesPS, before.CPUShares = 1, 512*unit.MiB, unit.MiB, 2
	if after != before {
		t.Errorf("the event leaves %+v, want %+v", after, before)
	}
}

func TestWhomAnEventHappensTo(t *testing.T) {
	groups := []Group{{Name: "small", Count: 2}, {Name: "large", Count: 1}}
	alone := []Group{{Count: 3}}
	for _, c := range []struct {
		instance string
		of       []Group
		want     []int
	}{
		{"all", groups, []int{1, 2, 3}}, {"all", alone, []int{1, 2, 3}},
		{"2", groups, []int{2}}, {"2", alone, []int{2}},
		{"small", groups, []int{1, 2}}, {"small-2", groups, []int{2}}, {"large-1", groups, []int{3}},
		{"large-2", groups, nil}, {"4", groups, nil}, {"0", groups, nil}, {"", groups, nil},
		{"instance-3", alone, []int{3}}, {"instance", alone, nil}, {"instance-1", groups, nil},
	} {
		var got []int
		number := 0
		for _, g := range c.of {
			for index := range g.Count {
				if number++; (Event{Instance: c.instance}).Hits(number, index+1, g) {
					got = append(got, number)
				}
			}
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("instance %q of %+v: %v, want %v", c.instance, c.of, got, c.want)
		}
	}
}

// TestEventsOfVaryingInstances has an event for an instance that only some cells
// have: the study is wrong, and says so for the cell that lacks it.
func TestEventsOfVaryingInstances(t *testing.T) {
	const head = "study: s\nworkload: {name: dvdstore}\nengine: {name: postgres}\nprovider: {name: native}\nrun: {measure: 30s}\n"
	for _, c := range []struct {
		rest  string
		right bool
	}{
		{"instance: {cpus: 1}\nvary: {instances: [2, 4]}\nevents: [{at: 1s, do: set, instance: 2, cpus: 0.5}]\n", true},
		{"instance: {cpus: 1}\nvary: {instances: [2, 4]}\nevents: [{at: 1s, do: set, instance: 3, cpus: 0.5}]\n", false},
		{"vary: {instance.cpus: [1, 2]}\nevents: [{at: 1s, do: set, cpus: 0.5}]\n", true},
		{"vary: {instance.memory: [1GiB, 2GiB]}\nevents: [{at: 1s, do: set, cpus: 0.5}]\n", false},
		{"instance: {cpus: 1}\nvary: {run.measure: [1s, 10s]}\nevents: [{at: 5s, do: set, cpus: 0.5}]\n", false},
	} {
		rest := c.rest
		src := head + rest
		if !c.right {
			if _, err := Parse("s.yaml", []byte(src), known()); err == nil {
				t.Errorf("right: %s", rest)
			}
			continue
		}
		parse(t, src)
	}
}

// TestAnEventAtAnyTimeBeforeTheEndIsRight holds the bound of at.
func TestAnEventAtAnyTimeBeforeTheEndIsRight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		measure := time.Duration(rapid.Int64Range(1000, 100_000).Draw(t, "measure")) * time.Millisecond
		at := time.Duration(rapid.Int64Range(0, 120_000).Draw(t, "at")) * time.Millisecond
		src := "study: s\nworkload: {name: dvdstore}\nengine: {name: postgres}\nprovider: {name: native}\ninstance: {cpus: 1}\nrun: {measure: " +
			measure.String() + "}\nevents: [{at: " + at.String() + ", do: set, cpus: 0.5}]\n"
		_, err := Parse("s.yaml", []byte(src), known())
		if (err == nil) != (at < measure) {
			t.Fatalf("at %v of %v: %v", at, measure, err)
		}
	})
}
