package demand

import (
	"fmt"
	"math"
	"slices"
)

// Observed is what trials of one workload on one engine showed.
type Observed struct {
	Name, Engine, Version, Mode string
	Params                      map[string]string
	GHz                         float64  // nominal frequency of the machine
	Classes                     []string // names of the transactions
	// Work, LogBytes and Trips are of each class as the workload's own
	// description has them: relative processor work, bytes of the log (0 where
	// it only reads) and requests. They divide what was observed where trials
	// can't tell the classes apart.
	Work, LogBytes, Trips []float64
	Trials                []Trial
	Invalid               bool   // the gate refused some of Trials
	Seed                  uint64 // of the bootstrap
}

// Trial is what one trial showed in its window.
type Trial struct {
	Name    string
	CPUs    float64 // that the instance may use
	Alone   bool    // one transaction at a time, or nearly so: nothing queues
	Seconds []Second
	// Response is the mean response time in seconds by class; NaN where
	// nothing of the class ended.
	Response []float64
	// Latched is how many sessions waited for latches on average, in Polls
	// looks at them; NaN where nobody looked.
	Latched, Polls float64
}

// Second is an interval of a trial. All are amounts in it, not rates; NaN is
// what was not recorded.
type Second struct {
	Length           float64   // s
	Done             []float64 // transactions that ended, by class
	CPU, Driver      float64   // s of processors, of the instance and of the load generator
	Pages            float64   // accessed in the buffer cache
	PagesRead        float64   // that the buffer cache asked for
	PagesWritten     float64   // from the buffer cache
	LogBytes         float64
	LogWrites        float64 // that transactions waited for
	LogSeconds       float64 // that these took, added up
	DiskReads        float64
	DiskReadSeconds  float64
	DiskWrites       float64
	DiskWriteSeconds float64
}

// Fitted is what Fit finds: demands, and what the trials tell of the machine,
// in nanoseconds. Assumed is set where they don't.
type Fitted struct {
	Workload
	DiskRead, DiskWrite Quantity // one operation
	LogWrite            Quantity // one write of the log that is waited for
	// Latency is of the way between users and database, one way for one
	// request, the users' own work included.
	Latency Quantity
}

// What is taken where trials can't tell: value, and range. They are orders of
// magnitude of current servers, not measurements.
func assumedIO() Quantity    { return Quantity{10e3, 2e3, 30e3, true} }   // ns of a thread
func assumedLatch() Quantity { return Quantity{3e3, 0, 10e3, true} }      // ns
func assumedStall() Quantity { return Quantity{0.4, 0.2, 0.6, true} }     // of processor work
func assumedDisk() Quantity  { return Quantity{200e3, 50e3, 1e6, true} }  // ns
func assumedWay() Quantity   { return Quantity{30e3, 10e3, 100e3, true} } // ns

// The least that a fit is made from.
const (
	leastSeconds = 10   // of all trials together
	leastDone    = 200  // transactions
	blockLength  = 2.0  // s; within, work that crosses from second to second evens out
	leastTrials  = 4    // from which on trials, and not blocks, are what is drawn in the bootstrap
	leastOps     = 50   // I/Os from which a mean time is taken
	leastLatched = 10   // sightings of sessions that wait for a latch
	leastSpread  = 0.10 // of I/Os a transaction between trials, relative, to tell their cost
	// mostIO is the most that an I/O costs the processor, ns. What looks dearer
	// is something else that low loads have more of, such as waking up.
	mostIO = 200e3
	// mostBusy is the use of the instance's processors up to which sessions that
	// wait for a latch wait for its holder, and not for the holder's processor.
	mostBusy = 0.8
)

// Fit finds the demands that explain o. The error says what is missing for it.
func Fit(o Observed) (*Fitted, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	b := o.sample()
	f := &Fitted{Workload: Workload{Name: o.Name, Engine: o.Engine, Version: o.Version, Mode: o.Mode, Params: o.Params, Invalid: o.Invalid, GHz: o.GHz,
		Stall: assumedStall()}}
	for _, t := range o.Trials {
		f.Trials = append(f.Trials, t.Name)
		f.CPUs = max(f.CPUs, t.CPUs)
	}
	perTransaction := func(get func(Second) float64, scale float64) Quantity {
		return b.quantity(func(u []block) float64 { return scale * perDone(u, get) })
	}
	f.CPU = perTransaction(func(s Second) float64 { return s.CPU }, 1e9)
	f.Driver = known(perTransaction(func(s Second) float64 { return s.Driver }, 1e9))
	f.Pages = known(perTransaction(func(s Second) float64 { return s.Pages }, 1))
	f.Reads = known(perTransaction(func(s Second) float64 { return s.DiskReads }, 1))
	f.Writes = known(perTransaction(func(s Second) float64 { return s.DiskWrites }, 1))
	f.IOs = known(perTransaction(Second.ios, 1))
	b.costs(f)
	b.classes(f)
	b.devices(f)
	b.latency(f)
	return f, nil
}

