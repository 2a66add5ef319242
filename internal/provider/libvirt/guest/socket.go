//go:build linux

package guest

import (
	"bufio"
	"bytes"
	"crypto/subtle"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// relay takes connections over the network: each begins with a Request of
// kindDial that knows the token, and is then joined to the socket.
func (a *agent) relay(c Config) error {
	ip, _, err := net.ParseCIDR(c.Address)
	if err != nil {
		return err
	}
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: ip, Port: RelayPort})
	if err != nil {
		return fmt.Errorf("take connections over the network: %w", err)
	}
	go func() {
		for {
			conn, err := l.AcceptTCP()
			if err != nil {
				return
			}
			go a.relayed(conn, c.Token)
		}
	}()
	return nil
}

func (a *agent) relayed(conn *net.TCPConn, token string) {
	var r Request
	// One byte at a time: what follows the line belongs to the socket, and is
	// moved by the kernel.
	err := receiveExactly(conn, &r)
	if err != nil || r.Kind != kindDial || subtle.ConstantTimeCompare([]byte(r.Token), []byte(token)) != 1 {
		_ = conn.Close()
		return
	}
	to, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: a.root + r.Path, Net: "unix"})
	if err != nil {
		_ = conn.Close()
		return
	}
	Join(conn, to)
}

// preambleBound is the longest first line of a connection over the network.
const preambleBound = 4096

func receiveExactly(conn io.Reader, v any) error {
	var line []byte
	for len(line) < preambleBound {
		var b [1]byte
		if _, err := io.ReadFull(conn, b[:]); err != nil {
			return err
		}
		if line = append(line, b[0]); b[0] == '\n' {
			_, err := receive(bytes.NewReader(line), v)
			return err
		}
	}
	return fmt.Errorf("a first line of more than %d bytes", preambleBound)
}

// Preamble begins a connection over the network to the socket at path.
func Preamble(w io.Writer, token, path string) error {
	return send(w, Request{Kind: kindDial, Token: token, Path: path})
}

// watcher tells of sockets that come and go in directories. Only directories
// near the top are watched: deeper ones hold a database's files, whose coming
// and going should cost nothing.
type watcher struct {
	root string
	fd   int
	dirs map[int32]watched
	tell func(line string) error
}

type watched struct {
	path  string // for commands
	depth int    // how many levels below it are watched as well
}

// watch tells the host of sockets in the instance's directory and in /tmp,
// there and one level below.
func (a *agent) watch(st duplex) {
	defer func() { _ = st.Close() }()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return
	}
	f := os.NewFile(uintptr(fd), "inotify")
	defer f.Close()
	w := &watcher{root: a.root, fd: fd, dirs: map[int32]watched{}, tell: func(line string) error {
		_, err := io.WriteString(st, line+"\n")
		return err
	}}
	go func() {
		_, _ = io.Copy(io.Discard, st)
		f.Close()
	}()
	for _, dir := range []string{a.settled().Dir, "/tmp"} {
		if w.add(dir, 1) != nil {
			return
		}
	}
	in := bufio.NewReaderSize(f, 64<<10)
	for w.one(in) == nil {
	}
}

// add watches a directory and tells of the sockets that are there.
func (w *watcher) add(dir string, depth int) error {
	wd, err := unix.InotifyAddWatch(w.fd, w.root+dir, unix.IN_CREATE|unix.IN_DELETE|unix.IN_MOVED_TO|unix.IN_MOVED_FROM|unix.IN_ONLYDIR)
	if err != nil {
		return nil //nolint:nilerr // the directory has gone already
	}
	w.dirs[int32(wd)] = watched{dir, depth}
	entries, _ := os.ReadDir(w.root + dir)
	for _, e := range entries {
		if err := w.came(filepath.Join(dir, e.Name()), depth, e.Type()); err != nil {
			return err
		}
	}
	return nil
}

func (w *watcher) came(path string, depth int, kind os.FileMode) error {
	switch {
	case kind&os.ModeSocket != 0:
		return w.tell("+" + path)
	case kind.IsDir() && depth > 0:
		return w.add(path, depth-1)
	}
	return nil
}

// one handles one event (inotify(7)).
func (w *watcher) one(in io.Reader) error {
	var head [unix.SizeofInotifyEvent]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return err
	}
	event := (*unix.InotifyEvent)(unsafe.Pointer(&head[0]))
	name := make([]byte, event.Len)
	if _, err := io.ReadFull(in, name); err != nil {
		return err
	}
	dir, ok := w.dirs[event.Wd]
	if event.Mask&unix.IN_IGNORED != 0 {
		delete(w.dirs, event.Wd)
		return nil
	}
	if !ok || event.Mask&unix.IN_Q_OVERFLOW != 0 {
		return nil
	}
	path := filepath.Join(dir.path, strings.TrimRight(string(name), "\x00"))
	if event.Mask&(unix.IN_DELETE|unix.IN_MOVED_FROM) != 0 {
		return w.tell("-" + path)
	}
	st, err := os.Lstat(w.root + path)
	if err != nil {
		return nil //nolint:nilerr // it has gone already
	}
	return w.came(path, dir.depth, st.Mode())
}
