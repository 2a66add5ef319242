package study

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const consolidation = `study: consolidation
workload: {name: dvdstore}
engine: {name: postgres, settings: {work_mem: 4MB, shared_buffers: 25%}}
provider: {name: native}
instance: {memory: 512MiB, cpus: 0.5}
users: 4
connections: 2
instances:
  small: {count: 4, instance: {cpus: 0.25, memory: 256MiB}, users: 2}
  medium: {}
  large: {instance: {cpus: 1}, workload: {size: medium}, engine: {settings: {work_mem: 8MB}}}
vary:
  instances.small.count: [0, 1, 2, 4]
  instances.large.instance.cpu_shares: [1024, 2048]
  instances.large.users + instances.large.connections: [[8, 8], [16, 4]]
`

func TestGroupsHaveWhatTheFileSaysAndWhatIsTheirOwn(t *testing.T) {
	src := strings.Replace(strings.Replace(consolidation, "count: 4, ", "", 1), "medium: {}", "medium: {count: 2}", 1)
	p, err := NewPlan(parse(t, src))
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Cells) != 16 {
		t.Fatalf("%d cells, want 4 × 2 × 2", len(p.Cells))
	}
	cell := p.Cells[7] // count 1, shares 2048, 16 users
	if got := fmt.Sprint(cell.Factors); got != "[{instances.small.count 1} {instances.large.instance.cpu_shares 2048} {instances.large.users 16} {instances.large.connections 4}]" {
		t.Fatalf("factors %s", got)
	}
	c := cell.Config
	if c.Instances != 4 || len(c.Groups) != 3 {
		t.Fatalf("%d instances in %d groups", c.Instances, len(c.Groups))
	}
	small, medium, large := c.Groups[0], c.Groups[1], c.Groups[2]
	if small.Name != "small" || small.Count != 1 || small.Shape != (Shape{CPUs: 0.25, Memory: 256 << 20}) || small.Load.Users != 2 || small.Load.Connections != 2 || small.Settings["work_mem"] != "4MB" {
		t.Errorf("small: %+v", small)
	}
	if medium.Count != 2 || medium.Shape != (Shape{CPUs: 0.5, Memory: 512 << 20}) || medium.Load.Users != 4 || medium.Workload.Params.Text("size") != "small" || medium.Workload.Name != "dvdstore" {
		t.Errorf("medium: %+v", medium)
	}
	if large.Count != 1 || large.Shape != (Shape{CPUs: 1, Memory: 512 << 20, CPUShares: 2048}) || large.Load.Users != 16 || large.Load.Connections != 4 ||
		large.Workload.Params.Text("size") != "medium" || large.Settings["work_mem"] != "8MB" || large.Settings["shared_buffers"] != "25%" {
		t.Errorf("large: %+v", large)
	}
	if dir := p.Trials[0].Dir; !strings.Contains(dir, "small-count-") || !strings.Contains(dir, "large-cpu_shares-") {
		t.Errorf("directory %q does not say which group's knobs they are", dir)
	}
}

func TestANumberOfInstancesIsOneGroupWithoutAName(t *testing.T) {
	s := parse(t, minimal+"instances: 3\nusers: 5\ninstance: {cpus: 2}\n")
	want := Group{Count: 3, Workload: s.Base.Workload, Settings: s.Base.Settings, Shape: Shape{CPUs: 2}, Load: Load{Users: 5}}
	if got := s.cells[0].Config.Groups; len(got) != 1 || !reflect.DeepEqual(got[0], want) {
		t.Errorf("groups %+v; want %+v", got, want)
	}
}

