package timeline

import (
	"math"
	"strings"
	"testing"
)

func TestAnEventIsSeenHoweverShort(t *testing.T) {
	seconds := []float64{1, 2, 3, 4, 5, 6, 7, 8}
	draw := func(small bool, events ...Event) string {
		return SVG(Data{Width: 760, Height: 280, Small: small, Seconds: seconds, Tracks: []Track{{"a", []float64{1, 2, 3, 3, 3, 2, 3, 3}}}, Events: events})
	}
	for _, c := range []struct {
		event Event
		seen  int
	}{
		{Event{3, 5, "1"}, 1}, {Event{3, 3, "1"}, 1}, {Event{7.9, 20, "1"}, 1}, {Event{-3, 0.5, "1"}, 1},
		{Event{9, 12, "1"}, 0}, {Event{5, 3, "1"}, 0}, {Event{math.NaN(), 3, "1"}, 0}, {Event{3, math.Inf(1), "1"}, 0},
	} {
		svg := draw(false, c.event)
		if got := strings.Count(svg, "data-event"); got != c.seen {
			t.Errorf("%+v is drawn %d times, want %d", c.event, got, c.seen)
		}
		if strings.Contains(svg, `width="0`) || strings.Contains(svg, "NaN") {
			t.Errorf("%+v is drawn as %s", c.event, svg)
		}
	}
	if !strings.Contains(draw(false, Event{3, 5, "1"}), "event 1 from 3.00 s to 5.00 s") {
		t.Error("who can't see the figure is not told of the event")
	}
	if strings.Contains(draw(true, Event{3, 5, "a label"}), ">a label<") {
		t.Error("a small figure labels its events")
	}
}