func (o *Observed) check() error {
	seconds, done := 0.0, 0.0
	for _, t := range o.Trials {
		for _, s := range t.Seconds {
			if len(s.Done) != len(o.Classes) {
				return fmt.Errorf("%s counts %d classes, not %d", t.Name, len(s.Done), len(o.Classes))
			}
			if math.IsNaN(s.CPU) {
				continue
			}
			seconds, done = seconds+s.Length, done+s.done()
		}
	}
	n := len(o.Classes)
	if n == 0 || len(o.Work) != n || len(o.LogBytes) != n || len(o.Trips) != n {
		return fmt.Errorf("%s: %d classes, described by %d, %d and %d numbers", o.Name, n, len(o.Work), len(o.LogBytes), len(o.Trips))
	}
	if seconds < leastSeconds || done < leastDone {
		return fmt.Errorf("%s on %s: %.0f transactions in %.0f s with counters of the instance's CPU; at least %d in %d s are needed",
			o.Name, o.Engine, done, seconds, leastDone, leastSeconds)
	}
	return nil
}

// done is all transactions of s.
func (s Second) done() (n float64) {
	for _, d := range s.Done {
		n += d
	}
	return n
}

// ios is every I/O of the database: pages in and out, and the log's writes.
// What was not recorded counts as none.
func (s Second) ios() float64 {
	n := 0.0
	for _, x := range []float64{s.PagesRead, s.PagesWritten, s.LogWrites} {
		if !math.IsNaN(x) {
			n += x
		}
	}
	return n
}

// known is q, or nothing at all where it was not recorded.
func known(q Quantity) Quantity {
	if math.IsNaN(q.Value) {
		return Quantity{Assumed: true}
	}
	return q
}

// costs finds the cost of an I/O and how long the log's latch is held.
func (b *sample) costs(f *Fitted) {
	f.Costs = Costs{IO: assumedIO(), Latch: assumedLatch()}
	point, draws := b.regress(0, false)
	last := len(point) - 1
	io := interval(point[last], column(draws, last), b.units()).times(1e9)
	switch {
	case !b.byTrial || b.spreadOfIO() < leastSpread || !(io.Low > 0):
		f.note("The processor cost of an I/O is assumed: I/Os a transaction did not vary enough between trials to tell it from the transactions' own.")
	case io.Value > mostIO || io.Value*f.IOs.Value > (1-leastOwn)*f.CPU.Value:
		f.note("The processor cost of an I/O is assumed: by the trials it would be %.0f µs, more than an I/O takes, so that transactions cost more at low load for another reason.", io.Value/1e3)
	default:
		f.Costs.IO = io
	}
	if most := (1 - leastOwn) * f.CPU.Value / max(f.IOs.Value, 1e-9); f.Costs.IO.Value > most { // an assumption may not eat up the transaction
		f.Costs.IO = Quantity{most / 2, 0, most, true}
	}
	latch := b.quantity(b.heldLatch)
	if seen := b.latched(); seen < leastLatched || !(latch.Value > 0) {
		f.note("The time for which a commit holds the log's latch is assumed: with processors to spare, sessions were seen to wait for latches %.0f times, %d are needed.", seen, leastLatched)
		return
	}
	f.Costs.Latch = latch
	f.note("The time for which a commit holds the log's latch follows from how many sessions waited for latches of any kind, as if there were one (a queue M/M/1).")
}

func (f *Fitted) note(format string, args ...any) {
	f.Notes = append(f.Notes, fmt.Sprintf(format, args...))
}

// classes divides the work of the mix among the classes.
func (b *sample) classes(f *Fitted) {
	o := b.o
	shares := shares(b.blocks, len(o.Classes))
	work, low, high := b.divide(f, shares)
	logMix := known(b.quantity(func(u []block) float64 { return perDone(u, func(s Second) float64 { return s.LogBytes }) }))
	described := dot(shares, o.LogBytes)
	for i, name := range o.Classes {
		if shares[i] == 0 {
			f.note("%s never ran: its demands are the described proportions.", name)
		}
		c := Class{Name: name, Share: shares[i]}
		all, stall := Quantity{work[i], low[i], high[i], false}, f.Stall.Value
		c.Compute, c.Memory = all.times(1-stall), all.times(stall)
		c.LogBytes = Exactly(o.LogBytes[i])
		c.LogBytes.Assumed = logMix.Assumed
		if described > 0 && logMix.Value > 0 {
			c.LogBytes = logMix.times(o.LogBytes[i] / described)
		}
		f.Classes = append(f.Classes, c)
	}
	if described > 0 && logMix.Value > 0 {
		f.note("Bytes of the log are divided among the classes as the workload's description has them.")
	}
}

