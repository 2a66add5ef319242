//go:build linux

package guest

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/loadstone-perf/loadstone/internal/provider/libvirt/mux"
)

// Agent is the host's side of the connection.
type Agent struct{ session *mux.Session }

// NewAgent speaks with the agent at the other end of pipe.
func NewAgent(pipe io.ReadWriteCloser) *Agent { return &Agent{mux.New(pipe)} }

// Done is closed when the connection is over.
func (a *Agent) Done() <-chan struct{} { return a.session.Done() }

// Close ends the connection. The guest then powers off.
func (a *Agent) Close() error { return a.session.Close() }

// Stream begins a stream whose first line the caller writes.
func (a *Agent) Stream() (*mux.Stream, error) { return a.session.Open() }

func (a *Agent) begin(r Request) (*mux.Stream, error) {
	st, err := a.session.Open()
	if err != nil {
		return nil, err
	}
	if err := send(st, r); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return st, nil
}

// ask sends a request and reads its one answer.
func (a *Agent) ask(r Request) (answer, error) {
	var got answer
	st, err := a.begin(r)
	if err != nil {
		return got, err
	}
	defer func() { _ = st.Close() }()
	if _, err := receive(st, &got); err != nil {
		return got, err
	}
	if got.Error != "" {
		return got, fmt.Errorf("in the guest: %s", got.Error)
	}
	return got, nil
}

// Settle prepares the guest for commands and returns what it sees.
func (a *Agent) Settle(c Config) (Facts, error) {
	got, err := a.ask(Request{Kind: kindSettle, Config: &c})
	if err != nil {
		return Facts{}, err
	}
	if got.Facts == nil {
		return Facts{}, errors.New("the guest tells nothing of itself")
	}
	return *got.Facts, nil
}

// Busy returns how many processes of commands the guest has.
func (a *Agent) Busy() (int, error) {
	got, err := a.ask(Request{Kind: kindBusy})
	return got.Count, err
}

// Halt unmounts the data disk and powers the guest off. It returns when the
// disk is clean; the machine takes a little longer to go.
func (a *Agent) Halt() error {
	_, err := a.ask(Request{Kind: kindHalt})
	return err
}

// Dial connects to the socket at path in the guest.
func (a *Agent) Dial(path string) (*mux.Stream, error) {
	return a.begin(Request{Kind: kindDial, Path: path})
}

// Watch calls change for each socket that comes or goes in the guest, until
// the connection is over.
func (a *Agent) Watch(change func(path string, there bool)) error {
	st, err := a.begin(Request{Kind: kindWatch})
	if err != nil {
		return err
	}
	defer func() { _ = st.Close() }()
	lines := bufio.NewScanner(st)
	for lines.Scan() {
		if path, ok := strings.CutPrefix(lines.Text(), "+"); ok {
			change(path, true)
		} else if path, ok := strings.CutPrefix(lines.Text(), "-"); ok {
			change(path, false)
		}
	}
	return lines.Err()
}

// Sampling reads the guest's counters over one stream.
type Sampling struct {
	agent *Agent
	mu    sync.Mutex
	st    *mux.Stream
}

// Sampling returns what reads the guest's counters.
func (a *Agent) Sampling() *Sampling { return &Sampling{agent: a} }

// Read fills out, as long as Facts.Columns, and returns the guest's time of
// day when it had read them.
func (s *Sampling) Read(out []float64) (time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.st == nil {
		st, err := s.agent.begin(Request{Kind: kindSample})
		if err != nil {
			return time.Time{}, err
		}
		s.st = st
	}
	if _, err := s.st.Write([]byte{1}); err != nil {
		return time.Time{}, err
	}
	buf := make([]byte, 8+8*len(out))
	if _, err := io.ReadFull(s.st, buf); err != nil {
		return time.Time{}, err
	}
	for i := range out {
		out[i] = math.Float64frombits(binary.BigEndian.Uint64(buf[8+8*i:]))
	}
	return time.Unix(0, int64(binary.BigEndian.Uint64(buf))), nil
}
