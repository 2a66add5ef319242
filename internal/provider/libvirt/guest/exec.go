//go:build linux

package guest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
)

// On a stream of kindExec frames go both ways: a kind, a length of 4 bytes, big
// endian, and a payload.
const (
	frameOut    = 'o' // guest to host: standard output
	frameErr    = 'e' // guest to host: standard error
	frameExit   = 'x' // guest to host: the exit status, 1 byte; the last frame
	frameSignal = 's' // host to guest: a signal, 1 byte
)

// frameBound is the longest payload of a frame.
const frameBound = 64 << 10

// The exit statuses that say something of the way to the command, as shells
// have them.
const (
	exitLost     = 125 // the connection broke
	exitCantRun  = 126
	exitNotFound = 127
	exitSignal   = 128 // plus the signal
)

func writeFrame(w io.Writer, kind byte, payload []byte) error {
	frame := make([]byte, 5, 5+len(payload))
	frame[0] = kind
	binary.BigEndian.PutUint32(frame[1:], uint32(len(payload)))
	_, err := w.Write(append(frame, payload...))
	return err
}

func readFrame(r io.Reader) (kind byte, payload []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > frameBound {
		return 0, nil, fmt.Errorf("a frame of %d bytes, more than %d", n, frameBound)
	}
	payload = make([]byte, n)
	_, err = io.ReadFull(r, payload)
	return head[0], payload, err
}

// Exec stands on the host for a command in the guest: it runs name there, with
// its own standard input, output and error, passes signals on, and returns the
// exit status, 128 + n for a process that signal n ended. socket is where
// the provider that has the guest listens. When Exec is killed, so is the
// command with all its processes.
func Exec(socket, name string, args []string) int {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2)
	code, err := execute(socket, name, args, signals)
	if err != nil {
		fmt.Fprintf(os.Stderr, "the connection to the guest: %v\n", err)
		return exitLost
	}
	return code
}

func execute(socket, name string, args []string, signals <-chan os.Signal) (int, error) {
	// The path of a socket may have 107 bytes only.
	dir, err := os.Open(filepath.Dir(socket))
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	socket = fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(socket))
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }()
	id := strconv.Itoa(os.Getpid())
	if err := send(conn, Request{Kind: kindExec, ID: id, Name: name, Args: args}); err != nil {
		return 0, err
	}
	input, err := net.Dial("unix", socket)
	if err != nil {
		return 0, err
	}
	defer func() { _ = input.Close() }()
	if err := send(input, Request{Kind: kindInput, ID: id}); err != nil {
		return 0, err
	}
	go func() {
		// A command may end without reading its input.
		_, _ = io.Copy(input, os.Stdin)
		_ = input.(*net.UnixConn).CloseWrite()
	}()
	go func() {
		for s := range signals {
			_ = writeFrame(conn, frameSignal, []byte{byte(s.(syscall.Signal))})
		}
	}()
	return output(conn)
}

// output writes what the command says until it ends.
func output(conn io.Reader) (int, error) {
	for {
		kind, payload, err := readFrame(conn)
		if err != nil {
			return 0, err
		}
		switch {
		case kind == frameOut:
			// Nobody may read any more; the command goes on all the same.
			_, _ = os.Stdout.Write(payload)
		case kind == frameErr:
			_, _ = os.Stderr.Write(payload)
		case kind == frameExit && len(payload) == 1:
			return int(payload[0]), nil
		default:
			return 0, errors.New("it says what was not expected")
		}
	}
}

// inputs brings the input streams of commands to them; either may come first.
type inputs struct {
	mu      sync.Mutex
	waiting map[string]chan io.ReadCloser
}

func (i *inputs) of(id string) chan io.ReadCloser {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.waiting == nil {
		i.waiting = map[string]chan io.ReadCloser{}
	}
	c := i.waiting[id]
	if c == nil {
		c = make(chan io.ReadCloser, 1)
		i.waiting[id] = c
	}
	return c
}

func (i *inputs) forget(id string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.waiting, id)
}
