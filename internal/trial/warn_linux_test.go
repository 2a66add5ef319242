package trial_test

import (
	"context"

	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/native"
	"github.com/loadstone-perf/loadstone/internal/trial"
)

// cautions has the instances of b warn of themselves.
func cautions(b *trial.Bench) { b.Provider = cautious{b.Provider} }

// cautious is a provider whose instances warn of themselves.
type cautious struct{ provider.Provider }

type warner struct{ *native.Instance }

func (warner) Warnings() []string { return []string{"it is slow"} }

func (c cautious) Provision(ctx context.Context, r provider.Request) (provider.Instance, error) {
	inst, err := c.Provider.Provision(ctx, r)
	if err != nil {
		return nil, err
	}
	return warner{inst.(*native.Instance)}, nil
}
