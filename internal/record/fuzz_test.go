package record

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// sample returns a file of a good trial as a seed for fuzzing.
func seedFile(f *testing.F, name string) []byte {
	d := create(f, 1)
	good(f, d, 1, Finished)
	data, err := os.ReadFile(filepath.Join(d.trial(d.study.Plan[0]), filepath.FromSlash(name)))
	if err != nil {
		f.Fatal(err)
	}
	return data
}

func FuzzSeries(f *testing.F) {
	f.Add(seedFile(f, "instance-1/series.csv"))
	f.Add([]byte(seriesHeader + "\n0.0,1.0,login,1,,,,\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := parseSeries("f", data, []string{"login", "buy", "order"})
		if err != nil {
			return
		}
		last := time.Duration(math.MinInt64)
		for _, i := range got {
			if i.Start < last || i.End <= i.Start || len(i.Types) != 3 || len(i.Types[2].Errors) != errorClasses {
				t.Fatalf("%+v", i)
			}
			last = i.End
		}
	})
}

func FuzzLoad(f *testing.F) {
	f.Add(seedFile(f, "instance-1/load.csv"))
	in := []Interval{{End: time.Second}, {Start: time.Second, End: 2 * time.Second}}
	f.Fuzz(func(t *testing.T, data []byte) {
		if got, err := parseLoad("f", data, slices.Clone(in)); err == nil && len(got) > len(in) {
			t.Fatalf("%+v", got)
		}
	})
}

func FuzzCounters(f *testing.F) {
	f.Add(seedFile(f, "host.csv"))
	f.Add([]byte("at_s\n1.0\n"))
	f.Add([]byte("at_s,a\n1.000,\n2.000,1e5\n3.000,-0\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parseCounters("f", data)
		if err != nil {
			return
		}
		if len(c.Values) != len(c.Names) || len(c.Totals) != len(c.Names) || len(c.About) != len(c.Names) {
			t.Fatalf("%+v", c)
		}
		for _, v := range c.Values {
			if len(v) != len(c.At) {
				t.Fatalf("%+v", c)
			}
		}
	})
}

func FuzzStates(f *testing.F) {
	f.Add(seedFile(f, "instance-1/waits.csv"))
	f.Add([]byte(statesHeader + "\n1.0,,0,1\n2.0,,3,1\n2.0,\"a,b\",3,1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parseStates("f", data)
		if err != nil {
			return
		}
		if len(s.Polls) != len(s.At) || len(s.Sessions) != len(s.Names) || !slices.IsSorted(s.Names) {
			t.Fatalf("%+v", s)
		}
		for _, v := range s.Sessions {
			if len(v) != len(s.At) {
				t.Fatalf("%+v", s)
			}
		}
	})
}

func FuzzHistograms(f *testing.F) {
	data := seedFile(f, "instance-1/histograms.hlog")
	f.Add(data[bytes.Index(data, []byte("Tag=buy.response")):bytes.Index(data, []byte("Tag=buy.service"))])
	f.Fuzz(func(t *testing.T, data []byte) {
		found, err := findHistograms("x", data, map[string]int{"buy.response": 0, "late": 1}, 0, time.Hour)
		if err != nil {
			return
		}
		if sums, err := sumHistograms(found, 2); err == nil && (sums[0] == nil || sums[1] == nil) {
			t.Fatal("a histogram is missing")
		}
	})
}

// FuzzCodec feeds the decoder behind base64 and zlib.
func FuzzCodec(f *testing.F) {
	var c codec
	for _, h := range []int64{0, 1, 1000, histHigh} {
		text, err := c.encode(nil, histogram(h))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		_ = c.add(make([]int64, histCounts), text)
	})
}
