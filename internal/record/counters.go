package record

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Column is one counter of a CounterLog.
type Column struct {
	Name  string // in snake case, with the unit last
	Total bool   // it only grows; else it is a state at the time of reading
	About string
}

const (
	countersComment = "# Loadstone counters, format 1. Totals are recorded as read; an empty field is a reading that failed.\n"
	statesComment   = "# Loadstone states, format 1. For each second a line without a state, with the sum, and one for each state seen.\n"
	statesHeader    = "at_s,state,sessions,polls"
)

// CounterLog records the readings of one source of counters.
type CounterLog struct {
	log     *lines
	columns int
	buf     []byte
}

// Counters begins the log of one source. name is its scope, which is also its
// file: "host", "driver", "instance-1/cgroup".
func (w *Writer) Counters(name string, columns []Column) (*CounterLog, error) {
	b := []byte(countersComment)
	header := "at_s"
	for i, c := range columns {
		same := func(o Column) bool { return o.Name == c.Name }
		if c.Name == "" || c.Name == "at_s" || strings.ContainsFunc(c.Name, notInHeader) || slices.ContainsFunc(columns[:i], same) {
			return nil, fmt.Errorf("recording counters of %s: column %d is named %q: names are plain words, each once", name, i+1, c.Name)
		}
		kind := "state"
		if c.Total {
			kind = "total"
		}
		about := strings.Join(strings.Fields(c.About), " ")
		b = fmt.Appendf(b, "# %s %s: %s\n", kind, c.Name, about)
		header += "," + c.Name
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	log, err := w.open(name+".csv", string(b)+header+"\n")
	if err != nil {
		return nil, fmt.Errorf("recording counters of %s: %w", name, err)
	}
	return &CounterLog{log: log, columns: len(columns)}, nil
}

func notInHeader(r rune) bool { return r <= ' ' || r == ',' || r == '"' || r == ':' || r == 0x7f }

// Row records one reading, at is since the epoch and kept to the millisecond;
// values are as many as the columns, NaN where a reading failed.
func (c *CounterLog) Row(at time.Duration, values []float64) error {
	if len(values) != c.columns {
		return fmt.Errorf("recording %s: %d values for %d columns", c.log.name, len(values), c.columns)
	}
	b := appendSeconds(c.buf[:0], at.Round(time.Millisecond))
	for _, v := range values {
		b = appendFloat(append(b, ','), v)
	}
	c.buf = append(b, '\n')
	return c.log.write(c.buf)
}

// StateLog records how many sessions were in each state.
type StateLog struct {
	log    *lines
	states []string
	buf    []byte
}

// States begins a log of states; name is as for Counters: "instance-1/waits".
func (w *Writer) States(name string) (*StateLog, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	log, err := w.open(name+".csv", statesComment+statesHeader+"\n")
	if err != nil {
		return nil, fmt.Errorf("recording states of %s: %w", name, err)
	}
	return &StateLog{log: log}, nil
}

// Row records the second that ended at `at` since the epoch: for each state
// the sessions seen in it, summed over the polls of that second. A state
// cannot be named "".
func (s *StateLog) Row(at time.Duration, polls int64, sessions map[string]int64) error {
	s.states = s.states[:0]
	sum := int64(0)
	for name, n := range sessions {
		if name == "" {
			return fmt.Errorf("recording %s: a state has no name", s.log.name)
		}
		s.states = append(s.states, name)
		sum += n
	}
	slices.Sort(s.states)
	// The sum comes first, so that a reader sees whether all states of the
	// second are there.
	at = at.Round(time.Millisecond)
	b := appendInts(append(appendSeconds(s.buf[:0], at), ','), sum, polls)
	b = append(b, '\n')
	for _, name := range s.states {
		b = appendQuoted(append(appendSeconds(b, at), ','), name)
		b = append(appendInts(b, sessions[name], polls), '\n')
	}
	s.buf = b
	return s.log.write(b)
}

// Counters are the readings of one source.
type Counters struct {
	Names  []string
	Totals []bool      // by column: it only grows
	About  []string    // by column
	At     []float64   // by row, seconds since the epoch
	Values [][]float64 // by column and row; NaN where a reading failed
}

// Column returns the values of the column `name`, nil where there is none.
func (c Counters) Column(name string) []float64 {
	if i := slices.Index(c.Names, name); i >= 0 {
		return c.Values[i]
	}
	return nil
}

// States are how many sessions were in which state.
type States struct {
	At       []float64   // by row, the end of each second since the epoch
	Polls    []float64   // by row
	Names    []string    // sorted
	Sessions [][]float64 // by state and row, summed over the row's polls
}

// parseCounters reads a counter log; the header may not be there yet.
func parseCounters(name string, data []byte) (Counters, error) {
	var c Counters
	t, ok := newTable(name, data)
	if !ok {
		return c, nil
	}
	if !bytes.Equal(t.field(), []byte("at_s")) {
		return c, t.errorf("the first column is not at_s: not a counter log")
	}
	for t.row != nil {
		c.Names = append(c.Names, string(t.field()))
	}
	c.Totals, c.About = make([]bool, len(c.Names)), make([]string, len(c.Names))
	describe(&c, t.comments)
	rows := bytes.Count(t.rest, []byte("\n"))
	c.At = make([]float64, 0, rows)
	c.Values = make([][]float64, len(c.Names))
	backing := make([]float64, rows*len(c.Names))
	for i := range c.Values {
		c.Values[i] = backing[i*rows : i*rows : (i+1)*rows]
	}
	for t.next() {
		if n := bytes.Count(t.row, []byte(",")); n != len(c.Names) {
			return c, t.errorf("%d values for %d columns", n, len(c.Names))
		}
		at, ok := parseSeconds(t.field())
		if !ok {
			return c, t.errorf("the time is not a number of seconds")
		}
		c.At = append(c.At, seconds(at))
		for i := range c.Values {
			v, ok := parseFloat(t.field())
			if !ok {
				return c, t.errorf("column %s is not a number", c.Names[i])
			}
			c.Values[i] = append(c.Values[i], v)
		}
	}
	return c, nil
}

// describe takes kind and description of each column from the comments.
func describe(c *Counters, comments []byte) {
	index := make(map[string]int, len(c.Names))
	for i, n := range c.Names {
		index[n] = i
	}
	for line := range bytes.Lines(comments) {
		kind, rest, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(string(line)), "# "), " ")
		name, about, ok := strings.Cut(rest, ":")
		i, known := index[name]
		if ok && known && (kind == "total" || kind == "state") {
			c.Totals[i], c.About[i] = kind == "total", strings.TrimSpace(about)
		}
	}
}

