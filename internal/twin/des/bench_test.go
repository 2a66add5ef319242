package des_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/twin/des"
)

// BenchmarkEvents is the hold model: n events wait, and each, when it comes,
// schedules one after an exponential delay. It reports events a second on one
// core.
func BenchmarkEvents(b *testing.B) {
	for _, n := range []int{1, 100, 1000, 10_000} {
		b.Run(fmt.Sprintf("waiting=%d", n), func(b *testing.B) {
			s := des.New(1)
			draw := s.Stream(0)
			// Delays are drawn beforehand: the kernel is measured, not the
			// logarithm.
			var delays [1 << 12]int64
			for i := range delays {
				delays[i] = int64(draw.Exp(1e6))
			}
			var k des.Kind
			k = s.Handle(func(a int32, b int64) {
				s.After(delays[s.Events()%uint64(len(delays))], k, a, b)
			})
			for i := range n {
				s.At(delays[i%len(delays)], k, int32(i), 0)
			}
			b.ReportAllocs()
			before := s.Events()
			for b.Loop() {
				if err := s.Run(context.Background(), s.Now()+1e7/int64(n)+1); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(s.Events()-before)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkTimers moves a timer for each event, as a station with sharing does.
func BenchmarkTimers(b *testing.B) {
	s := des.New(1)
	var k des.Kind
	timers := make([]des.Timer, 100)
	k = s.Handle(func(a int32, _ int64) {
		s.Set(timers[a], s.Now()+1000+int64(a))
		other := (int(a)*7 + 1) % len(timers)
		s.Set(timers[other], s.Now()+1100+int64(other))
	})
	for i := range timers {
		timers[i] = s.NewTimer(k, int32(i), 0)
		s.Set(timers[i], int64(i))
	}
	b.ReportAllocs()
	before := s.Events()
	for b.Loop() {
		if err := s.Run(context.Background(), s.Now()+10_000); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(s.Events()-before)/b.Elapsed().Seconds(), "events/s")
}
