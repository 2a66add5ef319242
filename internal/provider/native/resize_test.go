//go:build linux

package native

import (
	"testing"

	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/providertest"
)

func TestLimitsOfARunningInstance(t *testing.T) {
	cache := open(t)
	providertest.Resized(t, New().(provider.Live), func(t *testing.T, s provider.Shape) provider.Instance { return made(t, cache, s) })
}
