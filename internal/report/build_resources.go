package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/analyse"
	"github.com/loadstone-perf/loadstone/internal/report/figure/bars"
	"github.com/loadstone-perf/loadstone/internal/report/figure/chart"
	"github.com/loadstone-perf/loadstone/internal/report/figure/stack"
	"github.com/loadstone-perf/loadstone/internal/report/figure/timeline"
)

// layout is how the figures of a group are arranged.
type layout int

const (
	halves layout = iota // a figure for each unit, two beside each other
	full                 // a figure for each unit
	panels               // a small figure for each track, with a scale of its own
)

// groupText is how a group of tracks is shown.
type groupText struct {
	group, title, quantity string
	layout                 layout
}

// groups lists the groups that have words of their own; others are shown
// after these, under their own names.
func groups() []groupText {
	return []groupText{
		{"response", "Response time over time", "response time", full},
		{"cpu", "CPU", "CPU", full},
		{"disk", "Disk", "disk", halves},
		{"database", "Database counters", "", panels},
		{"waits", "Sessions by state", "sessions", full},
		{"memory", "Memory", "memory", panels},
		{"network", "Network", "traffic", halves},
	}
}

// advice says what to see in a figure of a group and a unit; "" where there
// is nothing to add.
func advice(group, unit string) string {
	switch group + " " + unit {
	case "throughput /s":
		return "Transactions by type that ended in each second."
	case "response ms":
		return "Percentiles of each second. A rise that throughput does not show comes from a few slow events."
	case "cpu %":
		return "CPU use of the instance in % of what it may use, and of the driver in % of the machine. A driver near its limit measures itself, not the database."
	case "cpu % of the time":
		return "Time in which work was held back: by the instance's own limit (throttled), or because it had to wait for a CPU."
	case "cpu waiting":
		return "How many tasks or virtual CPUs of an instance waited on average: ready, they could run, but others had the CPUs; co-stop, they were held back for their siblings; steal, what the guest itself saw of it."
	case "cpu tasks":
		return "Tasks that run or wait for a CPU. More than there are CPUs means that some wait."
	case "disk MiB/s":
		return "Data read and written. Writes that come in bursts are often checkpoints: see whether response times rise with them."
	case "disk /s":
		return "Requests a second."
	case "disk ms":
		return "Mean time of a request in each second. Above about 10 ms a disk holds back transactions that wait for it."
	case "disk %":
		return "Time in which the disk had at least one request. Disks that serve many requests at once can be 100 % busy and still take more."
	case "disk requests":
		return "Requests at the disk at the same time, on average."
	case "disk % of the time":
		return "Time in which at least one task waited for I/O."
	case "network MiB/s":
		return "Traffic by interface; lo is the machine talking to itself."
	}
	return ""
}

// resources is the section on what CPU, disks and database did.
func (b *builder) resources() {
	var blocks []block
	if t := b.chosen; t != nil {
		blocks = append(blocks, block{Text: b.whichTrial(t)})
		for _, g := range []string{"cpu", "disk", "waits"} {
			blocks = append(blocks, b.groupFigures(t, g)...)
		}
		blocks = append(blocks, b.waitBars(t)...)
		for _, g := range restOf(t) {
			blocks = append(blocks, b.groupFigures(t, g)...)
		}
	}
	blocks = append(blocks, b.usageTable()...)
	if len(blocks) == 0 {
		blocks = []block{{Text: "No counters were recorded."}}
	}
	b.section("resources", "What CPU, disks and database did", blocks...)
}

// restOf lists the groups of t that no section shows by itself: the known
// first, then the others as they come.
func restOf(t *analyse.Trial) (out []string) {
	shown := []string{"throughput", "response", "cpu", "disk", "waits"}
	for _, g := range groups() {
		if !slices.Contains(shown, g.group) {
			out = append(out, g.group)
		}
	}
	for _, tr := range t.Timeline.Tracks {
		if !slices.Contains(out, tr.Group) && !slices.Contains(shown, tr.Group) {
			out = append(out, tr.Group)
		}
	}
	return out
}

// mostLines is how many lines a figure can hold before they cannot be told
// apart; more become small figures.
const mostLines = 8

