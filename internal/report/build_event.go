package report

import (
	"fmt"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/analyse"
	"github.com/loadstone-perf/loadstone/internal/report/figure/chart"
	"github.com/loadstone-perf/loadstone/internal/report/figure/timeline"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// happenings are the events of t as figures over time mark them.
func happenings(t *analyse.Trial) (out []timeline.Event) {
	for i, e := range t.Events {
		out = append(out, timeline.Event{From: e.BeginS, To: e.EndS, Label: fmt.Sprint(i + 1)})
	}
	return out
}

// shownEvents is how many trials' events are in the tables; the data files have
// all.
const shownEvents = 6

// events is the section on what was made to happen while load ran, and what
// it did.
func (b *builder) events() {
	var of []*analyse.Trial
	for i := range b.s.Trials {
		if len(b.s.Trials[i].Events) > 0 {
			of = append(of, &b.s.Trials[i])
		}
	}
	if len(of) == 0 {
		return
	}
	b.data["events.csv"], b.data["event-parts.csv"] = eventsCSV(b.all), stretchesCSV(b.all)
	text := "Events were made to happen while load ran. They are part of what the study asks, so that each trial's own figures are of its whole window; here the window is divided at them. Figures over time mark each event by its number."
	blocks := []block{{Text: text}, b.table(b.happened(of))}
	if t := b.overRepeats(); len(t.Rows) > 0 {
		blocks = append(blocks, b.table(t))
	}
	blocks = append(blocks, b.table(b.parts(of)),
		block{Aside: "During is every second in which an event was under way. The time an instance stood still is what the hypervisor says of itself; what users felt of it is the p95 during the event, and the longest response time. A limit that is set is in force when the call returns: its effect is what comes after."})
	b.section("events", "Events", blocks...)
}

// few is the trials that tables show: the chosen one first, then the others in
// their order.
func (b *builder) few(of []*analyse.Trial) (out []*analyse.Trial, note string) {
	if b.chosen != nil && len(b.chosen.Events) > 0 {
		out = append(out, b.chosen)
	}
	for _, t := range of {
		if len(out) < shownEvents && t != b.chosen {
			out = append(out, t)
		}
	}
	if len(of) > len(out) {
		note = fmt.Sprintf(" %s more are in the data file.", counted(len(of)-len(out), "trial"))
	}
	return out, note
}

// happened lists the events.
func (b *builder) happened(of []*analyse.Trial) table {
	shown, note := b.few(of)
	t := table{Caption: "Events, by trial: when each began, what it took, and what was read back." + note, CSV: "events.csv",
		Columns: columns("Trial", "#Event", "What", "Instance", "#Began, s", "#Took, s", "#Stood still, ms?", "#Moved?", "Read back?")}
	for _, tr := range shown {
		for i, e := range tr.Events {
			moved := "–"
			if e.Bytes > 0 {
				moved = unit.Bytes(e.Bytes).Human()
			}
			t.Rows = append(t.Rows, []field{c(fmt.Sprint(tr.Number)), c(fmt.Sprint(i + 1)), c(e.Asked), c(e.Instance),
				c(chart.Number(e.BeginS)), c(chart.Number(e.EndS - e.BeginS)), c(num(e.DowntimeS * 1e3)), c(moved), c(readBack(e))})
		}
	}
	return t
}

// readBack are the limits that an event set, as they were read back.
func readBack(e analyse.Event) string {
	var parts []string
	for _, k := range e.Set {
		parts = append(parts, k.Name+": "+k.Effective)
	}
	if len(parts) == 0 {
		return "–"
	}
	return strings.Join(parts, ", ")
}

// parts is what each trial did before, during and after its events.
func (b *builder) parts(of []*analyse.Trial) table {
	shown, note := b.few(of)
	t := table{Caption: "Before, during and after the events, by trial." + note, CSV: "event-parts.csv",
		Columns: columns("Trial", "Part", "Of", "#From, s", "#To, s", "#Throughput", "#To before?", "#p95, ms")}
	for _, tr := range shown {
		first := tr.Stretches[:min(1, len(tr.Stretches))]
		for i, s := range tr.Stretches {
			row := func(who string, done, before float64, p95 analyse.Number) {
				to := "–"
				if i > 0 && first[0].Name == "before" && before > 0 {
					to = percent(100 * done / before)
				}
				t.Rows = append(t.Rows, []field{c(fmt.Sprint(tr.Number)), c(s.Name), c(who), c(chart.Number(s.Start)), c(chart.Number(s.End)), c(chart.Number(done)), c(to), c(num(p95))})
			}
			who := "all"
			if len(s.Hit) == 0 {
				who = "the instance"
			}
			row(who, s.Throughput, first[0].Throughput, s.P95Ms)
			for k, h := range s.Hit {
				row(h.Instance, h.Throughput, first[0].Hit[k].Throughput, h.P95Ms)
			}
		}
	}
	return t
}

// overRepeats is what configurations did before, during and after, with
// intervals between their repeats.
func (b *builder) overRepeats() table {
	t := table{Caption: "Throughput" + inUnit(b.s.Metric) + " before, during and after the events, over the repeats of each configuration.", CSV: "event-parts.csv",
		Columns: columns("Configuration", "Part", "#Repeats", "#Throughput", "#To before")}
	for _, cell := range b.s.Cells {
		for _, s := range cell.Stretches {
			if s.Throughput.N < 2 {
				continue
			}
			t.Rows = append(t.Rows, []field{c(cell.Label), c(s.Name), c(fmt.Sprint(s.Throughput.N)), estimated(s.Throughput, 1, ""), estimated(s.ToBefore, 100, " %")})
		}
	}
	return t
}

func eventsCSV(s *analyse.Study) []byte {
	f := newSheet("trial", "configuration", "event", "what", "instance", "due_s", "begin_s", "end_s", "downtime_s", "bytes", "read_back")
	for _, t := range s.Trials {
		for i, e := range t.Events {
			back := ""
			if len(e.Set) > 0 {
				back = readBack(e)
			}
			f.int(int64(t.Number)).text(t.Label).int(int64(i+1)).text(e.Asked, e.Instance).num(e.DueS, e.BeginS, e.EndS, float64(e.DowntimeS)).int(e.Bytes).text(back).end()
		}
	}
	return f.bytes()
}

func stretchesCSV(s *analyse.Study) []byte {
	f := newSheet("trial", "configuration", "part", "of", "start_s", "end_s", "throughput", "unit", "p95_ms")
	for _, t := range s.Trials {
		for _, p := range t.Stretches {
			f.int(int64(t.Number)).text(t.Label, p.Name, "all").num(p.Start, p.End, p.Throughput).text(s.Metric.Name).num(float64(p.P95Ms)).end()
			for _, h := range p.Hit {
				f.int(int64(t.Number)).text(t.Label, p.Name, h.Instance).num(p.Start, p.End, h.Throughput).text(s.Metric.Name).num(float64(h.P95Ms)).end()
			}
		}
	}
	return f.bytes()
}
