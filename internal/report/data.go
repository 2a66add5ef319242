package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/analyse"
)

// sheet is a CSV file in the making.
type sheet struct {
	buf bytes.Buffer
	w   *csv.Writer
	row []string
}

func newSheet(head ...string) *sheet {
	s := &sheet{}
	s.w = csv.NewWriter(&s.buf)
	s.text(head...)
	s.end()
	return s
}

// text adds fields that are texts. One that a spreadsheet would run as a
// formula is preceded by an apostrophe: names come from files and databases.
func (s *sheet) text(fields ...string) *sheet {
	for _, f := range fields {
		if f != "" && strings.ContainsRune("=+-@\t\r", rune(f[0])) {
			if _, err := strconv.ParseFloat(f, 64); err != nil {
				f = "'" + f
			}
		}
		s.row = append(s.row, f)
	}
	return s
}

// num adds numbers in full precision; what is absent is an empty field.
func (s *sheet) num(vs ...float64) *sheet {
	for _, v := range vs {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			s.row = append(s.row, "")
			continue
		}
		s.row = append(s.row, strconv.FormatFloat(v, 'g', -1, 64))
	}
	return s
}

func (s *sheet) int(vs ...int64) *sheet {
	for _, v := range vs {
		s.row = append(s.row, strconv.FormatInt(v, 10))
	}
	return s
}

func (s *sheet) bool(v bool) *sheet { return s.text(strconv.FormatBool(v)) }

// end writes the row; a bytes.Buffer takes everything.
func (s *sheet) end() {
	_ = s.w.Write(s.row)
	s.row = s.row[:0]
}

func (s *sheet) bytes() []byte {
	s.w.Flush()
	return s.buf.Bytes()
}

// addData keeps a file under name.csv, with a number added where another has
// that name, and returns the name it got.
func (b *builder) addData(name string, content []byte) string {
	file := name + ".csv"
	for i := 2; b.data[file] != nil; i++ {
		file = fmt.Sprintf("%s-%d.csv", name, i)
	}
	b.data[file] = content
	return file
}