// groupFigures shows a group of t's tracks.
func (b *builder) groupFigures(t *analyse.Trial, group string) (blocks []block) {
	of := tracks(t, group)
	if len(of) == 0 {
		return nil
	}
	words := groupText{group: group, title: firstUpper(group)}
	for _, g := range groups() {
		if g.group == group {
			words = g
		}
	}
	csv := b.addData("over-time-"+slug(group), b.trackCSV(t, group))
	if group == "waits" {
		return []block{b.figure(waitStack(t, of, csv))}
	}
	if group == "cpu" {
		var parts []stack.Layer
		if parts, of = cpuParts(of); len(parts) > 0 {
			blocks = append(blocks, b.figure(hostCPU(t, parts, csv)))
		}
	}
	of, idle := quiet(of)
	if words.layout == panels {
		if len(of) > 0 {
			blocks = append(blocks, b.figure(trackPanels(t, words.title, of, csv)))
		}
	} else {
		blocks = append(blocks, b.unitFigures(t, words, of, csv)...)
	}
	if len(idle) > 0 {
		blocks = append(blocks, block{Aside: words.title + ": at 0 all the time were " + strings.Join(idle, ", ") + "."})
	}
	return blocks
}

// quiet splits tracks that were 0 whenever they were read from the others.
func quiet(of []analyse.Track) (loud []analyse.Track, names []string) {
	for _, tr := range of {
		if slices.ContainsFunc(tr.Values, func(v float64) bool { return v != 0 && !math.IsNaN(v) }) {
			loud = append(loud, tr)
		} else {
			names = append(names, tr.Name)
		}
	}
	return loud, names
}

// unitFigures draws tracks as lines, a figure for each unit.
func (b *builder) unitFigures(t *analyse.Trial, words groupText, of []analyse.Track, csv string) (blocks []block) {
	var small []figure
	size := narrow[0]
	if len(units(of)) == 1 {
		size = wide[0] // nothing to stand beside
	}
	for _, unit := range units(of) {
		same := slices.DeleteFunc(slices.Clone(of), func(tr analyse.Track) bool { return tr.Unit != unit })
		title := words.title
		if len(units(of)) > 1 {
			title += ": " + cut(trackTitle(same), 60)
		}
		switch {
		case len(same) > mostLines:
			blocks = append(blocks, b.figure(trackPanels(t, title, same, csv)))
		case size == wide[0], words.layout == full && (unit == "%" || unit == "ms"):
			blocks = append(blocks, b.figure(unitFigure(t, words, title, same, csv, wide[0])))
		default:
			small = append(small, unitFigure(t, words, title, same, csv, narrow[0]))
		}
	}
	if len(small) > 0 {
		blocks = append(blocks, b.small(small))
	}
	return blocks
}

// trackTitle names tracks together: those of several instances once.
func trackTitle(of []analyse.Track) string {
	if len(of) > 1 {
		_, what, ok := strings.Cut(of[0].Name, " ")
		alike := ok && !slices.ContainsFunc(of, func(tr analyse.Track) bool {
			_, other, _ := strings.Cut(tr.Name, " ")
			return other != what
		})
		if alike && what != "" {
			return what + " of each instance"
		}
	}
	return trackNames(of)
}

func trackNames(of []analyse.Track) string {
	names := make([]string, len(of))
	for i, tr := range of {
		names[i] = tr.Name
	}
	return strings.Join(names, ", ")
}

// units lists the units of tracks in the order in which they first appear.
func units(of []analyse.Track) (out []string) {
	for _, tr := range of {
		if !slices.Contains(out, tr.Unit) {
			out = append(out, tr.Unit)
		}
	}
	return out
}

// unitFigure draws tracks of one unit as lines.
func unitFigure(t *analyse.Trial, words groupText, title string, of []analyse.Track, csv string, width float64) figure {
	d := timeline.Data{
		Seconds: t.Timeline.Seconds, Start: t.Window.Start, End: t.Window.End, Events: happenings(t),
		About: fmt.Sprintf("%s in trial %d", title, t.Number), YLabel: strings.TrimPrefix(words.quantity+", "+of[0].Unit, ", "),
	}
	for _, tr := range of {
		d.Tracks = append(d.Tracks, timeline.Track{Name: tr.Name, Values: whole100(tr)})
	}
	caption := advice(words.group, of[0].Unit)
	if caption == "" {
		caption = strings.TrimSuffix(fmt.Sprintf("Second by second, in %s", of[0].Unit), ", in ") + "."
	}
	f := figure{Title: title, CSV: csv, Caption: caption}
	if width == narrow[0] {
		d.Width, d.Height = width, 210
		f.Narrow = timeline.SVG(d)
		return f
	}
	return f.both(0.8, func(w, h float64) string {
		d.Width, d.Height = w, h
		return timeline.SVG(d)
	})
}

