package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/loadstone-perf/loadstone/internal/analyse"
	"github.com/loadstone-perf/loadstone/internal/report/figure/chart"
)

// HistoryJSON returns h for programs. It is an error where a number that must
// be there is NaN or infinite.
func HistoryJSON(h *analyse.History) ([]byte, error) { return indented("history", h) }

// HistoryText returns h for a terminal of width columns, as Text does: the
// verdict, then a table of each configuration with a mark at each change.
func HistoryText(h *analyse.History, width int, colour bool) string {
	b := &builder{s: &analyse.Study{Valid: true}, data: map[string][]byte{}}
	b.doc = document{Title: "History of " + h.Metric.Name, Answer: h.Verdict, Valid: true, Simulated: h.Simulated, Notes: h.Notes}
	if len(h.Conditions) > 0 {
		b.section("conditions", "Conditions", b.conditions(h.Conditions))
	}
	for i, l := range h.Lines {
		b.section(fmt.Sprintf("line-%d", i+1), l.Label, b.line(h, l))
	}
	if len(h.Left) > 0 {
		var left []string
		for _, l := range h.Left {
			left = append(left, l.Name+": "+l.Reason)
		}
		b.section("left-out", "Left out", block{List: left})
	}
	return renderText(b.doc, width, colour)
}

// line is the table of one configuration over the runs.
func (b *builder) line(h *analyse.History, l analyse.HistoryLine) block {
	t := table{
		Caption: "Throughput" + inUnit(h.Metric) + " by run; ◆ marks the first run after a change, with what is new in it.",
		Columns: columns("Run", "Created", "Engine", "#Throughput", "Change"),
	}
	for k, p := range l.Points {
		r := h.Runs[p.Run]
		change := c("")
		for _, x := range l.Changes {
			if x.At == k {
				change = c("◆ " + x.Text + newIn(r))
			}
		}
		t.Rows = append(t.Rows, []field{c(r.Name), c(r.Created.UTC().Format(time.DateOnly)), c(r.Engine), c(chart.Number(p.Throughput.Value)), change})
	}
	return b.table(t)
}

// newIn says what differs in r from the run before.
func newIn(r analyse.HistoryRun) string {
	const most = 4
	var parts []string
	for i, d := range r.Differences {
		if i == most {
			parts = append(parts, fmt.Sprintf("%d more", len(r.Differences)-most))
			break
		}
		parts = append(parts, fmt.Sprintf("%s %s → %s", d.Name, d.Base, d.Other))
	}
	if len(parts) == 0 {
		return "; no fact on record changed"
	}
	return "; new: " + strings.Join(parts, ", ")
}
