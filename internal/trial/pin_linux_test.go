package trial

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestPinKeepsEveryThreadAndGivesTheCPUsBack: threads that began before, while
// and after are all on the CPUs that were chosen, until they are given back.
func TestPinKeepsEveryThreadAndGivesTheCPUsBack(t *testing.T) {
	found, err := FindCPUs()
	if err != nil {
		t.Fatal(err)
	}
	procs := runtime.GOMAXPROCS(0)
	threads := func(n int, do func()) { // on threads of their own
		var wait sync.WaitGroup
		for range n {
			wait.Go(func() {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				do()
			})
		}
		wait.Wait()
	}
	threads(8, func() {})
	one := found.Allowed[len(found.Allowed)-1:]
	undo, err := pin(one)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	threads(8, func() {
		cpus, err := affinity(0)
		mu.Lock()
		defer mu.Unlock()
		if err != nil || !slices.Equal(cpus, one) {
			t.Errorf("a thread that began later may run on %v (%v); want %v", cpus, err, one)
		}
	})
	if got, err := pinned(one); err != nil || got != formatList(one) || runtime.GOMAXPROCS(0) != 1 {
		t.Errorf("read back %q, %v, with %d at once; want %v", got, err, runtime.GOMAXPROCS(0), one)
	}
	if err := undo(); err != nil {
		t.Fatal(err)
	}
	if got, err := pinned(found.Allowed); err != nil || got != formatList(found.Allowed) || runtime.GOMAXPROCS(0) != procs {
		t.Errorf("given back are %q, %v, with %d at once; want %v and %d", got, err, runtime.GOMAXPROCS(0), found.Allowed, procs)
	}
	if len(found.Allowed) > 1 {
		if got, err := pinned(one); err != nil || !strings.Contains(got, "threads") {
			t.Errorf("threads that are not on %v are read back as %q, %v", one, got, err)
		}
	}
	if _, err := pin([]int{8000}); err == nil {
		t.Error("the driver was kept to a CPU that no machine has")
	}
	if got, err := pinned(found.Allowed); err != nil || got != formatList(found.Allowed) {
		t.Errorf("after a pin that failed: %q, %v", got, err)
	}
}
