package record

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"pgregory.net/rapid"
)

// threeMinutes is the reader of a finished trial of three minutes.
func threeMinutes(t *testing.T) *Reader {
	t.Helper()
	d := create(t, 1)
	w := start(t, d, 1, "", "buy")
	iw, err := w.Instance(1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 180 {
		at := time.Duration(i) * time.Second
		if err := iw.Interval(Interval{Start: at, End: at + time.Second, Types: []Series{{Response: histogram(int64(i + 1))}}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(Finished, ""); err != nil {
		t.Fatal(err)
	}
	return reader(t, d, 1)
}

// logged are the lines of both logs of intervals of the given lengths after
// pauses.
func logged(t *testing.T, lengths, pauses []int) (fine, minutes []byte) {
	t.Helper()
	dir := t.TempDir()
	var logs [2]*lines
	for i, name := range []string{histogramsName, minutesName} {
		l, err := newLines(dir, name, "")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.f.Close() }()
		logs[i] = l
	}
	h := newHistogramWriter(logs[0], logs[1], []string{"buy"})
	at := time.Duration(0)
	for i, n := range lengths {
		at += time.Duration(pauses[i]) * time.Millisecond
		end := at + time.Duration(n)*time.Millisecond
		if err := h.interval(Interval{Start: at, End: end, Types: []Series{{Response: histogram(int64(i + 1))}}}); err != nil {
			t.Fatal(err)
		}
		at = end
	}
	if err := h.flush(); err != nil {
		t.Fatal(err)
	}
	var out [2][]byte
	for i, l := range logs {
		var err error
		if out[i], err = os.ReadFile(l.f.Name()); err != nil {
			t.Fatal(err)
		}
	}
	return out[0], out[1]
}

// The log by minutes saves decoding and changes nothing, however long the
// intervals are and wherever the window begins and ends.
func TestMinutesGiveWhatTheIntervalsDo(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(rt, "intervals")
		lengths := rapid.SliceOfN(rapid.IntRange(100, 100_000), n, n).Draw(rt, "lengths in ms")
		pauses := rapid.SliceOfN(rapid.SampledFrom([]int{0, 0, 0, 500, 70_000}), n, n).Draw(rt, "pauses in ms")
		fine, minutes := logged(t, lengths, pauses)
		from := time.Duration(rapid.IntRange(0, 300).Draw(rt, "from")) * time.Second
		to := from + time.Duration(rapid.IntRange(0, 1200).Draw(rt, "seconds"))*time.Second
		find := func(data []byte) []histogramLine {
			found, err := findHistograms("x", data, map[string]int{"buy.response": 0}, from, to)
			if err != nil {
				rt.Fatal(err)
			}
			return found
		}
		sum := func(of []histogramLine) *hdrhistogram.Histogram {
			h, err := sumHistograms(of, 1)
			if err != nil {
				rt.Fatal(err)
			}
			return h[0]
		}
		without := sum(find(fine))
		with := sum(append(find(minutes), besides(find(fine), find(minutes))...))
		if !with.Equals(without) {
			rt.Fatalf("%v to %v: %d values by minutes, %d by intervals", from, to, with.TotalCount(), without.TotalCount())
		}
	})
}

func TestWholeMinutesAreNotDecodedTwice(t *testing.T) {
	r := threeMinutes(t)
	name := filepath.Join(r.Path(), "instance-1", histogramsName)
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	// The line of the second minute's middle can't be decoded any more.
	at := bytes.Index(data, []byte(",90.000,"))
	damaged := bytes.Clone(data)
	for i := at + bytes.IndexByte(data[at:], '\n') - 8; damaged[i] != '\n'; i++ {
		damaged[i] = '!'
	}
	if err := os.WriteFile(name, damaged, 0o644); err != nil {
		t.Fatal(err)
	}
	if m, err := r.Histograms(1, 30*time.Second, 150*time.Second); err != nil || m[0].Response.TotalCount() != 120 {
		t.Errorf("with the minute: %v", err)
	}
	if _, err := r.Histograms(1, 80*time.Second, 150*time.Second); err == nil {
		t.Error("a damaged line that is needed is not told of")
	}
}
