package des

import "math"

// Usage is what a station has done since time 0. Its differences over a
// window give utilisation, mean number and, by Little's law, mean times.
type Usage struct {
	Arrivals, Departures int64
	BusyNanos            int64 // server-nanoseconds spent serving
	JobNanos             int64 // job-nanoseconds present, waiting or served
	WaitNanos            int64 // of these, waiting
}

// meter keeps a Usage up to date.
type meter struct {
	Usage
	since         int64
	jobs, serving int64
}

// advance accounts for the time up to now.
func (m *meter) advance(now int64) {
	d := now - m.since
	m.since = now
	m.BusyNanos += d * m.serving
	m.JobNanos += d * m.jobs
	m.WaitNanos += d * (m.jobs - m.serving)
}

// Queue is a station where jobs are served in the order of their arrival by
// one or more equal servers.
type Queue struct {
	sim     *Sim
	done    func(job int64)
	kind    Kind
	servers int64
	wait    Ring[queued]
	m       meter
}

type queued struct{ job, service int64 }

// NewQueue returns an idle station. done is called when a job's service ends,
// after the server has taken up its next job.
func NewQueue(s *Sim, servers int, done func(job int64)) *Queue {
	q := &Queue{sim: s, done: done, servers: int64(servers)}
	q.kind = s.Handle(q.depart)
	return q
}

// Arrive brings a job that needs service nanoseconds of one server.
func (q *Queue) Arrive(job, service int64) {
	q.m.advance(q.sim.now)
	q.m.Arrivals++
	q.m.jobs++
	if q.m.serving == q.servers {
		q.wait.Push(queued{job, service})
		return
	}
	q.m.serving++
	q.sim.After(service, q.kind, 0, job)
}

func (q *Queue) depart(_ int32, job int64) {
	q.m.advance(q.sim.now)
	q.m.Departures++
	q.m.jobs--
	if q.wait.Len() > 0 {
		next := q.wait.Pop()
		q.sim.After(next.service, q.kind, 0, next.job)
	} else {
		q.m.serving--
	}
	q.done(job)
}

// Len is the number of jobs present.
func (q *Queue) Len() int { return int(q.m.jobs) }

// Usage accounts up to now.
func (q *Queue) Usage() Usage {
	q.m.advance(q.sim.now)
	return q.m.Usage
}

// Shared is a station whose servers are shared evenly by all jobs present: n
// jobs at c servers each proceed at the rate min(1, c/n).
type Shared struct {
	sim     *Sim
	done    func(job int64)
	timer   Timer
	servers float64
	virtual float64 // service that a job present since time 0 would have had
	since   int64
	jobs    []share // binary heap by (end, seq)
	seq     uint64
	m       meter
}

type share struct {
	end float64 // virtual service at which the job is done
	seq uint64
	job int64
}

func (a share) before(b share) bool { return a.end < b.end || a.end == b.end && a.seq < b.seq }

// NewShared returns an idle station with the given number of servers.
func NewShared(s *Sim, servers float64, done func(job int64)) *Shared {
	p := &Shared{sim: s, done: done, servers: servers}
	p.timer = s.NewTimer(s.Handle(p.depart), 0, 0)
	return p
}

// Arrive brings a job that needs service nanoseconds of one server.
func (p *Shared) Arrive(job, service int64) {
	p.advance()
	p.m.Arrivals++
	p.m.jobs++
	p.seq++
	p.push(share{p.virtual + float64(service), p.seq, job})
	p.rearm()
}

func (p *Shared) depart(int32, int64) {
	p.advance()
	first := p.pop()
	// The timer is rounded up to a nanosecond; the clock of service is set to
	// the job's end so that rounding does not add up.
	p.virtual = first.end
	p.m.Departures++
	p.m.jobs--
	p.rearm()
	p.done(first.job)
}

func (p *Shared) rate() float64 {
	if n := float64(len(p.jobs)); n > p.servers {
		return p.servers / n
	}
	return 1
}

func (p *Shared) advance() {
	now := p.sim.now
	p.m.serving = min(p.m.jobs, int64(p.servers))
	p.m.advance(now)
	if len(p.jobs) > 0 {
		p.virtual += float64(float64(now-p.since) * p.rate())
	}
	p.since = now
}

func (p *Shared) rearm() {
	if len(p.jobs) == 0 {
		p.virtual = 0 // keeps the float's precision
		p.sim.Stop(p.timer)
		return
	}
	left := math.Ceil((p.jobs[0].end - p.virtual) / p.rate())
	p.sim.Set(p.timer, p.sim.now+max(0, int64(left)))
}

// Len is the number of jobs present.
func (p *Shared) Len() int { return len(p.jobs) }

// Usage accounts up to now.
func (p *Shared) Usage() Usage {
	p.advance()
	return p.m.Usage
}

func (p *Shared) push(x share) {
	p.jobs = append(p.jobs, x)
	i := len(p.jobs) - 1
	for i > 0 && x.before(p.jobs[(i-1)/2]) {
		p.jobs[i] = p.jobs[(i-1)/2]
		i = (i - 1) / 2
	}
	p.jobs[i] = x
}

func (p *Shared) pop() share {
	first, n := p.jobs[0], len(p.jobs)-1
	x := p.jobs[n]
	p.jobs = p.jobs[:n]
	i := 0
	for n > 0 {
		c := 2*i + 1
		if c+1 < n && p.jobs[c+1].before(p.jobs[c]) {
			c++
		}
		if c >= n || !p.jobs[c].before(x) {
			p.jobs[i] = x
			break
		}
		p.jobs[i] = p.jobs[c]
		i = c
	}
	return first
}

// Delay is a station with a server for everyone.
type Delay struct {
	sim  *Sim
	done func(job int64)
	kind Kind
	m    meter
}

// NewDelay returns an empty station.
func NewDelay(s *Sim, done func(job int64)) *Delay {
	d := &Delay{sim: s, done: done}
	d.kind = s.Handle(d.depart)
	return d
}

// Arrive brings a job that stays for delay nanoseconds.
func (d *Delay) Arrive(job, delay int64) {
	d.m.advance(d.sim.now)
	d.m.Arrivals++
	d.m.jobs++
	d.m.serving++
	d.sim.After(delay, d.kind, 0, job)
}

func (d *Delay) depart(_ int32, job int64) {
	d.m.advance(d.sim.now)
	d.m.Departures++
	d.m.jobs--
	d.m.serving--
	d.done(job)
}

// Len is the number of jobs present.
func (d *Delay) Len() int { return int(d.m.jobs) }

// Usage accounts up to now.
func (d *Delay) Usage() Usage {
	d.m.advance(d.sim.now)
	return d.m.Usage
}
