//go:build linux

package cgroup

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCPUListsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cpus := rapid.SliceOfNDistinct(rapid.IntRange(0, 200), 1, 60, rapid.ID[int]).Draw(t, "cpus")
		slices.Sort(cpus)
		list := formatCPUs(cpus)
		got, err := parseCPUs(list)
		if err != nil || !slices.Equal(got, cpus) {
			t.Fatalf("%v is written %q and read %v, %v", cpus, list, got, err)
		}
	})
}

func TestCPULists(t *testing.T) {
	for _, c := range []struct {
		list string
		want []int
	}{
		{"0", []int{0}}, {"0-3", []int{0, 1, 2, 3}}, {"4,0-1", []int{0, 1, 4}}, {"1,1-2", []int{1, 2}}, {" 1, 2", []int{1, 2}}, {"8191", []int{8191}},
		{"", nil}, {"-1", nil}, {"1-", nil}, {"3-1", nil}, {"a", nil}, {"8192", nil}, {"0-99999999999", nil}, {"1,,2", nil}, {"1-2-3", nil},
	} {
		got, err := parseCPUs(c.list)
		if (err != nil) != (c.want == nil) || !slices.Equal(got, c.want) {
			t.Errorf("%q gives %v, %v; want %v", c.list, got, err, c.want)
		}
	}
}

func FuzzCPUList(f *testing.F) {
	for _, s := range []string{"0-1,4", "", "9999999", "1-", "0-8191"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		cpus, err := parseCPUs(s)
		if err != nil {
			return
		}
		again, err := parseCPUs(formatCPUs(cpus))
		if err != nil || !slices.Equal(again, cpus) {
			t.Errorf("%q gives %v, then %v, %v", s, cpus, again, err)
		}
	})
}

func FuzzLayout(f *testing.F) {
	f.Add("28 25 0:25 /a /cg rw - cgroup cgroup rw,cpu\n", "3:cpu:/a/b\n")
	f.Add("1 2 3 \\057 \\04 - cgroup2 x y\n", "0::/\n")
	f.Fuzz(func(t *testing.T, mounts, self string) {
		l := parseLayout(mounts, self)
		for c, p := range l.V1 {
			if c == "" || !strings.HasPrefix(p.Dir, strings.TrimSuffix(p.Mount, "/")) && p.Mount != "." {
				// filepath.Join cleans a mount that is no clean path.
				if p.Dir == "" {
					t.Errorf("controller %q is in %q of %q", c, p.Dir, p.Mount)
				}
			}
		}
	})
}

func TestProcessStatus(t *testing.T) {
	// The program's name holds all that could mislead a reader.
	const line = "42 (a) b (c) R 7 8 9 0 -1 4194304 100 200 3 4 50 60 70 80 20 0 1 0 123456 1000000 250 18446744073709551615 0"
	s, err := parseStat([]byte(line))
	want := Stat{PID: 42, parent: 7, group: 8, session: 9, State: 'R', majorFaults: 7, userTicks: 120, systemTicks: 140, Start: 123456, rssPages: 250}
	if err != nil || s != want {
		t.Errorf("got %+v, %v; want %+v", s, err, want)
	}
	self, err := ReadStat(os.Getpid())
	if err != nil || self.PID != os.Getpid() || self.parent != os.Getppid() {
		t.Errorf("of myself: %+v, %v", self, err)
	}
}

func FuzzProcessStatus(f *testing.F) {
	f.Add("42 (a) b (c) R 7 8 9 0 -1 4194304 100 200 3 4 50 60 70 80 20 0 1 0 123456 1000000 250 18446744073709551615 0")
	f.Add("")
	f.Add("1 ()")
	f.Fuzz(func(t *testing.T, s string) { _, _ = parseStat([]byte(s)) })
}

func TestQuotas(t *testing.T) {
	for _, c := range []struct {
		text string
		cpus float64
		bad  bool
	}{
		{"max 100000", 0, false}, {"-1 100000", 0, false}, {"", 0, false}, {" ", 0, false}, {"150000 100000", 1.5, false},
		{"25000 50000", 0.5, false}, {"100", 0, true}, {"x 1", 0, true}, {"5 0", 0, true}, {"-5 100", 0, true},
	} {
		got, err := parseQuota(c.text)
		if got != c.cpus || (err != nil) != c.bad {
			t.Errorf("%q gives %v, %v", c.text, got, err)
		}
	}
}

