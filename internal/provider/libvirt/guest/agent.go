//go:build linux

package guest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/loadstone-perf/loadstone/internal/observe"
	"github.com/loadstone-perf/loadstone/internal/provider/libvirt/mux"
)

// root is where the programs' root is mounted, as the agent sees it. It is
// short because the paths of sockets below it may have 107 bytes only.
const root = "/r"

// agent does what the host asks for.
type agent struct {
	root    string
	session *mux.Session
	inputs  inputs

	mu     sync.Mutex
	config Config        // set by settle
	host   *observe.Host // the counters, set by settle
}

// Serve is the agent's process. It returns when the host is gone.
func Serve() error {
	port, err := openPort()
	if err != nil {
		return err
	}
	a := &agent{root: root, session: mux.New(port)}
	for {
		st, err := a.session.Accept()
		if err != nil {
			return err
		}
		go a.serve(st)
	}
}

// openPort opens the virtio-serial port by its name; without udev there are no
// links to it.
func openPort() (io.ReadWriteCloser, error) {
	names, _ := filepath.Glob("/sys/class/virtio-ports/*/name")
	for _, path := range names {
		text, err := os.ReadFile(path)
		if err != nil || strings.TrimSpace(string(text)) != Port {
			continue
		}
		f, err := os.OpenFile("/dev/"+filepath.Base(filepath.Dir(path)), os.O_RDWR, 0)
		if err != nil {
			return nil, fmt.Errorf("the port to the host: %w", err)
		}
		return &patient{File: f}, nil
	}
	return nil, fmt.Errorf("the port to the host: there is no virtio-serial port named %s", Port)
}

// patient is a port whose other end may not be connected yet: until the first
// byte arrives the end of the file means that.
type patient struct {
	*os.File
	begun bool
}

// Read implements io.Reader.
func (p *patient) Read(b []byte) (int, error) {
	for tries := 0; ; tries++ {
		n, err := p.File.Read(b)
		if n > 0 {
			p.begun = true
			return n, nil
		}
		if p.begun || tries == 3000 || err != nil && !errors.Is(err, io.EOF) {
			return n, err
		}
		nap()
	}
}

// nap waits for 10 ms.
func nap() { _, _ = unix.Poll(nil, 10) }

// serve handles one stream.
func (a *agent) serve(st *mux.Stream) {
	var r Request
	rest, err := receive(st, &r)
	if err != nil {
		_ = st.Close()
		return
	}
	both := &buffered{Stream: st, in: rest}
	switch r.Kind {
	case kindExec:
		a.run(both, r)
	case kindInput:
		a.inputs.of(r.ID) <- both
	case kindDial:
		a.dial(both, r.Path)
	case kindWatch:
		a.watch(both)
	case kindSample:
		a.sample(both)
	default:
		a.reply(st, r)
	}
}

// buffered is a stream of which some bytes were read already.
type buffered struct {
	*mux.Stream
	in io.Reader
}

// Read implements io.Reader.
func (b *buffered) Read(p []byte) (int, error) { return b.in.Read(p) }

// reply answers the requests that have one answer.
func (a *agent) reply(st *mux.Stream, r Request) {
	var out answer
	var err error
	switch {
	case r.Kind == kindSettle && r.Config != nil:
		var facts Facts
		if facts, err = a.settle(*r.Config); err == nil {
			out.Facts = &facts
		}
	case r.Kind == kindBusy:
		out.Count = busy()
	case r.Kind == kindHalt:
		err = a.halt()
	default:
		err = fmt.Errorf("request of kind %q", r.Kind)
	}
	if err != nil {
		out.Error = err.Error()
	}
	_ = send(st, out)
	_ = st.CloseWrite()
	if r.Kind == kindHalt && err == nil {
		// The host closes the stream when it has the answer.
		_, _ = io.Copy(io.Discard, st)
		_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	}
}

// halt ends every command and unmounts the data disk.
func (a *agent) halt() error {
	killAll()
	for tries := 0; busy() > 0 && tries < 500; tries++ {
		nap()
	}
	unix.Sync()
	at := a.root + a.settled().Dir
	for tries := 0; ; tries++ {
		err := unix.Unmount(at, 0)
		if err == nil || errors.Is(err, unix.EINVAL) { // EINVAL: not mounted
			return nil
		}
		// A process that was killed may hold its directory a little longer.
		if tries == 500 {
			return fmt.Errorf("unmount the data disk: %w", err)
		}
		nap()
	}
}

func (a *agent) settled() Config {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.config
}

// dial connects a stream with a socket in the guest.
func (a *agent) dial(st duplex, path string) {
	defer func() { _ = st.Close() }()
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: a.root + path, Net: "unix"})
	if err != nil {
		return
	}
	Join(st, conn)
}

// duplex is a connection each of whose directions can be ended by itself.
type duplex interface {
	io.ReadWriteCloser
	CloseWrite() error
}

// Join moves bytes both ways between a and b until both directions have ended,
// and closes both. Between a TCP and a Unix socket the kernel moves them.
func Join(a, b duplex) {
	done := make(chan struct{})
	move := func(to, from duplex) {
		if _, err := io.Copy(to, from); err != nil {
			// One end broke: so does the other.
			_ = to.Close()
			_ = from.Close()
			return
		}
		_ = to.CloseWrite()
	}
	go func() {
		move(a, b)
		close(done)
	}()
	move(b, a)
	<-done
	_ = a.Close()
	_ = b.Close()
}
