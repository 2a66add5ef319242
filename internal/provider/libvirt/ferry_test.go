//go:build linux

package libvirt

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"net"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/clock"
)

// pair is both ends of a Unix socket.
func pair(t *testing.T) (ours, theirs net.Conn) {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if ours, err = net.Dial("unix", l.Addr().String()); err == nil {
		theirs, err = l.Accept()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ours.Close(); _ = theirs.Close() })
	return ours, theirs
}

// TestAFerryLosesNothing writes all the time, in both directions, while the
// emulator at the other end is replaced twice. The one that is left reads what was
// sent to it and no more.
func TestAFerryLosesNothing(t *testing.T) {
	var data []byte
	for sum := sha256.Sum256(nil); len(data) < 1<<20; sum = sha256.Sum256(sum[:]) {
		data = append(data, sum[:]...)
	}
	ours, theirs := pair(t)
	f := newFerry(ours)
	// Each sixth is written when it is granted, so that something is left for
	// each emulator.
	const parts = 6
	written, grants := make(chan error, 1), make(chan struct{}, parts)
	go func() {
		for part := range slices.Chunk(data, len(data)/parts+1) {
			<-grants
			for chunk := range slices.Chunk(part, 1000) {
				if _, err := f.Write(chunk); err != nil {
					written <- err
					return
				}
			}
		}
		written <- f.Close()
	}()
	grants <- struct{}{}
	arrived := make(chan []byte, 1)
	go func() {
		all, _ := io.ReadAll(f)
		arrived <- all
	}()
	var got []byte
	var sent []byte
	buf := make([]byte, 100_000)
	for move := range 3 {
		said := bytes.Repeat([]byte{byte('a' + move)}, 50_000)
		sent = append(sent, said...)
		go func() { _, _ = theirs.Write(said) }()
		n, err := io.ReadFull(theirs, buf)
		got = append(got, buf[:n]...)
		if err != nil {
			t.Fatal(err)
		}
		grants <- struct{}{} // written while the port comes to rest
		if move == 2 {
			break
		}
		// The emulator reads on while the port comes to rest, as it does in a
		// guest that runs.
		rest := make(chan []byte, 1)
		from := theirs
		go func() {
			all, _ := io.ReadAll(from)
			rest <- all
		}()
		if err := f.hold(t.Context(), clock.Real{}); err != nil {
			t.Fatal(err)
		}
		next, there := pair(t)
		f.board(next)
		grants <- struct{}{}
		_ = from.(*net.UnixConn).CloseWrite()
		// What was held back goes to the new one: the old one gets nothing more.
		eventually(t, "the ferry leaves the old emulator", func() bool { f.mu.Lock(); defer f.mu.Unlock(); return f.at == next })
		got = append(got, <-rest...)
		theirs = there
	}
	rest, _ := io.ReadAll(theirs)
	got = append(got, rest...)
	if err := <-written; err != nil {
		t.Error(err)
	}
	if sha256.Sum256(got) != sha256.Sum256(data) {
		t.Errorf("%d bytes of %d arrived, or others", len(got), len(data))
	}
	if all := <-arrived; !bytes.HasPrefix(all, sent[:100_000]) {
		t.Errorf("%d bytes came back of %d", len(all), len(sent))
	}
}

// TestAFerryThatDoesNotComeToRest has an emulator that reads nothing: writing goes
// on as before.
func TestAFerryThatDoesNotComeToRest(t *testing.T) {
	ours, theirs := pair(t)
	f := newFerry(ours)
	if _, err := f.Write([]byte("one ")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := f.hold(ctx, clock.Real{}); err == nil {
		t.Fatal("it came to rest with bytes that nobody had read")
	}
	if _, err := f.Write([]byte("two")); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got, _ := io.ReadAll(theirs); string(got) != "one two" {
		t.Errorf("arrived: %q", got)
	}
	if _, err := f.Write([]byte("three")); err == nil {
		t.Error("a closed ferry takes more")
	}
	if _, err := f.Read(make([]byte, 1)); err == nil {
		t.Error("a closed ferry gives something")
	}
}