// second is a second of a state log while it is read.
type second struct {
	at    time.Duration
	polls int64
	left  int64 // of the sum, not yet seen in states
}

// parseStates reads a state log. The last second counts only where all its
// states are there.
func parseStates(name string, data []byte) (States, error) {
	var s States
	t, ok := newTable(name, data)
	if !ok {
		return s, nil
	}
	if err := t.expect(statesHeader); err != nil {
		return s, err
	}
	counts := map[string][]float64{}
	var now second
	for t.next() {
		at, ok1 := parseSeconds(t.field())
		state, ok2 := t.quoted()
		n, ok3 := t.count(false)
		polls, ok4 := t.count(false)
		if !ok1 || !ok2 || !ok3 || !ok4 || n < 0 || polls < 0 {
			return s, t.errorf("not a line of a state log")
		}
		if state == "" {
			if now.left != 0 {
				return s, t.errorf("the states before do not make up their sum")
			}
			now = second{at, polls, n}
			s.At, s.Polls = append(s.At, seconds(at)), append(s.Polls, float64(polls))
			continue
		}
		if len(s.At) == 0 || at != now.at || n > now.left {
			return s, t.errorf("state %q does not belong to the second before it", state)
		}
		now.left -= n
		c := counts[state]
		c = append(c, make([]float64, len(s.At)-len(c))...)
		c[len(s.At)-1] = float64(n)
		counts[state] = c
	}
	if now.left != 0 {
		s.At, s.Polls = s.At[:len(s.At)-1], s.Polls[:len(s.Polls)-1]
	}
	for state, c := range counts {
		if len(c) <= len(s.At) || slices.ContainsFunc(c[:len(s.At)], func(v float64) bool { return v != 0 && !math.IsNaN(v) }) {
			s.Names = append(s.Names, state)
		}
	}
	slices.Sort(s.Names)
	for _, state := range s.Names {
		c := counts[state]
		c = append(c, make([]float64, max(0, len(s.At)-len(c)))...)
		s.Sessions = append(s.Sessions, c[:len(s.At)])
	}
	return s, nil
}
