package record

import (
	"bytes"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A histogram log keeps every interval of the first ten minutes; later ones
// are merged, so that a trial of an hour stays small.
const (
	fineUntil  = 10 * time.Minute
	coarseStep = 10 * time.Second
)

// kinds are the histograms of a Series, as their tags end.
const (
	kindResponse = iota
	kindService
	kindUndone
	kinds
)

func kindName(k int) string { return [kinds]string{"response", "service", "undone"}[k] }

// lateTag is the tag of the driver's lateness: it has no dot, so that no
// type's tag is the same.
const lateTag = "late"

// tag names the histogram of a type. What has a meaning in the log, and the
// dot, are written as %XX.
func tag(name string, kind int) string {
	var b []byte
	for i := range len(name) {
		c := name[i]
		if c <= ' ' || c >= 0x7f || c == ',' || c == '.' || c == '%' || c == '"' || c == '#' {
			b = fmt.Appendf(b, "%%%02X", c)
		} else {
			b = append(b, c)
		}
	}
	return string(b) + "." + kindName(kind)
}

// histogramWriter writes a standard HdrHistogram interval log.
type histogramWriter struct {
	log   *lines
	tags  []string // by series and kind, then late's
	codec codec
	begun bool
	buf   []byte

	// What is being merged: bins as tags, and the time that they cover.
	bins       []*hdrhistogram.Histogram
	start, end time.Duration
}

func newHistogramWriter(log *lines, types []string) *histogramWriter {
	h := &histogramWriter{log: log}
	for _, t := range types {
		for k := range kinds {
			h.tags = append(h.tags, tag(t, k))
		}
	}
	h.tags = append(h.tags, lateTag)
	h.bins = make([]*hdrhistogram.Histogram, len(h.tags))
	return h
}

// begin writes the head. Both a start and a base time tell other programs
// that the times below count from the epoch.
func (h *histogramWriter) begin(epoch time.Time) error {
	h.begun = true
	s := strconv.FormatFloat(float64(epoch.UnixMilli())/1e3, 'f', 3, 64)
	return h.log.write(fmt.Appendf(nil, `#[Loadstone histograms, format 1: microseconds; Interval_Max in seconds]
#[Histogram log format version 1.3]
#[StartTime: %s (seconds since epoch), %s]
#[BaseTime: %s (seconds since epoch)]
"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"
`, s, epoch.UTC().Format(time.RFC3339Nano), s))
}

// interval writes or merges the histograms of i.
func (h *histogramWriter) interval(i Interval) error {
	if i.End <= fineUntil {
		return h.write(i.Start, i.End, func(k int) *hdrhistogram.Histogram { return histogramOf(&i, k) })
	}
	if h.end == 0 {
		h.start = i.Start
	}
	h.end = i.End
	for k := range h.tags {
		from := histogramOf(&i, k)
		if from == nil || from.TotalCount() == 0 {
			continue
		}
		if h.bins[k] == nil {
			h.bins[k] = NewHistogram()
		}
		if lost := h.bins[k].Merge(from); lost != 0 {
			return fmt.Errorf("recording: %d values of %s are outside 1 µs to 1 h", lost, h.tags[k])
		}
	}
	if i.End < h.start.Truncate(coarseStep)+coarseStep {
		return nil
	}
	return h.flush()
}

// histogramOf is the histogram of i for the tag number k.
func histogramOf(i *Interval, k int) *hdrhistogram.Histogram {
	if k/kinds == len(i.Types) {
		return i.Late
	}
	s := &i.Types[k/kinds]
	return [kinds]*hdrhistogram.Histogram{s.Response, s.Service, s.Undone}[k%kinds]
}

// flush writes what was merged so far.
func (h *histogramWriter) flush() error {
	if h.end == 0 {
		return nil
	}
	err := h.write(h.start, h.end, func(k int) *hdrhistogram.Histogram { return h.bins[k] })
	h.end = 0
	for _, b := range h.bins {
		if b != nil {
			b.Reset()
		}
	}
	return err
}

// write appends a line for each histogram that holds something, all by one
// system call.
func (h *histogramWriter) write(start, end time.Duration, of func(k int) *hdrhistogram.Histogram) error {
	b := h.buf[:0]
	for k, tag := range h.tags {
		hist := of(k)
		if hist == nil || hist.TotalCount() == 0 {
			continue
		}
		b = append(append(append(b, "Tag="...), tag...), ',')
		b = appendSeconds(b, start)
		b = appendSeconds(append(b, ','), end-start)
		most := time.Duration(hist.ValueAtPercentile(100)) * time.Microsecond
		b = append(appendSeconds(append(b, ','), most), ',')
		var err error
		if b, err = h.codec.encode(b, hist); err != nil {
			return fmt.Errorf("recording %s: %w", tag, err)
		}
		b = append(b, '\n')
	}
	h.buf = b
	if len(b) == 0 {
		return nil
	}
	return h.log.write(b)
}

// histogramLine is one line of the log, found but not decoded.
type histogramLine struct {
	number int // in the file
	key    int // index of its tag
	text   []byte
}

// findHistograms lists the complete lines of data whose tags are in tags and
// whose intervals lie wholly in from to to.
func findHistograms(data []byte, tags map[string]int, from, to time.Duration) ([]histogramLine, error) {
	var out []histogramLine
	for n := 1; ; n++ {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			return out, nil // a torn last line does not count
		}
		line := data[:end]
		data = data[end+1:]
		if len(line) == 0 || line[0] == '#' || line[0] == '"' {
			continue
		}
		name, line, ok1 := bytes.Cut(line, []byte(","))
		start, line, ok2 := bytes.Cut(line, []byte(","))
		length, line, ok3 := bytes.Cut(line, []byte(","))
		_, text, ok4 := bytes.Cut(line, []byte(","))
		s, ok5 := parseSeconds(start)
		l, ok6 := parseSeconds(length)
		if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || !ok6 || !bytes.HasPrefix(name, []byte("Tag=")) {
			return nil, fmt.Errorf("line %d is not that of a histogram", n)
		}
		key, wanted := tags[string(name[len("Tag="):])]
		if wanted && s >= from && s+l <= to {
			out = append(out, histogramLine{n, key, text})
		}
	}
}

