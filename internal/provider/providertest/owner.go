package providertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/provider"
)

// roleVar says, in the environment of a test binary that was started by a
// test, which cache it shall provision in before it is killed.
const roleVar = "LOADSTONE_PROVIDERTEST_OWNER"

// Main is for TestMain of a package that calls Run: it runs the tests, or
// plays the owner that one of them kills. It does not return.
func Main(m *testing.M, newProvider func() provider.Provider) {
	cache := os.Getenv(roleVar)
	if cache == "" {
		os.Exit(m.Run())
	}
	if step := os.Getenv(stepVar); step != "" {
		os.Exit(dieAt(newProvider(), cache, step))
	}
	if err := own(newProvider(), cache); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// owned is what an owner tells of its instance.
type owned struct {
	Dir  string
	PIDs []string
}

// own provisions an instance, starts two servers in it, tells, and waits for
// its end.
func own(p provider.Provider, cache string) error {
	inst, err := p.Provision(context.Background(), provider.Request{Name: "subject", Cache: cache})
	if err != nil {
		return err
	}
	m, ok := inst.(provider.Machine)
	if !ok {
		return errors.New("not a machine")
	}
	told := owned{Dir: m.Dir()}
	for range 2 {
		_, pids, err := suite{}.startServer(context.Background(), m)
		if err != nil {
			return err
		}
		told.PIDs = append(told.PIDs, pids...)
	}
	if err := json.NewEncoder(os.Stdout).Encode(told); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// killLeavesNothing kills an owner so that it can do nothing more, and looks
// whether everything it ran ends, and whether the next provision removes what
// it left.
func killLeavesNothing(t *testing.T, s suite) {
	cache := s.dir(t)
	if _, ok := s.provision(t, cache, provider.Shape{}).(provider.Machine); !ok {
		t.Skip("instances of this provider run no programs")
	}
	dead := startOwner(t, cache)
	live := s.machine(t, cache, provider.Shape{})
	if _, err := os.Stat(dead.told.Dir); err != nil {
		t.Fatalf("a provision swept an instance whose owner lives: %v", err)
	}
	dead.kill(t)
	for _, pid := range dead.told.PIDs {
		eventually(t, "process "+pid+" ends with its owner", func() bool { return gone(pid) })
	}
	s.provision(t, cache, provider.Shape{})
	if _, err := os.Stat(dead.told.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory of a dead owner stays: %v", err)
	}
	if got := sh(t, live, "echo alive"); got != "alive" {
		t.Errorf("sweeping hurt another instance: %q", got)
	}
}
