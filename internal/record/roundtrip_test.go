package record

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"pgregory.net/rapid"
)

// drawHistogram draws a histogram in the whole range, or none.
func drawHistogram(t *rapid.T, name string) *hdrhistogram.Histogram {
	n := rapid.IntRange(0, 5).Draw(t, name)
	if n == 0 {
		return nil
	}
	h := NewHistogram()
	for range n {
		v := int64(math.Exp(rapid.Float64Range(0, math.Log(histHigh)).Draw(t, "log value")))
		if err := h.RecordValues(min(v, histHigh), rapid.Int64Range(1, 1<<40).Draw(t, "count")); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// drawIntervals draws intervals that follow each other, up to a time well
// beyond the tenth minute.
func drawIntervals(t *rapid.T, series int) []Interval {
	at := time.Duration(0)
	var out []Interval
	for range rapid.IntRange(0, 6).Draw(t, "intervals") {
		i := Interval{Start: at + time.Duration(rapid.SampledFrom([]int64{0, 0, 0, 1, 1e9}).Draw(t, "gap"))}
		length := rapid.SampledFrom([]time.Duration{time.Second, time.Second, 1500 * time.Millisecond, 1, 7 * time.Second, 5 * time.Minute}).Draw(t, "length")
		i.End = i.Start + length
		at = i.End
		i.InFlight, i.Backlog = rapid.Int64Range(0, math.MaxInt64).Draw(t, "in flight"), rapid.Int64().Draw(t, "backlog")
		i.IdleSum = rapid.Int64Range(0, math.MaxInt64).Draw(t, "idle")
		i.Late = drawHistogram(t, "late")
		for range series {
			s := Series{
				Committed: rapid.Int64().Draw(t, "n"), RolledBack: rapid.Int64Range(0, 9).Draw(t, "n"), Retries: rapid.Int64Range(0, 1e12).Draw(t, "n"),
				ResponseSum: rapid.Int64().Draw(t, "n"), ThinkSum: rapid.Int64().Draw(t, "n"),
				Response: drawHistogram(t, "response"), Service: drawHistogram(t, "service"), Undone: drawHistogram(t, "undone"),
				Errors: append([]int64{0}, rapid.SliceOfN(rapid.Int64Range(0, 99), 5, 5).Draw(t, "errors")...),
			}
			i.Types = append(i.Types, s)
		}
		out = append(out, i)
	}
	return out
}

// readBack is what Intervals must give for what was written.
func readBack(in []Interval) []Interval {
	var out []Interval
	for _, i := range in {
		i.Late = nil
		i.Types = slices.Clone(i.Types)
		for k := range i.Types {
			s := &i.Types[k]
			if s.Response != nil {
				s.P50, s.P95, s.P99, s.Max = s.Response.ValueAtPercentile(50), s.Response.ValueAtPercentile(95), s.Response.ValueAtPercentile(99), s.Response.Max()
			}
			s.Response, s.Service, s.Undone = nil, nil, nil
		}
		out = append(out, i)
	}
	return out
}

// same compares intervals by what they print, which has no pointers in it.
func same(a, b []Interval) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

func TestIntervalsComeBackAsTheyWereWritten(t *testing.T) {
	root := t.TempDir()
	names := []string{"öffnen ein", "late"}
	rapid.Check(t, func(t *rapid.T) {
		path, err := os.MkdirTemp(root, "")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(path)
		d, err := Create(path, plan(1), nil)
		if err != nil {
			t.Fatal(err)
		}
		w, err := d.Start(trialOf(d, 1, "unit", names...))
		if err != nil {
			t.Fatal(err)
		}
		iw, err := w.Instance(2)
		if err != nil {
			t.Fatal(err)
		}
		want := drawIntervals(t, len(names)+1)
		for _, i := range want {
			if err := iw.Interval(i); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Finish(Finished, ""); err != nil {
			t.Fatal(err)
		}
		trials, err := d.Trials()
		if err != nil {
			t.Fatal(err)
		}
		got, err := trials[0].Intervals(2)
		if err != nil || !same(got, readBack(want)) {
			t.Fatalf("%v\nread    %v\nwritten %v", err, got, readBack(want))
		}
		checkMerged(t, trials[0], names, want)
	})
}

// checkMerged compares the merged histograms of all intervals with what was
// written.
func checkMerged(t *rapid.T, r *Reader, names []string, want []Interval) {
	merged, err := r.Histograms(2, 0, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	late, err := r.Late(2, 0, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	sum := func(of func(i Interval) *hdrhistogram.Histogram) *hdrhistogram.Histogram {
		total := NewHistogram()
		for _, i := range want {
			if h := of(i); h != nil {
				total.Merge(h)
			}
		}
		return total
	}
	if !late.Equals(sum(func(i Interval) *hdrhistogram.Histogram { return i.Late })) {
		t.Fatal("the lateness differs")
	}
	for k, name := range append(names, "unit") {
		m := merged[k]
		if m.Type != name ||
			!m.Response.Equals(sum(func(i Interval) *hdrhistogram.Histogram { return i.Types[k].Response })) ||
			!m.Service.Equals(sum(func(i Interval) *hdrhistogram.Histogram { return i.Types[k].Service })) ||
			!m.Undone.Equals(sum(func(i Interval) *hdrhistogram.Histogram { return i.Types[k].Undone })) {
			t.Fatalf("the histograms of %s differ", name)
		}
	}
}

func TestHistogramsTakeIntervalsThatLieWhollyInside(t *testing.T) {
	d := create(t, 1)
	w := start(t, d, 1, "", "buy")
	iw, err := w.Instance(1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 660 {
		// The second's number is its value, so that a sum tells which are in.
		n := Interval{Start: time.Duration(i) * time.Second, End: time.Duration(i+1) * time.Second, Types: []Series{{Response: histogram(int64(i + 1))}}}
		if err := iw.Interval(n); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(Finished, ""); err != nil {
		t.Fatal(err)
	}
	r := reader(t, d, 1)
	for _, c := range []struct {
		from, to     time.Duration
		least, count int64
	}{
		{0, 0, 0, 0},
		{0, time.Second, 1, 1},
		{time.Second, 10 * time.Second, 2, 9},
		{500 * time.Millisecond, 10*time.Second - 1, 2, 8},
		{595 * time.Second, 600 * time.Second, 596, 5},
		// Whole minutes come from a log of their own.
		{60 * time.Second, 120 * time.Second, 61, 60},
		{30 * time.Second, 185 * time.Second, 31, 155},
		{59 * time.Second, 601 * time.Second, 60, 541},
		// From the tenth minute on intervals have ten seconds.
		{595 * time.Second, 609 * time.Second, 596, 5},
		{595 * time.Second, 610 * time.Second, 596, 15},
		{601 * time.Second, 640 * time.Second, 611, 30},
		{0, time.Hour, 1, 660},
	} {
		m, err := r.Histograms(1, c.from, c.to)
		if err != nil {
			t.Fatal(err)
		}
		if h := m[0].Response; h.TotalCount() != c.count || h.Min() != c.least || m[0].Service.TotalCount() != 0 || m[0].Undone.TotalCount() != 0 {
			t.Errorf("from %v to %v: %d values from %d, want %d from %d", c.from, c.to, h.TotalCount(), h.Min(), c.count, c.least)
		}
	}
	data, err := os.ReadFile(filepath.Join(r.Path(), "instance-1", histogramsName))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(data, []byte("\nTag=")); n != 606 {
		t.Errorf("%d lines, want 606", n)
	}
}

func TestCountersAndStatesComeBackAsTheyWereWritten(t *testing.T) {
	d := create(t, 1)
	w := start(t, d, 1, "", "buy")
	cols := []Column{{"cpu_user_s", true, "time, in\nuser mode: all"}, {"used_bytes", false, ""}, {"x", true, "x"}}
	c, err := w.Counters("instance-1/cgroup", cols)
	if err != nil {
		t.Fatal(err)
	}
	nan := math.NaN()
	rows := [][]float64{{0, 1 << 53, -1}, {nan, 0.1, 1e300}, {1e15, 123456789.123, 5e-324}, {nan, nan, nan}, {-0.5, 1e-7, math.MaxInt64}}
	at := []time.Duration{-1500 * time.Millisecond, 0, 1234567 * time.Microsecond, time.Hour, 2 * time.Hour}
	for i, v := range rows {
		if err := c.Row(at[i], v); err != nil {
			t.Fatal(err)
		}
	}
	s, err := w.States("instance-1/waits")
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range []map[string]int64{{"CPU": 3, `odd, "quoted"`: 2}, {}, {"IO:WALSync": 7, "two\nlines": 1}} {
		if err := s.Row(time.Duration(i+1)*time.Second, int64(10-i), m); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(Finished, ""); err != nil {
		t.Fatal(err)
	}
	r := reader(t, d, 1)
	got, err := r.Counters("instance-1/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Names, []string{"cpu_user_s", "used_bytes", "x"}) || !slices.Equal(got.Totals, []bool{true, false, true}) ||
		!slices.Equal(got.About, []string{"time, in user mode: all", "", "x"}) || !slices.Equal(got.At, []float64{-1.5, 0, 1.235, 3600, 7200}) {
		t.Errorf("%+v", got)
	}
	for i := range rows {
		for k := range cols {
			if g := got.Values[k][i]; g != rows[i][k] && !(math.IsNaN(g) && math.IsNaN(rows[i][k])) {
				t.Errorf("row %d, column %d: %v, want %v", i, k, g, rows[i][k])
			}
		}
	}
	if !slices.Equal(got.Column("cpu_user_s"), got.Values[0]) && !math.IsNaN(got.Column("cpu_user_s")[1]) || got.Column("y") != nil {
		t.Error("a column by name is another")
	}
	states, err := r.States("instance-1/waits")
	if err != nil {
		t.Fatal(err)
	}
	want := States{
		At: []float64{1, 2, 3}, Polls: []float64{10, 9, 8}, Names: []string{"CPU", "IO:WALSync", `odd, "quoted"`, "two lines"},
		Sessions: [][]float64{{3, 0, 0}, {0, 0, 7}, {2, 0, 0}, {0, 0, 1}},
	}
	if !reflect.DeepEqual(states, want) {
		t.Errorf("%+v\n%+v", states, want)
	}
	if _, err := r.Counters("instance-9/cgroup"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("counters that nobody wrote: %v", err)
	}
	if _, err := r.States("../../../study"); err == nil {
		t.Error("read a file outside of the trial")
	}
}

func TestNumbersComeBackExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(-1<<62, 1<<62).Draw(t, "duration"))
		if got, ok := parseSeconds(appendSeconds(nil, d)); !ok || got != d {
			t.Fatalf("%v is written %s and read %v", d, appendSeconds(nil, d), got)
		}
		v := rapid.Float64().Draw(t, "number")
		if got, ok := parseFloat(appendFloat(nil, v)); !ok || got != v {
			t.Fatalf("%v is written %s and read %v", v, appendFloat(nil, v), got)
		}
		n := rapid.Int64().Draw(t, "integer")
		if got, ok := parseInt(strconv.AppendInt(nil, n, 10)); !ok || got != n {
			t.Fatalf("%v is read %v", n, got)
		}
	})
	for _, bad := range []string{"", "-", "1.", ".5", "1.0000000001", "1e3", "+1", "--1", "9223372037", "99999999999999999999", "1.-5", "-.1", "--", "0x1", " 1"} {
		if d, ok := parseSeconds([]byte(bad)); ok && bad != "1." {
			t.Errorf("%q was read as %v seconds", bad, d)
		}
	}
	for _, bad := range []string{"", "-", "1.5", "9223372036854775808", "-9223372036854775809", "12345678901234567890123", "x"} {
		if n, ok := parseInt([]byte(bad)); ok {
			t.Errorf("%q was read as %d", bad, n)
		}
	}
}

// The library is the independent source of the encoding, both ways.
func TestHistogramsAreThoseOfTheLibrary(t *testing.T) {
	var c codec
	if n := len(NewHistogram().Export().Counts); n != histCounts {
		t.Fatalf("a histogram has %d counts", n)
	}
	rapid.Check(t, func(t *rapid.T) {
		h := drawHistogram(t, "histogram")
		if h == nil {
			h = NewHistogram()
		}
		mine, err := c.encode(nil, h)
		if err != nil {
			t.Fatal(err)
		}
		back, err := hdrhistogram.Decode(mine)
		if err != nil || !back.Equals(h) {
			t.Fatalf("the library reads something else: %v", err)
		}
		theirs, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		if err != nil {
			t.Fatal(err)
		}
		counts := make([]int64, histCounts)
		if err := c.add(counts, theirs); err != nil || !slices.Equal(counts, h.Export().Counts) {
			t.Fatalf("what the library writes is read otherwise: %v", err)
		}
	})
	if _, err := c.encode(nil, hdrhistogram.New(1, 1000, 2)); err == nil {
		t.Error("a histogram of another range was encoded")
	}
	other := hdrhistogram.New(1, 1000, 2)
	theirs, err := other.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.add(make([]int64, histCounts), theirs); !errors.Is(err, errHistogram) {
		t.Errorf("a histogram of another range was read: %v", err)
	}
}

// Other programs read the log: here the library's own reader, which finds
// every interval, tag, time and value.
func TestHistogramLogIsAStandardOne(t *testing.T) {
	d := create(t, 1)
	good(t, d, 1, Finished)
	data, err := os.ReadFile(filepath.Join(d.trial(d.study.Plan[0]), "instance-1", histogramsName))
	if err != nil {
		t.Fatal(err)
	}
	r := hdrhistogram.NewHistogramLogReader(bytes.NewReader(data))
	var tags []string
	for n := 0; ; n++ {
		h, err := r.NextIntervalHistogram()
		if err != nil {
			t.Fatal(err)
		}
		if h == nil {
			break
		}
		second := int64(n / 10)
		if from := h.StartTimeMs(); from != epoch.UnixMilli()+1000*second || h.EndTimeMs() != from+1000 {
			t.Fatalf("histogram %d is from %d to %d", n, from, h.EndTimeMs())
		}
		if second == 0 {
			tags = append(tags, h.Tag())
		}
		if h.Tag() == "buy.response" && h.TotalCount() != second+1 {
			t.Errorf("buy.response has %d values in second %d", h.TotalCount(), second)
		}
	}
	want := []string{"login.response", "login.service", "login.undone", "buy.response", "buy.service", "buy.undone", "order.response", "order.service", "order.undone", "late"}
	if !slices.Equal(tags, want) {
		t.Errorf("tags %q", tags)
	}
}

func TestTagsAreUniqueAndPlain(t *testing.T) {
	var all []string
	for _, name := range []string{"a", "a.response", "a.service", "a%2Eservice", "late", "neu bestellen", "é", "x#y"} {
		for k := range kinds {
			s := tag(name, k)
			for _, c := range []byte(s) {
				if c <= ' ' || c == ',' || c >= 0x7f {
					t.Errorf("the tag %q of %q has %q", s, name, c)
				}
			}
			all = append(all, s)
		}
	}
	all = append(all, lateTag)
	sort.Strings(all)
	if n := len(slices.Compact(all)); n != 8*kinds+1 {
		t.Errorf("%d different tags of %d", n, 8*kinds+1)
	}
}

func TestZigZagComesBackExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Int64().Draw(t, "value") >> rapid.IntRange(0, 63).Draw(t, "shift")
		b := appendZigZag(nil, v)
		if got, n := zigZag(b); got != v || n != len(b) || n > 9 {
			t.Fatalf("%d is written %x and read %d", v, b, got)
		}
		if _, n := zigZag(b[:len(b)-1]); n != 0 {
			t.Fatalf("%x without its last byte was read", b)
		}
	})
}
