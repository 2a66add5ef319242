package record

import (
	"fmt"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// hour writes a trial of an hour with ten types and a hundred counters.
func hour(b *testing.B) *Reader {
	d := create(b, 1)
	var names []string
	for i := range 10 {
		names = append(names, fmt.Sprintf("type-%d", i))
	}
	w := start(b, d, 1, "", names...)
	iw, err := w.Instance(1)
	if err != nil {
		b.Fatal(err)
	}
	var cols []Column
	for i := range 100 {
		cols = append(cols, Column{Name: fmt.Sprintf("counter_%d", i), Total: true})
	}
	c, err := w.Counters("host", cols)
	if err != nil {
		b.Fatal(err)
	}
	// Ten shapes of a thousand values each, log-normal enough.
	var shapes []*hdrhistogram.Histogram
	for s := range 10 {
		h := NewHistogram()
		v := int64(500)
		for k := range 1000 {
			v = (v*1103515245 + int64(12345+s+k)) & 0x7fffffff
			if err := h.RecordValue(300 + (v%1000)*(v>>10%1000)/200); err != nil {
				b.Fatal(err)
			}
		}
		shapes = append(shapes, h)
	}
	values := make([]float64, 100)
	for i := range 3600 {
		n := Interval{Start: time.Duration(i) * time.Second, End: time.Duration(i+1) * time.Second, Late: shapes[i%10]}
		for k := range 10 {
			s := shapes[(i+k)%10]
			n.Types = append(n.Types, Series{Committed: 1000, ResponseSum: 123456789, Errors: make([]int64, 6), Response: s, Service: s, Undone: s})
		}
		if err := iw.Interval(n); err != nil {
			b.Fatal(err)
		}
		for k := range values {
			values[k] = float64(i*1000+k) + float64(k%2)/4
		}
		if err := c.Row(n.End, values); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Finish(Finished, ""); err != nil {
		b.Fatal(err)
	}
	return reader(b, d, 1)
}

// BenchmarkReadHour reads all of an hour's trial, as an analysis does.
func BenchmarkReadHour(b *testing.B) {
	r := hour(b)
	for _, f := range r.Trial.Files {
		b.Logf("%s: %d KiB", f.Name, f.Bytes>>10)
	}
	b.ReportAllocs()
	for b.Loop() {
		i, err := r.Intervals(1)
		if err != nil || len(i) != 3600 {
			b.Fatal(err)
		}
		m, err := r.Histograms(1, 0, time.Hour)
		if err != nil || m[0].Response.TotalCount() != 3600*1000 {
			b.Fatal(err)
		}
		if c, err := r.Counters("host"); err != nil || len(c.At) != 3600 {
			b.Fatal(err)
		}
	}
}

// BenchmarkInterval records an interval of ten types with all histograms.
func BenchmarkInterval(b *testing.B) {
	d := create(b, 1)
	var names []string
	for i := range 10 {
		names = append(names, fmt.Sprintf("type-%d", i))
	}
	iw, err := start(b, d, 1, "", names...).Instance(1)
	if err != nil {
		b.Fatal(err)
	}
	n := interval(0, 10, 50)
	b.ReportAllocs()
	for b.Loop() {
		n.Start, n.End = n.End, n.End+time.Millisecond
		if err := iw.Interval(n); err != nil {
			b.Fatal(err)
		}
	}
}

// Reading allocates for a file, not for a line of it.
func TestReadersDoNotAllocateForLines(t *testing.T) {
	allocs := func(n int) (series, counters float64) {
		d := create(t, 1)
		w := start(t, d, 1, "order", "login", "buy")
		if err := fill(w, n); err != nil {
			t.Fatal(err)
		}
		if err := w.Finish(Finished, ""); err != nil {
			t.Fatal(err)
		}
		r := reader(t, d, 1)
		run := func(f func() error) float64 {
			return testing.AllocsPerRun(5, func() {
				if err := f(); err != nil {
					t.Fatal(err)
				}
			})
		}
		return run(func() error { _, err := r.Intervals(1); return err }),
			run(func() error { _, err := r.Counters("host"); return err })
	}
	s1, c1 := allocs(5)
	s2, c2 := allocs(50)
	if s2 > s1+2 || c2 > c1+2 {
		t.Errorf("allocations for 5 and for 50 seconds: series %v and %v, counters %v and %v", s1, s2, c1, c2)
	}
}
