package cli

import (
	"math"
	"slices"

	"github.com/loadstone-perf/loadstone/internal/analyse"
	"github.com/loadstone-perf/loadstone/internal/twin/demand"
)

// seconds are the seconds of t's window with what the timeline has of them.
// cpus are the machine's, which the driver's use is in percent of.
func seconds(t *analyse.Trial, classes []string, cpus float64) []demand.Second {
	line := tracks{t.Timeline}
	var done [][]float64
	for _, c := range classes {
		done = append(done, line.of("throughput", c))
	}
	get := func(group, name string, scale float64) func(int) float64 {
		values := line.of(group, name)
		return func(i int) float64 {
			if values == nil {
				return math.NaN()
			}
			return scale * values[i]
		}
	}
	const mebibyte = 1 << 20
	database := func(name string) func(int) float64 { return get("database", name, 1) }
	cpu, driver := get("cpu", "instance", float64(t.CPUs)/100), get("cpu", "driver", cpus/100)
	hit, read := database("blocks hit"), database("blocks read")
	written := firstOf(database("blocks written"), sumOf(database("buffers written checkpoint"), database("buffers written background"), database("buffers written backend")))
	log := get("database", "wal", mebibyte)
	logWrites := firstOf(database("wal fsyncs"), database("wal writes"))
	flush := get("disk", "flush latency", 1e-3)
	logSeconds := firstOf(sumOf(database("wal write s"), database("wal fsync s")), func(i int) float64 { return spent(logWrites(i), flush(i)) })
	reads, writes := get("disk", "reads", 1), get("disk", "writes", 1)
	readMs, writeMs := get("disk", "read latency", 1e-3), get("disk", "write latency", 1e-3)
	var out []demand.Second
	for i, end := range line.Seconds {
		begin := t.Window.Start
		if i > 0 {
			begin = line.Seconds[i-1]
		}
		const slack = 0.05 // s
		if begin < t.Window.Start-slack || end > t.Window.End+slack || end <= begin {
			continue
		}
		n := end - begin
		s := demand.Second{
			Length: n, CPU: n * cpu(i), Driver: n * driver(i), Pages: n * (hit(i) + read(i)), PagesRead: n * read(i), PagesWritten: n * written(i),
			LogBytes: n * log(i), LogWrites: n * logWrites(i), LogSeconds: n * logSeconds(i),
			DiskReads: n * reads(i), DiskReadSeconds: n * spent(reads(i), readMs(i)),
			DiskWrites: n * writes(i), DiskWriteSeconds: n * spent(writes(i), writeMs(i)),
		}
		for _, d := range done {
			ended := 0.0
			if d != nil && !math.IsNaN(d[i]) {
				ended = n * d[i]
			}
			s.Done = append(s.Done, ended)
		}
		out = append(out, s)
	}
	return out
}

// spent is the time of so many operations; none take none, whose mean nobody
// knows.
func spent(operations, each float64) float64 {
	if operations == 0 {
		return 0
	}
	return operations * each
}

// firstOf is the first of two that is known.
func firstOf(a, b func(int) float64) func(int) float64 {
	return func(i int) float64 {
		if x := a(i); !math.IsNaN(x) {
			return x
		}
		return b(i)
	}
}

// sumOf adds up those that are known; NaN where none is.
func sumOf(of ...func(int) float64) func(int) float64 {
	return func(i int) float64 {
		sum := math.NaN()
		for _, f := range of {
			switch x := f(i); {
			case math.IsNaN(x):
			case math.IsNaN(sum):
				sum = x
			default:
				sum += x
			}
		}
		return sum
	}
}

// tracks finds tracks of a timeline.
type tracks struct{ analyse.Timeline }

// of is the values of a track; nil where there is none.
func (t tracks) of(group, name string) []float64 {
	i := slices.IndexFunc(t.Tracks, func(x analyse.Track) bool { return x.Group == group && x.Name == name })
	if i < 0 {
		return nil
	}
	return t.Tracks[i].Values
}
