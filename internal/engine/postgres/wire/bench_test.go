package wire

import (
	"testing"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

func BenchmarkOneRow(b *testing.B) {
	for _, network := range []string{"unix", "tcp"} {
		b.Run(network, func(b *testing.B) {
			c := dial(b, func(cfg *Config) {
				if network == "tcp" {
					cfg.Network, cfg.Address = "tcp", server(b).tcp
				}
				cfg.Statements = []Prepared{{Index: 0, Name: "one", SQL: "select $1::int4 + 1"}}
			})
			s := &workload.Statement{Name: "one"}
			args := []workload.Value{workload.Int(41)}
			b.ReportAllocs()
			ctx := b.Context()
			for b.Loop() {
				r, err := c.Run(ctx, s, args)
				if err != nil || r.Values[0].Int != 42 {
					b.Fatal(r, err)
				}
			}
		})
	}
}
