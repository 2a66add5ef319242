package cli

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/trial"
)

// progress tells people how a study goes: one line that rewrites itself on a
// terminal, plain lines elsewhere; always on standard error.
type progress struct {
	env   *env
	job   *job
	live  bool // a terminal
	width int

	mu       sync.Mutex
	trials   int            // that this run has to do
	number   int            // of the one in flight, from 1
	planned  record.Planned // the one in flight
	since    time.Time      // it began
	waiting  float64        // seconds that those not begun will drive
	overhead float64        // seconds that a trial takes beside driving
	loading  float64        // seconds for loading that may still come
	stage    string
	short    string    // name of the metric
	rate     string    // throughput of the last interval
	measured []float64 // throughput of the measured intervals
}

func newProgress(e *env, j *job) *progress {
	width, live := terminal(e.stderr)
	return &progress{env: e, job: j, live: live, width: width, overhead: j.overhead(), loading: j.loadSeconds()}
}

// more sets out what is to be done, or what a search has found to do next.
func (p *progress) more(pending []record.Planned) {
	p.trials += len(pending)
	for _, t := range pending {
		p.waiting += p.driven(t)
	}
	if s := p.job.plan.Study; s.Search == nil {
		p.line("%s: %d trials, about %s", s.Name, p.trials, short(p.waiting+p.overhead*float64(p.trials)+p.loading))
	}
}

func (p *progress) driven(t record.Planned) float64 {
	if p.job.model != nil {
		return 0 // its seconds are not ours
	}
	return driven(p.job.plan.Cells[t.Cell-1].Config)
}

// fetching tells that a server program is being fetched.
func (p *progress) fetching(stage string) { p.line("%s", stage) }

// began tells that a trial begins.
func (p *progress) began(t record.Planned) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.number++
	p.planned, p.since, p.stage, p.rate, p.measured = t, p.env.clock.Now(), "", "", nil
	p.waiting -= p.driven(t)
}

// step shows a trial's progress.
func (p *progress) step(s trial.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.Short != "" && s.Stage != "drain" {
		p.rate, p.short = fmt.Sprintf("%s %s", grouped(s.Rate), s.Short), s.Short
	}
	if s.Stage == "measure" {
		p.measured = append(p.measured, s.Rate)
	}
	if s.Stage == "restore" {
		p.loading = 0 // the golden state is there
	}
	if !p.live {
		if s.Stage != p.stage && strings.HasPrefix(s.Stage, "load: ") {
			p.write("%s", p.head()+s.Stage)
		}
		p.stage = s.Stage
		return
	}
	p.stage = s.Stage
	text := p.head() + s.Stage
	if s.Part >= 0 {
		text += fmt.Sprintf(" %.0f %%", 100*s.Part)
	}
	if p.rate != "" {
		text += " · " + p.rate
	}
	p.overwrite(text + " · " + short(p.timeLeft()) + " left")
}

// timeLeft is a guess: what the trials still drive, and what they took beside
// driving so far.
func (p *progress) timeLeft() float64 {
	now := p.env.clock.Now().Sub(p.since).Seconds()
	return max(0, p.driven(p.planned)+p.overhead-now) + p.waiting + p.overhead*float64(p.trials-p.number) + p.loading
}

// done tells how a trial ended. What an aborted trial's wreckage says is only
// in its log.
func (p *progress) done(t record.Planned, status record.Status, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	took := p.env.clock.Now().Sub(p.since).Seconds()
	if status == record.Finished && p.loading == 0 {
		// Half of what was believed, half of what this one took.
		p.overhead = (p.overhead + max(0, took-p.driven(t))) / 2
	}
	text := p.head() + string(status)
	if n := len(p.measured); n > 0 {
		sum := 0.0
		for _, r := range p.measured {
			sum += r
		}
		text += fmt.Sprintf(", about %s %s", grouped(sum/float64(n)), p.short)
	}
	text += " in " + short(took)
	if status == record.Failed || status == record.Disturbed {
		text += ": " + err.Error()
	}
	if status == record.Disturbed { // it comes again
		p.number--
		p.waiting += p.driven(t)
		text += "; it runs again"
	}
	p.write("%s", text)
}

// end leaves the terminal's line clean.
func (p *progress) end() {
	if p.live {
		p.overwrite("")
	}
}

// line writes a line that stays.
func (p *progress) line(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.write(format, args...)
}

func (p *progress) head() string {
	return fmt.Sprintf("[%*d/%d] %s: ", len(fmt.Sprint(p.trials)), p.number, p.trials, label(p.planned.Factors))
}

func (p *progress) write(format string, args ...any) {
	if p.live {
		p.overwrite("")
	}
	_, _ = fmt.Fprintf(p.env.stderr, format+"\n", args...)
}

// overwrite replaces the terminal's current line.
func (p *progress) overwrite(text string) {
	if r := []rune(text); len(r) >= p.width {
		text = string(r[:p.width-1])
	}
	_, _ = fmt.Fprintf(p.env.stderr, "\r\x1b[K%s", text)
}

// short prints seconds as people say them: 45s, 3m20s, 2h05m.
func short(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second)).Round(time.Second)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	default:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
}

// grouped prints a whole number with thousands separators.
func grouped(f float64) string {
	s := fmt.Sprintf("%.0f", f)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