func TestASearchIsForGroupsWithoutALoadOfTheirOwn(t *testing.T) {
	p, err := NewPlan(parse(t, minimal+"users: saturate\ninstances: {steady: {users: 7}, searched: {count: 2}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	cell, _ := p.Extend(0, 12, 1)
	if g := cell.Config.Groups; g[0].Load.Users != 7 || g[1].Load.Users != 12 || cell.Config.Instances != 3 {
		t.Errorf("groups %+v", g)
	}
	if g := p.Bases[0].Config.Groups; g[1].Load.Users != 0 {
		t.Errorf("the base has the load: %+v", g)
	}
}

func TestASearchForInstancesCountsThem(t *testing.T) {
	p, err := NewPlan(parse(t, minimal+"instances: saturate\n"))
	if err != nil {
		t.Fatal(err)
	}
	cell, _ := p.Extend(0, 5, 1)
	if c := cell.Config; c.Instances != 5 || c.Groups[0].Count != 5 || p.Bases[0].Config.Groups[0].Count == 5 {
		t.Errorf("%d instances, groups %+v", c.Instances, c.Groups)
	}
}

// groupKnobs are knobs that a group may have, with right values of each.
func groupKnobs() map[string][]string {
	return map[string][]string{
		"users": {"4", "8", "64"}, "connections": {"1", "4"},
		"instance.cpus": {"0.5", "2"}, "instance.memory": {"512MiB", "1GiB"}, "instance.cpuset": {`"0-3"`, `"2,4-5"`},
		"instance.disk_read": {"50MiB/s"}, "instance.disk_write_ops": {"200/s", "1/s"}, "instance.log_volume": {"/mnt/x"},
		"instance.large_pages": {"host", "off"}, "instance.latency": {"high"}, "instance.topology": {"1x2x1"},
		"workload.size": {"small", "300MiB"}, "workload.n_searches": {"1", "9"},
		"engine.settings.work_mem": {"4MB", "1%"}, "engine.settings.a.b": {"on"},
	}
}

// drawKnobs draws some of them.
func drawKnobs(t *rapid.T, label string) map[string]string {
	all := groupKnobs()
	out := map[string]string{}
	for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom(slices.Sorted(maps.Keys(all))), rapid.ID).Draw(t, label) {
		out[name] = rapid.SampledFrom(all[name]).Draw(t, label+" "+name)
	}
	if out["instance.topology"] != "" {
		out["instance.cpus"] = "2"
	}
	if out["connections"] != "" && out["users"] == "" {
		out["users"] = "4"
	}
	return out
}

// nested writes knobs as sections; extra goes into the section workload,
// engine or none.
func nested(knobs map[string]string, extra map[string]string) string {
	sections := map[string][]string{}
	var top, settings []string
	for _, path := range slices.Sorted(maps.Keys(knobs)) {
		in, leaf, ok := strings.Cut(path, ".")
		setting, isSetting := strings.CutPrefix(path, settingsPrefix)
		switch {
		case isSetting:
			settings = append(settings, setting+": "+knobs[path])
		case ok:
			sections[in] = append(sections[in], leaf+": "+knobs[path])
		default:
			top = append(top, path+": "+knobs[path])
		}
	}
	if len(settings) > 0 {
		sections["engine"] = append(sections["engine"], "settings: {"+strings.Join(settings, ", ")+"}")
	}
	for in, text := range extra {
		sections[in] = append(sections[in], text)
	}
	for _, in := range slices.Sorted(maps.Keys(sections)) {
		top = append(top, in+": {"+strings.Join(sections[in], ", ")+"}")
	}
	return strings.Join(top, ", ")
}

var choices = map[string]string{"workload": "name: dvdstore", "engine": "name: postgres", "provider": "name: native"}

// TestAGroupIsWhatAStudyOfItsOwnWouldBe: whatever a file and its groups say, an
// instance of a group is what it would be in a file in which the group's values
// stand in place of the file's.
func TestAGroupIsWhatAStudyOfItsOwnWouldBe(t *testing.T) {
	s := schema(t)
	rapid.Check(t, func(t *rapid.T) {
		file := drawKnobs(t, "file")
		names := []string{"a", "b-1", "C_2"}
		var groups []string
		own := map[string]map[string]string{}
		for _, name := range names {
			own[name] = drawKnobs(t, name)
			groups = append(groups, fmt.Sprintf("%s: {%s}", name, strings.TrimPrefix("count: 2, "+nested(own[name], nil), ", ")))
		}
		src := "{study: x, " + nested(file, choices) + ", instances: {" + strings.ReplaceAll(strings.Join(groups, ", "), ", }", "}") + "}}\n"
		got, err := Parse("x.yaml", []byte(src), known())
		if err != nil {
			var lone []string
			for _, name := range names {
				if _, err := Parse("x.yaml", []byte(alone(file, own[name])), known()); err != nil {
					lone = append(lone, name)
				}
			}
			if len(lone) == 0 {
				t.Fatalf("%v\nin:\n%s", err, src)
			}
			return // a group that is wrong alone is wrong here
		}
		if why := (validator{t}).check(s, decoded(t, []byte(src)), "study"); why != "" {
			t.Fatalf("%s in:\n%s", why, src)
		}
		for i, name := range names {
			want, err := Parse("x.yaml", []byte(alone(file, own[name])), known())
			if err != nil {
				t.Fatalf("group %s is wrong alone, but right in:\n%s\n%v", name, src, err)
			}
			expected := want.cells[0].Config.Groups[0]
			expected.Name = name
			if g := got.cells[0].Config.Groups[i]; !reflect.DeepEqual(g, expected) {
				t.Fatalf("group %s is %+v; alone it is %+v in:\n%s", name, g, expected, src)
			}
		}
	})
}

// alone is a study of two instances of one group.
func alone(file, own map[string]string) string {
	all := maps.Clone(file)
	maps.Copy(all, own)
	return "{study: x, instances: 2, " + nested(all, choices) + "}\n"
}