// whole100 is the values of tr; of a percentage those that are over 100 by no more
// than readings differ in time are 100, so that the axis ends there.
func whole100(tr analyse.Track) []float64 {
	if !strings.HasPrefix(tr.Unit, "%") {
		return tr.Values
	}
	out := slices.Clone(tr.Values)
	for i, v := range out {
		if v > 100 && v <= 102 {
			out[i] = 100
		}
	}
	return out
}

// trackPanels draws each track by itself.
func trackPanels(t *analyse.Trial, title string, of []analyse.Track, csv string) figure {
	f := figure{Title: title, CSV: csv, Panels: []panelRow{{}},
		Caption: "Second by second, each with a scale of its own. Grey did not count."}
	if title == "Memory" {
		f.Caption += " Available memory that falls steadily ends in swapping, and anything but rare single swapped pages spoils response times."
	}
	for _, tr := range of {
		label := strings.TrimSuffix(tr.Name+", "+tr.Unit, ", ")
		d := timeline.Data{
			Width: panelWidth, Height: panelHeight, Small: true, YLabel: label, About: fmt.Sprintf("%s in trial %d", label, t.Number),
			Seconds: t.Timeline.Seconds, Start: t.Window.Start, End: t.Window.End, Tracks: []timeline.Track{{Name: tr.Name, Values: tr.Values}}, Events: happenings(t),
		}
		f.Panels[0].Panels = append(f.Panels[0].Panels, panel{label, timeline.SVG(d)})
	}
	return f
}

// cpuPart is a share of the host's CPU time with its colour: work is cool,
// waiting and stolen time warm.
type cpuPart struct {
	name   string
	colour int
}

// cpuParts splits the host's shares of CPU time, from the bottom of the stack
// up, from other tracks of the group.
func cpuParts(of []analyse.Track) (parts []stack.Layer, others []analyse.Track) {
	order := []cpuPart{{"host user", 1}, {"host system", 8}, {"host I/O wait", 2}, {"host steal", 5}}
	for _, p := range order {
		for _, tr := range of {
			if tr.Name == p.name && tr.Unit == "%" {
				parts = append(parts, stack.Layer{Name: strings.TrimPrefix(p.name, "host "), Values: tr.Values, Colour: p.colour})
			}
		}
	}
	for _, tr := range of {
		if tr.Unit != "%" || !slices.ContainsFunc(order, func(p cpuPart) bool { return p.name == tr.Name }) {
			others = append(others, tr)
		}
	}
	return parts, others
}

func hostCPU(t *analyse.Trial, parts []stack.Layer, csv string) figure {
	d := stack.Data{
		Seconds: t.Timeline.Seconds, Start: t.Window.Start, End: t.Window.End, Layers: parts, Max: 100, Events: happenings(t),
		YLabel: "host CPU, % of all CPUs", About: fmt.Sprintf("Host CPU in trial %d", t.Number),
	}
	f := figure{Title: "Host CPU", CSV: csv,
		Caption: "Where the host's CPU time went, in % of all its CPUs; what is left to 100 is idle. Much I/O wait means that CPUs had nothing to do while disks worked; any steal means that another virtual machine took the CPU."}
	return f.both(0.85, func(w, h float64) string {
		d.Width, d.Height = w, h
		return stack.SVG(d)
	})
}

// stackMost bounds the layers of a stack; the least are added up.
const stackMost = 7

func waitStack(t *analyse.Trial, of []analyse.Track, csv string) figure {
	of = slices.Clone(of)
	slices.SortStableFunc(of, func(x, y analyse.Track) int { return cmp.Compare(total(y), total(x)) })
	d := stack.Data{
		Seconds: t.Timeline.Seconds, Start: t.Window.Start, End: t.Window.End, Events: happenings(t),
		YLabel: "sessions", About: fmt.Sprintf("Sessions by state in trial %d", t.Number),
	}
	for i, tr := range of {
		if i < stackMost {
			d.Layers = append(d.Layers, stack.Layer{Name: tr.Name, Values: slices.Clone(tr.Values)})
			continue
		}
		if i == stackMost {
			d.Layers = append(d.Layers, stack.Layer{Name: "other", Values: make([]float64, len(tr.Values))})
		}
		for k, v := range tr.Values {
			d.Layers[stackMost].Values[k] += v
		}
	}
	f := figure{Title: "Sessions by state", CSV: csv,
		Caption: "What the database's sessions were doing, on average in each second: working on a CPU, or waiting for what is named."}
	return f.both(0.85, func(w, h float64) string {
		d.Width, d.Height = w, h
		return stack.SVG(d)
	})
}

