//go:build linux

package home

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/clock"
)

// me is the account of the test itself.
func me() Account { return Account{UID: os.Geteuid(), GID: os.Getegid(), Name: "me"} }

func TestADirectoryHasLockAndMarkFromTheFirst(t *testing.T) {
	all := filepath.Join(t.TempDir(), "all")
	h, err := New(t.Context(), clock.Real{}, all, "subject", me())
	if err != nil {
		t.Fatal(err)
	}
	m, ok := ReadMark(h.Dir)
	if !ok || m.Name != "subject" || m.PID != os.Getpid() || m.ID != filepath.Base(h.Dir) {
		t.Errorf("the mark is %+v, %v", m, ok)
	}
	if err := h.Announce(func(m *Mark) { m.Container = "x" }); err != nil {
		t.Fatal(err)
	}
	if m, _ := ReadMark(h.Dir); m.Container != "x" {
		t.Errorf("announced, the mark is %+v", m)
	}
	if err := h.Remove(); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(all); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestSweepCleansTheDeadOnlyAndTellsOfReboots(t *testing.T) {
	all := filepath.Join(t.TempDir(), "all")
	var made []*Home
	for _, name := range []string{"lives", "dead", "rebooted", "stuck"} {
		h, err := New(t.Context(), clock.Real{}, all, name, me())
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, h)
	}
	if err := made[2].Announce(func(m *Mark) { m.Boot = "another" }); err != nil {
		t.Fatal(err)
	}
	for _, h := range made[1:] {
		if err := h.Abandon(); err != nil {
			t.Fatal(err)
		}
	}
	boots := map[string]bool{}
	removed, err := Sweep(t.Context(), clock.Real{}, all, func(_ context.Context, _ string, m Mark, sameBoot bool) ([]string, error) {
		boots[m.Name] = sameBoot
		if m.Name == "stuck" {
			return nil, os.ErrPermission
		}
		return []string{"of " + m.Name}, nil
	})
	if err == nil {
		t.Error("what could not be cleaned is no error")
	}
	if len(boots) != 3 || !boots["dead"] || boots["rebooted"] {
		t.Errorf("cleaned %v", boots)
	}
	for _, want := range []string{made[1].Dir, made[2].Dir, "of dead", "of rebooted"} {
		if !slices.Contains(removed, want) {
			t.Errorf("%s is not among %v", want, removed)
		}
	}
	for _, h := range []*Home{made[0], made[3]} {
		if _, ok := ReadMark(h.Dir); !ok {
			t.Errorf("%s is gone", h.Dir)
		}
	}
}

func TestUnfinishedDirectoriesAreKnownByWhatTheyHold(t *testing.T) {
	all := filepath.Join(t.TempDir(), "all")
	for _, path := range []string{making + "ours-1/data", making + "theirs-1/data", making + "theirs-1/notes", making + "empty-1"} {
		if err := os.MkdirAll(filepath.Join(all, path), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{filepath.Join(all, making+"empty-1"), filepath.Join(all, making+"ours-1")}
	found, err := Find(t.Context(), clock.Real{}, all)
	var dirs []string
	for _, d := range found {
		if dirs = append(dirs, d.Dir); !d.Half {
			t.Errorf("%+v is not unfinished", d)
		}
	}
	if err != nil || !slices.Equal(dirs, want) {
		t.Errorf("found %v, %v, want %v", dirs, err, want)
	}
	removed, err := Sweep(t.Context(), clock.Real{}, all, nil)
	if err != nil || !slices.Equal(removed, want) {
		t.Errorf("swept %v, %v, want %v", removed, err, want)
	}
}

func TestSweepOfNothingIsNoError(t *testing.T) {
	if removed, err := Sweep(t.Context(), clock.Real{}, filepath.Join(t.TempDir(), "nowhere"), nil); err != nil || len(removed) > 0 {
		t.Errorf("%v, %v", removed, err)
	}
}
