// Command dev is temporary.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/loadstone-perf/loadstone/internal/twin/host"
	"github.com/loadstone-perf/loadstone/internal/twin/replay"
)

func main() {
	src, err := os.ReadFile(os.Args[1])
	die(err)
	s, err := replay.Parse(os.Args[1], src)
	die(err)
	hosts := func(name string) (*host.Host, error) {
		b, err := os.ReadFile("hosts/" + name + ".yaml")
		if err != nil {
			return nil, err
		}
		return host.Parse(name, b)
	}
	if os.Getenv("FIX") != "" {
		for i := range s.Parameters {
			s.Parameters[i].Low, s.Parameters[i].High = s.Parameters[i].Start, s.Parameters[i].Start
		}
		for _, x := range s.Experiments {
			out := s.Debug(&x, hosts)
			fmt.Println(x.Name)
			for _, k := range []string{"tps", "resp_ms", "iops", "reads", "writes", "mb", "io_ms", "cpu_pct", "cores_pct", "work", "guest_pct", "rx_pps", "tx_pps", "ready_pct", "costop_pct", "hit_pct", "gbps", "per_core", "delivered_pps"} {
				fmt.Printf(" %s %.4g", k, out[x.Name+"."+k])
			}
			fmt.Println()
		}
		return
	}
	n, _ := strconv.Atoi(os.Args[2])
	r, err := replay.Run(context.Background(), s, hosts, replay.Options{Draws: n, Workers: 2, Seed: 1, Sensitivity: len(os.Args) > 3})
	die(err)
	fmt.Println("rounds", r.Fit.Rounds)
	for i, p := range s.Parameters {
		fmt.Println("param", p.Name, r.Fit.Values[p.Name], r.Parameters[i])
	}
	for i, c := range s.Calibrated {
		fmt.Println("cal", c.ID, c.Value, r.Fit.Read[i])
	}
	for _, o := range r.Outcomes {
		fmt.Printf("pred %-28s %10.5g %10.5g [%10.5g %10.5g] %+.1f%% %v %v\n", o.ID, o.Value, o.Ours, o.Low, o.High, 100*o.Error(), o.Verdict(), o.Covered())
	}
	if r.Effects != nil {
		for _, e := range r.Effects {
			fmt.Printf("eff %s %.3f\n   %.3f\n", e.Name, e.Low, e.High)
		}
	}
}

func die(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
