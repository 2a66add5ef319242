package record

import (
	"fmt"
	"strconv"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// ErrorClasses names the classes of errors, in the order of workload.Class:
// index 0 is "none".
func ErrorClasses() []string {
	return []string{"none", "retry", "deadlock", "timeout", "connection", "fatal"}
}

const errorClasses = 6

// Headers of the files of an instance. Readers accept more columns after
// these, which a later version of the same format may add.
const (
	seriesComment = "# Loadstone series, format 1. One line for each interval and type; times in seconds since the epoch.\n"
	seriesHeader  = "start_s,end_s,type,committed,rolled_back,retries,error_retry,error_deadlock,error_timeout,error_connection,error_fatal,response_sum_us,think_sum_us,p50_us,p95_us,p99_us,max_us"
	loadComment   = "# Loadstone load, format 1. One line for each interval; times in seconds since the epoch.\n"
	loadHeader    = "end_s,in_flight,backlog,late_p99_us,late_max_us"
	idleColumn    = ",idle_us" // which the first files of format 1 have not
)

// InstanceWriter records what a driver saw of one instance: a drive.Sink.
type InstanceWriter struct {
	w      *Writer
	types  []string
	series *lines
	load   *lines
	hist   *histogramWriter
	end    time.Duration
	buf    []byte
	err    error
}

func (w *Writer) newInstance(i int) (*InstanceWriter, error) {
	names := w.trial.Workload.series()
	if err := checkTypes(names); err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("the manifest names no transaction types yet")
	}
	dir := fmt.Sprintf("instance-%d/", i)
	iw := &InstanceWriter{w: w, types: names}
	var err error
	if iw.series, err = w.open(dir+seriesName, seriesComment+seriesHeader+"\n"); err != nil {
		return nil, err
	}
	if iw.load, err = w.open(dir+loadName, loadComment+loadHeader+idleColumn+"\n"); err != nil {
		return nil, err
	}
	log, err := w.open(dir+histogramsName, "")
	if err != nil {
		return nil, err
	}
	minutes, err := w.open(dir+minutesName, "")
	if err != nil {
		return nil, err
	}
	iw.hist = newHistogramWriter(log, minutes, names)
	return iw, nil
}

// Interval records one interval: they come in order, without overlapping, and
// the manifest must have its epoch before the first. Nothing of i is kept.
// Once an error was returned every later call returns it.
func (iw *InstanceWriter) Interval(i Interval) error {
	if iw.err == nil {
		iw.err = iw.interval(i)
	}
	return iw.err
}

func (iw *InstanceWriter) interval(i Interval) error {
	if len(i.Types) != len(iw.types) {
		return fmt.Errorf("recording: an interval has %d series, the manifest names %d (%q)", len(i.Types), len(iw.types), iw.types)
	}
	if i.Start < iw.end || i.End <= i.Start {
		return fmt.Errorf("recording: the interval from %v to %v does not follow the one that ended at %v", i.Start, i.End, iw.end)
	}
	if !iw.hist.begun {
		iw.w.mu.Lock()
		epoch := iw.w.trial.Epoch
		iw.w.mu.Unlock()
		if epoch.IsZero() {
			return fmt.Errorf("recording: the manifest has no epoch before the first interval")
		}
		if err := iw.hist.begin(epoch); err != nil {
			return err
		}
	}
	// Histograms first and series last: where series.csv has an interval, the
	// others have it too (but for histograms that are still being merged).
	if err := iw.hist.interval(i); err != nil {
		return err
	}
	if err := iw.load.write(iw.loadLine(i)); err != nil {
		return err
	}
	b := iw.buf[:0]
	for k := range i.Types {
		var err error
		if b, err = appendSeries(b, i.Start, i.End, iw.types[k], &i.Types[k]); err != nil {
			return err
		}
	}
	iw.buf = b
	iw.end = i.End
	return iw.series.write(b)
}

// flush writes what is held back.
func (iw *InstanceWriter) flush() error {
	if iw.err != nil {
		return iw.err
	}
	return iw.hist.flush()
}

func (iw *InstanceWriter) loadLine(i Interval) []byte {
	b := appendSeconds(iw.buf[:0], i.End)
	b = appendInts(b, i.InFlight, i.Backlog)
	if i.Late == nil {
		b = append(b, ",,"...)
	} else {
		b = appendInts(b, i.Late.ValueAtPercentilesSlice([]float64{99, 100})...)
	}
	iw.buf = append(appendInts(b, i.IdleSum), '\n')
	return iw.buf
}

func appendSeries(b []byte, start, end time.Duration, name string, s *Series) ([]byte, error) {
	if len(s.Errors) > errorClasses || len(s.Errors) > 0 && s.Errors[0] != 0 {
		return b, fmt.Errorf("recording: errors %v of %s: there are %d classes, and the first is no error", s.Errors, name, errorClasses)
	}
	b = appendSeconds(b, start)
	b = appendSeconds(append(b, ','), end)
	b = append(append(b, ','), name...)
	b = appendInts(b, s.Committed, s.RolledBack, s.Retries)
	for c := 1; c < errorClasses; c++ {
		n := int64(0)
		if c < len(s.Errors) {
			n = s.Errors[c]
		}
		b = appendInts(b, n)
	}
	b = appendInts(b, s.ResponseSum, s.ThinkSum)
	if s.Response == nil || s.Response.TotalCount() == 0 {
		return append(b, ",,,,\n"...), nil
	}
	b = appendInts(b, s.Response.ValueAtPercentilesSlice([]float64{50, 95, 99, 100})...)
	return append(b, '\n'), nil
}

// appendInts appends each value after a comma.
func appendInts(b []byte, values ...int64) []byte {
	for _, v := range values {
		b = strconv.AppendInt(append(b, ','), v, 10)
	}
	return b
}

// appendSeconds appends d in seconds, exactly, with at least three decimals.
func appendSeconds(b []byte, d time.Duration) []byte {
	u := uint64(d)
	if d < 0 {
		b = append(b, '-')
		u = -u
	}
	b = strconv.AppendUint(b, u/1e9, 10)
	b = append(b, '.')
	at := len(b)
	b = append(b, "000000000"...)
	for i, rest := at+8, u%1e9; rest > 0; i, rest = i-1, rest/10 {
		b[i] = byte('0' + rest%10)
	}
	for len(b) > at+3 && b[len(b)-1] == '0' {
		b = b[:len(b)-1]
	}
	return b
}

// Merged holds the histograms of one type over several intervals, in
// microseconds. None is nil.
type Merged struct {
	Type string
	// Response and Service are of committed work, from the intended and from
	// the actual start; Undone is the response of rolled-back work.
	Response, Service, Undone *hdrhistogram.Histogram
}
