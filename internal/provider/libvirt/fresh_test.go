//go:build linux

package libvirt

import (
	"testing"

	"github.com/loadstone-perf/loadstone/internal/provider"
)

// TestAGuestIsFreshUntilSomethingRuns holds when a guest that booted from a golden
// state need not boot again.
func TestAGuestIsFreshUntilSomethingRuns(t *testing.T) {
	for _, c := range []struct {
		name  string
		after func(f *fresh)
		key   string
		fresh bool
	}{
		{"nothing", func(*fresh) {}, "a", true},
		{"another state", func(*fresh) {}, "b", false},
		{"a command", func(f *fresh) { f.used() }, "a", false},
		{"restored before", func(f *fresh) { f.begunWith("a") }, "a", false},
		{"another restored before", func(f *fresh) { f.begunWith("b") }, "a", false},
		{"no state to begin with", func(f *fresh) { f.done = nil }, "a", false},
	} {
		f := fresh{wanted: "a", done: &provider.Restored{Way: "booted from it"}}
		f.used() // the first command of provisioning itself
		f.proven()
		c.after(&f)
		done, ok := f.begunWith(c.key)
		if ok != c.fresh || ok && done.Way != "booted from it" {
			t.Errorf("after %s: %v, %+v", c.name, ok, done)
		}
	}
}
