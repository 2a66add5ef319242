//go:build linux

// Package guest is what runs inside a virtual machine of provider libvirt: the
// first process (Init), which mounts what there is and starts the agent, the
// agent itself (Serve), which does what the host asks for, and the small
// program that stands on the host for a command in the guest (Exec).
//
// Host and agent speak over one virtio-serial port, which package mux divides
// into streams. Each stream begins with one line of JSON, a Request; what
// follows depends on its kind.
//
// Programs run in a root of their own: the image of the host's packages,
// read-only, under a file system in memory, with the data disk mounted at
// the path that the instance's directory has on the host. The agent stays
// outside of it, on the initial file system in memory.
package guest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/loadstone-perf/loadstone/internal/observe"
)

// Port is the name of the virtio-serial port between agent and host.
const Port = "io.loadstone.agent"

// Labels of the file systems that the agent looks for, whatever the disks are
// attached to.
const (
	RootLabel = "loadstone-root"
	DataLabel = "loadstone-data"
)

// RelayPort is the TCP port on which the agent takes connections to sockets
// in the guest, where it has a network.
const RelayPort = 7117

// The kinds of requests.
const (
	kindSettle = "settle" // prepare for commands; answers with Facts
	kindExec   = "exec"   // run a command; frames both ways, see exec.go
	kindInput  = "input"  // the standard input of the command with the same ID
	kindDial   = "dial"   // from here on, the bytes of the socket at Path
	kindWatch  = "watch"  // answers with a line for each socket that comes or goes
	kindSample = "sample" // for each byte, the time and the counters: see sample.go
	kindBusy   = "busy"   // answers with the number of processes of commands
	kindHalt   = "halt"   // unmount and power off
)

// Request begins a stream.
type Request struct {
	Kind   string   `json:"kind"`
	ID     string   `json:"id,omitempty"`
	Name   string   `json:"name,omitempty"`
	Args   []string `json:"args,omitempty"`
	Path   string   `json:"path,omitempty"`
	Token  string   `json:"token,omitempty"` // over the network only
	Config *Config  `json:"config,omitempty"`
}

// Config is what the guest must know.
type Config struct {
	Dir      string `json:"dir"` // where the data disk is mounted, for commands
	User     string `json:"user"`
	UID      int    `json:"uid"`
	GID      int    `json:"gid"`
	Hostname string `json:"hostname"`
	// Address is the guest's own on the network with the host, as "a.b.c.d/n";
	// "" leaves the network alone. Token is what who connects there must know.
	Address string `json:"address,omitempty"`
	Token   string `json:"token,omitempty"`
	// LargePages lets programs take up to this many bytes of memory in large
	// pages.
	LargePages int64 `json:"large_pages,omitempty"`
}

// Facts are what the guest sees of itself.
type Facts struct {
	Kernel      string           `json:"kernel"`
	CPUs        int              `json:"cpus"`
	MemoryBytes int64            `json:"memory_bytes"`
	NUMANodes   int              `json:"numa_nodes"`
	Sockets     int              `json:"sockets"`
	Cores       int              `json:"cores"`   // of one socket
	Threads     int              `json:"threads"` // of one core
	DiskDriver  string           `json:"disk_driver"`
	NetDriver   string           `json:"net_driver"`
	LargePages  int64            `json:"large_pages"` // bytes that programs may take so
	Columns     []observe.Column `json:"columns"`     // of kindSample
}

// answer is the one line that answers settle, busy and halt.
type answer struct {
	Error string `json:"error,omitempty"`
	Facts *Facts `json:"facts,omitempty"`
	Count int    `json:"count,omitempty"`
}

// lineBound is the longest line of JSON on a stream.
const lineBound = 4 << 20

// send writes v as one line.
func send(w io.Writer, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// receive reads one line into v and returns what is to be read from then on.
func receive(r io.Reader, v any) (*bufio.Reader, error) {
	in := bufio.NewReader(r)
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
		if len(line) > lineBound {
			return nil, fmt.Errorf("a line of more than %d bytes", lineBound)
		}
	}
	if err := json.Unmarshal(line, v); err != nil {
		return nil, fmt.Errorf("read %.80q: %w", line, err)
	}
	return in, nil
}
