//go:build !linux

package trial_test

import "github.com/loadstone-perf/loadstone/internal/trial"

// cautions does nothing: there are no instances to warn of.
func cautions(*trial.Bench) {}
