package socket

import (
	"io"
	"net"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/clock"
)

// TestWriteMissesNoRoom has readers that empty small sockets as fast as their
// writers fill them, so that room often appears just when a writer begins to
// watch for it. A wake-up that is lost lasts for ever: the deadline only ends
// the test.
func TestWriteMissesNoRoom(t *testing.T) {
	const sockets = 16
	var wg sync.WaitGroup
	for range sockets {
		s, server := smallSocket(t)
		wg.Go(func() { streams(t, s, server) })
	}
	wg.Wait()
}

// smallSocket is one end of a connection, with as small a buffer as the kernel
// gives, and the other end.
func smallSocket(t *testing.T) (*socket, net.Conn) {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	client, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	s, err := takeSocket(client.(*net.UnixConn))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.SetsockoptInt(int(s.fd), syscall.SOL_SOCKET, syscall.SO_SNDBUF, 1); err != nil {
		t.Fatal(err)
	}
	if err := s.SetDeadline(clock.Real{}.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return s, server
}

// streams writes to s what the other end reads.
func streams(t *testing.T, s *socket, server net.Conn) {
	taken := make(chan int64, 1)
	go func() {
		n, _ := io.Copy(io.Discard, server)
		taken <- n
	}()
	const writes = 3_000
	chunk := make([]byte, 8<<10)
	for i := range writes {
		if n, err := s.Write(chunk); err != nil || n != len(chunk) {
			t.Errorf("write %d: %d bytes, %v", i, n, err)
			break
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if n := <-taken; n != writes*int64(len(chunk)) {
		t.Errorf("%d bytes came through, want %d", n, writes*len(chunk))
	}
}