// slug makes a file name from a text: lower-case letters and digits of ASCII,
// the rest as single hyphens, at most 40 characters.
func slug(text string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		switch {
		case b.Len() >= 40:
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	if s := strings.Trim(b.String(), "-"); s != "" {
		return s
	}
	return "other"
}

func throughputCSV(s *analyse.Study) []byte {
	f := newSheet(append([]string{"configuration"}, append(s.Factors, "throughput", "low", "high", "repeats", "method", "unit",
		"instance_cpu_pct", "instance_cpu_low", "instance_cpu_high", "limit")...)...)
	for _, cl := range s.Cells {
		f.text(cl.Label)
		for _, knob := range s.Factors {
			f.text(factorValue(cl, knob))
		}
		e := cl.Throughput
		if measured(cl) {
			f.num(e.Value, float64(e.Low), float64(e.High)).int(int64(e.N)).text(e.Method)
		} else {
			f.text("", "", "", "0", "")
		}
		f.text(s.Metric.Name)
		if cl.CPUPct.N > 0 {
			f.num(cl.CPUPct.Value, float64(cl.CPUPct.Low), float64(cl.CPUPct.High))
		} else {
			f.text("", "", "")
		}
		f.text(cl.Limit.Resource).end()
	}
	return f.bytes()
}

func factorValue(cl analyse.Cell, knob string) string {
	for _, fc := range cl.Factors {
		if fc.Knob == knob {
			return fc.Value
		}
	}
	return ""
}

// overTimeCSV holds every trial's headline figure second by second, marked by
// whether the second lies in the window.
func overTimeCSV(s *analyse.Study) []byte {
	f := newSheet("trial", "block", "configuration", "counts", "second", "in_window", "throughput", "unit")
	for i := range s.Trials {
		t := &s.Trials[i]
		tr, ok := headline(t)
		if !ok {
			continue
		}
		for k, v := range tr.Values[:min(len(tr.Values), len(t.Timeline.Seconds))] {
			at := t.Timeline.Seconds[k]
			f.int(int64(t.Number), int64(t.Block)).text(t.Label).bool(t.Counts).num(at)
			f.bool(at > t.Window.Start && at <= t.Window.End).num(v).text(tr.Unit).end()
		}
	}
	return f.bytes()
}

// trackCSV is trackCSV of a group of t's tracks, with the intervals that
// figures leave out.
func (b *builder) trackCSV(t *analyse.Trial, group string) []byte {
	for i := range b.all.Trials {
		if all := &b.all.Trials[i]; all.Number == t.Number {
			t = all
		}
	}
	return trackCSV(t, tracks(t, group))
}

// trackCSV holds tracks of one trial, a row a second.
func trackCSV(t *analyse.Trial, of []analyse.Track) []byte {
	head := []string{"trial", "second", "in_window"}
	for _, tr := range of {
		head = append(head, tr.Name+", "+tr.Unit)
	}
	f := newSheet(head...)
	for k, at := range t.Timeline.Seconds {
		f.int(int64(t.Number)).num(at).bool(at > t.Window.Start && at <= t.Window.End)
		for _, tr := range of {
			if k < len(tr.Values) {
				f.num(tr.Values[k])
			} else {
				f.text("")
			}
		}
		f.end()
	}
	return f.bytes()
}

func responseCSV(s *analyse.Study) []byte {
	f := newSheet("configuration", "transaction", "count", "per_s", "mean_ms", "percentile", "ms", "low_ms", "high_ms", "max_ms",
		"service_p99_ms", "limit_percentile", "limit_ms", "rolled_back", "retries", "errors")
	for _, cl := range s.Cells {
		for _, l := range cl.Types {
			for _, q := range l.P {
				f.text(cl.Label, l.Type).int(l.Count).num(l.PerSecond, float64(l.MeanMs), q.Percentile, float64(q.Ms), float64(q.LowMs), float64(q.HighMs), float64(l.MaxMs), float64(l.ServiceP99Ms))
				if l.LimitMs > 0 {
					f.num(l.LimitP, l.LimitMs)
				} else {
					f.text("", "")
				}
				f.int(l.RolledBack, l.Retries, l.Errors).end()
			}
		}
	}
	return f.bytes()
}

func spectrumCSV(peak analyse.Cell) []byte {
	f := newSheet("configuration", "transaction", "percentile", "ms")
	for _, l := range peak.Types {
		for _, pt := range l.Curve {
			f.text(peak.Label, l.Type).num(float64(pt[0]), float64(pt[1])).end()
		}
	}
	return f.bytes()
}

func waitsCSV(s *analyse.Study) []byte {
	f := newSheet("trial", "configuration", "state", "mean_sessions", "pct")
	for _, t := range s.Trials {
		for _, w := range t.Waits {
			f.int(int64(t.Number)).text(t.Label, w.State).num(w.Mean, w.Pct).end()
		}
	}
	return f.bytes()
}

func usageCSV(s *analyse.Study) []byte {
	f := newSheet("configuration", "resource", "value", "unit", "load")
	for _, cl := range s.Cells {
		for _, r := range cl.Usage {
			f.text(cl.Label, r.Name).num(r.Value).text(r.Unit).num(float64(r.Load)).end()
		}
	}
	return f.bytes()
}

func gatesCSV(s *analyse.Study) []byte {
	f := newSheet("trial", "configuration", "condition", "wanted", "found", "passed")
	for _, t := range s.Trials {
		for _, g := range t.Gates {
			f.int(int64(t.Number)).text(t.Label, g.Name, g.Want, g.Found).bool(g.Passed).end()
		}
	}
	return f.bytes()
}

func checksCSV(s *analyse.Study) []byte {
	f := newSheet("trial", "configuration", "condition", "about", "wanted", "found", "passed")
	for _, t := range s.Trials {
		for _, k := range t.Checks {
			f.int(int64(t.Number)).text(t.Label, k.Name, k.About, k.Want, k.Found).bool(k.Passed).end()
		}
	}
	return f.bytes()
}

func trialsCSV(s *analyse.Study) []byte {
	f := newSheet("trial", "block", "configuration", "directory", "status", "counts", "simulated", "started", "throughput", "unit",
		"window_start_s", "window_end_s", "steady", "window_why", "restore_way", "restore_s", "lateness_p99_us", "driver_cpu_us_per_unit", "confined", "remarks")
	for i := range s.Trials {
		t := &s.Trials[i]
		f.int(int64(t.Number), int64(t.Block)).text(t.Label, t.Dir, t.Status).bool(t.Counts).bool(t.Simulated)
		f.text(t.Started.UTC().Format("2006-01-02T15:04:05Z"))
		if t.Status == "finished" {
			f.num(t.Throughput)
		} else {
			f.text("")
		}
		f.text(s.Metric.Name).num(t.Window.Start, t.Window.End).bool(t.Window.Steady).text(t.Window.Why, t.RestoreWay)
		f.num(t.RestoreS, float64(t.LatenessP99Us), float64(t.DriverCPUUs)).bool(t.Confined).text(remarks(t)).end()
	}
	return f.bytes()
}

func knobsCSV(of []seenKnob) []byte {
	f := newSheet("name", "intended", "effective", "default", "matches", "trials", "why")
	for _, k := range of {
		f.text(k.Name, k.Intended, k.Effective, k.Default).bool(k.Matches).text(trialList(k.trials), k.Why).end()
	}
	return f.bytes()
}