// divide gives the processor work of each class in nanoseconds, with its
// interval, and says in f which way was taken.
func (b *sample) divide(f *Fitted, shares []float64) (work, low, high []float64) {
	o, own := b.o, f.own()
	relative := slices.Clone(o.Work)
	f.Split = ByAccess
	if r, ok := b.responses(own, shares); ok {
		relative, f.Split = r, ByResponse
	}
	by := f.Costs.IO.Value / 1e9
	point, draws := b.regress(by, true)
	intervals := make([]Quantity, len(point))
	sure := len(b.blocks) >= 10*len(point)
	for k := range point {
		intervals[k] = interval(point[k], column(draws, k), b.units())
		sure = sure && identified(intervals[k], shares[k], own/1e9)
	}
	if sure {
		relative, f.Split = point, ByRegression
	}
	for k, w := range relative { // a class without work can't be run
		relative[k] = max(w, 1e-6*slices.Max(relative))
	}
	// How far a class may be from what a way to divide says that no interval
	// comes with: assumed.
	unsure := map[Split]float64{ByResponse: 1.25, ByAccess: 1.6, ByRegression: 1}
	scale := own / dot(shares, relative)
	for k := range relative {
		w := scale * relative[k]
		work = append(work, w)
		l, h := w/unsure[f.Split], w*unsure[f.Split]
		if sure && point[k] > 0 {
			l, h = w*max(0, intervals[k].Low)/point[k], w*intervals[k].High/point[k]
		}
		low, high = append(low, l), append(high, h)
	}
	switch f.Split {
	case ByResponse:
		f.note("The mix did not vary enough to tell the classes apart: its work is divided by their response times where nothing queued, less the log's and the network's. Each class by itself is taken to be known to a factor of %g.", unsure[ByResponse])
	case ByAccess:
		f.note("The mix did not vary enough to tell the classes apart, and no trial had so little load that nothing queued: its work is divided as the workload's description has it. Each class by itself is taken to be known to a factor of %g.", unsure[ByAccess])
	}
	return work, low, high
}

// identified says whether a class's work is known well enough: to a quarter of
// it, or to a twentieth of the mix's.
func identified(q Quantity, share, mix float64) bool {
	half := (q.High - q.Low) / 2
	return q.Value > 0 && (half <= q.Value/4 || half*share <= mix/20)
}

// responses are the response times where nothing queues, less what is waited
// for the log and for the way to the users, which is what is left of the mean:
// what a class costs, relative to the others.
func (b *sample) responses(own float64, shares []float64) (relative []float64, ok bool) {
	o := b.o
	wait := zero(b.logWrite())
	sum, n := make([]float64, len(o.Classes)), 0.0
	for _, t := range o.Trials {
		if !t.Alone {
			continue
		}
		n++
		for k, r := range t.Response {
			if o.LogBytes[k] > 0 {
				r -= wait
			}
			sum[k] += r
		}
	}
	for k := range sum {
		if sum[k] /= n; math.IsNaN(sum[k]) { // nothing of the class, or no such trial
			return nil, false
		}
	}
	way := max(0, dot(shares, sum)-own/1e9) / dot(shares, o.Trips)
	const least = 0.05 // of the mean: a class takes something
	for k := range sum {
		sum[k] = max(sum[k]-way*o.Trips[k], least*own/1e9)
	}
	return sum, true
}

// devices finds the times of the disk and of the log.
func (b *sample) devices(f *Fitted) {
	time := func(what string, ops, seconds func(Second) float64) Quantity {
		q := b.quietest().quantity(func(u []block) float64 { return 1e9 * total(u, seconds) / total(u, ops) })
		if n := total(b.quietest().blocks, ops); !(n >= leastOps) || !(q.Value > 0) {
			f.note("The time of %s is assumed: %.0f were seen, %d are needed.", what, max(0, zero(n)), leastOps)
			return assumedDisk()
		}
		return q
	}
	f.DiskRead = time("a disk's read", func(s Second) float64 { return s.DiskReads }, func(s Second) float64 { return s.DiskReadSeconds })
	f.DiskWrite = time("a disk's write", func(s Second) float64 { return s.DiskWrites }, func(s Second) float64 { return s.DiskWriteSeconds })
	f.LogWrite = time("a write of the log", func(s Second) float64 { return s.LogWrites }, func(s Second) float64 { return s.LogSeconds })
}

// latency finds the way between users and database: what is left of the
// response time where nothing queues.
func (b *sample) latency(f *Fitted) {
	o := b.o
	f.Latency = assumedWay()
	shares := shares(b.blocks, len(o.Classes))
	trips := max(1, dot(shares, o.Trips))
	var rest []float64
	for _, t := range o.Trials {
		mean, n := 0.0, 0.0
		for k, r := range t.Response {
			if !math.IsNaN(r) {
				mean, n = mean+shares[k]*r, n+shares[k]
			}
		}
		if !t.Alone || n < 0.5 {
			continue
		}
		writers := 0.0
		for k, x := range o.LogBytes {
			if x > 0 {
				writers += shares[k]
			}
		}
		// Nobody waits for the processor work of writes.
		used := f.own() + writers*f.LogWrite.Value + f.Reads.Value*f.DiskRead.Value
		rest = append(rest, (1e9*mean/n-used)/(2*trips))
	}
	if len(rest) == 0 {
		f.note("The time between users and database is assumed: no trial had so little load that nothing queued.")
		return
	}
	slices.Sort(rest)
	const least = 1e3 // ns
	at := max(least, rest[len(rest)/2])
	f.Latency = Quantity{at, max(least, min(at/2, rest[0])), max(2*at, rest[len(rest)-1]), false}
}
