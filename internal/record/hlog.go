package record

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A histogram log keeps every interval of the first ten minutes; later ones
// are merged, so that a trial of an hour stays small. A second log holds all of
// it once more, merged to minutes: decoding is what reading costs, and whoever
// merges a window takes whole minutes from there and only its ends from the
// first.
const (
	fineUntil  = 10 * time.Minute
	coarseStep = 10 * time.Second
	minuteStep = time.Minute
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

// histogramWriter writes a standard HdrHistogram interval log, and the same by
// minutes.
type histogramWriter struct {
	tags           []string // by series and kind, then late's
	codec          codec
	begun          bool
	buf            []byte
	fine, minutes  *lines
	coarse, minute merger
}

// merger adds intervals up: counts as tags, and the time that they cover.
type merger struct {
	step       time.Duration
	bins       []bin
	start, end time.Duration
}

// bin is the counts of one tag; used says that there are any. Adding them up
// costs the driver a tenth of what merging histograms does.
type bin struct {
	counts []int64
	used   bool
}

func newHistogramWriter(fine, minutes *lines, types []string) *histogramWriter {
	h := &histogramWriter{fine: fine, minutes: minutes}
	for _, t := range types {
		for k := range kinds {
			h.tags = append(h.tags, tag(t, k))
		}
	}
	h.tags = append(h.tags, lateTag)
	h.coarse = merger{step: coarseStep, bins: make([]bin, len(h.tags))}
	h.minute = merger{step: minuteStep, bins: make([]bin, len(h.tags))}
	return h
}

// begin writes the head. Both a start and a base time tell other programs
// that the times below count from the epoch.
func (h *histogramWriter) begin(epoch time.Time) error {
	h.begun = true
	s := strconv.FormatFloat(float64(epoch.UnixMilli())/1e3, 'f', 3, 64)
	head := fmt.Appendf(nil, `#[Loadstone histograms, format 1: microseconds; Interval_Max in seconds]
#[Histogram log format version 1.3]
#[StartTime: %s (seconds since epoch), %s]
#[BaseTime: %s (seconds since epoch)]
"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"
`, s, epoch.UTC().Format(time.RFC3339Nano), s)
	if err := h.fine.write(head); err != nil {
		return err
	}
	return h.minutes.write(head)
}

// interval writes or merges the histograms of i.
func (h *histogramWriter) interval(i Interval) error {
	if i.End <= fineUntil {
		err := h.write(h.fine, i.Start, i.End, func(k int) *hdrhistogram.Histogram { return histogramOf(&i, k) })
		if err != nil {
			return err
		}
	} else if err := h.merge(h.fine, &h.coarse, &i); err != nil {
		return err
	}
	if err := h.merge(h.minutes, &h.minute, &i); err != nil || h.minute.end > 0 {
		return err
	}
	// A minute ends where a line does: no line may reach into the next one, as
	// it would after a pause.
	return h.empty(h.fine, &h.coarse)
}

// merge adds i to m, which goes to log when its step is over.
func (h *histogramWriter) merge(log *lines, m *merger, i *Interval) error {
	if m.end == 0 {
		m.start = i.Start
	}
	m.end = i.End
	for k := range h.tags {
		from := histogramOf(i, k)
		if from == nil || from.TotalCount() == 0 {
			continue
		}
		counts, err := countsOf(from)
		if err != nil {
			return fmt.Errorf("recording %s: %w", h.tags[k], err)
		}
		b := &m.bins[k]
		if b.counts == nil {
			b.counts = make([]int64, histCounts)
		}
		b.used = true
		for i, n := range counts {
			b.counts[i] += n
		}
	}
	if i.End < m.start.Truncate(m.step)+m.step {
		return nil
	}
	return h.empty(log, m)
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
	if err := h.empty(h.fine, &h.coarse); err != nil {
		return err
	}
	return h.empty(h.minutes, &h.minute)
}

// empty writes what is in m.
func (h *histogramWriter) empty(log *lines, m *merger) error {
	if m.end == 0 {
		return nil
	}
	err := h.write(log, m.start, m.end, func(k int) *hdrhistogram.Histogram {
		if !m.bins[k].used {
			return nil
		}
		return histogramOfCounts(m.bins[k].counts)
	})
	m.end = 0
	for k := range m.bins {
		if b := &m.bins[k]; b.used {
			clear(b.counts)
			b.used = false
		}
	}
	return err
}

// write appends a line to log for each histogram that holds something, all by
// one system call.
func (h *histogramWriter) write(log *lines, start, end time.Duration, of func(k int) *hdrhistogram.Histogram) error {
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
	return log.write(b)
}

// histogramLine is one line of a log, found but not decoded.
type histogramLine struct {
	file       string // for errors
	number     int    // in the file
	key        int    // index of its tag
	start, end time.Duration
	text       []byte
}

// findHistograms lists the complete lines of data, the contents of file, whose
// tags are in tags and whose intervals lie wholly in from to to.
func findHistograms(file string, data []byte, tags map[string]int, from, to time.Duration) ([]histogramLine, error) {
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
			return nil, fmt.Errorf("%s: line %d is not that of a histogram", file, n)
		}
		key, wanted := tags[string(name[len("Tag="):])]
		if wanted && s >= from && s+l <= to {
			out = append(out, histogramLine{file, n, key, s, s + l, text})
		}
	}
}

// besides leaves out of lines those that minutes, which come in order, hold
// already.
func besides(lines, minutes []histogramLine) []histogramLine {
	out := lines[:0]
	for _, l := range lines {
		next, _ := slices.BinarySearchFunc(minutes, l.start, func(m histogramLine, at time.Duration) int {
			if m.start <= at {
				return -1
			}
			return 1
		})
		if next == 0 || l.end > minutes[next-1].end {
			out = append(out, l)
		}
	}
	return out
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
		var total []int64
		for w := range workers {
			if errs[w] != nil {
				return nil, errs[w]
			}
			if total == nil {
				total = sums[w][k]
				continue
			}
			for i, c := range sums[w][k] {
				total[i] += c
			}
		}
		out[k] = histogramOfCounts(total)
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
			return nil, fmt.Errorf("%s: line %d: %w", l.file, l.number, err)
		}
	}
	return sums, nil
}
