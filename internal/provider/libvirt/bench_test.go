//go:build linux

package libvirt

import (
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/provider/golden"
	"github.com/loadstone-perf/loadstone/internal/provider/home"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

// BenchmarkRestore restores a guest's golden disk with 1 GiB of data as far as
// that is the host's work: the disk is verified and a new overlay made over it.
// The guest's boot comes on top, which is what its processor makes of it.
func BenchmarkRestore(b *testing.B) {
	if _, err := exec.LookPath("qemu-img"); err != nil {
		b.Skip(err)
	}
	cache := b.TempDir()
	stage := filepath.Join(cache, "stage")
	if err := os.Mkdir(stage, 0o755); err != nil {
		b.Fatal(err)
	}
	raw := filepath.Join(cache, "raw")
	f, err := os.Create(raw)
	if err != nil {
		b.Fatal(err)
	}
	block := make([]byte, unit.MiB)
	for range int(unit.GiB / unit.MiB) {
		_, _ = rand.Read(block) // never fails
		if _, err := f.Write(block); err != nil {
			b.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	if err := qemuImg(b.Context(), "convert", "-q", "-f", "raw", "-O", "qcow2", raw, filepath.Join(stage, goldenDisk)); err != nil {
		b.Fatal(err)
	}
	s := golden.Store{Clock: clock.Real{}, Cache: cache, User: home.Account{UID: os.Geteuid(), GID: os.Getegid(), Name: "me"}}
	if err := s.Save(b.Context(), "state", nil, stage); err != nil {
		b.Fatal(err)
	}
	var verify float64
	b.SetBytes(int64(unit.GiB))
	for b.Loop() {
		done, err := s.Lend(b.Context(), "state", func(dir string) error {
			return overlay(b.Context(), filepath.Join(dir, goldenDisk), "qcow2", filepath.Join(cache, "data.qcow2"))
		})
		if err != nil {
			b.Fatal(err)
		}
		verify += done.Verify.Seconds()
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)-verify/float64(b.N), "s/overlay")
	b.ReportMetric(verify/float64(b.N), "s/verify")
}