// sumHistograms decodes and adds up lines in parallel. The result has one
// histogram for each of n keys, none nil.
func sumHistograms(found []histogramLine, n int) ([]*hdrhistogram.Histogram, error) {
	workers := max(1, min(runtime.GOMAXPROCS(0), len(found)/64))
	sums := make([][][]int64, workers)
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		part := found[len(found)*w/workers : len(found)*(w+1)/workers]
		wg.Go(func() { sums[w], errs[w] = sumPart(part, n) })
	}
	wg.Wait()
	out := make([]*hdrhistogram.Histogram, n)
	for k := range n {
		total := hdrhistogram.Snapshot{LowestTrackableValue: histLow, HighestTrackableValue: histHigh, SignificantFigures: histDigits}
		for w := range workers {
			if errs[w] != nil {
				return nil, errs[w]
			}
			if total.Counts == nil {
				total.Counts = sums[w][k]
				continue
			}
			for i, c := range sums[w][k] {
				total.Counts[i] += c
			}
		}
		out[k] = hdrhistogram.Import(&total)
	}
	return out, nil
}

func sumPart(part []histogramLine, n int) ([][]int64, error) {
	var c codec
	sums := make([][]int64, n)
	for _, l := range part {
		if sums[l.key] == nil {
			sums[l.key] = make([]int64, histCounts)
		}
		if err := c.add(sums[l.key], l.text); err != nil {
			return nil, fmt.Errorf("line %d: %w", l.number, err)
		}
	}
	return sums, nil
}