// total adds up what there is of a track.
func total(tr analyse.Track) (sum float64) {
	for _, v := range tr.Values {
		if !math.IsNaN(v) {
			sum += v
		}
	}
	return sum
}

// waitBars shows the mean sessions by state in the chosen trial's window.
func (b *builder) waitBars(t *analyse.Trial) []block {
	if len(t.Waits) == 0 {
		return nil
	}
	b.data["waits.csv"] = waitsCSV(b.s)
	d := bars.Data{Label: "mean sessions in this state"}
	for _, w := range t.Waits {
		colour := 2
		if w.State == "CPU" {
			colour = 1
		}
		d.Bars = append(d.Bars, bars.Bar{Name: w.State, Value: w.Mean, Low: math.NaN(), High: math.NaN(), Colour: colour,
			Text: fmt.Sprintf("%s (%s)", chart.Number(w.Mean), percent(w.Pct))})
	}
	f := figure{Title: "Waits", CSV: "waits.csv",
		Caption: "Mean number of the database's active sessions in each state over the window, and their share of all active sessions. CPU is work; the rest is waiting for what is named.",
		Text:    func(width int) []string { return textWaits(t, width) }}
	return []block{b.figure(f.both(1, func(w, _ float64) string {
		d.Width = w
		return bars.SVG(d)
	}))}
}

// mostUsageColumns is up to how many configurations the table of resources
// has a column each; more become rows.
const mostUsageColumns = 6

// usageTable is how much of each resource each configuration used.
func (b *builder) usageTable() []block {
	var names []string
	for _, cl := range b.s.Cells {
		for _, r := range cl.Usage {
			if !slices.Contains(names, r.Name) {
				names = append(names, r.Name)
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	b.data["usage.csv"] = usageCSV(b.s)
	t := table{Caption: "Mean use of each resource over the windows; where the most is known, as a part of it below.", CSV: "usage.csv"}
	if len(b.s.Cells) > mostUsageColumns {
		t.Columns = columns("Configuration")
		for _, n := range names {
			t.Columns = append(t.Columns, column{Name: n, Numeric: true, Optional: true})
		}
		for _, cl := range b.s.Cells {
			row := []field{c(cl.Label)}
			for _, n := range names {
				row = append(row, usageField(cl.Usage, n))
			}
			t.Rows = append(t.Rows, row)
		}
		return []block{b.table(t)}
	}
	t.Columns = columns("Resource")
	for _, cl := range b.s.Cells {
		t.Columns = append(t.Columns, column{Name: cl.Label, Numeric: true})
	}
	for _, n := range names {
		row := []field{c(n)}
		for _, cl := range b.s.Cells {
			row = append(row, usageField(cl.Usage, n))
		}
		t.Rows = append(t.Rows, row)
	}
	return []block{b.table(t)}
}

func usageField(of []analyse.Resource, name string) field {
	for _, r := range of {
		if r.Name != name {
			continue
		}
		f := c(strings.TrimSpace(chart.Number(r.Value) + " " + r.Unit))
		if r.Unit == "%" {
			f.Text = percent(r.Value)
		}
		if r.Load.OK() && r.Unit != "%" {
			f.Detail = percent(100*float64(r.Load)) + " of the most"
		}
		return f
	}
	return toned("–", muted)
}

// limit is the section on the limiting resource.
func (b *builder) limit() {
	l := b.s.Limit
	if l.Resource == "" && l.Summary == "" {
		b.section("limit", "Limiting resource", block{Text: "No limiting resource was looked for."})
		return
	}
	blocks := []block{{Text: sentence(l.Resource) + " " + sentence(l.Summary)}}
	b.section("limit", "Limiting resource", append(blocks, evidence(l)...)...)
}

// evidence shows the figures that speak for the limiting resource, then the
// others, few enough lines to be read.
func evidence(l analyse.Limit) (blocks []block) {
	decisive := max(0, min(l.Decisive, len(l.Evidence)))
	speaks, others := l.Evidence[:decisive], l.Evidence[decisive:]
	room := visibleLines
	if len(speaks) > 0 {
		blocks = append(append(blocks, block{Heading: "What speaks for it"}), split(speaks, room, "more figure")...)
		room -= len(speaks)
	}
	if len(others) > 0 {
		heading := "The other figures"
		if len(speaks) == 0 {
			heading = "What was looked at"
		}
		blocks = append(append(blocks, block{Heading: heading}), split(others, room, "more figure")...)
	}
	return blocks
}
