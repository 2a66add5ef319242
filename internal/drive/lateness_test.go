package drive

import (
	"context"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// echo is a target on TCP: each transaction is 100 bytes to a server that
// sends them back.
type echo struct{ address string }

func (e echo) Open(ctx context.Context, _ int) (Session, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", e.address)
	return &echoSession{Conn: c}, err
}

type echoSession struct {
	net.Conn
	text [100]byte
}

func (s *echoSession) Do(context.Context, *workload.Transaction, any) (workload.Outcome, error) {
	_, err := s.Write(s.text[:])
	if err == nil {
		_, err = io.ReadFull(s, s.text[:])
	}
	if err != nil {
		return failed(workload.Connection), err
	}
	return workload.Outcome{}, nil
}

// serveEcho serves on the loopback until the test ends.
func serveEcho(tb testing.TB) echo {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				var text [100]byte
				for {
					if _, err := io.ReadFull(c, text[:]); err != nil {
						return
					}
					if _, err := c.Write(text[:]); err != nil {
						return
					}
				}
			}()
		}
	}()
	return echo{l.Addr().String()}
}

// lateSink keeps the driver's lateness.
type lateSink struct{ sums *sums }

func (l lateSink) Interval(i record.Interval) error {
	if i.Late != nil {
		l.sums.late.Merge(i.Late)
	}
	return nil
}

// BenchmarkOpenLoopLateness reports how late 1,000 and 10,000 arrivals a
// second start, with a server in the same process that takes its part of the
// CPUs. The gate of a trial allows 1 ms at the 99th percentile.
func BenchmarkOpenLoopLateness(b *testing.B) {
	for _, rate := range []float64{1000, 10_000} {
		for _, arrivals := range []string{Constant, Poisson} {
			b.Run(fmt.Sprintf("%.0f a second, %s", rate, arrivals), func(b *testing.B) {
				s, target := newSums(nil, 0), serveEcho(b)
				for b.Loop() {
					c := Config{Workload: single(0), Target: target, Clock: clock.Real{}, Users: 32, RatePerS: rate, Arrivals: arrivals, Ramp: time.Second / 5, Measure: 2 * time.Second}
					rep, err := Run(b.Context(), c, lateSink{s})
					if n := rep.Totals[0].Committed; err != nil || float64(n)+float64(rep.Driver.Unserved) < 2*rate {
						b.Fatalf("%d transactions, %v", n, err)
					}
				}
				b.ReportMetric(0, "ns/op") // fixed by the schedule
				b.ReportMetric(float64(s.late.ValueAtPercentile(50)), "late-p50-µs")
				b.ReportMetric(float64(s.late.ValueAtPercentile(99)), "late-p99-µs")
				b.ReportMetric(float64(s.late.Max()), "late-max-µs")
			})
		}
	}
}