func TestMemoryLimits(t *testing.T) {
	for _, c := range []struct {
		text  string
		bytes int64
		bad   bool
	}{
		{"", 0, false}, {"max", 0, false}, {"9223372036854771712", 0, false}, {"18446744073709551615", 0, false},
		{"4096", 4096, false}, {"1099511627776", 1 << 40, false}, {"-1", 0, true}, {"1k", 0, true},
	} {
		got, err := parseMemory(c.text)
		if int64(got) != c.bytes || (err != nil) != c.bad {
			t.Errorf("%q gives %d, %v", c.text, got, err)
		}
	}
}

func TestCountersAreFoundInTheKernelsFormats(t *testing.T) {
	for _, c := range []struct {
		name, text, key string
		format          format
		scale, want     float64
		absent          bool
	}{
		{name: "single", text: "2500000000\n", format: single, scale: 1e-9, want: 2.5},
		{name: "flat", text: "usage_usec 9\nuser_usec 7000000\nuser_usec_x 1\n", key: "user_usec", format: flat, scale: 1e-6, want: 7},
		{name: "flat without the key", text: "usage_usec 9\n", key: "nr_throttled", format: flat, scale: 1, absent: true},
		{name: "nested", text: "8:0 rbytes=100 wbytes=5 rios=2\n8:16 rbytes=11 wbytes=0 rios=1\n", key: "rbytes", format: nested, scale: 1, want: 111},
		{name: "nested, empty", text: "", key: "rbytes", format: nested, scale: 1, absent: true},
		{name: "throttle", text: "8:0 Read 10\n8:0 Write 20\n8:16 Read 3\nTotal 33\n", key: "Read", format: throttle, scale: 1, want: 13},
		{name: "pressure", text: "some avg10=0.00 avg60=1.00 avg300=0.00 total=1500000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=9\n", key: "some", format: pressure, scale: 1e-6, want: 1.5},
		{name: "garbage", text: "user_usec many\nuser_usec -4\n", key: "user_usec", format: flat, scale: 1, absent: true},
	} {
		v, ok := counter{format: c.format, key: c.key, scale: c.scale}.value(c.text)
		if ok == c.absent || math.Abs(v-c.want) > 1e-9 {
			t.Errorf("%s: got %v, %v; want %v", c.name, v, ok, c.want)
		}
	}
}

// TestSumsOverProcessesNeverShrink plays servers whose processes fork, burn
// and end, some waited for by their parent (whose figure then includes
// theirs), some not.
func TestSumsOverProcessesNeverShrink(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m monotonic
		live := map[int]float64{1: 0}
		parent := map[int]int{1: 0}
		next, burnt, last := 2, 0.0, 0.0
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			pids := make([]int, 0, len(live))
			for pid := range live {
				pids = append(pids, pid)
			}
			slices.Sort(pids)
			pid := rapid.SampledFrom(pids).Draw(t, "pid")
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0:
				live[next], parent[next] = 0, pid
				next++
			case 1:
				work := float64(rapid.IntRange(1, 100).Draw(t, "work"))
				live[pid] += work
				burnt += work
			case 2:
				if pid != 1 && !hasChildren(pid, live, parent) {
					live[parent[pid]] += live[pid] // waited for
					delete(live, pid)
				}
			}
			samples, parents := map[int][]float64{}, map[int]int{}
			for pid, v := range live {
				samples[pid], parents[pid] = []float64{figUser: v, figures - 1: 0}, parent[pid]
			}
			sum := m.add(samples, parents)[figUser]
			if sum < last || sum != burnt {
				t.Fatalf("%v was burnt, the sum is %v after %v", burnt, sum, last)
			}
			last = sum
		}
		if sum := m.add(nil, nil)[figUser]; sum != burnt {
			t.Fatalf("%v was burnt, %v is left when all have ended", burnt, sum)
		}
	})
}

func hasChildren(pid int, live map[int]float64, parent map[int]int) bool {
	for p := range live {
		if parent[p] == pid {
			return true
		}
	}
	return false
}
